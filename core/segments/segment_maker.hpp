// Makes the segments that come next in a filter, from entries or from pieces. It makes them beside
// the present ones, so that a failure changes nothing.
//
// Invariants
//   I1  a segment holds all entries of the log before `position`. Segments that are made of equal
//       entries or pieces, with equal numbers, have equal bytes.
//   I2  the number of a segment is used once, so that no block is taken for one of another segment:
//       kFull when there are none left.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/segment.hpp"
#include "core/segments/segment_limits.hpp"

namespace cuckoo::segments {

struct SegmentMaker {
  const FilterOptions* options;  // must stay where they are
  SegmentLimits limits;
  bool keeps_hashes;
  uint64_t number = 1;    // of the next segment
  uint64_t position = 0;  // of the log
  uint64_t id = 0;        // a hash of the history of the segments there before
  Poll poll = nullptr;    // asked for each segment

  // The segment whose hashes the entries are.
  struct Range {
    uint64_t prefix = 0;
    unsigned depth = 0;
    uint64_t capacity = 0;   // of a segment that need not grow
    unsigned most_bits = 0;  // by which it may be split
    bool too_full = false;   // it grows, however few the entries are
  };
  // Makes one segment of all entries of the range, which ascend. If they are more than it has room
  // for, and hashes are kept, it makes a larger one, or several, ascending by prefix.
  Result<std::vector<std::unique_ptr<Segment>>> make(const Range& range,
                                                     std::span<const NetHash> entries);
  // Makes an empty one that has the geometry of a share.
  Result<std::unique_ptr<Segment>> make_share(uint64_t prefix, unsigned depth);
  // Makes a segment of a piece. Returns kInvalid if the piece is not fit for a filter.
  Result<std::unique_ptr<Segment>> adopt(Piece&& piece);
  // Returns kFull if there are no numbers left for so many segments.
  Status expect_numbers(uint64_t count) const;
};

}  // namespace cuckoo::segments
