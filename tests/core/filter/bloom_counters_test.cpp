// The counting layout of core/filter/bloom_filter.hpp: core/filter/bloom_counters.cpp.
#include "tests/core/filter/bloom_samples.hpp"

namespace cuckoo::filter_bloom_counters_test {
namespace {

using Answer = Filter::Answer;

constexpr auto kCounting = FilterKind::kCountingBloom;

// The number of copies of each cell, without a limit.
class Model {
 public:
  explicit Model(const BloomFilter& filter) : filter_(filter) {}

  void insert(uint64_t hash, uint64_t copies) {
    for (const uint64_t cell : cells_of(filter_, hash)) {
      cells_[cell] += copies;
    }
  }
  bool remove(uint64_t hash) {
    if (count(hash) == 0) {
      return false;
    }
    for (const uint64_t cell : cells_of(filter_, hash)) {
      if (--cells_[cell] == 0) {
        cells_.erase(cell);
      }
    }
    return true;
  }
  uint64_t count(uint64_t hash) const {
    uint64_t least = ~uint64_t{0};
    for (const uint64_t cell : cells_of(filter_, hash)) {
      const auto held = cells_.find(cell);
      least = std::min(least, held == cells_.end() ? 0 : held->second);
    }
    return least;
  }
  // Every counter and every overflow entry agrees with the copies in the model.
  void expect_same(const std::string& what) const {
    std::vector<OverflowTable::CellCount> overflow;
    for (uint64_t cell = 0; cell < filter_.geometry().cells(); ++cell) {
      const auto held = cells_.find(cell);
      const uint64_t copies = held == cells_.end() ? 0 : held->second;
      ASSERT_EQ(filter_.copies(cell), copies) << what << ", cell " << cell;
      const uint64_t page = filter_.page_of(cell);
      const uint64_t in_page = cell - page * filter_.geometry().cells_per_page();
      const auto byte = static_cast<unsigned>(filter_.pages().find(page)[in_page / 2]);
      ASSERT_EQ((byte >> (in_page % 2 * 4)) & 15, std::min<uint64_t>(copies, 15)) << what;
      if (copies > 14) {
        overflow.push_back({cell, copies - 14});
      }
    }
    ASSERT_EQ(filter_.overflow().counts(), overflow) << what;
    ASSERT_EQ(filter_.occupied(), cells_.size()) << what;
    expect_good(filter_, what);
  }

 private:
  const BloomFilter& filter_;
  std::map<uint64_t, uint64_t> cells_;
};

// The test inserts many copies into few cells: singly, by a builder and in batches. It removes
// hashes that are there and hashes that are not.
TEST(CountingBloom, I4_behaves_as_a_map_of_copies) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const uint64_t cells = seed % 5 == 0 ? 7 : 40 + seed * 13;
    const auto hashes = static_cast<uint32_t>(1 + seed % 9);
    const auto filter = whole_filter({kCounting, cells, hashes, 64});
    Model model(*filter);
    std::mt19937_64 random(seed);
    const std::string what = "seed " + std::to_string(seed);
    for (int step = 0; step < 600; ++step) {
      const uint64_t hash = nth_hash(seed, random() % 12);
      const uint64_t copies = random() % 10 == 0 ? 1 + random() % 5000 : 1 + random() % 3;
      const bool present = model.count(hash) != 0;
      switch (random() % 5) {
        case 0:
          ASSERT_EQ(filter->insert(hash), present) << what;
          model.insert(hash, 1);
          break;
        case 1: {
          const std::unique_ptr<FilterBuilder> builder = filter->builder(1, Filter::Digest::kSum);
          builder->insert(hash, copies);
          builder->insert(nth_hash(seed, 3), 1);
          builder->finish();
          model.insert(hash, copies);
          model.insert(nth_hash(seed, 3), 1);
          break;
        }
        case 2: {
          const std::vector<uint64_t> batch(1 + copies % 40, hash);
          const uint64_t found = filter->insert_batch(batch);
          ASSERT_EQ(found, batch.size() - (present ? 0 : 1)) << what;
          model.insert(hash, batch.size());
          break;
        }
        default:
          for (uint64_t i = 0; i < copies; ++i) {
            ASSERT_EQ(filter->remove(hash), model.remove(hash)) << what;
          }
      }
      for (uint64_t i = 0; i < 15; ++i) {
        const uint64_t asked = nth_hash(seed, i);
        ASSERT_EQ(filter->count(asked), model.count(asked)) << what;
        ASSERT_EQ(filter->probe(asked) == Answer::kPresent, model.count(asked) != 0) << what;
      }
      if (step % 20 == 0) {
        model.expect_same(what);
      }
    }
    model.expect_same(what);
  }
}

TEST(CountingBloom, a_page_is_dirty_only_when_it_changed) {
  const BloomGeometry geometry = sized(kCounting, 5000, 0.001, 64);
  const auto filter = whole_filter(geometry);
  const uint64_t hash = nth_hash(1, 1);
  const auto pages = [&] {
    std::vector<uint64_t> dirty = filter->pages().dirty();
    std::sort(dirty.begin(), dirty.end());
    filter->pages().clear_dirty();
    return dirty;
  };
  std::vector<uint64_t> expected;
  for (const uint64_t cell : cells_of(*filter, hash)) {
    expected.push_back(filter->page_of(cell));
  }
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  filter->insert(hash);
  EXPECT_EQ(pages(), expected);
  filter->remove(hash);
  EXPECT_EQ(pages(), expected);
}

TEST(CountingBloom, unite_adds_counters_and_their_overflow) {
  const BloomGeometry geometry = sized(kCounting, 200, 0.05, 64);
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const auto one = whole_filter(geometry);
    const auto other = whole_filter(geometry);
    const auto both = whole_filter(geometry);
    for (uint64_t i = 0; i < 100; ++i) {
      const std::vector<uint64_t> copies(random() % (i % 10 == 0 ? 60 : 9),
                                         nth_hash(1, random() % 80));
      (i % 2 == 0 ? one : other)->insert_batch(copies);
      both->insert_batch(copies);
    }
    ASSERT_TRUE(one->unite(*other).ok());
    EXPECT_EQ(image(*one), image(*both));
    EXPECT_EQ(one->overflow().counts(), both->overflow().counts());
    EXPECT_EQ(one->occupied(), both->occupied());
    expect_good(*one);
    // A filter that is united with itself holds everything twice.
    ASSERT_TRUE(other->unite(*other).ok());
    expect_good(*other);
    for (uint64_t i = 0; i < 80; ++i) {
      ASSERT_EQ(other->count(nth_hash(1, i)) % 2, 0u);
    }
  }
}

TEST(CountingBloom, unite_refuses_copies_beyond_all_bounds) {
  const BloomGeometry geometry{kCounting, 100, 1, 64};
  const auto one = whole_filter(geometry);
  const auto other = whole_filter(geometry);
  other->builder(1, Filter::Digest::kNone)->insert(nth_hash(1, 1), (uint64_t{1} << 62) + 100);
  EXPECT_TRUE(fails(one->unite(*other), ErrorCode::kInvalid, "counts more than 2^62 copies"));
  EXPECT_EQ(one->occupied(), 0u);
  EXPECT_TRUE(one->overflow().empty());
}

TEST(CountingBloom, I4_check_wants_one_overflow_entry_for_each_counter_of_15) {
  const BloomGeometry geometry{kCounting, 200, 3, 64};
  const auto filter = whole_filter(geometry);
  filter->insert_batch(std::vector<uint64_t>(20, nth_hash(1, 1)));
  expect_good(*filter);
  const uint64_t cell = cells_of(*filter, nth_hash(1, 1))[0];
  const uint64_t stranger = cell == 0 ? 1 : cell - 1;
  filter->overflow().add(stranger);
  EXPECT_EQ(message_of(filter->check()),
            "overflow cell " + std::to_string(stranger) + " has a counter of " +
                std::to_string(filter->copies(stranger)) + ", expected 15");
  filter->overflow().remove(stranger);
  filter->overflow().add(200);
  EXPECT_EQ(message_of(filter->check()),
            "overflow cell 200 is out of range, expected less than 200");
  filter->overflow().remove(200);
  expect_good(*filter);
  while (filter->overflow().remove(cell)) {
  }
  EXPECT_EQ(message_of(filter->check()), "3 counters are 15, expected 2, one per overflow cell");
  // The damaged filter still removes and counts.
  EXPECT_TRUE(filter->remove(nth_hash(1, 1)));
  EXPECT_GT(filter->count(nth_hash(1, 1)), 10u);
  const auto plain = whole_filter({FilterKind::kBloom, 200, 3, 64});
  plain->overflow().add(5);
  EXPECT_EQ(message_of(plain->check()), "overflow cell 5 is out of range, expected less than 0");
}

}  // namespace
}  // namespace cuckoo::filter_bloom_counters_test
