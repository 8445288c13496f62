// What a filter of some options takes once it holds as many keys as it was made for: computed from
// the options, in no time and no memory, whatever the capacity.
//
// The keys are distinct and came in by inserts: with growth each is an entry of a raw log row, and
// nothing of it is compacted. What a tail takes that is not folded yet is left out: of a filter
// without growth it is up to a twentieth more.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo {

struct FilterPlan {
  double bits_per_key = 0;
  uint32_t places_per_key = 0;
  uint64_t memory_bytes = 0;  // all pages loaded
  uint64_t page_rows = 0;
  uint64_t log_rows = 0;
  uint64_t image_bytes = 0;  // without hashes

  // The four tables of the filter, in a database with pages of so many usable bytes.
  uint64_t disk_bytes(uint32_t row_bytes, uint32_t database_page_bytes) const noexcept;
};

// Of one generation; kInvalid when a number is out of range.
Result<FilterPlan> plan_filter(const FilterOptions& options);

}  // namespace cuckoo
