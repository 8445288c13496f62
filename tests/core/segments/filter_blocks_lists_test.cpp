#include <set>

#include "core/base/shared_buffer.hpp"
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_filter_blocks_lists_test {
namespace {

class ListsOfFilterBlocks : public ::testing::Test {
 protected:
  static Status flush(FilterBlocks& blocks) {
    CUCKOO_TRY(blocks.count_all());
    FilterBlocks::Written written;
    CUCKOO_TRY(blocks.write_to(blocks.storage(), 0, written));
    blocks.note_written(std::move(written));
    return {};
  }
  Blocks storage() { return {rows_, options_.seed}; }
  static void append(FilterBlocks& blocks, uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      expect_ok(blocks.expect_add(nth_key(i)));
      blocks.append(nth_key(i));
    }
  }
  static bool has(FilterBlocks& blocks, uint64_t key) {
    Segment* const found = must(blocks.current_of(nth_key(key)));
    expect_ok(found->load(blocks.storage(), nth_key(key)));
    return found->probe(nth_key(key)) == Filter::Answer::kPresent;
  }

  FilterOptions options_ = small_segments(FilterKind::kCuckoo);
  MemoryBlocks rows_;
};

TEST_F(ListsOfFilterBlocks, I4_an_entry_is_in_its_list_at_once_and_in_the_pages_when_asked_for) {
  FilterBlocks blocks(options_, storage());
  expect_ok(blocks.create());
  expect_ok(blocks.segment(0).take_status());
  ASSERT_NE(blocks.segment_in_memory(nth_key(0)), nullptr);
  for (uint64_t i = 0; i < 3; ++i) {
    blocks.append(nth_key(i));
    EXPECT_EQ(blocks.segment_in_memory(nth_key(i)), nullptr) << "it lacks an entry";
    EXPECT_EQ(blocks.directory().pending_entries(), i + 1);
  }
  EXPECT_EQ(blocks.directory().leaf(0).pending.size(), 3U);
  EXPECT_EQ(blocks.directory().leaf(0).first_pending, 0U);
  EXPECT_TRUE(has(blocks, 2));
  ASSERT_NE(blocks.segment_in_memory(nth_key(0)), nullptr);
}

TEST_F(ListsOfFilterBlocks, I5_adds_to_a_set_count_once_whoever_applies_them) {
  options_ = small_segments(FilterKind::kBloom);
  options_.spec.rate = 0.25;
  FilterBlocks blocks(options_, storage());
  expect_ok(blocks.create());
  for (uint64_t i = 0; i < 60; i += 10) {
    append(blocks, i, i + 10);
    append(blocks, i, i + 10);
    EXPECT_GE(blocks.most_items(), i + 20);
    if (i % 20 == 0) {
      (void)has(blocks, i);
    }
    const uint64_t items = blocks.items();
    EXPECT_LE(items, i + 10);
    EXPECT_GE(items, (i + 10) / 2);
    EXPECT_EQ(blocks.most_items(), items);
  }
  const uint64_t items = blocks.items();
  expect_ok(flush(blocks));
  FilterBlocks other(options_, storage());
  expect_ok(other.follow(false));
  EXPECT_EQ(other.items(), items);
  EXPECT_TRUE(has(other, 59));
  EXPECT_EQ(other.items(), items) << "they were counted before";
  append(other, 1000, 1010);
  EXPECT_GT(other.items(), items);
  append(other, 1010, 1020);
  other.forget();
  expect_ok(other.follow(false));
  EXPECT_EQ(other.most_items(), items) << "none is to be counted after a roll-back";
}

TEST_F(ListsOfFilterBlocks, stay_applied_after_a_roll_back_if_the_log_has_all_that_was_applied) {
  FilterBlocks blocks(options_, storage());
  expect_ok(blocks.create());
  append(blocks, 0, 10);
  expect_ok(flush(blocks));
  EXPECT_TRUE(has(blocks, 9));
  const Segment* const before = blocks.directory().leaf(0).segment.get();
  append(blocks, 10, 20);  // not applied
  blocks.forget();
  expect_ok(blocks.follow(false));
  EXPECT_EQ(blocks.directory().leaf(0).segment.get(), before);
  EXPECT_EQ(before->applied(), 10U);
  EXPECT_NE(blocks.segment_in_memory(nth_key(0)), nullptr);

  append(blocks, 10, 20);
  EXPECT_TRUE(has(blocks, 19));
  blocks.forget();
  expect_ok(blocks.follow(false));
  EXPECT_EQ(blocks.segment_in_memory(nth_key(0)), nullptr) << "it had what the log has not";
  EXPECT_FALSE(has(blocks, 19));
  EXPECT_TRUE(has(blocks, 9));
}

TEST_F(ListsOfFilterBlocks, share_their_pages_with_those_who_follow) {
  FilterBlocks writer(options_, storage());
  expect_ok(writer.create());
  append(writer, 0, 30);
  expect_ok(flush(writer));
  const SharedBuffers none = shared_buffers();
  FilterBlocks first(options_, storage());
  expect_ok(first.follow(false));
  EXPECT_TRUE(has(first, 29));
  const SharedBuffers one = shared_buffers();
  EXPECT_GT(one.buffers, none.buffers);
  FilterBlocks second(options_, storage());
  expect_ok(second.follow(false));
  EXPECT_TRUE(has(second, 29));
  const SharedBuffers both = shared_buffers();
  EXPECT_EQ(both.buffers, one.buffers);
  EXPECT_GT(both.holders, one.holders);
  append(second, 30, 40);  // changes pages that are shared
  EXPECT_TRUE(has(second, 39));
  EXPECT_FALSE(has(first, 39));
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_blocks_lists_test
