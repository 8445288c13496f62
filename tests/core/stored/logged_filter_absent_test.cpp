// Pages without a row: of a filter that has room for far more than is in it, and rows that somebody
// deleted.
#include <gtest/gtest.h>

#include <set>

#include "core/stored/logged_filter.hpp"
#include "core/stored/window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;

class AbsentRows : public test::KindsTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, AbsentRows, ::testing::ValuesIn(test::all_cases()),
                         test::kCaseName);

std::string first_page(const StoredFilter& stored) {
  return "page row " + std::to_string(stored.storage.rows.pages.begin()->first);
}

// The first load that fails tells so; until then nothing but the pages asked for is read.
Status probe_all(LoggedFilter& cold, MemoryStorage& storage, uint64_t end) {
  for (uint64_t i = 0; i < end; ++i) {
    storage.calls = {};
    uint64_t pages[Filter::kMaxPlaces];
    const size_t count = cold.base().pages_of(nth_hash(i), pages);
    Status status = cold.load(nth_hash(i));
    EXPECT_LE(storage.calls.reads, count);
    EXPECT_LE(storage.calls.rows_read, count);
    CUCKOO_TRY(std::move(status));
    EXPECT_TRUE(cold.contains(nth_hash(i))) << i;
  }
  return {};
}

TEST_P(AbsentRows, one_that_is_missing_is_an_error_at_first_touch_where_all_but_one_have_one) {
  StoredFilter stored(options(4000));
  stored.add(0, 3500);
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  const uint64_t rows = stored.filter.record().page_rows;
  ASSERT_GT(rows, 3u);
  ASSERT_GE(rows + 1, stored.filter.base().pages().page_count()) << "the last page may be empty";
  LoggedFilter good(stored.filter.options(), stored.storage);
  ASSERT_TRUE(good.refresh(stored.storage.rows.record).ok());
  EXPECT_TRUE(probe_all(good, stored.storage, 3500).ok());

  const std::string name = first_page(stored);
  stored.storage.rows.pages.erase(stored.storage.rows.pages.begin());
  LoggedFilter cold(stored.filter.options(), stored.storage);
  ASSERT_TRUE(cold.refresh(stored.storage.rows.record).ok());
  const Status status = probe_all(cold, stored.storage, 3500);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(status.error().message, name + ": is missing");
}

TEST_P(AbsentRows, one_that_is_missing_among_few_is_found_when_all_are_read) {
  StoredFilter stored(options(2'000'000));
  stored.add(0, 40);
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  stored.storage.rows.pages.erase(stored.storage.rows.pages.begin());
  const auto expect_found = [&](const Status& status, const char* what) {
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << what;
    EXPECT_NE(status.error().message.find("page rows, expected "), std::string::npos) << what;
  };
  LoggedFilter folding(stored.filter.options(), stored.storage);
  ASSERT_TRUE(folding.refresh(stored.storage.rows.record).ok());
  ASSERT_TRUE(folding.insert(nth_hash(100'000)).ok());
  expect_found(folding.fold(), "fold");
  LoggedFilter exported(stored.filter.options(), stored.storage);
  ASSERT_TRUE(exported.refresh(stored.storage.rows.record).ok());
  expect_found(exported.contents(false).take_status(), "contents");
  expect_found(exported.check(), "check");
}

// To remember which pages have no row takes no more than the rows that there are.
TEST_P(AbsentRows, are_remembered_until_it_is_cheaper_to_load_all) {
  StoredFilter stored(options(2'000'000));
  stored.add(0, 40);
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  const uint64_t rows = stored.filter.record().page_rows;
  const uint64_t pages = stored.filter.base().pages().page_count();
  ASSERT_LT(10 * rows, pages);
  LoggedFilter cold(stored.filter.options(), stored.storage);
  ASSERT_TRUE(cold.refresh(stored.storage.rows.record).ok());
  stored.storage.calls = {};
  for (uint64_t i = 0; i < 5000; ++i) {
    ASSERT_TRUE(cold.load(nth_hash(i)).ok());
    ASSERT_EQ(cold.contains(nth_hash(i)), stored.filter.contains(nth_hash(i))) << i;
  }
  EXPECT_LE(stored.storage.calls.rows_read, 2 * rows);
  EXPECT_LE(stored.storage.calls.reads, 2 * rows + 2);
  EXPECT_EQ(cold.base().pages().backed_count(), rows);
}

TEST_P(AbsentRows, of_a_filter_without_rows_are_never_asked_for) {
  StoredFilter stored(options(uint64_t{1} << 36));
  stored.add(0, 10);
  stored.commit();
  LoggedFilter cold(stored.filter.options(), stored.storage);
  ASSERT_TRUE(cold.refresh(stored.storage.rows.record).ok());
  stored.storage.calls = {};
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(cold.load(nth_hash(i)).ok());
    ASSERT_EQ(cold.contains(nth_hash(i)), i < 10) << i;
  }
  EXPECT_EQ(stored.storage.calls.reads, 0u);
  EXPECT_EQ(cold.base().pages().backed_count(), 0u);
}

TEST_P(AbsentRows, of_an_older_generation_are_an_error_too) {
  FilterOptions many = options(2000);
  many.generations = 3;
  MemoryStorage storage;
  FilterWindow window(many, storage);
  ASSERT_TRUE(window.create().ok());
  for (uint64_t i = 0; i < 1800; ++i) {
    ASSERT_TRUE(window.newest().insert(nth_hash(i)).ok());
  }
  ASSERT_TRUE(window.rotate().ok());
  ASSERT_TRUE(window.flush().ok());
  ASSERT_FALSE(storage.rows.pages.empty());
  const std::string name = "page row " + std::to_string(storage.rows.pages.begin()->first);
  storage.rows.pages.erase(storage.rows.pages.begin());
  FilterWindow cold(many, storage);
  ASSERT_TRUE(cold.refresh(storage.rows.record).ok());
  Status status;
  for (uint64_t i = 0; i < 1800 && status.ok(); ++i) {
    status = cold.load(nth_hash(i));
    EXPECT_TRUE(!status.ok() || cold.contains(nth_hash(i))) << i;
  }
  EXPECT_EQ(message_of(status), name + ": is missing");
}

// What is in memory is one thing, what is stored another: a zero page of its own is like none.
TEST_P(AbsentRows, of_a_giant_filter_give_the_same_bytes_in_memory_or_not) {
  const FilterOptions giant = options(uint64_t{1} << 35);
  const auto imported = [&](bool own_zero_pages) {
    StoredFilter stored(giant);
    HashCollection hashes(giant.width);
    for (uint64_t i = 0; i < 20; ++i) {
      hashes.add(nth_hash(i));
    }
    Result<FilterContents> contents =
        hashes.build(giant.spec, giant.capacity, HashCollection::Growth::kOff, giant.page_bytes);
    EXPECT_TRUE(contents.ok());
    contents.value().hashes = nullptr;
    for (uint64_t page = 0; own_zero_pages && page < 100'000; page += 1000) {
      (void)contents.value().filter->pages().writable(page);
    }
    EXPECT_TRUE(stored.filter.import(giant, std::move(contents.value())).ok());
    stored.commit();
    EXPECT_EQ(stored.missing(0, 20), 0u);
    stored.expect_good();
    return stored.storage.rows;
  };
  EXPECT_EQ(test::difference(imported(false), imported(true)), "");
}

}  // namespace
}  // namespace cuckoo
