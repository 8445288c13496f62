#include "core/segments/segment_limits.hpp"

#include "tests/core/filter/kinds.hpp"

namespace cuckoo::segments::segments_segment_limits_test {
namespace {

TEST(SegmentLimits, say_how_large_segments_are) {
  FilterOptions options = test::options_for({FilterKind::kCuckoo, true}, 1000, 0.001, 4032);
  SegmentLimits limits = segment_limits(options).value();
  EXPECT_EQ(limits.keys, 65536u);
  EXPECT_EQ(limits.depth, 0u);
  EXPECT_EQ(limits.share, 1000u);
  options.capacity = 10'000'000;
  limits = segment_limits(options).value();
  EXPECT_EQ(limits.depth, 8u);
  EXPECT_LE(limits.share, limits.keys);
  EXPECT_GE(limits.share << limits.depth, options.capacity);
  options.growth = false;
  EXPECT_EQ(segment_limits(options).value().depth, 7u);
  options.capacity = uint64_t{1} << 40;
  EXPECT_EQ(segment_limits(options).value().depth, kMostFirstDepth);
  options.spec.kind = FilterKind::kCountingBloom;
  EXPECT_LE(segment_limits(options).value().pages, 64u);
}

TEST(SegmentLimits, say_what_a_share_is_like) {
  for (const FilterKind kind : test::kLoggedKinds) {
    for (const uint64_t capacity : {1, 1000, 10000000}) {
      const FilterOptions options = test::options_for({kind, true}, capacity, 0.001, 4032);
      const SegmentLimits limits = segment_limits(options).value();
      const auto filter = must(options.make_filter_for(limits.share));
      EXPECT_EQ(limits.words, filter->words());
      EXPECT_EQ(limits.rate, filter->rate(static_cast<double>(limits.share)));
      EXPECT_LE(limits.rate, 0.001);
      EXPECT_GE(limits.share << limits.depth, capacity);
    }
  }
}

TEST(SegmentLimits, are_none_where_hashes_tell_too_few_keys_apart) {
  FilterOptions options = test::options_for({FilterKind::kCuckoo, true}, 1000, 0x1p-21, 4032);
  EXPECT_TRUE(segment_limits(options).ok());
  options.capacity = uint64_t{1} << 40;
  EXPECT_FALSE(segment_limits(options).ok());
  options.spec.rate = 0x1p-20;
  EXPECT_TRUE(segment_limits(options).ok());
  options.capacity = 0;
  EXPECT_FALSE(segment_limits(options).ok());
}

TEST(SegmentLimits, of_a_filter_of_pairs_are_one_segment) {
  FilterOptions options;
  options.spec.kind = FilterKind::kLegacyBloom;
  options.growth = false;
  options.spec.rate = 1e-300;  // what no other filter may ask for
  options.capacity = 50000000;
  const SegmentLimits limits = segment_limits(options).value();
  EXPECT_EQ(limits.depth, 0);
  EXPECT_EQ(limits.share, options.capacity);
}

TEST(SegmentLimits, turns_and_the_kept_log_follow_from_the_segments) {
  const FilterOptions options = test::options_for({FilterKind::kCuckoo, true}, 1000, 0.001, 4032);
  const SegmentLimits limits = segment_limits(options).value();
  EXPECT_EQ(turn_entries_of(limits, 1, 1000), 504u);
  EXPECT_EQ(turn_entries_of(limits, 1, 65536), 32 * limits.pages);
  EXPECT_EQ(turn_entries_of(limits, 1, 1 << 20), 32 * limits.pages);
  EXPECT_EQ(turn_entries_of(limits, 16, 65536), 32 * limits.pages);
  EXPECT_EQ(turn_entries_of(limits, 2048, 65536), kPendingEntries / 2048);
  EXPECT_EQ(turn_entries_of(limits, 1 << 20, 65536), 1u);
  EXPECT_EQ(kept_entries_of(1, 504, 1000, false), 504u);
  EXPECT_EQ(kept_entries_of(2, 832, 100'000, false), 25000u);
  EXPECT_EQ(kept_entries_of(16, 832, 1'000'000, false), 65536u);
  EXPECT_EQ(kept_entries_of(16, 832, 16'000'000, false), 1'000'000u);
  EXPECT_EQ(kept_entries_of(16, 832, 1'000'000, true), 250000u);
  EXPECT_EQ(kept_entries_of(65536, 4, uint64_t{1} << 60, false), uint64_t{1} << 28);
}

}  // namespace
}  // namespace cuckoo::segments::segments_segment_limits_test
