// A mark of a ring: 64 bits. Two rings have equal marks if every key has the same owners in both,
// replicas too. If a key has others, the marks differ, except by a chance of 2^-64.
//
// What the mark is a hash of
//   how a key becomes a position    seed (ring, slots) or key hash (ketama), the type of the key's
//                                   column, how ketama reads a REAL
//   which node owns which positions (last position, owner's name) of each run of places that has
//                                   one owner; the places are points, or the ends of slots
// No more than that: neither ids nor weights, vnodes or the history, where owners don't change with
// them. A run, not a place, because a point whose successor has the same owner decides nothing.
// A ring with one owner for all keys is that owner's name, whatever its options.
//
// Places that coincide with another node's own no key, but count as replicas, so they are runs,
// too. Two rings with other points that coincide otherwise, and yet give equal replicas everywhere,
// have different marks. With ring that is a chance of 2^-40; in ketama names would have to be made
// for it.
#pragma once

#include <cstdint>
#include <string>

#include "core/ring/hash_ring.hpp"

namespace cuckoo {

// What the type of the key's column makes of a key before it is hashed.
enum class RingKeyType : uint8_t { kNone, kText, kNumeric, kReal };
inline constexpr size_t kRingKeyTypes = 4;

// The ring is built().
uint64_t ring_mark(const HashRing& ring, RingKeyType key_type) noexcept;
// 16 hexadecimal digits.
std::string mark_text(uint64_t mark);

}  // namespace cuckoo
