#include "tests/support/script.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#include "tests/support/main.hpp"

#if defined(__EMSCRIPTEN__)  // its programs see no environment
#define CUCKOO_DEFAULT_SHARE 12
#else
#define CUCKOO_DEFAULT_SHARE 1
#endif

namespace cuckoo::test {
namespace {

constexpr size_t kMostPrinted = 400;

std::optional<uint64_t> variable(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return std::nullopt;
  }
  uint64_t number = 0;
  const char* const end = text + std::strlen(text);
  if (const auto [rest, error] = std::from_chars(text, end, number);
      rest != end || error != std::errc()) {
    throw std::runtime_error(std::string(name) + "=" + text + ": expected a number");
  }
  return number;
}

std::string command(uint64_t seed) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  std::string with;  // a sanitizer's module, and what it needs
  for (const char* name : {"LD_PRELOAD", "CUCKOO_TESTED_MODULE"}) {
    const char* const value = std::getenv(name);
    with += value == nullptr ? "" : std::string(name) + "=" + value + " ";
  }
  return with + "CUCKOO_SEED=" + std::to_string(seed) + " " + program() +
         " --gtest_filter=" + test.test_suite_name() + "." + test.name();
}

}  // namespace

uint64_t share_divisor() {
  static const uint64_t divisor = [] {
    const uint64_t wanted = variable("CUCKOO_SHARE").value_or(CUCKOO_DEFAULT_SHARE);
    if (wanted == 0 || wanted > 12) {  // some tests have no more than twelve cases
      throw std::runtime_error("CUCKOO_SHARE is a number from 1 to 12");
    }
    return wanted;
  }();
  return divisor;
}

uint64_t share_first() {
  static const uint64_t first = variable("CUCKOO_MODEL_FIRST").value_or(0) % share_divisor();
  return first;
}

uint64_t for_each_seed(uint64_t all, const std::function<void(uint64_t seed)>& run) {
  const std::optional<uint64_t> only = variable("CUCKOO_SEED");
  const uint64_t count = only ? 1 : variable("CUCKOO_MODEL_SCRIPTS").value_or(share(all));
  if (count == 0) {
    throw std::runtime_error("CUCKOO_MODEL_SCRIPTS=0: expected at least one script");
  }
  const uint64_t first = only ? *only : variable("CUCKOO_MODEL_FIRST").value_or(1);
  for (uint64_t seed = first; seed < first + count && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(command(seed));
    try {
      run(seed);
    } catch (const ScriptFailure& failure) {
      [&] { FAIL() << failure.what(); }();
    }
  }
  return count;
}

void ScriptLog::note(const std::string& line) {
  text_ += line.size() <= kMostPrinted ? line : line.substr(0, kMostPrinted) + " …";
  text_ += '\n';
}

void ScriptLog::fail(const std::string& what) const {
  throw ScriptFailure(text_.empty() ? what : what + "\n\nThe script:\n" + text_);
}

}  // namespace cuckoo::test
