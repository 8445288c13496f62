// A node of a hash ring: what owns keys.
#pragma once

#include <cstdint>
#include <string>

namespace cuckoo {

inline constexpr uint32_t kMaxRingNodes = 65536;  // as many as there are slots
inline constexpr double kMinRingWeight = 1e-15;
inline constexpr double kMaxRingWeight = 1e15;

// The id stays with a node as long as it lives, whatever comes and goes beside it; it decides
// nothing. The name does: points are hashes of it, and ties are broken by its bytes.
struct RingNode {
  uint32_t id = 0;  // 1 … kMaxRingNodes; 0: no node
  std::string name;
  double weight = 0;
};

}  // namespace cuckoo
