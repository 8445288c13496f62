// main() of the test programs: GoogleTest's own, which leaves tests out after failures, because one
// fault of the product fails a parameterised test in each of its kinds, with the same text.
//
//   CUCKOO_KEEP_GOING=1   leaves none out, and prints all failures
//
// A suite's tests are known by the names in the source: "Kinds/Suite/2.name/5" is "Suite.name".
// After a failure the other parameters of that test are left out; after three failed tests of a
// suite, all that is left of it. A run that leaves something out has failed already.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "tests/support/main.hpp"

namespace cuckoo::test {
namespace {

constexpr size_t kMostFailures = 3;  // different tests of a suite
constexpr size_t kMostPrinted = 8;   // of one test

// "Kinds/Suite/2" and "Suite" are "Suite", "name/5" is "name".
std::string suite_of(const ::testing::TestInfo& test) {
  std::string name = test.test_suite_name();
  if (test.type_param() != nullptr) {
    name.resize(name.rfind('/'));
  }
  return name.substr(name.find('/') + 1);
}
std::string name_of(const ::testing::TestInfo& test) {
  const std::string name = test.name();
  return name.substr(0, name.find('/'));
}

// Prints as GoogleTest's printer does, except tests that it leaves out, and all but the first eight
// failures of a test.
class Printer : public ::testing::TestEventListener {
 public:
  explicit Printer(::testing::TestEventListener* printer) : printer_(printer) {}

  void OnTestStart(const ::testing::TestInfo& test) override {
    failures_ = 0;
    const auto suite = suites_.find(suite_of(test));
    leaves_out_ = suite != suites_.end() && (suite->second.failed.contains(name_of(test)) ||
                                             suite->second.failed.size() >= kMostFailures);
    if (leaves_out_) {
      GTEST_SKIP();
    }
    printer_->OnTestStart(test);
  }
  // A fixture's constructor runs in any case, and may fail.
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    failures_ += result.nonfatally_failed() ? 1 : 0;
    if (result.nonfatally_failed() ? failures_ <= kMostPrinted : !leaves_out_ || result.failed()) {
      printer_->OnTestPartResult(result);
    }
  }
  void OnTestEnd(const ::testing::TestInfo& test) override {
    if (leaves_out_ && !test.result()->Failed()) {
      ++suites_[suite_of(test)].left_out;
      return;
    }
    if (failures_ > kMostPrinted) {
      std::printf("%zu more failures\n", failures_ - kMostPrinted);
    }
    failures_ = 0;
    if (test.result()->Failed()) {
      suites_[suite_of(test)].failed.insert(name_of(test));
    }
    printer_->OnTestEnd(test);
  }
  void OnTestIterationEnd(const ::testing::UnitTest& all, int iteration) override {
    for (const auto& [name, suite] : suites_) {
      if (suite.left_out > 0) {
        std::printf("%s: %zu left out after failures; CUCKOO_KEEP_GOING=1 runs them\n",
                    name.c_str(), suite.left_out);
      }
    }
    printer_->OnTestIterationEnd(all, iteration);
    suites_.clear();
  }

  // All else as it is.
  void OnTestProgramStart(const ::testing::UnitTest& all) override {
    printer_->OnTestProgramStart(all);
  }
  void OnTestIterationStart(const ::testing::UnitTest& all, int iteration) override {
    printer_->OnTestIterationStart(all, iteration);
  }
  void OnEnvironmentsSetUpStart(const ::testing::UnitTest& all) override {
    printer_->OnEnvironmentsSetUpStart(all);
  }
  void OnEnvironmentsSetUpEnd(const ::testing::UnitTest& all) override {
    printer_->OnEnvironmentsSetUpEnd(all);
  }
  void OnTestSuiteStart(const ::testing::TestSuite& suite) override {
    printer_->OnTestSuiteStart(suite);
  }
  void OnTestDisabled(const ::testing::TestInfo& test) override { printer_->OnTestDisabled(test); }
  void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
    printer_->OnTestSuiteEnd(suite);
  }
#ifndef GTEST_REMOVE_LEGACY_TEST_CASEAPI_
  void OnTestCaseStart(const ::testing::TestCase& suite) override {
    printer_->OnTestCaseStart(suite);
  }
  void OnTestCaseEnd(const ::testing::TestCase& suite) override { printer_->OnTestCaseEnd(suite); }
#endif
  void OnEnvironmentsTearDownStart(const ::testing::UnitTest& all) override {
    printer_->OnEnvironmentsTearDownStart(all);
  }
  void OnEnvironmentsTearDownEnd(const ::testing::UnitTest& all) override {
    printer_->OnEnvironmentsTearDownEnd(all);
  }
  void OnTestProgramEnd(const ::testing::UnitTest& all) override {
    printer_->OnTestProgramEnd(all);
  }

 private:
  struct Suite {
    std::set<std::string> failed;
    size_t left_out = 0;
  };

  const std::unique_ptr<::testing::TestEventListener> printer_;
  std::map<std::string, Suite> suites_;
  bool leaves_out_ = false;  // the test that is on
  size_t failures_ = 0;      // of it
};

std::string name_of_program;

}  // namespace

const std::string& program() { return name_of_program; }

}  // namespace cuckoo::test

int main(int argc, char** argv) {
  cuckoo::test::name_of_program = argv[0];
  ::testing::InitGoogleTest(&argc, argv);
  const char* const keep_going = std::getenv("CUCKOO_KEEP_GOING");
  if (keep_going == nullptr || std::string(keep_going) != "1") {
    ::testing::TestEventListeners& all = ::testing::UnitTest::GetInstance()->listeners();
    all.Append(new cuckoo::test::Printer(all.Release(all.default_result_printer())));
  }
  return RUN_ALL_TESTS();
}
