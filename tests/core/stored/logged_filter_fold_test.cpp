// A load folds its adds into buckets that stay decoded until the next flush (BulkInserter): the
// pages lag behind, and nobody notices. That somebody asks changes nothing of what is stored:
// logged_filter_waiting_test.cpp has random scripts of it.
#include <gtest/gtest.h>

#include <map>

#include "core/filter/cuckoo_filter.hpp"
#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::FilterCase;
using test::nth_hash;
using test::StoredFilter;
using test::StoredRows;

constexpr uint64_t kCapacity = 20000;
constexpr uint64_t kKeys = 15000;

class BulkFolds : public ::testing::TestWithParam<FilterCase> {
 protected:
  static StoredFilter made() { return StoredFilter(options()); }
  static FilterOptions options() { return test::options_for(GetParam(), kCapacity, 0.001, 1024); }
  static bool growth() { return GetParam().growth; }

  static void load(StoredFilter& stored, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      ASSERT_TRUE(stored.filter.insert_soon(nth_hash(i)).ok());
    }
  }
  // How many of the keys that are folded the pages lack.
  static uint64_t lagging(const LoggedFilter& filter) {
    const auto& base = static_cast<const CuckooFilter&>(filter.base());
    uint64_t lagging = 0;
    for (uint64_t i = 0; i < filter.record().fold_items; ++i) {
      lagging += base.contains(nth_hash(i)) ? 0 : 1;
    }
    return lagging;
  }
};

TEST_P(BulkFolds, leave_the_pages_behind_until_somebody_asks) {
  StoredFilter stored = made();
  load(stored, 0, kKeys);
  const uint64_t folded = stored.filter.record().fold_items;
  ASSERT_GT(folded, kKeys / 2);
  EXPECT_GT(lagging(stored.filter), folded / 2);
  EXPECT_EQ(stored.filter.probe(nth_hash(folded / 2)), LoggedFilter::Answer::kPresent);
  EXPECT_EQ(lagging(stored.filter), 0u);
  load(stored, kKeys, kCapacity);
  EXPECT_GT(lagging(stored.filter), 0u);
  stored.filter.settle();
  EXPECT_EQ(lagging(stored.filter), 0u);
  EXPECT_EQ(stored.missing(0, kCapacity), 0u);
  stored.commit();
  stored.expect_good();
}

TEST_P(BulkFolds, I9_pages_that_lag_are_not_written) {
  StoredFilter stored = made();
  load(stored, 0, kKeys);
  ASSERT_GT(lagging(stored.filter), 0u);
  test::MemoryStorage other;
  const Status early = stored.filter.write_pending_to(other);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(difference(other.rows, StoredRows()), "");
  stored.filter.settle();
  const Status status = stored.filter.write_pending_to(other);
  EXPECT_TRUE(status.ok()) << test::message_of(status);
  ASSERT_TRUE(stored.filter.flush().ok());
  EXPECT_EQ(other.rows.record, stored.storage.rows.record);
  stored.commit();
  stored.expect_good();
}

TEST_P(BulkFolds, are_the_same_whoever_asks) {
  StoredFilter asked = made();
  StoredFilter quiet = made();
  for (uint64_t i = 0; i < kCapacity; ++i) {
    load(quiet, i, i + 1);
    load(asked, i, i + 1);
    if (i % 997 == 0) {
      ASSERT_TRUE(asked.has(nth_hash(i)));
    } else if (i % 1999 == 0) {
      ASSERT_EQ(asked.filter.count(nth_hash(i)), 1u);
    } else if (i % 2003 == 0) {
      asked.filter.settle();
      ASSERT_TRUE(asked.filter.contents(false).ok());
    }
  }
  EXPECT_GT(lagging(quiet.filter), 0u);
  asked.commit();
  quiet.commit();
  EXPECT_EQ(difference(asked.storage.rows, quiet.storage.rows), "");
  quiet.expect_good();
}

// Whole rows of the log: no load takes more of them than it has to.
TEST_P(BulkFolds, fill_their_rows) {
  StoredFilter stored = made();
  load(stored, 0, kKeys);
  stored.commit();
  const uint64_t row = raw_row_capacity(stored.filter.options().row_bytes(), options().width);
  EXPECT_LE(stored.storage.rows.log.size(), growth() ? kKeys / row + 3 : 0);
}

TEST_P(BulkFolds, let_removes_come_in_between) {
  StoredFilter stored = made();
  load(stored, 0, kKeys);
  for (uint64_t i = 0; i < kKeys; i += 3) {
    const Result<bool> removed = stored.filter.remove(nth_hash(i));
    ASSERT_TRUE(removed.ok() && removed.value()) << i;
  }
  load(stored, kKeys, kCapacity);
  EXPECT_EQ(stored.filter.items(), kCapacity - kKeys / 3);
  for (uint64_t i = 0; i < kCapacity; ++i) {
    ASSERT_TRUE((i < kKeys && i % 3 == 0) || stored.has(nth_hash(i))) << i;
  }
  stored.commit();
  stored.expect_good();
}

TEST_P(BulkFolds, are_gone_after_a_roll_back) {
  StoredFilter stored = made();
  load(stored, 0, 1000);
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  load(stored, 1000, kKeys);
  stored.filter.forget();
  stored.roll_back(before);
  EXPECT_EQ(stored.filter.items(), 1000u);
  EXPECT_EQ(stored.missing(0, 1000), 0u);
  EXPECT_GT(stored.missing(1000, kKeys), (kKeys - 1000) / 100 * 98);
  stored.expect_good();
  load(stored, 1000, kCapacity);
  stored.commit();
  EXPECT_EQ(stored.missing(0, kCapacity), 0u);
  stored.expect_good();
}

// The pages are made up to date for the savepoint, and memory is dropped behind it.
TEST_P(BulkFolds, are_kept_by_a_savepoint) {
  StoredFilter stored = made();
  load(stored, 0, kKeys);
  ASSERT_TRUE(stored.filter.flush().ok());
  EXPECT_EQ(lagging(stored.filter), 0u);
  const StoredRows before = stored.storage.snapshot();
  load(stored, kKeys, kCapacity);
  stored.filter.forget();
  stored.roll_back(before);
  EXPECT_EQ(stored.filter.items(), kKeys);
  EXPECT_EQ(stored.missing(0, kKeys), 0u);
  stored.commit();
  stored.expect_good();
}

// A load that goes on beyond the capacity ends them: the filter grows, or is full.
TEST_P(BulkFolds, end_where_the_filter_is_full) {
  StoredFilter stored = made();
  load(stored, 0, kCapacity);
  if (growth()) {
    load(stored, kCapacity, 3 * kCapacity);
    EXPECT_GT(stored.filter.record().epoch, 0u);
  }
  const uint64_t items = stored.filter.items();
  EXPECT_EQ(stored.filter.insert_soon(nth_hash(items)).ok(), growth());
  stored.commit();
  EXPECT_EQ(stored.missing(0, items), 0u);
  stored.expect_good();
}

// A million copies of a few keys are no load for a cuckoo filter's buckets.
TEST_P(BulkFolds, take_any_number_of_copies) {
  StoredFilter stored = made();
  std::map<uint64_t, uint64_t> copies;
  for (uint64_t i = 0; i < kCapacity; ++i) {
    const uint64_t key = i % 5 == 0 ? i : i % 7;
    ASSERT_TRUE(stored.filter.insert_soon(nth_hash(key)).ok());
    ++copies[key];
  }
  stored.commit();
  EXPECT_GT(stored.filter.base().overflow().items(), kCapacity / 2);
  for (const auto& [key, count] : copies) {
    ASSERT_GE(stored.filter.count(nth_hash(key)), count);
  }
  stored.expect_good();
}

INSTANTIATE_TEST_SUITE_P(Kinds, BulkFolds,
                         ::testing::Values(FilterCase{FilterKind::kCuckoo, false},
                                           FilterCase{FilterKind::kCuckoo, true}),
                         test::kCaseName);

// ---- in memory

TEST(BulkInserter, leaves_what_an_insert_of_all_at_once_does) {
  for (const double rate : {0.01, 0.0001, 1e-7}) {
    FilterSpec spec;
    spec.rate = rate;
    Result<std::unique_ptr<Filter>> made[3] = {make_filter(spec, 5000, 1024),
                                               make_filter(spec, 5000, 1024),
                                               make_filter(spec, 5000, 1024)};
    std::vector<uint64_t> hashes;
    for (uint64_t i = 0; i < 5000; ++i) {
      hashes.push_back(nth_hash(i % 4900));
    }
    uint64_t digests[3] = {};
    uint64_t present[3] = {};
    for (size_t way = 0; way < 3; ++way) {
      Filter& filter = *made[way].value();
      filter.pages().complete();
      const std::unique_ptr<BulkInserter> bulk = filter.bulk_inserter();
      ASSERT_NE(bulk, nullptr);
      EXPECT_GT(bulk->memory_bytes(), 5000 * sizeof(uint16_t));
      const size_t step = way == 0 ? hashes.size() : way == 1 ? 1 : 1250;
      for (size_t at = 0; at < hashes.size(); at += step) {
        present[way] += bulk->insert(std::span(hashes).subspan(at, step), &digests[way]);
        if (way == 2) {
          bulk->store();  // however often
        }
      }
      bulk->store();
      EXPECT_EQ(digests[way], filter.digest()) << "I5";
      EXPECT_EQ(present[way], present[0]);
      EXPECT_GE(present[way], 100u);
      EXPECT_TRUE(filter.check().ok());
      EXPECT_TRUE(equal_cells(filter, *made[0].value())) << way;
    }
  }
}

TEST(BulkInserter, is_for_cuckoo_filters_that_are_not_too_large) {
  FilterSpec spec;
  spec.rate = 0.001;
  const Result<std::unique_ptr<Filter>> small = make_filter(spec, 1000, 1024);
  const Result<std::unique_ptr<Filter>> huge = make_filter(spec, uint64_t{1} << 36, kPageBytes);
  EXPECT_EQ(small.value()->fewest_bulk_inserts(), 1024u);
  EXPECT_EQ(huge.value()->fewest_bulk_inserts(), Filter::kNoBulk);
  EXPECT_EQ(huge.value()->bulk_inserter(), nullptr);
  spec.kind = FilterKind::kBloom;
  const Result<std::unique_ptr<Filter>> bloom = make_filter(spec, 1000, 1024);
  EXPECT_EQ(bloom.value()->fewest_bulk_inserts(), Filter::kNoBulk);
}

}  // namespace
}  // namespace cuckoo
