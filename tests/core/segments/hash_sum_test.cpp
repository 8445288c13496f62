#include "core/segments/hash_sum.hpp"

#include <vector>

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_hash_sum_test {
namespace {

// Counts as a filter that knows each hash: a remove of an absent hash does nothing.
int64_t after(int64_t occurrences, const std::vector<int64_t>& changes) {
  for (const int64_t net : changes) {
    occurrences = std::max<int64_t>(0, occurrences + net);
  }
  return occurrences;
}

TEST(SegmentHashSums, I1_to_I3_stand_for_a_row_of_changes) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    HashSums sums(true);
    sums.add(6, 1);
    std::vector<int64_t> changes;
    int64_t net = 0;
    for (uint64_t i = 0; i < seed % 12; ++i) {
      const auto change = static_cast<int64_t>(nth_word(seed, i) % 9) - 4;
      if (change != 0) {
        changes.push_back(change);
        net += change;
        sums.add(7, change);
      }
    }
    sums.add(8, -1);
    std::vector<NetHash> all = sums.take();
    ASSERT_GE(all.size(), 2u);
    ASSERT_LE(all.size(), 4u);
    EXPECT_EQ(all.front(), (NetHash{6, 1}));
    EXPECT_EQ(all.back(), (NetHash{8, -1}));
    std::vector<int64_t> entries;
    int64_t removed = 0;
    int64_t added = 0;
    for (size_t i = 1; i + 1 < all.size(); ++i) {
      EXPECT_EQ(all[i].hash, 7u);
      entries.push_back(all[i].net);
      (all[i].net < 0 ? removed : added) += std::abs(all[i].net);
    }
    EXPECT_EQ(entries.size(), (removed > 0 ? 1u : 0u) + (added > 0 ? 1u : 0u));
    EXPECT_TRUE(entries.size() < 2 || entries[0] < 0);
    EXPECT_EQ(added - removed, net);
    for (int64_t before = 0; before < 12; ++before) {
      EXPECT_EQ(std::max<int64_t>(0, before - removed) + added, after(before, changes));
      EXPECT_EQ(after(before, entries), after(before, changes));
    }
  }
}

TEST(SegmentHashSums, of_a_set_are_1) {
  HashSums sums(false);
  for (const uint64_t hash : {1u, 1u, 2u, 5u, 5u, 5u}) {
    sums.add(hash, 1);
  }
  EXPECT_EQ(sums.take(), (std::vector<NetHash>{{1, 1}, {2, 1}, {5, 1}}));
}

TEST(SegmentHashSums, say_what_an_entry_can_not_hold) {
  for (const int64_t sign : {1, -1}) {
    HashSums sums(true);
    sums.add(1, sign * kMostNet);
    EXPECT_TRUE(sums.fits());
    sums.add(1, sign);
    EXPECT_FALSE(sums.fits());
    for (int i = 0; i < 20; ++i) {
      sums.add(1, sign * kMostNet);
    }
    EXPECT_FALSE(sums.fits());
    EXPECT_EQ(sums.take(), (std::vector<NetHash>{{1, sign * kMostNet}}));
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_hash_sum_test
