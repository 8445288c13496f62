#include "core/segments/log_row.hpp"

#include <algorithm>
#include <string>

#include "core/base/bytes.hpp"

namespace cuckoo::segments {
namespace {

constexpr size_t kRowChainAt = 0;
constexpr size_t kRowPositionAt = 8;
constexpr size_t kRowItemsAt = 16;
constexpr size_t kRowVersionAt = 24;
constexpr size_t kRowEntriesAt = 32;
constexpr size_t kRowCountsAt = 34;
constexpr size_t kRowKindAt = 36;
constexpr size_t kRowZerosAt = 37;
constexpr size_t kCopiesAt = 2;  // of a count

std::byte kind_of(HashWidth width) noexcept {
  return static_cast<std::byte>(width == HashWidth::k47Bits ? 1 : 2);
}

size_t index_of(std::span<const std::byte> count) noexcept {
  return load_le<uint16_t>(count.data());
}

// Returns the counts of a row's entries from that one on.
std::span<const std::byte> counts_from(std::span<const std::byte> counts, size_t first) noexcept {
  size_t low = 0;
  size_t high = counts.size() / kLogCountBytes;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (index_of(counts.subspan(middle * kLogCountBytes)) < first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return counts.subspan(low * kLogCountBytes);
}

Status check_counts(const LogRow& row) {
  size_t least = 0;
  for (auto rest = row.counts; !rest.empty(); rest = rest.subspan(kLogCountBytes)) {
    const size_t index = index_of(rest);
    const auto copies = load_le<uint32_t>(&rest[kCopiesAt]);
    if (index < least || index >= row.size() || copies < 2 || copies > kMostCopies) {
      return corrupt("log row with a count of " + std::to_string(copies) + " for entry " +
                     std::to_string(index));
    }
    least = index + 1;
  }
  return {};
}

}  // namespace

void put_log_entries(std::span<const uint64_t> entries, HashWidth width,
                     std::vector<std::byte>& to) {
  size_t at = to.size();
  to.resize(at + entries.size() * log_entry_bytes(width));
  for (const uint64_t entry : entries) {
    if (width == HashWidth::k47Bits) {
      store_le48(&to[at], pack_raw47(entry));
    } else {
      store_le(&to[at], entry);
    }
    at += log_entry_bytes(width);
  }
}

uint64_t load_log_entry(const std::byte* from, HashWidth width) noexcept {
  if (width == HashWidth::k63Bits) {
    return load_le<uint64_t>(from);
  }
  const uint64_t packed = load_le48(from);
  return ((packed & ~kRemoveBit) << 16) | (packed & kRemoveBit);
}

LogRow LogRow::first(size_t entries) const noexcept {
  LogRow part = *this;
  part.entries = this->entries.first(entries * log_entry_bytes(width));
  part.counts = counts.first(counts.size() - counts_from(counts, entries).size());
  return part;
}

uint64_t LogRow::chain_after() const noexcept {
  uint64_t chain = header.chain;
  for (LogCursor at(*this); at.next();) {
    chain = chain_with_entry(chain, at.entry(), at.copies());
  }
  return chain;
}

LogCursor::LogCursor(const LogRow& row, size_t first) noexcept
    : row_(&row), counts_(counts_from(row.counts, first)), next_(first) {}

bool LogCursor::next() noexcept {
  const size_t at = next_ * log_entry_bytes(row_->width);
  if (at >= row_->entries.size()) {
    return false;
  }
  index_ = next_++;
  entry_ = load_log_entry(&row_->entries[at], row_->width);
  copies_ = 1;
  if (!counts_.empty() && index_of(counts_) == index_) {
    copies_ = load_le<uint32_t>(&counts_[kCopiesAt]);
    counts_ = counts_.subspan(kLogCountBytes);
  }
  return true;
}

void LogRowWriter::append(std::span<const uint64_t> entries, size_t first,
                          std::span<const MoreCopies> more) {
  auto next = std::lower_bound(more.begin(), more.end(), first,
                               [](const MoreCopies& one, size_t at) { return one.at < at; });
  for (; next != more.end() && next->at < first + entries.size(); ++next) {
    std::byte count[kLogCountBytes];
    store_le(count, static_cast<uint16_t>(size() + next->at - first));
    store_le(count + kCopiesAt, static_cast<uint32_t>(1 + next->more));
    counts_.insert(counts_.end(), count, count + kLogCountBytes);
  }
  put_log_entries(entries, width_, entries_);
  append_to_chain(size() - entries.size());
}

void LogRowWriter::append(const LogRow& row, size_t first) {
  const auto counts = counts_from(row.counts, first);
  const auto entries = row.entries.subspan(first * log_entry_bytes(width_));
  counts_.insert(counts_.end(), counts.begin(), counts.end());
  entries_.insert(entries_.end(), entries.begin(), entries.end());
  append_to_chain(first);
  set_numbers(row.header.items, row.header.directory_version);
}

void LogRowWriter::append_to_chain(size_t first) noexcept {
  const LogRow all = row();
  for (LogCursor at(all, first); at.next();) {
    chain_ = chain_with_entry(chain_, at.entry(), at.copies());
  }
}

void LogRowWriter::set_numbers(uint64_t items, uint64_t directory_version) noexcept {
  header_.items = items;
  header_.directory_version = directory_version;
}

void LogRowWriter::start(uint64_t position, uint64_t chain) noexcept {
  header_ = {chain, position, 0, 0};
  chain_ = chain;
  entries_.clear();
  counts_.clear();
}

std::vector<std::byte> LogRowWriter::encode() const {
  std::vector<std::byte> row;
  row.reserve(kLogHeaderBytes + entries_.size() + counts_.size());
  row.resize(kLogHeaderBytes);
  store_le(&row[kRowChainAt], header_.chain);
  store_le(&row[kRowPositionAt], header_.position);
  store_le(&row[kRowItemsAt], header_.items);
  store_le(&row[kRowVersionAt], header_.directory_version);
  store_le(&row[kRowEntriesAt], static_cast<uint16_t>(size()));
  store_le(&row[kRowCountsAt], static_cast<uint16_t>(counts_.size() / kLogCountBytes));
  row[kRowKindAt] = kind_of(width_);
  row.insert(row.end(), entries_.begin(), entries_.end());
  row.insert(row.end(), counts_.begin(), counts_.end());
  return row;
}

Result<LogRow> parse_log_row(std::span<const std::byte> bytes, HashWidth width) {
  if (bytes.size() < kLogHeaderBytes) {
    return corrupt("log row of " + std::to_string(bytes.size()) + " bytes");
  }
  LogRow row;
  row.header.chain = load_le<uint64_t>(&bytes[kRowChainAt]);
  row.header.position = load_le<uint64_t>(&bytes[kRowPositionAt]);
  row.header.items = load_le<uint64_t>(&bytes[kRowItemsAt]);
  row.header.directory_version = load_le<uint64_t>(&bytes[kRowVersionAt]);
  row.width = width;
  if (bytes[kRowKindAt] != kind_of(width) ||
      !all_zero(bytes.subspan(kRowZerosAt, kLogHeaderBytes - kRowZerosAt))) {
    return corrupt("log row of kind " + std::to_string(std::to_integer<int>(bytes[kRowKindAt])) +
                   ", expected one of " + std::to_string(static_cast<int>(width)) + "-bit hashes");
  }
  const size_t entry_bytes = load_le<uint16_t>(&bytes[kRowEntriesAt]) * log_entry_bytes(width);
  const size_t count_bytes = load_le<uint16_t>(&bytes[kRowCountsAt]) * kLogCountBytes;
  if (bytes.size() - kLogHeaderBytes != entry_bytes + count_bytes) {
    return corrupt("log row whose length does not fit its number of entries");
  }
  row.entries = bytes.subspan(kLogHeaderBytes, entry_bytes);
  row.counts = bytes.subspan(kLogHeaderBytes + entry_bytes);
  CUCKOO_TRY(check_counts(row));
  return row;
}

}  // namespace cuckoo::segments
