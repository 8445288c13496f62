// Notes the changes of a flash store since each mark, so that a roll-back can go back to the mark.
// A transaction's beginning is a mark, and so is each savepoint.
//
// The index and the block table note their changes here, and take one back when FlashUndoLog asks
// them to. The registers are so small that each mark has a copy of them. The device's bytes are
// their owner's to take back.
//
// Invariants
//   I1  marks nest and are numbered 0, 1, 2 …. Going back to a mark forgets the later ones; that
//       mark stays. Releasing a mark forgets it and the later ones.
//   I2  while there is a mark, every change of the index is noted. Of a block, the first change
//       after each mark is noted, with its state before. Without a mark nothing is noted.
//   I3  changes are taken back from the newest to the oldest. The index and the blocks don't depend
//       on one another, and their notes have different lengths, so each has a list of its own.
//   I4  a function that throws std::bad_alloc changed nothing.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flash/blocks.hpp"
#include "core/flash/registers.hpp"

namespace cuckoo::core {

// One change of the index. `from` is 0 for an entry that came, `to` is 0 for one that went, because
// no position is 0.
struct FlashIndexUndo {
  uint32_t hash, from, to;
};

// The state of an erase block before its change.
struct FlashBlockUndo {
  uint32_t block;
  bool was_virgin;
  FlashBlock before;
};

class FlashUndoLog {
 public:
  // The place where a block was noted last. It is only a hint, which has_block() verifies.
  using Place = uint32_t;

  struct Mark {
    int savepoint;         // the caller's number for it
    uint32_t block_count;  // of the device
    FlashRegisters registers;
    size_t index_changes, block_changes;  // that are older
  };

  // Returns the mark's number (I1).
  size_t mark(int savepoint, uint32_t block_count, const FlashRegisters& registers);
  size_t marks() const noexcept { return marks_.size(); }
  const Mark& at(size_t number) const noexcept { return marks_[number]; }
  void set_savepoint(size_t number, int savepoint) noexcept {
    marks_[number].savepoint = savepoint;
  }
  void release(size_t number) noexcept;  // that mark and those after it

  // --- noting (I2)
  bool noting() const noexcept { return !marks_.empty(); }
  void reserve_index_changes(size_t more) { index_changes_.reserve(index_changes_.size() + more); }
  void note(const FlashIndexUndo& change) {
    if (noting()) {
      index_changes_.push_back(change);
    }
  }
  // Takes back the last note of the index, because its change did not come about.
  void drop_index_change() noexcept {
    if (noting()) {
      index_changes_.pop_back();
    }
  }
  // Returns whether a change of the block was noted since the newest mark. Also true if nothing is
  // noted.
  bool has_block(uint32_t block, Place place) const noexcept {
    return !noting() || (place >= marks_.back().block_changes && place < block_changes_.size() &&
                         block_changes_[place].block == block);
  }
  // Call this only while there is a mark.
  Place note(const FlashBlockUndo& change) {
    assert(noting());
    block_changes_.push_back(change);
    return static_cast<Place>(block_changes_.size() - 1);
  }

  // --- taking back (I3). Each calls undo(change) for all since that mark, and forgets them.
  template <class Undo>
  void undo_index(size_t number, Undo&& undo) {
    take_back(index_changes_, marks_[number].index_changes, undo);
  }
  template <class Undo>
  void undo_blocks(size_t number, Undo&& undo) {
    take_back(block_changes_, marks_[number].block_changes, undo);
  }

  size_t memory_bytes() const noexcept;

 private:
  // A change whose undo() throws stays noted.
  template <class Change, class Undo>
  static void take_back(std::vector<Change>& changes, size_t older, Undo& undo) {
    for (; changes.size() > older; changes.pop_back()) {
      undo(changes.back());
    }
  }

  std::vector<Mark> marks_;
  std::vector<FlashIndexUndo> index_changes_;
  std::vector<FlashBlockUndo> block_changes_;
};

}  // namespace cuckoo::core
