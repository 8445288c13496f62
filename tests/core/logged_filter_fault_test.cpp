// LoggedFilter over a storage that fails: each call in turn (of very many, every n-th).
#include <gtest/gtest.h>

#include <functional>

#include "core/logged_filter.hpp"
#include "tests/core/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::MemoryStorage;
using test::message_of;
using test::nth_word;
using test::StoredRows;

using Step = std::function<Status(LoggedFilter&)>;

uint64_t nth_hash(uint64_t i) { return logged_hash(nth_word(29, i), HashWidth::k47Bits); }

FilterOptions small_options(bool growth) {
  FilterOptions options;
  options.capacity = 700;
  options.rate = 0.05;
  options.growth = growth;
  options.page_bytes = 64;
  options.seed = 0xFA17;
  options.digest = 1;
  return options;
}

Step insert(uint64_t i) {
  return [i](LoggedFilter& filter) { return filter.insert(nth_hash(i)); };
}
Step remove(uint64_t i) {
  return [i](LoggedFilter& filter) { return filter.remove(nth_hash(i)).take_status(); };
}
Step flush() {
  return [](LoggedFilter& filter) { return filter.flush(); };
}
void append_inserts(std::vector<Step>& steps, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; ++i) {
    steps.push_back(insert(i));
  }
}

struct Work {
  const char* name;
  bool growth;
  std::vector<Step> steps;  // settle() and flush() follow
};

std::vector<Work> all_work() {
  std::vector<Work> all;
  for (const bool growth : {false, true}) {
    Work small{"small", growth, {insert(700), remove(3), insert(3), flush(), remove(700)}};
    all.push_back(std::move(small));
    Work fold{"fold", growth, {}};
    for (uint64_t i = 0; i < 290; ++i) {
      fold.steps.push_back(remove(i));
      fold.steps.push_back(insert(1000 + i));
    }
    fold.steps.push_back(flush());
    for (uint64_t i = 0; i < 40; ++i) {
      fold.steps.push_back(remove(1));
      fold.steps.push_back(insert(450));  // its copies overflow
    }
    all.push_back(std::move(fold));
    all.push_back({"clear", growth, {insert(700), [](LoggedFilter& f) { return f.clear(); }}});
    append_inserts(all.back().steps, 0, 600);
  }
  all.push_back({"grow", true, {}});
  append_inserts(all.back().steps, 2000, 3300);
  all.push_back({"rebuild", true, {insert(700), flush()}});
  append_inserts(all.back().steps, 701, 760);
  all.back().steps.push_back([](LoggedFilter& f) { return f.rebuild(900); });
  append_inserts(all.back().steps, 760, 770);
  return all;
}

// 500 keys, one of them thirty times, so that there are pages, log rows and overflow entries.
StoredRows starting_rows(const FilterOptions& options) {
  MemoryStorage storage;
  LoggedFilter filter(options, storage);
  EXPECT_TRUE(filter.create().ok());
  for (uint64_t i = 0; i < 500; ++i) {
    EXPECT_TRUE(filter.insert(nth_hash(i)).ok());
  }
  for (uint64_t i = 0; i < 30; ++i) {
    EXPECT_TRUE(filter.insert(nth_hash(499)).ok());
  }
  EXPECT_TRUE(filter.settle().ok() && filter.flush().ok());
  return storage.snapshot();
}

void expect_starting_keys(LoggedFilter& filter) {
  EXPECT_EQ(filter.items(), 530u);
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(filter.load(nth_hash(i)).ok());
    ASSERT_TRUE(filter.contains(nth_hash(i))) << i;
  }
}

// All steps, then the commit. A step that fails without poisoning the filter is done again when
// `repeat`; else the first failure is returned.
Status run(LoggedFilter& filter, MemoryStorage& storage, const Work& work, bool repeat) {
  std::vector<Step> steps = work.steps;
  steps.push_back([](LoggedFilter& f) { return f.settle(); });
  steps.push_back([](LoggedFilter& f) { return f.flush(); });
  for (const Step& step : steps) {
    Status status = step(filter);
    if (!status.ok() && repeat && filter.usable()) {
      storage.fail_at(0);
      status = step(filter);
    }
    CUCKOO_TRY(std::move(status));
  }
  return {};
}

class FaultyStorage : public ::testing::TestWithParam<ErrorCode> {};

TEST_P(FaultyStorage, each_call_fails_in_turn_and_a_rollback_restores_everything) {
  for (const Work& work : all_work()) {
    const FilterOptions options = small_options(work.growth);
    const StoredRows start = starting_rows(options);
    MemoryStorage storage;
    storage.restore(start);
    LoggedFilter filter(options, storage);
    ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
    storage.calls = {};
    ASSERT_TRUE(run(filter, storage, work, false).ok());
    ASSERT_TRUE(filter.check().ok());
    const StoredRows end = storage.snapshot();
    const uint64_t calls = storage.calls.all();
    const uint64_t stride = 1 + calls / 400;  // of thousands of calls, hundreds
    const uint64_t first = 1 + static_cast<uint64_t>(GetParam()) % stride;
    for (uint64_t n = first; n <= calls && !HasFailure(); n += stride) {
      SCOPED_TRACE(std::string(work.name) + ", growth " + std::to_string(work.growth) + ", call " +
                   std::to_string(n) + " of " + std::to_string(calls));
      storage.restore(start);
      filter.forget();
      storage.fail_at(0);
      ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
      storage.fail_at(n, GetParam());
      const Status status = run(filter, storage, work, false);
      if (!storage.failed()) {
        break;  // the warm filter reads less than the cold one did
      }
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, GetParam());
      if (!filter.usable()) {  // I7: poisoned
        EXPECT_FALSE(filter.flush().ok());
        EXPECT_FALSE(filter.refresh(start.record).ok());
        EXPECT_FALSE(filter.check().ok());
      }
      storage.restore(start);
      filter.forget();
      ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
      expect_starting_keys(filter);
      ASSERT_TRUE(filter.check().ok());
      ASSERT_TRUE(filter.settle().ok() && filter.flush().ok());
      ASSERT_EQ(difference(start, storage.rows), "") << "nothing is pending after a rollback";
      const Status again = run(filter, storage, work, false);
      ASSERT_TRUE(again.ok()) << message_of(again);
      ASSERT_EQ(difference(end, storage.rows), "") << "I5";
    }
  }
}

TEST_P(FaultyStorage, I7_a_call_that_fails_without_poison_can_be_repeated) {
  uint64_t repeated = 0;
  for (const Work& work : all_work()) {
    const FilterOptions options = small_options(work.growth);
    const StoredRows start = starting_rows(options);
    StoredRows end;
    for (uint64_t n = 0; !HasFailure(); ++n) {  // 0: no fault
      SCOPED_TRACE(std::string(work.name) + ", growth " + std::to_string(work.growth) + ", call " +
                   std::to_string(n));
      MemoryStorage storage;
      storage.restore(start);
      LoggedFilter filter(options, storage);
      ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
      storage.fail_at(n, GetParam());
      const Status status = run(filter, storage, work, true);
      if (n == 0) {
        end = storage.snapshot();
      } else if (!storage.failed()) {
        break;
      }
      if (!status.ok()) {
        EXPECT_FALSE(filter.usable());
        continue;
      }
      ++repeated;
      ASSERT_EQ(difference(end, storage.rows), "");
      ASSERT_TRUE(filter.check().ok());
    }
  }
  EXPECT_GT(repeated, 50u);
}

TEST_P(FaultyStorage, refresh_that_fails_can_be_repeated) {
  const FilterOptions options = small_options(true);
  MemoryStorage storage;
  storage.restore(starting_rows(options));
  LoggedFilter writer(options, storage);
  ASSERT_TRUE(writer.refresh(storage.rows.record).ok());
  for (uint64_t turn = 0; turn < 12; ++turn) {
    for (uint64_t n = 1;; ++n) {  // a reader that knows the state of some turns ago
      LoggedFilter reader(options, storage);
      ASSERT_TRUE(reader.refresh(storage.rows.record).ok());
      const StoredRows before = storage.snapshot();
      for (uint64_t i = 0; i < 1 + turn * 70; ++i) {
        ASSERT_TRUE(writer.insert(nth_hash(5000 + i)).ok());
      }
      ASSERT_TRUE(writer.settle().ok() && writer.flush().ok());
      storage.fail_at(n, GetParam());
      const Status status = reader.refresh(storage.rows.record);
      const bool failed = storage.failed();
      storage.fail_at(0);
      EXPECT_EQ(status.ok(), !failed);
      EXPECT_EQ(reader.usable(), !failed);
      ASSERT_TRUE(reader.refresh(storage.rows.record).ok());
      EXPECT_EQ(reader.items(), writer.items());
      EXPECT_EQ(reader.record(), writer.record());
      ASSERT_TRUE(reader.check().ok());
      storage.restore(before);
      writer.forget();
      ASSERT_TRUE(writer.refresh(storage.rows.record).ok());
      if (!failed) {
        break;
      }
    }
  }
}

TEST_P(FaultyStorage, check_that_fails_changes_nothing) {
  const FilterOptions options = small_options(true);
  MemoryStorage storage;
  storage.restore(starting_rows(options));
  LoggedFilter filter(options, storage);
  ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
  for (uint64_t n = 1;; ++n) {
    storage.fail_at(n, GetParam());
    const Status status = filter.check();
    if (!storage.failed()) {
      EXPECT_TRUE(status.ok()) << message_of(status);
      break;
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, GetParam());
    EXPECT_TRUE(filter.usable());
  }
  storage.fail_at(0);
  EXPECT_TRUE(filter.check().ok());
  expect_starting_keys(filter);
}

INSTANTIATE_TEST_SUITE_P(Codes, FaultyStorage,
                         ::testing::Values(ErrorCode::kStorage, ErrorCode::kInterrupted),
                         [](const auto& info) {
                           return info.param == ErrorCode::kStorage ? "storage" : "interrupted";
                         });

// A row that is damaged is refused when it is read, and nothing is changed by that.
TEST(DamagedStorage, I7_a_fold_over_damaged_pages_changes_nothing) {
  const FilterOptions options = small_options(true);
  const StoredRows start = starting_rows(options);
  MemoryStorage storage;
  storage.restore(start);
  LoggedFilter filter(options, storage);
  ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
  storage.rows.pages.rbegin()->second[5] ^= std::byte{1};
  Status status;
  uint64_t added = 0;
  for (; status.ok() && added < 2000; ++added) {
    status = filter.insert(nth_hash(9000 + added));
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(status.error().message.find("page row"), std::string::npos) << message_of(status);
  EXPECT_TRUE(filter.usable());
  EXPECT_EQ(filter.items(), 530 + added - 1);
  storage.rows.pages = start.pages;
  EXPECT_TRUE(filter.insert(nth_hash(9000 + added)).ok()) << "the page is good again";
  EXPECT_TRUE(filter.settle().ok() && filter.flush().ok());
  EXPECT_TRUE(filter.check().ok());
}

// Every byte of what is stored, changed in turn: an error, or the right answers.
TEST(DamagedStorage, every_changed_byte_is_an_error_or_harmless) {
  const FilterOptions options = small_options(true);
  const StoredRows start = starting_rows(options);
  const auto probe_all = [&](MemoryStorage& storage) -> Status {
    LoggedFilter filter(options, storage);
    CUCKOO_TRY(filter.refresh(storage.rows.record));
    for (uint64_t i = 0; i < 500; ++i) {
      CUCKOO_TRY(filter.load(nth_hash(i)));
      if (!filter.contains(nth_hash(i))) {
        ADD_FAILURE() << "lost key " << i;
      }
    }
    return filter.check();
  };
  MemoryStorage storage;
  storage.restore(start);
  ASSERT_TRUE(probe_all(storage).ok());
  const auto damage_each = [&](test::Bytes& row) {
    for (std::byte& byte : row) {
      const std::byte before = byte;
      byte ^= std::byte{0x81};
      const Status status = probe_all(storage);
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
      byte = before;
    }
  };
  damage_each(storage.rows.record);
  damage_each(storage.rows.pages.begin()->second);
  damage_each(storage.rows.pages.rbegin()->second);
  damage_each(storage.rows.log.begin()->second);
  damage_each(storage.rows.log.rbegin()->second);
}

}  // namespace
}  // namespace cuckoo
