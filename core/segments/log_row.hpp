// A row of a filter's log: adds and removes of all segments, mixed, in the order they happened.
//
// Row (little-endian)
//   0   8  chain value before this row: a hash of all entries of the log before it
//   8   8  position: entries before this row, since the filter was made
//   16  8  items, as of the last write of the row
//   24  8  version of the directory, as of the last write of the row
//   32  2  entries
//   34  1  kind: 1 entries of 6 bytes (hashes of 47 bits), 2 of 8 bytes (63 bits)
//   35  5  zero
//   40     the entries: a hash, with the lowest bit of its bytes set for a remove
//
// Invariants
//   I1  chain values and positions add up from row to row. So a missing, repeated, foreign or
//       changed row is found.
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
  uint16_t entries = 0;

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

struct LogRow {
  LogHeader header;
  std::span<const std::byte> payload;  // a view into the bytes that were parsed

  uint64_t entry(size_t index, HashWidth width) const noexcept;
  // The chain value after its first entries.
  uint64_t chain_after(size_t entries, HashWidth width) const noexcept;
};

Result<LogRow> parse_log_row(std::span<const std::byte> bytes, HashWidth width);
std::vector<std::byte> encode_log_row(const LogHeader& header, std::span<const uint64_t> entries,
                                      HashWidth width);
// The chain value after these entries.
uint64_t chain_over(uint64_t chain, std::span<const uint64_t> entries, HashWidth width);

constexpr size_t log_row_capacity(size_t row_bytes, HashWidth width) noexcept {
  return (row_bytes - kLogHeaderBytes) / (width == HashWidth::k47Bits ? 6 : 8);
}

}  // namespace cuckoo::segments
