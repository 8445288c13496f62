// What a LoggedFilter's log costs in the long run: churn, copies, floods of one key.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"
#include "tests/slow.hpp"

namespace cuckoo {
namespace {

using test::FilterCase;
using test::MemoryStorage;
using test::message_of;
using test::nth_hash;

// A multiset's; a set's log is in logged_filter_kinds_test.cpp.
class LoggedFilterLog : public ::testing::TestWithParam<FilterCase> {
 protected:
  LoggedFilterLog() : filter_(options(), storage_) { EXPECT_TRUE(filter_.create().ok()); }

  static FilterOptions options() {
    return test::options_for(GetParam(), growth() ? 1000 : 3000000, 0.01, kPageBytes);
  }
  static bool growth() { return GetParam().growth; }

  void commit() {
    Status status = filter_.fold_rest();
    ASSERT_TRUE(status.ok()) << message_of(status);
    status = filter_.flush();
    ASSERT_TRUE(status.ok()) << message_of(status);
    filter_.committed();
    largest_log_ = std::max(largest_log_, filter_.log_entries());
    EXPECT_LT(filter_.tail_entries(), filter_.fold_threshold() + largest_transaction_);
  }
  void add(uint64_t hash) { ASSERT_TRUE(filter_.insert(hash).ok()); }
  void remove(uint64_t hash) {
    const Result<bool> removed = filter_.remove(hash);
    ASSERT_TRUE(removed.ok() && removed.value());
  }
  bool has(uint64_t hash) {
    EXPECT_TRUE(filter_.load(hash).ok());
    return filter_.contains(hash);
  }
  uint64_t missing(uint64_t first, uint64_t end) {
    uint64_t missing = 0;
    for (uint64_t i = first; i < end; ++i) {
      missing += has(nth_hash(i)) ? 0 : 1;
    }
    return missing;
  }
  uint64_t stored_bytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : storage_.rows.log) {
      bytes += entry.second.size();
    }
    return bytes;
  }
  void expect_good() {
    const Status status = filter_.check();
    EXPECT_TRUE(status.ok()) << message_of(status);
  }

  MemoryStorage storage_;
  LoggedFilter filter_;
  uint64_t largest_log_ = 0;
  uint64_t largest_transaction_ = 1000;
};

TEST_P(LoggedFilterLog, a_million_pairs_of_few_keys_do_not_lengthen_it) {
  for (uint64_t i = 0; i < 500; ++i) {
    add(nth_hash(i));
  }
  commit();
  const uint64_t capacity = filter_.capacity();
  for (uint64_t pair = 0; pair < 1000000; ++pair) {
    const uint64_t hash = nth_hash(1000 + pair % 50);
    add(hash);
    remove(hash);
    if (pair % 500 == 499) {
      commit();
    }
  }
  // compaction is due at 1.5 times the compacted length + 4096; the tail and a transaction follow
  EXPECT_LE(largest_log_, 500 * 3 / 2 + 4096 + filter_.fold_threshold() + largest_transaction_);
  EXPECT_LE(stored_bytes(), 6 * largest_log_ * 5 / 4);
  EXPECT_EQ(filter_.capacity(), capacity);
  EXPECT_EQ(filter_.items(), 500u);
  EXPECT_EQ(missing(0, 500), 0u);
  expect_good();
}

TEST_P(LoggedFilterLog, keys_replaced_forever_do_not_lengthen_it) {
  constexpr uint64_t kLive = 800;
  for (uint64_t i = 0; i < 400000; ++i) {
    add(nth_hash(i));
    if (i >= kLive) {
      remove(nth_hash(i - kLive));
    }
    if (i % 300 == 299) {
      commit();
    }
  }
  commit();
  EXPECT_LE(largest_log_, kLive * 3 / 2 + 4096 + filter_.fold_threshold() + largest_transaction_);
  EXPECT_EQ(filter_.items(), kLive);
  EXPECT_LE(filter_.capacity(), options().capacity * 2);
  EXPECT_EQ(missing(400000 - kLive, 400000), 0u);
  expect_good();
}

// A key added a million times costs one compacted entry and eight slots, and grows nothing.
TEST_P(LoggedFilterLog, one_key_added_and_removed_a_million_times_disturbs_nobody) {
  for (uint64_t i = 1; i < 500; ++i) {
    add(nth_hash(i));
  }
  commit();
  const uint64_t capacity = filter_.capacity();
  constexpr uint64_t kTimes = test::kSlow ? 100000 : 1000000;
  for (uint64_t i = 0; i < kTimes; ++i) {
    add(nth_hash(0));
    if (i % 1000 == 0) {
      commit();
    }
  }
  commit();
  EXPECT_EQ(filter_.items(), 499 + kTimes);
  EXPECT_EQ(filter_.capacity(), capacity);
  EXPECT_LE(storage_.rows.items.size(), GetParam().kind == FilterKind::kCuckoo ? 3u : 7u);
  EXPECT_EQ(missing(0, 500), 0u);
  expect_good();
  for (uint64_t i = 0; i < kTimes; ++i) {
    remove(nth_hash(0));
    if (i % 1000 == 0) {
      commit();
    }
  }
  commit();
  EXPECT_LE(largest_log_, 500 * 3 / 2 + 4096 + filter_.fold_threshold() + largest_transaction_);
  EXPECT_EQ(filter_.capacity(), capacity);
  EXPECT_EQ(filter_.items(), 499u);
  EXPECT_EQ(missing(1, 500), 0u);
  expect_good();
  if (growth()) {
    ASSERT_TRUE(filter_.rebuild(filter_.capacity()).ok());
    commit();
    EXPECT_EQ(filter_.items(), 499u);
    EXPECT_TRUE(storage_.rows.items.empty());
    EXPECT_EQ(filter_.log_entries(), 499u);
    expect_good();
  }
}

// The filter says "maybe" to a key never added; its add must be logged all the same.
TEST_P(LoggedFilterLog, an_add_of_a_false_positive_is_kept) {
  for (uint64_t i = 0; i < 1000; ++i) {
    add(nth_hash(i));
  }
  commit();
  if (growth()) {
    ASSERT_TRUE(filter_.rebuild(1000).ok());
  }
  std::vector<uint64_t> false_positives;
  for (uint64_t i = 1000000; false_positives.size() < 20 && i < 1100000; ++i) {
    if (has(nth_hash(i))) {
      false_positives.push_back(nth_hash(i));
    }
  }
  for (const uint64_t hash : false_positives) {
    add(hash);
  }
  EXPECT_EQ(filter_.items(), 1000 + false_positives.size());
  for (uint64_t i = 0; i < 1000; ++i) {
    remove(nth_hash(i));
  }
  if (growth()) {
    ASSERT_TRUE(filter_.rebuild(50000).ok());
  }
  commit();
  EXPECT_EQ(filter_.items(), false_positives.size());
  for (const uint64_t hash : false_positives) {
    EXPECT_TRUE(has(hash));
  }
  expect_good();
}

TEST_P(LoggedFilterLog, many_adds_in_one_transaction_are_folded_with_it) {
  constexpr uint64_t kKeys = 300000;
  for (uint64_t i = 0; i < kKeys; ++i) {
    add(nth_hash(i));
  }
  EXPECT_EQ(missing(0, 1000), 0u) << "before the commit";
  commit();
  EXPECT_EQ(filter_.tail_entries(), 0u);
  EXPECT_EQ(filter_.items(), kKeys);
  EXPECT_EQ(missing(0, kKeys), 0u);
  for (uint64_t i = 0; i < kKeys; ++i) {
    remove(nth_hash(i));
  }
  commit();
  EXPECT_EQ(filter_.items(), 0u);
  EXPECT_EQ(missing(0, kKeys), kKeys) << "an empty filter has no false positives";
  expect_good();
}

// A growth takes the hashes of a tail of adds alone from memory.
TEST_P(LoggedFilterLog, whether_somebody_asks_makes_no_difference_to_what_is_stored) {
  if (!growth()) {
    return;
  }
  MemoryStorage other_storage;
  LoggedFilter other(options(), other_storage);
  ASSERT_TRUE(other.create().ok());
  uint64_t next = 0;
  std::map<uint64_t, uint64_t> added;
  for (const uint64_t keys : {700, 900, 30000, 200, 100000, 3000, 5}) {
    for (const uint64_t end = next + keys; next < end; ++next) {
      const uint64_t hash = nth_hash(next % 7 == 0 ? next / 2 : next);  // some are added again
      add(hash);
      if (next % 100 == 0) {
        EXPECT_TRUE(has(hash));
      }
      ASSERT_TRUE(other.insert(hash).ok());
      ++added[hash];
    }
    if (keys == 3000) {  // this one is read back
      remove(nth_hash(1));
      add(nth_hash(1));
      ASSERT_TRUE(other.remove(nth_hash(1)).ok() && other.insert(nth_hash(1)).ok());
    }
    commit();
    ASSERT_TRUE(other.fold_rest().ok() && other.flush().ok());
    other.committed();
    EXPECT_EQ(test::difference(storage_.rows, other_storage.rows), "") << next << " keys";
    const Result<HashSource> hashes = filter_.hashes();
    ASSERT_TRUE(hashes.ok());
    std::map<uint64_t, uint64_t> held;
    ASSERT_TRUE(hashes
                    .value()([&held](uint64_t hash, uint64_t count) -> Status {
                      held[hash] = count;
                      return {};
                    })
                    .ok());
    EXPECT_EQ(held, added) << next << " keys";
  }
  EXPECT_GE(filter_.record().epoch, 5u);
  expect_good();
}

INSTANTIATE_TEST_SUITE_P(Kinds, LoggedFilterLog,
                         ::testing::Values(FilterCase{FilterKind::kCuckoo, false},
                                           FilterCase{FilterKind::kCuckoo, true},
                                           FilterCase{FilterKind::kCountingBloom, false},
                                           FilterCase{FilterKind::kCountingBloom, true}),
                         [](const auto& info) { return test::name_of(info.param); });

}  // namespace
}  // namespace cuckoo
