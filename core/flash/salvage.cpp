#include "core/flash/salvage.hpp"

#include <algorithm>
#include <optional>

namespace cuckoo::core {
namespace {

// Returns whether a failed read says that these bytes are damaged, and not that all reading ends.
bool is_damage(const Error& error) noexcept {
  return error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kFlashFailure;
}

}  // namespace

Status FlashSalvage::begin() {
  for (uint32_t block = 0; block < state_.layout.geometry().blocks; ++block) {
    CUCKOO_TRY(read_block(block));
  }
  for (const auto& [key, version] : newest_) {
    if (!version.removed) {
      entries_.emplace_back(version.lsn, version.position);
    }
  }
  newest_.clear();
  std::sort(entries_.begin(), entries_.end());
  return {};
}

// A record may begin at any unit that no other one covers, because the one before may be damaged.
Status FlashSalvage::read_block(uint32_t block) {
  const FlashLayout& layout = state_.layout;
  std::byte unit[kFlashMarkBytes] = {};
  if (Status read = log_.read(layout.block_address(block) + layout.unit_bytes(), unit);
      !read.ok()) {
    return is_damage(read.error()) ? Status() : std::move(read);
  }
  const std::optional<FlashOpenHeader> opened = decode_open_header(block, unit);
  if (!opened ||
      (opened->purpose != FlashPurpose::kHot && opened->purpose != FlashPurpose::kCold)) {
    return {};
  }
  state_.blocks.open(block, FlashBlockKind::kData, 0, opened->sequence);
  for (uint32_t offset = kFlashHeaderUnits; offset < layout.units_per_block();) {
    CUCKOO_ASSIGN_OR_RETURN(const uint32_t units, take(layout.position(block, offset)));
    offset += units;
  }
  return {};
}

// Notes the record at that position. Returns its units; 1 if there is none.
Result<uint32_t> FlashSalvage::take(uint32_t position) {
  FlashLogRecord head;
  Result<bool> there = log_.read_head(position, head);
  if (!there.ok() && !is_damage(there.error())) {
    return there.take_status();
  }
  if (!there.ok() || !there.value()) {
    return uint32_t{1};
  }
  const FlashRecordHeader& header = head.header;
  const uint32_t units = header.units(state_.layout.unit_bytes());
  const bool removed = header.type == FlashRecordType::kTombstone;
  if (!header.is_entry() && !removed && header.type != FlashRecordType::kPart) {
    return units;
  }
  FlashLoadedRecord record;
  if (Status loaded = log_.load(position, record); !loaded.ok()) {
    return is_damage(loaded.error()) ? Result<uint32_t>(units) : std::move(loaded);
  }
  if (header.type == FlashRecordType::kPart) {
    parts_[{header.lsn, header.offset()}] = position;
    return units;
  }
  Version& newest = newest_[{reinterpret_cast<const char*>(record.key.data()), record.key.size()}];
  if (header.lsn > newest.lsn) {
    newest = {header.lsn, position, removed};
  }
  return units;
}

// Returns false if a part of the value is missing.
Result<bool> FlashSalvage::read_value(const FlashLoadedRecord& head) {
  const uint64_t lsn = head.header.lsn;
  const uint32_t bytes = head.header.total_value_bytes;
  value_.assign(head.value.begin(), head.value.end());
  while (value_.size() < bytes) {
    const auto part = parts_.find({lsn, static_cast<uint32_t>(value_.size())});
    FlashLoadedRecord record;
    if (part == parts_.end() || !log_.load(part->second, record).ok() || record.value.empty() ||
        record.value.size() > bytes - value_.size()) {
      return false;
    }
    value_.insert(value_.end(), record.value.begin(), record.value.end());
  }
  return true;
}

Result<bool> FlashSalvage::next() {
  while (next_ < entries_.size()) {
    position_ = entries_[next_++].second;
    FlashLoadedRecord record;
    if (Status loaded = log_.load(position_, record); !loaded.ok()) {
      if (!is_damage(loaded.error())) {
        return loaded;
      }
      continue;
    }
    key_.assign(record.key.begin(), record.key.end());
    CUCKOO_ASSIGN_OR_RETURN(const bool whole, read_value(record));
    if (whole) {
      return true;
    }
  }
  return false;
}

}  // namespace cuckoo::core
