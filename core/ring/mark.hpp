// A mark of a ring: 64 bits. Two rings have equal marks if every key has the same owners in both,
// replicas too, with the rare exception below. If a key has others, the marks differ, except by a
// chance of 2^-64.
//
// The mark is a hash of two things:
//   how a key becomes a position    seed (ring, slots) or key hash (ketama), the type of the key's
//                                   column, how ketama reads a REAL
//   which node owns which positions (last position, owner's name) of each run of places that has
//                                   one owner; the places are points, or the ends of slots
// Ids, weights, vnodes and the history are not in it, because they matter only if they change
// owners. It has runs and not places, because a point whose successor has the same owner decides
// nothing. If one node owns all keys, the mark depends only on the node's name.
//
// A place that coincides with another node's owns no key, but counts as a replica. So it is a run,
// too. Two rings may have different points that coincide, and yet give equal replicas everywhere.
// Then their marks differ. With ring that has a chance of 2^-40; with ketama the names would have
// to be made for it.
#pragma once

#include <cstdint>
#include <string>

#include "core/ring/hash_ring.hpp"

namespace cuckoo::core {

// How the type of the key's column changes a key before it is hashed.
enum class RingKeyType : uint8_t { kNone, kText, kNumeric, kReal };
inline constexpr size_t kRingKeyTypes = 4;

// The ring is built().
uint64_t ring_mark(const HashRing& ring, RingKeyType key_type) noexcept;
// Returns 16 hexadecimal digits.
std::string mark_text(uint64_t mark);

}  // namespace cuckoo::core
