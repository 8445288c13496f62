#include "core/base/result.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace cuckoo::base_result_test {
namespace {

Result<std::vector<std::string>> two() { return std::vector<std::string>{"a", "b"}; }
Result<std::vector<std::string>> failed() { return invalid("a text that needs memory of its own"); }
Status failure() { return invalid("a text that needs memory of its own"); }

// A temporary ends before the loop, or the use, begins. So a reference to a part of it would
// dangle.
TEST(Result, of_a_temporary_gives_values) {
  static_assert(std::is_same_v<decltype(two().value()), std::vector<std::string>>);
  static_assert(std::is_same_v<decltype(two().error()), Error>);
  static_assert(std::is_same_v<decltype(failure().error()), Error>);
  std::string all;
  for (const std::string& text : two().value()) {
    all += text;
  }
  EXPECT_EQ(all, "ab");
  const std::string& why = failed().error().message;
  EXPECT_EQ(why, failure().error().message);
}

TEST(Result, of_a_variable_gives_references) {
  Result<std::vector<std::string>> result = two();
  result.value().push_back("c");
  EXPECT_EQ(std::as_const(result).value().size(), 3U);
  EXPECT_EQ(&result.value(), &std::as_const(result).value());
}

TEST(Result, neither_value_nor_error_is_undefined) {
  EXPECT_TRUE(failed().value().empty());
  EXPECT_EQ(two().error().message, "");
  EXPECT_EQ(Status().error().message, "");
}

}  // namespace
}  // namespace cuckoo::base_result_test
