#include "core/flash/index.hpp"

#include <set>

#include "core/flash/undo_log.hpp"
#include "tests/core/flash/harness.hpp"
#include "tests/support/allocations.hpp"

namespace cuckoo {
namespace flash_index_test {
namespace {

using Pairs = std::set<std::pair<uint32_t, uint32_t>>;

Pairs pairs_of(FlashIndex& index) {
  Pairs pairs;
  for (const auto& [position, hash] : must(index.by_position())) {
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

std::multiset<uint32_t> found(FlashIndex& index, uint32_t hash) {
  std::multiset<uint32_t> positions;
  index.find(must(index.fetch(hash)), [&](uint32_t position) {
    positions.insert(position);
    return false;
  });
  return positions;
}

TEST(FlashIndex, I1_holds_what_was_inserted_and_not_removed) {
  FlashIndex index(kOptions);
  index.insert(7, 100);
  index.insert(7, 200);
  index.insert(8, 100);
  EXPECT_TRUE(replace(index, 7, 100, 300));
  EXPECT_TRUE(remove(index, 8, 100));
  EXPECT_FALSE(remove(index, 8, 100)) << "it is gone";
  EXPECT_FALSE(replace(index, 7, 100, 400)) << "it has moved";
  EXPECT_EQ(pairs_of(index), (Pairs{{7, 200}, {7, 300}}));
  EXPECT_TRUE(contains(index, 7, 300));
  EXPECT_FALSE(contains(index, 7, 100));
  EXPECT_EQ(found(index, 7), (std::multiset<uint32_t>{200, 300}));
  EXPECT_STATUS(index.clear());
  EXPECT_EQ(index.size(), 0U);
}

// --- a base --------------------------------------------------------------------------------------

enum class Base { kStored, kLoaded, kOwn };

FlashIndex with(Base base, uint32_t count = 1000) {
  FlashIndex index(kOptions);
  FlashIndex::Entries entries;
  for (uint32_t i = 1; i <= count; ++i) {
    entries.emplace_back(10 * i, i % 400);
  }
  if (base == Base::kOwn) {
    index.load(entries);
    return index;
  }
  sort_by_hash(entries);
  index.load(StoredIndex(FlashGeometry{}, {}, entries, nullptr));
  if (base == Base::kLoaded) {
    EXPECT_STATUS(index.load_all());
  }
  return index;
}

TEST(FlashIndex, I1_I4_a_base_answers_and_becomes_loaded) {
  for (const Base base : {Base::kStored, Base::kLoaded, Base::kOwn}) {
    FlashIndex index = with(base);
    const Pairs before = pairs_of(index);
    for (int search = 0; search < 30; ++search) {
      SCOPED_TRACE(search);
      EXPECT_EQ(index.size(), 1000U);
      EXPECT_EQ(found(index, 7), (std::multiset<uint32_t>{70, 4070, 8070}));
      EXPECT_EQ(found(index, 400), std::multiset<uint32_t>());
      unsigned visits = 0;
      EXPECT_TRUE(index.find(must(index.fetch(7)), [&](uint32_t) { return ++visits == 2; }));
      EXPECT_EQ(visits, 2U);
      EXPECT_TRUE(contains(index, 7, 4070));
      EXPECT_FALSE(contains(index, 8, 4070));
      EXPECT_FALSE(contains(index, 7, 71));
      EXPECT_EQ(pairs_of(index), before);
      EXPECT_STATUS(index.check());
    }
    EXPECT_EQ(index.figures().load_factor > 0.5, true) << "in slots by now";
  }
}

// What was fetched stays right when all is loaded, and when an entry has gone.
TEST(FlashIndex, I4_what_was_fetched_before_a_load_and_a_change) {
  FlashIndex index = with(Base::kStored);
  const FlashIndex::Fetched fetched = must(index.fetch(7));
  EXPECT_TRUE(index.contains(fetched, 70));
  EXPECT_TRUE(index.remove(fetched, 70));
  EXPECT_FALSE(index.contains(fetched, 70));
  EXPECT_FALSE(index.remove(fetched, 70));
  ASSERT_STATUS(index.load_all());
  EXPECT_FALSE(index.contains(fetched, 70));
  EXPECT_TRUE(index.replace(fetched, 4070, 4071));
  EXPECT_EQ(found(index, 7), (std::multiset<uint32_t>{4071, 8070}));
}

// A replay replaces what is stored without reading it. What is not there is found later.
TEST(FlashIndex, I4_what_a_replay_believes_is_verified) {
  FlashIndex index = with(Base::kStored);
  EXPECT_TRUE(index.replace(FlashIndex::believe(7), 70, 71));
  EXPECT_TRUE(index.replace(FlashIndex::believe(7), 71, 72));
  EXPECT_TRUE(index.remove(FlashIndex::believe(8), 80));
  EXPECT_FALSE(index.remove(FlashIndex::believe(8), 80));
  EXPECT_EQ(found(index, 7), (std::multiset<uint32_t>{72, 4070, 8070}));
  EXPECT_EQ(index.size(), 999U);
  EXPECT_STATUS(index.check());
  EXPECT_TRUE(index.remove(FlashIndex::believe(8), 90));
  EXPECT_TRUE(fails(index.by_position(), ErrorCode::kCorrupt, "replaces 1 records"));
  EXPECT_TRUE(fails(index.load_all(), ErrorCode::kCorrupt, "replaces 1 records"));
  EXPECT_FALSE(with(Base::kLoaded).remove(FlashIndex::believe(8), 90));
  EXPECT_FALSE(with(Base::kOwn).remove(FlashIndex::believe(8), 90));
}

TEST(FlashIndex, I2_changes_of_a_base_are_undone) {
  using Change = void (*)(FlashIndex&);
  for (const Base base : {Base::kStored, Base::kLoaded, Base::kOwn}) {
    for (const Change change :
         {Change{[](FlashIndex& index) { index.insert(7, 71); }},
          Change{[](FlashIndex& index) { EXPECT_TRUE(remove(index, 7, 70)); }},
          Change{[](FlashIndex& index) { EXPECT_FALSE(remove(index, 7, 71)); }},
          Change{[](FlashIndex& index) {
            EXPECT_TRUE(replace(index, 7, 70, 71));
            EXPECT_FALSE(replace(index, 7, 70, 72));
            EXPECT_STATUS(index.load_all());
          }},
          Change{[](FlashIndex& index) { EXPECT_STATUS(index.clear()); }}}) {
      FlashIndex index = with(base);
      const Pairs before = pairs_of(index);
      IndexUndo undo(index);
      const size_t mark = undo.mark();
      change(index);
      EXPECT_STATUS(index.check());
      undo.to(mark);
      EXPECT_EQ(pairs_of(index), before);
      EXPECT_STATUS(index.check());
    }
    FlashIndex cleared = with(base);
    EXPECT_STATUS(cleared.clear());
    EXPECT_EQ(cleared.size(), 0U);
    EXPECT_TRUE(found(cleared, 7).empty());
  }
}

// Two indexes share what they loaded. Neither changes it for the other one.
TEST(FlashIndex, I1_what_is_shared_is_not_changed) {
  FlashIndex one = with(Base::kLoaded);
  FlashIndex two = with(Base::kLoaded);
  const Pairs before = pairs_of(two);
  EXPECT_TRUE(remove(one, 7, 70));
  EXPECT_FALSE(remove(one, 7, 70));
  EXPECT_TRUE(replace(one, 7, 4070, 4071));
  one.insert(7, 71);
  EXPECT_EQ(found(one, 7), (std::multiset<uint32_t>{71, 4071, 8070}));
  EXPECT_EQ(found(two, 7), (std::multiset<uint32_t>{70, 4070, 8070}));
  EXPECT_EQ(one.size(), 1000U);
  EXPECT_STATUS(one.check());
  EXPECT_STATUS(one.clear());
  EXPECT_EQ(pairs_of(two), before);
  EXPECT_STATUS(two.check());
}

// So much changes that the index gets its own copy of all pairs.
TEST(FlashIndex, I1_I2_owns_all_when_much_has_changed) {
  FlashIndex index = with(Base::kLoaded, 20000);
  FlashIndex other = with(Base::kLoaded, 20000);
  const size_t shared_bytes = index.memory_bytes();
  Pairs pairs = pairs_of(index);
  const Pairs before = pairs;
  IndexUndo undo(index);
  const size_t mark = undo.mark();
  for (uint32_t i = 1; i <= 6000; ++i) {
    const uint32_t hash = i % 400;
    ASSERT_TRUE(replace(index, hash, 10 * i, 10 * i + 1));
    pairs.erase({hash, 10 * i});
    pairs.emplace(hash, 10 * i + 1);
  }
  EXPECT_EQ(pairs_of(index), pairs);
  EXPECT_STATUS(index.check());
  EXPECT_LT(index.memory_bytes(), shared_bytes + shared_bytes / 4) << "nothing is loaded any more";
  undo.to(mark);
  EXPECT_EQ(pairs_of(index), before);
  EXPECT_EQ(pairs_of(other), before);
}

// Changes, searches and a load come in any order, with a mark.
TEST(FlashIndex, I1_I2_random_changes_of_a_base) {
  FlashIndex other = with(Base::kLoaded);
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    FlashIndex index = with(static_cast<Base>(seed % 3));
    Pairs pairs = pairs_of(index);
    const Pairs before = pairs;
    IndexUndo undo(index);
    const size_t mark = undo.mark();
    const uint64_t load_at = random() % 100;  // most are loaded by their searches before that
    for (uint32_t step = 1; step <= 600; ++step) {
      const auto hash = static_cast<uint32_t>(random() % 420);
      const uint32_t position = 10 * static_cast<uint32_t>(random() % 1010 + 1);
      const uint32_t fresh = 20000 + step;
      const bool known = pairs.contains({hash, position});
      const auto some = std::next(pairs.begin(), static_cast<int>(random() % pairs.size()));
      if (step == load_at) {
        ASSERT_STATUS(index.load_all());
      }
      switch (random() % 6) {
        case 0:
          index.insert(hash, fresh);
          pairs.emplace(hash, fresh);
          break;
        case 1:
          ASSERT_TRUE(remove(index, some->first, some->second));
          ASSERT_FALSE(contains(index, some->first, some->second));
          pairs.erase(some);
          break;
        case 2: {
          ASSERT_TRUE(replace(index, some->first, some->second, fresh));
          const uint32_t moved = some->first;
          pairs.erase(some);
          pairs.emplace(moved, fresh);
          break;
        }
        case 3:
          ASSERT_EQ(contains(index, hash, position), known);
          break;
        case 4: {
          std::multiset<uint32_t> expected;
          for (const auto& [of, at] : pairs) {
            if (of == hash) {
              expected.insert(at);
            }
          }
          ASSERT_EQ(found(index, hash), expected);
          break;
        }
        default:
          if (!known) {
            ASSERT_FALSE(remove(index, hash, position));
            ASSERT_FALSE(replace(index, hash, position, fresh));
          }
      }
      ASSERT_EQ(index.size(), pairs.size());
    }
    EXPECT_EQ(pairs_of(index), pairs);
    EXPECT_STATUS(index.check());
    undo.to(mark);
    EXPECT_EQ(pairs_of(index), before);
    EXPECT_STATUS(index.check());
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
    EXPECT_EQ(must(index.by_position()), expected);
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
  EXPECT_FALSE(remove(index, 1, 11));
  EXPECT_FALSE(replace(index, 2, 10, 12));
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
  ASSERT_STATUS(index.clear());
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
            ASSERT_TRUE(remove(index, hash, position));
            now.erase({hash, position});
          } else if (!now.contains({hash, to})) {
            ASSERT_TRUE(replace(index, hash, position, to));
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
      until_done([&, hash = hash, position = position] { remove(index, hash, position); });
      now.erase({hash, position});
    }
    if (i % 9 == 0) {
      const auto [hash, position] = *now.rbegin();
      until_done([&, hash = hash, position = position] {
        replace(index, hash, position, position + 1000);
      });
      now.erase({hash, position});
      now.emplace(hash, position + 1000);
    }
  }
  until_done([&] { EXPECT_STATUS(index.clear()); });
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

TEST(FlashIndex, I3_a_change_of_a_base_without_memory_changes_nothing) {
  for (const bool loaded : {false, true}) {
    SCOPED_TRACE(loaded);
    FlashIndex index({.hashes = 2, .ways = 2, .seed = 1});
    FlashIndex::Entries entries;
    for (uint32_t i = 1; i <= 400; ++i) {
      entries.emplace_back(i + 20000, i % 4 == 0 ? 1 : i);
    }
    sort_by_hash(entries);
    index.load(StoredIndex(FlashGeometry{}, {}, entries, nullptr));
    if (loaded) {
      EXPECT_STATUS(index.load_all());
    }
    expect_kept_without_memory(std::move(index));
  }
}

}  // namespace
}  // namespace flash_index_test
}  // namespace cuckoo
