// Computes how much a filter takes once it holds as many keys as it was made for. It takes almost
// no time and memory, whatever the capacity, because it needs the options alone.
//
// It assumes that the keys are distinct and came in small transactions. So the log is as long as it
// is kept, and a segment has a run for each of its turns. A load leaves less.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {

struct FilterPlan {
  uint64_t cell_bytes = 0;  // of all cells
  double bits_per_key = 0;  // of the cells
  uint32_t places_per_key = 0;
  uint64_t memory_bytes = 0;  // all pages loaded
  uint64_t page_blocks = 0;   // of all segments
  uint64_t directory_bytes = 0;
  uint64_t run_bytes = 0;
  uint64_t log_rows = 0;
  uint64_t image_bytes = 0;  // without hashes

  // Returns the size of both tables, in a database with pages of so many usable bytes.
  uint64_t disk_bytes(uint32_t row_bytes, uint32_t database_page_bytes) const noexcept;
};

// Returns the plan of one generation, or kInvalid if a number is out of range.
Result<FilterPlan> plan_filter(const FilterOptions& options);

}  // namespace cuckoo::segments
