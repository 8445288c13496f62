// SlotCache against std::multimap, its memory, its loads, and what happens when memory runs out.
#include "core/flash/slot_cache.hpp"

#include "tests/support/allocations.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/share.hpp"

namespace cuckoo {

namespace core {

// Plants damage.
class SlotCacheTestPeer {
 public:
  explicit SlotCacheTestPeer(SlotCache& cache) : cache_(cache) {}

  // The first slot that is empty, or the first that is in use.
  uint64_t slot(bool empty) const {
    uint64_t i = 0;
    while ((cache_.table_.slots[i].position == 0) != empty) {
      ++i;
    }
    return i;
  }
  void set(uint64_t slot, uint32_t hash, uint32_t position) {
    cache_.table_.slots[slot] = {hash, position};
  }
  uint32_t hash(uint64_t slot) const { return cache_.table_.slots[slot].hash; }
  uint32_t position(uint64_t slot) const { return cache_.table_.slots[slot].position; }
  void stash(uint32_t hash, uint32_t position) {
    cache_.stash_.insert(SlotCache::packed(hash, position));
  }
  bool may_stand_in(uint32_t hash, uint64_t slot) const {
    const auto buckets = cache_.buckets_of(hash, cache_.table_.buckets);
    const uint64_t bucket = slot / cache_.options_.ways;
    return std::count(buckets.at, buckets.at + cache_.options_.hashes, bucket) != 0;
  }
  bool starts_at_a_cache_line() const {
    return reinterpret_cast<uintptr_t>(cache_.table_.slots) % 64 == 0;
  }

 private:
  SlotCache& cache_;
};

}  // namespace core

namespace flash_slot_cache_test {
namespace {

using Model = std::multimap<uint32_t, uint32_t>;

uint32_t nth_hash(uint64_t i) { return static_cast<uint32_t>(nth_word(0, i)); }

// The entries first … last, each with its own hash.
void insert_each(SlotCache& cache, uint32_t first, uint32_t last) {
  for (uint32_t i = first; i <= last; ++i) {
    cache.insert(nth_hash(i), i);
  }
}
// The entries 1 … last, all with one hash.
void insert_equal(SlotCache& cache, uint32_t hash, uint32_t last) {
  for (uint32_t position = 1; position <= last; ++position) {
    cache.insert(hash, position);
  }
}

std::vector<uint32_t> positions(const SlotCache& cache, uint32_t hash) {
  std::vector<uint32_t> found;
  EXPECT_FALSE(cache.find(hash, [&](uint32_t position) {
    found.push_back(position);
    return false;
  }));
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<uint32_t> positions(const Model& model, uint32_t hash) {
  std::vector<uint32_t> found;
  for (auto [at, end] = model.equal_range(hash); at != end; ++at) {
    found.push_back(at->second);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::pair<uint32_t, uint32_t>> pairs(const SlotCache& cache) {
  std::vector<std::pair<uint32_t, uint32_t>> all;
  cache.for_each([&](uint32_t hash, uint32_t position) { all.emplace_back(hash, position); });
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<std::pair<uint32_t, uint32_t>> pairs(const Model& model) {
  std::vector<std::pair<uint32_t, uint32_t>> all(model.begin(), model.end());
  std::sort(all.begin(), all.end());
  return all;
}

Model::iterator find_pair(Model& model, uint32_t hash, uint32_t position) {
  auto [at, end] = model.equal_range(hash);
  while (at != end && at->second != position) {
    ++at;
  }
  return at == end ? model.end() : at;
}

// ---- the same as a multimap, for every configuration

class EachShape : public ::testing::TestWithParam<std::pair<unsigned, unsigned>> {
 protected:
  SlotCacheOptions options(uint64_t seed) const {
    return {GetParam().first, GetParam().second, seed};
  }
};

std::vector<std::pair<unsigned, unsigned>> all_shapes() {
  std::vector<std::pair<unsigned, unsigned>> shapes;
  for (unsigned hashes = 2; hashes <= 4; ++hashes) {
    for (unsigned ways = 1; ways <= 8; ++ways) {
      shapes.emplace_back(hashes, ways);
    }
  }
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(Shapes, EachShape, ::testing::ValuesIn(all_shapes()),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "x" +
                                  std::to_string(info.param.second);
                         });

// One random call on both, with the same answer. Few hashes, so that many entries share one.
void step(SlotCache& cache, Model& model, std::mt19937_64& random, uint32_t& next_position,
          uint64_t hashes, uint64_t insert_percent) {
  const auto hash = static_cast<uint32_t>(random() % 2 == 0 ? random() % 3 : random() % hashes);
  if (random() % 100 < insert_percent) {
    cache.insert(hash, ++next_position);
    model.emplace(hash, next_position);
    return;
  }
  const std::vector<uint32_t> there = positions(model, hash);
  const uint32_t position = there.empty() ? 1 : there[random() % there.size()];
  const auto found = find_pair(model, hash, position);
  ASSERT_EQ(cache.contains(hash, position), found != model.end());
  if (random() % 3 == 0) {
    ASSERT_EQ(cache.replace(hash, position, ++next_position), found != model.end());
    if (found != model.end()) {
      found->second = next_position;
    }
  } else {
    ASSERT_EQ(cache.remove(hash, position), found != model.end());
    if (found != model.end()) {
      model.erase(found);
    }
  }
}

TEST_P(EachShape, behaves_as_a_multimap) {
  for (const uint64_t hashes : {8, 300, 1 << 30}) {
    SCOPED_TRACE("of " + std::to_string(hashes) + " hashes");
    std::mt19937_64 random(hashes + GetParam().first * 8 + GetParam().second);
    SlotCache cache(options(random()));
    Model model;
    uint32_t next_position = 0;
    for (int i = 0; i < 6000; ++i) {
      const uint64_t insert_percent = i / 1000 % 3 == 2 ? 20 : 75;
      ASSERT_NO_FATAL_FAILURE(step(cache, model, random, next_position, hashes, insert_percent));
      ASSERT_EQ(cache.size(), model.size());
      if (i % 500 == 0) {
        expect_good(cache);
        ASSERT_EQ(pairs(cache), pairs(model));
        for (uint32_t hash = 0; hash < 10; ++hash) {
          ASSERT_EQ(positions(cache, hash), positions(model, hash));
        }
      }
    }
    cache.clear();
    expect_good(cache);
    EXPECT_EQ(cache.size(), 0u);
    EXPECT_TRUE(pairs(cache).empty());
  }
}

TEST_P(EachShape, reaches_nearly_the_proved_load) {
  SlotCache cache(options(1));
  cache.reserve(20'000);
  uint32_t inserted = 0;
  while (cache.expansions() == 0 && cache.stash_size() == 0) {
    cache.insert(nth_hash(inserted), inserted + 1);
    ++inserted;
  }
  const double load = cache.expansions() > 0 ? cache.load_at_last_expansion() : cache.load_factor();
  const double limit = cache.options().load_limit();
  EXPECT_GE(load, limit * (limit > 0.5 ? 0.97 : 0.85));
  EXPECT_LE(load, limit + 0.03);  // at 20,000 entries luck is worth that much
  expect_good(cache);
}

TEST_P(EachShape, grows_without_losing_anything) {
  SlotCache cache(options(2));
  constexpr uint32_t kCount = 5000;
  insert_each(cache, 1, kCount);
  EXPECT_GE(cache.expansions(), 10u);
  EXPECT_GT(cache.relocations(), 0u);
  EXPECT_LE(cache.stash_size(), 10u);
  for (uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(cache.contains(nth_hash(i), i));
    ASSERT_FALSE(cache.contains(nth_hash(i), i + 1));
  }
  expect_good(cache);
}

TEST_P(EachShape, takes_many_at_once) {
  SlotCache cache(options(3));
  SlotCache other(options(3));
  std::vector<std::pair<uint32_t, uint32_t>> entries;  // (position, hash)
  for (uint32_t i = 0; i < 3000; ++i) {
    const uint32_t hash = i % 100 == 0 ? 5 : nth_hash(i);  // some more than fit their buckets
    entries.emplace_back(i + 1, hash);
    other.insert(hash, i + 1);
  }
  cache.insert_all(std::span(entries).first(1000));
  cache.insert_all(std::span(entries).subspan(1000));
  cache.insert_all({});
  EXPECT_EQ(pairs(cache), pairs(other));
  EXPECT_EQ(cache.expansions(), 0U);
  expect_good(cache);
}

// ---- find

TEST(SlotCache, find_stops_when_visit_says_so) {
  SlotCache cache({});
  insert_equal(cache, 7, 20);
  EXPECT_GT(cache.stash_size(), 0u);
  for (unsigned stop = 1; stop <= 20; ++stop) {
    unsigned visits = 0;
    EXPECT_TRUE(cache.find(7, [&](uint32_t) { return ++visits == stop; }));
    EXPECT_EQ(visits, stop);
  }
  EXPECT_FALSE(cache.find(8, [](uint32_t) { return true; }));
}

TEST(SlotCache, an_empty_slot_is_not_an_entry_of_hash_zero) {
  SlotCache cache({});
  EXPECT_FALSE(cache.find(0, [](uint32_t) { return true; }));
  EXPECT_FALSE(cache.contains(0, 0));
  EXPECT_FALSE(cache.remove(0, 0));
  EXPECT_FALSE(cache.replace(0, 0, 1));
  cache.insert(0, 5);
  EXPECT_EQ(positions(cache, 0), std::vector<uint32_t>{5});
}

TEST(SlotCache, takes_the_largest_hash_and_position) {
  SlotCache cache({});
  cache.insert(~0u, ~0u);
  insert_equal(cache, ~0u, 30);
  EXPECT_TRUE(cache.contains(~0u, ~0u));
  EXPECT_EQ(positions(cache, ~0u).size(), 31u);
  expect_good(cache);
}

// ---- equal hashes

TEST(SlotCache, a_hundred_thousand_equal_hashes_cost_no_growth_and_no_square_of_time) {
  SlotCache cache({});
  constexpr uint32_t kCount = 100'000;
  insert_equal(cache, 42, kCount);
  EXPECT_EQ(cache.expansions(), 0u);
  EXPECT_EQ(cache.stash_size(), kCount - 8);
  for (uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(cache.contains(42, i));
    ASSERT_TRUE(cache.replace(42, i, kCount + i));
  }
  expect_good(cache);
  insert_each(cache, 1, 1000);  // growth with such a stash
  EXPECT_GT(cache.expansions(), 0u);
  for (uint32_t i = 1; i <= kCount; ++i) {
    ASSERT_TRUE(cache.remove(42, kCount + i));
  }
  EXPECT_EQ(cache.size(), 1000u);
  EXPECT_EQ(cache.stash_size(), 0u);
  expect_good(cache);
}

TEST(SlotCache, equal_hashes_grow_no_full_table_either) {
  SlotCache cache({});
  uint32_t i = 0;
  for (; cache.expansions() < 20; ++i) {
    cache.insert(nth_hash(i), i + 1);
  }
  for (; cache.load_factor() < 0.9; ++i) {
    cache.insert(nth_hash(i), i + 1);
  }
  insert_equal(cache, 42, 1000);
  EXPECT_LE(cache.expansions(), 21u);
  EXPECT_GE(cache.stash_size(), 990u);
  expect_good(cache);
}

TEST(SlotCache, a_removal_calls_an_equal_hash_back_from_the_stash) {
  SlotCache cache({});
  insert_equal(cache, 9, 10);
  ASSERT_EQ(cache.stash_size(), 2u);
  EXPECT_TRUE(cache.remove(9, 1));
  EXPECT_EQ(cache.stash_size(), 1u);
  EXPECT_EQ(positions(cache, 9), (std::vector<uint32_t>{2, 3, 4, 5, 6, 7, 8, 9, 10}));
  expect_good(cache);
}

// ---- memory

TEST(SlotCache, a_growing_2x4_cache_is_full_before_it_grows_and_takes_9_5_bytes_an_entry) {
  const uint64_t seeds = test::share(3);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SlotCache cache({2, 4, seed});
    constexpr uint32_t kCount = 1'000'000;
    double bytes_per_entry = 0;
    uint64_t expansions = 0;
    for (uint32_t i = 1; i <= kCount; ++i) {
      cache.insert(nth_hash(i), i);
      if (i >= 1000) {
        bytes_per_entry += static_cast<double>(cache.memory_bytes()) / i;
        if (expansions != cache.expansions()) {
          ASSERT_GE(cache.load_at_last_expansion(), 0.95);
        }
      }
      expansions = cache.expansions();
    }
    EXPECT_LE(bytes_per_entry / (kCount - 999), 9.5);
    EXPECT_EQ(cache.stash_size(), 0u);
    expect_good(cache);
  }
}

TEST(SlotCache, buckets_start_at_a_cache_line) {
  for (unsigned ways = 1; ways <= 8; ++ways) {
    SlotCache cache({2, ways, 0});
    for (uint32_t i = 0; i < 1000; ++i) {
      cache.insert(nth_hash(i), i + 1);
      ASSERT_TRUE(SlotCacheTestPeer(cache).starts_at_a_cache_line());
    }
  }
}

// Shapes with the fewest places for an entry find a path the least often.
TEST(SlotCache, reserve_makes_room_whatever_the_shape) {
  constexpr uint32_t kEntries = 300'000;
  constexpr unsigned kShapes[][2] = {{2, 1}, {2, 2}, {2, 3}, {2, 4}, {3, 1}, {3, 2}, {4, 1}};
  for (const auto& [hashes, ways] : kShapes) {
    SCOPED_TRACE(std::to_string(hashes) + " hashes, " + std::to_string(ways) + " ways");
    SlotCache cache({hashes, ways, 1});
    cache.reserve(kEntries);
    insert_each(cache, 1, kEntries);
    EXPECT_EQ(cache.expansions(), 0u);
  }
}

TEST(SlotCache, reserve_makes_room_and_never_shrinks) {
  SlotCache cache({});
  cache.insert(1, 1);
  cache.reserve(50'000);
  const uint64_t slots = cache.slots();
  EXPECT_GE(slots, 50'000u);
  EXPECT_LE(slots, 53'000u);
  cache.reserve(10);
  EXPECT_EQ(cache.slots(), slots);
  insert_each(cache, 2, 50'000);
  EXPECT_EQ(cache.expansions(), 0u);
  EXPECT_EQ(cache.slots(), slots);
  cache.clear();
  EXPECT_EQ(cache.slots(), slots);
  EXPECT_EQ(cache.load_factor(), 0);
}

TEST(SlotCache, a_moved_cache_keeps_its_entries) {
  SlotCache cache({});
  cache.insert(3, 4);
  SlotCache other(std::move(cache));
  EXPECT_TRUE(other.contains(3, 4));
  cache = SlotCache({});
  EXPECT_FALSE(cache.contains(3, 4));
  cache.insert(5, 6);
  EXPECT_TRUE(cache.contains(5, 6));
}

TEST(SlotCache, a_copy_has_the_same_entries_and_a_life_of_its_own) {
  SlotCache cache({});
  std::vector<std::pair<uint32_t, uint32_t>> entries;
  for (uint32_t i = 1; i <= 3000; ++i) {
    entries.emplace_back(i, i < 20 ? 7 : i * 31);  // some in the stash
  }
  cache.insert_all(entries);
  ASSERT_GT(cache.stash_size(), 0u);
  SlotCache copy = cache.copy();
  EXPECT_TRUE(copy.contains_all(entries));
  EXPECT_EQ(copy.size(), 3000u);
  expect_good(copy);
  EXPECT_TRUE(copy.remove(7, 3));
  EXPECT_FALSE(copy.contains_all(entries));
  EXPECT_TRUE(cache.contains_all(entries));
}

TEST(SlotCache, seeds_give_different_places) {
  SlotCache one({2, 4, 1});
  SlotCache two({2, 4, 2});
  for (uint32_t i = 1; i <= 20; ++i) {
    one.insert(nth_hash(i), i);
    two.insert(nth_hash(i), i);
  }
  std::vector<uint32_t> order[2];
  one.for_each([&](uint32_t hash, uint32_t) { order[0].push_back(hash); });
  two.for_each([&](uint32_t hash, uint32_t) { order[1].push_back(hash); });
  EXPECT_NE(order[0], order[1]);
  EXPECT_EQ(pairs(one), pairs(two));
}

// Every allocation of every insert fails once.
TEST(SlotCache, I5_an_insert_without_memory_changes_no_entry) {
  SlotCache cache({2, 2, 1});
  Model model;
  unsigned failures = 0;
  for (uint32_t i = 1; i <= 600; ++i) {
    const uint32_t hash = i % 4 == 0 ? 1 : nth_hash(i);
    for (int64_t left = 0; runs_out_of_memory(left, [&] { cache.insert(hash, i); }); ++left) {
      ++failures;
      expect_good(cache);
      ASSERT_EQ(pairs(cache), pairs(model));
    }
    model.emplace(hash, i);
  }
  EXPECT_GT(failures, 150u);
  EXPECT_GT(cache.expansions(), 5u);

  const uint64_t slots = cache.slots();
  for (int64_t left = 0; cache.slots() == slots; ++left) {
    (void)runs_out_of_memory(left, [&] { cache.reserve(5000); });
    expect_good(cache);
    ASSERT_EQ(pairs(cache), pairs(model));
  }
}

TEST(SlotCache, removing_and_replacing_need_no_memory) {
  SlotCache cache({});
  insert_equal(cache, 1, 100);
  allocations_left = 0;
  bool all = true;
  for (uint32_t i = 1; i <= 100; ++i) {
    all = all && cache.replace(1, i, 100 + i) && cache.contains(1, 100 + i);
  }
  for (uint32_t i = 1; i <= 50; ++i) {
    all = all && cache.remove(1, 100 + i);
  }
  cache.clear();
  allocations_left = -1;
  EXPECT_TRUE(all);
  expect_good(cache);
}

// ---- check

class Damage : public ::testing::Test {
 protected:
  Damage() {
    insert_each(cache_, 1, 20);
    expect_good(cache_);
  }
  void expect_found(const std::string& text) {
    EXPECT_TRUE(fails(cache_.check(), ErrorCode::kCorrupt, text));
  }

  SlotCache cache_{{2, 4, 1}};
  SlotCacheTestPeer peer_{cache_};
};

TEST_F(Damage, I1_hash_in_an_empty_slot) {
  peer_.set(peer_.slot(true), 5, 0);
  expect_found("expected both 0");
}

TEST_F(Damage, I2_entry_in_a_bucket_that_is_not_its_own) {
  const uint64_t from = peer_.slot(false);
  uint32_t hash = 1;
  while (peer_.may_stand_in(hash, from)) {
    ++hash;
  }
  peer_.set(from, hash, 1);
  expect_found("expected one of its buckets");
}

TEST_F(Damage, I4_entry_there_twice) {
  const uint64_t from = peer_.slot(false);
  peer_.set(from ^ 1, peer_.hash(from), peer_.position(from));
  expect_found("there twice");
}

TEST_F(Damage, I3_entry_lost) {
  peer_.set(peer_.slot(false), 0, 0);
  expect_found("19 slots hold an entry, expected 20");
}

TEST_F(Damage, I1_stash_entry_without_a_position) {
  peer_.stash(3, 0);
  expect_found("the stash holds (3, 0)");
}

TEST_F(Damage, I4_stash_entry_that_is_in_a_slot) {
  const uint64_t from = peer_.slot(false);
  peer_.stash(peer_.hash(from), peer_.position(from));
  expect_found("there twice");
}

TEST(SlotCache, each_slot_that_can_be_drawn_holds_an_entry_of_its_bucket) {
  SlotCache cache(SlotCacheOptions{.hashes = 3, .ways = 2, .seed = 5});
  std::mt19937 random(11);
  std::map<uint32_t, uint32_t> expected;  // position -> hash
  for (uint32_t position = 1; position <= 500; ++position) {
    const auto hash = static_cast<uint32_t>(random());
    cache.insert(hash, position);
    expected[position] = hash;
  }
  uint64_t taken = 0;
  for (uint64_t slot = 0; slot < cache.slots(); ++slot) {
    const SlotCache::Entry entry = cache.at(slot);
    if (entry.position == 0) {
      continue;
    }
    ++taken;
    EXPECT_EQ(expected.at(entry.position), entry.hash);
    const std::vector<uint32_t> buckets = cache.buckets_of(entry.hash);
    EXPECT_EQ(buckets.size(), 3u);
    EXPECT_NE(std::find(buckets.begin(), buckets.end(), slot / 2), buckets.end()) << slot;
  }
  EXPECT_EQ(taken + cache.stash_size(), 500u);
}

}  // namespace
}  // namespace flash_slot_cache_test
}  // namespace cuckoo
