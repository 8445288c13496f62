#include "core/ring/owners.hpp"

#include <algorithm>
#include <queue>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"

namespace cuckoo::core {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;

uint64_t slot_hash(uint64_t seed, uint32_t slot, uint64_t name_hash) noexcept {
  std::byte bytes[16];
  store_le(bytes, uint64_t{slot});
  store_le(bytes + 8, name_hash);
  return XXH3_64bits_withSeed(bytes, sizeof bytes, seed);
}

uint64_t seeded_name_hash(uint64_t seed, const std::string& name) noexcept {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

uint64_t slot_digest(uint32_t slot, uint32_t id) noexcept { return slot_hash(0, slot, id); }

// A node that lacks slots. The heap has the node that lacks most on top.
struct Lack {
  uint32_t slots;
  uint32_t rank;

  bool operator<(const Lack& other) const noexcept {
    return slots != other.slots ? slots < other.slots : rank > other.rank;
  }
};

std::vector<uint32_t> quotas_of(std::span<const RingNode* const> nodes) {
  std::vector<double> weights;
  weights.reserve(nodes.size());
  for (const RingNode* node : nodes) {
    weights.push_back(node->weight);
  }
  return weights.empty() ? std::vector<uint32_t>() : slot_quotas(weights);
}

}  // namespace

void SlotOwners::clear() noexcept {
  owners_.clear();
  counts_.clear();
  changed_.set();
  digest_ = 0;
}

void SlotOwners::assign(uint32_t slot, uint32_t id) {
  const uint32_t before = owner_at(slot);
  --counts_[before - 1];
  ++counts_[id - 1];
  digest_ += slot_digest(slot, id) - slot_digest(slot, before);
  owners_[slot] = static_cast<uint16_t>(id - 1);
  changed_.set(slot / kRowSlots);
}

uint64_t SlotOwners::sum_digest() const noexcept {
  uint64_t sum = 0;
  for (uint32_t slot = 0; slot < owners_.size(); ++slot) {
    sum += slot_digest(slot, owner_at(slot));
  }
  return sum;
}

// Returns the slots that all givers give, in ascending order. `receiver` is null if several nodes
// receive slots.
std::vector<uint16_t> SlotOwners::given_slots(std::span<const RingNode* const> nodes,
                                              const std::vector<uint32_t>& quotas,
                                              const RingNode* receiver, uint64_t seed) const {
  std::vector<uint32_t> surplus(kMaxRingNodes);
  std::vector<uint32_t> place(kMaxRingNodes, kNobody);  // of a giver among the givers
  std::vector<uint64_t> names(kMaxRingNodes);
  std::copy(counts_.begin(), counts_.end(), surplus.begin());
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    const uint32_t i = nodes[rank]->id - 1;
    surplus[i] = counts_[i] > quotas[rank] ? counts_[i] - quotas[rank] : 0;
    names[i] = seeded_name_hash(seed, receiver != nullptr ? receiver->name : nodes[rank]->name);
  }
  std::vector<std::vector<Transfer>> givers;
  for (uint32_t slot = 0; slot < kRingSlots; ++slot) {
    const uint16_t owner = owners_[slot];
    if (surplus[owner] == 0) {
      continue;
    }
    if (place[owner] == kNobody) {
      place[owner] = static_cast<uint32_t>(givers.size());
      givers.emplace_back().reserve(counts_[owner]);
    }
    givers[place[owner]].push_back(
        {slot_hash(seed, slot, names[owner]), static_cast<uint16_t>(slot)});
  }
  std::vector<uint16_t> given;
  for (std::vector<Transfer>& slots : givers) {
    const size_t count = surplus[owners_[slots[0].slot]];
    std::nth_element(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(count - 1),
                     slots.end(), [](const Transfer& a, const Transfer& b) {
                       return a.hash != b.hash ? a.hash < b.hash : a.slot < b.slot;
                     });
    for (size_t i = 0; i < count; ++i) {
      given.push_back(slots[i].slot);
    }
  }
  std::sort(given.begin(), given.end());
  return given;
}

void SlotOwners::meet_quotas(std::span<const RingNode* const> nodes, uint64_t seed) {
  if (nodes.empty()) {
    clear();
    return;
  }
  if (empty()) {  // the first node takes all
    owners_.assign(kRingSlots, static_cast<uint16_t>(nodes[0]->id - 1));
    counts_.assign(kMaxRingNodes, 0);
    counts_[nodes[0]->id - 1] = kRingSlots;
    changed_.set();
    digest_ = sum_digest();
  }
  const std::vector<uint32_t> quotas = quotas_of(nodes);
  std::priority_queue<Lack> lacks;
  for (uint32_t rank = 0; rank < nodes.size(); ++rank) {
    if (const uint32_t have = count(nodes[rank]->id); have < quotas[rank]) {
      lacks.push({quotas[rank] - have, rank});
    }
  }
  if (lacks.empty()) {
    return;
  }
  const RingNode* receiver = lacks.size() == 1 ? nodes[lacks.top().rank] : nullptr;
  for (const uint16_t slot : given_slots(nodes, quotas, receiver, seed)) {
    const Lack most = lacks.top();
    lacks.pop();
    assign(slot, nodes[most.rank]->id);
    if (most.slots > 1) {
      lacks.push({most.slots - 1, most.rank});
    }
  }
}

std::vector<std::byte> SlotOwners::encode_row(uint32_t row) const {
  const uint32_t first = row * kRowSlots;
  const uint32_t last = std::min(first + kRowSlots, kRingSlots);
  std::vector<std::byte> bytes(size_t{2} * (last - first));
  for (uint32_t slot = first; slot < last; ++slot) {
    store_le(bytes.data() + size_t{2} * (slot - first), owners_[slot]);
  }
  return bytes;
}

Status SlotOwners::load(std::span<const std::vector<std::byte>> rows, std::span<const bool> known) {
  clear();
  changed_.reset();
  if (rows.empty()) {
    return {};
  }
  counts_.assign(kMaxRingNodes, 0);
  std::vector<uint16_t> owners;
  owners.reserve(kRingSlots);
  for (const std::vector<std::byte>& row : rows) {
    for (size_t at = 0; at + 1 < row.size(); at += 2) {
      owners.push_back(load_le<uint16_t>(row.data() + at));
    }
  }
  if (owners.size() != kRingSlots) {
    return corrupt("a slot table of " + std::to_string(owners.size()) + " slots, not 65536");
  }
  for (uint32_t slot = 0; slot < kRingSlots; ++slot) {
    const uint16_t owner = owners[slot];
    if (owner >= known.size() || !known[owner]) {
      return corrupt("slot " + std::to_string(slot) + " belongs to node " +
                     std::to_string(owner + 1) + ", which is not there");
    }
    ++counts_[owner];
  }
  owners_ = std::move(owners);
  digest_ = sum_digest();
  return {};
}

SlotOwners::ChangedRows SlotOwners::take_changed() noexcept {
  const ChangedRows changed = changed_;
  changed_.reset();
  return changed;
}

std::string SlotOwners::check(std::span<const RingNode* const> nodes) const {
  if (nodes.empty() != empty()) {
    return empty() ? "nodes without slots" : "slots without a node";  // I1
  }
  if (sum_digest() != digest_) {
    return "a digest that is not that of the slots";  // I4
  }
  const std::vector<uint32_t> quotas = quotas_of(nodes);
  std::vector<uint32_t> counts(kMaxRingNodes);
  for (const uint16_t owner : owners_) {
    ++counts[owner];
  }
  for (size_t rank = 0; rank < nodes.size(); ++rank) {
    const uint32_t have = counts[nodes[rank]->id - 1];
    if (have != quotas[rank] || have != count(nodes[rank]->id)) {  // I2
      return "node " + std::to_string(nodes[rank]->id) + " has " + std::to_string(have) +
             " slots, not " + std::to_string(quotas[rank]);
    }
  }
  return {};
}

}  // namespace cuckoo::core
