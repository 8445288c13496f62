// How large the segments of a filter are; computed from its options alone.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {

inline constexpr unsigned kMostFirstDepth = 16;

struct SegmentLimits {
  uint64_t keys = 0;   // that a segment holds at most, where it can be split
  uint64_t pages = 0;  // that such a segment has
  unsigned depth = 0;  // of the segments of a filter that was just made
  uint64_t share = 0;  // the capacity of each of them
  // Of such a segment.
  GeometryWords words;
  uint64_t bits = 0;
  double rate = 0;  // when it holds its share
};

Result<SegmentLimits> segment_limits(const FilterOptions& options);

}  // namespace cuckoo::segments
