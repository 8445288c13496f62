#include "core/flash/mount.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <tuple>

#include "core/flash/checkpoint.hpp"

namespace cuckoo::core {

// --- format --------------------------------------------------------------------------------------

Status FlashMount::format() {
  if (state_.policy.may_be_torn()) {  // nothing of an older store is newer than this one
    CUCKOO_TRY(read_headers());
    state_.now.streams.next_sequence = max_sequence_ + 1;
    state_.now.checkpoint_id = found_.empty() ? 0 : found_.front().id;
  }
  CUCKOO_TRY(prepare_anchor_blocks());
  if (state_.policy.names_next_block()) {  // a mount finds each block by the one before it
    state_.now.streams.hot.next = state_.blocks.take();
    state_.now.streams.cold.next = state_.blocks.take();
  }
  return checkpointer_.checkpoint();
}

Status FlashMount::prepare_anchor_blocks() {
  for (uint32_t ready = 0; ready < FlashPolicy::kAnchorBlocks;) {
    const uint32_t block = state_.blocks.take();
    Status prepared = state_.policy.has_fixed_anchors() ? Status() : log_.prepare(block);
    if (prepared.ok()) {
      state_.blocks.open(block, FlashBlockKind::kAnchor, state_.blocks.at(block).erase_count, 0);
      ++ready;
      continue;
    }
    if (prepared.error().code != ErrorCode::kFlashFailure) {
      return state_.fail(std::move(prepared));
    }
    state_.blocks.retire(block);
    if (state_.blocks.free_count() == 0) {
      return Error{ErrorCode::kFull, "every erase block is bad"};
    }
  }
  return {};
}

// --- mount ---------------------------------------------------------------------------------------

Status FlashMount::mount() {
  CUCKOO_TRY(log_.sync());
  CUCKOO_TRY(read_headers());
  if (found_.empty()) {
    return corrupt(hot_.empty() ? "there is no store on this device"
                                : "no anchor is left on this device");
  }
  const Anchor& newest = found_.front();
  CUCKOO_TRY(load_checkpoint(newest));
  state_.now.streams.anchor = {newest.block, newest.offset, kNoBlock};
  if (!state_.policy.mount_only_reads()) {
    return mount_torn();
  }
  const FlashState::Replaying replaying(state_);
  CUCKOO_TRY(state_.sweep());
  return FlashReplay(state_, log_, {}, {}).run();
}

Status FlashMount::read_headers() {
  const uint32_t count = state_.policy.blocks_to_search(state_.layout.geometry().blocks);
  for (uint32_t block = 0; block < count; ++block) {
    CUCKOO_TRY(read_header(block));
  }
  std::sort(hot_.begin(), hot_.end());
  std::sort(cold_.begin(), cold_.end());
  std::sort(found_.begin(), found_.end(), [](const Anchor& a, const Anchor& b) {
    return std::tuple(a.sequence, a.offset) > std::tuple(b.sequence, b.offset);
  });
  return {};
}

Status FlashMount::read_header(uint32_t block) {
  std::byte unit[kFlashMarkBytes];
  const uint64_t address = state_.layout.block_address(block) + state_.layout.unit_bytes();
  Status read = log_.read(address, unit);
  if (!read.ok() && read.error().code == ErrorCode::kFlashFailure) {
    return {};  // worn out; nothing that counts was left in it
  }
  CUCKOO_TRY(std::move(read));
  std::optional<FlashOpenHeader> opened = decode_open_header(block, unit);
  if (!opened && !is_erased(unit)) {  // a read may fail once without anything being torn
    CUCKOO_TRY(log_.read(address, unit));
    opened = decode_open_header(block, unit);
  }
  if (!opened) {
    return {};
  }
  max_sequence_ = std::max(max_sequence_, opened->sequence);
  switch (opened->purpose) {
    case FlashPurpose::kHot:
      hot_.emplace_back(opened->sequence, block);
      break;
    case FlashPurpose::kCold:
      cold_.emplace_back(opened->sequence, block);
      break;
    case FlashPurpose::kAnchor:
      anchor_blocks_.push_back(block);
      return scan_anchors(block, opened->sequence);
    case FlashPurpose::kCheckpoint:
      break;
  }
  return {};
}

// Looks at every unit, because a whole anchor may follow a torn one.
Status FlashMount::scan_anchors(uint32_t block, uint64_t sequence) {
  const FlashLayout& layout = state_.layout;
  std::vector<std::byte> bytes(layout.geometry().block_bytes());
  CUCKOO_TRY(log_.read(layout.block_address(block), bytes));
  for (uint32_t offset = kFlashHeaderUnits; offset < layout.units_per_block(); ++offset) {
    const std::span<std::byte> unit =
        std::span(bytes).subspan(layout.bytes_of(offset), kFlashMarkBytes);
    std::optional<FlashRecordHeader> mark = decode_flash_record_header(unit, sequence, offset);
    if (!mark && !is_erased(unit)) {  // reads again: a read may fail once
      CUCKOO_TRY(log_.read(layout.address(layout.position(block, offset)), unit));
      mark = decode_flash_record_header(unit, sequence, offset);
    }
    if (mark && mark->type == FlashRecordType::kAnchor) {
      found_.push_back({mark->checkpoint(), mark->last_block(), block, offset + 1, sequence});
    }
  }
  return {};
}

// --- the checkpoint ------------------------------------------------------------------------------

Status FlashMount::load_checkpoint(const Anchor& anchor) {
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<Piece> pieces, read_chain(anchor));
  CUCKOO_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, read_pieces(pieces));
  CUCKOO_ASSIGN_OR_RETURN(FlashCheckpoint decoded,
                          decode_flash_checkpoint(bytes, state_.layout.geometry()));
  return adopt(decoded);
}

Error FlashMount::broken_piece(uint32_t block, const char* what) const {
  return corrupt("checkpoint " + std::to_string(state_.now.checkpoint_id) + ", erase block " +
                 std::to_string(block) + ": " + what);
}

// Returns the pieces, the first one first. They form a chain that begins with the last one: each
// has its number, from 0 on, and names the block of the one before it.
Result<std::vector<FlashMount::Piece>> FlashMount::read_chain(const Anchor& anchor) {
  std::vector<Piece> chain;
  state_.now.checkpoint_id = anchor.id;
  uint32_t block = anchor.last_block;
  for (uint32_t number = kNoBlock; number != 0;) {
    CUCKOO_ASSIGN_OR_RETURN(const Piece piece, read_piece_header(block));
    const uint32_t expected = chain.empty() ? piece.header.piece() : number - 1;
    if (piece.header.piece() != expected || chain.size() >= state_.layout.geometry().blocks) {
      return broken_piece(block, "not the piece that is expected");
    }
    number = expected;
    chain.push_back(piece);
    block = piece.header.block_before();
  }
  std::reverse(chain.begin(), chain.end());
  state_.now.checkpoint_blocks.clear();
  for (const Piece& piece : chain) {
    state_.now.checkpoint_blocks.push_back(piece.block);
  }
  return chain;
}

Result<FlashMount::Piece> FlashMount::read_piece_header(uint32_t block) {
  const FlashLayout& layout = state_.layout;
  if (block >= layout.geometry().blocks) {
    return broken_piece(block, "beyond the device");
  }
  std::vector<std::byte> units(layout.bytes_of(kFlashHeaderUnits));
  const uint64_t start = layout.block_address(block);
  CUCKOO_TRY(log_.read(start, units));
  const std::optional<FlashOpenHeader> opened =
      decode_open_header(block, std::span(units).subspan(layout.unit_bytes()));
  std::byte bytes[kMaxFlashRecordHeaderBytes];
  const size_t room = layout.room_bytes(kFlashHeaderUnits);
  CUCKOO_TRY(log_.read(start + units.size(), std::span(bytes).first(std::min(room, sizeof bytes))));
  const std::optional<FlashRecordHeader> decoded =
      opened ? decode_flash_record_header(bytes, opened->sequence, kFlashHeaderUnits)
             : std::nullopt;
  if (!decoded || decoded->type != FlashRecordType::kCheckpoint ||
      decoded->checkpoint() != state_.now.checkpoint_id ||
      layout.bytes_of(decoded->units(layout.unit_bytes())) > room) {
    return broken_piece(block, "no piece of it");
  }
  return Piece{*decoded, block, opened->sequence};
}

// Returns the bytes of all pieces, one after the other.
Result<std::vector<std::byte>> FlashMount::read_pieces(const std::vector<Piece>& pieces) {
  constexpr size_t kMostReserved = size_t{64} << 20;
  const FlashLayout& layout = state_.layout;
  std::vector<std::byte> bytes;
  std::vector<std::byte> record;
  for (const Piece& piece : pieces) {
    record.resize(layout.bytes_of(piece.header.units(layout.unit_bytes())));
    const uint32_t position = layout.position(piece.block, kFlashHeaderUnits);
    CUCKOO_TRY(log_.read(layout.address(position), record));
    if (!verify_whole_flash_record(piece.header, record, piece.sequence, kFlashHeaderUnits) ||
        decode_flash_record_header(record, piece.sequence, kFlashHeaderUnits) != piece.header) {
      return broken_piece(piece.block, "wrong CRC");
    }
    const std::span<const std::byte> value = value_in(piece.header, record);
    if (bytes.empty()) {  // no later piece is longer than the first
      bytes.reserve(std::min(pieces.size() * value.size(), kMostReserved));
    }
    bytes.insert(bytes.end(), value.begin(), value.end());
  }
  return bytes;
}

// Checks that every record is in a block that can hold it. A lost one is in a bad block.
Status FlashMount::expect_places(const FlashIndex::Entries& entries) const {
  const FlashLayout& layout = state_.layout;
  uint64_t begin = 0;  // of the records in the block of the last position
  uint64_t end = 0;
  uint64_t block_end = 0;
  for (const auto& [position, hash] : entries) {
    if (position >= block_end) {
      const uint32_t number = layout.locate(position).block;
      const FlashBlock block = state_.blocks.at(number);
      const bool holds = block.kind == FlashBlockKind::kData && block.live_units != 0;
      begin = uint64_t{number} * layout.units_per_block() + kFlashHeaderUnits;
      block_end = begin - kFlashHeaderUnits + layout.units_per_block();
      end = holds                                ? begin - kFlashHeaderUnits + block.used_units
            : block.kind == FlashBlockKind::kBad ? block_end
                                                 : 0;
    }
    if (position < begin || position >= end) {
      return corrupt("checkpoint " + std::to_string(state_.now.checkpoint_id) +
                     " names a record at unit " + std::to_string(position) + ", where none can be");
    }
  }
  return {};
}

namespace {

// Reads the pieces of a checkpoint's index, as long as the store has that checkpoint.
class PieceReader {
 public:
  PieceReader(const FlashState& state, FlashLog& log, const std::vector<FlashIndexPiece>& pieces)
      : layout_(state.layout), log_(log), checkpoint_(state.now.checkpoint_id) {
    for (const FlashIndexPiece& piece : pieces) {
      places_.emplace_back(piece.block, state.blocks.at(piece.block).sequence);
    }
  }

  Status operator()(size_t piece, std::vector<std::byte>& value) {
    const auto [block, sequence] = places_[piece];
    const uint64_t address = layout_.address(layout_.position(block, kFlashHeaderUnits));
    const size_t room = layout_.room_bytes(kFlashHeaderUnits);
    std::byte bytes[kMaxFlashRecordHeaderBytes];
    CUCKOO_TRY(log_.read(address, std::span(bytes).first(std::min(room, sizeof bytes))));
    const std::optional<FlashRecordHeader> header =
        decode_flash_record_header(bytes, sequence, kFlashHeaderUnits);
    if (!header || header->type != FlashRecordType::kIndex || header->checkpoint() != checkpoint_ ||
        header->piece() != piece || layout_.bytes_of(header->units(layout_.unit_bytes())) > room) {
      return broken(piece);
    }
    record_.resize(layout_.bytes_of(header->units(layout_.unit_bytes())));
    CUCKOO_TRY(log_.read(address, record_));
    if (!verify_flash_record(record_, sequence, kFlashHeaderUnits)) {
      return broken(piece);
    }
    const std::span<const std::byte> found = value_in(*header, record_);
    value.assign(found.begin(), found.end());
    return {};
  }

 private:
  Error broken(size_t piece) const {
    return corrupt("checkpoint " + std::to_string(checkpoint_) + ", erase block " +
                   std::to_string(places_[piece].first) + ": no piece " + std::to_string(piece) +
                   " of its index");
  }

  FlashLayout layout_;
  FlashLog& log_;
  uint64_t checkpoint_;
  std::vector<std::pair<uint32_t, uint64_t>> places_;  // block and its sequence
  std::vector<std::byte> record_;
};

}  // namespace

// On an atomic device, reads the pieces only when a key is looked up. On a bare one, reads and
// verifies all of them.
Status FlashMount::adopt_index(FlashCheckpoint& checkpoint) {
  std::vector<uint32_t> blocks;
  for (const FlashIndexPiece& piece : checkpoint.pieces) {
    blocks.push_back(piece.block);
  }
  std::vector<uint32_t>& all = state_.now.checkpoint_blocks;
  all.insert(all.begin(), blocks.begin(), blocks.end());
  PieceReader reader(state_, log_, checkpoint.pieces);
  StoredIndex stored(state_.layout.geometry(), std::move(checkpoint.pieces),
                     std::move(checkpoint.rest), std::move(reader));
  if (state_.policy.mount_only_reads()) {
    state_.index.load(std::move(stored));
    return {};
  }
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndexEntries entries, stored.all());
  CUCKOO_TRY(expect_places(entries));
  state_.index.load(entries);
  return {};
}

Status FlashMount::adopt(FlashCheckpoint& checkpoint) {
  FlashStreams& streams = state_.now.streams;
  state_.now.next_lsn = checkpoint.next_lsn;
  state_.now.heads = checkpoint.heads;
  state_.now.charged_units = checkpoint.charged_units;
  state_.now.digest = checkpoint.state;
  streams.hot = checkpoint.hot;
  streams.cold = checkpoint.cold;
  streams.next_sequence = streams.tail_sequence = checkpoint.next_sequence;
  streams.tail_hot = checkpoint.hot.block;
  streams.tail_cold = checkpoint.cold.block;
  state_.now.stats.user_bytes = checkpoint.user_bytes;
  state_.now.stats.programmed_bytes = checkpoint.programmed_bytes;
  state_.now.stats.erases = checkpoint.erases;
  state_.now.stats.collections = checkpoint.collections;
  state_.now.stats.checkpoints = checkpoint.checkpoints;
  state_.blocks.assign(std::move(checkpoint.blocks));
  CUCKOO_TRY(adopt_index(checkpoint));
  for (const FlashStream* stream : {&streams.hot, &streams.cold}) {
    if (stream->block != kNoBlock &&
        (state_.blocks.at(stream->block).kind != FlashBlockKind::kData || stream->offset == 0)) {
      return corrupt("checkpoint " + std::to_string(state_.now.checkpoint_id) +
                     " has a stream in no block of data");
    }
  }
  return {};
}

// --- after a power cut ---------------------------------------------------------------------------

Status FlashMount::mount_torn() {
  CUCKOO_ASSIGN_OR_RETURN(const bool begun, tail_has_begun());
  FlashReplay replay(state_, log_, in_tail(hot_), in_tail(cold_));
  // If anything follows the anchor, the anchor is whole. So the blocks that it made free may be
  // used.
  if (begun) {
    CUCKOO_TRY(state_.sweep());
    CUCKOO_TRY(replay.run());
  }
  state_.now.streams.next_sequence = std::max(state_.now.streams.next_sequence, max_sequence_ + 1);
  if (state_.policy.may_reorder()) {
    state_.now.streams.next_sequence += state_.layout.geometry().blocks;  // B2 of policy.hpp
  }
  Status recovered = free_other_anchor_blocks();
  if (recovered.ok()) {
    // Goes on in other blocks (I1).
    state_.now.streams.anchor.offset = state_.layout.units_per_block();
    state_.now.streams.hot.block = state_.now.streams.cold.block = kNoBlock;
    recovered = anchors_.write(state_.now.checkpoint_blocks.back());  // I4
  }
  if (recovered.ok() && begun) {
    recovered = write_what_was_found(replay);
  }
  if (recovered.ok()) {
    state_.forget_held();
    recovered = state_.sweep();
  }
  worn_out_ = !recovered.ok() && recovered.error().code == ErrorCode::kFull;
  if (worn_out_) {
    return {};
  }
  return recovered;
}

Result<bool> FlashMount::tail_has_begun() {
  const FlashStreams& streams = state_.now.streams;
  for (const FlashReplay::Opened* opened : {&hot_, &cold_}) {
    if (!opened->empty() && opened->back().first >= streams.tail_sequence) {
      return true;
    }
  }
  const FlashLayout& layout = state_.layout;
  for (const FlashStream* stream : {&streams.hot, &streams.cold}) {
    if (stream->block != kNoBlock && stream->offset < layout.units_per_block()) {
      std::vector<std::byte> unit(layout.unit_bytes());
      CUCKOO_TRY(log_.read(layout.address(layout.position(stream->block, stream->offset)), unit));
      // The unit counts even if it reads as no record now, because the next read may give one.
      if (!is_erased(unit)) {
        return true;
      }
    }
  }
  return false;
}

FlashReplay::Opened FlashMount::in_tail(const FlashReplay::Opened& opened) const {
  FlashReplay::Opened blocks;
  std::copy_if(opened.begin(), opened.end(), std::back_inserter(blocks),
               [&](const auto& one) { return one.first >= state_.now.streams.tail_sequence; });
  return blocks;
}

// Erases all anchor blocks except that of the newest anchor, and that of the newest one in another
// block. This comes before any other erase, because the next mount may read an anchor that this one
// can't read. The next mount may also fail to read the newest. If none of these blocks can be
// erased, but an older anchor stands before the newest in its block, the other kept block is
// erased. Otherwise a free block stands in.
Status FlashMount::free_other_anchor_blocks() {
  const Anchor& newest = found_.front();
  const auto fallback = std::find_if(found_.begin(), found_.end(), [&](const Anchor& anchor) {
    return anchor.block != newest.block;
  });
  const std::array keep{newest.block, fallback != found_.end() ? fallback->block : newest.block};
  std::vector<uint32_t> others = anchor_blocks_;
  for (const uint32_t block : anchors_.blocks()) {
    if (std::find(others.begin(), others.end(), block) == others.end()) {
      others.push_back(block);
    }
  }
  std::sort(others.begin(), others.end());
  bool one_is_free = false;
  const auto free_one = [&](uint32_t block) -> Status {
    Status erased = log_.prepare(block);
    if (erased.ok()) {
      state_.blocks.open(block, FlashBlockKind::kAnchor, state_.blocks.at(block).erase_count, 0);
      one_is_free = true;
    } else if (erased.error().code == ErrorCode::kFlashFailure) {
      state_.blocks.retire(block);
    } else {
      return erased;
    }
    return {};
  };
  for (const uint32_t block : others) {
    if (std::find(keep.begin(), keep.end(), block) != keep.end()) {
      continue;
    }
    CUCKOO_TRY(free_one(block));
  }
  // An older anchor before the newest in its block is whole. So nothing needs the other block.
  if (!one_is_free && fallback != found_.end() && fallback != found_.begin() + 1) {
    CUCKOO_TRY(free_one(fallback->block));
  }
  const uint32_t another = one_is_free ? kNoBlock : state_.blocks.take();
  if (another != kNoBlock) {
    state_.blocks.open(another, FlashBlockKind::kAnchor, state_.blocks.at(another).erase_count, 0);
  }
  return {};
}

Status FlashMount::write_what_was_found(const FlashReplay& replay) {
  // Frees blocks that have only copies of an interrupted collection or recovery.
  for (const auto& [sequence, block] : in_tail(cold_)) {
    if (state_.blocks.at(block).live_units == 0 &&
        state_.blocks.at(block).kind == FlashBlockKind::kData && !replay.applied(block)) {
      state_.blocks.release(block);
    }
  }
  CUCKOO_TRY(append_newest_again(replay.newest()));
  state_.now.streams.cold.block = kNoBlock;
  return checkpointer_.write();
}

// Copies the last record of the newest batch, because it may read well now and not the next time.
Status FlashMount::append_newest_again(const FlashTailRecord& newest) {
  const uint32_t from = newest.position;
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, state_.index.fetch(newest.hash));
  if (newest.whole.empty() || !state_.index.contains(fetched, from)) {
    return {};
  }
  FlashRecordHeader header = newest.header;
  CUCKOO_ASSIGN_OR_RETURN(
      const uint32_t to,
      log_.append_copy(from, header, key_in(header, newest.whole), value_in(header, newest.whole)));
  state_.index.replace(fetched, from, to);
  const uint32_t units = header.units(state_.layout.unit_bytes());
  state_.blocks.add_live(state_.layout.locate(to).block, units);
  state_.blocks.remove_live(state_.layout.locate(from).block, units);
  return {};
}

}  // namespace cuckoo::core
