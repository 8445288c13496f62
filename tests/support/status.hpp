// What a Status or a Result must be. A failure names the caller's line.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/base/result.hpp"

namespace cuckoo::test {

inline ::testing::AssertionResult succeeded(const Status& status) {
  return status.ok() ? ::testing::AssertionSuccess()
                     : ::testing::AssertionFailure() << status.error().message;
}
#define ASSERT_STATUS(expression) ASSERT_TRUE(::cuckoo::test::succeeded(expression))
#define EXPECT_STATUS(expression) EXPECT_TRUE(::cuckoo::test::succeeded(expression))

inline void expect_ok(const Status& status, const char* file = __builtin_FILE(),
                      int line = __builtin_LINE()) {
  if (!status.ok()) {
    ADD_FAILURE_AT(file, line) << status.error().message;
  }
}

// Returns the value of what must succeed. A failure ends the test, inside of any expression:
// GoogleTest takes its exception for what is reported already.
template <class T>
T must(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result.ok()) {
    const std::string& what = result.error().message;
    ADD_FAILURE_AT(file, line) << what;
    throw ::testing::AssertionException(::testing::TestPartResult(
        ::testing::TestPartResult::kFatalFailure, file, line, what.c_str()));
  }
  return std::move(result).value();
}

// ---- refusals

inline std::string name_of(ErrorCode code) {
  constexpr const char* kNames[] = {"invalid",     "full",    "corrupt",
                                    "interrupted", "storage", "flash failure"};
  return kNames[static_cast<size_t>(code)];
}

// A Status or a Result that failed with that code, and that text in its message.
template <class Answer>
::testing::AssertionResult fails(const Answer& answer, ErrorCode code,
                                 const std::string& text = "") {
  if (answer.ok()) {
    return ::testing::AssertionFailure() << "it succeeded";
  }
  const Error& error = answer.error();
  if (error.code != code || error.message.find(text) == std::string::npos) {
    return ::testing::AssertionFailure()
           << name_of(error.code) << ": \"" << error.message << "\", expected " << name_of(code)
           << ": \"… " << text << " …\"";
  }
  return ::testing::AssertionSuccess();
}

// … and with just that message.
template <class Answer>
::testing::AssertionResult fails_saying(const Answer& answer, ErrorCode code,
                                        const std::string& message) {
  const bool other = !answer.ok() && answer.error().message != message;
  return other ? ::testing::AssertionFailure()
                     << "\"" << answer.error().message << "\", expected \"" << message << "\""
               : fails(answer, code, message);
}

// The message of what failed, with that code; "" of what succeeded.
template <class Answer>
std::string refusal_of(const Answer& answer, ErrorCode code, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  if (answer.ok()) {
    return "";
  }
  const Error& error = answer.error();
  if (error.code != code || error.message.empty()) {
    ADD_FAILURE_AT(file, line) << name_of(error.code) << ": \"" << error.message << "\", expected "
                               << name_of(code) << ", with a message";
  }
  return error.message;
}

}  // namespace cuckoo::test

namespace cuckoo {

// The tests of all folders call them by these names.
using test::expect_ok;
using test::fails;
using test::fails_saying;
using test::must;
using test::refusal_of;
using test::succeeded;

}  // namespace cuckoo
