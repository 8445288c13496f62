// What kind of device a flash store is on, as answers to the questions that the store asks. Nothing
// else looks at FlashStoreOptions::atomic_device and wears_out.
//
// A bare device may lose power at any moment: what was programmed last is torn, what reads as
// erased may not be, and a read may fail once. So everything is verified, a mount looks at every
// block, and writes a checkpoint before it lets anything be erased.
//
// An atomic device is changed by a database, in transactions: nothing is ever torn. So a mount
// writes nothing and reads only what it must: it knows where the anchors are, and finds a stream's
// blocks because each of them names the one behind it.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cuckoo {

struct FlashStoreOptions {
  unsigned hashes = 2;  // of the slot cache
  unsigned ways = 4;
  uint64_t seed = 0;  // of all hashes
  // The device is changed atomically by somebody else (a database transaction): after a mount
  // nothing is torn, what was never written reads as erased, and a mount writes nothing.
  bool atomic_device = false;
  // Checkpoints when a mount would have to read more than 2.5 bytes a record and 48 sectors behind
  // the last one. Off: the caller asks checkpoint_due(), for example at each commit.
  bool automatic_checkpoints = true;
  // Bare devices only, such as files: a power cut may undo any of the writes since the last sync(),
  // whatever their order was (R5 in device.hpp).
  bool reordering_device = false;
  // atomic_device only: blocks fail as FlashDevice::erase_fails() says (Wear in store.hpp).
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

  // --- atomic devices that wear out: a block is erased when it becomes free, may fail then and
  // only then, and blocks of anchors never do.
  bool wears_out() const noexcept { return wears_out_; }

 private:
  bool atomic_;
  bool reorders_;
  bool wears_out_;
};

}  // namespace cuckoo
