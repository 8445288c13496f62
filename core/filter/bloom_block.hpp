// One block of a blocked Bloom filter: 512 bits, one cache line, in which a key sets 8 bits.
//
// Layout
//   lane l (0 … 7) = bytes 8·l … 8·l + 7, little-endian. Of a key's 64-bit mask, bits 6·l … 6·l + 5
//   say which of the lane's 64 bits is the key's; bits 48 … 63 are unused.
//
// Invariants
//   I1  there is no branch on a block's bits, so a hit costs as much as a miss.
//   I2  PortableBlock and Avx2Block give the same answers and leave the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/base/processor.hpp"

namespace cuckoo::core {

struct PortableBlock {
  // Tests whether the bits of some masks are set in some blocks.
  class Test {
   public:
    void look(const std::byte* block, uint64_t mask) noexcept {
      for (unsigned lane = 0; lane < 8; ++lane) {
        all_ &= load_le<uint64_t>(block + size_t{8} * lane) >> ((mask >> (6 * lane)) & 63);
      }
    }
    bool holds() const noexcept { return all_ != 0; }

   private:
    uint64_t all_ = 1;
  };

  // Sets the bits of the mask. Returns how many were not set before.
  static uint32_t add(std::byte* block, uint64_t mask) noexcept {
    uint32_t added = 8;
    for (unsigned lane = 0; lane < 8; ++lane) {
      std::byte* const at = block + size_t{8} * lane;
      const auto bits = load_le<uint64_t>(at);
      const auto bit = static_cast<unsigned>((mask >> (6 * lane)) & 63);
      added -= static_cast<uint32_t>((bits >> bit) & 1);
      store_le(at, bits | (uint64_t{1} << bit));
    }
    return added;
  }
};

#if CUCKOO_HAS_AVX2_CODE

class Avx2Block {
 public:
  class Test {
   public:
    CUCKOO_AVX2 Test() noexcept : missing_(_mm256_setzero_si256()) {}
    CUCKOO_AVX2 void look(const std::byte* block, uint64_t mask) noexcept {
      const Lanes key = bits_of(mask);
      const auto* const lanes = reinterpret_cast<const __m256i*>(block);
      missing_ = _mm256_or_si256(
          missing_, _mm256_or_si256(_mm256_andnot_si256(_mm256_loadu_si256(lanes), key.low),
                                    _mm256_andnot_si256(_mm256_loadu_si256(lanes + 1), key.high)));
    }
    CUCKOO_AVX2 bool holds() const noexcept { return _mm256_testz_si256(missing_, missing_) != 0; }

   private:
    __m256i missing_;
  };

  CUCKOO_AVX2 static uint32_t add(std::byte* block, uint64_t mask) noexcept {
    const Lanes key = bits_of(mask);
    auto* const lanes = reinterpret_cast<__m256i*>(block);
    const __m256i low = _mm256_loadu_si256(lanes);
    const __m256i high = _mm256_loadu_si256(lanes + 1);
    _mm256_storeu_si256(lanes, _mm256_or_si256(low, key.low));
    _mm256_storeu_si256(lanes + 1, _mm256_or_si256(high, key.high));
    return 8 - lanes_without(_mm256_andnot_si256(low, key.low)) -
           lanes_without(_mm256_andnot_si256(high, key.high));
  }

 private:
  struct Lanes {
    __m256i low;  // lanes 0 … 3
    __m256i high;
  };

  // The shift uses all 64 bits of a count, so each is cut to 6.
  CUCKOO_AVX2 static Lanes bits_of(uint64_t mask) noexcept {
    const __m256i all = _mm256_broadcastq_epi64(_mm_cvtsi64_si128(static_cast<long long>(mask)));
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i six_bits = _mm256_set1_epi64x(63);
    const __m256i low = _mm256_srlv_epi64(all, _mm256_setr_epi64x(0, 6, 12, 18));
    const __m256i high = _mm256_srlv_epi64(all, _mm256_setr_epi64x(24, 30, 36, 42));
    return {_mm256_sllv_epi64(one, _mm256_and_si256(low, six_bits)),
            _mm256_sllv_epi64(one, _mm256_and_si256(high, six_bits))};
  }

  CUCKOO_AVX2 static uint32_t lanes_without(__m256i bits) noexcept {
    const __m256i none = _mm256_cmpeq_epi64(bits, _mm256_setzero_si256());
    const int lanes = _mm256_movemask_pd(_mm256_castsi256_pd(none));
    return static_cast<uint32_t>(__builtin_popcount(static_cast<unsigned>(lanes)));
  }
};

#else

using Avx2Block = PortableBlock;

#endif

}  // namespace cuckoo::core
