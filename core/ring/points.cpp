#include "core/ring/points.hpp"

#include <algorithm>
#include <bit>

namespace cuckoo {
namespace {

bool comes_before(const RingPoint& a, const RingPoint& b) noexcept {
  return a.position != b.position ? a.position < b.position : a.rank < b.rank;
}

}  // namespace

// Counting sort by bucket; a bucket has few points. Fills starts_, too.
void PointRing::place(const std::vector<RingPoint>& points, std::vector<RingPoint>& sorted) {
  const size_t buckets = std::max<size_t>(2, std::bit_ceil(points.size()));
  shift_ = 64 - (static_cast<unsigned>(std::bit_width(buckets)) - 1);
  starts_.assign(buckets + 1, 0);
  for (const RingPoint& point : points) {
    ++starts_[(point.position >> shift_) + 1];
  }
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    starts_[bucket + 1] += starts_[bucket];
  }
  sorted.resize(points.size());
  for (const RingPoint& point : points) {
    sorted[starts_[point.position >> shift_]++] = point;
  }
  for (size_t bucket = buckets; bucket > 0; --bucket) {  // each has moved to the next one's start
    starts_[bucket] = starts_[bucket - 1];
  }
  starts_[0] = 0;
  for (size_t bucket = 0; bucket < buckets; ++bucket) {
    std::sort(sorted.begin() + starts_[bucket], sorted.begin() + starts_[bucket + 1], comes_before);
  }
}

void PointRing::build(std::vector<RingPoint> points, std::span<const uint32_t> ids) {
  positions_.clear();
  owners_.clear();
  starts_.clear();
  if (points.empty()) {
    return;
  }
  std::vector<RingPoint> sorted;
  place(points, sorted);
  std::vector<RingPoint>().swap(points);
  positions_.reserve(sorted.size() + 1);
  owners_.reserve(sorted.size() + 1);
  for (const RingPoint& point : sorted) {
    positions_.push_back(point.position);
    owners_.push_back(static_cast<uint16_t>(ids[point.rank] - 1));
  }
  positions_.push_back(UINT64_MAX);
  owners_.push_back(owners_[0]);
}

std::vector<RingPart> PointRing::shares(size_t ids) const {
  std::vector<RingPart> shares(ids);
  if (!empty() && positions_[0] == positions_[size() - 1]) {  // all points in one place
    shares[owners_[0]] = RingPart::all();
    return shares;
  }
  for (size_t i = 0; i < size(); ++i) {
    const uint64_t before = i == 0 ? positions_[size() - 1] : positions_[i - 1];
    shares[owners_[i]].add(positions_[i] - before);  // modulo 2^64 where the ring closes
  }
  return shares;
}

std::string PointRing::check() const {
  if (empty()) {
    return {};
  }
  if (!std::is_sorted(positions_.begin(), positions_.end())) {
    return "points out of order";  // I1
  }
  for (size_t bucket = 0; bucket + 1 < starts_.size(); ++bucket) {
    const auto first = std::lower_bound(positions_.begin(), positions_.end() - 1,
                                        static_cast<uint64_t>(bucket) << shift_);
    if (static_cast<size_t>(first - positions_.begin()) != starts_[bucket]) {
      return "the bucket index does not fit the points";  // I2
    }
  }
  RingPart sum;
  for (const RingPart& share : shares(size_t{UINT16_MAX} + 1)) {
    sum.add(share.positions());
  }
  const bool adds_up = sum.positions() == RingPart::all().positions();
  return adds_up ? std::string() : "shares that do not add up";  // I3
}

size_t PointRing::memory_bytes() const noexcept {
  return positions_.capacity() * sizeof(uint64_t) + owners_.capacity() * sizeof(uint16_t) +
         starts_.capacity() * sizeof(uint32_t);
}

}  // namespace cuckoo
