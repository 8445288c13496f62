#include "core/ring/points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/support/share.hpp"

namespace cuckoo {
namespace ring_points_test {
namespace {

const std::vector<uint32_t> kIds = {10, 20, 30, 40};  // of the ranks 0 … 3

// The definition: the first point at or after the position, by name where several are in a place.
std::vector<RingPoint> in_order(std::vector<RingPoint> points) {
  std::sort(points.begin(), points.end(), [](const RingPoint& a, const RingPoint& b) {
    return a.position != b.position ? a.position < b.position : a.rank < b.rank;
  });
  return points;
}

uint32_t expected_owner(const std::vector<RingPoint>& points, uint64_t position) {
  for (const RingPoint& point : points) {
    if (point.position >= position) {
      return kIds[point.rank];
    }
  }
  return kIds[points[0].rank];
}

std::vector<RingPoint> random_points(std::mt19937_64& random, size_t count, uint64_t mask) {
  std::vector<RingPoint> points;
  for (size_t i = 0; i < count; ++i) {
    points.push_back({random() & mask, static_cast<uint16_t>(random() % kIds.size())});
  }
  return points;
}

TEST(PointRing, I2_owner_is_that_of_the_first_point_at_or_after) {
  std::mt19937_64 random(1);
  for (const uint64_t mask : {UINT64_MAX, uint64_t{0xFFFFFFFF00000000}, uint64_t{0xFF},
                              uint64_t{0xFF} << 56, uint64_t{0}}) {
    for (const size_t count : {1, 2, 3, 7, 64, 65, 1000}) {
      const std::vector<RingPoint> points = random_points(random, count, mask);
      PointRing ring;
      ring.build(points, kIds);
      ASSERT_EQ(ring.check(), "") << count << " points, mask " << mask;
      ASSERT_EQ(ring.size(), count);
      const std::vector<RingPoint> ordered = in_order(points);
      std::vector<uint64_t> positions = {0, 1, UINT64_MAX, UINT64_MAX - 1};
      for (const RingPoint& point : points) {
        positions.insert(positions.end(), {point.position - 1, point.position, point.position + 1});
      }
      for (int i = 0; i < 50; ++i) {
        positions.push_back(random());
      }
      for (const uint64_t position : positions) {
        ASSERT_EQ(ring.owner(position), expected_owner(ordered, position)) << position;
      }
    }
  }
}

TEST(PointRing, I3_shares_are_the_arcs_before_a_nodes_points) {
  PointRing ring;
  ring.build({{100, 0}, {300, 1}, {600, 0}, {UINT64_MAX, 2}}, kIds);
  const std::vector<RingPart> shares = ring.shares(40);
  EXPECT_TRUE(shares[9].positions() == 101 + 300);
  EXPECT_TRUE(shares[19].positions() == 200);
  EXPECT_TRUE(shares[29].positions() == UINT64_MAX - 600);
  EXPECT_TRUE(shares[39].positions() == 0);
}

// Points that are put in and taken out by changes, against a ring that is built of what is left.
class ChangedPoints {
 public:
  ChangedPoints(uint64_t seed, size_t count, uint64_t mask) : random_(seed), mask_(mask) {
    points_ = random_points(random_, count, mask);
    ring_.build(points_, kIds);
    shares_ = ring_.shares(40);
  }

  // Returns false if the ring said that it must be built anew. Then it was built anew.
  bool change(size_t out, size_t in) {
    std::vector<PointRing::Owned> gone;
    std::shuffle(points_.begin(), points_.end(), random_);
    for (; out > 0 && !points_.empty(); --out) {
      gone.push_back({points_.back().position, kIds[points_.back().rank]});
      points_.pop_back();
    }
    std::vector<PointRing::Owned> come;
    for (const RingPoint& point : random_points(random_, in, mask_)) {
      // Some points go to places that are taken.
      const bool tie = !points_.empty() && random_() % 4 == 0;
      const uint64_t position = tie ? points_[random_() % points_.size()].position : point.position;
      points_.push_back({position, point.rank});
      come.push_back({position, kIds[point.rank]});
    }
    const bool changed = ring_.change(
        gone, come, [](uint32_t a, uint32_t b) { return a < b; }, shares_);
    if (!changed) {
      ring_.build(points_, kIds);
      shares_ = ring_.shares(40);
    }
    return changed;
  }
  void expect_as_built() const {
    ASSERT_EQ(ring_.check(), "");
    PointRing built;
    built.build(points_, kIds);
    ASSERT_EQ(ring_.size(), built.size());
    PointRing::Walk left(ring_);
    for (PointRing::Walk right(built); !right.at_end(); right.next(), left.next()) {
      ASSERT_EQ(left.position(), right.position());
      ASSERT_EQ(left.owner(), right.owner());
      for (const uint64_t position :
           {right.position() - 1, right.position(), right.position() + 1}) {
        ASSERT_EQ(ring_.owner(position), built.owner(position));
      }
    }
    ASSERT_TRUE(left.at_end());
    const std::vector<RingPart> shares = built.shares(40);
    for (size_t i = 0; i < shares.size(); ++i) {
      ASSERT_TRUE(shares_[i].positions() == shares[i].positions()) << i;
    }
  }
  std::mt19937_64& random() noexcept { return random_; }
  size_t size() const noexcept { return points_.size(); }

 private:
  std::mt19937_64 random_;
  uint64_t mask_;
  std::vector<RingPoint> points_;
  PointRing ring_;
  std::vector<RingPart> shares_;
};

TEST(PointRing, I1_I4_changed_is_as_built) {
  struct Case {
    uint64_t mask;
    int fewest_changes;  // of 60 that are made in place
  };
  for (const auto& [mask, fewest] : {Case{UINT64_MAX, 55}, Case{uint64_t{0xFFFF} << 48, 55},
                                     Case{uint64_t{0x3F} << 58, 30}, Case{uint64_t{0xFF}, 0}}) {
    for (uint64_t seed = 1 + test::share_first(); seed <= 12; seed += test::share_divisor()) {
      ChangedPoints ring(seed, 1500, mask);
      int changed = 0;
      for (int i = 0; i < 60; ++i) {
        const size_t out = ring.random()() % 120;
        const size_t in = ring.random()() % (i < 30 ? 160 : 60);  // it grows, then it shrinks
        changed += ring.change(out, in) ? 1 : 0;
        ring.expect_as_built();
        if (testing::Test::HasFatalFailure()) {
          FAIL() << "seed " << seed << ", change " << i << ", mask " << mask;
        }
      }
      EXPECT_GE(changed, fewest) << mask;
    }
  }
}

// Segments become empty, the first and the last ones too, and are filled again.
TEST(PointRing, I4_holds_while_segments_are_empty) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ChangedPoints ring(seed, 2000, UINT64_MAX);
    for (int i = 0; i < 40; ++i) {
      const bool shrinks = i % 20 < 10;
      ring.change(shrinks ? ring.size() * 2 / 3 : 0, shrinks ? 1 : ring.size() / 2);
      ring.expect_as_built();
      if (testing::Test::HasFatalFailure()) {
        FAIL() << "seed " << seed << ", change " << i;
      }
    }
  }
}

TEST(PointRing, a_point_that_is_not_there_is_not_taken_out) {
  std::mt19937_64 random(3);
  const std::vector<RingPoint> points = random_points(random, 2000, UINT64_MAX);
  PointRing ring;
  ring.build(points, kIds);
  std::vector<RingPart> shares = ring.shares(40);
  const auto by_id = [](uint32_t a, uint32_t b) { return a < b; };
  const PointRing::Owned other = {points[7].position, kIds[(points[7].rank + 1) % 4]};
  EXPECT_FALSE(ring.change({other}, {}, by_id, shares));
}

TEST(PointRing, without_points_is_empty) {
  PointRing ring;
  ring.build({}, kIds);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.size(), 0U);
  EXPECT_EQ(ring.check(), "");
}

}  // namespace
}  // namespace ring_points_test
}  // namespace cuckoo
