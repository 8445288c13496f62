// Where a helper was called: failures are reported there.
#pragma once

#include <gtest/gtest.h>

namespace cuckoo::test {

// The last parameter of a helper: void fill(…, Caller from = Caller::here()).
struct Caller {
  const char* file;
  int line;

  static constexpr Caller here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  // While it lives, failures of assertions name the caller, too.
  ::testing::ScopedTrace trace() const { return {file, line, "called here"}; }
};

}  // namespace cuckoo::test
