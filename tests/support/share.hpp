// How much of its work a random test does.
//
//   CUCKOO_SHARE=n   one n-th, and at least once, n from 1 to 12; not set: all of it
//
// tests/run.sh sets it, so that a run takes minutes. tests/soak.sh does all.
#pragma once

#if defined(__linux__)
#include <dlfcn.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuckoo::test {

// Returns n.
uint64_t share_divisor();
// Returns 0 … n - 1, another number after each commit: a test that takes every n-th of its cases
// begins with that one.
uint64_t share_first();

inline uint64_t share(uint64_t all) { return std::max<uint64_t>(all / share_divisor(), 1); }

// Returns every n-th of these cases, and at least one.
template <class Case>
std::vector<Case> share_of(const std::vector<Case>& all) {
  const size_t step = std::min<size_t>(share_divisor(), all.size());
  std::vector<Case> some;
  for (size_t at = share_first() % step; at < all.size(); at += step) {
    some.push_back(all[at]);
  }
  return some;
}

// Returns whether this process has a sanitizer, in the program itself or loaded with the module.
inline bool is_sanitized() {
#if defined(__linux__)
  static const bool found = dlsym(RTLD_DEFAULT, "__asan_init") != nullptr ||
                            dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
  return found;
#else
  return false;
#endif
}

// Returns whether all takes several times as long, for tests that wait for something.
inline bool is_slow() {
#if defined(CUCKOO_EMULATED)
  return true;
#else
  return is_sanitized();
#endif
}

}  // namespace cuckoo::test
