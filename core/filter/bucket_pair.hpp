// Both buckets of a hash at once, in the eight lanes of an AVX2 register: the first bucket's four
// values, then the second's, each decoded to 32 bits as BucketBits::read() gives them.
//
// For a shape of up to kMaxLaneLowBits low bits, which is known to the compiler: masks, shifts and
// shuffles are constants.
//
// Invariants
//   I1  without a branch on what the buckets hold: present and absent, in any order, cost the same.
//   I2  the answers are those of BucketBits.
//   I3  nothing is read beyond PageSet::kSlackBytes behind a page's content.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/base/processor.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/bucket_bits.hpp"

namespace cuckoo {

// A low part of so many bits, which begins at any of the first 7 bits of a byte and then up to 7
// bits later (the bucket's own shift), is in four bytes.
inline constexpr uint32_t kMaxLaneLowBits = 32 - 7 - 7;

#if CUCKOO_HAS_AVX2_CODE

template <uint32_t kLowBits, uint32_t kRankBits>
class BucketPair {
  static_assert(kLowBits <= kMaxLaneLowBits);

 public:
  static constexpr uint32_t kBits = kBucketSlots * kLowBits + kRankBits;
  // Buckets that all begin with a byte: their shifts are 0.
  static constexpr bool kWholeBytes = kBits % 8 == 0;

  CUCKOO_AVX2 BucketPair(const BucketBits::Address& at1, const BucketBits::Address& at2,
                         const uint32_t* ranks) noexcept {
    const __m256i bits =
        _mm256_inserti128_si256(_mm256_castsi128_si256(load(at1.bytes)), load(at2.bytes), 1);
    const __m256i shuffled = _mm256_shuffle_epi8(bits, load_constant(kShuffle.data()));
    const __m256i lows =
        _mm256_srli_epi32(_mm256_sllv_epi32(shuffled, shifts(at1, at2)), 32 - kLowBits);
    const __m256i highs = _mm256_inserti128_si256(_mm256_castsi128_si256(highs_of(at1, ranks)),
                                                  highs_of(at2, ranks), 1);
    values_ = _mm256_or_si256(lows, _mm256_slli_epi32(highs, kLowBits));
  }

  // Is the fingerprint in one of them?
  CUCKOO_AVX2 bool hold(uint64_t fingerprint) const noexcept {
    const __m256i wanted = _mm256_set1_epi32(static_cast<int>(fingerprint));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(values_, wanted)) != 0;
  }

 private:
  // Brings the four bytes of each low part into its lane.
  static constexpr std::array<uint8_t, 32> make_shuffle() {
    std::array<uint8_t, 32> shuffle{};
    for (uint32_t at = 0; at < 32; ++at) {
      const uint32_t slot = at % 16 / 4;
      shuffle[at] = static_cast<uint8_t>(slot * kLowBits / 8 + at % 4);
    }
    return shuffle;
  }
  // [shift of the bucket][slot]: how far the low part ends before its lane does
  static constexpr std::array<std::array<uint32_t, kBucketSlots>, 8> make_shifts() {
    std::array<std::array<uint32_t, kBucketSlots>, 8> shifts{};
    for (uint32_t shift = 0; shift < 8; ++shift) {
      for (uint32_t slot = 0; slot < kBucketSlots; ++slot) {
        shifts[shift][slot] = 32 - kLowBits - slot * kLowBits % 8 - shift;
      }
    }
    return shifts;
  }
  static constexpr std::array<uint32_t, 8> make_whole_byte_shifts() {
    std::array<uint32_t, 8> shifts{};
    for (uint32_t lane = 0; lane < 8; ++lane) {
      shifts[lane] = 32 - kLowBits - lane % kBucketSlots * kLowBits % 8;
    }
    return shifts;
  }
  alignas(32) static constexpr std::array<uint8_t, 32> kShuffle = make_shuffle();
  alignas(32) static constexpr std::array<uint32_t, 8> kWholeByteShifts = make_whole_byte_shifts();
  alignas(16) static constexpr std::array<std::array<uint32_t, kBucketSlots>, 8> kShifts =
      make_shifts();

  CUCKOO_AVX2 static __m128i load(const std::byte* from) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  }
  CUCKOO_AVX2 static __m256i load_constant(const void* from) noexcept {
    return _mm256_load_si256(static_cast<const __m256i*>(from));
  }
  CUCKOO_AVX2 static __m128i shifts(uint32_t shift) noexcept {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(kShifts[shift].data()));
  }
  CUCKOO_AVX2 static __m256i shifts(const BucketBits::Address& at1,
                                    const BucketBits::Address& at2) noexcept {
    return kWholeBytes ? load_constant(kWholeByteShifts.data())
                       : _mm256_inserti128_si256(_mm256_castsi128_si256(shifts(at1.shift)),
                                                 shifts(at2.shift), 1);
  }
  CUCKOO_AVX2 static __m128i highs_of(const BucketBits::Address& at,
                                      const uint32_t* ranks) noexcept {
    return _mm_cvtepu8_epi32(_mm_loadu_si32(ranks + rank(at)));
  }
  static uint32_t rank(const BucketBits::Address& at) noexcept {
    constexpr uint32_t kRankAt = kBucketSlots * kLowBits;
    if constexpr (kWholeBytes && kBits >= 32) {
      return load_le<uint32_t>(at.bytes + (kBits - 32) / 8) >> (32 - kRankBits);
    } else {  // a shift of at most 7 + 4, and at most 15 bits
      return (load_le<uint32_t>(at.bytes + kRankAt / 8) >> (at.shift + kRankAt % 8)) &
             ((uint32_t{1} << kRankBits) - 1);
    }
  }

  __m256i values_;
};

#endif

}  // namespace cuckoo
