#include "core/stored/log.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/base/checksum.hpp"
#include "core/stored/rice.hpp"

namespace cuckoo {
namespace {

bool is_kind_of_width(LogRowKind kind, HashWidth width) noexcept {
  return width == HashWidth::k47Bits
             ? kind == LogRowKind::kRaw47 || kind == LogRowKind::kCompacted47
             : kind == LogRowKind::kRaw63 || kind == LogRowKind::kCompacted63;
}

std::vector<std::byte> encode_row(const LogRowHeader& header, std::span<const std::byte> payload) {
  std::vector<std::byte> row(kLogRowHeaderBytes + payload.size() + kLogRowCrcBytes);
  store_le(&row[0], header.chain_before);
  store_le(&row[8], header.position);
  store_le(&row[16], header.items_before);
  store_le(&row[24], header.entries);
  row[26] = static_cast<std::byte>(header.kind);
  row[27] = static_cast<std::byte>(header.rice);
  std::copy(payload.begin(), payload.end(), row.begin() + kLogRowHeaderBytes);
  const size_t crc_at = row.size() - kLogRowCrcBytes;
  store_le(&row[crc_at], crc32c(std::span(row).first(crc_at)));
  return row;
}

uint64_t chain_of(std::span<const std::byte> payload, uint64_t chain_before) noexcept {
  return payload.empty() ? chain_before
                         : XXH3_64bits_withSeed(payload.data(), payload.size(), chain_before);
}

}  // namespace

Result<LogRow> parse_log_row(std::span<const std::byte> bytes, HashWidth width) {
  if (bytes.size() <= kLogRowHeaderBytes + kLogRowCrcBytes) {
    return corrupt("log row of " + std::to_string(bytes.size()) + " bytes, expected more than " +
                   std::to_string(kLogRowHeaderBytes + kLogRowCrcBytes));
  }
  const size_t crc_at = bytes.size() - kLogRowCrcBytes;
  if (crc32c(bytes.first(crc_at)) != load_le<uint32_t>(&bytes[crc_at])) {
    return corrupt("log row with a wrong checksum");
  }
  LogRow row;
  row.header.chain_before = load_le<uint64_t>(&bytes[0]);
  row.header.position = load_le<uint64_t>(&bytes[8]);
  row.header.items_before = load_le<uint64_t>(&bytes[16]);
  row.header.entries = load_le<uint16_t>(&bytes[24]);
  row.header.kind = static_cast<LogRowKind>(bytes[26]);
  row.header.rice = static_cast<uint8_t>(bytes[27]);
  row.payload = bytes.subspan(kLogRowHeaderBytes, crc_at - kLogRowHeaderBytes);
  if (!is_kind_of_width(row.header.kind, width)) {
    return corrupt("log row of kind " + std::to_string(static_cast<int>(row.header.kind)) +
                   ", expected one of " + std::to_string(static_cast<int>(width)) + "-bit hashes");
  }
  if (row.header.entries == 0) {
    return corrupt("log row without entries");
  }
  if (row.header.compacted()) {
    if (row.payload.size() <= 8 || row.header.rice > 63) {
      return corrupt("compacted log row with a bad header");
    }
  } else if (row.payload.size() != row.header.entries * raw_entry_bytes(width) ||
             row.header.rice != 0) {
    return corrupt("raw log row whose length does not fit its number of entries");
  }
  return row;
}

uint64_t log_chain(const LogRow& row, size_t entries) noexcept {
  if (row.header.compacted()) {
    return chain_of(row.payload, row.header.chain_before);
  }
  const size_t width = row.payload.size() / row.header.entries;
  return chain_of(row.payload.first(entries * width), row.header.chain_before);
}

uint64_t log_chain_restart(uint64_t chain, uint64_t epoch) noexcept {
  std::byte bytes[8];
  store_le(bytes, epoch);
  return XXH3_64bits_withSeed(bytes, sizeof bytes, chain);
}

size_t raw_row_capacity(size_t row_bytes, HashWidth width) noexcept {
  return (row_bytes - kLogRowHeaderBytes - kLogRowCrcBytes) / raw_entry_bytes(width);
}

uint64_t raw_entry(const LogRow& row, size_t index, HashWidth width) noexcept {
  const std::byte* from = row.payload.data() + index * raw_entry_bytes(width);
  if (width == HashWidth::k63Bits) {
    return load_le<uint64_t>(from);
  }
  const uint64_t packed = load_le48(from);
  return ((packed & ~kRemoveBit) << 16) | (packed & kRemoveBit);
}

RawRowBuilder::RawRowBuilder(HashWidth width, size_t row_bytes)
    : width_(width),
      capacity_(raw_row_capacity(row_bytes, width)),
      payload_(capacity_ * raw_entry_bytes(width) + sizeof(uint64_t)) {
  header_.kind = width == HashWidth::k47Bits ? LogRowKind::kRaw47 : LogRowKind::kRaw63;
}

void RawRowBuilder::start(uint64_t chain_before, uint64_t position,
                          uint64_t items_before) noexcept {
  header_.chain_before = chain_before;
  header_.position = position;
  header_.items_before = items_before;
  header_.entries = 0;
}

void RawRowBuilder::resume(const LogRow& row) {
  assert(row.header.entries <= capacity_);
  std::copy(row.payload.begin(), row.payload.end(), payload_.begin());
  header_ = row.header;
}

uint64_t RawRowBuilder::chain() const noexcept { return chain_of(payload(), header_.chain_before); }

std::vector<std::byte> RawRowBuilder::encode() const { return encode_row(header_, payload()); }

CompactedRowWriter::CompactedRowWriter(HashWidth width, size_t row_bytes, uint64_t expected,
                                       uint64_t chain, RowSink sink, std::optional<uint64_t> items)
    : width_(width),
      row_bytes_(row_bytes),
      rice_(rice_parameter(width, expected)),
      chain_(chain),
      sink_(std::move(sink)),
      counts_(!items.has_value()),
      items_(items.value_or(0)) {}

Status CompactedRowWriter::add(uint64_t hash, uint64_t count) {
  const uint64_t delta = (hash - last_hash_) >> hash_shift(width_);
  const unsigned groups = count > 1 ? varint_groups(count - 2) : 0;
  const size_t need = BitWriter::delta_bits(delta, rice_) + 1 + 8 * groups;
  const size_t room = (row_bytes_ - kLogRowHeaderBytes - kLogRowCrcBytes - 8) * 8;
  if (row_entries_ > 0 && (stream_.bit_count() + need > room || row_entries_ == UINT16_MAX)) {
    CUCKOO_TRY(close_row());
  }
  if (row_entries_ == 0) {
    std::byte before[8];
    store_le(before, last_hash_);
    stream_.start(before);
  }
  stream_.put_delta(delta, rice_, count > 1 ? 1 : 0, 1);
  if (count > 1) {
    stream_.put_count(count);
  }
  last_hash_ = hash;
  ++row_entries_;
  row_items_ += count;
  return {};
}

Status CompactedRowWriter::close_row() {
  const std::vector<std::byte>& payload = stream_.finish();
  LogRowHeader header;
  header.chain_before = chain_;
  header.position = position_;
  header.items_before = items_;
  header.entries = row_entries_;
  header.kind = width_ == HashWidth::k47Bits ? LogRowKind::kCompacted47 : LogRowKind::kCompacted63;
  header.rice = static_cast<uint8_t>(rice_);
  CUCKOO_TRY(sink_(encode_row(header, payload)));
  chain_ = chain_of(payload, chain_);
  position_ += row_entries_;
  items_ += counts_ ? row_items_ : 0;
  row_entries_ = 0;
  row_items_ = 0;
  return {};
}

Status CompactedRowWriter::finish() { return row_entries_ > 0 ? close_row() : Status(); }

Status decode_compacted_row(const LogRow& row, HashWidth width, uint64_t& previous, bool first_row,
                            std::vector<CountedHash>& entries) {
  if (load_le<uint64_t>(row.payload.data()) != previous) {
    return corrupt("compacted log row that does not follow the one before it");
  }
  const unsigned rice = row.header.rice;
  const unsigned shift = hash_shift(width);
  const uint64_t max_delta = ~uint64_t{0} >> shift;
  const uint64_t low_mask = (uint64_t{1} << rice) - 1;
  entries.resize(row.header.entries);
  BitReader reader(row.payload.subspan(8));
  for (CountedHash& entry : entries) {
    const uint64_t window = reader.window();
    const auto quotient = static_cast<unsigned>(std::countr_one(window));
    uint64_t delta = 0;
    uint64_t flag = 0;
    bool in_range = true;
    if (quotient < kUnaryLimit && quotient + rice + 2 <= BitReader::kWindowBits) [[likely]] {
      const uint64_t rest = window >> (quotient + 1);
      in_range = quotient <= max_delta >> rice;
      delta = (rest & low_mask) | uint64_t{quotient} << rice;
      flag = rest >> rice & 1;
      reader.skip(quotient + rice + 2);
    } else {
      in_range = reader.take_delta(rice, max_delta, delta);
      flag = reader.take(1);
    }
    if (!in_range) {
      return corrupt("compacted log row with a hash out of range");
    }
    entry.second = 1;
    if (flag != 0 && !reader.take_count(entry.second)) {
      return corrupt("compacted log row with a bad count");
    }
    const bool may_be_zero = first_row && &entry == entries.data();
    if (reader.overrun() || delta > max_delta - (previous >> shift) ||
        (delta == 0 && !may_be_zero)) {
      return corrupt("compacted log row that ends early or does not ascend");
    }
    previous += delta << shift;
    entry.first = previous;
  }
  return reader.at_end() ? Status() : corrupt("compacted log row with bytes behind its last entry");
}

Status read_compacted_row(const LogRow& row, HashWidth width, uint64_t& previous, bool first_row,
                          const CountedHashSink& sink) {
  std::vector<CountedHash> entries;
  CUCKOO_TRY(decode_compacted_row(row, width, previous, first_row, entries));
  for (const auto& [hash, count] : entries) {
    CUCKOO_TRY(sink(hash, count));
  }
  return {};
}

}  // namespace cuckoo
