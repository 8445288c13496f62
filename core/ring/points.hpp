// A ring of 2^64 positions with points on it: a position belongs to the node of the first point at
// or behind it, and behind the last point to that of the first.
//
// Layout
//   positions_[i], owners_[i]   the points, segment after segment, with room for more in each
//   segments_[s]                64 buckets each; its points ascend, from `first` on. Behind them
//                               stands a copy of the next point in any later segment; behind the
//                               last point of all, the highest position with the first point's
//                               owner: the ring closes
//   starts_[b]                  where the first point in bucket b of its segment or behind is: b is
//                               a position's leading bits, as many buckets as points, up to a power
//                               of two
// Points are hashes, so a bucket has one on average: finding an owner is two or three loads and no
// binary search. A change of k points moves what is behind each of them in its segment, some 32
// points, and nothing else; a segment that has no room moves behind all others.
//
// Invariants
//   I1  the points ascend; points in the same place stand in the order of their nodes' names, so
//       the owner is the same whatever the order in which the points were given, at once or by
//       changes.
//   I2  starts_[b] is the place of the first point of its segment in bucket b or behind, else that
//       of the copy behind the segment's points.
//   I3  shares() add up to 2^64. A point in another's place owns nothing itself.
//   I4  the copy behind a segment's points is what the layout says it is.
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
  // Any order. ids[rank] is the node's id; up to 2^24 points.
  void build(std::vector<RingPoint> points, std::span<const uint32_t> ids);

  struct Owned {
    uint64_t position = 0;
    uint32_t id = 0;
  };
  using NameOrder = std::function<bool(uint32_t id, uint32_t other)>;
  // Takes points out that are there and puts others in; shares[id - 1] follow. `comes_before`
  // compares the names of two nodes that have points behind the change. False: the ring is too
  // small, or too uneven, to be changed; it must be built anew, as after an exception.
  bool change(std::vector<Owned> out, std::vector<Owned> in, const NameOrder& comes_before,
              std::span<RingPart> shares);

  bool empty() const noexcept { return size_ == 0; }
  size_t size() const noexcept { return size_; }

  // The ring has a point. An id.
  uint32_t owner(uint64_t position) const noexcept { return owners_[find(position)] + 1U; }

  // The points in their order.
  class Walk {
   public:
    explicit Walk(const PointRing& ring) noexcept
        : ring_(&ring), place_(ring.segments_.empty() ? 0 : ring.segments_[0].first) {
      skip_ends();
    }
    // From the point on that owns the position; there is one.
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
    // … and behind the last one the first.
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

  // How many positions each id owns; index 0 is id 1.
  std::vector<RingPart> shares(size_t ids) const;

  std::string check() const;  // what is wrong; empty: nothing
  size_t memory_bytes() const noexcept;

 private:
  static constexpr unsigned kSegmentBits = 6;  // buckets of a segment

  struct Segment {
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t room = 0;  // for points; the copy behind them has a place more

    uint32_t end() const noexcept { return first + count; }
  };
  // Places of one segment.
  struct Range {
    uint32_t first = 0;
    uint32_t end = 0;
  };
  // The points around some.
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
  std::vector<Owned> merged_;  // what a range of places is to hold
};

}  // namespace cuckoo
