#include "core/stored/log.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "core/base/checksum.hpp"

namespace cuckoo {
namespace {

constexpr unsigned kUnaryLimit = 31;      // so many ones announce a delta of 64 plain bits
constexpr unsigned kMaxVarintGroups = 9;  // 63 bits: count - 2 <= 2^62 - 2

unsigned hash_shift(HashWidth width) noexcept { return 64 - static_cast<unsigned>(width); }

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

void put_raw_entry(std::byte* to, uint64_t entry, HashWidth width) noexcept {
  if (width == HashWidth::k63Bits) {
    store_le(to, entry);
    return;
  }
  const uint64_t packed = (entry >> 16) | (entry & kRemoveBit);  // bit 16 of a 47-bit hash is free
  store_le48(to, packed);
}

// Reads a bit stream, lowest bit first. Behind its end are zeros, and it remembers that it was
// there.
class BitReader {
 public:
  static constexpr unsigned kWindowBits = 57;

  explicit BitReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  // The next kWindowBits bits, and above them whatever.
  uint64_t window() const noexcept {
    const size_t at = bit_ / 8;
    if (at + 8 <= bytes_.size()) [[likely]] {
      return load_le<uint64_t>(&bytes_[at]) >> (bit_ % 8);
    }
    uint64_t word = 0;
    for (size_t i = at; i < bytes_.size(); ++i) {
      word |= static_cast<uint64_t>(bytes_[i]) << (8 * (i - at));
    }
    return word >> (bit_ % 8);
  }
  void skip(unsigned count) noexcept { bit_ += count; }

  uint64_t take(unsigned count) noexcept {
    if (count > 32) {
      const uint64_t low = take(32);
      return low | take(count - 32) << 32;
    }
    const uint64_t value = window() & ((uint64_t{1} << count) - 1);
    skip(count);
    return value;
  }

  // The number of ones before the next zero, which is consumed too; stops at `limit` ones.
  unsigned take_unary(unsigned limit) noexcept {
    const auto ones = std::min(static_cast<unsigned>(std::countr_one(window())), limit);
    skip(ones < limit ? ones + 1 : limit);
    return ones;
  }

  bool overrun() const noexcept { return bit_ > 8 * bytes_.size(); }
  // All that is left are the zero bits that fill the last byte.
  bool at_end() const noexcept {
    return !overrun() && 8 * bytes_.size() - bit_ < 8 && window() == 0;
  }

 private:
  std::span<const std::byte> bytes_;
  size_t bit_ = 0;
};

unsigned varint_groups(uint64_t value) noexcept {
  unsigned groups = 1;
  while (value >>= 7) {
    ++groups;
  }
  return groups;
}

// The best Rice parameter for geometric deltas of that mean: 2^k nearest to mean·ln 2.
unsigned rice_parameter(HashWidth width, uint64_t expected) noexcept {
  const auto bits = static_cast<unsigned>(width);
  const unsigned log2_count = std::bit_width(std::max<uint64_t>(expected, 1)) - 1;
  if (log2_count >= bits) {
    return 0;
  }
  const uint64_t mean = (uint64_t{1} << bits) / std::max<uint64_t>(expected, 1);
  const uint64_t scaled = mean / 1000 * 693 + mean % 1000 * 693 / 1000;
  return scaled == 0 ? 0 : static_cast<unsigned>(std::bit_width(scaled) - 1);
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
    : width_(width), capacity_(raw_row_capacity(row_bytes, width)) {
  header_.kind = width == HashWidth::k47Bits ? LogRowKind::kRaw47 : LogRowKind::kRaw63;
}

void RawRowBuilder::start(uint64_t chain_before, uint64_t position,
                          uint64_t items_before) noexcept {
  header_.chain_before = chain_before;
  header_.position = position;
  header_.items_before = items_before;
  header_.entries = 0;
  payload_.clear();
}

void RawRowBuilder::resume(const LogRow& row) {
  payload_.reserve(capacity_ * raw_entry_bytes(width_));
  payload_.assign(row.payload.begin(), row.payload.end());
  header_ = row.header;
}

void RawRowBuilder::append(uint64_t entry) {
  const size_t at = payload_.size();
  if (at == 0) {
    payload_.reserve(capacity_ * raw_entry_bytes(width_));
  }
  payload_.resize(at + raw_entry_bytes(width_));
  put_raw_entry(&payload_[at], entry, width_);
  ++header_.entries;
}

uint64_t RawRowBuilder::chain() const noexcept { return chain_of(payload_, header_.chain_before); }

std::vector<std::byte> RawRowBuilder::encode() const { return encode_row(header_, payload_); }

CompactedRowWriter::CompactedRowWriter(HashWidth width, size_t row_bytes, uint64_t expected,
                                       uint64_t chain, RowSink sink, std::optional<uint64_t> items)
    : width_(width),
      row_bytes_(row_bytes),
      rice_(rice_parameter(width, expected)),
      chain_(chain),
      sink_(std::move(sink)),
      counts_(!items.has_value()),
      items_(items.value_or(0)) {}

void CompactedRowWriter::put(uint64_t bits, unsigned count) {
  bit_count_ += count;
  pending_bits_ |= bits << pending_count_;
  pending_count_ += count;
  if (pending_count_ < 64) {
    return;
  }
  const size_t at = payload_.size();
  payload_.resize(at + 8);
  store_le(&payload_[at], pending_bits_);
  pending_count_ -= 64;
  pending_bits_ = pending_count_ == 0 ? 0 : bits >> (count - pending_count_);
}

Status CompactedRowWriter::add(uint64_t hash, uint64_t count) {
  const uint64_t delta = (hash - last_hash_) >> hash_shift(width_);
  const uint64_t quotient = delta >> rice_;
  const bool plain = quotient >= kUnaryLimit;
  const unsigned groups = count > 1 ? varint_groups(count - 2) : 0;
  const size_t need =
      (plain ? kUnaryLimit + 64 : static_cast<size_t>(quotient) + 1 + rice_) + 1 + 8 * groups;
  const size_t room = (row_bytes_ - kLogRowHeaderBytes - kLogRowCrcBytes - 8) * 8;
  if (row_entries_ > 0 && (bit_count_ + need > room || row_entries_ == UINT16_MAX)) {
    CUCKOO_TRY(close_row());
  }
  if (row_entries_ == 0) {
    payload_.resize(8);
    store_le(payload_.data(), last_hash_);
  }
  const uint64_t low = delta & ((uint64_t{1} << rice_) - 1);
  const uint64_t ones = (uint64_t{1} << quotient % 64) - 1;
  const auto unary_bits = static_cast<unsigned>(quotient) + 1;
  const unsigned flag = count > 1 ? 1 : 0;
  if (plain) {
    put((uint64_t{1} << kUnaryLimit) - 1, kUnaryLimit);
    put(delta, 64);
    put(flag, 1);
  } else if (unary_bits + rice_ < 64) {
    put(ones | (low | uint64_t{flag} << rice_) << unary_bits, unary_bits + rice_ + 1);
  } else {
    put(ones, unary_bits);
    put(low, rice_);
    put(flag, 1);
  }
  uint64_t rest = count - 2;
  for (unsigned group = 0; group < groups; ++group, rest >>= 7) {
    put((rest & 0x7F) | (group + 1 < groups ? 0x80 : 0), 8);
  }
  last_hash_ = hash;
  ++row_entries_;
  row_items_ += count;
  return {};
}

Status CompactedRowWriter::close_row() {
  const unsigned tail_bytes = (pending_count_ + 7) / 8;
  for (unsigned i = 0; i < tail_bytes; ++i) {
    payload_.push_back(static_cast<std::byte>(pending_bits_ >> (8 * i)));
  }
  LogRowHeader header;
  header.chain_before = chain_;
  header.position = position_;
  header.items_before = items_;
  header.entries = row_entries_;
  header.kind = width_ == HashWidth::k47Bits ? LogRowKind::kCompacted47 : LogRowKind::kCompacted63;
  header.rice = static_cast<uint8_t>(rice_);
  CUCKOO_TRY(sink_(encode_row(header, payload_)));
  chain_ = chain_of(payload_, chain_);
  position_ += row_entries_;
  items_ += counts_ ? row_items_ : 0;
  payload_.clear();
  pending_bits_ = 0;
  pending_count_ = 0;
  bit_count_ = 0;
  row_entries_ = 0;
  row_items_ = 0;
  return {};
}

Status CompactedRowWriter::finish() { return row_entries_ > 0 ? close_row() : Status(); }

namespace {

// Of the entries with more than one.
Result<uint64_t> take_count(BitReader& reader) {
  uint64_t rest = 0;
  for (unsigned group = 0;; ++group) {
    const uint64_t bits = reader.take(8);
    if (group == kMaxVarintGroups || reader.overrun()) {
      return corrupt("compacted log row with a bad count");
    }
    rest |= (bits & 0x7F) << (7 * group);
    if ((bits & 0x80) == 0) {
      return rest + 2;
    }
  }
}

}  // namespace

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
    auto quotient = static_cast<unsigned>(std::countr_one(window));
    uint64_t delta = 0;
    uint64_t flag = 0;
    if (quotient < kUnaryLimit && quotient + rice + 2 <= BitReader::kWindowBits) [[likely]] {
      const uint64_t rest = window >> (quotient + 1);
      delta = rest & low_mask;
      flag = rest >> rice & 1;
      reader.skip(quotient + rice + 2);
    } else {
      quotient = reader.take_unary(kUnaryLimit);
      delta = reader.take(quotient == kUnaryLimit ? 64 : rice);
      flag = reader.take(1);
    }
    if (quotient != kUnaryLimit) {
      if (quotient > (max_delta >> rice)) {
        return corrupt("compacted log row with a hash out of range");
      }
      delta |= uint64_t{quotient} << rice;
    }
    entry.second = 1;
    if (flag != 0) {
      CUCKOO_ASSIGN_OR_RETURN(entry.second, take_count(reader));
    }
    const bool may_be_zero = first_row && &entry == entries.data();
    if (reader.overrun() || delta > max_delta - (previous >> shift) ||
        (delta == 0 && !may_be_zero) || entry.second > (uint64_t{1} << 62)) {
      return corrupt("compacted log row that ends early, does not ascend or counts too far");
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
