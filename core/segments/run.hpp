// A segment's runs have the hashes that were folded into its pages. So the pages can be made anew
// without the keys.
//
// A run has the hashes of one fold, or of several that followed one another, in ascending order,
// each with a count: how often it was added, or removed. A hash comes twice if it was removed
// before it was added (core/segments/hash_sum.hpp). Runs follow one another in the order of their
// folds. A hash's counts over all runs, in their order, say how often the segment holds it. When a
// segment is made anew, it has one run, and all counts in it are 1 or more.
//
// The fewer entries a run has, the further they are apart, and the more bits each takes. So a fold
// merges its entries with the newest run, and the result with the run before that, until the run
// before has more than kRunRatio times as many entries (I3). So one run holds most of a segment,
// and a few small ones hold the rest: at most seven for 65,536 keys. An entry is written again
// about two times for each of these.
//
// A run is cut into blocks, each of which can be read alone (little-endian):
//   0   8  the hash before the first one: of the block before, or the segment's prefix
//   8   2  entries, 1 or more
//   10  1  Rice parameter
//   11  1  flags: 1: a run begins here; 2: all counts of the block are 1, and are not written
//   12     entries as a stream of bits (core/stored/rice.hpp): the difference to the hash before,
//          then, unless flag 2 is set, a bit 0 for a count of 1, or a bit 1 and the count as a
//          number from 2 on: 2·count above zero, 2·-count + 1 below.
//
// Invariants
//   I1  nothing is believed: a block is decoded whole, within its bounds, or it is kCorrupt. A
//       block of n bytes gives less than 8·n entries.
//   I2  hashes ascend within a run, also across its blocks. They do so strictly, except for a hash
//       that was removed and then added: its two entries follow each other, the removes first.
//   I3  each run has more than kRunRatio times as many entries as the run after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"
#include "core/segments/hash_sum.hpp"
#include "core/stored/rice.hpp"

namespace cuckoo::segments {

// Sorts entries whose hashes have their first `depth` bits in common. Those of one hash keep their
// order.
void sort_by_hash(std::vector<NetHash>& entries, unsigned depth);

// Returns the sums of the entries (HashSums), ascending. kCorrupt: they are more than a segment can
// hold.
Result<std::vector<NetHash>> sums_of(std::vector<NetHash> entries, unsigned depth, bool multiset);

inline constexpr size_t kRunHeaderBytes = 12;

// Measured for 1 M keys in transactions of 500, with their number given as the capacity: 5.83 bytes
// a key in the file and 203 written for each. With a ratio of 2: 5.87 and 196; of 8: 5.81 and 216;
// without merges: 6.98 and 186.
inline constexpr uint64_t kRunRatio = 4;

// Returns whether a run of so many entries is merged with the newer ones.
constexpr bool joins(uint64_t run_entries, uint64_t newer_entries) noexcept {
  return run_entries <= kRunRatio * newer_entries;
}

// Returns the last hash that begins with the first `depth` bits of `prefix`. Its other bits are 0.
constexpr uint64_t last_hash_of(uint64_t prefix, unsigned depth) noexcept {
  return depth == 0 ? ~uint64_t{0} : prefix | (~uint64_t{0} >> depth);
}

using RunBlockSink = std::function<Status(std::span<const std::byte> block)>;

// Cuts ascending entries, whose hashes have the first `depth` bits of `prefix` in common, into
// blocks of at most `block_bytes`, and hands each to the sink.
Status write_run(std::span<const NetHash> entries, HashWidth width, unsigned depth, uint64_t prefix,
                 size_t block_bytes, const RunBlockSink& sink);

// Merges two runs that follow each other into one. In a set a hash counts once.
Result<std::vector<NetHash>> joined_runs(std::span<const NetHash> older,
                                         std::span<const NetHash> newer, bool multiset);

struct RunBlockHead {
  uint32_t entries = 0;
  unsigned rice = 0;
  bool begins = false;  // a run begins here
  bool plain = false;   // all counts are 1
};
// Reads the head of a block, which comes before its entries. Returns kCorrupt if no block begins
// like this.
Result<RunBlockHead> run_block_head(std::span<const std::byte> block);

// Decodes one block of a segment's runs and appends its entries. `previous` is the last hash of the
// block before it (at first the prefix), and becomes the last hash of this one.
Status decode_run_block(std::span<const std::byte> block, HashWidth width, unsigned depth,
                        uint64_t prefix, uint64_t& previous, std::vector<NetHash>& entries,
                        bool& begins);

}  // namespace cuckoo::segments
