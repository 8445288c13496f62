// Decides when a segment is made anew, and how large: pure functions of a few figures.
//
// A segment of up to `limit` keys is made anew as one. A larger one is split by the next bits of
// the hash. A segment that is made anew gets half as much room again. So each key is written twice
// over the life of a growing filter, and the mean load is 0.83. With a quarter as much again, each
// key would be written four times, and the mean load would be 0.9. Keys fall on segments by chance.
// So each segment gets room for four standard deviations more. Without that, half of the segments
// that were made for their share of a known capacity would grow just before the filter reaches it.
#pragma once

#include <cstdint>

namespace cuckoo::segments {

// Returns whether a segment is made anew when it is folded, though it is not too full: if more than
// about half of the entries of its runs are dead. A merge of runs (core/segments/run.hpp) drops an
// add together with its remove. So such pairs alone reach half only in a fold that removes a
// sixteenth of the segment or more, and this fold would write all runs anew. But no merge drops the
// removes of hashes that were never added. So the segment is made anew to repair the cells that
// these removes broke. (A remove of one of several copies counts as if its add were dead. So a
// segment of copies gets there sooner.)
bool mostly_dead(uint64_t run_entries, uint64_t dead) noexcept;

// Returns the room for a share of so many keys: the share and four standard deviations. By chance
// one segment in 30,000 gets more keys than that.
uint64_t with_deviations(uint64_t share) noexcept;

// Returns the capacity of a segment that is made for so many keys: at most the limit, unless they
// are more, because the directory does not split it (core/segments/directory.hpp, I1).
uint64_t remade_capacity(uint64_t keys, uint64_t limit) noexcept;

// Returns by how many bits the depth of a segment of so many keys grows: 1 cuts it into halves, 2
// into quarters. 0: it is not cut.
unsigned bits_to_split(uint64_t keys, uint64_t limit) noexcept;

}  // namespace cuckoo::segments
