// The index of a flash store: which record positions a key or a part of a value may have, in a slot
// cache, and how to take changes back.
//
// What a checkpoint held is loaded as it is, a list by position. After a few searches it goes into
// the slot cache: until then a search reads the whole list, and what changes is marked as gone in
// it. So who asks for a key or two after a mount doesn't wait for a cache of all of them.
//
// Invariants
//   I1  the pairs (hash, position) are those that were loaded or inserted and not removed or
//       replaced since: SlotCache has the rest. A pair is in the list, and not gone, or in the slot
//       cache. The list ascends, and is as long as the marks in it.
//   I2  from the first mark on, every change is noted, oldest first: undoing the notes behind a
//       mark, newest first, gives the pairs that were there at the mark. Without a mark nothing is.
//   I3  a change that throws std::bad_alloc is as if it had not been asked for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/slot_cache.hpp"

namespace cuckoo {

class FlashIndex {
 public:
  explicit FlashIndex(const SlotCacheOptions& options) : slots_(options) {}

  // Under which hash a key's head is found, and the part of a value that begins at `offset`.
  uint32_t hash_of(std::span<const std::byte> key) const noexcept;
  uint32_t part_hash(uint64_t lsn, uint32_t offset) const noexcept;

  // As SlotCache has it, but it may throw std::bad_alloc, and visit must not search: that may move
  // what is visited.
  template <class Visit>
  bool find(uint32_t hash, Visit&& visit) const {
    if (!loaded_.empty() && !search_fills()) [[unlikely]] {
      for (size_t i = 0; i < loaded_.size(); ++i) {
        if (loaded_[i].second == hash && !gone_[i] && visit(loaded_[i].first)) {
          return true;
        }
      }
    }
    return slots_.find(hash, std::forward<Visit>(visit));
  }
  bool contains(uint32_t hash, uint32_t position) const noexcept;
  // All of them: (position, hash), ascending, so that what reads the records reads the device once.
  using Entry = std::pair<uint32_t, uint32_t>;
  using Entries = std::vector<Entry>;
  Entries by_position() const;
  uint64_t size() const noexcept { return loaded_.size() - gone_count_ + slots_.size(); }
  const SlotCache& slots() const;

  // Into an empty index without marks: by ascending position.
  void load(Entries entries);
  // As SlotCache has them.
  void insert(uint32_t hash, uint32_t position);
  bool replace(uint32_t hash, uint32_t from, uint32_t to);
  bool remove(uint32_t hash, uint32_t position);
  void clear();

  // I2. Returns a place to go back to.
  size_t mark() noexcept;
  // std::bad_alloc: some changes are taken back, the older ones are not.
  void undo_to(size_t place);
  void forget_marks() noexcept;

  Status check() const;  // I1, as far as it can be seen; O(pairs)

 private:
  // A pair that came has no `from`, one that went has no `to`: no position is 0.
  struct Note {
    uint32_t hash, from, to;
  };
  void note(const Note& note);
  void forget_last_note() noexcept;

  // visit(hash, position), in any order.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (size_t i = 0; i < loaded_.size(); ++i) {
      if (!gone_[i]) {
        visit(loaded_[i].second, loaded_[i].first);
      }
    }
    slots_.for_each(std::forward<Visit>(visit));
  }
  size_t place_in_list(uint32_t hash,
                       uint32_t position) const noexcept;  // kNowhere: it isn't there
  void leave_list(size_t place) noexcept;
  void fill_slots() const;    // the list goes into the slot cache
  bool search_fills() const;  // true: it did

  static constexpr size_t kNowhere = SIZE_MAX;
  // Where a pair is nobody can see, so whoever reads may fill the slots.
  mutable SlotCache slots_;
  mutable Entries loaded_;  // ascending
  mutable std::vector<bool> gone_;
  mutable size_t gone_count_ = 0;
  mutable unsigned searches_ = 0;
  bool noting_ = false;
  std::vector<Note> notes_;
};

}  // namespace cuckoo
