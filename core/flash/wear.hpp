// Wear levelling: all blocks of a device shall wear out at the same time.
//
// Free blocks are used least-worn first (blocks.hpp). That does nothing for two kinds of blocks:
//   data that never changes    When the least worn block with data is the *gap* behind the most
//                              worn block, it is collected, and so comes back into use (static
//                              wear levelling).
//   anchors                    They stay in a few blocks, where a mount looks for them, and
//                              hundreds fit one: these blocks would never be erased while all
//                              others wear out. So they are erased for nothing now and then.
// On an atomic device that wears out, anchors never fail, so they need no wear.
//
// Invariants
//   I1  what is picked is a block of data, no part of the tail, and kMargin erases from the gap.
//   I2  a block of anchors is erased for nothing only while it is less worn than the mean.
#pragma once

#include <cstdint>

#include "core/flash/state.hpp"

namespace cuckoo {

// Erases that may lie between two blocks. Blocks that wear out soon are levelled when an eighth of
// their life does.
uint32_t flash_wear_gap(const FlashState& state) noexcept;

// A block to collect before `units` units are appended, while `wanted` free blocks are needed for
// other things; kNoBlock: none is far enough behind, or it isn't the moment.
uint32_t block_to_level(const FlashState& state, uint64_t units, uint64_t wanted);

// The block of the next anchors is so little worn that they shall move there now.
bool anchors_are_behind(const FlashState& state, uint32_t block);
// How often to erase it for nothing before it is used.
uint32_t anchor_erases_due(const FlashState& state, uint32_t block);

}  // namespace cuckoo
