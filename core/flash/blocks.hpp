// The table of a flash store's erase blocks: how each is used, how worn it is, which to take next,
// and which to collect. It is in memory only. The store logs its steps, and a checkpoint has the
// table.
//
// Invariants
//   I1  a block beyond touched() is virgin: free, never erased. Virgin blocks are taken in
//       ascending order, so the table ends with the last block that was ever used.
//   I2  the free set holds exactly the free blocks below touched(), by (erase count, number).
//   I3  take() gives the least worn free block, the lowest number among equals. So it depends on
//       the table only.
//   I4  while an undo log notes, each block's first change after a mark is noted there, together
//       with the block's state before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/flash/device.hpp"
#include "core/flash/record.hpp"

namespace cuckoo::core {

class FlashUndoLog;
struct FlashBlockUndo;

enum class FlashBlockKind : uint8_t {
  kFree = 0,      // erased before its next use
  kReserved = 1,  // free, but named as a stream's next block
  kData = 2,      // hot or cold records
  kCheckpoint = 3,
  kAnchor = 4,
  kBad = 5,  // worn out or bad from the start
};

struct FlashBlock {
  FlashBlockKind kind = FlashBlockKind::kFree;
  bool failing = false;  // a program failed in it: retired when it becomes free
  uint32_t erase_count = 0;
  uint32_t used_units = 0;  // headers included; records start below this
  uint32_t live_units = 0;  // of records that the index points to
  uint64_t sequence = 0;    // of its opening
  uint64_t newest_lsn = 0;  // of its records

  bool has_dead() const noexcept { return live_units + kFlashHeaderUnits < used_units; }
  friend bool operator==(const FlashBlock&, const FlashBlock&) = default;
};

// Where the next record goes, and which blocks belong to the tail.
struct FlashStream {
  uint32_t block = kNoBlock;
  uint32_t offset = 0;  // in units, of the next record
  uint32_t next = kNoBlock;

  friend bool operator==(const FlashStream&, const FlashStream&) = default;
};

struct FlashStreams {
  FlashStream hot, cold, anchor;
  uint64_t next_sequence = 1;
  // These blocks were open at the newest checkpoint. Blocks with this sequence or a later one were
  // opened since.
  uint32_t tail_hot = kNoBlock, tail_cold = kNoBlock;
  uint64_t tail_sequence = 1;

  // Return whether a stream writes to this block now, and whether it goes on in it.
  bool write_to(uint32_t block) const noexcept { return block == hot.block || block == cold.block; }
  bool go_on_in(uint32_t block) const noexcept { return block == hot.next || block == cold.next; }
  friend bool operator==(const FlashStreams&, const FlashStreams&) = default;
};

class FlashBlocks {
 public:
  explicit FlashBlocks(uint32_t count) noexcept : count_(count) {}

  uint32_t count() const noexcept { return count_; }
  uint32_t touched() const noexcept { return static_cast<uint32_t>(blocks_.size()); }
  FlashBlock at(uint32_t block) const noexcept {
    return block < touched() ? blocks_[block] : FlashBlock{};
  }
  // For a touched block.
  FlashBlockKind kind(uint32_t block) const noexcept { return blocks_[block].kind; }
  uint32_t live_units(uint32_t block) const noexcept { return blocks_[block].live_units; }

  void grow(uint32_t count) noexcept { count_ = count; }  // count >= count()
  // Replaces the table (a checkpoint's); blocks.size() <= count().
  void assign(std::vector<FlashBlock> blocks);

  // Reserves a block (I3). kNoBlock: none is free.
  uint32_t take();
  // Reserves a certain free or reserved block, which a replay knows.
  void take(uint32_t block);
  uint32_t free_count() const noexcept {
    return static_cast<uint32_t>(free_.size()) + (count_ - touched());
  }
  uint32_t bad_count() const noexcept { return bad_count_; }
  uint64_t live_units() const noexcept { return live_units_; }

  void open(uint32_t block, FlashBlockKind kind, uint32_t erase_count, uint64_t sequence);
  void set_erase_count(uint32_t block, uint32_t erase_count);
  // Notes that the block was erased: nothing is in it, not even headers.
  void set_erased(uint32_t block, uint32_t erase_count);
  // Notes a record of `live` live units that ends at `end` units.
  void append(uint32_t block, uint32_t end, uint32_t live, uint64_t lsn);
  void add_live(uint32_t block, uint32_t units);
  void remove_live(uint32_t block, uint32_t units);
  void fail(uint32_t block) { edit(block).failing = true; }
  // Frees the block. If it is failing, it becomes bad.
  void release(uint32_t block);
  void retire(uint32_t block);
  void take_back(uint32_t block);  // a bad block becomes free

  // Returns the block of data to collect; kNoBlock: none is worth it. Never picks a block of
  // `streams` or of the tail, or one without dead units. If there are many blocks, looks at 4096
  // neighbours, because their best one is nearly as good as the best of all.
  uint32_t pick_victim(const FlashStreams& streams, uint32_t units_per_block,
                       uint64_t next_lsn) const;
  // Returns the least worn block of data that is no part of the tail, if the most worn block has at
  // least `gap` more erases.
  uint32_t pick_least_worn(const FlashStreams& streams, uint32_t gap) const;
  bool in_tail(uint32_t block, const FlashStreams& streams) const noexcept;

  struct Wear {
    uint32_t min = 0, max = 0;
    double mean = 0, deviation = 0;  // standard deviation
  };
  Wear wear(bool with_anchors = true) const;  // of all blocks that are not bad

  size_t memory_bytes() const noexcept;

  // Checks I1, I2 and the counts.
  Status check() const;

  // From now on notes changes there (I4). The log outlives the table.
  void note_in(FlashUndoLog& undo) noexcept { undo_ = &undo; }
  // Takes back a change that was noted. All later ones were taken back before.
  void undo(const FlashBlockUndo& change);

 private:
  void clear() noexcept;  // all virgin
  FlashBlock& edit(uint32_t block);
  uint32_t best_victim(uint32_t first, uint32_t count, const FlashStreams& streams,
                       uint32_t units_per_block, uint64_t next_lsn) const;
  void set_kind(uint32_t block, FlashBlockKind kind);
  void give_up(uint32_t block, FlashBlockKind kind);
  // Add or remove a block's share of the free set and of the sums.
  void count_in(uint32_t block);
  void count_out(uint32_t block) noexcept;

  uint32_t count_;
  uint32_t bad_count_ = 0;
  uint64_t live_units_ = 0;
  std::vector<FlashBlock> blocks_;
  std::set<std::pair<uint32_t, uint32_t>> free_;
  FlashUndoLog* undo_ = nullptr;
  std::vector<uint32_t> places_;  // in undo_, per touched block: of its last note
};

}  // namespace cuckoo::core
