// HashRing I2 and I6: a ring whose nodes changed, however often, has the points, the owners and the
// shares of one that is made of the same nodes at once.
#include "tests/core/ring/samples.hpp"
#include "tests/support/share.hpp"

namespace cuckoo {
namespace ring_hash_ring_build_test {
namespace {

// A ring with the same ids, as another connection reads it.
std::shared_ptr<HashRing> loaded(const HashRing& ring) {
  std::shared_ptr<HashRing> other = empty_ring(ring.options());
  expect_ok(other->load(nodes_of(ring), rows_of(ring)));
  return other;
}

void expect_same(HashRing& changed, HashRing& fresh) {
  changed.build();
  fresh.build();
  ASSERT_EQ(changed.check(), "");
  ASSERT_EQ(changed.points().size(), fresh.points().size());
  if (!fresh.points().empty()) {
    PointRing::Walk left(changed.points());
    for (PointRing::Walk right(fresh.points()); !right.at_end(); right.next(), left.next()) {
      ASSERT_EQ(left.position(), right.position());
      ASSERT_EQ(left.owner(), right.owner());
    }
  }
  for (uint32_t id = 1; id <= fresh.last_id(); ++id) {
    ASSERT_TRUE(changed.share(id).positions() == fresh.share(id).positions()) << id;
  }
  std::vector<uint32_t> left;
  std::vector<uint32_t> right;
  for (uint64_t i = 0; i < 200; ++i) {
    ASSERT_EQ(changed.owner(nth_position(i)), fresh.owner(nth_position(i)));
    changed.owners(nth_position(i), 4, left);
    fresh.owners(nth_position(i), 4, right);
    ASSERT_EQ(left, right);
  }
}

class RingHistories : public ::testing::TestWithParam<RingCase> {
 protected:
  double weight() {
    const RingOptions& options = GetParam().options;
    const bool integers =
        options.algorithm == RingAlgorithm::kKetama && options.dialect == KetamaDialect::kLibketama;
    const double weights[] = {1, 1, 1, 2, 3, integers ? 5 : 0.25};
    return weights[random_() % std::size(weights)];
  }
  // Names of one node that begin another's, and labels that two nodes have in common.
  std::string name() {
    const std::string number = std::to_string(random_() % 60);
    return random_() % 8 == 0 ? "10.0.0." + number : "10.0.0." + number + ":11211";
  }
  void change(HashRing& ring) {
    const std::vector<RingNode> nodes = nodes_of(ring);
    const uint32_t id = nodes.empty() ? 0 : nodes[random_() % nodes.size()].id;
    switch (random_() % 9) {
      case 0:
        if (id != 0 && random_() % 20 == 0) {
          ring.clear();
        }
        return;
      case 1:
      case 2:
        if (id != 0) {
          ring.remove(id);
        }
        return;
      case 3:
        if (id != 0) {
          static_cast<void>(ring.update(id, name(), weight()));  // the name may be taken
        }
        return;
      case 4:
        if (id != 0) {
          ASSERT_TRUE(ring.update(id, ring.find(id)->name, weight()).ok());
        }
        return;
      default:
        static_cast<void>(ring.insert(name(), weight()));
        return;
    }
  }

  std::mt19937_64 random_;
};

TEST_P(RingHistories, lead_to_the_ring_of_the_nodes) {
  for (uint64_t seed = 1 + test::share_first(); seed <= 12; seed += test::share_divisor()) {
    random_.seed(seed);
    std::shared_ptr<HashRing> ring = empty_ring(GetParam().options);
    for (int i = 0; i < 30; ++i) {
      static_cast<void>(ring->insert(name(), weight()));
    }
    std::shared_ptr<HashRing> follower = loaded(*ring);
    std::map<int, std::shared_ptr<HashRing>> kept;  // to go back to, as after a roll-back
    for (int i = 0; i < 60; ++i) {
      for (uint64_t changes = random_() % 4; changes > 0; --changes) {
        change(*ring);
      }
      if (random_() % 5 == 0) {
        kept[static_cast<int>(random_() % 3)] = loaded(*ring);
      }
      if (const auto back = kept.find(static_cast<int>(random_() % 12)); back != kept.end()) {
        std::shared_ptr<HashRing> before = loaded(*back->second);
        before->take_points(*ring);
        ring = std::move(before);
      }
      if (random_() % 3 != 0) {
        const std::shared_ptr<HashRing> fresh = loaded(*ring);
        ASSERT_NO_FATAL_FAILURE(expect_same(*ring, *fresh)) << "seed " << seed << ", step " << i;
        std::shared_ptr<HashRing> next = loaded(*ring);
        next->take_points(*follower);
        follower = std::move(next);
        ASSERT_NO_FATAL_FAILURE(expect_same(*follower, *fresh))
            << "seed " << seed << ", step " << i;
      }
    }
  }
}

TEST(RingBuild, points_of_a_ring_with_other_options_are_not_taken) {
  std::shared_ptr<HashRing> one = empty_ring(ring_options(RingAlgorithm::kRing, 2000));
  ASSERT_TRUE(one->insert("a", 1).ok());
  one->build();
  std::shared_ptr<HashRing> other = empty_ring(ring_options(RingAlgorithm::kRing, 2001));
  ASSERT_TRUE(other->insert("a", 1).ok());
  other->take_points(*one);
  other->build();
  EXPECT_EQ(other->points().size(), 2001U);
  EXPECT_EQ(one->points().size(), 2000U);
}

// I6, for merged points: a ring that takes the points of its copy pays only for the difference.
TEST(RingBuild, a_rings_points_are_of_its_nodes_no_matter_who_made_them) {
  std::shared_ptr<HashRing> one = empty_ring(ring_options(RingAlgorithm::kRing, 1000));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(one->insert("node-" + std::to_string(i), 1).ok());
  }
  one->build();
  std::shared_ptr<HashRing> other = empty_ring(ring_options(RingAlgorithm::kRing, 1000));
  ASSERT_TRUE(other->load(nodes_of(*one), {}).ok());
  other->take_points(*one);
  EXPECT_FALSE(one->built());
  other->remove(3);
  ASSERT_TRUE(other->insert("node-2", 1).ok());  // it was the third
  ASSERT_TRUE(other->update(5, "another", 2).ok());
  expect_same(*other, *loaded(*other));
  expect_same(*one, *loaded(*one));  // which made its own anew
}

INSTANTIATE_EACH(Algorithms, RingHistories, ring_cases());

}  // namespace
}  // namespace ring_hash_ring_build_test
}  // namespace cuckoo
