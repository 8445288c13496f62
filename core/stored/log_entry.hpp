// What a log of hashes is made of.
//
// An entry is a 64-bit word: a logged hash, whose low bits are zero, with bit 0 set for a remove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"
#include "core/base/result.hpp"

namespace cuckoo {

inline constexpr uint64_t kRemoveBit = 1;

// A 47-bit hash leaves bit 16 to the remove bit, and fits 6 bytes with it.
inline uint64_t pack_raw47(uint64_t entry) noexcept { return (entry >> 16) | (entry & kRemoveBit); }

// Returns the hash of a history that goes on with that word.
inline uint64_t chain_with(uint64_t chain, uint64_t word) noexcept {
  std::byte bytes[8];
  store_le(bytes, word);
  return XXH3_64bits_withSeed(bytes, sizeof bytes, chain);
}

// (hash, count >= 1)
using CountedHash = std::pair<uint64_t, uint64_t>;
using CountedHashSink = std::function<Status(uint64_t hash, uint64_t count)>;
// Hands ascending hashes, each once, to the sink; ends with its failure.
using HashSource = std::function<Status(const CountedHashSink& sink)>;

}  // namespace cuckoo
