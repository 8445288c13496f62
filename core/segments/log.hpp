// The log of a filter in memory: its end, and the entries that are in no stored row yet.
//
// Invariants
//   I1  position() and chain() count all entries, written or not, from where the log began.
//   I2  write_to() appends to the last row until that is full, so that many small transactions do
//       not leave many rows.
//   I3  the last row is never full: if it is, write_to() stores the next one too, without entries.
//       So a log whose last row was lost ends with a full row, and is found to be damaged.
//   I4  no row is believed unless it follows from the row before it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/blocks.hpp"
#include "core/segments/entry_list.hpp"
#include "core/segments/log_row.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/log_entry.hpp"

namespace cuckoo::segments {

struct LogPlace {
  uint64_t position = 0;
  uint64_t chain = 0;
};

class Log {
 public:
  // No log ever holds more entries, and none is read. So the copies of one hash fit 62 bits.
  static constexpr uint64_t kMostEntries = uint64_t{1} << 30;
  static_assert(kMostEntries * kMostCopies < uint64_t{1} << 62);

  explicit Log(const FilterOptions& options)
      : multiset_(options.multiset()),
        row_capacity_(log_row_capacity(options.page_bytes, options.width)),
        end_{0, false, LogRowWriter(options.width)} {}

  // Starts an empty log at that position. Its first row has that number and is not stored.
  void start(uint64_t row, uint64_t position, uint64_t chain) noexcept;

  uint64_t position() const noexcept { return end_.row.end() + fresh_.size(); }
  uint64_t chain() const noexcept;
  uint64_t row() const noexcept { return end_.number; }  // the last one, which is appended to
  uint64_t row_entries() const noexcept { return row_capacity_; }  // of a full one
  // Returns the number of the last row once all entries are written.
  uint64_t last_row() const noexcept {
    return end_.number + (end_.row.size() + fresh_.size()) / row_capacity_;
  }

  // Appends one entry of so many copies, at most kMostCopies.
  void append(uint64_t entry, uint64_t copies = 1) { fresh_.append(entry, copies); }
  // Drops the entries that are in no stored row, because they are folded; position() and chain()
  // count them still. The log goes on in a new row.
  void restart() { restart({position(), chain()}); }
  // … from another place, because the contents change without entries.
  void restart(const LogPlace& place) { start(end_.number + 1, place.position, place.chain); }

  // Writes the last row and those after it, but none before `first`, because all their entries are
  // folded. `items` is the number after all entries. Returns the last row. They count as not
  // written until note_written() of that.
  struct LastRow {
    uint64_t number = 0;
    bool stored = false;
    LogRowWriter row;
  };
  Result<LastRow> write_to(const Blocks& blocks, uint64_t first, uint64_t items,
                           uint64_t directory_version) const;
  void note_written(LastRow&& written) noexcept;

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
                              const LogPlace& place, EntryList& found) const;

  size_t memory_bytes() const noexcept { return end_.row.memory_bytes() + fresh_.memory_bytes(); }

 private:
  template <class Visit>
  Result<LastRow> visit_last_rows(Visit&& visit) const;
  Status take_row(int64_t id, const LogRow& row, const Sink& sink);
  Status expect_end() const;

  bool multiset_;
  size_t row_capacity_;
  LastRow end_;  // as it is stored
  EntryList fresh_;
};

}  // namespace cuckoo::segments
