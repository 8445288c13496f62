// tests/ext/filter/plan_test.cpp shows on tables that a plan is true. The tests here show that it
// follows from the options, at any capacity.
#include "core/segments/plan.hpp"

#include "core/segments/image.hpp"
#include "core/segments/segment_limits.hpp"
#include "tests/core/filter/kinds.hpp"

namespace cuckoo::segments::segments_plan_test {
namespace {

FilterPlan planned(const FilterOptions& options) { return must(plan_filter(options)); }

TEST(FilterPlanOfSegments, is_what_the_segments_have) {
  for (const FilterKind kind : test::kLoggedKinds) {
    for (const uint64_t capacity : {1, 1000, 70000, 3000000}) {
      FilterOptions options;
      options.spec = test::spec_of(kind, 0.001);
      options.capacity = capacity;
      const FilterPlan plan = planned(options);
      const SegmentLimits limits = segment_limits(options).value();
      const uint64_t segments = uint64_t{1} << limits.depth;
      std::unique_ptr<Filter> made = must(options.make_filter_for(limits.share));
      Filter& filter = *made;
      EXPECT_EQ(plan.bits_per_key, static_cast<double>(filter.bits()) *
                                       static_cast<double>(segments) /
                                       static_cast<double>(capacity));
      EXPECT_EQ(plan.places_per_key, filter.places_per_key());
      EXPECT_EQ(plan.page_blocks, segments * filter.pages().page_count());
      EXPECT_EQ(plan.image_bytes, image_bytes(options).value());
      test::add_all_pages(filter);
      const uint64_t memory = segments * filter.pages().memory_bytes();
      EXPECT_GT(plan.memory_bytes, memory * 95 / 100);
      EXPECT_LT(plan.memory_bytes, memory * 2 + 30000);
    }
  }
}

TEST(FilterPlanOfSegments, has_runs_where_it_can_grow) {
  FilterOptions options;
  options.capacity = 1'000'000;
  const FilterPlan narrow = planned(options);
  EXPECT_NEAR(static_cast<double>(narrow.run_bytes), 3.65e6, 0.2e6);
  options.width = HashWidth::k63Bits;
  EXPECT_NEAR(static_cast<double>(planned(options).run_bytes), 5.65e6, 0.2e6);
  options.growth = false;
  EXPECT_EQ(planned(options).run_bytes, 0u);
  EXPECT_GT(planned(options).log_rows, 0u);
}

TEST(FilterPlanOfSegments, counts_database_pages) {
  FilterPlan plan;
  const auto pages_of = [&plan](uint64_t blocks, uint32_t database_page_bytes) {
    plan.page_blocks = blocks;
    const uint64_t bytes = plan.disk_bytes(kPageRowBytes, database_page_bytes);
    EXPECT_EQ(bytes % database_page_bytes, 0u);
    return bytes / database_page_bytes - 2;  // config, and the roots
  };
  EXPECT_EQ(pages_of(0, 4096), 0u);
  EXPECT_EQ(pages_of(1, 4096), 1u);
  EXPECT_EQ(pages_of(2, 4096), 3u);
  EXPECT_EQ(pages_of(340, 4096), 341u);
  EXPECT_EQ(pages_of(341, 4096), 344u);
  EXPECT_EQ(pages_of(2, 8192), 1u);
  EXPECT_EQ(pages_of(160, 65536), 11u);
}

TEST(FilterPlanOfSegments, takes_no_time_or_memory_at_any_capacity) {
  for (const FilterKind kind : test::kLoggedKinds) {
    FilterOptions options;
    options.spec = test::spec_of(kind, 0x1p-20);
    options.capacity = uint64_t{1} << 40;
    for (int i = 0; i < 1000; ++i) {
      const FilterPlan plan = planned(options);
      ASSERT_GT(plan.memory_bytes, uint64_t{20} << 37);
      ASSERT_LT(plan.disk_bytes(kPageRowBytes, kDatabasePageBytes), uint64_t{1} << 48);
    }
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_plan_test
