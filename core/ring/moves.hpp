// Which parts of the key space go from one node to another when one ring takes another's place.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ring/hash_ring.hpp"

namespace cuckoo::core {

struct RingMove {
  uint32_t from = 0;  // an id; 0: no node
  uint32_t to = 0;
  RingPart part;
};

// Returns the moves in the order of from and to, without the parts that stay. Both rings are
// built(), and of the same algorithm. A part stays if the node has the same name in both. So a node
// that was renamed gives all its part away, a piece of it perhaps to the same id.
std::vector<RingMove> ring_moves(const HashRing& before, const HashRing& after);

}  // namespace cuckoo::core
