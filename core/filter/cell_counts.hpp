// A map of cells to counts: open addressing, linear probing, at most half of the slots used. If a
// filter has an overflow table, each probe that finds nothing in the pages asks it. When this was a
// tree, and had 50,000 cells, that took three times as long as the rest of the probe. A remove asks
// for all cells of its key.
//
// Invariants
//   I1  a count is 1 or more; a slot with count 0 is free.
//   I2  no slot between a cell's first one and the cell's own is free.
//   I3  when memory runs out (std::bad_alloc), nothing has changed.
//   I4  a cell is within a few dozen slots of its first one, even if an attacker chose the cells.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/mix.hpp"
#include "core/base/salt.hpp"

namespace cuckoo::core {

class CellCounts {
 public:
  bool empty() const noexcept { return used_ == 0; }
  size_t size() const noexcept { return used_; }
  uint64_t count(uint64_t cell) const noexcept { return used_ == 0 ? 0 : slots_[find(cell)].count; }

  size_t memory_bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }
  // Returns how many slots of others a look-up passes.
  size_t distance(uint64_t cell) const noexcept {
    return used_ == 0 ? 0 : (find(cell) - first_slot(cell)) & (slots_.size() - 1);
  }

  // Makes room for so many more cells.
  void make_room(size_t more = 1) {
    size_t slots = std::max(kFirstSlots, slots_.size());
    while (2 * (used_ + more) > slots) {
      slots *= 2;
    }
    if (slots > slots_.size()) {
      grow_to(slots);
    }
  }
  // Sets a cell's count; 0 removes the cell. For a new cell, make_room() came before.
  void set(uint64_t cell, uint64_t count) noexcept {
    if (count == 0) {
      erase(cell);
      return;
    }
    assert(used_ < slots_.size());
    Slot& slot = slots_[find(cell)];
    used_ += slot.count == 0 ? 1 : 0;
    slot = {cell, count};
  }
  // Adds to a cell's count, modulo 2^64. So it can also subtract.
  void add(uint64_t cell, uint64_t more) noexcept { set(cell, count(cell) + more); }
  void clear() noexcept {
    slots_ = {};
    used_ = 0;
  }

  // Checks I1 and I2: every slot in use is found again, and there are as many as were counted.
  bool good() const noexcept {
    size_t used = 0;
    for (size_t at = 0; at < slots_.size(); ++at) {
      used += slots_[at].count != 0 && find(slots_[at].cell) == at ? 1 : 0;
    }
    return used == used_ && 2 * used <= slots_.size();
  }

  // Visits all cells, in any order.
  template <class Visitor>
  void for_each(Visitor&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.count != 0) {
        visit(slot.cell, slot.count);
      }
    }
  }

 private:
  struct Slot {
    uint64_t cell = 0;
    uint64_t count = 0;
  };
  static constexpr size_t kFirstSlots = 16;

  size_t first_slot(uint64_t cell) const noexcept {
    return mix64(cell ^ salt_) & (slots_.size() - 1);
  }
  size_t behind(size_t slot) const noexcept { return (slot + 1) & (slots_.size() - 1); }
  // Returns the cell's slot, or the free slot that it would take. There are slots.
  size_t find(uint64_t cell) const noexcept {
    size_t at = first_slot(cell);
    while (slots_[at].count != 0 && slots_[at].cell != cell) {
      at = behind(at);
    }
    return at;
  }
  void grow_to(size_t count) {
    std::vector<Slot> slots(count);
    slots.swap(slots_);
    for (const Slot& slot : slots) {
      if (slot.count != 0) {
        slots_[find(slot.cell)] = slot;
      }
    }
  }
  // Removes a cell. The cells after it move up, as far as the next free slot, except a cell that
  // would come before its first slot (I2).
  void erase(uint64_t cell) noexcept {
    if (used_ == 0) {
      return;
    }
    size_t hole = find(cell);
    if (slots_[hole].count == 0) {
      return;
    }
    for (size_t at = behind(hole); slots_[at].count != 0; at = behind(at)) {
      const size_t mask = slots_.size() - 1;
      const size_t from_first = (at - first_slot(slots_[at].cell)) & mask;
      if (from_first >= ((at - hole) & mask)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = {};
    --used_;
  }

  std::vector<Slot> slots_;  // a power of two of them, or none
  size_t used_ = 0;
  uint64_t salt_ = process_salt();
};

}  // namespace cuckoo::core
