// What the benchmarks of core share.
#pragma once

#include <cstdint>

namespace cuckoo::bench {

inline constexpr uint32_t kPageBytes = 4032;

inline uint64_t nth_hash(uint64_t i) noexcept {
  uint64_t x = (i + 1) * 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace cuckoo::bench
