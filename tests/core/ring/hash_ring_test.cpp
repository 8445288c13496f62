#include "core/ring/hash_ring.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "tests/core/ring/samples.hpp"

namespace cuckoo {
namespace ring_hash_ring_test {
namespace {

class EveryRing : public ::testing::TestWithParam<RingCase> {
 protected:
  bool is_ketama() const { return GetParam().options.algorithm == RingAlgorithm::kKetama; }
  bool is_slots() const { return GetParam().options.algorithm == RingAlgorithm::kSlots; }
  std::shared_ptr<HashRing> make() const { return empty_ring(GetParam().options); }
};

TEST_P(EveryRing, empty_has_no_owner) {
  const std::shared_ptr<HashRing> ring = make();
  ring->build();
  EXPECT_EQ(ring->owner(5), 0U);
  std::vector<uint32_t> ids = {1};
  ring->owners(5, 3, ids);
  EXPECT_TRUE(ids.empty());
  expect_valid(*ring);
}

TEST_P(EveryRing, only_node_owns_all) {
  const std::shared_ptr<HashRing> ring = make();
  const uint32_t id = add(*ring, "a", 2.5);
  expect_valid(*ring);
  EXPECT_EQ(ring->owner(0), id);
  EXPECT_EQ(ring->owner(UINT64_MAX), id);
  EXPECT_EQ(ring->share(id).share(), 1.0);
}

TEST_P(EveryRing, shares_are_what_keys_find) {
  constexpr uint64_t kKeys = 1000000;
  const std::shared_ptr<HashRing> ring = make();
  add_nodes(*ring, 10, {1, 1, 1, 1, 1, 2, 2, 2, 2, 2});
  std::vector<uint64_t> counts(11);
  for (const uint32_t id : owner_ids(*ring, kKeys)) {
    ++counts[id];
  }
  double sum = 0;
  for (uint32_t id = 1; id <= 10; ++id) {
    const double share = ring->share(id).share();
    const double expected = share * kKeys;
    EXPECT_NEAR(static_cast<double>(counts[id]), expected, 5 * std::sqrt(expected) + 1) << id;
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// I3, for a million keys. ketama is tested only with equal weights.
TEST_P(EveryRing, I3_change_moves_only_what_it_must) {
  constexpr uint64_t kKeys = 1000000;
  for (const bool weighted : {false, true}) {
    if (weighted && is_ketama()) {
      continue;
    }
    const std::shared_ptr<HashRing> ring = make();
    add_nodes(*ring, 20, weighted ? std::vector<double>{1, 2, 3, 4, 5} : std::vector<double>{1});
    std::vector<uint32_t> before = owner_ids(*ring, kKeys);
    const auto compare = [&](const char* what, const auto& allowed) {
      const std::vector<uint32_t> after = owner_ids(*ring, kKeys);
      uint64_t moved = 0;
      for (uint64_t i = 0; i < kKeys; ++i) {
        if (before[i] != after[i]) {
          ++moved;
          ASSERT_TRUE(allowed(before[i], after[i]))
              << what << ": a key went from " << before[i] << " to " << after[i];
        }
      }
      EXPECT_GT(moved, 0U) << what;
      expect_valid(*ring);
      before = after;
    };
    const uint32_t added = add(*ring, "new", weighted ? 3 : 1);
    compare("add", [&](uint32_t, uint32_t to) { return to == added; });
    ring->remove(7);
    compare("remove", [](uint32_t from, uint32_t) { return from == 7; });
    if (!is_ketama()) {
      ASSERT_TRUE(ring->update(3, ring->find(3)->name, 9).ok());
      compare("grow", [](uint32_t, uint32_t to) { return to == 3; });
      ASSERT_TRUE(ring->update(3, ring->find(3)->name, 2).ok());
      compare("shrink", [](uint32_t from, uint32_t) { return from == 3; });
    }
  }
}

// I4: a node of the smallest weight has a share also among nodes of the largest.
TEST_P(EveryRing, I4_positive_weight_has_a_share) {
  if (is_ketama()) {
    return;
  }
  const std::shared_ptr<HashRing> ring = make();
  const double large = is_slots() ? kMaxRingWeight : 10;
  add_nodes(*ring, 50, {large});
  std::vector<uint32_t> small;
  for (int i = 0; i < 50; ++i) {
    small.push_back(add(*ring, "small" + std::to_string(i), kMinRingWeight));
  }
  ring->build();
  for (const uint32_t id : small) {
    EXPECT_GT(ring->share(id).share(), 0);
  }
}

TEST_P(EveryRing, replicas_are_different_nodes_in_order) {
  const std::shared_ptr<HashRing> ring = make();
  add_nodes(*ring, 40);
  ring->remove(5);
  ring->build();
  std::vector<uint32_t> all;
  std::vector<uint32_t> some;
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t position = i == 0 ? UINT64_MAX : nth_position(i);
    ring->owners(position, 1000, all);
    ASSERT_EQ(all.size(), 39U);
    ASSERT_EQ(std::set<uint32_t>(all.begin(), all.end()).size(), 39U);
    ASSERT_EQ(all[0], ring->owner(position));
    for (const size_t count : {0, 1, 2, 3, 8, 9, 20}) {
      ring->owners(position, count, some);
      ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin(),
                             all.begin() + static_cast<std::ptrdiff_t>(count)))
          << count;
    }
  }
}

// With ring and ketama, a key goes to its second replica when its owner leaves.
TEST_P(EveryRing, second_replica_takes_over) {
  if (is_slots()) {
    return;
  }
  const std::shared_ptr<HashRing> ring = make();
  add_nodes(*ring, 10);
  ring->build();
  std::vector<uint64_t> positions;
  std::vector<uint32_t> second;
  std::vector<uint32_t> ids;
  for (uint64_t i = 0; i < 10000; ++i) {
    ring->owners(nth_position(i), 2, ids);
    if (ids[0] == 4) {
      positions.push_back(nth_position(i));
      second.push_back(ids[1]);
    }
  }
  ring->remove(4);
  ring->build();
  for (size_t i = 0; i < positions.size(); ++i) {
    ASSERT_EQ(ring->owner(positions[i]), second[i]);
  }
}

TEST_P(EveryRing, wrong_changes_change_nothing) {
  const std::shared_ptr<HashRing> ring = make();
  const uint32_t a = add(*ring, "a");
  const uint32_t b = add(*ring, "b");
  const std::vector<std::string> before = owner_names(*ring, 1000);
  const uint64_t digest = ring->node_digest();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double weight : {0.0, -1.0, kInfinity, -kInfinity, 1e-16, 1.1e15,
                              std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_FALSE(ring->insert("c", weight).ok()) << weight;
    EXPECT_FALSE(ring->update(a, "a", weight).ok()) << weight;
  }
  EXPECT_FALSE(ring->insert("a", 1).ok());
  EXPECT_FALSE(ring->update(b, "a", 1).ok());
  EXPECT_EQ(ring->node_digest(), digest);
  EXPECT_EQ(owner_names(*ring, 1000), before);
  expect_valid(*ring);
}

TEST_P(EveryRing, I1_ids_stay_and_are_given_again_after_the_highest) {
  const std::shared_ptr<HashRing> ring = make();
  EXPECT_EQ(add(*ring, "a"), 1U);
  EXPECT_EQ(add(*ring, "b"), 2U);
  EXPECT_EQ(add(*ring, "c"), 3U);
  ring->remove(1);
  EXPECT_EQ(add(*ring, "d"), 4U);
  ring->remove(4);
  EXPECT_EQ(add(*ring, "e"), 4U);
  EXPECT_EQ(ring->find(uint32_t{1}), nullptr);
  EXPECT_EQ(ring->find("c")->id, 3U);
  EXPECT_EQ(ring->find(uint32_t{0}), nullptr);
  EXPECT_EQ(ring->find(uint32_t{99}), nullptr);
}

TEST_P(EveryRing, I5_digest_tells_node_sets_apart) {
  const std::shared_ptr<HashRing> ring = make();
  std::set<uint64_t> digests = {ring->node_digest()};
  add(*ring, "a");
  EXPECT_TRUE(digests.insert(ring->node_digest()).second);
  const uint32_t b = add(*ring, "b");
  const uint64_t both = ring->node_digest();
  EXPECT_TRUE(digests.insert(both).second);
  ASSERT_TRUE(ring->update(b, "b", 2).ok());
  EXPECT_TRUE(digests.insert(ring->node_digest()).second);
  ASSERT_TRUE(ring->update(b, "c", 1).ok());
  EXPECT_TRUE(digests.insert(ring->node_digest()).second);
  ASSERT_TRUE(ring->update(b, "b", 1).ok());
  EXPECT_EQ(ring->node_digest(), both);
}

TEST_P(EveryRing, stored_nodes_come_back) {
  const std::shared_ptr<HashRing> ring = make();
  add_nodes(*ring, 12, {1, 2, 3, 4});
  ring->remove(3);
  const std::vector<RingNode> nodes = nodes_of(*ring);
  const std::vector<std::vector<std::byte>> rows = rows_of(*ring);
  const std::shared_ptr<HashRing> loaded = make();
  ASSERT_TRUE(loaded->load(nodes, rows).ok());
  expect_valid(*loaded);
  EXPECT_EQ(loaded->node_digest(), ring->node_digest());
  EXPECT_EQ(owner_ids(*loaded, 10000), owner_ids(*ring, 10000));
  using Nodes = std::vector<RingNode>;
  const std::pair<const char*, std::function<void(Nodes&)>> damages[] = {
      {"an id twice", [](Nodes& all) { all[0].id = all[1].id; }},
      {"no id", [](Nodes& all) { all[0].id = 0; }},
      {"an id beyond all", [](Nodes& all) { all[0].id = kMaxRingNodes + 1; }},
      {"a weight below 0", [](Nodes& all) { all[0].weight = -1; }},
      {"a name twice", [](Nodes& all) { all[0].name = all[1].name; }},
  };
  for (const auto& [what, damage] : damages) {
    Nodes damaged = nodes;
    damage(damaged);
    EXPECT_FALSE(make()->load(damaged, rows).ok()) << what;
  }
  EXPECT_EQ(make()->load(nodes, {}).ok(), !is_slots());
  const std::vector<std::vector<std::byte>> strange(SlotOwners::kRows);
  EXPECT_FALSE(make()->load(nodes, strange).ok());
  EXPECT_FALSE(make()->load({}, strange).ok());
}

TEST(HashRing, seeds_give_different_rings) {
  for (const RingAlgorithm algorithm : {RingAlgorithm::kRing, RingAlgorithm::kSlots}) {
    std::vector<std::vector<std::string>> owners;
    for (const uint64_t seed : {1, 2}) {
      const std::shared_ptr<HashRing> ring = empty_ring(ring_options(algorithm, 100, seed));
      add_nodes(*ring, 10);
      owners.push_back(owner_names(*ring, 1000));
    }
    EXPECT_NE(owners[0], owners[1]);
  }
}

TEST(HashRing, points_are_limited) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kRing, 100000));
  EXPECT_FALSE(ring->insert("a", 10.49).ok());  // 2^20 is 10.48576
  add_nodes(*ring, 16, {10.48576});
  EXPECT_TRUE(fails(ring->insert("one more", 1e-9), ErrorCode::kFull));
  ASSERT_TRUE(ring->update(1, node_name(0), 10.4857).ok());
  add(*ring, "one more", 1e-9);
  EXPECT_FALSE(ring->update(1, node_name(0), 10.48576).ok());
}

TEST(HashRing, build_can_be_stopped_and_begun_again) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kRing));
  add_nodes(*ring, 10);
  int polls = 0;
  const auto stop = [&polls]() -> Status {
    return ++polls < 5 ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
  };
  EXPECT_TRUE(fails(ring->build(stop), ErrorCode::kInterrupted));
  EXPECT_FALSE(ring->built());
  ring->build();
  expect_valid(*ring);
}

TEST(HashRing, nodes_are_limited) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kRing, 1));
  for (uint32_t i = 0; i < kMaxRingNodes; ++i) {
    add(*ring, std::to_string(i));
  }
  EXPECT_TRUE(fails(ring->insert("one more", 1), ErrorCode::kFull));
  expect_valid(*ring);
  ring->remove(77);
  EXPECT_EQ(add(*ring, "one more"), 77U);
  expect_valid(*ring);
}

// --- against a model -----------------------------------------------------------------------------

// Owners by brute force: every point of every node, no index, no order.
uint32_t brute_owner(const HashRing& ring, Ketama& ketama, uint64_t position) {
  const RingOptions& options = ring.options();
  const std::vector<const RingNode*> nodes = ring.nodes_by_name();
  double total = 0;
  for (const RingNode* node : nodes) {
    total += node->weight;
  }
  uint64_t nearest = UINT64_MAX;
  uint32_t owner = 0;
  const auto consider = [&](uint64_t point, uint32_t id) {
    const uint64_t distance = point - position;  // modulo 2^64
    if (owner == 0 || distance < nearest) {
      nearest = distance;
      owner = id;
    }
  };
  for (const RingNode* node : nodes) {
    if (options.algorithm == RingAlgorithm::kRing) {
      const double count = std::max(1.0, std::round(node->weight * options.vnodes));
      for (int i = 0; i < count; ++i) {
        const std::string label = node->name + "-" + std::to_string(i);
        consider(XXH3_64bits_withSeed(label.data(), label.size(), options.seed + 4 * kGoldenStep),
                 node->id);
      }
      continue;
    }
    const uint32_t hashes = ketama_hashes(options.dialect, node->weight, total, nodes.size());
    for (uint32_t k = 0; k < hashes; ++k) {
      const std::string label = ketama_label(options.dialect, node->name) + "-" + std::to_string(k);
      for (const uint32_t part : ketama.digest(std::as_bytes(std::span(label)))) {
        consider(Ketama::position(part), node->id);
      }
    }
  }
  return owner;
}

TEST_P(EveryRing, random_changes_give_the_owners_of_the_model) {
  if (is_slots()) {
    return;  // tests/core/ring/owners_test.cpp has its own
  }
  const std::shared_ptr<Ketama> ketama =
      Ketama::make(KetamaDialect::kLibketama, KetamaKeyHash::kMd5).value();
  std::mt19937_64 random(17);
  const std::shared_ptr<HashRing> ring = make();
  std::map<std::string, double> model;
  for (int step = 0; step < 60; ++step) {
    const std::string name = node_name(static_cast<int>(random() % 12));
    const double weight = static_cast<double>(1 + random() % 30) / 10;
    if (!model.contains(name)) {
      add(*ring, name, weight);
      model[name] = weight;
    } else if (random() % 2 == 0) {
      ASSERT_TRUE(ring->update(ring->find(name)->id, name, weight).ok());
      model[name] = weight;
    } else {
      ring->remove(ring->find(name)->id);
      model.erase(name);
    }
    ASSERT_EQ(ring->node_count(), model.size());
    ASSERT_EQ(ring->check(), "");
    for (int i = 0; i < 20 && !model.empty(); ++i) {
      const uint64_t position = random();
      ASSERT_EQ(ring->owner(position), brute_owner(*ring, *ketama, position)) << "step " << step;
    }
  }
}

INSTANTIATE_EACH(Algorithms, EveryRing, ring_cases());

}  // namespace
}  // namespace ring_hash_ring_test
}  // namespace cuckoo
