// How evenly a flash store wears its device, and that mounts change nothing about it.
#include "tests/core/flash/harness.hpp"

namespace cuckoo {
namespace {

struct WearCase {
  const char* name;
  FlashGeometry geometry;
  bool atomic;
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

class Flash_wear : public ::testing::TestWithParam<WearCase> {
 protected:
  // Updates `updated` of `keys` keys at random until the blocks were erased `erases` times on
  // average; `watch` is called now and then.
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

TEST_P(Flash_wear, is_even_when_all_keys_change) {
  FlashBlocks::Wear last;
  ASSERT_NO_FATAL_FAILURE(
      wear(400, 0.8, 1, [&](const FlashStore& store) { last = store.blocks().wear(); }));
  std::cout << "mean " << last.mean << ", sd / mean " << last.deviation / last.mean << ", min "
            << last.min << ", max " << last.max << '\n';
  EXPECT_LE(last.deviation, 0.02 * last.mean);
}

TEST_P(Flash_wear, stays_within_the_gap_when_half_the_keys_never_change) {
  uint32_t most = 0;
  ASSERT_NO_FATAL_FAILURE(wear(600, 0.9, 2, [&](const FlashStore& store) {
    const FlashBlocks::Wear wear = store.blocks().wear();
    most = std::max(most, wear.max - wear.min);
  }));
  std::cout << "the greatest difference was " << most << '\n';
  EXPECT_LE(most, 32U);
}

INSTANTIATE_TEST_SUITE_P(devices, Flash_wear, ::testing::ValuesIn(kWearCases),
                         [](const ::testing::TestParamInfo<WearCase>& of) {
                           return of.param.name;
                         });

}  // namespace
}  // namespace cuckoo
