// How large the segments of a filter are. This is computed from its options alone.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/filter_options.hpp"

namespace cuckoo::segments {

inline constexpr unsigned kMostFirstDepth = 16;

// The most items of a segment. An add takes a nanosecond at least, so this many adds take 36 years.
inline constexpr uint64_t kMostItems = uint64_t{1} << 60;

struct SegmentLimits {
  uint64_t items = 0;  // that hashes of the width can tell apart, of all segments
  uint64_t keys = 0;   // that a segment holds at most, where it can be split
  uint64_t pages = 0;  // that such a segment has
  unsigned depth = 0;  // of the segments of a filter that was just made
  uint64_t share = 0;  // the capacity of each of them
  // The geometry and the rate of each of them.
  GeometryWords words;
  double rate = 0;  // when it holds its share
};

Result<SegmentLimits> segment_limits(const FilterOptions& options);

// About so many entries of the log are pending for all segments together, so that a new connection
// reads them in some milliseconds.
inline constexpr uint64_t kPendingEntries = uint64_t{1} << 18;
// Returns T for a filter of so many segments: after so many entries it is another segment's turn.
// If there is only one segment, `capacity` is that segment's.
uint64_t turn_entries_of(const SegmentLimits& limits, uint64_t segments,
                         uint64_t capacity) noexcept;
// Returns R: so many entries are kept in the log (core/segments/turns.hpp, I2). `keys` is the items
// or the capacity, whichever is more; 0 if no hashes are kept.
uint64_t kept_entries_of(uint64_t segments, uint64_t turn_entries, uint64_t keys,
                         bool of_window) noexcept;

}  // namespace cuckoo::segments
