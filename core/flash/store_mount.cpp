// FlashStore: making a store, finding it again, and what a power cut makes necessary (I4).
#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "core/flash/checkpoint.hpp"
#include "core/flash/store.hpp"

namespace cuckoo {

void FlashStore::reset() {
  geometry_ = device_.geometry();
  blocks_ = FlashBlocks(geometry().blocks);
  index_ = FlashIndex(SlotCacheOptions{options_.hashes, options_.ways, options_.seed});
  const FlashStoreStats stats = s_.stats;
  s_ = {};
  s_.stats.record_reads = stats.record_reads;
  s_.stats.false_reads = stats.false_reads;
  mounted_ = poisoned_ = worn_out_ = false;
  hold_releases_ = recovering_ = replaying_ = false;
  pending_.clear();
  newest_ = {};
  applied_blocks_.clear();
  marks_.clear();
  mount_read_bytes_ = 0;
}

Status FlashStore::format() {
  CUCKOO_TRY(check_geometry(device_.geometry()));
  reset();
  if (!options_.atomic_device) {  // nothing of an older store is newer than this one
    Headers older;
    CUCKOO_TRY(read_headers(older));
    s_.streams.next_sequence = older.max_sequence + 1;
    s_.checkpoint_id = older.anchors.empty() ? 0 : older.anchors.front().id;
  }
  for (uint32_t i = 0; i < kAnchorBlocks; ++i) {
    const uint32_t block = blocks_.take();
    if (!options_.atomic_device) {
      Status prepared = prepare(block);
      if (!prepared.ok() && prepared.error().code != ErrorCode::kFlashFailure) {
        return fail(std::move(prepared));
      }
      if (!prepared.ok()) {
        blocks_.retire(block);
        --i;
        if (blocks_.free_count() == 0) {
          return Error{ErrorCode::kFull, "every erase block is bad"};
        }
        continue;
      }
    }
    blocks_.open(block, FlashBlockKind::kAnchor, blocks_.at(block).erase_count, 0);
  }
  if (options_.atomic_device) {  // a mount finds a stream's blocks by the one named before
    s_.streams.hot.next = blocks_.take();
    s_.streams.cold.next = blocks_.take();
  }
  CUCKOO_TRY(checkpoint());
  mounted_ = true;
  return {};
}

Status FlashStore::mount() {
  CUCKOO_TRY(check_geometry(device_.geometry()));
  reset();
  replaying_ = options_.atomic_device;
  Status mounted = mount_now();
  replaying_ = false;
  poisoned_ = !mounted.ok();
  mounted_ = mounted.ok();
  return mounted;
}

Status FlashStore::mount_now() {
  Headers headers;
  CUCKOO_TRY(read_headers(headers));
  if (headers.anchors.empty()) {
    return corrupt(headers.hot.empty() ? "there is no store on this device"
                                       : "no anchor is left on this device");
  }
  const Anchor& newest = headers.anchors.front();
  CUCKOO_TRY(load_checkpoint(newest.id, newest.last_block));
  s_.streams.anchor = {newest.block, newest.offset, kNoBlock};
  if (options_.atomic_device) {
    CUCKOO_TRY(sweep());
    return replay(nullptr);
  }
  // With anything behind it, the anchor was complete before: what it made free is free.
  Result<bool> begun = tail_has_begun(headers);
  CUCKOO_TRY(begun.take_status());
  recovering_ = true;
  if (begun.value()) {
    CUCKOO_TRY(sweep());
    CUCKOO_TRY(replay(&headers));
  }
  Status recovered = recover(headers, begun.value());
  worn_out_ = !recovered.ok() && recovered.error().code == ErrorCode::kFull;
  if (worn_out_) {
    return {};
  }
  return recovered;
}

Result<bool> FlashStore::tail_has_begun(const Headers& headers) {
  for (const auto* opened : {&headers.hot, &headers.cold}) {
    if (!opened->empty() && opened->back().first >= s_.streams.tail_sequence) {
      return true;
    }
  }
  for (const FlashStream* stream : {&s_.streams.hot, &s_.streams.cold}) {
    if (stream->block != kNoBlock && stream->offset < units_per_block()) {
      std::vector<std::byte> unit(unit_bytes());
      CUCKOO_TRY(count_read(address(stream->block * units_per_block() + stream->offset), unit));
      // Also when it is no record now: it may read otherwise the next time.
      if (!is_erased(unit)) {
        return true;
      }
    }
  }
  return false;
}

Status FlashStore::read_headers(Headers& headers) {
  std::byte unit[kFlashMarkBytes];
  const uint32_t count =
      options_.atomic_device ? std::min(kAnchorBlocks, geometry().blocks) : geometry().blocks;
  for (uint32_t block = 0; block < count; ++block) {
    Status read = count_read(geometry().block_address(block) + unit_bytes(), unit);
    if (!read.ok() && read.error().code == ErrorCode::kFlashFailure) {
      continue;  // worn out; nothing that counts was left in it
    }
    CUCKOO_TRY(std::move(read));
    std::optional<FlashOpenHeader> opened = decode_open_header(block, unit);
    if (!opened && !is_erased(unit)) {  // a read may fail once without anything being torn
      CUCKOO_TRY(count_read(geometry().block_address(block) + unit_bytes(), unit));
      opened = decode_open_header(block, unit);
    }
    if (!opened) {
      continue;
    }
    headers.max_sequence = std::max(headers.max_sequence, opened->sequence);
    switch (opened->purpose) {
      case FlashPurpose::kHot:
        headers.hot.emplace_back(opened->sequence, block);
        break;
      case FlashPurpose::kCold:
        headers.cold.emplace_back(opened->sequence, block);
        break;
      case FlashPurpose::kAnchor:
        headers.anchor_blocks.push_back(block);
        CUCKOO_TRY(scan_anchors(block, opened->sequence, headers));
        break;
      case FlashPurpose::kCheckpoint:
        break;
    }
  }
  std::ranges::sort(headers.hot);
  std::ranges::sort(headers.cold);
  std::ranges::sort(headers.anchors, [](const Anchor& a, const Anchor& b) {
    return std::tuple(a.id, a.sequence, a.offset) > std::tuple(b.id, b.sequence, b.offset);
  });
  return {};
}

// A torn anchor may stand before a whole one, so every unit is looked at.
Status FlashStore::scan_anchors(uint32_t block, uint64_t sequence, Headers& headers) {
  std::vector<std::byte> bytes(geometry().block_bytes());
  CUCKOO_TRY(count_read(geometry().block_address(block), bytes));
  for (uint32_t offset = kFlashHeaderUnits; offset < units_per_block(); ++offset) {
    const std::span<std::byte> unit =
        std::span(bytes).subspan(size_t{offset} * unit_bytes(), kFlashMarkBytes);
    std::optional<FlashRecordHeader> mark = decode_flash_record_header(unit, sequence, offset);
    if (!mark && !is_erased(unit)) {  // again
      CUCKOO_TRY(count_read(address(block * units_per_block() + offset), unit));
      mark = decode_flash_record_header(unit, sequence, offset);
    }
    if (mark && mark->type == FlashRecordType::kAnchor) {
      headers.anchors.push_back({mark->lsn, mark->number(), block, offset + 1, sequence});
    }
  }
  return {};
}

Status FlashStore::load_checkpoint(uint64_t id, uint32_t last_block) {
  std::vector<std::vector<std::byte>> pieces;
  std::vector<uint32_t> chain;
  uint32_t block = last_block;
  const auto broken = [&](const char* what) {
    return corrupt("checkpoint " + std::to_string(id) + ", erase block " + std::to_string(block) +
                   ": " + what);
  };
  std::vector<std::byte> units(size_t{kFlashHeaderUnits} * unit_bytes());
  for (uint32_t left = kNoBlock; left != 0; left = pieces.empty() ? kNoBlock : left - 1) {
    if (block >= geometry().blocks) {
      return broken("beyond the device");
    }
    const uint64_t start = geometry().block_address(block);
    CUCKOO_TRY(count_read(start, units));
    const std::optional<FlashOpenHeader> opened =
        decode_open_header(block, std::span(units).subspan(unit_bytes()));
    std::byte head[kMaxFlashRecordHeaderBytes];
    const size_t room = size_t{units_per_block() - kFlashHeaderUnits} * unit_bytes();
    CUCKOO_TRY(
        count_read(start + units.size(), std::span(head).first(std::min(room, sizeof head))));
    const std::optional<FlashRecordHeader> header =
        opened ? decode_flash_record_header(head, opened->sequence, kFlashHeaderUnits)
               : std::nullopt;
    if (!header || header->type != FlashRecordType::kCheckpoint || header->lsn != id ||
        size_t{header->units(unit_bytes())} * unit_bytes() > room) {
      return broken("no piece of it");
    }
    std::vector<std::byte> record(size_t{header->units(unit_bytes())} * unit_bytes());
    CUCKOO_TRY(count_read(start + units.size(), record));
    if (!verify_flash_record(record, opened->sequence, kFlashHeaderUnits)) {
      return broken("wrong CRC");
    }
    if (pieces.empty()) {
      left = header->previous_value_bytes + 1;
    }
    if (header->previous_value_bytes + 1 != left || chain.size() >= geometry().blocks) {
      return broken("not the piece that is expected");
    }
    const auto value = value_in(*header, record);
    pieces.emplace_back(value.begin(), value.end());
    chain.push_back(block);
    block = header->previous;
    if (left == 1) {
      break;
    }
  }
  std::vector<std::byte> bytes;
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    bytes.insert(bytes.end(), piece->begin(), piece->end());
  }
  Result<FlashCheckpoint> decoded = decode_flash_checkpoint(bytes, geometry());
  CUCKOO_TRY(decoded.take_status());
  FlashCheckpoint& checkpoint = decoded.value();
  std::ranges::reverse(chain);
  s_.checkpoint_blocks = std::move(chain);
  s_.checkpoint_id = id;
  s_.next_lsn = checkpoint.next_lsn;
  s_.heads = checkpoint.heads;
  s_.charged_units = checkpoint.charged_units;
  s_.state = checkpoint.state;
  s_.streams.hot = checkpoint.hot;
  s_.streams.cold = checkpoint.cold;
  s_.streams.next_sequence = s_.streams.tail_sequence = checkpoint.next_sequence;
  s_.streams.tail_hot = checkpoint.hot.block;
  s_.streams.tail_cold = checkpoint.cold.block;
  s_.stats.user_bytes = checkpoint.user_bytes;
  s_.stats.programmed_bytes = checkpoint.programmed_bytes;
  s_.stats.erases = checkpoint.erases;
  s_.stats.collections = checkpoint.collections;
  s_.stats.checkpoints = checkpoint.checkpoints;
  blocks_.assign(std::move(checkpoint.blocks));
  index_.reserve(checkpoint.entries.size());
  for (const auto& [position, hash] : checkpoint.entries) {
    const auto [data_block, offset] = locate(position);
    const FlashBlock state = blocks_.at(data_block);
    if (state.kind != FlashBlockKind::kData || offset < kFlashHeaderUnits ||
        offset >= state.used_units || state.live_units == 0) {
      return corrupt("checkpoint " + std::to_string(id) + " names a record at unit " +
                     std::to_string(position) + ", where none can be");
    }
    index_.insert(hash, position);
  }
  for (const FlashStream* stream : {&s_.streams.hot, &s_.streams.cold}) {
    if (stream->block != kNoBlock &&
        (blocks_.at(stream->block).kind != FlashBlockKind::kData || stream->offset == 0)) {
      return corrupt("checkpoint " + std::to_string(id) + " has a stream in no block of data");
    }
  }
  return {};
}

// --- after a power cut ---------------------------------------------------------------------------

// An anchor that can't be read now may be read by the next mount; the two newest may have to do
// without each other. All other anchor blocks are erased before anything is.
Status FlashStore::free_other_anchor_blocks(const Headers& headers) {
  const Anchor& newest = headers.anchors.front();
  const auto before = std::ranges::find_if(
      headers.anchors, [&](const Anchor& anchor) { return anchor.id != newest.id; });
  // Of the first checkpoint there may be none but its own; then the first of these.
  const Anchor& fallback = before != headers.anchors.end() ? *before : headers.anchors.back();
  const std::array keep{newest.block, fallback.block};
  std::vector<uint32_t> others = headers.anchor_blocks;
  for (const uint32_t block : anchor_blocks()) {
    if (std::ranges::find(others, block) == others.end()) {
      others.push_back(block);
    }
  }
  std::ranges::sort(others);
  bool one_is_free = false;
  for (const uint32_t block : others) {
    if (std::ranges::find(keep, block) != keep.end()) {
      continue;
    }
    Status erased = prepare(block);
    if (erased.ok()) {
      blocks_.open(block, FlashBlockKind::kAnchor, blocks_.at(block).erase_count, 0);
      one_is_free = true;
    } else if (erased.error().code == ErrorCode::kFlashFailure) {
      blocks_.retire(block);
    } else {
      return erased;
    }
  }
  const uint32_t another = one_is_free ? kNoBlock : blocks_.take();
  if (another != kNoBlock) {
    blocks_.open(another, FlashBlockKind::kAnchor, blocks_.at(another).erase_count, 0);
  }
  return {};
}

// The last record of the newest batch may read well now and not the next time.
Status FlashStore::reassert_newest() {
  const uint32_t from = newest_.position;
  if (newest_.whole.empty() || !index_.contains(newest_.hash, from)) {
    return {};
  }
  FlashRecordHeader header = newest_.header;
  Result<uint32_t> to =
      append_copy(from, header, key_in(header, newest_.whole), value_in(header, newest_.whole));
  CUCKOO_TRY(to.take_status());
  index_.replace(newest_.hash, from, to.value());
  blocks_.add_live(locate(to.value()).block, header.units(unit_bytes()));
  blocks_.remove_live(locate(from).block, header.units(unit_bytes()));
  return {};
}

Status FlashStore::recover(Headers& headers, bool tail_has_begun) {
  s_.streams.next_sequence = std::max(s_.streams.next_sequence, headers.max_sequence + 1);
  CUCKOO_TRY(free_other_anchor_blocks(headers));
  s_.streams.anchor.offset = units_per_block();  // never behind what may be torn
  s_.streams.hot.block = s_.streams.cold.block = kNoBlock;
  if (!tail_has_begun) {
    CUCKOO_TRY(write_anchor(s_.checkpoint_blocks.back()));
  } else {
    // Blocks with copies of an interrupted collection or recovery only.
    for (const auto& [sequence, block] : headers.cold) {
      if (sequence >= s_.streams.tail_sequence && blocks_.at(block).live_units == 0 &&
          blocks_.at(block).kind == FlashBlockKind::kData &&
          std::ranges::find(applied_blocks_, block) == applied_blocks_.end()) {
        blocks_.release(block);
      }
    }
    CUCKOO_TRY(reassert_newest());
    s_.streams.cold.block = kNoBlock;
    CUCKOO_TRY(write_checkpoint());
  }
  recovering_ = false;
  pending_.clear();
  hold_releases_ = false;
  newest_ = {};
  applied_blocks_.clear();
  return sweep();
}

}  // namespace cuckoo
