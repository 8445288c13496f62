// LoggedFilters of every kind over a storage that fails: each call in turn (of very many, every
// n-th).
#include <gtest/gtest.h>

#include <functional>
#include <tuple>

#include "core/stored/contents.hpp"
#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"
#include "tests/slow.hpp"

namespace cuckoo {
namespace {

using test::difference;
using test::FilterCase;
using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::StoredRows;

using Step = std::function<Status(LoggedFilter&)>;

FilterOptions small_options(const FilterCase& filter_case) {
  return test::options_for(filter_case, 700, 0.05, 64);
}

Step insert(uint64_t i) {
  return [i](LoggedFilter& filter) { return filter.insert(nth_hash(i)); };
}
Step remove(uint64_t i) {
  return [i](LoggedFilter& filter) { return filter.remove(nth_hash(i)).take_status(); };
}
Step replace(uint64_t from, uint64_t to) {
  return [=](LoggedFilter& filter) {
    return filter.replace(nth_hash(from), nth_hash(to)).take_status();
  };
}
Step flush() {
  return [](LoggedFilter& filter) { return filter.flush(); };
}
void append_inserts(std::vector<Step>& steps, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; ++i) {
    steps.push_back(insert(i));
  }
}

Step clear() {
  return [](LoggedFilter& filter) { return filter.clear(); };
}
Step import(bool with_hashes) {
  return [with_hashes](LoggedFilter& filter) {
    HashCollection collection(filter.options().width);
    std::vector<uint64_t> hashes = {nth_hash(5000), nth_hash(5001), nth_hash(5001)};
    for (uint64_t i = 0; i < 600; ++i) {
      hashes.push_back(nth_hash(6000 + i));
    }
    FilterContents contents = test::contents_of(hashes, filter.options(), collection);
    contents.hashes = with_hashes ? contents.hashes : nullptr;
    return filter.import(filter.options(), std::move(contents));
  };
}
// The filter has growth off, or is empty.
Step unite() {
  return [](LoggedFilter& filter) {
    HashCollection collection(filter.options().width);
    const FilterContents other =
        test::contents_of({nth_hash(5000), nth_hash(5001)}, filter.options(), collection);
    return filter.unite(*other.filter, other.items);
  };
}
Step contents() {
  return [](LoggedFilter& filter) { return filter.contents(filter.keeps_hashes()).take_status(); };
}

struct Work {
  const char* name;
  std::vector<Step> steps;  // fold_rest() and flush() follow
};

std::vector<Work> all_work(const FilterCase& filter_case) {
  std::vector<Work> all;
  const bool removes = filter_case.multiset();
  Work small{"small", {insert(700)}};
  if (removes) {
    small.steps.insert(small.steps.end(), {remove(3), insert(3), flush(), remove(700),
                                           replace(4, 701), replace(900, 5)});
  }
  small.steps.push_back(contents());
  all.push_back(std::move(small));
  Work fold{"fold", {}};
  for (uint64_t i = 0; i < 290; ++i) {
    if (removes) {
      fold.steps.push_back(remove(i));
    }
    fold.steps.push_back(insert(i < 150 || removes ? 1000 + i : i));
  }
  fold.steps.push_back([](LoggedFilter& filter) { return filter.fold(); });
  fold.steps.push_back(flush());
  for (uint64_t i = 0; i < 40; ++i) {
    if (removes) {
      fold.steps.push_back(remove(1));
    }
    fold.steps.push_back(insert(450));  // its copies overflow
  }
  fold.steps.push_back(contents());
  all.push_back(std::move(fold));
  all.push_back({"clear", {insert(700), clear()}});
  append_inserts(all.back().steps, 0, 600);
  all.push_back({"import", {insert(700), import(false), insert(701), contents()}});
  all.push_back({"import hashes", {insert(700), flush(), import(true), insert(701), contents()}});
  all.push_back({"unite", {insert(700)}});
  if (filter_case.growth) {
    all.back().steps.push_back(clear());
  }
  all.back().steps.insert(all.back().steps.end(), {unite(), insert(701), flush(), insert(702)});
  if (!filter_case.growth) {
    return all;
  }
  all.push_back({"grow", {}});
  append_inserts(all.back().steps, 2000, 3300);
  all.push_back({"rebuild", {insert(700), flush()}});
  append_inserts(all.back().steps, 701, 760);
  all.back().steps.push_back([](LoggedFilter& f) { return f.rebuild(900); });
  append_inserts(all.back().steps, 760, 770);
  all.back().steps.push_back(contents());
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
  EXPECT_TRUE(filter.fold().ok() && filter.flush().ok());
  return storage.snapshot();
}

void expect_starting_keys(LoggedFilter& filter) {
  if (filter.multiset()) {
    EXPECT_EQ(filter.items(), 530u);
  } else {
    EXPECT_GE(filter.items(), 490u);
    EXPECT_LE(filter.items(), 500u);
  }
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(filter.load(nth_hash(i)).ok());
    ASSERT_TRUE(filter.contains(nth_hash(i))) << i;
  }
}

// All steps, then the commit. A step that fails without poisoning the filter is done again when
// `repeat`; else the first failure is returned.
Status run(LoggedFilter& filter, MemoryStorage& storage, const Work& work, bool repeat) {
  std::vector<Step> steps = work.steps;
  steps.push_back([](LoggedFilter& f) { return f.fold_rest(); });
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

class FaultyStorage : public ::testing::TestWithParam<std::tuple<FilterCase, ErrorCode>> {
 protected:
  static FilterCase filter_case() { return std::get<0>(GetParam()); }
  static ErrorCode code() { return std::get<1>(GetParam()); }
  static FilterOptions options() { return small_options(filter_case()); }
};

TEST_P(FaultyStorage, each_call_fails_in_turn_and_a_rollback_restores_everything) {
  const StoredRows start = starting_rows(options());
  for (const Work& work : all_work(filter_case())) {
    MemoryStorage storage;
    storage.restore(start);
    LoggedFilter filter(options(), storage);
    ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
    storage.calls = {};
    ASSERT_TRUE(run(filter, storage, work, false).ok());
    ASSERT_TRUE(filter.check().ok());
    const StoredRows end = storage.snapshot();
    const uint64_t calls = storage.calls.all();
    const uint64_t stride = 1 + calls / 250;  // of thousands of calls, hundreds
    const uint64_t first = 1 + static_cast<uint64_t>(code()) % stride;
    for (uint64_t n = first; n <= calls && !HasFailure(); n += stride) {
      SCOPED_TRACE(std::string(work.name) + ", call " + std::to_string(n) + " of " +
                   std::to_string(calls));
      storage.restore(start);
      filter.forget();
      storage.fail_at(0);
      ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
      storage.fail_at(n, code());
      const Status status = run(filter, storage, work, false);
      if (!storage.failed()) {
        break;  // the warm filter reads less than the cold one did
      }
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(status.error().code, code());
      if (filter.poisoned()) {  // I7
        EXPECT_FALSE(filter.flush().ok());
        EXPECT_FALSE(filter.refresh(start.record).ok());
        EXPECT_FALSE(filter.check().ok());
      }
      storage.restore(start);
      filter.forget();
      ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
      expect_starting_keys(filter);
      ASSERT_TRUE(filter.check().ok());
      ASSERT_TRUE(filter.fold_rest().ok() && filter.flush().ok());
      ASSERT_EQ(difference(start, storage.rows), "") << "nothing is pending after a rollback";
      const Status again = run(filter, storage, work, false);
      ASSERT_TRUE(again.ok()) << message_of(again);
      ASSERT_EQ(difference(end, storage.rows), "") << "I5";
    }
  }
}

TEST_P(FaultyStorage, I7_a_call_that_fails_without_poison_can_be_repeated) {
  uint64_t repeated = 0;
  const StoredRows start = starting_rows(options());
  for (const Work& work : all_work(filter_case())) {
    StoredRows end;
    const uint64_t stride = code() == ErrorCode::kStorage ? (test::kSlow ? 4 : 1) : 7;
    for (uint64_t n = 0; !HasFailure(); n += n < 20 ? 1 : stride) {  // 0: no fault
      SCOPED_TRACE(std::string(work.name) + ", call " + std::to_string(n));
      MemoryStorage storage;
      storage.restore(start);
      LoggedFilter filter(options(), storage);
      ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
      storage.fail_at(n, code());
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
  EXPECT_GT(repeated, code() == ErrorCode::kStorage ? 25u : 10u);
}

TEST_P(FaultyStorage, refresh_that_fails_can_be_repeated) {
  MemoryStorage storage;
  storage.restore(starting_rows(options()));
  LoggedFilter writer(options(), storage);
  ASSERT_TRUE(writer.refresh(storage.rows.record).ok());
  for (uint64_t turn = 0; turn < 12; ++turn) {
    for (uint64_t n = 1;; ++n) {  // a reader that knows the state of some turns ago
      LoggedFilter reader(options(), storage);
      ASSERT_TRUE(reader.refresh(storage.rows.record).ok());
      const StoredRows before = storage.snapshot();
      for (uint64_t i = 0; i < 1 + turn * (filter_case().growth ? 70 : 10); ++i) {
        ASSERT_TRUE(writer.insert(nth_hash(5000 + i)).ok());
      }
      ASSERT_TRUE(turn % 2 == 0 || writer.fold().ok());
      ASSERT_TRUE(writer.fold_rest().ok() && writer.flush().ok());
      storage.fail_at(n, code());
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
  MemoryStorage storage;
  storage.restore(starting_rows(options()));
  LoggedFilter filter(options(), storage);
  ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
  for (uint64_t n = 1;; ++n) {
    storage.fail_at(n, code());
    const Status status = filter.check();
    if (!storage.failed()) {
      EXPECT_TRUE(status.ok()) << message_of(status);
      break;
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code());
    EXPECT_TRUE(filter.usable());
  }
  storage.fail_at(0);
  EXPECT_TRUE(filter.check().ok());
  expect_starting_keys(filter);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FaultyStorage,
                         ::testing::Combine(::testing::ValuesIn(test::all_cases()),
                                            ::testing::Values(ErrorCode::kStorage,
                                                              ErrorCode::kInterrupted)),
                         [](const auto& info) {
                           const bool storage = std::get<1>(info.param) == ErrorCode::kStorage;
                           return test::name_of(std::get<0>(info.param)) +
                                  (storage ? "_storage" : "_interrupted");
                         });

class DamagedStorage : public ::testing::TestWithParam<FilterCase> {};

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedStorage, ::testing::ValuesIn(test::all_cases()),
                         [](const auto& info) { return test::name_of(info.param); });

// A row that is damaged is refused when it is read, and nothing is changed by that.
TEST_P(DamagedStorage, I7_a_fold_over_damaged_pages_changes_nothing) {
  const FilterOptions options = small_options(GetParam());
  const StoredRows start = starting_rows(options);
  MemoryStorage storage;
  storage.restore(start);
  LoggedFilter filter(options, storage);
  ASSERT_TRUE(filter.refresh(storage.rows.record).ok());
  storage.rows.pages.rbegin()->second[5] ^= std::byte{1};
  Status status;
  uint64_t added = 0;
  uint64_t items = filter.items();
  for (; status.ok() && added < (GetParam().growth ? 2000 : 100); ++added) {
    items = filter.items();
    status = filter.insert(nth_hash(9000 + added));
  }
  if (status.ok()) {
    items = filter.items();
    status = filter.fold();
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(status.error().message.find("page row"), std::string::npos) << message_of(status);
  EXPECT_TRUE(filter.usable());
  EXPECT_EQ(filter.items(), items);
  storage.rows.pages = start.pages;
  EXPECT_TRUE(filter.insert(nth_hash(9000 + added)).ok()) << "the page is good again";
  EXPECT_TRUE(filter.fold_rest().ok() && filter.flush().ok());
  EXPECT_TRUE(filter.check().ok());
}

// Every byte of what is stored, changed in turn: an error, or the right answers.
TEST_P(DamagedStorage, every_changed_byte_is_an_error_or_harmless) {
  const FilterOptions options = small_options(GetParam());
  MemoryStorage storage;
  storage.restore(starting_rows(options));
  LoggedFilter writer(options, storage);
  ASSERT_TRUE(writer.refresh(storage.rows.record).ok());
  ASSERT_TRUE(writer.insert(nth_hash(9000)).ok() && writer.flush().ok());  // a tail
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
