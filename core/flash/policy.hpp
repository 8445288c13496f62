// Answers the questions of a flash store about the kind of its device. Nothing else looks at
// FlashStoreOptions::atomic_device and wears_out.
//
// An atomic device is changed by a database, in transactions: nothing is ever torn.
//   mount     It writes nothing and reads only what it must: it knows where the anchors are, and
//             finds a stream's blocks because each of them names the next one.
//   wear      If it wears out, a block is erased when it becomes free, not when it is taken. So a
//             free block is good, a change that has begun can always be finished, and a replay,
//             which asks the same rule (R6 of device.hpp), retires the same blocks. The three
//             blocks of the anchors don't wear out, because a mount must find them. A collection
//             and a checkpoint begin only with room for both.
//
// A bare device, such as a file, may lose power at any moment.
//   torn      The last program may have written only a part of its bytes. A block that reads as
//             erased may not be erased. A read may fail once. So a mount looks at every block, and
//             writes a checkpoint, unless nothing came after the newest one, before it lets
//             anything be erased.
//   reorders  Some bare devices may write in another order. Then a power cut leaves in each byte
//             either its value at the last sync(), or any value that was written to it since. The
//             barriers below say where the store syncs.
//   wear      A worn block may do nothing and report no error. So the store reads whatever it
//             erased or programmed before it counts on it, and does what failed again in another
//             block. A free block may fail when it is taken, and a change that began may find no
//             other. Then it fails with kFull, the store is poisoned, and the next mount finds
//             everything except that change.
//
// Barriers, for a device that reorders (FlashStoreOptions::reordering_device). A power cut may undo
// any of the writes since the last sync(), whatever their order was. One rule keeps the invariants
// I1 … I4 of store.hpp: *the store programs nothing that relies on a write which is not synced,
// except that a record follows the one before it*.
//   B1  before an erase: the records or the anchor that made the block free are synced. Because
//       every block is erased before it is used, all records that may be lost are in one block of
//       each stream, the last one.
//   B2  a power cut may take a block's header and leave a record in that block. Between two syncs
//       this happens to each block once at most. So a mount adds the number of blocks to the next
//       sequence. Then no new block gets the sequence that such a record was written for.
//   B3  after a collection: its copies and its end are synced before a record replaces a copy.
//   B4  before and after an anchor: first its checkpoint is synced, then the anchor. Only then
//       anything is appended that counts on the anchor.
//   B5  a mount syncs before it reads, because it counts on the records that it finds, and a
//       process that was killed may have left them unsynced.
// Within a block, a replay reads up to the first record that is not whole. All that it passes over
// is later than that record in the order of the log, because hot records are in the order of their
// LSNs, and a collection names the LSN before which it comes. So after a power cut the store has
// the first n changes, for some n, and all that were synced are among them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cuckoo::core {

struct FlashStoreOptions {
  unsigned hashes = 2;  // of the slot cache
  unsigned ways = 4;
  uint64_t seed = 0;  // of all hashes
  // A database transaction changes the device atomically. So a mount finds no torn record, and
  // bytes that were never written read as erased.
  bool atomic_device = false;
  // Checkpoints when a mount would have to read more than 2.5 bytes a record and tail_sectors()
  // after the last one. Off: the caller asks checkpoint_due(), for example at each commit.
  bool automatic_checkpoints = true;
  // Bare devices only: a power cut may undo any of the writes since the last sync().
  bool reordering_device = false;
  // atomic_device only: blocks fail as FlashDevice::erase_fails() says.
  bool wears_out = false;
};

class FlashPolicy {
 public:
  static constexpr uint32_t kAnchorBlocks = 3;

  explicit FlashPolicy(const FlashStoreOptions& options) noexcept
      : atomic_(options.atomic_device),
        reorders_(options.reordering_device),
        wears_out_(options.wears_out) {}

  // --- bare devices
  // The last record of a stream may be torn, and so may the blocks of an older store.
  bool may_be_torn() const noexcept { return !atomic_; }
  // Any record since the last sync may be torn, not only the last one of its stream.
  bool may_reorder() const noexcept { return reorders_; }
  // The store reads what it programmed or erased, to see whether it worked.
  bool verifies() const noexcept { return !atomic_; }
  // A mount leaves the device as it found it.
  bool mount_only_reads() const noexcept { return atomic_; }

  // Damage in the tail costs more than elsewhere, so it is short. But a checkpoint on a bare device
  // takes two syncs.
  uint64_t tail_sectors() const noexcept { return atomic_ ? 24 : 48; }

  // --- atomic devices
  // An open block names the stream's next one, which is reserved.
  bool names_next_block() const noexcept { return atomic_; }
  // A block without headers needs no erase: nothing was programmed since its last one.
  bool trusts_erased_blocks() const noexcept { return atomic_; }
  // format() takes the anchors' blocks as they are: the first ones, erased, and they never fail.
  bool has_fixed_anchors() const noexcept { return atomic_; }
  // Blocks whose headers a mount reads.
  uint32_t blocks_to_search(uint32_t blocks) const noexcept {
    return atomic_ ? std::min(kAnchorBlocks, blocks) : blocks;
  }

  // --- atomic devices that wear out
  bool wears_out() const noexcept { return wears_out_; }

 private:
  bool atomic_;
  bool reorders_;
  bool wears_out_;
};

}  // namespace cuckoo::core
