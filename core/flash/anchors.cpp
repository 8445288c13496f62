#include "core/flash/anchors.hpp"

#include "core/flash/wear.hpp"

namespace cuckoo::core {

std::vector<uint32_t> FlashAnchors::blocks() const {
  std::vector<uint32_t> anchors;
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    if (state_.blocks.at(block).kind == FlashBlockKind::kAnchor) {
      anchors.push_back(block);
    }
  }
  return anchors;
}

bool FlashAnchors::has_room() const noexcept {
  const FlashStream& anchor = state_.now.streams.anchor;
  return anchor.block != kNoBlock && anchor.offset < state_.layout.units_per_block();
}

// Returns the block whose anchors are the oldest, but never the block with the newest anchor.
uint32_t FlashAnchors::oldest_block() const {
  uint32_t oldest = kNoBlock;
  for (const uint32_t block : blocks()) {
    if (block != state_.now.streams.anchor.block &&
        (oldest == kNoBlock ||
         state_.blocks.at(block).sequence < state_.blocks.at(oldest).sequence)) {
      oldest = block;
    }
  }
  return oldest;
}

Status FlashAnchors::make_room() {
  return has_room() && !anchors_are_behind(state_, oldest_block()) ? Status() : move_on();
}

Status FlashAnchors::open(uint32_t block) {
  for (uint32_t i = anchor_erases_due(state_, block); i > 0; --i) {
    CUCKOO_TRY(log_.erase(block));
  }
  return log_.open_block(block, FlashPurpose::kAnchor, FlashBlockKind::kAnchor, kNoBlock);
}

Status FlashAnchors::move_on() {
  while (true) {
    uint32_t block = oldest_block();
    if (block == kNoBlock) {
      block = state_.blocks.take();
      if (block == kNoBlock) {
        return Error{ErrorCode::kFull, "no erase block is free for an anchor"};
      }
    }
    Status opened = open(block);
    if (opened.ok()) {
      state_.now.streams.anchor = {block, kFlashHeaderUnits, kNoBlock};
      return {};
    }
    if (opened.error().code != ErrorCode::kFlashFailure) {
      return opened;
    }
    state_.blocks.retire(block);
  }
}

Status FlashAnchors::write(uint32_t last_block) {
  FlashStream& anchor = state_.now.streams.anchor;
  while (true) {
    if (!has_room()) {
      CUCKOO_TRY(move_on());
    }
    const auto mark = FlashRecordHeader::anchor(state_.now.checkpoint_id, last_block);
    const uint32_t position = state_.layout.position(anchor.block, anchor.offset);
    encode_flash_record(mark, {}, {}, state_.layout.unit_bytes(),
                        state_.blocks.at(anchor.block).sequence, anchor.offset, encoded_);
    ++anchor.offset;
    CUCKOO_TRY(log_.sync());
    Status programmed = log_.program(state_.layout.address(position), encoded_);
    if (programmed.ok()) {
      return log_.sync();
    }
    if (programmed.error().code != ErrorCode::kFlashFailure) {
      return programmed;
    }
    state_.blocks.retire(anchor.block);
    anchor = {};
  }
}

}  // namespace cuckoo::core
