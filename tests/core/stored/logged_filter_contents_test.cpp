// What goes into a LoggedFilter and comes out of it as a whole: contents(), import(), unite(),
// clear() and erase_epoch(), for every kind. And the filter of pairs, which has no log.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/stored/contents.hpp"
#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::answers_of;
using test::Counts;
using test::counts_of;
using test::difference;
using test::FilterCase;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;
using test::StoredRows;

Counts hashes_of(const FilterContents& contents) {
  const Counts counts = counts_of(contents.hashes);
  EXPECT_EQ(counts.size(), contents.hash_count);
  return counts;
}

// Where pages are canonical, equal contents are equal bytes; else equal digests.
void expect_same_cells(const Filter& a, const Filter& b) {
  ASSERT_EQ(a.words(), b.words());
  EXPECT_EQ(a.digest(), b.digest());
  if (!a.canonical()) {
    return;
  }
  EXPECT_EQ(a.occupied(), b.occupied());
  EXPECT_EQ(a.overflow().counts(), b.overflow().counts());
  for (uint64_t index = 0; index < a.pages().page_count(); ++index) {
    const std::byte* left = a.pages().find(index);
    const std::byte* right = b.pages().find(index);
    ASSERT_TRUE(left != nullptr && right != nullptr) << index;
    ASSERT_TRUE(std::equal(left, left + a.content_bytes(index), right)) << "page " << index;
  }
}

class LoggedFilterContents : public test::KindsTest {
 protected:
  // Pages, overflow entries and a tail of adds and removes. What is in it then.
  static Counts fill(StoredFilter& stored) {
    Counts counts;
    for (uint64_t i = 0; i < 900; ++i) {
      counts[nth_hash(i)] = 1;
    }
    stored.add(0, 900);
    stored.add_copies(7, 40);
    EXPECT_TRUE(stored.filter.fold().ok());
    stored.commit();
    stored.add(900, 950);
    stored.add_copies(8, 30);
    stored.add(3, 6);
    for (uint64_t i = 900; i < 950; ++i) {
      counts[nth_hash(i)] = 1;
    }
    if (multiset()) {
      counts[nth_hash(7)] = 41;
      counts[nth_hash(8)] = 31;
      for (const uint64_t i : {3, 4, 5}) {
        counts[nth_hash(i)] = 2;
      }
      for (const uint64_t i : {3, 3, 4, 10, 20, 7, 8, 920}) {
        EXPECT_TRUE(stored.remove(nth_hash(i)));
        if (--counts[nth_hash(i)] == 0) {
          counts.erase(nth_hash(i));
        }
      }
    }
    return counts;
  }
  static std::vector<uint64_t> range(uint64_t first, uint64_t end) {
    std::vector<uint64_t> hashes;
    for (uint64_t i = first; i < end; ++i) {
      hashes.push_back(nth_hash(i));
    }
    return hashes;
  }
};

class GrowingFilterContents : public LoggedFilterContents {};
class FixedFilterContents : public LoggedFilterContents {};

INSTANTIATE_TEST_SUITE_P(Kinds, LoggedFilterContents, ::testing::ValuesIn(test::all_cases()),
                         test::kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingFilterContents,
                         ::testing::ValuesIn(test::cases_where(test::grows)), test::kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, FixedFilterContents,
                         ::testing::ValuesIn(test::cases_where(test::is_fixed)), test::kCaseName);

// ---- contents

TEST_P(LoggedFilterContents, contents_are_what_a_fold_would_leave_and_change_nothing) {
  StoredFilter stored(options(2000, 0.05));
  const Counts expected = fill(stored);
  const std::vector<uint64_t> answers = answers_of(stored.filter, 3000);
  const StoredRows before = stored.storage.snapshot();
  const uint64_t tail = stored.filter.tail_entries();
  ASSERT_GE(tail, 40u);
  for (const bool with_hashes : {false, true}) {
    Result<FilterContents> taken = stored.filter.contents(with_hashes);
    EXPECT_EQ(difference(before, stored.storage.rows), "");
    EXPECT_EQ(stored.filter.tail_entries(), tail);
    EXPECT_EQ(answers_of(stored.filter, 3000), answers);
    ASSERT_EQ(taken.ok(), !with_hashes || growth());
    if (!taken.ok()) {
      EXPECT_EQ(taken.error().code, ErrorCode::kInvalid);
      continue;
    }
    const FilterContents& contents = taken.value();
    EXPECT_EQ(contents.items, stored.filter.items());
    EXPECT_EQ(contents.capacity, 2000u);
    EXPECT_TRUE(contents.filter->check().ok()) << message_of(contents.filter->check());
    ASSERT_EQ(contents.hashes != nullptr, with_hashes);
    if (with_hashes) {
      EXPECT_EQ(hashes_of(contents), expected);
      EXPECT_EQ(hashes_of(contents), expected) << "as often as asked";
    }
    StoredFilter folded(options(2000, 0.05));
    (void)fill(folded);
    ASSERT_TRUE(folded.filter.fold().ok());
    expect_same_cells(*contents.filter, folded.filter.base());
  }
}

TEST_P(LoggedFilterContents, contents_of_an_empty_filter_are_empty) {
  StoredFilter stored(options(100));
  for (const bool with_hashes : {false, true}) {
    Result<FilterContents> taken = stored.filter.contents(with_hashes && growth());
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(taken.value().items, 0u);
    EXPECT_EQ(taken.value().filter->occupied(), 0u);
    EXPECT_EQ(taken.value().hash_count, 0u);
  }
}

// What was removed before it was added keeps its add, as a rebuild at the same moment would.
TEST_P(GrowingFilterContents, hashes_of_the_tail_cancel_in_log_order) {
  if (!multiset()) {
    return;
  }
  StoredFilter stored(options(200, 0.25));
  stored.add(0, 200);
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  uint64_t stranger = 1000;
  while (!stored.has(nth_hash(stranger))) {
    ++stranger;
  }
  ASSERT_TRUE(stored.remove(nth_hash(stranger)));
  stored.add(stranger, stranger + 1);
  Result<FilterContents> taken = stored.filter.contents(true);
  ASSERT_TRUE(taken.ok());
  const Counts hashes = hashes_of(taken.value());
  EXPECT_EQ(hashes.size(), 201u);
  EXPECT_EQ(hashes.count(nth_hash(stranger)), 1u);
  EXPECT_EQ(taken.value().items, 201u);
  EXPECT_TRUE(verify_hashes(taken.value()).ok());
  ASSERT_TRUE(stored.filter.rebuild(300).ok());
  EXPECT_EQ(stored.filter.items(), 201u);
}

// The tail is more than the pages are made for: a fold would grow the filter, and so is the copy.
TEST_P(GrowingFilterContents, contents_that_outgrow_the_filter_are_made_for_more) {
  StoredFilter stored(options(100));
  stored.add(0, 450);
  ASSERT_EQ(stored.filter.tail_entries(), 450u);
  for (const bool with_hashes : {false, true}) {
    Result<FilterContents> taken = stored.filter.contents(with_hashes);
    ASSERT_TRUE(taken.ok()) << taken.error().message;
    const FilterContents& contents = taken.value();
    EXPECT_EQ(contents.capacity, 450u);
    EXPECT_EQ(contents.items, stored.filter.items());
    EXPECT_LE(contents.filter->rate_now(), 0.01 * 1.2);
    EXPECT_TRUE(contents.filter->check().ok());
    for (uint64_t i = 0; i < 450; ++i) {
      ASSERT_EQ(contents.filter->probe(nth_hash(i)), Filter::Answer::kPresent) << i;
    }
    EXPECT_EQ(hashes_of(contents).size(), 450u);
  }
  EXPECT_EQ(stored.filter.capacity(), 100u);
}

// ---- import

TEST_P(LoggedFilterContents, import_with_hashes_is_as_if_all_had_been_added) {
  StoredFilter source(test::options_for({GetParam().kind, true}, 2000, 0.05));
  const Counts expected = fill(source);
  source.commit();
  Result<FilterContents> taken = source.filter.contents(true);
  ASSERT_TRUE(taken.ok());
  StoredFilter stored(options(30));
  stored.add(5000, 5030);
  stored.commit();
  const auto last_row = static_cast<int64_t>(stored.filter.record().end_row);
  FilterOptions imported = options(2000, 0.05);
  ASSERT_TRUE(stored.filter.import(imported, std::move(taken.value())).ok());
  EXPECT_EQ(stored.filter.items(), source.filter.items());
  EXPECT_EQ(stored.filter.capacity(), 2000u);
  EXPECT_EQ(stored.filter.keeps_hashes(), growth());
  const std::vector<uint64_t> answers = answers_of(stored.filter, 6000);
  stored.commit();
  stored.expect_good();
  ASSERT_EQ(stored.storage.rows.log.empty(), !growth());
  EXPECT_TRUE(!growth() || stored.storage.rows.log.begin()->first > last_row);
  LoggedFilter follower(imported, stored.storage);
  ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(answers_of(follower, 6000), answers);
  for (const auto& [hash, count] : expected) {
    ASSERT_TRUE(stored.filter.load(hash).ok());
    ASSERT_GE(stored.filter.count(hash), count);
  }
  if (!growth()) {
    EXPECT_EQ(stored.filter.rebuild(5000).error().code, ErrorCode::kInvalid);
    return;
  }
  stored.add(10000, 15000);
  stored.commit();
  EXPECT_EQ(stored.missing(10000, 15000), 0u);
  ASSERT_TRUE(stored.filter.rebuild(9000).ok());
  stored.commit();
  stored.expect_good();
  for (const auto& [hash, count] : expected) {
    ASSERT_TRUE(stored.filter.load(hash).ok());
    ASSERT_GE(stored.filter.count(hash), count);
  }
}

TEST_P(LoggedFilterContents, import_without_hashes_holds_the_same_and_can_not_grow) {
  StoredFilter source(test::options_for({GetParam().kind, true}, 2000, 0.05));
  (void)fill(source);
  source.commit();
  Result<FilterContents> taken = source.filter.contents(false);
  ASSERT_TRUE(taken.ok());
  ASSERT_EQ(taken.value().hashes, nullptr);
  StoredFilter stored(options(2000, 0.05));
  stored.add(5000, 5030);
  stored.commit();
  ASSERT_TRUE(stored.filter.import(stored.filter.options(), std::move(taken.value())).ok());
  ASSERT_TRUE(source.filter.fold().ok());
  const std::vector<uint64_t> answers = answers_of(source.filter, 6000);
  EXPECT_EQ(answers_of(stored.filter, 6000), answers);
  EXPECT_FALSE(stored.filter.keeps_hashes());
  stored.commit();
  stored.expect_good();
  LoggedFilter follower(stored.filter.options(), stored.storage);
  ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
  EXPECT_EQ(answers_of(follower, 6000), answers);
  EXPECT_FALSE(follower.keeps_hashes());
  EXPECT_EQ(stored.filter.rebuild(5000).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(stored.filter.contents(true).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(stored.filter.contents(false).ok());
  // It takes what its capacity allows, in small transactions, then says why not more.
  Status status;
  uint64_t added = 0;
  for (; status.ok() && added < 5000; ++added) {
    status = stored.filter.insert(nth_hash(20000 + added));
    if (added % 50 == 0) {
      stored.commit();
    }
  }
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  EXPECT_NE(message_of(status).find(growth() ? "came without hashes" : "growth is off"),
            std::string::npos)
      << message_of(status);
  EXPECT_GE(added, 900u);
  stored.commit();
  EXPECT_EQ(stored.missing(20000, 20000 + added - 1), 0u);
  stored.expect_good();
  ASSERT_TRUE(stored.filter.clear().ok());
  EXPECT_EQ(stored.filter.keeps_hashes(), growth());
  stored.add(0, growth() ? 5000 : 2000);
  stored.commit();
  stored.expect_good();
}

TEST_P(LoggedFilterContents, import_of_nothing_empties_the_filter) {
  StoredFilter stored(options(500));
  stored.add(0, 400);
  stored.commit();
  HashCollection collection(stored.filter.options().width);
  FilterContents contents = test::contents_of({}, stored.filter.options(), collection);
  contents.hashes = nullptr;
  ASSERT_TRUE(stored.filter.import(stored.filter.options(), std::move(contents)).ok());
  EXPECT_EQ(stored.filter.items(), 0u);
  EXPECT_EQ(stored.filter.keeps_hashes(), growth()) << "nothing lacks hashes";
  EXPECT_EQ(stored.missing(0, 400), 400u);
  stored.commit();
  EXPECT_TRUE(stored.storage.rows.pages.empty());
  EXPECT_TRUE(stored.storage.rows.log.empty());
  EXPECT_TRUE(stored.storage.rows.items.empty());
  stored.expect_good();
}

// A source that hands over less than it promised: here it reads the rows that the import erases.
TEST_P(GrowingFilterContents, import_of_hashes_that_are_not_all_there_is_undone) {
  StoredFilter stored(options(2000));
  (void)fill(stored);
  ASSERT_TRUE(stored.filter.rebuild(3000).ok());
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  const std::vector<uint64_t> answers = answers_of(stored.filter, 2000);
  Result<FilterContents> own = stored.filter.contents(true);
  ASSERT_TRUE(own.ok());
  ++own.value().hash_count;
  const Status status = stored.filter.import(stored.filter.options(), std::move(own.value()));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
  EXPECT_TRUE(stored.filter.poisoned());
  stored.roll_back(before);
  EXPECT_EQ(answers_of(stored.filter, 2000), answers);
  stored.expect_good();
}

// Kind, width, page size and seed may all be others than before.
TEST_P(LoggedFilterContents, import_brings_its_options) {
  for (const FilterCase& other : test::all_cases()) {
    SCOPED_TRACE(test::name_of(other));
    StoredFilter stored(test::options_for(other, 700, 0.02, 128));
    stored.add(0, 600);
    stored.commit();
    FilterOptions imported = options(1000);
    imported.width = HashWidth::k63Bits;
    imported.seed = 99;
    imported.digest = 77;
    HashCollection collection(imported.width);
    std::vector<uint64_t> hashes;
    for (uint64_t i = 0; i < 1000; ++i) {
      hashes.push_back(nth_hash(5000 + i, imported.width));
    }
    ASSERT_TRUE(
        stored.filter.import(imported, test::contents_of(hashes, imported, collection)).ok());
    stored.commit();
    stored.expect_good();
    EXPECT_EQ(stored.missing(5000, 6000), 0u);
    EXPECT_EQ(stored.filter.items(), 1000u);
    LoggedFilter follower(imported, stored.storage);
    ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(answers_of(follower, 6000), answers_of(stored.filter, 6000));
    ASSERT_TRUE(stored.filter.clear().ok());
    stored.add(0, 1000);
    stored.commit();
    stored.expect_good();
  }
}

// ---- unite

TEST_P(FixedFilterContents, united_filters_hold_both) {
  for (const bool tail_before : {false, true}) {
    StoredFilter stored(options(2000, 0.02));
    stored.add(0, 700);
    stored.add_copies(3, 20);
    EXPECT_TRUE(tail_before || stored.filter.fold().ok());
    HashCollection collection(stored.filter.options().width);
    std::vector<uint64_t> hashes = range(500, 1200);
    hashes.insert(hashes.end(), 20, nth_hash(600));
    const FilterContents other = test::contents_of(hashes, stored.filter.options(), collection);
    const uint64_t mine = stored.filter.items();
    const Status united = stored.filter.unite(*other.filter, other.items);
    ASSERT_TRUE(united.ok()) << message_of(united);
    const uint64_t items = stored.filter.items();
    if (multiset()) {
      EXPECT_EQ(items, mine + other.items);
    } else {
      EXPECT_NEAR(static_cast<double>(items), 1200, 60);
    }
    const std::vector<uint64_t> answers = answers_of(stored.filter, 3000);
    stored.commit();
    stored.expect_good();
    EXPECT_EQ(stored.missing(0, 1200), 0u);
    LoggedFilter follower(stored.filter.options(), stored.storage);
    ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(answers_of(follower, 3000), answers);
    // The log goes on behind it.
    stored.add(5000, 5010);
    stored.commit();
    stored.expect_good();
    ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(answers_of(follower, 6000), answers_of(stored.filter, 6000));
    ASSERT_TRUE(stored.filter.fold().ok());
    stored.commit();
    stored.expect_good();
    // As if all had been added one by one.
    StoredFilter added(options(2000, 0.02));
    added.add(0, 700);
    added.add_copies(3, 20);
    for (const uint64_t hash : hashes) {
      ASSERT_TRUE(added.filter.insert(hash).ok());
    }
    added.add(5000, 5010);
    ASSERT_TRUE(added.filter.fold().ok());
    expect_same_cells(stored.filter.base(), added.filter.base());
  }
}

TEST_P(FixedFilterContents, unite_again_and_again_with_small_transactions_between) {
  StoredFilter stored(options(3000, 0.02));
  LoggedFilter follower(stored.filter.options(), stored.storage);
  for (uint64_t turn = 0; turn < 10; ++turn) {
    HashCollection collection(stored.filter.options().width);
    const FilterContents other =
        test::contents_of(range(200 * turn, 200 * turn + 150), stored.filter.options(), collection);
    ASSERT_TRUE(stored.filter.unite(*other.filter, other.items).ok());
    stored.commit();
    stored.expect_good();
    stored.add(200 * turn + 150, 200 * turn + 200);
    EXPECT_TRUE(!multiset() || stored.remove(nth_hash(200 * turn + 1)));
    stored.commit();
    stored.expect_good();
    ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(follower.items(), stored.filter.items());
    EXPECT_EQ(answers_of(follower, 2500), answers_of(stored.filter, 2500));
  }
  EXPECT_EQ(stored.missing(1800, 1801), 0u);
  EXPECT_EQ(stored.missing(1802, 2000), 0u);
}

TEST_P(GrowingFilterContents, unite_into_an_empty_filter_leaves_it_without_hashes) {
  for (const int past : {0, 1, 2, 3}) {  // what was there before it was empty
    SCOPED_TRACE(past);
    if (past > 1 && !multiset()) {
      continue;
    }
    StoredFilter stored(options(1000));
    if (past > 0) {
      stored.add(5000, 5400);
      EXPECT_TRUE(past != 3 || stored.filter.rebuild(1000).ok());
      stored.commit();
    }
    if (past == 1) {
      ASSERT_TRUE(stored.filter.clear().ok());
    }
    for (uint64_t i = 5000; i < 5400 && past > 1; ++i) {
      ASSERT_TRUE(stored.remove(nth_hash(i)));
    }
    ASSERT_EQ(stored.filter.items(), 0u);
    HashCollection collection(stored.filter.options().width);
    const FilterContents other =
        test::contents_of(range(0, 600), stored.filter.options(), collection);
    const Status status = stored.filter.unite(*other.filter, other.items);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_FALSE(stored.filter.keeps_hashes());
    stored.commit();
    stored.expect_good();
    EXPECT_TRUE(stored.storage.rows.log.empty());
    stored.add(600, 640);
    stored.commit();
    stored.expect_good();
    EXPECT_EQ(stored.missing(0, 640), 0u);
    LoggedFilter follower(stored.filter.options(), stored.storage);
    ASSERT_TRUE(follower.refresh(stored.storage.rows.record).ok());
    EXPECT_EQ(answers_of(follower, 2000), answers_of(stored.filter, 2000));
    ASSERT_TRUE(stored.filter.clear().ok());
    EXPECT_TRUE(stored.filter.keeps_hashes());
    stored.add(0, 3000);
    stored.commit();
    stored.expect_good();
  }
}

TEST_P(LoggedFilterContents, unite_refuses_what_it_can_not_do_and_changes_nothing) {
  StoredFilter stored(options(1000));
  stored.add(0, 700);
  stored.commit();
  const StoredRows before = stored.storage.snapshot();
  const std::vector<uint64_t> answers = answers_of(stored.filter, 2000);
  const auto refusal = [&](const FilterOptions& of, uint64_t first, uint64_t end) {
    HashCollection collection(of.width);
    const FilterContents other = test::contents_of(range(first, end), of, collection);
    const Status status = stored.filter.unite(*other.filter, other.items);
    EXPECT_FALSE(status.ok());
    if (!stored.filter.usable()) {
      EXPECT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    }
    EXPECT_EQ(stored.missing(0, 700), 0u);
    EXPECT_EQ(stored.filter.items(), answers[0]);
    return status.ok() ? ErrorCode::kStorage : status.error().code;
  };
  EXPECT_EQ(refusal(options(1500), 0, 10), ErrorCode::kInvalid) << "another geometry";
  const FilterKind other_kind =
      GetParam().kind == FilterKind::kBloom ? FilterKind::kCuckoo : FilterKind::kBloom;
  EXPECT_EQ(refusal(test::options_for({other_kind, false}, 1000), 0, 10), ErrorCode::kInvalid);
  EXPECT_EQ(answers_of(stored.filter, 2000), answers);
  EXPECT_EQ(difference(before, stored.storage.rows), "");
  EXPECT_EQ(refusal(options(1000), 5000, 5900), growth() ? ErrorCode::kInvalid : ErrorCode::kFull);
  stored.expect_good();
  if (!growth()) {  // the refusal may have folded the tail, no more
    ASSERT_TRUE(stored.filter.fold().ok());
    stored.commit();
    StoredFilter twin(options(1000));
    twin.add(0, 700);
    ASSERT_TRUE(twin.filter.fold().ok());
    ASSERT_TRUE(stored.filter.contents(false).ok());
    expect_same_cells(*stored.filter.contents(false).value().filter,
                      *twin.filter.contents(false).value().filter);
  }
}

// Both counts are known before: nothing is read, folded or written.
TEST_P(FixedFilterContents, unite_of_more_than_the_capacity_is_refused_at_once) {
  StoredFilter stored(options(1000));
  stored.add(0, 700);
  stored.commit();
  stored.add(700, 710);
  HashCollection collection(stored.filter.options().width);
  const FilterContents other =
      test::contents_of(range(5000, 5900), stored.filter.options(), collection);
  stored.storage.calls = {};
  const Status status = stored.filter.unite(*other.filter, other.items);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  if (is_cuckoo()) {
    EXPECT_EQ(stored.storage.calls.all(), 0u);
    EXPECT_EQ(stored.missing(0, 710), 0u);
    EXPECT_EQ(status.error().message, "710 items, and 900 more would exceed its capacity of 1000");
  }
}

// How many keys its items are copies of only the cells know, and those not exactly.
TEST(CountingFilterContents, unite_of_keys_up_to_the_capacity_is_seldom_full) {
  constexpr uint64_t kCapacity = 1000;
  const FilterOptions options =
      test::options_for({FilterKind::kCountingBloom, false}, kCapacity, 0.01);
  int refused = 0;
  for (uint64_t turn = 0; turn < 40; ++turn) {
    const uint64_t first = turn * 10000;
    StoredFilter stored(options);
    stored.add(first, first + 600);
    stored.add(first, first + 600);
    HashCollection collection(options.width);
    std::vector<uint64_t> hashes;
    for (uint64_t i = first + 400; i < first + kCapacity; ++i) {
      hashes.push_back(nth_hash(i));
    }
    const FilterContents other = test::contents_of(hashes, options, collection);
    const Status status = stored.filter.unite(*other.filter, other.items);
    if (!status.ok()) {
      ++refused;
      continue;
    }
    EXPECT_EQ(stored.filter.items(), 1800u);
    stored.commit();
    stored.expect_good();
  }
  EXPECT_LE(refused, 4);
}

// A geometry of whole blocks is that of several capacities.
TEST(BlockedFilterContents, unite_with_more_than_the_capacity_is_full_whatever_the_cells_say) {
  const FilterCase blocked = {FilterKind::kBlockedBloom, false};
  uint64_t refused = 0;
  for (uint64_t capacity = 1; capacity < 300; ++capacity) {
    StoredFilter stored(test::options_for(blocked, capacity));
    HashCollection collection(stored.filter.options().width);
    std::vector<uint64_t> hashes;
    for (uint64_t i = 0; i <= capacity; ++i) {
      hashes.push_back(nth_hash(i));
    }
    const FilterContents other =
        test::contents_of(hashes, test::options_for(blocked, capacity + 1), collection);
    if (other.filter->words() != stored.filter.base().words()) {
      continue;
    }
    stored.add(0, 1);
    stored.commit();
    ASSERT_EQ(other.items, capacity + 1);
    const Status status = stored.filter.unite(*other.filter, other.items);
    ASSERT_FALSE(status.ok()) << capacity << ": " << stored.filter.items() << " items";
    ASSERT_EQ(status.error().code, ErrorCode::kFull);
    ASSERT_TRUE(stored.filter.refresh(stored.storage.rows.record).ok());
    ASSERT_EQ(stored.filter.items(), 1u);
    ++refused;
  }
  EXPECT_GT(refused, 200u);
}

// ---- erasing

TEST_P(LoggedFilterContents, erase_generation_leaves_no_row) {
  StoredFilter stored(options(2000));
  (void)fill(stored);
  stored.commit();
  ASSERT_FALSE(stored.storage.rows.pages.empty());
  ASSERT_FALSE(stored.storage.rows.log.empty());
  ASSERT_TRUE(stored.filter.erase_epoch().ok());
  EXPECT_TRUE(stored.storage.rows.pages.empty());
  EXPECT_TRUE(stored.storage.rows.log.empty());
  EXPECT_TRUE(stored.storage.rows.items.empty());
}

}  // namespace
}  // namespace cuckoo
