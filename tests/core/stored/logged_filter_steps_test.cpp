// Large filters that make their next epoch in steps, while they are filled: what stands in storage
// follows from the entries alone, whoever made the steps, and no insert does much at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "core/stored/logged_filter.hpp"
#include "core/stored/next_epoch.hpp"
#include "core/stored/window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;
using test::StoredRows;

constexpr uint64_t kCapacity = 40000;
constexpr uint64_t kTransaction = 300;

class FilterSteps : public test::KindsTest {
 protected:
  // Pages so large that there are a few more than 128: a tail is a tenth of what is in them.
  static FilterOptions steps_of(uint64_t capacity, double rate) {
    const bool counting = GetParam().kind == FilterKind::kCountingBloom;
    return options(capacity, rate, counting ? 1920 : 448);
  }
  static FilterOptions step_options() { return steps_of(kCapacity, 0.001); }

  static uint64_t rows_outside(const StoredRows& rows) {
    const uint64_t epoch = decode_record(rows.record).value().epoch;
    const auto outside = [epoch](const auto& row) {
      return row.first < first_row_id(epoch) || row.first >= first_row_id(epoch + 1);
    };
    return static_cast<uint64_t>(std::count_if(rows.log.begin(), rows.log.end(), outside) +
                                 std::count_if(rows.pages.begin(), rows.pages.end(), outside));
  }
  static std::optional<EpochProgress> progress_in(const StoredRows& rows) {
    if (rows.progress.empty()) {
      return std::nullopt;
    }
    const Result<EpochProgress> progress = decode_progress(rows.progress);
    EXPECT_TRUE(progress.ok()) << progress.error().message;
    return progress.value();
  }
  // Transactions of keys first … until the wish comes true after one; where it did.
  template <class Wish>
  static uint64_t add_until(StoredFilter& stored, uint64_t first, Wish&& wish) {
    uint64_t next = first;
    while (!::testing::Test::HasFailure() && next < first + 10 * kCapacity) {
      stored.add(next, next + kTransaction);
      next += kTransaction;
      stored.commit();
      if (wish(stored.storage.rows)) {
        return next;
      }
    }
    ADD_FAILURE() << "the filter never came so far";
    return next;
  }
  static bool has_pages(const StoredRows& rows) {
    const auto progress = progress_in(rows);
    return progress && progress->pages > 0;
  }
  static bool erases(const StoredRows& rows) {
    const auto progress = progress_in(rows);
    return progress && progress->old_log_rows > 0;
  }
  static void expect_good(MemoryStorage& storage, const FilterOptions& options) {
    FilterWindow window(options, storage);
    Status status = window.refresh(storage.rows.record);
    ASSERT_TRUE(status.ok()) << message_of(status);
    status = window.check();
    ASSERT_TRUE(status.ok()) << message_of(status);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterSteps, ::testing::ValuesIn(test::cases_where(test::grows)),
                         test::kCaseName);

TEST_P(FilterSteps, no_key_is_missing_at_any_time) {
  StoredFilter stored(step_options());
  ASSERT_GE(stored.filter.base().pages().page_count(), 128u);
  uint64_t next = 0;
  uint64_t points = 0;
  uint64_t epochs = 0;
  uint64_t erasing = 0;
  uint64_t capacity = stored.filter.capacity();
  for (uint64_t epoch = 0; epochs < 3 && next < 10 * kCapacity; next += kTransaction) {
    stored.add(next, next + kTransaction);
    stored.commit();
    const auto progress = progress_in(stored.storage.rows);
    points += progress && progress->points > 0 ? 1 : 0;
    erasing += erases(stored.storage.rows) ? 1 : 0;
    const bool begins = stored.filter.record().epoch != epoch;
    if (begins) {
      epoch = stored.filter.record().epoch;
      ++epochs;
      EXPECT_GT(stored.filter.capacity(), capacity) << "it grew";
      EXPECT_LT(stored.filter.capacity(), 3 * capacity);
      capacity = stored.filter.capacity();
      EXPECT_GT(stored.filter.tail_entries(), kTransaction) << "the tail came along";
    }
    if (begins || next % (20 * kTransaction) == 0) {
      ASSERT_EQ(stored.missing(0, next + kTransaction), 0u);
      expect_good(stored.storage, step_options());
    }
  }
  EXPECT_EQ(epochs, 3u);
  EXPECT_GT(points, 10u);
  EXPECT_GT(erasing, 10u);
  if (multiset()) {
    EXPECT_EQ(stored.filter.items(), next);
  }
  EXPECT_LE(stored.measured_rate(20000), 0.002);
}

// What stands depends on the entries alone.
TEST_P(FilterSteps, I1_whoever_makes_the_steps_leaves_the_same_bytes) {
  StoredFilter alone(step_options());
  StoredFilter others(step_options());
  LoggedFilter second(step_options(), others.storage);
  std::unique_ptr<LoggedFilter> guest;
  std::optional<uint64_t> last_points;
  uint64_t states = 0;
  for (uint64_t next = 0; next < 4 * kCapacity; next += kTransaction) {
    alone.add(next, next + kTransaction);
    alone.commit();
    // The other storage: two that take turns, one that opens it each time, and a roll-back.
    const uint64_t turn = next / kTransaction % 11;
    LoggedFilter* writer = turn < 4 ? &others.filter : &second;
    if (turn >= 8) {
      guest = std::make_unique<LoggedFilter>(step_options(), others.storage);
      writer = guest.get();
    }
    ASSERT_TRUE(writer->refresh(others.storage.rows.record).ok());
    const StoredRows before = others.storage.snapshot();
    for (uint64_t i = next; i < next + (turn == 6 ? 2 * kTransaction : kTransaction); ++i) {
      const Status status = writer->insert(others.hash(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
    if (turn == 6) {  // too many: they are taken back
      ASSERT_TRUE(writer->flush().ok());
      others.storage.restore(before);
      writer->forget();
      ASSERT_TRUE(writer->refresh(others.storage.rows.record).ok());
      for (uint64_t i = next; i < next + kTransaction; ++i) {
        ASSERT_TRUE(writer->insert(others.hash(i)).ok());
      }
    }
    ASSERT_TRUE(writer->fold_rest().ok() && writer->flush().ok());
    writer->committed();
    ASSERT_EQ(difference(alone.storage.rows, others.storage.rows), "") << "behind key " << next;
    const auto progress = progress_in(alone.storage.rows);
    const uint64_t points = progress ? progress->points : 0;
    states += points != last_points ? 1 : 0;
    last_points = points;
  }
  EXPECT_GT(states, 12u);
  EXPECT_GT(alone.filter.record().epoch, 1u);
}

// All at once it would be all rows and pages of two epochs.
TEST_P(FilterSteps, no_insert_writes_much_at_once) {
  StoredFilter stored(step_options());
  uint64_t most = 0;
  uint64_t most_at = 0;
  uint64_t growths = 0;
  uint64_t all = 0;
  for (uint64_t i = 0; i < 3 * kCapacity; ++i) {
    const uint64_t epoch = stored.filter.record().epoch;
    const uint64_t fold = stored.filter.record().base_id;
    stored.storage.calls = {};
    const size_t rows = stored.storage.rows.log.size() + stored.storage.rows.pages.size();
    stored.add(i, i + 1);
    if (stored.filter.record().epoch == epoch && stored.filter.record().base_id != fold) {
      stored.commit();
      continue;  // a fold, as ever
    }
    growths += stored.filter.record().epoch != epoch ? 1 : 0;
    const size_t now = stored.storage.rows.log.size() + stored.storage.rows.pages.size();
    const uint64_t work = stored.storage.calls.writes + (now < rows ? rows - now : 0);
    if (work > most) {
      most = work;
      most_at = i;
    }
    stored.commit();
    all = std::max<uint64_t>(all, stored.filter.stored_rows());
  }
  EXPECT_GE(growths, 2u);
  EXPECT_LT(most, all / 2) << "at key " << most_at;  // a growth writes one and a half of it
}

TEST_P(FilterSteps, a_log_that_is_mostly_dead_is_compacted_in_steps) {
  if (!multiset()) {
    return;  // nothing dies in it
  }
  StoredFilter stored(steps_of(2 * kCapacity, 0.001));
  stored.add(0, 2 * kCapacity);
  stored.commit();
  const uint64_t capacity = stored.filter.capacity();
  uint64_t next = 0;
  uint64_t longest = 0;
  std::vector<uint64_t> tails;
  for (uint64_t epoch = stored.filter.record().epoch; tails.size() < 2 && next < 30 * kCapacity;) {
    for (uint64_t i = 0; i < kTransaction; ++i, ++next) {
      ASSERT_TRUE(stored.remove(stored.hash(next)));
      stored.add(2 * kCapacity + next, 2 * kCapacity + next + 1);
    }
    stored.commit();
    longest = std::max(longest, stored.filter.log_entries());
    if (stored.filter.record().epoch != epoch) {
      epoch = stored.filter.record().epoch;
      tails.push_back(stored.filter.tail_entries());
      expect_good(stored.storage, steps_of(2 * kCapacity, 0.001));
    }
  }
  ASSERT_EQ(tails.size(), 2u);
  EXPECT_GT(tails[1], kTransaction) << "in steps";
  EXPECT_EQ(stored.filter.capacity(), capacity) << "it is as large as before";
  EXPECT_EQ(stored.filter.items(), 2 * kCapacity);
  EXPECT_EQ(stored.missing(next, next + 2 * kCapacity), 0u);
  EXPECT_LT(longest, 12 * kCapacity);
}

// The remove of a key that was never added takes a key out that shares its cell. In another
// geometry many of them share it no longer: those removes are forgotten.
TEST_P(FilterSteps, wrong_removes_are_repaired_as_far_as_can_be_told) {
  if (!multiset()) {
    return;
  }
  const FilterOptions coarse = steps_of(2 * kCapacity, 0.05);  // collisions, and pages enough
  StoredFilter stored(coarse);
  ASSERT_GE(stored.filter.base().pages().page_count(), 128u);
  uint64_t next = add_until(stored, 0, has_pages);
  const uint64_t epoch = stored.filter.record().epoch;
  uint64_t wrong = 0;
  for (uint64_t i = 0; wrong < 20; ++i) {
    wrong += stored.remove(stored.hash(1000000000 + i)) ? 1 : 0;
  }
  stored.commit();
  EXPECT_EQ(stored.filter.record().epoch, epoch);
  EXPECT_EQ(stored.filter.items(), next - 20);
  const uint64_t broken = stored.missing(0, next);
  EXPECT_GT(broken, 0u);
  next = add_until(stored, next, [epoch](const StoredRows& rows) {
    return decode_record(rows.record).value().epoch != epoch;
  });
  EXPECT_GT(stored.filter.items(), next - 20);
  EXPECT_LT(stored.missing(0, next), broken);
  expect_good(stored.storage, coarse);
}

TEST_P(FilterSteps, what_replaces_everything_leaves_nothing_of_other_epochs) {
  using Change = std::function<Status(LoggedFilter&)>;
  const Change changes[] = {
      [](LoggedFilter& filter) { return filter.clear(); },
      [](LoggedFilter& filter) { return filter.rebuild(5 * kCapacity); },
      [](LoggedFilter& filter) {
        HashCollection collection(filter.options().width);
        return filter.import(filter.options(),
                             test::contents_of({nth_hash(1)}, filter.options(), collection));
      },
      [](LoggedFilter& filter) { return filter.fold(); },
  };
  for (const auto& when : {has_pages, erases}) {
    StoredFilter stored(step_options());
    const uint64_t end = add_until(stored, 0, when);
    const StoredRows start = stored.storage.snapshot();
    ASSERT_GT(rows_outside(start), 0u);
    for (const Change& change : changes) {
      stored.roll_back(start);
      const Status status = change(stored.filter);
      ASSERT_TRUE(status.ok()) << message_of(status);
      stored.commit();
      EXPECT_EQ(rows_outside(stored.storage.rows), 0u);
      EXPECT_TRUE(stored.storage.rows.progress.empty());
      expect_good(stored.storage, stored.filter.options());
      stored.add(end, end + 4 * kTransaction);
      stored.commit();
      expect_good(stored.storage, stored.filter.options());
    }
  }
}

// A transaction that adds much is a bulk load: it makes all of it at once, as ever.
TEST_P(FilterSteps, a_transaction_of_many_keys_grows_at_once) {
  StoredFilter stored(step_options());
  const uint64_t end = add_until(stored, 0, has_pages);
  stored.add(end, end + 6 * kCapacity);
  stored.commit();
  EXPECT_EQ(rows_outside(stored.storage.rows), 0u);
  EXPECT_TRUE(stored.storage.rows.progress.empty());
  EXPECT_EQ(stored.filter.tail_entries(), 0u);
  EXPECT_EQ(stored.missing(0, end + 6 * kCapacity), 0u);
  expect_good(stored.storage, step_options());
}

TEST_P(FilterSteps, another_past_is_noticed) {
  StoredFilter stored(step_options());
  const uint64_t end = add_until(stored, 0, has_pages);
  const StoredRows good = stored.storage.snapshot();
  // As if a version that knows nothing of steps had written: rows of some other epoch stand there.
  EpochProgress foreign = *progress_in(good);
  foreign.base_id ^= 1;
  for (const bool has_progress : {true, false}) {
    StoredRows rows = good;
    rows.progress = has_progress ? encode_progress(foreign) : Bytes();
    stored.roll_back(rows);
    const uint64_t epoch = stored.filter.record().epoch;
    add_until(stored, end, [epoch](const StoredRows& now) {
      return decode_record(now.record).value().epoch != epoch;
    });
    EXPECT_EQ(stored.missing(0, end + kTransaction), 0u);
    expect_good(stored.storage, step_options());
  }
}

// Who made a few of the steps, and comes back after others made more, has an epoch in memory that
// is behind the one in storage.
TEST_P(FilterSteps, who_comes_back_does_not_go_on_where_it_was) {
  StoredFilter stored(step_options());
  LoggedFilter other(step_options(), stored.storage);
  const auto add = [&](LoggedFilter& filter, uint64_t first, uint64_t end) {
    ASSERT_TRUE(filter.refresh(stored.storage.rows.record).ok());
    for (uint64_t i = first; i < end; ++i) {
      const Status status = filter.insert(stored.hash(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
    ASSERT_TRUE(filter.fold_rest().ok() && filter.flush().ok());
    filter.committed();
  };
  const auto points = [&] {
    const auto progress = progress_in(stored.storage.rows);
    return progress && progress->capacity > 0 ? progress->points : 0;
  };
  constexpr uint64_t kFew = 20;
  uint64_t next = 0;
  while (points() < 1 && next < 10 * kCapacity) {
    add(stored.filter, next, next + kFew);
    next += kFew;
  }
  const StoredRows start = stored.storage.snapshot();
  const uint64_t begun = next;
  const uint64_t threshold = stored.filter.fold_threshold();
  // `other` makes the steps 83 … 88, the first one from 212 on, and the last ones from 242 on.
  const auto is_others = [&] {
    const uint64_t step = stored.filter.tail_entries() * NextEpoch::kSteps / threshold;
    return (step >= 83 && step < 88) || (step >= 212 && step < 214) || step >= 242;
  };
  const uint64_t epoch = stored.filter.record().epoch;
  while (decode_record(stored.storage.rows.record).value().epoch == epoch && !HasFailure()) {
    ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    add(is_others() ? other : stored.filter, next, next + kFew);
    next += kFew;
  }
  const StoredRows made = stored.storage.snapshot();
  LoggedFilter fresh(step_options(), stored.storage);
  ASSERT_TRUE(fresh.refresh(stored.storage.rows.record).ok());
  uint64_t missing = 0;
  for (uint64_t i = 0; i < next; ++i) {
    const Result<bool> found = fresh.load_and_probe(stored.hash(i));
    ASSERT_TRUE(found.ok()) << found.error().message;
    missing += found.value() ? 0 : 1;
  }
  EXPECT_EQ(missing, 0u);
  expect_good(stored.storage, step_options());
  stored.roll_back(start);
  for (uint64_t i = begun; i < next; i += kFew) {
    add(stored.filter, i, i + kFew);
  }
  EXPECT_EQ(difference(made, stored.storage.rows), "");
}

// --- faults and damage ---------------------------------------------------------------------------

TEST_P(FilterSteps, a_call_that_fails_leaves_what_was_before_and_can_be_repeated) {
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

TEST_P(FilterSteps, check_finds_what_no_step_leaves) {
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
TEST_P(FilterSteps, nothing_damaged_is_made_into_an_epoch) {
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

// An account that claims rows of the present epoch for the one before.
TEST_P(FilterSteps, a_false_account_erases_nothing_of_the_present_epoch) {
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
