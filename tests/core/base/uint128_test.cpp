#include "core/base/uint128.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cuckoo::base_uint128_test {
namespace {

constexpr TwoWords wide(uint64_t high, uint64_t low) { return TwoWords(high) << 64 | low; }

// These results are known without a wider type.
static_assert(TwoWords(UINT64_MAX) + 1 == wide(1, 0));
static_assert(wide(1, 0) - 1 == TwoWords(UINT64_MAX));
static_assert(TwoWords(UINT64_MAX) * UINT64_MAX == wide(UINT64_MAX - 1, 1));
static_assert(~TwoWords(0) == wide(UINT64_MAX, UINT64_MAX));
static_assert((wide(3, 0) >> 65) == TwoWords(1) &&
              (wide(0, 3) << 127) == wide(uint64_t{1} << 63, 0));
static_assert(static_cast<uint8_t>(wide(7, 0x1FF)) == 0xFF);
static_assert(static_cast<double>(wide(1, 0)) == 0x1p64);
static_assert(static_cast<bool>(wide(1, 0)) && !static_cast<bool>(wide(0, 0)));

#if defined(__SIZEOF_INT128__)

TwoWords same(uint128 number) {
  return wide(static_cast<uint64_t>(number >> 64), static_cast<uint64_t>(number));
}

TEST(TwoWords, do_what_the_built_in_numbers_do_I1) {
  std::mt19937_64 random(1);
  const auto word = [&random] {
    switch (random() % 4) {
      case 0:
        return random() % 3;
      case 1:
        return UINT64_MAX - random() % 3;
      default:
        return random() >> (random() % 64);
    }
  };
  for (int i = 0; i < 200'000; ++i) {
    const uint128 a = uint128{word()} << 64 | word();
    const uint128 b = uint128{word()} << 64 | word();
    const auto bits = static_cast<uint32_t>(random() % 128);
    ASSERT_EQ(same(a) + same(b), same(a + b));
    ASSERT_EQ(same(a) - same(b), same(a - b));
    ASSERT_EQ(same(a) * same(b), same(a * b));
    ASSERT_EQ(same(a) | same(b), same(a | b));
    ASSERT_EQ(same(a) & same(b), same(a & b));
    ASSERT_EQ(~same(a), same(~a));
    ASSERT_EQ(same(a) << bits, same(a << bits));
    ASSERT_EQ(same(a) >> bits, same(a >> bits));
    ASSERT_EQ(same(a) == same(b), a == b);
    ASSERT_EQ(static_cast<uint32_t>(same(a)), static_cast<uint32_t>(a));
    const auto real = static_cast<double>(a);
    ASSERT_LE(std::fabs(static_cast<double>(same(a)) - real), real * 0x1p-52);
  }
}

#endif

}  // namespace
}  // namespace cuckoo::base_uint128_test
