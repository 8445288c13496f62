// One keyed 64-bit hash for every key: XXH3_64bits with the table's seed.
//
// Invariants
//   I1  keys that SQLite calls equal under BINARY collation hash equally: a real with an integral
//       value in the range of a 64-bit integer hashes as that integer (1.0 as 1, -0.0 as 0).
//   I2  integers, reals, texts and blobs are hashed under four different seeds, so '1', x'31' and 1
//       are unrelated keys.
//   I3  the hash does not depend on the machine's byte order.
//
// A filter keeps only the leading bits of it, the logged hash: 47 bits (a log entry of 6 bytes with
// its remove bit) or 63 (8 bytes), left-aligned, the low bits zero. Probing with more bits than
// were logged would lose keys after a rebuild. So everything below the table sees only the logged
// hash.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/bytes.hpp"
#include "core/base/mix.hpp"

namespace cuckoo {

// This matters because real keys are hashed, and sizes, weights and quotas are computed with reals
// and stored.
static_assert(FLT_EVAL_METHOD == 0, "reals must not be computed with more bits than they have");

enum class KeyKind : uint64_t { kInteger = 0, kReal = 1, kText = 2, kBlob = 3 };

inline uint64_t hash_bytes(KeyKind kind, std::span<const std::byte> bytes, uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(),
                              seed + static_cast<uint64_t>(kind) * kGoldenStep);
}

inline uint64_t hash_integer(int64_t value, uint64_t seed) noexcept {
  std::byte bytes[8];
  store_le(bytes, static_cast<uint64_t>(value));
  return hash_bytes(KeyKind::kInteger, bytes, seed);
}

inline uint64_t hash_real(double value, uint64_t seed) noexcept {
  // -2^63 and 2^63 are doubles; every double in [-2^63, 2^63) converts without overflow.
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0) {
    const auto integer = static_cast<int64_t>(value);
    if (static_cast<double>(integer) == value) {
      return hash_integer(integer, seed);
    }
  }
  std::byte bytes[8];
  store_le(bytes, bits_of(value));
  return hash_bytes(KeyKind::kReal, bytes, seed);
}

// How many leading bits of a hash a table logs, and so uses.
enum class HashWidth : uint8_t { k47Bits = 47, k63Bits = 63 };

inline uint64_t logged_hash(uint64_t hash, HashWidth width) noexcept {
  return hash & (~uint64_t{0} << (64 - static_cast<unsigned>(width)));
}

}  // namespace cuckoo
