// What filters of each kind keep: rates at every size, copies by the million, keys that share
// cells, logs that do not lengthen whatever is repeated.
#include <cmath>

#include "tests/core/segments/stored_file.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments::segments_filter_file_kinds_test {
namespace {

struct KindFile : StoredFile {
  using StoredFile::StoredFile;

  void add(uint64_t first, uint64_t end) { expect_ok(test::add(file, first, end)); }
  void add_and_commit(uint64_t first, uint64_t end) {
    add(first, end);
    commit();
  }
  void rebuild(uint64_t capacity) { expect_ok(file.rebuild(capacity)); }
  bool remove(uint64_t hash) { return must(file.remove(hash)); }
  bool has(uint64_t hash) { return must(file.load_and_probe(hash)); }
  uint64_t count(uint64_t hash) { return must(file.count(hash)); }
  uint64_t missing(uint64_t first, uint64_t end) {
    uint64_t missing = 0;
    for (uint64_t i = first; i < end; ++i) {
      missing += has(nth_key(i)) ? 0 : 1;
    }
    return missing;
  }
  // The share of hashes never added that it says "maybe" to.
  double measured_rate(uint64_t probes) {
    const uint64_t first = 1'000'000'000;
    return 1 - static_cast<double>(missing(first, first + probes)) / static_cast<double>(probes);
  }
  uint64_t log_rows() const {
    uint64_t rows = 0;
    for (const auto& entry : storage.rows) {
      rows += entry.first >= kFirstLogBlock ? 1 : 0;
    }
    return rows;
  }
};

class FilterFileKinds : public test::KindsTest {};
INSTANTIATE_EACH(Kinds, FilterFileKinds, test::all_cases());

class GrowingFileKinds : public test::KindsTest {};
INSTANTIATE_EACH(Kinds, GrowingFileKinds, test::cases_where(test::grows));

class CountingFileKinds : public test::KindsTest {};
INSTANTIATE_EACH(Kinds, CountingFileKinds, test::cases_where(test::is_counted));

// --- rates

TEST_P(FilterFileKinds, of_any_rate_hold_their_capacity_at_that_rate) {
  for (const double rate : {0.25, 0.01, 1e-3, 1e-6, 1e-9}) {
    SCOPED_TRACE(rate);
    constexpr uint64_t kKeys = 30000;
    KindFile kept(options(kKeys, rate, kPageBytes));
    kept.add_and_commit(0, kKeys);
    EXPECT_EQ(kept.missing(0, kKeys), 0u);
    constexpr uint64_t kProbes = 200000;
    EXPECT_LE(kept.measured_rate(kProbes), rate + 4 * std::sqrt(rate / kProbes) + 1e-5);
    EXPECT_LE(kept.file.rate_now(), 1.01 * rate);
    // Each segment has room for more keys than its share, because chance may bring it more.
    EXPECT_GE(kept.file.rate_now(), (kept.file.segments() == 1 ? 0.7 : 0.3) * rate);
    EXPECT_EQ(kept.file.target_rate(), rate);
    EXPECT_GT(kept.file.load_factor(), is_cuckoo() ? 0.9 : 0.3);
    expect_ok(kept.file.check());
  }
}

// The filter was made for few keys. Its rate is right whenever a key comes.
TEST_P(GrowingFileKinds, keep_the_rate_while_they_grow) {
  constexpr double kRate = 0.01;
  constexpr uint64_t kKeys = 200000;
  KindFile kept(options(100, kRate, kPageBytes));
  for (uint64_t done = 0; done < kKeys;) {
    const uint64_t end = std::min(kKeys, done + 1 + done / 3);
    kept.add(done, end);
    done = end;
    kept.commit();
    ASSERT_EQ(kept.missing(done < 2000 ? 0 : done - 2000, done), 0u);
    EXPECT_LE(kept.file.rate_now(), 1.03 * kRate) << done << " keys";
    if (done > 1000) {
      EXPECT_LE(kept.measured_rate(20000), kRate + 4 * std::sqrt(kRate / 20000)) << done;
    }
  }
  EXPECT_GT(kept.file.segments(), 2U);
  EXPECT_EQ(kept.missing(0, kKeys), 0u);
  EXPECT_LE(kept.measured_rate(300000), kRate + 3 * std::sqrt(kRate / 300000));
  EXPECT_LE(kept.file.items(), kKeys);
  EXPECT_GE(kept.file.items(), multiset() ? kKeys : kKeys - kKeys / 50);
  expect_ok(kept.file.check());
}

TEST_P(GrowingFileKinds, of_few_keys_keep_the_rate_on_average) {
  constexpr double kRate = 0.01;
  constexpr uint64_t kKeys = 400;
  constexpr uint64_t kFilters = 20;
  for (const uint64_t capacity : {1, 3, 100}) {
    for (const uint64_t at_a_time : {1, 30}) {
      std::vector<double> rates(kKeys, 0);
      for (uint64_t number = 0; number < kFilters; ++number) {
        KindFile kept(options(capacity, kRate));
        for (uint64_t i = 0; i < kKeys; ++i) {
          kept.add(number * 1000 + i, number * 1000 + i + 1);
          if (i % at_a_time == 0) {
            ASSERT_TRUE(kept.file.rebuild(1).ok());  // folds all, and leaves no more room than that
          }
          rates[i] += kept.file.rate_now() / kFilters;
        }
      }
      const auto worst = std::max_element(rates.begin(), rates.end());
      EXPECT_LE(*worst, 1.05 * kRate)
          << "capacity " << capacity << ", " << worst - rates.begin() + 1 << " keys";
    }
  }
}

// --- copies

TEST_P(FilterFileKinds, take_copies_by_the_million_and_give_them_back) {
  for (const uint64_t copies : {uint64_t{20}, uint64_t{5000}, uint64_t{1'000'000}}) {
    SCOPED_TRACE(copies);
    const uint64_t room = growth() || !is_cuckoo() ? 1000 : 1000 + copies;
    KindFile kept(options(room));
    kept.add_and_commit(0, 900);
    const uint64_t before = kept.count(nth_key(5));
    const uint64_t segments = kept.file.segments();
    const uint64_t made_for = kept.file.made_for();
    for (uint64_t i = 0; i < copies; ++i) {
      ASSERT_TRUE(kept.file.insert(nth_key(5)).ok());
    }
    EXPECT_EQ(kept.count(nth_key(5)), multiset() ? before + copies : 1);
    kept.commit();
    EXPECT_EQ(kept.file.items(), multiset() ? 900 + copies : kept.file.items());
    EXPECT_EQ(kept.file.segments(), segments) << "copies grow nothing";
    EXPECT_LE(kept.file.made_for(), std::max<uint64_t>(made_for, 2000));
    EXPECT_EQ(kept.missing(0, 900), 0u);
    expect_ok(kept.file.check());
    OpenedFile opened(kept.file.options(), kept.storage);
    EXPECT_EQ(opened.count(nth_key(5)).value(), multiset() ? before + copies : 1);
    if (multiset()) {
      for (uint64_t i = 0; i < copies; ++i) {
        ASSERT_TRUE(kept.remove(nth_key(5))) << i;
      }
      EXPECT_EQ(kept.count(nth_key(5)), before);
      kept.commit();
      EXPECT_EQ(kept.count(nth_key(5)), before);
      EXPECT_EQ(kept.file.items(), 900U);
      EXPECT_EQ(kept.missing(0, 900), 0u);
      expect_ok(kept.file.check());
    }
  }
}

// The filter is the same whether copies came singly or by counts.
TEST_P(FilterFileKinds, take_copies_at_once_as_they_take_single_ones) {
  const uint64_t room = growth() || !is_cuckoo() ? 1000 : 60000;
  KindFile single(options(room));
  KindFile counted(options(room));
  for (KindFile* const one : {&single, &counted}) {
    one->add_and_commit(0, 300);
  }
  if (!multiset()) {
    EXPECT_TRUE(fails(counted.file.insert_copies(nth_key(1), 2), ErrorCode::kInvalid));
    expect_ok(counted.file.insert_copies(nth_key(1), 1));
    return;
  }
  const FilterMark mark = counted.file.mark().value().value();
  for (uint64_t round = 0; round < 4; ++round) {
    for (uint64_t i = 0; i < 40; ++i) {
      const uint64_t hash = nth_key(i * 13);
      const uint64_t copies = 1 + (i * i * (round + 1)) % 300;
      const bool removes = (i + round) % 3 == 0 && round > 0;
      uint64_t removed = 0;
      for (uint64_t copy = 0; copy < copies; ++copy) {
        removed += removes && single.file.remove(hash).value() ? 1 : 0;
        ASSERT_TRUE(removes || single.file.insert(hash).ok());
      }
      if (removes) {
        ASSERT_EQ(counted.file.remove_copies(hash, copies).value(), removed);
      } else {
        expect_ok(counted.file.insert_copies(hash, copies));
      }
      ASSERT_GE(counted.count(hash), removes ? 0 : copies);
    }
    EXPECT_EQ(counted.file.items(), single.file.items());
    single.commit();
    counted.commit_and_check();
  }
  OpenedFile opened(counted.file.options(), counted.storage);
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_EQ(opened.count(nth_key(i)).value(), counted.count(nth_key(i))) << i;
  }
  const std::optional<FilterChanges> changes = counted.file.changes_since(mark).value();
  EXPECT_TRUE(changes && changes->entries.size() <= 4 * 40 * 3);
  EXPECT_LT(counted.file.log_entries(), 300 + 4 * 40 * 3 + 1);
}

// --- repeated for ever

// The most rows that a log may have: room for what it keeps (S3), and some more.
uint64_t most_log_rows(const FilterFile& file) {
  const uint64_t entries =
      2 * file.segments() * file.turn_entries() + file.items() / 4 + 4 * file.turn_entries();
  return entries / log_row_capacity(file.options().page_bytes, file.options().width) + 8;
}

TEST_P(FilterFileKinds, do_not_lengthen_their_log_by_adds_of_what_is_there) {
  if (multiset()) {
    return;
  }
  KindFile kept(options(1000));
  uint64_t longest = 0;
  uint64_t blocks = 0;
  for (uint64_t turn = 0; turn < 300; ++turn) {
    kept.add_and_commit(0, 800);
    longest = std::max(longest, kept.log_rows());
    blocks = turn == 20 ? kept.storage.rows.size() : blocks;
  }
  EXPECT_EQ(kept.missing(0, 800), 0u);
  EXPECT_LE(longest, most_log_rows(kept.file));
  EXPECT_LE(kept.storage.rows.size(), 2 * blocks);
  expect_ok(kept.file.check());
}

TEST_P(CountingFileKinds, do_not_lengthen_by_keys_that_come_and_go) {
  for (const uint64_t keys : {1, 30, 3000}) {  // of which half are there
    SCOPED_TRACE(keys);
    KindFile kept(options(growth() ? 100 : 4000));
    kept.add(5000, 5300);
    kept.add_and_commit(0, (keys + 1) / 2);
    uint64_t longest = 0;
    size_t most_blocks = 0;
    constexpr uint64_t kTurns = 300;
    uint64_t refused = 0;  // of keys that only seemed to be there when they were removed before
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      for (uint64_t i = 0; i < 500; ++i) {
        const uint64_t key = nth_word(turn, i) % keys;
        if (kept.count(nth_key(key)) > 0) {
          refused += kept.remove(nth_key(key)) ? 0 : 1;
        } else {
          expect_ok(kept.file.insert(nth_key(key)));
        }
      }
      kept.commit();
      longest = std::max(longest, kept.log_rows());
      if (turn > kTurns / 10) {
        most_blocks = std::max(most_blocks, kept.storage.rows.size());
      }
    }
    EXPECT_LE(refused, kTurns * 500 / 200);
    EXPECT_LE(longest, most_log_rows(kept.file));
    EXPECT_LE(most_blocks, 400U + keys);
    EXPECT_LE(kept.file.items(), 300 + keys);
    EXPECT_EQ(kept.missing(5000, 5300), 0u);
    expect_ok(kept.file.check());
  }
}

// --- keys that share cells

// A hash that looks present once `mine` is in the pages.
uint64_t alike(const FilterOptions& options, uint64_t mine) {
  KindFile alone(options);
  expect_ok(alone.file.insert(mine));
  expect_ok(alone.file.rebuild(options.capacity));
  for (uint64_t i = 7000000;; ++i) {
    if (alone.has(nth_key(i))) {
      return nth_key(i);
    }
  }
}

class SharedCells : public test::KindsTest {
 protected:
  void SetUp() override { other = alike(options(1000, 0.25), mine); }
  uint64_t mine = nth_key(1);
  uint64_t other = 0;
};
INSTANTIATE_TEST_SUITE_P(Kinds, SharedCells,
                         ::testing::ValuesIn(test::cases_where([](const auto& c) {
                           return c.multiset() && c.growth && c.kind == FilterKind::kCuckoo;
                         })),
                         kCaseName);

TEST_P(SharedCells, keep_one_of_two_keys_when_the_other_is_removed) {
  for (const bool folded : {false, true}) {
    KindFile kept(options(1000, 0.25));
    ASSERT_TRUE(kept.file.insert(mine).ok() && kept.file.insert(other).ok());
    if (folded) {
      kept.rebuild(1000);
    }
    EXPECT_TRUE(kept.remove(mine));
    EXPECT_TRUE(kept.has(other));
    EXPECT_TRUE(kept.has(mine)) << "a cell does not tell them apart";
    EXPECT_TRUE(kept.remove(other));
    EXPECT_FALSE(kept.has(mine) || kept.has(other));
    EXPECT_FALSE(kept.remove(other));
    EXPECT_EQ(kept.file.items(), 0u);
    kept.commit_and_check();
  }
}

TEST_P(SharedCells, are_repaired_by_a_rebuild_after_a_remove_of_what_was_never_added) {
  KindFile kept(options(1000, 0.25));
  expect_ok(kept.file.insert(mine));
  kept.rebuild(1000);
  EXPECT_TRUE(kept.remove(other)) << "a filter can't know it was never added";
  EXPECT_FALSE(kept.has(mine));
  EXPECT_EQ(kept.file.items(), 0u);
  kept.commit_and_check();
  kept.rebuild(1000);
  EXPECT_TRUE(kept.has(mine));
  EXPECT_EQ(kept.file.items(), 1u);
  kept.commit_and_check();
}

// The removes of these keys are in a run, before the adds of these keys.
TEST_P(GrowingFileKinds, hold_what_was_removed_before_it_was_added_when_segments_are_made_anew) {
  if (!is_cuckoo()) {
    return;
  }
  KindFile kept(options(20000, 0.25));
  kept.add_and_commit(0, 3000);
  std::vector<uint64_t> foreign;
  for (uint64_t i = 7000000; foreign.size() < 40; ++i) {
    if (kept.remove(nth_key(i))) {
      foreign.push_back(nth_key(i));
    }
  }
  kept.add_and_commit(3000, 6000);  // folds them, and makes no segment anew
  for (const uint64_t hash : foreign) {
    expect_ok(kept.file.insert(hash));
  }
  kept.rebuild(20000);
  for (const uint64_t hash : foreign) {
    ASSERT_TRUE(kept.has(hash));
  }
  EXPECT_EQ(kept.missing(0, 6000), 0u);
  kept.commit_and_check();
}

// The remove took the cell of `mine`, the add gave it back, and the remove of `mine` takes it. A
// segment that is made anew knows better.
TEST_P(SharedCells, hold_what_was_removed_before_it_was_added) {
  KindFile kept(options(1000, 0.25));
  expect_ok(kept.file.insert(mine));
  kept.rebuild(1000);
  EXPECT_TRUE(kept.remove(other));
  expect_ok(kept.file.insert(other));
  EXPECT_TRUE(kept.has(mine) && kept.has(other));
  EXPECT_EQ(kept.count(other), 1u);
  EXPECT_TRUE(kept.remove(mine));
  EXPECT_FALSE(kept.has(other));
  EXPECT_FALSE(kept.remove(other)) << "it has no cell that a remove could take";
  EXPECT_EQ(must(kept.file.remove_copies(other, 2)), 0u);
  kept.commit_and_check();
  kept.rebuild(1000);
  EXPECT_TRUE(kept.has(other));
  EXPECT_EQ(kept.file.items(), 1u);
  EXPECT_TRUE(kept.remove(other));
  EXPECT_FALSE(kept.has(mine) || kept.has(other));
  kept.commit_and_check();
}

// `other` was never added, but looks as if it were there.
TEST_P(SharedCells, a_refused_replace_adds_nothing) {
  KindFile kept(options(1000, 0.25));
  const uint64_t taken = nth_key(2);
  expect_ok(kept.file.insert(mine));
  expect_ok(kept.file.insert(taken));
  kept.rebuild(1000);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(must(kept.file.replace(other, taken, FilterFile::IfPresent::kRefuse)),
              FilterFile::Replaced::kRefused);
  }
  EXPECT_EQ(kept.file.items(), 2u);
  kept.rebuild(1000);
  EXPECT_EQ(kept.file.items(), 2u);
  kept.commit_and_check();
}

// In a counting filter keys share single counters: removes of what was never added can be more than
// adds.
TEST_P(CountingFileKinds, never_have_less_than_no_items) {
  for (const uint64_t capacity : {1, 2, 3}) {
    KindFile kept(options(capacity, 0.25, 64));
    uint64_t added = 0;
    for (uint64_t i = 0; i < 4000; ++i) {
      if (i % 7 != 0) {
        (void)kept.remove(nth_key(nth_word(3, i) % 1000));
      } else {
        added += kept.file.insert(nth_key(i % 50)).ok() ? 1 : 0;
      }
      ASSERT_LE(kept.file.items(), added);
      if (i % 100 == 0) {
        kept.commit_and_check();
      }
    }
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_kinds_test
