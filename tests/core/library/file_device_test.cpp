#include <cuckoo/flash_device.hpp>

#include <fstream>

#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test::library_file_device_test {
namespace {

void damage(const std::string& path, std::streamoff at, char byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put(byte);
}

std::unique_ptr<FileDevice> created(const std::string& path) {
  return must(FileDevice::create(path, small_geometry()));
}

TEST(FileDevice, keeps_what_was_programmed) {
  const TemporaryPath path;
  const DeviceBytes units(32, std::byte{7});
  {
    const auto device = created(path.text());
    ASSERT_STATUS(device->program(4096, units));
    ASSERT_STATUS(device->program(8192, units));
    ASSERT_STATUS(device->erase(4));
    ASSERT_STATUS(device->sync());
  }
  auto opened = must(FileDevice::open(path.text()));
  EXPECT_EQ(opened->geometry(), small_geometry());
  DeviceBytes read(small_geometry().size_bytes());
  ASSERT_STATUS(opened->read(0, read));
  DeviceBytes expected(read.size(), std::byte{0xFF});
  std::copy(units.begin(), units.end(), expected.begin() + 4096);
  EXPECT_EQ(read, expected);
}

TEST(FileDevice, D5_refuses_what_is_not_on_it) {
  const TemporaryPath path;
  const auto device = created(path.text());
  DeviceBytes bytes(16);
  const uint64_t size = device->geometry().size_bytes();
  EXPECT_TRUE(fails(device->read(size, bytes), ErrorCode::kInvalid, "expected inside"));
  EXPECT_TRUE(fails(device->program(size, bytes), ErrorCode::kInvalid, "whole units"));
  EXPECT_TRUE(fails(device->erase(22), ErrorCode::kInvalid, "less than 22"));
}

TEST(FileDevice, another_file_is_refused_with_a_text) {
  const TemporaryPath path;
  EXPECT_TRUE(fails(FileDevice::open(path.text()), ErrorCode::kStorage, path.text()));
  std::ofstream(path.text()) << "some notes";
  EXPECT_TRUE(fails(FileDevice::open(path.text()), ErrorCode::kCorrupt, "it has 10 bytes"));
  EXPECT_TRUE(fails(FileDevice::create(path.text()), ErrorCode::kInvalid, "exists"));
  std::ofstream(path.text()) << std::string(10000, 'x');
  EXPECT_TRUE(fails(FileDevice::open(path.text()), ErrorCode::kCorrupt, "is no flash device"));
  EXPECT_TRUE(fails(FileDevice::create(path.text()), ErrorCode::kInvalid, "exists"));
}

TEST(FileDevice, a_damaged_header_is_refused_with_a_text) {
  for (const auto& [at, text] : {std::pair(16, "wrong CRC"), std::pair(3, "is no flash device"),
                                 std::pair(33, "wrong CRC"), std::pair(63, "wrong CRC")}) {
    const TemporaryPath path;
    created(path.text());
    damage(path.text(), at, '\x55');
    EXPECT_TRUE(fails(FileDevice::open(path.text()), ErrorCode::kCorrupt, text)) << at;
    EXPECT_TRUE(fails(FileDevice::create(path.text()), ErrorCode::kInvalid, "exists")) << at;
  }
}

TEST(FileDevice, a_file_that_was_cut_short_is_refused) {
  const TemporaryPath path;
  created(path.text());
  std::filesystem::resize_file(path.text(), 5000);
  EXPECT_TRUE(
      fails(FileDevice::open(path.text()), ErrorCode::kCorrupt, "has 5000 bytes; expected"));
}

TEST(FileDevice, I1_what_was_left_unfinished_is_made_again) {
  const TemporaryPath path;
  std::ofstream(path.text()).close();  // before its length
  created(path.text());
  for (std::streamoff at = 0; at < 64; ++at) {  // before its header
    damage(path.text(), at, '\0');
  }
  EXPECT_TRUE(fails(FileDevice::open(path.text()), ErrorCode::kCorrupt, "is no flash device"));
  created(path.text());
  EXPECT_TRUE(FileDevice::open(path.text()).ok());
}

// An image of a CD begins with 32 kB of zeros; a disk may lose a header.
TEST(FileDevice, I1_what_only_begins_with_zeros_is_no_unfinished_one) {
  std::string image(3'000'000, '\0');
  image.back() = 'x';
  const TemporaryPath path;
  std::ofstream(path.text(), std::ios::binary) << image;
  EXPECT_TRUE(fails(FileDevice::create(path.text()), ErrorCode::kInvalid, "exists"));
  EXPECT_TRUE(fails(FlashStore::open_file(path.text(), {.create = true}), ErrorCode::kCorrupt,
                    "is no flash device"));
  std::ifstream file(path.text(), std::ios::binary);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(file), {}) == image);

  const TemporaryPath store;
  ASSERT_STATUS(FlashStore::open_file(store.text(), {.create = true}).value().put("a", "1"));
  for (std::streamoff at = 0; at < 64; ++at) {
    damage(store.text(), at, '\0');
  }
  EXPECT_TRUE(fails(FlashStore::open_file(store.text(), {.create = true}), ErrorCode::kCorrupt,
                    "is no flash device"));
}

TEST(FileDevice, is_open_once_only) {
  const TemporaryPath path;
  const auto device = created(path.text());
  EXPECT_EQ(FileDevice::open(path.text()).error().code, ErrorCode::kStorage);
}

}  // namespace
}  // namespace cuckoo::test::library_file_device_test
