// Large filters that make their next epoch in steps, while they are filled: what stands in storage
// follows from the entries alone, whoever made the steps, and no insert does much at once.
#include <functional>
#include <memory>

#include "tests/core/stored/filter_steps.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::difference;
using test::FilterSteps;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;
using test::StoredRows;

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

// Who folds all before each union makes no step, so nothing else would compact it.
TEST_P(FilterSteps, a_compaction_does_not_wait_for_steps_that_never_come) {
  if (!multiset()) {
    return;
  }
  const FilterOptions same = steps_of(2 * kCapacity, 0.001);
  StoredFilter stored(same);
  stored.add(0, 2 * kCapacity);
  stored.commit();
  uint64_t next = 0;
  while (next < 8 * kCapacity && !HasFailure()) {
    for (uint64_t i = 0; i < 4 * kTransaction; ++i, ++next) {
      ASSERT_TRUE(stored.remove(stored.hash(next)));
      stored.add(2 * kCapacity + next, 2 * kCapacity + next + 1);
    }
    ASSERT_TRUE(stored.filter.fold().ok());
    stored.commit();
    EXPECT_LT(stored.filter.log_entries(), 9 * kCapacity) << next << " keys were replaced";
  }
  EXPECT_EQ(stored.missing(next, next + 2 * kCapacity), 0u);
  expect_good(stored.storage, same);
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

// What comes back of it is more than the next epoch was made for.
TEST_P(FilterSteps, an_epoch_that_was_made_too_small_is_made_again) {
  if (GetParam().kind != FilterKind::kCuckoo) {
    return;
  }
  const FilterOptions coarse = options(2 * kCapacity, 0.25, 256);
  StoredFilter stored(coarse);
  uint64_t next = 0;
  uint64_t stranger = 1000000000;
  bool begun = false;
  while (stored.filter.record().epoch == 0 && next < 10 * kCapacity && !HasFailure()) {
    stored.add(next, next + kTransaction);
    next += kTransaction;
    const auto crowded = [&stored] {
      return stored.filter.record().epoch == 0 && stored.filter.items() > 13 * kCapacity / 8;
    };
    for (; crowded(); ++stranger) {
      (void)stored.remove(stored.hash(stranger));
    }
    stored.commit();
    const auto progress = progress_in(stored.storage.rows);
    begun = begun || (progress && progress->capacity == 2 * kCapacity);
  }
  EXPECT_TRUE(begun);
  EXPECT_GT(next, 2 * kCapacity);
  EXPECT_GT(stored.filter.capacity(), next - kTransaction);
  EXPECT_FALSE(stored.filter.base().outgrown(stored.filter.items(), stored.filter.capacity()));
  expect_good(stored.storage, coarse);
}

// Copies that are as it was before follow through a compaction; not where it repairs something.
TEST_P(FilterSteps, marks_outlive_a_compaction_that_changes_nothing) {
  if (!multiset()) {
    return;
  }
  // Two removes, two adds: at the cut-over the tail ends in either.
  for (const uint64_t shift : {0, 1, 2, 3, 4}) {
    const bool wrong = shift == 4;
    const FilterOptions coarse = steps_of(2 * kCapacity, 0.05);
    StoredFilter stored(coarse);
    stored.add(0, kCapacity);
    stored.commit();
    uint64_t found = 0;
    for (uint64_t i = 1000000000; wrong && found < 10; ++i) {
      found += stored.remove(stored.hash(i)) ? 1 : 0;
    }
    stored.commit();
    uint64_t next = 0;
    uint64_t removed = 0;
    const uint64_t epoch = stored.filter.record().epoch;
    std::optional<FilterMark> mark;
    for (uint64_t i = 0; stored.filter.record().epoch == epoch && next < 20 * kCapacity; ++i) {
      mark = stored.filter.mark().value();
      if ((i + shift) % 4 < 2) {
        (void)stored.remove(stored.hash(removed++));
      } else {
        stored.add(kCapacity + next, kCapacity + next + 1);
        ++next;
      }
      if (i % kTransaction == 0 && stored.filter.record().epoch == epoch) {
        stored.commit();
      }
    }
    EXPECT_GT(stored.filter.tail_entries(), kTransaction) << "in steps";
    ASSERT_TRUE(mark.has_value());
    EXPECT_EQ(stored.filter.changes_since(*mark).ok(), !wrong);
  }
}

// What only looked present when it was added is logged, too, and may be new to the next epoch.
TEST_P(FilterSteps, items_rise_by_one_at_most_and_what_is_known_of_keys_stays) {
  const FilterOptions coarse = steps_of(2 * kCapacity, 0.05);
  StoredFilter stored(coarse);
  stored.filter.note_key_types(5);
  uint64_t before = 0;
  uint64_t next = 0;
  for (; stored.filter.record().epoch < 2 && next < 10 * kCapacity; ++next) {
    stored.add(next, next + 1);
    ASSERT_LE(stored.filter.items(), before + 1) << next;
    before = stored.filter.items();
    if (next % kTransaction == 0) {
      stored.commit();
    }
    if (has_pages(stored.storage.rows)) {
      stored.filter.note_key_types(2);  // of a key that came after the next epoch was begun
    }
  }
  EXPECT_EQ(stored.filter.record().epoch, 2u);
  EXPECT_EQ(stored.filter.key_types() & 7, 7u);
  EXPECT_EQ(stored.missing(0, next), 0u);
}

TEST_P(FilterSteps, copies_make_nothing_grow) {
  if (!multiset()) {
    return;
  }
  StoredFilter stored(step_options());
  const uint64_t next =
      add_while(stored, 0, [&] { return stored.filter.items() < kCapacity - kCapacity / 20; });
  ASSERT_TRUE(stored.filter.fold().ok());
  stored.commit();
  const uint64_t capacity = stored.filter.capacity();
  for (uint64_t i = 0; i < 2 * kCapacity; ++i) {
    stored.add(7, 8);
    if (i % kTransaction == 0) {
      stored.commit();
    }
  }
  EXPECT_EQ(stored.filter.capacity(), capacity);
  EXPECT_EQ(stored.filter.items(), next + 2 * kCapacity);
}

// Nothing is in it, but all of a tail that the next epoch would bring along.
TEST_P(FilterSteps, what_has_no_hashes_is_united_with_all_that_was_there) {
  if (!multiset()) {
    return;
  }
  constexpr uint64_t kAlive = 400;
  StoredFilter stored(step_options());
  stored.add(0, kAlive);
  uint64_t next = kAlive;
  const auto turn = [&] {
    (void)remove_all(stored, next - kAlive, next - kAlive + 1);
    stored.add(next, next + 1);
    ++next;
  };
  const auto begun = [&] {
    const auto progress = progress_in(stored.storage.rows);
    return progress && progress->capacity > 0;
  };
  while (!begun() && next < 20 * kCapacity) {
    for (uint64_t i = 0; i < 20; ++i) {
      turn();
    }
    stored.commit();
  }
  ASSERT_TRUE(begun());
  const uint64_t threshold = stored.filter.fold_threshold();
  while (stored.filter.tail_entries() + kAlive + 2 <= threshold) {
    turn();
  }
  stored.commit();
  const uint64_t alive = stored.filter.items();
  const uint64_t copies = threshold - stored.filter.tail_entries() - alive;
  ASSERT_LE(copies, 1u);
  if (copies == 1) {
    EXPECT_FALSE(stored.remove(stored.hash(99999999)));
  }
  const uint64_t epoch = stored.filter.record().epoch;
  EXPECT_EQ(remove_all(stored, next - alive, next), alive);
  EXPECT_EQ(stored.filter.items(), 0u);
  EXPECT_GE(stored.filter.tail_entries() + 1, threshold);
  stored.commit();
  EXPECT_EQ(stored.filter.record().epoch, epoch);

  StoredFilter other(step_options());
  other.add(5000000, 5000100);
  ASSERT_TRUE(other.filter.fold().ok());
  const Status united = stored.filter.unite(other.filter.base(), 100);
  ASSERT_TRUE(united.ok()) << message_of(united);
  stored.commit();
  EXPECT_EQ(stored.filter.items(), 100u);
  EXPECT_EQ(stored.missing(5000000, 5000100), 0u);
  EXPECT_EQ(rows_outside(stored.storage.rows), 0u);
  expect_good(stored.storage, stored.filter.options());
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

// An older version made pages of which this one would make others.
TEST_P(FilterSteps, what_an_older_version_made_of_it_is_made_again) {
  for (const bool made_to_the_last : {false, true}) {
    SCOPED_TRACE(made_to_the_last);
    StoredFilter stored(step_options());
    uint64_t end = add_until(stored, 0, has_pages);
    if (made_to_the_last) {
      const uint64_t begin = end;
      end += stored.filter.fold_threshold() - stored.filter.tail_entries();
      stored.add(begin, end);
      stored.commit();
    }
    StoredRows rows = stored.storage.snapshot();
    EpochProgress older = *progress_in(rows);
    older.version = EpochProgress::kVersion - 1;
    rows.progress = encode_progress(older);
    rows.pages.at(first_row_id(older.epoch)).front() ^= std::byte{1};
    stored.roll_back(rows);
    expect_good(stored.storage, step_options());
    uint64_t next = add_until(stored, end, [](const StoredRows& now) {
      return now.progress.empty() || !progress_in(now)->outdated();
    });
    EXPECT_EQ(next, end + kTransaction);
    expect_good(stored.storage, step_options());
    next = add_until(stored, next, [&older](const StoredRows& now) {
      return decode_record(now.record).value().epoch == older.epoch;
    });
    EXPECT_EQ(stored.missing(0, next), 0u);
    expect_good(stored.storage, step_options());
  }
}

// That there will be none is no version's own: whoever decides it late would make too large a one.
TEST_P(FilterSteps, what_an_older_version_decided_not_to_make_is_not_made) {
  StoredFilter stored(step_options());
  const uint64_t end = add_until(stored, 0, has_pages);
  StoredRows rows = stored.storage.snapshot();
  EpochProgress older = *progress_in(rows);
  const auto next_row = [&older](const auto& row) {
    return row.first >= first_row_id(older.epoch);
  };
  std::erase_if(rows.log, next_row);
  std::erase_if(rows.pages, next_row);
  older.version = EpochProgress::kVersion - 1;
  older.capacity = older.log_rows = older.pages = 0;
  older.points = 1;
  rows.progress = encode_progress(older);
  stored.roll_back(rows);
  expect_good(stored.storage, step_options());
  const uint64_t left = stored.filter.fold_threshold() - stored.filter.tail_entries();
  ASSERT_GT(left, kTransaction);
  for (uint64_t next = end; next + kTransaction < end + left; next += kTransaction) {
    stored.add(next, next + kTransaction);
    stored.commit();
    const auto progress = progress_in(stored.storage.rows);
    ASSERT_TRUE(progress.has_value());
    ASSERT_EQ(progress->capacity, 0u) << next;
    ASSERT_EQ(progress->points, 1u) << next;
  }
  expect_good(stored.storage, step_options());
  add_until(stored, end + left, [&older](const StoredRows& now) {
    return decode_record(now.record).value().epoch == older.epoch;
  });
  expect_good(stored.storage, step_options());
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

}  // namespace
}  // namespace cuckoo
