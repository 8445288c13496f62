#include "core/segments/entry_list.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/segments/run.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_entry_list_test {
namespace {

uint64_t hash_of(uint64_t i) { return nth_hash(9, i, HashWidth::k47Bits); }

struct Entry {
  uint64_t entry;
  uint64_t copies;
};

std::vector<Entry> random_entries(uint64_t seed, uint64_t count, bool copies, bool removes) {
  std::vector<Entry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t word = nth_word(seed, i);
    const bool removed = removes && word % 3 == 0;
    entries.push_back({hash_of(word / 3 % 50) | (removed ? kRemoveBit : 0),
                       copies && word / 150 % 4 == 0 ? 1 + word / 600 % kMostCopies : 1});
  }
  return entries;
}

EntryList list_of(std::span<const Entry> entries) {
  EntryList list;
  for (const auto& [entry, copies] : entries) {
    list.append(entry, copies);
  }
  return list;
}

TEST(SegmentEntryList, has_entries_in_their_order_with_their_counts) {
  const std::vector<Entry> entries = random_entries(1, 300, true, true);
  EntryList list = list_of(entries);
  ASSERT_EQ(list.size(), entries.size());
  int64_t items = 0;
  Copies copies(list.more());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(list[i], entries[i].entry);
    EXPECT_EQ(copies.of(i), entries[i].copies);
    const auto net = static_cast<int64_t>(entries[i].copies);
    items += (entries[i].entry & kRemoveBit) == 0 ? net : -net;
  }
  EXPECT_EQ(list.items(), items);
  EXPECT_FALSE(list.more().empty());
  list.clear();
  EXPECT_TRUE(list.empty() && list.more().empty());
  EXPECT_EQ(list.items(), 0);
}

TEST(SegmentEntryList, begins_with_the_first_entries_of_another_one) {
  const std::vector<Entry> entries = random_entries(2, 100, true, true);
  const EntryList list = list_of(entries);
  for (size_t count = 0; count <= entries.size(); ++count) {
    EXPECT_TRUE(list.begins_with(list_of(std::span(entries).first(count)), count));
    EXPECT_EQ(list_of(std::span(entries).first(count)).begins_with(list, 50), count >= 50);
  }
  for (size_t changed = 0; changed < entries.size(); ++changed) {
    std::vector<Entry> others = entries;
    others[changed].entry ^= changed % 2 == 0 ? kRemoveBit : uint64_t{1} << 40;
    EXPECT_FALSE(list.begins_with(list_of(others), entries.size()));
    EXPECT_TRUE(list.begins_with(list_of(others), changed));
    others = entries;
    ++others[changed].copies;
    EXPECT_FALSE(list.begins_with(list_of(others), changed + 1));
    EXPECT_FALSE(list_of(others).begins_with(list, changed + 1));
    EXPECT_TRUE(list.begins_with(list_of(others), changed));
  }
}

// Whatever the list has, its sums are those of its entries taken one by one.
TEST(SegmentEntryList, is_summed_by_hash) {
  for (const bool multiset : {true, false}) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      const std::vector<Entry> entries =
          random_entries(seed, seed % 2 == 0 ? seed : 500, multiset && seed % 3 == 0, multiset);
      const EntryList list = list_of(entries);
      const size_t count = entries.size() - entries.size() / 3;
      std::map<uint64_t, HashSums> sums;
      std::set<uint64_t> different;
      for (const auto& [entry, copies] : std::span(entries).first(count)) {
        const auto net = static_cast<int64_t>(copies);
        const uint64_t hash = entry & ~kRemoveBit;
        sums.try_emplace(hash, multiset).first->second.add(hash, entry == hash ? net : -net);
        different.insert(hash);
      }
      std::vector<NetHash> expected;
      for (auto& [hash, sum] : sums) {
        for (const NetHash& entry : sum.take()) {
          expected.push_back(entry);
        }
      }
      EXPECT_EQ(must(sums_of(list, count, HashWidth::k47Bits, 0, multiset)), expected);
      EXPECT_TRUE(std::ranges::equal(
          different_hashes(list.entries().first(count), HashWidth::k47Bits, 0), different));
    }
  }
}

TEST(SegmentEntryList, is_not_summed_when_the_poll_says_no) {
  EntryList list;
  for (uint64_t i = 0; i < 200000; ++i) {
    list.append(hash_of(i));
  }
  uint64_t polls = 0;
  const Poll count = [&polls]() -> Status {
    ++polls;
    return {};
  };
  const std::vector<NetHash> sums =
      must(sums_of(list, list.size(), HashWidth::k47Bits, 0, true, count));
  EXPECT_EQ(sums.size(), list.size());
  ASSERT_GE(polls, 3u);
  for (uint64_t stop = 1; stop <= polls; stop += std::max<uint64_t>(polls / 8, 1)) {
    uint64_t left = stop;
    const Poll poll = [&left]() -> Status {
      return --left == 0 ? Error{ErrorCode::kInterrupted, "stopped", 0} : Status();
    };
    EXPECT_TRUE(fails(sums_of(list, list.size(), HashWidth::k47Bits, 0, true, poll),
                      ErrorCode::kInterrupted));
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_entry_list_test
