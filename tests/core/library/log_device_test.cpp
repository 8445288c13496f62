#include "tests/core/library/flash_samples.hpp"

// Comes after the samples, because core has other classes with the names of the library's.
#include "core/library/log_device.hpp"

namespace cuckoo::test {
namespace library_log_device_test {
namespace {

constexpr uint32_t kBlockBytes = 2048;  // of small_geometry()

DeviceBytes read_of(LogDevice& device, uint64_t at, size_t bytes) {
  DeviceBytes read(bytes);
  EXPECT_STATUS(device.read(at, read));
  return read;
}

TEST(LogDevice, begins_after_the_superblocks) {
  auto owned = std::make_unique<ReorderingDevice>(small_geometry());
  const ReorderingDevice& below = *owned;
  LogDevice device(std::move(owned), small_geometry(), false);
  EXPECT_EQ(device.geometry().blocks, small_geometry().blocks - 2);
  ASSERT_STATUS(device.program(16, DeviceBytes(16, std::byte{7})));
  EXPECT_EQ(below.bytes()[2 * kBlockBytes + 16], std::byte{7});
  ASSERT_STATUS(device.erase(0));
  EXPECT_EQ(below.bytes()[2 * kBlockBytes + 16], std::byte{0xFF});
}

TEST(LogDevice, I2_writes_in_memory_if_it_only_reads) {
  DeviceBytes bytes(small_geometry().size_bytes());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(i / 16);
  }
  auto owned = std::make_unique<ReorderingDevice>(small_geometry(), bytes);
  const ReorderingDevice& below = *owned;
  LogDevice device(std::move(owned), small_geometry(), true);
  ASSERT_STATUS(device.erase(3));
  ASSERT_STATUS(device.program(3 * kBlockBytes + 32, DeviceBytes(16, std::byte{7})));
  ASSERT_STATUS(device.program(5 * kBlockBytes, DeviceBytes(32, std::byte{9})));
  ASSERT_STATUS(device.sync());
  EXPECT_TRUE(below.bytes() == bytes);
  EXPECT_EQ(below.syncs, 0U);

  DeviceBytes expected(bytes.begin() + 2 * kBlockBytes, bytes.end());
  std::fill_n(expected.begin() + 3 * kBlockBytes, kBlockBytes, std::byte{0xFF});
  std::fill_n(expected.begin() + 3 * kBlockBytes + 32, 16, std::byte{7});
  std::fill_n(expected.begin() + 5 * kBlockBytes, 32, std::byte{9});
  for (const auto& [from, to] : {std::pair<size_t, size_t>{0, expected.size()},
                                 {3 * kBlockBytes - 10, 3 * kBlockBytes + 40},
                                 {3 * kBlockBytes + 40, 5 * kBlockBytes + 1},
                                 {4 * kBlockBytes, 5 * kBlockBytes},
                                 {5 * kBlockBytes + 31, 5 * kBlockBytes + 33}}) {
    EXPECT_TRUE(read_of(device, from, to - from) ==
                DeviceBytes(expected.begin() + static_cast<std::ptrdiff_t>(from),
                            expected.begin() + static_cast<std::ptrdiff_t>(to)))
        << from;
  }
}

}  // namespace
}  // namespace library_log_device_test
}  // namespace cuckoo::test
