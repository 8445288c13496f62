#include "core/filter/bucket.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo::filter_bucket_test {
namespace {

// These functions decode a bucket as its bits are defined, with no care for speed.
uint32_t decode_rank(uint32_t rank) { return rank_table()[rank]; }

// `bits` holds shape.bits() bits; those above are ignored.
BucketValues decode_bucket(const BucketShape& shape, uint128 bits) {
  const uint32_t low_bits = shape.low_bits;
  const uint64_t low_mask = (uint64_t{1} << low_bits) - 1;
  const uint32_t rank_mask = (uint32_t{1} << shape.rank_bits) - 1;
  const uint32_t highs =
      decode_rank(static_cast<uint32_t>(bits >> (kBucketSlots * low_bits)) & rank_mask);
  BucketValues values;
  for (unsigned slot = 0; slot < kBucketSlots; ++slot) {
    const uint64_t high = (highs >> (8 * slot)) & 0xFF;
    values[slot] =
        (high << low_bits) | (static_cast<uint64_t>(bits >> (slot * low_bits)) & low_mask);
  }
  return values;
}

// Whether the bits keep I1 and I2.
bool valid_bucket(const BucketShape& shape, uint128 bits) {
  const uint32_t rank_mask = (uint32_t{1} << shape.rank_bits) - 1;
  const uint32_t rank = static_cast<uint32_t>(bits >> (kBucketSlots * shape.low_bits)) & rank_mask;
  if (rank >= shape.rank_count()) {
    return false;
  }
  const BucketValues values = decode_bucket(shape, bits);
  return std::is_sorted(values.begin(), values.end());
}

uint128 below_width(const BucketShape& shape, uint128 bits) {
  return shape.bits() == 128 ? bits : bits & ((uint128{1} << shape.bits()) - 1);
}

TEST(Bucket, shapes_have_the_documented_numbers) {
  struct Row {
    uint32_t radix, rank_bits, ranks;
  };
  for (const Row& row : {Row{16, 12, 3876}, {19, 13, 7315}, {23, 14, 14950}, {28, 15, 31465}}) {
    BucketShape shape;
    ASSERT_TRUE(make_bucket_shape(row.radix, 3, shape));
    EXPECT_EQ(shape.rank_bits, row.rank_bits);
    EXPECT_EQ(shape.rank_count(), row.ranks);
    EXPECT_EQ(shape.bits(), 12 + row.rank_bits);
    EXPECT_EQ(shape.fingerprints(), row.radix * 8u - 1);
  }
}

TEST(Bucket, shapes_that_do_not_exist_are_refused) {
  BucketShape shape{19, 7, 13};
  const BucketShape before = shape;
  EXPECT_FALSE(make_bucket_shape(17, 3, shape));
  EXPECT_FALSE(make_bucket_shape(0, 3, shape));
  EXPECT_FALSE(make_bucket_shape(16, 30, shape));
  EXPECT_FALSE(make_bucket_shape(19, 29, shape));  // 129 bits
  EXPECT_EQ(shape, before);
  EXPECT_TRUE(make_bucket_shape(16, 29, shape));
  EXPECT_EQ(shape.bits(), 128u);
  EXPECT_FALSE(narrowest_bucket_shape((uint64_t{1} << 33), shape));
}

TEST(Bucket, narrowest_shape_is_the_narrowest) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t wanted = 1 + (random() >> (31 + random() % 33));
    BucketShape shape;
    ASSERT_EQ(narrowest_bucket_shape(wanted, shape), wanted < uint64_t{1} << 33) << wanted;
    if (wanted >= uint64_t{1} << 33) {
      continue;
    }
    EXPECT_GE(shape.fingerprints(), wanted);
    for (const BucketShape& other : all_bucket_shapes()) {
      EXPECT_TRUE(other.fingerprints() < wanted || other.bits() >= shape.bits()) << wanted;
    }
  }
}

// The multisets of four highs have the ranks 0, 1, 2 … without gaps. Each rank decodes to its
// multiset.
TEST(Bucket, I1_ranks_number_the_multisets_of_every_radix) {
  for (const uint32_t radix : {16u, 19u, 23u, 28u}) {
    uint32_t expected = 0;
    for (uint32_t d = 0; d < radix; ++d) {
      for (uint32_t c = 0; c <= d; ++c) {
        for (uint32_t b = 0; b <= c; ++b) {
          for (uint32_t a = 0; a <= b; ++a) {
            ASSERT_EQ(encode_rank(a, b, c, d), expected);
            ASSERT_EQ(decode_rank(expected), a | b << 8 | c << 16 | d << 24);
            ++expected;
          }
        }
      }
    }
    BucketShape shape;
    ASSERT_TRUE(make_bucket_shape(radix, 0, shape));
    EXPECT_EQ(expected, shape.rank_count());
    EXPECT_LE(expected, 1u << shape.rank_bits);
  }
}

TEST(Bucket, every_15_bit_rank_decodes_to_small_sorted_highs) {
  for (uint32_t rank = 0; rank < 1u << 15; ++rank) {
    const uint32_t highs = decode_rank(rank);
    ASSERT_EQ(highs, rank_table()[rank]);
    uint32_t previous = 0;
    for (unsigned slot = 0; slot < 4; ++slot) {
      const uint32_t high = highs >> (8 * slot) & 0xFF;
      ASSERT_GE(high, previous);
      ASSERT_LE(high, 28u);
      previous = high;
    }
  }
}

TEST(Bucket, I2_every_shape_round_trips_and_does_not_care_about_order) {
  std::mt19937_64 random(11);
  for (const BucketShape& shape : all_bucket_shapes()) {
    for (int i = 0; i < 500; ++i) {
      BucketValues values = random_values(shape, random);
      const uint128 bits = encode_bucket(shape, values);
      ASSERT_EQ(bits, below_width(shape, bits));
      ASSERT_TRUE(valid_bucket(shape, bits));
      std::shuffle(values.begin(), values.end(), random);
      ASSERT_EQ(encode_bucket(shape, values), bits);
      std::sort(values.begin(), values.end());
      ASSERT_EQ(decode_bucket(shape, bits), values) << shape.radix << " " << shape.low_bits;
      if (shape.bits() < 128) {  // bits above the bucket are ignored
        ASSERT_EQ(decode_bucket(shape, bits | ~uint128{0} << shape.bits()), values);
      }
    }
  }
}

TEST(Bucket, I3_all_zero_bits_are_an_empty_bucket) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    EXPECT_EQ(decode_bucket(shape, 0), BucketValues{});
    EXPECT_EQ(encode_bucket(shape, {}), uint128{0});
    EXPECT_TRUE(valid_bucket(shape, 0));
  }
}

// Valid buckets are exactly those that encode_bucket makes. The test tries all 2^12 … 2^19 bit
// patterns.
TEST(Bucket, valid_bucket_accepts_exactly_the_encodings) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    if (shape.bits() > 19) {
      continue;
    }
    uint64_t valid = 0;
    for (uint32_t bits = 0; bits < 1u << shape.bits(); ++bits) {
      const bool accepted = valid_bucket(shape, bits);
      const uint32_t rank = bits >> (4 * shape.low_bits);
      const bool canonical =
          rank < shape.rank_count() && encode_bucket(shape, decode_bucket(shape, bits)) == bits;
      ASSERT_EQ(accepted, canonical) << shape.radix << " " << shape.low_bits << " " << bits;
      valid += accepted ? 1 : 0;
    }
    // multisets of 4 of S + 1 values
    const uint64_t n = shape.fingerprints() + 1;
    EXPECT_EQ(valid, n * (n + 1) * (n + 2) * (n + 3) / 24);
  }
}

TEST(LaneTest, equal_finds_exactly_the_equal_lanes) {
  std::mt19937_64 random(13);
  for (const uint32_t lanes : {2u, 4u}) {
    for (uint32_t l = 1; l * lanes <= 60 && l <= kMaxLowBits; ++l) {
      const LaneTest test = LaneTest::make(l, lanes);
      const uint64_t mask = (uint64_t{1} << l) - 1;
      for (int i = 0; i < 3000; ++i) {
        const uint64_t low = random() & mask;
        uint64_t word = random();
        uint64_t expected = 0;
        for (uint32_t lane = 0; lane < lanes; ++lane) {
          if (random() % 3 == 0) {  // equal, or different in one bit only
            const uint64_t near = random() % 2 == 0 ? low : low ^ (uint64_t{1} << (random() % l));
            word = (word & ~(mask << (lane * l))) | near << (lane * l);
          }
          expected |= uint64_t{(word >> (lane * l) & mask) == low} << (lane * l);
        }
        ASSERT_EQ(test.equal(word, low) >> test.top_shift, expected) << l << " " << word;
      }
    }
  }
}

TEST(LaneTest, lanes_of_no_bits_are_always_equal) {
  const LaneTest test = LaneTest::make(0, 4);
  EXPECT_EQ(test.equal(0, 0) >> test.top_shift, 1u);
  EXPECT_EQ(test.equal(~uint64_t{0}, 0) >> test.top_shift, 1u);
}

TEST(LaneTest, equal_highs_finds_exactly_the_equal_bytes) {
  for (uint32_t rank = 0; rank < 1u << 15; rank += 7) {
    const uint32_t highs = decode_rank(rank);
    for (uint32_t high = 0; high < 28; ++high) {
      uint32_t expected = 0;
      for (unsigned slot = 0; slot < 4; ++slot) {
        expected |= uint32_t{(highs >> (8 * slot) & 0xFF) == high} << (8 * slot + 7);
      }
      ASSERT_EQ(equal_highs(highs, high), expected);
    }
  }
}

}  // namespace
}  // namespace cuckoo::filter_bucket_test
