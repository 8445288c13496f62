// Wear levelling, so that all blocks of a device wear out at about the same time.
//
// Free blocks are used least-worn first (blocks.hpp). That does nothing for two kinds of blocks:
//   data that never changes    When the least worn block with data has at least the *gap* fewer
//                              erases than the most worn block, it is collected, and so comes back
//                              into use (static wear levelling).
//   anchors                    They stay in a few blocks, where a mount looks for them, and
//                              hundreds fit one. So these blocks would hardly ever be erased while
//                              all others wear out. So they are erased for nothing now and then.
// On an atomic device that wears out, anchors never fail, so they need no wear.
//
// Invariants
//   I1  block_to_level() picks a block of data that is no part of the tail, and that has at least
//       (gap - kMargin) erases fewer than the most worn block.
//   I2  a block of anchors is erased for nothing only while it is less worn than the mean.
#pragma once

#include <cstdint>

#include "core/flash/state.hpp"

namespace cuckoo::core {

// Returns the gap: how many more erases one block may have than another. If blocks wear out soon,
// it is an eighth of their life.
uint32_t flash_wear_gap(const FlashState& state) noexcept;

// Returns a block to collect before `units` units are appended, while `wanted` free blocks are
// needed for other things. kNoBlock: no block lags far enough, or it is not the moment.
uint32_t block_to_level(const FlashState& state, uint64_t units, uint64_t wanted);

// Returns true if the block of the next anchors is so little worn that they move there now.
bool anchors_are_behind(const FlashState& state, uint32_t block);
// Returns how often to erase that block for nothing before it is used.
uint32_t anchor_erases_due(const FlashState& state, uint32_t block);

}  // namespace cuckoo::core
