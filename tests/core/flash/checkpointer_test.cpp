#include "core/flash/checkpointer.hpp"

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_checkpointer_test {
namespace {

class FlashCheckpointerTest : public FormattedOnBothDevices {};
INSTANTIATE_ON_BOTH_DEVICES(FlashCheckpointerTest);

TEST_P(FlashCheckpointerTest, I1_the_older_one_is_freed_after_the_anchor) {
  for (int i = 0; i < 50; ++i) {
    const std::vector<uint32_t> older = state.now.checkpoint_blocks;
    const uint64_t id = state.now.checkpoint_id;
    ASSERT_STATUS(parts.checkpointer.write());
    EXPECT_EQ(state.now.checkpoint_id, id + 1);
    for (const uint32_t block : older) {
      EXPECT_EQ(state.blocks.at(block).kind, FlashBlockKind::kCheckpoint);
      EXPECT_EQ(
          std::count(state.now.checkpoint_blocks.begin(), state.now.checkpoint_blocks.end(), block),
          0);
    }
    ASSERT_STATUS(state.sweep());
    for (const uint32_t block : older) {
      EXPECT_EQ(state.blocks.at(block).kind, FlashBlockKind::kFree);
    }
    ASSERT_STATUS(state.check());
  }
  EXPECT_EQ(parts.device.violations(), std::vector<std::string>());
}

TEST_P(FlashCheckpointerTest, I2_the_tail_begins_where_the_streams_stand) {
  parts.put("a", "1");
  EXPECT_GT(state.now.tail_read_bytes, 0U);
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  EXPECT_EQ(state.now.tail_read_bytes, 0U);
  EXPECT_EQ(state.now.streams.tail_hot, state.now.streams.hot.block);
  EXPECT_EQ(state.now.streams.tail_cold, state.now.streams.cold.block);
  EXPECT_LE(state.now.streams.tail_sequence, state.now.streams.next_sequence);
}

TEST_P(FlashCheckpointerTest, one_of_several_blocks_is_found_again) {
  for (int i = 0; i < 1200; ++i) {
    parts.put("key" + std::to_string(i), "");
  }
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  EXPECT_GT(state.now.checkpoint_blocks.size(), 1U);
  EXPECT_LE(state.now.checkpoint_blocks.size(), parts.checkpointer.blocks_needed());
  FlashParts again(options());
  again.device.restore(parts.device.snapshot());
  ASSERT_STATUS(again.mount().mount());
  EXPECT_EQ(again.state.now.heads, 1200U);
  EXPECT_EQ(again.state.index.size(), 1200U);
}

TEST_P(FlashCheckpointerTest, is_due_when_the_tail_is_long) {
  EXPECT_FALSE(parts.checkpointer.due());
  state.now.tail_read_bytes = (options().atomic_device ? 24 : 48) * 1024;
  EXPECT_FALSE(parts.checkpointer.due());
  ++state.now.tail_read_bytes;
  EXPECT_TRUE(parts.checkpointer.due());
  for (uint32_t i = 1; i <= 4; ++i) {
    state.index.insert(i, i);
  }
  EXPECT_FALSE(parts.checkpointer.due()) << "more entries, more tail";
}

TEST_P(FlashCheckpointerTest, clear_forgets_all) {
  const uint32_t block = parts.fill_block("key");
  ASSERT_STATUS(parts.checkpointer.clear());
  EXPECT_EQ(state.now.heads, 0U);
  EXPECT_EQ(state.now.charged_units, 0U);
  EXPECT_EQ(state.index.size(), 0U);
  EXPECT_EQ(state.blocks.live_units(), 0U);
  ASSERT_STATUS(state.sweep());
  EXPECT_EQ(state.blocks.at(block).kind, FlashBlockKind::kFree);
}

TEST(FlashCheckpointerOnBareFlash, goes_on_in_another_block_when_one_fails) {
  FormattedParts parts(kBareFlash);
  const uint32_t next = parts.state.blocks.touched();
  parts.device.set_bad(next);
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  EXPECT_EQ(parts.state.blocks.at(next).kind, FlashBlockKind::kBad);
  EXPECT_EQ(parts.state.now.checkpoint_blocks, std::vector<uint32_t>{next + 1});
}

TEST(FlashCheckpointerOnWearingFlash, I3_without_room_nothing_begins) {
  FormattedParts parts(kWearingFlash);
  EXPECT_TRUE(parts.checkpointer.fits(0));
  while (parts.state.blocks.free_count() > 0) {
    parts.state.blocks.take();
  }
  EXPECT_FALSE(parts.checkpointer.fits(0));
  parts.state.now.tail_read_bytes = uint64_t{1} << 40;
  EXPECT_FALSE(parts.checkpointer.due());
  const uint64_t id = parts.state.now.checkpoint_id;
  const std::string text = "no block is left for a checkpoint";
  EXPECT_TRUE(fails(parts.checkpointer.checkpoint(), ErrorCode::kFull, text));
  EXPECT_TRUE(fails(parts.checkpointer.clear(), ErrorCode::kFull, text));
  EXPECT_EQ(parts.state.now.checkpoint_id, id);
  EXPECT_FALSE(parts.state.poisoned());
}

}  // namespace
}  // namespace flash_checkpointer_test
}  // namespace cuckoo
