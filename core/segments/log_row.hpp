// A row of a filter's log: adds and removes of all segments, mixed, in the order they happened.
//
// Row (little-endian)
//   0   8  chain value before this row: a hash of all entries of the log before it
//   8   8  position: entries before this row, since the filter was made
//   16  8  items, as of the last write of the row
//   24  8  version of the directory, as of the last write of the row
//   32  2  entries
//   34  1  kind: 1 entries of 6 bytes (hashes of 47 bits), 2 of 8 bytes (63 bits)
//   35  1  zero
//   36  2  the last count: its number among the entries; 0: there is none
//   38  2  zero
//   40     the entries: a hash, with the lowest bit of its bytes set for a remove
//
// If an entry adds or removes several occurrences at once, a count follows it. The count takes the
// room of an entry, and positions count it as one. It has the number of occurrences, at least 2 (4
// bytes), the number of the count before it in this row, or 0 (2 bytes), and zeros. So a reader
// tells counts from hashes without a bit for each entry, and a row is extended without a change to
// its earlier entries. An entry and its count are in one row. If only room for one is left in a
// row, it gets a count of 0, which counts nothing.
//
// Invariants
//   I1  chain values and positions add up from row to row. So a reader notices a missing, repeated,
//       foreign or changed row.
//   I2  the newest row says where the log ends and which directory belongs to it: a small
//       transaction writes this row and nothing else. There is always one; it may be empty. It is
//       never full, and all rows before it are.
//   I3  nothing is believed: each field is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"

namespace cuckoo::segments {

inline constexpr size_t kLogHeaderBytes = 40;

struct LogHeader {
  uint64_t chain = 0;
  uint64_t position = 0;
  uint64_t items = 0;
  uint64_t directory_version = 0;
  uint16_t entries = 0;     // counts among them
  uint16_t last_count = 0;  // its number; 0: none

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

// A count as a word among the entries in memory.
constexpr uint64_t count_word(uint64_t copies, uint64_t before) noexcept {
  return copies | before << 32;
}
constexpr uint64_t copies_of(uint64_t count_word) noexcept { return count_word & 0xFFFFFFFF; }
constexpr uint16_t count_before(uint64_t count_word) noexcept {
  return static_cast<uint16_t>(count_word >> 32);
}

struct LogRow {
  LogHeader header;
  std::span<const std::byte> payload;  // a view into the bytes that were parsed
  std::vector<uint16_t> counts;        // which entries are counts, ascending

  uint64_t entry(size_t index, HashWidth width) const noexcept;       // that is no count
  uint64_t count_word(size_t index, HashWidth width) const noexcept;  // that is one
  // Returns the chain value after its first entries.
  uint64_t chain_after(size_t entries, HashWidth width) const noexcept;
};

Result<LogRow> parse_log_row(std::span<const std::byte> bytes, HashWidth width);
// Encodes a row of these entries, with counts among them: header.last_count leads to the counts.
std::vector<std::byte> encode_log_row(const LogHeader& header, std::span<const uint64_t> entries,
                                      HashWidth width);
// Returns the chain value after these entries of a row. Their last count has that number.
uint64_t chain_over(uint64_t chain, std::span<const uint64_t> entries, HashWidth width,
                    uint16_t last_count = 0);
// Returns the numbers of the counts among a row's first entries, ascending.
std::vector<uint16_t> counts_among(std::span<const uint64_t> entries, uint16_t last_count);

constexpr size_t log_row_capacity(size_t row_bytes, HashWidth width) noexcept {
  return (row_bytes - kLogHeaderBytes) / (width == HashWidth::k47Bits ? 6 : 8);
}

}  // namespace cuckoo::segments
