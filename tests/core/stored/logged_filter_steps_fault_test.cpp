// Large filters that make their next epoch in steps: calls that fail, rows that are damaged or
// lost, accounts that lie.
#include <functional>

#include "tests/core/stored/filter_steps.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::StoredFilter;
using test::StoredRows;

class FilterStepsFaults : public test::FilterSteps {};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterStepsFaults,
                         ::testing::ValuesIn(test::cases_where(test::grows)), test::kCaseName);

TEST_P(FilterStepsFaults, a_call_that_fails_leaves_what_was_before_and_can_be_repeated) {
  StoredFilter stored(step_options());
  const uint64_t first =
      add_until(stored, 0, [](const StoredRows& rows) { return progress_in(rows).has_value(); });
  const StoredRows start = stored.storage.snapshot();
  const uint64_t end = first + 60 * kTransaction;  // over the rest of the steps and some erasing
  const auto run = [&](LoggedFilter& filter) -> Status {
    for (uint64_t i = first; i < end; ++i) {
      CUCKOO_TRY(filter.insert(stored.hash(i)));
      if ((i + 1) % kTransaction == 0) {
        CUCKOO_TRY(filter.fold_rest());
        CUCKOO_TRY(filter.flush());
        filter.committed();
      }
    }
    return {};
  };
  stored.storage.calls = {};
  ASSERT_TRUE(run(stored.filter).ok());
  ASSERT_GT(stored.filter.record().epoch, decode_record(start.record).value().epoch);
  const StoredRows good = stored.storage.snapshot();
  const uint64_t calls = stored.storage.calls.all();
  uint64_t failures = 0;
  for (uint64_t n = 1; n <= calls && !HasFailure(); n += 1 + calls / 25) {
    SCOPED_TRACE("call " + std::to_string(n) + " of " + std::to_string(calls));
    const ErrorCode code = n % 2 == 0 ? ErrorCode::kStorage : ErrorCode::kInterrupted;
    stored.roll_back(start);
    stored.storage.fail_at(n, code);
    const Status status = run(stored.filter);
    if (!stored.storage.failed()) {
      break;  // what is in memory already isn't read again
    }
    ++failures;
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code);
    stored.storage.fail_at(0);
    stored.roll_back(start);
    const Status again = run(stored.filter);
    ASSERT_TRUE(again.ok()) << message_of(again);
    ASSERT_EQ(difference(good, stored.storage.rows), "");
  }
  EXPECT_GT(failures, 10u);
}

TEST_P(FilterStepsFaults, check_finds_what_no_step_leaves) {
  StoredFilter stored(step_options());
  (void)add_until(stored, 0, has_pages);
  const StoredRows good = stored.storage.snapshot();
  const int64_t next = first_row_id(decode_record(good.record).value().epoch + 1);
  const auto expect_found = [&](const std::function<void(StoredRows&)>& damage,
                                const std::string& message) {
    MemoryStorage storage;
    storage.rows = good;
    damage(storage.rows);
    FilterWindow window(step_options(), storage);
    Status status = window.refresh(storage.rows.record);
    status = status.ok() ? window.check() : std::move(status);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(status.error().message.find(message), std::string::npos) << message_of(status);
  };
  expect_found([&](StoredRows& rows) { rows.log[next][40] ^= std::byte{1}; },
               "log row " + std::to_string(next));
  expect_found([&](StoredRows& rows) { rows.log.erase(next + 1); },
               "log row " + std::to_string(next + 1) + ": is missing");
  expect_found([&](StoredRows& rows) { rows.log[next + 100000] = rows.log[next]; },
               "does not belong here");
  expect_found([&](StoredRows& rows) { rows.pages[next + 3][5] ^= std::byte{1}; },
               "page row " + std::to_string(next + 3));
  expect_found([&](StoredRows& rows) { rows.pages.erase(next + 4); }, "is missing");
  expect_found(
      [&](StoredRows& rows) {
        EpochProgress progress = *progress_in(rows);
        ++progress.log_rows;
        rows.progress = encode_progress(progress);
      },
      "which no step leaves");
  for (size_t byte = 0; byte < good.progress.size(); ++byte) {
    expect_found([&](StoredRows& rows) { rows.progress[byte] ^= std::byte{1}; }, "other epochs");
  }
  expect_found([&](StoredRows& rows) { rows.progress.pop_back(); }, "account of other epochs");
}

// A damaged row, of this epoch's log or of what others wrote for the next one, is found by whoever
// makes that, and an insert says so.
TEST_P(FilterStepsFaults, nothing_damaged_is_made_into_an_epoch) {
  StoredFilter stored(step_options());
  const uint64_t end = add_until(stored, 0, has_pages);
  const StoredRows good = stored.storage.snapshot();
  const FilterRecord record = decode_record(good.record).value();
  const auto expect_refused = [&](const std::function<void(StoredRows&)>& damage,
                                  const std::string& part) {
    SCOPED_TRACE(part);
    MemoryStorage storage;
    storage.restore(good);
    damage(storage.rows);
    LoggedFilter fresh(step_options(), storage);
    EXPECT_TRUE(fresh.refresh(storage.rows.record).ok());
    Status status;
    uint64_t items = 0;
    for (uint64_t i = end; status.ok() && fresh.record().epoch == record.epoch; ++i) {
      items = fresh.items();
      status = fresh.insert(stored.hash(i));
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << message_of(status);
    EXPECT_NE(status.error().message.find(part), std::string::npos) << message_of(status);
    EXPECT_TRUE(fresh.usable()) << "I7: nothing was written";
    EXPECT_EQ(fresh.items(), items);
  };
  const int64_t next = first_row_id(record.epoch + 1);
  for (const int64_t id :
       {static_cast<int64_t>(record.first_row), static_cast<int64_t>(record.first_row) + 1,
        static_cast<int64_t>(record.fold_row) - 1, next, next + 1}) {
    expect_refused([id](StoredRows& rows) { rows.log[id][30] ^= std::byte{4}; }, "log row");
    expect_refused([id](StoredRows& rows) { rows.log.erase(id); }, "log row");
  }
  expect_refused([next](StoredRows& rows) { rows.pages[next + 2][5] ^= std::byte{4}; },
                 "page row " + std::to_string(next + 2));
  expect_refused([next](StoredRows& rows) { rows.pages.erase(next); },
                 "page row " + std::to_string(next));
  const auto change_progress = [&](const std::function<void(EpochProgress&)>& change) {
    return [&, change](StoredRows& rows) {
      EpochProgress progress = *progress_in(rows);
      change(progress);
      rows.progress = encode_progress(progress);
    };
  };
  expect_refused(change_progress([](EpochProgress& one) { ++one.pages; }), "page row");
  expect_refused(change_progress([](EpochProgress& one) { one.capacity = 1; }), "too small");
  expect_refused(change_progress([](EpochProgress& one) { one.capacity += 5000; }), "page row");
}

// Rows of the tail, behind the back of whoever has it in memory: the epoch before is whole.
TEST_P(FilterStepsFaults, a_tail_that_storage_lost_is_not_made_into_an_epoch) {
  StoredFilter stored(step_options());
  const uint64_t end = add_until(stored, 0, has_pages);
  const StoredRows good = stored.storage.snapshot();
  const FilterRecord record = decode_record(good.record).value();
  const auto row = static_cast<int64_t>(record.fold_row) + 2;
  ASSERT_LT(row + 2, static_cast<int64_t>(record.end_row));
  const std::function<void(StoredRows&)> losses[] = {
      [row](StoredRows& rows) { rows.log.erase(row); },
      [row](StoredRows& rows) { rows.log[row] = rows.log[row + 1]; },
      [row](StoredRows& rows) { std::swap(rows.log[row], rows.log[row + 1]); },
      [row](StoredRows& rows) { rows.log.erase(row - 2); },
      [row](StoredRows& rows) { rows.log[row][40] ^= std::byte{1}; },
  };
  for (const auto& lose : losses) {
    stored.roll_back(good);
    lose(stored.storage.rows);
    Status status;
    for (uint64_t i = end; status.ok() && i < end + 2 * kCapacity; ++i) {
      status = stored.filter.insert(stored.hash(i));
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(status.error().message.find("log row"), std::string::npos) << message_of(status);
    EXPECT_EQ(stored.filter.record().epoch, record.epoch);
    EXPECT_EQ(stored.missing(0, end), 0u);
    EXPECT_FALSE(stored.filter.hashes().ok());
  }
}

// An account that claims rows of the present epoch for the one before.
TEST_P(FilterStepsFaults, a_false_account_erases_nothing_of_the_present_epoch) {
  StoredFilter stored(step_options());
  const uint64_t end = add_until(stored, 0, has_pages);
  StoredRows rows = stored.storage.snapshot();
  const FilterRecord record = decode_record(rows.record).value();
  EpochProgress progress = *progress_in(rows);
  progress.old_first_row = record.first_row;
  progress.old_log_rows = record.end_row - record.first_row;
  progress.old_pages = 1000;
  rows.progress = encode_progress(progress);
  stored.roll_back(rows);
  FilterWindow window(step_options(), stored.storage);
  ASSERT_TRUE(window.refresh(stored.storage.rows.record).ok());
  EXPECT_FALSE(window.check().ok());
  uint64_t added = end;
  Status status;
  for (; status.ok() && added < end + 400; ++added) {
    status = stored.filter.insert(stored.hash(added));
  }
  for (uint64_t row = record.first_row; row < record.end_row; ++row) {
    ASSERT_TRUE(stored.storage.rows.log.contains(static_cast<int64_t>(row))) << row;
  }
}

}  // namespace
}  // namespace cuckoo
