#include "core/stored/plan.hpp"

#include <algorithm>

#include "core/base/pages.hpp"
#include "core/stored/image.hpp"
#include "core/stored/log.hpp"

namespace cuckoo {
namespace {

uint64_t divide_up(uint64_t dividend, uint64_t divisor) noexcept {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

// Database pages of a table of so many rows of that length, in ascending order of their ids. An
// inner page begins with 12 bytes, and has 4, an id of 3 (2^21 rows) and a place of 2 for each page
// below.
uint64_t table_pages(uint64_t rows, uint64_t row_bytes, uint64_t database_page_bytes) noexcept {
  constexpr uint64_t kBytesPerChild = 9;
  const uint64_t fan_out = (database_page_bytes - 12) / kBytesPerChild;
  const uint64_t per_leaf = rows_per_database_page(row_bytes, database_page_bytes);
  uint64_t level = std::max<uint64_t>(1, divide_up(rows, per_leaf));
  uint64_t pages = level;
  while (level > 1) {
    level = divide_up(level, fan_out);
    pages += level;
  }
  return pages;
}

}  // namespace

uint64_t FilterPlan::disk_bytes(uint32_t row_bytes, uint32_t database_page_bytes) const noexcept {
  constexpr uint64_t kConfigAndItems = 2;  // a page each
  const uint64_t pages = table_pages(page_rows, row_bytes, database_page_bytes) +
                         table_pages(log_rows, row_bytes, database_page_bytes) + kConfigAndItems;
  return pages * database_page_bytes;
}

Result<FilterPlan> plan_filter(const FilterOptions& options) {
  const FilterSpec spec = options.generation_spec();
  CUCKOO_ASSIGN_OR_RETURN(const FilterSize size,
                          filter_size(spec, options.capacity, options.page_bytes));
  FilterPlan plan;
  plan.bits_per_key = static_cast<double>(size.bits) / static_cast<double>(options.capacity);
  plan.places_per_key = size.places_per_key;
  // A tail has room for its last row, also when it is empty.
  plan.memory_bytes =
      PageSet::memory_bytes_for(size.page_count, options.page_bytes) + options.row_bytes();
  plan.page_rows = size.page_count;
  plan.log_rows = options.growth ? divide_up(options.capacity,
                                             raw_row_capacity(options.row_bytes(), options.width))
                                 : 0;
  plan.image_bytes = table_image_bytes(spec.kind, size.words);
  return plan;
}

}  // namespace cuckoo
