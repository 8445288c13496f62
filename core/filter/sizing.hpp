// Computes a geometry for a number of keys and a rate. These are pure functions of their arguments:
// the same numbers give the same geometry on every machine.
//
// Cuckoo filter
//   load      L(n) = 0.97 - 0.5/sqrt(n): the load to which a table of n slots can be filled. With
//             .97 for all, 3.6 % of the tables of 1000 keys would fail before they are full.
//   buckets   M = ceil(n / (4·L(n)))
//   rate      ε = 1 - (1 - 1/S)^(8·load) ≈ 1 - exp(-8·load/S): a probe compares its fingerprint
//             with all those in 2 buckets, and each is equal with a chance of 1/S.
//   S         smallest shape with ε <= 0.985·asked, so that sampling noise over seeds stays below
//             the asked rate.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/page_size.hpp"
#include "core/base/result.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::core {

inline constexpr uint64_t kMaxCapacity = uint64_t{1} << 40;
inline constexpr double kMinRate = 1.0 / (uint64_t{1} << 30);
inline constexpr double kMaxRate = 0.25;

// Checks and number texts of the sizings of both kinds of filters (bloom_sizing.hpp).
inline constexpr double kMaxKeysPerRate = 0x1p60;  // capacity / rate; see size_cuckoo()
Status check_capacity(uint64_t capacity);
std::string short_text(double number);

inline constexpr uint32_t kCuckooPlacesPerKey = 2;  // buckets

struct CuckooGeometry {
  uint64_t buckets = 1;  // M: 1 … 2^40
  BucketShape shape;
  uint32_t page_bytes = kPageBytes;

  uint64_t bits() const noexcept { return buckets * shape.bits(); }
  GeometryWords words() const noexcept { return {buckets, shape.radix, shape.low_bits}; }
  // Buckets do not straddle pages.
  uint32_t buckets_per_page() const noexcept { return page_bytes * 8 / shape.bits(); }
  uint64_t page_count() const noexcept {
    return (buckets + buckets_per_page() - 1) / buckets_per_page();
  }
  // Returns the bytes of page `index` that hold buckets: page_bytes or a few less. A byte that is
  // begun counts in full. The last page is cut to its content.
  uint32_t content_bytes(uint64_t index) const noexcept;

  friend bool operator==(const CuckooGeometry&, const CuckooGeometry&) = default;
};

double cuckoo_design_load(uint64_t capacity) noexcept;
// Returns the rate if `items` entries are stored, which may be more than the capacity.
double cuckoo_rate(const CuckooGeometry& geometry, double items) noexcept;

// Returns the geometry for a rate. capacity 1 … 2^40, rate 2^-30 … 0.25 (kInvalid otherwise). Cell
// numbers, at most 2·capacity/rate of them, stay within 64 bits.
Result<CuckooGeometry> size_cuckoo(uint64_t capacity, double rate, uint32_t page_bytes);
// Returns the geometry for a size. fingerprint_bits 4 … 32: S = 2^bits - 1.
Result<CuckooGeometry> size_cuckoo_bits(uint64_t capacity, uint32_t fingerprint_bits,
                                        uint32_t page_bytes);

}  // namespace cuckoo::core
