#include "core/base/mix.hpp"

#include <gtest/gtest.h>

#include "tests/core/base/unmix64.hpp"

namespace cuckoo::base_mix_test {
namespace {

using test::unmix64;

TEST(Mix64, each_number_is_made_of_one) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t number = i * kGoldenStep;
    ASSERT_EQ(mix64(unmix64(number)), number);
    ASSERT_EQ(unmix64(mix64(number)), number);
  }
  EXPECT_EQ(unmix64(mix64(~uint64_t{0})), ~uint64_t{0});
}

// Stored formats depend on mix64().
TEST(Mix64, is_the_finalizer_of_SplitMix64) {
  EXPECT_EQ(mix64(kGoldenStep), 0xE220A8397B1DCDAF);  // its first number with the seed 0
  EXPECT_EQ(mix64(2 * kGoldenStep), 0x6E789E6AA1B965F4);
}

}  // namespace
}  // namespace cuckoo::base_mix_test
