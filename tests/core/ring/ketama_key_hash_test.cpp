#include "core/ring/ketama_key_hash.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/base/bytes.hpp"

namespace cuckoo {
namespace ring_ketama_key_hash_test {
namespace {

uint32_t hash(KetamaKeyHash kind, std::string_view key) {
  return ketama_key_hash(kind, bytes_of(key));
}

// Vectors that others publish: draft-eastlake-fnv, appendix C, and the catalogue of CRCs.
TEST(KetamaKeyHash, gives_the_published_values) {
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a32, ""), 0x811C9DC5U);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a32, "a"), 0xE40C292CU);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a32, "foobar"), 0xBF9CF968U);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv132, "a"), 0x050C5D7EU);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv132, "foobar"), 0x31F0B262U);
  // The lower halves of af63dc4c8601ec8c, 85944171f73967e8, af63bd4c8601b7be, 340d8765a4dda9c2.
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a64, "a"), 0x8601EC8CU);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a64, "foobar"), 0xF73967E8U);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv164, "a"), 0x8601B7BEU);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv164, "foobar"), 0xA4DDA9C2U);
  EXPECT_EQ(hash(KetamaKeyHash::kCrc32a, "123456789"), 0xCBF43926U);
  EXPECT_EQ(hash(KetamaKeyHash::kOneAtATime, "a"), 0xCA2E9442U);
  EXPECT_EQ(hash(KetamaKeyHash::kOneAtATime, ""), 0U);
}

// The clients do so on x86. tests/core/ring/ketama_test.cpp compares whole rings of such keys.
TEST(KetamaKeyHash, takes_bytes_above_127_as_negative_numbers) {
  constexpr uint32_t kMinusOne = 0xFFFFFFFF;
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a32, "\xFF"), (0x811C9DC5U ^ kMinusOne) * 0x1000193U);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv132, "\xFF"), (0x811C9DC5U * 0x1000193U) ^ kMinusOne);
  EXPECT_EQ(hash(KetamaKeyHash::kFnv1a64, "\xFF"), (0x84222325U ^ kMinusOne) * 0x1B3U);
  EXPECT_EQ(hash(KetamaKeyHash::kCrc32a, "\xFF"), 0xFF000000U);  // as it is
}

}  // namespace
}  // namespace ring_ketama_key_hash_test
}  // namespace cuckoo
