// One suite for LoggedFilters of every kind, with growth and without: the known good member is a
// std::multiset of the hashes that are in it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/stored/logged_filter.hpp"
#include "core/stored/overlay_storage.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::answers_of;
using test::cases_where;
using test::difference;
using test::kCaseName;
using test::message_of;
using test::nth_hash;
using test::nth_word;
using test::StoredFilter;
using test::StoredRows;
using ::testing::ValuesIn;

class LoggedFilterKinds : public test::KindsTest {};
class GrowingFilterKinds : public test::KindsTest {};
class SetKinds : public test::KindsTest {};
class MultisetKinds : public test::KindsTest {};

INSTANTIATE_TEST_SUITE_P(Kinds, LoggedFilterKinds, ValuesIn(test::all_cases()), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingFilterKinds, ValuesIn(cases_where(test::grows)), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, SetKinds, ValuesIn(cases_where(test::is_set)), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, MultisetKinds, ValuesIn(cases_where(test::is_counted)), kCaseName);

// Adds one, and tells what items() has to be then: of a set, an add counts if the hash was not
// maybe-present just before, or just after a fold that this add began with.
uint64_t items_after_adding(LoggedFilter& filter, uint64_t hash) {
  const uint64_t before = filter.items();
  EXPECT_TRUE(filter.load(hash).ok());
  const bool present = filter.contains(hash);
  const FilterRecord record = filter.record();
  const Status status = filter.insert(hash);
  EXPECT_TRUE(status.ok()) << message_of(status);
  const bool folded = record.fold_position != filter.record().fold_position ||
                      record.epoch != filter.record().epoch;
  const bool present_then = folded && filter.base().probe(hash) == Filter::Answer::kPresent;
  return before + (filter.multiset() || !(present || present_then) ? 1 : 0);
}

// ---- life

TEST_P(LoggedFilterKinds, new_filter_is_empty_and_stores_its_record_only) {
  StoredFilter stored(options(1000000));
  EXPECT_EQ(stored.filter.items(), 0u);
  EXPECT_EQ(stored.filter.capacity(), 1000000u);
  EXPECT_EQ(stored.filter.log_entries(), 0u);
  EXPECT_EQ(stored.filter.keeps_hashes(), growth());
  EXPECT_EQ(stored.filter.rate_now(), 0.0);
  EXPECT_EQ(stored.filter.load_factor(), 0.0);
  EXPECT_EQ(stored.filter.target_rate(), 0.01);
  EXPECT_EQ(stored.missing(0, 100), 100u);
  if (multiset()) {
    EXPECT_FALSE(stored.remove(nth_hash(1)));
  }
  StoredRows expected;
  expected.record = stored.storage.rows.record;
  EXPECT_EQ(difference(expected, stored.storage.rows), "");
  stored.expect_good();
}

TEST_P(LoggedFilterKinds, small_transaction_writes_one_log_row_and_the_record) {
  StoredFilter stored(options(100000));
  stored.add(0, 3);
  stored.storage.calls = {};
  stored.commit();
  EXPECT_EQ(stored.storage.calls.writes, 2u);
  EXPECT_EQ(stored.storage.rows.log.size(), 1u);
  EXPECT_TRUE(stored.storage.rows.pages.empty());
  stored.storage.calls = {};
  stored.commit();
  EXPECT_EQ(stored.storage.calls.all(), 0u) << "nothing is pending";
}

TEST_P(LoggedFilterKinds, cold_probe_reads_the_pages_of_its_hash_only) {
  StoredFilter stored(options(100000));
  stored.add(0, 50000);
  stored.commit();
  LoggedFilter cold(stored.filter.options(), stored.storage);
  ASSERT_TRUE(cold.refresh(stored.storage.rows.record).ok());
  std::set<uint64_t> loaded;
  for (uint64_t i = 0; i < 50; ++i) {
    uint64_t pages[Filter::kMaxPlaces];
    const size_t count = cold.base().pages_of(nth_hash(i), pages);
    uint64_t absent = 0;
    for (size_t at = 0; at < count; ++at) {
      absent += loaded.insert(pages[at]).second ? 1 : 0;
    }
    ASSERT_EQ(cold.probe(nth_hash(i)) == Filter::Answer::kNotLoaded, absent > 0) << i;
    stored.storage.calls = {};
    ASSERT_TRUE(cold.load(nth_hash(i)).ok());
    EXPECT_EQ(stored.storage.calls.reads, absent);
    EXPECT_EQ(cold.probe(nth_hash(i)), Filter::Answer::kPresent);
  }
  EXPECT_EQ(cold.base().pages().backed_count(), loaded.size());
}

TEST_P(LoggedFilterKinds, clear_starts_again_at_the_capacity_chosen) {
  StoredFilter stored(options(3000));
  stored.add(0, 3000);
  if (growth()) {
    ASSERT_TRUE(stored.filter.rebuild(20000).ok());
  }
  stored.commit();
  const auto last_row = static_cast<int64_t>(stored.filter.record().end_row);
  ASSERT_TRUE(stored.filter.clear().ok());
  EXPECT_EQ(stored.filter.items(), 0u);
  EXPECT_EQ(stored.filter.capacity(), 3000u);
  EXPECT_EQ(stored.missing(0, 3000), 3000u);
  stored.commit();
  EXPECT_TRUE(stored.storage.rows.pages.empty());
  EXPECT_TRUE(stored.storage.rows.log.empty());
  EXPECT_TRUE(stored.storage.rows.items.empty());
  stored.expect_good();
  stored.add(0, 100);
  stored.commit();
  EXPECT_GT(stored.storage.rows.log.begin()->first, last_row) << "row ids never restart";
  EXPECT_EQ(stored.missing(0, 100), 0u);
  stored.expect_good();
}

// ---- what is in it

// Random adds and removes of a universe of hashes, most of them in small transactions.
TEST_P(LoggedFilterKinds, I1_I3_holds_what_a_multiset_holds) {
  StoredFilter stored(options(growth() ? 300 : 9000, 0.02, 128));
  LoggedFilter follower(stored.filter.options(), stored.storage);
  std::multiset<uint64_t> known;
  uint64_t draw = 0;
  const auto random = [&draw](uint64_t limit) { return nth_word(71, draw++) % limit; };
  for (uint64_t transaction = 0; transaction < 60; ++transaction) {
    for (uint64_t ops = random(transaction % 10 == 9 ? 2000 : 120); ops > 0; --ops) {
      const uint64_t hash = nth_hash(random(3000));
      if (multiset() && random(5) < 2 && known.contains(hash)) {
        ASSERT_TRUE(stored.remove(hash));
        known.erase(known.find(hash));
      } else if (known.size() < 8500) {
        const uint64_t items = items_after_adding(stored.filter, hash);
        ASSERT_EQ(stored.filter.items(), items);
        known.insert(hash);
      }
      const uint64_t copies = known.count(hash);
      ASSERT_TRUE(stored.filter.load(hash).ok());
      ASSERT_GE(stored.filter.count(hash), multiset() ? copies : std::min<uint64_t>(copies, 1));
    }
    if (multiset()) {
      ASSERT_EQ(stored.filter.items(), known.size());
    }
    const uint64_t items = stored.filter.items();
    stored.commit();
    ASSERT_EQ(stored.filter.items(), items) << "unchanged by fold and flush";
    const Status status = follower.refresh(stored.storage.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    ASSERT_EQ(answers_of(follower, 500), answers_of(stored.filter, 500)) << transaction;
    stored.expect_good();
  }
  for (const uint64_t hash : known) {
    ASSERT_TRUE(stored.has(hash)) << "I1";
  }
}

TEST_P(LoggedFilterKinds, items_are_unchanged_by_fold_rebuild_refresh_and_flush) {
  StoredFilter stored(options(5000, 0.05));
  stored.add(0, 2000);
  stored.add(1500, 2500);
  const uint64_t items = stored.filter.items();
  if (multiset()) {
    EXPECT_EQ(items, 3000u);
  } else {
    EXPECT_LE(items, 2500u);
    EXPECT_GE(items, 2300u);
  }
  ASSERT_TRUE(stored.filter.fold().ok());
  EXPECT_EQ(stored.filter.items(), items);
  ASSERT_TRUE(stored.filter.flush().ok());
  EXPECT_EQ(stored.filter.items(), items);
  LoggedFilter other(stored.filter.options(), stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(other.items(), items);
  if (growth()) {
    for (const uint64_t capacity : {uint64_t{50000}, uint64_t{2}, uint64_t{4000}}) {
      ASSERT_TRUE(stored.filter.rebuild(capacity).ok());
      EXPECT_EQ(stored.filter.items(), items);
      stored.commit();
      EXPECT_EQ(stored.missing(0, 2500), 0u);
      stored.expect_good();
    }
  }
  stored.roll_back(stored.storage.snapshot());
  EXPECT_EQ(stored.filter.items(), items);
}

TEST_P(LoggedFilterKinds, any_number_of_copies_comes_and_goes) {
  for (const uint64_t copies : {uint64_t{20}, uint64_t{5000}}) {
    for (const bool folded : {false, true}) {
      SCOPED_TRACE(std::to_string(copies) + (folded ? " folded" : ""));
      StoredFilter stored(options(growth() ? 1000 : 7000));
      stored.add(0, 900);
      stored.commit();
      const std::vector<uint64_t> before = answers_of(stored.filter, 5000);
      const uint64_t capacity = stored.filter.capacity();
      stored.add_copies(5, copies);
      if (folded) {
        ASSERT_TRUE(stored.filter.fold().ok());
      }
      stored.commit();
      stored.expect_good();
      EXPECT_EQ(stored.filter.capacity(), capacity) << "copies grow nothing";
      EXPECT_EQ(stored.missing(0, 900), 0u);
      if (!multiset()) {
        EXPECT_EQ(answers_of(stored.filter, 5000), before);
        continue;
      }
      EXPECT_EQ(stored.filter.items(), 900 + copies);
      EXPECT_EQ(stored.filter.count(nth_hash(5)), before[1 + 5] + copies);
      for (uint64_t i = 0; i < copies; ++i) {
        ASSERT_TRUE(stored.remove(nth_hash(5))) << i;
      }
      EXPECT_EQ(answers_of(stored.filter, 5000), before);
      stored.commit();
      EXPECT_EQ(answers_of(stored.filter, 5000), before);
      EXPECT_EQ(stored.filter.capacity(), capacity);
      stored.expect_good();
    }
  }
}

TEST_P(MultisetKinds, replace_takes_one_out_and_puts_one_in_or_changes_nothing) {
  StoredFilter stored(options(1000));
  const auto replace = [&](uint64_t from, uint64_t to) {
    return stored.filter.replace(nth_hash(from), nth_hash(to)).value();
  };
  stored.add(0, 700);
  stored.add_copies(3, 5);
  stored.commit();
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_EQ(replace(i, 10000 + i), LoggedFilter::Replaced::kDone) << i;
    ASSERT_TRUE(stored.has(nth_hash(10000 + i)));
    ASSERT_EQ(stored.filter.items(), 705u);
  }
  EXPECT_EQ(stored.filter.count(nth_hash(3)), 5u);
  EXPECT_EQ(replace(3, 3), LoggedFilter::Replaced::kDone);
  EXPECT_EQ(stored.filter.count(nth_hash(3)), 5u);
  stored.commit();
  stored.expect_good();
  EXPECT_EQ(stored.missing(600, 700), 0u);
  EXPECT_EQ(stored.missing(10000, 10600), 0u);
  uint64_t stranger = 500000;
  while (stored.has(nth_hash(stranger))) {
    ++stranger;
  }
  const std::vector<uint64_t> answers = answers_of(stored.filter, 1000);
  EXPECT_EQ(replace(stranger, 5), LoggedFilter::Replaced::kNoSuch);
  EXPECT_EQ(answers_of(stored.filter, 1000), answers);
  EXPECT_FALSE(stored.filter.pending());
}

TEST_P(MultisetKinds, replace_by_what_is_present_leaves_it_or_changes_nothing) {
  using IfPresent = LoggedFilter::IfPresent;
  using Replaced = LoggedFilter::Replaced;
  StoredFilter stored(options(1000));
  stored.add(0, 700);
  stored.commit();
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(stored.filter.replace(nth_hash(i), nth_hash(300 + i), IfPresent::kRefuse).value(),
              Replaced::kRefused);
    ASSERT_EQ(stored.filter.items(), 700u);
    OverlayStorage written(stored.storage);  // nothing waits: I9 would refuse it
    ASSERT_EQ(message_of(stored.filter.write_pending_to(written)), "");
    ASSERT_TRUE(stored.has(nth_hash(i)) && stored.has(nth_hash(300 + i)));
  }
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(stored.filter.replace(nth_hash(i), nth_hash(300 + i), IfPresent::kLeave).value(),
              Replaced::kDone);
    ASSERT_EQ(stored.filter.items(), 699u - i);
    ASSERT_EQ(stored.filter.count(nth_hash(300 + i)), 1u);
  }
  // Itself, which is out when it is looked for.
  EXPECT_EQ(stored.filter.replace(nth_hash(500), nth_hash(500), IfPresent::kRefuse).value(),
            Replaced::kDone);
  EXPECT_EQ(stored.filter.items(), 600u);
  EXPECT_EQ(stored.missing(100, 700), 0u);
  stored.commit();
  stored.expect_good();
}

TEST_P(MultisetKinds, insert_new_adds_what_is_absent_once) {
  StoredFilter stored(options(1000));
  for (int turn = 0; turn < 3; ++turn) {
    uint64_t added = 0;
    for (uint64_t i = 0; i < 700; ++i) {
      const Result<bool> inserted = stored.filter.insert_new(nth_hash(i));
      ASSERT_TRUE(inserted.ok());
      added += inserted.value() ? 1 : 0;
    }
    EXPECT_EQ(added, turn == 0 ? stored.filter.items() : 0);
    EXPECT_GE(stored.filter.items(), 690u);
    stored.commit();
  }
  EXPECT_EQ(stored.missing(0, 700), 0u);
  stored.expect_good();
}

// A set's adds of what is there are logged, as only the log tells a false positive from a key; they
// must not lengthen it for ever.
TEST_P(SetKinds, adds_repeated_for_ever_do_not_lengthen_the_log) {
  StoredFilter stored(options(1000));
  uint64_t longest = 0;
  for (uint64_t turn = 0; turn < 300; ++turn) {
    stored.add(0, 800);
    stored.commit();
    longest = std::max(longest, stored.filter.log_entries());
  }
  EXPECT_EQ(stored.missing(0, 800), 0u);
  EXPECT_EQ(stored.filter.capacity(), 1000u);
  EXPECT_LE(longest, 800 * 3 / 2 + 4096 + stored.filter.fold_threshold() + 800);
  stored.expect_good();
}

// The filter says "maybe" to a key never added; its add must be logged all the same.
TEST_P(SetKinds, an_add_of_what_only_looks_present_survives_a_rebuild) {
  StoredFilter stored(options(1000, 0.05));
  stored.add(0, 1000);
  stored.commit();
  ASSERT_TRUE(stored.filter.fold().ok());
  const uint64_t items = stored.filter.items();
  std::vector<uint64_t> false_positives;
  for (uint64_t i = 1000000; false_positives.size() < 20; ++i) {
    if (stored.has(nth_hash(i))) {
      false_positives.push_back(nth_hash(i));
      ASSERT_TRUE(stored.filter.insert(nth_hash(i)).ok());
    }
  }
  EXPECT_EQ(stored.filter.items(), items);
  EXPECT_EQ(stored.filter.tail_entries(), growth() ? 20u : 0u);
  stored.commit();
  if (growth()) {
    ASSERT_TRUE(stored.filter.rebuild(50000).ok());
    stored.commit();
  }
  for (const uint64_t hash : false_positives) {
    EXPECT_TRUE(stored.has(hash));
  }
  EXPECT_EQ(stored.filter.items(), items);
  stored.expect_good();
}

TEST_P(LoggedFilterKinds, many_adds_in_one_transaction_are_folded_with_it) {
  constexpr uint64_t kKeys = 100000;
  StoredFilter stored(options(growth() ? 1000 : kKeys, 0.01, kPageBytes));
  stored.add(0, kKeys);
  EXPECT_EQ(stored.missing(0, 1000), 0u) << "before the commit";
  EXPECT_EQ(stored.missing(kKeys - 1000, kKeys), 0u);
  stored.commit();
  EXPECT_EQ(stored.filter.tail_entries(), 0u);
  EXPECT_EQ(stored.missing(0, kKeys), 0u);
  EXPECT_LE(stored.filter.items(), kKeys);
  EXPECT_GE(stored.filter.items(), multiset() ? kKeys : kKeys - kKeys / 100);
  stored.expect_good();
}

// ---- rates

TEST_P(LoggedFilterKinds, measured_rate_at_capacity_is_not_above_the_rate_asked) {
  for (const double rate : {0.25, 0.01, 0.001}) {
    StoredFilter stored(options(30000, rate, kPageBytes));
    stored.add(0, 30000);
    stored.commit();
    EXPECT_EQ(stored.missing(0, 30000), 0u);
    const double noise = 3 * std::sqrt(rate / 300000);
    EXPECT_LE(stored.measured_rate(300000), rate + noise) << rate;
    EXPECT_LE(stored.filter.rate_now(), 1.01 * rate);
    EXPECT_NEAR(stored.filter.rate_now(), stored.filter.target_rate(), 0.25 * rate);
    EXPECT_GT(stored.filter.load_factor(), is_cuckoo() ? 0.9 : 0.3);
  }
}

TEST_P(GrowingFilterKinds, growth_keeps_the_rate) {
  constexpr double kRate = 0.01;
  constexpr uint64_t kKeys = 150000;
  StoredFilter stored(options(100, kRate, kPageBytes));
  for (uint64_t done = 0; done < kKeys;) {
    const uint64_t end = std::min(kKeys, done + 1 + done / 3);
    stored.add(done, end);
    done = end;
    stored.commit();
    ASSERT_EQ(stored.missing(done < 2000 ? 0 : done - 2000, done), 0u);
    EXPECT_LE(stored.filter.rate_now(), 1.02 * kRate) << done << " keys";
    EXPECT_LE(stored.filter.capacity(), std::max<uint64_t>(100, done + done / 2));
    if (done > 1000) {
      EXPECT_LE(stored.measured_rate(20000), kRate + 4 * std::sqrt(kRate / 20000)) << done;
    }
  }
  EXPECT_EQ(stored.missing(0, kKeys), 0u);
  EXPECT_GE(stored.filter.capacity(), kKeys);
  EXPECT_LE(stored.measured_rate(300000), kRate + 3 * std::sqrt(kRate / 300000));
  EXPECT_LE(stored.filter.items(), kKeys);
  EXPECT_GE(stored.filter.items(), kKeys - kKeys / 50);
  stored.expect_good();
}

// On average over filters, after each single key: where one key more or less matters most.
TEST_P(GrowingFilterKinds, growth_from_few_keys_keeps_the_rate) {
  constexpr double kRate = 0.01;
  constexpr uint64_t kKeys = 400;
  constexpr uint64_t kFilters = 30;
  for (const uint64_t capacity : {1u, 2u, 3u, 10u, 100u, 300u}) {
    std::vector<double> rates(kKeys, 0);
    for (uint64_t number = 0; number < kFilters; ++number) {
      StoredFilter stored(options(capacity, kRate));
      for (uint64_t i = 0; i < kKeys; ++i) {
        stored.add(number * 1000 + i, number * 1000 + i + 1);
        ASSERT_TRUE(stored.filter.fold().ok());
        rates[i] += stored.filter.rate_now() / kFilters;
      }
    }
    const auto worst = std::max_element(rates.begin(), rates.end());
    EXPECT_LE(*worst, 1.03 * kRate)
        << "capacity " << capacity << ", " << worst - rates.begin() + 1 << " keys";
  }
}

TEST_P(LoggedFilterKinds, rebuild_smaller_and_larger_keeps_every_key_and_the_rate) {
  StoredFilter stored(options(5000, 0.01));
  stored.add(0, 3000);
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{100000}, uint64_t{4000}, uint64_t{3000}}) {
    const Status status = stored.filter.rebuild(capacity);
    if (!growth()) {
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
      continue;
    }
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(stored.filter.capacity(), std::max<uint64_t>(capacity, 3000));
    EXPECT_EQ(stored.missing(0, 3000), 0u);
    stored.commit();
    stored.expect_good();
    EXPECT_EQ(stored.missing(0, 3000), 0u);
    EXPECT_LE(stored.filter.rate_now(), 1.05 * 0.01);
  }
  EXPECT_EQ(stored.missing(0, 3000), 0u);
}

}  // namespace
}  // namespace cuckoo
