// Sliding windows so large that the newest generation makes its next epoch in steps. The ids of the
// older ones' rows lie around those that steps write and erase.
#include <functional>
#include <memory>
#include <vector>

#include "tests/core/stored/filter_steps.hpp"
#include "tests/core/stored/stored_window.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::message_of;
using test::nth_hash;
using test::StoredRows;
using test::StoredWindow;

class WindowSteps : public test::FilterSteps {
 protected:
  static constexpr uint64_t kOld = 2000;  // keys of each older generation

  static FilterOptions options() {
    FilterOptions options = step_options();
    options.generations = 3;
    return options;
  }
  // Keys 0 … are in the oldest generation, those behind them in the second one.
  static void fill_older(StoredWindow& stored) {
    for (uint64_t turn = 0; turn < 2; ++turn) {
      stored.add(turn * kOld, (turn + 1) * kOld);
      stored.rotate();
      stored.commit();
    }
  }
  // Moments of the steps.
  struct Moment {
    const char* name;
    std::function<bool(const StoredRows&)> is_it;
  };
  static std::vector<Moment> moments() {
    const auto passed = [](uint64_t points) {
      return [points](const StoredRows& rows) {
        const auto progress = progress_in(rows);
        return progress && progress->capacity > 0 && progress->points >= points;
      };
    };
    return {{"it is begun", passed(1)},
            {"log rows stand", passed(3)},
            {"pages stand", has_pages},
            {"all stands", passed(NextEpoch::kPoints)},
            {"the one before is being erased", erases}};
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, WindowSteps, ::testing::ValuesIn(test::cases_where(test::grows)),
                         test::kCaseName);

TEST_P(WindowSteps, I3_older_generations_keep_their_rows) {
  StoredWindow stored(options());
  fill_older(stored);
  ASSERT_GE(stored.window.newest().base().pages().page_count(), 128u);
  const StoredRows start = stored.storage.snapshot();
  const auto first_row = first_row_id(stored.window.newest().record().epoch);
  uint64_t epochs = 0;
  uint64_t next = 2 * kOld;
  for (uint64_t epoch = stored.window.newest().record().epoch; epochs < 3 && !HasFailure();) {
    stored.add(next, next + kTransaction);
    next += kTransaction;
    stored.commit();
    for (const auto& [id, row] : start.log) {
      ASSERT_TRUE(id >= first_row || stored.storage.rows.log.at(id) == row) << id;
    }
    for (const auto& [id, row] : start.pages) {
      ASSERT_TRUE(id >= first_row || stored.storage.rows.pages.at(id) == row) << id;
    }
    const bool begins = stored.window.newest().record().epoch != epoch;
    epochs += begins ? 1 : 0;
    epoch = stored.window.newest().record().epoch;
    if (begins || next % (20 * kTransaction) == 0) {
      ASSERT_EQ(stored.missing(0, next), 0u);
      expect_good(stored.storage, options());
    }
  }
}

TEST_P(WindowSteps, I4_what_follows_a_generation_leaves_nothing_of_its_steps) {
  const std::pair<const char*, std::function<Status(FilterWindow&)>> ends[] = {
      {"rotate", [](FilterWindow& window) { return window.rotate(); }},
      {"clear", [](FilterWindow& window) { return window.clear(); }},
      {"rebuild", [](FilterWindow& window) { return window.newest().rebuild(kCapacity); }}};
  for (const Moment& moment : moments()) {
    StoredWindow stored(options());
    fill_older(stored);
    const uint64_t end = add_until(stored, 2 * kOld, moment.is_it);
    const StoredRows made = stored.storage.snapshot();
    for (const auto& [name, call] : ends) {
      SCOPED_TRACE(std::string(moment.name) + ", " + name);
      stored.roll_back(made);
      const Status status = call(stored.window);
      ASSERT_TRUE(status.ok()) << message_of(status);
      stored.commit();
      EXPECT_TRUE(stored.storage.rows.progress.empty());
      expect_good(stored.storage, options());
      stored.expect_good();
      const std::string what = name;
      const uint64_t first = what == "rotate" ? kOld : what == "clear" ? end : 0;
      EXPECT_EQ(stored.missing(first, end), 0u);
      const uint64_t more = add_until(stored, end, has_pages);
      EXPECT_EQ(stored.missing(first, more), 0u);
      expect_good(stored.storage, options());
    }
  }
}

// None of the steps left them, and there is nothing to fold that would take them away.
TEST_P(WindowSteps, I4_a_new_generation_takes_no_rows_that_stand_in_its_place) {
  StoredWindow stored(options());
  stored.add(0, kOld);
  stored.rotate();
  stored.commit();
  const int64_t next = first_row_id(stored.window.newest().record().epoch + 1);
  stored.storage.rows.log[next] = stored.storage.rows.log.begin()->second;
  stored.storage.rows.pages[next + 1] = stored.storage.rows.pages.begin()->second;
  stored.rotate();
  stored.commit();
  stored.expect_good();
  EXPECT_EQ(stored.missing(0, kOld), 0u);
}

TEST_P(WindowSteps, whoever_makes_the_steps_leaves_the_same_bytes) {
  StoredWindow alone(options());
  StoredWindow others(options());
  FilterWindow second(options(), others.storage);
  std::unique_ptr<FilterWindow> guest;
  uint64_t growths = 0;
  uint64_t rotations = 0;
  const auto write = [](FilterWindow& window, uint64_t first, uint64_t count, bool rotates) {
    for (uint64_t i = first; i < first + count; ++i) {
      const Status status = window.newest().insert(nth_hash(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
    if (rotates) {
      const Status status = window.rotate();
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
  };
  for (uint64_t turn = 0; turn < 600 && !HasFailure(); ++turn) {
    const uint64_t epoch = alone.window.newest().record().epoch;
    const bool rotates = turn % 170 == 120;
    write(alone.window, turn * kTransaction, kTransaction, rotates);
    alone.commit();
    growths += alone.window.newest().record().epoch != epoch && !rotates ? 1 : 0;
    rotations += rotates ? 1 : 0;
    // The other storage: two that take turns, one that opens it each time, and a roll-back.
    FilterWindow* writer = turn % 11 < 4 ? &others.window : &second;
    if (turn % 11 >= 8) {
      guest = std::make_unique<FilterWindow>(options(), others.storage);
      writer = guest.get();
    }
    ASSERT_TRUE(writer->refresh(others.storage.rows.record).ok());
    if (turn % 11 == 6) {
      const StoredRows before = others.storage.snapshot();
      write(*writer, turn * kTransaction, 2 * kTransaction, turn % 2 == 0);
      ASSERT_TRUE(writer->flush().ok());
      others.storage.restore(before);
      writer->forget();
      ASSERT_TRUE(writer->refresh(others.storage.rows.record).ok());
    }
    write(*writer, turn * kTransaction, kTransaction, rotates);
    ASSERT_TRUE(writer->fold_rest().ok() && writer->flush().ok());
    writer->committed();
    ASSERT_EQ(difference(alone.storage.rows, others.storage.rows), "") << "turn " << turn;
  }
  EXPECT_GE(growths, 2u);
  EXPECT_GE(rotations, 3u);
}

TEST_P(WindowSteps, a_call_that_fails_leaves_what_was_before_and_can_be_repeated) {
  StoredWindow stored(options());
  fill_older(stored);
  const uint64_t end = add_until(stored, 2 * kOld, has_pages);
  const StoredRows start = stored.storage.snapshot();
  const auto run = [&]() -> Status {
    CUCKOO_TRY(stored.window.newest().insert(nth_hash(end)));
    CUCKOO_TRY(stored.window.rotate());
    CUCKOO_TRY(stored.window.newest().insert(nth_hash(end + 1)));
    CUCKOO_TRY(stored.window.fold_rest());
    return stored.window.flush();
  };
  stored.storage.calls = {};
  ASSERT_TRUE(run().ok());
  const StoredRows good = stored.storage.snapshot();
  const uint64_t calls = stored.storage.calls.all();
  uint64_t failures = 0;
  for (uint64_t n = 1; n <= calls && !HasFailure(); n += 1 + calls / 40) {
    SCOPED_TRACE("call " + std::to_string(n) + " of " + std::to_string(calls));
    stored.roll_back(start);
    stored.storage.fail_at(n, n % 2 == 0 ? ErrorCode::kStorage : ErrorCode::kInterrupted);
    const Status status = run();
    failures += stored.storage.failed() ? 1 : 0;
    ASSERT_NE(status.ok(), stored.storage.failed());
    stored.storage.fail_at(0);
    stored.roll_back(start);
    expect_good(stored.storage, options());
    const Status again = run();
    ASSERT_TRUE(again.ok()) << message_of(again);
    ASSERT_EQ(difference(good, stored.storage.rows), "");
  }
  EXPECT_GT(failures, 10u);
}

// It names rows of an older generation as what is left of the epoch before.
TEST_P(WindowSteps, a_false_account_erases_nothing_of_an_older_generation) {
  StoredWindow stored(options());
  fill_older(stored);
  const uint64_t end = add_until(stored, 2 * kOld, has_pages);
  for (const uint64_t rotation : {0, 1}) {
    StoredRows rows = stored.storage.snapshot();
    const FilterRecord older = decode_record(rows.older.at(rotation)).value();
    EpochProgress progress = *progress_in(rows);
    progress.old_first_row = older.first_row;
    progress.old_log_rows = older.end_row - older.first_row;
    progress.old_pages = 1000;
    rows.progress = encode_progress(progress);
    StoredWindow misled(options());
    misled.roll_back(rows);
    const Status checked = misled.window.check();
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
    Status status;
    for (uint64_t i = end; status.ok() && i < end + kCapacity; ++i) {
      status = misled.window.newest().insert(nth_hash(i));
    }
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("older generation"), std::string::npos);
    EXPECT_EQ(difference(rows, misled.storage.rows), "");
  }
}

// What may be erased around the newest generation's epoch depends on it.
TEST_P(WindowSteps, I4_generations_whose_epochs_do_not_ascend_are_refused) {
  StoredWindow stored(options());
  fill_older(stored);
  const StoredRows good = stored.storage.snapshot();
  const auto expect_refused = [&](const StoredRows& rows) {
    test::MemoryStorage storage;
    storage.restore(rows);
    FilterWindow window(options(), storage);
    const Status status = window.refresh(storage.rows.record);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << message_of(status);
  };
  StoredRows rows = good;
  FilterRecord second = decode_record(rows.older.at(1)).value();
  const FilterRecord first = decode_record(rows.older.at(0)).value();
  rows.older.at(1) = rows.older.at(0);
  expect_refused(rows);  // another rotation
  FilterRecord twin = first;
  twin.rotation = second.rotation;
  rows.older.at(1) = encode_record(twin);
  expect_refused(rows);
}

}  // namespace
}  // namespace cuckoo
