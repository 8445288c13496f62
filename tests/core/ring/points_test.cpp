#include "core/ring/points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/share.hpp"

namespace cuckoo {
namespace ring_points_test {
namespace {

const std::vector<uint32_t> kIds = {10, 20, 30, 40};  // in the order of the names

const PointRing::NameOrder kByName = [](uint32_t a, uint32_t b) { return a < b; };

PointRing ring_of(const std::vector<RingPoint>& points) {
  PointRing ring;
  ring.build(points, kIds.back(), kByName);
  return ring;
}

// The definition: the first point at or after the position, by name where several are in a place.
std::vector<RingPoint> in_order(std::vector<RingPoint> points) {
  std::sort(points.begin(), points.end(), [](const RingPoint& a, const RingPoint& b) {
    return a.position != b.position ? a.position < b.position : a.id < b.id;
  });
  return points;
}

uint32_t expected_owner(const std::vector<RingPoint>& points, uint64_t position) {
  for (const RingPoint& point : points) {
    if (point.position >= position) {
      return point.id;
    }
  }
  return points[0].id;
}

std::vector<RingPoint> random_points(std::mt19937_64& random, size_t count, uint64_t mask) {
  std::vector<RingPoint> points;
  for (size_t i = 0; i < count; ++i) {
    points.push_back({random() & mask, kIds[random() % kIds.size()]});
  }
  return points;
}

TEST(PointRing, I3_owner_is_that_of_the_first_point_at_or_after) {
  std::mt19937_64 random(1);
  for (const uint64_t mask : {UINT64_MAX, uint64_t{0xFFFFFFFF00000000}, uint64_t{0xFF},
                              uint64_t{0xFF} << 56, uint64_t{0}}) {
    for (const size_t count : {1, 2, 3, 7, 64, 65, 1000}) {
      const std::vector<RingPoint> points = random_points(random, count, mask);
      const PointRing ring = ring_of(points);
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

TEST(PointRing, I4_shares_are_the_parts_before_a_nodes_points) {
  const PointRing ring = ring_of({{100, 10}, {300, 20}, {600, 10}, {UINT64_MAX, 30}});
  EXPECT_TRUE(ring.share(10).positions() == 101 + 300);
  EXPECT_TRUE(ring.share(20).positions() == 200);
  EXPECT_TRUE(ring.share(30).positions() == UINT64_MAX - 600);
  EXPECT_TRUE(ring.share(40).positions() == 0);
  EXPECT_TRUE(ring.share(41).positions() == 0);
}

// Points that are put in and taken out by changes, against a ring that is built of what is left.
class ChangedPoints {
 public:
  ChangedPoints(uint64_t seed, size_t count, uint64_t mask)
      : random_(seed),
        mask_(mask),
        points_(random_points(random_, count, mask)),
        ring_(ring_of(points_)) {}

  // Leaves one point at least.
  void change(size_t out, size_t in) {
    std::shuffle(points_.begin(), points_.end(), random_);
    const size_t stay = points_.size() - std::min(out, points_.size() - 1);
    const std::vector<RingPoint> gone(points_.begin() + static_cast<std::ptrdiff_t>(stay),
                                      points_.end());
    points_.resize(stay);
    std::vector<RingPoint> come = random_points(random_, in, mask_);
    for (RingPoint& point : come) {
      if (random_() % 4 == 0) {  // some points go to positions that are taken
        point.position = points_[random_() % points_.size()].position;
      }
      points_.push_back(point);
    }
    ring_.change(gone, come, kIds.back(), kByName);
  }
  void expect_as_built() const {
    ASSERT_EQ(ring_.check(), "");
    const PointRing built = ring_of(points_);
    ASSERT_EQ(ring_.size(), built.size());
    PointRing::Walk left(ring_);
    for (PointRing::Walk right(built); !right.at_end(); right.next(), left.next()) {
      ASSERT_EQ(left.position(), right.position());
      ASSERT_EQ(left.owner(), right.owner());
      for (const uint64_t position :
           {right.position() - 1, right.position(), right.position() + 1}) {
        ASSERT_EQ(ring_.owner(position), built.owner(position));
        ASSERT_EQ(PointRing::Walk(ring_, position).owner(), built.owner(position));
      }
    }
    ASSERT_TRUE(left.at_end());
    for (const uint32_t id : kIds) {
      ASSERT_TRUE(ring_.share(id).positions() == built.share(id).positions()) << id;
    }
  }
  std::mt19937_64& random() noexcept { return random_; }
  size_t size() const noexcept { return points_.size(); }

 private:
  std::mt19937_64 random_;
  uint64_t mask_;
  std::vector<RingPoint> points_;
  PointRing ring_;
};

TEST(PointRing, I1_I4_changed_is_as_built) {
  for (const uint64_t mask : {UINT64_MAX, uint64_t{0xFFFF} << 48, uint64_t{0x3F} << 58,
                              uint64_t{0xFF}, uint64_t{0xF} << 60 | 0xF, uint64_t{0}}) {
    for (const size_t count : {1, 20, 1500}) {
      for (uint64_t seed = 1 + test::share_first(); seed <= 6; seed += test::share_divisor()) {
        ChangedPoints ring(seed, count, mask);
        for (int i = 0; i < 60; ++i) {
          const size_t out = ring.random()() % (count / 12 + 2);
          // It grows, then it shrinks.
          const size_t in = ring.random()() % (count / (i < 30 ? 9 : 25) + 2);
          ring.change(out, in);
          ring.expect_as_built();
          if (testing::Test::HasFatalFailure()) {
            FAIL() << "seed " << seed << ", change " << i << ", mask " << mask;
          }
        }
      }
    }
  }
}

// Nearly all points go, the first and the last ones too, and others come.
TEST(PointRing, I2_holds_while_a_ring_shrinks_and_grows) {
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

// Of a node's points at one position, one for each time that it came stays.
TEST(PointRing, I1_a_nodes_points_at_one_position_are_several) {
  PointRing ring = ring_of({{7, 20}, {7, 20}, {7, 10}, {9, 30}});
  ring.change(std::vector<RingPoint>{{7, 20}}, {}, kIds.back(), kByName);
  EXPECT_EQ(ring.check(), "");
  EXPECT_EQ(ring.size(), 3U);
  ring.change(std::vector<RingPoint>{{7, 10}}, {}, kIds.back(), kByName);
  EXPECT_EQ(ring.owner(7), 20U);
  EXPECT_EQ(ring.check(), "");
}

TEST(PointRing, a_point_that_is_not_there_is_not_taken_out) {
  std::mt19937_64 random(3);
  std::vector<RingPoint> points = random_points(random, 2000, UINT64_MAX);
  points.push_back({UINT64_MAX, 10});
  PointRing ring = ring_of(points);
  const RingPoint other = {points[7].position, points[7].id % 40 + 10};
  ring.change(std::vector<RingPoint>{other, {UINT64_MAX, 20}}, {}, kIds.back(), kByName);
  EXPECT_EQ(ring.size(), points.size());
  EXPECT_EQ(ring.check(), "");
}

TEST(PointRing, without_points_is_empty) {
  const PointRing ring = ring_of({});
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.size(), 0U);
  EXPECT_EQ(ring.check(), "");
  EXPECT_TRUE(PointRing::Walk(ring).at_end());
}

}  // namespace
}  // namespace ring_points_test
}  // namespace cuckoo
