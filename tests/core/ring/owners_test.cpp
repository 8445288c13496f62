#include "core/ring/owners.hpp"

#include <cmath>

#include "tests/core/ring/samples.hpp"

namespace cuckoo {
namespace ring_owners_test {
namespace {

constexpr uint64_t kSeed = 7;

std::vector<uint32_t> table_of(const SlotOwners& slots) {
  std::vector<uint32_t> owners;
  for (size_t slot = 0; slot < kRingSlots && !slots.empty(); ++slot) {
    owners.push_back(slots.owner_at(slot));
  }
  return owners;
}

struct Nodes {
  std::vector<std::unique_ptr<RingNode>> owned;
  std::vector<const RingNode*> by_name;

  void add(uint32_t id, const std::string& name, double weight) {
    owned.push_back(std::make_unique<RingNode>(RingNode{id, name, weight}));
    by_name.push_back(owned.back().get());
    std::sort(by_name.begin(), by_name.end(),
              [](const RingNode* a, const RingNode* b) { return a->name < b->name; });
  }
};

TEST(SlotOwners, I1_first_node_takes_all_and_the_last_one_leaves_nothing) {
  SlotOwners slots;
  Nodes nodes;
  nodes.add(3, "a", 1);
  slots.meet_quotas(nodes.by_name, kSeed);
  EXPECT_EQ(slots.count(3), kRingSlots);
  EXPECT_EQ(slots.check(nodes.by_name), "");
  EXPECT_TRUE(slots.take_changed().all());
  EXPECT_TRUE(slots.take_changed().none());
  slots.meet_quotas({}, kSeed);
  EXPECT_TRUE(slots.empty());
  EXPECT_EQ(slots.digest(), 0U);
}

// The rule that FORMAT.md and the head of the file state, in other words.
TEST(SlotOwners, receiver_gets_the_slots_of_smallest_hash) {
  SlotOwners slots;
  Nodes nodes;
  nodes.add(1, "a", 1);
  slots.meet_quotas(nodes.by_name, kSeed);
  nodes.add(2, "b", 3);
  slots.meet_quotas(nodes.by_name, kSeed);
  const uint64_t name = XXH3_64bits_withSeed("b", 1, kSeed);
  std::vector<std::pair<uint64_t, uint32_t>> order;
  for (uint32_t slot = 0; slot < kRingSlots; ++slot) {
    std::byte bytes[16];
    store_le(bytes, uint64_t{slot});
    store_le(bytes + 8, name);
    order.emplace_back(XXH3_64bits_withSeed(bytes, sizeof bytes, kSeed), slot);
  }
  std::sort(order.begin(), order.end());
  ASSERT_EQ(slots.count(2), 49152U);
  for (size_t i = 0; i < order.size(); ++i) {
    ASSERT_EQ(slots.owner_at(order[i].second), i < 49152 ? 2U : 1U);
  }
}

TEST(SlotOwners, slots_of_a_node_that_goes_are_shared_out_in_order) {
  SlotOwners slots;
  Nodes nodes;
  for (const auto& [id, name] : {std::pair<uint32_t, const char*>{1, "a"}, {2, "b"}, {3, "c"}}) {
    nodes.add(id, name, 1);
    slots.meet_quotas(nodes.by_name, kSeed);
  }
  const std::vector<uint32_t> before = table_of(slots);
  nodes.by_name.erase(nodes.by_name.begin() + 1);
  slots.meet_quotas(nodes.by_name, kSeed);
  const std::vector<uint32_t> after = table_of(slots);
  // "a" had one slot more, so "c" lacks one more. "c" gets the first slot, then "a" and "c" take
  // turns.
  uint32_t next = 3;
  uint32_t rest_of_a = 32768 - 21846;
  for (size_t slot = 0; slot < kRingSlots; ++slot) {
    if (before[slot] == 2) {
      ASSERT_EQ(after[slot], next) << slot << ", " << rest_of_a;
      next = next == 3 ? 1 : 3;
    } else {
      ASSERT_EQ(after[slot], before[slot]);
    }
  }
}

TEST(SlotOwners, stored_rows_come_back) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kSlots));
  add_nodes(*ring, 10, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  const std::vector<std::vector<std::byte>> rows = rows_of(*ring);
  EXPECT_EQ(rows.size(), 33U);
  EXPECT_EQ(rows.front().size(), 4032U);
  EXPECT_EQ(rows.back().size(), 2048U);
  const bool known[10] = {true, true, true, true, true, true, true, true, true, true};
  SlotOwners loaded;
  ASSERT_TRUE(loaded.load(rows, known).ok());
  EXPECT_EQ(table_of(loaded), table_of(ring->slots()));
  EXPECT_EQ(loaded.digest(), ring->slots().digest());
  EXPECT_EQ(loaded.check(ring->nodes_by_name()), "");
}

TEST(SlotOwners, damaged_rows_are_refused) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kSlots));
  add(*ring, "a");
  add(*ring, "b");
  const std::vector<std::vector<std::byte>> rows = rows_of(*ring);
  const bool known[2] = {true, true};
  const bool only_first[2] = {true, false};
  using Rows = std::vector<std::vector<std::byte>>;
  const std::pair<const char*, void (*)(Rows&)> damages[] = {
      {"a row is missing", [](Rows& all) { all.pop_back(); }},
      {"a row is short", [](Rows& all) { all[5].pop_back(); }},
      {"an unknown node", [](Rows& all) { store_le(all[5].data(), uint16_t{2}); }},
  };
  SlotOwners loaded;
  for (const auto& [what, damage] : damages) {
    Rows damaged = rows;
    damage(damaged);
    EXPECT_FALSE(loaded.load(damaged, known).ok()) << what;
  }
  EXPECT_FALSE(loaded.load(rows, only_first).ok());
  EXPECT_FALSE(loaded.load(rows, {}).ok());
  // A slot gets the other node. Both nodes are known, so load() takes it, and the quotas show it.
  Rows damaged = rows;
  store_le(damaged[5].data(), static_cast<uint16_t>(1 - load_le<uint16_t>(damaged[5].data())));
  ASSERT_TRUE(loaded.load(damaged, known).ok());
  EXPECT_NE(loaded.check(ring->nodes_by_name()), "");
  EXPECT_NE(loaded.digest(), ring->slots().digest());
}

TEST(SlotOwners, only_rows_that_changed_are_written) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kSlots));
  add_nodes(*ring, 20);
  ring->take_changed_slot_rows();
  const std::vector<std::vector<std::byte>> before = rows_of(*ring);
  add(*ring, "tiny", 1e-9);  // one slot
  const SlotOwners::ChangedRows changed = ring->take_changed_slot_rows();
  EXPECT_EQ(changed.count(), 1U);
  const std::vector<std::vector<std::byte>> after = rows_of(*ring);
  for (uint32_t row = 0; row < SlotOwners::kRows; ++row) {
    EXPECT_EQ(before[row] != after[row], changed[row]) << row;
  }
}

// A plain account of each change shows that as few slots move as the quotas allow. No node that
// gives a slot gets one.
TEST(SlotOwners, I2_I3_I4_changes_move_as_few_slots_as_they_can) {
  std::mt19937_64 random(5);
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kSlots));
  std::vector<uint32_t> ids;
  for (int step = 0; step < 300; ++step) {
    const std::vector<uint32_t> before = table_of(ring->slots());
    const uint64_t digest = ring->slots().digest();
    const double weight = std::exp(std::uniform_real_distribution<>(-3, 3)(random));
    uint32_t changed = 0;
    if (ids.size() < 2 || random() % 3 == 0) {
      changed = add(*ring, "n" + std::to_string(random() % 1000000), weight);
      ids.push_back(changed);
    } else if (random() % 2 == 0) {
      changed = ids[random() % ids.size()];
      ASSERT_TRUE(ring->update(changed, ring->find(changed)->name, weight).ok());
    } else {
      const size_t which = random() % ids.size();
      changed = ids[which];
      ring->remove(changed);
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(which));
    }
    ASSERT_EQ(ring->check(), "");
    const std::vector<uint32_t> after = table_of(ring->slots());
    ASSERT_EQ(before == after, digest == ring->slots().digest()) << "I4, step " << step;
    for (size_t slot = 0; slot < before.size() && before.size() == after.size(); ++slot) {
      if (before[slot] != after[slot]) {
        ASSERT_TRUE(before[slot] == changed || after[slot] == changed) << "step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace ring_owners_test
}  // namespace cuckoo
