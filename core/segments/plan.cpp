#include "core/segments/plan.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/pages.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/block_sums.hpp"
#include "core/segments/image.hpp"
#include "core/segments/log_row.hpp"
#include "core/segments/segment_header.hpp"
#include "core/segments/segment_limits.hpp"

namespace cuckoo::segments {
namespace {

uint64_t divide_up(uint64_t dividend, uint64_t divisor) noexcept {
  return dividend / divisor + (dividend % divisor != 0 ? 1 : 0);
}

// Returns how many database pages a table of so many leaves has. An inner page begins with 12
// bytes. For each page below, the inner page has 4 bytes, an id of up to 9 bytes, and 2 bytes that
// say where these are.
uint64_t with_inner_pages(uint64_t leaves, uint64_t database_page_bytes) noexcept {
  constexpr uint64_t kBytesPerChild = 12;
  const uint64_t fan_out = (database_page_bytes - 12) / kBytesPerChild;
  uint64_t pages = leaves;
  for (uint64_t level = leaves; level > 1;) {
    level = divide_up(level, fan_out);
    pages += level;
  }
  return pages;
}

// Returns about how many bits a hash takes in a segment of so many: the Rice code of its difference
// to the hash before. Most hashes are in one run. Those in shorter runs take more
// (core/segments/run.hpp).
double run_entry_bits(HashWidth width, unsigned depth, uint64_t entries) noexcept {
  constexpr double kCode = 1.6;
  constexpr double kShorterRuns = 0.4;
  const double room = static_cast<double>(width) - static_cast<double>(depth);
  return std::max(room - std::log2(static_cast<double>(entries)), 0.0) + kCode + kShorterRuns;
}

}  // namespace

uint64_t FilterPlan::disk_bytes(uint32_t row_bytes, uint32_t database_page_bytes) const noexcept {
  constexpr uint64_t kConfigAndRoots = 2;  // a page each
  // The last block of a run leaves a part of a page empty.
  constexpr double kFilled = 0.95;
  const uint64_t per_leaf = rows_per_database_page(row_bytes, database_page_bytes);
  const uint64_t runs = static_cast<uint64_t>(static_cast<double>(run_bytes) / kFilled);
  const uint64_t leaves = divide_up(page_blocks, per_leaf) + divide_up(log_rows, per_leaf) +
                          divide_up(runs, database_page_bytes) +
                          divide_up(directory_bytes, database_page_bytes);
  return (with_inner_pages(leaves, database_page_bytes) + kConfigAndRoots) * database_page_bytes;
}

Result<FilterPlan> plan_filter(const FilterOptions& options) {
  CUCKOO_TRY(check_capacity(options.capacity));
  CUCKOO_ASSIGN_OR_RETURN(const SegmentLimits limits, segment_limits(options));
  CUCKOO_ASSIGN_OR_RETURN(const FilterSize size,
                          filter_size(options.generation_spec(), limits.share, options.page_bytes));
  const uint64_t segments = uint64_t{1} << limits.depth;
  const uint64_t turn = turn_entries_of(limits, segments, limits.share);
  const uint64_t kept =
      std::min(kept_entries_of(segments, turn, options.growth ? options.capacity : 0,
                               options.generations > 1),
               options.capacity);
  FilterPlan plan;
  plan.cell_bytes = divide_up(size.bits * segments, 8);
  plan.bits_per_key = static_cast<double>(size.bits) * static_cast<double>(segments) /
                      static_cast<double>(options.capacity);
  plan.places_per_key = size.places_per_key;
  // About T entries are pending in a segment before its turn comes, in a list that grows by
  // doubling.
  constexpr uint64_t kBytesPerSegment = 1024;
  const uint64_t list_bytes = std::bit_ceil(std::min(turn, limits.share)) * sizeof(uint64_t);
  // The log has its last row in memory, in a list that grows by doubling.
  const uint64_t row_bytes =
      std::bit_ceil(log_row_capacity(options.page_bytes, options.width)) * sizeof(uint64_t);
  plan.memory_bytes =
      row_bytes + segments * (PageSet::memory_bytes_for(size.page_count, options.page_bytes) +
                              kBytesPerSegment + list_bytes);
  plan.page_blocks = segments * size.page_count;
  if (options.growth) {
    const double bits = run_entry_bits(options.width, limits.depth, limits.share);
    plan.run_bytes = static_cast<uint64_t>(static_cast<double>(options.capacity) * bits / 8);
  }
  const uint64_t summed_blocks = plan.page_blocks + plan.run_bytes / options.page_bytes;
  plan.directory_bytes = segments * kSegmentHeaderBytes + summed_blocks * sizeof(BlockSums::Sum);
  // Adds two rows, because the last row is not full, and the first row is kept as a whole.
  plan.log_rows = kept / log_row_capacity(options.page_bytes, options.width) + 2;
  CUCKOO_ASSIGN_OR_RETURN(plan.image_bytes, image_bytes(options));
  return plan;
}

}  // namespace cuckoo::segments
