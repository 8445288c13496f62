// Random scripts against a plain model. What a script does follows from its seed alone.
//
//   CUCKOO_MODEL_SCRIPTS=n   n scripts instead of the test's share (tests/support/share.hpp)
//   CUCKOO_MODEL_FIRST=s     starts at seed s instead of 1
//   CUCKOO_SEED=s            the one script with that seed, as a failure names it
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>

#include "tests/support/share.hpp"

namespace cuckoo::test {

// Runs share(all) scripts, and stops after the first that fails. A failure names the command that
// runs its script again. Returns how many scripts the test has.
uint64_t for_each_seed(uint64_t all, const std::function<void(uint64_t seed)>& run);

// A script that went wrong; what() says how.
class ScriptFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What a script did so far, for the failure's text.
class ScriptLog {
 public:
  const std::string& text() const { return text_; }
  // Long lines are cut.
  void note(const std::string& line);
  [[noreturn]] void fail(const std::string& what) const;
  void require(bool condition, const std::string& what) const {
    if (!condition) {
      fail(what);
    }
  }

 private:
  std::string text_;
};

class Script : public ScriptLog {
 public:
  explicit Script(uint64_t seed) : random_(seed) {}

  uint64_t random() { return random_(); }
  uint64_t random(uint64_t below) { return random_() % below; }
  bool one_in(uint64_t n) { return random(n) == 0; }
  std::string number(uint64_t below) { return std::to_string(random(below)); }
  template <class List>
  auto& pick(List& list) {
    return std::data(list)[random(std::size(list))];
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return std::data(list)[random(list.size())];
  }
  std::string pick(std::initializer_list<const char*> list) {
    return std::data(list)[random(list.size())];
  }
  // The step of one of these pairs, each as often as its weight says.
  template <class Weighted>
  auto pick_step(const Weighted& steps) {
    uint64_t sum = 0;
    for (const auto& [weight, step] : steps) {
      sum += weight;
    }
    auto* chosen = std::begin(steps);
    for (uint64_t draw = random(sum); draw >= chosen->first; ++chosen) {
      draw -= chosen->first;
    }
    return chosen->second;
  }

 private:
  std::mt19937_64 random_;
};

template <class Kind>
void run_script(Kind& script) {
  try {
    script.run();
  } catch (const ::testing::AssertionException&) {
    // must() has told what failed
  }
  if (::testing::Test::HasFailure()) {
    script.fail("the script fails");
  }
}

// Runs share(all) of these scripts: each is made of its seed and the arguments.
template <class Kind, class... Arguments>
uint64_t run_scripts(uint64_t all, const Arguments&... arguments) {
  return for_each_seed(all, [&](uint64_t seed) {
    Kind script(seed, arguments...);
    run_script(script);
  });
}

}  // namespace cuckoo::test
