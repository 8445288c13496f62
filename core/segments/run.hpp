// A segment's runs: what was folded into its pages, so that they can be made anew without the keys.
//
// A run has the hashes of one fold in ascending order, each once, with its net count: adds minus
// removes, never 0. Runs follow one another in the order of their folds. The sum of a hash's counts
// over all runs is the number of times that the segment holds it. When a segment is made anew, it
// has one run, and all counts in it are 1 or more.
//
// A run is cut into blocks, each of which can be read alone (little-endian):
//   0   8  the hash before the first one: of the block before, or the segment's prefix
//   8   2  entries, 1 or more
//   10  1  Rice parameter
//   11  1  1: a run begins here, else 0
//   12     entries as a stream of bits (core/stored/rice.hpp): the difference to the hash before,
//          then a bit 0 for a count of 1, or a bit 1 and the count as a number from 2 on: 2·count
//          above zero, 2·-count + 1 below.
//
// Invariants
//   I1  nothing is believed: a block is decoded whole, within its bounds, or it is kCorrupt. A
//       block of n bytes gives less than 8·n entries.
//   I2  hashes ascend strictly within a run, also across its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"
#include "core/stored/rice.hpp"

namespace cuckoo::segments {

inline constexpr int64_t kMostNet = (int64_t{1} << 61) - 1;

struct NetHash {
  uint64_t hash = 0;
  int64_t net = 0;  // not 0, from -kMostNet to kMostNet

  friend bool operator==(const NetHash&, const NetHash&) = default;
};

// Sorts entries whose hashes have their first `depth` bits in common. Those of one hash keep their
// order.
void sort_by_hash(std::vector<NetHash>& entries, unsigned depth);

inline constexpr size_t kRunHeaderBytes = 12;

// Cuts ascending entries into blocks of at most `block_bytes` and hands each to the sink.
class RunWriter {
 public:
  using Sink = std::function<Status(std::span<const std::byte> block)>;

  // The hashes have `prefix` in common, `depth` bits of it; about so many entries come.
  RunWriter(HashWidth width, unsigned depth, uint64_t prefix, uint64_t expected, size_t block_bytes,
            Sink sink);
  Status add(const NetHash& entry);
  Status finish();

  uint64_t entries() const noexcept { return entries_; }
  uint64_t blocks() const noexcept { return blocks_; }

 private:
  void open_block();
  Status close_block();

  HashWidth width_;
  unsigned rice_;
  size_t block_bytes_;
  Sink sink_;
  uint64_t last_hash_;
  uint64_t entries_ = 0;
  uint64_t blocks_ = 0;
  uint16_t block_entries_ = 0;
  BitWriter stream_;
};

// Decodes one block of a segment's runs and appends its entries. `previous` is the last hash of the
// block before it (at first the prefix), and becomes the last hash of this one.
Status decode_run_block(std::span<const std::byte> block, HashWidth width, unsigned depth,
                        uint64_t prefix, uint64_t& previous, std::vector<NetHash>& entries,
                        bool& begins);

}  // namespace cuckoo::segments
