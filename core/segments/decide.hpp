// What becomes of a segment when its turn comes: one pure function of a few figures.
//
// A segment of up to `limit` keys is made anew in one piece. A larger one is split by the next bits
// of the hash. A piece that is made anew gets half as much room again: so each key is written twice
// over the life of a growing filter, and the mean load is 0.83. With a quarter it would be four
// times and 0.9. Keys fall on segments by chance. So each piece gets room for four standard
// deviations more, because else half of the pieces that were made for their share of a known
// capacity would grow just before that is reached.
#pragma once

#include <cstdint>

namespace cuckoo::segments {

struct SegmentFigures {
  bool keeps_hashes = true;  // it can be made anew
  uint64_t pending = 0;      // entries that are not folded yet
  bool outgrows = false;     // with those it would hold more than it was made for
  uint64_t run_entries = 0;  // of its runs
  uint64_t dead = 0;         // of these and what pends, about how many a merge would drop
};

enum class SegmentWork : uint8_t {
  kNothing,
  kFold,    // the pending entries go into the pages, and one more run is written
  kRemake,  // runs and pending entries are merged, and one segment or more is made of them
};

SegmentWork decide(const SegmentFigures& figures) noexcept;

// Returns the room for a share of so many keys: the share and four standard deviations. By chance
// one segment in 30,000 gets more keys than that.
uint64_t with_deviations(uint64_t share) noexcept;

// Returns the capacity of a segment that is made for so many keys: at most the limit, unless they
// are more, because the directory does not split it (core/segments/directory.hpp, I1).
uint64_t remade_capacity(uint64_t keys, uint64_t limit) noexcept;

// Returns by how many bits the depth of a segment of so many keys grows: 1 cuts it into halves, 2
// into quarters. 0: it stays one.
unsigned bits_to_split(uint64_t keys, uint64_t limit) noexcept;

}  // namespace cuckoo::segments
