#include "core/stored/stepped_replay.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/stored/hash_sort.hpp"

namespace cuckoo {

SteppedReplay::SteppedReplay(FilterStorage& storage, HashWidth width, bool unique,
                             const LogExtent& extent, int64_t first_raw_row,
                             uint64_t compacted_entries)
    : storage_(storage),
      width_(width),
      counting_{extent.multiset, unique},
      extent_(extent),
      first_raw_row_(first_raw_row),
      raw_position_(extent.start_position + compacted_entries),
      parts_(size_t{1} << kPartBits),
      compacted_(width, extent.multiset, extent.first_row, extent.start_chain,
                 extent.start_position, extent.start_items) {}

// --- raw rows ------------------------------------------------------------------------------------

// What stands before the first one is believed until the compacted rows have been read.
Status SteppedReplay::take_raw(int64_t id, std::span<const std::byte> bytes) {
  if (!raw_) {
    Result<LogRow> first = parse_log_row(bytes, width_);
    if (!first.ok()) {
      return in_row("log", id, first.take_status());
    }
    first_raw_ = first.value().header;
    raw_.emplace(width_, extent_.multiset, first_raw_row_, first_raw_.chain_before, raw_position_,
                 first_raw_.items_before);
  }
  CUCKOO_ASSIGN_OR_RETURN(const LogRow row, raw_->follow(id, bytes));
  if (row.header.compacted()) {
    return in_row("log", id, corrupt("compacted entries behind raw ones"));
  }
  uint64_t added = 0;
  for (size_t i = 0; i < row.header.entries; ++i) {
    const uint64_t entry = raw_entry(row, i, width_);
    parts_[entry >> (64 - kPartBits)].push_back(entry);
    added += (entry & kRemoveBit) == 0 ? 1 : ~uint64_t{0};
  }
  raw_->pass(row, added);
  return storage_.poll();
}

Status SteppedReplay::read_raw(uint64_t rows) {
  const int64_t next = raw_ ? raw_->row() : first_raw_row_;
  const int64_t end = first_raw_row_ + static_cast<int64_t>(rows);
  if (next >= end) {
    return {};
  }
  CUCKOO_TRY(storage_.read_log(next, end - 1, [this](int64_t id, std::span<const std::byte> bytes) {
    return take_raw(id, bytes);
  }));
  if (!raw_ || raw_->row() != end) {
    return in_row("log", raw_ ? raw_->row() : next, corrupt("is missing or does not follow"));
  }
  if (end <= extent_.last_row) {
    return {};
  }
  return raw_->position() == extent_.end_position && raw_->chain() == extent_.end_chain
             ? Status()
             : corrupt("log that ends at entry " + std::to_string(raw_->position()) +
                       ", expected entry " + std::to_string(extent_.end_position));
}

// The next raw entry is part_[next_in_part_]; or there is none.
void SteppedReplay::find_raw() {
  while (next_in_part_ == part_.size() && next_part_ < parts_.size()) {
    std::vector<uint64_t> entries = std::exchange(parts_[next_part_++], {});
    part_ = sorted_by_hash(entries, width_);
    next_in_part_ = 0;
  }
}

// All raw entries of that hash, which are the next ones, if there are any.
std::span<const uint64_t> SteppedReplay::take_run(uint64_t hash) noexcept {
  const size_t first = next_in_part_;
  while (next_in_part_ < part_.size() && (part_[next_in_part_] & ~kRemoveBit) == hash) {
    ++next_in_part_;
  }
  return std::span<const uint64_t>(part_).subspan(first, next_in_part_ - first);
}

// --- compacted rows ------------------------------------------------------------------------------

Status SteppedReplay::take_compacted(int64_t id, std::span<const std::byte> bytes) {
  CUCKOO_ASSIGN_OR_RETURN(const LogRow row, compacted_.follow(id, bytes));
  if (!row.header.compacted()) {
    return in_row("log", id, corrupt("raw entries before compacted ones"));
  }
  CUCKOO_TRY(in_row("log", id,
                    decode_compacted_row(row, width_, previous_, id == extent_.first_row, row_)));
  next_in_row_ = 0;
  uint64_t added = 0;
  for (const CountedHash& entry : row_) {
    added += entry.second;
  }
  compacted_.pass(row, added);
  return storage_.poll();
}

// The next compacted hash is row_[next_in_row_]; or there is none.
Status SteppedReplay::find_compacted() {
  if (next_in_row_ < row_.size()) {
    return {};
  }
  row_.clear();
  next_in_row_ = 0;
  const int64_t next = compacted_.row();
  if (next < first_raw_row_) {
    CUCKOO_TRY(storage_.read_log(next, next,
                                 [this](int64_t id, std::span<const std::byte> bytes) -> Status {
                                   return take_compacted(id, bytes);
                                 }));
    return compacted_.row() > next ? Status()
                                   : in_row("log", next, corrupt("is missing or does not follow"));
  }
  const bool leads_on = raw_ ? compacted_.leads_to(first_raw_)
                             : compacted_.position() == extent_.end_position &&
                                   compacted_.chain() == extent_.end_chain;
  return leads_on ? Status() : in_row("log", next, corrupt("is missing or does not follow"));
}

// --- both ----------------------------------------------------------------------------------------

Status SteppedReplay::next(std::vector<CountedHash>& batch) {
  batch.clear();
  while (batch.size() < kBatch) {
    CUCKOO_TRY(find_compacted());
    find_raw();
    const bool has_compacted = next_in_row_ < row_.size();
    const bool has_raw = next_in_part_ < part_.size();
    if (!has_compacted && !has_raw) {
      return {};
    }
    const uint64_t raw = has_raw ? part_[next_in_part_] & ~kRemoveBit : UINT64_MAX;
    const uint64_t hash = has_compacted ? std::min(row_[next_in_row_].first, raw) : raw;
    uint64_t count = 0;
    if (has_compacted && row_[next_in_row_].first == hash) {
      count = row_[next_in_row_++].second;
    }
    count = counting_.left(count, take_run(hash), dropped_);
    if (count > 0) {
      batch.emplace_back(hash, count);
    }
  }
  return {};
}

size_t SteppedReplay::memory_bytes() const noexcept {
  size_t words = part_.capacity() + 2 * row_.capacity();
  for (const std::vector<uint64_t>& part : parts_) {
    words += part.capacity();
  }
  return words * sizeof(uint64_t);
}

}  // namespace cuckoo
