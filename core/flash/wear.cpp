#include "core/flash/wear.hpp"

#include <algorithm>

namespace cuckoo::core {
namespace {

constexpr uint32_t kMargin = 4;  // levelling begins so many erases before the gap
constexpr uint32_t kLeastGap = 32;
constexpr uint32_t kBlocksToLevel = 3;  // that collecting a block without anything dead may open
constexpr uint32_t kAnchorWear = 8;     // erases by which a block of anchors may lag the mean
constexpr uint32_t kMostAnchorErases = 64;  // at a time: the counts may be wrong

}  // namespace

uint32_t flash_wear_gap(const FlashState& state) noexcept {
  const uint32_t endurance = state.layout.geometry().endurance_erases;
  const uint32_t least =
      state.policy.wears_out() ? std::clamp(endurance / 8, 2 * kMargin, kLeastGap) : kLeastGap;
  return std::max(least, endurance / 50);
}

// Looks at all blocks only if a block is about to be opened, and the stream's own block is worn
// enough. That block tells how worn the blocks in use are.
uint32_t block_to_level(const FlashState& state, uint64_t units, uint64_t wanted) {
  const FlashStream& hot = state.now.streams.hot;
  if (hot.block == kNoBlock || hot.offset + units <= state.layout.units_per_block()) {
    return kNoBlock;
  }
  const uint32_t gap = flash_wear_gap(state);
  if (state.blocks.at(hot.block).erase_count + kMargin < gap ||
      (state.policy.wears_out() && state.blocks.free_count() < wanted + kBlocksToLevel)) {
    return kNoBlock;
  }
  return state.blocks.pick_least_worn(state.now.streams, gap - kMargin);
}

bool anchors_are_behind(const FlashState& state, uint32_t block) {
  return !state.policy.wears_out() && block != kNoBlock &&
         state.blocks.at(block).erase_count + kAnchorWear <
             static_cast<uint32_t>(state.blocks.wear().mean);
}

uint32_t anchor_erases_due(const FlashState& state, uint32_t block) {
  if (state.policy.wears_out()) {
    return 0;
  }
  const auto mean = static_cast<uint32_t>(state.blocks.wear().mean);
  const uint32_t count = state.blocks.at(block).erase_count;
  return count + 1 < mean ? std::min(mean - count - 1, kMostAnchorErases) : 0;
}

}  // namespace cuckoo::core
