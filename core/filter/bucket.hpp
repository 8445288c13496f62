// The semi-sorted bucket: four fingerprints in 4·l + b bits.
//
// A slot's value is 0 (empty) or a fingerprint 1 … S, S = r·2^l - 1; value = high·2^l + low with
// 0 <= high < r. The four values are kept sorted. The bucket stores the four l-bit lows and,
// instead of the four highs, the rank of their multiset. Only C(r+3, 4) <= 2^b multisets exist, so
// this saves one bit a slot (Fan et al., "Cuckoo Filter", CoNEXT 2014, section 5.2; here for any
// radix, so that the false positive rate comes in quarter-bit steps).
//
// Layout, bit 0 first:   low0 | low1 | low2 | low3 | rank     (lows l bits each, rank b bits)
//
//   b    r    C(r+3,4)
//   12   16   3,876  of  4,096
//   13   19   7,315  of  8,192
//   14   23  14,950  of 16,384
//   15   28  31,465  of 32,768
//
// Invariants
//   I1  rank < C(r+3, 4).
//   I2  the decoded values are sorted, ascending.
//   I3  an all-zero bucket is an empty one.
// The rank (combinatorial number system, high0 <= … <= high3) does not depend on r:
//   rank = C(high0, 1) + C(high1 + 1, 2) + C(high2 + 2, 3) + C(high3 + 3, 4).
#pragma once

#include <array>
#include <cstdint>

#include "core/base/bytes.hpp"

namespace cuckoo::core {

inline constexpr unsigned kBucketSlots = 4;
// The most copies of one hash that its two buckets hold. An insert of more at once puts them all
// into the overflow table, so that the buckets stay free for others.
inline constexpr uint64_t kMaxCopiesInBuckets = 2 * kBucketSlots;

struct BucketShape {
  uint32_t radix = 16;      // r: 16, 19, 23 or 28
  uint32_t low_bits = 0;    // l: 0 … 29
  uint32_t rank_bits = 12;  // b

  uint32_t bits() const noexcept { return kBucketSlots * low_bits + rank_bits; }
  uint64_t fingerprints() const noexcept { return (uint64_t{radix} << low_bits) - 1; }  // S
  uint32_t rank_count() const noexcept;                                                 // C(r+3, 4)

  friend bool operator==(const BucketShape&, const BucketShape&) = default;
};

inline constexpr uint32_t kMaxLowBits = 29;

// Gives the shape with that radix. Returns false if there is none: the radix is 16, 19, 23 or 28,
// and a shape has at most 128 bits (so 29 low bits go with radix 16 only).
bool make_bucket_shape(uint32_t radix, uint32_t low_bits, BucketShape& shape) noexcept;

// Gives the narrowest shape with at least that many fingerprints. Returns false if none has.
bool narrowest_bucket_shape(uint64_t fingerprints, BucketShape& shape) noexcept;

using BucketValues = std::array<uint64_t, kBucketSlots>;

// Returns the table that has the highs of each of 2^15 ranks, one a byte, slot 0 in the lowest
// byte. Ranks from 31,465 on decode too (to highs of 28), so a damaged rank never reads beyond the
// table.
const uint32_t* rank_table() noexcept;

inline constexpr uint32_t kHighs = 29;  // 0 … 28, to which the ranks in that table decode

// C(n, k); n <= 31
constexpr uint32_t choose(uint32_t n, uint32_t k) {
  if (n < k) {
    return 0;
  }
  uint32_t result = 1;
  for (uint32_t i = 0; i < k; ++i) {
    result = result * (n - i) / (i + 1);
  }
  return result;
}

// [slot][high]: the share of that high in that slot in the rank, C(high + slot, slot + 1)
using RankTerms = std::array<std::array<uint16_t, 32>, kBucketSlots>;
constexpr RankTerms make_rank_terms() {
  RankTerms terms{};
  for (uint32_t slot = 0; slot < kBucketSlots; ++slot) {
    for (uint32_t high = 0; high < kHighs; ++high) {
      terms[slot][high] = static_cast<uint16_t>(choose(high + slot, slot + 1));
    }
  }
  return terms;
}
inline constexpr RankTerms kRankTerms = make_rank_terms();

inline uint32_t encode_rank(uint32_t high0, uint32_t high1, uint32_t high2,
                            uint32_t high3) noexcept {
  return uint32_t{kRankTerms[0][high0]} + kRankTerms[1][high1] + kRankTerms[2][high2] +
         kRankTerms[3][high3];
}

// Encodes values in any order. (core/filter/bucket_bits.hpp decodes them in their page.)
uint128 encode_bucket(const BucketShape& shape, BucketValues values) noexcept;
// The same for a shape of at most 64 bits.
uint64_t encode_bucket_in_word(const BucketShape& shape, BucketValues values) noexcept;

// Tells which of several adjacent low parts in one word equal a given one, all in one pass, without
// a branch.
//
// A lane of x = lanes XOR broadcast(low) is zero where they are equal. (x & body) + body carries
// into the lane's top bit exactly when a bit below the top is set, and never beyond it (body + body
// < 2^l); OR x adds the top bit itself. So the test is exact, also for a lane beside an equal one.
struct LaneTest {
  uint64_t lanes = 0;  // all bits of all lanes
  uint64_t ones = 0;   // the lowest bit of each: x * ones broadcasts x
  uint64_t body = 0;   // all but the highest bit of each
  uint64_t top = 1;    // the highest bit of each
  uint32_t top_shift = 0;

  // lane_bits * lane_count <= 64. Lanes of no bits are always equal, and have one flag for all.
  static LaneTest make(uint32_t lane_bits, uint32_t lane_count) noexcept;

  // Returns the top bits of the lanes that equal `low`. Shifted right by top_shift, lane j's is bit
  // j·l.
  uint64_t equal(uint64_t bits, uint64_t low) const noexcept {
    const uint64_t x = (bits & lanes) ^ (low * ones);
    return ~(((x & body) + body) | x) & top;
  }
};

// Returns bit 7 of each byte of `highs` that equals `high`. All of them are below 32, so no byte of
// the difference borrows from the next.
inline uint32_t equal_highs(uint32_t highs, uint32_t high) noexcept {
  return (0x80808080u - (highs ^ (high * 0x01010101u))) & 0x80808080u;
}

}  // namespace cuckoo::core
