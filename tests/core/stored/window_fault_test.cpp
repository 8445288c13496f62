// Sliding windows where something goes wrong: storage that fails, rows that are damaged or stray,
// hostile records; roll-backs in the middle of a rotation; limits.
#include <gtest/gtest.h>

#include <functional>

#include "core/stored/window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"
#include "tests/core/stored/stored_window.hpp"

namespace cuckoo {
namespace {

using test::answers_of;
using test::Bytes;
using test::difference;
using test::FilterCase;
using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::StoredRows;
using test::StoredWindow;
using test::window_options;

constexpr uint64_t kGenerations = 3;

class FaultyWindow : public ::testing::TestWithParam<FilterCase> {
 protected:
  static FilterOptions options(uint64_t generations = kGenerations) {
    return window_options(GetParam(), generations, 200, 0.05, 64);
  }

  // Full: each of three generations has pages, overflow entries (multisets) and log rows, the
  // newest a tail.
  static void fill(StoredWindow& stored) {
    for (uint64_t turn = 0; turn < kGenerations; ++turn) {
      if (turn > 0) {
        stored.rotate();
      }
      stored.add(1000 * turn, 1000 * turn + 120);
      for (int copy = 0; copy < 30; ++copy) {
        stored.add(1000 * turn, 1000 * turn + 1);
      }
    }
    ASSERT_TRUE(stored.window.newest().fold().ok());
    stored.commit();
    stored.add(2500, 2510);
    stored.commit();
    stored.expect_good();
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, FaultyWindow, ::testing::ValuesIn(test::all_cases()),
                         [](const auto& info) { return test::name_of(info.param); });

// ---- storage that fails

using Step = std::function<Status(FilterWindow&)>;

Step insert(uint64_t i) {
  return [i](FilterWindow& window) { return window.newest().insert(nth_hash(i)); };
}
Step rotate() {
  return [](FilterWindow& window) { return window.rotate(); };
}
Step clear() {
  return [](FilterWindow& window) { return window.clear(); };
}
Step flush() {
  return [](FilterWindow& window) { return window.flush(); };
}

std::vector<std::pair<const char*, std::vector<Step>>> all_work() {
  return {
      {"rotate", {rotate(), insert(1)}},
      {"add, rotate, add", {insert(3000), rotate(), insert(3001), flush(), insert(3002)}},
      {"rotate twice", {rotate(), insert(3000), rotate(), insert(3001)}},
      {"rotate till all is forgotten", {rotate(), rotate(), rotate(), rotate(), insert(3000)}},
      {"clear", {insert(3000), clear(), insert(3001)}},
      {"clear, rotate", {clear(), insert(3001), rotate(), insert(3002), rotate()}},
      {"rotate, clear", {rotate(), insert(3000), flush(), clear(), insert(3002)}},
  };
}

Status run(FilterWindow& window, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    CUCKOO_TRY(step(window));
  }
  CUCKOO_TRY(window.fold_rest());
  return window.flush();
}

void expect_poisoned(FilterWindow& window) {
  EXPECT_TRUE(window.poisoned());
  EXPECT_FALSE(window.usable());
  EXPECT_FALSE(window.flush().ok());
  EXPECT_FALSE(window.check().ok());
}

TEST_P(FaultyWindow, each_call_fails_in_turn_and_a_rollback_restores_everything) {
  for (const ErrorCode code : {ErrorCode::kStorage, ErrorCode::kInterrupted}) {
    StoredWindow stored(options());
    fill(stored);
    const StoredRows start = stored.storage.snapshot();
    const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3500);
    for (const auto& [name, steps] : all_work()) {
      stored.roll_back(start);
      stored.storage.calls = {};
      ASSERT_TRUE(run(stored.window, steps).ok());
      const uint64_t calls = stored.storage.calls.all();
      stored.expect_good();
      const StoredRows end = stored.storage.snapshot();
      ASSERT_GT(calls, 3u);
      for (uint64_t n = 1; n <= calls && !HasFailure(); ++n) {
        SCOPED_TRACE(std::string(name) + ", call " + std::to_string(n) + " of " +
                     std::to_string(calls));
        stored.roll_back(start);
        stored.storage.fail_at(n, code);
        const Status status = run(stored.window, steps);
        if (!stored.storage.failed()) {
          break;  // the warm window reads less than the cold one did
        }
        ASSERT_FALSE(status.ok());
        EXPECT_EQ(status.error().code, code);
        stored.storage.fail_at(0);
        if (!stored.window.usable()) {
          expect_poisoned(stored.window);
        }
        stored.storage.restore(start);
        n % 2 == 0 ? stored.window.forget() : stored.window.rolled_back();
        ASSERT_FALSE(stored.window.poisoned());
        stored.follow(stored.window);
        ASSERT_EQ(answers_of(stored.window, 0, 3500), answers);
        stored.expect_good();
        ASSERT_TRUE(stored.window.fold_rest().ok() && stored.window.flush().ok());
        ASSERT_EQ(difference(start, stored.storage.rows), "") << "nothing is pending";
        const Status again = run(stored.window, steps);
        ASSERT_TRUE(again.ok()) << message_of(again);
        ASSERT_EQ(difference(end, stored.storage.rows), "");
      }
    }
  }
}

TEST_P(FaultyWindow, a_refresh_that_fails_can_be_repeated) {
  StoredWindow stored(options());
  fill(stored);
  const StoredRows start = stored.storage.snapshot();
  const std::vector<std::function<void()>> kWork = {
      [&] { stored.add(3000, 3010); },
      [&] { stored.rotate(); },
      [&] { stored.rotate(), stored.add(3000, 3050), stored.rotate(), stored.add(3100, 3110); },
      [&] { ASSERT_TRUE(stored.window.clear().ok()), stored.add(3000, 3010); },
  };
  for (size_t number = 0; number < kWork.size(); ++number) {
    for (uint64_t n = 1;; ++n) {
      SCOPED_TRACE("work " + std::to_string(number) + ", call " + std::to_string(n));
      FilterWindow follower(stored.window.options(), stored.storage);
      stored.roll_back(start);
      stored.follow(follower);
      (void)answers_of(follower, 0, 3500);
      kWork[number]();
      stored.commit();
      stored.storage.fail_at(n);
      const Status status = follower.refresh(stored.storage.rows.record);
      const bool failed = stored.storage.failed();
      stored.storage.fail_at(0);
      ASSERT_EQ(status.ok(), !failed) << message_of(status);
      ASSERT_EQ(follower.usable(), !failed);
      stored.follow(follower);
      ASSERT_EQ(answers_of(follower, 0, 3500), answers_of(stored.window, 0, 3500));
      ASSERT_TRUE(follower.check().ok());
      if (!failed) {
        break;
      }
    }
  }
}

TEST_P(FaultyWindow, a_check_that_fails_changes_nothing) {
  StoredWindow stored(options());
  fill(stored);
  const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3500);
  for (uint64_t n = 1;; ++n) {
    stored.storage.fail_at(n);
    const Status status = stored.window.check();
    if (!stored.storage.failed()) {
      EXPECT_TRUE(status.ok()) << message_of(status);
      break;
    }
    ASSERT_FALSE(status.ok()) << n;
    EXPECT_EQ(status.error().code, ErrorCode::kStorage);
    EXPECT_TRUE(stored.window.usable());
  }
  stored.storage.fail_at(0);
  EXPECT_EQ(answers_of(stored.window, 0, 3500), answers);
}

// ---- roll-backs in the middle of a rotation

TEST_P(FaultyWindow, rollback_around_a_rotation_restores_the_snapshot) {
  StoredWindow stored(options());
  fill(stored);
  const StoredRows start = stored.storage.snapshot();
  const std::vector<uint64_t> answers = answers_of(stored.window, 0, 3500);
  const std::function<void()> kWork[] = {
      [&] { stored.rotate(); },
      [&] { stored.add(3000, 3030), stored.rotate(); },
      [&] { stored.rotate(), stored.add(3000, 3050); },
      [&] { stored.rotate(), stored.commit(), stored.rotate(); },
      [&] { stored.rotate(), stored.rotate(), stored.rotate(), stored.rotate(); },
      [&] { ASSERT_TRUE(stored.window.clear().ok()); },
      [&] { stored.rotate(), (void)stored.window.clear(), stored.rotate(); },
  };
  for (size_t number = 0; number < std::size(kWork); ++number) {
    for (const bool flushed : {false, true}) {
      for (const bool whole : {false, true}) {
        SCOPED_TRACE("work " + std::to_string(number));
        kWork[number]();
        ASSERT_TRUE(!flushed || stored.window.flush().ok());
        stored.storage.restore(start);
        whole ? stored.window.rolled_back() : stored.window.forget();
        stored.follow(stored.window);
        EXPECT_EQ(answers_of(stored.window, 0, 3500), answers);
        stored.commit();
        EXPECT_EQ(difference(start, stored.storage.rows), "");
        // Rotated again, with another key: as if the first time had never been.
        stored.rotate();
        stored.add(3400, 3401);
        stored.commit();
        stored.expect_good();
        EXPECT_EQ(stored.missing(3400, 3401), 0u);
        EXPECT_EQ(stored.missing(1000, 1120), 0u);
        EXPECT_EQ(stored.missing(2000, 2120), 0u);
        stored.roll_back(start);
      }
    }
  }
}

// ---- damage

TEST_P(FaultyWindow, check_finds_every_missing_and_every_stray_row) {
  StoredWindow stored(options());
  fill(stored);
  const StoredRows good = stored.storage.snapshot();
  const auto expect_missed = [&](auto StoredRows::*table) {
    ASSERT_FALSE((good.*table).empty());
    for (const auto& entry : good.*table) {
      (stored.storage.rows.*table).erase(entry.first);
      EXPECT_FALSE(stored.window.check().ok());
      stored.storage.restore(good);
    }
  };
  expect_missed(&StoredRows::pages);
  expect_missed(&StoredRows::log);
  if (GetParam().multiset()) {
    expect_missed(&StoredRows::items);
  }
  const uint64_t newest = stored.window.newest().record().epoch;
  for (const uint64_t generation : {newest + 1, newest + 9, kMaxEpoch}) {
    const std::function<void(StoredRows&)> kStrays[] = {
        [&](StoredRows& r) { r.pages[first_row_id(generation)] = r.pages.begin()->second; },
        [&](StoredRows& r) { r.pages[first_row_id(generation) - 1] = r.pages.begin()->second; },
        [&](StoredRows& r) { r.log[first_row_id(generation) + 7] = r.log.begin()->second; },
        [&](StoredRows& r) { r.log[first_row_id(generation) - 1] = r.log.begin()->second; },
        [&](StoredRows& r) {
          r.items[{generation, 3}] = 1;
        },
        [&](StoredRows& r) { r.pages[-5] = r.pages.begin()->second; },
        [&](StoredRows& r) { r.log[INT64_MIN] = r.log.begin()->second; },
        [&](StoredRows& r) { r.log[INT64_MAX] = r.log.begin()->second; },
    };
    for (size_t number = 0; number < std::size(kStrays); ++number) {
      kStrays[number](stored.storage.rows);
      const Status status = stored.window.check();
      ASSERT_FALSE(status.ok()) << "stray " << number << " of generation " << generation;
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
      stored.storage.restore(good);
    }
  }
  stored.expect_good();
}

TEST_P(FaultyWindow, a_generation_that_was_forgotten_leaves_no_row) {
  StoredWindow stored(options());
  fill(stored);
  const uint64_t oldest = stored.window.newest().record().epoch - 2;
  ASSERT_TRUE(stored.storage.rows.pages.contains(first_row_id(oldest)));
  stored.rotate();
  stored.commit();
  for (const auto& entry : stored.storage.rows.pages) {
    EXPECT_GE(entry.first, first_row_id(oldest + 1));
  }
  for (const auto& entry : stored.storage.rows.log) {
    EXPECT_GE(entry.first, first_row_id(oldest + 1));
  }
  for (const auto& entry : stored.storage.rows.items) {
    EXPECT_GT(entry.first.first, oldest);
  }
  stored.expect_good();
}

// Damaged rows and records of older generations: an error, or the right answers. The record of an
// earlier rotation in place of the newest is an earlier state, which check() tells from its strays.
TEST_P(FaultyWindow, damage_of_older_generations_is_an_error_or_harmless) {
  StoredWindow stored(options());
  fill(stored);
  const StoredRows good = stored.storage.snapshot();
  uint64_t lost = 0;
  const auto probe_all = [&]() -> Status {
    lost = 0;
    FilterWindow window(stored.window.options(), stored.storage);
    CUCKOO_TRY(window.refresh(stored.storage.rows.record));
    for (uint64_t turn = 0; turn < kGenerations; ++turn) {
      for (uint64_t i = 1000 * turn; i < 1000 * turn + 120; ++i) {
        CUCKOO_TRY(window.load(nth_hash(i)));
        lost += window.contains(nth_hash(i)) ? 0 : 1;
      }
    }
    return window.check();
  };
  ASSERT_TRUE(probe_all().ok());
  const auto damage_each = [&](Bytes& row) {
    for (size_t at = 0; at < row.size(); at += 3) {
      row[at] ^= std::byte{0x81};
      const Status status = probe_all();
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
      EXPECT_EQ(lost, 0u);
      row[at] ^= std::byte{0x81};
    }
  };
  damage_each(stored.storage.rows.record);
  for (auto& entry : stored.storage.rows.older) {
    damage_each(entry.second);
  }
  damage_each(stored.storage.rows.pages.begin()->second);
  damage_each(stored.storage.rows.log.begin()->second);
  EXPECT_EQ(difference(good, stored.storage.rows), "");
  const std::function<void(StoredRows&)> kChanges[] = {
      [](StoredRows& r) { r.older.erase(r.older.begin()); },
      [](StoredRows& r) { r.older.erase(std::prev(r.older.end())); },
      [](StoredRows& r) { r.older.begin()->second.clear(); },
      [](StoredRows& r) { std::swap(r.older[0], r.older[1]); },
      [](StoredRows& r) { r.older[0] = r.older[1]; },
      [](StoredRows& r) { r.older[1] = r.record; },
      [](StoredRows& r) { r.record = r.older[0]; },
  };
  for (size_t number = 0; number < std::size(kChanges); ++number) {
    kChanges[number](stored.storage.rows);
    const Status status = probe_all();
    ASSERT_FALSE(status.ok()) << "change " << number;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    EXPECT_TRUE(lost == 0 || number + 1 == std::size(kChanges)) << "change " << number;
    stored.storage.restore(good);
  }
}

TEST_P(FaultyWindow, hostile_records_are_refused) {
  StoredWindow stored(options());
  fill(stored);
  const StoredRows good = stored.storage.snapshot();
  const FilterRecord newest = stored.window.newest().record();
  const std::function<void(FilterRecord&)> kChanges[] = {
      [](FilterRecord& r) { r.older = kGenerations; },
      [](FilterRecord& r) { r.older = r.rotation = kMaxGenerations - 1; },
      [](FilterRecord& r) { r.rotation += 1; },
      [](FilterRecord& r) { r.rotation = uint64_t{1} << 63; },
      [](FilterRecord& r) { r.rotation = UINT64_MAX; },
      [](FilterRecord& r) { r.geometry.size = 0; },
      [](FilterRecord& r) { r.options_digest ^= 1; },
  };
  for (const bool warm : {false, true}) {
    for (size_t number = 0; number < std::size(kChanges); ++number) {
      SCOPED_TRACE("change " + std::to_string(number) + (warm ? ", warm" : ""));
      FilterRecord record = newest;
      kChanges[number](record);
      FilterWindow window(stored.window.options(), stored.storage);
      if (warm) {
        stored.follow(window);
      }
      const Status status = window.refresh(encode_record(record));
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
      stored.follow(window);
      EXPECT_EQ(window.items(), stored.window.items());
      EXPECT_TRUE(window.check().ok());
    }
  }
  // An older generation has no tail: nothing in the record of it may say so.
  FilterRecord older = decode_record(good.older.begin()->second).value();
  older.end_position += 1;
  older.end_row += 1;
  stored.storage.rows.older.begin()->second = encode_record(older);
  FilterWindow window(stored.window.options(), stored.storage);
  EXPECT_FALSE(window.refresh(stored.storage.rows.record).ok());
}

// ---- limits

TEST_P(FaultyWindow, a_single_generation_does_not_rotate) {
  StoredWindow stored(options(1));
  stored.add(0, 100);
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  const Status status = stored.window.rotate();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(stored.window.usable());
  stored.commit();
  EXPECT_EQ(difference(before, stored.storage.rows), "");
  stored.add(100, 200);
  stored.commit();
  stored.expect_good();
  stored.roll_back(before);
  EXPECT_EQ(stored.missing(0, 100), 0u);
  stored.expect_good();
  EXPECT_EQ(stored.window.generation_items().size(), 1u);
}

TEST_P(FaultyWindow, rotations_end_with_the_last_generation_of_rows) {
  StoredWindow stored(options());
  FilterRecord record = stored.window.newest().record();
  record.epoch = kMaxEpoch;
  record.first_row = record.fold_row = record.end_row =
      static_cast<uint64_t>(first_row_id(kMaxEpoch));
  StoredRows rows = stored.storage.snapshot();
  rows.record = encode_record(record);
  stored.roll_back(rows);
  stored.add(0, 20);
  stored.commit();
  EXPECT_EQ(stored.window.rotate().error().code, ErrorCode::kFull);
  EXPECT_EQ(stored.window.clear().error().code, ErrorCode::kFull);
  EXPECT_TRUE(stored.window.usable());
  EXPECT_EQ(stored.missing(0, 20), 0u);
  stored.commit();
  stored.expect_good();
}

// Figures of the whole are those of its generations.
TEST_P(FaultyWindow, figures_add_up) {
  StoredWindow stored(options());
  const size_t empty = stored.window.memory_bytes();
  fill(stored);
  uint64_t items = 0;
  for (const uint64_t of_one : stored.window.generation_items()) {
    items += of_one;
  }
  EXPECT_EQ(stored.window.items(), items);
  EXPECT_GT(stored.window.memory_bytes(), empty);
  EXPECT_GE(stored.window.log_entries(), GetParam().growth ? 360u : 1u);
  EXPECT_EQ(stored.window.stored_rows(),
            stored.storage.rows.pages.size() + stored.storage.rows.log.size());
  const uint64_t copies = stored.window.count(nth_hash(1000));
  EXPECT_GE(copies, GetParam().multiset() ? 31u : 1u);
  EXPECT_LE(stored.window.rate_now(), stored.window.target_rate());
  EXPECT_EQ(stored.window.target_rate(), 0.05);
  FilterOptions by_bits = options();
  if (GetParam().kind == FilterKind::kCuckoo) {
    by_bits.spec.fingerprint_bits = 8;
  } else {
    by_bits.spec.bits_per_key = 8;
  }
  StoredWindow sized(by_bits);
  const double one = sized.window.newest().target_rate();
  EXPECT_NEAR(sized.window.target_rate(), 1 - (1 - one) * (1 - one) * (1 - one), 1e-12);
}

}  // namespace
}  // namespace cuckoo
