// A ring of 2^64 positions with points on it. A position belongs to the node of the first point at
// or after it. After the last point, the ring begins again. For example, with a point of node A at
// 10 and one of node B at 20, position 15 belongs to B, and position 25 to A.
//
// Layout
//   positions_[i], owners_[i]   place i. It has a point, or it is free
//   has_point_[i]               which of both
// The places are one sorted array with room in it. There are homes_ homes, about 1.5 for each
// point, and a position's home is position · homes_ / 2^64. A point lies at its home, or after the
// points before it if they have taken that. Points are hashes, so they lie near their homes. So to
// find an owner compares a few neighbouring places, without a binary search. To put a point in
// moves the points up to the next free place, some five. (A weak hash, which ketama may have, puts
// many points close together. Then the places that follow are searched in growing steps.)
//
// Invariants
//   I1  the points ascend. Points at one position are in the order of their nodes' names, so the
//       owner does not depend on the order in which the points came.
//   I2  a point lies at its home, or right after another point that lies there or later. So the
//       places follow from the points and from homes_.
//   I3  a free place has a copy of the next point. So the first place from a position's home on
//       that is not before the position has the owner. After the last point there is no next one,
//       so there the copies have the highest position and the owner of the first point. The last
//       kAhead places are free.
//   I4  a node's share is the sum of the parts before its points. All shares add up to 2^64. Of
//       several points at one position, only the first has a part.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"

namespace cuckoo::core {

inline constexpr size_t kMaxRingPoints = size_t{1} << 24;

// A number of positions, up to all 2^64. It is not a uint128, because that needs memory aligned to
// 16 bytes, and SQLite's allocator, which the module uses, aligns to 8.
class RingPart {
 public:
  RingPart() noexcept = default;
  explicit RingPart(uint128 positions) noexcept { add(positions); }
  static RingPart all() noexcept { return RingPart(uint128{1} << 64); }

  uint128 positions() const noexcept { return uint128{high_} << 64 | low_; }
  void add(uint128 positions) noexcept {
    const uint128 sum = this->positions() + positions;
    low_ = static_cast<uint64_t>(sum);
    high_ = static_cast<uint64_t>(sum >> 64);
  }
  void subtract(uint128 positions) noexcept { add(uint128{0} - positions); }  // modulo 2^128
  bool operator==(const RingPart&) const noexcept = default;
  double share() const noexcept { return std::ldexp(static_cast<double>(positions()), -64); }

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

struct RingPoint {
  uint64_t position = 0;
  uint32_t id = 0;  // of its node
};

class PointRing {
 public:
  // Compares the names of two nodes.
  using NameOrder = std::function<bool(uint32_t id, uint32_t other)>;

  // Makes the ring of up to 2^24 points, in any order, of nodes with ids up to `ids`.
  void build(std::vector<RingPoint> points, size_t ids, const NameOrder& comes_before);
  // Takes points out that are there, and then puts others in. At least one point stays. Only nodes
  // that have points then are compared. If it throws, the ring is unusable.
  void change(std::span<const RingPoint> out, std::span<const RingPoint> in, size_t ids,
              const NameOrder& comes_before);

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }

  // Returns the owner's id. The ring has a point.
  uint32_t owner(uint64_t position) const noexcept { return owners_[find(position)] + 1U; }
  // Returns how many positions a node owns.
  RingPart share(uint32_t id) const noexcept {
    return id - 1 < shares_.size() ? shares_[id - 1] : RingPart();
  }

  // Goes over the points in their order.
  class Walk {
   public:
    explicit Walk(const PointRing& ring) noexcept : ring_(&ring) { skip_free(); }
    // Begins at the point that owns the position; there is one.
    Walk(const PointRing& ring, uint64_t position) noexcept
        : ring_(&ring), place_(ring.find(position)) {
      skip_free();
      close();
    }
    bool at_end() const noexcept { return place_ == ring_->positions_.size(); }
    uint64_t position() const noexcept { return ring_->positions_[place_]; }
    uint32_t owner() const noexcept { return ring_->owners_[place_] + 1U; }
    void next() noexcept {
      ++place_;
      skip_free();
    }
    // Goes on to the next point, and from the last one to the first.
    void next_around() noexcept {
      next();
      close();
    }

   private:
    void skip_free() noexcept {
      while (!at_end() && !ring_->has_point_[place_]) {
        ++place_;
      }
    }
    void close() noexcept {
      if (at_end()) {
        *this = Walk(*ring_);
      }
    }

    const PointRing* ring_;
    size_t place_ = 0;
  };

  std::string check() const;  // returns the first error, or an empty text

 private:
  size_t home(uint64_t position) const noexcept {
    return static_cast<size_t>(multiply_high(position, homes_));
  }
  // Returns the first place from the home on that is not before the position (I3).
  size_t find(uint64_t position) const noexcept {
    constexpr int kRounds = 4;
    size_t place = home(position);
    for (int round = 0; round < kRounds; ++round) {
      // Counts instead of asking place after place, because a processor can't guess the answers.
      size_t before = 0;
      for (size_t i = 0; i < kAhead; ++i) {
        before += positions_[place + i] < position ? 1 : 0;
      }
      place += before;
      if (before < kAhead) {
        return place;
      }
    }
    return find_far(position, place);
  }
  size_t find_far(uint64_t position, size_t place) const noexcept;
  std::vector<RingPoint> sorted(const std::vector<RingPoint>& points,
                                const NameOrder& comes_before) const;
  void deal(std::span<const RingPoint> sorted);
  void put(const RingPoint& point, const NameOrder& comes_before);
  void take(const RingPoint& point);
  void copy_back(size_t place) noexcept;
  void close() noexcept;
  size_t behind(size_t place) const noexcept;
  RingPart part(size_t place) const noexcept;
  std::vector<RingPart> sum_shares(size_t ids) const;

  static constexpr size_t kAhead = 3;

  size_t size_ = 0;  // points
  size_t homes_ = 0;
  std::vector<uint64_t> positions_;
  std::vector<uint16_t> owners_;  // id - 1
  std::vector<bool> has_point_;
  std::vector<RingPart> shares_;  // by id - 1
};

}  // namespace cuckoo::core
