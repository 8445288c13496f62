#include "core/segments/turns.hpp"

#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_turns_test {
namespace {

class OfTurns : public ::testing::Test {
 protected:
  explicit OfTurns(uint64_t capacity = 30'000, uint32_t page_bytes = 4032)
      : options_(test::options_for({FilterKind::kCuckoo, true}, capacity, 0.01, page_bytes)) {
    expect_ok(blocks_.create());
  }

  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      expect_ok(turns_.make_way());
      turns_.append(nth_key(i));
      blocks_.add_items(1);
    }
  }
  void remove(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      expect_ok(turns_.make_way());
      turns_.append(nth_key(i) | kRemoveBit);
      blocks_.add_items(-1);
    }
  }
  void finish() {
    expect_ok(turns_.finish());
    FilterBlocks::Written written;
    expect_ok(blocks_.write_to(blocks_.storage(), turns_.kept_entries(), written));
    blocks_.note_written(std::move(written));
    turns_.begin();
  }
  const SegmentHeader& header(size_t leaf) { return blocks_.directory().leaf(leaf).current(); }

  test::MemoryBlocks storage_;
  FilterOptions options_;
  FilterBlocks blocks_{options_, Blocks(storage_, options_.seed)};
  Turns turns_{blocks_};
};

TEST_F(OfTurns, fold_the_only_segment_when_more_than_T_entries_pend) {
  const uint64_t turn = blocks_.turn_entries();
  ASSERT_GE(turn, 504U);
  add(0, turn);
  finish();
  EXPECT_EQ(blocks_.directory().pending_entries(), turn);
  EXPECT_EQ(header(0).number, 0U) << "nothing is folded";
  add(turn, turn + 1);
  finish();
  EXPECT_EQ(blocks_.directory().pending_entries(), 0U);
  EXPECT_EQ(header(0).items, turn + 1);
  EXPECT_EQ(blocks_.items(), turn + 1);
}

class OfTurnsOfMany : public OfTurns {
 protected:
  OfTurnsOfMany() : OfTurns(1'000'000) {}
};

TEST_F(OfTurnsOfMany, I1_it_is_the_turn_of_the_segment_of_which_an_entry_pends_longest) {
  const uint64_t turn = blocks_.turn_entries();
  const uint64_t leaves = blocks_.directory().size();
  ASSERT_GT(leaves, 4U);
  uint64_t next = 0;
  while (blocks_.directory().pending_entries() <= (leaves + 1) * turn / 2) {
    turns_.begin();  // each in a transaction of its own: none is a load
    add(next, next + 1);
    ++next;
  }
  const size_t first = blocks_.directory().leaf_of(nth_key(0));
  EXPECT_EQ(blocks_.directory().oldest(), first);
  finish();
  for (size_t leaf = 0; leaf < leaves; ++leaf) {
    EXPECT_EQ(header(leaf).number != 0, leaf == first) << leaf;
  }
  EXPECT_EQ(blocks_.directory().pending_entries() + header(first).items, next);
}

TEST_F(OfTurnsOfMany, a_load_folds_each_segment_once_and_leaves_nothing_pending) {
  const uint64_t load = 2 * blocks_.directory().size() * blocks_.turn_entries();
  blocks_.root().capacity = 1;  // so the log keeps fewer entries than the load has
  add(0, load);
  EXPECT_FALSE(turns_.loading());
  add(load, load + 1);
  EXPECT_TRUE(turns_.loading());
  const size_t leaves = blocks_.directory().size();
  finish();
  EXPECT_FALSE(turns_.loading());
  EXPECT_EQ(blocks_.directory().pending_entries(), 0U);
  EXPECT_EQ(blocks_.directory().size(), leaves);
  EXPECT_EQ(blocks_.root().next_number, leaves + 1);
  EXPECT_GT(blocks_.root().first_position, 0U) << "the log began anew (I2)";
}

TEST_F(OfTurns, I2_the_log_keeps_a_share_of_the_items_or_of_the_capacity) {
  EXPECT_EQ(turns_.kept_entries(), options_.capacity / 4);
  blocks_.set_items(1'600'000);
  EXPECT_EQ(turns_.kept_entries(), 100'000U);
  blocks_.root().capacity = 3'200'000;
  EXPECT_EQ(turns_.kept_entries(), 200'000U);
  blocks_.root().hashless = 1;
  EXPECT_EQ(turns_.kept_entries(), blocks_.turn_entries());
}

TEST_F(OfTurns, I4_a_failure_in_the_middle_of_a_fold_poisons_and_one_before_it_does_not) {
  const uint64_t turn = blocks_.turn_entries();
  add(0, 2 * turn);
  finish();
  add(2 * turn, 4 * turn);
  storage_.fail_at(1);  // the poll
  EXPECT_FALSE(turns_.finish().ok());
  EXPECT_FALSE(blocks_.poison().poisoned());
  EXPECT_EQ(blocks_.directory().pending_entries(), 2 * turn);
  storage_.fail_at(2);  // the last run, which is read to be merged
  EXPECT_FALSE(turns_.finish().ok());
  EXPECT_TRUE(blocks_.poison().poisoned());
}

TEST_F(OfTurns, a_segment_is_made_anew_when_it_is_too_full) {
  add(0, options_.capacity);
  finish();
  EXPECT_EQ(header(0).number, 1U);
  EXPECT_EQ(header(0).capacity, options_.capacity);
  add(options_.capacity, options_.capacity + 2 * blocks_.turn_entries());
  finish();
  EXPECT_EQ(header(0).number, 2U);
  EXPECT_GT(header(0).capacity, options_.capacity);
}

TEST_F(OfTurns, a_segment_is_made_anew_when_much_is_removed_at_once_and_not_when_it_is_little) {
  constexpr uint64_t kKeys = 20'000;
  const uint64_t turn = blocks_.turn_entries();
  add(0, kKeys);
  finish();
  ASSERT_EQ(header(0).run_entries, kKeys);
  uint64_t removed = 0;
  for (; removed < kKeys / 2; removed += turn + 1) {
    remove(removed, removed + turn + 1);
    finish();
    ASSERT_EQ(header(0).number, 1U) << removed;
  }
  EXPECT_LE(header(0).run_entries, kKeys - removed + (kKeys - removed) / 2) << "a merge drops them";
  add(0, removed);
  finish();
  const uint64_t number = header(0).number;
  remove(0, kKeys / 2);
  finish();
  EXPECT_EQ(header(0).number, number + 1);
  EXPECT_EQ(header(0).run_entries, kKeys / 2);
  EXPECT_EQ(header(0).dead, 0U);
}

// Copies take over segments that got their size since then.
TEST_F(OfTurns, a_segment_that_is_made_anew_in_its_size_has_it_since_before) {
  add(0, options_.capacity);
  finish();
  EXPECT_EQ(header(0).made_at, blocks_.root().folded_to) << "in the size that it was created in";
  const uint64_t keys = options_.capacity + 2 * blocks_.turn_entries();
  add(options_.capacity, keys);
  finish();
  const uint64_t made_at = header(0).made_at;
  const uint64_t capacity = header(0).capacity;
  EXPECT_EQ(made_at, keys - 1) << "a mark of now has it";
  remove(0, 2 * keys / 3);
  finish();
  ASSERT_EQ(header(0).number, 3U) << "made anew";
  EXPECT_EQ(header(0).capacity, capacity);
  EXPECT_EQ(header(0).made_at, made_at);
}

// Each such remove takes the cell of a key, and no merge of runs drops the remove. A segment that
// is made anew has all keys again.
TEST_F(OfTurns, a_segment_is_made_anew_when_many_were_removed_that_were_never_added) {
  constexpr uint64_t kKeys = 20'000;
  add(0, kKeys);
  finish();
  uint64_t removed = 0;
  for (uint64_t i = kKeys; header(0).number == 1 && i < 200 * kKeys; ++i) {
    Segment* const segment = must(blocks_.current(0));
    if (segment->probe(nth_key(i)) == Filter::Answer::kPresent) {
      remove(i, i + 1);
      ++removed;
      finish();
    }
  }
  EXPECT_GT(removed, kKeys / 4);
  EXPECT_LT(removed, kKeys / 2);
  EXPECT_EQ(header(0).number, 2U);
  EXPECT_EQ(header(0).items, kKeys);
  EXPECT_EQ(blocks_.items(), kKeys);
  const Result<Segment*> segment = blocks_.current(0);
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(segment.value()->probe(nth_key(i)), Filter::Answer::kPresent) << i;
  }
}

// All segments get full at the same time. At most a quarter more than is due is left.
TEST_F(OfTurnsOfMany, a_transaction_that_made_a_segment_anew_leaves_the_others_to_the_next) {
  constexpr uint64_t kRows = 3000;  // 1.5 turns
  uint64_t left = 0;
  for (uint64_t next = 0; next < 1'300'000; next += kRows) {
    add(next, next + kRows);
    const uint64_t number = blocks_.root().next_number;
    finish();
    const uint64_t due = (blocks_.directory().size() + 1) * blocks_.turn_entries() / 2;
    if (blocks_.directory().pending_entries() > due) {
      EXPECT_GE(blocks_.root().next_number, number + 1);
      ++left;
    }
    ASSERT_LE(blocks_.directory().pending_entries(), due + due / 4);
  }
  EXPECT_GT(left, blocks_.directory().size() / 4);
}

}  // namespace
}  // namespace cuckoo::segments::segments_turns_test
