#include "core/ring/points.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cuckoo::core {
namespace {

size_t homes_for(size_t points) noexcept { return points + points / 2 + 1; }

}  // namespace

// Sorts by counting the points of each home, and then each home's few points.
std::vector<RingPoint> PointRing::sorted(const std::vector<RingPoint>& points,
                                         const NameOrder& comes_before) const {
  std::vector<uint32_t> ends(homes_ + 1);  // at first, where the points of a home begin
  for (const RingPoint& point : points) {
    ++ends[home(point.position) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<RingPoint> sorted(points.size());
  for (const RingPoint& point : points) {
    sorted[ends[home(point.position)]++] = point;
  }
  size_t first = 0;
  for (const uint32_t end : ends) {
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(first), sorted.begin() + end,
              [&](const RingPoint& a, const RingPoint& b) {
                return a.position != b.position ? a.position < b.position
                                                : comes_before(a.id, b.id);
              });
    first = end;
  }
  return sorted;
}

// Gives the points their places (I2, I3).
void PointRing::deal(std::span<const RingPoint> sorted) {
  positions_.clear();
  owners_.clear();
  has_point_.clear();
  size_ = sorted.size();
  if (sorted.empty()) {
    return;
  }
  constexpr size_t kMore = 256;  // after the last home
  positions_.reserve(homes_ + kMore);
  owners_.reserve(homes_ + kMore);
  has_point_.reserve(homes_ + kMore);
  const auto fill = [this](size_t places, uint64_t position, uint32_t id) {
    positions_.resize(places, position);
    owners_.resize(places, static_cast<uint16_t>(id - 1));
    has_point_.resize(places);
  };
  for (const RingPoint& point : sorted) {
    fill(std::max(home(point.position), positions_.size()) + 1, point.position, point.id);
    has_point_.back() = true;
  }
  fill(std::max(homes_, positions_.size()) + kAhead, UINT64_MAX, sorted[0].id);
}

void PointRing::build(std::vector<RingPoint> points, size_t ids, const NameOrder& comes_before) {
  homes_ = homes_for(points.size());
  points = sorted(points, comes_before);
  deal(points);
  shares_ = sum_shares(ids);
}

// Begins at `place`. All places before it are before the position.
size_t PointRing::find_far(uint64_t position, size_t place) const noexcept {
  size_t step = kAhead;
  while (place + step < positions_.size() && positions_[place + step] < position) {
    place += step;
    step *= 2;
  }
  const auto from = positions_.begin() + static_cast<std::ptrdiff_t>(place);
  const auto end =
      positions_.begin() + static_cast<std::ptrdiff_t>(std::min(place + step, positions_.size()));
  return static_cast<size_t>(std::lower_bound(from, end, position) - positions_.begin());
}

// --- changing ------------------------------------------------------------------------------------

void PointRing::change(std::span<const RingPoint> out, std::span<const RingPoint> in, size_t ids,
                       const NameOrder& comes_before) {
  shares_.resize(std::max(shares_.size(), ids));
  for (const RingPoint& point : out) {
    take(point);
  }
  const size_t points = size_ + in.size();
  if (points > homes_ / 5 * 4 || points < homes_ / 4) {
    std::vector<RingPoint> stay;
    stay.reserve(size_);
    for (Walk point(*this); !point.at_end(); point.next()) {
      stay.push_back({point.position(), point.owner()});
    }
    homes_ = homes_for(points);
    deal(stay);
  }
  for (const RingPoint& point : in) {
    put(point, comes_before);
  }
  close();
}

void PointRing::put(const RingPoint& point, const NameOrder& comes_before) {
  size_t place = find(point.position);
  while (has_point_[place] && positions_[place] == point.position &&
         comes_before(owners_[place] + 1U, point.id)) {
    ++place;
  }
  size_t end = place;
  while (has_point_[end]) {
    ++end;
  }
  if (end + kAhead == positions_.size()) {
    positions_.push_back(UINT64_MAX);
    owners_.push_back(0);  // until close()
    has_point_.push_back(false);
  }
  const auto from = static_cast<std::ptrdiff_t>(place);
  const auto to = static_cast<std::ptrdiff_t>(end);
  std::copy_backward(positions_.begin() + from, positions_.begin() + to,
                     positions_.begin() + to + 1);
  std::copy_backward(owners_.begin() + from, owners_.begin() + to, owners_.begin() + to + 1);
  has_point_[end] = true;
  positions_[place] = point.position;
  owners_[place] = static_cast<uint16_t>(point.id - 1);
  ++size_;
  copy_back(place);
  const RingPart own = part(place);
  shares_[owners_[place]].add(own.positions());
  shares_[owners_[behind(place)]].subtract(own.positions());
}

// Does nothing if the point is not there.
void PointRing::take(const RingPoint& point) {
  size_t place = find(point.position);
  while (place < positions_.size() && positions_[place] == point.position &&
         (!has_point_[place] || owners_[place] + 1U != point.id)) {
    ++place;
  }
  if (place == positions_.size() || positions_[place] != point.position) {
    return;
  }
  const RingPart own = part(place);
  shares_[owners_[place]].subtract(own.positions());
  shares_[owners_[behind(place)]].add(own.positions());
  size_t end = place + 1;
  for (; has_point_[end] && home(positions_[end]) < end; ++end) {
    positions_[end - 1] = positions_[end];
    owners_[end - 1] = owners_[end];
  }
  has_point_[end - 1] = false;
  --size_;
  copy_back(end);
  copy_back(place);
}

// Makes the free places before this one copies of it.
void PointRing::copy_back(size_t place) noexcept {
  for (; place > 0 && !has_point_[place - 1]; --place) {
    positions_[place - 1] = positions_[place];
    owners_[place - 1] = owners_[place];
  }
}

// Makes the places after the last point copies of the first one.
void PointRing::close() noexcept {
  if (!positions_.empty()) {
    positions_.back() = UINT64_MAX;
    owners_.back() = owners_.front();
    copy_back(positions_.size() - 1);
  }
}

// --- figures -------------------------------------------------------------------------------------

// Returns the place of the next point.
size_t PointRing::behind(size_t place) const noexcept {
  do {
    place = place + 1 == positions_.size() ? 0 : place + 1;
  } while (!has_point_[place]);
  return place;
}

// Returns the positions from the point before to this one. If all points are at one position, the
// first one has them all.
RingPart PointRing::part(size_t place) const noexcept {
  size_t before = place;
  do {
    before = (before == 0 ? positions_.size() : before) - 1;
  } while (!has_point_[before]);
  const uint64_t part = positions_[place] - positions_[before];  // modulo 2^64
  return part != 0 || before < place ? RingPart(part) : RingPart::all();
}

std::vector<RingPart> PointRing::sum_shares(size_t ids) const {
  std::vector<RingPart> shares(ids);
  for (size_t place = 0; place < positions_.size(); ++place) {
    if (has_point_[place]) {
      shares[owners_[place]].add(part(place).positions());
    }
  }
  return shares;
}

std::string PointRing::check() const {
  if (empty()) {
    return {};
  }
  size_t count = 0;
  uint64_t position = UINT64_MAX;  // of the next point
  uint16_t owner = owners_[behind(positions_.size() - 1)];
  for (size_t place = positions_.size(); place-- > 0;) {
    if (!has_point_[place]) {
      if (positions_[place] != position || owners_[place] != owner) {
        return "a free place that is no copy of the next point";  // I3
      }
      continue;
    }
    if (positions_[place] > position) {
      return "points out of order";  // I1
    }
    position = positions_[place];
    owner = owners_[place];
    const size_t first = home(position);
    if (place + kAhead >= positions_.size() || place < first ||
        (place > first && !has_point_[place - 1])) {
      return "a point that is not at its place";  // I2
    }
    ++count;
  }
  if (count != size_) {
    return std::to_string(count) + " points, not " + std::to_string(size_);
  }
  const std::vector<RingPart> shares = sum_shares(shares_.size());
  RingPart sum;
  for (const RingPart& share : shares) {
    sum.add(share.positions());
  }
  return shares == shares_ && sum == RingPart::all() ? std::string()
                                                     : "shares that do not add up";  // I4
}

}  // namespace cuckoo::core
