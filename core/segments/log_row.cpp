#include "core/segments/log_row.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string>

#include "core/base/bytes.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {
namespace {

constexpr size_t kRowChainAt = 0;
constexpr size_t kRowPositionAt = 8;
constexpr size_t kRowItemsAt = 16;
constexpr size_t kRowVersionAt = 24;
constexpr size_t kRowEntriesAt = 32;
constexpr size_t kRowKindAt = 34;
constexpr size_t kRowZeroAt = 35;
constexpr size_t kRowLastCountAt = 36;
constexpr size_t kRowZerosAt = 38;

std::byte kind_of(HashWidth width) noexcept {
  return static_cast<std::byte>(width == HashWidth::k47Bits ? 1 : 2);
}

size_t entry_bytes(HashWidth width) noexcept { return width == HashWidth::k47Bits ? 6 : 8; }

void store_entry(std::byte* to, uint64_t entry, HashWidth width) noexcept {
  if (width == HashWidth::k47Bits) {
    store_le48(to, pack_raw47(entry));
  } else {
    store_le(to, entry);
  }
}

void store_entries(std::byte* to, std::span<const uint64_t> entries, HashWidth width,
                   uint16_t last_count) noexcept {
  for (size_t i = 0; i < entries.size(); ++i) {
    store_entry(to + i * entry_bytes(width), entries[i], width);
  }
  for (size_t at = last_count; at != 0; at = count_before(entries[at])) {
    std::byte* const place = to + at * entry_bytes(width);
    if (width == HashWidth::k47Bits) {
      store_le48(place, entries[at]);
    } else {
      store_le(place, entries[at]);
    }
  }
}

// Finds the counts of a row, from the last one back.
Status find_counts(LogRow& row, HashWidth width) {
  const auto wrong = [] { return corrupt("log row with a count where none can be"); };
  for (size_t at = row.header.last_count; at != 0;) {
    if (at >= row.header.entries) {
      return wrong();
    }
    const uint64_t word = row.count_word(at, width);
    const size_t before = count_before(word);
    const uint64_t copies = copies_of(word);
    // A count of 0, which only fills a row, may follow another count. Any other count follows an
    // entry.
    if (word != count_word(copies, before) || before >= at || copies == 1 || copies > kMostCopies ||
        (copies != 0 && before != 0 && before + 1 == at)) {
      return wrong();
    }
    row.counts.push_back(static_cast<uint16_t>(at));
    at = before;
  }
  std::reverse(row.counts.begin(), row.counts.end());
  return {};
}

uint64_t chain_of(uint64_t chain, std::span<const std::byte> payload) noexcept {
  return payload.empty() ? chain : XXH3_64bits_withSeed(payload.data(), payload.size(), chain);
}

}  // namespace

uint64_t LogRow::entry(size_t index, HashWidth width) const noexcept {
  const std::byte* const from = payload.data() + index * entry_bytes(width);
  if (width == HashWidth::k63Bits) {
    return load_le<uint64_t>(from);
  }
  const uint64_t packed = load_le48(from);
  return ((packed & ~kRemoveBit) << 16) | (packed & kRemoveBit);
}

uint64_t LogRow::count_word(size_t index, HashWidth width) const noexcept {
  const std::byte* const from = payload.data() + index * entry_bytes(width);
  return width == HashWidth::k63Bits ? load_le<uint64_t>(from) : load_le48(from);
}

uint64_t LogRow::chain_after(size_t entries, HashWidth width) const noexcept {
  return chain_of(header.chain, payload.first(entries * entry_bytes(width)));
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
  row.header.entries = load_le<uint16_t>(&bytes[kRowEntriesAt]);
  row.header.last_count = load_le<uint16_t>(&bytes[kRowLastCountAt]);
  row.payload = bytes.subspan(kLogHeaderBytes);
  if (bytes[kRowKindAt] != kind_of(width) ||
      !all_zero(bytes.subspan(kRowZeroAt, kRowLastCountAt - kRowZeroAt)) ||
      !all_zero(bytes.subspan(kRowZerosAt, kLogHeaderBytes - kRowZerosAt))) {
    return corrupt("log row of kind " + std::to_string(std::to_integer<int>(bytes[kRowKindAt])) +
                   ", expected one of " + std::to_string(static_cast<int>(width)) + "-bit hashes");
  }
  if (row.payload.size() != row.header.entries * entry_bytes(width)) {
    return corrupt("log row whose length does not fit its number of entries");
  }
  CUCKOO_TRY(find_counts(row, width));
  return row;
}

std::vector<std::byte> encode_log_row(const LogHeader& header, std::span<const uint64_t> entries,
                                      HashWidth width) {
  std::vector<std::byte> row(kLogHeaderBytes + entries.size() * entry_bytes(width));
  store_le(&row[kRowChainAt], header.chain);
  store_le(&row[kRowPositionAt], header.position);
  store_le(&row[kRowItemsAt], header.items);
  store_le(&row[kRowVersionAt], header.directory_version);
  store_le(&row[kRowEntriesAt], static_cast<uint16_t>(entries.size()));
  row[kRowKindAt] = kind_of(width);
  store_le(&row[kRowLastCountAt], header.last_count);
  store_entries(row.data() + kLogHeaderBytes, entries, width, header.last_count);
  return row;
}

uint64_t chain_over(uint64_t chain, std::span<const uint64_t> entries, HashWidth width,
                    uint16_t last_count) {
  std::vector<std::byte> payload(entries.size() * entry_bytes(width));
  store_entries(payload.data(), entries, width, last_count);
  return chain_of(chain, payload);
}

std::vector<uint16_t> counts_among(std::span<const uint64_t> entries, uint16_t last_count) {
  std::vector<uint16_t> counts;
  for (uint16_t at = last_count; at != 0; at = count_before(entries[at])) {
    counts.push_back(at);
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

}  // namespace cuckoo::segments
