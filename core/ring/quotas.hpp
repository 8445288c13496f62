// Computes how many of 65,536 slots each node gets, by Webster's divisor method with the first slot
// free.
//
// Slots are given one by one to the node with the highest priority. A node without a slot has an
// infinite priority, and one with k slots has weight / (k + 1/2). If two are equal, the name that
// sorts first gets the slot.
//
// Invariants
//   I1  quotas add up to 65,536; each is at least 1.
//   I2  a divisor method is consistent: when one node comes, goes or changes its weight, no two
//       others exchange slots. (Largest remainders would: 13 of 40 simulated changes.)
//   I3  quotas are a function of the weights in the order of the names. So they do not depend on
//       the history.
//   I4  with N equal weights no quota is above 65536/N + 1.
//
// The code does not give slots one by one. A divisor close to the right one gives nearly all of
// them, and the priorities decide the rest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cuckoo::core {

inline constexpr uint32_t kRingSlots = 65536;

// `weights`: 1 … 65,536, all above 0, in the order of the nodes' names.
std::vector<uint32_t> slot_quotas(std::span<const double> weights);

}  // namespace cuckoo::core
