#include <cuckoo/hash_ring.hpp>

#include <atomic>
#include <cmath>
#include <set>

#include "core/base/digest.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/threads.hpp"

namespace library_hash_ring_test {
namespace {

using cuckoo::ErrorCode;
using cuckoo::HashRing;
using cuckoo::HashRingOptions;
using cuckoo::KetamaDialect;
using cuckoo::KetamaKeyHash;
using cuckoo::RingAlgorithm;
using cuckoo::RingMove;
using cuckoo::RingNode;

bool md5(std::span<const std::byte> bytes, std::span<std::byte, 16> digest) {
  cuckoo::Digester digester;
  const auto computed = digester.compute(cuckoo::DigestKind::kMd5, bytes);
  std::copy(computed.begin(), computed.end(), digest.begin());
  return !computed.empty();
}

struct Case {
  const char* name;
  HashRingOptions options;

  friend std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }
};

const Case kCases[] = {
    {"ring", {.vnodes = 100, .seed = 7}},
    {"slots", {.algorithm = RingAlgorithm::kSlots}},
    {"ketama", {.algorithm = RingAlgorithm::kKetama, .md5 = md5}},
    {"consistent",
     {.algorithm = RingAlgorithm::kKetama,
      .dialect = KetamaDialect::kConsistent,
      .key_hash = KetamaKeyHash::kFnv1a64,
      .md5 = md5}},
    {"text_keys", {.vnodes = 50, .text_keys = true}},
};

HashRing made(const HashRingOptions& options) { return must(HashRing::make(options)); }

std::vector<RingNode> nodes_named(int first, int end) {
  std::vector<RingNode> nodes;
  for (int i = first; i < end; ++i) {
    nodes.push_back({"10.0.0." + std::to_string(i) + ":11211", 1});
  }
  return nodes;
}

// The owners of random keys, which are always the same ones. FNV spreads only random keys evenly.
std::vector<std::string> owners_of(const HashRing& ring, int keys = 5000) {
  std::mt19937_64 random(1);
  std::vector<std::string> owners;
  for (int i = 0; i < keys; ++i) {
    owners.emplace_back(ring.owner(std::to_string(random())));
  }
  return owners;
}

class EveryHashRing : public testing::TestWithParam<Case> {
 protected:
  HashRing ring_ = made(GetParam().options);

  bool is_slots() const { return GetParam().options.algorithm == RingAlgorithm::kSlots; }
};

INSTANTIATE_EACH(Algorithms, EveryHashRing, kCases);

TEST_P(EveryHashRing, is_empty_at_first) {
  EXPECT_TRUE(ring_.empty());
  EXPECT_EQ(ring_.owner("apple"), "");
  EXPECT_TRUE(ring_.replicas("apple", 3).empty());
  EXPECT_TRUE(ring_.nodes().empty());
  EXPECT_FALSE(ring_.contains("a"));
  EXPECT_EQ(ring_.weight("a"), 0);
  EXPECT_EQ(ring_.share("a"), 0);
  EXPECT_TRUE(ring_.check().ok());
  EXPECT_EQ(ring_.mark_text().size(), 16U);
}

TEST_P(EveryHashRing, replicas_are_different_nodes_and_the_owner_is_the_first) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 12)).ok());
  for (int i = 0; i < 200; ++i) {
    const std::vector<std::string_view> three = ring_.replicas(i, 3);
    ASSERT_EQ(three.size(), 3U);
    EXPECT_EQ(three[0], ring_.owner(i));
    EXPECT_EQ(std::set<std::string_view>(three.begin(), three.end()).size(), 3U);
    const std::vector<std::string_view> all = ring_.replicas(i, SIZE_MAX);
    EXPECT_EQ(std::set<std::string_view>(all.begin(), all.end()).size(), 12U);
    EXPECT_TRUE(std::equal(three.begin(), three.end(), all.begin()));
    EXPECT_TRUE(ring_.replicas(i, 0).empty());
  }
}

TEST_P(EveryHashRing, changes_in_place_are_those_of_a_ring_made_anew) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 20)).ok());
  ASSERT_TRUE(ring_.set_weight("10.0.0.3:11211", 2.5).ok());
  ASSERT_TRUE(ring_.rename("10.0.0.4:11211", "four").ok());
  ASSERT_TRUE(ring_.remove("10.0.0.5:11211").value());
  ASSERT_TRUE(ring_.add("five", 0.5).ok());
  EXPECT_EQ(ring_.weight("10.0.0.3:11211"), 2.5);
  EXPECT_EQ(ring_.weight("four"), 1);
  EXPECT_FALSE(ring_.contains("10.0.0.4:11211"));
  HashRing anew = made(GetParam().options);
  ASSERT_TRUE(anew.add_all(ring_.nodes()).ok());
  if (is_slots()) {
    for (const RingNode& node : ring_.nodes()) {
      EXPECT_EQ(ring_.share(node.name), anew.share(node.name));
    }
  } else {
    EXPECT_EQ(owners_of(anew), owners_of(ring_));
    EXPECT_EQ(anew.mark(), ring_.mark());
  }
  EXPECT_TRUE(ring_.check().ok());
}

TEST_P(EveryHashRing, set_nodes_makes_them_the_nodes) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 20)).ok());
  std::vector<RingNode> nodes = nodes_named(5, 30);
  nodes[0].weight = 3;
  nodes[1].weight = 0.5;
  ASSERT_TRUE(ring_.set_nodes(nodes).ok());
  EXPECT_EQ(ring_.size(), nodes.size());
  for (const RingNode& node : nodes) {
    EXPECT_EQ(ring_.weight(node.name), node.weight);
  }
  const uint64_t mark = ring_.mark();
  std::reverse(nodes.begin(), nodes.end());
  ASSERT_TRUE(ring_.set_nodes(nodes).ok());
  EXPECT_EQ(ring_.mark(), mark);
  nodes.push_back(nodes[0]);
  EXPECT_EQ(ring_.set_nodes(nodes).error().code, ErrorCode::kInvalid);
  nodes.back() = {"light", 0};
  nodes[0].weight = 7;
  EXPECT_EQ(ring_.set_nodes(nodes).error().code, ErrorCode::kInvalid);
  EXPECT_EQ(ring_.mark(), mark);
  ASSERT_TRUE(ring_.set_nodes({}).ok());
  EXPECT_TRUE(ring_.empty());
  EXPECT_EQ(ring_.owner(1), "");
}

TEST_P(EveryHashRing, what_is_refused_changes_nothing) {
  ASSERT_TRUE(ring_.add_all({{"a"}, {"b", 2}}).ok());
  const uint64_t mark = ring_.mark();
  const auto refused = [&](const cuckoo::Status& status, const std::string& why) {
    EXPECT_TRUE(fails(status, ErrorCode::kInvalid, why));
    EXPECT_EQ(ring_.mark(), mark);
    EXPECT_EQ(ring_.size(), 2U);
    EXPECT_TRUE(ring_.check().ok());
  };
  refused(ring_.add("a"), "node \"a\": a node of that name is there already");
  refused(ring_.add(std::string_view("c\0d", 3)), "node \"c?d\": a node's name has no NUL");
  for (const double weight : {0.0, -1.0, std::nan(""), 1e300, HUGE_VAL}) {
    refused(ring_.add("c", weight), "weight");
    refused(ring_.set_weight("a", weight), "weight");
  }
  refused(ring_.set_weight("c", 1), "node \"c\": there is no node of that name");
  refused(ring_.rename("c", "d"), "there is no node");
  refused(ring_.rename("a", "b"), "there already");
  refused(ring_.add_all({{"c"}, {"d"}, {"a"}}), "node \"a\"");
  refused(ring_.add_all({{"c"}, {"c"}}), "node \"c\"");
}

// The name that owner() returned is a part of the ring, and the call changes this ring.
TEST_P(EveryHashRing, takes_its_own_names_as_arguments) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 5)).ok());
  const std::string first(ring_.owner(1));
  EXPECT_TRUE(ring_.set_weight(ring_.owner(1), 0.7).ok());
  EXPECT_EQ(ring_.weight(first), 0.7);
  EXPECT_FALSE(ring_.add(ring_.owner(1)).ok());
  EXPECT_TRUE(ring_.rename(ring_.owner(1), ring_.owner(1)).ok());
  EXPECT_TRUE(ring_.remove(ring_.owner(1)).value());
  EXPECT_EQ(ring_.size(), 4U);
  EXPECT_TRUE(ring_.set_nodes(ring_.nodes()).ok());
}

TEST_P(EveryHashRing, moves_are_what_keys_do) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 6)).ok());
  HashRing after = ring_;
  ASSERT_TRUE(after.remove("10.0.0.2:11211").value());
  ASSERT_TRUE(after.add("new").ok());
  // Its ids are others.
  HashRing same = HashRing::from_bytes(after.to_bytes().value(), md5).value();
  for (const HashRing* const to : {&after, &same}) {
    std::map<std::pair<std::string, std::string>, double> counted;
    const std::vector<std::string> owners_before = owners_of(ring_, 100'000);
    const std::vector<std::string> owners_after = owners_of(*to, 100'000);
    for (size_t i = 0; i < owners_before.size(); ++i) {
      counted[{owners_before[i], owners_after[i]}] += 1;
    }
    const auto moves = must(ring_.moves_to(*to));
    double moved = 0;
    for (const RingMove& move : moves) {
      EXPECT_NE(move.from, move.to);
      const double expected = move.share * 100'000;
      EXPECT_NEAR((counted[{move.from, move.to}]), expected, 5 * std::sqrt(expected) + 1);
      moved += move.share;
    }
    EXPECT_GE(moved, ring_.share("10.0.0.2:11211") - 1e-9);
    EXPECT_TRUE(
        std::is_sorted(moves.begin(), moves.end(),
                       [](const RingMove& a, const RingMove& b) { return a.from < b.from; }));
  }
  EXPECT_TRUE(ring_.moves_to(ring_).value().empty());
  const HashRing none = made(GetParam().options);
  const std::vector<RingMove> all = none.moves_to(ring_).value();
  EXPECT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0].from, "");
}

TEST(HashRing, has_no_moves_to_a_ring_of_other_keys) {
  HashRing ring = made({.seed = 1});
  for (const HashRingOptions& options :
       {HashRingOptions{.seed = 2}, HashRingOptions{.algorithm = RingAlgorithm::kSlots, .seed = 1},
        HashRingOptions{.seed = 1, .text_keys = true}}) {
    EXPECT_EQ(ring.moves_to(made(options)).error().code, ErrorCode::kInvalid);
  }
  EXPECT_EQ(ring.moves_to(HashRing()).error().code, ErrorCode::kInvalid);
  EXPECT_TRUE(ring.moves_to(made({.vnodes = 10, .seed = 1})).ok());
}

TEST_P(EveryHashRing, bytes_are_the_ring) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 9)).ok());
  ASSERT_TRUE(ring_.set_weight("10.0.0.3:11211", 2).ok());
  ASSERT_TRUE(ring_.add("").ok());
  const std::vector<std::byte> bytes = ring_.to_bytes().value();
  auto read = must(HashRing::from_bytes(bytes, md5));
  EXPECT_EQ(read.to_bytes().value(), bytes);
  EXPECT_EQ(read.mark(), ring_.mark());
  EXPECT_EQ(owners_of(read), owners_of(ring_));
  EXPECT_EQ(read.options().text_keys, GetParam().options.text_keys);
  EXPECT_EQ(read.options().algorithm, GetParam().options.algorithm);
  EXPECT_EQ(read.options().seed, GetParam().options.seed);
  ASSERT_TRUE(read.add("new").ok());
  ASSERT_TRUE(ring_.add("new").ok());
  EXPECT_EQ(owners_of(read), owners_of(ring_));
}

TEST_P(EveryHashRing, copies_are_apart) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 9)).ok());
  const std::vector<std::string> owners = owners_of(ring_);
  HashRing copy = ring_;
  ASSERT_TRUE(copy.remove("10.0.0.3:11211").value());
  EXPECT_EQ(owners_of(ring_), owners);
  const HashRing& self = copy;
  copy = self;
  EXPECT_EQ(copy.size(), 8U);
  copy = ring_;
  EXPECT_EQ(owners_of(copy), owners);
  copy = HashRing();
  EXPECT_TRUE(HashRing(copy).empty());
}

TEST_P(EveryHashRing, clear_takes_all_nodes_away) {
  const uint64_t mark = ring_.mark();
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 9)).ok());
  EXPECT_NE(ring_.mark(), mark);
  ASSERT_TRUE(ring_.clear().ok());
  EXPECT_EQ(ring_.mark(), mark);
  EXPECT_EQ(ring_.owner(1), "");
  ASSERT_TRUE(ring_.add("a").ok());
  EXPECT_EQ(ring_.owner(1), "a");
}

TEST_P(EveryHashRing, one_that_was_moved_from_has_no_nodes_and_takes_none) {
  ASSERT_TRUE(ring_.add("a").ok());
  const std::string_view owner = ring_.owner(1);
  HashRing to = std::move(ring_);
  EXPECT_EQ(owner, "a");  // still valid
  HashRing never_made;
  for (HashRing* const none : {&ring_, &never_made}) {
    EXPECT_EQ(none->owner(1), "");
    EXPECT_TRUE(none->replicas(1, 2).empty());
    EXPECT_TRUE(none->empty());
    EXPECT_TRUE(none->nodes().empty());
    EXPECT_FALSE(none->contains("a"));
    EXPECT_EQ(none->weight("a"), 0);
    EXPECT_EQ(none->share("a"), 0);
    EXPECT_EQ(none->mark(), 0U);
    EXPECT_EQ(none->mark_text(), "0000000000000000");
    EXPECT_EQ(none->options().vnodes, 1000U);
    EXPECT_TRUE(none->check().ok());
    for (const cuckoo::Status& status :
         {none->add("b"), none->set_weight("a", 2), none->rename("a", "b"), none->clear(),
          none->remove("a").take_status(), none->add_all(to.nodes()), none->set_nodes(to.nodes()),
          none->to_bytes().take_status(), none->moves_to(to).take_status()}) {
      EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
    }
  }
  ring_ = std::move(to);
  EXPECT_EQ(ring_.owner(1), "a");
}

TEST(HashRing, options_out_of_range_are_refused) {
  const auto why = [](const HashRingOptions& options) {
    return refusal_of(HashRing::make(options), ErrorCode::kInvalid);
  };
  const auto wrong_md5 = [](std::span<const std::byte>, std::span<std::byte, 16> digest) {
    std::fill(digest.begin(), digest.end(), std::byte{1});
    return true;
  };
  const auto no_md5 = [](std::span<const std::byte>, std::span<std::byte, 16>) { return false; };
  constexpr RingAlgorithm kKetama = RingAlgorithm::kKetama;
  EXPECT_EQ(why({.vnodes = 0}), "vnodes is 0, expected 1 to 100000");
  EXPECT_NE(why({.vnodes = 100'001}).find("100001"), std::string::npos);
  EXPECT_NE(why({.algorithm = static_cast<RingAlgorithm>(3)}).find("kSlots"), std::string::npos);
  EXPECT_EQ(why({.algorithm = kKetama}),
            "ketama needs MD5: give md5, which <cuckoo/openssl_md5.hpp> has");
  EXPECT_NE(why({.algorithm = kKetama, .md5 = no_md5}).find("can't"), std::string::npos);
  EXPECT_NE(why({.algorithm = kKetama, .md5 = wrong_md5}).find("else"), std::string::npos);
  for (const HashRingOptions& options :
       {HashRingOptions{.dialect = static_cast<KetamaDialect>(4), .md5 = md5},
        HashRingOptions{.key_hash = static_cast<KetamaKeyHash>(200), .md5 = md5},
        HashRingOptions{.key_hash = KetamaKeyHash::kFnv164, .md5 = md5}}) {
    HashRingOptions ketama = options;
    ketama.algorithm = kKetama;
    EXPECT_FALSE(why(ketama).empty());
  }
  const HashRing ketama = made({.algorithm = kKetama, .md5 = md5});
  EXPECT_EQ(HashRing::from_bytes(ketama.to_bytes().value()).error().code, ErrorCode::kInvalid);
}

TEST(HashRing, says_when_it_is_full) {
  HashRing ring = made({.vnodes = 100'000});
  std::vector<RingNode> nodes = nodes_named(0, 17);
  for (RingNode& node : nodes) {
    node.weight = 10;  // a million points
  }
  EXPECT_TRUE(fails(ring.add_all(nodes), ErrorCode::kFull, "10.0.0.16:11211"));
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(ring.add("small", 0.001).ok());
}

TEST(HashRing, keys_are_apart_by_their_kind_or_are_texts) {
  const auto differ = [](const HashRing& ring) {
    int differ = 0;
    for (int i = 0; i < 200; ++i) {
      differ += ring.owner(i) != ring.owner(std::to_string(i)) ? 1 : 0;
    }
    return differ;
  };
  HashRing ring = made({});
  HashRing ketama = made({.algorithm = RingAlgorithm::kKetama, .md5 = md5});
  HashRing texts = made({.text_keys = true});
  for (HashRing* const each : {&ring, &ketama, &texts}) {
    ASSERT_TRUE(each->add_all(nodes_named(0, 10)).ok());
  }
  EXPECT_GT(differ(ring), 150);
  EXPECT_EQ(differ(ketama), 0);
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(ring.owner(i), ring.owner(static_cast<double>(i)));
    EXPECT_EQ(ketama.owner(i), ketama.owner(static_cast<double>(i)));
    EXPECT_EQ(texts.owner(i), texts.owner(std::to_string(i)));
    EXPECT_EQ(texts.owner(static_cast<double>(i)), texts.owner(std::to_string(i) + ".0"));
  }
}

TEST_P(EveryHashRing, threads_ask_at_the_same_time) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 20)).ok());
  ASSERT_TRUE(ring_.add("new").ok());
  const HashRing& asked = ring_;
  const std::vector<std::string> owners = owners_of(asked, 500);
  const std::vector<std::byte> bytes = asked.to_bytes().value();
  const uint64_t mark = asked.mark();
  std::atomic<size_t> wrong{0};
  cuckoo::test::in_threads(4, [&](int) {
    wrong += owners_of(asked, 500) == owners ? 0 : 1;
    wrong += asked.to_bytes().value() == bytes && asked.mark() == mark ? 0 : 1;
    wrong += asked.replicas(1, 3).size() == 3 && asked.check().ok() ? 0 : 1;
    HashRing copy = asked;
    wrong += copy.remove("new").value() && asked.moves_to(copy).ok() ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0U);
}

// Memory runs out at each allocation in turn. A batch changes all or nothing; another change is
// made, or the ring is lost.
TEST_P(EveryHashRing, names_no_wrong_owner_when_memory_ran_out) {
  ASSERT_TRUE(ring_.add_all(nodes_named(0, 12)).ok());
  const uint64_t mark = ring_.mark();
  const auto run = [&](auto&& change, bool is_lost_then) {
    bool failed = true;
    size_t failures = 0;
    for (int64_t allowed = 0; failed; ++allowed) {
      HashRing ring = ring_;
      failed = cuckoo::runs_out_of_memory(allowed, [&] { (void)change(ring); });
      failures += failed ? 1 : 0;
      ASSERT_TRUE(ring.check().ok());
      if (!failed) {
        EXPECT_NE(ring.mark(), mark);
      } else if (is_lost_then && ring.mark() != mark) {
        EXPECT_TRUE(ring.empty());
        EXPECT_EQ(ring.owner(1), "");
        EXPECT_EQ(ring.add("a").error().code, ErrorCode::kInvalid);
      } else {
        EXPECT_EQ(ring.mark(), mark);
      }
      allowed += allowed / 10;
    }
    EXPECT_GT(failures, 0U);
  };
  run([](HashRing& ring) { return ring.add("a long name, for an allocation of its own"); }, true);
  run([](HashRing& ring) { return ring.remove("10.0.0.3:11211").take_status(); }, true);
  run([](HashRing& ring) { return ring.add_all({{"a"}, {"b", 2}}); }, false);
  run([](HashRing& ring) { return ring.set_nodes(nodes_named(3, 15)); }, false);
}

}  // namespace
}  // namespace library_hash_ring_test
