#include "core/base/key_hash.hpp"

#include <cmath>
#include <limits>
#include <set>

#include "tests/support/core_samples.hpp"

namespace cuckoo::base_key_hash_test {
namespace {

constexpr uint64_t kSeed = 0x0123456789ABCDEF;
constexpr double kTwo63 = 9223372036854775808.0;

uint64_t hash_text(std::string_view text, uint64_t seed = kSeed) {
  return hash_bytes(KeyKind::kText, bytes_of(text), seed);
}

TEST(KeyHash, I1_reals_with_an_integral_value_hash_as_that_integer) {
  for (const int64_t value :
       {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{42}, int64_t{1} << 53, -(int64_t{1} << 53),
        (int64_t{1} << 53) + 2, int64_t{1} << 62, INT64_MIN, int64_t{9223372036854774784}}) {
    EXPECT_EQ(hash_real(static_cast<double>(value), kSeed), hash_integer(value, kSeed)) << value;
  }
  EXPECT_EQ(hash_real(-0.0, kSeed), hash_integer(0, kSeed));
}

TEST(KeyHash, I1_integers_that_no_real_equals_stay_apart) {
  const int64_t odd = (int64_t{1} << 53) + 1;  // rounds to 2^53 as a real; SQLite compares exactly
  EXPECT_NE(hash_integer(odd, kSeed), hash_real(static_cast<double>(odd), kSeed));
  EXPECT_NE(hash_integer(INT64_MAX, kSeed), hash_real(kTwo63, kSeed));
  EXPECT_NE(hash_integer(INT64_MIN, kSeed), hash_real(kTwo63, kSeed));
}

TEST(KeyHash, reals_beyond_the_integers_hash_by_their_bits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::set<uint64_t> hashes = {
      hash_real(kTwo63, kSeed),
      hash_real(-2 * kTwo63, kSeed),
      hash_real(std::nextafter(-kTwo63, -infinity), kSeed),
      hash_real(infinity, kSeed),
      hash_real(-infinity, kSeed),
      hash_real(0.5, kSeed),
      hash_real(-0.5, kSeed),
      hash_real(std::numeric_limits<double>::denorm_min(), kSeed),
      hash_real(std::numeric_limits<double>::max(), kSeed),
      hash_integer(0, kSeed),
      hash_integer(INT64_MIN, kSeed),
      hash_integer(INT64_MAX, kSeed),
  };
  EXPECT_EQ(hashes.size(), 12u);
  hash_real(std::numeric_limits<double>::quiet_NaN(), kSeed);  // never a key in SQLite; no trap
}

TEST(KeyHash, I2_kinds_with_the_same_bytes_are_unrelated) {
  const std::set<uint64_t> hashes = {
      hash_bytes(KeyKind::kInteger, bytes_of("1"), kSeed),
      hash_bytes(KeyKind::kReal, bytes_of("1"), kSeed),
      hash_bytes(KeyKind::kText, bytes_of("1"), kSeed),
      hash_bytes(KeyKind::kBlob, bytes_of("1"), kSeed),
      hash_integer(1, kSeed),
  };
  EXPECT_EQ(hashes.size(), 5u);
}

TEST(KeyHash, seed_and_length_count) {
  EXPECT_NE(hash_text("key", 1), hash_text("key", 2));
  EXPECT_NE(hash_text(""), hash_text(std::string_view("\0", 1)));
  EXPECT_NE(hash_text("a"), hash_text(std::string_view("a\0", 2)));
  EXPECT_EQ(hash_bytes(KeyKind::kText, {}, kSeed), hash_text(""));
}

TEST(KeyHash, logged_hash_keeps_the_leading_bits) {
  EXPECT_EQ(logged_hash(UINT64_MAX, HashWidth::k47Bits), 0xFFFFFFFFFFFE0000);
  EXPECT_EQ(logged_hash(UINT64_MAX, HashWidth::k63Bits), 0xFFFFFFFFFFFFFFFE);
  EXPECT_EQ(logged_hash(0x123456789ABDFFFF, HashWidth::k47Bits), 0x123456789ABC0000);
  EXPECT_EQ(logged_hash(0x1FFFF, HashWidth::k47Bits), 0u);
  EXPECT_EQ(logged_hash(1, HashWidth::k63Bits), 0u);
}

// Filters on disk hold hashes: another hash function would turn every stored key into a miss.
TEST(KeyHash, I3_hashes_are_what_they_always_were) {
  // The seed cancels the kind's step. So this is XXH3's own published value for no bytes and seed
  // 0.
  EXPECT_EQ(hash_text("", 0 - 2 * 0x9E3779B97F4A7C15), 0x2D06800538D394C2);
  EXPECT_EQ(hash_integer(0, 0), 0xC77B3ABB6F87ACD9);
  EXPECT_EQ(hash_integer(1, 42), 0xE3ACD5DEC7D7D3FB);
  EXPECT_EQ(hash_integer(-1, kSeed), 0x1C90F36D547002F0);
  EXPECT_EQ(hash_real(0.5, kSeed), 0xB1C89658E9649E2B);
  EXPECT_EQ(hash_real(kTwo63, kSeed), 0xA7073839AB7C5CE4);
  EXPECT_EQ(hash_text("", kSeed), 0xAEF543E41B3D48E4);
  EXPECT_EQ(hash_text("cuckoo", kSeed), 0x67AA74B41AC3AB41);
  EXPECT_EQ(hash_bytes(KeyKind::kBlob, bytes_of("cuckoo"), kSeed), 0x463DC64B8AE16979);
  const std::string long_text(1000, 'x');  // XXH3 takes another path from 241 bytes on
  EXPECT_EQ(hash_text(long_text, kSeed), 0x0D48C4257C492ECB);
}

}  // namespace
}  // namespace cuckoo::base_key_hash_test
