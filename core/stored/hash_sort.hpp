// Log entries, or hashes, in the order of their hash.
//
// Invariants
//   I1  the result has the entries of all parts, each as often as they do.
//   I2  it ascends by hash. The remove bit takes no part: equal hashes keep the order of the parts
//       and in them.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/key_hash.hpp"
#include "core/base/large_memory.hpp"
#include "core/base/poll.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

// Radix sort, O(n) for hashes, which are uniform. Memory: the result; where most begin with the
// same ten bits, up to one and a half times as much again.
LargeVector<uint64_t> sorted_by_hash(std::span<const std::span<const uint64_t>> parts,
                                     HashWidth width);
inline LargeVector<uint64_t> sorted_by_hash(std::span<const uint64_t> entries, HashWidth width) {
  return sorted_by_hash(std::span(&entries, 1), width);
}
// … unless the poll stops it.
Result<LargeVector<uint64_t>> sorted_by_hash(std::span<const std::span<const uint64_t>> parts,
                                             HashWidth width, const Poll& poll);

}  // namespace cuckoo
