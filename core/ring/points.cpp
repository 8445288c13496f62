#include "core/ring/points.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cuckoo::core {
namespace {

bool comes_before(const RingPoint& a, const RingPoint& b) noexcept {
  return a.position != b.position ? a.position < b.position : a.rank < b.rank;
}

}  // namespace

// Sorts the points, and fills starts_. It counts the points of each bucket, deals them out to the
// buckets, and sorts each bucket, which has few points.
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
  size_ = points.size();
  positions_.clear();
  owners_.clear();
  starts_.clear();
  segments_.clear();
  if (points.empty()) {
    return;
  }
  std::vector<RingPoint> sorted;
  place(points, sorted);
  std::vector<RingPoint>().swap(points);
  spread(sorted, ids);
  set_copies();
}

// Copies the points to their segments. starts_ has places in `sorted` before, and places in
// positions_ afterwards.
void PointRing::spread(const std::vector<RingPoint>& sorted, std::span<const uint32_t> ids) {
  const size_t buckets = starts_.size() - 1;
  segments_.resize((buckets + (size_t{1} << kSegmentBits) - 1) >> kSegmentBits);
  size_t places = 0;
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    const auto [first, end] = buckets_of(segment);
    Segment& part = segments_[segment];
    part.first = static_cast<uint32_t>(places);
    part.count = starts_[end] - starts_[first];
    part.room = room_for(part.count);
    places += part.room + size_t{1};
  }
  positions_.resize(places);
  owners_.resize(places);
  size_t at = 0;
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    const Segment& part = segments_[segment];
    const auto shift = part.first - static_cast<uint32_t>(at);
    const auto [first, end] = buckets_of(segment);
    for (size_t bucket = first; bucket < end; ++bucket) {
      starts_[bucket] += shift;
    }
    for (uint32_t i = part.first; i < part.end(); ++i, ++at) {
      positions_[i] = sorted[at].position;
      owners_[i] = static_cast<uint16_t>(ids[sorted[at].rank] - 1);
    }
  }
  starts_.pop_back();
}

void PointRing::set_copies() noexcept {
  uint64_t position = UINT64_MAX;
  uint32_t owner = Walk(*this).owner();
  for (size_t segment = segments_.size(); segment-- > 0;) {
    const Segment& part = segments_[segment];
    positions_[part.end()] = position;
    owners_[part.end()] = static_cast<uint16_t>(owner - 1);
    if (part.count > 0) {
      position = positions_[part.first];
      owner = owners_[part.first] + 1U;
    }
  }
}

std::pair<size_t, size_t> PointRing::buckets_of(size_t segment) const noexcept {
  const size_t buckets = size_t{1} << (64 - shift_);
  return {segment << kSegmentBits, std::min((segment + 1) << kSegmentBits, buckets)};
}

// --- changing ------------------------------------------------------------------------------------

bool PointRing::change(std::vector<Owned> out, std::vector<Owned> in, const NameOrder& comes_before,
                       std::span<RingPart> shares) {
  std::sort(out.begin(), out.end(),
            [](const Owned& a, const Owned& b) { return a.position < b.position; });
  std::sort(in.begin(), in.end(), [&](const Owned& a, const Owned& b) {
    return a.position != b.position ? a.position < b.position : comes_before(a.id, b.id);
  });
  size_t o = 0;
  size_t i = 0;
  const auto run_end = [this](const std::vector<Owned>& points, size_t at, size_t segment) {
    while (at < points.size() && segment_of(points[at].position) == segment) {
      ++at;
    }
    return at;
  };
  while (o < out.size() || i < in.size()) {
    const size_t none = segments_.size();
    const size_t segment = std::min(o < out.size() ? segment_of(out[o].position) : none,
                                    i < in.size() ? segment_of(in[i].position) : none);
    const size_t out_end = run_end(out, o, segment);
    const size_t in_end = run_end(in, i, segment);
    if (!change_segment(segment, std::span(out).subspan(o, out_end - o),
                        std::span<const Owned>(in).subspan(i, in_end - i), comes_before, shares)) {
      return false;
    }
    o = out_end;
    i = in_end;
  }
  const auto filled = std::find_if(segments_.begin(), segments_.end(),
                                   [](const Segment& part) { return part.count > 0; });
  Neighbours unused;
  return filled != segments_.end() &&
         find_neighbours(static_cast<size_t>(filled - segments_.begin()), unused);
}

// Finds the last point before the segment, and the first one after it. Returns false if all points
// are in this segment.
bool PointRing::find_neighbours(size_t segment, Neighbours& found) const noexcept {
  const size_t count = segments_.size();
  size_t before = segment;
  do {
    before = (before == 0 ? count : before) - 1;
  } while (before != segment && segments_[before].count == 0);
  if (before == segment) {
    return false;
  }
  size_t behind = segment;
  do {
    behind = behind + 1 == count ? 0 : behind + 1;
  } while (segments_[behind].count == 0);
  found = {segments_[before].end() - size_t{1}, segments_[behind].first};
  return true;
}

// Puts merged_ in the place of the segment's range, which has all changes. Only the shares of
// points in the range, and of the first point after it, change.
bool PointRing::change_segment(size_t segment, std::span<Owned> out, std::span<const Owned> in,
                               const NameOrder& comes_before, std::span<RingPart> shares) {
  constexpr uint64_t kNone = UINT64_MAX;
  const uint64_t lowest = std::min(out.empty() ? kNone : out.front().position,
                                   in.empty() ? kNone : in.front().position);
  const uint64_t highest =
      std::max(out.empty() ? 0 : out.back().position, in.empty() ? 0 : in.back().position);
  if (segments_[segment].count + in.size() > segments_[segment].room &&
      !move_segment(segment, in.size())) {
    return false;
  }
  const Segment& part = segments_[segment];
  Range range;
  range.first = static_cast<uint32_t>(find(lowest));
  range.end = range.first;
  while (range.end < part.end() && positions_[range.end] <= highest) {
    ++range.end;
  }
  Neighbours around = {range.first - size_t{1}, range.end};
  if (range.first == part.first || range.end == part.end()) {
    Neighbours others;
    if (!find_neighbours(segment, others)) {
      return false;
    }
    around.before = range.first == part.first ? others.before : around.before;
    around.behind = range.end == part.end() ? others.behind : around.behind;
  }
  if (!merge(range, out, in, comes_before)) {
    return false;
  }
  const uint64_t start = positions_[around.before];
  uint64_t before = start;
  for (uint32_t i = range.first; i < range.end; ++i) {
    shares[owners_[i]].subtract(positions_[i] - before);
    before = positions_[i];
  }
  RingPart& share_behind = shares[owners_[around.behind]];
  share_behind.subtract(positions_[around.behind] - before);  // modulo 2^64, where the ring closes
  const uint64_t behind = positions_[around.behind];
  before = start;
  for (const Owned& point : merged_) {
    shares[point.id - 1].add(point.position - before);
    before = point.position;
  }
  share_behind.add(behind - before);
  exchange(segment, range, lowest, highest);
  return true;
}

// Moves the segment to the end of the arrays, with room for `more` points. Returns false if too
// much room is wasted by now.
bool PointRing::move_segment(size_t segment, size_t more) {
  Segment& part = segments_[segment];
  const size_t to = positions_.size();
  const uint32_t room = room_for(part.count + more);
  constexpr size_t kMostWaste = 2;
  if (to + room > kMostWaste * (size_ + more + segments_.size() * room_for(0))) {
    return false;
  }
  const size_t places = to + room + 1;
  if (places > positions_.capacity()) {  // without this the capacity would double
    positions_.reserve(places + places / 16);
    owners_.reserve(places + places / 16);
  }
  positions_.resize(places);
  owners_.resize(places);
  std::copy_n(positions_.begin() + part.first, part.count + size_t{1},
              positions_.begin() + static_cast<std::ptrdiff_t>(to));
  std::copy_n(owners_.begin() + part.first, part.count + size_t{1},
              owners_.begin() + static_cast<std::ptrdiff_t>(to));
  const auto [first, end] = buckets_of(segment);
  for (size_t bucket = first; bucket < end; ++bucket) {
    starts_[bucket] += static_cast<uint32_t>(to) - part.first;
  }
  part.first = static_cast<uint32_t>(to);
  part.room = room;
  return true;
}

// Merges the points of the range with `in`, without those of `out`, into merged_. Returns false if
// a point of `out` is missing.
bool PointRing::merge(const Range& range, std::span<Owned> out, std::span<const Owned> in,
                      const NameOrder& comes_before) {
  merged_.clear();
  size_t taken = 0;
  size_t put = 0;
  for (uint32_t i = range.first; i < range.end; ++i) {
    const Owned point = {positions_[i], owners_[i] + 1U};
    const auto tie = std::find_if(out.begin() + static_cast<std::ptrdiff_t>(taken), out.end(),
                                  [&](const Owned& gone) {
                                    return gone.position > point.position ||
                                           (gone.position == point.position && gone.id == point.id);
                                  });
    if (tie != out.end() && tie->position == point.position) {
      std::swap(*tie, out[taken++]);
      continue;
    }
    while (put < in.size() &&
           (in[put].position < point.position ||
            (in[put].position == point.position && comes_before(in[put].id, point.id)))) {
      merged_.push_back(in[put++]);
    }
    merged_.push_back(point);
  }
  merged_.insert(merged_.end(), in.begin() + static_cast<std::ptrdiff_t>(put), in.end());
  return taken == out.size();
}

// Writes merged_ into the range, and moves the later points of the segment and the copy.
void PointRing::exchange(size_t segment, const Range& range, uint64_t lowest, uint64_t highest) {
  Segment& part = segments_[segment];
  const auto end_now = static_cast<uint32_t>(range.first + merged_.size());
  const size_t behind = part.end() + size_t{1} - range.end;
  std::memmove(&positions_[end_now], &positions_[range.end], behind * sizeof(uint64_t));
  std::memmove(&owners_[end_now], &owners_[range.end], behind * sizeof(uint16_t));
  for (size_t i = 0; i < merged_.size(); ++i) {
    positions_[range.first + i] = merged_[i].position;
    owners_[range.first + i] = static_cast<uint16_t>(merged_[i].id - 1);
  }
  const uint32_t longer = end_now - range.end;  // modulo 2^32
  part.count += longer;
  size_ = size_ - (range.end - range.first) + merged_.size();
  // Updates the buckets that begin in the range, and those after it.
  uint32_t at = range.first;
  size_t bucket = static_cast<size_t>(lowest >> shift_) + 1;
  for (; bucket <= highest >> shift_; ++bucket) {
    while (at < end_now && positions_[at] >> shift_ < bucket) {
      ++at;
    }
    starts_[bucket] = at;
  }
  for (const size_t end = buckets_of(segment).second; bucket < end; ++bucket) {
    starts_[bucket] += longer;
  }
  if (range.first == part.first) {
    set_copies_before(segment);
  }
}

// Updates the copies of the segment's first point or, if it has none, of the next point.
void PointRing::set_copies_before(size_t segment) noexcept {
  const uint64_t position = positions_[segments_[segment].first];
  const uint16_t owner = owners_[segments_[segment].first];
  const auto set = [&](size_t to, uint64_t copy) {
    positions_[segments_[to].end()] = copy;
    owners_[segments_[to].end()] = owner;
    return segments_[to].count == 0;
  };
  size_t before = segment;
  while (before > 0) {
    if (!set(--before, position)) {
      return;
    }
  }
  for (before = segments_.size(); before-- > segment && set(before, UINT64_MAX);) {
  }
}

// --- figures -------------------------------------------------------------------------------------

std::vector<RingPart> PointRing::shares(size_t ids) const {
  std::vector<RingPart> shares(ids);
  if (empty()) {
    return shares;
  }
  uint64_t first = 0;
  uint64_t before = 0;
  uint32_t owner = 0;
  for (Walk point(*this); !point.at_end(); point.next()) {
    if (owner == 0) {
      first = point.position();
      owner = point.owner();
    } else {
      shares[point.owner() - 1].add(point.position() - before);
    }
    before = point.position();
  }
  // Adds the part where the ring closes. If all points are at one position, it is the whole ring.
  shares[owner - 1].add(first == before ? RingPart::all().positions() : uint128{first - before});
  return shares;
}

bool PointRing::has_right_copies() const noexcept {
  const Walk first(*this);
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    size_t behind = segment + 1;
    while (behind < segments_.size() && segments_[behind].count == 0) {
      ++behind;
    }
    const uint32_t copy = segments_[segment].end();
    const bool last = behind == segments_.size();
    if (positions_[copy] != (last ? UINT64_MAX : positions_[segments_[behind].first]) ||
        owners_[copy] + 1U != (last ? first.owner() : owners_[segments_[behind].first] + 1U)) {
      return false;
    }
  }
  return true;
}

std::string PointRing::check() const {
  if (empty()) {
    return {};
  }
  size_t count = 0;
  uint64_t before = 0;
  for (size_t segment = 0; segment < segments_.size(); ++segment) {
    const Segment& part = segments_[segment];
    count += part.count;
    for (uint32_t i = part.first; i < part.end(); ++i) {
      if (positions_[i] < before || segment_of(positions_[i]) != segment) {
        return "points out of order";  // I1
      }
      before = positions_[i];
    }
    const auto [first, end] = buckets_of(segment);
    for (size_t bucket = first; bucket < end; ++bucket) {
      const auto from = positions_.begin() + part.first;
      const auto found =
          std::lower_bound(from, from + part.count, static_cast<uint64_t>(bucket) << shift_);
      if (starts_[bucket] != part.first + static_cast<size_t>(found - from)) {
        return "the bucket index does not fit the points";  // I2
      }
    }
  }
  if (count != size_) {
    return std::to_string(count) + " points, not " + std::to_string(size_);
  }
  if (!has_right_copies()) {
    return "a segment that ends otherwise than the next one begins";  // I4
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
         starts_.capacity() * sizeof(uint32_t) + segments_.capacity() * sizeof(Segment);
}

}  // namespace cuckoo::core
