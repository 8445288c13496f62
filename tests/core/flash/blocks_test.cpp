#include "core/flash/blocks.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/flash/undo_log.hpp"

namespace cuckoo {
namespace flash_blocks_test {
namespace {

constexpr uint32_t kUnits = 100;  // per block

// Blocks 0 … n-1 hold data that ended at the block's end; all were erased once.
FlashBlocks data_blocks(uint32_t count, uint32_t used) {
  FlashBlocks blocks(count);
  for (uint32_t block = 0; block < used; ++block) {
    EXPECT_EQ(blocks.take(), block);
    blocks.open(block, FlashBlockKind::kData, 1, block + 1);
    blocks.append(block, kUnits, kUnits - kFlashHeaderUnits, block + 1);
  }
  return blocks;
}

FlashStreams no_streams() {
  FlashStreams streams;
  streams.tail_sequence = UINT64_MAX;
  return streams;
}

TEST(FlashBlocks, I1_virgin_blocks_are_taken_in_order) {
  FlashBlocks blocks(4);
  EXPECT_EQ(blocks.free_count(), 4U);
  EXPECT_EQ(blocks.take(), 0U);
  EXPECT_EQ(blocks.take(), 1U);
  EXPECT_EQ(blocks.touched(), 2U);
  EXPECT_EQ(blocks.free_count(), 2U);
  EXPECT_EQ(blocks.at(0).kind, FlashBlockKind::kReserved);
  blocks.take(3);
  EXPECT_EQ(blocks.at(2).kind, FlashBlockKind::kFree);
  EXPECT_EQ(blocks.take(), 2U);
  EXPECT_EQ(blocks.take(), kNoBlock);
  blocks.grow(5);
  EXPECT_EQ(blocks.take(), 4U);
}

TEST(FlashBlocks, I3_the_least_worn_is_taken_first) {
  FlashBlocks blocks(4);
  const uint32_t counts[] = {5, 3, 3, 4};
  for (uint32_t block = 0; block < 4; ++block) {
    blocks.take();
    blocks.open(block, FlashBlockKind::kData, counts[block], block + 1);
  }
  for (uint32_t block = 0; block < 4; ++block) {
    blocks.release(block);
  }
  EXPECT_EQ(blocks.take(), 1U);
  EXPECT_EQ(blocks.take(), 2U);
  EXPECT_EQ(blocks.take(), 3U);
  blocks.set_erase_count(0, 9);
  blocks.release(1);
  EXPECT_EQ(blocks.take(), 1U);
  EXPECT_EQ(blocks.take(), 0U);
}

TEST(FlashBlocks, a_block_that_fails_is_retired_when_it_is_free) {
  FlashBlocks blocks = data_blocks(6, 4);
  blocks.fail(2);
  EXPECT_EQ(blocks.bad_count(), 0U);
  EXPECT_EQ(blocks.live_units(), 4U * 98);
  blocks.release(2);
  EXPECT_EQ(blocks.at(2).kind, FlashBlockKind::kBad);
  EXPECT_EQ(blocks.bad_count(), 1U);
  EXPECT_EQ(blocks.live_units(), 3U * 98);
  EXPECT_EQ(blocks.free_count(), 2U);
  blocks.retire(3);
  EXPECT_EQ(blocks.bad_count(), 2U);
}

TEST(FlashBlocks, a_victim_has_something_dead_and_is_no_part_of_the_tail) {
  FlashBlocks blocks = data_blocks(8, 6);
  FlashStreams streams = no_streams();
  EXPECT_EQ(blocks.pick_victim(streams, kUnits, 100), kNoBlock);
  blocks.remove_live(2, 50);
  blocks.remove_live(4, 60);
  EXPECT_EQ(blocks.pick_victim(streams, kUnits, 1000), 4U);
  streams.hot.block = 4;
  EXPECT_EQ(blocks.pick_victim(streams, kUnits, 1000), 2U);
  streams.tail_cold = 2;
  EXPECT_EQ(blocks.pick_victim(streams, kUnits, 1000), kNoBlock);
  streams = no_streams();
  streams.tail_sequence = 5;  // that of block 4
  EXPECT_EQ(blocks.pick_victim(streams, kUnits, 1000), 2U);
  blocks.fail(0);  // to be given up first, even if nothing is dead in it
  EXPECT_EQ(blocks.pick_victim(streams, kUnits, 1000), 0U);
}

TEST(FlashBlocks, age_counts_for_a_victim) {
  FlashBlocks blocks = data_blocks(8, 2);
  blocks.append(1, kUnits, 0, 990);
  blocks.remove_live(0, 40);
  blocks.remove_live(1, 50);
  EXPECT_EQ(blocks.pick_victim(no_streams(), kUnits, 1000), 0U);
}

TEST(FlashBlocks, the_least_worn_data_is_found_when_the_gap_is_reached) {
  FlashBlocks blocks = data_blocks(8, 4);
  blocks.set_erase_count(3, 20);
  EXPECT_EQ(blocks.pick_least_worn(no_streams(), 20), kNoBlock);
  EXPECT_EQ(blocks.pick_least_worn(no_streams(), 19), 0U);
  blocks.set_erase_count(0, 2);
  EXPECT_EQ(blocks.pick_least_worn(no_streams(), 19), 1U);
  blocks.retire(3);
  EXPECT_EQ(blocks.pick_least_worn(no_streams(), 2), kNoBlock);
}

TEST(FlashBlocks, wear_is_of_the_good_blocks) {
  FlashBlocks blocks = data_blocks(4, 4);
  blocks.set_erase_count(0, 3);
  blocks.set_erase_count(1, 5);
  blocks.set_erase_count(2, 100);
  blocks.set_erase_count(3, 4);
  blocks.retire(2);
  const FlashBlocks::Wear wear = blocks.wear();
  EXPECT_EQ(wear.min, 3U);
  EXPECT_EQ(wear.max, 5U);
  EXPECT_DOUBLE_EQ(wear.mean, 4);
  EXPECT_NEAR(wear.deviation, 0.8165, 1e-4);
  EXPECT_EQ(FlashBlocks(3).wear().max, 0U);
}

TEST(FlashBlocks, I2_a_table_is_taken_over) {
  FlashBlocks blocks = data_blocks(8, 5);
  blocks.release(1);
  blocks.retire(2);
  std::vector<FlashBlock> table;
  for (uint32_t block = 0; block < blocks.touched(); ++block) {
    table.push_back(blocks.at(block));
  }
  FlashBlocks other(8);
  other.assign(table);
  EXPECT_EQ(other.touched(), 5U);
  EXPECT_EQ(other.bad_count(), 1U);
  EXPECT_EQ(other.live_units(), blocks.live_units());
  EXPECT_EQ(other.free_count(), 4U);
  EXPECT_TRUE(other.check().ok());
  other.assign({});
  EXPECT_EQ(other.free_count(), 8U);
  EXPECT_EQ(other.live_units(), 0U);
}

bool equal(const FlashBlocks& a, const FlashBlocks& b) {
  bool same = a.touched() == b.touched() && a.free_count() == b.free_count() &&
              a.bad_count() == b.bad_count() && a.live_units() == b.live_units();
  for (uint32_t block = 0; block < a.touched() && same; ++block) {
    same = a.at(block) == b.at(block);
  }
  return same;
}

void change(FlashBlocks& blocks, std::mt19937_64& random) {
  const auto block = static_cast<uint32_t>(random() % blocks.touched());
  const FlashBlock state = blocks.at(block);
  switch (random() % 7) {
    case 0:
      blocks.take();
      return;
    case 1:
      blocks.open(block, FlashBlockKind::kData, state.erase_count + 1, random() % 1000);
      return;
    case 2:
      if (state.kind != FlashBlockKind::kFree) {
        blocks.release(block);
      }
      return;
    case 3:
      blocks.set_erase_count(block, state.erase_count + 1);
      return;
    case 4:
      blocks.add_live(block, 3);
      return;
    case 5:
      blocks.fail(block);
      return;
    default:
      blocks.retire(block);
      return;
  }
}

TEST(FlashBlocks, I4_what_is_undone_is_as_it_was) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    FlashBlocks blocks = data_blocks(40, 10);
    FlashUndoLog undo;
    blocks.note_in(undo);
    const auto undo_to = [&](size_t mark) {
      undo.undo_blocks(mark, [&](const FlashBlockUndo& change) { blocks.undo(change); });
      undo.release(mark + 1);
    };
    std::vector<FlashBlocks> before;
    for (size_t i = 0; i < 5; ++i) {
      before.push_back(blocks);
      ASSERT_EQ(undo.mark(0, 40, {}), i);
      for (uint64_t changes = random() % 20; changes > 0; --changes) {
        change(blocks, random);
        ASSERT_TRUE(blocks.check().ok()) << seed;
      }
    }
    for (size_t i = before.size(); i-- > 0;) {
      undo_to(i);
      ASSERT_TRUE(equal(blocks, before[i]) && blocks.check().ok()) << seed << ", " << i;
      if (random() % 2 == 0) {  // and once more from there
        change(blocks, random);
        undo_to(i);
        ASSERT_TRUE(equal(blocks, before[i])) << seed << ", " << i;
      }
    }
    undo.release(0);
    std::vector<uint32_t> taken;
    while (blocks.free_count() > 0) {
      ASSERT_EQ(blocks.take(), before[0].take());
    }
  }
}

}  // namespace
}  // namespace flash_blocks_test
}  // namespace cuckoo
