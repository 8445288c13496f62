// unmix64(x) is the number of which mix64() makes x. Tests choose by it where something is placed.
#pragma once

#include <cstdint>

namespace cuckoo::test {

inline uint64_t unmix64(uint64_t x) {
  x = (x ^ (x >> 31) ^ (x >> 62)) * 0x319642B2D24D8EC3;
  x = (x ^ (x >> 27) ^ (x >> 54)) * 0x96DE1B173F119089;
  return x ^ (x >> 30) ^ (x >> 60);
}

}  // namespace cuckoo::test
