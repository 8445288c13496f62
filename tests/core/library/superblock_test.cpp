#include "core/library/superblock.hpp"

#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test::library_superblock_test {
namespace {

const FlashGeometry kGeometry = small_geometry();

TEST(Superblock, is_read_as_it_was_written) {
  ReorderingDevice device(kGeometry);
  ASSERT_FALSE(read_superblock(device, kGeometry).value());
  ASSERT_STATUS(write_superblock(device, {kGeometry, 0x123456789ABCDEF0}));
  const auto found = read_superblock(device, kGeometry);
  ASSERT_TRUE(found.ok() && found.value());
  EXPECT_EQ(found.value()->seed, 0x123456789ABCDEF0U);
  EXPECT_EQ(found.value()->geometry, kGeometry);
}

TEST(Superblock, either_of_both_is_enough) {
  ReorderingDevice device(kGeometry);
  ASSERT_STATUS(write_superblock(device, {kGeometry, 7}));
  DeviceBytes bytes = device.bytes();
  bytes[30] ^= std::byte{1};
  ReorderingDevice damaged(kGeometry, bytes);
  EXPECT_EQ(read_superblock(damaged, kGeometry).value()->seed, 7U);
  bytes[30 + kGeometry.block_bytes()] ^= std::byte{1};
  ReorderingDevice broken(kGeometry, bytes);
  EXPECT_FALSE(read_superblock(broken, kGeometry).value());
}

TEST(Superblock, of_another_geometry_is_refused_with_a_text) {
  ReorderingDevice device(kGeometry);
  ASSERT_STATUS(write_superblock(device, {kGeometry, 7}));
  EXPECT_TRUE(fails(read_superblock(device, small_geometry(512, 4, 23)), ErrorCode::kCorrupt,
                    "made on a device of 22 erase blocks"));
}

TEST(Superblock, a_device_with_anything_on_it_is_not_blank) {
  ReorderingDevice blank(kGeometry);
  EXPECT_TRUE(is_blank(blank, kGeometry).value());
  for (const size_t at :
       {size_t{512}, size_t{6} * kGeometry.block_bytes(), size_t{kGeometry.size_bytes() - 1}}) {
    DeviceBytes bytes = blank.bytes();
    bytes[at] = std::byte{0};
    ReorderingDevice device(kGeometry, bytes);
    EXPECT_FALSE(is_blank(device, kGeometry).value()) << at;
  }
}

}  // namespace
}  // namespace cuckoo::test::library_superblock_test
