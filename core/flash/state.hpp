// A flash store's memory: the index, the block table, the streams and some figures. Its functions
// do to them what each record of the log says. It reads nothing from the device.
//
// A put and a mount call the same functions for the same records: open(), append(), apply(),
// apply_collection(). That is how a mount gets the state of the store that wrote them.
//
// Invariants, besides I5 … I7 of store.hpp, which are about this state
//   S1  the state is a pure function of the newest checkpoint and of the calls since. It depends on
//       nothing that only the writer knows.
//   S2  a block becomes free only when nothing in it is live, it is no part of the tail and no
//       stream writes to it; while releases are held, only after release_held().
//   S3  undo_to() gives the state of the mark, except the counts of reads.
//   S4  an entry in a bad block is *lost*: its record could not be read, and FlashHealer gave the
//       block up. It counts no live units and no charge, and it stays in the index until its key is
//       replaced or removed. No other entry is in a bad block. Nobody can tell whether a lost entry
//       is a head or a part of a lost head's value. So the number of lost heads is the number of
//       heads less those that can be read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/flash/blocks.hpp"
#include "core/flash/device.hpp"
#include "core/flash/index.hpp"
#include "core/flash/layout.hpp"
#include "core/flash/policy.hpp"
#include "core/flash/record.hpp"
#include "core/flash/registers.hpp"
#include "core/flash/undo_log.hpp"

namespace cuckoo::core {

// A record of the log without its value.
struct FlashLogRecord {
  uint32_t position = 0;
  FlashRecordHeader header;
  uint32_t hash = 0;            // of a record that the index knows
  uint32_t crc = 0;             // of its head
  uint64_t charged = 0;         // units of an entry; 0: not computed yet
  uint64_t charged_before = 0;  // units of the entry that this record replaces or removes
  std::vector<std::byte> drop;  // a drop's value: it says which parts are dead
};

class FlashState {
 public:
  FlashState(FlashDevice& device, const FlashStoreOptions& options);
  FlashState(const FlashState&) = delete;
  FlashState& operator=(const FlashState&) = delete;

  void reset();  // to the state of an empty device, whose geometry may have changed
  void grow();   // the device has more blocks than before

  const FlashPolicy policy;
  FlashLayout layout;
  FlashUndoLog undo;  // of the members that follow
  FlashBlocks blocks;
  FlashIndex index;
  FlashRegisters now;

  // --- a change failed half-way: memory may be ahead of the log, and only a mount helps
  bool poisoned() const noexcept { return poisoned_; }
  void set_poisoned(bool poisoned) noexcept { poisoned_ = poisoned; }
  // Passes the status on; an error poisons.
  Status fail(Status status) noexcept;
  // Returns kFull. Its text says so if the device is worn out.
  Error full(const std::string& why) const;

  // --- what the log does
  void fold(uint64_t value) noexcept;  // into the digest
  void open(uint32_t block, FlashBlockKind kind, uint32_t erase_count, uint64_t sequence);
  // Updates stream, block, digest and tail for the stream's next record.
  void append(FlashStream& stream, const FlashRecordHeader& header, uint32_t position,
              uint32_t crc);
  // Updates the index and the live units. kCorrupt: the record names one that is not there.
  Status apply(const FlashLogRecord& record);
  // Makes the index point to the copies, and frees the victim.
  Status apply_collection(std::span<const FlashLogRecord> copies, uint32_t victim);

  // Returns whether the entry at that position is lost (S4).
  bool is_lost(uint32_t position) const noexcept {
    return blocks.at(layout.locate(position).block).kind == FlashBlockKind::kBad;
  }
  static Error lost(uint64_t entries);  // says that so many are
  // Gives up a block that no stream writes to. Its entries are lost from here on. A checkpoint must
  // follow.
  Status give_up(uint32_t block);
  // Makes the blocks free that were given up, on a device whose rule tells them from worn-out ones.
  // No entry is left.
  void take_back_given_up();

  // --- blocks that become free (S2)
  Status release_if_dead(uint32_t block);
  // Keeps each block that loses its last live record until release_held(), that is until the batch
  // or the collection is complete.
  void hold_releases() noexcept { holding_ = true; }
  Status release_held();
  void forget_held() noexcept;  // sweep() finds them
  // Frees every block that nothing points to and no mount needs.
  Status sweep();
  // While one exists, the records that are applied took effect before. So a block that becomes free
  // is not erased again.
  class Replaying {
   public:
    explicit Replaying(FlashState& state) noexcept : state_(state) { set(true); }
    Replaying(const Replaying&) = delete;
    Replaying& operator=(const Replaying&) = delete;
    ~Replaying() { set(false); }

   private:
    void set(bool replaying) noexcept { state_.replaying_ = replaying; }
    FlashState& state_;
  };

  // --- marks (S3)
  size_t mark(int savepoint) { return undo.mark(savepoint, layout.geometry().blocks, now); }
  // Takes back everything since that mark in memory, but nothing on the device. The mark stays. If
  // memory runs out, the state is poisoned.
  void undo_to(size_t number) noexcept;

  // Returns the first difference to `other`, or an empty text.
  std::string difference_to(FlashState& other);
  // Verifies I7 of store.hpp, the index and the block table. Reads no record.
  Status check();

 private:
  // Fetches the hash, because the entry that a change replaces must be in the index. A replay
  // believes it: the digest proves that it was.
  Result<FlashIndex::Fetched> fetch(uint32_t hash) {
    return replaying_ ? FlashIndex::believe(hash) : index.fetch(hash);
  }
  // Returns `known` unless it is 0. The writer has computed it; a replay has not.
  Result<uint64_t> charge(uint64_t known, size_t key_bytes, uint64_t value_bytes) const {
    return known != 0 ? Result<uint64_t>(known) : layout.charge(key_bytes, value_bytes);
  }
  Status apply_drop(const FlashLogRecord& record);
  void set_registers(FlashRegisters registers) noexcept;
  bool may_die(uint32_t position, uint32_t units) const noexcept;
  Status kill(uint32_t position, uint32_t units);
  Status free_block(uint32_t block);

  FlashDevice& device_;
  const SlotCacheOptions index_options_;
  bool poisoned_ = false;
  bool replaying_ = false;
  bool holding_ = false;
  std::vector<uint32_t> held_;
};

}  // namespace cuckoo::core
