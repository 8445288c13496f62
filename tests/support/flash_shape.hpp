// Shapes of small devices for the tests of power cuts, and how much a workload writes there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>

namespace cuckoo::test {

struct FlashShape {
  uint32_t sector, per_block, blocks, unit;  // as FlashGeometry
  unsigned keys;
  size_t large;  // bytes of the longest value

  friend std::ostream& operator<<(std::ostream& out, const FlashShape& shape) {
    return out << shape.sector << " by " << shape.per_block << " units of " << shape.unit;
  }
};

}  // namespace cuckoo::test
