#include "core/base/lasting.hpp"

#include <gtest/gtest.h>

#include <mutex>

namespace cuckoo::test::base_lasting_test {
namespace {

int made = 0;
int destroyed = 0;

struct Counted {
  Counted() { ++made; }
  ~Counted() { ++destroyed; }
  int value = 42;
};

TEST(Lasting, is_made_once_and_never_destroyed) {
  {
    Lasting<Counted> object;
    EXPECT_EQ((*object).value, 42);
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(destroyed, 0);
}

TEST(Lasting, takes_no_room_of_its_own) {
  EXPECT_EQ(sizeof(Lasting<std::mutex>), sizeof(std::mutex));
  EXPECT_EQ(alignof(Lasting<std::mutex>), alignof(std::mutex));
}

#if !defined(_WIN32)
// The program does not check at each use whether such a static variable was made.
constinit Lasting<std::mutex> constant;

TEST(Lasting, is_made_by_the_compiler_where_the_constructor_is_constexpr) {
  const std::lock_guard lock(*constant);
}
#endif

}  // namespace
}  // namespace cuckoo::test::base_lasting_test
