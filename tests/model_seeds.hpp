// Which scripts a model test runs: a script is its seed.
//
//   CUCKOO_MODEL_SCRIPTS=n   n scripts instead of the test's share
//   CUCKOO_MODEL_FIRST=s     starts at seed s instead of 1 (where tests are slow: 1,000,001)
//   CUCKOO_SEED=s            the one script with that seed, as a failure names it
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "tests/slow.hpp"

namespace cuckoo::test {

struct ModelSeeds {
  uint64_t first = kFirst;
  uint64_t count = 0;

  explicit ModelSeeds(uint64_t share)
      : count(number("CUCKOO_MODEL_SCRIPTS").value_or((share + kSlowness - 1) / kSlowness)) {
    first = number("CUCKOO_MODEL_FIRST").value_or(first);
    if (const std::optional<uint64_t> only = number("CUCKOO_SEED")) {
      first = *only;
      count = 1;
    }
  }

 private:
  // With sanitizers or in an emulator a third of a test's share takes as long; other scripts.
  static constexpr uint64_t kSlowness = kSlow ? 3 : 1;
  static constexpr uint64_t kFirst = kSlow ? 1'000'001 : 1;

  static std::optional<uint64_t> number(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
  }
};

}  // namespace cuckoo::test
