#include "core/ring/hash_ring.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"

namespace cuckoo {
namespace {

// Points are hashed apart from keys (kinds 0 … 3 of core/base/key_hash.hpp): a key "a-0" is not at
// the first point of node "a".
constexpr uint64_t kPointSeed = 4 * kGoldenStep;

uint64_t node_hash(const RingNode& node) noexcept {
  std::byte bytes[16];
  store_le(bytes, uint64_t{node.id});
  store_le(bytes + 8, bits_of(node.weight));
  return XXH3_64bits_withSeed(node.name.data(), node.name.size(), XXH3_64bits(bytes, sizeof bytes));
}

}  // namespace

Result<std::shared_ptr<HashRing>> HashRing::make(const RingOptions& options) {
  std::shared_ptr<Ketama> ketama;
  if (options.algorithm == RingAlgorithm::kKetama) {
    Result<std::shared_ptr<Ketama>> made = Ketama::make();
    if (!made.ok()) {
      return made.take_status();
    }
    ketama = std::move(made.value());
  }
  return std::shared_ptr<HashRing>(new HashRing(options, std::move(ketama)));
}

// --- nodes ---------------------------------------------------------------------------------------

const RingNode* HashRing::find(std::string_view name) const noexcept {
  const auto found = ids_.find(name);
  return found == ids_.end() ? nullptr : &nodes_[found->second - 1];
}

std::vector<const RingNode*> HashRing::nodes_by_name() const {
  std::vector<const RingNode*> nodes;
  nodes.reserve(ids_.size());
  for (const auto& [name, id] : ids_) {
    nodes.push_back(&nodes_[id - 1]);
  }
  return nodes;
}

uint64_t HashRing::point_count(double weight) const noexcept {
  return options_.algorithm != RingAlgorithm::kRing
             ? 0
             : std::max<uint64_t>(1, static_cast<uint64_t>(std::round(weight * options_.vnodes)));
}

// `id`: the node that has the weight and the name now; 0: a new one.
Status HashRing::check_node(const std::string& name, double weight, uint32_t id) const {
  if (!(weight >= kMinRingWeight && weight <= kMaxRingWeight)) {  // nor a NaN
    return invalid("a weight is a number above 0, from 1e-15 to 1e15");
  }
  if (options_.algorithm == RingAlgorithm::kRing &&
      std::round(weight * options_.vnodes) > kMaxNodePoints) {
    return invalid("weight times vnodes (" + std::to_string(options_.vnodes) +
                   ") may be 2^20 at most; take smaller weights, only their ratios count, or fewer"
                   " vnodes");
  }
  if (name.find('\0') != std::string::npos) {  // what shows texts would cut it
    return invalid("a node's name has no NUL character");
  }
  const RingNode* const same = find(name);
  if (same != nullptr && same->id != id) {
    return invalid("a node of that name is there already");
  }
  if (id == 0 && ids_.size() == kMaxRingNodes) {
    return Error{ErrorCode::kFull, "65536 nodes, as many as it can"};
  }
  const uint64_t now = id != 0 ? point_count(nodes_[id - 1].weight) : 0;
  if (point_sum_ - now + point_count(weight) > kMaxRingPoints) {
    return Error{ErrorCode::kFull,
                 std::to_string(point_sum_) + " of 2^24 points; make it with fewer vnodes"};
  }
  return {};
}

uint32_t HashRing::free_id() const noexcept {
  if (nodes_.size() < kMaxRingNodes) {
    return static_cast<uint32_t>(nodes_.size()) + 1;
  }
  uint32_t id = 1;
  while (nodes_[id - 1].id != 0) {
    ++id;
  }
  return id;
}

void HashRing::put(RingNode node) {
  if (node.id > nodes_.size()) {
    nodes_.resize(node.id);
  }
  ids_.emplace(node.name, node.id);
  point_sum_ += point_count(node.weight);
  digest_ += node_hash(node);
  nodes_[node.id - 1] = std::move(node);
}

void HashRing::take_out(uint32_t id) {
  RingNode& node = nodes_[id - 1];
  point_sum_ -= point_count(node.weight);
  digest_ -= node_hash(node);
  ids_.erase(node.name);
  node = RingNode();
  while (!nodes_.empty() && nodes_.back().id == 0) {
    nodes_.pop_back();
  }
}

void HashRing::changed() {
  built_ = false;
  if (options_.algorithm == RingAlgorithm::kSlots) {
    slots_.meet_quotas(nodes_by_name(), options_.seed);
  }
}

Result<uint32_t> HashRing::insert(const std::string& name, double weight) {
  CUCKOO_TRY(check_node(name, weight, 0));
  const uint32_t id = free_id();
  put({id, name, weight});
  changed();
  return id;
}

// The name by value: it may be the node's own.
Status HashRing::update(uint32_t id, std::string name, double weight) {
  CUCKOO_TRY(check_node(name, weight, id));
  take_out(id);
  put({id, std::move(name), weight});
  changed();
  return {};
}

void HashRing::remove(uint32_t id) {
  take_out(id);
  changed();
}

void HashRing::clear() {
  nodes_.clear();
  ids_.clear();
  point_sum_ = 0;
  digest_ = 0;
  changed();
}

Status HashRing::load(std::vector<RingNode> nodes,
                      std::span<const std::vector<std::byte>> slot_rows) {
  for (RingNode& node : nodes) {
    if (node.id == 0 || node.id > kMaxRingNodes || find(node.id) != nullptr) {
      return corrupt("node " + node.name + " has the id " + std::to_string(node.id) +
                     ", which is out of range or another's");
    }
    if (Status valid = check_node(node.name, node.weight, 0); !valid.ok()) {
      return corrupt("node " + node.name + ": " + valid.error().message);
    }
    put(std::move(node));
  }
  if (options_.algorithm != RingAlgorithm::kSlots) {
    return slot_rows.empty() ? Status() : corrupt("slots in a ring that has none");
  }
  if (slot_rows.empty() != ids_.empty()) {
    return corrupt(ids_.empty() ? "slots without a node" : "nodes without slots");
  }
  // std::vector<bool> is no array of them.
  const auto known = std::make_unique<bool[]>(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    known[i] = nodes_[i].id != 0;
  }
  return slots_.load(slot_rows, {known.get(), nodes_.size()});
}

// --- keys ----------------------------------------------------------------------------------------

Status HashRing::ring_points(std::span<const RingNode* const> nodes, const Poll& poll,
                             std::vector<RingPoint>& points) const {
  points.reserve(point_sum_);
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    CUCKOO_TRY(check_interrupt(poll));
    std::string label = nodes[rank]->name + "-";
    const size_t prefix = label.size();
    constexpr size_t kMostDigits = 7;  // of a point's number, below 2^20
    label.resize(prefix + kMostDigits);
    const uint64_t count = point_count(nodes[rank]->weight);
    for (uint64_t i = 0; i < count; ++i) {
      const char* const end =
          std::to_chars(label.data() + prefix, label.data() + label.size(), i).ptr;
      points.push_back({XXH3_64bits_withSeed(label.data(), static_cast<size_t>(end - label.data()),
                                             options_.seed + kPointSeed),
                        static_cast<uint16_t>(rank)});
    }
  }
  return {};
}

void HashRing::build() { static_cast<void>(build(Poll())); }

Status HashRing::build(const Poll& poll) {
  if (built_) {
    return {};
  }
  shares_.clear();
  if (options_.algorithm == RingAlgorithm::kSlots) {
    places_ = slots_.empty() ? 0 : kRingSlots;
  } else {
    const std::vector<const RingNode*> nodes = nodes_by_name();
    std::vector<uint32_t> ids;
    ids.reserve(nodes.size());
    for (const RingNode* node : nodes) {
      ids.push_back(node->id);
    }
    std::vector<RingPoint> points;
    if (options_.algorithm == RingAlgorithm::kRing) {
      CUCKOO_TRY(ring_points(nodes, poll, points));
    } else {
      Result<std::vector<RingPoint>> made = ketama_->points(options_.dialect, nodes, poll);
      CUCKOO_TRY(made.take_status());
      points = std::move(made.value());
    }
    points_.build(std::move(points), ids);
    shares_ = points_.shares(nodes_.size());
    places_ = points_.size();
  }
  built_ = true;
  return {};
}

void HashRing::owners(uint64_t position, size_t count, std::vector<uint32_t>& ids) const {
  ids.clear();
  if (places_ == 0 || count == 0) {
    return;
  }
  const bool is_slots = options_.algorithm == RingAlgorithm::kSlots;
  size_t place = is_slots ? SlotOwners::slot_of(position) : points_.find(position);
  if (count == 1) {
    ids.push_back(place_owner(place));
    return;
  }
  // A few: compared with one another; many: marked.
  constexpr size_t kFew = 8;
  std::vector<bool> taken(count > kFew ? nodes_.size() : 0);
  count = std::min(count, ids_.size());
  for (size_t seen = 0; seen < places_ && ids.size() < count; ++seen) {
    const uint32_t id = place_owner(place);
    place = place + 1 < places_ ? place + 1 : place + 1 - places_;
    if (taken.empty() ? std::find(ids.begin(), ids.end(), id) == ids.end() : !taken[id - 1]) {
      ids.push_back(id);
      if (!taken.empty()) {
        taken[id - 1] = true;
      }
    }
  }
}

RingPart HashRing::share(uint32_t id) const noexcept {
  if (options_.algorithm == RingAlgorithm::kSlots) {
    return SlotOwners::part(slots_.count(id));
  }
  return id - 1 < shares_.size() ? shares_[id - 1] : RingPart();
}

std::string HashRing::check() {
  build();
  uint64_t digest = 0;
  uint64_t points = 0;
  size_t count = 0;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const RingNode& node = nodes_[i];
    if (node.id == 0) {
      continue;
    }
    const RingNode* const named = find(node.name);
    if (node.id != i + 1 || named != &node) {
      return "node " + std::to_string(i + 1) + " is not found by its name";  // I1
    }
    digest += node_hash(node);
    points += point_count(node.weight);
    ++count;
  }
  if (count != ids_.size() || digest != digest_ || points != point_sum_) {
    return "sums that do not fit the nodes";  // I5
  }
  if (options_.algorithm == RingAlgorithm::kSlots) {
    return slots_.check(nodes_by_name());
  }
  if (options_.algorithm == RingAlgorithm::kRing && points_.size() != points) {
    return "a ring of " + std::to_string(points_.size()) + " points, not " + std::to_string(points);
  }
  return points_.check();
}

}  // namespace cuckoo
