#include "core/flash/index.hpp"

#include <set>

#include "core/flash/undo_log.hpp"
#include "tests/core/flash/harness.hpp"
#include "tests/support/allocations.hpp"

namespace cuckoo {
namespace flash_index_test {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

Pairs pairs_of(const FlashIndex& index) {
  Pairs pairs;
  for (const auto& [position, hash] : index.by_position()) {
    pairs.emplace(hash, position);
  }
  EXPECT_EQ(pairs.size(), index.size());
  return pairs;
}

constexpr SlotCacheOptions kOptions{.seed = 9};

// An undo log for an index alone.
class IndexUndo {
 public:
  explicit IndexUndo(FlashIndex& index) : index_(index) { index.note_in(log_); }
  size_t mark() { return log_.mark(0, 0, {}); }
  void to(size_t mark) {
    log_.undo_index(mark, [this](const FlashIndexUndo& change) { index_.undo(change); });
    log_.release(mark + 1);
  }
  void forget_marks() { log_.release(0); }

 private:
  FlashUndoLog log_;
  FlashIndex& index_;
};

TEST(FlashIndex, I1_holds_what_was_inserted_and_not_removed) {
  FlashIndex index(kOptions);
  index.insert(7, 100);
  index.insert(7, 200);
  index.insert(8, 100);
  EXPECT_TRUE(index.replace(7, 100, 300));
  EXPECT_TRUE(index.remove(8, 100));
  EXPECT_FALSE(index.remove(8, 100)) << "it is gone";
  EXPECT_FALSE(index.replace(7, 100, 400)) << "it has moved";
  EXPECT_EQ(pairs_of(index), (Pairs{{7, 200}, {7, 300}}));
  EXPECT_TRUE(index.contains(7, 300));
  EXPECT_FALSE(index.contains(7, 100));
  std::set<uint32_t> found;
  index.find(7, [&](uint32_t position) { return !found.insert(position).second; });
  EXPECT_EQ(found, (std::set<uint32_t>{200, 300}));
  index.clear();
  EXPECT_EQ(index.size(), 0U);
}

// --- what is loaded as a list --------------------------------------------------------------------

std::multiset<uint32_t> found(const FlashIndex& index, uint32_t hash) {
  std::multiset<uint32_t> positions;
  index.find(hash, [&](uint32_t position) {
    positions.insert(position);
    return false;
  });
  return positions;
}

FlashIndex loaded(uint32_t count = 1000) {
  FlashIndex index(kOptions);
  FlashIndex::Entries entries;
  for (uint32_t i = 1; i <= count; ++i) {
    entries.emplace_back(10 * i, i % 400);
  }
  index.load(std::move(entries));
  return index;
}

FlashIndex shared_index(uint32_t count = 1000) {
  FlashIndex index = loaded(count);
  index.share();
  return index;
}

void search_until_filled(const FlashIndex& index) {
  for (int search = 0; search < 9; ++search) {
    index.find(1, [](uint32_t) { return false; });
  }
}

TEST(FlashIndex, I1_a_list_answers_as_the_slot_cache_does_that_it_becomes) {
  const FlashIndex index = loaded();
  const Pairs before = pairs_of(index);
  for (int search = 0; search < 30; ++search) {
    SCOPED_TRACE(search);
    EXPECT_EQ(index.size(), 1000U);
    EXPECT_EQ(found(index, 7), (std::multiset<uint32_t>{70, 4070, 8070}));
    EXPECT_EQ(found(index, 400), std::multiset<uint32_t>());
    unsigned visits = 0;
    EXPECT_TRUE(index.find(7, [&](uint32_t) { return ++visits == 2; }));
    EXPECT_EQ(visits, 2U);
    EXPECT_TRUE(index.contains(7, 4070));
    EXPECT_FALSE(index.contains(8, 4070));
    EXPECT_FALSE(index.contains(7, 71));
    EXPECT_EQ(pairs_of(index), before);
  }
  EXPECT_EQ(loaded().size(), 1000U);
  EXPECT_TRUE(loaded().check().ok());
}

TEST(FlashIndex, I2_changes_of_a_list_are_undone) {
  const Pairs before = pairs_of(loaded());
  using Change = void (*)(FlashIndex&);
  for (const Change change : {Change{[](FlashIndex& index) { index.insert(7, 71); }},
                              Change{[](FlashIndex& index) { EXPECT_TRUE(index.remove(7, 70)); }},
                              Change{[](FlashIndex& index) { EXPECT_FALSE(index.remove(7, 71)); }},
                              Change{[](FlashIndex& index) {
                                EXPECT_TRUE(index.replace(7, 70, 71));
                                EXPECT_FALSE(index.replace(7, 70, 72));
                              }},
                              Change{[](FlashIndex& index) { index.clear(); }}}) {
    FlashIndex index = loaded();
    IndexUndo undo(index);
    const size_t mark = undo.mark();
    change(index);
    EXPECT_TRUE(index.check().ok());
    undo.to(mark);
    EXPECT_EQ(pairs_of(index), before);
    EXPECT_TRUE(index.check().ok());
  }
  FlashIndex cleared = loaded();
  cleared.clear();
  EXPECT_EQ(cleared.size(), 0U);
  EXPECT_TRUE(found(cleared, 7).empty());
}

TEST(FlashIndex, I1_a_list_out_of_order_is_found) {
  FlashIndex index(kOptions);
  index.load({{20, 1}, {10, 2}});
  EXPECT_EQ(index.check().error().message, "index list that does not ascend");
}

TEST(FlashIndex, I1_a_list_answers_when_there_is_no_memory_for_slots) {
  const FlashIndex index = shared_index();
  for (int search = 0; search < 30; ++search) {
    uint32_t last = 0;
    allocations_left = search % 3;
    index.find(7, [&](uint32_t position) {
      last = position;
      return false;
    });
    allocations_left = -1;
    EXPECT_EQ(last, 8070U);
  }
}

// Two indexes share what they loaded. Neither changes it for the other one, in slots or not.
TEST(FlashIndex, I1_what_is_shared_is_not_changed) {
  for (const bool filled : {false, true}) {
    SCOPED_TRACE(filled);
    FlashIndex one = shared_index();
    const FlashIndex two = shared_index();
    const Pairs before = pairs_of(two);
    if (filled) {
      search_until_filled(two);
      search_until_filled(one);
    }
    EXPECT_TRUE(one.remove(7, 70));
    EXPECT_FALSE(one.remove(7, 70));
    EXPECT_TRUE(one.replace(7, 4070, 4071));
    one.insert(7, 71);
    EXPECT_EQ(found(one, 7), (std::multiset<uint32_t>{71, 4071, 8070}));
    EXPECT_EQ(found(two, 7), (std::multiset<uint32_t>{70, 4070, 8070}));
    EXPECT_EQ(one.size(), 1000U);
    one.clear();
    EXPECT_EQ(pairs_of(two), before);
    EXPECT_TRUE(one.check().ok());
    EXPECT_TRUE(two.check().ok());
  }
}

// share() takes in all changes that came before it.
TEST(FlashIndex, I1_share_takes_all_changes_in) {
  for (const bool filled : {false, true}) {
    SCOPED_TRACE(filled);
    FlashIndex one = loaded();
    if (filled) {
      search_until_filled(one);
    }
    one.remove(7, 70);
    one.replace(8, 80, 81);
    one.insert(9, 5);
    const Pairs before = pairs_of(one);
    one.share();
    EXPECT_EQ(pairs_of(one), before);
    EXPECT_TRUE(one.check().ok());
    FlashIndex two(kOptions);
    for (const auto& [hash, position] : before) {
      two.insert(hash, position);
    }
    two.share();
    EXPECT_EQ(pairs_of(two), before);
    search_until_filled(one);
    search_until_filled(two);
    EXPECT_TRUE(two.check().ok());
    EXPECT_EQ(one.figures().load_factor, two.figures().load_factor);
  }
}

// So much changes that the index gets its own copy of all pairs.
TEST(FlashIndex, I1_I2_owns_all_when_much_has_changed) {
  FlashIndex index = shared_index(20000);
  const FlashIndex other = shared_index(20000);
  search_until_filled(index);
  const size_t shared_bytes = index.memory_bytes();
  Pairs pairs = pairs_of(index);
  const Pairs before = pairs;
  IndexUndo undo(index);
  const size_t mark = undo.mark();
  for (uint32_t i = 1; i <= 6000; ++i) {
    const uint32_t hash = i % 400;
    ASSERT_TRUE(index.replace(hash, 10 * i, 10 * i + 1));
    pairs.erase({hash, 10 * i});
    pairs.emplace(hash, 10 * i + 1);
  }
  EXPECT_EQ(pairs_of(index), pairs);
  EXPECT_TRUE(index.check().ok());
  EXPECT_LT(index.memory_bytes(), shared_bytes + shared_bytes / 4) << "nothing is loaded any more";
  undo.to(mark);
  EXPECT_EQ(pairs_of(index), before);
  EXPECT_EQ(pairs_of(other), before);
}

// Changes and searches come in any order, with a mark. The index begins with a list, shared or not.
TEST(FlashIndex, I1_I2_random_changes_of_a_list) {
  const FlashIndex other = shared_index();
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    FlashIndex index = seed % 2 == 0 ? loaded() : shared_index();
    Pairs pairs = pairs_of(index);
    const Pairs before = pairs;
    IndexUndo undo(index);
    const size_t mark = undo.mark();
    const uint64_t calm = 1 + random() % 300;  // how often it is searched, and so fills the slots
    for (uint32_t step = 1; step <= 600; ++step) {
      const auto hash = static_cast<uint32_t>(random() % 420);
      const uint32_t position = 10 * static_cast<uint32_t>(random() % 1010 + 1);
      const uint32_t fresh = 20000 + step;
      const bool known = pairs.contains({hash, position});
      const auto some = std::next(pairs.begin(), static_cast<int>(random() % pairs.size()));
      switch (random() % 5) {
        case 0:
          index.insert(hash, fresh);
          pairs.emplace(hash, fresh);
          break;
        case 1:
          ASSERT_TRUE(index.remove(some->first, some->second));
          ASSERT_FALSE(index.contains(some->first, some->second));
          pairs.erase(some);
          break;
        case 2: {
          ASSERT_TRUE(index.replace(some->first, some->second, fresh));
          const uint32_t moved = some->first;
          pairs.erase(some);
          pairs.emplace(moved, fresh);
          break;
        }
        case 3:
          ASSERT_EQ(index.contains(hash, position), known);
          break;
        default:
          if (!known) {
            ASSERT_FALSE(index.remove(hash, position));
            ASSERT_FALSE(index.replace(hash, position, fresh));
          }
      }
      ASSERT_EQ(index.size(), pairs.size());
      if (random() % calm == 0) {
        std::multiset<uint32_t> expected;
        for (const auto& [of, at] : pairs) {
          if (of == hash) {
            expected.insert(at);
          }
        }
        ASSERT_EQ(found(index, hash), expected);
      }
    }
    EXPECT_EQ(pairs_of(index), pairs);
    undo.to(mark);
    EXPECT_EQ(pairs_of(index), before);
    EXPECT_TRUE(index.check().ok());
    EXPECT_EQ(pairs_of(index), before);
    EXPECT_EQ(pairs_of(other), before);
  }
}

TEST(FlashIndex, by_position_is_ascending_whatever_the_number) {
  for (const uint32_t count : {0, 1, 100, 5000, 20000}) {
    FlashIndex index(kOptions);
    FlashIndex::Entries expected;
    std::mt19937 random(count);
    std::set<uint32_t> positions{0xFFFFFFFF, 1};
    while (positions.size() < count) {
      positions.insert(static_cast<uint32_t>(random() >> random() % 20) | 1);
    }
    for (const uint32_t position : positions) {
      const auto hash = static_cast<uint32_t>(random());
      index.insert(hash, position);
      expected.emplace_back(position, hash);
    }
    EXPECT_EQ(index.by_position(), expected);
  }
}

// --- hashes, changes, marks ----------------------------------------------------------------------

TEST(FlashIndex, hashes_depend_on_the_seed_and_on_every_argument) {
  const FlashIndex index(kOptions);
  const FlashIndex other({.seed = 10});
  const std::string key = "key";
  const std::string another = "kez";
  EXPECT_EQ(index.hash_of(bytes_of(key)), FlashIndex(kOptions).hash_of(bytes_of(key)));
  EXPECT_NE(index.hash_of(bytes_of(key)), index.hash_of(bytes_of(another)));
  EXPECT_NE(index.hash_of(bytes_of(key)), other.hash_of(bytes_of(key)));
  EXPECT_NE(index.part_hash(1, 0), index.part_hash(2, 0));
  EXPECT_NE(index.part_hash(1, 0), index.part_hash(1, 100));
  EXPECT_NE(index.part_hash(1, 0), other.part_hash(1, 0));
}

TEST(FlashIndex, I2_what_could_not_be_done_is_not_undone) {
  FlashIndex index(kOptions);
  index.insert(1, 10);
  IndexUndo undo(index);
  const size_t mark = undo.mark();
  EXPECT_FALSE(index.remove(1, 11));
  EXPECT_FALSE(index.replace(2, 10, 12));
  undo.to(mark);
  EXPECT_EQ(pairs_of(index), (Pairs{{1, 10}}));
}

TEST(FlashIndex, I2_a_cleared_index_comes_back) {
  FlashIndex index(kOptions);
  Pairs before;
  for (uint32_t i = 1; i <= 1000; ++i) {
    index.insert(i % 400, i);
    before.emplace(i % 400, i);
  }
  IndexUndo undo(index);
  const size_t mark = undo.mark();
  index.insert(5, 2000);
  index.clear();
  index.insert(5, 3000);
  undo.to(mark);
  EXPECT_EQ(pairs_of(index), before);
  ASSERT_STATUS(index.check());
}

TEST(FlashIndex, I2_nothing_is_noted_before_a_mark_or_after_the_last_is_forgotten) {
  FlashIndex index(kOptions);
  IndexUndo undo(index);
  index.insert(1, 10);
  EXPECT_EQ(undo.mark(), 0U);
  index.insert(1, 11);
  EXPECT_EQ(undo.mark(), 1U);
  undo.forget_marks();
  index.insert(1, 12);
  EXPECT_EQ(undo.mark(), 0U);
  undo.to(0);
  EXPECT_EQ(pairs_of(index), (Pairs{{1, 10}, {1, 11}, {1, 12}}));
}

// Marks nest. Going back to any of them gives the pairs of its moment.
TEST(FlashIndex, I2_every_mark_gives_the_pairs_of_its_moment) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    FlashIndex index(kOptions);
    IndexUndo undo(index);
    Pairs now;
    std::vector<std::pair<size_t, Pairs>> marks;
    for (int step = 0; step < 3000; ++step) {
      const auto hash = static_cast<uint32_t>(random() % 50);
      const auto position = static_cast<uint32_t>(1 + random() % 200);
      const auto to = static_cast<uint32_t>(1 + random() % 200);
      const bool there = now.contains({hash, position});
      switch (random() % 40) {
        case 0:
          marks.emplace_back(undo.mark(), now);
          break;
        case 1:
          if (!marks.empty()) {
            marks.resize(1 + random() % marks.size());
            undo.to(marks.back().first);
            now = marks.back().second;
            ASSERT_EQ(pairs_of(index), now);
          }
          break;
        case 2:
          undo.forget_marks();
          marks.clear();
          break;
        default:
          if (!there) {
            index.insert(hash, position);
            now.emplace(hash, position);
          } else if (random() % 2 == 0) {
            ASSERT_TRUE(index.remove(hash, position));
            now.erase({hash, position});
          } else if (!now.contains({hash, to})) {
            ASSERT_TRUE(index.replace(hash, position, to));
            now.erase({hash, position});
            now.emplace(hash, to);
          }
      }
    }
    ASSERT_EQ(pairs_of(index), now);
    ASSERT_STATUS(index.check());
  }
}

// Every allocation of every change fails once.
void expect_kept_without_memory(FlashIndex index) {
  IndexUndo undo(index);
  Pairs now = pairs_of(index);
  std::vector<std::pair<size_t, Pairs>> marks;
  unsigned failures = 0;
  const auto until_done = [&](auto change) {
    for (int64_t left = 0;; ++left) {
      if (!runs_out_of_memory(left, change)) {
        return;
      }
      ++failures;
      ASSERT_EQ(pairs_of(index), now);
    }
  };
  for (uint32_t i = 1; i <= 300; ++i) {
    if (i % 50 == 1) {
      marks.emplace_back(undo.mark(), now);
    }
    until_done([&] { index.insert(i % 4 == 0 ? 1 : i, i); });
    now.emplace(i % 4 == 0 ? 1 : i, i);
    if (i % 7 == 0) {
      const auto [hash, position] = *now.begin();
      until_done([&, hash = hash, position = position] { index.remove(hash, position); });
      now.erase({hash, position});
    }
    if (i % 9 == 0) {
      const auto [hash, position] = *now.rbegin();
      until_done([&, hash = hash, position = position] {
        index.replace(hash, position, position + 1000);
      });
      now.erase({hash, position});
      now.emplace(hash, position + 1000);
    }
  }
  until_done([&] { index.clear(); });
  EXPECT_EQ(index.size(), 0U);
  EXPECT_GT(failures, 50U);
  for (; !marks.empty(); marks.pop_back()) {
    undo.to(marks.back().first);
    ASSERT_EQ(pairs_of(index), marks.back().second);
  }
}

TEST(FlashIndex, I3_a_change_without_memory_changes_nothing) {
  expect_kept_without_memory(FlashIndex({.hashes = 2, .ways = 2, .seed = 1}));
}

TEST(FlashIndex, I3_a_change_of_what_is_loaded_without_memory_changes_nothing) {
  for (const bool filled : {false, true}) {
    SCOPED_TRACE(filled);
    FlashIndex index({.hashes = 2, .ways = 2, .seed = 1});
    FlashIndex::Entries entries;
    for (uint32_t i = 1; i <= 400; ++i) {
      entries.emplace_back(i + 20000, i % 4 == 0 ? 1 : i);
    }
    index.load(std::move(entries));
    index.share();
    if (filled) {
      search_until_filled(index);
    }
    expect_kept_without_memory(std::move(index));
  }
}

}  // namespace
}  // namespace flash_index_test
}  // namespace cuckoo
