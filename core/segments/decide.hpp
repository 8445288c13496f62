// When a segment is made anew, and how large: pure functions of a few figures.
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

// Is a segment made anew when it is folded, though it is not too full? When more than half of the
// entries of its runs are dead, about. A merge of runs (core/segments/run.hpp) drops an add
// together with its remove. So these alone get there only in a fold that removes a sixteenth of the
// segment or more, which would write all runs anew. But no merge drops the removes of hashes that
// were never added: the segment is made anew to repair what those broke. (A remove of one of
// several copies counts as if its add were dead. So a segment of copies gets there sooner.)
bool mostly_dead(uint64_t run_entries, uint64_t dead) noexcept;

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
