// What a flash store and the pages of its device changed since each mark, so that a roll-back can
// go back to it. A transaction's beginning is a mark, and so is each savepoint.
//
// The index, the block table and the pages note their changes here, and take one back when
// FlashUndoLog asks them to. The registers are so small that each mark has a copy of them.
//
// Invariants
//   I1  marks nest and are numbered 0, 1, 2 …. Going back to a mark forgets the later ones; that
//       mark stays. Releasing a mark forgets it and the later ones.
//   I2  while there is a mark, every change of the index is noted. Of a block or a page the first
//       change after each mark is, with what was there before. Without a mark nothing is noted.
//   I3  changes are taken back from the newest to the oldest. The index, the blocks and the pages
//       don't depend on one another, so each of them has a list of its own.
//   I4  what throws std::bad_alloc here changed nothing.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flash/blocks.hpp"
#include "core/flash/registers.hpp"

namespace cuckoo {

// One change of the index. An entry that came has no `from`, one that went has no `to`: no position
// is 0.
struct FlashIndexUndo {
  uint32_t hash, from, to;
};

// What an erase block was before its change.
struct FlashBlockUndo {
  uint32_t block;
  bool was_virgin;
  FlashBlock before;
};

// One change of a page of the device.
struct FlashPageUndo {
  uint64_t page;
  int rows;  // 1: its row came; -1: its row went; 0: its bytes changed
};

class FlashUndoLog {
 public:
  // Where a block or a page was noted last. Only a hint: has_block() and has_page() look there.
  using Place = uint32_t;

  struct Mark {
    int savepoint;         // what the caller calls it
    uint32_t block_count;  // of the device
    FlashRegisters registers;
    size_t index_changes, block_changes, page_changes;  // that are older
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
  // The change of the index that was noted last did not come about.
  void drop_index_change() noexcept {
    if (noting()) {
      index_changes_.pop_back();
    }
  }
  // Was a change of the block noted since the newest mark? Also true when nothing is noted.
  bool has_block(uint32_t block, Place place) const noexcept {
    return !noting() || (place >= marks_.back().block_changes && place < block_changes_.size() &&
                         block_changes_[place].block == block);
  }
  bool has_page(uint64_t page, Place place) const noexcept {
    return !noting() || (place >= marks_.back().page_changes && place < page_changes_.size() &&
                         page_changes_[place].page == page && page_changes_[place].rows == 0);
  }
  // While there is a mark.
  Place note(const FlashBlockUndo& change) {
    assert(noting());
    block_changes_.push_back(change);
    return static_cast<Place>(block_changes_.size() - 1);
  }
  Place note(const FlashPageUndo& change) {
    assert(noting());
    page_changes_.push_back(change);
    return static_cast<Place>(page_changes_.size() - 1);
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
  template <class Undo>
  void undo_pages(size_t number, Undo&& undo) {
    take_back(page_changes_, marks_[number].page_changes, undo);
  }

  size_t memory_bytes() const noexcept;

 private:
  // A change whose undo() throws is noted still.
  template <class Change, class Undo>
  static void take_back(std::vector<Change>& changes, size_t older, Undo& undo) {
    for (; changes.size() > older; changes.pop_back()) {
      undo(changes.back());
    }
  }

  std::vector<Mark> marks_;
  std::vector<FlashIndexUndo> index_changes_;
  std::vector<FlashBlockUndo> block_changes_;
  std::vector<FlashPageUndo> page_changes_;
};

}  // namespace cuckoo
