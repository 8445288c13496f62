// One filter table as this connection sees it: its shadow tables, its memory image, and what keeps
// the two in step (LiveTable's contract).
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

#include "core/base/large_memory.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/filter_window.hpp"
#include "core/segments/hash_collection.hpp"
#include "core/segments/mark.hpp"
#include "core/segments/message_bytes.hpp"
#include "core/segments/message_part.hpp"
#include "core/segments/message_stream.hpp"
#include "core/segments/staged_message.hpp"
#include "core/segments/window_message.hpp"
#include "core/stored/log_entry.hpp"
#include "ext/filter/options.hpp"
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
  // One hash a key, integers too. False for hash = murmur2, and when memory may be out of date.
  bool ready_for_hashes() const noexcept { return usable() && !legacy_ && has_own_name(); }
  bool legacy() const noexcept { return legacy_; }
  Affinity key_affinity() const noexcept { return key_affinity_; }
  // As the key's column is declared. The stored options must agree.
  void declare_key(Affinity affinity, Collation collation) noexcept {
    key_affinity_ = affinity;
    collation_ = collation;
  }
  // What 'check' compares it with: the key's name there, and whether triggers keep it in step.
  struct Source {
    std::string key;
    bool triggers = false;
  };
  void declare_source(std::optional<Source> source) { source_ = std::move(source); }
  KeyDomain key_domain() const noexcept;
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
  // … for a key that is not NULL. follow() came before.
  bool contains(const KeyView& key);
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
  void rebuild();
  void resize(uint64_t capacity);
  void rotate();
  using KeyVisitor = std::function<void(const KeyView& key)>;
  // These keys (none is NULL) take the place of whatever was there; capacity 0: as it is.
  void replace(const std::function<void(const KeyVisitor& visit)>& for_each_key, uint64_t capacity);
  void merge(LiveFilter& other);
  void merge(std::span<const std::byte> image);
  void import(const segments::MessageBytes& image, const std::string& command = "import");

  void check_stored() override;
  void check() override;  // with the source, too

  // `with_hashes`: those, too. Throws SqlError.
  std::vector<std::byte> export_image(bool with_hashes);
  std::vector<std::byte> export_legacy_file();

  // The bytes of the filter's mark, or of the sliding window's; nothing where there is none.
  // follow() came before all of these.
  std::optional<std::vector<std::byte>> mark();
  // What leads from that mark to what it is now: changes where its log goes back to the mark and
  // they are the shorter way, else its image.
  // `with_hashes`: such an image has its hashes where the filter keeps them.
  std::vector<std::byte> changes_since(std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  // The same message, made a bit at a time: to be used before the filter changes, and as long as
  // filters_made() stays what it is.
  segments::MessageStream stream_since(std::optional<std::span<const std::byte>> mark,
                                       bool with_hashes);
  uint64_t filters_made() const noexcept { return filters_made_; }
  // How many changes came behind that mark; nothing where only the image leads from it.
  std::optional<uint64_t> behind(std::span<const std::byte> mark);
  // Becomes what the message says; the filter that sent it is of the same kind. A part of one is
  // kept until the last part comes. Throws SqlError.
  void apply(std::span<const std::byte> bytes);
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
    return takes_parts_ && (!standing_known_ || rolled_back() || standing_.has_value());
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
  bool sends_hashes(bool with_hashes) const noexcept;
  segments::ImageHeader header_of(const segments::Contents& contents) const;
  segments::Contents exported_contents(bool with_hashes);
  // Nothing: the image is the shorter way, or the only one.
  std::optional<segments::FilterChanges> found_changes(
      const char* function, std::optional<std::span<const std::byte>> mark);
  void apply_message(const segments::MessageBytes& bytes);
  void apply_changes(const segments::MessageBytes& bytes);
  void apply_image(const segments::MessageBytes& bytes);
  void apply_part(std::span<const std::byte> bytes);
  void check_first_part(const segments::MessagePart& part);
  segments::StagedMessage staged() noexcept;
  const std::optional<segments::StagedMessage::Standing>& standing();
  void stage(const std::function<Status()>& write);
  // A sliding window's: its messages are in memory as a whole.
  bool is_of_window(const segments::MessageBytes& bytes) const;
  std::span<const std::byte> all_of(const segments::MessageBytes& bytes,
                                    std::vector<std::byte>& buffer) const;
  std::vector<std::byte> export_window(bool with_hashes, uint64_t limit);
  std::vector<std::byte> encode_window(segments::WindowMessage message, uint64_t limit);
  std::vector<std::byte> window_changes_since(const char* function,
                                              std::optional<std::span<const std::byte>> mark,
                                              bool with_hashes, uint64_t limit);
  std::optional<uint64_t> window_behind(std::span<const std::byte> mark);
  segments::WindowMessage window_message(std::span<const std::byte> bytes,
                                         const std::string& command);
  void import_window(std::span<const std::byte> bytes, const std::string& command);
  void apply_window(std::span<const std::byte> bytes);
  bool load_and_probe(uint64_t hash);
  HashPair pair_of(const KeyView& key) const;
  void insert_pair(const KeyView& key);  // hash = murmur2
  void insert_hash(uint64_t hash, const KeyView& key);
  uint64_t hash_of(const KeyView& key);
  void note_type_of(const KeyView& key) noexcept;
  template <class Body>
  void change_followed(Body&& body);
  template <class Body>
  void change(Body&& body);
  void change_by(const std::function<Status()>& body);
  void raise(const Status& status) const {
    if (!status.ok()) [[unlikely]] {
      LiveTable::raise(status, filter_->poisoned());
    }
  }
  // How the filter compares with these keys (none is NULL), each as often as it is named. With
  // hashes exactly; else a false positive is no missing key.
  struct Comparison {
    uint64_t keys = 0;     // that were named
    uint64_t missing = 0;  // of them
    uint64_t surplus = 0;  // occurrences in the filter that were not named
  };
  Comparison compare(const std::function<void(const KeyVisitor& visit)>& for_each_key);
  Comparison compare_hashes(const std::function<void(const KeyVisitor& visit)>& for_each_key);
  Comparison compare_answers(const std::function<void(const KeyVisitor& visit)>& for_each_key);
  void check_source();
  // What merge() and import() take in.
  struct Incoming {
    std::string name;  // for messages
    FilterOptions options;
    KeyDomain keys;
    uint64_t most_items = 0;  // that it adds
    segments::Contents contents;
    HashSource hashes;  // null where they are not known
  };
  Incoming decode_incoming(const segments::MessageBytes& image, const std::string& command);
  Incoming decode_legacy(const segments::MessageBytes& message, const std::string& command) const;
  void verify(const Incoming& incoming, const std::string& command) const;
  void take_in(Incoming incoming);
  void take_in_new(const Incoming& incoming);
  void take_each_once(segments::HashCollection& once, Incoming& incoming,
                      const std::string& command);
  void replace_all(const FilterOptions& options, const segments::Contents& contents,
                   const std::string& prefix = "");  // of an error's text
  void replace_by(FilterOptions options,
                  const std::function<Status(const FilterOptions& options)>& import);
  void replace_pairs(const std::function<void(const KeyVisitor& visit)>& for_each_key,
                     uint64_t capacity);
  Status check_compatible(const Incoming& incoming);
  void expect_mergeable(const Incoming& incoming);
  Status check_keys(const char* command, const Incoming& incoming) const;

  FilterStore store_;
  std::unique_ptr<segments::FilterWindow> filter_;  // over store_
  Affinity key_affinity_ = Affinity::kNone;
  Collation collation_ = Collation::kBinary;
  std::string collated_;  // of the last key
  std::string damage_;
  std::optional<Source> source_;

  // Parts of a message (core/segments/staged_message.hpp).
  bool takes_parts_ = false;  // some came in this transaction
  bool applying_last_ = false;
  bool standing_known_ = false;  // it is what is stored
  std::optional<segments::StagedMessage::Standing> standing_;

  uint64_t filters_made_ = 0;  // how often filter_ was another one
  // of filter_'s options, at hand for every probe
  uint64_t seed_ = 0;
  uint64_t hash_mask_ = 0;
  bool legacy_ = false;
  uint64_t probes_ = 0;
  uint64_t positives_ = 0;
};

}  // namespace cuckoo
