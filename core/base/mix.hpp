// A function that makes one 64-bit number of another, so that each bit depends on all bits of the
// other. And a step between numbers that are to have nothing in common.
#pragma once

#include <cstdint>

namespace cuckoo {

// 2^64 / golden ratio: its multiples are spread evenly over all 64-bit numbers. Stored formats
// depend on it.
inline constexpr uint64_t kGoldenStep = 0x9E3779B97F4A7C15;

// SplitMix64's finalizer (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators").
inline uint64_t mix64(uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace cuckoo
