// LoggedFilters of every kind that follow storage: other connections, other histories, roll-backs,
// and check(), which reads all of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/page_row.hpp"
#include "core/stored/logged_filter.hpp"
#include "core/stored/window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::answers_of;
using test::Bytes;
using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::nth_word;
using test::StoredFilter;
using test::StoredRows;

class LoggedFilterFollows : public test::KindsTest {
 protected:
  // One of those hashes, without or with a log of its own, replaces everything.
  static void import(LoggedFilter& filter, uint64_t first, uint64_t end, bool with_hashes) {
    HashCollection collection(filter.options().width);
    FilterContents contents = contents_from(filter, first, end, collection);
    contents.hashes = with_hashes ? contents.hashes : nullptr;
    const Status status = filter.import(filter.options(), std::move(contents));
    ASSERT_TRUE(status.ok()) << message_of(status);
  }
  static void unite(LoggedFilter& filter, uint64_t first, uint64_t end) {
    HashCollection collection(filter.options().width);
    const FilterContents contents = contents_from(filter, first, end, collection);
    const Status status = filter.unite(*contents.filter, contents.items);
    ASSERT_TRUE(status.ok()) << message_of(status);
  }
  static FilterContents contents_from(LoggedFilter& filter, uint64_t first, uint64_t end,
                                      HashCollection& collection) {
    std::vector<uint64_t> hashes;
    for (uint64_t i = first; i < end; ++i) {
      hashes.push_back(nth_hash(i));
    }
    return test::contents_of(hashes, filter.options(), collection);
  }
};

class GrowingFilterFollows : public LoggedFilterFollows {};

INSTANTIATE_TEST_SUITE_P(Kinds, LoggedFilterFollows, ::testing::ValuesIn(test::all_cases()),
                         test::kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingFilterFollows,
                         ::testing::ValuesIn(test::cases_where(test::grows)), test::kCaseName);

// ---- other connections

TEST_P(LoggedFilterFollows, I4_other_connections_write_in_turn) {
  const FilterOptions chosen = options(growth() ? 500 : 2400);
  StoredFilter stored(chosen);
  std::vector<std::unique_ptr<LoggedFilter>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::make_unique<LoggedFilter>(chosen, stored.storage));
  }
  for (uint64_t turn = 0; turn < 60; ++turn) {
    LoggedFilter& writer = *others[turn % 3];
    ASSERT_TRUE(writer.refresh(stored.storage.rows.record).ok());
    for (uint64_t i = 0; i < 37; ++i) {
      ASSERT_TRUE(writer.insert(nth_hash(37 * turn + i)).ok());
    }
    ASSERT_TRUE(writer.fold_rest().ok() && writer.flush().ok());
    writer.committed();
    ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    ASSERT_EQ(stored.missing(37 * turn, 37 * turn + 37), 0u);
    ASSERT_EQ(stored.filter.record(), writer.record());
    ASSERT_EQ(stored.filter.items(), writer.items());
    stored.storage.calls = {};
    ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(stored.storage.calls.all(), 0u) << "nothing changed";
  }
  EXPECT_EQ(stored.missing(0, 60 * 37), 0u);
  stored.expect_good();
}

TEST_P(LoggedFilterFollows, following_a_small_commit_reads_one_log_row) {
  StoredFilter stored(options(100000));
  stored.add(0, 20000);
  stored.commit();
  LoggedFilter other(stored.filter.options(), stored.storage);
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  stored.add(20000, 20003);
  stored.commit();
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  stored.add(20003, 20005);
  stored.commit();
  stored.storage.calls = {};
  ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(stored.storage.calls.rows_read, 1u);
  EXPECT_EQ(other.items(), stored.filter.items());
}

// A second filter that follows after every flush answers the same, whatever was done; so does one
// that looks now and then, and one that never looked before.
TEST_P(LoggedFilterFollows, I4_whatever_is_done_a_follower_answers_the_same) {
  StoredFilter stored(options(2500, 0.05, 128));
  LoggedFilter follower(stored.filter.options(), stored.storage);
  LoggedFilter lazy(stored.filter.options(), stored.storage);
  const std::function<void()> kWork[] = {
      [&] { stored.add(0, 5); },
      [&] { stored.add(5, 60); },
      [&] { stored.add(60, 800); },
      [&] { stored.add(0, 40); },
      [&] {
        for (uint64_t i = 0; i < 300 && multiset(); ++i) {
          ASSERT_TRUE(stored.remove(nth_hash(i)));
        }
      },
      [&] { ASSERT_TRUE(stored.filter.fold().ok()); },
      [&] { stored.add_copies(900, 30); },
      [&] { EXPECT_EQ(stored.filter.rebuild(4000).ok(), growth()); },
      [&] { stored.add(1000, 1010); },
      [&] { import(stored.filter, 2000, 2800, true); },
      [&] { stored.add(2790, 2805); },
      [&] { EXPECT_TRUE(stored.filter.clear().ok()); },
      [&] { unite(stored.filter, 3000, 3500); },
      [&] { stored.add(3490, 3520); },
      [&] { unite(stored.filter, 3400, 3600); },
      [&] { stored.add(3600, 4300); },
      [&] { import(stored.filter, 4000, 4500, false); },
      [&] { stored.add(4400, 4600); },
      [&] { EXPECT_TRUE(stored.filter.clear().ok()); },
      [&] { stored.add(0, 2000); },
  };
  uint64_t number = 0;
  for (const auto& work : kWork) {
    SCOPED_TRACE("work " + std::to_string(number));
    work();
    if (number % 2 == 0) {
      ASSERT_TRUE(stored.filter.fold_rest().ok());
    }
    ASSERT_TRUE(stored.filter.flush().ok());
    stored.filter.committed();
    const std::vector<uint64_t> answers = answers_of(stored.filter, 6000);
    Status status = follower.refresh(stored.storage.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    ASSERT_EQ(answers_of(follower, 6000), answers);
    ASSERT_EQ(follower.record(), stored.filter.record());
    ASSERT_EQ(follower.keeps_hashes(), stored.filter.keeps_hashes());
    if (number % 3 == 0) {
      ASSERT_TRUE(lazy.refresh(stored.storage.rows.record).ok());
      ASSERT_EQ(answers_of(lazy, 6000), answers);
    }
    LoggedFilter fresh(stored.filter.options(), stored.storage);
    ASSERT_TRUE(fresh.refresh(stored.storage.rows.record).ok());
    ASSERT_EQ(answers_of(fresh, 6000), answers);
    for (LoggedFilter* one : {&stored.filter, &follower, &fresh}) {
      status = one->check();
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
    ++number;
  }
}

// ---- other histories

// A restored backup: the log, or the fold, is as far as before or farther, but another history led
// there. `seen_between`: the other connection looked at the backup itself, too.
void expect_other_history_noticed(const FilterOptions& options, uint64_t folded, uint64_t first,
                                  uint64_t second, bool seen_between) {
  SCOPED_TRACE(std::to_string(folded) + ", " + std::to_string(first) + ", " +
               std::to_string(second));
  StoredFilter stored(options);
  stored.add(0, folded);
  stored.commit();
  const StoredRows backup = stored.storage.snapshot();
  const uint64_t items = stored.filter.items();
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
    EXPECT_EQ(other.items(), items);
  }
  stored.add(200000, 200000 + second);
  stored.commit();
  const Status status = other.refresh(stored.storage.rows.record);
  ASSERT_TRUE(status.ok()) << message_of(status);
  EXPECT_EQ(other.record(), stored.filter.record());
  EXPECT_EQ(other.items(), stored.filter.items());
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

TEST_P(LoggedFilterFollows, I4_another_history_is_noticed) {
  const FilterOptions chosen = options(5000);
  for (const uint64_t folded : {uint64_t{0}, uint64_t{2000}}) {
    for (const uint64_t first : {uint64_t{20}, uint64_t{100}, uint64_t{1500}}) {
      for (const uint64_t second : {uint64_t{20}, uint64_t{25}, uint64_t{700}, uint64_t{1500}}) {
        expect_other_history_noticed(chosen, folded, first, second, false);
        expect_other_history_noticed(chosen, folded, first, second, true);
      }
    }
  }
}

// What leaves no trace in the log: each of these, and the same with other keys after a backup was
// restored, ends with the same log, positions and generation.
TEST_P(LoggedFilterFollows, I4_another_history_without_a_log_is_noticed) {
  using Work = std::function<void(StoredFilter&, uint64_t)>;
  const std::pair<const char*, Work> kWork[] = {
      {"unite", [](StoredFilter& s, uint64_t first) { unite(s.filter, first, first + 300); }},
      {"import", [](StoredFilter& s, uint64_t f) { import(s.filter, f, f + 300, false); }},
      {"import with hashes",
       [](StoredFilter& s, uint64_t f) { import(s.filter, f, f + 300, true); }},
      {"unite, then fold",
       [](StoredFilter& s, uint64_t first) {
         unite(s.filter, first, first + 300);
         s.add(0, 400);
         ASSERT_TRUE(s.filter.fold().ok());
       }},
      {"rebuild",
       [](StoredFilter& s, uint64_t first) {
         s.add(first, first + 300);
         if (s.filter.keeps_hashes()) {
           ASSERT_TRUE(s.filter.rebuild(2000 + first / 100).ok());
         }
       }},
  };
  for (const auto& [name, work] : kWork) {
    for (const bool seen_between : {false, true}) {
      SCOPED_TRACE(name);
      StoredFilter stored(options(1000));
      const StoredRows backup = stored.storage.snapshot();
      work(stored, 10000);
      stored.commit();
      LoggedFilter other(stored.filter.options(), stored.storage);
      ASSERT_TRUE(other.refresh(stored.storage.rows.record).ok());
      ASSERT_EQ(answers_of(other, 30000), answers_of(stored.filter, 30000));
      stored.roll_back(backup);
      if (seen_between) {
        ASSERT_TRUE(other.refresh(backup.record).ok());
      }
      work(stored, 20000);
      stored.commit();
      const Status status = other.refresh(stored.storage.rows.record);
      ASSERT_TRUE(status.ok()) << message_of(status);
      EXPECT_EQ(stored.missing(20000, 20300), 0u);
      ASSERT_EQ(answers_of(other, 30000), answers_of(stored.filter, 30000));
      EXPECT_TRUE(other.check().ok());
    }
  }
}

// The same log folded into other geometries: pages of one must not be taken for the other's.
TEST_P(GrowingFilterFollows, I4_another_geometry_is_noticed) {
  StoredFilter stored(options(2000));
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
  EXPECT_EQ(stored.filter.base().words(), other.base().words());
  EXPECT_EQ(stored.missing(0, 2000), 0u);
  stored.expect_good();
}

// ---- roll-backs

TEST_P(LoggedFilterFollows, I4_rollback_after_every_kind_of_work_restores_the_snapshot) {
  const std::function<void(StoredFilter&)> kWork[] = {
      [](StoredFilter& s) { s.add(5000, 5010); },
      [](StoredFilter& s) { s.add(5000, 5600); },
      [](StoredFilter& s) { s.add(5000, 7000); },
      [](StoredFilter& s) { EXPECT_TRUE(!multiset() || s.remove(nth_hash(3))); },
      [](StoredFilter& s) { EXPECT_TRUE(s.filter.clear().ok()); },
      [](StoredFilter& s) { EXPECT_EQ(s.filter.rebuild(9000).ok(), growth()); },
      [](StoredFilter& s) { s.add(0, 700), s.commit(), s.add(0, 3); },
      [](StoredFilter& s) { import(s.filter, 5000, 6000, true); },
      [](StoredFilter& s) { import(s.filter, 5000, 6000, false), s.add(1, 3); },
      [](StoredFilter& s) { EXPECT_TRUE(s.filter.clear().ok()), unite(s.filter, 5000, 6000); },
      [](StoredFilter& s) { EXPECT_TRUE(s.filter.contents(s.filter.keeps_hashes()).ok()); },
  };
  for (const bool flushed : {false, true}) {
    for (size_t number = 0; number < std::size(kWork); ++number) {
      SCOPED_TRACE("work " + std::to_string(number));
      StoredFilter stored(options(growth() ? 2000 : 4500));
      stored.add(0, 1500);
      stored.commit();
      const StoredRows before = stored.storage.snapshot();
      const std::vector<uint64_t> answers = answers_of(stored.filter, 6000);
      kWork[number](stored);
      if (flushed) {
        EXPECT_TRUE(stored.filter.flush().ok());
      }
      stored.storage.restore(before);
      number % 2 == 0 ? stored.filter.forget() : stored.filter.rolled_back();
      ASSERT_FALSE(stored.filter.usable());
      ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
      EXPECT_EQ(answers_of(stored.filter, 6000), answers);
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
    if (filter.multiset() && nth_word(number + 2, i) % 5 < 2) {
      ASSERT_TRUE(filter.remove(hash).ok());
    } else {
      const Status status = filter.insert(hash);
      ASSERT_TRUE(status.ok() || status.error().code == ErrorCode::kFull) << message_of(status);
    }
  }
  if (number % 11 == 5) {
    (void)filter.rebuild(filter.capacity() + 10);
  }
  if (number % 11 == 9) {
    HashCollection collection(filter.options().width);
    FilterContents contents = test::contents_of({nth_hash(number), nth_hash(1), nth_hash(1)},
                                                filter.options(), collection);
    contents.hashes = number % 2 == 0 ? nullptr : contents.hashes;
    ASSERT_TRUE(filter.import(filter.options(), std::move(contents)).ok());
  }
  ASSERT_TRUE(filter.fold_rest().ok() && filter.flush().ok());
  filter.committed();
}

TEST_P(LoggedFilterFollows, I5_the_same_calls_give_the_same_bytes_cold_or_warm) {
  const FilterOptions chosen = options(growth() ? 700 : 5000, 0.05, 64);
  StoredFilter warm(chosen);
  StoredFilter again(chosen);
  StoredFilter cold(chosen);
  for (uint64_t number = 0; number < 40; ++number) {
    transaction(warm.filter, number);
    transaction(again.filter, number);
    LoggedFilter fresh(chosen, cold.storage);
    ASSERT_TRUE(fresh.refresh(cold.storage.rows.record).ok());
    transaction(fresh, number);
    ASSERT_EQ(difference(warm.storage.rows, again.storage.rows), "") << number;
    ASSERT_EQ(difference(warm.storage.rows, cold.storage.rows), "") << number;
  }
  warm.expect_good();
}

// ---- check

// 1000 keys and copies of one in the pages, 50 more in the tail.
void fill_for_damage(StoredFilter& stored, StoredRows& earlier) {
  stored.add(0, 1000);
  stored.add_copies(1, 30);
  stored.commit();
  earlier = stored.storage.snapshot();
  stored.add(1000, 1700);
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  stored.add(1700, 1750);
  stored.commit();
  stored.expect_good();
}

TEST_P(LoggedFilterFollows, check_finds_every_missing_row) {
  StoredFilter stored(options(2500, 0.25, 128));
  StoredRows good;
  fill_for_damage(stored, good);
  good = stored.storage.snapshot();
  ASSERT_GT(good.pages.size(), 5u);
  ASSERT_GE(good.log.size(), growth() ? 10u : 1u);
  ASSERT_EQ(good.items.empty(), !multiset());
  const auto expect_each_missed = [&](auto StoredRows::*table) {
    for (const auto& entry : good.*table) {
      (stored.storage.rows.*table).erase(entry.first);
      EXPECT_FALSE(stored.filter.check().ok());
      stored.storage.restore(good);
    }
  };
  expect_each_missed(&StoredRows::pages);
  expect_each_missed(&StoredRows::log);
  expect_each_missed(&StoredRows::items);
  stored.expect_good();
}

// Rows of other generations are the window's business: a table always has one.
TEST_P(LoggedFilterFollows, check_finds_every_kind_of_damage) {
  StoredFilter stored(options(2500, 0.25, 128));
  StoredRows earlier;
  fill_for_damage(stored, earlier);
  const StoredRows good = stored.storage.snapshot();
  const auto changed = std::find_if(earlier.pages.begin(), earlier.pages.end(), [&](const auto& p) {
    return good.pages.at(p.first) != p.second;
  });
  ASSERT_NE(changed, earlier.pages.end());
  FilterWindow window(stored.filter.options(), stored.storage);
  ASSERT_TRUE(window.refresh(stored.storage.rows.record).ok());
  ASSERT_TRUE(window.check().ok());
  using Rows = std::map<int64_t, Bytes>;
  const auto swap_first_two = [](Rows& rows) {
    std::swap(rows.begin()->second, std::next(rows.begin())->second);
  };
  std::vector<std::pair<const char*, std::function<void(StoredRows&)>>> damages = {
      {"pages swapped", [&](StoredRows& r) { swap_first_two(r.pages); }},
      {"stale page", [&](StoredRows& r) { r.pages[changed->first] = changed->second; }},
      {"bit of a page", [](StoredRows& r) { r.pages.begin()->second[9] ^= std::byte{4}; }},
      {"bit of a log row", [](StoredRows& r) { r.log.begin()->second[40] ^= std::byte{4}; }},
      {"overflow entry too many",
       [](StoredRows& r) {
         r.items[{0, 1 << 20}] = 1;
       }},
      {"overflow entry of another generation",
       [](StoredRows& r) {
         r.items[{9, 1}] = 1;
       }},
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
  if (good.log.size() >= 2) {
    damages.push_back({"log rows swapped", [&](StoredRows& r) { swap_first_two(r.log); }});
  }
  if (multiset()) {
    damages.push_back({"overflow count", [](StoredRows& r) { ++r.items.begin()->second; }});
    damages.push_back(
        {"overflow count of none", [](StoredRows& r) { r.items.begin()->second = 0; }});
  }
  for (const auto& [what, damage] : damages) {
    damage(stored.storage.rows);
    const Status status = window.check();
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << what;
    EXPECT_FALSE(status.error().message.empty()) << what;
    stored.storage.restore(good);
  }
  EXPECT_TRUE(window.check().ok());
  stored.expect_good();
}

// Pages with a good checksum that hold other entries than the log: as many cells, other cells.
TEST_P(GrowingFilterFollows, I6_check_compares_the_pages_with_the_log) {
  StoredFilter stored(options(2500, 0.25, 128));
  StoredRows good;
  fill_for_damage(stored, good);
  good = stored.storage.snapshot();
  uint64_t changed = 0;
  for (auto& [id, row] : stored.storage.rows.pages) {
    const std::span<const std::byte> content =
        decode_page_row(row, id, stored.filter.options().seed).value();
    Bytes bytes(content.begin(), content.end());
    const auto other = std::find_if(bytes.begin(), bytes.end() - 1, [&](std::byte byte) {
      return (byte & bytes[0]) != byte && byte != bytes[0];
    });
    if (other == bytes.end() - 1) {
      continue;
    }
    std::swap(*other, bytes[0]);
    row = encode_page_row(bytes, id, stored.filter.options().seed);
    const Status status = stored.filter.check();
    ASSERT_FALSE(status.ok()) << "page " << id;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    row = good.pages.at(id);
    ++changed;
  }
  EXPECT_GT(changed, 5u);
  stored.expect_good();
}

// ---- hostile records

// What the record itself can't know to be wrong, the filter's geometry tells.
TEST_P(LoggedFilterFollows, records_that_do_not_fit_a_filter_are_refused) {
  StoredFilter stored(options(2000));
  stored.add(0, 1500);
  stored.commit();
  const bool cuckoo = GetParam().kind == FilterKind::kCuckoo;
  const FilterRecord good = stored.filter.record();
  std::vector<std::pair<const char*, std::function<void(FilterRecord&)>>> changes = {
      {"other options", [](FilterRecord& r) { r.options_digest ^= 1; }},
      {"no size", [](FilterRecord& r) { r.geometry.size = 0; }},
      {"too large", [](FilterRecord& r) { r.geometry.size = UINT64_MAX; }},
      {"no shape", [](FilterRecord& r) { r.geometry.shape = 0; }},
      {"shape that does not exist", [](FilterRecord& r) { r.geometry.shape = 17 * 64; }},
      {"shape cut to 32 bits", [](FilterRecord& r) { r.geometry.shape += uint64_t{1} << 32; }},
      {"detail too large", [](FilterRecord& r) { r.geometry.detail = kMaxLowBits + 1; }},
      {"detail cut to 32 bits", [](FilterRecord& r) { r.geometry.detail += uint64_t{1} << 32; }},
      {"more in use than bits",
       [&](FilterRecord& r) { r.occupied = r.fold_items = stored.filter.base().bits() + 1; }},
      {"overflow entries that are not there",
       [](FilterRecord& r) { r.overflow_cells = ++r.overflow_items, ++r.fold_items; }},
      {"items at the end", [](FilterRecord& r) { r.end_items += 5000; }},
      {"a log that ends later", [](FilterRecord& r) { ++r.end_position; }},
      {"another chain", [](FilterRecord& r) { ++r.end_chain; }},
  };
  if (cuckoo) {
    changes.push_back(
        {"radix that does not exist", [](FilterRecord& r) { r.geometry.shape = 17; }});
    changes.push_back({"items that do not add up", [](FilterRecord& r) { ++r.fold_items; }});
  }
  for (const auto& [what, change] : changes) {
    FilterRecord record = good;
    change(record);
    for (const bool warm : {false, true}) {
      LoggedFilter filter(stored.filter.options(), stored.storage);
      if (warm) {
        ASSERT_TRUE(filter.refresh(encode_record(good)).ok());
      }
      const Status status = filter.refresh(encode_record(record));
      if (warm && status.ok()) {  // figures of pages that are in memory are not looked at
        EXPECT_EQ(filter.base().occupied(), good.occupied) << what;
        continue;
      }
      ASSERT_FALSE(status.ok()) << what << (warm ? ", warm" : "");
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << what;
      ASSERT_TRUE(filter.refresh(encode_record(good)).ok()) << what;
      EXPECT_EQ(filter.items(), stored.filter.items());
    }
  }
}

}  // namespace
}  // namespace cuckoo
