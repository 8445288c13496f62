// Computes a Bloom filter's geometry for a number of keys and a rate; and back, the rate and the
// cells in use for a number of keys.
//
// Invariants
//   I1  these are pure functions of their arguments, and the same on every machine. Sizes,
//       expected_cells() and full() use only + - * / and sqrt, because IEEE 754 rounds these alike
//       everywhere. (The log of a C library is not the same everywhere. Only the legacy size uses
//       it, as other programs do for that file, and keys_for_cells(), which decides nothing.)
//   I2  a geometry is valid: 1 … 2^47 cells, 1 … 64 hashes or 1 … 4 blocks per key; a blocked
//       filter has at least as many blocks as a key takes; a legacy one a multiple of 64 bits below
//       2^32.
//
// Rates. Each key sets k cells of m; y = -k·n·ln(1 - 1/m).
//   standard, counting   the part of the cells in use: u = 1 - e^-y; its variance
//                        v = (e^-y - (1 + y)·e^-2y)/m. An absent key meets k of them: u^k, and on
//                        average over filters u^k·(1 + C(k,2)·v/u^2). The second factor matters in
//                        small filters, such as 100 keys at a rate of 1e-6.
//   blocked              a key sets a bit in each of 8 lanes of 64 bits in each of b blocks, one
//                        in each of b equal ranges of blocks. j keys fall in a block of a range of
//                        s blocks with Binomial(n, 1/s) probability (Poisson, except for small n),
//                        and then an absent key passes it with (1 - (63/64)^j)^8. The rate is the
//                        product over the ranges of the mean over j.
//
// Sizes. The rate of one filter differs from that mean by chance, by a relative standard deviation
// d (for 1 %: 1 % at 10,000 keys, 12 % at 100). A filter is sized so that mean·(1 + d) is at most
// the rate asked for. That takes 0.3 % more bits at 10,000 keys, 3 % at 100.
//   k   standard, counting: round(-log2 rate). Blocked: the fewest blocks per key whose bits are at
//       most 2 % more than the fewest possible: 1 down to 7e-4, 2 to 2e-6, 3 to 6e-9, else 4.
//   m   the smallest that holds the rate with that k. A filter for fewer than 16 keys has the m of
//       16: a counting one may take a key more than it was made for, which would fill a smaller m.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"
#include "core/filter/sizing.hpp"

namespace cuckoo::core {

inline constexpr double kMinBloomRate = kMinRate / 64;  // 2^-36: for one of many generations
inline constexpr double kMinBitsPerKey = 1;
inline constexpr double kMaxBitsPerKey = 128;
inline constexpr double kFewestSizedKeys = 16;
inline constexpr uint32_t kMaxBloomHashes = 64;
inline constexpr uint32_t kMaxBlocksPerKey = 4;
inline constexpr uint32_t kBlockBits = 512;
inline constexpr uint32_t kBlockBytes = kBlockBits / 8;
inline constexpr uint32_t kBlockLanes = 8;
inline constexpr uint64_t kMaxBloomCells = uint64_t{1} << 47;  // 2^40 keys of 128 bits
inline constexpr uint64_t kMaxLegacyBits = (uint64_t{1} << 32) - 64;

struct BloomGeometry {
  FilterKind kind = FilterKind::kBloom;
  uint64_t size = 1;    // bits, counters or blocks of 512 bits
  uint32_t hashes = 1;  // k; blocks per key when blocked
  uint32_t page_bytes = kPageBytes;

  bool blocked() const noexcept { return kind == FilterKind::kBlockedBloom; }
  bool counting() const noexcept { return kind == FilterKind::kCountingBloom; }
  uint64_t cells() const noexcept { return blocked() ? size * kBlockBits : size; }
  uint32_t cell_bits() const noexcept { return counting() ? 4 : 1; }
  uint64_t bits() const noexcept { return cells() * cell_bits(); }
  uint32_t cells_per_page() const noexcept { return page_bytes * 8 / cell_bits(); }
  // Returns the cells that a key sets if no two of its hashes meet.
  uint32_t cells_per_key() const noexcept { return blocked() ? hashes * kBlockLanes : hashes; }
  uint64_t page_count() const noexcept {
    return (cells() + cells_per_page() - 1) / cells_per_page();
  }
  uint64_t cells_in_page(uint64_t index) const noexcept;  // index < page_count()
  // Returns the bytes of page `index` that hold cells; a byte that is begun counts in full. The
  // last page is cut to that.
  uint32_t content_bytes(uint64_t index) const noexcept;
  // Blocked: a key's i-th block is one of [first_block(i), first_block(i + 1)). The lengths of the
  // segments differ by at most one block, and none is empty.
  uint64_t first_block(uint32_t i) const noexcept { return size * i / hashes; }
  GeometryWords words() const noexcept { return {size, hashes, 0}; }

  friend bool operator==(const BloomGeometry&, const BloomGeometry&) = default;
};

// Returns the geometry for a rate. capacity 1 … 2^40, rate 2^-36 … 0.25 with capacity/rate at most
// 2^60, hashes 1 … 64 or 0: the best (always 0 when blocked). kInvalid otherwise, and if more than
// 2^47 cells (legacy: 2^32 bits) would be needed.
Result<BloomGeometry> size_bloom(FilterKind kind, uint64_t capacity, double rate, uint32_t hashes,
                                 uint32_t page_bytes);
// Returns the geometry for a size. bits_per_key 1 … 128: m/n. Counting: counters per key, each of 4
// bits.
Result<BloomGeometry> size_bloom_bits(FilterKind kind, uint64_t capacity, double bits_per_key,
                                      uint32_t hashes, uint32_t page_bytes);
// Returns a stored geometry (I2); kCorrupt if there is none like that.
Result<BloomGeometry> stored_bloom(FilterKind kind, const GeometryWords& words,
                                   uint32_t page_bytes);

// The mean rate over all filters with `keys` distinct keys, and how much one filter's rate differs:
// its standard deviation divided by the mean.
struct BloomRate {
  double mean = 0;
  double deviation = 0;
};
BloomRate bloom_rate(const BloomGeometry& geometry, double keys) noexcept;

// Return how many cells `keys` distinct keys use on average, and how many keys use so many cells.
// If all cells are in use, half a cell less is taken, so that the keys are never infinite.
double expected_cells(const BloomGeometry& geometry, double keys) noexcept;
double keys_for_cells(const BloomGeometry& geometry, uint64_t cells) noexcept;

// Returns true if the cells in use mean at least `capacity` keys plus so many standard deviations
// of that estimate at capacity. Six of them never come by chance. Then the filter has keys that
// were not counted, because they were false positives.
inline constexpr double kCertain = 6;
bool cells_reach(const BloomGeometry& geometry, uint64_t occupied, uint64_t capacity,
                 double deviations) noexcept;

}  // namespace cuckoo::core
