#include "core/flash/scan.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace cuckoo::core {

Status FlashScan::list(const Source& from, FlashIndexEntries& entries) {
  if (entries.empty()) {
    CUCKOO_ASSIGN_OR_RETURN(entries, from.state.index.by_position());
  }
  return {};
}

// --- one block -----------------------------------------------------------------------------------

void FlashScan::Block::open(const FlashState& state, uint32_t block) noexcept {
  number_ = block;
  block_ = state.blocks.at(block);
  offset_ = kFlashHeaderUnits;
  live_units_ = block_.live_units;
  window_.clear();
}

Error FlashScan::Block::lacks_units() const {
  return corrupt("erase block " + std::to_string(number_) + " lacks " +
                 std::to_string(live_units_) + " units that the index points to");
}

// Makes `out` the `bytes` bytes from unit `offset` on. Returns an error if the block has fewer.
Status FlashScan::Block::load(const Source& from, uint32_t offset, size_t bytes,
                              std::span<const std::byte>& out) {
  constexpr size_t kWindowBytes = 16384;
  const FlashLayout& layout = from.state.layout;
  const size_t start = offset >= window_at_ ? layout.bytes_of(offset - window_at_) : 0;
  if (offset < window_at_ || start + bytes > window_.size()) {
    const size_t left = layout.bytes_of(block_.used_units - std::min(offset, block_.used_units));
    if (bytes > left) {
      return lacks_units();
    }
    window_.resize(std::min(std::max(bytes, kWindowBytes), left));
    window_at_ = offset;
    CUCKOO_TRY(from.log.read(layout.address(layout.position(number_, offset)), window_));
    out = window_;
    return {};
  }
  out = std::span<const std::byte>(window_).subspan(start);
  return {};
}

// Verifies a record, or its head.
Status FlashScan::Block::expect_intact(std::span<const std::byte> bytes, uint32_t offset) const {
  return verify_flash_record(bytes, block_.sequence, offset)
             ? Status()
             : corrupt("the record at unit " + std::to_string(position_) + " has a wrong CRC");
}

// `head`: the head of record_, verified.
Result<bool> FlashScan::Block::is_live(FlashIndex& index, const FlashIndexEntries& entries,
                                       std::span<const std::byte> head) const {
  const FlashRecordHeader& header = record_.header;
  const bool part = header.type == FlashRecordType::kPart;
  if (!part && !header.is_entry()) {
    return false;
  }
  if (!block_.has_dead()) {
    return true;
  }
  const uint32_t hash =
      part ? index.part_hash(header.lsn, header.offset()) : index.hash_of(key_in(header, head));
  if (!entries.empty()) {
    return std::binary_search(entries.begin(), entries.end(), FlashIndexEntry{position_, hash});
  }
  CUCKOO_ASSIGN_OR_RETURN(const FlashIndex::Fetched& fetched, index.fetch(hash));
  return index.contains(fetched, position_);
}

Result<bool> FlashScan::Block::next(const Source& from, FlashIndexEntries& entries) {
  const FlashLayout& layout = from.state.layout;
  if (block_.has_dead() && from.state.index.is_stored()) {
    CUCKOO_TRY(list(from, entries));
  }
  while (live_units_ > 0) {
    std::span<const std::byte> bytes;
    const uint32_t offset = damaged_at_ = offset_;
    CUCKOO_TRY(load(from, offset, layout.unit_bytes(), bytes));
    position_ = layout.position(number_, offset);
    if (bytes.size() < kMaxFlashRecordHeaderBytes && offset + 1 < block_.used_units) {
      CUCKOO_TRY(load(from, offset, 2 * size_t{layout.unit_bytes()}, bytes));
    }
    const std::optional<FlashRecordHeader> header =
        decode_flash_record_header(bytes, block_.sequence, offset);
    if (!header) {
      return lacks_units();
    }
    record_.header = *header;
    const uint32_t units = header->units(layout.unit_bytes());
    offset_ = offset + units;
    if (header->is_mark()) {
      continue;
    }
    CUCKOO_TRY(load(from, offset, layout.bytes_of(units), bytes));
    const std::span<const std::byte> whole = bytes.first(layout.bytes_of(units));
    const std::span<const std::byte> head = whole.first(header->head_bytes());
    if (block_.has_dead() || !header->is_entry()) {
      CUCKOO_TRY(expect_intact(head, offset));
      CUCKOO_ASSIGN_OR_RETURN(const bool live, is_live(from.state.index, entries, head));
      if (!live) {
        continue;
      }
    }
    if (units > live_units_) {
      return lacks_units();
    }
    live_units_ -= units;
    if (header->is_entry()) {
      if (!verify_whole_flash_record(*header, whole, block_.sequence, offset)) {
        CUCKOO_TRY(expect_intact(whole, offset));
        return corrupt("the record at unit " + std::to_string(position_) +
                       " has bytes without a meaning");
      }
      record_.key = key_in(*header, whole);
      record_.value = value_in(*header, whole);
      return true;
    }
  }
  return false;
}

// --- all of them ---------------------------------------------------------------------------------

// Lists the hot blocks, and the entries of the cold ones.
Status FlashScan::begin(const Source& from) {
  const FlashState& state = from.state;
  const FlashLayout& layout = state.layout;
  std::byte unit[kFlashMarkBytes] = {};
  Block cold;
  for (uint32_t number = 0; number < state.blocks.touched(); ++number) {
    const FlashBlock block = state.blocks.at(number);
    if (block.kind != FlashBlockKind::kData || block.live_units == 0) {
      continue;
    }
    Status read = from.log.read(layout.block_address(number) + layout.unit_bytes(), unit);
    const std::optional<FlashOpenHeader> opened = decode_open_header(number, unit);
    if (read.ok() && (!opened || opened->sequence != block.sequence)) {
      read = corrupt("the header of erase block " + std::to_string(number) + " is broken");
    }
    if (!read.ok()) {
      CUCKOO_TRY(pass_damage(from, number, 0, std::move(read)));
      continue;
    }
    if (opened->purpose == FlashPurpose::kHot) {
      blocks_.emplace_back(block.sequence, number);
      continue;
    }
    cold.open(state, number);
    while (true) {
      Result<bool> more = cold.next(from, entries_);
      if (!more.ok()) {
        CUCKOO_TRY(pass_damage(from, number, cold.damaged_at(), more.take_status()));
        break;
      }
      if (!more.value()) {
        break;
      }
      cold_.push_back({cold.record().header.lsn, cold.position()});
    }
  }
  std::sort(blocks_.begin(), blocks_.end());
  std::sort(cold_.begin(), cold_.end(), [](const Cold& a, const Cold& b) { return a.lsn < b.lsn; });
  return next_hot(from);
}

// Lists the entries of the block from that unit on that can be read, with the cold ones.
Status FlashScan::pass_damage(const Source& from, uint32_t block, uint32_t offset, Status damage) {
  if (damage.error().code != ErrorCode::kCorrupt) {
    return damage;
  }
  damage_ = damage_.ok() ? std::move(damage) : std::move(damage_);
  const FlashLayout& layout = from.state.layout;
  CUCKOO_TRY(list(from, entries_));
  const FlashIndexEntry least{layout.position(block, offset), 0};
  for (auto each = std::lower_bound(entries_.begin(), entries_.end(), least);
       each != entries_.end() && layout.locate(each->first).block == block; ++each) {
    FlashLoadedRecord record;
    if (from.log.load(each->first, record).ok() && record.header.is_entry()) {
      cold_.push_back({record.header.lsn, each->first});
    }
  }
  std::sort(cold_.begin() + static_cast<std::ptrdiff_t>(next_cold_), cold_.end(),
            [](const Cold& a, const Cold& b) { return a.lsn < b.lsn; });
  return {};
}

Status FlashScan::next_hot(const Source& from) {
  while (true) {
    Result<bool> there = hot_.next(from, entries_);
    if (!there.ok()) {
      hot_there_ = false;
      CUCKOO_TRY(pass_damage(from, hot_.number(), hot_.damaged_at(), there.take_status()));
      hot_.leave();
      continue;
    }
    hot_there_ = there.value();
    if (hot_there_) {
      const uint64_t lsn = hot_.record().header.lsn;
      if (lsn <= hot_lsn_) {
        return corrupt("the record at unit " + std::to_string(hot_.position()) + " has seq " +
                       std::to_string(lsn) + ", after LSN " + std::to_string(hot_lsn_));
      }
      hot_lsn_ = lsn;
      return {};
    }
    if (next_block_ == blocks_.size()) {
      return {};
    }
    hot_.open(from.state, blocks_[next_block_++].second);
  }
}

// Everything that can be read was given.
Result<bool> FlashScan::end(const Source& from) {
  if (damage_.ok() && given_ < from.state.now.heads) {
    damage_ = FlashState::lost(from.state.now.heads - given_);
  }
  if (of_ == Of::kAll && !damage_.ok()) {
    return std::exchange(damage_, Status());
  }
  return false;
}

Result<bool> FlashScan::next(const Source& from) {
  if (!begun_) {
    CUCKOO_TRY(begin(from));
    begun_ = true;
  } else if (hot_there_ && position_ == hot_.position()) {
    CUCKOO_TRY(next_hot(from));
  }
  while (next_cold_ < cold_.size() && (!hot_there_ || cold_[next_cold_].lsn < hot_lsn_)) {
    position_ = cold_[next_cold_++].position;
    Status loaded = from.log.load(position_, record_);
    if (loaded.ok()) {
      ++given_;
      return true;
    }
    if (loaded.error().code != ErrorCode::kCorrupt) {
      return loaded;
    }
    damage_ = damage_.ok() ? std::move(loaded) : std::move(damage_);
  }
  if (!hot_there_) {
    return end(from);
  }
  position_ = hot_.position();
  record_ = hot_.record();
  ++given_;
  return true;
}

}  // namespace cuckoo::core
