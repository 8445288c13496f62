// Which parts of the key space go from one node to another when one ring takes another's place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ring/hash_ring.hpp"

namespace cuckoo::core {

struct RingMove {
  uint32_t from = 0;  // an id; 0: no node
  uint32_t to = 0;
  RingPart part;
};

inline constexpr uint32_t kNewNode = UINT32_MAX;

// Returns the moves in the order of from and to, without the parts that stay. Both rings are
// built(), and of the same algorithm. An id means the same node in both. `renamed`: the id of a
// node that has another name in `after`. The part that stays with it is a move from that id to that
// id.
//
// `ids_before` is given if ids mean other nodes in the two rings. It has the id in `before` of each
// node of `after`, by its id - 1, and kNewNode if there is none.
std::vector<RingMove> ring_moves(const HashRing& before, const HashRing& after,
                                 uint32_t renamed = 0, std::span<const uint32_t> ids_before = {});

}  // namespace cuckoo::core
