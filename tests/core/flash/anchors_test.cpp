#include "core/flash/anchors.hpp"

#include "core/flash/wear.hpp"
#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_anchors_test {
namespace {

class FlashAnchorsTest : public ::testing::Test {
 protected:
  uint32_t last_block() const { return state.now.checkpoint_blocks.back(); }
  // The anchor before the stream's offset, as it is on the device.
  std::optional<FlashRecordHeader> newest() const {
    const FlashStream& stream = state.now.streams.anchor;
    return decode_flash_record_header(
        parts.device.stored(stream.block).subspan((stream.offset - 1) * size_t{16}, 16),
        state.blocks.at(stream.block).sequence, stream.offset - 1);
  }

  FormattedParts parts{kBareFlash};
  FlashState& state = parts.state;
};

TEST_F(FlashAnchorsTest, stand_in_three_blocks) {
  EXPECT_EQ(parts.anchors.blocks(), (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(FlashAnchorsTest, each_names_the_checkpoint_and_stands_after_the_one_before) {
  const FlashStream before = state.now.streams.anchor;
  state.now.checkpoint_id = 1234;
  ASSERT_STATUS(parts.anchors.write(17));
  EXPECT_EQ(state.now.streams.anchor.block, before.block);
  EXPECT_EQ(state.now.streams.anchor.offset, before.offset + 1);
  ASSERT_TRUE(newest());
  EXPECT_EQ(newest()->type, FlashRecordType::kAnchor);
  EXPECT_EQ(newest()->checkpoint(), 1234U);
  EXPECT_EQ(newest()->last_block(), 17U);
}

TEST_F(FlashAnchorsTest, I1_blocks_are_used_in_turn_and_never_the_newest) {
  std::vector<uint32_t> order{state.now.streams.anchor.block};
  for (int i = 0; i < 1200; ++i) {
    ASSERT_STATUS(parts.anchors.write(last_block()));
    if (state.now.streams.anchor.block != order.back()) {
      order.push_back(state.now.streams.anchor.block);
    }
  }
  ASSERT_GE(order.size(), 5U);
  for (size_t i = 1; i < order.size(); ++i) {
    EXPECT_NE(order[i], order[i - 1]);
    EXPECT_TRUE(i < 3 || order[i] == order[i - 3]);
  }
  EXPECT_EQ(parts.anchors.blocks(), (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(parts.device.violations(), std::vector<std::string>());
}

TEST_F(FlashAnchorsTest, I2_none_is_written_after_the_end_of_a_torn_block) {
  const uint32_t block = state.now.streams.anchor.block;
  state.now.streams.anchor.offset = state.layout.units_per_block();  // as a mount says
  ASSERT_STATUS(parts.anchors.make_room());
  EXPECT_NE(state.now.streams.anchor.block, block);
  EXPECT_EQ(state.now.streams.anchor.offset, kFlashHeaderUnits);
  const FlashStream room = state.now.streams.anchor;
  ASSERT_STATUS(parts.anchors.make_room());
  EXPECT_EQ(state.now.streams.anchor, room) << "there was room";
}

TEST_F(FlashAnchorsTest, I3_a_block_that_fails_is_replaced) {
  const uint32_t block = state.now.streams.anchor.block;
  parts.device.set_wear_failure(WearFailure::kProgramError);
  for (const uint32_t anchor : parts.anchors.blocks()) {
    parts.device.set_endurance(anchor, 0);
  }
  ASSERT_STATUS(parts.anchors.write(last_block()));
  EXPECT_EQ(state.blocks.at(block).kind, FlashBlockKind::kBad);
  EXPECT_EQ(state.blocks.bad_count(), 3U);
  EXPECT_EQ(parts.anchors.blocks(), std::vector<uint32_t>{state.now.streams.anchor.block});
  EXPECT_TRUE(newest());
}

TEST_F(FlashAnchorsTest, without_a_block_it_is_full) {
  for (const uint32_t block : parts.anchors.blocks()) {
    if (block != state.now.streams.anchor.block) {
      state.blocks.retire(block);
    }
  }
  while (state.blocks.free_count() > 0) {
    state.blocks.take();
  }
  state.now.streams.anchor.offset = state.layout.units_per_block();
  EXPECT_TRUE(fails(parts.anchors.write(last_block()), ErrorCode::kFull,
                    "no erase block is free for an anchor"));
}

TEST_F(FlashAnchorsTest, move_on_when_their_blocks_are_less_worn_than_others) {
  for (uint32_t block = 3; block < 24; ++block) {
    state.blocks.take(block);
    state.blocks.set_erase_count(block, 40);
  }
  const uint32_t block = state.now.streams.anchor.block;
  const uint64_t erases = parts.device.counters().erases;
  ASSERT_STATUS(parts.anchors.make_room());
  EXPECT_NE(state.now.streams.anchor.block, block);
  EXPECT_EQ(state.blocks.at(state.now.streams.anchor.block).erase_count, 35U) << "the mean";
  EXPECT_GT(parts.device.counters().erases, erases + 30);
}

}  // namespace
}  // namespace flash_anchors_test
}  // namespace cuckoo
