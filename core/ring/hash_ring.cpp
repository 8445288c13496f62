#include "core/ring/hash_ring.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"

namespace cuckoo::core {
namespace {

uint64_t node_hash(const RingNode& node) noexcept {
  std::byte bytes[16];
  store_le(bytes, uint64_t{node.id});
  store_le(bytes + 8, bits_of(node.weight));
  return XXH3_64bits_withSeed(node.name.data(), node.name.size(), XXH3_64bits(bytes, sizeof bytes));
}

// Returns the name as an error shows it: its first 40 bytes, with ? for each that is no printable
// ASCII.
std::string shown_name(const std::string& name) {
  constexpr size_t kMost = 40;
  constexpr char kFirst = ' ';
  constexpr char kLast = '~';
  std::string text = name.substr(0, kMost);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < kFirst || c > kLast; }, '?');
  return name.size() > kMost ? text + "…" : text;
}

}  // namespace

Result<std::shared_ptr<HashRing>> HashRing::make(const RingOptions& options, Md5Function md5) {
  std::shared_ptr<Ketama> ketama;
  if (options.algorithm == RingAlgorithm::kKetama) {
    Result<std::shared_ptr<Ketama>> made =
        Ketama::make(options.dialect, options.key_hash, std::move(md5));
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

// Checks a name and a weight for node `id`, or for a new node if `id` is 0.
Status HashRing::check_node(const std::string& name, double weight, uint32_t id) const {
  if (!(weight >= kMinRingWeight && weight <= kMaxRingWeight)) {  // nor a NaN
    return invalid("a weight is a number above 0, from 1e-15 to 1e15");
  }
  if (options_.algorithm == RingAlgorithm::kRing &&
      std::round(weight * options_.vnodes) > kMaxNodePoints) {
    // Rounds down, so that a node of this weight is accepted.
    char most[32];
    std::snprintf(most, sizeof most, "%.10g",
                  std::floor(100.0 * kMaxNodePoints / options_.vnodes) / 100);
    return invalid("weight times vnodes (" + std::to_string(options_.vnodes) +
                   ") may be 2^20 at most: a weight is at most " + most +
                   " here. Owners follow from the weights themselves, not from their ratios: to"
                   " scale the weights of all nodes, or to make the ring with fewer vnodes, gives"
                   " most keys other owners");
  }
  if (name.find('\0') != std::string::npos) {  // a program that shows it may cut it
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
                 std::to_string(point_sum_) +
                     " of 2^24 points; a ring made with fewer vnodes has room, and other owners"};
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

// Takes the name by value, because it may be the node's own.
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
      return corrupt("node " + shown_name(node.name) + " has the id " + std::to_string(node.id) +
                     ", which is out of range or another's");
    }
    if (Status valid = check_node(node.name, node.weight, 0); !valid.ok()) {
      return corrupt("node " + shown_name(node.name) + ": " + valid.error().message);
    }
    put(std::move(node));
  }
  if (options_.algorithm != RingAlgorithm::kSlots) {
    return slot_rows.empty() ? Status() : corrupt("slots in a ring that has none");
  }
  if (slot_rows.empty() != ids_.empty()) {
    return corrupt(ids_.empty() ? "slots without a node" : "nodes without slots");
  }
  // This is no std::vector<bool>, because that is no array of bool.
  const auto known = std::make_unique<bool[]>(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    known[i] = nodes_[i].id != 0;
  }
  return slots_.load(slot_rows, {known.get(), nodes_.size()});
}

// --- keys ----------------------------------------------------------------------------------------

// Calls use(owner) for each place from that of the position on, until use() returns false or all
// places were used.
template <class Use>
void HashRing::walk(uint64_t position, Use&& use) const {
  if (options_.algorithm == RingAlgorithm::kSlots) {
    size_t slot = SlotOwners::slot_of(position);
    for (size_t seen = 0; seen < kRingSlots && use(slots_.owner_at(slot)); ++seen) {
      slot = slot + 1 < kRingSlots ? slot + 1 : 0;
    }
    return;
  }
  PointRing::Walk point(points_, position);
  for (size_t seen = 0; seen < points_.size() && use(point.owner()); ++seen) {
    point.next_around();
  }
}

void HashRing::owners(uint64_t position, size_t count, std::vector<uint32_t>& ids) const {
  ids.clear();
  const uint32_t first = owner(position);
  if (first == 0 || count == 0) {
    return;
  }
  if (count == 1) {
    ids.push_back(first);
    return;
  }
  // If `count` is at most 8, compares each node with those found before. For more, `taken` notes
  // which nodes were found.
  constexpr size_t kFew = 8;
  std::vector<bool> taken(count > kFew ? nodes_.size() : 0);
  count = std::min(count, ids_.size());
  walk(position, [&](uint32_t id) {
    if (taken.empty() ? std::find(ids.begin(), ids.end(), id) == ids.end() : !taken[id - 1]) {
      ids.push_back(id);
      if (!taken.empty()) {
        taken[id - 1] = true;
      }
    }
    return ids.size() < count;
  });
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

}  // namespace cuckoo::core
