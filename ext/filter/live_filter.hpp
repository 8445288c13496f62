// One filter table as this connection sees it: its shadow tables, its filter in memory, and what
// keeps the two in step (LiveTable's contract). Keys are looked up, added and removed here. What
// comes in and goes out as a whole uses change_by() and replace_by():
//   intake.hpp           contents from outside: images, another table, the keys of a source
//   filter_messages.hpp  marks, images and changes as BLOBs; a copy that follows its origin
//   window_messages.hpp  the same for sliding windows
//   source_check.hpp     does it hold what its source holds?
//
// Invariant
//   I1  what a read sees is what a fresh connection would see in the same snapshot plus this
//       transaction's own entries.
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

  void create(FilterOptions options);  // shadow tables, options, an empty filter
  // After what CREATE put in: nothing may be pending, as nobody would tell of a roll-back.
  void finish_create();

  void follow() override {
    if (!(usable() && writing_ && current_ && has_own_name() && damage_.empty())) {
      look_at_storage();
    }
  }
  bool usable() const noexcept { return filter_ != nullptr && filter_->usable() && !rolled_back(); }
  segments::FilterWindow& filter() noexcept { return *filter_; }
  uint64_t seed() const noexcept { return seed_; }
  // One hash a key, integers too. False for hash = murmur2, for a key of several columns, and when
  // memory may be out of date.
  bool ready_for_hashes() const noexcept { return usable() && plain_keys_ && has_own_name(); }
  // Memory is up to date, so contains() may be asked without follow().
  bool ready_for_keys() const noexcept { return usable() && has_own_name(); }
  bool legacy() const noexcept { return legacy_; }
  // As the key's columns are declared. The stored options must agree.
  void declare_key(const KeyForm& form, std::vector<std::string> names);
  const KeyForm& key_form() const noexcept { return key_form_; }
  const std::vector<std::string>& key_names() const noexcept { return key_names_; }
  Affinity key_affinity() const noexcept { return key_affinity_; }  // of the first column
  // What 'check' compares it with.
  void declare_source(std::optional<CheckedSource> source) { source_ = source; }
  KeyDomain key_domain() const noexcept;
  // A key's hash, as the filter keeps it; with hash = murmur2 a pair of them.
  uint64_t hash_of(const KeyView& key);
  HashPair pair_of(const KeyView& key) const;
  // Adds the types of its columns.
  void add_types_of(const KeyView& key, uint64_t& types) const noexcept;
  // What was found wrong when it was connected: every use throws it.
  void set_damage(const std::string& damage) { damage_ = damage; }

  // I1, for a key's full 64-bit hash (ready_for_hashes()).
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
  // … for a key that is not NULL; one of several columns is what a TupleKey makes, here and in what
  // changes. follow() came before.
  bool contains(const KeyView& key);
  bool holds(const KeyView& key);  // the same, and no figure counts it
  uint64_t count(const KeyView& key);
  uint64_t probes() const noexcept { return probes_; }
  uint64_t positives() const noexcept { return positives_; }

  // Changes; the table's virtual-table instance is in a write transaction.
  // follow() came before.
  void insert(const KeyView& key);
  // An integer that its column keeps as one (is_plain_integer()); the same, in less time.
  void insert_integer(int64_t integer);
  // So many occurrences at once; more than one only where counts_copies().
  void insert_copies(const KeyView& key, uint64_t copies);
  // False: it is present, or seems to be, and was not added.
  bool insert_new(const KeyView& key);
  bool remove(const KeyView& key);
  // So many, or all that seem to be there when these are fewer. Returns how many.
  uint64_t remove_copies(const KeyView& key, uint64_t copies);
  // One occurrence, if there is one.
  using IfPresent = segments::FilterFile::IfPresent;
  using Replaced = segments::FilterFile::Replaced;
  Replaced replace_key(const KeyView& from, const KeyView& to, IfPresent if_present);
  void clear();
  void resize(uint64_t capacity);  // from its hashes; 0: as it is
  void rotate();
  // Every other change, with follow() before and C2 after it. The body fails with kInvalid or
  // kFull before it changed anything.
  void change_by(const std::function<Status()>& body);
  // A change by which the filter gets these options, and stores them.
  void replace_by(FilterOptions options,
                  const std::function<Status(const FilterOptions& options)>& import);
  // It moves when filter() is another one, and what was made of the one before is of no use.
  uint64_t filters_made() const noexcept { return filters_made_; }

  void check_stored() override;
  void check() override;  // with the source, too

  // Parts of a message; follow() came before.
  const std::optional<AwaitedParts::Standing>& standing();
  void stage(const segments::MessagePart& part);  // the next one, not the last
  void use_staged(const segments::MessagePart& last,
                  const std::function<void(const segments::MessageBytes& message)>& use);
  // Throws SqlError if parts of a message came, and the last one did not.
  void refuse_amid_parts();

  // The transaction contract, called by every instance.
  void commit() noexcept;

 private:
  // That parts of a message came is known to memory alone, too: it refuses COMMIT. After a
  // roll-back to a savepoint some may be there still.
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
  void look_at_storage();
  void set_filter(std::unique_ptr<segments::FilterWindow> filter) noexcept;
  void adopt_options() noexcept;
  void reload();
  std::unique_ptr<segments::FilterWindow> stored_filter();
  bool load_and_probe(uint64_t hash);
  void insert_pair(const KeyView& key);  // hash = murmur2
  void insert_hash(uint64_t hash, const KeyView& key);
  void note_type_of(const KeyView& key) noexcept;
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
  std::string damage_;
  std::optional<CheckedSource> source_;
  AwaitedParts parts_{store_};
  uint64_t filters_made_ = 0;  // how often filter_ was another one
  // of filter_'s options, at hand for every probe
  uint64_t seed_ = 0;
  uint64_t hash_mask_ = 0;
  bool legacy_ = false;
  bool plain_keys_ = true;
  uint64_t probes_ = 0;
  uint64_t positives_ = 0;
};

}  // namespace cuckoo
