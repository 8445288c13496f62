// Which part of the key space goes from whom to whom when one ring takes the place of another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/ring/hash_ring.hpp"

namespace cuckoo {

struct RingMove {
  uint32_t from = 0;  // an id; 0: nobody
  uint32_t to = 0;
  RingPart part;
};

inline constexpr uint32_t kNewNode = UINT32_MAX;

// Both built, of the same algorithm; an id means the same node in both. In the order of from and
// to; without what stays. `renamed`: the id of a node that has another name in `after`; what stays
// with it goes from that id to that id.
//
// `ids_before`: ids mean other nodes in the two rings. It has the id in `before` of each node of
// `after`, by its id - 1, and kNewNode where there is none.
std::vector<RingMove> ring_moves(const HashRing& before, const HashRing& after,
                                 uint32_t renamed = 0, std::span<const uint32_t> ids_before = {});

}  // namespace cuckoo
