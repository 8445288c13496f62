// A node of a hash ring, to which the ring gives keys.
#pragma once

#include <cstdint>
#include <string>

namespace cuckoo::core {

inline constexpr uint32_t kMaxRingNodes = 65536;  // as many as there are slots
inline constexpr double kMinRingWeight = 1e-15;
inline constexpr double kMaxRingWeight = 1e15;

// The id stays with a node as long as the node is there, whatever other nodes come and go. It
// decides nothing. The name decides, because points are hashes of it, and its bytes break ties.
struct RingNode {
  uint32_t id = 0;  // 1 … kMaxRingNodes; 0: no node
  std::string name;
  double weight = 0;
};

}  // namespace cuckoo::core
