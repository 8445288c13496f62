// The log of a filter in memory: its end, and the entries that are in no stored row yet.
//
// Invariants
//   I1  position() and chain() count all entries, written or not; chain() counts each stir(), too.
//   I2  write_to() appends to the last row until that is full, so that many small transactions do
//       not leave many rows.
//   I3  the last row is never full: if it is, write_to() stores the next one too, without entries.
//       So a log whose last row was lost ends with a full row, and is found to be damaged.
//   I4  no row is believed unless it follows from the row before it.
//   I5  no row ends, and no place lies, between an entry and its count (core/segments/log_row.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/large_memory.hpp"
#include "core/base/result.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/log_row.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

struct LogPlace {
  uint64_t position = 0;
  uint64_t chain = 0;
};

// The entries of a log that came after a place of it.
struct LogEntries {
  LargeVector<uint64_t> entries;  // each as if it were of one occurrence
  std::vector<MoreCopies> more;   // further occurrences of some entries, ascending
};

class Log {
 public:
  // No log ever holds more entries, and none is read. So the copies of one hash fit 62 bits.
  static constexpr uint64_t kMostEntries = uint64_t{1} << 30;
  static_assert(kMostEntries * kMostCopies < uint64_t{1} << 62);

  explicit Log(const FilterOptions& options) noexcept
      : width_(options.width),
        multiset_(options.multiset()),
        row_capacity_(log_row_capacity(options.page_bytes, options.width)) {}

  // Starts an empty log at that position. Its first row has that number and is not stored.
  void start(uint64_t row, uint64_t position, uint64_t chain) noexcept;

  uint64_t position() const noexcept { return end_.position() + fresh_.size(); }
  uint64_t chain() const;
  uint64_t row() const noexcept { return end_.number; }  // the last one, which is appended to
  uint64_t row_entries() const noexcept { return row_capacity_; }  // of a full one
  // Returns the number of the last row once all entries are written.
  uint64_t last_row() const noexcept {
    return end_.number + (end_.entries.size() + fresh_.size()) / row_capacity_;
  }

  void append(uint64_t entry) { fresh_.push_back(entry); }
  // Appends one entry of so many copies, at most kMostCopies. It adds two or three to position(),
  // or one for a single copy.
  void append(uint64_t entry, uint64_t copies);
  // Visits the last entries, from that position on: (position, entry, copies). None of them may be
  // in a stored row.
  template <class Visit>
  void visit_fresh(uint64_t position, Visit&& visit) const {
    size_t i = static_cast<size_t>(position - end_.position());
    auto count = std::lower_bound(fresh_counts_.begin(), fresh_counts_.end(), i);
    for (; i < fresh_.size(); ++i) {
      if (count != fresh_counts_.end() && *count == i) {  // it counts nothing, or was taken
        ++count;
        continue;
      }
      const bool counted = count != fresh_counts_.end() && *count == i + 1;
      const uint64_t copies = counted ? copies_of(fresh_[i + 1]) : 0;
      visit(end_.position() + i, fresh_[i], std::max<uint64_t>(copies, 1));
    }
  }
  // Drops the entries that are in no stored row, because they are folded; position() and chain()
  // count them still. The log goes on in a new row.
  void restart();
  // Does a restart(), and changes chain() by `with`, because the contents change without entries.
  void stir(uint64_t with);

  // Writes the last row and those after it, but none before `first`, because all their entries are
  // folded. They count as not written until note_written(). `items` is the number after all
  // entries.
  Status write_to(const Blocks& blocks, uint64_t first, uint64_t items,
                  uint64_t directory_version) const;
  void note_written();

  // Reads the rows that were stored since, from row() on, and hands over the new entries with their
  // positions. Returns false, and hands over nothing, if storage has another history.
  using Sink = std::function<void(uint64_t position, uint64_t entry, uint64_t copies)>;
  Result<bool> follow(const Blocks& blocks, LogHeader& newest, const Sink& sink);
  // Reads the whole log, whatever was known before. Its first row and position must be these.
  Status read(const Blocks& blocks, uint64_t row, uint64_t position, LogHeader& newest,
              const Sink& sink);

  // Appends to `found` the entries after that place, written or not. `first_row` and
  // `first_position` are those of the log's first row. Returns false if that row begins after the
  // place, or the log never had that chain value there. Storage must be as this log last wrote or
  // read it.
  Result<bool> entries_behind(const Blocks& blocks, uint64_t first_row, uint64_t first_position,
                              const LogPlace& place, LogEntries& found) const;

  size_t memory_bytes() const noexcept {
    return (end_.entries.capacity() + fresh_.capacity()) * sizeof(uint64_t) +
           fresh_counts_.capacity() * sizeof(size_t);
  }

 private:
  struct Row {
    uint64_t number = 0;
    bool stored = false;
    LogHeader header;  // its chain, position and last_count are right, the rest as it was stored
    std::vector<uint64_t> entries;  // and counts

    uint64_t position() const noexcept { return header.position + entries.size(); }
  };

  template <class Visit>
  Status visit_fresh_rows(Row& row, Visit&& visit) const;
  void pass(Row& row) const;
  uint16_t last_count_of_row() const noexcept;
  void append_count(uint64_t copies);
  template <class WordAt, class CountAt, class Visit>
  Status visit_entries(std::span<const uint16_t> counts, size_t from, size_t end, WordAt&& word_at,
                       CountAt&& count_at, Visit&& visit) const;
  Status take_row(int64_t id, const LogRow& row, const Sink& sink);
  Status expect_end() const;
  Result<std::optional<uint64_t>> chain_in(const Blocks& blocks, uint64_t row,
                                           size_t entries) const;

  HashWidth width_;
  bool multiset_;
  size_t row_capacity_;
  Row end_;  // the last row
  LargeVector<uint64_t> fresh_;
  LargeVector<size_t> fresh_counts_;  // which of these are counts, ascending
};

}  // namespace cuckoo::segments
