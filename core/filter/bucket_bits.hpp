// Reading and writing a bucket's bits where they stand in a page (core/filter/bucket.hpp says what
// they mean): at any bit offset, in words that are loaded unaligned.
//
// Invariants
//   I1  nothing is read or written beyond PageSet::kSlackBytes behind a page's content.
//   I2  bits of other buckets are never changed, not even when a damaged page decodes to values
//       that no bucket of the shape can hold.
//
// hold() is the hot path of every probe: low parts are compared first, all lanes of a word in one
// pass, so that a negative rarely decodes the rank.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bytes.hpp"
#include "core/filter/bucket.hpp"

namespace cuckoo {

class BucketBits {
 public:
  // Where a bucket's first bit is.
  struct Address {
    const std::byte* bytes;
    uint32_t shift;  // 0 … 7
  };

  explicit BucketBits(const BucketShape& shape) noexcept;

  Address address(const std::byte* page, uint64_t bucket_in_page) const noexcept {
    const uint64_t bit = bucket_in_page * bits_;
    return {page + (bit >> 3), static_cast<uint32_t>(bit & 7)};
  }

  // Is the fingerprint in one of two buckets?
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
  // Values in any order.
  void write(std::byte* page, uint64_t bucket_in_page, const BucketValues& values) const noexcept;

 private:
  bool one_word() const noexcept { return lanes_per_word_ == kBucketSlots; }
  static uint64_t load_word(const Address& at) noexcept {
    return load_le<uint64_t>(at.bytes) >> at.shift;
  }
  // May hold bits of the next bucket above this one's.
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
  // Bit 0: for some j both bit j·l of lows and bit 8·j of highs are set.
  uint64_t both(uint64_t lows, uint64_t highs) const noexcept {
    const uint32_t l = shape_.low_bits;
    return (lows & highs) | ((lows >> l) & (highs >> 8)) | ((lows >> (2 * l)) & (highs >> 16)) |
           ((lows >> (3 * l)) & (highs >> 24));
  }
  // Bit 0: a lane holds the fingerprint (high, and low by the flags of LaneTest::equal).
  uint64_t matches(uint64_t word, uint64_t flags, uint32_t high) const noexcept {
    const uint64_t lows = flags >> lane_test_.top_shift;
    const uint32_t rank = static_cast<uint32_t>(word >> rank_shift_) & rank_mask_;
    return both(lows, equal_highs(ranks_[rank], high) >> 7);
  }
  bool words_hold(uint64_t word1, uint64_t word2, uint64_t fingerprint) const noexcept {
    const uint64_t low = fingerprint & low_mask_;
    const uint64_t flags1 = lane_test_.equal(word1, low);
    const uint64_t flags2 = lane_test_.equal(word2, low);
    if ((flags1 | flags2 | always_decode_) == 0) {
      return false;
    }
    const auto high = static_cast<uint32_t>(fingerprint >> shape_.low_bits);
    return ((matches(word1, flags1, high) | matches(word2, flags2, high)) & 1) != 0;
  }
  bool wide_hold(const Address& at1, const Address& at2, uint64_t fingerprint) const noexcept;
  bool wide_matches(const Address& at, uint64_t fingerprint) const noexcept;

  BucketShape shape_;
  uint32_t bits_;            // of a bucket
  uint32_t lanes_per_word_;  // 4: a whole bucket is read in one 64-bit load; else 2
  LaneTest lane_test_;
  uint64_t always_decode_;  // not 0: so few low bits that testing them first does not pay
  uint64_t low_mask_;
  uint32_t rank_shift_;
  uint32_t rank_mask_;
  const uint32_t* ranks_;
};

}  // namespace cuckoo
