#include "core/segments/filter_window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <set>
#include <tuple>

#include "tests/core/segments/stored_generations.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::segments::segments_filter_window_test {
namespace {

// ---- against a deque of sets

// What a window holds, newest first.
struct WindowModel {
  std::deque<std::multiset<uint64_t>> generations = {{}};

  // Of a window with so many generations.
  void rotate(uint64_t turns, uint64_t most) {
    if (turns >= most) {
      generations.clear();
    }
    for (uint64_t turn = 0; turn < (turns >= most ? 1 : turns); ++turn) {
      generations.emplace_front();
    }
    generations.resize(std::min<uint64_t>(generations.size(), most));
  }
  bool holds(uint64_t hash) const {
    return std::any_of(generations.begin(), generations.end(),
                       [hash](const auto& one) { return one.contains(hash); });
  }
};

// One connection makes transactions of adds, rotations, clears, savepoints and roll-backs. Another
// one follows each transaction, and a third one some. Backups are restored in between, and no
// connection is told.
class WindowScript {
 public:
  WindowScript(const FilterOptions& options, uint64_t seed)
      : seed_(seed),
        stored_(options),
        follower_(stored_.options, stored_.storage),
        lazy_(stored_.options, stored_.storage) {}

  void run(uint64_t transactions) {
    for (; transaction_ < transactions && !::testing::Test::HasFailure(); ++transaction_) {
      SCOPED_TRACE("transaction " + std::to_string(transaction_) + ", seed " +
                   std::to_string(seed_));
      transaction();
    }
  }

 private:
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  const FilterOptions& options() const { return stored_.options; }

  void transaction() {
    const uint64_t draw = random(12);
    if (draw == 0 || transaction_ == 0) {
      backup_ = stored_.storage.rows;
      model_at_backup_ = model_;
      draws_at_backup_ = draws_;
    } else if (draw == 1) {  // nobody is told
      stored_.storage.rows = backup_;
      model_ = model_at_backup_;
      if (!repeats_) {  // the same comes again with other keys: as much, but another past
        draws_ = draws_at_backup_;
        first_key_ = 4000 - first_key_;
      }
      repeats_ = !repeats_;
    }
    StoredGenerations::follow(stored_.window);
    const MemoryBlocks::Rows before = stored_.storage.rows;
    const WindowModel model_before = model_;
    for (uint64_t steps = 1 + random(5); steps > 0; --steps) {
      step();
    }
    if (random(5) == 0) {
      EXPECT_TRUE(random(2) == 0 || stored_.window.flush().ok());
      stored_.roll_back(before);
      model_ = model_before;
    } else {
      if (random(4) == 0) {
        stored_.expect_good();
      }
      stored_.commit();
      stored_.expect_good();
    }
    expect_all(stored_.window);
    StoredGenerations::follow(follower_);
    expect_same(follower_);
    if (random(4) == 0) {
      StoredGenerations::follow(lazy_);
      expect_same(lazy_);
    }
    if (random(6) == 0) {
      FilterWindow fresh(options(), stored_.storage);
      StoredGenerations::follow(fresh);
      expect_same(fresh);
    }
  }

  void step() {
    switch (random(10)) {
      case 0:
      case 1:
        rotate();
        break;
      case 2:
        if (random(6) == 0) {
          stored_.clear();
          model_.generations = {{}};
        }
        break;
      case 3:
        ASSERT_TRUE(stored_.window.flush().ok());
        break;
      case 4:
        savepoint();
        break;
      default:
        add(1 + random(random(4) == 0 ? options().capacity : 20));
    }
  }

  void rotate() {
    const uint64_t turns = random(2) == 0 ? 1 : random(options().generations + 2);
    const uint64_t number = stored_.window.rotation() + turns;
    ASSERT_TRUE(stored_.window.rotate_to(number).ok());
    ASSERT_EQ(stored_.window.rotation(), number);
    model_.rotate(turns, options().generations);
    ASSERT_EQ(stored_.window.generation_items().size(), model_.generations.size());
    ASSERT_TRUE(turns == 0 || stored_.window.newest().items() == 0);
  }

  // Without growth a generation takes its capacity of keys.
  void add(uint64_t count) {
    std::multiset<uint64_t>& newest = model_.generations.front();
    for (; count > 0 && (options().growth || newest.size() < options().capacity); --count) {
      const uint64_t hash = nth_hash(first_key_ + random(4000));
      const Status status = stored_.window.newest().insert(hash);
      ASSERT_TRUE(status.ok()) << message_of(status);
      newest.insert(hash);
      ASSERT_TRUE(has(stored_.window, hash));
    }
  }

  void savepoint() {
    ASSERT_TRUE(stored_.window.flush().ok());
    const MemoryBlocks::Rows mark = stored_.storage.rows;
    const WindowModel before = model_;
    add(1 + random(50));
    if (random(2) == 0) {
      rotate();
      add(1 + random(50));
    }
    if (random(2) == 0) {
      ASSERT_TRUE(random(2) == 0 || stored_.window.flush().ok());
      stored_.storage.rows = mark;
      stored_.window.forget();
      ASSERT_FALSE(stored_.window.usable());
      StoredGenerations::follow(stored_.window);
      model_ = before;
    }
  }

  // Expects I1, and the items of each generation.
  void expect_all(FilterWindow& window) {
    const std::vector<uint64_t> items = window.generation_items();
    ASSERT_EQ(items.size(), model_.generations.size());
    uint64_t total = 0;
    for (size_t age = 0; age < items.size(); ++age) {
      const std::multiset<uint64_t>& held = model_.generations[age];
      if (options().multiset()) {
        ASSERT_EQ(items[age], held.size()) << "age " << age;
      } else {
        ASSERT_LE(items[age], held.size()) << "age " << age;
      }
      total += items[age];
      for (const uint64_t hash : held) {
        ASSERT_TRUE(has(window, hash)) << "age " << age;
      }
    }
    ASSERT_EQ(window.items(), total);
    uint64_t strangers = 0;
    for (uint64_t i = 0; i < 200; ++i) {
      const uint64_t hash = nth_hash(100000 + random(100000));
      strangers += has(window, hash) && !model_.holds(hash) ? 1 : 0;
    }
    ASSERT_LE(strangers, 30u) << "of 200, at 2 %";
  }

  void expect_same(FilterWindow& other) {
    ASSERT_EQ(answers_of(other, 0, 300), answers_of(stored_.window, 0, 300));
    const Status status = other.check();
    ASSERT_TRUE(status.ok()) << message_of(status);
    expect_all(other);
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
  uint64_t transaction_ = 0;
  StoredGenerations stored_;
  FilterWindow follower_;
  FilterWindow lazy_;
  WindowModel model_;
  MemoryBlocks::Rows backup_;
  WindowModel model_at_backup_;
  uint64_t draws_at_backup_ = 0;
  uint64_t first_key_ = 0;
  bool repeats_ = false;
};

class WindowsOfSegments : public ::testing::TestWithParam<std::tuple<FilterCase, uint64_t>> {
 protected:
  static FilterCase filter_case() { return std::get<0>(GetParam()); }
  static uint64_t generations() { return std::get<1>(GetParam()); }
  static FilterOptions options(uint64_t capacity, double rate = 0.02) {
    return test::generations_of(filter_case(), generations(), capacity, rate);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, WindowsOfSegments,
                         ::testing::Combine(::testing::ValuesIn(test::all_cases()),
                                            ::testing::Values(2, 3, 7, 64)),
                         [](const auto& info) {
                           return name_of(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(WindowsOfSegments, I1_I4_random_scripts_hold_what_a_deque_of_sets_holds) {
  test::for_each_seed(2, [this](uint64_t seed) {
    WindowScript(options(seed % 2 == 1 ? 60 : 300), seed).run(generations() == 64 ? 60 : 40);
  });
}

// ---- rotating

TEST_P(WindowsOfSegments, insert_new_adds_what_no_generation_has) {
  StoredGenerations stored(options(100));
  const auto added = [&stored](uint64_t i) {
    const Result<bool> result = stored.window.insert_new(nth_hash(i));
    EXPECT_TRUE(result.ok());
    return result.ok() && result.value();
  };
  EXPECT_TRUE(added(1));
  for (uint64_t turn = 1; turn < generations(); ++turn) {
    EXPECT_FALSE(added(1)) << turn;
    stored.rotate();
    stored.commit();
    EXPECT_FALSE(added(1)) << "an older generation has it";
    EXPECT_EQ(stored.window.newest().items(), 0) << turn;
  }
  stored.rotate();
  EXPECT_TRUE(added(1)) << "it went with the generation that had it";
  stored.commit();
  stored.expect_good();
}

TEST_P(WindowsOfSegments, I3_the_newest_generation_alone_changes) {
  StoredGenerations stored(options(50));
  const bool growth = filter_case().growth;
  const uint64_t end = growth ? 2100 : 150;
  stored.add(0, 50);
  stored.rotate();
  stored.commit();
  const MemoryBlocks::Rows before = stored.storage.rows;
  stored.add(100, end);
  stored.commit();
  for (const int64_t id : differing(before, stored.storage.rows)) {
    EXPECT_EQ(id >> kSlotBits, 1) << id;
  }
  stored.rotate();
  EXPECT_EQ(stored.window.newest().capacity(), 50u);
  stored.add(5000, 5049);
  stored.commit();
  stored.expect_good();
  EXPECT_EQ(stored.missing(100, end), 0u);
  EXPECT_EQ(stored.missing(5000, 5049), 0u);
  if (generations() > 2) {
    EXPECT_EQ(stored.missing(0, 50), 0u);
  }
  FilterWindow other(stored.options, stored.storage);
  StoredGenerations::follow(other);
  EXPECT_EQ(answers_of(other, 0, 3000), answers_of(stored.window, 0, 3000));
  stored.storage.calls = {};
  StoredGenerations::follow(other);
  EXPECT_LE(stored.storage.calls.reads, 2u) << "nothing changed";
  stored.add_and_commit(5049, 5050);
  stored.storage.calls = {};
  StoredGenerations::follow(other);
  EXPECT_LE(stored.storage.calls.reads, 3u) << "the newest alone";
}

TEST_P(WindowsOfSegments, a_rotation_writes_what_a_commit_would_have_written) {
  for (const uint64_t count : filter_case().growth ? std::vector<uint64_t>{10, 700, 40000}
                                                   : std::vector<uint64_t>{10, 900}) {
    StoredGenerations rotated(options(1000));
    StoredGenerations committed(options(1000));
    rotated.add(0, count);
    committed.add(0, count);
    rotated.rotate();
    EXPECT_EQ(rotated.window.newest().items(), 0u);
    rotated.add(count, count + 10);
    rotated.commit();
    committed.commit();
    for (const int64_t id : differing(rotated.storage.rows, committed.storage.rows)) {
      // The root, which names no window's block any more, and so the log, which names the root.
      EXPECT_TRUE(id >> kSlotBits != 0 || id == kRootBlock || id >= kFirstLogBlock) << id;
    }
    rotated.expect_good();
    EXPECT_EQ(rotated.missing(0, count + 10), 0u);
  }
}

TEST_P(WindowsOfSegments, I2_the_rate_of_all_together_is_not_above_the_rate_asked) {
  for (const double rate : {0.2, 0.01}) {
    StoredGenerations stored(options(1000, rate));
    for (uint64_t generation = 0; generation < generations(); ++generation) {
      if (generation > 0) {
        stored.rotate();
      }
      stored.add(10000 * generation, 10000 * generation + 1000);
    }
    stored.commit();
    ASSERT_EQ(stored.window.generation_items().size(), generations());
    constexpr uint64_t kProbes = 20000;
    const uint64_t found = kProbes - stored.missing(90000000, 90000000 + kProbes);
    const double measured = static_cast<double>(found) / kProbes;
    EXPECT_LE(measured, rate + 3 * std::sqrt(rate / kProbes));
    EXPECT_EQ(stored.window.target_rate(), rate);
    EXPECT_LE(stored.window.rate_now(), 1.03 * rate);
    EXPECT_NEAR(stored.window.rate_now(), measured, 5 * std::sqrt(rate / kProbes));
  }
}

// ---- following

}  // namespace
}  // namespace cuckoo::segments::segments_filter_window_test
