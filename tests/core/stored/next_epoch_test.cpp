// What becomes of it in a filter is in logged_filter_steps_test.cpp.
#include "core/stored/next_epoch.hpp"

#include <gtest/gtest.h>

#include "core/filter/sizing.hpp"
#include "core/stored/replay.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::StoredFilter;

TEST(EpochProgress, decode_refuses_what_cant_be) {
  EpochProgress progress;
  progress.epoch = 3;
  progress.base_id = 77;
  progress.capacity = 1000;
  progress.points = 2;
  progress.log_rows = 9;
  progress.old_first_row = 5;
  progress.old_log_rows = 4;
  progress.old_pages = 2;
  progress.old_step = 200;
  const Result<EpochProgress> again = decode_progress(encode_progress(progress));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value(), progress);
  progress.version = 1;
  EXPECT_TRUE(decode_progress(encode_progress(progress)).value().outdated());
  progress.version = EpochProgress::kVersion;
  using Change = void (*)(EpochProgress&);
  const Change changes[] = {[](EpochProgress& one) { one.version = 0; },
                            [](EpochProgress& one) { one.old_log_rows = 0; },  // others without it
                            [](EpochProgress& one) { one.old_log_rows = one.old_pages = 0; },
                            [](EpochProgress& one) { one.version = EpochProgress::kVersion + 1; },
                            [](EpochProgress& one) { one.epoch = 0; },
                            [](EpochProgress& one) { one.capacity = 0; },
                            [](EpochProgress& one) { one.capacity = kMaxCapacity + 1; },
                            [](EpochProgress& one) { one.points = 0; },
                            [](EpochProgress& one) { one.points = one.capacity = 0; },
                            [](EpochProgress& one) {
                              one.points = one.capacity = one.log_rows = 0;
                              one.pages = 1;
                            },
                            [](EpochProgress& one) { one.epoch = kMaxEpoch + 2; },
                            [](EpochProgress& one) { one.points = NextEpoch::kPoints + 1; },
                            [](EpochProgress& one) { one.log_rows = uint64_t{1} << 41; },
                            [](EpochProgress& one) { one.pages = uint64_t{1} << 41; },
                            [](EpochProgress& one) { one.old_first_row = UINT64_MAX; },
                            [](EpochProgress& one) { one.old_first_row = uint64_t{2} << 40; },
                            [](EpochProgress& one) { one.old_first_row = (uint64_t{2} << 40) - 3; },
                            [](EpochProgress& one) { one.old_log_rows = uint64_t{1} << 41; },
                            [](EpochProgress& one) { one.old_pages = uint64_t{1} << 41; },
                            [](EpochProgress& one) { one.old_step = NextEpoch::kSteps + 1; }};
  for (const Change change : changes) {
    EpochProgress bad = progress;
    change(bad);
    const Result<EpochProgress> decoded = decode_progress(encode_progress(bad));
    ASSERT_FALSE(decoded.ok());
    EXPECT_EQ(decoded.error().code, ErrorCode::kCorrupt);
  }
}

// The rows that stand after the last step are a log of their own, of the same hashes, and the pages
// hold them.
TEST(NextEpoch, I3_at_the_last_step_all_rows_and_pages_stand) {
  for (const FilterKind kind : test::kLoggedKinds) {
    const FilterOptions options = test::options_for({kind, true}, 20000);
    StoredFilter stored(options);
    stored.add(0, 5000);
    stored.commit();
    ASSERT_TRUE(stored.filter.rebuild(20000).ok());
    stored.add(4000, 9000);
    ASSERT_TRUE(stored.filter.fold().ok());
    stored.commit();
    const FilterRecord& record = stored.filter.record();
    NextEpoch::Source source;
    source.folded.first_row = static_cast<int64_t>(record.first_row);
    source.folded.last_row = static_cast<int64_t>(record.fold_row) - 1;
    source.folded.start_chain = record.start_chain;
    source.folded.start_items = record.start_items;
    source.folded.end_chain = record.fold_chain;
    source.folded.end_position = record.fold_position;
    source.folded.multiset = options.multiset();
    for (const auto& [id, row] : stored.storage.rows.log) {
      const bool compacted = parse_log_row(row, options.width).value().header.compacted();
      source.first_raw_row = compacted ? id + 1 : source.first_raw_row;
    }
    source.compacted_entries = record.compacted_entries;
    source.items = record.fold_items;
    source.base_id = record.base_id;
    FilterRecord empty;
    empty.epoch = record.epoch + 1;
    empty.capacity = 30000;
    empty.first_row = static_cast<uint64_t>(first_row_id(empty.epoch));
    empty.start_chain = 5;
    Result<std::unique_ptr<Filter>> filter = options.make_filter_for(30000);
    ASSERT_TRUE(filter.ok());
    empty.geometry = filter.value()->words();
    NextEpoch next(options, stored.storage, source, empty, std::move(filter.value()), 9000);
    EpochProgress progress;
    progress.epoch = empty.epoch;
    progress.base_id = record.base_id;
    progress.capacity = 30000;
    progress.points = 1;
    EXPECT_TRUE(next.follows(progress));
    for (uint64_t step = NextEpoch::kBegin; step <= NextEpoch::kSteps; ++step) {
      Status status = next.make(step, progress);
      status = status.ok() ? next.write(step, progress) : std::move(status);
      ASSERT_TRUE(status.ok()) << message_of(status);
      EXPECT_EQ(progress.points, NextEpoch::points(step));
      EXPECT_TRUE(next.follows(progress));
      EXPECT_EQ(next.complete(), progress.points == NextEpoch::kPoints);
      EpochProgress before = progress;
      --before.log_rows;
      EXPECT_EQ(next.follows(before), progress.log_rows == 0);
    }
    EXPECT_EQ(progress.points, NextEpoch::kPoints);
    const FilterRecord& made = next.record();
    EXPECT_EQ(progress.pages, next.filter().pages().page_count());
    EXPECT_EQ(progress.log_rows, made.fold_row - made.first_row);

    LogExtent extent;
    extent.first_row = static_cast<int64_t>(made.first_row);
    extent.last_row = static_cast<int64_t>(made.fold_row) - 1;
    extent.start_chain = 5;
    extent.start_items = made.start_items;
    extent.end_chain = made.fold_chain;
    extent.end_position = made.fold_position;
    extent.multiset = options.multiset();
    LogReplay old(stored.storage, options.width);
    ASSERT_TRUE(old.read(source.folded).ok());
    LogReplay replay(stored.storage, options.width);
    const Status status = replay.read(extent);
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(replay.hashes(), old.hashes());
    EXPECT_EQ(replay.items(), old.items());
    EXPECT_EQ(made.compacted_entries, old.hashes());
    EXPECT_EQ(made.fold_items, record.fold_items);
    for (uint64_t i = 0; i < 9000; ++i) {
      ASSERT_EQ(next.filter().probe(nth_hash(i)), Filter::Answer::kPresent) << i;
    }
    uint64_t page_rows = 0;
    for (const auto& [id, row] : stored.storage.rows.pages) {
      page_rows += id >= first_row_id(empty.epoch) ? 1 : 0;
    }
    EXPECT_EQ(made.page_rows, page_rows);
  }
}

}  // namespace
}  // namespace cuckoo
