// Random steps in a world beside a model of it. What step n does follows from the seed, from n and
// from the world as it is. So a row of steps that fails is shrunk to those that are needed.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace cuckoo::test {

// Takes these steps in a new world, and then ends it. Returns what failed first, "" if nothing did.
template <class World, class... Arguments>
std::string failure_of(const std::vector<uint64_t>& steps, const Arguments&... arguments) {
  ::testing::TestPartResultArray results;
  {
    const ::testing::ScopedFakeTestPartResultReporter caught(
        ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    try {
      World world(arguments...);
      for (size_t i = 0; i < steps.size() && results.size() == 0; ++i) {
        world.step(steps[i]);
      }
      if (results.size() == 0) {
        world.end();
      }
    } catch (const ::testing::AssertionException&) {
      // must() has told what failed
    }
  }
  if (results.size() == 0) {
    return "";
  }
  const ::testing::TestPartResult& first = results.GetTestPartResult(0);
  return std::string(first.file_name() == nullptr ? "" : first.file_name()) + ":" +
         std::to_string(first.line_number()) + ": " + first.message();
}

// Takes the steps 0 … count - 1 in a world that is made of the arguments. If they fail, tells which
// of them are needed for that: leaves out halves, quarters … as long as the others fail, too.
template <class World, class... Arguments>
void take_steps(uint64_t count, const Arguments&... arguments) {
  std::vector<uint64_t> steps(count);
  std::iota(steps.begin(), steps.end(), 0);
  std::string failure = failure_of<World>(steps, arguments...);
  if (failure.empty()) {
    return;
  }
  const std::string of_all = failure;
  for (size_t part = (steps.size() + 1) / 2; part > 0; part /= 2) {
    for (size_t at = 0; at < steps.size();) {
      std::vector<uint64_t> fewer = steps;
      const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(first, first + static_cast<std::ptrdiff_t>(std::min(part, steps.size() - at)));
      if (const std::string other = failure_of<World>(fewer, arguments...); !other.empty()) {
        steps = fewer;
        failure = other;
      } else {
        at += part;
      }
    }
  }
  std::string numbers;
  for (const uint64_t step : steps) {
    numbers += " " + std::to_string(step);
  }
  FAIL() << of_all << "\n\nOf its steps these are enough:" << numbers << "\n" << failure;
}

}  // namespace cuckoo::test
