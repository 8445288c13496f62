// Reads and writes a bucket's bits in its page, at any bit offset, in words that are loaded
// unaligned. core/filter/bucket.hpp says what the bits mean.
//
// Invariants
//   I1  nothing is read or written beyond PageSet::kSlackBytes after a page's content.
//   I2  bits of other buckets are never changed, not even when a damaged page decodes to values
//       that no bucket of the shape can hold.
//
// hold() has no branch on the buckets' values. If some keys are there and others not, the processor
// can't foresee the next answer, and a wrong guess costs more than decoding two ranks.
// (core/filter/bucket_pair.hpp does the same in AVX2's lanes.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "core/base/bytes.hpp"
#include "core/filter/bucket.hpp"

namespace cuckoo::core {

// Returns whether each bucket can be read in one 64-bit load. Bit offsets are multiples of the
// width, so the shift is at most 8 - gcd(width, 8).
constexpr bool fits_one_word(uint32_t bits) noexcept { return bits + 8 - std::gcd(bits, 8U) <= 64; }

class BucketBits {
 public:
  // The place of a bucket's first bit.
  struct Address {
    const std::byte* bytes;
    uint32_t shift;  // 0 … 7
  };

  explicit BucketBits(const BucketShape& shape) noexcept;

  const uint32_t* ranks() const noexcept { return ranks_; }  // rank_table(), without a call

  Address address(const std::byte* page, uint64_t bucket_in_page) const noexcept {
    const uint64_t bit = bucket_in_page * bits_;
    return {page + (bit >> 3), static_cast<uint32_t>(bit & 7)};
  }

  // Returns whether the fingerprint is in one of two buckets.
  bool hold(const Address& at1, const Address& at2, uint64_t fingerprint) const noexcept {
    return one_word() ? words_hold(load_word(at1), load_word(at2), fingerprint)
                      : wide_hold(at1, at2, fingerprint);
  }
  BucketValues read(const Address& at) const noexcept {
    return one_word() ? decode(load_word(at)) : decode(load_wide(at));
  }
  // Values are sorted, so an empty slot is the first.
  bool has_empty_slot(const Address& at) const noexcept {
    if ((load_word(at) & low_mask_) != 0) {
      return false;
    }
    const uint32_t rank_at = at.shift + rank_shift_;
    const auto rank = static_cast<uint32_t>(load_word({at.bytes + (rank_at >> 3), rank_at & 7}));
    return (ranks_[rank & rank_mask_] & 0xFF) == 0;
  }
  // Writes the bits of a whole bucket, whose shape fits one word, to a place that can be changed.
  void write_word(const Address& at, uint64_t bits) const noexcept {
    std::byte* const to = const_cast<std::byte*>(at.bytes);
    const uint64_t mask = word_mask_ << at.shift;
    store_le(to, (load_le<uint64_t>(to) & ~mask) | ((bits << at.shift) & mask));
  }
  // Writes values in any order.
  void write(std::byte* page, uint64_t bucket_in_page, const BucketValues& values) const noexcept;

 private:
  bool one_word() const noexcept { return lanes_per_word_ == kBucketSlots; }
  static uint64_t load_word(const Address& at) noexcept {
    return load_le<uint64_t>(at.bytes) >> at.shift;
  }
  // The result may have bits of the next bucket above this one's.
  uint128 load_wide(const Address& at) const noexcept {
    const uint128 words =
        load_le<uint64_t>(at.bytes) | static_cast<uint128>(load_le<uint64_t>(at.bytes + 8)) << 64;
    if (at.shift + bits_ <= 128) {
      return words >> at.shift;
    }
    const auto last = static_cast<uint8_t>(at.bytes[16]);
    return words >> at.shift | static_cast<uint128>(last) << (128 - at.shift);
  }
  template <class Bits>
  BucketValues decode(Bits bits) const noexcept {
    const uint32_t l = shape_.low_bits;
    const uint32_t highs = ranks_[static_cast<uint32_t>(bits >> rank_shift_) & rank_mask_];
    const auto value = [&](unsigned slot) {
      return (static_cast<uint64_t>((highs >> (8 * slot)) & 0xFF) << l) |
             (static_cast<uint64_t>(bits >> (slot * l)) & low_mask_);
    };
    return {value(0), value(1), value(2), value(3)};
  }
  // Returns a number that is not 0 if for some j lane j has the low part (`lows` has it in each)
  // and high j is the high part. A lane of x is zero if its low part and its high part are the
  // same. If the high part differs, all its bits are set. x - ones borrows from a lane if that
  // lane, or one below it, is zero. So there may be too many bits, but only if one of them is
  // right.
  uint64_t matches(uint64_t word, uint64_t lows, uint32_t high) const noexcept {
    const uint32_t rank = static_cast<uint32_t>(word >> rank_shift_) & rank_mask_;
    // Bits 0, 8, 16 and 24 become bits 28 to 31.
    const uint32_t same = ((equal_highs(ranks_[rank], high) >> 7) * 0x10204080u) >> 28;
    const uint64_t x = ((word & lane_test_.lanes) ^ lows) | other_highs_[same];
    return (x - ones_) & ~x & tops_;
  }
  bool words_hold(uint64_t word1, uint64_t word2, uint64_t fingerprint) const noexcept {
    const uint64_t lows = (fingerprint & low_mask_) * ones_;
    const auto high = static_cast<uint32_t>(fingerprint >> shape_.low_bits);
    return (matches(word1, lows, high) | matches(word2, lows, high)) != 0;
  }
  bool wide_hold(const Address& at1, const Address& at2, uint64_t fingerprint) const noexcept;
  bool wide_matches(const Address& at, uint64_t fingerprint) const noexcept;

  BucketShape shape_;
  uint32_t bits_;            // of a bucket
  uint32_t lanes_per_word_;  // 4: a whole bucket is read in one 64-bit load; else 2
  LaneTest lane_test_;
  // Lanes of no bits count as one bit that is always zero.
  uint64_t ones_;                         // the lowest bit of each lane
  uint64_t tops_;                         // the highest
  std::array<uint64_t, 16> other_highs_;  // [which high parts are the same]: all bits of the others
  uint64_t low_mask_;
  uint64_t word_mask_;  // of a bucket that fits one word
  uint32_t rank_shift_;
  uint32_t rank_mask_;
  const uint32_t* ranks_;
};

}  // namespace cuckoo::core
