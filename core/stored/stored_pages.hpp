// The folded part of a stored filter: its pages, of which those are in memory that were asked for,
// and its overflow table.
//
// Invariants
//   I1  a page in memory that is not dirty has the bytes that storage holds for it, or is zero and
//       has no row.
//   I2  a page without a row is zero. How many there may be, and the sum of the others' ids, stands
//       in the record: a lost row is found.
//   I3  memory and time follow the rows, not the geometry.
//   I4  a page that was read is shared with whoever has an equal one, once it is verified.
//
// The record is the one that the pages belong to: of their epoch, with their figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/filter/probe.hpp"
#include "core/stored/filter_options.hpp"
#include "core/stored/record.hpp"
#include "core/stored/storage.hpp"

namespace cuckoo {

// The row with that id for page `index` of a filter, which is in memory.
std::vector<std::byte> page_row(const Filter& filter, uint64_t index, int64_t id, uint64_t seed);

class StoredPages {
 public:
  explicit StoredPages(FilterStorage& storage) noexcept : storage_(storage) {}

  // The filter that the record describes: its overflow table is read, its pages when they are asked
  // for. When that fails, the filter before is kept.
  Status open(const FilterOptions& options, const FilterRecord& record);
  // A filter of which storage holds nothing yet.
  void start(const FilterOptions& options, const FilterRecord& record,
             std::unique_ptr<Filter> filter) noexcept;

  const Filter& filter() const noexcept { return *filter_; }
  Filter& filter() noexcept { return *filter_; }
  [[gnu::always_inline]] Filter::Answer probe(uint64_t hash) const noexcept {
    return cuckoo::probe(*filter_, hash);
  }

  bool all_loaded() const noexcept { return all_loaded_; }
  // Into memory: the pages of a hash, those with these numbers, all.
  Status load(uint64_t hash, const FilterRecord& record);
  Status load(std::span<const uint64_t> indexes, const FilterRecord& record);
  Status load_all(const FilterRecord& record);
  // The same filter once more. Loads all pages.
  Result<std::unique_ptr<Filter>> copy(const FilterRecord& record);
  // Another filter of the same geometry with what storage holds, all of it, whatever is in memory.
  Result<std::unique_ptr<Filter>> read_again(const FilterRecord& record) const;

  // What has changed, to any storage; the record's figures follow. It counts as changed still until
  // note_written().
  Status write_to(FilterStorage& storage, FilterRecord& record) const;
  void note_written() noexcept;
  // All rows of the epoch.
  Status erase(const FilterRecord& record);

 private:
  void hold(const FilterOptions& options, const FilterRecord& record,
            std::unique_ptr<Filter> filter) noexcept;
  void complete() noexcept;
  int64_t page_id(uint64_t index) const noexcept { return first_id_ + static_cast<int64_t>(index); }
  Status add_page(Filter& filter, int64_t id, std::span<const std::byte> row) const;
  Status note_absent_row(uint64_t index, const FilterRecord& record);
  Status read_pages(Filter& filter, int64_t first, int64_t last, const FilterRecord& record) const;
  Status read_overflow(Filter& filter, const FilterRecord& record) const;
  Status write_pages(FilterStorage& storage, FilterRecord& record) const;
  Status write_overflow(FilterStorage& storage, FilterRecord& record) const;

  FilterStorage& storage_;
  std::unique_ptr<Filter> filter_;
  int64_t first_id_ = 0;      // of the page rows
  uint64_t seed_ = 0;         // FilterOptions'
  bool all_loaded_ = false;   // every page is in memory
  uint64_t absent_rows_ = 0;  // pages that were asked for and have no row
};

}  // namespace cuckoo
