// Checkpoints: the index, the block table and the streams, as bytes (checkpoint.hpp), in blocks of
// their own, and an anchor that points to them.
//
// Invariants
//   I1  the older checkpoint and its tail stay until the newer one's anchor is programmed. Only
//       then sweep() frees them.
//   I2  the tail begins at the positions that the streams had when the checkpoint was encoded.
//   I3  on a device that wears out, a checkpoint begins only if there is room for all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/flash/anchors.hpp"
#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

class FlashCheckpointer {
 public:
  FlashCheckpointer(FlashState& state, FlashLog& log, FlashAnchors& anchors) noexcept
      : state_(state), log_(log), anchors_(anchors) {}

  // Returns how many blocks a checkpoint of all entries takes at most.
  uint32_t blocks_needed() const noexcept { return blocks_needed(state_.index.size()); }
  // Returns whether a checkpoint has room where blocks wear out. Elsewhere returns true, because
  // the collector keeps room for it.
  bool fits(uint64_t entries) const noexcept;
  bool due() const noexcept;

  // Calls write(), and then frees all that only the older checkpoint needed. kFull: I3; nothing
  // changed.
  Status checkpoint();
  Status write();
  // Forgets all entries, then calls checkpoint().
  Status clear();

 private:
  uint32_t blocks_needed(uint64_t entries) const noexcept {
    return state_.layout.checkpoint_blocks(state_.blocks.touched(), entries);
  }
  Status expect_fit(uint64_t entries) const;
  std::vector<std::byte> encode(std::vector<FlashIndexPiece> pieces,
                                std::span<const FlashIndexEntry> rest) const;
  Result<uint32_t> open_block();
  size_t payload_bytes() const noexcept;
  Result<std::vector<uint32_t>> program(std::vector<uint32_t> blocks);
  Result<uint32_t> program_piece(std::vector<uint32_t>& blocks, FlashRecordHeader header,
                                 std::span<const std::byte> bytes);

  FlashState& state_;
  FlashLog& log_;
  FlashAnchors& anchors_;
  std::vector<std::byte> encoded_;
};

}  // namespace cuckoo::core
