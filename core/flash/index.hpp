// The index of a flash store: which record positions a key or a part of a value may have, in a slot
// cache, and how to take changes back.
//
// Invariants
//   I1  the pairs (hash, position) are those that were inserted and not removed or replaced since:
//       SlotCache has the rest.
//   I2  from the first mark on, every change is noted, oldest first: undoing the notes behind a
//       mark, newest first, gives the pairs that were there at the mark. Without a mark nothing is.
//   I3  a change that throws std::bad_alloc is as if it had not been asked for.
#pragma once

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

  template <class Visit>
  bool find(uint32_t hash, Visit&& visit) const {
    return slots_.find(hash, std::forward<Visit>(visit));
  }
  bool contains(uint32_t hash, uint32_t position) const noexcept {
    return slots_.contains(hash, position);
  }
  template <class Visit>
  void for_each(Visit&& visit) const {
    slots_.for_each(std::forward<Visit>(visit));
  }
  // All of them: (position, hash), ascending, so that what reads the records reads the device once.
  using Entries = std::vector<std::pair<uint32_t, uint32_t>>;
  Entries by_position() const;
  uint64_t size() const noexcept { return slots_.size(); }
  const SlotCache& slots() const noexcept { return slots_; }

  // As SlotCache has them.
  void insert(uint32_t hash, uint32_t position);
  bool replace(uint32_t hash, uint32_t from, uint32_t to);
  bool remove(uint32_t hash, uint32_t position);
  void clear();
  void reserve(uint64_t entries) { slots_.reserve(entries); }

  // I2. Returns a place to go back to.
  size_t mark() noexcept;
  // std::bad_alloc: some changes are taken back, the older ones are not.
  void undo_to(size_t place);
  void forget_marks() noexcept;

  Status check() const { return slots_.check(); }

 private:
  // A pair that came has no `from`, one that went has no `to`: no position is 0.
  struct Note {
    uint32_t hash, from, to;
  };
  void note(const Note& note);
  void forget_last_note() noexcept;

  SlotCache slots_;
  bool noting_ = false;
  std::vector<Note> notes_;
};

}  // namespace cuckoo
