// A ring of 2^64 positions with points on it: a position belongs to the node of the first point at
// or behind it, and behind the last point to that of the first.
//
// Layout
//   positions_[i], owners_[i]   the points in ascending order, and behind them a sentinel, the
//                               highest position, with the first point's owner: the ring closes
//   starts_[b]                  the first point in bucket b or behind: b is a position's leading
//                               bits, as many buckets as points, up to a power of two
// Points are hashes, so a bucket has one on average: finding an owner is two or three loads and no
// binary search.
//
// Invariants
//   I1  positions_ ascend; points in the same place stand in the order of their nodes' names, so
//       the owner is the same whatever the order in which the points were given.
//   I2  starts_[b] is the number of points before bucket b.
//   I3  shares() add up to 2^64. A point in another's place owns nothing itself.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/bytes.hpp"

namespace cuckoo {

inline constexpr size_t kMaxRingPoints = size_t{1} << 24;

// Some of the 2^64 positions; maybe all. Not a uint128, which needs memory aligned to 16 bytes:
// SQLite's allocator, which the module uses, gives 8.
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
  double share() const noexcept { return std::ldexp(static_cast<double>(positions()), -64); }

 private:
  uint64_t low_ = 0;
  uint64_t high_ = 0;
};

struct RingPoint {
  uint64_t position = 0;
  uint16_t rank = 0;  // of the node's name among the names
};

class PointRing {
 public:
  // Any order. ids[rank] is the node's id; up to 2^24 points.
  void build(std::vector<RingPoint> points, std::span<const uint32_t> ids);

  bool empty() const noexcept { return owners_.empty(); }
  size_t size() const noexcept { return owners_.empty() ? 0 : owners_.size() - 1; }

  // The ring has a point. An id.
  uint32_t owner(uint64_t position) const noexcept { return owners_[find(position)] + 1U; }
  // The point that owns it: 0 … size(), where size() stands for point 0.
  size_t find(uint64_t position) const noexcept {
    size_t i = starts_[position >> shift_];
    while (positions_[i] < position) {
      ++i;
    }
    return i;
  }
  uint64_t position_at(size_t point) const noexcept { return positions_[point]; }
  uint32_t owner_at(size_t point) const noexcept { return owners_[point] + 1U; }

  // How many positions each id owns; index 0 is id 1.
  std::vector<RingPart> shares(size_t ids) const;

  std::string check() const;  // what is wrong; empty: nothing
  size_t memory_bytes() const noexcept;

 private:
  void place(const std::vector<RingPoint>& points, std::vector<RingPoint>& sorted);

  std::vector<uint64_t> positions_;
  std::vector<uint16_t> owners_;  // id - 1
  std::vector<uint32_t> starts_;
  unsigned shift_ = 63;
};

}  // namespace cuckoo
