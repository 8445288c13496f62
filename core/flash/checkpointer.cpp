#include "core/flash/checkpointer.hpp"

#include <algorithm>
#include <utility>

#include "core/flash/checkpoint.hpp"

namespace cuckoo::core {

bool FlashCheckpointer::fits(uint64_t entries) const noexcept {
  return !state_.policy.wears_out() || state_.blocks.free_count() >= blocks_needed(entries);
}

Status FlashCheckpointer::expect_fit(uint64_t entries) const {
  return fits(entries) ? Status() : state_.full("no block is left for a checkpoint");
}

bool FlashCheckpointer::due() const noexcept {
  const uint64_t entries = state_.index.size();
  return state_.now.tail_read_bytes >
             entries * 5 / 2 +
                 state_.policy.tail_sectors() * state_.layout.geometry().sector_size_bytes &&
         fits(entries);
}

Status FlashCheckpointer::checkpoint() {
  CUCKOO_TRY(expect_fit(state_.index.size()));
  CUCKOO_TRY(state_.fail(write()));
  return state_.fail(state_.sweep());
}

Status FlashCheckpointer::clear() {
  CUCKOO_TRY(expect_fit(0));
  CUCKOO_TRY(state_.index.clear());
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    if (const uint32_t live = state_.blocks.at(block).live_units; live != 0) {
      state_.blocks.remove_live(block, live);
    }
  }
  state_.now.heads = 0;
  state_.now.charged_units = 0;
  state_.take_back_given_up();
  return checkpoint();
}

Status FlashCheckpointer::write() {
  CUCKOO_TRY(state_.index.load_all());
  CUCKOO_TRY(anchors_.make_room());
  std::vector<uint32_t> blocks;
  for (const uint32_t wanted = blocks_needed(); blocks.size() < wanted;) {
    CUCKOO_ASSIGN_OR_RETURN(const uint32_t block, open_block());
    if (block == kNoBlock) {
      break;  // the estimate is an upper bound
    }
    blocks.push_back(block);
  }
  ++state_.now.checkpoint_id;
  state_.fold(state_.now.checkpoint_id);
  ++state_.now.stats.checkpoints;
  state_.now.streams.tail_hot = state_.now.streams.hot.block;
  state_.now.streams.tail_cold = state_.now.streams.cold.block;
  state_.now.streams.tail_sequence = state_.now.streams.next_sequence;
  state_.now.tail_read_bytes = 0;
  CUCKOO_ASSIGN_OR_RETURN(std::vector<uint32_t> used, program(std::move(blocks)));
  CUCKOO_TRY(anchors_.write(used.back()));
  state_.now.checkpoint_blocks = std::move(used);
  return {};
}

// Opens a block for a piece of a checkpoint. Returns kNoBlock if none is free.
Result<uint32_t> FlashCheckpointer::open_block() {
  while (true) {
    const uint32_t block = state_.blocks.take();
    if (block == kNoBlock) {
      return block;
    }
    Status opened =
        log_.open_block(block, FlashPurpose::kCheckpoint, FlashBlockKind::kCheckpoint, kNoBlock);
    if (opened.ok()) {
      return block;
    }
    if (opened.error().code != ErrorCode::kFlashFailure) {
      return opened;
    }
    state_.blocks.retire(block);
  }
}

std::vector<std::byte> FlashCheckpointer::encode(std::vector<FlashIndexPiece> pieces,
                                                 std::span<const FlashIndexEntry> rest) const {
  FlashCheckpoint checkpoint;
  checkpoint.next_lsn = state_.now.next_lsn;
  checkpoint.heads = state_.now.heads;
  checkpoint.charged_units = state_.now.charged_units;
  checkpoint.next_sequence = state_.now.streams.next_sequence;
  checkpoint.state = state_.now.digest;
  checkpoint.hot = state_.now.streams.hot;
  checkpoint.cold = state_.now.streams.cold;
  checkpoint.user_bytes = state_.now.stats.user_bytes;
  checkpoint.programmed_bytes = state_.now.stats.programmed_bytes;
  checkpoint.erases = state_.now.stats.erases;
  checkpoint.collections = state_.now.stats.collections;
  checkpoint.checkpoints = state_.now.stats.checkpoints;
  checkpoint.blocks.reserve(state_.blocks.touched());
  for (uint32_t block = 0; block < state_.blocks.touched(); ++block) {
    checkpoint.blocks.push_back(state_.blocks.at(block));
  }
  checkpoint.pieces = std::move(pieces);
  checkpoint.rest.assign(rest.begin(), rest.end());
  return encode_flash_checkpoint(checkpoint, state_.layout.geometry());
}

size_t FlashCheckpointer::payload_bytes() const noexcept {
  constexpr size_t kMaxPayloadBytes = 0xFFFFFF;  // of the record's 3-byte length
  return std::min(state_.layout.room_bytes(kFlashHeaderUnits) - kFlashRecordFixedBytes,
                  kMaxPayloadBytes);
}

// Programs the present state into these blocks, and into others if some fail. Returns the used
// blocks in the order of their pieces. The pieces of the index come first, because the checkpoint
// names their blocks.
Result<std::vector<uint32_t>> FlashCheckpointer::program(std::vector<uint32_t> blocks) {
  std::reverse(blocks.begin(), blocks.end());  // taken from the end
  std::vector<uint32_t> used;
  CUCKOO_ASSIGN_OR_RETURN(FlashIndexEntries entries, state_.index.by_position());
  sort_by_hash(entries);
  std::span<const FlashIndexEntry> rest = entries;
  std::vector<FlashIndexPiece> pieces;
  for (std::vector<std::byte> bytes;; bytes.clear()) {
    const size_t count = encode_flash_index(rest, payload_bytes(), bytes);
    if (count == rest.size()) {
      break;
    }
    const auto header = FlashRecordHeader::index_piece(state_.now.checkpoint_id,
                                                       static_cast<uint32_t>(pieces.size()));
    CUCKOO_ASSIGN_OR_RETURN(const uint32_t block, program_piece(blocks, header, bytes));
    pieces.push_back({block, rest.front().second, static_cast<uint32_t>(count)});
    used.push_back(block);
    rest = rest.subspan(count);
  }
  const std::vector<std::byte> bytes = encode(std::move(pieces), rest);
  uint32_t before = kNoBlock;
  uint32_t number = 0;
  for (size_t at = 0; at < bytes.size(); ++number) {
    const size_t length = std::min(payload_bytes(), bytes.size() - at);
    const auto header =
        FlashRecordHeader::checkpoint_piece(state_.now.checkpoint_id, number, before);
    CUCKOO_ASSIGN_OR_RETURN(before,
                            program_piece(blocks, header, std::span(bytes).subspan(at, length)));
    used.push_back(before);
    at += length;
  }
  return used;
}

// Programs a piece into the last of `blocks` that does not fail. If all fail, takes another block.
// Returns the block that has the piece.
Result<uint32_t> FlashCheckpointer::program_piece(std::vector<uint32_t>& blocks,
                                                  FlashRecordHeader header,
                                                  std::span<const std::byte> bytes) {
  header.value_bytes = static_cast<uint32_t>(bytes.size());
  while (true) {
    if (blocks.empty()) {
      CUCKOO_ASSIGN_OR_RETURN(const uint32_t another, open_block());
      if (another == kNoBlock) {
        return Error{ErrorCode::kFull, "no erase block is free for a checkpoint"};
      }
      blocks.push_back(another);
    }
    const uint32_t block = blocks.back();
    blocks.pop_back();
    encode_flash_record(header, {}, bytes, state_.layout.unit_bytes(),
                        state_.blocks.at(block).sequence, kFlashHeaderUnits, encoded_);
    Status programmed = log_.program(
        state_.layout.block_address(block) + state_.layout.bytes_of(kFlashHeaderUnits), encoded_);
    if (programmed.ok()) {
      return block;
    }
    if (programmed.error().code != ErrorCode::kFlashFailure) {
      return programmed;
    }
    state_.blocks.retire(block);
  }
}

}  // namespace cuckoo::core
