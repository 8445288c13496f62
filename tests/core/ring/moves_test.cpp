#include "core/ring/moves.hpp"

#include <cmath>

#include "tests/core/ring/samples.hpp"

namespace cuckoo {
namespace ring_moves_test {
namespace {

class RingMoves : public ::testing::TestWithParam<RingCase> {
 protected:
  bool is_ketama() const { return GetParam().options.algorithm == RingAlgorithm::kKetama; }

  std::shared_ptr<HashRing> ring_ = empty_ring(GetParam().options);

  // Compares the moves with what happens to a million keys.
  void expect_moves(HashRing& before, HashRing& after) {
    constexpr uint64_t kKeys = 1000000;
    const std::vector<uint32_t> from = owner_ids(before, kKeys);
    const std::vector<uint32_t> to = owner_ids(after, kKeys);
    const auto is_same = [&](uint32_t id, uint32_t id_after) {
      return before.find(id)->name == after.find(id_after)->name;
    };
    std::map<std::pair<uint32_t, uint32_t>, double> counted;
    for (uint64_t i = 0; i < kKeys; ++i) {
      if (!is_same(from[i], to[i])) {
        counted[{from[i], to[i]}] += 1;
      }
    }
    std::pair<uint32_t, uint32_t> last = {0, 0};
    for (const RingMove& move : ring_moves(before, after)) {
      const std::pair<uint32_t, uint32_t> ids = {move.from, move.to};
      EXPECT_FALSE(is_same(move.from, move.to));
      EXPECT_LT(last, ids);
      last = ids;
      const double expected = move.part.share() * kKeys;
      EXPECT_NEAR(counted[ids], expected, 5 * std::sqrt(expected) + 1);
      counted.erase(ids);
    }
    EXPECT_TRUE(counted.empty()) << "keys moved otherwise, too";
  }
};

TEST_P(RingMoves, are_what_keys_do) {
  add_nodes(*ring_, 6,
            is_ketama() ? std::vector<double>{1, 2, 3, 4, 5, 6} : std::vector<double>{1});
  HashRing more(*ring_);
  add(more, "new", 2);
  expect_moves(*ring_, more);
  expect_moves(more, *ring_);
  HashRing other(*ring_);
  other.remove(3);
  ASSERT_TRUE(other.update(1, "renamed", 3).ok());
  expect_moves(*ring_, other);
}

TEST_P(RingMoves, of_a_renamed_node_are_all_of_its_keys) {
  add_nodes(*ring_, 6);
  ring_->build();
  HashRing other(*ring_);
  ASSERT_TRUE(other.update(3, "renamed", 1).ok());
  other.build();
  RingPart from_it;
  RingPart to_it;
  for (const RingMove& move : ring_moves(*ring_, other)) {
    if (move.from == 3) {
      from_it.add(move.part.positions());
    }
    if (move.to == 3) {
      to_it.add(move.part.positions());
    }
  }
  EXPECT_TRUE(from_it.positions() == ring_->share(3).positions());
  EXPECT_TRUE(to_it.positions() == other.share(3).positions());
}

TEST_P(RingMoves, of_the_same_ring_are_none) {
  add(*ring_, "a");
  add(*ring_, "b");
  ring_->build();
  EXPECT_TRUE(ring_moves(*ring_, *ring_).empty());
}

// The two rings were made apart, so their ids differ. Names tell what stays.
TEST_P(RingMoves, of_rings_with_other_ids_are_those_of_the_same_nodes) {
  HashRing same(*ring_);
  const uint32_t a = add(*ring_, "a");
  const uint32_t b = add(*ring_, "b");
  const uint32_t c = add(same, "c");
  const uint32_t b_too = add(same, "b");
  const uint32_t a_too = add(same, "a");
  ring_->build();
  same.build();
  ASSERT_NE(a, a_too);
  double to_c = 0;
  for (const RingMove& move : ring_moves(*ring_, same)) {
    if (GetParam().options.algorithm != RingAlgorithm::kSlots) {
      EXPECT_EQ(move.to, c);  // I3 of HashRing
    }
    EXPECT_FALSE(move.from == a && move.to == a_too);
    EXPECT_FALSE(move.from == b && move.to == b_too);
    to_c += move.to == c ? move.part.share() : 0;
  }
  EXPECT_NEAR(to_c, same.share(c).share(), 1e-12);
  HashRing none(*ring_);
  none.clear();
  none.build();
  const std::vector<RingMove> all = ring_moves(none, same);
  EXPECT_EQ(all.size(), 3U);  // from nobody, also to the new node
}

TEST_P(RingMoves, from_and_to_nobody) {
  HashRing full(*ring_);
  const uint32_t id = add(full, "a");
  full.build();
  ring_->build();
  const std::vector<RingMove> first = ring_moves(*ring_, full);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].from, 0U);
  EXPECT_EQ(first[0].to, id);
  EXPECT_EQ(first[0].part.share(), 1.0);
  const std::vector<RingMove> last = ring_moves(full, *ring_);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].from, id);
  EXPECT_EQ(last[0].to, 0U);
  EXPECT_EQ(last[0].part.share(), 1.0);
  EXPECT_TRUE(ring_moves(*ring_, *ring_).empty());
}

INSTANTIATE_EACH(Algorithms, RingMoves, ring_cases());

}  // namespace
}  // namespace ring_moves_test
}  // namespace cuckoo
