#include "core/logged_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/core/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::nth_word;
using test::StoredRows;

FilterOptions options_for(uint64_t capacity, double rate = 0.01, uint32_t page_bytes = 448) {
  FilterOptions options;
  options.capacity = capacity;
  options.rate = rate;
  options.page_bytes = page_bytes;
  options.seed = 0x5EED;
  options.digest = 0xD16E57;
  return options;
}

uint64_t nth_hash(uint64_t i, HashWidth width = HashWidth::k47Bits) {
  return logged_hash(nth_word(17, i), width);
}

// A storage with a filter on it, created and flushed.
struct Stored {
  explicit Stored(const FilterOptions& options) : filter(options, storage) {
    EXPECT_TRUE(filter.create().ok());
    commit();
  }

  void commit() {
    Status status = filter.settle();
    EXPECT_TRUE(status.ok()) << message_of(status);
    status = filter.flush();
    EXPECT_TRUE(status.ok()) << message_of(status);
    filter.committed();
  }
  void roll_back(const StoredRows& snapshot) {
    storage.restore(snapshot);
    filter.forget();
    const Status status = filter.refresh(storage.rows.record);
    EXPECT_TRUE(status.ok()) << message_of(status);
  }
  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const Status status = filter.insert(nth_hash(i, filter.options().width));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
  }
  bool remove(uint64_t hash) {
    const Result<bool> removed = filter.remove(hash);
    EXPECT_TRUE(removed.ok());
    return removed.ok() && removed.value();
  }
  bool has(uint64_t hash) {
    EXPECT_TRUE(filter.load(hash).ok());
    return filter.contains(hash);
  }
  uint64_t missing(uint64_t first, uint64_t end) {
    uint64_t missing = 0;
    for (uint64_t i = first; i < end; ++i) {
      missing += has(nth_hash(i, filter.options().width)) ? 0 : 1;
    }
    return missing;
  }
  void expect_good() {
    const Status status = filter.check();
    EXPECT_TRUE(status.ok()) << message_of(status);
  }

  MemoryStorage storage;
  LoggedFilter filter;
};

// Two hashes of one cell, so that nothing but the log tells them apart.
std::pair<uint64_t, uint64_t> colliding_pair(const LoggedFilter& filter) {
  const CuckooFilter cells(filter.geometry());
  std::map<uint64_t, uint64_t> seen;
  for (uint64_t i = 1000000;; ++i) {
    const auto [other, is_new] = seen.try_emplace(cells.cell(nth_hash(i)), nth_hash(i));
    if (!is_new) {
      return {other->second, nth_hash(i)};
    }
  }
}

// The share of hashes never added that the filter says "maybe" to.
double measured_rate(Stored& stored, uint64_t probes) {
  uint64_t maybe = 0;
  for (uint64_t i = 0; i < probes; ++i) {
    maybe += stored.has(nth_hash(1000000000 + i, stored.filter.options().width)) ? 1 : 0;
  }
  return static_cast<double>(maybe) / static_cast<double>(probes);
}

// ---- life

TEST(LoggedFilter, new_filter_is_empty_and_stores_its_record_only) {
  Stored stored(options_for(1000000));
  EXPECT_EQ(stored.filter.items(), 0u);
  EXPECT_EQ(stored.filter.capacity(), 1000000u);
  EXPECT_EQ(stored.filter.log_entries(), 0u);
  EXPECT_FALSE(stored.has(nth_hash(1)));
  EXPECT_FALSE(stored.remove(nth_hash(1)));
  EXPECT_TRUE(stored.storage.rows.pages.empty());
  EXPECT_TRUE(stored.storage.rows.log.empty());
  EXPECT_TRUE(stored.storage.rows.items.empty());
  stored.expect_good();
}

TEST(LoggedFilter, options_out_of_range_are_refused) {
  const auto refused = [](const FilterOptions& options) {
    MemoryStorage storage;
    LoggedFilter filter(options, storage);
    const Status status = filter.create();
    return !status.ok() && status.error().code == ErrorCode::kInvalid && !filter.usable();
  };
  EXPECT_TRUE(refused(options_for(0)));
  EXPECT_TRUE(refused(options_for(kMaxCapacity + 1)));
  EXPECT_TRUE(refused(options_for(10, 0)));
  EXPECT_TRUE(refused(options_for(10, 0.3)));
  EXPECT_TRUE(refused(options_for(10, std::nan(""))));
  EXPECT_TRUE(refused(options_for(uint64_t{1} << 40, 1e-9)));
  for (const uint32_t bits : {1u, 3u, 33u}) {
    FilterOptions options = options_for(10);
    options.fingerprint_bits = bits;
    EXPECT_TRUE(refused(options)) << bits;
  }
}

TEST(LoggedFilter, unusable_until_created_or_refreshed) {
  Stored stored(options_for(100));
  LoggedFilter other(options_for(100), stored.storage);
  EXPECT_FALSE(other.usable());
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  EXPECT_TRUE(other.usable());
  other.forget();
  EXPECT_FALSE(other.usable());
}

TEST(LoggedFilter, small_transaction_writes_one_log_row_and_the_record) {
  Stored stored(options_for(100000));
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

TEST(LoggedFilter, cold_probe_reads_two_pages) {
  Stored stored(options_for(100000));
  stored.add(0, 50000);
  stored.commit();
  LoggedFilter cold(options_for(100000), stored.storage);
  ASSERT_TRUE(cold.refresh(stored.storage.rows.record).ok());
  const uint64_t before = stored.storage.calls.reads;
  ASSERT_TRUE(cold.load(nth_hash(1)).ok());
  EXPECT_TRUE(cold.contains(nth_hash(1)));
  EXPECT_LE(stored.storage.calls.reads - before, 2u);
}

// ---- I1, I4, I6: growth

TEST(LoggedFilter, I1_growth_from_a_thousand_to_a_million_is_exact) {
  FilterOptions options = options_for(1000, 0.01, 4032);
  Stored stored(options);
  constexpr uint64_t kKeys = 1000000;
  uint64_t largest = stored.filter.capacity();
  for (uint64_t done = 0; done < kKeys;) {
    const uint64_t end = std::min(kKeys, done + 1 + done / 2);
    stored.add(done, end);
    done = end;
    stored.commit();
    ASSERT_EQ(stored.filter.items(), done);
    EXPECT_GE(stored.filter.capacity(), largest);
    EXPECT_LE(stored.filter.capacity(), std::max<uint64_t>(1000, done + done / 2));
    largest = stored.filter.capacity();
    ASSERT_EQ(stored.missing(done < 2000 ? 0 : done - 2000, done), 0u);
    EXPECT_LE(stored.filter.rate_now(), options.rate) << done << " keys";
  }
  EXPECT_EQ(stored.missing(0, kKeys), 0u);
  EXPECT_LE(stored.filter.capacity(), kKeys * 3 / 2 + 1000);
  EXPECT_LE(measured_rate(stored, 200000), options.rate);
  stored.expect_good();
}

TEST(LoggedFilter, measured_rate_at_capacity_is_not_above_the_rate_asked) {
  for (const double rate : {0.25, 0.01, 0.001}) {
    for (const bool growth : {false, true}) {
      FilterOptions options = options_for(30000, rate, 4032);
      options.growth = growth;
      Stored stored(options);
      stored.add(0, 30000);
      stored.commit();
      EXPECT_EQ(stored.missing(0, 30000), 0u);
      const double noise = 3 * std::sqrt(rate / 300000);
      EXPECT_LE(measured_rate(stored, 300000), rate + noise) << rate;
      EXPECT_NEAR(stored.filter.rate_now(), stored.filter.target_rate(), 0.25 * rate);
    }
  }
}

TEST(LoggedFilter, rebuild_to_any_size_keeps_every_key) {
  Stored stored(options_for(5000, 0.001));
  stored.add(0, 3000);
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{100000}, uint64_t{4000}, uint64_t{3000}}) {
    const Status status = stored.filter.rebuild(capacity);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(stored.filter.capacity(), std::max<uint64_t>(capacity, 3000));
    EXPECT_EQ(stored.filter.items(), 3000u);
    EXPECT_EQ(stored.missing(0, 3000), 0u);
    stored.commit();
    stored.expect_good();
    EXPECT_EQ(stored.missing(0, 3000), 0u);
  }
  const Status status = stored.filter.rebuild(0);
  EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalid);
  EXPECT_EQ(stored.missing(0, 3000), 0u);
}

TEST(LoggedFilter, clear_starts_again_at_the_capacity_chosen) {
  for (const bool growth : {false, true}) {
    FilterOptions options = options_for(3000);
    options.growth = growth;
    Stored stored(options);
    stored.add(0, 3000);
    stored.commit();
    const int64_t last_row =
        stored.storage.rows.log.empty() ? 0 : stored.storage.rows.log.rbegin()->first;
    ASSERT_TRUE(stored.filter.clear().ok());
    EXPECT_EQ(stored.filter.items(), 0u);
    EXPECT_EQ(stored.missing(0, 3000), 3000u);
    stored.commit();
    EXPECT_TRUE(stored.storage.rows.pages.empty());
    EXPECT_TRUE(stored.storage.rows.log.empty());
    stored.expect_good();
    stored.add(0, 100);
    stored.commit();
    EXPECT_GT(stored.storage.rows.log.begin()->first, last_row) << "row ids never restart";
    EXPECT_EQ(stored.missing(0, 100), 0u);
    stored.expect_good();
  }
}

TEST(LoggedFilter, clear_and_rebuild_end_with_the_last_generation) {
  Stored stored(options_for(100));
  stored.add(0, 10);
  stored.commit();
  FilterRecord record = stored.filter.record();
  const uint64_t shift = (kMaxGeneration - record.generation) << 40;
  record.generation = kMaxGeneration;
  record.first_row += shift;
  record.fold_row += shift;
  record.end_row += shift;
  StoredRows rows = stored.storage.snapshot();
  rows.log.clear();
  for (const auto& [id, row] : stored.storage.rows.log) {
    rows.log[id + static_cast<int64_t>(shift)] = row;
  }
  rows.record = encode_record(record);
  stored.roll_back(rows);
  EXPECT_EQ(stored.filter.rebuild(1000).error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.filter.clear().error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.missing(0, 10), 0u);
  stored.commit();
  EXPECT_EQ(difference(rows, stored.storage.rows), "");
  stored.expect_good();
}

// ---- removes

TEST(LoggedFilter, I1_removing_one_of_two_hashes_of_a_cell_keeps_the_other) {
  for (const bool folded : {false, true}) {
    Stored stored(options_for(1000, 0.25));
    const auto [a, b] = colliding_pair(stored.filter);
    ASSERT_TRUE(stored.filter.insert(a).ok() && stored.filter.insert(b).ok());
    if (folded) {
      ASSERT_TRUE(stored.filter.rebuild(1000).ok());
    }
    EXPECT_TRUE(stored.remove(a));
    EXPECT_TRUE(stored.has(b));
    EXPECT_EQ(stored.has(a), folded) << "the tail tells them apart, a cell does not";
    EXPECT_TRUE(stored.remove(b));
    EXPECT_FALSE(stored.has(a));
    EXPECT_FALSE(stored.has(b));
    EXPECT_FALSE(stored.remove(b));
    EXPECT_EQ(stored.filter.items(), 0u);
    stored.commit();
    stored.expect_good();
  }
}

TEST(LoggedFilter, rebuild_repairs_what_the_removal_of_a_key_never_added_broke) {
  Stored stored(options_for(1000, 0.25));
  const auto [mine, foreign] = colliding_pair(stored.filter);
  ASSERT_TRUE(stored.filter.insert(mine).ok());
  ASSERT_TRUE(stored.filter.rebuild(1000).ok());
  EXPECT_TRUE(stored.remove(foreign)) << "a filter can't know it was never added";
  EXPECT_FALSE(stored.has(mine));
  EXPECT_EQ(stored.filter.items(), 0u);
  stored.commit();
  stored.expect_good();
  ASSERT_TRUE(stored.filter.rebuild(1000).ok());
  EXPECT_TRUE(stored.has(mine));
  EXPECT_EQ(stored.filter.items(), 1u);
  stored.commit();
  stored.expect_good();
}

TEST(LoggedFilter, I2_a_cell_is_not_removed_more_often_than_it_was_folded) {
  Stored stored(options_for(1000, 0.25));
  const auto [a, b] = colliding_pair(stored.filter);
  ASSERT_TRUE(stored.filter.insert(a).ok());
  ASSERT_TRUE(stored.filter.rebuild(1000).ok());
  EXPECT_TRUE(stored.remove(b));
  EXPECT_FALSE(stored.remove(a));
  EXPECT_FALSE(stored.remove(b));
  ASSERT_TRUE(stored.filter.insert(b).ok());  // takes the pending remove back
  EXPECT_TRUE(stored.has(a));
  EXPECT_EQ(stored.filter.count(a), 1u);
  EXPECT_EQ(stored.filter.items(), 1u);
}

// ---- growth off

TEST(LoggedFilter, full_without_growth_refuses_adds_and_goes_on_after_a_remove) {
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{3}, uint64_t{10}, uint64_t{2000}}) {
    FilterOptions options = options_for(capacity);
    options.growth = false;
    Stored stored(options);
    stored.add(0, capacity);
    stored.commit();
    const StoredRows before = stored.storage.snapshot();
    for (const uint64_t i : {uint64_t{0}, capacity + 1}) {
      const Status status = stored.filter.insert(nth_hash(i));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kFull);
    }
    EXPECT_EQ(stored.filter.items(), capacity);
    stored.commit();
    EXPECT_EQ(difference(before, stored.storage.rows), "") << "I7: nothing changed";
    EXPECT_TRUE(stored.remove(nth_hash(0)));
    ASSERT_TRUE(stored.filter.insert(nth_hash(capacity + 1)).ok());
    EXPECT_EQ(stored.filter.insert(nth_hash(0)).error().code, ErrorCode::kFull);
    stored.commit();
    EXPECT_EQ(stored.missing(1, capacity), 0u);
    EXPECT_TRUE(stored.has(nth_hash(capacity + 1)));
    stored.expect_good();
  }
}

TEST(LoggedFilter, without_growth_a_fold_cuts_the_log) {
  FilterOptions options = options_for(20000);
  options.growth = false;
  Stored stored(options);
  stored.add(0, 10000);
  stored.commit();
  EXPECT_EQ(stored.filter.log_entries(), 0u) << "settle() folded the rest";
  EXPECT_TRUE(stored.storage.rows.log.empty());
  stored.add(10000, 10010);
  stored.commit();
  EXPECT_EQ(stored.storage.rows.log.size(), 1u);
  EXPECT_EQ(stored.missing(0, 10010), 0u);
  EXPECT_EQ(stored.filter.rebuild(20000).error().code, ErrorCode::kInvalid);
  stored.expect_good();
}

TEST(LoggedFilter, growth_ends_where_hashes_become_too_alike) {
  FilterOptions options = options_for(1000, kMinRate);  // 2^46 · 2^-30 = 65,536 items
  Stored stored(options);
  stored.add(0, 65536);
  const Status status = stored.filter.insert(nth_hash(65536));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  stored.commit();
  EXPECT_EQ(stored.missing(0, 65536), 0u);
  stored.expect_good();
}

// ---- following storage

TEST(LoggedFilter, I4_other_connections_follow_and_write_in_turn) {
  const FilterOptions options = options_for(500);
  Stored stored(options);
  std::vector<std::unique_ptr<LoggedFilter>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::make_unique<LoggedFilter>(options, stored.storage));
  }
  for (uint64_t turn = 0; turn < 60; ++turn) {
    LoggedFilter& writer = *others[turn % 3];
    ASSERT_TRUE(writer.refresh(stored.storage.rows.record).ok());
    for (uint64_t i = 0; i < 37; ++i) {
      ASSERT_TRUE(writer.insert(nth_hash(37 * turn + i)).ok());
    }
    ASSERT_TRUE(writer.settle().ok() && writer.flush().ok());
    writer.committed();
    ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    ASSERT_EQ(stored.missing(37 * turn, 37 * turn + 37), 0u);
    ASSERT_EQ(stored.filter.record(), writer.record());
    stored.storage.calls = {};
    ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(stored.storage.calls.all(), 0u) << "nothing changed";
  }
  EXPECT_EQ(stored.missing(0, 60 * 37), 0u);
  stored.expect_good();
}

TEST(LoggedFilter, following_a_small_commit_reads_one_log_row) {
  const FilterOptions options = options_for(100000);
  Stored stored(options);
  stored.add(0, 20000);
  stored.commit();
  LoggedFilter other(options, stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  stored.add(20000, 20003);
  stored.commit();
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  stored.add(20003, 20005);
  stored.commit();
  stored.storage.calls = {};
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(stored.storage.calls.rows_read, 1u);
  EXPECT_EQ(other.items(), 20005u);
}

// A restored backup: the log, or the fold, is as far as before or farther, but another history led
// there. `seen_between`: the other connection looked at the backup itself, too.
void expect_other_history_noticed(uint64_t folded, uint64_t first, uint64_t second,
                                  bool seen_between) {
  SCOPED_TRACE(std::to_string(folded) + ", " + std::to_string(first) + ", " +
               std::to_string(second));
  const FilterOptions options = options_for(5000);
  Stored stored(options);
  stored.add(0, folded);
  stored.commit();
  const StoredRows backup = stored.storage.snapshot();
  stored.add(100000, 100000 + first);
  stored.commit();
  LoggedFilter other(options, stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  for (uint64_t i = 0; i < folded; ++i) {
    ASSERT_TRUE(other.load(nth_hash(i)).ok());
  }
  stored.roll_back(backup);
  if (seen_between) {
    ASSERT_TRUE(other.refresh(backup.record).ok());
    EXPECT_EQ(other.items(), folded);
  }
  stored.add(200000, 200000 + second);
  stored.commit();
  const Status status = other.refresh(stored.storage.rows.record);
  ASSERT_TRUE(status.ok()) << message_of(status);
  EXPECT_EQ(other.record(), stored.filter.record());
  EXPECT_EQ(other.items(), folded + second);
  for (uint64_t i = 200000; i < 200000 + second; ++i) {
    ASSERT_TRUE(other.load(nth_hash(i)).ok() && other.contains(nth_hash(i)));
  }
  uint64_t left = 0;
  for (uint64_t i = 100000; i < 100000 + first; ++i) {
    EXPECT_TRUE(other.load(nth_hash(i)).ok());
    left += other.contains(nth_hash(i)) ? 1 : 0;
  }
  EXPECT_LE(left, first / 10 + 5) << "what the first history added";
}

// An add that nobody has asked for yet is not indexed when another connection's remove of it comes.
TEST(LoggedFilter, I2_a_foreign_remove_of_an_own_add_is_in_order) {
  const FilterOptions options = options_for(500);
  Stored stored(options);
  stored.add(0, 1);
  stored.commit();
  LoggedFilter other(options, stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  ASSERT_TRUE(other.remove(nth_hash(0)).value());
  ASSERT_TRUE(other.flush().ok());
  ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
  const Status status = stored.filter.check();
  EXPECT_TRUE(status.ok()) << message_of(status);
  EXPECT_EQ(stored.filter.items(), 0u);
}

// The same log folded into other geometries: pages of one must not be taken for the other's.
TEST(LoggedFilter, I4_another_geometry_is_noticed) {
  Stored stored(options_for(2000));
  stored.add(0, 2000);
  stored.commit();
  const StoredRows before = stored.storage.rows;
  ASSERT_TRUE(stored.filter.rebuild(10000).ok());
  stored.commit();
  stored.storage.restore(before);  // a backup; then somebody else resizes, to another size
  LoggedFilter other(stored.filter.options(), stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  ASSERT_TRUE(other.rebuild(20000).ok());
  ASSERT_TRUE(other.flush().ok());
  ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(stored.filter.geometry(), other.geometry());
  EXPECT_EQ(stored.missing(0, 2000), 0u);
  stored.expect_good();
}

TEST(LoggedFilter, I4_another_history_is_noticed) {
  for (const uint64_t folded : {uint64_t{0}, uint64_t{2000}}) {
    for (const uint64_t first : {uint64_t{20}, uint64_t{100}, uint64_t{1500}}) {
      for (const uint64_t second : {uint64_t{20}, uint64_t{25}, uint64_t{700}, uint64_t{1500}}) {
        expect_other_history_noticed(folded, first, second, false);
        expect_other_history_noticed(folded, first, second, true);
      }
    }
  }
}

TEST(LoggedFilter, record_of_other_options_is_refused) {
  Stored stored(options_for(100));
  FilterOptions options = options_for(100);
  options.digest ^= 1;
  LoggedFilter other(options, stored.storage);
  const Status status = other.refresh(stored.storage.rows.record);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
}

TEST(LoggedFilter, I4_rollback_after_every_kind_of_work_restores_the_snapshot) {
  const std::function<void(Stored&)> kWork[] = {
      [](Stored& s) { s.add(5000, 5010); },
      [](Stored& s) { s.add(5000, 5600); },
      [](Stored& s) { s.add(5000, 9000); },
      [](Stored& s) { s.remove(nth_hash(3)); },
      [](Stored& s) { EXPECT_TRUE(s.filter.clear().ok()); },
      [](Stored& s) { EXPECT_TRUE(s.filter.rebuild(9000).ok()); },
      [](Stored& s) { s.add(0, 700), s.commit(), s.add(0, 3); },
  };
  for (const bool flushed : {false, true}) {
    for (const auto& work : kWork) {
      Stored stored(options_for(2000));
      stored.add(0, 1500);
      stored.commit();
      const StoredRows before = stored.storage.snapshot();
      work(stored);
      if (flushed) {
        EXPECT_TRUE(stored.filter.flush().ok());
      }
      stored.roll_back(before);
      EXPECT_EQ(stored.filter.items(), 1500u);
      EXPECT_EQ(stored.missing(0, 1500), 0u);
      stored.commit();
      EXPECT_EQ(difference(before, stored.storage.rows), "");
      stored.add(1500, 3500);
      stored.commit();
      EXPECT_EQ(stored.missing(0, 3500), 0u);
      stored.expect_good();
    }
  }
}

// ---- I5

// One transaction of a fixed row of them.
void transaction(LoggedFilter& filter, uint64_t number) {
  for (uint64_t i = 0; i < 40 + nth_word(1, number) % 900; ++i) {
    const uint64_t hash = nth_hash(nth_word(number + 2, i) % 6000);
    if (nth_word(number + 2, i) % 5 < 2) {
      ASSERT_TRUE(filter.remove(hash).ok());
    } else {
      ASSERT_TRUE(filter.insert(hash).ok());
    }
  }
  if (number % 11 == 5) {
    ASSERT_TRUE(filter.rebuild(filter.capacity() + 10).ok());
  }
  ASSERT_TRUE(filter.settle().ok() && filter.flush().ok());
  filter.committed();
}

TEST(LoggedFilter, I5_the_same_calls_give_the_same_bytes_cold_or_warm) {
  const FilterOptions options = options_for(700, 0.05, 64);
  Stored warm(options);
  Stored again(options);
  Stored cold(options);
  for (uint64_t number = 0; number < 40; ++number) {
    transaction(warm.filter, number);
    transaction(again.filter, number);
    LoggedFilter fresh(options, cold.storage);
    ASSERT_TRUE(fresh.refresh(cold.storage.rows.record).ok());
    transaction(fresh, number);
    ASSERT_EQ(difference(warm.storage.rows, again.storage.rows), "") << number;
    ASSERT_EQ(difference(warm.storage.rows, cold.storage.rows), "") << number;
  }
  warm.expect_good();
}

// ---- check

TEST(LoggedFilter, check_finds_every_missing_row) {
  Stored stored(options_for(2000, 0.25, 128));
  stored.add(0, 2000);
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(stored.filter.insert(nth_hash(1)).ok());
  }
  stored.commit();
  stored.add(2000, 2100);
  stored.commit();
  stored.expect_good();
  const StoredRows good = stored.storage.snapshot();
  ASSERT_GT(good.pages.size(), 5u);
  ASSERT_GT(good.log.size(), 5u);
  ASSERT_GE(good.items.size(), 1u);
  for (const auto& entry : good.pages) {
    stored.storage.rows.pages.erase(entry.first);
    EXPECT_FALSE(stored.filter.check().ok()) << "page " << entry.first;
    stored.storage.restore(good);
  }
  for (const auto& entry : good.log) {
    stored.storage.rows.log.erase(entry.first);
    EXPECT_FALSE(stored.filter.check().ok()) << "log " << entry.first;
    stored.storage.restore(good);
  }
  for (const auto& entry : good.items) {
    stored.storage.rows.items.erase(entry.first);
    EXPECT_FALSE(stored.filter.check().ok()) << "item " << entry.first;
    stored.storage.restore(good);
  }
  stored.expect_good();
}

TEST(LoggedFilter, check_finds_every_kind_of_damage) {
  for (const bool growth : {false, true}) {
    FilterOptions options = options_for(2000, 0.25, 128);
    options.growth = growth;
    Stored stored(options);
    stored.add(0, 1000);
    for (int i = 0; i < 30; ++i) {
      ASSERT_TRUE(stored.filter.insert(nth_hash(1)).ok());
    }
    stored.commit();
    const Bytes stale = stored.storage.rows.pages.begin()->second;
    stored.add(1000, 1700);
    stored.commit();
    stored.add(1700, 1750);
    stored.commit();
    stored.expect_good();
    const StoredRows good = stored.storage.snapshot();
    ASSERT_NE(stale, good.pages.begin()->second);
    ASSERT_GE(good.log.size(), 2u);
    using Rows = std::map<int64_t, Bytes>;
    const auto swap_first_two = [](Rows& rows) {
      std::swap(rows.begin()->second, std::next(rows.begin())->second);
    };
    const std::pair<const char*, std::function<void(StoredRows&)>> kDamages[] = {
        {"pages swapped", [&](StoredRows& r) { swap_first_two(r.pages); }},
        {"log rows swapped", [&](StoredRows& r) { swap_first_two(r.log); }},
        {"stale page", [&](StoredRows& r) { r.pages.begin()->second = stale; }},
        {"bit of a page", [](StoredRows& r) { r.pages.begin()->second[9] ^= std::byte{4}; }},
        {"bit of a log row", [](StoredRows& r) { r.log.begin()->second[40] ^= std::byte{4}; }},
        {"overflow count", [](StoredRows& r) { ++r.items.begin()->second; }},
        {"overflow count of none", [](StoredRows& r) { r.items.begin()->second = 0; }},
        {"overflow entry too many", [](StoredRows& r) { r.items[1 << 20] = 1; }},
        {"page behind the last",
         [](StoredRows& r) { r.pages[r.pages.rbegin()->first + 999] = r.pages.begin()->second; }},
        {"page of another generation",
         [](StoredRows& r) { r.pages[int64_t{9} << 40] = r.pages.begin()->second; }},
        {"page of a negative id", [](StoredRows& r) { r.pages[-1] = r.pages.begin()->second; }},
        {"log row behind the last",
         [](StoredRows& r) { r.log[r.log.rbegin()->first + 1] = r.log.rbegin()->second; }},
        {"log row of another generation",
         [](StoredRows& r) { r.log[int64_t{9} << 40] = r.log.begin()->second; }},
        {"log row of a negative id", [](StoredRows& r) { r.log[-7] = r.log.begin()->second; }},
        {"page cut short", [](StoredRows& r) { r.pages.begin()->second.pop_back(); }},
        {"empty log row", [](StoredRows& r) { r.log.begin()->second.clear(); }},
    };
    for (const auto& [what, damage] : kDamages) {
      damage(stored.storage.rows);
      const Status status = stored.filter.check();
      ASSERT_FALSE(status.ok()) << what;
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << what;
      EXPECT_FALSE(status.error().message.empty()) << what;
      stored.storage.restore(good);
    }
    stored.expect_good();
  }
}

}  // namespace
}  // namespace cuckoo
