// A ring of 2^64 positions with points on it. A position belongs to the node of the first point at
// or after it. After the last point, the ring begins again. For example, with a point of node A at
// 10 and one of node B at 20, position 15 belongs to B, and position 25 to A.
//
// Layout
//   positions_[i], owners_[i]   the points, segment after segment, with room for more in each
//   segments_[s]                64 buckets each. Its points ascend, from `first` on. A copy of the
//                               next point of a later segment follows them. After the last point
//                               of all there is no next one, so there the copy has the highest
//                               position and the owner of the first point
//   starts_[b]                  the place of the first point of its segment that is in bucket b or
//                               a later one. b is a position's leading bits. There are as many
//                               buckets as points, rounded up to a power of two
// Points are hashes, so a bucket has one on average. So to find an owner takes two or three loads,
// and no binary search. To add or take out a point moves only the points after it in its segment,
// some 32. A segment that has no room left moves to the end of the arrays.
//
// Invariants
//   I1  the points ascend. Points at one position are in the order of their nodes' names, so the
//       owner does not depend on the order in which the points came, at once or by changes.
//   I2  starts_[b] is as the layout says. If there is no such point, it is the place of the copy
//       after the segment's points.
//   I3  shares() add up to 2^64. Of several points at one position, only the first owns a part.
//   I4  the copy after a segment's points is as the layout says.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
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
  // Builds the ring of up to 2^24 points, in any order. ids[rank] is the node's id.
  void build(std::vector<RingPoint> points, std::span<const uint32_t> ids);

  struct Owned {
    uint64_t position = 0;
    uint32_t id = 0;
  };
  using NameOrder = std::function<bool(uint32_t id, uint32_t other)>;
  // Takes points out that are there, puts others in, and updates shares[id - 1]. `comes_before`
  // compares the names of two nodes that have points after the change. False: the ring is too
  // small, or too uneven, to be changed. Then it must be built anew, as after an exception.
  bool change(std::vector<Owned> out, std::vector<Owned> in, const NameOrder& comes_before,
              std::span<RingPart> shares);

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }

  // Returns the owner's id. The ring has a point.
  uint32_t owner(uint64_t position) const noexcept { return owners_[find(position)] + 1U; }

  // Goes over the points in their order.
  class Walk {
   public:
    explicit Walk(const PointRing& ring) noexcept
        : ring_(&ring), place_(ring.segments_.empty() ? 0 : ring.segments_[0].first) {
      skip_ends();
    }
    // Begins at the point that owns the position; there is one.
    Walk(const PointRing& ring, uint64_t position) noexcept
        : ring_(&ring),
          segment_(ring.segment_of(position)),
          place_(static_cast<uint32_t>(ring.find(position))) {
      skip_ends();
      close();
    }
    bool at_end() const noexcept { return segment_ == ring_->segments_.size(); }
    uint64_t position() const noexcept { return ring_->positions_[place_]; }
    uint32_t owner() const noexcept { return ring_->owners_[place_] + 1U; }
    void next() noexcept {
      ++place_;
      skip_ends();
    }
    // Goes on to the next point, and from the last one to the first.
    void next_around() noexcept {
      next();
      close();
    }

   private:
    void skip_ends() noexcept {
      while (!at_end() && place_ == ring_->segments_[segment_].end()) {
        ++segment_;
        place_ = at_end() ? 0 : ring_->segments_[segment_].first;
      }
    }
    void close() noexcept {
      if (at_end()) {
        *this = Walk(*ring_);
      }
    }

    const PointRing* ring_;
    size_t segment_ = 0;
    uint32_t place_;
  };

  // Returns how many positions each id owns; index 0 is id 1.
  std::vector<RingPart> shares(size_t ids) const;

  std::string check() const;  // returns the first error, or an empty text
  size_t memory_bytes() const noexcept;

 private:
  static constexpr unsigned kSegmentBits = 6;  // buckets of a segment

  struct Segment {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t room = 0;  // for points; the copy after them has one place more

    uint32_t end() const noexcept { return first + count; }
  };
  // Places of one segment.
  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
  };
  // The points before and after a range.
  struct Neighbours {
    size_t before = 0;  // places
    size_t behind = 0;
  };

  size_t find(uint64_t position) const noexcept {
    size_t i = starts_[position >> shift_];
    while (positions_[i] < position) {
      ++i;
    }
    return i;
  }
  size_t segment_of(uint64_t position) const noexcept {
    return static_cast<size_t>(position >> shift_ >> kSegmentBits);
  }
  static uint32_t room_for(size_t points) noexcept {
    return static_cast<uint32_t>(points + points / 8 + 8);
  }
  void place(const std::vector<RingPoint>& points, std::vector<RingPoint>& sorted);
  void spread(const std::vector<RingPoint>& sorted, std::span<const uint32_t> ids);
  void set_copies() noexcept;
  std::pair<size_t, size_t> buckets_of(size_t segment) const noexcept;  // first, end
  bool find_neighbours(size_t segment, Neighbours& found) const noexcept;
  bool change_segment(size_t segment, std::span<Owned> out, std::span<const Owned> in,
                      const NameOrder& comes_before, std::span<RingPart> shares);
  bool move_segment(size_t segment, size_t more);
  bool merge(const Range& range, std::span<Owned> out, std::span<const Owned> in,
             const NameOrder& comes_before);
  void exchange(size_t segment, const Range& range, uint64_t lowest, uint64_t highest);
  void set_copies_before(size_t segment) noexcept;
  bool has_right_copies() const noexcept;

  size_t size_ = 0;
  std::vector<uint64_t> positions_;
  std::vector<uint16_t> owners_;  // id - 1
  std::vector<uint32_t> starts_;
  std::vector<Segment> segments_;
  unsigned shift_ = 63;
  std::vector<Owned> merged_;  // the new points of a range
};

}  // namespace cuckoo::core
