#include "core/flash/device.hpp"

#include "tests/support/status.hpp"

namespace cuckoo {
namespace flash_device_test {
namespace {

std::string refused(const FlashGeometry& geometry) {
  return refusal_of(check_geometry(geometry), ErrorCode::kInvalid);
}

FlashGeometry with(uint32_t FlashGeometry::*member, uint32_t value) {
  FlashGeometry geometry;
  geometry.*member = value;
  return geometry;
}

TEST(FlashGeometry, sizes_follow_from_it) {
  FlashGeometry geometry;
  geometry.sector_size_bytes = 512;
  geometry.sectors_per_block = 16;
  geometry.program_unit_bytes = 32;
  geometry.blocks = 100;
  EXPECT_EQ(geometry.block_bytes(), 8192U);
  EXPECT_EQ(geometry.units_per_block(), 256U);
  EXPECT_EQ(geometry.sectors(), 1600U);
  EXPECT_EQ(geometry.units(), 25600U);
  EXPECT_EQ(geometry.size_bytes(), 819200U);
  EXPECT_EQ(geometry.block_address(3), 24576U);
  EXPECT_EQ(refused(geometry), "");
}

TEST(FlashGeometry, limits_are_accepted) {
  for (const auto& [member, values] :
       {std::pair(&FlashGeometry::sector_size_bytes, std::pair(512U, 65536U)),
        std::pair(&FlashGeometry::sectors_per_block, std::pair(1U, 1024U)),
        std::pair(&FlashGeometry::program_unit_bytes, std::pair(16U, 64U)),
        std::pair(&FlashGeometry::blocks, std::pair(16U, 1U << 24)),
        std::pair(&FlashGeometry::endurance_erases, std::pair(1U, 1000000000U))}) {
    EXPECT_EQ(refused(with(member, values.first)), "");
    EXPECT_EQ(refused(with(member, values.second)), "");
  }
}

TEST(FlashGeometry, messages_name_the_value_and_the_range) {
  constexpr auto kSector = &FlashGeometry::sector_size_bytes;
  for (const uint32_t value : {0U, 256U, 513U, 1536U, 131072U}) {
    EXPECT_EQ(refused(with(kSector, value)), "sector size is " + std::to_string(value) +
                                                 "; expected a power of two, 512 … 65536 bytes");
  }
  for (const uint32_t value : {0U, 1025U}) {
    EXPECT_EQ(refused(with(&FlashGeometry::sectors_per_block, value)),
              "erase block is " + std::to_string(value) + "; expected 1 … 1024 sectors");
  }
  for (const uint32_t value : {0U, 8U, 24U, 128U}) {
    EXPECT_EQ(refused(with(&FlashGeometry::program_unit_bytes, value)),
              "program unit is " + std::to_string(value) + "; expected 16, 32 or 64 bytes");
  }
  EXPECT_EQ(refused(with(&FlashGeometry::blocks, 15)),
            "number of erase blocks is 15; expected 16 or more");
  EXPECT_EQ(refused(with(&FlashGeometry::blocks, (1U << 24) + 1)),
            "number of program units is 4294967552; expected 2^32 at most");
  for (const uint32_t value : {0U, 1000000001U}) {
    EXPECT_EQ(refused(with(&FlashGeometry::endurance_erases, value)),
              "endurance is " + std::to_string(value) + "; expected 1 … 10^9 erases");
  }
}

}  // namespace
}  // namespace flash_device_test
}  // namespace cuckoo
