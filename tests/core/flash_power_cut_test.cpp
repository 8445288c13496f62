#include "tests/core/flash_harness.hpp"

namespace cuckoo {
namespace {

struct Geometry {
  uint32_t sector, per_block, blocks;
};

// Power is cut at every step of `operations` operations, after a mount; what was committed before is
// there after the next mount, and the one in flight wholly or not at all.
void cut_everywhere(const Geometry& shape, uint64_t seed, int segments, int operations,
                    unsigned keys, size_t large, bool nested) {
  FlashSimulator device(small_geometry(shape.sector, shape.per_block, shape.blocks), seed);
  const FlashStoreOptions options{.seed = seed};
  FlashModel model;
  {
    FlashStore store(device, options);
    ASSERT_STATUS(store.format());
  }
  std::mt19937_64 random(seed);
  uint64_t cuts = 0;
  for (int segment = 0; segment < segments; ++segment) {
    const FlashSimulator::State before = device.snapshot();
    std::vector<FlashOperation> script;
    for (int i = 0; i < operations; ++i) {
      script.push_back(random_operation(random, keys, large));
    }
    uint64_t steps = 0;
    for (uint64_t cut = 0; cut <= steps; ++cut) {  // cut 0: none; counts the steps
      const CutMode mode = kCutModes[(cut + segment) % kCutModes.size()];
      const std::string id = "seed " + std::to_string(seed) + " segment " +
                             std::to_string(segment) + " cut " + std::to_string(cut) + " of " +
                             std::to_string(steps) + " mode " + name_of(mode);
      device.restore(before);
      const uint64_t start = device.steps();
      if (cut > 0) {
        device.cut_after(cut, mode, seed + cut);
      }
      FlashModel now = model;
      std::optional<FlashOperation> in_flight;
      {
        FlashStore store(device, options);
        Status status = store.mount();
        for (size_t i = 0; i < script.size() && status.ok(); ++i) {
          status = perform(store, script[i]);
          if (status.ok()) {
            perform(now, script[i]);
          } else if (status.error().code == ErrorCode::kFull) {
            status = {};
          } else {
            in_flight = script[i];
          }
        }
        ASSERT_EQ(status.ok(), cut == 0)
            << id << ": " << (status.ok() ? "" : status.error().message);
        ASSERT_TRUE(status.ok() || status.error().code == ErrorCode::kStorage)
            << id << ": " << status.error().message;
      }
      if (cut == 0) {
        steps = device.steps() - start;
        continue;
      }
      ++cuts;
      for (int inner = nested ? 1 + static_cast<int>(cut % 4) : 0; inner > 0; --inner) {
        device.power_on();
        device.cut_after(1 + (cut * 7 + inner) % 12, kCutModes[(cut + inner) % kCutModes.size()],
                         cut);
        FlashStore store(device, options);
        const Status status = store.mount();
        ASSERT_TRUE(status.ok() || status.error().code == ErrorCode::kStorage)
            << id << " nested " << inner << ": " << status.error().message;
      }
      device.power_on();
      FlashStore store(device, options);
      const Status mounted = store.mount();
      ASSERT_TRUE(mounted.ok()) << id << ": " << mounted.error().message;
      std::string differs = difference(store, now);
      if (!differs.empty() && in_flight) {
        perform(now, *in_flight);
        const std::string differs_too = difference(store, now);
        ASSERT_TRUE(differs_too.empty()) << id << ": " << differs << "; " << differs_too;
        differs.clear();
      }
      ASSERT_EQ(differs, "") << id;
      ASSERT_TRUE(succeeded(store.check(no_poll))) << id;
      // It goes on working, also when what was marginal has faded.
      std::mt19937_64 more(cut);
      for (int i = 0; i < 4; ++i) {
        const FlashOperation operation = random_operation(more, keys, 200);
        const Status status = perform(store, operation);
        ASSERT_TRUE(status.ok() || status.error().code == ErrorCode::kFull)
            << id << ": " << status.error().message;
        if (status.ok()) {
          perform(now, operation);
        }
      }
      device.fade();
      FlashStore again(device, options);
      const Status remounted = again.mount();
      ASSERT_TRUE(remounted.ok()) << id << ": " << remounted.error().message;
      ASSERT_EQ(difference(again, now), "") << id << " after fading";
    }
    // On with what the uncut run would have left.
    device.restore(before);
    FlashStore store(device, options);
    ASSERT_STATUS(store.mount());
    for (const FlashOperation& operation : script) {
      const Status status = perform(store, operation);
      if (status.ok()) {
        perform(model, operation);
      } else {
        ASSERT_EQ(status.error().code, ErrorCode::kFull) << status.error().message;
      }
    }
    ASSERT_EQ(device.violations(), std::vector<std::string>());
  }
  ::testing::Test::RecordProperty("cuts", std::to_string(cuts));
  std::cout << cuts << " cuts\n";
}

TEST(Flash_power_cut, every_step_of_1024_by_4) {
  cut_everywhere({1024, 4, 20}, 1, 12, 30, 40, 3000, false);
}
TEST(Flash_power_cut, every_step_of_512_by_16) {
  cut_everywhere({512, 16, 16}, 2, 8, 30, 40, 6000, false);
}
TEST(Flash_power_cut, every_step_of_4096_by_1) {
  cut_everywhere({4096, 1, 16}, 3, 8, 30, 30, 3000, false);
}
TEST(Flash_power_cut, cuts_inside_recoveries) {
  cut_everywhere({1024, 4, 20}, 4, 12, 20, 40, 3000, true);
}

}  // namespace
}  // namespace cuckoo
