// One filter table as this connection sees it: its shadow tables and its filter in memory, kept in
// step by LiveTable's contract. It looks keys up, adds and removes them. Contents that come in and
// go out as a whole use change_by() and replace_by():
//   intake.hpp           contents from outside: images, another table, the keys of a source
//   filter_messages.hpp  marks, images and changes as BLOBs; a copy that follows its origin
//   window_messages.hpp  the same for sliding windows
//   source_check.hpp     compares the filter with its source
//
// Invariant
//   I1  a read sees what a fresh connection would see in the same snapshot, plus this transaction's
//       own entries.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/filter/legacy_bloom.hpp"
#include "core/segments/filter_window.hpp"
#include "core/stored/log_entry.hpp"
#include "ext/filter/awaited_parts.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/filter/options.hpp"
#include "ext/filter/source_check.hpp"
#include "ext/filter/store.hpp"
#include "ext/filter/top_keys.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/live_table.hpp"

namespace cuckoo {

class LiveFilter final : public LiveTable {
 public:
  // For Connection::find() and all().
  static constexpr const char* kWhat = "filter";
  static constexpr const char* kKinds = "a cuckoo_filter or bloom_filter";
  static constexpr std::array<const char*, 2> kModules = {"cuckoo_filter", "bloom_filter"};
  static const char* hint(std::string_view name) noexcept;

  LiveFilter(Connection& connection, const std::string& schema, const std::string& table);

  FilterStore& store() noexcept { return store_; }

  void orphan() noexcept override { filter_.reset(); }

  void create(FilterOptions options);  // makes shadow tables, options, an empty filter
  // Flushes what CREATE added, because SQLite would not tell us that it rolls CREATE back.
  void finish_create();

  void follow() override {
    if (!(usable() && is_changed() && has_own_name() && !damage_)) {
      look_at_storage();
    }
  }
  segments::FilterWindow& filter() noexcept { return *filter_; }
  uint64_t seed() const noexcept { return seed_; }
  // Returns whether each key, also an integer, has one hash, and contains(hash) needs no follow().
  // False for hash = murmur2, for a key of several columns, and if memory may be out of date.
  bool ready_for_hashes() const noexcept { return ready_for_keys() && hashing_ == Hashing::kPlain; }
  // Returns whether contains(key) may be called without follow(), because memory is up to date.
  bool ready_for_keys() const noexcept { return usable() && has_own_name(); }
  bool legacy() const noexcept { return hashing_ == Hashing::kPairs; }
  // Sets the key, as its columns are declared. The stored options must agree.
  void declare_key(const KeyForm& form, std::vector<std::string> names);
  const KeyForm& key_form() const noexcept { return key_form_; }
  const std::vector<std::string>& key_names() const noexcept { return key_names_; }
  Affinity key_affinity() const noexcept { return key_affinity_; }  // of the first column
  // Sets the source with which 'check' compares the filter.
  void declare_source(std::optional<CheckedSource> source) { source_ = source; }
  bool follows_source() const noexcept { return source_.has_value() && source_->triggers; }
  KeyDomain key_domain() const noexcept;
  // Returns a key's hash, as the filter keeps it; with hash = murmur2 a pair of hashes.
  uint64_t hash_of(const KeyView& key);
  HashPair pair_of(const KeyView& key) const;
  // Adds the types of the key's columns.
  void add_types_of(const KeyView& key, uint64_t& types) const noexcept;
  // Sets the error that was found while SQLite connected the table. Every use throws it.
  void set_damage(std::optional<SqlError> damage) { damage_ = std::move(damage); }
  bool has_damage() const noexcept { return damage_.has_value(); }

  // Probes for a key's full 64-bit hash (I1, ready_for_hashes()).
  bool contains(uint64_t hash) {
    hash &= hash_mask_;
    ++probes_;
    const segments::FilterWindow::Answer answer = filter_->probe(hash);
    const bool found = answer == segments::FilterWindow::Answer::kNotLoaded
                           ? load_and_probe(hash)
                           : answer == segments::FilterWindow::Answer::kPresent;
    positives_ += found ? 1 : 0;
    return found;
  }
  // Probes for a key that is not NULL. A TupleKey makes a key of several columns, here and for
  // changes. Call follow() before.
  bool contains(const KeyView& key);
  bool holds(const KeyView& key);  // the same, but not counted in probes() and positives()
  uint64_t count(const KeyView& key);
  // The kept keys and their counts, the highest first. Call follow() before. Throws SqlError.
  std::vector<TopKeys::Kept> top();
  uint64_t probes() const noexcept { return probes_; }
  uint64_t positives() const noexcept { return positives_; }
  // Counts a positive for whose key a guard found no row.
  void note_false_positive() noexcept { ++false_positives_; }
  uint64_t false_positives() const noexcept { return false_positives_; }

  // Change the filter, while an instance of the table is in a write transaction. Call follow()
  // before.
  void insert(const KeyView& key);
  // Adds an integer that its column keeps as one (is_plain_integer()), in less time.
  void insert_integer(int64_t integer);
  // Adds so many copies at once; more than one only if counts_copies().
  void insert_copies(const KeyView& key, uint64_t copies);
  // Returns false if the key is present, or seems to be, and was not added.
  bool insert_new(const KeyView& key);
  bool remove(const KeyView& key);
  // Removes so many copies, or all that seem to be there if they are fewer. Returns how many.
  uint64_t remove_copies(const KeyView& key, uint64_t copies);
  // Replaces one copy of a key, if there is one.
  using IfPresent = segments::FilterFile::IfPresent;
  using Replaced = segments::FilterFile::Replaced;
  Replaced replace_key(const KeyView& from, const KeyView& to, IfPresent if_present);
  // Throws unless 'apply' may take a message of a filter with that seed. A filter that holds
  // something follows one origin alone, whose seed it has.
  void expect_origin(uint64_t seed) const;
  // Finds top() anew, among these keys.
  using KeySource = std::function<void(const std::function<void(const KeyView& key)>& visit)>;
  void find_top(const KeySource& for_each_key);
  void clear();
  // Puts an empty filter in the place of one that can't be read. Nothing is written before the next
  // flush, so drop_made_anew() takes it back. Throws SqlError if the options can't be read.
  void make_anew();
  void drop_made_anew() noexcept { filter_.reset(); }
  void resize(uint64_t capacity);  // makes it anew from its hashes; 0: keeps the capacity
  // Rotates once, or until the newest generation has that number.
  void rotate(std::optional<uint64_t> number);
  // Makes any other change, with follow() before it and C2 after it. If the body fails with
  // kInvalid or kFull, it has changed nothing.
  void change_by(const std::function<Status()>& body);
  // Makes a change by which the filter gets these options, and stores them.
  void replace_by(FilterOptions options,
                  const std::function<Status(const FilterOptions& options)>& import);
  // Returns numbers that change whenever filter() or one of its generations is another one. Then
  // anything that was made of the one before is of no use.
  std::pair<uint64_t, uint64_t> filters_made() const noexcept {
    return {filters_made_, filter_->times_arranged()};
  }

  void check_stored() override;
  void check() override;  // also compares it with the source

  // Take parts of a message. Call follow() before.
  const std::optional<AwaitedParts::Standing>& standing();
  void stage(const segments::MessagePart& part);  // stores the next one, not the last
  void use_staged(const segments::MessagePart& last,
                  const std::function<void(const segments::MessageBytes& message)>& use);
  // Throws SqlError if parts of a message came, and the last one did not.
  void refuse_amid_parts();

  // The transaction contract, called by every instance.
  void commit() noexcept;

 private:
  // Returns true if parts of a message came, too, because only memory knows that, and it refuses
  // COMMIT. After a roll-back to a savepoint some may still be there.
  bool pending() const noexcept override {
    return filter_ != nullptr && ((filter_->pending() && !rolled_back()) || may_await_parts());
  }
  bool may_await_parts() const noexcept {
    return parts_.some_came() && (rolled_back() || parts_.may_be_missing());
  }
  void finish_changes() override;
  void write_pending() override;
  void undo_transaction() noexcept override;
  void undo_to(int savepoint) noexcept override;
  bool usable() const noexcept { return filter_ != nullptr && filter_->usable() && !rolled_back(); }
  void look_at_storage();
  void set_filter(std::unique_ptr<segments::FilterWindow> filter) noexcept;
  void adopt_options() noexcept;
  void reload();
  std::unique_ptr<segments::FilterWindow> stored_filter();
  bool load_and_probe(uint64_t hash);
  void insert_pair(const KeyView& key);  // hash = murmur2
  void insert_hash(uint64_t hash, const KeyView& key);
  void note_type_of(const KeyView& key) noexcept;
  bool keeps_top() const noexcept { return filter_->options().top > 0; }
  Status load_top();
  Status note_top(const KeyView& key, uint64_t hash);
  Status erase_top();
  template <class Body>
  void change_followed(Body&& body);
  template <class Body>
  void change(Body&& body);
  void write_beside(const std::function<Status()>& write);
  void raise(const Status& status) const {
    if (!status.ok()) [[unlikely]] {
      LiveTable::raise(status, filter_->poisoned());
    }
  }

  FilterStore store_;
  std::unique_ptr<segments::FilterWindow> filter_;  // over store_
  KeyForm key_form_;
  std::vector<std::string> key_names_;
  Affinity key_affinity_ = Affinity::kNone;
  Collation collation_ = Collation::kBinary;
  std::string collated_;  // of the last key
  std::optional<SqlError> damage_;
  std::optional<CheckedSource> source_;
  AwaitedParts parts_{store_};
  TopKeys top_{store_};
  uint64_t filters_made_ = 0;  // how often filter_ became another one
  // copied from filter_'s options for probes
  uint64_t seed_ = 0;
  uint64_t hash_mask_ = 0;
  enum class Hashing : uint8_t {
    kPlain,   // a key of one column has one hash
    kTuples,  // a key of several columns has one hash, as one BLOB
    kPairs,   // hash = murmur2: each key has two
  };
  Hashing hashing_ = Hashing::kPlain;
  uint64_t probes_ = 0;
  uint64_t positives_ = 0;
  uint64_t false_positives_ = 0;
};

}  // namespace cuckoo
