// What only a LoggedFilter over a cuckoo filter does exactly, and what all kinds share but needs no
// second look: logged_filter_kinds_test.cpp and logged_filter_follow_test.cpp are the suites over
// all.
#include "core/stored/logged_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::nth_word;
using test::StoredFilter;
using test::StoredRows;

FilterOptions options_for(uint64_t capacity, double rate = 0.01,
                          uint32_t page_bytes = test::kSmallestPageBytes) {
  return test::options_for({FilterKind::kCuckoo, true}, capacity, rate, page_bytes);
}

// Two hashes of one cell, so that nothing but the log tells them apart.
std::pair<uint64_t, uint64_t> colliding_pair(const LoggedFilter& filter) {
  const auto& cells = static_cast<const CuckooFilter&>(filter.base());
  std::map<uint64_t, uint64_t> seen;
  for (uint64_t i = 1000000;; ++i) {
    const auto [other, is_new] = seen.try_emplace(cells.cell(nth_hash(i)), nth_hash(i));
    if (!is_new) {
      return {other->second, nth_hash(i)};
    }
  }
}

// ---- life

TEST(LoggedFilter, unusable_until_created_or_refreshed) {
  StoredFilter stored(options_for(100));
  LoggedFilter other(options_for(100), stored.storage);
  EXPECT_FALSE(other.usable());
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  EXPECT_TRUE(other.usable());
  other.forget();
  EXPECT_FALSE(other.usable());
}

// ---- I1, I4, I6: growth

TEST(LoggedFilter, I1_growth_from_a_thousand_to_a_million_is_exact) {
  FilterOptions options = options_for(1000, 0.01, kPageBytes);
  StoredFilter stored(options);
  constexpr uint64_t kKeys = 1000000;
  uint64_t largest = stored.filter.capacity();
  for (uint64_t done = 0; done < kKeys;) {
    const uint64_t end = std::min(kKeys, done + 1 + done / 2);
    stored.add(done, end);
    done = end;
    stored.commit();
    ASSERT_EQ(stored.filter.items(), done);
    EXPECT_GE(stored.filter.capacity(), largest);
    EXPECT_LE(stored.filter.capacity(), std::max<uint64_t>(1000, done + done / 2));
    largest = stored.filter.capacity();
    ASSERT_EQ(stored.missing(done < 2000 ? 0 : done - 2000, done), 0u);
    EXPECT_LE(stored.filter.rate_now(), options.spec.rate) << done << " keys";
  }
  EXPECT_EQ(stored.missing(0, kKeys), 0u);
  EXPECT_LE(stored.filter.capacity(), kKeys * 3 / 2 + 1000);
  EXPECT_LE(stored.measured_rate(200000), options.spec.rate);
  stored.expect_good();
}

TEST(LoggedFilter, rebuild_to_any_size_keeps_every_key) {
  StoredFilter stored(options_for(5000, 0.001));
  stored.add(0, 3000);
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{100000}, uint64_t{4000}, uint64_t{3000}}) {
    const Status status = stored.filter.rebuild(capacity);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(stored.filter.capacity(), std::max<uint64_t>(capacity, 3000));
    EXPECT_EQ(stored.filter.items(), 3000u);
    EXPECT_EQ(stored.missing(0, 3000), 0u);
    stored.commit();
    stored.expect_good();
    EXPECT_EQ(stored.missing(0, 3000), 0u);
  }
  const Status status = stored.filter.rebuild(0);
  EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalid);
  EXPECT_EQ(stored.missing(0, 3000), 0u);
}

TEST(LoggedFilter, clear_and_rebuild_end_with_the_last_generation) {
  StoredFilter stored(options_for(100));
  stored.add(0, 10);
  stored.commit();
  FilterRecord record = stored.filter.record();
  const uint64_t shift = (kMaxEpoch - record.epoch) << 40;
  record.epoch = kMaxEpoch;
  record.first_row += shift;
  record.fold_row += shift;
  record.end_row += shift;
  StoredRows rows = stored.storage.snapshot();
  rows.log.clear();
  for (const auto& [id, row] : stored.storage.rows.log) {
    rows.log[id + static_cast<int64_t>(shift)] = row;
  }
  rows.record = encode_record(record);
  stored.roll_back(rows);
  EXPECT_EQ(stored.filter.rebuild(1000).error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.filter.clear().error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.missing(0, 10), 0u);
  stored.commit();
  EXPECT_EQ(difference(rows, stored.storage.rows), "");
  stored.expect_good();
}

// ---- removes

TEST(LoggedFilter, I1_removing_one_of_two_hashes_of_a_cell_keeps_the_other) {
  for (const bool folded : {false, true}) {
    StoredFilter stored(options_for(1000, 0.25));
    const auto [a, b] = colliding_pair(stored.filter);
    ASSERT_TRUE(stored.filter.insert(a).ok() && stored.filter.insert(b).ok());
    if (folded) {
      ASSERT_TRUE(stored.filter.rebuild(1000).ok());
    }
    EXPECT_TRUE(stored.remove(a));
    EXPECT_TRUE(stored.has(b));
    EXPECT_EQ(stored.has(a), folded) << "the tail tells them apart, a cell does not";
    EXPECT_TRUE(stored.remove(b));
    EXPECT_FALSE(stored.has(a));
    EXPECT_FALSE(stored.has(b));
    EXPECT_FALSE(stored.remove(b));
    EXPECT_EQ(stored.filter.items(), 0u);
    stored.commit();
    stored.expect_good();
  }
}

TEST(LoggedFilter, rebuild_repairs_what_the_removal_of_a_key_never_added_broke) {
  StoredFilter stored(options_for(1000, 0.25));
  const auto [mine, foreign] = colliding_pair(stored.filter);
  ASSERT_TRUE(stored.filter.insert(mine).ok());
  ASSERT_TRUE(stored.filter.rebuild(1000).ok());
  EXPECT_TRUE(stored.remove(foreign)) << "a filter can't know it was never added";
  EXPECT_FALSE(stored.has(mine));
  EXPECT_EQ(stored.filter.items(), 0u);
  stored.commit();
  stored.expect_good();
  ASSERT_TRUE(stored.filter.rebuild(1000).ok());
  EXPECT_TRUE(stored.has(mine));
  EXPECT_EQ(stored.filter.items(), 1u);
  stored.commit();
  stored.expect_good();
}

TEST(LoggedFilter, I2_a_cell_is_not_removed_more_often_than_it_was_folded) {
  StoredFilter stored(options_for(1000, 0.25));
  const auto [a, b] = colliding_pair(stored.filter);
  ASSERT_TRUE(stored.filter.insert(a).ok());
  ASSERT_TRUE(stored.filter.rebuild(1000).ok());
  EXPECT_TRUE(stored.remove(b));
  EXPECT_FALSE(stored.remove(a));
  EXPECT_FALSE(stored.remove(b));
  ASSERT_TRUE(stored.filter.insert(b).ok());  // takes the pending remove back
  EXPECT_TRUE(stored.has(a));
  EXPECT_EQ(stored.filter.count(a), 1u);
  EXPECT_EQ(stored.filter.items(), 1u);
}

// In a counting filter keys share single counters: who removes what was never added can remove more
// often than was added.
TEST(LoggedFilter, items_never_fall_below_zero) {
  for (const bool growth : {false, true}) {
    for (const uint64_t capacity : {1u, 2u, 3u}) {
      StoredFilter stored(
          test::options_for({FilterKind::kCountingBloom, growth}, capacity, 0.25, 64));
      uint64_t known = 0;
      for (uint64_t i = 0; i < 4000; ++i) {
        if (i % 7 != 0) {
          known -= stored.remove(nth_hash(nth_word(3, i) % 1000)) ? 1 : 0;
        } else if (stored.filter.insert(nth_hash(i % 50)).ok()) {
          ++known;
        }
        if (i % 100 == 0) {
          stored.commit();
        }
        if (stored.filter.tail_entries() == 0) {
          known = stored.filter.items();  // a rebuild drops removes of what was never added
        }
        ASSERT_LE(stored.filter.items(), i + 1);
        ASSERT_EQ(stored.filter.items(), known);
      }
      stored.commit();
      stored.expect_good();
      EXPECT_TRUE(!growth || stored.filter.rebuild(capacity).ok());
      stored.commit();
      stored.expect_good();
      EXPECT_LE(stored.filter.items(), 4000u / 7 + 1);
    }
  }
}

// ---- growth off

TEST(LoggedFilter, full_without_growth_refuses_adds_and_goes_on_after_a_remove) {
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{3}, uint64_t{10}, uint64_t{2000}}) {
    FilterOptions options = options_for(capacity);
    options.growth = false;
    StoredFilter stored(options);
    stored.add(0, capacity);
    stored.commit();
    const StoredRows before = stored.storage.snapshot();
    for (const uint64_t i : {uint64_t{0}, capacity + 1}) {
      const Status status = stored.filter.insert(nth_hash(i));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kFull);
    }
    EXPECT_EQ(stored.filter.items(), capacity);
    stored.commit();
    EXPECT_EQ(difference(before, stored.storage.rows), "") << "I7: nothing changed";
    EXPECT_TRUE(stored.remove(nth_hash(0)));
    ASSERT_TRUE(stored.filter.insert(nth_hash(capacity + 1)).ok());
    EXPECT_EQ(stored.filter.insert(nth_hash(0)).error().code, ErrorCode::kFull);
    stored.commit();
    EXPECT_EQ(stored.missing(1, capacity), 0u);
    EXPECT_TRUE(stored.has(nth_hash(capacity + 1)));
    stored.expect_good();
  }
}

TEST(LoggedFilter, without_growth_a_fold_cuts_the_log) {
  FilterOptions options = options_for(20000);
  options.growth = false;
  StoredFilter stored(options);
  stored.add(0, 10000);
  stored.commit();
  EXPECT_EQ(stored.filter.log_entries(), 0u) << "fold_rest() folded the rest";
  EXPECT_TRUE(stored.storage.rows.log.empty());
  stored.add(10000, 10010);
  stored.commit();
  EXPECT_EQ(stored.storage.rows.log.size(), 1u);
  EXPECT_EQ(stored.missing(0, 10010), 0u);
  EXPECT_EQ(stored.filter.rebuild(20000).error().code, ErrorCode::kInvalid);
  stored.expect_good();
}

TEST(LoggedFilter, growth_ends_where_hashes_become_too_alike) {
  FilterOptions options = options_for(1000, kMinRate);  // 2^46 · 2^-30 = 65,536 items
  StoredFilter stored(options);
  stored.add(0, 65536);
  const Status status = stored.filter.insert(nth_hash(65536));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  stored.commit();
  EXPECT_EQ(stored.missing(0, 65536), 0u);
  stored.expect_good();
}

// Made anew at 504 entries or so, and each time there are four times as many.
TEST(LoggedFilter, I5_a_load_that_grows_is_made_anew_few_times) {
  StoredFilter stored(options_for(1, 0.01, kPageBytes));
  stored.add(0, 100000);
  stored.commit();
  EXPECT_EQ(stored.filter.record().epoch, 5U);
  EXPECT_EQ(stored.missing(0, 100000), 0U);
  stored.expect_good();
}

// ---- following storage

// An add that nobody has asked for yet is not indexed when another connection's remove of it comes.
TEST(LoggedFilter, I2_a_foreign_remove_of_an_own_add_is_in_order) {
  const FilterOptions options = options_for(500);
  StoredFilter stored(options);
  stored.add(0, 1);
  stored.commit();
  LoggedFilter other(options, stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  ASSERT_TRUE(other.remove(nth_hash(0)).value());
  ASSERT_TRUE(other.flush().ok());
  ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
  const Status status = stored.filter.check();
  EXPECT_TRUE(status.ok()) << message_of(status);
  EXPECT_EQ(stored.filter.items(), 0u);
}

TEST(LoggedFilter, record_of_other_options_is_refused) {
  StoredFilter stored(options_for(100));
  FilterOptions options = options_for(100);
  options.digest ^= 1;
  LoggedFilter other(options, stored.storage);
  const Status status = other.refresh(stored.storage.rows.record);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace cuckoo
