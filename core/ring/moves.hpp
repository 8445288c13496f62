// Which part of the key space goes from whom to whom when one ring takes the place of another.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ring/hash_ring.hpp"

namespace cuckoo {

struct RingMove {
  uint32_t from = 0;  // an id; 0: nobody
  uint32_t to = 0;
  RingPart part;
};

// Both built, of the same algorithm; an id means the same node in both. In the order of from and
// to; without what stays. `renamed`: the id of a node that has another name in `after`; what stays
// with it goes from that id to that id.
std::vector<RingMove> ring_moves(const HashRing& before, const HashRing& after,
                                 uint32_t renamed = 0);

}  // namespace cuckoo
