// Both buckets of a hash at once, in the eight lanes of an AVX2 register: the first bucket's four
// values, then the second's, each decoded to 32 bits as BucketBits::read() gives them.
//
// For shapes of up to kMaxLaneLowBits low bits. The compiler knows the shape, so masks, shifts and
// shuffles are constants. There is no branch on the buckets' values, so present and absent keys
// cost the same in any order.
//
// Invariants
//   I1  answers and bytes are those of BucketBits.
//   I2  nothing is read beyond PageSet::kSlackBytes after a page's content.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/base/processor.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/bucket_bits.hpp"

namespace cuckoo::core {

// A low part of at most so many bits is in four bytes. It begins up to 7 bits after a byte's first
// bit, and up to 7 bits later because of the bucket's own shift.
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

  // Returns whether the fingerprint is in one of them.
  CUCKOO_AVX2 bool hold(uint64_t fingerprint) const noexcept {
    const __m256i wanted = _mm256_set1_epi32(static_cast<int>(fingerprint));
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(values_, wanted)) != 0;
  }
  // Returns a bit for each empty slot, the first bucket's in bits 0 … 3, the second's in 4 … 7.
  CUCKOO_AVX2 uint32_t empty_slots() const noexcept {
    const __m256i empty = _mm256_cmpeq_epi32(values_, _mm256_setzero_si256());
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(empty)));
  }

  // Returns whether the first slot is empty, which means that a sorted bucket has room: the first
  // bucket's answer in bit 0, the second's in bit 1.
  CUCKOO_AVX2 uint32_t have_room() const noexcept {
    const uint32_t empty = empty_slots();
    return (empty & 1) | (empty >> (kBucketSlots - 1) & 2);
  }
  CUCKOO_AVX2 std::array<uint32_t, 2 * kBucketSlots> values() const noexcept {
    std::array<uint32_t, 2 * kBucketSlots> values;
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(values.data()), values_);
    return values;
  }

  // A bucket with one fingerprint more.
  class Grown {
   public:
    // Returns whether it was sorted before. If not, the fingerprint may have taken another's place.
    CUCKOO_AVX2 bool sorted() const noexcept { return _mm_testz_si128(unsorted_, unsorted_) != 0; }
    // As encode_bucket_in_word().
    CUCKOO_AVX2 uint64_t encode() const noexcept;

   private:
    friend BucketPair;
    // The first slot is empty. The slots above move down to below the fingerprint: each becomes the
    // largest of itself and the smaller of the fingerprint and its upper neighbour.
    CUCKOO_AVX2 Grown(__m128i values, uint64_t fingerprint) noexcept {
      const __m128i above = _mm_alignr_epi8(_mm_set1_epi32(INT32_MAX), values, 4);
      const __m128i wanted = _mm_set1_epi32(static_cast<int>(fingerprint));
      values_ = _mm_max_epu32(values, _mm_min_epu32(wanted, above));
      unsorted_ = _mm_cmpgt_epi32(values, above);
    }
    __m128i values_;
    __m128i unsorted_;
  };
  // Returns bucket 0 or 1, whose first slot is empty, with the fingerprint.
  CUCKOO_AVX2 Grown with(uint8_t which, uint64_t fingerprint) const noexcept {
    return {half(which), fingerprint};
  }
  // Does the same, but one of the bucket's values, or an empty slot, makes room for the
  // fingerprint.
  CUCKOO_AVX2 Grown with(uint8_t which, uint64_t fingerprint, uint64_t instead_of) const noexcept {
    const __m128i values = half(which);
    const __m128i leaving = _mm_cmpeq_epi32(values, _mm_set1_epi32(static_cast<int>(instead_of)));
    const auto slots = static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(leaving)));
    assert(slots != 0);
    const auto slot = static_cast<size_t>(std::countr_zero(slots));
    return {_mm_shuffle_epi8(values, load(kWithout[slot].data())), fingerprint};
  }
  // Writes a bucket's bits to the place where it was read, which can be changed.
  static void write(const BucketBits::Address& at, uint64_t bits) noexcept {
    const uint32_t shift = kWholeBytes ? 0 : at.shift;
    const uint64_t mask = static_cast<uint64_t>(low_bits_mask(kBits)) << shift;
    std::byte* const to = const_cast<std::byte*>(at.bytes);
    store_le(to, (load_le<uint64_t>(to) & ~mask) | (bits << shift & mask));
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
  // [slot]: that slot goes, and the slots below move up into its place.
  static constexpr std::array<std::array<uint8_t, 16>, kBucketSlots> make_without() {
    std::array<std::array<uint8_t, 16>, kBucketSlots> without{};
    for (uint32_t slot = 0; slot < kBucketSlots; ++slot) {
      for (uint32_t at = 0; at < 16; ++at) {
        const uint32_t from = at / 4 > slot ? at : at - 4;
        without[slot][at] = at < 4 ? 0x80 : static_cast<uint8_t>(from);
      }
    }
    return without;
  }
  alignas(32) static constexpr std::array<std::array<uint32_t, 8>, 2> kHalves = {
      {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 6, 7, 0, 1, 2, 3}}};
  alignas(16) static constexpr std::array<std::array<uint8_t, 16>, kBucketSlots> kWithout =
      make_without();
  alignas(32) static constexpr std::array<uint8_t, 32> kShuffle = make_shuffle();
  alignas(32) static constexpr std::array<uint32_t, 8> kWholeByteShifts = make_whole_byte_shifts();
  alignas(16) static constexpr std::array<std::array<uint32_t, kBucketSlots>, 8> kShifts =
      make_shifts();

  CUCKOO_AVX2 __m128i half(uint8_t which) const noexcept {
    return _mm256_castsi256_si128(
        _mm256_permutevar8x32_epi32(values_, load_constant(kHalves[which].data())));
  }

  CUCKOO_AVX2 static __m128i load(const void* from) noexcept {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
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
    return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(static_cast<int>(ranks[rank(at)])));
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

template <uint32_t kLowBits, uint32_t kRankBits>
CUCKOO_AVX2 inline uint64_t BucketPair<kLowBits, kRankBits>::Grown::encode() const noexcept {
  static_assert(fits_one_word(kBits));
  const __m128i first_bytes = _mm_setr_epi8(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const auto highs = static_cast<uint32_t>(
      _mm_cvtsi128_si32(_mm_shuffle_epi8(_mm_srli_epi32(values_, kLowBits), first_bytes)));
  const uint64_t rank =
      encode_rank(highs & 0xFF, highs >> 8 & 0xFF, highs >> 16 & 0xFF, highs >> 24);
  const __m128i lows = _mm_and_si128(values_, _mm_set1_epi32((1 << kLowBits) - 1));
  // Two low parts side by side: those of slots 0 and 1 in lane 0, of slots 2 and 3 in lane 2.
  const __m128i pairs = _mm_or_si128(lows, _mm_srli_epi64(lows, 32 - kLowBits));
  const uint64_t low01 = static_cast<uint32_t>(_mm_cvtsi128_si32(pairs));
  const uint64_t low23 = static_cast<uint32_t>(_mm_extract_epi32(pairs, 2));
  return low01 | low23 << (2 * kLowBits) | rank << (kBucketSlots * kLowBits);
}

#endif

}  // namespace cuckoo::core
