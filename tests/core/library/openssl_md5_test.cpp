#if __has_include(<openssl/evp.h>)

#include <cuckoo/openssl_md5.hpp>

#include <cuckoo/hash_ring.hpp>

#include <array>
#include <atomic>

#include "core/base/bytes.hpp"
#include "core/base/digest.hpp"

#include "tests/support/status.hpp"
#include "tests/support/threads.hpp"

namespace library_openssl_md5_test {
namespace {

std::string md5_of(std::string_view text) {
  std::array<std::byte, 16> digest{};
  return cuckoo::openssl_md5(cuckoo::bytes_of(text), digest) ? cuckoo::hex_of(digest) : "";
}

TEST(OpensslMd5, is_md5) {
  EXPECT_EQ(md5_of(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_of("abc"), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(OpensslMd5, serves_a_ring_that_many_threads_ask) {
  auto made = must(cuckoo::HashRing::make(
      {.algorithm = cuckoo::RingAlgorithm::kKetama, .md5 = cuckoo::openssl_md5}));
  cuckoo::HashRing& ring = made;
  ASSERT_TRUE(ring.add_all({{"10.0.0.1:11211"}, {"10.0.0.2:11211"}, {"10.0.0.3:11211"}}).ok());
  std::vector<std::string_view> owners;
  for (int i = 0; i < 1000; ++i) {
    owners.push_back(ring.owner(i));
  }
  std::atomic<int> wrong{0};
  cuckoo::test::in_threads(3, [&](int) {
    for (int i = 0; i < 1000; ++i) {
      wrong += ring.owner(i) == owners[static_cast<size_t>(i)] ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace library_openssl_md5_test

#endif
