// The rows of a filter's log: every add and remove as a logged hash, in the order it happened.
//
// An entry is a 64-bit word: the hash (low bits zero) with bit 0 set for a remove.
//
// Row (little-endian; FORMAT.md, "seen_log: hashes")
//   0   8  chain value before this row
//   8   8  position: entries before this row
//   16  8  items before this row: adds minus removes; of a set what was new when it was added
//   24  2  entries in this row, 1 or more
//   26  1  kind: 1 raw of 6 bytes, 2 raw of 8 bytes, 3 compacted of 47 bits, 4 compacted of 63 bits
//   27  1  Rice parameter of a compacted row, 0 in a raw one
//   28     payload, then CRC-32C of all before it
// Raw payload: the entries, 6 bytes (bits 16 … 63) or 8 bytes each.
// Compacted payload: the hash before the first one (8 bytes), then a bit stream, lowest bit first:
// ascending hashes as Golomb-Rice coded deltas, each followed by one bit "count > 1" and, if it is
// set, count - 2 in groups of seven bits and a continuation bit.
//
// Invariants
//   I1  chain(row, k entries) is a hash of all entries of the log up to there; positions and items
//       add up from row to row. So a missing, repeated, foreign or changed row is found at once.
//   I2  a compacted row ascends strictly, also across rows.
//   I3  a row is at most `row_bytes` long, so that it fits one database page.
//   I4  nothing is believed: every field is checked before it is used.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"
#include "core/stored/rice.hpp"

namespace cuckoo {

inline constexpr uint64_t kRemoveBit = 1;
inline constexpr size_t kLogRowHeaderBytes = 28;
inline constexpr size_t kLogRowCrcBytes = 4;

enum class LogRowKind : uint8_t { kRaw47 = 1, kRaw63 = 2, kCompacted47 = 3, kCompacted63 = 4 };

struct LogRowHeader {
  uint64_t chain_before = 0;
  uint64_t position = 0;
  uint64_t items_before = 0;
  uint16_t entries = 0;
  LogRowKind kind = LogRowKind::kRaw47;
  uint8_t rice = 0;

  bool compacted() const noexcept { return kind >= LogRowKind::kCompacted47; }
};

// A parsed row: CRC, kind and lengths are right; the payload is a view into the bytes parsed.
struct LogRow {
  LogRowHeader header;
  std::span<const std::byte> payload;
};

Result<LogRow> parse_log_row(std::span<const std::byte> bytes, HashWidth width);

// I1. The chain value after the first `entries` of a raw row (all of it for a compacted one).
uint64_t log_chain(const LogRow& row, size_t entries) noexcept;
// The chain value a log starts with after everything before `chain` was compacted or forgotten.
uint64_t log_chain_restart(uint64_t chain, uint64_t epoch) noexcept;

inline size_t raw_entry_bytes(HashWidth width) noexcept {
  return width == HashWidth::k47Bits ? 6 : 8;
}
// A 47-bit hash leaves bit 16 to the remove bit, and fits 6 bytes with it.
inline uint64_t pack_raw47(uint64_t entry) noexcept { return (entry >> 16) | (entry & kRemoveBit); }
size_t raw_row_capacity(size_t row_bytes, HashWidth width) noexcept;
uint64_t raw_entry(const LogRow& row, size_t index, HashWidth width) noexcept;

// The raw row that is being appended to; re-encoded whenever it is written.
class RawRowBuilder {
 public:
  RawRowBuilder(HashWidth width, size_t row_bytes);

  // Starts an empty row behind everything before it.
  void start(uint64_t chain_before, uint64_t position, uint64_t items_before) noexcept;
  // Continues a stored raw row, of no more entries than its capacity.
  void resume(const LogRow& row);

  size_t capacity() const noexcept { return capacity_; }  // entries
  bool full() const noexcept { return header_.entries == capacity_; }
  size_t entries() const noexcept { return header_.entries; }
  const LogRowHeader& header() const noexcept { return header_; }
  void append(uint64_t entry) noexcept {  // not full()
    assert(!full());
    std::byte* const to = &payload_[header_.entries * raw_entry_bytes(width_)];
    store_le(to, width_ == HashWidth::k63Bits ? entry : pack_raw47(entry));
    ++header_.entries;
  }
  uint64_t chain() const noexcept;
  std::span<const std::byte> payload() const noexcept {
    return std::span(payload_).first(header_.entries * raw_entry_bytes(width_));
  }
  std::vector<std::byte> encode() const;

 private:
  HashWidth width_;
  size_t capacity_;
  LogRowHeader header_;
  std::vector<std::byte> payload_;  // of a full row, and what a store of 8 bytes may touch behind
};

// (hash, count >= 1)
using CountedHash = std::pair<uint64_t, uint64_t>;
using CountedHashSink = std::function<Status(uint64_t hash, uint64_t count)>;
// Hands ascending hashes, each once, to the sink; ends with its failure.
using HashSource = std::function<Status(const CountedHashSink& sink)>;

// Cuts an ascending sequence of (hash, count) into compacted rows and hands each to the sink.
class CompactedRowWriter {
 public:
  using RowSink = std::function<Status(std::span<const std::byte> row)>;
  // `expected` entries choose the Rice parameter. `items` of a set: they don't follow from the
  // entries, and stand in every row.
  CompactedRowWriter(HashWidth width, size_t row_bytes, uint64_t expected, uint64_t chain,
                     RowSink sink, std::optional<uint64_t> items = std::nullopt);
  Status add(uint64_t hash, uint64_t count);
  Status finish();

  uint64_t chain() const noexcept { return chain_; }
  uint64_t position() const noexcept { return position_; }  // entries written
  uint64_t items() const noexcept { return items_; }

 private:
  Status close_row();

  HashWidth width_;
  size_t row_bytes_;
  unsigned rice_;
  uint64_t chain_;
  RowSink sink_;
  bool counts_ = true;     // items follow from the entries
  uint64_t position_ = 0;  // before the open row
  uint64_t items_ = 0;     // before the open row
  uint64_t row_items_ = 0;
  uint16_t row_entries_ = 0;
  uint64_t last_hash_ = 0;
  BitWriter stream_;  // the open row's payload
};

// Decodes one compacted row; `previous` is the last hash of the compacted row before it (0 at the
// start) and becomes the last of this one; I2 is checked against it. `entries` are replaced.
Status decode_compacted_row(const LogRow& row, HashWidth width, uint64_t& previous, bool first_row,
                            std::vector<CountedHash>& entries);
// … and hands its entries to the sink.
Status read_compacted_row(const LogRow& row, HashWidth width, uint64_t& previous, bool first_row,
                          const CountedHashSink& sink);

}  // namespace cuckoo
