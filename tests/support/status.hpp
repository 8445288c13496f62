// What a Status must be.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/base/result.hpp"

namespace cuckoo::test {

inline ::testing::AssertionResult succeeded(const Status& status) {
  return status.ok() ? ::testing::AssertionSuccess()
                     : ::testing::AssertionFailure() << status.error().message;
}
#define ASSERT_STATUS(expression) ASSERT_TRUE(::cuckoo::test::succeeded(expression))
#define EXPECT_STATUS(expression) EXPECT_TRUE(::cuckoo::test::succeeded(expression))

// With that code, and that text in its message.
inline ::testing::AssertionResult fails(const Status& status, ErrorCode code,
                                        const std::string& text) {
  if (status.ok()) {
    return ::testing::AssertionFailure() << "it succeeded";
  }
  if (status.error().code != code || status.error().message.find(text) == std::string::npos) {
    return ::testing::AssertionFailure()
           << "code " << static_cast<int>(status.error().code) << ": " << status.error().message;
  }
  return ::testing::AssertionSuccess();
}
template <class T>
::testing::AssertionResult fails(Result<T> result, ErrorCode code, const std::string& text) {
  return fails(result.take_status(), code, text);
}

}  // namespace cuckoo::test
