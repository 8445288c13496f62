#include "core/filter/bucket_bits.hpp"

#include <algorithm>

namespace cuckoo::core {
BucketBits::BucketBits(const BucketShape& shape) noexcept
    : shape_(shape),
      bits_(shape.bits()),
      lanes_per_word_(fits_one_word(bits_) ? kBucketSlots : 2),
      lane_test_(LaneTest::make(shape.low_bits, lanes_per_word_)),
      low_mask_((uint64_t{1} << shape.low_bits) - 1),
      word_mask_(static_cast<uint64_t>(low_bits_mask(bits_))),
      rank_shift_(kBucketSlots * shape.low_bits),
      rank_mask_((uint32_t{1} << shape.rank_bits) - 1),
      ranks_(rank_table()) {
  const uint32_t lane_bits = std::max(shape.low_bits, 1U);
  const LaneTest lanes = LaneTest::make(lane_bits, lanes_per_word_);
  ones_ = lanes.ones;
  tops_ = lanes.top;
  for (uint32_t same = 0; same < other_highs_.size(); ++same) {
    other_highs_[same] = 0;
    for (uint32_t lane = 0; lane < lanes_per_word_; ++lane) {
      if ((same >> lane & 1) == 0) {
        other_highs_[same] |= ((uint64_t{1} << lane_bits) - 1) << (lane * lane_bits);
      }
    }
  }
}

// A bucket of more than one word is read in parts, each at its own bit offset: two lanes, the other
// two, and the rank only when a low part matched. Two lanes and a shift of at most 7 fit one word
// for l <= 28; for l = 29, W = 128, the shifts are 0 and 2.
bool BucketBits::wide_matches(const Address& at, uint64_t fingerprint) const noexcept {
  const uint32_t low_bits = shape_.low_bits;
  const uint64_t low = fingerprint & low_mask_;
  const uint32_t second = at.shift + 2 * low_bits;
  const uint64_t flags01 = lane_test_.equal(load_word(at), low);
  const uint64_t flags23 = lane_test_.equal(load_word({at.bytes + (second >> 3), second & 7}), low);
  const uint32_t rank_at = at.shift + rank_shift_;
  const auto rank =
      static_cast<uint32_t>(load_word({at.bytes + (rank_at >> 3), rank_at & 7})) & rank_mask_;
  const uint32_t highs =
      equal_highs(ranks_[rank], static_cast<uint32_t>(fingerprint >> low_bits)) >> 7;
  const uint64_t lows01 = flags01 >> lane_test_.top_shift;
  const uint64_t lows23 = flags23 >> lane_test_.top_shift;
  return (((lows01 & highs) | ((lows01 >> low_bits) & (highs >> 8)) | (lows23 & (highs >> 16)) |
           ((lows23 >> low_bits) & (highs >> 24))) &
          1) != 0;
}

bool BucketBits::wide_hold(const Address& at1, const Address& at2,
                           uint64_t fingerprint) const noexcept {
  const bool held1 = wide_matches(at1, fingerprint);
  const bool held2 = wide_matches(at2, fingerprint);
  return static_cast<unsigned>(held1) + static_cast<unsigned>(held2) != 0;
}

// Masks all writes (I2).
void BucketBits::write(std::byte* page, uint64_t bucket_in_page,
                       const BucketValues& values) const noexcept {
  const uint64_t bit = bucket_in_page * bits_;
  std::byte* at = page + (bit >> 3);
  const auto shift = static_cast<uint32_t>(bit & 7);
  const auto merge = [](std::byte* to, uint64_t mask, uint64_t value) {
    store_le(to, (load_le<uint64_t>(to) & ~mask) | value);
  };
  if (one_word()) {
    write_word({at, shift}, encode_bucket_in_word(shape_, values));
    return;
  }
  const uint128 mask = low_bits_mask(bits_);
  const uint128 bits = encode_bucket(shape_, values) & mask;
  merge(at, static_cast<uint64_t>(mask << shift), static_cast<uint64_t>(bits << shift));
  merge(at + 8, static_cast<uint64_t>((mask << shift) >> 64),
        static_cast<uint64_t>((bits << shift) >> 64));
  if (shift + bits_ > 128) {
    const auto kept = static_cast<uint32_t>(at[16]) & ~static_cast<uint32_t>(mask >> (128 - shift));
    at[16] = static_cast<std::byte>(kept | static_cast<uint32_t>(bits >> (128 - shift)));
  }
}

}  // namespace cuckoo::core
