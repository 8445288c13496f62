#include "core/stored/contents.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/filter/bloom_filter.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::add_all_pages;
using test::Counts;
using test::counts_of;
using test::kSmallestPageBytes;
using test::message_of;
using test::name_of;
using test::nth_hash;
using test::nth_word;
using test::spec_of;

using Growth = HashCollection::Growth;

constexpr HashWidth kWidth = HashWidth::k47Bits;

std::unique_ptr<Filter> empty_filter(FilterKind kind, uint64_t capacity, double rate = 0.01) {
  std::unique_ptr<Filter> filter =
      std::move(make_filter(spec_of(kind, rate), capacity, kSmallestPageBytes).value());
  add_all_pages(*filter);
  return filter;
}

void insert(Filter& filter, uint64_t first, uint64_t end) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = first; i < end; ++i) {
    hashes.push_back(nth_hash(i));
  }
  (void)filter.insert_batch(hashes);
}

class FilterContentsOf : public ::testing::TestWithParam<FilterKind> {
 protected:
  static bool multiset() { return is_multiset(GetParam()); }
  static bool is_cuckoo() { return GetParam() == FilterKind::kCuckoo; }
};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterContentsOf, ::testing::ValuesIn(test::kLoggedKinds),
                         [](const auto& info) { return name_of(info.param); });

// ---- united items

TEST_P(FilterContentsOf, united_items_are_the_sum_or_what_the_cells_stand_for) {
  for (const uint64_t common : {0u, 1u, 500u, 1000u, 2000u}) {
    std::unique_ptr<Filter> a = empty_filter(GetParam(), 5000);
    std::unique_ptr<Filter> b = empty_filter(GetParam(), 5000);
    insert(*a, 0, 2000);
    insert(*b, 2000 - common, 4000 - common);
    ASSERT_TRUE(a->unite(*b).ok());
    const uint64_t items = a->united_items(2000, 2000, 5000);
    if (multiset()) {
      EXPECT_EQ(items, 4000u);
    } else {
      EXPECT_NEAR(static_cast<double>(items), 4000.0 - static_cast<double>(common), 100) << common;
    }
    EXPECT_GE(items, 2000u);
    EXPECT_LE(items, 4000u);
  }
}

TEST_P(FilterContentsOf, united_items_stay_between_the_larger_and_the_sum) {
  constexpr uint64_t kNoLimit = uint64_t{1} << 63;
  std::unique_ptr<Filter> filter = empty_filter(GetParam(), 300);
  EXPECT_EQ(filter->united_items(0, 0, kNoLimit), 0u);
  EXPECT_EQ(filter->united_items(7, 0, kNoLimit), 7u);
  for (uint64_t keys = 0; keys < 6000; keys += 50) {  // until every cell is in use
    insert(*filter, keys, keys + 50);
    uint64_t before = 0;
    for (uint64_t a = 0; a <= keys; a += 100) {
      const uint64_t items = filter->united_items(a, keys, kNoLimit);
      ASSERT_GE(items, std::max(a, keys));
      ASSERT_LE(items, a + keys);
      ASSERT_GE(items, before) << "rises with what was united";
      ASSERT_EQ(items, filter->united_items(keys, a, kNoLimit));
      before = items;
    }
  }
  const uint64_t huge = uint64_t{1} << 62;
  EXPECT_GE(filter->united_items(huge, 5, kNoLimit), huge);
}

TEST_P(FilterContentsOf, united_items_exceed_the_capacity_only_beyond_doubt) {
  constexpr uint64_t kCapacity = 1000;
  for (uint64_t first = 0; first < 40; ++first) {
    std::unique_ptr<Filter> filter = empty_filter(GetParam(), kCapacity);
    insert(*filter, first * 10000, first * 10000 + kCapacity);
    const uint64_t items = filter->united_items(600, 600, kCapacity);
    EXPECT_EQ(items, multiset() ? 1200 : std::min(items, kCapacity));
    insert(*filter, first * 10000 + kCapacity, first * 10000 + 2 * kCapacity);
    EXPECT_GT(filter->united_items(1000, 1000, kCapacity), kCapacity);
  }
}

// One geometry may be that of several capacities. What one of the two holds is no estimate.
TEST_P(FilterContentsOf, united_items_are_never_fewer_than_one_of_the_two_had) {
  for (uint64_t keys = 1; keys < 300; ++keys) {
    std::unique_ptr<Filter> filter = empty_filter(GetParam(), 300);
    insert(*filter, 0, keys);
    ASSERT_GE(filter->united_items(0, keys, keys - 1), keys);
    ASSERT_GE(filter->united_items(keys, 1, keys - 1), keys);
  }
}

// ---- equal cells, verified hashes

TEST_P(FilterContentsOf, equal_cells_tells_every_difference) {
  std::unique_ptr<Filter> a = empty_filter(GetParam(), 1000);
  std::unique_ptr<Filter> b = empty_filter(GetParam(), 1000);
  std::unique_ptr<Filter> absent =
      std::move(make_filter(spec_of(GetParam()), 1000, kSmallestPageBytes).value());
  EXPECT_TRUE(equal_cells(*a, *b));
  EXPECT_TRUE(equal_cells(*a, *absent)) << "absent pages are zero";
  EXPECT_TRUE(equal_cells(*absent, *a));
  EXPECT_TRUE(equal_cells(*absent, *absent));
  insert(*a, 0, 1);
  EXPECT_FALSE(equal_cells(*a, *b));
  EXPECT_FALSE(equal_cells(*b, *a));
  EXPECT_FALSE(equal_cells(*a, *absent));
  EXPECT_FALSE(equal_cells(*absent, *a));
  insert(*b, 0, 1);
  EXPECT_TRUE(equal_cells(*a, *b));
  insert(*a, 1, 900);
  insert(*b, 1, 900);
  EXPECT_TRUE(equal_cells(*a, *b));
  if (multiset()) {
    for (int copy = 0; copy < 40; ++copy) {
      insert(*a, 5, 6);
    }
    EXPECT_FALSE(equal_cells(*a, *b));
    for (int copy = 0; copy < 39; ++copy) {
      insert(*b, 5, 6);
    }
    EXPECT_FALSE(equal_cells(*a, *b)) << "the overflow table alone differs";
    insert(*b, 5, 6);
    EXPECT_TRUE(equal_cells(*a, *b));
  }
}

TEST_P(FilterContentsOf, verify_hashes_finds_hashes_that_are_not_the_filters) {
  const auto contents_without = [](uint64_t left_out, uint64_t added) {
    HashCollection collection(kWidth);
    for (uint64_t i = 0; i < 800; ++i) {
      collection.add(nth_hash(i));
    }
    collection.add(nth_hash(7));
    FilterContents contents = std::move(
        collection.build(spec_of(GetParam()), 1000, Growth::kOn, kSmallestPageBytes).value());
    Counts counts = counts_of(contents.hashes);
    counts.erase(nth_hash(left_out));
    if (added != 0) {
      counts[nth_hash(added)] = 1;
    }
    contents.hashes = [counts](const CountedHashSink& sink) -> Status {
      for (const auto& [hash, count] : counts) {
        CUCKOO_TRY(sink(hash, count));
      }
      return {};
    };
    contents.hash_count = counts.size();
    return contents;
  };
  EXPECT_TRUE(verify_hashes(contents_without(UINT64_MAX, 0)).ok());
  for (const auto& [left_out, added] :
       {std::pair<uint64_t, uint64_t>(5, 0), {5, 5000}, {UINT64_MAX, 5001}, {7, 0}, {799, 9000}}) {
    const Status status = verify_hashes(contents_without(left_out, added));
    ASSERT_FALSE(status.ok()) << left_out << ", " << added;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  }
  if (multiset()) {  // the right hashes, another count
    FilterContents contents = contents_without(7, 7);
    EXPECT_FALSE(verify_hashes(contents).ok());
  }
  FilterContents failing = contents_without(UINT64_MAX, 0);
  failing.hashes = [](const CountedHashSink&) -> Status {
    return Error{ErrorCode::kInterrupted, "enough", 0};
  };
  EXPECT_EQ(verify_hashes(failing).error().code, ErrorCode::kInterrupted);
}

// ---- collections

TEST_P(FilterContentsOf, a_collection_becomes_what_single_inserts_would_make) {
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{3000}, uint64_t{1000000}}) {
    for (const Growth growth : {Growth::kOff, Growth::kOn}) {
      HashCollection collection(kWidth);
      Counts expected;
      for (uint64_t i = 0; i < 3000; ++i) {
        const uint64_t hash = nth_word(61, i % 2500);  // all 64 bits; the width cuts them
        collection.add(hash);
        ++expected[logged_hash(hash, kWidth)];
      }
      Result<FilterContents> built =
          collection.build(spec_of(GetParam()), capacity, growth, kSmallestPageBytes);
      ASSERT_TRUE(built.ok()) << built.error().message;
      const FilterContents& contents = built.value();
      if (!multiset()) {
        for (auto& entry : expected) {
          entry.second = 1;
        }
      }
      EXPECT_EQ(counts_of(contents.hashes), expected);
      EXPECT_EQ(contents.hash_count, 2500u);
      EXPECT_EQ(contents.items, multiset() ? 3000u : 2500u);
      EXPECT_GE(contents.capacity, capacity == 0 ? 2500u : capacity);
      EXPECT_LE(contents.capacity, capacity == 0 ? 3000u : capacity);
      EXPECT_TRUE(contents.filter->check().ok()) << message_of(contents.filter->check());
      EXPECT_TRUE(verify_hashes(contents).ok());
      EXPECT_LE(contents.filter->rate_now(), 0.0105);
      std::unique_ptr<Filter> added = empty_filter(GetParam(), contents.capacity);
      ASSERT_EQ(added->words(), contents.filter->words());
      for (const auto& [hash, count] : expected) {
        (void)added->insert_batch(std::vector<uint64_t>(count, hash));
      }
      EXPECT_EQ(added->digest(), contents.filter->digest());
      EXPECT_TRUE(!added->canonical() || equal_cells(*added, *contents.filter));
      for (const auto& entry : expected) {
        ASSERT_EQ(contents.filter->probe(entry.first), Filter::Answer::kPresent);
      }
    }
  }
}

TEST_P(FilterContentsOf, an_empty_collection_is_an_empty_filter) {
  for (const uint64_t capacity : {0u, 1u, 100u}) {
    HashCollection collection(kWidth);
    Result<FilterContents> built =
        collection.build(spec_of(GetParam()), capacity, Growth::kOff, kSmallestPageBytes);
    ASSERT_TRUE(built.ok());
    EXPECT_EQ(built.value().items, 0u);
    EXPECT_EQ(built.value().hash_count, 0u);
    EXPECT_EQ(built.value().capacity, std::max<uint64_t>(capacity, 1));
    EXPECT_EQ(built.value().filter->occupied(), 0u);
    EXPECT_TRUE(counts_of(built.value().hashes).empty());
    EXPECT_TRUE(verify_hashes(built.value()).ok());
  }
}

// More than the capacity: an error without growth, a larger filter with it. Copies are no keys, but
// of a cuckoo filter that can't grow.
TEST_P(FilterContentsOf, more_than_the_capacity_is_full_or_grows) {
  const auto built = [](uint64_t distinct, uint64_t copies, uint64_t capacity, Growth growth) {
    auto collection = std::make_unique<HashCollection>(kWidth);
    for (uint64_t i = 0; i < distinct; ++i) {
      collection->add(nth_hash(i));
    }
    for (uint64_t copy = 0; copy < copies; ++copy) {
      collection->add(nth_hash(3));
    }
    Result<FilterContents> contents =
        collection->build(spec_of(GetParam()), capacity, growth, kSmallestPageBytes);
    if (contents.ok()) {
      EXPECT_EQ(counts_of(contents.value().hashes).size(), distinct);
      EXPECT_TRUE(contents.value().filter->check().ok());
    }
    return contents;
  };
  EXPECT_TRUE(built(500, 0, 500, Growth::kOff).ok());
  const auto full = built(501, 0, 500, Growth::kOff);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, ErrorCode::kFull);
  EXPECT_NE(full.error().message.find("501"), std::string::npos) << full.error().message;
  const auto grown = built(501, 0, 500, Growth::kOn);
  ASSERT_TRUE(grown.ok());
  EXPECT_EQ(grown.value().capacity, 501u);
  EXPECT_EQ(built(500, 1, 500, Growth::kOff).ok(), !is_cuckoo());
  EXPECT_EQ(built(500, 5000, 500, Growth::kOff).ok(), !is_cuckoo());
  const auto copies = built(500, 5000, 500, Growth::kOn);
  ASSERT_TRUE(copies.ok());
  EXPECT_EQ(copies.value().capacity, 500u) << "copies grow nothing";
  EXPECT_EQ(copies.value().items, multiset() ? 5500u : 500u);
  for (const uint64_t copies_of_one : {0u, 7u, 8u, 9u, 100u}) {
    const auto sized = built(100, copies_of_one, 0, Growth::kOn);
    ASSERT_TRUE(sized.ok());
    EXPECT_GE(sized.value().capacity, 99u);
    EXPECT_LE(sized.value().capacity, 108u);
  }
}

TEST_P(FilterContentsOf, numbers_out_of_range_are_invalid) {
  HashCollection collection(kWidth);
  collection.add(1 << 20);
  EXPECT_EQ(collection.build(spec_of(GetParam()), kMaxCapacity + 1, Growth::kOn, kSmallestPageBytes)
                .error()
                .code,
            ErrorCode::kInvalid);
  EXPECT_EQ(
      collection.build(spec_of(GetParam(), 0.5), 10, Growth::kOn, kSmallestPageBytes).error().code,
      ErrorCode::kInvalid);
}

TEST_P(FilterContentsOf, a_collection_can_be_built_again_and_the_sink_may_stop_it) {
  HashCollection collection(HashWidth::k63Bits);
  for (uint64_t i = 0; i < 1000; ++i) {
    collection.add(nth_hash(i, HashWidth::k63Bits));
  }
  const FilterContents first =
      std::move(collection.build(spec_of(GetParam()), 0, Growth::kOff, kSmallestPageBytes).value());
  for (uint64_t i = 1000; i < 1500; ++i) {
    collection.add(nth_hash(i, HashWidth::k63Bits));
  }
  const FilterContents second =
      std::move(collection.build(spec_of(GetParam()), 0, Growth::kOff, 64).value());
  EXPECT_EQ(first.items, 1000u);
  EXPECT_EQ(second.items, 1500u);
  EXPECT_EQ(counts_of(second.hashes).size(), 1500u);
  uint64_t handed = 0;
  const Status status = second.hashes([&](uint64_t, uint64_t) -> Status {
    return ++handed == 10 ? Status(Error{ErrorCode::kInterrupted, "enough", 0}) : Status();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(handed, 10u);
}

// Called all the time, and once it says stop the work ends.
TEST(HashCollection, building_can_be_stopped) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    uint64_t polls = 0;
    uint64_t most = ~uint64_t{0};
    const Poll poll = [&]() -> Status {
      return ++polls <= most ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
    };
    const auto collected = [] {
      HashCollection collection(kWidth);
      for (uint64_t i = 0; i < 50000; ++i) {
        collection.add(nth_hash(i));
      }
      return collection;
    };
    const auto build = [&](HashCollection& collection) {
      return collection.build(spec_of(kind), 60000, Growth::kOff, kSmallestPageBytes, poll);
    };
    HashCollection whole = collected();
    EXPECT_TRUE(build(whole).ok());
    const uint64_t all = polls;
    EXPECT_GE(all, 1024u + 90u) << "sorting is long, too";
    for (most = 0; most < all; most += 11) {
      polls = 0;
      HashCollection collection = collected();
      Result<FilterContents> stopped = build(collection);
      ASSERT_FALSE(stopped.ok()) << most;
      EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
      EXPECT_EQ(polls, most + 1);
      if (most % 10 == 0) {  // nothing is lost
        EXPECT_EQ(collection.count().value().distinct, 50000u);
      }
    }
  }
}

TEST(HashCollection, of_several_parts_loses_none_and_doubles_none) {
  constexpr uint64_t kKeys = 3 * (uint64_t{1} << 19) / 2;
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    HashCollection collection(kWidth);
    for (uint64_t i = 0; i < kKeys; ++i) {
      collection.add(nth_word(62, i % (kKeys - 1000)));
    }
    collection.make_unique();
    for (uint64_t i = 0; i < 10; ++i) {  // also behind a sort
      collection.add(nth_word(63, i));
      collection.add(nth_word(62, i));
    }
    Result<FilterContents> built =
        collection.build(spec_of(kind), 0, Growth::kOn, kSmallestPageBytes);
    ASSERT_TRUE(built.ok()) << built.error().message;
    EXPECT_EQ(built.value().hash_count, kKeys - 1000 + 10);
    EXPECT_EQ(built.value().items, kKeys - 1000 + (is_multiset(kind) ? 20U : 10U));
    EXPECT_TRUE(verify_hashes(built.value()).ok());
    for (uint64_t i = 0; i < kKeys - 1000; i += 101) {
      ASSERT_NE(built.value().filter->count(logged_hash(nth_word(62, i), kWidth), {}), 0U) << i;
    }
  }
}

// Of one part or several, sorted in between or not, copies one by one or at once.
TEST(HashCollection, the_order_in_which_they_come_leaves_no_trace) {
  constexpr uint64_t kKeys = 5 * (uint64_t{1} << 19) / 4;
  HashCollection forwards(kWidth);
  HashCollection backwards(kWidth);
  for (uint64_t i = 0; i < kKeys; ++i) {
    forwards.add(nth_word(64, i), i % 1000 == 0 ? 5 : 1);
    const uint64_t other = kKeys - 1 - i;
    for (uint64_t copy = 0; copy < (other % 1000 == 0 ? 5 : 1); ++copy) {
      backwards.add(nth_word(64, other));
    }
    if (i == kKeys / 3) {
      ASSERT_TRUE(backwards.count().ok());
    }
  }
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    const auto build = [kind](HashCollection& collection) {
      return std::move(collection.build(spec_of(kind), 0, Growth::kOn, kSmallestPageBytes).value());
    };
    const FilterContents one = build(forwards);
    const FilterContents other = build(backwards);
    EXPECT_EQ(one.items, other.items);
    EXPECT_EQ(one.capacity, other.capacity);
    EXPECT_TRUE(equal_cells(*one.filter, *other.filter));
  }
}

// Copies one by one, some at once, put together in between: the same filter.
TEST(HashCollection, copies_at_once_are_as_good_as_one_by_one) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    HashCollection single(kWidth);
    HashCollection at_once(kWidth);
    HashCounts expected;
    for (uint64_t turn = 0; turn < 3; ++turn) {
      for (uint64_t i = turn; i < 300; ++i) {
        const uint64_t copies = 1 + (i * i + turn) % 12;
        at_once.add(nth_hash(i), copies);
        for (uint64_t copy = 0; copy < copies; ++copy) {
          single.add(nth_hash(i));
        }
        expected.items += copies;
      }
      if (turn == 1) {
        const uint64_t words = at_once.words();
        ASSERT_TRUE(at_once.compact(true, nullptr).ok());
        EXPECT_LT(at_once.words(), words);
      }
    }
    const HashCounts counts = at_once.count().value();
    EXPECT_EQ(counts.items, expected.items);
    EXPECT_EQ(counts.distinct, 300u);
    EXPECT_EQ(counts.entries, single.count().value().entries);
    EXPECT_EQ(counts_of(at_once.hashes(true)), counts_of(single.hashes(true)));
    for (const auto& [hash, count] : counts_of(at_once.hashes(false))) {
      EXPECT_EQ(count, 1u) << hash;
    }
    const auto build = [kind](HashCollection& collection) {
      return std::move(collection.build(spec_of(kind), 0, Growth::kOn, kSmallestPageBytes).value());
    };
    const FilterContents one = build(single);
    const FilterContents other = build(at_once);
    EXPECT_EQ(one.items, other.items);
    EXPECT_EQ(one.capacity, counts.capacity(kind));
    EXPECT_EQ(other.capacity, counts.capacity(kind));
    EXPECT_TRUE(equal_cells(*one.filter, *other.filter));
  }
}

TEST(HashCollection, a_count_takes_no_memory) {
  constexpr uint64_t kMany = uint64_t{1} << 61;
  HashCollection collection(kWidth);
  collection.add(nth_hash(1), kMany);
  collection.add(nth_hash(2), 3);
  collection.add(nth_hash(1), kMany - 1);
  EXPECT_LE(collection.words(), 10u);
  const HashCounts counts = collection.count().value();
  EXPECT_EQ(counts.items, 2 * kMany - 1 + 3);
  EXPECT_EQ(counts.entries, 4u);
  EXPECT_EQ(counts_of(collection.hashes(true)).at(nth_hash(1)), 2 * kMany - 1);
  collection.make_unique();
  EXPECT_EQ(collection.count().value().items, 2u);
  EXPECT_EQ(collection.words(), 2u);
}

TEST(HashCollection, narrowed_knows_no_more_than_the_leading_bits) {
  HashCollection narrowed(HashWidth::k63Bits);
  HashCollection narrow(kWidth);
  for (uint64_t i = 0; i < 2000; ++i) {
    if (i == 1000) {
      narrowed.narrow(kWidth);
    }
    const uint64_t hash = nth_word(5, i / 2) ^ (i % 2) << 3;  // pairs that differ in a last bit
    narrowed.add(hash, 1 + i % 5);
    narrow.add(hash, 1 + i % 5);
  }
  EXPECT_EQ(narrowed.width(), kWidth);
  EXPECT_EQ(narrowed.count().value().distinct, 1000u);
  EXPECT_EQ(narrow.count().value().distinct, 1000u);
  EXPECT_EQ(counts_of(narrowed.hashes(true)), counts_of(narrow.hashes(true)));
}

// What was counted before is of no use then.
TEST(HashCollection, counts_what_is_there_after_every_change) {
  HashCollection collection(HashWidth::k63Bits);
  const auto expect = [&](uint64_t items, uint64_t distinct) {
    for (int again = 0; again < 2; ++again) {
      const Result<HashCounts> counts = collection.count();
      ASSERT_TRUE(counts.ok());
      EXPECT_EQ(counts.value().items, items);
      EXPECT_EQ(counts.value().distinct, distinct);
    }
  };
  expect(0, 0);
  for (uint64_t i = 0; i < 300; ++i) {
    collection.add(nth_hash(i % 200));
  }
  expect(300, 200);
  collection.add(nth_hash(1000));
  expect(301, 201);
  collection.add(nth_hash(1000), 100);
  expect(401, 201);
  ASSERT_TRUE(collection.compact(true, nullptr).ok());
  expect(401, 201);
  collection.narrow(HashWidth::k47Bits);
  expect(401, 201);
  collection.make_unique();
  expect(201, 201);
}

}  // namespace
}  // namespace cuckoo
