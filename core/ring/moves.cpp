#include "core/ring/moves.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cuckoo {
namespace {

using Parts = std::map<std::pair<uint32_t, uint32_t>, RingPart>;

void add(Parts& parts, uint32_t from, uint32_t to, uint128 part) {
  if (from != to && part != 0) {
    parts[{from, to}].add(part);
  }
}

void add_slots(const SlotOwners& before, const SlotOwners& after, Parts& parts) {
  for (size_t slot = 0; slot < kRingSlots; ++slot) {
    add(parts, before.empty() ? 0 : before.owner_at(slot), after.empty() ? 0 : after.owner_at(slot),
        SlotOwners::part(1).positions());
  }
}

// Cuts the ring at the points of both. Each piece ends at a point of one of them, or at the highest
// position.
void add_points(const PointRing& before, const PointRing& after, Parts& parts) {
  const auto owner = [](const PointRing& ring, size_t point) -> uint32_t {
    return ring.empty() ? 0 : ring.owner_at(point);
  };
  size_t i = 0;
  size_t j = 0;
  uint128 begin = 0;
  while (i < before.size() || j < after.size()) {
    const uint64_t left = i < before.size() ? before.position_at(i) : UINT64_MAX;
    const uint64_t right = j < after.size() ? after.position_at(j) : UINT64_MAX;
    const uint64_t end = std::min(left, right);
    add(parts, owner(before, i), owner(after, j), uint128{end} + 1 - begin);
    begin = uint128{end} + 1;
    while (i < before.size() && before.position_at(i) == end) {
      ++i;
    }
    while (j < after.size() && after.position_at(j) == end) {
      ++j;
    }
  }
  add(parts, owner(before, i), owner(after, j), (uint128{1} << 64) - begin);
}

}  // namespace

std::vector<RingMove> ring_moves(const HashRing& before, const HashRing& after) {
  Parts parts;
  if (before.options().algorithm == RingAlgorithm::kSlots) {
    add_slots(before.slots(), after.slots(), parts);
  } else {
    add_points(before.points(), after.points(), parts);
  }
  std::vector<RingMove> moves;
  moves.reserve(parts.size());
  for (const auto& [ids, part] : parts) {
    moves.push_back({ids.first, ids.second, part});
  }
  return moves;
}

}  // namespace cuckoo
