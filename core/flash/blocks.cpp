#include "core/flash/blocks.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <string>

#include "core/base/mix.hpp"
#include "core/flash/undo_log.hpp"

namespace cuckoo::core {

void FlashBlocks::clear() noexcept {
  blocks_.clear();
  free_.clear();
  places_.clear();
  bad_count_ = 0;
  live_units_ = 0;
}

void FlashBlocks::assign(std::vector<FlashBlock> blocks) {
  clear();
  blocks_ = std::move(blocks);
  places_.assign(blocks_.size(), 0);
  for (uint32_t block = 0; block < touched(); ++block) {
    count_in(block);
  }
}

void FlashBlocks::count_in(uint32_t block) {
  const FlashBlock& state = blocks_[block];
  if (state.kind == FlashBlockKind::kFree) {
    free_.emplace(state.erase_count, block);
  }
  bad_count_ += state.kind == FlashBlockKind::kBad ? 1 : 0;
  live_units_ += state.live_units;
}

void FlashBlocks::count_out(uint32_t block) noexcept {
  const FlashBlock& state = blocks_[block];
  if (state.kind == FlashBlockKind::kFree) {
    free_.erase({state.erase_count, block});
  }
  bad_count_ -= state.kind == FlashBlockKind::kBad ? 1 : 0;
  live_units_ -= state.live_units;
}

FlashBlock& FlashBlocks::edit(uint32_t block) {
  while (block > touched()) {
    edit(touched());  // I1
  }
  const bool was_virgin = block >= touched();
  if (was_virgin) {
    places_.push_back(0);
    free_.emplace(0, block);
    blocks_.emplace_back();
  }
  if (undo_ != nullptr && !undo_->has_block(block, places_[block])) {
    places_[block] = undo_->note(FlashBlockUndo{block, was_virgin, blocks_[block]});
  }
  return blocks_[block];
}

void FlashBlocks::set_kind(uint32_t block, FlashBlockKind kind) {
  FlashBlock& state = edit(block);
  count_out(block);
  state.kind = kind;
  count_in(block);
}

uint32_t FlashBlocks::take() {
  const bool has_virgin = touched() < count_;
  if (!free_.empty() && (!has_virgin || free_.begin()->first == 0)) {
    const uint32_t block = free_.begin()->second;
    set_kind(block, FlashBlockKind::kReserved);
    return block;
  }
  if (!has_virgin) {
    return kNoBlock;
  }
  const uint32_t block = touched();
  set_kind(block, FlashBlockKind::kReserved);
  return block;
}

void FlashBlocks::take(uint32_t block) { set_kind(block, FlashBlockKind::kReserved); }

void FlashBlocks::open(uint32_t block, FlashBlockKind kind, uint32_t erase_count,
                       uint64_t sequence) {
  set_kind(block, kind);
  FlashBlock& state = blocks_[block];
  live_units_ -= state.live_units;
  state.failing = false;
  state.erase_count = erase_count;
  state.used_units = kFlashHeaderUnits;
  state.live_units = 0;
  state.sequence = sequence;
  state.newest_lsn = 0;
}

void FlashBlocks::set_erase_count(uint32_t block, uint32_t erase_count) {
  FlashBlock& state = edit(block);
  count_out(block);
  state.erase_count = erase_count;
  count_in(block);
}

void FlashBlocks::set_erased(uint32_t block, uint32_t erase_count) {
  set_erase_count(block, erase_count);
  FlashBlock& state = edit(block);
  state.used_units = 0;
  state.sequence = 0;
  state.newest_lsn = 0;
}

void FlashBlocks::append(uint32_t block, uint32_t end, uint32_t live, uint64_t lsn) {
  FlashBlock& state = edit(block);
  state.used_units = end;
  state.live_units += live;
  state.newest_lsn = std::max(state.newest_lsn, lsn);
  live_units_ += live;
}

void FlashBlocks::add_live(uint32_t block, uint32_t units) {
  edit(block).live_units += units;
  live_units_ += units;
}

void FlashBlocks::remove_live(uint32_t block, uint32_t units) {
  FlashBlock& state = edit(block);
  assert(state.live_units >= units);
  state.live_units -= units;
  live_units_ -= units;
}

void FlashBlocks::release(uint32_t block) {
  give_up(block, blocks_[block].failing ? FlashBlockKind::kBad : FlashBlockKind::kFree);
}

void FlashBlocks::retire(uint32_t block) { give_up(block, FlashBlockKind::kBad); }

void FlashBlocks::take_back(uint32_t block) {
  edit(block).failing = false;
  set_kind(block, FlashBlockKind::kFree);
}

void FlashBlocks::give_up(uint32_t block, FlashBlockKind kind) {
  set_kind(block, kind);
  live_units_ -= blocks_[block].live_units;
  blocks_[block].live_units = 0;
}

bool FlashBlocks::in_tail(uint32_t block, const FlashStreams& streams) const noexcept {
  return block == streams.tail_hot || block == streams.tail_cold ||
         at(block).sequence >= streams.tail_sequence;
}

uint32_t FlashBlocks::pick_victim(const FlashStreams& streams, uint32_t units_per_block,
                                  uint64_t next_lsn) const {
  constexpr uint32_t kWindowBlocks = 4096;
  if (touched() > 2 * kWindowBlocks) {
    const auto first = static_cast<uint32_t>(mix64(streams.next_sequence) % touched());
    const uint32_t victim = best_victim(first, kWindowBlocks, streams, units_per_block, next_lsn);
    if (victim != kNoBlock) {
      return victim;
    }
  }
  return best_victim(0, touched(), streams, units_per_block, next_lsn);
}

uint32_t FlashBlocks::best_victim(uint32_t first, uint32_t count, const FlashStreams& streams,
                                  uint32_t units_per_block, uint64_t next_lsn) const {
  uint32_t best = kNoBlock;
  double best_score = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t block = first + i < touched() ? first + i : first + i - touched();
    const FlashBlock& state = blocks_[block];
    if (state.kind != FlashBlockKind::kData || !(state.has_dead() || state.failing) ||
        streams.write_to(block) || in_tail(block, streams)) {
      continue;
    }
    if (state.failing) {
      return block;
    }
    // Units at the block's end that were never used are gained, too.
    const uint32_t room = units_per_block - kFlashHeaderUnits;
    const uint32_t dead = room - state.live_units;
    const auto age = static_cast<double>(next_lsn - std::min(next_lsn, state.newest_lsn) + 1);
    const double score = static_cast<double>(dead) * age / (room + state.live_units);
    if (score > best_score) {
      best_score = score;
      best = block;
    }
  }
  return best;
}

uint32_t FlashBlocks::pick_least_worn(const FlashStreams& streams, uint32_t gap) const {
  uint32_t best = kNoBlock;
  uint32_t most = 0;
  for (uint32_t block = 0; block < touched(); ++block) {
    const FlashBlock& state = blocks_[block];
    if (state.kind == FlashBlockKind::kBad) {
      continue;
    }
    most = std::max(most, state.erase_count);
    if (state.kind == FlashBlockKind::kData && !streams.write_to(block) &&
        !in_tail(block, streams) &&
        (best == kNoBlock || state.erase_count < blocks_[best].erase_count)) {
      best = block;
    }
  }
  return best != kNoBlock && most - blocks_[best].erase_count >= gap ? best : kNoBlock;
}

FlashBlocks::Wear FlashBlocks::wear(bool with_anchors) const {
  Wear wear;
  double sum = 0;
  double squares = 0;
  uint64_t good = 0;
  bool first = true;
  for (const FlashBlock& state : blocks_) {
    if (state.kind == FlashBlockKind::kBad ||
        (!with_anchors && state.kind == FlashBlockKind::kAnchor)) {
      continue;
    }
    wear.min = first ? state.erase_count : std::min(wear.min, state.erase_count);
    wear.max = std::max(wear.max, state.erase_count);
    first = false;
    sum += state.erase_count;
    squares += static_cast<double>(state.erase_count) * state.erase_count;
    ++good;
  }
  if (touched() < count_) {
    wear.min = 0;
    good += count_ - touched();
  }
  if (good > 0) {
    wear.mean = sum / static_cast<double>(good);
    const double variance = squares / static_cast<double>(good) - wear.mean * wear.mean;
    wear.deviation = std::sqrt(std::max(0.0, variance));
  }
  return wear;
}

size_t FlashBlocks::memory_bytes() const noexcept {
  constexpr size_t kTreeNodeBytes = 48;
  return blocks_.capacity() * sizeof(FlashBlock) + places_.capacity() * sizeof(uint32_t) +
         free_.size() * kTreeNodeBytes;
}

Status FlashBlocks::check() const {
  std::set<std::pair<uint32_t, uint32_t>> free;
  uint64_t live = 0;
  uint32_t bad = 0;
  for (uint32_t block = 0; block < touched(); ++block) {
    const FlashBlock& state = blocks_[block];
    if (state.kind == FlashBlockKind::kFree) {
      free.emplace(state.erase_count, block);
    }
    bad += state.kind == FlashBlockKind::kBad ? 1 : 0;
    live += state.live_units;
  }
  if (touched() > count_ || places_.size() != blocks_.size()) {
    return corrupt("a table of " + std::to_string(touched()) + " erase blocks, of " +
                   std::to_string(count_));
  }
  if (free != free_) {
    return corrupt("the free erase blocks are not those of the table");
  }
  if (live != live_units_ || bad != bad_count_) {
    return corrupt("counted " + std::to_string(live) + " live units and " + std::to_string(bad) +
                   " bad erase blocks, noted are " + std::to_string(live_units_) + " and " +
                   std::to_string(bad_count_));
  }
  return {};
}

void FlashBlocks::undo(const FlashBlockUndo& change) {
  count_out(change.block);
  if (change.was_virgin) {
    blocks_.pop_back();
    places_.pop_back();
  } else {
    blocks_[change.block] = change.before;
    count_in(change.block);
  }
}

}  // namespace cuckoo::core
