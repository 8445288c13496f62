#include <gtest/gtest.h>

#include <algorithm>

#include "core/stored/pair_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::message_of;
using test::nth_word;
using test::StoredFilter;
using test::StoredRows;

FilterOptions options_for(uint64_t capacity) {
  FilterOptions options = test::options_for({FilterKind::kLegacyBloom, false}, capacity, 0.01, 64);
  options.width = HashWidth::k63Bits;
  return options;
}

HashPair nth_pair(uint64_t i) { return {nth_word(41, i), nth_word(43, i)}; }

struct StoredPairs : StoredFilter {
  using StoredFilter::StoredFilter;

  void add_pairs(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const Status status = PairFilter(filter).insert(nth_pair(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
  }
};

uint64_t missing_pairs(LoggedFilter& filter, uint64_t first, uint64_t end) {
  uint64_t missing = 0;
  for (uint64_t i = first; i < end; ++i) {
    const Result<bool> found = PairFilter(filter).contains(nth_pair(i));
    EXPECT_TRUE(found.ok()) << found.error().message;
    missing += found.value() ? 0 : 1;
  }
  return missing;
}

TEST(PairFilter, I1_I2_hold_what_was_added_and_follow_storage) {
  StoredPairs stored(options_for(2000));
  LoggedFilter follower(stored.filter.options(), stored.storage);
  for (uint64_t done = 0; done < 2000;) {
    const uint64_t end = done + 1 + done / 2 > 2000 ? 2000 : done + 1 + done / 2;
    stored.add_pairs(done, end);
    done = end;
    EXPECT_EQ(missing_pairs(stored.filter, 0, done), 0u) << "before the commit";
    stored.commit();
    const Status status = follower.refresh(stored.storage.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(missing_pairs(follower, 0, done), 0u);
    EXPECT_EQ(missing_pairs(follower, 5000, 7000), missing_pairs(stored.filter, 5000, 7000));
    EXPECT_EQ(follower.items(), stored.filter.items());
    stored.expect_good();
  }
  EXPECT_TRUE(stored.storage.rows.log.empty());
  EXPECT_GE(stored.filter.items(), 1950u);
  EXPECT_LE(stored.filter.items(), 2000u);
  EXPECT_LE(static_cast<double>(2000 - missing_pairs(stored.filter, 5000, 7000)) / 2000, 0.02);
  stored.storage.calls = {};
  stored.add_pairs(0, 2000);  // all there already
  stored.commit();
  EXPECT_EQ(stored.storage.calls.writes, 0u);
}

TEST(PairFilter, full_changes_nothing) {
  StoredPairs stored(options_for(300));
  uint64_t fitted = 0;
  while (PairFilter(stored.filter).insert(nth_pair(fitted)).ok()) {
    ASSERT_LT(++fitted, 600u);
  }
  EXPECT_GE(fitted, 300u);
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  const Status status = PairFilter(stored.filter).insert(nth_pair(fitted));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  EXPECT_FALSE(stored.filter.pending());
  EXPECT_TRUE(PairFilter(stored.filter).insert(nth_pair(0)).ok()) << "is there already";
  stored.commit();
  EXPECT_EQ(difference(before, stored.storage.rows), "");
  EXPECT_EQ(missing_pairs(stored.filter, 0, fitted), 0u);
}

TEST(PairFilter, rollback_restores_the_snapshot) {
  for (const bool flushed : {false, true}) {
    StoredPairs stored(options_for(1000));
    stored.add_pairs(0, 300);
    stored.commit();
    const StoredRows before = stored.storage.snapshot();
    const uint64_t missing = missing_pairs(stored.filter, 1000, 9000);
    stored.add_pairs(300, 800);
    ASSERT_TRUE(!flushed || stored.filter.flush().ok());
    stored.roll_back(before);
    EXPECT_EQ(missing_pairs(stored.filter, 1000, 9000), missing);
    EXPECT_EQ(missing_pairs(stored.filter, 0, 300), 0u);
    stored.add_pairs(2000, 2100);
    stored.commit();
    stored.expect_good();
  }
}

// The same number of pages and items, other pairs: only the base's id tells.
TEST(PairFilter, another_history_is_noticed) {
  StoredPairs stored(options_for(1000));
  const StoredRows backup = stored.storage.snapshot();
  stored.add_pairs(0, 500);
  stored.commit();
  LoggedFilter follower(stored.filter.options(), stored.storage);
  ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(missing_pairs(follower, 0, 500), 0u);
  (void)missing_pairs(follower, 0, 3000);
  stored.roll_back(backup);
  stored.add_pairs(1000, 1500);
  stored.commit();
  ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(missing_pairs(follower, 1000, 1500), 0u);
}

TEST(PairFilter, contents_import_unite_and_clear) {
  StoredPairs stored(options_for(1000));
  stored.add_pairs(0, 400);
  Result<FilterContents> taken = stored.filter.contents(false);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  EXPECT_EQ(stored.filter.contents(true).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(taken.value().items, stored.filter.items());
  StoredPairs other(options_for(1000));
  other.add_pairs(300, 700);
  other.commit();
  const Status status = other.filter.unite(*taken.value().filter, taken.value().items);
  ASSERT_TRUE(status.ok()) << message_of(status);
  other.commit();
  other.expect_good();
  EXPECT_EQ(missing_pairs(other.filter, 0, 700), 0u);
  EXPECT_NEAR(static_cast<double>(other.filter.items()), 700, 30);
  other.add_pairs(700, 720);
  other.commit();
  other.expect_good();
  ASSERT_TRUE(other.filter.import(other.filter.options(), std::move(taken.value())).ok());
  other.commit();
  other.expect_good();
  EXPECT_EQ(other.filter.items(), stored.filter.items());
  EXPECT_EQ(missing_pairs(other.filter, 0, 400), 0u);
  EXPECT_GE(missing_pairs(other.filter, 400, 700), 250u);
  ASSERT_TRUE(other.filter.clear().ok());
  EXPECT_EQ(missing_pairs(other.filter, 0, 700), 700u);
  other.add_pairs(0, 1000);
  other.commit();
  other.expect_good();
  EXPECT_EQ(other.filter.rebuild(2000).error().code, ErrorCode::kInvalid);
}

TEST(PairFilter, check_finds_damage) {
  StoredPairs stored(options_for(1000));
  stored.add_pairs(0, 800);
  stored.commit();
  stored.expect_good();
  const StoredRows good = stored.storage.snapshot();
  ASSERT_GT(good.pages.size(), 10u);
  stored.storage.rows.pages.erase(stored.storage.rows.pages.begin());
  EXPECT_FALSE(stored.filter.check().ok());
  stored.storage.restore(good);
  stored.storage.rows.pages.rbegin()->second[3] ^= std::byte{8};
  EXPECT_FALSE(stored.filter.check().ok());
  stored.storage.restore(good);
  stored.storage.rows.items[{0, 5}] = 1;
  EXPECT_FALSE(stored.filter.check().ok());
  stored.storage.restore(good);
  stored.expect_good();
}

}  // namespace
}  // namespace cuckoo
