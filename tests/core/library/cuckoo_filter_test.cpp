#include <cuckoo/cuckoo_filter.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tests/support/share.hpp"
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

// A std::map runs beside the filter. The test removes only keys that are there, so the filter may
// not say "no" to any of these. At a rate of 1e-6 it hardly ever errs the other way.
struct Life {
  uint64_t expected;
  bool grows;
  int steps;
};

void live(const Life& life, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  CuckooFilter filter = made(life.expected, 1e-6, life.grows);
  std::map<int64_t, uint64_t> model;
  uint64_t items = 0;
  const auto some_key = [&] { return static_cast<int64_t>(random() % (2 * life.expected)); };
  for (int step = 0; step < life.steps; ++step) {
    const int64_t key = some_key();
    switch (random() % 8) {
      case 0: {
        std::vector<int64_t> keys(random() % 300);
        std::generate(keys.begin(), keys.end(), some_key);
        const bool fits = life.grows || items + keys.size() <= life.expected;
        const cuckoo::Status status = filter.add_all(keys);
        if (status.ok()) {
          for (const int64_t added : keys) {
            ++model[added];
          }
          items += keys.size();
        }
        ASSERT_EQ(status.ok(), fits) << step;
        break;
      }
      case 1: {
        const uint64_t copies = 1 + random() % 20;
        if (filter.add(key, copies).ok()) {
          model[key] += copies;
          items += copies;
        }
        break;
      }
      case 2:
        if (random() % 20 == 0) {
          filter = must(CuckooFilter::from_bytes(filter.to_bytes().value()));
        } else if (random() % 100 == 0) {
          ASSERT_TRUE(filter.clear().ok());
          model.clear();
          items = 0;
        }
        break;
      case 3:
        if (filter.add(key).ok()) {
          ++model[key];
          ++items;
        }
        break;
      default:
        if (const auto at = model.lower_bound(key); at != model.end()) {
          ASSERT_TRUE(filter.remove(at->first).value()) << step;
          --items;
          if (--at->second == 0) {
            model.erase(at);
          }
        }
    }
    ASSERT_EQ(filter.size(), items) << step;
    const auto at = model.find(key);
    ASSERT_GE(filter.count(key), at != model.end() ? at->second : 0) << step;
    ASSERT_TRUE(at == model.end() || filter.contains(key)) << step;
  }
  size_t wrong = 0;
  for (int64_t key = 0; key < static_cast<int64_t>(2 * life.expected); ++key) {
    const auto at = model.find(key);
    ASSERT_TRUE(at == model.end() || filter.count(key) >= at->second) << key;
    wrong += at == model.end() && filter.contains(key) ? 1 : 0;
  }
  EXPECT_LE(wrong, 2U);
}

TEST(LibraryCuckooFilter, is_a_multiset_that_grows) {
  for (uint64_t seed = cuckoo::test::share_first(); seed < 30;
       seed += cuckoo::test::share_divisor()) {
    live({.expected = 10 + seed % 5 * 1000, .grows = true, .steps = 1500}, seed);
  }
}

TEST(LibraryCuckooFilter, is_a_multiset_of_a_fixed_size) {
  for (uint64_t seed = 100 + cuckoo::test::share_first(); seed < 130;
       seed += cuckoo::test::share_divisor()) {
    live({.expected = 100 + seed % 5 * 1000, .grows = false, .steps = 1500}, seed);
  }
}

}  // namespace
}  // namespace library_cuckoo_filter_test
