// A row of a filter's log: adds and removes of all segments, mixed, in the order they happened.
//
// Row (little-endian)
//   0   8  chain value before this row: a hash of all entries before it, one after the other
//   8   8  position: entries before this row, since the filter was made
//   16  8  items, as of the last write of the row
//   24  8  version of the directory, as of the last write of the row
//   32  2  entries
//   34  2  counts
//   36  1  kind: 1 entries of 6 bytes (hashes of 47 bits), 2 of 8 bytes (63 bits)
//   37  3  zero
//   40     the entries: a hash, with the lowest bit of its bytes set for a remove
//          the counts, ascending: the number of an entry in this row (2 bytes), and how many
//          occurrences it adds or removes (4 bytes), 2 … 2^31. Any other entry is of one.
//
// Invariants
//   I1  chain values and positions add up from row to row. So a reader notices a missing, repeated,
//       foreign or changed row. The chain value after some entries follows from these and their
//       counts alone, not from where rows end. So copies of a filter have its chain values, though
//       their rows may be longer.
//   I2  the newest row says where the log ends and which directory belongs to it: a small
//       transaction writes this row and nothing else. There is always one; it may be empty. It is
//       never full, and all rows before it are: they have as many entries, and any counts.
//   I3  nothing is believed: each field is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

inline constexpr size_t kLogHeaderBytes = 40;
inline constexpr size_t kLogCountBytes = 6;

struct LogHeader {
  uint64_t chain = 0;
  uint64_t position = 0;
  uint64_t items = 0;
  uint64_t directory_version = 0;
};

// Bytes of one entry of a log.
constexpr size_t log_entry_bytes(HashWidth width) noexcept {
  return width == HashWidth::k47Bits ? 6 : 8;
}
// Appends entries as a log has them, and reads one.
void put_log_entries(std::span<const uint64_t> entries, HashWidth width,
                     std::vector<std::byte>& to);
uint64_t load_log_entry(const std::byte* from, HashWidth width) noexcept;
// Entries of a full row.
constexpr size_t log_row_capacity(size_t row_bytes, HashWidth width) noexcept {
  return (row_bytes - kLogHeaderBytes) / log_entry_bytes(width);
}

// A row, in storage or in memory: views into its bytes.
struct LogRow {
  LogHeader header;
  HashWidth width = HashWidth::k47Bits;
  std::span<const std::byte> entries;
  std::span<const std::byte> counts;

  size_t size() const noexcept { return entries.size() / log_entry_bytes(width); }
  // The row of its first entries alone.
  LogRow first(size_t entries) const noexcept;
  // The chain value of the row after this one.
  uint64_t chain_after() const noexcept;
};

// Reads the entries of a row one after the other.
class LogCursor {
 public:
  explicit LogCursor(const LogRow& row, size_t first = 0) noexcept;

  // Goes to the next entry, at first to the first one. Returns false if there is none.
  bool next() noexcept;
  size_t index() const noexcept { return index_; }
  uint64_t entry() const noexcept { return entry_; }
  uint64_t copies() const noexcept { return copies_; }

 private:
  const LogRow* row_;
  std::span<const std::byte> counts_;  // from this entry on
  size_t next_;
  size_t index_ = 0;
  uint64_t entry_ = 0;
  uint64_t copies_ = 0;
};

// A row in memory, to which entries are added. Each is encoded when it comes.
//
// Invariant
//   I4  chain() is row().chain_after(). It is kept, because each transaction asks for it.
class LogRowWriter {
 public:
  LogRowWriter() = default;
  explicit LogRowWriter(HashWidth width) noexcept : width_(width) {}

  uint64_t chain() const noexcept { return chain_; }
  HashWidth width() const noexcept { return width_; }
  size_t size() const noexcept { return entries_.size() / log_entry_bytes(width_); }
  uint64_t end() const noexcept { return header_.position + size(); }
  // Becomes an empty row that begins there.
  void start(uint64_t position, uint64_t chain) noexcept;
  // Adds entries of a list, from that index on; at most 2^16 - 1 in all. `more` is of the list.
  void append(std::span<const uint64_t> entries, size_t first, std::span<const MoreCopies> more);
  // Adds a row's entries from that one on, and takes its numbers. It begins where this one does.
  void append(const LogRow& row, size_t first);
  void set_numbers(uint64_t items, uint64_t directory_version) noexcept;
  const LogHeader& header() const noexcept { return header_; }
  LogRow row() const noexcept { return {header_, width_, entries_, counts_}; }
  std::vector<std::byte> encode() const;
  size_t memory_bytes() const noexcept { return entries_.capacity() + counts_.capacity(); }

 private:
  void append_to_chain(size_t first) noexcept;

  LogHeader header_;
  HashWidth width_ = HashWidth::k47Bits;
  uint64_t chain_ = 0;
  std::vector<std::byte> entries_;
  std::vector<std::byte> counts_;
};

// Returns kCorrupt if the bytes are no row.
Result<LogRow> parse_log_row(std::span<const std::byte> bytes, HashWidth width);

}  // namespace cuckoo::segments
