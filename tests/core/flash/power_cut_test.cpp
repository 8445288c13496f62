// Power cuts at every step. tests/core/flash/cuts.hpp says how, and what is expected after each.
//
//   CUCKOO_FLASH_CUT=id      replays one cut
//   CUCKOO_FLASH_CUTS=all    all cuts of longer workloads (tests/soak_flash.sh)
#include <cstdlib>
#include <cstring>

#include "tests/core/flash/cuts.hpp"
#include "tests/support/flash_shape.hpp"
#include "tests/support/names.hpp"
#include "tests/support/script.hpp"
#include "tests/support/share.hpp"

namespace cuckoo {
namespace flash_power_cut_test {
namespace {

// Small devices: what the workload writes is several times their size.
constexpr test::FlashShape kShapes[] = {
    {512, 16, 16, 16, 60, 6000}, {512, 16, 18, 32, 50, 6000}, {512, 16, 16, 64, 40, 6000},
    {1024, 4, 20, 16, 50, 3000}, {1024, 4, 24, 32, 50, 3000}, {1024, 4, 18, 64, 24, 3000},
    {4096, 1, 16, 16, 30, 3000}, {4096, 1, 20, 32, 40, 3000}, {4096, 1, 24, 64, 40, 3000},
};

bool all_cuts() {
  const char* const wanted = std::getenv("CUCKOO_FLASH_CUTS");
  return wanted != nullptr && std::strcmp(wanted, "all") == 0;
}

FlashCutExplorer::Options options_of(const test::FlashShape& shape, uint64_t seed) {
  FlashCutExplorer::Options options;
  options.which.geometry = small_geometry(shape.sector, shape.per_block, shape.blocks, shape.unit);
  options.which.seed = seed;
  options.keys = shape.keys * (seed % 2 == 0 ? 1 : 4);  // odd ones fill the device
  options.large_bytes = shape.large;
  return options;
}

// Runs the workload, prints how many cuts there were, and adds them to `total`.
void explore(const FlashCutExplorer::Options& options, uint64_t& total) {
  FlashCutExplorer explorer(options);
  const std::string& failure = explorer.run();
  const FlashGeometry& geometry = options.which.geometry;
  std::cout << options.which.id({}) << ": " << explorer.cuts(0) << " + " << explorer.cuts(1)
            << " + " << explorer.cuts(2) << " cuts; " << explorer.erases() / geometry.blocks
            << " erases a block, " << explorer.collections() << " collections, "
            << explorer.percent_full() << " % full\n";
  total += explorer.cuts();
  ASSERT_EQ(failure, "");
}

class FlashPowerCut : public ::testing::TestWithParam<test::FlashShape> {};

// Every step is cut once in each mode.
TEST_P(FlashPowerCut, I1_to_I4_at_every_step) {
  uint64_t cuts = 0;
  test::for_each_seed(2, [&](uint64_t seed) {
    FlashCutExplorer::Options options = options_of(GetParam(), seed);
    options.actions = 1500;
    options.window = all_cuts() ? 1 : 6;
    options.period = all_cuts() ? 1 : 250;
    options.every = {all_cuts() ? 1 : test::share_divisor()};
    ASSERT_NO_FATAL_FAILURE(explore(options, cuts));
  });
  EXPECT_GT(cuts, 0U);
  RecordProperty("cuts", std::to_string(cuts));
}

// Cuts also fall inside what comes after a cut: up to three nest here and there, or two in a
// shorter workload.
TEST_P(FlashPowerCut, I4_inside_recoveries) {
  uint64_t cuts = 0;
  test::for_each_seed(1, [&](uint64_t seed) {
    FlashCutExplorer::Options options = options_of(GetParam(), seed + 1000000);
    options.actions = 600;
    options.every = all_cuts() ? std::vector<uint64_t>{10, 100, 100}
                               : std::vector<uint64_t>{400 * test::share_divisor(), 200, 100};
    ASSERT_NO_FATAL_FAILURE(explore(options, cuts));
    options.which.seed += 1000000;
    options.actions = 400;
    options.window = 1;
    options.period = all_cuts() ? 40 : 400;
    options.every = all_cuts() ? std::vector<uint64_t>{1, 1}
                               : std::vector<uint64_t>{test::share_divisor(), 1000};
    ASSERT_NO_FATAL_FAILURE(explore(options, cuts));
  });
  RecordProperty("cuts", std::to_string(cuts));
}

// The devices have bad blocks, and blocks that wear out while the workload runs.
TEST_P(FlashPowerCut, I2_on_failing_flash) {
  uint64_t cuts = 0;
  // One seed for each way to fail.
  test::for_each_seed(5, [&](uint64_t seed) {
    FlashCutExplorer::Options options = options_of(GetParam(), seed + kFailingSeeds);
    options.which.geometry.blocks = 28;
    options.actions = 600;
    options.every = all_cuts() ? std::vector<uint64_t>{2, 100}
                               : std::vector<uint64_t>{test::is_sanitized() ? 1600U : 400U, 100};
    ASSERT_NO_FATAL_FAILURE(explore(options, cuts));
  });
  EXPECT_GT(cuts, 0U);
  RecordProperty("cuts", std::to_string(cuts));
}

INSTANTIATE_TEST_SUITE_P(Shapes, FlashPowerCut, ::testing::ValuesIn(kShapes), test::kParameterName);

TEST(FlashPowerCutId, replays) {
  const char* const id = std::getenv("CUCKOO_FLASH_CUT");
  if (id == nullptr) {
    GTEST_SKIP() << "CUCKOO_FLASH_CUT names no cut";
  }
  FlashCutCase which;
  std::vector<FlashCut> path;
  ASSERT_TRUE(which.parse(id, path)) << id;
  for (const test::FlashShape& shape : kShapes) {
    FlashCutExplorer::Options options = options_of(shape, which.seed);
    if (which.seed >= kFailingSeeds) {
      options.which.geometry.blocks = which.geometry.blocks;
    }
    if (options.which.geometry == which.geometry) {
      options.actions = UINT64_MAX;
      options.only = path;
      uint64_t cuts = 0;
      explore(options, cuts);
      ASSERT_EQ(cuts, path.size());
      return;
    }
  }
  FAIL() << "no such shape: " << id;
}

}  // namespace
}  // namespace flash_power_cut_test
}  // namespace cuckoo
