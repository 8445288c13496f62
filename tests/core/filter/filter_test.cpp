// One suite over the interface core/filter/filter.hpp: what every kind of filter answers alike.
#include "core/filter/filter.hpp"

#include <set>

#include "tests/core/filter/kinds.hpp"

namespace cuckoo::filter_filter_test {
namespace {

class Filters : public ::testing::TestWithParam<FilterKind> {
 protected:
  static bool multiset() { return is_multiset(GetParam()); }

  static std::unique_ptr<Filter> made(uint64_t capacity, bool with_pages, uint32_t page_bytes = 128,
                                      double rate = 0.02) {
    std::unique_ptr<Filter> filter =
        must(make_filter(spec_of(GetParam(), rate), capacity, page_bytes));
    if (with_pages) {
      add_all_pages(*filter);
    }
    return filter;
  }
  static Counts any_counts(uint64_t seed, uint64_t distinct) {
    Counts counts;
    for (uint64_t i = 0; i < distinct; ++i) {
      counts[nth_hash(nth_word(seed, i) % 5000)] += i % 50 == 0 ? 40 : 1 + i % 3 / 2;
    }
    return counts;
  }
  static void insert(Filter& filter, const Counts& counts) {
    std::vector<uint64_t> hashes;
    for (const auto& [hash, count] : counts) {
      hashes.insert(hashes.end(), count, hash);
    }
    const uint64_t before = filter.digest();
    uint64_t digest = 0;
    (void)filter.insert_batch(hashes, digest);
    EXPECT_EQ(filter.digest() - before, digest);
  }
  static void build(Filter& filter, const Counts& counts) {
    const std::unique_ptr<FilterBuilder> builder =
        filter.builder(counts.size(), Filter::Digest::kSum);
    for (const auto& [hash, count] : counts) {
      builder->insert(hash, count);
    }
    builder->finish();
    EXPECT_EQ(builder->digest(), filter.digest());
  }
  static void expect_holds(const Filter& filter, const Counts& counts) {
    ASSERT_STATUS(filter.check());
    for (const auto& [hash, count] : counts) {
      ASSERT_EQ(filter.probe(hash), Filter::Answer::kPresent);
      ASSERT_GE(filter.count(hash), multiset() ? count : 1);
    }
  }
  // Both have the same cells, and the same bytes where that is promised (I2).
  static void expect_same(const Filter& a, const Filter& b) {
    EXPECT_EQ(a.digest(), b.digest());
    if (a.canonical()) {
      EXPECT_TRUE(test::equal_cells(a, b));
      EXPECT_EQ(a.occupied(), b.occupied());
      EXPECT_EQ(a.digest(), 0u);
    }
    for (uint64_t i = 0; i < 3000; ++i) {
      ASSERT_EQ(a.count(nth_hash(i)), b.count(nth_hash(i))) << i;
    }
  }
};

INSTANTIATE_EACH(Kinds, Filters, test::kLoggedKinds);

TEST_P(Filters, I1_I2_order_and_portions_do_not_matter) {
  const Counts counts = any_counts(1, 1500);
  const std::unique_ptr<Filter> at_once = made(4000, true);
  insert(*at_once, counts);
  expect_holds(*at_once, counts);
  const std::unique_ptr<Filter> built = made(4000, true);
  build(*built, counts);
  expect_holds(*built, counts);
  expect_same(*built, *at_once);
  const std::unique_ptr<Filter> one_by_one = made(4000, true);
  for (auto at = counts.rbegin(); at != counts.rend(); ++at) {
    for (uint64_t copy = 0; copy < at->second; ++copy) {
      const bool present = one_by_one->probe(at->first) == Filter::Answer::kPresent;
      ASSERT_EQ(one_by_one->insert_batch({&at->first, 1}), present ? 1u : 0u);
    }
  }
  expect_holds(*one_by_one, counts);
  expect_same(*one_by_one, *at_once);
}

TEST_P(Filters, united_filters_are_as_if_all_had_been_inserted) {
  for (const uint64_t common : {0u, 1u, 2u}) {
    const Counts first = any_counts(1, 1200);
    const Counts second = common == 2 ? first : any_counts(2 - common, 900);
    const std::unique_ptr<Filter> united = made(8000, true);
    const std::unique_ptr<Filter> other = made(8000, true);
    insert(*united, first);
    insert(*other, second);
    const uint64_t digest = other->digest();
    ASSERT_TRUE(united->unite(*other).ok());
    EXPECT_EQ(other->digest(), digest);
    const std::unique_ptr<Filter> inserted = made(8000, true);
    insert(*inserted, first);
    insert(*inserted, second);
    expect_holds(*united, first);
    expect_holds(*united, second);
    expect_same(*united, *inserted);
    ASSERT_TRUE(united->unite(*made(8000, true)).ok()) << "with nothing";
    expect_same(*united, *inserted);
    const std::unique_ptr<Filter> nothing = made(8000, true);
    ASSERT_TRUE(nothing->unite(*united).ok());
    expect_same(*nothing, *inserted);
  }
}

TEST_P(Filters, uniting_can_be_stopped) {
  const std::unique_ptr<Filter> other = made(8000, true);
  insert(*other, any_counts(1, 4000));
  for (const uint64_t most : {0u, 1u, 10u}) {
    const std::unique_ptr<Filter> united = made(8000, true);
    uint64_t polls = 0;
    const auto poll = [&]() -> Status {
      return ++polls <= most ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
    };
    EXPECT_TRUE(fails(united->unite(*other, poll), ErrorCode::kInterrupted));
    EXPECT_EQ(polls, most + 1);
  }
}

// A filter for 2^38 keys is used, checked and united like any other.
TEST_P(Filters, I4_giants_take_memory_and_time_for_what_is_in_them) {
  const std::unique_ptr<Filter> one = made(uint64_t{1} << 38, false, kPageBytes);
  const std::unique_ptr<Filter> other = made(uint64_t{1} << 38, false, kPageBytes);
  one->pages().complete();
  other->pages().complete();
  const Counts first = any_counts(1, 100);
  const Counts second = any_counts(2, 100);
  insert(*one, first);
  build(*other, second);
  expect_holds(*one, first);
  expect_holds(*other, second);
  EXPECT_FALSE(test::equal_cells(*one, *other));
  ASSERT_TRUE(one->unite(*other).ok());
  expect_holds(*one, first);
  expect_holds(*one, second);
  EXPECT_EQ(one->pages().dirty().size(), one->pages().backed_count());
  EXPECT_LE(one->pages().backed_count(), 64u * 200);
  for (const auto& [hash, count] : first) {
    if (multiset()) {
      EXPECT_TRUE(one->remove(hash));
    }
    EXPECT_EQ(one->probe(nth_hash(1'000'000)), Filter::Answer::kAbsent);
  }
  EXPECT_TRUE(one->check().ok());
}

TEST_P(Filters, filters_of_another_kind_or_geometry_are_not_united) {
  const std::unique_ptr<Filter> filter = made(1000, true);
  insert(*filter, any_counts(1, 300));
  const uint64_t occupied = filter->occupied();
  const std::unique_ptr<Filter> larger = made(1500, true);
  insert(*larger, any_counts(2, 100));
  const std::unique_ptr<Filter> finer = made(1000, true, 128, 0.001);
  EXPECT_EQ(filter->unite(*larger).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(filter->unite(*finer).error().code, ErrorCode::kInvalid);
  for (const FilterKind kind : test::kLoggedKinds) {
    if (kind != GetParam()) {
      const auto other = must(make_filter(spec_of(kind), 1000, 128));
      EXPECT_EQ(filter->unite(*other).error().code, ErrorCode::kInvalid);
    }
  }
  EXPECT_EQ(filter->occupied(), occupied);
  EXPECT_TRUE(filter->check().ok());
}

TEST_P(Filters, removes_take_back_what_inserts_did) {
  if (!multiset()) {
    const std::unique_ptr<Filter> filter = made(1000, true);
    insert(*filter, {{nth_hash(1), 1}});
    EXPECT_FALSE(filter->remove(nth_hash(1))) << "a set removes nothing";
    EXPECT_EQ(filter->probe(nth_hash(1)), Filter::Answer::kPresent);
    return;
  }
  const Counts kept = any_counts(1, 900);
  const Counts gone = any_counts(7, 900);
  const std::unique_ptr<Filter> filter = made(6000, true);
  insert(*filter, kept);
  insert(*filter, gone);
  for (const auto& [hash, count] : gone) {
    for (uint64_t copy = 0; copy < count; ++copy) {
      ASSERT_TRUE(filter->remove(hash));
    }
  }
  expect_holds(*filter, kept);
  const std::unique_ptr<Filter> expected = made(6000, true);
  insert(*expected, kept);
  expect_same(*filter, *expected);
  for (const auto& [hash, count] : kept) {
    for (uint64_t copy = 0; copy < count; ++copy) {
      ASSERT_TRUE(filter->remove(hash));
    }
  }
  EXPECT_EQ(filter->occupied(), 0u);
  EXPECT_TRUE(filter->overflow().empty());
  EXPECT_TRUE(filter->check().ok());
  EXPECT_FALSE(filter->remove(nth_hash(1)));
}

// I4
TEST_P(Filters, I4_an_answer_needs_the_pages_of_its_hash_and_no_other) {
  const std::unique_ptr<Filter> full = made(3000, true, 64);
  insert(*full, any_counts(1, 2000));
  const auto load = [&](Filter& filter, uint64_t index) {
    const std::byte* page = full->pages().find(index);
    std::copy(page, page + full->content_bytes(index), filter.pages().add(index, true));
  };
  uint64_t absent = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    const std::unique_ptr<Filter> cold = made(3000, false, 64);
    const uint64_t hash = nth_hash(i);
    uint64_t pages[Filter::kMaxPlaces];
    const size_t count = cold->pages_of(hash, pages);
    const std::set<uint64_t> needed(pages, pages + count);
    ASSERT_EQ(cold->probe(hash), Filter::Answer::kNotLoaded);
    for (const uint64_t index : needed) {
      load(*cold, index);
    }
    ASSERT_NE(cold->probe(hash), Filter::Answer::kNotLoaded);
    if (full->overflow().empty()) {
      ASSERT_EQ(cold->probe(hash), full->probe(hash));
    }
    absent += cold->probe(hash) == Filter::Answer::kAbsent ? 1 : 0;
    // With one of its pages, a hash never gets a wrong answer: kNotLoaded, or what the full filter
    // says.
    const std::unique_ptr<Filter> half = made(3000, false, 64);
    load(*half, *needed.begin());
    ASSERT_TRUE(half->probe(hash) == Filter::Answer::kNotLoaded ||
                half->probe(hash) == full->probe(hash));
  }
  EXPECT_GT(absent, 50u);
}

TEST_P(Filters, pages_read_back_are_validated) {
  const std::unique_ptr<Filter> filter = made(3000, true);
  insert(*filter, any_counts(1, 2000));
  const uint64_t last = filter->pages().page_count() - 1;
  ASSERT_GT(last, 2u);
  const std::unique_ptr<Filter> copy = made(3000, false);
  for (uint64_t index = 0; index <= last; ++index) {
    const std::byte* page = filter->pages().find(index);
    const std::span content(page, filter->content_bytes(index));
    ASSERT_STATUS(filter->validate_page(index, content));
    EXPECT_FALSE(filter->validate_page(index, content.first(content.size() - 1)).ok());
    EXPECT_FALSE(filter->validate_page(last + 1, content).ok());
    std::copy(content.begin(), content.end(), copy->pages().add(index, true));
  }
  EXPECT_FALSE(filter->validate_page(0, {}).ok());
  EXPECT_FALSE(filter->validate_page(UINT64_MAX, {}).ok());
  for (const auto& [cell, count] : filter->overflow().counts()) {
    copy->overflow().add(cell, count);
  }
  EXPECT_FALSE(copy->check().ok()) << "occupied is not set";
  copy->set_occupied(filter->occupied());
  EXPECT_TRUE(copy->check().ok());
  expect_same(*copy, *filter);
}

TEST_P(Filters, rates_and_loads_rise_with_what_is_in_it) {
  const std::unique_ptr<Filter> filter = made(1000, true);
  EXPECT_EQ(filter->rate_now(), 0.0);
  EXPECT_EQ(filter->load_factor(), 0.0);
  EXPECT_EQ(filter->rate(0), 0.0);
  double rate = 0;
  double load = 0;
  for (uint64_t keys = 100; keys <= 1000; keys += 100) {
    Counts counts;
    for (uint64_t i = keys - 100; i < keys; ++i) {
      counts[nth_hash(i)] = 1;
    }
    insert(*filter, counts);
    EXPECT_GT(filter->rate_now(), rate);
    EXPECT_GT(filter->load_factor(), load);
    EXPECT_NEAR(filter->rate_now(), filter->rate(static_cast<double>(keys)), 0.005);
    rate = filter->rate_now();
    load = filter->load_factor();
  }
  EXPECT_LE(rate, 0.02 * 1.2);
  EXPECT_LT(load, 1.0);
  EXPECT_LE(filter->rate(1000), 0.02);
}

TEST_P(Filters, full_and_outgrown_are_told_by_keys) {
  const std::unique_ptr<Filter> filter = made(500, true);
  EXPECT_FALSE(filter->full(0, 500));
  EXPECT_FALSE(filter->outgrown(0, 500));
  uint64_t safe = 0;  // so many keys don't outgrow it, it said
  for (uint64_t keys = 1; keys <= 700; ++keys) {
    const uint64_t hash = nth_hash(keys);
    (void)filter->insert_batch({&hash, 1});
    for (uint64_t more = 1; !filter->may_outgrow(keys, more, 500); more *= 2) {
      safe = std::max(safe, keys + more);
    }
    EXPECT_TRUE(keys > safe || !filter->outgrown(keys, 500)) << keys;
    EXPECT_TRUE(keys >= 500 || !filter->full(keys, 500)) << keys;
    EXPECT_TRUE(keys > 480 || !filter->outgrown(keys, 500)) << keys;
    const uint64_t items = GetParam() == FilterKind::kCountingBloom ? 2 * keys : keys;
    EXPECT_TRUE(keys > 500 || !filter->overfull(items, 500)) << keys;
  }
  EXPECT_GT(safe, 400u);
  EXPECT_TRUE(filter->may_outgrow(700, 1, 500));
  EXPECT_TRUE(filter->overfull(700, 500));
  EXPECT_TRUE(filter->full(700, 500));
  EXPECT_TRUE(filter->outgrown(700, 500));
  EXPECT_FALSE(filter->outgrown(700, 1000000));
  EXPECT_FALSE(filter->full(700, 1000000));
}

}  // namespace
}  // namespace cuckoo::filter_filter_test
