// Tests that fail on purpose, for tests/left_out_test.sh.
#include <gtest/gtest.h>

namespace {

class Parameterised : public ::testing::TestWithParam<int> {};
TEST_P(Parameterised, fails_from_two_on) { EXPECT_LT(GetParam(), 2); }
TEST_P(Parameterised, passes) {}
INSTANTIATE_TEST_SUITE_P(Kinds, Parameterised, ::testing::Range(0, 10));

template <class T>
class Typed : public ::testing::Test {};
using Types = ::testing::Types<char, int, long>;
TYPED_TEST_SUITE(Typed, Types);
TYPED_TEST(Typed, fails) { FAIL(); }
TYPED_TEST(Typed, passes) {}

TEST(Plain, fails_1) { FAIL(); }
TEST(Plain, fails_2) { FAIL(); }
TEST(Plain, passes_before_the_third) {}
TEST(Plain, fails_3) { FAIL(); }
TEST(Plain, fails_4) { FAIL(); }
TEST(Plain, passes_after_the_third) {}

class FailingFixture : public ::testing::TestWithParam<int> {
 protected:
  FailingFixture() { EXPECT_NE(GetParam(), 2); }
};
TEST_P(FailingFixture, fails) { EXPECT_NE(GetParam(), 0); }
INSTANTIATE_TEST_SUITE_P(Kinds, FailingFixture, ::testing::Range(0, 4));

TEST(Talkative, fails_often) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_LT(i, 2);
  }
  FAIL() << "the end";
}

TEST(Passing, passes) {}
TEST(Passing, passes_too) {}

}  // namespace
