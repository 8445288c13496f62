// HashRing: makes the points of all nodes, or only those that a change brings or takes.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

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
  double total = 0;
  if (is_ketama) {
    for (const auto& [name, id] : ids_) {  // in the order of the names
      total += nodes_[id - 1].weight;
    }
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
  if (first >= end) {
    return;
  }
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

// --- the points ----------------------------------------------------------------------------------

void HashRing::build() { static_cast<void>(build(Poll())); }

Status HashRing::build(const Poll& poll) {
  if (!built_ && options_.algorithm != RingAlgorithm::kSlots) {
    CUCKOO_TRY(place(poll));
  }
  built_ = true;
  return {};
}

// Until it has succeeded, no points are placed.
Status HashRing::place(const Poll& poll) {
  constexpr size_t kMostParts = 8;  // to change more than an eighth of the points takes longer
  PointRing points = std::exchange(points_, {});
  std::vector<Placed> placed = std::exchange(placed_, {});
  std::vector<uint32_t> counts = hash_counts();
  const size_t ids = std::max(placed.size(), counts.size());
  placed.resize(ids);
  counts.resize(ids);
  // Returns how many of a node's hashes stay.
  const auto stays = [&](size_t i) {
    const uint32_t most = std::min(placed[i].hashes, counts[i]);
    return most > 0 && placed[i].name == nodes_[i].name ? most : 0;
  };
  size_t changes = 0;
  for (size_t i = 0; i < ids; ++i) {
    changes += placed[i].hashes + counts[i] - 2 * size_t{stays(i)};
  }
  const bool anew = changes * points_per_hash() > points.size() / kMostParts;
  if (anew) {
    points = {};
    placed.assign(ids, {});
    changes = std::accumulate(counts.begin(), counts.end(), size_t{0});
  }
  std::vector<RingPoint> out;
  std::vector<RingPoint> in;
  in.reserve(changes * points_per_hash());
  for (size_t i = 0; i < ids; ++i) {
    const uint32_t stay = stays(i);
    if (stay == placed[i].hashes && stay == counts[i]) {
      continue;
    }
    CUCKOO_TRY(check_interrupt(poll));
    const auto id = static_cast<uint32_t>(i) + 1;
    each_point(placed[i].name, stay, placed[i].hashes, [&](uint64_t position) {
      out.push_back({position, id});
    });
    if (counts[i] > 0) {
      each_point(nodes_[i].name, stay, counts[i], [&](uint64_t position) {
        in.push_back({position, id});
      });
      placed[i].name = nodes_[i].name;
    }
    placed[i].hashes = counts[i];
  }
  const auto comes_before = [this](uint32_t a, uint32_t b) {
    return nodes_[a - 1].name < nodes_[b - 1].name;
  };
  if (anew) {
    points.build(std::move(in), ids, comes_before);
  } else {
    points.change(out, in, ids, comes_before);
  }
  points_ = std::move(points);
  placed_ = std::move(placed);
  return {};
}

void HashRing::take_points(HashRing& other) noexcept {
  if (options_ == other.options_) {
    points_ = std::exchange(other.points_, {});
    placed_ = std::exchange(other.placed_, {});
    built_ = other.built_ = false;
  }
}

}  // namespace cuckoo::core
