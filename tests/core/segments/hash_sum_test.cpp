#include "core/segments/hash_sum.hpp"

#include <vector>

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments {
namespace segments_hash_sum_test {
namespace {

// Counts as a filter that knows each hash: a remove of an absent hash does nothing.
int64_t after(int64_t occurrences, const std::vector<int64_t>& changes) {
  for (const int64_t net : changes) {
    occurrences = std::max<int64_t>(0, occurrences + net);
  }
  return occurrences;
}

TEST(SegmentHashSum, I1_to_I3_stands_for_a_row_of_changes) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    HashSum sum;
    std::vector<int64_t> changes;
    int64_t net = 0;
    for (uint64_t i = 0; i < seed % 12; ++i) {
      changes.push_back(static_cast<int64_t>(nth_word(seed, i) % 9) - 4);
      net += changes.back();
      sum.take(changes.back());
    }
    EXPECT_EQ(sum.net(), net);
    EXPECT_EQ(sum.both(), sum.removed() > 0 && sum.added() > 0);
    std::vector<int64_t> entries;
    sum.entries(7, [&entries](const NetHash& entry) {
      EXPECT_EQ(entry.hash, 7u);
      entries.push_back(entry.net);
    });
    EXPECT_EQ(entries.size(), (sum.removed() > 0 ? 1u : 0u) + (sum.added() > 0 ? 1u : 0u));
    for (int64_t before = 0; before < 12; ++before) {
      EXPECT_EQ(std::max<int64_t>(0, before - sum.removed()) + sum.added(), after(before, changes));
      EXPECT_EQ(after(before, entries), after(before, changes));
    }
  }
}

TEST(SegmentHashSum, says_what_an_entry_can_not_hold) {
  HashSum sum;
  sum.take(kMostNet);
  EXPECT_TRUE(sum.fits());
  sum.take(kMostNet);
  EXPECT_FALSE(sum.fits());
  sum = HashSum();
  sum.take(-kMostNet);
  sum.take(-1);
  EXPECT_FALSE(sum.fits());
}

}  // namespace
}  // namespace segments_hash_sum_test
}  // namespace cuckoo::segments
