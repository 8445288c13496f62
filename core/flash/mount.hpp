// Makes a store on a device, finds it again, and repairs what a power cut left. An object of this
// class lives as long as one format() or mount().
//
// A mount reads the newest anchor and its checkpoint, and replays the records after it
// (replay.hpp). On a bare device (policy.hpp) it then writes an anchor for the checkpoint that it
// read. If anything came after that checkpoint, it also writes a new one of all that it found.
//
// Invariants
//   I1  on a bare device nothing is appended after a record that may be torn: every stream goes on
//       in another block.
//   I2  on a bare device nothing is erased before the new checkpoint holds all that was found. Only
//       blocks of anchors are, except those of the two newest anchors in different blocks.
//   I3  on an atomic device a mount writes nothing.
//   I4  on a bare device an anchor that this mount wrote is the newest before it uses a free block.
//       There may be an anchor that reads well only now and then. Its checkpoint may be in blocks
//       that are free for the one that this mount read, so no later mount may begin with it. There
//       is one exception: if a block of anchors failed, this anchor may need a free block itself.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/flash/anchors.hpp"
#include "core/flash/checkpointer.hpp"
#include "core/flash/log.hpp"
#include "core/flash/replay.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

struct FlashCheckpoint;

class FlashMount {
 public:
  // The state must be that of an empty device.
  FlashMount(FlashState& state, FlashLog& log, FlashAnchors& anchors,
             FlashCheckpointer& checkpointer) noexcept
      : state_(state), log_(log), anchors_(anchors), checkpointer_(checkpointer) {}

  // Makes an empty store. A bare device may hold anything; an atomic one must be erased.
  Status format();
  Status mount();
  // After mount(): true if too few blocks are left for a checkpoint. Then the store only reads.
  bool worn_out() const noexcept { return worn_out_; }

 private:
  struct Anchor {
    uint64_t id = 0;  // of the checkpoint
    uint32_t last_block = kNoBlock;
    uint32_t block = kNoBlock;  // with the mark
    uint32_t offset = 0;        // of the unit after it
    uint64_t sequence = 0;      // of the block
  };

  // format
  Status prepare_anchor_blocks();
  // the contents of the device
  Status read_headers();
  Status read_header(uint32_t block);
  Status scan_anchors(uint32_t block, uint64_t sequence);
  Result<bool> tail_has_begun();
  FlashReplay::Opened in_tail(const FlashReplay::Opened& opened) const;
  // the checkpoint
  Status load_checkpoint(const Anchor& anchor);
  struct Piece {
    FlashRecordHeader header;
    uint32_t block = kNoBlock;
    uint64_t sequence = 0;  // of the block
  };
  Result<std::vector<Piece>> read_chain(const Anchor& anchor);
  Result<Piece> read_piece_header(uint32_t block);
  Result<std::vector<std::byte>> read_pieces(const std::vector<Piece>& pieces);
  Error broken_piece(uint32_t block, const char* what) const;
  Status adopt(FlashCheckpoint& checkpoint);
  Status adopt_index(FlashCheckpoint& checkpoint);
  Status expect_places(const FlashIndex::Entries& entries) const;
  // after a power cut
  Status mount_torn();
  Status free_other_anchor_blocks();
  Status write_what_was_found(const FlashReplay& replay);
  Status append_newest_again(const FlashTailRecord& newest);

  FlashState& state_;
  FlashLog& log_;
  FlashAnchors& anchors_;
  FlashCheckpointer& checkpointer_;

  // From the headers of all blocks; on an atomic device, from those of the anchors only.
  FlashReplay::Opened hot_, cold_;  // ascending
  std::vector<uint32_t> anchor_blocks_;
  std::vector<Anchor> found_;  // newest first: by the block's sequence, then by offset
  uint64_t max_sequence_ = 0;
  bool worn_out_ = false;
};

}  // namespace cuckoo::core
