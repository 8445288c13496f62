#include "core/segments/decide.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace cuckoo::segments {
namespace {

constexpr SegmentWork kNothing = SegmentWork::kNothing;
constexpr SegmentWork kFold = SegmentWork::kFold;
constexpr SegmentWork kRemake = SegmentWork::kRemake;

struct Row {
  bool keeps_hashes;
  uint64_t pending;
  bool outgrows;
  uint64_t run_entries;
  uint64_t dead;
  SegmentWork work;
};

constexpr Row kRows[] = {
    // nothing is pending
    {true, 0, false, 0, 0, kNothing},
    {true, 0, false, 4096, 2048, kNothing},
    {true, 0, false, 4096, 2049, kRemake},
    {true, 0, true, 0, 0, kRemake},
    {true, 0, true, 4096, 0, kRemake},
    {false, 0, false, 0, 0, kNothing},
    {false, 0, true, 0, 0, kNothing},
    {false, 0, false, 4096, 4096, kNothing},
    // it fits
    {true, 1, false, 0, 0, kFold},
    {true, 1, false, 1, 1, kFold},
    {true, 504, false, 100, 0, kFold},
    {true, 504, false, 100, 51, kFold},
    {true, 504, false, 4095, 4095, kFold},
    {true, 504, false, 4096, 0, kFold},
    {true, 504, false, 4096, 2047, kFold},
    {true, 504, false, 65536, 32768, kFold},
    {false, 1, false, 0, 0, kFold},
    {false, 504, false, 100000, 0, kFold},
    {false, 1 << 22, false, 0, 0, kFold},
    {true, 1 << 22, false, 0, 0, kFold},
    // more than half is dead
    {true, 504, false, 4096, 2049, kRemake},
    {true, 504, false, 4097, 2048, kFold},
    {true, 504, false, 4097, 2049, kRemake},
    {true, 1, false, 65536, 32769, kRemake},
    {true, 1, false, 65536, 65536, kRemake},
    {true, 1, false, UINT64_MAX, UINT64_MAX, kRemake},
    {true, 1, false, UINT64_MAX, UINT64_MAX / 2, kFold},
    {true, 504, false, 8192, 10000, kRemake},
    // it outgrows what it was made for
    {true, 1, true, 0, 0, kRemake},
    {true, 504, true, 100, 0, kRemake},
    {true, 504, true, 65536, 0, kRemake},
    {true, 504, true, 65536, 65536, kRemake},
    {true, 1 << 22, true, 1, 1, kRemake},
    // it can't be made anew
    {false, 1, true, 0, 0, kFold},
    {false, 504, true, 0, 0, kFold},
    {false, 504, false, 4096, 4096, kFold},
    {false, 504, true, 65536, 65536, kFold},
    {false, 1 << 22, true, 0, 0, kFold},
    {false, UINT64_MAX, true, 0, 0, kFold},
    {true, UINT64_MAX, false, 0, 0, kFold},
};

TEST(SegmentDecide, follows_the_table) {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    const Row& row = kRows[i];
    SegmentFigures figures;
    figures.keeps_hashes = row.keeps_hashes;
    figures.pending = row.pending;
    figures.outgrows = row.outgrows;
    figures.run_entries = row.run_entries;
    figures.dead = row.dead;
    EXPECT_EQ(decide(figures), row.work) << "row " << i;
  }
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

// Else it would be made anew each time that it is folded.
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
}  // namespace cuckoo::segments
