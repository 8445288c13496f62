#include "core/flash/mount.hpp"

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_mount_test {
namespace {

class FlashMountTest : public OnBothDevices {
 protected:
  FlashParts parts{options()};
  FlashParts again{options()};
};
INSTANTIATE_ON_BOTH_DEVICES(FlashMountTest);

TEST_P(FlashMountTest, of_an_empty_device_says_that_there_is_no_store) {
  EXPECT_TRUE(
      fails(parts.mount().mount(), ErrorCode::kCorrupt, "there is no store on this device"));
}

TEST_P(FlashMountTest, finds_what_was_formatted) {
  ASSERT_STATUS(parts.mount().format());
  EXPECT_EQ(parts.anchors.blocks().size(), 3U);
  ASSERT_STATUS(parts.state.check());
  again.device.restore(parts.device.snapshot());
  ASSERT_STATUS(again.mount().mount());
  EXPECT_EQ(again.state.now.heads, 0U);
  ASSERT_STATUS(again.state.check());
}

TEST_P(FlashMountTest, I3_of_an_atomic_device_gives_the_state_and_writes_nothing) {
  ASSERT_STATUS(parts.mount().format());
  for (int i = 0; i < 300; ++i) {
    parts.put("key" + std::to_string(i % 40), std::string(i % 99, 'v'));
    if (i == 150) {
      ASSERT_STATUS(parts.checkpointer.checkpoint());
    }
  }
  again.device.restore(parts.device.snapshot());
  const uint64_t steps = again.device.steps();
  ASSERT_STATUS(again.mount().mount());
  ASSERT_STATUS(again.state.check());
  EXPECT_EQ(again.state.now.heads, 40U);
  EXPECT_EQ(again.state.now.next_lsn, parts.state.now.next_lsn);
  if (!bare()) {
    EXPECT_EQ(again.state.difference_to(parts.state), "");
    EXPECT_EQ(again.device.steps(), steps);
  }
}

TEST_P(FlashMountTest, I1_streams_of_a_bare_device_go_on_in_other_blocks) {
  ASSERT_STATUS(parts.mount().format());
  parts.put("a", "1");
  again.device.restore(parts.device.snapshot());
  ASSERT_STATUS(again.mount().mount());
  if (bare()) {
    EXPECT_EQ(again.state.now.streams.hot.block, kNoBlock);
    EXPECT_EQ(again.state.now.streams.cold.block, kNoBlock);
    EXPECT_NE(again.state.now.streams.anchor.block, parts.state.now.streams.anchor.block);
    EXPECT_EQ(again.state.now.checkpoint_id, parts.state.now.checkpoint_id + 1)
        << "of what was found";
  } else {
    EXPECT_EQ(again.state.now.streams, parts.state.now.streams);
  }
}

// A mount takes no older checkpoint for a damaged one: the older one may lack acknowledged changes.
TEST_P(FlashMountTest, a_checkpoint_that_is_damaged_is_named) {
  ASSERT_STATUS(parts.mount().format());
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  const uint32_t block = parts.state.now.checkpoint_blocks.back();
  parts.device.flip_stored(parts.state.layout.block_address(block) + 70, 3);
  again.device.restore(parts.device.snapshot());
  EXPECT_TRUE(fails(again.mount().mount(), ErrorCode::kCorrupt,
                    "checkpoint 2, erase block " + std::to_string(block) + ": wrong CRC"));
}

TEST_P(FlashMountTest, format_takes_a_used_device) {
  ASSERT_STATUS(parts.mount().format());
  parts.fill_block("key");
  const uint64_t id = parts.state.now.checkpoint_id;
  if (!bare()) {
    return;  // an atomic device is erased by its owner
  }
  parts.state.reset();
  ASSERT_STATUS(parts.mount().format());
  EXPECT_GT(parts.state.now.checkpoint_id, id) << "its anchor is the newest";
  parts.state.reset();
  ASSERT_STATUS(parts.mount().mount());
  EXPECT_EQ(parts.state.now.heads, 0U);
}

TEST(FlashMountOfABareDevice, I2_nothing_but_anchors_is_erased_before_the_new_checkpoint) {
  FormattedParts parts(kBareFlash);
  parts.fill_block("key");
  const FlashSimulator::State before = parts.device.snapshot();
  const uint64_t steps_of_a_mount = [&] {
    FlashParts whole(kBareFlash);
    whole.device.restore(before);
    const uint64_t steps = whole.device.steps();
    EXPECT_STATUS(whole.mount().mount());
    return whole.device.steps() - steps;
  }();
  for (uint64_t step = 1; step <= steps_of_a_mount; ++step) {
    FlashParts torn(kBareFlash);
    torn.device.restore(before);
    torn.device.cut_after(step, CutMode::kPrefix, step);
    EXPECT_FALSE(torn.mount().mount().ok());
    torn.device.power_on();
    torn.state.reset();
    ASSERT_STATUS(torn.mount().mount()) << step;
    ASSERT_EQ(torn.state.now.heads, parts.state.now.heads) << step;
  }
}

// The power went while the second checkpoint's anchor was programmed. The first mounts can't read
// it.
TEST(FlashMountOfABareDevice, I4_an_anchor_that_reads_well_later_is_not_the_newest_any_more) {
  FormattedParts parts(kBareFlash);
  parts.fill_block("key");
  const FlashStream anchor = parts.state.now.streams.anchor;
  const size_t at = parts.state.layout.bytes_of(anchor.offset);
  const uint64_t address = parts.state.layout.block_address(anchor.block) + at;
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  const auto unit_of = [&](const FlashSimulator& device) {
    const std::span<const std::byte> unit =
        device.stored(anchor.block).subspan(at, kFlashMarkBytes);
    return std::vector<std::byte>(unit.begin(), unit.end());
  };
  const std::vector<std::byte> whole = unit_of(parts.device);
  std::vector<std::byte> torn = whole;
  std::fill(torn.begin() + kFlashMarkBytes / 2, torn.end(), std::byte{0xFF});
  parts.device.plant(address, torn);
  const FlashSimulator::State before = parts.device.snapshot();
  uint64_t later = 0;
  for (uint64_t step = 1;; ++step) {
    FlashParts cut(kBareFlash);
    cut.device.restore(before);
    cut.device.cut_after(step, CutMode::kComplete, step);
    if (cut.mount().mount().ok()) {
      break;
    }
    cut.device.power_on();
    if (unit_of(cut.device) == torn) {
      cut.device.plant(address, whole);
      ++later;
    }
    cut.state.reset();
    ASSERT_STATUS(cut.mount().mount()) << step;
    ASSERT_EQ(cut.state.now.heads, parts.state.now.heads) << step;
  }
  EXPECT_GT(later, 10U);
}

// The newest anchor stands after another one in its block. So the block of older ones is erased,
// not a free one, if the third block failed.
TEST(FlashMountOfABareDevice, I4_a_free_block_stands_in_only_where_it_must) {
  FormattedParts first(kBareFlash);
  first.put("a", "1");
  FlashParts second(kBareFlash);
  second.device.restore(first.device.snapshot());
  ASSERT_STATUS(second.mount().mount());
  second.put("b", "1");
  FlashParts third(kBareFlash);
  third.device.restore(second.device.snapshot());
  third.device.set_wear_failure(WearFailure::kEraseError);
  third.device.set_endurance(2, 0);
  ASSERT_STATUS(third.mount().mount());
  EXPECT_EQ(third.anchors.blocks(), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(third.state.now.heads, 2U);
}

TEST(FlashMountOfABareDevice, without_a_block_for_a_checkpoint_only_reading_is_left) {
  FormattedParts parts(kBareFlash);
  parts.put("a", "1");
  FlashParts again(kBareFlash);
  again.device.restore(parts.device.snapshot());
  for (uint32_t block = 0; block < 24; ++block) {
    again.device.set_endurance(block, 0);
  }
  FlashMount mount = again.mount();
  ASSERT_STATUS(mount.mount());
  EXPECT_TRUE(mount.worn_out());
  EXPECT_EQ(again.state.now.heads, 1U);
}

}  // namespace
}  // namespace flash_mount_test
}  // namespace cuckoo
