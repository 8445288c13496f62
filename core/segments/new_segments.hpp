// Segments that are to replace all others of a filter: contents from outside, or its own hashes cut
// anew. They are made beside the old ones, which nothing touches meanwhile.
//
// Invariants
//   S1  (core/segments/directory.hpp) they come ascending by prefix, each begins where the one
//       before it ends, and finish() fails unless they cover all hashes.
//   I1  what was made holds all that core/segments/segment.hpp expects of stored segments: equal
//       pieces give equal bytes, and a piece that is not fit for a filter is kInvalid.
//   I2  an empty segment that CREATE would make takes no memory and no header: so a filter for
//       2^40 keys can be imported and rebuilt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/contents.hpp"
#include "core/segments/directory.hpp"
#include "core/segments/segment.hpp"
#include "core/segments/segment_limits.hpp"

namespace cuckoo::segments {

class NewSegments {
 public:
  // What they go on from.
  struct Begin {
    uint64_t number = 1;    // of the first one
    uint64_t position = 0;  // of the log: they hold all entries before it
    uint64_t id = 0;        // stands for what was there before
    bool once = false;      // each hash of the pieces counts once, though they come without hashes
  };
  // The options become those of the segments, and must stay where they are.
  NewSegments(const FilterOptions& options, const SegmentLimits& limits, const Begin& begin,
              bool keeps_hashes)
      : options_(&options),
        limits_(limits),
        begin_(begin),
        next_number_(begin.number),
        keeps_hashes_(keeps_hashes),
        directory_(options) {}

  // The next one is made of this piece.
  Status take(Piece&& piece);
  // The next ones are made of all hashes of the next share of limits().depth bits. A share that has
  // more than it has room for is made larger, or cut further.
  Status cut(std::span<const NetHash> entries);
  // Makes the directory of them.
  Status finish();

  const SegmentLimits& limits() const noexcept { return limits_; }
  uint64_t count() const noexcept { return leaves_.size(); }
  uint64_t items() const noexcept { return items_; }  // of all of them
  bool empty() const noexcept { return empty_; }      // no cell is in use
  uint64_t id() const noexcept { return id_; }        // stands for all that is in them
  // After finish().
  uint64_t next_number() const noexcept { return next_number_; }
  uint64_t position() const noexcept { return begin_.position; }
  unsigned first_depth() const noexcept { return first_depth_; }
  Directory& directory() noexcept { return directory_; }

 private:
  bool is_share(const Piece& piece) const;
  Status count_once(Piece& piece) const;
  Status cover(uint64_t prefix, unsigned depth);
  Status add(uint64_t prefix, unsigned depth, std::unique_ptr<Segment> segment);

  const FilterOptions* options_;
  SegmentLimits limits_;
  Begin begin_;
  uint64_t next_number_;
  bool keeps_hashes_;
  std::vector<Directory::Leaf> leaves_;  // ascending by prefix
  uint64_t covered_ = 0;                 // of the hash space, in units of 2^(64 - kMaxDepth)
  unsigned least_depth_ = kMaxDepth;
  uint64_t items_ = 0;
  bool empty_ = true;
  uint64_t id_ = 0;
  unsigned first_depth_ = 0;
  Directory directory_;
};

// The numbers of segments are used once, so that no block is taken for one of another segment.
// kFull when there are not so many from `next` on.
Status expect_numbers(uint64_t next, uint64_t count);

}  // namespace cuckoo::segments
