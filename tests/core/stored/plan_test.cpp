// Whether a plan is true is seen on tables: tests/ext/filter/plan_test.cpp. Here: that it follows
// from the options, at any capacity.
#include "core/stored/plan.hpp"

#include <gtest/gtest.h>

#include "core/stored/image.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

FilterPlan planned(const FilterOptions& options) {
  const Result<FilterPlan> plan = plan_filter(options);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.error().message);
  return plan.ok() ? plan.value() : FilterPlan{};
}

TEST(FilterPlan, is_what_the_filter_has) {
  for (const FilterKind kind : test::kLoggedKinds) {
    for (const uint64_t capacity : {1, 1000, 70000}) {
      FilterOptions options;
      options.spec = test::spec_of(kind, 0.001);
      options.capacity = capacity;
      const FilterPlan plan = planned(options);
      Result<std::unique_ptr<Filter>> made = options.make_filter_for(capacity);
      ASSERT_TRUE(made.ok());
      Filter& filter = *made.value();
      const auto keys = static_cast<double>(capacity);
      EXPECT_EQ(plan.bits_per_key, static_cast<double>(filter.bits()) / keys);
      EXPECT_EQ(plan.places_per_key, filter.places_per_key());
      EXPECT_EQ(plan.page_rows, filter.pages().page_count());
      EXPECT_EQ(plan.image_bytes, bare_image_bytes(filter) + image_header_bytes(kImageVersion) -
                                      image_header_bytes(kOldestImageVersion));
      test::add_all_pages(filter);
      const auto memory = static_cast<double>(filter.pages().memory_bytes());
      EXPECT_NEAR(static_cast<double>(plan.memory_bytes), memory + kPageRowBytes, 0.01 * memory);
    }
  }
}

TEST(FilterPlan, has_a_log_where_it_can_grow) {
  FilterOptions options;
  options.capacity = 667 * 5;  // a row of 4036 bytes, 32 of them around 667 entries of 6
  EXPECT_EQ(planned(options).log_rows, 5u);
  ++options.capacity;
  EXPECT_EQ(planned(options).log_rows, 6u);
  options.width = HashWidth::k63Bits;
  EXPECT_EQ(planned(options).log_rows, 7u);
  options.growth = false;
  EXPECT_EQ(planned(options).log_rows, 0u);
}

TEST(FilterPlan, counts_database_pages) {
  FilterPlan plan;
  plan.page_rows = 1;
  const auto pages_of = [&plan](uint64_t rows, uint32_t database_page_bytes) {
    plan.page_rows = rows;
    const uint64_t bytes = plan.disk_bytes(kPageRowBytes, database_page_bytes);
    EXPECT_EQ(bytes % database_page_bytes, 0u);
    return bytes / database_page_bytes - 3;  // config, items, an empty log
  };
  EXPECT_EQ(pages_of(0, 4096), 1u);
  EXPECT_EQ(pages_of(1, 4096), 1u);
  EXPECT_EQ(pages_of(2, 4096), 3u);
  EXPECT_EQ(pages_of(453, 4096), 454u);
  EXPECT_EQ(pages_of(454, 4096), 457u);
  EXPECT_EQ(pages_of(2, 8192), 1u);
  EXPECT_EQ(pages_of(160, 65536), 11u);
}

TEST(FilterPlan, takes_no_time_or_memory_at_any_capacity) {
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

TEST(FilterPlan, refuses_what_no_filter_can_have) {
  const auto refused = [](uint64_t capacity, double rate) {
    FilterOptions options;
    options.capacity = capacity;
    options.spec.rate = rate;
    return !plan_filter(options).ok();
  };
  EXPECT_TRUE(refused(0, 0.001));
  EXPECT_TRUE(refused((uint64_t{1} << 40) + 1, 0.001));
  EXPECT_TRUE(refused(1000, 0.3));
  EXPECT_TRUE(refused(1000, 0));
  EXPECT_TRUE(refused(uint64_t{1} << 40, 0x1p-21));
  EXPECT_FALSE(refused(uint64_t{1} << 40, 0x1p-20));
}

}  // namespace
}  // namespace cuckoo
