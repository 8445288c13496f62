// FilterBlocks: which blocks a flush writes and erases, and what another one makes of them.
#include "core/segments/filter_blocks.hpp"

#include <set>

#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_filter_blocks_test {
namespace {

class OfFilterBlocks : public ::testing::Test {
 protected:
  // Appends entries to the log, and returns what a flush writes.
  Status log_and_flush(FilterBlocks& blocks, uint64_t first, uint64_t end) const {
    for (uint64_t i = first; i < end; ++i) {
      blocks.append(nth_key(i));
      blocks.add_items(1);
    }
    return flush(blocks);
  }
  static Status flush(FilterBlocks& blocks) {
    FilterBlocks::Written written;
    CUCKOO_TRY(blocks.write_to(blocks.storage(), 0, written));
    blocks.note_written(std::move(written));
    return {};
  }
  // Makes the only segment anew of what pends.
  Status fold(FilterBlocks& blocks) {
    CUCKOO_ASSIGN_OR_RETURN(Segment* const segment, blocks.segment(0));
    CUCKOO_ASSIGN_OR_RETURN(const std::vector<NetHash> entries,
                            segment->merged(blocks.storage(), blocks.directory().leaf(0).pending));
    CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                            Segment::make(options_, 0, 0, blocks.root().next_number++, 1000));
    made->become(entries, blocks.log().position(), 0, items_of(entries, true), true);
    blocks.directory().note_folded(0);
    blocks.directory().leaf(0).segment = std::move(made);
    blocks.note_segment(0);
    return {};
  }
  Blocks on(MemoryBlocks& rows) const { return {rows, options_.seed}; }

  // create() creates and flushes. create_filled() also writes three entries to the log and folds
  // them.
  void create(FilterBlocks& blocks) const {
    expect_ok(blocks.create());
    expect_ok(flush(blocks));
  }
  void create_filled(FilterBlocks& blocks) {
    create(blocks);
    expect_ok(log_and_flush(blocks, 0, 3));
    expect_ok(fold(blocks));
  }

  FilterOptions options_ = test::small_segments(FilterKind::kCuckoo);
  MemoryBlocks rows_;
};

TEST_F(OfFilterBlocks, entries_alone_write_rows_of_the_log_and_nothing_else) {
  FilterBlocks blocks(options_, on(rows_));
  create(blocks);
  const uint64_t writes = rows_.calls.writes;
  expect_ok(log_and_flush(blocks, 0, 3));
  EXPECT_EQ(rows_.calls.writes, writes + 1);
  EXPECT_EQ(rows_.rows.rbegin()->first, kFirstLogBlock);
  EXPECT_FALSE(blocks.changed());
}

TEST_F(OfFilterBlocks, I1_the_newest_row_tells_whether_the_directory_must_be_read) {
  FilterBlocks blocks(options_, on(rows_));
  create(blocks);
  FilterBlocks other(options_, on(rows_));
  ASSERT_TRUE(other.follow(false).ok());
  expect_ok(log_and_flush(blocks, 0, 3));
  const uint64_t reads = rows_.calls.reads;
  expect_ok(other.follow(true));
  EXPECT_EQ(rows_.calls.reads, reads + 1);
  EXPECT_EQ(other.directory().pending_entries(), 3U);
  EXPECT_EQ(other.items(), 3U);

  expect_ok(fold(blocks));
  expect_ok(flush(blocks));
  expect_ok(other.follow(true));
  EXPECT_EQ(other.root(), blocks.root());
  EXPECT_EQ(other.directory().pending_entries(), 0U);
  EXPECT_EQ(other.items(), 3U);
}

TEST_F(OfFilterBlocks, I2_writing_changes_nothing_in_memory) {
  FilterBlocks blocks(options_, on(rows_));
  create_filled(blocks);
  std::vector<MemoryBlocks::Rows> written;
  for (int again = 0; again < 2; ++again) {
    MemoryBlocks elsewhere;
    elsewhere.rows = rows_.rows;
    FilterBlocks::Written ignored;
    const Root before = blocks.root();
    expect_ok(blocks.write_to(on(elsewhere), 0, ignored));
    EXPECT_EQ(blocks.root(), before);
    EXPECT_TRUE(blocks.changed());
    written.push_back(elsewhere.rows);
  }
  expect_ok(flush(blocks));
  EXPECT_EQ(written[0], rows_.rows);
  EXPECT_EQ(written[1], rows_.rows);
}

TEST_F(OfFilterBlocks, I3_a_cleared_filter_leaves_its_root_and_its_log) {
  FilterBlocks blocks(options_, on(rows_));
  create_filled(blocks);
  expect_ok(flush(blocks));
  ASSERT_GE(rows_.rows.size(), 4U);

  blocks.clear(must(limits_for(options_, options_.capacity)));
  expect_ok(flush(blocks));
  ASSERT_EQ(rows_.rows.size(), 2U);
  EXPECT_EQ(rows_.rows.begin()->first, kRootBlock);
  EXPECT_GT(rows_.rows.rbegin()->first, kFirstLogBlock) << "the log goes on behind its old rows";
  expect_ok(blocks.check());
}

TEST_F(OfFilterBlocks, I3_a_row_before_the_log_is_found) {
  FilterBlocks blocks(options_, on(rows_));
  create(blocks);
  expect_ok(log_and_flush(blocks, 0, 500));
  expect_ok(fold(blocks));
  const test::Bytes old = rows_.rows.at(kFirstLogBlock);
  expect_ok(flush(blocks));
  ASSERT_GT(blocks.stored_first_row(), 0U);
  ASSERT_FALSE(rows_.rows.contains(kFirstLogBlock)) << "nobody needs it any more";
  expect_ok(blocks.check());

  rows_.rows[kFirstLogBlock] = old;
  EXPECT_EQ(blocks.check().error().code, ErrorCode::kCorrupt);
}

TEST_F(OfFilterBlocks, segments_are_visited_ascending_by_prefix_and_opened_for_that_alone) {
  options_.capacity = 100'000;
  FilterBlocks blocks(options_, on(rows_));
  expect_ok(blocks.create());
  ASSERT_GT(blocks.directory().size(), 4U);
  expect_ok(log_and_flush(blocks, 0, 3));
  std::set<uint64_t> prefixes;
  const auto visit = [&](Segment& segment, const EntryList&) -> Status {
    EXPECT_TRUE(prefixes.empty() || segment.header().prefix > *prefixes.rbegin());
    prefixes.insert(segment.header().prefix);
    return {};
  };
  expect_ok(blocks.visit_segments(FilterBlocks::Lists::kApplied, FilterBlocks::all, visit));
  EXPECT_EQ(prefixes.size(), blocks.directory().size());
  prefixes.clear();
  expect_ok(blocks.visit_segments(FilterBlocks::Lists::kAsTheyAre, FilterBlocks::filled, visit));
  EXPECT_LE(prefixes.size(), 3U);
  size_t in_memory = 0;
  for (size_t i = 0; i < blocks.directory().size(); ++i) {
    in_memory += blocks.directory().leaf(i).segment != nullptr ? 1 : 0;
  }
  EXPECT_EQ(in_memory, 0U);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_blocks_test
