#include "core/flash/collector.hpp"

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_collector_test {
namespace {

class FlashCollectorTest : public FormattedOnBothDevices {
 protected:
  // Makes a block that has `live` live records and many dead ones. It is no part of the tail.
  uint32_t half_dead_block(int live) {
    const uint32_t block = parts.fill_block("old ");
    for (const auto& [key, record] : std::map(parts.entries)) {
      if (parts.state.layout.locate(record.position).block == block && live-- <= 0) {
        parts.put(key, "new");
      }
    }
    EXPECT_STATUS(parts.checkpointer.checkpoint());
    return block;
  }
  void expect_all_there() {
    for (const auto& entry : parts.entries) {
      bool found = false;
      state.index.find(must(state.index.fetch(entry.second.hash)), [&](uint32_t position) {
        FlashLoadedRecord loaded;
        EXPECT_STATUS(parts.log.load(position, loaded));
        found = found || text_of(loaded.key) == entry.first;
        return found;
      });
      EXPECT_TRUE(found) << entry.first;
    }
    ASSERT_STATUS(state.check());
  }
};
INSTANTIATE_ON_BOTH_DEVICES(FlashCollectorTest);

TEST_P(FlashCollectorTest, all_collects_what_has_something_dead_and_keeps_what_is_live) {
  const uint32_t block = half_dead_block(5);
  ASSERT_STATUS(parts.collector.collect_all());
  EXPECT_NE(state.blocks.at(block).kind, FlashBlockKind::kData);
  EXPECT_GE(state.now.stats.collections, 1U);
  ASSERT_NO_FATAL_FAILURE(expect_all_there());
  const uint64_t collections = state.now.stats.collections;
  ASSERT_STATUS(parts.collector.collect_all());
  EXPECT_LE(state.now.stats.collections, collections + 1) << "only the block that was open";
}

TEST_P(FlashCollectorTest, I1_a_collection_that_fails_leaves_the_index_alone) {
  half_dead_block(5);
  const uint64_t charged = state.now.charged_units;
  const FlashIndex::Entries before = must(state.index.by_position());
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  parts.device.cut_after(20, CutMode::kNothing);
  EXPECT_FALSE(parts.collector.collect_all().ok());
  EXPECT_EQ(must(state.index.by_position()), before);
  EXPECT_EQ(state.now.charged_units, charged);
  EXPECT_TRUE(state.poisoned());
}

TEST_P(FlashCollectorTest, nothing_is_collected_while_there_is_room) {
  half_dead_block(5);
  const uint64_t collections = state.now.stats.collections;
  ASSERT_STATUS(parts.collector.make_room(3, 1));
  EXPECT_EQ(state.now.stats.collections, collections);
}

TEST_P(FlashCollectorTest, I2_there_is_room_again) {
  half_dead_block(5);
  while (state.blocks.free_count() > 3) {
    state.blocks.open(state.blocks.take(), FlashBlockKind::kAnchor, 0, 1);
  }
  const uint32_t free = state.blocks.free_count();
  const uint64_t collections = state.now.stats.collections;
  ASSERT_STATUS(parts.collector.make_room(3, 1));
  EXPECT_GT(state.now.stats.collections, collections);
  EXPECT_GE(state.blocks.free_count(), free);
  ASSERT_NO_FATAL_FAILURE(expect_all_there());
}

TEST_P(FlashCollectorTest, what_can_not_be_made_is_refused_and_changes_nothing) {
  while (state.blocks.free_count() > 0) {
    state.blocks.open(state.blocks.take(), FlashBlockKind::kAnchor, 0, 1);
  }
  const uint64_t digest = state.now.digest;
  EXPECT_TRUE(fails(parts.collector.make_room(3, 1), ErrorCode::kFull, "no block can be freed"));
  EXPECT_EQ(state.now.digest, digest);
  EXPECT_FALSE(state.poisoned());
}

TEST(FlashCollectorOfDamage, I4_a_block_that_lacks_what_the_index_points_to_is_given_up) {
  FormattedParts parts(kAtomicFlash);
  const uint32_t block = parts.fill_block("key");
  parts.put("key3", "new");
  parts.fill_block("more");
  const uint32_t position = parts.entries["key7"].position;
  parts.device.flip_stored(parts.state.layout.address(position) + 21, 0);
  ASSERT_STATUS(parts.collector.collect_all());
  EXPECT_EQ(parts.state.blocks.at(block).kind, FlashBlockKind::kBad);
  EXPECT_TRUE(parts.state.is_lost(position));
  for (const auto& [key, record] : parts.entries) {
    bool found = false;
    parts.state.index.find(must(parts.state.index.fetch(record.hash)), [&](uint32_t at) {
      FlashLoadedRecord loaded;
      found = parts.log.load(at, loaded).ok() && text_of(loaded.key) == key;
      return found;
    });
    EXPECT_EQ(found, key != "key7") << key;
  }
  const uint64_t collections = parts.state.now.stats.collections;
  ASSERT_STATUS(parts.collector.collect_all());
  EXPECT_LE(parts.state.now.stats.collections, collections + 1) << "not that block again";
}

TEST(FlashCollectorOnWearingFlash, I3_a_worn_out_device_says_so) {
  FormattedParts parts(kWearingFlash);
  while (parts.state.blocks.free_count() > 0) {
    parts.state.blocks.retire(parts.state.blocks.take());
  }
  EXPECT_TRUE(fails(parts.collector.make_room(3, 1), ErrorCode::kFull,
                    "erase blocks failed: no block can be freed"));
}

}  // namespace
}  // namespace flash_collector_test
}  // namespace cuckoo
