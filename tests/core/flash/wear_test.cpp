// How evenly a flash store wears its device, and that mounts change nothing about it.
#include "core/flash/wear.hpp"

#include "tests/core/flash/harness.hpp"

namespace cuckoo {
namespace flash_wear_test {
namespace {

struct WearCase {
  const char* name;
  FlashGeometry geometry;
  bool atomic;

  friend std::ostream& operator<<(std::ostream& out, const WearCase& one) {
    return out << one.name;
  }
};

FlashGeometry wear_geometry(uint32_t sector, uint32_t per_block, uint32_t blocks, uint32_t unit) {
  FlashGeometry geometry = small_geometry(sector, per_block, blocks, unit);
  geometry.endurance_erases = 1600;  // the gap is 32
  return geometry;
}

const WearCase kWearCases[] = {
    {"b64", wear_geometry(1024, 4, 64, 16), false},
    {"b64_atomic", wear_geometry(1024, 4, 64, 16), true},
    {"b128_of_4096", wear_geometry(4096, 1, 128, 64), false},
    {"b24_of_8192", wear_geometry(512, 16, 24, 32), false},
    {"b24_of_8192_atomic", wear_geometry(512, 16, 24, 32), true},
};

class FlashWear : public ::testing::TestWithParam<WearCase> {
 protected:
  // Keys take the part `charged` of the usable units. Updates one of `hot_part` of them at random
  // until the blocks were erased `erases` times on average. Calls `watch` now and then.
  template <class Watch>
  void wear(uint64_t erases, double charged, unsigned hot_part, Watch watch) {
    const FlashGeometry& geometry = GetParam().geometry;
    FlashSimulator device(geometry);
    const FlashStoreOptions options{.seed = 3, .atomic_device = GetParam().atomic};
    auto store = std::make_unique<FlashStore>(device, options);
    ASSERT_STATUS(store->format());
    std::string value(100, 'v');
    const auto key = [](uint64_t i) { return "key" + std::to_string(100000 + i); };
    const uint64_t charge = store->charge(9, value.size()).value();
    const auto keys =
        static_cast<uint64_t>(charged * static_cast<double>(store->usable_units() / charge));
    for (uint64_t i = 0; i < keys; ++i) {
      ASSERT_STATUS(store->put(bytes_of(key(i)), bytes_of(value)));
    }
    std::mt19937_64 random(1);
    for (uint64_t i = 0; device.counters().erases < erases * geometry.blocks; ++i) {
      ASSERT_STATUS(store->put(bytes_of(key(random() % (keys / hot_part))), bytes_of(value)));
      if (i % 4000 == 0) {
        ASSERT_NO_FATAL_FAILURE(watch(*store));
        if (random() % 4 == 0) {  // a mount takes nothing back
          store = std::make_unique<FlashStore>(device, options);
          ASSERT_STATUS(store->mount());
        }
      }
    }
    ASSERT_NO_FATAL_FAILURE(watch(*store));
    ASSERT_STATUS(store->check(no_poll));
    for (uint32_t block = 0; block < geometry.blocks; ++block) {
      ASSERT_EQ(store->blocks().at(block).erase_count, device.erases(block)) << block;
    }
  }
};

TEST_P(FlashWear, is_even_when_all_keys_change) {
  FlashBlocks::Wear last;
  ASSERT_NO_FATAL_FAILURE(
      wear(400, 0.8, 1, [&](const FlashStore& store) { last = store.blocks().wear(); }));
  std::cout << "mean " << last.mean << ", sd / mean " << last.deviation / last.mean << ", min "
            << last.min << ", max " << last.max << '\n';
  EXPECT_LE(last.deviation, 0.02 * last.mean);
}

TEST_P(FlashWear, stays_within_the_gap_when_half_the_keys_never_change) {
  uint32_t most = 0;
  ASSERT_NO_FATAL_FAILURE(wear(600, 0.9, 2, [&](const FlashStore& store) {
    const FlashBlocks::Wear wear = store.blocks().wear();
    most = std::max(most, wear.max - wear.min);
  }));
  std::cout << "the greatest difference was " << most << '\n';
  EXPECT_LE(most, 32U);
}

INSTANTIATE_EACH(Devices, FlashWear, kWearCases);

FlashGeometry geometry_with_endurance(uint32_t endurance) {
  FlashGeometry geometry = small_geometry();
  geometry.endurance_erases = endurance;
  return geometry;
}

TEST(FlashWearLevelling, the_gap_follows_from_the_endurance) {
  const auto gap = [](uint32_t endurance, bool wears_out) {
    FlashSimulator device(geometry_with_endurance(endurance));
    return flash_wear_gap(FlashState(device, {.atomic_device = wears_out, .wears_out = wears_out}));
  };
  EXPECT_EQ(gap(100000, false), 2000U);
  EXPECT_EQ(gap(1000, false), 32U);
  EXPECT_EQ(gap(10, false), 32U);
  EXPECT_EQ(gap(100000, true), 2000U);
  EXPECT_EQ(gap(200, true), 25U);
  EXPECT_EQ(gap(10, true), 8U);
}

class FlashLevelling : public ::testing::Test {
 protected:
  // There are two blocks of data. The hot stream's is much more worn.
  FlashLevelling() {
    state.open(4, FlashBlockKind::kData, 1, 1);
    state.open(5, FlashBlockKind::kData, 40, 2);
    state.now.streams.hot = {5, 200, kNoBlock};
    state.now.streams.tail_sequence = 3;
  }
  FlashSimulator device{geometry_with_endurance(1000)};  // the gap is 32
  FlashState state{device, {}};
};

TEST_F(FlashLevelling, I1_data_that_lags_is_picked_when_a_block_is_opened) {
  EXPECT_EQ(block_to_level(state, 57, 3), 4U);
  EXPECT_EQ(block_to_level(state, 56, 3), kNoBlock) << "it fits the open block";
  state.now.streams.hot.block = kNoBlock;
  EXPECT_EQ(block_to_level(state, 57, 3), kNoBlock);
}

TEST_F(FlashLevelling, I1_not_before_the_gap_is_near) {
  state.blocks.set_erase_count(4, 12);
  EXPECT_EQ(block_to_level(state, 57, 3), 4U);
  state.blocks.set_erase_count(4, 13);
  EXPECT_EQ(block_to_level(state, 57, 3), kNoBlock);
  state.blocks.set_erase_count(4, 0);
  state.blocks.set_erase_count(5, 27);
  EXPECT_EQ(block_to_level(state, 57, 3), kNoBlock);
}

TEST_F(FlashLevelling, I1_no_part_of_the_tail) {
  state.now.streams.tail_sequence = 1;
  EXPECT_EQ(block_to_level(state, 57, 3), kNoBlock);
}

TEST_F(FlashLevelling, I2_anchors_are_worn_up_to_the_mean) {
  state.open(0, FlashBlockKind::kAnchor, 2, 9);
  for (uint32_t block = 6; block < 24; ++block) {
    state.blocks.set_erase_count(block, 20);
  }
  ASSERT_EQ(static_cast<int>(state.blocks.wear().mean), 16);
  EXPECT_TRUE(anchors_are_behind(state, 0));
  EXPECT_EQ(anchor_erases_due(state, 0), 13U) << "opening it is the last one";
  state.blocks.set_erase_count(0, 10);
  EXPECT_FALSE(anchors_are_behind(state, 0));
  state.blocks.set_erase_count(0, 17);
  EXPECT_EQ(anchor_erases_due(state, 0), 0U);
  EXPECT_FALSE(anchors_are_behind(state, kNoBlock));
  state.blocks.set_erase_count(0, 0);
  for (uint32_t block = 6; block < 24; ++block) {
    state.blocks.set_erase_count(block, 10000);
  }
  EXPECT_EQ(anchor_erases_due(state, 0), 64U) << "not all at once";
}

TEST(FlashWearOfAnchors, that_never_fail_is_none) {
  FlashSimulator device(small_geometry());
  FlashState state(device, {.atomic_device = true, .wears_out = true});
  state.open(0, FlashBlockKind::kAnchor, 2, 9);
  for (uint32_t block = 1; block < 24; ++block) {
    state.blocks.set_erase_count(block, 100);
  }
  EXPECT_FALSE(anchors_are_behind(state, 0));
  EXPECT_EQ(anchor_erases_due(state, 0), 0U);
}

}  // namespace
}  // namespace flash_wear_test
}  // namespace cuckoo
