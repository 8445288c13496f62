#include "core/base/digest.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/base/bytes.hpp"

namespace cuckoo::base_digest_test {
namespace {

std::string digest(Digester& digester, DigestKind kind, const std::string& text) {
  return hex_of(digester.compute(kind, bytes_of(text)));
}

// RFC 1321, A.5; FIPS 180-2, A.1, A.2, B.1 and B.2.
TEST(Digester, computes_the_published_digests_I1) {
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  Digester digester;
  for (int twice = 0; twice < 2; ++twice) {
    EXPECT_EQ(digest(digester, DigestKind::kMd5, ""), "d41d8cd98f00b204e9800998ecf8427e");
    EXPECT_EQ(digest(digester, DigestKind::kMd5, "abc"), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_EQ(digest(digester, DigestKind::kMd5, "abcdefghijklmnopqrstuvwxyz"),
              "c3fcd3d76192e4007dfb496cca67e13b");
    EXPECT_EQ(digest(digester, DigestKind::kSha1, "abc"),
              "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(digest(digester, DigestKind::kSha1, two_blocks),
              "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    EXPECT_EQ(digest(digester, DigestKind::kSha256, "abc"),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(digest(digester, DigestKind::kSha256, two_blocks),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  }
}

TEST(Digester, has_the_size_and_the_name_of_each_kind) {
  Digester digester;
  for (const auto& [kind, name, size] :
       {std::tuple(DigestKind::kMd5, "md5", 16u), std::tuple(DigestKind::kSha1, "sha1", 20u),
        std::tuple(DigestKind::kSha256, "sha256", 32u)}) {
    EXPECT_EQ(std::string(digest_name(kind)), name);
    EXPECT_EQ(digest_bytes(kind), size);
    EXPECT_EQ(digester.compute(kind, {}).size(), size);
  }
}

TEST(Hex, is_undone_and_nothing_else_is_taken_I2) {
  std::string all(256, '\0');
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<char>(i);
  }
  const std::string hex = hex_of(bytes_of(all));
  EXPECT_EQ(hex.substr(0, 8), "00010203");
  EXPECT_EQ(hex.substr(504), "fcfdfeff");
  std::string back(256, 'x');
  ASSERT_TRUE(from_hex(bytes_of(hex), reinterpret_cast<std::byte*>(back.data())));
  EXPECT_EQ(back, all);
  for (const std::string wrong : {"0", "0g", "g0", "AB", " 0", "0x", "/0", ":0", "`0"}) {
    EXPECT_FALSE(from_hex(bytes_of(wrong), reinterpret_cast<std::byte*>(back.data()))) << wrong;
  }
}

}  // namespace
}  // namespace cuckoo::base_digest_test
