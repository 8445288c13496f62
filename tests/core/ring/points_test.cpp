#include "core/ring/points.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace cuckoo {
namespace {

const std::vector<uint32_t> kIds = {10, 20, 30, 40};  // of the ranks 0 … 3

// The definition: the first point at or behind the position, by name where several are in a place.
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

TEST(PointRing, I2_owner_is_that_of_the_first_point_at_or_behind) {
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

TEST(PointRing, I1_order_of_points_given_decides_nothing) {
  std::mt19937_64 random(2);
  std::vector<RingPoint> points = random_points(random, 500, 0xFF);  // nearly all collide
  PointRing first;
  first.build(points, kIds);
  for (int round = 0; round < 10; ++round) {
    std::shuffle(points.begin(), points.end(), random);
    PointRing other;
    other.build(points, kIds);
    for (uint64_t position = 0; position < 258; ++position) {
      ASSERT_EQ(other.owner(position), first.owner(position));
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

TEST(PointRing, one_point_owns_all) {
  PointRing ring;
  ring.build({{5, 3}}, kIds);
  EXPECT_EQ(ring.owner(6), 40U);
  EXPECT_EQ(ring.shares(40)[39].share(), 1.0);
  EXPECT_EQ(ring.check(), "");
}

TEST(PointRing, without_points_is_empty) {
  PointRing ring;
  ring.build({}, kIds);
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.size(), 0U);
  EXPECT_EQ(ring.check(), "");
}

}  // namespace
}  // namespace cuckoo
