// LoggedFilters of every kind at their limits: full, out of range, of the smallest and largest
// cells.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/stored/contents.hpp"
#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::answers_of;
using test::cases_where;
using test::difference;
using test::FilterCase;
using test::kCaseName;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;
using test::StoredRows;
using ::testing::ValuesIn;

class LoggedFilterLimits : public test::KindsTest {};
class GrowingFilterLimits : public test::KindsTest {};
class FixedFilterLimits : public test::KindsTest {};
class FixedMultisetLimits : public test::KindsTest {};
class FixedBloomLimits : public test::KindsTest {};

INSTANTIATE_TEST_SUITE_P(Kinds, LoggedFilterLimits, ValuesIn(test::all_cases()), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingFilterLimits, ValuesIn(cases_where(test::grows)), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, FixedFilterLimits, ValuesIn(cases_where(test::is_fixed)),
                         kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, FixedMultisetLimits, ValuesIn(cases_where([](const FilterCase& c) {
                           return !c.growth && c.multiset();
                         })),
                         kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, FixedBloomLimits, ValuesIn(cases_where([](const FilterCase& c) {
                           return !c.growth && c.kind != FilterKind::kCuckoo;
                         })),
                         kCaseName);

// ---- full

// Adds new keys, each followed by a fold if asked, until the filter is full. How many fitted.
uint64_t fill(StoredFilter& stored, uint64_t first, uint64_t most, bool fold_each) {
  for (uint64_t i = 0; i < most; ++i) {
    const Status status = stored.filter.insert(stored.hash(first + i));
    if (!status.ok()) {
      EXPECT_EQ(status.error().code, ErrorCode::kFull);
      EXPECT_TRUE(stored.filter.usable());
      return i;
    }
    if (fold_each) {
      EXPECT_TRUE(stored.filter.fold().ok());
    }
  }
  return most;
}

TEST_P(FixedFilterLimits, as_many_distinct_keys_as_its_capacity_fit_without_growth) {
  for (const uint64_t capacity : {1u, 2u, 3u, 10u, 100u, 1000u}) {
    for (uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE("capacity " + std::to_string(capacity) + ", seed " + std::to_string(seed));
      StoredFilter stored(options(capacity));
      const uint64_t first = seed * 1000000;
      const uint64_t most = 3 * capacity + 20;
      const uint64_t fitted = fill(stored, first, most, seed % 2 == 0);
      ASSERT_GE(fitted, capacity);
      ASSERT_LT(fitted, most);
      ASSERT_EQ(stored.missing(first, first + fitted), 0u);
      if (is_cuckoo()) {
        ASSERT_EQ(fitted, capacity);
      } else if (!multiset()) {  // what looks present needs no room
        ASSERT_EQ(stored.filter.items(), capacity);
      }
      if (capacity >= 100) {  // one filter; of a counting one's items some may be copies
        EXPECT_LE(stored.filter.base().rate_now(), !multiset()       ? 0.0125
                                                   : capacity < 1000 ? 0.016
                                                                     : 0.012);
      }
    }
  }
}

TEST_P(FixedFilterLimits, I7_full_changes_nothing) {
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{10}, uint64_t{2000}}) {
    StoredFilter stored(options(capacity));
    const uint64_t fitted = fill(stored, 0, 2 * capacity + 20, false);
    stored.commit();
    uint64_t stranger = 5000000;
    while (stored.has(nth_hash(stranger))) {
      ++stranger;
    }
    const StoredRows before = stored.storage.snapshot();
    const std::vector<uint64_t> answers = answers_of(stored.filter, 3000);
    const Status status = stored.filter.insert(nth_hash(stranger));
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kFull);
    EXPECT_EQ(answers_of(stored.filter, 3000), answers);
    EXPECT_FALSE(stored.filter.pending());
    stored.commit();
    EXPECT_EQ(difference(before, stored.storage.rows), "");
    stored.expect_good();
    // What is there needs no room in a Bloom filter; of a cuckoo filter's items it is one more.
    EXPECT_EQ(stored.filter.insert(nth_hash(0)).ok(), !is_cuckoo());
    uint64_t removed = 0;
    while (multiset() && stored.filter.items() >= capacity) {
      ASSERT_TRUE(removed > 0 || is_cuckoo() || stored.remove(nth_hash(0)));
      ASSERT_TRUE(stored.remove(nth_hash(removed++)));
    }
    EXPECT_TRUE(!multiset() || stored.filter.insert(nth_hash(fitted)).ok()) << "room again";
    stored.commit();
    EXPECT_EQ(stored.missing(removed, fitted), 0u);
    stored.expect_good();
    ASSERT_TRUE(stored.filter.clear().ok());
    EXPECT_GE(fill(stored, 100, 2 * capacity + 20, false), capacity);
  }
}

// Copies are no keys: a Bloom filter has room for `capacity` distinct ones whatever came how often.
TEST_P(FixedBloomLimits, copies_never_fill_a_bloom_filter) {
  for (const uint64_t capacity : {uint64_t{20}, uint64_t{100}, uint64_t{500}}) {
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      SCOPED_TRACE("capacity " + std::to_string(capacity) + ", seed " + std::to_string(seed));
      StoredFilter stored(options(capacity));
      const uint64_t first = seed * 1000000;
      stored.add_copies(first, 2 * capacity);
      stored.add_copies(first + 1, 2 * capacity);
      ASSERT_GE(2 + fill(stored, first + 2, 3 * capacity, seed % 2 == 0), capacity);
      stored.add_copies(first + 2, 20);
    }
  }
}

// Full, so that what is taken out leaves too little room for what comes in: more items than its
// capacity, or a key of more cells than the one before.
TEST_P(FixedMultisetLimits, I7_replace_in_a_full_filter_changes_nothing_if_it_fails) {
  uint64_t refused = 0;
  for (const uint64_t capacity : {2u, 20u, 100u}) {
    StoredFilter stored(options(capacity));
    HashCollection collection(stored.filter.options().width);
    std::vector<uint64_t> hashes;
    for (uint64_t i = 0; i < 2 * capacity; ++i) {
      hashes.push_back(nth_hash(i));
    }
    FilterOptions twice = options(2 * capacity);
    FilterContents contents = test::contents_of(hashes, twice, collection);
    contents.capacity = capacity;  // an image may hold more than it was made for
    ASSERT_TRUE(stored.filter.import(stored.filter.options(), std::move(contents)).ok());
    stored.commit();
    const std::vector<uint64_t> answers = answers_of(stored.filter, 3 * capacity);
    for (uint64_t i = 0; i < 2 * capacity; ++i) {
      const uint64_t to = nth_hash(1000000 + 1000 * capacity + i);
      const Result<LoggedFilter::Replaced> replaced = stored.filter.replace(nth_hash(i), to);
      ASSERT_EQ(stored.filter.items(), 2 * capacity);
      if (replaced.ok()) {  // it looks present: needs no room
        ASSERT_FALSE(is_cuckoo());
        ASSERT_TRUE(stored.has(to));
        continue;
      }
      ASSERT_EQ(replaced.error().code, ErrorCode::kFull);
      ASSERT_TRUE(stored.filter.usable());
      ASSERT_TRUE(stored.has(nth_hash(i))) << "it is where it was";
      ++refused;
    }
    if (is_cuckoo()) {
      EXPECT_EQ(answers_of(stored.filter, 3 * capacity), answers);
    }
    stored.commit();
    stored.expect_good();
  }
  EXPECT_GT(refused, 0u);
}

// ---- limits

TEST_P(LoggedFilterLimits, options_out_of_range_are_refused) {
  const auto refused = [](const FilterOptions& options) {
    test::MemoryStorage storage;
    LoggedFilter filter(options, storage);
    const Status status = filter.create();
    return !status.ok() && status.error().code == ErrorCode::kInvalid && !filter.usable() &&
           storage.calls.all() == 0;
  };
  EXPECT_FALSE(refused(options(10)));
  EXPECT_TRUE(refused(options(0)));
  EXPECT_TRUE(refused(options(kMaxCapacity + 1)));
  EXPECT_TRUE(refused(options(10, 0)));
  EXPECT_TRUE(refused(options(10, -1)));
  EXPECT_TRUE(refused(options(10, 0.3)));
  EXPECT_TRUE(refused(options(10, std::nan(""))));
  EXPECT_TRUE(refused(options(uint64_t{1} << 40, 1e-9)));
  FilterOptions changed = options(10);
  changed.spec.fingerprint_bits = 33;
  EXPECT_EQ(refused(changed), is_cuckoo());
  for (const double bits : {0.5, 129.0, -1.0, std::nan("")}) {
    changed = options(10);
    changed.spec.bits_per_key = bits;
    EXPECT_EQ(refused(changed), !is_cuckoo()) << bits;
  }
  changed = options(10);
  changed.spec.hashes = 65;
  EXPECT_EQ(refused(changed), !is_cuckoo());
}

TEST_P(GrowingFilterLimits, growth_ends_where_hashes_become_too_alike) {
  StoredFilter stored(options(1000, kMinRate, kPageBytes));  // 2^46 · 2^-30 = 65,536 items
  stored.add(0, 65536);
  EXPECT_EQ(stored.filter.items(), 65536u);
  const Status status = stored.filter.insert(nth_hash(65536));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.filter.items(), 65536u);
  stored.commit();
  EXPECT_EQ(stored.missing(0, 65536), 0u);
  EXPECT_EQ(stored.missing(65536, 65537), 1u);
  stored.expect_good();
}

TEST_P(GrowingFilterLimits, of_hashes_are_known_before_an_add) {
  StoredFilter stored(options(1000, kMinRate, kPageBytes));
  stored.add(0, 500);
  EXPECT_TRUE(stored.filter.expect_room(65536 - 500).ok());
  for (const uint64_t items : {uint64_t{65536 - 499}, uint64_t{1} << 62}) {
    const Status status = stored.filter.expect_room(items);
    ASSERT_EQ(status.ok(), !stored.filter.multiset());
    if (!status.ok()) {
      EXPECT_EQ(status.error().code, ErrorCode::kFull);
      EXPECT_NE(status.error().message.find("65536 that hashes of 47 bits"), std::string::npos)
          << status.error().message;
    }
  }
}

TEST_P(GrowingFilterLimits, I7_rebuild_to_a_capacity_out_of_range_changes_nothing) {
  StoredFilter stored(options(500, 1e-6));
  stored.add(0, 300);
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  const std::vector<uint64_t> answers = answers_of(stored.filter, 1000);
  for (const uint64_t capacity : {kMaxCapacity + 1, UINT64_MAX}) {
    const Status status = stored.filter.rebuild(capacity);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(stored.filter.usable());
    EXPECT_EQ(answers_of(stored.filter, 1000), answers);
  }
  stored.commit();
  EXPECT_EQ(difference(before, stored.storage.rows), "");
  ASSERT_TRUE(stored.filter.clear().ok());
  const Status status = stored.filter.rebuild(0);  // nothing is in it
  EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalid);
  stored.add(0, 10);
  stored.commit();
  stored.expect_good();
}

// The hash width bounds how many keys can be told apart, never below what CREATE was asked for.
TEST_P(LoggedFilterLimits, every_size_of_cell_takes_its_capacity_and_grows) {
  const auto specs = [] {
    std::vector<FilterSpec> specs;
    FilterSpec spec;
    spec.kind = GetParam().kind;
    for (const double rate : {0.25, 1e-3, 1e-6, kMinRate}) {
      spec.rate = rate;
      specs.push_back(spec);
    }
    for (const uint32_t bits : {4u, 12u, 32u}) {
      spec.fingerprint_bits = is_cuckoo() ? bits : 0;
      spec.bits_per_key = is_cuckoo() ? 0 : bits;
      specs.push_back(spec);
    }
    spec.bits_per_key = is_cuckoo() ? 0 : 128;
    specs.push_back(spec);
    spec.bits_per_key = spec.fingerprint_bits = 0;
    for (const auto& [hashes, rate] : {std::pair(1u, 1e-3), {2u, 1e-6}, {64u, 0.25}}) {
      spec.hashes = is_cuckoo() || GetParam().kind == FilterKind::kBlockedBloom ? 0 : hashes;
      spec.rate = rate;
      specs.push_back(spec);
    }
    return specs;
  }();
  for (const FilterSpec& spec : specs) {
    SCOPED_TRACE("rate " + std::to_string(spec.rate) + ", bits " +
                 std::to_string(spec.fingerprint_bits) + " or " +
                 std::to_string(spec.bits_per_key) + ", hashes " + std::to_string(spec.hashes));
    for (const uint64_t capacity : {1u, 2u, 300u}) {
      FilterOptions chosen = options(capacity);
      chosen.spec = spec;
      chosen.width = HashWidth::k63Bits;
      StoredFilter stored(chosen);
      const uint64_t keys = growth() ? 1200 : capacity;
      for (uint64_t done = 0; done < keys; done += 600) {
        stored.add(done, std::min(keys, done + 600));
        if (HasFatalFailure()) {
          return;
        }
        stored.commit();
        LoggedFilter other(chosen, stored.storage);
        const Status status = other.refresh(stored.storage.rows.record);
        ASSERT_TRUE(status.ok()) << message_of(status);
        ASSERT_EQ(other.items(), stored.filter.items());
      }
      EXPECT_EQ(stored.missing(0, keys), 0u);
      stored.expect_good();
    }
  }
}

}  // namespace
}  // namespace cuckoo
