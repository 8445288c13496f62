#include <cuckoo/cuckoo_filter.hpp>

#include <vector>

#include "tests/support/status.hpp"

namespace library_cuckoo_filter_test {
namespace {

using cuckoo::CuckooFilter;
using cuckoo::ErrorCode;

CuckooFilter made(uint64_t keys, double rate = 0.001, bool grows = true) {
  auto filter =
      CuckooFilter::make({.expected_keys = keys, .rate = rate, .seed = 1, .grows = grows});
  EXPECT_TRUE(filter.ok()) << filter.error().message;
  return std::move(filter.value());
}

TEST(LibraryCuckooFilter, removes_what_was_added) {
  CuckooFilter filter = made(1000, 1e-9);
  ASSERT_TRUE(filter.add("apple").ok());
  ASSERT_TRUE(filter.add("apple").ok());
  EXPECT_EQ(filter.count("apple"), 2U);
  EXPECT_TRUE(filter.remove("apple").value());
  EXPECT_TRUE(filter.contains("apple"));
  EXPECT_TRUE(filter.remove("apple").value());
  EXPECT_FALSE(filter.contains("apple"));
  EXPECT_FALSE(filter.remove("apple").value());
  EXPECT_TRUE(filter.empty());
}

TEST(LibraryCuckooFilter, adds_many_copies_at_once) {
  CuckooFilter filter = made(100, 1e-9);
  ASSERT_TRUE(filter.add("apple", 1'000'000).ok());
  EXPECT_EQ(filter.count("apple"), 1'000'000U);
  EXPECT_EQ(filter.size(), 1'000'000U);
  EXPECT_LT(filter.memory_bytes(), 100'000U);
  constexpr uint64_t kMost = uint64_t{1} << 31;
  for (const uint64_t copies : {uint64_t{0}, kMost + 1, uint64_t{1} << 40}) {
    EXPECT_TRUE(fails_saying(filter.add("apple", copies), ErrorCode::kInvalid,
                             std::to_string(copies) + " copies of a key, expected 1 to 2^31"));
  }
  EXPECT_EQ(filter.size(), 1'000'000U);
  CuckooFilter many = made(100, 0.001);
  EXPECT_TRUE(many.add("apple", kMost).ok());
  EXPECT_EQ(many.count("apple"), kMost);
}

TEST(LibraryCuckooFilter, a_full_one_takes_all_of_a_batch_or_none) {
  CuckooFilter filter = made(1000, 0.001, false);
  std::vector<int> keys(1001);
  EXPECT_EQ(filter.add_all(keys).error().code, ErrorCode::kFull);
  EXPECT_TRUE(filter.empty());
}

TEST(LibraryCuckooFilter, one_that_was_made_by_no_make_counts_and_removes_nothing) {
  CuckooFilter filter;
  EXPECT_EQ(filter.count(1), 0U);
  EXPECT_EQ(filter.remove(1).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(filter.add(1, 2).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace library_cuckoo_filter_test
