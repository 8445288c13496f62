// The index of a flash store: which record positions a key or a part of a value may have.
//
//   base     the entries of the checkpoint that was mounted. They are *stored*, on the device
//            (stored_index.hpp), until many of them were asked for. Then all are *loaded* into a
//            slot cache, for all stores of the process whose base is equal (loaded_index.hpp)
//   changes  two slot caches: of the entries of the base that are *gone*, and of the index's *own*
//            ones, which came since
// After many changes, all entries become the index's own, because sharing them is not worth two
// searches any more.
//
// Invariants
//   I1  the entries (hash, position) are those that were loaded or inserted and not removed or
//       replaced since. An entry is in the base and not gone, or it is own, but never both. One
//       that is gone is in the base. The invariants of SlotCache hold, too.
//   I2  every change is noted in the undo log, if there is one: undo() of each note, the newest
//       first, gives the entries that were there before.
//   I3  a change that throws std::bad_alloc is as if it had not been asked for.
//   I4  no answer misses an entry because it is stored: a question about a hash takes what fetch()
//       returned for it, and a function that needs all entries reads them. Both may fail.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/loaded_index.hpp"
#include "core/flash/slot_cache.hpp"
#include "core/flash/stored_index.hpp"

namespace cuckoo::core {

// A key with its FlashIndex::hash_of(): one hash serves a prefetch, a look-up and a change.
struct HashedKey {
  std::span<const std::byte> bytes;
  uint32_t hash = 0;
};

class FlashUndoLog;
struct FlashIndexUndo;

class FlashIndex {
 public:
  // What is stored under a hash. It stays right, also when the index is loaded or cleared.
  class Fetched {
   private:
    friend class FlashIndex;
    friend class Result<Fetched>;
    explicit Fetched(uint32_t hash = 0, bool believed = false) noexcept
        : hash_(hash), believed_(believed) {}

    uint32_t hash_;
    bool believed_;
    std::vector<uint32_t> stored_;  // positions
  };

  explicit FlashIndex(const SlotCacheOptions& options) : own_(options), gone_(options) {}

  // Return the hash of a key's head, and of the part of a value that begins at `offset`.
  uint32_t hash_of(std::span<const std::byte> key) const noexcept;
  uint32_t part_hash(uint64_t lsn, uint32_t offset) const noexcept;

  // Reads from the device which positions a stored base has under the hash (I4).
  Result<Fetched> fetch(uint32_t hash) {
    Fetched fetched(hash);
    if (stored_) [[unlikely]] {
      CUCKOO_TRY(fetch_stored(fetched));
    }
    return fetched;
  }
  // Reads nothing. For a replay, whose records replace and remove only entries that were there: an
  // entry that is not own is believed to be stored. load_all() and by_position() verify it.
  static Fetched believe(uint32_t hash) noexcept { return Fetched(hash, true); }

  // As SlotCache::find().
  template <class Visit>
  bool find(const Fetched& fetched, Visit&& visit) const {
    const uint32_t hash = fetched.hash_;
    const auto visit_present = [&](uint32_t position) {
      return !is_gone(hash, position) && visit(position);
    };
    return (loaded_   ? loaded_->slots().find(hash, visit_present)
            : stored_ ? std::any_of(fetched.stored_.begin(), fetched.stored_.end(), visit_present)
                      : false) ||
           own_.find(hash, std::forward<Visit>(visit));
  }
  bool contains(const Fetched& fetched, uint32_t position) const {
    return own_.contains(fetched.hash_, position) || is_in_base(fetched, position);
  }
  void prefetch(uint32_t hash) const noexcept {
    own_.prefetch(hash);
    if (loaded_) {
      loaded_->slots().prefetch(hash);
    }
  }
  // Returns whether fetch() reads the device.
  bool is_stored() const noexcept { return stored_ != nullptr; }
  // Returns all entries as (position, hash), ascending, so that a caller that reads their records
  // reads the device once.
  using Entry = FlashIndexEntry;
  using Entries = FlashIndexEntries;
  Result<Entries> by_position();
  const SlotCache& own() const noexcept { return own_; }
  uint64_t size() const noexcept {
    const uint64_t base = loaded_ ? loaded_->slots().size() : stored_ ? stored_->size() : 0;
    return base - gone_.size() + own_.size();
  }

  // Fill an empty index, while nothing is noted.
  void load(StoredIndex stored) { stored_ = std::make_unique<StoredIndex>(std::move(stored)); }
  void load(const Entries& entries) { own_.insert_all(entries); }
  // Loads a stored base. Call it before the device erases the base, and before figures().
  Status load_all() { return stored_ ? load_stored() : Status(); }

  // As those of SlotCache.
  void insert(uint32_t hash, uint32_t position);
  bool replace(const Fetched& fetched, uint32_t from, uint32_t to);
  bool remove(const Fetched& fetched, uint32_t position);
  Status clear();

  // From now on notes changes there (I2). The log outlives the index.
  void note_in(FlashUndoLog& undo) noexcept { undo_ = &undo; }
  // Takes back a change that was noted. All later ones were taken back before. std::bad_alloc: it
  // was not taken back.
  void undo(const FlashIndexUndo& change);

  // Figures of the slot caches. A stored base is in none of them.
  struct Figures {
    double load_factor = 0;
    uint64_t relocations = 0;
    uint64_t expansions = 0;
    double load_at_last_expansion = 0;  // 0: none
  };
  Figures figures() const noexcept;
  size_t memory_bytes() const noexcept;  // shared entries count in full

  Status check();  // I1; O(size())

 private:
  bool is_gone(uint32_t hash, uint32_t position) const noexcept {
    return gone_.size() != 0 && gone_.contains(hash, position);
  }
  bool is_in_base(const Fetched& fetched, uint32_t position) const;  // and not gone
  Status fetch_stored(Fetched& fetched);
  Status load_stored();
  Result<Entries> base() const;  // by position, those that are gone, too
  template <class Change>
  bool change(const FlashIndexUndo& note, Change&& change);
  void own_all_if_worth_it();
  SlotCache empty_cache() const { return SlotCache(own_.options()); }

  // The base: one of these, or none.
  std::unique_ptr<StoredIndex> stored_;
  std::shared_ptr<const LoadedIndex> loaded_;
  SlotCache own_;
  SlotCache gone_;
  FlashUndoLog* undo_ = nullptr;
};

}  // namespace cuckoo::core
