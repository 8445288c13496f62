#include "core/stored/log.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::message_of;
using test::nth_hash;
using test::nth_word;
using test::with_crc;

using Counted = std::pair<uint64_t, uint64_t>;  // hash, count

constexpr HashWidth kWidths[] = {HashWidth::k47Bits, HashWidth::k63Bits};
constexpr uint64_t kMaxCount = uint64_t{1} << 62;

uint64_t largest_hash(HashWidth width) { return logged_hash(UINT64_MAX, width); }

std::vector<uint64_t> ascending_hashes(uint64_t seed, uint64_t count, HashWidth width) {
  std::vector<uint64_t> hashes(count);
  for (uint64_t i = 0; i < count; ++i) {
    hashes[i] = nth_hash(seed, i, width);
  }
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

std::vector<Bytes> compact(const std::vector<Counted>& entries, HashWidth width,
                           size_t row_bytes = kPageRowBytes, uint64_t expected = 0,
                           uint64_t chain = 11) {
  std::vector<Bytes> rows;
  CompactedRowWriter writer(width, row_bytes, expected == 0 ? entries.size() : expected, chain,
                            [&rows](std::span<const std::byte> row) -> Status {
                              rows.emplace_back(row.begin(), row.end());
                              return {};
                            });
  uint64_t items = 0;
  for (const auto& [hash, count] : entries) {
    EXPECT_TRUE(writer.add(hash, count).ok());
    items += count;
  }
  EXPECT_TRUE(writer.finish().ok());
  EXPECT_EQ(writer.position(), entries.size());
  EXPECT_EQ(writer.items(), items);
  if (!rows.empty()) {
    const Result<LogRow> last = parse_log_row(rows.back(), width);
    EXPECT_TRUE(last.ok());
    EXPECT_EQ(writer.chain(), log_chain(last.value(), last.value().header.entries));
  } else {
    EXPECT_EQ(writer.chain(), chain);
  }
  return rows;
}

// Reads compacted rows as a log's reader does: I1, I2, I3 row by row.
std::vector<Counted> expand(const std::vector<Bytes>& rows, HashWidth width, uint64_t chain = 11,
                            size_t row_bytes = kPageRowBytes) {
  std::vector<Counted> entries;
  uint64_t previous = 0;
  uint64_t items = 0;
  for (const Bytes& bytes : rows) {
    EXPECT_LE(bytes.size(), row_bytes) << "I3";
    const Result<LogRow> row = parse_log_row(bytes, width);
    if (!row.ok()) {
      ADD_FAILURE() << row.error().message;
      return entries;
    }
    const LogRowHeader& header = row.value().header;
    EXPECT_TRUE(header.compacted());
    EXPECT_EQ(header.chain_before, chain);
    EXPECT_EQ(header.position, entries.size());
    EXPECT_EQ(header.items_before, items);
    const Status status = read_compacted_row(row.value(), width, previous, entries.empty(),
                                             [&](uint64_t hash, uint64_t count) -> Status {
                                               entries.emplace_back(hash, count);
                                               items += count;
                                               return {};
                                             });
    EXPECT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(previous, entries.back().first);
    chain = log_chain(row.value(), header.entries);
  }
  return entries;
}

void expect_round_trip(const std::vector<Counted>& entries, HashWidth width,
                       size_t row_bytes = kPageRowBytes, uint64_t expected = 0) {
  EXPECT_EQ(expand(compact(entries, width, row_bytes, expected), width, 11, row_bytes), entries);
}

Bytes raw_row(uint64_t seed, size_t entries, HashWidth width) {
  RawRowBuilder builder(width, kPageRowBytes);
  builder.start(5, 6, 7);
  for (size_t i = 0; i < entries; ++i) {
    builder.append(nth_hash(seed, i, width) | (i % 3 == 0 ? kRemoveBit : 0));
  }
  return builder.encode();
}

// ---- raw rows

TEST(RawRow, round_trip_gives_entries_and_remove_bits_back) {
  for (const HashWidth width : kWidths) {
    const uint64_t entries[] = {0,
                                kRemoveBit,
                                largest_hash(width),
                                largest_hash(width) | kRemoveBit,
                                largest_hash(width) & ~(largest_hash(width) << 1),
                                nth_hash(1, 1, width) | kRemoveBit};
    RawRowBuilder builder(width, kPageRowBytes);
    builder.start(0xC0FFEE, 1000, UINT64_MAX);
    for (const uint64_t entry : entries) {
      builder.append(entry);
    }
    const Bytes bytes = builder.encode();
    EXPECT_EQ(bytes.size(), 32 + std::size(entries) * raw_entry_bytes(width));
    const Result<LogRow> row = parse_log_row(bytes, width);
    ASSERT_TRUE(row.ok()) << row.error().message;
    EXPECT_EQ(row.value().header.chain_before, 0xC0FFEEu);
    EXPECT_EQ(row.value().header.position, 1000u);
    EXPECT_EQ(row.value().header.items_before, UINT64_MAX);
    EXPECT_FALSE(row.value().header.compacted());
    ASSERT_EQ(row.value().header.entries, std::size(entries));
    for (size_t i = 0; i < std::size(entries); ++i) {
      EXPECT_EQ(raw_entry(row.value(), i, width), entries[i]) << i;
    }
  }
}

TEST(RawRow, I3_full_row_has_the_length_asked_for_and_not_more) {
  for (const HashWidth width : kWidths) {
    for (const size_t row_bytes : {size_t{68}, size_t{132}, size_t{452}, kPageRowBytes}) {
      RawRowBuilder builder(width, row_bytes);
      builder.start(1, 2, 3);
      size_t entries = 0;
      for (; !builder.full(); ++entries) {
        builder.append(nth_hash(1, entries, width));
      }
      EXPECT_EQ(entries, raw_row_capacity(row_bytes, width));
      EXPECT_EQ(builder.entries(), entries);
      const Bytes bytes = builder.encode();
      EXPECT_LE(bytes.size(), row_bytes);
      EXPECT_GT(bytes.size() + raw_entry_bytes(width), row_bytes);
      EXPECT_TRUE(parse_log_row(bytes, width).ok());
    }
  }
}

TEST(RawRow, resumed_row_goes_on_as_if_never_stored) {
  for (const HashWidth width : kWidths) {
    RawRowBuilder whole(width, 452);
    RawRowBuilder resumed(width, 452);
    whole.start(9, 8, 7);
    for (size_t i = 0; !whole.full(); ++i) {
      const uint64_t entry = nth_hash(3, i, width) | (i & 1);
      if (i > 0) {
        const Bytes stored = whole.encode();
        resumed.resume(parse_log_row(stored, width).value());
        resumed.append(entry);
      }
      whole.append(entry);
      if (i > 0) {
        EXPECT_EQ(resumed.encode(), whole.encode()) << i;
        EXPECT_EQ(resumed.chain(), whole.chain());
      }
    }
    EXPECT_TRUE(resumed.full());
  }
}

TEST(RawRow, I1_chain_tells_every_history_apart) {
  const Bytes bytes = raw_row(1, 10, HashWidth::k47Bits);
  const LogRow row = parse_log_row(bytes, HashWidth::k47Bits).value();
  std::vector<uint64_t> chains = {log_chain_restart(5, 0), log_chain_restart(5, 1),
                                  log_chain_restart(6, 0)};
  for (size_t entries = 0; entries <= 10; ++entries) {
    chains.push_back(log_chain(row, entries));
  }
  EXPECT_EQ(log_chain(row, 0), 5u) << "no entries: what was before";
  Bytes other = bytes;
  other[kLogRowHeaderBytes] ^= std::byte{1};  // add instead of remove
  other = with_crc(std::move(other));
  chains.push_back(log_chain(parse_log_row(other, HashWidth::k47Bits).value(), 10));
  std::sort(chains.begin(), chains.end());
  EXPECT_EQ(std::unique(chains.begin(), chains.end()), chains.end());
}

// ---- compacted rows

TEST(CompactedRow, round_trip_of_random_hashes_over_many_rows) {
  for (const HashWidth width : kWidths) {
    std::vector<Counted> entries;
    for (const uint64_t hash : ascending_hashes(1, 20000, width)) {
      const uint64_t kind = nth_word(2, entries.size()) % 8;
      entries.emplace_back(hash, kind == 0 ? 2 : kind == 1 ? 1 + nth_word(3, hash) % 1000000 : 1);
    }
    for (const size_t row_bytes : {size_t{68}, size_t{132}, size_t{452}, kPageRowBytes}) {
      expect_round_trip(entries, width, row_bytes);
    }
  }
}

TEST(CompactedRow, round_trip_of_every_size_of_count) {
  for (const HashWidth width : kWidths) {
    std::vector<Counted> entries;
    uint64_t hash = uint64_t{1} << 40;
    for (unsigned bits = 0; bits <= 61; ++bits) {
      for (const uint64_t count : {(uint64_t{1} << bits), (uint64_t{1} << bits) + 1,
                                   (uint64_t{1} << bits) + 2, (uint64_t{2} << bits) - 1}) {
        entries.emplace_back(hash += uint64_t{1} << 40, count);
      }
    }
    entries.emplace_back(hash += uint64_t{1} << 40, kMaxCount);
    expect_round_trip(entries, width);
    expect_round_trip(entries, width, 68);
  }
}

TEST(CompactedRow, round_trip_of_one_entry) {
  for (const HashWidth width : kWidths) {
    for (const uint64_t hash : {uint64_t{0}, logged_hash(UINT64_MAX >> 1, width),
                                largest_hash(width), nth_hash(1, 0, width)}) {
      for (const uint64_t count : {uint64_t{1}, uint64_t{2}, uint64_t{3}, kMaxCount}) {
        expect_round_trip({{hash, count}}, width);
        expect_round_trip({{hash, count}}, width, 68);
        expect_round_trip({{hash, count}}, width, kPageRowBytes, uint64_t{1} << 40);  // a bad guess
      }
    }
  }
}

TEST(CompactedRow, no_entries_give_no_row) { EXPECT_TRUE(compact({}, HashWidth::k47Bits).empty()); }

TEST(CompactedRow, hash_zero_and_the_largest_stand_in_one_log) {
  for (const HashWidth width : kWidths) {
    const uint64_t step = uint64_t{1} << (64 - static_cast<unsigned>(width));
    expect_round_trip({{0, 1},
                       {step, 2},
                       {2 * step, 1},
                       {largest_hash(width) - step, 1},
                       {largest_hash(width), 5}},
                      width);
  }
}

// Clusters far apart: small deltas waste Rice bits, large ones need the escape to 64 plain bits.
TEST(CompactedRow, skewed_deltas_are_escaped) {
  for (const HashWidth width : kWidths) {
    const uint64_t step = uint64_t{1} << (64 - static_cast<unsigned>(width));
    std::vector<Counted> entries;
    for (uint64_t cluster = 0; cluster < 64; ++cluster) {
      for (uint64_t i = 0; i < 500; ++i) {
        entries.emplace_back((cluster << 58) + i * step, 1 + i % 2);
      }
    }
    for (const uint64_t expected : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 47, UINT64_MAX}) {
      expect_round_trip(entries, width, kPageRowBytes, expected);
      expect_round_trip(entries, width, 68, expected);
    }
  }
}

TEST(CompactedRow, bits_per_entry_are_close_to_theory) {
  const HashWidth width = HashWidth::k47Bits;
  for (const uint64_t count : {uint64_t{10000}, uint64_t{1000000}}) {
    std::vector<Counted> entries;
    for (const uint64_t hash : ascending_hashes(7, count, width)) {
      entries.emplace_back(hash, 1);
    }
    double bytes = 0;
    for (const Bytes& row : compact(entries, width)) {
      bytes += static_cast<double>(row.size());
    }
    const auto n = static_cast<double>(entries.size());
    // entropy of a geometric delta: log2(2^47 / n) + log2 e; one bit for the count
    const double bits = 47 - std::log2(n) + std::log2(std::exp(1.0)) + 1;
    EXPECT_LE(8 * bytes / n, bits * (1 + 40.0 / kPageRowBytes) + 0.2);
    if (count == 1000000) {
      EXPECT_LE(bytes / n, 3.75) << "docs/benchmarks.md says 3.8";
    }
    RecordProperty("bytes_per_entry_" + std::to_string(count), std::to_string(bytes / n));
  }
}

TEST(CompactedRow, sink_failure_ends_writing_and_reading) {
  const auto failing = [](auto...) -> Status { return Error{ErrorCode::kStorage, "no", 1}; };
  CompactedRowWriter writer(HashWidth::k47Bits, 68, 10, 0, failing);
  Status status;
  for (uint64_t i = 1; i < 100 && status.ok(); ++i) {
    status = writer.add(i << 32, 1);
  }
  EXPECT_EQ(status.error().code, ErrorCode::kStorage);
  const Bytes bytes = compact({{1 << 20, 1}, {1 << 21, 1}}, HashWidth::k47Bits).front();
  const LogRow row = parse_log_row(bytes, HashWidth::k47Bits).value();
  uint64_t previous = 0;
  EXPECT_EQ(read_compacted_row(row, HashWidth::k47Bits, previous, true, failing).error().code,
            ErrorCode::kStorage);
}

TEST(CompactedRow, I2_row_that_does_not_follow_is_refused) {
  const HashWidth width = HashWidth::k47Bits;
  std::vector<Counted> entries;
  for (const uint64_t hash : ascending_hashes(4, 100, width)) {
    entries.emplace_back(hash, 1);
  }
  const std::vector<Bytes> rows = compact(entries, width, 132);
  ASSERT_GE(rows.size(), 3u);
  const auto ignore = [](uint64_t, uint64_t) { return Status(); };
  uint64_t previous = 0;
  const LogRow second = parse_log_row(rows[1], width).value();
  EXPECT_FALSE(read_compacted_row(second, width, previous, false, ignore).ok());
  // a first entry of hash 0 is legal in the log's first row only
  const Bytes zero = compact({{0, 1}}, width).front();
  const LogRow first = parse_log_row(zero, width).value();
  EXPECT_TRUE(read_compacted_row(first, width, previous = 0, true, ignore).ok());
  EXPECT_FALSE(read_compacted_row(first, width, previous = 0, false, ignore).ok());
}

// ---- hostile bytes

// Whatever a parsed row says, reading it ends, hands over ascending hashes and counts above zero.
void read_hostile_row(const Bytes& bytes, HashWidth width) {
  const Result<LogRow> parsed = parse_log_row(bytes, width);
  if (!parsed.ok()) {
    EXPECT_EQ(parsed.error().code, ErrorCode::kCorrupt);
    return;
  }
  const LogRow& row = parsed.value();
  log_chain(row, row.header.entries);
  if (!row.header.compacted()) {
    for (size_t i = 0; i < row.header.entries; ++i) {
      raw_entry(row, i, width);
    }
    return;
  }
  uint64_t previous = load_le<uint64_t>(row.payload.data());
  uint64_t last = previous;
  size_t handed = 0;
  const Status status =
      read_compacted_row(row, width, previous, true, [&](uint64_t hash, uint64_t count) -> Status {
        EXPECT_TRUE(hash > last || (handed == 0 && hash == last)) << "I2";
        EXPECT_GE(count, 1u);
        EXPECT_LE(count, kMaxCount);
        last = hash;
        ++handed;
        return {};
      });
  EXPECT_LE(handed, row.header.entries);
  if (status.ok()) {
    EXPECT_EQ(handed, row.header.entries);
    EXPECT_EQ(previous, last);
  } else {
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
}

std::vector<std::pair<Bytes, HashWidth>> valid_rows() {
  std::vector<std::pair<Bytes, HashWidth>> rows;
  for (const HashWidth width : kWidths) {
    rows.emplace_back(raw_row(1, 1, width), width);
    rows.emplace_back(raw_row(2, 20, width), width);
    std::vector<Counted> entries;
    for (const uint64_t hash : ascending_hashes(5, 40, width)) {
      const uint64_t kind = nth_word(6, hash) % 4;
      entries.emplace_back(hash, kind == 0 ? 2 : kind == 1 ? kMaxCount - hash % 7 : 1);
    }
    rows.emplace_back(compact(entries, width).front(), width);
    rows.emplace_back(compact(entries, width, kPageRowBytes, UINT64_MAX).front(),
                      width);  // escapes
    rows.emplace_back(compact({{0, 1}}, width).front(), width);
  }
  return rows;
}

TEST(HostileRow, I4_every_changed_byte_is_found) {
  for (const auto& [valid, width] : valid_rows()) {
    EXPECT_TRUE(parse_log_row(valid, width).ok());
    Bytes row = valid;
    for (size_t at = 0; at < row.size(); ++at) {
      for (unsigned change = 1; change < 256; ++change) {
        row[at] ^= static_cast<std::byte>(change);
        ASSERT_FALSE(parse_log_row(row, width).ok()) << "byte " << at;
        row[at] ^= static_cast<std::byte>(change);
      }
    }
  }
}

TEST(HostileRow, I4_every_changed_byte_behind_a_right_checksum_is_read_safely) {
  for (const auto& [valid, width] : valid_rows()) {
    for (size_t at = 0; at + kLogRowCrcBytes < valid.size(); ++at) {
      for (unsigned change = 1; change < 256; ++change) {
        Bytes row = valid;
        row[at] ^= static_cast<std::byte>(change);
        read_hostile_row(with_crc(std::move(row)), width);
      }
    }
  }
}

TEST(HostileRow, I4_every_cut_row_is_refused_or_read_safely) {
  for (const auto& [valid, width] : valid_rows()) {
    for (size_t size = 0; size < valid.size(); ++size) {
      Bytes row(valid.begin(), valid.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_log_row(row, width).ok()) << size;
      if (size >= kLogRowCrcBytes) {
        read_hostile_row(with_crc(std::move(row)), width);
      }
    }
    Bytes longer = valid;
    longer.resize(valid.size() + 8);
    longer = with_crc(std::move(longer));
    const Result<LogRow> row = parse_log_row(longer, width);
    uint64_t previous = 0;
    EXPECT_TRUE(!row.ok() || !read_compacted_row(row.value(), width, previous, true,
                                                 [](uint64_t, uint64_t) { return Status(); })
                                  .ok())
        << "bytes behind the last entry";
  }
}

TEST(HostileRow, I4_random_payloads_behind_a_right_checksum_are_read_safely) {
  for (uint64_t i = 0; i < 20000; ++i) {
    Bytes row(kLogRowHeaderBytes + kLogRowCrcBytes + 1 + nth_word(1, i) % 120);
    const uint64_t bias = nth_word(2, i) % 3;  // random, mostly ones, mostly zeros
    for (size_t at = 0; at < row.size(); ++at) {
      const uint64_t word = nth_word(i + 3, at);
      const uint64_t byte = bias == 0   ? word
                            : bias == 1 ? word | (word >> 8) | (word >> 16)
                                        : word & (word >> 8) & (word >> 16);
      row[at] = static_cast<std::byte>(byte);
    }
    store_le(&row[24], static_cast<uint16_t>(nth_word(4, i) % (i % 2 == 0 ? 20 : 65536)));
    row[26] = static_cast<std::byte>(1 + nth_word(5, i) % 4);
    row[27] = static_cast<std::byte>(nth_word(6, i) % 66);
    row = with_crc(std::move(row));
    for (const HashWidth width : kWidths) {
      read_hostile_row(row, width);
    }
  }
}

TEST(HostileRow, I4_fields_out_of_range_are_refused) {
  const Bytes raw = raw_row(1, 3, HashWidth::k47Bits);
  const Bytes compacted = compact({{1 << 20, 1}, {1 << 21, 9}}, HashWidth::k47Bits).front();
  const auto refused = [](Bytes row, size_t at, unsigned value) {
    row[at] = static_cast<std::byte>(value);
    return !parse_log_row(with_crc(std::move(row)), HashWidth::k47Bits).ok();
  };
  for (const unsigned kind : {0u, 2u, 4u, 5u, 255u}) {
    EXPECT_TRUE(refused(raw, 26, kind)) << kind;
    EXPECT_TRUE(refused(compacted, 26, kind)) << kind;
  }
  for (const unsigned entries : {0u, 2u, 4u}) {
    EXPECT_TRUE(refused(raw, 24, entries)) << entries;
  }
  EXPECT_TRUE(refused(compacted, 24, 0));
  EXPECT_TRUE(refused(raw, 27, 1));
  EXPECT_TRUE(refused(compacted, 27, 64));
  EXPECT_FALSE(parse_log_row(raw, HashWidth::k63Bits).ok());
  EXPECT_FALSE(parse_log_row(compacted, HashWidth::k63Bits).ok());
}

// A count of ten groups of seven bits can exceed 64 bits, and adding 2 can wrap to nothing.
TEST(HostileRow, I4_counts_that_overflow_are_refused) {
  const HashWidth width = HashWidth::k47Bits;
  const Bytes valid = compact({{1 << 20, kMaxCount}}, width).front();
  for (const unsigned last : {0u, 1u, 2u, 3u, 0x7Fu}) {
    for (const unsigned first : {0x80u, 0xFDu, 0xFEu, 0xFFu}) {
      Bytes row(valid.begin(), valid.begin() + kLogRowHeaderBytes);
      Bytes payload(8);
      // rice 0: delta in unary (1 << 20 >> 17 = 8), then the count bit, so groups start at bit 10
      uint128 bits = 0xFF | (uint128{1} << 9);
      bits |= uint128{first} << 10;
      for (unsigned group = 1; group < 9; ++group) {
        bits |= uint128{0xFF} << (10 + 8 * group);
      }
      bits |= uint128{last} << (10 + 8 * 9);
      for (unsigned i = 0; i < 12; ++i) {
        payload.push_back(static_cast<std::byte>(static_cast<uint8_t>(bits >> (8 * i))));
      }
      row.insert(row.end(), payload.begin(), payload.end());
      row.resize(row.size() + kLogRowCrcBytes);
      row[27] = std::byte{0};
      row = with_crc(std::move(row));
      const LogRow hostile = parse_log_row(row, width).value();
      uint64_t previous = 0;
      const Status status = read_compacted_row(hostile, width, previous, true,
                                               [](uint64_t, uint64_t) { return Status(); });
      EXPECT_FALSE(status.ok()) << "first group " << first << ", last " << last;
    }
  }
}

// ---- golden bytes

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

// Logs on disk are written so: what changes these bytes changes the format.
TEST(LogRow, stored_bytes_are_what_they_always_were) {
  for (const HashWidth width : kWidths) {
    const bool narrow = width == HashWidth::k47Bits;
    RawRowBuilder builder(width, kPageRowBytes);
    builder.start(0x1122334455667788, 258, 3);
    builder.append(logged_hash(0xFEDCBA9876543210, width));
    builder.append(logged_hash(0x0123456789ABCDEF, width) | kRemoveBit);
    EXPECT_EQ(hex(builder.encode()),
              narrow
                  ? "88776655443322110201000000000000030000000000000002000100547698badcfeab896745"
                    "2301c321ff18"
                  : "887766554433221102010000000000000300000000000000020002001032547698badcfeefcd"
                    "ab8967452301dd90d2b2");
    const std::vector<Counted> entries = {{logged_hash(0x0123456789ABCDEF, width), 1},
                                          {logged_hash(0x5555555555555555, width), 300},
                                          {logged_hash(0x5555555565555555, width), 2},
                                          {largest_hash(width), 1}};
    EXPECT_EQ(hex(compact(entries, width).front()),
              narrow
                  ? "0b00000000000000000000000000000000000000000000000400032c0000000000000000aa89"
                    "674523c1aacbed0f32b4aa00000400000008f0553555555515a7f9141e"
                  : "0b00000000000000000000000000000000000000000000000400043c0000000000000000eecd"
                    "ab89674523c16687a9cbed0f32b4aa000000000400000008f0555555355555551541536f8c");
    EXPECT_EQ(builder.chain(), narrow ? 0xB63EBDD4CACF1F5D : 0x25C0DDF3DA3BA5F9);
  }
  EXPECT_EQ(log_chain_restart(42, 7), 0xE2B7C088A70BF583);
}

// Whatever payload is read is the one that would be written of its entries.
TEST(CompactedRows, no_other_payload_says_the_same) {
  for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
    const uint64_t unit = uint64_t{1} << hash_shift(width);
    // Gaps of a few bits, and one that takes 64 plain ones; counts of one, two and three groups.
    const std::vector<Counted> entries = {{5 * unit, 1},
                                          {9 * unit, 2},
                                          {10 * unit, 130},
                                          {uint64_t{1} << 62, 20000},
                                          {(uint64_t{1} << 62) + 3 * unit, 1}};
    constexpr uint64_t kExpected = uint64_t{1} << 38;
    const std::vector<Bytes> rows = compact(entries, width, kPageRowBytes, kExpected);
    ASSERT_EQ(rows.size(), 1U);
    int read = 0;
    for (size_t bit = 8 * (kLogRowHeaderBytes + 8); bit < 8 * (rows[0].size() - kLogRowCrcBytes);
         ++bit) {
      Bytes row = rows[0];
      row[bit / 8] ^= std::byte{1} << (bit % 8);
      const size_t crc_at = row.size() - kLogRowCrcBytes;
      store_le(&row[crc_at], crc32c(std::span(row).first(crc_at)));
      const Result<LogRow> parsed = parse_log_row(row, width);
      ASSERT_TRUE(parsed.ok());
      uint64_t previous = 0;
      std::vector<CountedHash> found;
      if (!decode_compacted_row(parsed.value(), width, previous, true, found).ok()) {
        continue;
      }
      ++read;
      const std::vector<Bytes> again =
          compact({found.begin(), found.end()}, width, kPageRowBytes, kExpected);
      ASSERT_EQ(again.size(), 1U);
      EXPECT_EQ(again[0], row) << "bit " << bit;
    }
    EXPECT_GT(read, 20);
  }
}

}  // namespace
}  // namespace cuckoo
