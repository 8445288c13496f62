#include "core/base/salt.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <thread>

namespace cuckoo::base_salt_test {
namespace {

TEST(ProcessSalt, is_the_same_in_all_threads) {
  uint64_t other = 0;
  std::thread([&other] { other = process_salt(); }).join();
  EXPECT_EQ(process_salt(), other);
}

// Once in a thousand million processes this fails by chance.
TEST(ProcessSalt, is_as_random_bits_are) {
  EXPECT_GT(std::popcount(process_salt()), 8);
  EXPECT_LT(std::popcount(process_salt()), 56);
}

}  // namespace
}  // namespace cuckoo::base_salt_test
