// HashRing: makes the points of all nodes, or only the difference after a change.
#include <algorithm>
#include <charconv>

#include "core/base/bytes.hpp"
#include "core/base/key_hash.hpp"
#include "core/ring/hash_ring.hpp"

namespace cuckoo::core {
namespace {

// Points are hashed under another seed than keys (kinds 0 … 3 of core/base/key_hash.hpp). So a key
// "a-0" is not at the first point of node "a".
constexpr uint64_t kPointSeed = 4 * kGoldenStep;

}  // namespace

std::vector<uint32_t> HashRing::hash_counts() const {
  std::vector<uint32_t> counts(nodes_.size());
  const bool is_ketama = options_.algorithm == RingAlgorithm::kKetama;
  double total = 0;  // in the order of the names
  for (const auto& [name, id] : ids_) {
    total += is_ketama ? nodes_[id - 1].weight : 0;
  }
  for (const RingNode& node : nodes_) {
    if (node.id != 0) {
      counts[node.id - 1] = is_ketama
                                ? ketama_hashes(options_.dialect, node.weight, total, ids_.size())
                                : static_cast<uint32_t>(point_count(node.weight));
    }
  }
  return counts;
}

template <class Use>
void HashRing::each_point(const std::string& name, uint32_t first, uint32_t end, Use&& use) const {
  if (options_.algorithm == RingAlgorithm::kKetama) {
    ketama_->each_point(name, first, end, use);
    return;
  }
  constexpr size_t kMostDigits = 7;  // of a point's number, below 2^20
  std::string label = name + "-";
  const size_t prefix = label.size();
  label.resize(prefix + kMostDigits);
  for (uint32_t i = first; i < end; ++i) {
    const char* const last =
        std::to_chars(label.data() + prefix, label.data() + label.size(), i).ptr;
    use(XXH3_64bits_withSeed(label.data(), static_cast<size_t>(last - label.data()),
                             options_.seed + kPointSeed));
  }
}

// --- all points ----------------------------------------------------------------------------------

void HashRing::build() { static_cast<void>(build(Poll())); }

Status HashRing::build(const Poll& poll) {
  if (built_) {
    return {};
  }
  if (options_.algorithm == RingAlgorithm::kSlots) {
    places_ = slots_.empty() ? 0 : kRingSlots;
    built_ = true;
    return {};
  }
  std::vector<uint32_t> counts = hash_counts();
  if (!build_difference(counts)) {
    CUCKOO_TRY(build_anew(counts, poll));
  }
  placed_ = std::move(counts);
  touched_.clear();
  places_ = points_.size();
  has_points_ = true;
  built_ = true;
  return {};
}

Status HashRing::build_anew(const std::vector<uint32_t>& counts, const Poll& poll) {
  has_points_ = false;
  size_t hashes = 0;
  for (const uint32_t count : counts) {
    hashes += count;
  }
  std::vector<RingPoint> points;
  points.reserve(hashes * points_per_hash());
  std::vector<uint32_t> ids;
  ids.reserve(ids_.size());
  for (const auto& [name, id] : ids_) {
    CUCKOO_TRY(check_interrupt(poll));
    const auto rank = static_cast<uint16_t>(ids.size());
    each_point(name, 0, counts[id - 1], [&](uint64_t position) {
      points.push_back({position, rank});
    });
    ids.push_back(id);
  }
  points_.build(std::move(points), ids);
  shares_ = points_.shares(nodes_.size());
  return {};
}

// --- the difference ------------------------------------------------------------------------------

// Call it before node `id` changes, comes or goes.
void HashRing::touch(uint32_t id) {
  if (has_points_) {
    const RingNode* const node = find(id);
    touched_.try_emplace(id, node != nullptr ? node->name : std::string());
  }
}

const std::string& HashRing::placed_name(uint32_t id) const noexcept {
  const auto touched = touched_.find(id);
  return touched != touched_.end() ? touched->second : nodes_[id - 1].name;
}

void HashRing::take_points(HashRing& other) noexcept {
  if (!other.has_points_ || options_ != other.options_) {
    return;
  }
  try {
    touched_.clear();
    const auto ids = static_cast<uint32_t>(std::max(nodes_.size(), other.placed_.size()));
    for (uint32_t id = 1; id <= ids; ++id) {
      const bool placed = id <= other.placed_.size() && other.placed_[id - 1] != 0;
      const std::string name = placed ? other.placed_name(id) : std::string();
      if (const RingNode* const node = find(id); node == nullptr ? placed : node->name != name) {
        touched_.emplace(id, name);
      }
    }
  } catch (const std::bad_alloc&) {
    return;  // build() makes all points anew
  }
  points_ = std::move(other.points_);
  shares_ = std::move(other.shares_);
  placed_ = std::move(other.placed_);
  other.has_points_ = other.built_ = false;
  has_points_ = true;
  built_ = false;
}

// Returns false if making all points anew is as good, or needed.
bool HashRing::build_difference(const std::vector<uint32_t>& counts) {
  constexpr size_t kFewPoints = 1024;
  constexpr size_t kMostParts = 8;  // an eighth of the points
  if (!has_points_ || points_.size() < kFewPoints) {
    return false;
  }
  struct Part {
    const std::string* name;
    uint32_t id, first, end;
    bool in;
  };
  std::vector<Part> parts;
  size_t hashes = 0;
  const auto add = [&](uint32_t id, const std::string& name, uint32_t first, uint32_t end,
                       bool in) {
    if (first < end) {
      parts.push_back({&name, id, first, end, in});
      hashes += end - first;
    }
  };
  const auto ids = static_cast<uint32_t>(std::max(counts.size(), placed_.size()));
  for (uint32_t id = 1; id <= ids; ++id) {
    const uint32_t before = id <= placed_.size() ? placed_[id - 1] : 0;
    const uint32_t now = id <= counts.size() ? counts[id - 1] : 0;
    const auto touched = touched_.find(id);
    const bool same_name = now == 0 || before == 0 || touched == touched_.end() ||
                           touched->second == nodes_[id - 1].name;
    if (same_name) {
      if (before > now) {
        add(id, placed_name(id), now, before, false);
      } else if (now > before) {
        add(id, nodes_[id - 1].name, before, now, true);
      }
    } else {
      add(id, touched->second, 0, before, false);
      add(id, nodes_[id - 1].name, 0, now, true);
    }
  }
  if (hashes * points_per_hash() > points_.size() / kMostParts) {
    return false;
  }
  std::vector<PointRing::Owned> in;
  std::vector<PointRing::Owned> out;
  for (const Part& part : parts) {
    std::vector<PointRing::Owned>& points = part.in ? in : out;
    each_point(*part.name, part.first, part.end, [&](uint64_t position) {
      points.push_back({position, part.id});
    });
  }
  has_points_ = false;  // until it is done
  shares_.resize(std::max(shares_.size(), nodes_.size()));
  return points_.change(
      std::move(out), std::move(in),
      [this](uint32_t a, uint32_t b) { return nodes_[a - 1].name < nodes_[b - 1].name; }, shares_);
}

}  // namespace cuckoo::core
