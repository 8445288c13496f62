// Anchors: marks that point to a checkpoint. A mount begins with the newest. Three blocks hold
// them, hundreds in each, and are used in turn.
//
// Invariants
//   I1  the newest anchor stays until a newer one is programmed, because its block is never the
//       one that is opened next.
//   I2  no anchor is programmed after a unit that may be torn.
//   I3  a block that fails is replaced by a free one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/flash/log.hpp"
#include "core/flash/state.hpp"

namespace cuckoo::core {

class FlashAnchors {
 public:
  FlashAnchors(FlashState& state, FlashLog& log) noexcept : state_(state), log_(log) {}

  std::vector<uint32_t> blocks() const;  // ascending
  // Moves on to the next block if the current one is full, torn or much more worn. Call it before a
  // checkpoint is encoded, because the checkpoint has the block table.
  Status make_room();
  // Appends an anchor that points to the newest checkpoint, whose last block this is.
  Status write(uint32_t last_block);

 private:
  bool has_room() const noexcept;
  uint32_t oldest_block() const;
  Status move_on();
  Status open(uint32_t block);

  FlashState& state_;
  FlashLog& log_;
  std::vector<std::byte> encoded_;
};

}  // namespace cuckoo::core
