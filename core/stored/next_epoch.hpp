// The epoch that will follow a filter's present one, made bit by bit while that one still answers:
// so that no single insert waits for as long as it takes to make all of a large filter anew.
//
// It is made of what is folded, nothing else: the next fold takes its place (LoggedFilter). Until
// then its log rows and pages stand under their own ids, and nobody reads them; how many there are
// stands beside the record (EpochProgress).
//
// When it has become the filter, the epoch before is erased in the same way.
//
//   step  0 … 24 ……… 56 …… 84 …… 112 …… 140 …… 168 … 176 … 208 … 240 … 256
//             begins    merges and encodes         builds            becomes
//             or not,         |      |       |      |  pages  |     |  the filter
//             reads raw       log rows are written,        pages are
//             rows            a quarter each time          written, half
//
// It is begun, and rows are written, at these seven points only, and nothing is done before without
// patience: so whoever opens the filter for a few inserts makes all again at six of them, not at
// each step.
//
// Invariants
//   I1  what stands in storage after step s depends on what is folded and on s alone: not on who
//       made the steps before, nor on how many were made at a time.
//   I2  memory is a cache: whoever has none of the steps in memory makes them again, and finds what
//       was written as it would write it.
//   I3  at the last step all rows and pages stand, and they are those that a rebuild of what is
//       folded would write, but for the geometry, and for the Rice parameter: both are chosen from
//       what is known before the hashes are counted.
//
// Memory: 8 bytes a raw entry, the new pages, and what their builder takes. Time: a step's share of
// a rebuild.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/log.hpp"
#include "core/stored/record.hpp"
#include "core/stored/stepped_replay.hpp"
#include "core/stored/storage.hpp"

namespace cuckoo {

// What stands in storage of other epochs than the present one: of the next one, as far as it is
// made, and of the one before, as far as it is not erased. Bytes: FORMAT.md, "Other epochs".
struct EpochProgress {
  // Raised when steps make other rows or pages of the same hashes, too.
  static constexpr uint32_t kVersion = 3;
  uint32_t version = kVersion;  // that the next epoch is made by

  uint64_t epoch = 0;     // the next one
  uint64_t base_id = 0;   // of the fold that it is made of
  uint64_t capacity = 0;  // that it will have; 0: it is not made
  uint64_t points = 0;    // of NextEpoch that were passed
  uint64_t log_rows = 0;
  uint64_t pages = 0;  // that were gone over: those that are all zero have no row

  // The one before is erased from the first rows on, in the steps behind `old_step`.
  uint64_t old_first_row = 0;
  uint64_t old_log_rows = 0;  // 0: nothing is left of it
  uint64_t old_pages = 0;
  uint64_t old_step = 0;

  bool empty() const noexcept { return points == 0 && old_log_rows == 0; }
  // By an older version. What it made is not what this one would make, so it is made again.
  bool outdated() const noexcept { return version != kVersion; }
  // How many rows stand after so many steps, but for pages that are all zero.
  uint64_t rows(uint64_t step) const noexcept;
  // Ids of pages or log rows. What an older version makes of the next epoch may be any of its ids.
  bool is_next(int64_t row) const noexcept;
  bool is_old(int64_t row) const noexcept;
  friend bool operator==(const EpochProgress&, const EpochProgress&) = default;
};

// Erases what is due after so many of NextEpoch::kSteps steps of the present epoch.
Status erase_old_epoch(FilterStorage& storage, uint64_t step, EpochProgress& progress);

std::vector<std::byte> encode_progress(const EpochProgress& progress);
Result<EpochProgress> decode_progress(std::span<const std::byte> bytes);

class NextEpoch {
 public:
  static constexpr uint64_t kSteps = 256;
  static constexpr uint64_t kPoints = 7;
  static constexpr uint64_t kBegin = 24;  // the step of the first point
  // What isn't to be written yet is worth its time only if the filter stays open until it is:
  // whoever saw no more steps than these leaves it.
  static constexpr uint64_t kPatience = kBegin;
  // How many points are passed after that step.
  static uint64_t points(uint64_t step) noexcept;

  // What it is made of.
  struct Source {
    LogExtent folded;
    int64_t first_raw_row = 0;  // behind the compacted ones
    uint64_t compacted_entries = 0;
    uint64_t items = 0;  // behind the fold
    uint64_t base_id = 0;
  };

  // `record`: of the new epoch while it is empty. `filter`: its pages, for about `expected` hashes,
  // all zero.
  NextEpoch(const FilterOptions& options, FilterStorage& storage, const Source& source,
            const FilterRecord& record, std::unique_ptr<Filter> filter, uint64_t expected);

  // Can it go on from there? Not if storage lost by a roll-back what was written from here, or if
  // something else is made there.
  bool follows(const EpochProgress& progress) const noexcept {
    return progress.base_id == source_.base_id && progress.capacity == record_.capacity &&
           written_ <= progress.log_rows && pages_ <= progress.pages;
  }
  // What is due after so many steps, kBegin or more: in memory, without a write; and in storage.
  // `progress` says what stands there, before and afterwards. Rows that others wrote are compared
  // with what they must be.
  Status make(uint64_t step, const EpochProgress& progress);
  Status write(uint64_t step, EpochProgress& progress);

  // Are all rows and pages made, and written, and do they agree? Else nothing below is fit for use.
  bool complete() const noexcept;
  // After the last step:
  const Filter& filter() const noexcept { return *filter_; }
  std::unique_ptr<Filter> take_filter() noexcept { return std::move(filter_); }
  const FilterRecord& record() const noexcept { return record_; }  // all but the overflow table
  uint64_t dropped() const noexcept { return replay_.dropped(); }  // as LogReplay's

  size_t memory_bytes() const noexcept;

 private:
  Status make_rows(uint64_t due);
  void build();

  using RowReader = std::function<Status(int64_t id, const FilterStorage::RowVisitor& visitor)>;
  int64_t log_row_id(uint64_t index) const noexcept {
    return static_cast<int64_t>(record_.first_row + index);
  }
  int64_t page_id(uint64_t index) const noexcept {
    return first_row_id(record_.epoch) + static_cast<int64_t>(index);
  }
  Status expect_row(const char* kind, int64_t id, std::span<const std::byte> row,
                    const RowReader& read) const;
  Status find_rows(uint64_t stored);
  Status find_pages(uint64_t stored);
  void count_page(int64_t id) noexcept;
  Status write_rows(uint64_t due, EpochProgress& progress);
  Status write_pages(uint64_t due, EpochProgress& progress);

  const FilterOptions options_;
  FilterStorage& storage_;
  const Source source_;
  FilterRecord record_;
  std::unique_ptr<Filter> filter_;
  std::unique_ptr<FilterBuilder> builder_;  // until it is built
  SteppedReplay replay_;
  CompactedRowWriter writer_;
  uint64_t expected_rows_;
  std::deque<std::vector<std::byte>> waiting_;  // rows that were made and not written
  uint64_t written_ = 0;                        // rows before them, which stand
  bool merged_ = false;                         // all rows were made
  uint64_t pages_ = 0;                          // gone over
  std::vector<CountedHash> batch_;
};

}  // namespace cuckoo
