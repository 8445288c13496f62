#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test::library_memory_device_test {
namespace {

TEST(MemoryDevice, D1_gives_what_was_programmed_and_FF_elsewhere) {
  auto made = must(MemoryDevice::create(small_geometry()));
  MemoryDevice& device = *made;
  const uint32_t block = device.geometry().block_bytes();
  const DeviceBytes units(32, std::byte{7});
  ASSERT_STATUS(device.program(block + 16, units));
  DeviceBytes read(3 * size_t{block});
  ASSERT_STATUS(device.read(0, read));
  DeviceBytes expected(read.size(), std::byte{0xFF});
  std::copy(units.begin(), units.end(), expected.begin() + block + 16);
  EXPECT_EQ(read, expected);
  ASSERT_STATUS(device.erase(1));
  ASSERT_STATUS(device.sync());
  ASSERT_STATUS(device.read(0, read));
  EXPECT_EQ(read, DeviceBytes(read.size(), std::byte{0xFF}));
}

TEST(MemoryDevice, D5_refuses_what_is_not_on_it) {
  auto made = MemoryDevice::create(small_geometry());
  MemoryDevice& device = *made.value();
  DeviceBytes bytes(16);
  const uint64_t size = device.geometry().size_bytes();
  EXPECT_TRUE(fails(device.read(size, bytes), ErrorCode::kInvalid, "expected inside"));
  EXPECT_TRUE(fails(device.program(size, bytes), ErrorCode::kInvalid, "whole units"));
  EXPECT_TRUE(fails(device.erase(22), ErrorCode::kInvalid, "less than 22"));
  EXPECT_TRUE(
      fails(MemoryDevice::create(small_geometry(512, 4, 3)), ErrorCode::kInvalid, "18 or more"));
}

}  // namespace
}  // namespace cuckoo::test::library_memory_device_test
