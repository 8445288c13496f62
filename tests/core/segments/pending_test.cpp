#include "core/segments/pending.hpp"

#include <cstdlib>
#include <set>

#include "core/filter/probe.hpp"
#include "tests/core/filter/kinds.hpp"

namespace cuckoo::segments {
namespace segments_pending_test {
namespace {

constexpr unsigned kDepth = 3;
constexpr uint64_t kPrefix = uint64_t{5} << 61;

uint64_t hash_of(uint64_t i) {
  return kPrefix | logged_hash(nth_word(4, i) >> kDepth, HashWidth::k47Bits);
}

std::unique_ptr<Filter> filter_of(FilterKind kind) {
  return must(make_filter(test::spec_of(kind), 1000, test::kSmallestPageBytes));
}

class SegmentPending : public ::testing::TestWithParam<FilterKind> {
 protected:
  static bool multiset() { return is_multiset(GetParam()); }
  std::vector<NetHash> sorted(Pending& pending) {
    return pending.sorted(HashWidth::k47Bits, *filter, kDepth).value();
  }

  std::unique_ptr<Filter> filter = filter_of(GetParam());
};

TEST_P(SegmentPending, can_be_stopped_while_many_are_sorted) {
  constexpr uint64_t kMany = 300000;
  Pending pending(multiset());
  for (uint64_t i = 0; i < kMany; ++i) {
    pending.append(hash_of(i));
  }
  uint64_t polls = 0;
  const auto poll_until = [&](uint64_t most) {
    polls = 0;
    return pending.sorted(HashWidth::k47Bits, *filter, kDepth, [&polls, most]() -> Status {
      return ++polls <= most ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
    });
  };
  ASSERT_TRUE(poll_until(UINT64_MAX).ok());
  const uint64_t all = polls;
  EXPECT_GT(all, kMany >> 16);
  for (const uint64_t most : {uint64_t{0}, all / 2, all - 1}) {
    EXPECT_TRUE(fails(poll_until(most), ErrorCode::kInterrupted));
    EXPECT_EQ(polls, most + 1);
  }
  EXPECT_EQ(sorted(pending).size(), kMany);  // nothing was lost
}

TEST_P(SegmentPending, sums_by_hash_as_a_map_does_whenever_it_is_asked) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Pending asked(multiset());
    Pending quiet(multiset());
    std::map<uint64_t, HashSum> model;
    int64_t items = 0;
    const bool removes = seed % 2 == 1 && multiset();
    for (uint64_t i = 0; i < 300; ++i) {
      const uint64_t hash = hash_of(nth_word(seed, 2 * i) % 100);
      const bool remove = removes && nth_word(seed, 2 * i + 1) % 3 == 0;
      const uint64_t entry = hash | (remove ? kRemoveBit : 0);
      const bool counted = multiset() && seed % 4 < 2 && nth_word(seed, i) % 5 == 0;
      const uint64_t copies = counted ? 1 + nth_word(seed + 1, i) % kMostCopies : 1;
      asked.append(entry, copies);
      quiet.append(entry, copies);
      const auto change = remove ? -static_cast<int64_t>(copies) : static_cast<int64_t>(copies);
      model[hash].take(change);
      model[hash] = multiset() ? model[hash] : HashSum(0, 1);
      items += change;
      if (i % 37 == 0) {
        asked.index(*filter, kDepth);
        ASSERT_TRUE(asked.indexed());
        EXPECT_EQ(asked.net(hash), model[hash].net());
        EXPECT_EQ(asked.added(hash), static_cast<uint64_t>(model[hash].added()));
      }
    }
    std::vector<NetHash> expected;
    for (const auto& [hash, sum] : model) {
      sum.entries(hash, [&](const NetHash& entry) { expected.push_back(entry); });
    }
    EXPECT_EQ(expected.size() > model.size(), removes);
    EXPECT_EQ(asked.entries(), 300u);
    EXPECT_EQ(asked.items(), items);
    EXPECT_TRUE(sorted(asked) == expected);
    EXPECT_TRUE(sorted(quiet) == expected) << "I4";
  }
}

TEST_P(SegmentPending, is_empty_again_after_clear) {
  Pending pending(multiset());
  pending.append(hash_of(1));
  pending.index(*filter, kDepth);
  pending.append(hash_of(2));
  EXPECT_FALSE(pending.empty());
  EXPECT_GT(pending.memory_bytes(), 0u);
  pending.clear();
  EXPECT_TRUE(pending.empty() && pending.indexed());
  EXPECT_EQ(pending.entries(), 0u);
  EXPECT_EQ(pending.items(), 0);
  EXPECT_EQ(pending.net(hash_of(1)), 0);
  EXPECT_TRUE(sorted(pending).empty());
}

INSTANTIATE_EACH(Kinds, SegmentPending, test::kLoggedKinds);

// Half of the hashes are in the pages already; many come more than once.
TEST(SegmentPendingAdds, that_wait_are_counted_as_if_each_had_been_asked_for_when_it_came) {
  for (const FilterKind kind : {FilterKind::kBloom, FilterKind::kBlockedBloom}) {
    const std::unique_ptr<Filter> filter = filter_of(kind);
    filter->pages().complete();
    const std::unique_ptr<FilterBuilder> builder = filter->builder(500, Filter::Digest::kNone);
    for (uint64_t i = 0; i < 500; ++i) {
      builder->insert(hash_of(i) << kDepth, 1);
    }
    builder->finish();
    const auto in_pages = [&](uint64_t hash) {
      return probe(*filter, hash << kDepth) == Filter::Answer::kPresent;
    };
    for (const uint64_t asks_each : {1, 10, 2000}) {
      Pending pending(false);
      std::set<uint64_t> seen;
      uint64_t fresh = 0;
      uint64_t counted = 0;
      for (uint64_t i = 0; i < 200; ++i) {  // these were asked for by the caller
        pending.append(hash_of(nth_word(7, i) % 1000));
        seen.insert(hash_of(nth_word(7, i) % 1000));
      }
      pending.index(*filter, kDepth);
      EXPECT_EQ(pending.take_fresh(), 0u);
      for (uint64_t i = 0; i < 1500; ++i) {
        const uint64_t hash = hash_of(nth_word(8, i) % 1000);
        fresh += seen.insert(hash).second && !in_pages(hash) ? 1 : 0;
        pending.append_uncounted(hash);
        EXPECT_TRUE(pending.uncounted());
        if (i % asks_each == 0) {
          pending.index(*filter, kDepth);
          EXPECT_FALSE(pending.uncounted());
          EXPECT_EQ(pending.net(hash), 1);
          counted += i % 3 == 0 ? pending.take_fresh() : 0;
        }
      }
      EXPECT_EQ(pending.sorted(HashWidth::k47Bits, *filter, kDepth).value().size(), seen.size());
      counted += pending.take_fresh();
      EXPECT_EQ(counted, fresh) << asks_each;
      EXPECT_EQ(pending.entries(), 1700u);
      pending.append_uncounted(hash_of(5000));
      pending.clear();
      EXPECT_FALSE(pending.uncounted());
      EXPECT_EQ(pending.take_fresh(), 0u);
    }
  }
}

TEST(SegmentPending, counts_different_hashes_whatever_was_asked) {
  const auto filter = filter_of(FilterKind::kCuckoo);
  for (const int asked_after : {-1, 0, 150, 299}) {
    Pending pending(true);
    for (int i = 0; i < 300; ++i) {
      const uint64_t hash = hash_of(static_cast<uint64_t>(i % 7));
      pending.append(i % 14 < 7 ? hash : hash | kRemoveBit, i % 5 == 0 ? 3 : 1);
      if (i == asked_after) {
        pending.index(*filter, kDepth);
      }
    }
    EXPECT_EQ(pending.hashes(HashWidth::k47Bits, kDepth), 7u) << asked_after;
    pending.clear();
    EXPECT_EQ(pending.hashes(HashWidth::k47Bits, kDepth), 0u);
  }
}

TEST(SegmentPendingRemoves, are_those_that_no_pending_add_makes_up_for) {
  const auto filter = filter_of(FilterKind::kCuckoo);
  Pending pending(true);
  const uint64_t hash = hash_of(1);
  uint64_t cells[Filter::kMaxPlaces];
  ASSERT_EQ(filter->cells_of(hash << kDepth, cells), 1u);
  constexpr int kChanges[] = {-1, -1, 1, 1, 1, -1, -1, 5, -7, 2, -100000, 99998, 9, -9};
  constexpr uint64_t kRemoves[] = {1, 2, 1, 0, 0, 0, 1, 0, 3, 1, 100001, 3, 0, 3};
  for (size_t i = 0; i < std::size(kChanges); ++i) {
    pending.append(hash | (kChanges[i] < 0 ? kRemoveBit : 0),
                   static_cast<uint64_t>(std::abs(kChanges[i])));
    pending.index(*filter, kDepth);
    EXPECT_EQ(pending.removes().count(cells[0]), kRemoves[i]) << i;
  }
}

}  // namespace
}  // namespace segments_pending_test
}  // namespace cuckoo::segments
