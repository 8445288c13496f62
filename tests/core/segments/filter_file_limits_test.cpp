// When filters in segments are full, without growth.
#include <gtest/gtest.h>

#include "core/segments/filter_file.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/filled_file.hpp"
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments {
namespace {

using test::expect_ok;
using test::FilledFile;
using test::FilterCase;
using test::kCaseName;
using test::nth_key;
using test::options_for;

class FixedFileLimits : public ::testing::TestWithParam<FilterCase> {};
INSTANTIATE_TEST_SUITE_P(Kinds, FixedFileLimits,
                         ::testing::ValuesIn(test::cases_where(test::is_fixed)), kCaseName);

// Adds new keys until one is refused, and returns how many it took.
uint64_t fill(FilterFile& file, uint64_t first, uint64_t most, uint64_t commit_every) {
  for (uint64_t i = 0; i < most; ++i) {
    const Status status = file.insert(nth_key(first + i));
    if (!status.ok()) {
      EXPECT_EQ(status.error().code, ErrorCode::kFull);
      EXPECT_NE(status.error().message.find("is reached, and growth is off"), std::string::npos);
      return i;
    }
    if (commit_every > 0 && i % commit_every == commit_every - 1) {
      expect_ok(test::commit(file));
    }
  }
  return most;
}

void expect_all(FilterFile& file, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; ++i) {
    ASSERT_TRUE(file.load_and_probe(nth_key(i)).value()) << i;
  }
}

TEST_P(FixedFileLimits, of_one_segment_take_as_many_distinct_keys_as_the_capacity) {
  for (const uint64_t capacity : {1, 2, 3, 10, 100, 1000}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      FilledFile filled(options_for(GetParam(), capacity));
      const uint64_t first = seed * 1000000;
      const uint64_t most = 3 * capacity + 20;
      const uint64_t fitted = fill(filled.file, first, most, seed % 2 == 0 ? 7 : 0);
      ASSERT_GE(fitted, capacity) << seed;
      ASSERT_LT(fitted, most);
      expect_all(filled.file, first, first + fitted);
      if (GetParam().kind == FilterKind::kCuckoo) {
        ASSERT_EQ(fitted, capacity);
      } else if (!filled.file.multiset()) {  // what looks present needs no room
        ASSERT_EQ(filled.file.items(), capacity);
      }
    }
  }
}

TEST_P(FixedFileLimits, of_several_segments_take_as_many_distinct_keys_as_the_capacity) {
  constexpr uint64_t kCapacity = 150000;
  for (const uint64_t commit_every : {0, 800}) {
    FilledFile filled(options_for(GetParam(), kCapacity, 0.01, 4032));
    ASSERT_GT(filled.file.segments(), 1);
    const uint64_t fitted = fill(filled.file, 0, 2 * kCapacity, commit_every);
    EXPECT_GE(fitted, kCapacity);
    EXPECT_LT(fitted, kCapacity * 11 / 10);
    if (GetParam().kind == FilterKind::kCuckoo) {
      EXPECT_EQ(fitted, kCapacity);
    } else if (!filled.file.multiset()) {
      EXPECT_EQ(filled.file.items(), kCapacity);
    }
    expect_ok(test::commit(filled.file));
    expect_all(filled.file, 0, fitted);
    EXPECT_LT(filled.file.rate_now(), 0.011);
    expect_ok(filled.file.check());
    // Refused again: nothing changed.
    const uint64_t items = filled.file.items();
    (void)fill(filled.file, 5000000, 1000, 0);
    expect_ok(test::commit(filled.file));
    const auto rows = filled.storage.rows;
    (void)fill(filled.file, 5000000, 1000, 0);
    EXPECT_GE(filled.file.items(), items);
    EXPECT_FALSE(filled.file.pending());
    EXPECT_EQ(filled.storage.rows, rows);
  }
}

// Copies are no keys: so many of them may be in it that its items are above its capacity.
TEST(FixedCountingFileLimits, are_of_keys_and_not_of_copies) {
  for (const uint64_t capacity : {500, 150000}) {
    FilledFile filled(options_for({FilterKind::kCountingBloom, false}, capacity, 0.01, 4032));
    for (uint64_t i = 0; i < 2 * capacity; ++i) {
      expect_ok(filled.file.insert(nth_key(i % 3)));
    }
    EXPECT_GE(3 + fill(filled.file, 3, 2 * capacity, 500), capacity);
    expect_ok(filled.file.insert(nth_key(0)));
    expect_ok(test::commit(filled.file));
    expect_ok(filled.file.check());
  }
}

// Keys that all fall on one of the segments: it has no room for them, and they fit all the same.
TEST_P(FixedFileLimits, hold_whatever_the_shares_are) {
  constexpr uint64_t kCapacity = 140000;
  FilledFile filled(options_for(GetParam(), kCapacity, 0.01, 4032));
  ASSERT_EQ(filled.file.segments(), 2);
  const auto key = [](uint64_t i) { return nth_key(i) >> 1 >> 17 << 17; };
  constexpr uint64_t kKeys = 85000;  // 70,000 and some are a share
  for (uint64_t i = 0; i < kKeys; ++i) {
    expect_ok(filled.file.insert(key(i)));
  }
  expect_ok(test::commit(filled.file));
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(filled.file.load_and_probe(key(i)).value());
  }
  expect_ok(filled.file.check());
}

}  // namespace
}  // namespace cuckoo::segments
