#include "core/segments/decide.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cuckoo::segments::segments_decide_test {
namespace {

TEST(SegmentDecide, runs_of_some_thousand_entries_are_mostly_dead_when_more_than_half_is) {
  EXPECT_FALSE(mostly_dead(0, 0));
  EXPECT_FALSE(mostly_dead(4095, 4095));
  EXPECT_FALSE(mostly_dead(4096, 0));
  EXPECT_FALSE(mostly_dead(4096, 2048));
  EXPECT_TRUE(mostly_dead(4096, 2049));
  EXPECT_FALSE(mostly_dead(4097, 2048));
  EXPECT_TRUE(mostly_dead(4097, 2049));
  EXPECT_FALSE(mostly_dead(65536, 32768));
  EXPECT_TRUE(mostly_dead(65536, 32769));
  EXPECT_TRUE(mostly_dead(8192, 10000));
  EXPECT_FALSE(mostly_dead(UINT64_MAX, UINT64_MAX / 2));
  EXPECT_TRUE(mostly_dead(UINT64_MAX, UINT64_MAX));
}

TEST(SegmentDecide, four_deviations_are_four_roots) {
  EXPECT_EQ(with_deviations(0), 0u);
  EXPECT_EQ(with_deviations(1), 5u);
  EXPECT_EQ(with_deviations(10000), 10400u);
  EXPECT_EQ(with_deviations(65536), 65536u + 1024u);
  EXPECT_EQ(with_deviations(65537), 65537u + 1025u);
  EXPECT_EQ(with_deviations(uint64_t{1} << 40), (uint64_t{1} << 40) + (uint64_t{1} << 22));
}

TEST(SegmentDecide, a_remade_segment_has_half_as_much_room_again_up_to_the_limit) {
  constexpr uint64_t kLimit = 65536;
  EXPECT_EQ(remade_capacity(0, kLimit), 1u);
  EXPECT_EQ(remade_capacity(1, kLimit), 5u);
  EXPECT_EQ(remade_capacity(1000, kLimit), with_deviations(1500));
  EXPECT_EQ(remade_capacity(60000, kLimit), kLimit);
  EXPECT_EQ(remade_capacity(kLimit, kLimit), kLimit);
  for (uint64_t keys = 0; keys <= 2 * kLimit; keys += 97) {
    EXPECT_GE(remade_capacity(keys, kLimit), keys);
  }
}

// Otherwise such a segment would be made anew each time that it is folded.
TEST(SegmentDecide, a_segment_that_can_not_be_split_grows_by_half_too) {
  EXPECT_EQ(remade_capacity(65537, 65536), with_deviations(65537 + 32768));
  EXPECT_EQ(remade_capacity(1 << 20, 65536), with_deviations(3 << 19));
}

TEST(SegmentDecide, a_split_leaves_pieces_that_fit_with_four_deviations) {
  EXPECT_EQ(bits_to_split(0, 65536), 0u);
  EXPECT_EQ(bits_to_split(1, 1), 0u);
  EXPECT_EQ(bits_to_split(60000, 65536), 0u);
  EXPECT_EQ(bits_to_split(65536, 65536), 1u);
  EXPECT_EQ(bits_to_split(128000, 65536), 1u);
  EXPECT_EQ(bits_to_split(131072, 65536), 2u);
  EXPECT_EQ(bits_to_split(4000000, 65536), 6u);
  for (uint64_t keys = 1; keys < uint64_t{1} << 40; keys = keys * 3 / 2 + 1) {
    const unsigned bits = bits_to_split(keys, 65536);
    EXPECT_LE(with_deviations(keys >> bits), 65536u);
    EXPECT_TRUE(bits == 0 || with_deviations(keys >> (bits - 1)) > 65536) << keys;
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_decide_test
