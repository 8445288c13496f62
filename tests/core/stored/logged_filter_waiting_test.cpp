// Adds to a set that wait (LoggedFilter::insert_soon): they end as insert() would have made them,
// byte for byte, whenever they are settled.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"
#include "tests/model_seeds.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::message_of;
using test::nth_hash;
using test::nth_word;
using test::StoredFilter;
using test::StoredRows;

constexpr uint64_t kDefaultScripts = 30;

class WaitingAdds : public test::KindsTest {
 protected:
  // A transaction that folded already.
  static void add_much(StoredFilter& stored) {
    const uint64_t fold_position = stored.filter.record().fold_position;
    for (uint64_t i = 0; stored.filter.record().fold_position == fold_position; ++i) {
      stored.add(i, i + 1);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, WaitingAdds, ::testing::ValuesIn(test::all_cases()),
                         test::kCaseName);

// One transaction after the other is done in both filters: in the one by insert(), in the other by
// insert_soon() with questions in between.
class TwoFilters {
 public:
  TwoFilters(const FilterOptions& options, uint64_t seed)
      : seed_(seed), at_once_(options), waiting_(options) {}

  void transaction() {
    const StoredRows before = at_once_.storage.snapshot();
    for (uint64_t bursts = 1 + random(6); bursts > 0 && !::testing::Test::HasFailure(); --bursts) {
      burst();
    }
    if (random(5) == 0) {
      at_once_.roll_back(before);
      waiting_.filter.forget();
      waiting_.roll_back(before);
    } else {
      at_once_.commit();
      waiting_.commit();
    }
    ASSERT_EQ(difference(at_once_.storage.rows, waiting_.storage.rows), "");
    at_once_.expect_good();
  }

  uint64_t waited() const { return waited_; }
  uint64_t refused() const { return refused_; }

 private:
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }

  void burst() {
    constexpr uint64_t kLengths[] = {1, 10, 100, 3000};
    const uint64_t range = 1 + random(20000);
    const uint64_t pause = 1 + random(200);
    for (uint64_t adds = 1 + random(kLengths[random(4)]); adds > 0; --adds) {
      add(nth_hash(random(range)));
      if (random(pause) == 0) {
        ask();
      }
    }
  }

  void add(uint64_t hash) {
    const uint64_t items = waiting_.filter.items();
    const Status expected = at_once_.filter.insert(hash);
    const Status status = waiting_.filter.insert_soon(hash);
    ASSERT_EQ(message_of(status), message_of(expected)) << "full at the same add";
    waited_ += waiting_.filter.items() != at_once_.filter.items() ? 1 : 0;
    refused_ += status.ok() ? 0 : 1;
    ASSERT_GE(waiting_.filter.items(), items);
  }

  void ask() {
    const uint64_t hash = nth_hash(random(30000));
    const auto answer_of = [&](LoggedFilter& filter) {
      EXPECT_TRUE(filter.load(hash).ok());
      return filter.count(hash);
    };
    switch (random(4)) {
      case 0:
        waiting_.filter.settle();
        break;
      case 1:
        ASSERT_EQ(waiting_.has(hash), at_once_.has(hash));
        break;
      case 2:  // before a savepoint
        ASSERT_TRUE(at_once_.filter.flush().ok());
        ASSERT_TRUE(waiting_.filter.flush().ok());
        ASSERT_EQ(difference(at_once_.storage.rows, waiting_.storage.rows), "");
        break;
      default:
        ASSERT_EQ(answer_of(waiting_.filter), answer_of(at_once_.filter));
    }
    ASSERT_EQ(waiting_.filter.items(), at_once_.filter.items());
    ASSERT_EQ(waiting_.filter.tail_entries(), at_once_.filter.tail_entries());
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
  StoredFilter at_once_;
  StoredFilter waiting_;
  uint64_t waited_ = 0;
  uint64_t refused_ = 0;
};

TEST_P(WaitingAdds, are_stored_as_if_they_had_not_waited) {
  const test::ModelSeeds seeds(kDefaultScripts);
  uint64_t waited = 0;
  uint64_t refused = 0;
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    constexpr uint64_t kCapacities[] = {10, 300, 2500, 8000};
    constexpr double kRates[] = {0.25, 0.01, 1e-6};
    const uint64_t capacity = kCapacities[nth_word(seed, 1 << 20) % 4];
    TwoFilters filters(options(capacity, kRates[nth_word(seed, 1 << 21) % 3]), seed);
    for (int transactions = 0; transactions < 8; ++transactions) {
      filters.transaction();
      ASSERT_FALSE(HasFailure()) << "CUCKOO_SEED=" << seed << " replays it";
    }
    waited += filters.waited();
    refused += filters.refused();
  }
  EXPECT_EQ(waited > 0, !multiset() || seeds.count == 1);
  EXPECT_EQ(refused > 0, !growth() || seeds.count == 1);
}

TEST_P(WaitingAdds, I8_are_settled_without_storage) {
  StoredFilter stored(options(growth() ? 1000 : 50000));
  add_much(stored);
  stored.storage.calls = {};
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t key = 1000000 + i;
    ASSERT_TRUE(stored.filter.insert_soon(nth_hash(key)).ok());
    if (i % 7 == 0) {
      ASSERT_EQ(stored.filter.probe(nth_hash(key)), LoggedFilter::Answer::kPresent);
    }
  }
  stored.filter.settle();
  EXPECT_EQ(stored.storage.calls.all(), 0u);
  EXPECT_EQ(stored.missing(1000000, 1000300), 0u);
  stored.commit();
  stored.expect_good();
}

TEST_P(WaitingAdds, I9_are_not_written_before_they_are_settled) {
  StoredFilter stored(options(growth() ? 1000 : 50000));
  add_much(stored);
  ASSERT_TRUE(stored.filter.insert_soon(nth_hash(1000000)).ok());
  test::MemoryStorage other;
  const Status early = stored.filter.write_pending_to(other);
  ASSERT_FALSE(early.ok());
  EXPECT_EQ(early.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(other.calls.all(), 0u);
  stored.filter.settle();
  const Status status = stored.filter.write_pending_to(other);
  EXPECT_TRUE(status.ok()) << test::message_of(status);
  stored.commit();
  EXPECT_EQ(stored.missing(1000000, 1000001), 0u);
  stored.expect_good();
}

TEST_P(WaitingAdds, are_refused_at_once_where_hashes_tell_no_more_apart) {
  if (!growth()) {
    return;
  }
  StoredFilter stored(options(70000, 1e-9));
  stored.add(0, 70000);
  const uint64_t most = stored.filter.options().most_items_by_hashes();
  ASSERT_GT(most, 70100u);
  for (uint64_t i = 70000; i < most; ++i) {
    ASSERT_TRUE(stored.filter.insert_soon(nth_hash(i)).ok()) << i;
  }
  const Status status = stored.filter.insert_soon(nth_hash(most));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.filter.items(), most);
}

// Where one is not, it may have to be read, which can fail.
TEST_P(WaitingAdds, wait_only_with_all_pages_in_memory) {
  StoredFilter stored(options(100000, 1e-6));
  stored.add(0, 1000);
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  LoggedFilter other(stored.filter.options(), stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  for (uint64_t i = 1000; i < 1100; ++i) {
    ASSERT_TRUE(other.insert_soon(nth_hash(i)).ok());
    ASSERT_EQ(other.tail_entries(), i - 999);
  }
  ASSERT_TRUE(other.fold().ok());
  uint64_t waited = 0;
  for (uint64_t i = 1100; i < 1200; ++i) {
    ASSERT_TRUE(other.insert_soon(nth_hash(i)).ok());
    waited += other.tail_entries() < i - 1099 ? 1 : 0;
  }
  EXPECT_EQ(waited > 90, !multiset());
}

TEST_P(WaitingAdds, of_what_is_there_write_nothing) {
  StoredFilter stored(options(100000, 1e-6));
  stored.add(0, 100);
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  stored.storage.calls = {};
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(stored.filter.insert_soon(nth_hash(i)).ok());
  }
  EXPECT_TRUE(stored.filter.pending());
  ASSERT_TRUE(stored.filter.flush().ok());
  EXPECT_FALSE(stored.filter.pending());
  EXPECT_EQ(stored.storage.calls.all() == 0, !multiset());
  EXPECT_EQ(difference(before, stored.storage.rows).empty(), !multiset());
  EXPECT_EQ(stored.filter.items(), multiset() ? 200u : 100u);
  stored.expect_good();
}

TEST_P(WaitingAdds, are_gone_after_a_roll_back) {
  StoredFilter stored(options(growth() ? 1000 : 50000, 1e-6, kPageBytes));
  const StoredRows before = stored.storage.snapshot();
  add_much(stored);
  ASSERT_TRUE(stored.filter.flush().ok());
  for (uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(stored.filter.insert_soon(nth_hash(1000000 + i)).ok());
  }
  EXPECT_TRUE(stored.filter.pending());
  stored.filter.forget();
  EXPECT_FALSE(stored.filter.pending());
  stored.storage.calls = {};
  EXPECT_TRUE(stored.filter.flush().ok());
  EXPECT_EQ(stored.storage.calls.all(), 0u);
  stored.roll_back(before);
  stored.filter.settle();
  EXPECT_EQ(stored.filter.items(), 0u);
  EXPECT_EQ(stored.missing(1000000, 1000020), 20u);
  stored.expect_good();
}

}  // namespace
}  // namespace cuckoo
