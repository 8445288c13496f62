// The front and the checksum that marks, messages and records of the segments share.
#include "core/segments/front.hpp"

#include <gtest/gtest.h>

namespace cuckoo::segments::segments_front_test {
namespace {

constexpr uint32_t kMagic = 0x54534554;  // "TEST"

std::vector<std::byte> fronted(uint32_t version, size_t size) {
  std::vector<std::byte> bytes(size);
  put_front(kMagic, version, bytes);
  return bytes;
}

TEST(Front, is_the_magic_number_and_the_version_little_endian) {
  const std::vector<std::byte> bytes = fronted(0x01020304, 8);
  const auto expected = bytes_of(std::string_view("TEST\x04\x03\x02\x01"));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end()));
  std::vector<std::byte> narrow(8);
  put_front(kMagic, uint8_t{7}, narrow);
  EXPECT_EQ(narrow[4], std::byte{7});
  EXPECT_EQ(narrow[5], std::byte{0});
}

TEST(Front, is_told_by_all_of_its_bytes) {
  for (size_t at = 0; at < 8; ++at) {
    std::vector<std::byte> bytes = fronted(3, 8);
    EXPECT_TRUE(has_front(std::span<const std::byte>(bytes), kMagic, uint32_t{3}));
    bytes[at] ^= std::byte{1};
    EXPECT_FALSE(has_front(std::span<const std::byte>(bytes), kMagic, uint32_t{3})) << at;
    EXPECT_EQ(has_magic(bytes, kMagic), at >= 4) << at;
  }
}

TEST(Front, has_no_magic_number_where_bytes_are_too_few) {
  const std::vector<std::byte> bytes = fronted(3, 8);
  for (size_t size = 0; size < 4; ++size) {
    EXPECT_FALSE(has_magic(std::span(bytes).first(size), kMagic)) << size;
  }
  EXPECT_TRUE(has_magic(std::span(bytes).first(4), kMagic));
}

TEST(Front, of_another_version_is_refused_with_both) {
  EXPECT_TRUE(expect_version("mark", 3, 3).ok());
  EXPECT_EQ(expect_version("mark", 4, 3, kMadeBeforeRelease).error().message,
            "mark of format 4, this version reads format 3");
  EXPECT_EQ(expect_version("mark", 2, 3, kMadeBeforeRelease).error().message,
            "mark of format 2, this version reads format 3; made by a version before the first"
            " release");
  EXPECT_EQ(expect_version("image", 2, 3).error().code, ErrorCode::kCorrupt);
}

TEST(FrontChecksum, covers_every_bit_and_itself) {
  std::vector<std::byte> bytes = fronted(3, 21);
  append_crc(bytes);
  ASSERT_EQ(bytes.size(), 25U);
  EXPECT_TRUE(has_crc(bytes));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(has_crc(bytes)) << bit;
    bytes[bit / 8] ^= std::byte{1} << bit % 8;
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_front_test
