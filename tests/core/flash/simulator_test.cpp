// Every rule and every fault of the fault model (tests/support/flash_simulator.hpp), one by one.
#include "tests/support/core_samples.hpp"
#include "tests/support/flash_simulator.hpp"

#include <bit>

namespace cuckoo {
namespace flash_simulator_test {
namespace {

constexpr FlashGeometry kSmall{.sector_size_bytes = 512,
                               .sectors_per_block = 2,
                               .program_unit_bytes = 16,
                               .blocks = 16,
                               .endurance_erases = 1000};
constexpr uint32_t kBlockBytes = kSmall.sector_size_bytes * kSmall.sectors_per_block;
constexpr uint32_t kUnit = kSmall.program_unit_bytes;

Bytes filled(size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

Bytes read_from(FlashSimulator& device, uint64_t address, size_t size) {
  Bytes out(size);
  EXPECT_STATUS(device.read(address, out));
  return out;
}

Bytes stored(const FlashSimulator& device, uint32_t block) {
  const std::span<const std::byte> bytes = device.stored(block);
  return {bytes.begin(), bytes.end()};
}

size_t ones(const Bytes& bytes) {
  size_t count = 0;
  for (const std::byte byte : bytes) {
    count += static_cast<size_t>(std::popcount(static_cast<uint8_t>(byte)));
  }
  return count;
}

// Every bit of `bytes` is between: set in `upper` when it is set, and set when it is in `lower`.
bool between(const Bytes& lower, const Bytes& bytes, const Bytes& upper) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if ((bytes[i] & ~upper[i]) != std::byte{0} || (lower[i] & ~bytes[i]) != std::byte{0}) {
      return false;
    }
  }
  return true;
}

// ---- the device

TEST(FlashSimulator, a_new_device_is_erased) {
  FlashSimulator device(kSmall);
  EXPECT_EQ(device.geometry(), kSmall);
  EXPECT_EQ(read_from(device, 0, kSmall.size_bytes()), filled(kSmall.size_bytes(), 0xFF));
  EXPECT_EQ(device.erases(0), 0u);
  EXPECT_EQ(device.steps(), 0u);
}

TEST(FlashSimulator, gives_what_was_programmed_at_any_address_and_length) {
  FlashSimulator device(kSmall);
  Bytes data(3 * kUnit);
  for (size_t i = 0; i < data.size(); ++i) {
    data[i] = static_cast<std::byte>(i + 1);
  }
  const uint64_t address = 2 * kBlockBytes - data.size();
  ASSERT_TRUE(device.program(address, data).ok());
  EXPECT_EQ(read_from(device, address, data.size()), data);
  Bytes expected = filled(data.size() + 12, 0xFF);
  std::copy(data.begin(), data.end(), expected.begin() + 5);
  EXPECT_EQ(read_from(device, address - 5, expected.size()), expected);
  EXPECT_TRUE(read_from(device, kSmall.size_bytes(), 0).empty());
  EXPECT_TRUE(device.violations().empty());
}

TEST(FlashSimulator, erase_sets_one_block_to_ff) {
  FlashSimulator device(kSmall);
  for (uint32_t block = 0; block < 3; ++block) {
    ASSERT_TRUE(device.program(block * kBlockBytes, filled(kBlockBytes, block)).ok());
  }
  ASSERT_TRUE(device.erase(1).ok());
  EXPECT_EQ(read_from(device, 0, kBlockBytes), filled(kBlockBytes, 0));
  EXPECT_EQ(read_from(device, kBlockBytes, kBlockBytes), filled(kBlockBytes, 0xFF));
  EXPECT_EQ(read_from(device, 2 * kBlockBytes, kBlockBytes), filled(kBlockBytes, 2));
  EXPECT_EQ(device.erases(0), 0u);
  EXPECT_EQ(device.erases(1), 1u);
  EXPECT_TRUE(device.program(kBlockBytes, filled(kUnit, 7)).ok());
}

TEST(FlashSimulator, counts_calls_units_bytes_and_steps) {
  FlashSimulator device(kSmall);
  ASSERT_TRUE(device.program(0, filled(3 * kUnit, 1)).ok());
  ASSERT_TRUE(device.program(4 * kUnit, filled(kUnit, 1)).ok());
  ASSERT_TRUE(device.erase(3).ok());
  read_from(device, 1, 100);
  read_from(device, 2, 10);
  const FlashSimulator::Counters& counters = device.counters();
  EXPECT_EQ(counters.program_calls, 2u);
  EXPECT_EQ(counters.programmed_units, 4u);
  EXPECT_EQ(counters.programmed_bytes, 4u * kUnit);
  EXPECT_EQ(counters.erases, 1u);
  EXPECT_EQ(counters.read_calls, 2u);
  EXPECT_EQ(counters.read_bytes, 110u);
  EXPECT_EQ(device.steps(), 5u);
}

// ---- rules

class Rules : public ::testing::Test {
 protected:
  void expect_violation(const Status& status, const std::string& text) {
    EXPECT_TRUE(fails(status, ErrorCode::kInvalid, text));
    ASSERT_EQ(device_.violations().size(), ++violations_);
    EXPECT_EQ(status.error().message, device_.violations().back());
  }

  FlashSimulator device_{kSmall};
  size_t violations_ = 0;
};

TEST_F(Rules, a_unit_is_programmed_once_per_erase) {
  ASSERT_TRUE(device_.program(0, filled(kUnit, 0xF0)).ok());
  expect_violation(device_.program(0, filled(kUnit, 0x00)), "expected 1 or later");
  EXPECT_EQ(read_from(device_, 0, kUnit), filled(kUnit, 0xF0));
  ASSERT_TRUE(device_.erase(0).ok());
  EXPECT_TRUE(device_.program(0, filled(kUnit, 0x0F)).ok());
  EXPECT_EQ(read_from(device_, 0, kUnit), filled(kUnit, 0x0F));
}

TEST_F(Rules, units_of_a_block_are_programmed_in_ascending_order) {
  ASSERT_TRUE(device_.program(5 * kUnit, filled(kUnit, 1)).ok());
  expect_violation(device_.program(4 * kUnit, filled(kUnit, 1)), "unit 4 of its block");
  EXPECT_TRUE(device_.program(kBlockBytes, filled(kUnit, 1)).ok());  // another block
  EXPECT_TRUE(device_.program(7 * kUnit, filled(kUnit, 1)).ok());
}

TEST_F(Rules, a_program_is_whole_units_of_one_block) {
  expect_violation(device_.program(1, filled(kUnit, 1)), "whole units");
  expect_violation(device_.program(0, filled(kUnit - 1, 1)), "whole units");
  expect_violation(device_.program(0, {}), "whole units");
  expect_violation(device_.program(kBlockBytes - kUnit, filled(2 * kUnit, 1)), "in one block");
  expect_violation(device_.program(kSmall.size_bytes(), filled(kUnit, 1)), "in one block");
  expect_violation(device_.program(~uint64_t{15}, filled(kUnit, 1)), "in one block");
  EXPECT_EQ(read_from(device_, 0, kSmall.size_bytes()), filled(kSmall.size_bytes(), 0xFF));
  EXPECT_EQ(device_.steps(), 0u);
}

TEST_F(Rules, reads_and_erases_stay_on_the_device) {
  Bytes out(2);
  expect_violation(device_.read(kSmall.size_bytes() - 1, out), "read of 2 bytes");
  expect_violation(device_.read(~uint64_t{0}, out), "read of 2 bytes");
  expect_violation(device_.erase(kSmall.blocks), "erase of block 16");
}

TEST_F(Rules, a_block_whose_erase_failed_is_not_programmed) {
  device_.set_wear_failure(WearFailure::kEraseError);
  device_.set_endurance(2, 0);
  EXPECT_TRUE(fails(device_.erase(2), ErrorCode::kFlashFailure));
  expect_violation(device_.program(2 * kBlockBytes, filled(kUnit, 1)), "last erase was cut off");
}

// ---- wear and bad blocks

TEST(FlashSimulator, a_block_is_worn_out_when_its_erases_reach_its_endurance) {
  for (const WearFailure failure : kWearFailures) {
    SCOPED_TRACE(name_of(failure));
    FlashSimulator device(kSmall, 1);
    device.set_wear_failure(failure);
    device.set_endurance(3, 2);
    for (int turn = 0; turn < 2; ++turn) {
      EXPECT_FALSE(device.worn_out(3));
      ASSERT_TRUE(device.program(3 * kBlockBytes, filled(kUnit, 0x55)).ok());
      ASSERT_EQ(read_from(device, 3 * kBlockBytes, kUnit), filled(kUnit, 0x55));
      ASSERT_TRUE(device.erase(3).ok());
    }
    EXPECT_TRUE(device.worn_out(3));
    EXPECT_FALSE(device.worn_out(2));

    const Status programmed = device.program(3 * kBlockBytes, filled(kUnit, 0x55));
    Bytes out(kUnit);
    const Status read = device.read(3 * kBlockBytes, out);
    const Status erased = device.erase(3);
    const Bytes after = stored(device, 3);
    EXPECT_EQ(programmed.ok(), failure != WearFailure::kProgramError);
    EXPECT_EQ(read.ok(), failure != WearFailure::kReadError);
    EXPECT_EQ(erased.ok(), failure != WearFailure::kEraseError);
    for (const Status* status : {&programmed, &read, &erased}) {
      if (!status->ok()) {
        EXPECT_EQ(status->error().code, ErrorCode::kFlashFailure);
      }
    }
    if (failure == WearFailure::kSilentProgram) {
      EXPECT_EQ(out, filled(kUnit, 0xFF));
    }
    if (failure == WearFailure::kSilentErase) {
      EXPECT_EQ(out, filled(kUnit, 0x55));
      EXPECT_EQ(Bytes(after.begin(), after.begin() + kUnit), filled(kUnit, 0x55));
      ASSERT_TRUE(device.program(3 * kBlockBytes, filled(kUnit, 0x0F)).ok());
      EXPECT_EQ(read_from(device, 3 * kBlockBytes, kUnit), filled(kUnit, 0x05));  // clears only
    }
    EXPECT_TRUE(device.violations().empty());
  }
}

TEST(FlashSimulator, a_failing_program_leaves_its_unit_in_any_state_and_the_next_ones_alone) {
  bool untouched = false;
  bool whole = false;
  bool partial = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FlashSimulator device(kSmall, seed);
    device.set_endurance(0);
    EXPECT_TRUE(fails(device.program(0, filled(2 * kUnit, 0)), ErrorCode::kFlashFailure));
    const Bytes unit = read_from(device, 0, kUnit);
    untouched |= unit == filled(kUnit, 0xFF);
    whole |= unit == filled(kUnit, 0);
    partial |= unit != filled(kUnit, 0xFF) && unit != filled(kUnit, 0);
    EXPECT_EQ(read_from(device, kUnit, kUnit), filled(kUnit, 0xFF));
    EXPECT_EQ(device.steps(), 1u);
  }
  EXPECT_TRUE(untouched && whole && partial);
}

TEST(FlashSimulator, the_geometry_gives_the_endurance) {
  FlashGeometry geometry = kSmall;
  geometry.endurance_erases = 2;
  FlashSimulator device(geometry);
  device.set_wear_failure(WearFailure::kEraseError);
  EXPECT_TRUE(device.erase(5).ok());
  EXPECT_TRUE(device.erase(5).ok());
  EXPECT_TRUE(fails(device.erase(5), ErrorCode::kFlashFailure));
  EXPECT_EQ(device.erases(5), 3u);
}

TEST(FlashSimulator, a_bad_block_refuses_and_holds_anything) {
  FlashSimulator device(kSmall, 9);
  device.set_bad(4);
  const Bytes content = read_from(device, 4 * kBlockBytes, kBlockBytes);
  EXPECT_NE(content, filled(kBlockBytes, 0xFF));
  EXPECT_TRUE(fails(device.erase(4), ErrorCode::kFlashFailure));
  EXPECT_TRUE(fails(device.program(4 * kBlockBytes, filled(kUnit, 1)), ErrorCode::kFlashFailure));
  EXPECT_EQ(read_from(device, 4 * kBlockBytes, kBlockBytes), content);
  EXPECT_TRUE(device.violations().empty());
}

// ---- flips

TEST(FlashSimulator, transient_flips_come_by_their_schedule) {
  FlashSimulator device(kSmall, 3);
  device.flip_reads(3, 2, 2);
  std::vector<size_t> zeros;
  for (int call = 0; call < 8; ++call) {
    zeros.push_back(8 * 100 - ones(read_from(device, 10, 100)));
  }
  EXPECT_EQ(zeros, (std::vector<size_t>{0, 0, 1, 0, 1, 0, 0, 0}));
}

TEST(FlashSimulator, a_stored_flip_stays_until_the_erase) {
  FlashSimulator device(kSmall);
  ASSERT_TRUE(device.program(kBlockBytes, filled(kUnit, 0)).ok());
  device.flip_stored(kBlockBytes + 3, 6);
  Bytes expected = filled(kUnit, 0);
  expected[3] = std::byte{0x40};
  EXPECT_EQ(read_from(device, kBlockBytes, kUnit), expected);
  EXPECT_EQ(read_from(device, kBlockBytes, kUnit), expected);
  ASSERT_TRUE(device.erase(1).ok());
  EXPECT_EQ(read_from(device, kBlockBytes, kUnit), filled(kUnit, 0xFF));
}

// ---- power cuts

TEST(PowerCut, comes_at_its_step_also_inside_a_program_and_stops_everything) {
  FlashSimulator device(kSmall);
  ASSERT_TRUE(device.erase(0).ok());
  device.cut_after(3, CutMode::kNothing);
  ASSERT_TRUE(device.erase(1).ok());
  read_from(device, 0, 10);  // no step
  EXPECT_TRUE(fails(device.program(0, filled(4 * kUnit, 0)), ErrorCode::kStorage));
  EXPECT_FALSE(device.powered());
  EXPECT_EQ(device.steps(), 4u);
  Bytes out(1);
  EXPECT_TRUE(fails(device.read(0, out), ErrorCode::kStorage));
  EXPECT_TRUE(fails(device.program(kBlockBytes, filled(kUnit, 0)), ErrorCode::kStorage));
  EXPECT_TRUE(fails(device.erase(2), ErrorCode::kStorage));
  EXPECT_EQ(device.steps(), 4u);
  device.power_on();
  EXPECT_EQ(read_from(device, 0, kUnit), filled(kUnit, 0));
  EXPECT_EQ(read_from(device, kUnit, 3 * kUnit), filled(3 * kUnit, 0xFF));
  EXPECT_TRUE(device.violations().empty());
}

TEST(PowerCut, power_on_takes_back_a_cut_that_has_not_come) {
  FlashSimulator device(kSmall);
  device.cut_after(1, CutMode::kComplete);
  device.power_on();
  EXPECT_TRUE(device.erase(0).ok());
}

// What 60 differently seeded cuts of one step gave.
struct Outcomes {
  bool untouched = false;
  bool partial = false;
  bool whole = false;
  bool changing = false;  // two reads differed
  bool changing_later = false;

  void expect_those_of(CutMode mode) const {
    EXPECT_EQ(partial,
              mode == CutMode::kPrefix || mode == CutMode::kSubset || mode == CutMode::kWeak);
    EXPECT_EQ(changing, mode == CutMode::kWeak);
    EXPECT_EQ(changing_later, mode == CutMode::kWeak || mode == CutMode::kMarginal);
    EXPECT_TRUE(mode != CutMode::kNothing || (untouched && !whole));
    EXPECT_TRUE((mode != CutMode::kComplete && mode != CutMode::kMarginal) ||
                (whole && !untouched));
  }
};

constexpr uint64_t kSeeds = 60;

class TornProgram : public ::testing::TestWithParam<CutMode> {};

TEST_P(TornProgram, leaves_what_its_mode_says) {
  const Bytes data = filled(kUnit, 0x3C);
  const Bytes erased = filled(kUnit, 0xFF);
  Outcomes seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    FlashSimulator device(kSmall);
    device.cut_after(1, GetParam(), seed);
    EXPECT_TRUE(fails(device.program(0, data), ErrorCode::kStorage));
    device.power_on();
    const Bytes read = read_from(device, 0, kUnit);
    EXPECT_TRUE(between(data, read, erased));
    seen.untouched |= read == erased;
    seen.whole |= read == data;
    seen.partial |= read != erased && read != data;
    for (int i = 0; i < 9; ++i) {
      seen.changing |= read_from(device, 0, kUnit) != read;
    }
    device.power_on();
    for (int i = 0; i < 9; ++i) {
      seen.changing_later |= read_from(device, 0, kUnit) != read;
    }
    EXPECT_EQ(device.program(0, erased).ok(), GetParam() == CutMode::kNothing);
    EXPECT_TRUE(device.erase(0).ok());
    EXPECT_EQ(read_from(device, 0, kBlockBytes), filled(kBlockBytes, 0xFF));
  }
  seen.expect_those_of(GetParam());
}

INSTANTIATE_EACH(Modes, TornProgram, kCutModes);

class TornErase : public ::testing::TestWithParam<CutMode> {};

TEST_P(TornErase, leaves_what_its_mode_says) {
  const CutMode mode = GetParam();
  const Bytes before = filled(kBlockBytes, 0xA5);
  const Bytes erased = filled(kBlockBytes, 0xFF);
  Outcomes seen;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    FlashSimulator device(kSmall);
    ASSERT_TRUE(device.program(0, before).ok());
    device.cut_after(1, mode, seed);
    EXPECT_TRUE(fails(device.erase(0), ErrorCode::kStorage));
    device.power_on();
    const Bytes read = read_from(device, 0, kBlockBytes);
    EXPECT_TRUE(between(before, read, erased));
    seen.untouched |= read == before;
    seen.whole |= read == erased;
    seen.partial |= read != before && read != erased;
    seen.changing |= read_from(device, 0, kBlockBytes) != read;
    FlashSimulator::State state = device.snapshot();
    device.power_on();
    seen.changing_later |= read_from(device, 0, kBlockBytes) != read;
    device.restore(state);
    device.fade();
    EXPECT_EQ(read_from(device, 0, kBlockBytes) != read,
              mode == CutMode::kWeak || mode == CutMode::kMarginal);

    EXPECT_EQ(device.program(0, filled(kUnit, 1)).ok(), mode == CutMode::kComplete);
    EXPECT_EQ(device.violations().size(), mode == CutMode::kComplete ? 0u : 1u);
    ASSERT_TRUE(device.erase(0).ok());
    device.power_on();
    EXPECT_EQ(read_from(device, 0, kBlockBytes), erased);
    EXPECT_TRUE(device.program(0, filled(kBlockBytes, 1)).ok());
    EXPECT_EQ(device.erases(0), mode == CutMode::kNothing ? 1u : 2u);
  }
  seen.expect_those_of(mode);
}

INSTANTIATE_EACH(Modes, TornErase, kCutModes);

TEST(PowerCut, a_marginal_erase_lasts_if_the_next_one_changes_nothing) {
  FlashSimulator device(kSmall);
  device.set_wear_failure(WearFailure::kSilentErase);
  device.set_endurance(0, 1);
  ASSERT_TRUE(device.program(0, filled(kUnit, 0x55)).ok());
  device.cut_after(1, CutMode::kMarginal, 1);
  EXPECT_TRUE(fails(device.erase(0), ErrorCode::kStorage));
  device.power_on();
  ASSERT_TRUE(device.erase(0).ok());
  EXPECT_TRUE(device.worn_out(0));
  device.fade();
  EXPECT_EQ(read_from(device, 0, kBlockBytes), filled(kBlockBytes, 0xFF));
}

TEST(PowerCut, a_torn_prefix_ends_at_any_bit) {
  bool inside_a_byte = false;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    FlashSimulator device(kSmall);
    device.cut_after(1, CutMode::kPrefix, seed);
    ASSERT_FALSE(device.program(0, filled(kUnit, 0)).ok());
    const Bytes unit = stored(device, 0);
    const auto whole =
        std::find_if(unit.begin(), unit.end(), [](std::byte b) { return b != std::byte{0}; });
    ASSERT_NE(whole, unit.end());
    EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(~*whole & std::byte{0xFF}) + 1));
    EXPECT_TRUE(
        std::all_of(whole + 1, unit.end(), [](std::byte b) { return b == std::byte{0xFF}; }));
    inside_a_byte |= *whole != std::byte{0xFF};
  }
  EXPECT_TRUE(inside_a_byte);
}

TEST(PowerCut, a_second_cut_may_come_at_once) {
  FlashSimulator device(kSmall);
  device.cut_after(1, CutMode::kSubset, 1);
  ASSERT_FALSE(device.program(0, filled(kUnit, 0)).ok());
  device.power_on();
  device.cut_after(1, CutMode::kMarginal, 2);
  ASSERT_FALSE(device.erase(0).ok());
  device.power_on();
  EXPECT_EQ(read_from(device, 0, kBlockBytes), filled(kBlockBytes, 0xFF));
}

// ---- states

TEST(FlashSimulator, a_restored_snapshot_gives_the_same_again) {
  FlashSimulator device(kSmall, 5);
  ASSERT_TRUE(device.program(0, filled(kBlockBytes, 0)).ok());
  device.cut_after(2, CutMode::kWeak, 77);
  device.flip_reads(2, 2, 100);
  const FlashSimulator::State start = device.snapshot();
  const auto run = [&] {
    std::vector<Bytes> seen;
    EXPECT_TRUE(device.erase(1).ok());
    EXPECT_FALSE(device.erase(0).ok());
    device.power_on();
    for (int i = 0; i < 5; ++i) {
      seen.push_back(read_from(device, 0, 2 * kBlockBytes));
    }
    EXPECT_TRUE(device.erase(0).ok());
    EXPECT_TRUE(device.program(0, filled(kUnit, 8)).ok());
    seen.push_back(stored(device, 0));
    return seen;
  };
  const std::vector<Bytes> first = run();
  const uint64_t steps = device.steps();
  device.restore(start);
  EXPECT_TRUE(device.powered());
  EXPECT_EQ(stored(device, 0), filled(kBlockBytes, 0));
  EXPECT_EQ(run(), first);
  EXPECT_EQ(device.steps(), steps);

  FlashSimulator other(kSmall);
  other.restore(start);
  ASSERT_TRUE(other.erase(7).ok());
  EXPECT_EQ(device.erases(7), 0u);  // nothing is shared
}

TEST(FlashSimulator, planted_bytes_count_as_programmed) {
  FlashSimulator device(kSmall);
  Bytes image = filled(3 * kUnit, 0xFF);
  image[kUnit + 2] = std::byte{0x7F};
  device.plant(kBlockBytes - kUnit, image);
  EXPECT_EQ(read_from(device, kBlockBytes - kUnit, image.size()), image);
  EXPECT_FALSE(device.program(kBlockBytes, filled(kUnit, 0)).ok());
  EXPECT_TRUE(device.program(kBlockBytes + kUnit, filled(kUnit, 0)).ok());
  EXPECT_TRUE(device.program(0, filled(kUnit, 0)).ok());
}

}  // namespace
}  // namespace flash_simulator_test
}  // namespace cuckoo
