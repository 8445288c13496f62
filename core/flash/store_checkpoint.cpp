// FlashStore: writing checkpoints and the anchors that point to them.
#include <algorithm>
#include <string>

#include "core/flash/checkpoint.hpp"
#include "core/flash/store.hpp"

namespace cuckoo {
namespace {

constexpr uint32_t kAnchorWear = 8;         // erases that a block of anchors may be behind the mean
constexpr uint32_t kMostAnchorErases = 64;  // at a time: the counts may be wrong

}  // namespace

std::vector<uint32_t> FlashStore::anchor_blocks() const {
  std::vector<uint32_t> anchors;
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    if (blocks_.at(block).kind == FlashBlockKind::kAnchor) {
      anchors.push_back(block);
    }
  }
  return anchors;
}

// The block whose anchors are the oldest; never the one with the newest.
uint32_t FlashStore::oldest_anchor_block() const {
  uint32_t oldest = kNoBlock;
  for (const uint32_t block : anchor_blocks()) {
    if (block != s_.streams.anchor.block &&
        (oldest == kNoBlock || blocks_.at(block).sequence < blocks_.at(oldest).sequence)) {
      oldest = block;
    }
  }
  return oldest;
}

// Anchors stay in a few blocks, where a mount looks for them, and hundreds fit one: these blocks
// would never be erased while all others wear out. So they are erased for nothing now and then.
bool FlashStore::anchors_are_behind() const {
  const uint32_t oldest = oldest_anchor_block();
  return !options_.wears_out && oldest != kNoBlock &&
         blocks_.at(oldest).erase_count + kAnchorWear < static_cast<uint32_t>(blocks_.wear().mean);
}

Status FlashStore::wear_anchor_block(uint32_t block) {
  if (options_.wears_out) {
    return {};  // where anchors never fail they needn't be worn
  }
  const auto mean = static_cast<uint32_t>(blocks_.wear().mean);
  for (uint32_t i = 0; i < kMostAnchorErases && blocks_.at(block).erase_count + 1 < mean; ++i) {
    blocks_.set_erase_count(block, blocks_.at(block).erase_count + 1);
    CUCKOO_TRY(device_.erase(block));
    ++s_.stats.erases;
  }
  return {};
}

// The next anchors go to another block.
Status FlashStore::rotate_anchor() {
  while (true) {
    uint32_t oldest = oldest_anchor_block();
    if (oldest == kNoBlock) {
      oldest = blocks_.take();
      if (oldest == kNoBlock) {
        return Error{ErrorCode::kFull, "no erase block is free for an anchor"};
      }
    }
    Status opened = wear_anchor_block(oldest);
    if (opened.ok()) {
      opened = open_block(oldest, FlashPurpose::kAnchor, FlashBlockKind::kAnchor, kNoBlock);
    }
    if (opened.ok()) {
      s_.streams.anchor = {oldest, kFlashHeaderUnits, kNoBlock};
      return {};
    }
    if (opened.error().code != ErrorCode::kFlashFailure) {
      return opened;
    }
    blocks_.retire(oldest);
  }
}

Status FlashStore::write_anchor(uint32_t last_block) {
  while (true) {
    FlashStream& anchor = s_.streams.anchor;
    if (anchor.block == kNoBlock || anchor.offset >= units_per_block()) {
      CUCKOO_TRY(rotate_anchor());
    }
    FlashRecordHeader mark;
    mark.type = FlashRecordType::kAnchor;
    mark.lsn = s_.checkpoint_id;
    mark.previous = last_block;
    const uint32_t position = anchor.block * units_per_block() + anchor.offset;
    encode_flash_record(mark, {}, {}, unit_bytes(), blocks_.at(anchor.block).sequence,
                        anchor.offset, encoded_);
    ++anchor.offset;
    Status programmed = program(address(position), encoded_);
    if (programmed.ok() || programmed.error().code != ErrorCode::kFlashFailure) {
      return programmed;
    }
    blocks_.retire(anchor.block);
    anchor = {};
  }
}

// A block for a piece of a checkpoint; kNoBlock: none is free.
Result<uint32_t> FlashStore::open_checkpoint_block() {
  while (true) {
    const uint32_t block = blocks_.take();
    if (block == kNoBlock) {
      return block;
    }
    Status opened =
        open_block(block, FlashPurpose::kCheckpoint, FlashBlockKind::kCheckpoint, kNoBlock);
    if (opened.ok()) {
      return block;
    }
    if (opened.error().code != ErrorCode::kFlashFailure) {
      return opened;
    }
    blocks_.retire(block);
  }
}

// Programs the state as it is into these blocks, and into others when some fail. Gives the blocks
// used, the last one last.
Result<std::vector<uint32_t>> FlashStore::program_checkpoint(std::vector<uint32_t> blocks) {
  FlashCheckpoint checkpoint;
  checkpoint.next_lsn = s_.next_lsn;
  checkpoint.heads = s_.heads;
  checkpoint.charged_units = s_.charged_units;
  checkpoint.next_sequence = s_.streams.next_sequence;
  checkpoint.state = s_.state;
  checkpoint.hot = s_.streams.hot;
  checkpoint.cold = s_.streams.cold;
  checkpoint.user_bytes = s_.stats.user_bytes;
  checkpoint.programmed_bytes = s_.stats.programmed_bytes;
  checkpoint.erases = s_.stats.erases;
  checkpoint.collections = s_.stats.collections;
  checkpoint.checkpoints = s_.stats.checkpoints;
  checkpoint.blocks.reserve(blocks_.touched());
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    checkpoint.blocks.push_back(blocks_.at(block));
  }
  checkpoint.entries.reserve(index_.size());
  index_.for_each(
      [&](uint32_t hash, uint32_t position) { checkpoint.entries.emplace_back(position, hash); });
  std::ranges::sort(checkpoint.entries);
  const std::vector<std::byte> bytes = encode_flash_checkpoint(checkpoint);

  constexpr size_t kMaxPayloadBytes = 0xFFFFFF;  // of the record's 3-byte length
  const size_t room = size_t{units_per_block() - kFlashHeaderUnits} * unit_bytes();
  const size_t payload = std::min(room - kFlashRecordFixedBytes, kMaxPayloadBytes);
  std::vector<uint32_t> used;
  for (size_t at = 0; at < bytes.size();) {
    if (blocks.empty()) {
      Result<uint32_t> another = open_checkpoint_block();
      CUCKOO_TRY(another.take_status());
      if (another.value() == kNoBlock) {
        return Error{ErrorCode::kFull, "no erase block is free for a checkpoint"};
      }
      blocks.push_back(another.value());
    }
    const uint32_t block = blocks.front();
    blocks.erase(blocks.begin());
    FlashRecordHeader header;
    header.type = FlashRecordType::kCheckpoint;
    header.lsn = s_.checkpoint_id;
    header.previous = used.empty() ? kNoBlock : used.back();
    header.previous_value_bytes = static_cast<uint32_t>(used.size());
    const size_t length = std::min(payload, bytes.size() - at);
    header.value_bytes = static_cast<uint32_t>(length);
    encode_flash_record(header, {}, std::span(bytes).subspan(at, length), unit_bytes(),
                        blocks_.at(block).sequence, kFlashHeaderUnits, encoded_);
    Status programmed = program(
        geometry().block_address(block) + uint64_t{kFlashHeaderUnits} * unit_bytes(), encoded_);
    if (programmed.ok()) {
      used.push_back(block);
      at += length;
    } else if (programmed.error().code == ErrorCode::kFlashFailure) {
      blocks_.retire(block);
    } else {
      return programmed;
    }
  }
  return used;
}

// Everything that nothing points to and no mount needs becomes free.
Status FlashStore::sweep() {
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    const FlashBlockKind kind = blocks_.at(block).kind;
    if (kind == FlashBlockKind::kData) {
      CUCKOO_TRY(release_if_dead(block));
    } else if ((kind == FlashBlockKind::kCheckpoint &&
                std::ranges::find(s_.checkpoint_blocks, block) == s_.checkpoint_blocks.end()) ||
               (kind == FlashBlockKind::kReserved && block != s_.streams.hot.next &&
                block != s_.streams.cold.next)) {
      CUCKOO_TRY(free_block(block));
    }
  }
  return {};
}

Status FlashStore::write_checkpoint() {
  if (s_.streams.anchor.block == kNoBlock || s_.streams.anchor.offset >= units_per_block() ||
      anchors_are_behind()) {
    CUCKOO_TRY(rotate_anchor());  // now, so that the checkpoint knows of it
  }
  std::vector<uint32_t> blocks;
  for (uint32_t wanted = checkpoint_blocks_needed(index_.size()); blocks.size() < wanted;) {
    Result<uint32_t> block = open_checkpoint_block();
    CUCKOO_TRY(block.take_status());
    if (block.value() == kNoBlock) {
      break;  // the estimate is an upper bound
    }
    blocks.push_back(block.value());
  }
  ++s_.checkpoint_id;
  fold(s_.checkpoint_id);
  ++s_.stats.checkpoints;
  s_.streams.tail_hot = s_.streams.hot.block;
  s_.streams.tail_cold = s_.streams.cold.block;
  s_.streams.tail_sequence = s_.streams.next_sequence;
  s_.tail_read_bytes = 0;
  Result<std::vector<uint32_t>> used = program_checkpoint(std::move(blocks));
  CUCKOO_TRY(used.take_status());
  CUCKOO_TRY(write_anchor(used.value().back()));
  s_.checkpoint_blocks = std::move(used.value());
  return {};
}

Status FlashStore::checkpoint() {
  CUCKOO_TRY(writable());
  if (!checkpoint_fits(index_.size())) {
    return worn_out_error("no block is left for a checkpoint");
  }
  CUCKOO_TRY(fail(write_checkpoint()));
  return fail(sweep());
}

Status FlashStore::clear() {
  CUCKOO_TRY(writable());
  if (!checkpoint_fits(0)) {
    return worn_out_error("no block is left for a checkpoint");
  }
  index_.clear();
  for (uint32_t block = 0; block < blocks_.touched(); ++block) {
    if (const uint32_t live = blocks_.at(block).live_units; live != 0) {
      blocks_.remove_live(block, live);
    }
  }
  s_.heads = 0;
  s_.charged_units = 0;
  return checkpoint();
}

Status FlashStore::grow() {
  geometry_ = device_.geometry();
  blocks_.grow(geometry().blocks);
  return {};
}

}  // namespace cuckoo
