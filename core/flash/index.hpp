// The index of a flash store: which record positions a key or a part of a value may have, in slot
// caches.
//
//   stored   the entries of the checkpoint that was mounted, still on the device
//            (stored_index.hpp). A search fetches the few entries with its hash. After many
//            searches, and if all entries are needed, all are loaded
//   loaded   the same entries in memory, for all stores of the process that found equal ones
//            (loaded_index.hpp). A list at first, which a search reads as a whole; after some
//            searches a slot cache
//   gone     the loaded entries that are no longer there
//   own      the entries that came since
// After many changes, all entries become the index's own, because sharing them is not worth two
// searches any more.
//
// Invariants
//   I1  the entries (hash, position) are those that were loaded or inserted and not removed or
//       replaced since. An entry is loaded and not gone, or it is own, but never both. An entry
//       that is gone was loaded. The invariants of SlotCache hold, too.
//   I2  every change is noted in the undo log, if there is one: undo() of each note, the newest
//       first, gives the entries that were there before.
//   I3  a change that throws std::bad_alloc is as if it had not been asked for.
//   I4  while something is stored, the caller searches, replaces or removes a hash only after
//       fetch() of it, and asks for all entries only after load_all(). These two may fail. A call
//       without them throws std::logic_error, because it would miss entries. insert() and undo()
//       need neither.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
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
  explicit FlashIndex(const SlotCacheOptions& options) : own_(options), gone_(options) {}

  // Return the hash of a key's head, and of the part of a value that begins at `offset`.
  uint32_t hash_of(std::span<const std::byte> key) const noexcept;
  uint32_t part_hash(uint64_t lsn, uint32_t offset) const noexcept;

  // As SlotCache::find(), but visit must not search, because a search may move the entries.
  template <class Visit>
  bool find(uint32_t hash, Visit&& visit) const {
    return ((loaded_ || stored_) && find_loaded(hash, visit)) ||
           own_.find(hash, std::forward<Visit>(visit));
  }
  void prefetch(uint32_t hash) const noexcept {
    own_.prefetch(hash);
    if (view_.slots) {
      view_.slots->prefetch(hash);
    }
  }
  bool contains(uint32_t hash, uint32_t position) const;
  // Returns all entries as (position, hash), ascending, so that a caller that reads their records
  // reads the device once.
  using Entry = LoadedIndex::Entry;
  using Entries = LoadedIndex::Entries;
  Entries by_position() const;
  const SlotCache& own() const noexcept { return own_; }  // the entries that came since load()
  uint64_t size() const noexcept {
    const uint64_t loaded = loaded_ ? loaded_->size() : stored_ ? stored_->size() : 0;
    return loaded - gone_.size() + own_.size();
  }

  // Load entries into an empty index, while nothing is noted. `entries` ascend by position.
  void load(Entries entries);
  void load(StoredIndex stored);
  // Call it before you ask for that hash (I4).
  Status fetch(uint32_t hash) { return stored_ ? fetch_entries(hash) : Status(); }
  // Call it before you ask for all entries (I4).
  Status load_all() { return stored_ ? load_entries() : Status(); }
  // While it is on, the index assumes that an entry is stored if it was not fetched and is replaced
  // or removed. load_all() verifies this.
  void believe(bool on) noexcept { believes_ = on; }
  // Shares the entries, so that stores of this process with the same entries hold them in memory
  // once. Call it while nothing is noted. Does nothing if entries are stored. O(size()).
  void share();
  // As those of SlotCache.
  void insert(uint32_t hash, uint32_t position);
  bool replace(uint32_t hash, uint32_t from, uint32_t to);
  bool remove(uint32_t hash, uint32_t position);
  void clear();

  // From now on notes changes there (I2). The log outlives the index.
  void note_in(FlashUndoLog& undo) noexcept { undo_ = &undo; }
  // Takes back a change that was noted. All later ones were taken back before. std::bad_alloc: it
  // was not taken back.
  void undo(const FlashIndexUndo& change);

  // Figures of all slots. figures() fills the slots if there is a list (std::bad_alloc).
  struct Figures {
    double load_factor = 0;
    uint64_t relocations = 0;
    uint64_t expansions = 0;
    double load_at_last_expansion = 0;  // 0: none
  };
  Figures figures() const;
  size_t memory_bytes() const noexcept;  // shared entries count in full

  Status check() const;  // I1; O(size())

 private:
  static constexpr unsigned kSearches = 8;  // of a list, until its slots are filled
  static constexpr size_t kFetchedBytes = 64;

  template <class Visit>
  bool find_loaded(uint32_t hash, Visit&& visit) const {
    const auto visit_present = [&](uint32_t position) {
      return !is_gone(hash, position) && visit(position);
    };
    if (stored_) [[unlikely]] {
      const std::vector<uint32_t>& positions = fetched(hash);
      return std::any_of(positions.begin(), positions.end(), visit_present);
    }
    if (view_.list && !search_fills()) [[unlikely]] {
      for (const auto& [position, its_hash] : *view_.list) {
        if (its_hash == hash && visit_present(position)) {
          return true;
        }
      }
      return false;
    }
    return view_.slots->find(hash, visit_present);
  }
  bool is_gone(uint32_t hash, uint32_t position) const noexcept {
    return gone_.size() != 0 && gone_.contains(hash, position);
  }
  Status fetch_entries(uint32_t hash);
  Status load_entries();
  void expect_loaded() const;  // I4
  const std::vector<uint32_t>& fetched(uint32_t hash) const;
  bool was_loaded(uint32_t hash, uint32_t position) const;
  bool is_loaded(uint32_t hash, uint32_t position) const;  // and not gone
  void fill_slots() const;                                 // the list's
  bool search_fills() const noexcept;                      // true: it did
  bool replace_entry(uint32_t hash, uint32_t from, uint32_t to);
  bool remove_entry(uint32_t hash, uint32_t position);
  template <class Change>
  bool change(const FlashIndexUndo& note, Change&& change);
  void own_all_if_worth_it();
  SlotCache empty_cache() const { return SlotCache(own_.options()); }

  std::unique_ptr<StoredIndex> stored_;                          // then nothing is loaded
  std::unordered_map<uint32_t, std::vector<uint32_t>> fetched_;  // of stored_, by hash
  std::shared_ptr<LoadedIndex> loaded_;
  // A view of loaded_. A const function may fill its slots: no answer depends on where an entry is.
  mutable LoadedIndex::View view_;
  mutable unsigned searches_ = 0;  // of the list
  SlotCache own_;
  SlotCache gone_;
  bool believes_ = false;
  FlashUndoLog* undo_ = nullptr;
};

}  // namespace cuckoo::core
