#include "core/ring/moves.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cuckoo::core {
namespace {

class Parts {
 public:
  Parts(const HashRing& before, const HashRing& after)
      : ids_before_(after.last_id() + size_t{1}, kNone) {
    ids_before_[0] = 0;
    for (const RingNode* const node : after.nodes_by_name()) {
      const RingNode* const same = before.find(node->name);
      ids_before_[node->id] = same != nullptr ? same->id : kNone;
    }
  }

  void add(uint32_t from, uint32_t to, uint128 part) {
    if (from != ids_before_[to] && part != 0) {
      parts_[{from, to}].add(part);
    }
  }
  std::vector<RingMove> moves() const {
    std::vector<RingMove> moves;
    moves.reserve(parts_.size());
    for (const auto& [ids, part] : parts_) {
      moves.push_back({ids.first, ids.second, part});
    }
    return moves;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<uint32_t> ids_before_;  // of the nodes of `after`, by their ids; 0: no node
  std::map<std::pair<uint32_t, uint32_t>, RingPart> parts_;
};

void add_slots(const SlotOwners& before, const SlotOwners& after, Parts& parts) {
  for (size_t slot = 0; slot < kRingSlots; ++slot) {
    parts.add(before.empty() ? 0 : before.owner_at(slot), after.empty() ? 0 : after.owner_at(slot),
              SlotOwners::part(1).positions());
  }
}

// Goes over one of the two rings, from point to point. The ring may have no points.
class Side {
 public:
  explicit Side(const PointRing& ring)
      : point_(ring), first_owner_(point_.at_end() ? 0 : point_.owner()) {}

  bool at_end() const noexcept { return point_.at_end(); }
  uint64_t position() const noexcept { return at_end() ? UINT64_MAX : point_.position(); }
  // Returns the owner of the positions before the point. After the last point that is the first
  // point's owner, because the ring closes.
  uint32_t owner() const noexcept { return at_end() ? first_owner_ : point_.owner(); }
  void pass(uint64_t position) noexcept {
    while (!at_end() && point_.position() == position) {
      point_.next();
    }
  }

 private:
  PointRing::Walk point_;
  uint32_t first_owner_;
};

// Cuts all positions at the points of both rings. Each piece ends at a point of one ring, or at the
// highest position.
void add_points(const PointRing& before, const PointRing& after, Parts& parts) {
  Side left(before);
  Side right(after);
  uint128 begin = 0;
  while (!left.at_end() || !right.at_end()) {
    const uint64_t end = std::min(left.position(), right.position());
    parts.add(left.owner(), right.owner(), uint128{end} + 1 - begin);
    begin = uint128{end} + 1;
    left.pass(end);
    right.pass(end);
  }
  parts.add(left.owner(), right.owner(), (uint128{1} << 64) - begin);
}

}  // namespace

std::vector<RingMove> ring_moves(const HashRing& before, const HashRing& after) {
  Parts parts(before, after);
  if (before.options().algorithm == RingAlgorithm::kSlots) {
    add_slots(before.slots(), after.slots(), parts);
  } else {
    add_points(before.points(), after.points(), parts);
  }
  return parts.moves();
}

}  // namespace cuckoo::core
