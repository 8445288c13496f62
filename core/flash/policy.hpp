// What kind of device a flash store is on, as answers to the questions that the store asks. Nothing
// else looks at FlashStoreOptions::atomic_device and wears_out.
//
// An atomic device is changed by a database, in transactions: nothing is ever torn.
//   mount     It writes nothing and reads only what it must: it knows where the anchors are, and
//             finds a stream's blocks because each of them names the next one.
//   wear      If it wears out, a block is erased when it becomes free, not when it is taken. So a
//             free block is good, a change that began ends, and a replay, which asks the same rule
//             (R6 of device.hpp), retires the same blocks. The three blocks of the anchors don't
//             wear out, because a mount must find them. A collection and a checkpoint begin only
//             with room for both.
//
// A bare device, such as a file, may lose power at any moment.
//   torn      What was programmed last may be half there, what reads as erased may not be, and a
//             read may fail once. So a mount looks at every block, and writes a checkpoint before
//             it lets anything be erased.
//   reorders  Some bare devices may write in another order. Then a power cut leaves in each byte
//             either its value at the last sync(), or any value that was written to it since. The
//             barriers in store.hpp say where the store syncs.
//   wear      A worn block may do nothing and say nothing. So whatever is erased or programmed is
//             read before the store counts on it, and what failed is done again in another block. A
//             free block may fail when it is taken, and a change that began may find no other:
//             kFull then poisons, and the next mount finds everything except that change.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cuckoo {

struct FlashStoreOptions {
  unsigned hashes = 2;  // of the slot cache
  unsigned ways = 4;
  uint64_t seed = 0;  // of all hashes
  // A database transaction changes the device atomically. So a mount finds no torn record, and
  // bytes that were never written read as erased.
  bool atomic_device = false;
  // Checkpoints when a mount would have to read more than 2.5 bytes a record and 48 sectors after
  // the last one. Off: the caller asks checkpoint_due(), for example at each commit.
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
  // The last thing in a stream may be half there, and an older store's blocks may be, too.
  bool may_be_torn() const noexcept { return !atomic_; }
  // Any record since the last sync may be torn, not only the last one in its stream.
  bool may_reorder() const noexcept { return reorders_; }
  // What is programmed or erased is read, to see whether it was.
  bool verifies() const noexcept { return !atomic_; }
  // A mount leaves the device as it found it.
  bool mount_only_reads() const noexcept { return atomic_; }

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

}  // namespace cuckoo
