#include "core/ring/md5.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"

namespace cuckoo {
namespace ring_md5_test {
namespace {

TEST(SystemMd5, is_md5) {
  const Md5Function md5 = system_md5();
  const Md5Function copy = md5;
  std::array<std::byte, kMd5Bytes> digest{};
  ASSERT_TRUE(md5({}, digest));
  EXPECT_EQ(hex_of(digest), "d41d8cd98f00b204e9800998ecf8427e");
  ASSERT_TRUE(copy(bytes_of("abc"), digest));
  EXPECT_EQ(hex_of(digest), "900150983cd24fb0d6963f7d28e17f72");
  ASSERT_TRUE(md5(bytes_of(std::string(1000, 'a')), digest));
  EXPECT_EQ(hex_of(digest), "cabe45dcc9ae5b66ba86600cca6b8ba8");
}

}  // namespace
}  // namespace ring_md5_test
}  // namespace cuckoo
