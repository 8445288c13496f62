// A consistent hash: which node owns a key, so that a change of the nodes moves few keys.
//
//   algorithm  a node's places                                   share, of the mean look-up
//   ring       max(1, round(vnodes · weight)) points, the        1 ± sqrt((N-1)/    2 loads
//              i-th at XXH3 of "name-i" (PointRing)              (N·vnodes + 1))
//   ketama     as memcached's clients have them (Ketama)         as vnodes = 160    MD5
//   slots      65,536 slots, dealt by quota (SlotOwners)         <= 1 + N/65536     1 load
// ± is a standard deviation.
//
// A key becomes a position of 64 bits. It is the key's hash, or with ketama a hash of 32 bits in
// the upper half. slots uses only the leading 16 bits.
//
// Invariants
//   I1  ids and names are unique; an id stays with its node. A new id is the highest in use plus
//       one. If that would be too high, it is the lowest that is free.
//   I2  ring, ketama: the owners follow from the nodes and the options, whatever the history.
//   I3  ring, slots: a node that comes or grows only takes keys, one that goes or shrinks only
//       gives its own. With ketama this holds for equal weights, and only while each node's number
//       of hashes stays the same.
//   I4  a node has at least one point (ring) or slot (slots), so a share above 0. With ring there
//       is an exception: all its points may be at other points' positions. For the largest ring
//       that has a chance of 2^-40.
//   I5  node_digest() of equal node sets is equal. For different ones it differs, except by a
//       chance of 2^-64.
//   I6  the next build() after a change makes only the points of the changed node. placed_ says of
//       which names and hashes the points are. build() compares that with the nodes, and takes out
//       and puts in only the difference (PointRing::change()).
//
// Limits: 65,536 nodes; ring: 2^20 points a node, 2^24 in all. A change that would break one is
// refused, and nothing is changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/poll.hpp"
#include "core/base/result.hpp"
#include "core/ring/ketama.hpp"
#include "core/ring/md5.hpp"
#include "core/ring/node.hpp"
#include "core/ring/owners.hpp"
#include "core/ring/points.hpp"

namespace cuckoo::core {

inline constexpr uint32_t kMaxVnodes = 100000;
inline constexpr uint32_t kMaxNodePoints = uint32_t{1} << 20;

// The newest way to store a ring, and to read its keys (FORMAT.md, "Hash rings").
inline constexpr uint8_t kRingFormat = 2;

struct RingOptions {
  uint8_t format = kRingFormat;  // ketama: from 2 on a REAL that is a 64-bit integer is read as one
  RingAlgorithm algorithm = RingAlgorithm::kRing;
  uint32_t vnodes = 1000;                             // ring
  uint64_t seed = 0;                                  // ring, slots
  KetamaDialect dialect = KetamaDialect::kLibketama;  // ketama
  KetamaKeyHash key_hash = KetamaKeyHash::kMd5;       // ketama

  bool operator==(const RingOptions&) const = default;
  // ketama: returns whether there is a client that hashes keys so.
  bool has_client() const noexcept {
    return key_hash == KetamaKeyHash::kMd5 || dialect == KetamaDialect::kLibmemcached ||
           (dialect != KetamaDialect::kLibketama && key_hash != KetamaKeyHash::kCrc32a);
  }
};

class HashRing {
 public:
  // ketama: several threads may look keys up at once if several may use its MD5 at once.
  static Result<std::shared_ptr<HashRing>> make(const RingOptions& options,
                                                Md5Function md5 = system_md5());

  const RingOptions& options() const noexcept { return options_; }

  // --- nodes

  size_t node_count() const noexcept { return ids_.size(); }
  // Returns the node, or null. Valid until the next change.
  const RingNode* find(uint32_t id) const noexcept {
    return id - 1 < nodes_.size() && nodes_[id - 1].id != 0 ? &nodes_[id - 1] : nullptr;
  }
  const RingNode* find(std::string_view name) const noexcept;
  std::vector<const RingNode*> nodes_by_name() const;
  uint32_t last_id() const noexcept { return static_cast<uint32_t>(nodes_.size()); }

  // Each of these changes nothing when it fails: an invalid weight, a name that is there or has a
  // NUL, no room.
  Result<uint32_t> insert(const std::string& name, double weight);  // the new id
  Status update(uint32_t id, std::string name, double weight);
  void remove(uint32_t id);  // it is there
  void clear();
  // Loads a stored ring into an empty one. kCorrupt: it breaks an invariant, and this ring is
  // unusable.
  Status load(std::vector<RingNode> nodes, std::span<const std::vector<std::byte>> slot_rows);

  // --- keys

  // Makes look-ups see the changes. Asks `poll` now and then, because the largest rings take
  // seconds. Without a poll it can't fail.
  Status build(const Poll& poll);
  void build();
  bool built() const noexcept { return built_; }
  // Takes the points of another ring, which has none afterwards. So after a change by another
  // connection, build() makes only the difference. Does nothing if the other ring has other
  // options.
  void take_points(HashRing& other) noexcept;

  // ketama: returns the position of a key's bytes.
  uint64_t ketama_position(std::span<const std::byte> key) const {
    return Ketama::position(ketama_->hash(key));
  }
  // Returns the owner's id, 0 in an empty ring. The ring is built().
  uint32_t owner(uint64_t position) const noexcept {
    if (options_.algorithm == RingAlgorithm::kSlots) {
      return slots_.empty() ? 0 : slots_.owner_at(SlotOwners::slot_of(position));
    }
    return points_.empty() ? 0 : points_.owner(position);
  }
  // Gives the first `count` different nodes at or after the position; all if there are fewer.
  void owners(uint64_t position, size_t count, std::vector<uint32_t>& ids) const;
  // The ring is built().
  RingPart share(uint32_t id) const noexcept {
    return options_.algorithm == RingAlgorithm::kSlots ? SlotOwners::part(slots_.count(id))
                                                       : points_.share(id);
  }

  const PointRing& points() const noexcept { return points_; }
  const SlotOwners& slots() const noexcept { return slots_; }
  SlotOwners::ChangedRows take_changed_slot_rows() noexcept { return slots_.take_changed(); }
  void change_all_slot_rows() noexcept { slots_.change_all(); }  // none of them is stored

  uint64_t node_digest() const noexcept { return digest_; }
  std::string check();  // builds the ring; returns the first error, or an empty text

 private:
  HashRing(const RingOptions& options, std::shared_ptr<Ketama> ketama) noexcept
      : options_(options), ketama_(std::move(ketama)) {}

  uint64_t point_count(double weight) const noexcept;
  Status check_node(const std::string& name, double weight, uint32_t id) const;
  uint32_t free_id() const noexcept;
  void put(RingNode node);
  void take_out(uint32_t id);
  void changed();

  // --- the way from the nodes to the points (core/ring/hash_ring_build.cpp)

  // Returns how many hashes each node has, by id - 1. A hash gives points_per_hash() points.
  std::vector<uint32_t> hash_counts() const;
  size_t points_per_hash() const noexcept {
    return options_.algorithm == RingAlgorithm::kKetama ? Ketama::points_per_hash(options_.dialect)
                                                        : 1;
  }
  // Calls use(position) for each point of the hashes `first` to `end` - 1.
  template <class Use>
  void each_point(const std::string& name, uint32_t first, uint32_t end, Use&& use) const;
  Status place(const Poll& poll);
  template <class Use>
  void walk(uint64_t position, Use&& use) const;

  RingOptions options_;
  std::shared_ptr<Ketama> ketama_;  // ketama only
  std::vector<RingNode> nodes_;     // by id - 1; the last one is a node
  std::map<std::string, uint32_t, std::less<>> ids_;
  uint64_t point_sum_ = 0;  // ring
  uint64_t digest_ = 0;
  SlotOwners slots_;

  bool built_ = false;
  // The first hashes of a name, of which a node's points were made.
  struct Placed {
    std::string name;
    uint32_t hashes = 0;
  };
  PointRing points_;            // ring, ketama
  std::vector<Placed> placed_;  // by id - 1
};

}  // namespace cuckoo::core
