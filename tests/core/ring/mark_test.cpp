#include "core/ring/mark.hpp"

#include <set>

#include "tests/core/ring/samples.hpp"
#include "tests/support/share.hpp"

namespace cuckoo {
namespace ring_mark_test {
namespace {

RingOptions consistent_options() {
  RingOptions options = ketama_options(KetamaDialect::kConsistent);
  options.key_hash = KetamaKeyHash::kOneAtATime;
  return options;
}

const RingCase kCases[] = {
    {"ring", ring_options(RingAlgorithm::kRing)},
    {"slots", ring_options(RingAlgorithm::kSlots)},
    {"ketama", ketama_options(KetamaDialect::kLibketama)},
    {"consistent", consistent_options()},
};

uint64_t mark_of(HashRing& ring, RingKeyType type = RingKeyType::kNone) {
  ring.build();
  return ring_mark(ring, type);
}

// The names of a key's owners, all replicas in their order, for so many keys.
std::vector<std::string> owners_of(HashRing& ring, uint64_t count, size_t replicas) {
  ring.build();
  std::vector<std::string> names;
  std::vector<uint32_t> ids;
  for (uint64_t i = 0; i < count; ++i) {
    ring.owners(nth_position(i), replicas, ids);
    for (const uint32_t id : ids) {
      names.push_back(ring.find(id)->name);
    }
  }
  return names;
}

class RingMark : public ::testing::TestWithParam<RingCase> {
 protected:
  std::shared_ptr<HashRing> make() const { return empty_ring(GetParam().options); }
  bool is_slots() const { return GetParam().options.algorithm == RingAlgorithm::kSlots; }

  // Like `ring`, but its nodes came in another order, between others that left, and were changed by
  // steps of their own.
  std::shared_ptr<HashRing> with_another_history(const HashRing& ring, uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::vector<const RingNode*> nodes = ring.nodes_by_name();
    std::shuffle(nodes.begin(), nodes.end(), random);
    const std::shared_ptr<HashRing> other = make();
    for (const RingNode* node : nodes) {
      const uint32_t passing = add(*other, "passing", 3);
      const uint32_t id = add(*other, node->name, node->weight + 1);
      if (random() % 2 == 0) {
        other->build();  // what follows changes points that are there
      }
      other->remove(passing);
      EXPECT_TRUE(other->update(id, node->name, node->weight).ok());
    }
    return other;
  }
};

// The model: marks are equal exactly where the owners of many keys are, replicas included.
TEST_P(RingMark, is_equal_exactly_where_owners_are) {
  constexpr uint64_t kKeys = 20000;
  std::mt19937_64 random(11);
  std::map<uint64_t, std::vector<std::string>> owners;
  std::map<std::vector<std::string>, uint64_t> marks;
  for (int i = 0; i < 40; ++i) {
    const std::shared_ptr<HashRing> ring = make();
    const uint64_t nodes = random() % 4;  // so that the same come again
    for (uint64_t n = 0; n < nodes; ++n) {
      const std::string name = "node" + std::to_string(random() % 3);
      if (ring->find(name) == nullptr) {
        add(*ring, name, static_cast<double>(1 + random() % 2));
      }
    }
    const uint64_t mark = mark_of(*ring);
    const std::vector<std::string> names = owners_of(*ring, kKeys, 3);
    const auto [same_mark, new_mark] = owners.try_emplace(mark, names);
    const auto [same_owners, new_owners] = marks.try_emplace(names, mark);
    EXPECT_EQ(same_mark->second, names);
    EXPECT_EQ(same_owners->second, mark);
    EXPECT_EQ(new_mark, new_owners);
  }
  EXPECT_GT(owners.size(), 6U);
}

TEST_P(RingMark, tells_histories_apart_only_where_owners_differ) {
  const std::shared_ptr<HashRing> ring = make();
  add_nodes(*ring, 15, {1, 2, 3});
  const std::vector<std::string> owners = owners_of(*ring, 100000, 1);
  for (const uint64_t seed : test::share_of(std::vector<uint64_t>{1, 2, 3, 4, 5})) {
    const std::shared_ptr<HashRing> other = with_another_history(*ring, seed);
    EXPECT_EQ(owners_of(*other, 100000, 1) == owners, !is_slots());
    EXPECT_EQ(mark_of(*other) == mark_of(*ring), !is_slots());
  }
}

TEST_P(RingMark, changes_with_a_node_and_comes_back_with_it) {
  const std::shared_ptr<HashRing> ring = make();
  std::set<uint64_t> marks = {mark_of(*ring)};
  for (const char* name : {"a", "b", "c"}) {
    add(*ring, name);
    EXPECT_TRUE(marks.insert(mark_of(*ring)).second) << name;
  }
  const uint64_t before = mark_of(*ring);
  const uint32_t d = add(*ring, "d");
  EXPECT_TRUE(marks.insert(mark_of(*ring)).second);
  ring->remove(d);
  EXPECT_EQ(mark_of(*ring) == before, !is_slots());  // slots come back, but others
  ASSERT_TRUE(ring->update(ring->find("a")->id, "aa", 1).ok());
  EXPECT_TRUE(marks.insert(mark_of(*ring)).second);
}

TEST_P(RingMark, covers_the_type_of_the_key_where_there_are_several_owners) {
  const std::shared_ptr<HashRing> ring = make();
  std::set<uint64_t> marks;
  for (const RingKeyType type :
       {RingKeyType::kNone, RingKeyType::kText, RingKeyType::kNumeric, RingKeyType::kReal}) {
    marks.insert(mark_of(*ring, type));
  }
  EXPECT_EQ(marks.size(), 1U);  // no owner for any key
  const uint32_t a = add(*ring, "a");
  for (int type = 0; type < 4; ++type) {
    marks.insert(mark_of(*ring, static_cast<RingKeyType>(type)));
  }
  EXPECT_EQ(marks.size(), 2U);  // "a" for each key
  add(*ring, "b");
  for (int type = 0; type < 4; ++type) {
    marks.insert(mark_of(*ring, static_cast<RingKeyType>(type)));
  }
  EXPECT_EQ(marks.size(), 6U);
  ring->remove(a);
  const std::shared_ptr<HashRing> alone = make();
  add(*alone, "b", 7);
  EXPECT_EQ(mark_of(*ring), mark_of(*alone));
}

INSTANTIATE_EACH(Algorithms, RingMark, kCases);

TEST(RingMarks, of_one_owner_do_not_depend_on_options) {
  std::set<uint64_t> marks;
  for (const RingCase& ring_case : kCases) {
    const std::shared_ptr<HashRing> ring = empty_ring(ring_case.options);
    add(*ring, "only", 2);
    marks.insert(mark_of(*ring));
  }
  EXPECT_EQ(marks.size(), 1U);
}

TEST(RingMarks, cover_the_seed_and_the_rules_by_which_keys_are_hashed) {
  std::set<uint64_t> marks;
  size_t rings = 0;
  const auto insert = [&](const RingOptions& options) {
    const std::shared_ptr<HashRing> ring = empty_ring(options);
    add(*ring, "a");
    add(*ring, "b");
    marks.insert(mark_of(*ring));
    ++rings;
  };
  for (const RingAlgorithm algorithm : {RingAlgorithm::kRing, RingAlgorithm::kSlots}) {
    insert(ring_options(algorithm, 100, 1));
    insert(ring_options(algorithm, 100, 2));
  }
  RingOptions ketama = ketama_options(KetamaDialect::kLibmemcached);
  insert(ketama);
  ketama.key_hash = KetamaKeyHash::kFnv1a64;  // the same points
  insert(ketama);
  ketama.format = 1;  // 42.0 is not 42
  insert(ketama);
  EXPECT_EQ(marks.size(), rings);
}

// Twice the weight and half the vnodes are the same points. A weight that changes no owner does not
// change the mark. Nor do ketama's dialects, if they give the same owners.
TEST(RingMarks, do_not_cover_what_changes_no_owner) {
  const std::shared_ptr<HashRing> ring = empty_ring(ring_options(RingAlgorithm::kRing, 100));
  const std::shared_ptr<HashRing> half = empty_ring(ring_options(RingAlgorithm::kRing, 50));
  const std::shared_ptr<HashRing> first = empty_ring(ketama_options(KetamaDialect::kLibketama));
  const std::shared_ptr<HashRing> second = empty_ring(ketama_options(KetamaDialect::kLibmemcached));
  const std::shared_ptr<HashRing> third = empty_ring(consistent_options());
  const std::shared_ptr<HashRing> fourth = empty_ring(consistent_options());
  for (const char* name : {"a:1", "b:1", "c:1"}) {
    add(*ring, name, 1);
    add(*half, name, 2);
    add(*first, name, 1);
    add(*second, name, 5);
    add(*third, name, 1);
    add(*fourth, name, 1 + (name[0] == 'b'));
  }
  EXPECT_EQ(mark_of(*ring), mark_of(*half));
  EXPECT_EQ(mark_of(*first), mark_of(*second));
  EXPECT_EQ(mark_of(*third), mark_of(*fourth));
}

// A point before another one of the same node decides nothing, except between two other nodes.
TEST(RingMarks, do_not_cover_points_within_a_run_of_one_owner) {
  int equal = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::shared_ptr<HashRing> one = empty_ring(ring_options(RingAlgorithm::kRing, 1, seed));
    const std::shared_ptr<HashRing> two = empty_ring(ring_options(RingAlgorithm::kRing, 1, seed));
    add(*one, "a", 1);
    add(*two, "a", 2);
    add(*one, "b", 1);
    add(*two, "b", 1);
    const bool same = owners_of(*one, 2000, 2) == owners_of(*two, 2000, 2);
    EXPECT_EQ(mark_of(*one) == mark_of(*two), same) << seed;
    equal += same ? 1 : 0;
  }
  EXPECT_GT(equal, 20);
  EXPECT_LT(equal, 180);
}

TEST(RingMarks, are_sixteen_hexadecimal_digits) {
  EXPECT_EQ(mark_text(0), "0000000000000000");
  EXPECT_EQ(mark_text(0x0123456789ABCDEF), "0123456789abcdef");
}

}  // namespace
}  // namespace ring_mark_test
}  // namespace cuckoo
