#include "core/segments/filter_file.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/model_seeds.hpp"

namespace cuckoo::segments {
namespace {

using test::MemoryBlocks;
using test::message_of;
using test::nth_word;

// A random life of a filter: three connections on one storage, one of which does each transaction.
class Life {
 public:
  Life(FilterKind kind, uint64_t seed, bool asks) : seed_(seed), asks_(asks) {
    constexpr uint64_t kCapacities[] = {1, 10, 1000, 5000, 40000};
    constexpr double kRates[] = {0.25, 0.01, 0.001, 1e-6};
    constexpr uint32_t kPageBytes[] = {64, 128, 448, 4032};
    options_.spec.kind = kind;
    options_.capacity = kCapacities[random(5)];
    options_.spec.rate = kRates[random(4)];
    options_.growth = random(4) != 0;
    options_.width = random(2) == 0 ? HashWidth::k47Bits : HashWidth::k63Bits;
    options_.page_bytes = kPageBytes[random(4)];
    options_.seed = nth_word(seed, 1 << 30);
    options_.digest = nth_word(seed, 1 << 29);
    distinct_ = options_.growth ? 50 + random(60000) : 2 + random(options_.capacity * 2);
  }

  void run() {
    for (auto& connection : connections_) {
      connection = std::make_unique<FilterFile>(options_, storage_);
    }
    ASSERT_TRUE(connections_[0]->create().ok());
    ASSERT_TRUE(connections_[0]->flush().ok());
    const uint64_t transactions = 5 + random(25);
    for (uint64_t i = 0; i < transactions && !::testing::Test::HasFailure(); ++i) {
      transaction();
    }
  }
  const MemoryBlocks::Rows& rows() const { return storage_.rows; }
  std::string description() const {
    return test::name_of(options_.spec.kind) + ", capacity " + std::to_string(options_.capacity) +
           ", rate " + std::to_string(options_.spec.rate) + (options_.growth ? ", growth" : "") +
           ", page " + std::to_string(options_.page_bytes) + ", width " +
           std::to_string(static_cast<int>(options_.width)) + ", seed " + std::to_string(seed_);
  }

 private:
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  uint64_t hash_of(uint64_t i) const {
    return logged_hash(nth_word(seed_ ^ 0xABCDEF, i), options_.width);
  }
  bool multiset() const { return options_.multiset(); }

  void transaction() {
    FilterFile& file = *connections_[random(3)];
    const Status fresh = file.refresh();
    ASSERT_TRUE(fresh.ok()) << message_of(fresh);
    if (multiset()) {
      ASSERT_EQ(file.items(), items_);
    } else {
      ASSERT_EQ(file.items(), known_items_);
    }
    expect_same(file, 50);
    const auto rows = storage_.rows;
    const auto before = counts_;
    const uint64_t items = items_;
    constexpr uint64_t kBursts[] = {1, 30, 500, 5000, 40000};
    const uint64_t burst = 1 + random(kBursts[random(5)]);
    const uint64_t removes = random(3);  // of ten changes
    for (uint64_t i = 0; i < burst && !::testing::Test::HasFailure(); ++i) {
      change(file, random(10) < removes && multiset());
      if (random(2000) == 0) {
        ASSERT_TRUE(file.flush().ok());  // a savepoint
      }
    }
    if (random(6) == 0) {  // rolled back
      storage_.rows = rows;
      counts_ = before;
      items_ = items;
      file.forget();
      return;
    }
    const Status loaded = file.finish_load();
    ASSERT_TRUE(loaded.ok()) << message_of(loaded);
    const Status flushed = file.flush();
    ASSERT_TRUE(flushed.ok()) << message_of(flushed);
    file.committed();
    known_items_ = file.items();
    expect_same(file, 50);
    if (random(3) == 0) {
      const Status checked = file.check();
      ASSERT_TRUE(checked.ok()) << message_of(checked);
    }
    FilterFile opened(options_, storage_);
    const Status reopened = opened.refresh();
    ASSERT_TRUE(reopened.ok()) << message_of(reopened);
    ASSERT_EQ(opened.items(), file.items());
    expect_same(opened, 20);
  }

  void change(FilterFile& file, bool remove) {
    const uint64_t hash = hash_of(random(distinct_));
    if (remove) {
      auto owned = counts_.find(hash);
      if (owned == counts_.end()) {
        return;
      }
      const Result<bool> removed = file.remove(hash);
      ASSERT_TRUE(removed.ok()) << removed.error().message;
      ASSERT_TRUE(removed.value()) << "S6";
      --items_;
      if (--owned->second == 0) {
        counts_.erase(owned);
      }
      return;
    }
    const Status added = file.insert(hash);
    if (!added.ok()) {
      ASSERT_EQ(added.error().code, ErrorCode::kFull) << message_of(added);
      ASSERT_FALSE(options_.growth);
      return;
    }
    ++items_;
    ++counts_[hash];
    if (asks_ && random_ask() % 20 == 0) {
      const Result<bool> there = file.load_and_probe(hash);
      ASSERT_TRUE(there.ok() && there.value()) << "S6";
    }
  }
  uint64_t random_ask() { return nth_word(seed_ + 5, asked_++); }

  void expect_same(FilterFile& file, uint64_t samples) {
    for (uint64_t i = 0; i < samples; ++i) {
      const uint64_t hash = hash_of(nth_word(seed_ + 77, asked_++) % distinct_);
      const auto found = counts_.find(hash);
      if (found == counts_.end()) {
        continue;
      }
      const Result<uint64_t> count = file.count(hash);
      ASSERT_TRUE(count.ok()) << count.error().message;
      ASSERT_GE(count.value(), multiset() ? found->second : 1) << "S6";
    }
  }

  uint64_t seed_;
  bool asks_;
  uint64_t draws_ = 0;
  uint64_t asked_ = 0;
  FilterOptions options_;
  uint64_t distinct_ = 0;
  MemoryBlocks storage_;
  std::unique_ptr<FilterFile> connections_[3];
  std::map<uint64_t, uint64_t> counts_;
  uint64_t items_ = 0;
  uint64_t known_items_ = 0;
};

class FilterFileLives : public ::testing::TestWithParam<FilterKind> {};

TEST_P(FilterFileLives, lose_no_key_and_leave_equal_bytes_whatever_is_asked) {
  const test::ModelSeeds seeds(25);
  for (uint64_t seed = seeds.first; seed < seeds.first + seeds.count && !HasFailure(); ++seed) {
    Life asked(GetParam(), seed, true);
    Life quiet(GetParam(), seed, false);
    SCOPED_TRACE(asked.description());
    asked.run();
    quiet.run();
    ASSERT_TRUE(asked.rows() == quiet.rows()) << "S5";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, FilterFileLives,
                         ::testing::Values(FilterKind::kCuckoo, FilterKind::kBloom,
                                           FilterKind::kBlockedBloom, FilterKind::kCountingBloom),
                         [](const auto& info) { return test::name_of(info.param); });

}  // namespace
}  // namespace cuckoo::segments
