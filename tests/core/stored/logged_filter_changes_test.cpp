// Marks of a LoggedFilter: changes_since() and apply(), for every kind. Invariants of
// core/stored/mark.hpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <random>

#include "core/stored/logged_filter.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/flash/allocations.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::Counts;
using test::counts_of;
using test::difference;
using test::FilterCase;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;
using test::StoredRows;

FilterMark mark_of(LoggedFilter& filter) {
  Result<std::optional<FilterMark>> mark = filter.mark();
  EXPECT_TRUE(mark.ok()) << mark.error().message;
  EXPECT_TRUE(mark.ok() && mark.value().has_value());
  return mark.ok() ? mark.value().value_or(FilterMark()) : FilterMark();
}

bool has_mark(LoggedFilter& filter) {
  const Result<std::optional<FilterMark>> mark = filter.mark();
  EXPECT_TRUE(mark.ok()) << mark.error().message;
  return mark.ok() && mark.value().has_value();
}

// As they travel.
FilterChanges changes_of(LoggedFilter& filter, const FilterMark& since) {
  const Result<FilterChanges> changes = filter.changes_since(since);
  EXPECT_TRUE(changes.ok()) << changes.error().message;
  if (!changes.ok()) {
    return {};
  }
  Result<FilterChanges> arrived = decode_changes(encode_changes(changes.value()));
  EXPECT_TRUE(arrived.ok()) << arrived.error().message;
  return arrived.value();
}

bool apply(StoredFilter& copy, const FilterChanges& changes) {
  const Result<bool> applied = copy.filter.apply(changes);
  EXPECT_TRUE(applied.ok()) << applied.error().message;
  return applied.ok() && applied.value();
}

std::string refusal(LoggedFilter& copy, const FilterChanges& changes, ErrorCode code) {
  const Result<bool> applied = copy.apply(changes);
  EXPECT_FALSE(applied.ok());
  if (applied.ok()) {
    return "";
  }
  EXPECT_EQ(applied.error().code, code) << applied.error().message;
  return applied.error().message;
}

Counts hashes_in(LoggedFilter& filter) {
  const Result<HashSource> hashes = filter.hashes();
  EXPECT_TRUE(hashes.ok()) << hashes.error().message;
  return hashes.ok() ? counts_of(hashes.value()) : Counts();
}

class FilterChangesOf : public test::KindsTest {
 protected:
  // Adds the key, or removes it if the model has it; in both.
  static void change(StoredFilter& origin, Counts& model, uint64_t key, bool removes) {
    const uint64_t hash = nth_hash(key);
    if (!removes) {
      origin.add_copies(key, 1);
      model[hash] = multiset() ? model[hash] + 1 : 1;
    } else if (model.contains(hash)) {
      ASSERT_TRUE(origin.remove(hash));
      if (--model[hash] == 0) {
        model.erase(hash);
      }
    }
  }
  static FilterOptions with_growth(bool growth, uint64_t capacity = 4000) {
    FilterCase one = GetParam();
    one.growth = growth;
    return test::options_for(one, capacity, 0.01);
  }
  // What an image of the filter gives to whoever imports it.
  static std::unique_ptr<StoredFilter> copy_of(StoredFilter& origin, bool growth, bool hashes) {
    auto copy = std::make_unique<StoredFilter>(with_growth(growth, 10));
    FilterOptions options = origin.filter.options();
    options.growth = growth;
    Result<FilterContents> contents = origin.filter.contents(hashes);
    EXPECT_TRUE(contents.ok()) << contents.error().message;
    EXPECT_TRUE(contents.value().mark.has_value());
    const Status status = copy->filter.import(options, std::move(contents.value()));
    EXPECT_TRUE(status.ok()) << message_of(status);
    copy->commit();
    return copy;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, FilterChangesOf,
                         ::testing::ValuesIn(test::cases_where(test::grows)), test::kCaseName);

// Copies with hashes, plain, that can't grow, and one that is the origin of a further one.
TEST_P(FilterChangesOf, I1_bring_every_copy_up_to_date) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 1500);
  origin.add_copies(7, 20);
  origin.commit();
  std::unique_ptr<StoredFilter> copies[] = {
      copy_of(origin, true, true), copy_of(origin, true, false), copy_of(origin, false, true),
      copy_of(origin, true, true)};
  StoredFilter& relay = *copies[3];
  const std::unique_ptr<StoredFilter> next = copy_of(relay, true, true);
  std::mt19937_64 random(GetParam().multiset() ? 1 : 2);
  Counts model = hashes_in(origin.filter);
  uint64_t fresh = 1500;
  for (int day = 0; day < 30; ++day) {
    ASSERT_TRUE(origin.filter.flush().ok());  // a savepoint
    const FilterMark before = mark_of(origin.filter);
    const StoredRows rows = origin.storage.snapshot();
    const Counts saved = model;
    for (uint64_t i = random() % 120; i > 0; --i) {
      const bool removes = multiset() && random() % 3 == 0;
      const uint64_t key = random() % 4 == 0 ? fresh++ : random() % fresh;
      change(origin, model, key, removes);
    }
    if (random() % 4 == 0) {
      origin.roll_back(rows);
      model = saved;
      ASSERT_EQ(mark_of(origin.filter), before);
    } else if (random() % 4 == 0) {
      ASSERT_TRUE(origin.filter.fold().ok());
    }
    if (random() % 2 == 0) {
      origin.commit();
    }
    const FilterMark after = mark_of(origin.filter);
    if (random() % 3 == 0 && day % 10 != 9) {
      continue;  // lost on its way
    }
    for (const auto& copy : copies) {
      const FilterMark theirs = mark_of(copy->filter);
      const FilterChanges changes = changes_of(origin.filter, theirs);
      EXPECT_EQ(apply(*copy, changes), theirs != after);
      EXPECT_EQ(mark_of(copy->filter), after);
      EXPECT_FALSE(apply(*copy, changes)) << "sent twice";
      if (random() % 2 == 0) {
        copy->commit();
      }
      EXPECT_EQ(mark_of(copy->filter), after) << "a fold is no change";
    }
    apply(*next, changes_of(relay.filter, mark_of(next->filter)));
    EXPECT_EQ(mark_of(next->filter), after);
    if (day % 10 == 9) {  // everybody is up to date: nobody needs an image
      ASSERT_TRUE(origin.filter.rebuild(origin.filter.capacity()).ok());
      origin.commit();
      ASSERT_EQ(mark_of(origin.filter), after);
    }
  }
  origin.commit();
  for (StoredFilter* copy :
       {copies[0].get(), copies[1].get(), copies[2].get(), &relay, next.get()}) {
    apply(*copy, changes_of(origin.filter, mark_of(copy->filter)));
    copy->commit();
    copy->expect_good();
    EXPECT_EQ(copy->filter.items(), origin.filter.items());
    for (const auto& [hash, count] : model) {
      ASSERT_TRUE(copy->has(hash));
    }
    if (copy->filter.keeps_hashes()) {
      EXPECT_EQ(hashes_in(copy->filter), model);
    }
  }
  EXPECT_EQ(hashes_in(origin.filter), model);
  origin.expect_good();
}

// Removes of what was never added take somebody else's entry, in the origin and so in each copy of
// its geometry: once all is folded, their cells count alike.
TEST_P(FilterChangesOf, copies_have_the_origins_cells_whatever_was_removed) {
  if (!multiset()) {
    return;
  }
  StoredFilter origin(test::options_for(GetParam(), 600, 0.2));
  origin.add(0, 300);
  origin.commit();
  const std::unique_ptr<StoredFilter> copies[] = {
      copy_of(origin, true, true), copy_of(origin, true, false), copy_of(origin, false, false)};
  const auto cells_of = [](StoredFilter& stored) {
    std::vector<uint64_t> counts;
    const Result<FilterContents> folded = stored.filter.contents(false);
    for (uint64_t key = 0; folded.ok() && key < 600; ++key) {
      counts.push_back(folded.value().filter->count(nth_hash(key), {}));
    }
    return counts;
  };
  std::mt19937_64 random(3);
  uint64_t foreign = 0;
  for (int day = 0; day < 25; ++day) {
    for (int i = 0; i < 20; ++i) {
      const uint64_t key = random() % 5000;
      if (random() % 2 == 0) {
        origin.add_copies(key % 500, 1);
      } else {
        foreign += origin.remove(nth_hash(key)) && key >= 500 ? 1 : 0;
      }
      if (random() % 30 == 0) {
        ASSERT_TRUE(origin.filter.fold().ok());
      }
    }
    const std::vector<uint64_t> expected = cells_of(origin);
    for (const auto& copy : copies) {
      apply(*copy, changes_of(origin.filter, mark_of(copy->filter)));
      copy->commit();
      copy->expect_good();
      EXPECT_EQ(copy->filter.items(), origin.filter.items());
      ASSERT_EQ(cells_of(*copy), expected) << "day " << day;
    }
  }
  EXPECT_GT(foreign, 10U);
}

// A thousand days of a few changes each, over an image.
TEST_P(FilterChangesOf, a_long_chain_holds_what_the_origin_holds_key_by_key) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 1000);
  origin.commit();
  const std::unique_ptr<StoredFilter> copies[] = {copy_of(origin, true, true),
                                                  copy_of(origin, true, false)};
  std::mt19937_64 random(5);
  Counts model = hashes_in(origin.filter);
  int images = 0;
  for (int day = 0; day < 1000; ++day) {
    const FilterMark before = mark_of(origin.filter);
    for (int i = 0; i < 6; ++i) {
      const uint64_t key = random() % 2500;
      change(origin, model, key, multiset() && i % 2 != 0);
    }
    origin.commit();
    const Result<FilterChanges> changes = origin.filter.changes_since(before);
    for (const auto& copy : copies) {
      if (changes.ok()) {
        apply(*copy, changes.value());
      } else {  // it compacted its log
        Result<FilterContents> contents = origin.filter.contents(true);
        ASSERT_TRUE(contents.ok());
        ASSERT_TRUE(copy->filter.import(origin.filter.options(), std::move(contents.value())).ok());
        ++images;
      }
      copy->commit();
      ASSERT_EQ(mark_of(copy->filter), mark_of(origin.filter)) << "day " << day;
    }
  }
  for (const auto& copy : copies) {
    EXPECT_EQ(copy->filter.items(), origin.filter.items());
    for (uint64_t key = 0; key < 2500; ++key) {
      ASSERT_TRUE(copy->has(nth_hash(key)) || !model.contains(nth_hash(key))) << key;
    }
    copy->expect_good();
  }
  EXPECT_EQ(hashes_in(copies[0]->filter), model);
  EXPECT_LE(images, 4);
}

TEST_P(FilterChangesOf, no_change_is_a_change_that_does_nothing) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 100);
  origin.commit();
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, true);
  const StoredRows rows = copy->storage.snapshot();
  const FilterChanges changes = changes_of(origin.filter, mark_of(origin.filter));
  EXPECT_TRUE(changes.hashes.empty());
  EXPECT_FALSE(apply(*copy, changes));
  EXPECT_FALSE(copy->filter.pending());
  EXPECT_EQ(difference(rows, copy->storage.rows), "");
}

TEST_P(FilterChangesOf, I2_any_other_change_ends_a_taken_mark) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 100);
  origin.commit();
  const FilterMark mark = mark_of(origin.filter);
  for (const bool hashes : {false, true}) {
    const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, hashes);
    EXPECT_EQ(mark_of(copy->filter), mark);
    const StoredRows rows = copy->storage.snapshot();
    copy->add(200, 201);
    EXPECT_EQ(has_mark(copy->filter), hashes);
    EXPECT_TRUE(!hashes || mark_of(copy->filter) != mark);
    copy->roll_back(rows);
    EXPECT_EQ(mark_of(copy->filter), mark) << "what is rolled back is no change";
    ASSERT_TRUE(copy->filter.clear().ok());
    EXPECT_NE(mark_of(copy->filter), mark);
    copy->roll_back(rows);
    EXPECT_EQ(mark_of(copy->filter), mark);
  }
}

// A library that knows no marks leaves the places as they are; pages that came without hashes are
// told apart by base_id alone.
TEST_P(FilterChangesOf, I2_pages_that_others_changed_end_it) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 100);
  origin.commit();
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, false, false);
  StoredFilter more(with_growth(true));
  more.add(500, 510);
  Result<FilterContents> contents = more.filter.contents(false);
  ASSERT_TRUE(contents.ok());
  EXPECT_TRUE(has_mark(copy->filter));
  const Status united = copy->filter.unite(*contents.value().filter, contents.value().items);
  ASSERT_TRUE(united.ok()) << message_of(united);
  EXPECT_FALSE(has_mark(copy->filter));
  copy->commit();
  EXPECT_FALSE(has_mark(copy->filter));
}

TEST_P(FilterChangesOf, marks_from_elsewhere_are_refused_with_both_names) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 100);
  origin.commit();
  const FilterMark old = mark_of(origin.filter);
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, false);
  origin.add(100, 120);
  const FilterMark middle = mark_of(origin.filter);
  origin.add(120, 140);
  const FilterMark late = mark_of(origin.filter);
  const FilterChanges first = changes_of(origin.filter, old);
  FilterChanges second = changes_of(origin.filter, middle);
  const StoredRows rows = copy->storage.snapshot();
  const std::string text = refusal(copy->filter, second, ErrorCode::kInvalid);
  EXPECT_NE(text.find(mark_text(middle)), std::string::npos) << text;
  EXPECT_NE(text.find(mark_text(late)), std::string::npos) << text;
  EXPECT_NE(text.find("it has mark " + mark_text(old)), std::string::npos) << text;
  EXPECT_FALSE(copy->filter.pending());
  EXPECT_EQ(difference(rows, copy->storage.rows), "");
  EXPECT_TRUE(apply(*copy, first));

  // A backup that went on for itself.
  StoredFilter backup(with_growth(true));
  backup.storage.restore(origin.storage.snapshot());
  origin.commit();
  ASSERT_TRUE(backup.filter.refresh(backup.storage.rows.record).ok());
  EXPECT_EQ(mark_of(backup.filter), old);
  backup.add(700, 740);
  const Result<FilterChanges> foreign = backup.filter.changes_since(late);
  ASSERT_FALSE(foreign.ok());
  EXPECT_EQ(foreign.error().code, ErrorCode::kInvalid);
  EXPECT_NE(foreign.error().message.find("does not go back to mark"), std::string::npos);
  EXPECT_TRUE(backup.filter.changes_since(old).ok());
  refusal(copy->filter, changes_of(backup.filter, old), ErrorCode::kInvalid);
}

TEST_P(FilterChangesOf, rebuilds_keep_the_mark_and_growth_ends_it) {
  StoredFilter origin(with_growth(true, 500));
  origin.add(0, 450);
  origin.commit();
  const FilterMark start = mark_of(origin.filter);
  const uint64_t capacity = origin.filter.capacity();
  ASSERT_TRUE(origin.filter.rebuild(capacity).ok());
  origin.commit();
  ASSERT_EQ(origin.filter.capacity(), capacity);
  EXPECT_EQ(mark_of(origin.filter), start);
  ASSERT_TRUE(origin.filter.rebuild(capacity).ok());
  EXPECT_EQ(mark_of(origin.filter), start) << "and once more";
  origin.add(450, 460);
  EXPECT_EQ(changes_of(origin.filter, start).hashes.size(), 10U);
  const FilterMark before = mark_of(origin.filter);
  ASSERT_TRUE(origin.filter.rebuild(3 * capacity).ok());
  EXPECT_NE(mark_of(origin.filter), before);
  EXPECT_FALSE(origin.filter.changes_since(before).ok());
  EXPECT_FALSE(origin.filter.changes_since(start).ok());
}

// A rebuild that repairs what a wrong remove broke has other contents then; so has an image that
// carries hashes.
TEST_P(FilterChangesOf, what_drops_something_has_another_mark) {
  if (!multiset()) {
    return;
  }
  StoredFilter origin(test::options_for(GetParam(), 600, 0.25));
  origin.add(0, 500);
  ASSERT_TRUE(origin.filter.fold().ok());
  origin.commit();
  uint64_t foreign = 1000;
  while (!origin.remove(nth_hash(foreign))) {
    ++foreign;
  }
  origin.commit();
  const FilterMark mark = mark_of(origin.filter);
  EXPECT_EQ(origin.filter.contents(false).value().mark, mark);
  EXPECT_EQ(origin.filter.contents(true).value().mark, std::nullopt);
  ASSERT_TRUE(origin.filter.rebuild(origin.filter.capacity()).ok());
  EXPECT_NE(mark_of(origin.filter), mark);
  EXPECT_FALSE(origin.filter.changes_since(mark).ok());
}

TEST_P(FilterChangesOf, what_has_no_marks) {
  FilterOptions old = with_growth(true);
  old.format = 1;
  FilterOptions window = with_growth(true);
  window.generations = 3;
  for (const FilterOptions& options : {old, window, with_growth(false)}) {
    StoredFilter filter(options);
    filter.add(0, 10);
    filter.commit();
    EXPECT_FALSE(has_mark(filter.filter));
    EXPECT_FALSE(filter.filter.contents(false).value().mark.has_value());
    StoredFilter origin(with_growth(true));
    const Result<FilterChanges> none = filter.filter.changes_since(mark_of(origin.filter));
    ASSERT_FALSE(none.ok());
    EXPECT_EQ(none.error().code, ErrorCode::kInvalid);
    const FilterMark start = mark_of(origin.filter);
    origin.add(0, 3);
    const std::string text =
        refusal(filter.filter, changes_of(origin.filter, start), ErrorCode::kInvalid);
    EXPECT_NE(text.find("it has no mark"), std::string::npos) << text;
  }
}

// More than fits is refused before anything changes, and judged by what is left in the end.
TEST_P(FilterChangesOf, full_is_judged_on_the_net_result) {
  StoredFilter origin(with_growth(true, 3000));
  origin.add(0, 2900);
  origin.commit();
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, false, false);
  if (multiset()) {
    for (uint64_t i = 0; i < 400; ++i) {
      ASSERT_TRUE(origin.remove(nth_hash(i)));
    }
    origin.add(2900, 3300);
    ASSERT_EQ(mark_of(origin.filter).epoch, mark_of(copy->filter).epoch) << "it did not grow";
    EXPECT_TRUE(apply(*copy, changes_of(origin.filter, mark_of(copy->filter))));
    copy->commit();
    copy->expect_good();
    EXPECT_EQ(copy->missing(400, 3300), 0U);
  }
  // More than fit: as if the origin had not noticed yet.
  const FilterMark theirs = mark_of(copy->filter);
  FilterChanges many = changes_of(origin.filter, theirs);
  many.from = theirs;
  many.to = theirs;
  ++many.to.position;
  std::map<uint64_t, int64_t> hashes;
  for (uint64_t i = 5000; i < 8000; ++i) {
    hashes[nth_hash(i)] = 1;
  }
  many.hashes.assign(hashes.begin(), hashes.end());
  many.items = copy->filter.items() + 3000;
  const StoredRows rows = copy->storage.snapshot();
  refusal(copy->filter, many, ErrorCode::kFull);
  ASSERT_TRUE(copy->filter.refresh(copy->storage.rows.record).ok());
  EXPECT_EQ(difference(rows, copy->storage.rows), "");
  EXPECT_EQ(mark_of(copy->filter), theirs);
  copy->expect_good();
}

// Any call to storage fails, once: nothing is half done after a roll-back, and it works then.
TEST_P(FilterChangesOf, faults_leave_nothing_half_done) {
  StoredFilter origin(with_growth(true, 1500));
  origin.add(0, 1000);
  origin.commit();
  for (const bool hashes : {true, false}) {
    const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, hashes);
    const FilterMark start = mark_of(copy->filter);
    StoredFilter further(with_growth(true));
    further.storage.restore(origin.storage.snapshot());
    ASSERT_TRUE(further.filter.refresh(further.storage.rows.record).ok());
    further.add(2000, 2080);
    for (uint64_t i = 0; i < (multiset() ? 30 : 0); ++i) {
      ASSERT_TRUE(further.remove(nth_hash(i)));
    }
    const FilterMark end = mark_of(further.filter);
    const FilterChanges changes = changes_of(further.filter, start);
    const StoredRows rows = copy->storage.snapshot();
    for (uint64_t fault = 1;; ++fault) {
      copy->storage.fail_at(fault);
      Result<bool> applied = copy->filter.apply(changes);
      Status status = applied.take_status();
      status = status.ok() ? copy->filter.fold_rest() : std::move(status);
      status = status.ok() ? copy->filter.flush() : std::move(status);
      if (!copy->storage.failed()) {
        EXPECT_TRUE(status.ok()) << message_of(status);
        copy->storage.fail_at(0);
        break;
      }
      EXPECT_FALSE(status.ok()) << fault;
      copy->storage.fail_at(0);
      copy->roll_back(rows);
      ASSERT_EQ(mark_of(copy->filter), start);
      ASSERT_EQ(copy->filter.items(), 1000U);
    }
    copy->filter.committed();
    EXPECT_EQ(mark_of(copy->filter), end);
    EXPECT_EQ(copy->filter.items(), further.filter.items());
    EXPECT_EQ(copy->missing(2000, 2080), 0U);
    copy->expect_good();
    further.commit();
  }
}

// Every allocation fails, from the n-th on.
TEST_P(FilterChangesOf, I7_without_memory_nothing_is_changed_or_it_is_poisoned) {
  StoredFilter origin(with_growth(true, 1500));
  origin.add(0, 1000);
  origin.commit();
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, true);
  const FilterMark start = mark_of(copy->filter);
  origin.add(2000, 2080);
  if (multiset()) {
    ASSERT_TRUE(origin.remove(nth_hash(0)));
  }
  const FilterChanges changes = changes_of(origin.filter, start);
  const StoredRows rows = copy->storage.snapshot();
  const Counts before = hashes_in(copy->filter);
  int poisoned = 0;
  for (int64_t left = 0;; ++left) {
    bool failed = false;
    allocations_left = left;
    try {
      (void)copy->filter.apply(changes);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    if (!failed) {
      break;
    }
    if (copy->filter.poisoned()) {
      ++poisoned;
    } else {
      copy->filter.settle();
      ASSERT_EQ(hashes_in(copy->filter), before) << left;
      ASSERT_EQ(mark_of(copy->filter), start) << left;
    }
    copy->roll_back(rows);
  }
  EXPECT_GT(poisoned, 3);
  EXPECT_EQ(mark_of(copy->filter), changes.to);
  EXPECT_EQ(copy->missing(2000, 2080), 0U);
  copy->commit();
  copy->expect_good();
}

// Only the last of them are remembered.
TEST_P(FilterChangesOf, places_are_few) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 10);
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, true);
  std::vector<FilterMark> marks = {mark_of(copy->filter)};
  for (uint64_t i = 0; i < MarkedPlaces::kMost + 5; ++i) {
    origin.add(10 + i, 11 + i);
    apply(*copy, changes_of(origin.filter, marks.back()));
    marks.push_back(mark_of(copy->filter));
  }
  copy->commit();
  const size_t first = marks.size() - MarkedPlaces::kMost;
  for (size_t i = 0; i < marks.size(); ++i) {
    const Result<FilterChanges> changes = copy->filter.changes_since(marks[i]);
    EXPECT_EQ(changes.ok(), i >= first) << i;
    EXPECT_TRUE(!changes.ok() || changes.value().hashes.size() == marks.size() - 1 - i);
    EXPECT_TRUE(origin.filter.changes_since(marks[i]).ok()) << "its own are all in its log";
  }
}

TEST_P(FilterChangesOf, damaged_places_are_found) {
  StoredFilter origin(with_growth(true));
  origin.add(0, 10);
  const std::unique_ptr<StoredFilter> copy = copy_of(origin, true, true);
  copy->storage.rows.places.back() ^= std::byte{1};
  const Result<std::optional<FilterMark>> mark = copy->filter.mark();
  ASSERT_FALSE(mark.ok());
  EXPECT_EQ(mark.error().code, ErrorCode::kCorrupt);
  const Status checked = copy->filter.check();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message, mark.error().message);
}

}  // namespace
}  // namespace cuckoo
