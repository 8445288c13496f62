#include "core/library/flash_geometry.hpp"

#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test {
namespace library_flash_geometry_test {
namespace {

TEST(LibraryFlashGeometry, out_of_range_is_refused_with_a_text) {
  EXPECT_STATUS(FlashGeometry{}.check());
  FlashGeometry geometry;
  geometry.blocks = 17;
  EXPECT_TRUE(fails(geometry.check(), ErrorCode::kInvalid, "17; expected 18 or more"));
  geometry = {};
  geometry.sector_size_bytes = 1000;
  EXPECT_TRUE(fails(geometry.check(), ErrorCode::kInvalid, "sector size is 1000"));
  geometry = {};
  geometry.program_unit_bytes = 0;
  EXPECT_TRUE(fails(geometry.check(), ErrorCode::kInvalid, "program unit is 0"));
}

TEST(LibraryFlashGeometry, D5_what_is_not_on_the_device_is_refused) {
  const FlashGeometry geometry = small_geometry();
  const uint64_t size = geometry.size_bytes();
  EXPECT_STATUS(expect_readable(geometry, size - 1, 1));
  EXPECT_STATUS(expect_readable(geometry, size, 0));
  EXPECT_FALSE(expect_readable(geometry, size, 1).ok());
  EXPECT_FALSE(expect_readable(geometry, UINT64_MAX, 2).ok());
  EXPECT_STATUS(expect_programmable(geometry, geometry.block_bytes() - 32, 32));
  EXPECT_FALSE(expect_programmable(geometry, geometry.block_bytes() - 32, 48).ok());
  EXPECT_FALSE(expect_programmable(geometry, 8, 16).ok());
  EXPECT_FALSE(expect_programmable(geometry, 16, 8).ok());
  EXPECT_FALSE(expect_programmable(geometry, size, 0).ok());
  EXPECT_STATUS(expect_block(geometry, geometry.blocks - 1));
  EXPECT_FALSE(expect_block(geometry, geometry.blocks).ok());
}

}  // namespace
}  // namespace library_flash_geometry_test
}  // namespace cuckoo::test
