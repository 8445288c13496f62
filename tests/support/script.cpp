#include "tests/support/script.hpp"

#include <cstdlib>
#include <optional>

#include "tests/support/main.hpp"

namespace cuckoo::test {
namespace {

constexpr size_t kMostPrinted = 400;

std::optional<uint64_t> variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional(std::strtoull(text, nullptr, 10));
}

std::string command(uint64_t seed) {
  const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
  return "CUCKOO_SEED=" + std::to_string(seed) + " " + program() +
         " --gtest_filter=" + test.test_suite_name() + "." + test.name();
}

}  // namespace

uint64_t for_each_seed(uint64_t share, const std::function<void(uint64_t seed)>& run) {
  const std::optional<uint64_t> only = variable("CUCKOO_SEED");
  const uint64_t count =
      only ? 1 : variable("CUCKOO_MODEL_SCRIPTS").value_or((share + kSlowness - 1) / kSlowness);
  const uint64_t first =
      only ? *only : variable("CUCKOO_MODEL_FIRST").value_or(kSlow ? 1'000'001 : 1);
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
