#include "core/segments/filter_file.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/core/segments/pieces.hpp"
#include "tests/core/segments/stored_file.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::segments {
namespace segments_filter_file_test {
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
    return name_of(options_.spec.kind) + ", capacity " + std::to_string(options_.capacity) +
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
    if (random(20) == 0) {
      ASSERT_TRUE(file.clear().ok());
      ASSERT_EQ(file.items(), 0u);
      counts_.clear();
      items_ = 0;
    }
    const uint64_t replaced_at = random(6) == 0 ? random(burst) : burst;
    for (uint64_t i = 0; i < burst && !::testing::Test::HasFailure(); ++i) {
      if (i == replaced_at) {
        replace_all(file);
      }
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
    if (asks_) {
      expect_same(file.contents(options_.growth && random_ask() % 2 == 0));
    }
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

  // Makes all segments anew, of the same contents or of the same contents twice.
  void replace_all(FilterFile& file) {
    const uint64_t items = file.items();
    if (options_.growth && random(2) == 0) {
      const Status rebuilt = file.rebuild(1 + random(2 * std::min<uint64_t>(items, 100000) + 1));
      ASSERT_TRUE(rebuilt.ok()) << message_of(rebuilt);
    } else {
      test::HeldPieces pieces;
      const Status taken = pieces.take(file.contents(options_.growth));
      ASSERT_TRUE(taken.ok()) << message_of(taken);
      if (!options_.growth && random(2) == 0) {
        unite(file, pieces.contents);
        return;
      }
      const Status imported = file.import(options_, pieces.contents);
      ASSERT_TRUE(imported.ok()) << message_of(imported);
    }
    ASSERT_EQ(file.items(), items);
    expect_same(file, 50);
  }
  void unite(FilterFile& file, const Contents& own) {
    const uint64_t items = file.items();
    const Status united = file.unite(own);
    if (!united.ok()) {
      ASSERT_EQ(united.error().code, ErrorCode::kFull) << message_of(united);
      ASSERT_EQ(file.items(), items);
    } else if (multiset()) {
      items_ *= 2;
      for (auto& [hash, count] : counts_) {
        count *= 2;
      }
    }
    expect_same(file, 50);
  }

  void change(FilterFile& file, bool remove) {
    const uint64_t hash = hash_of(random(distinct_));
    if (remove) {
      auto owned = counts_.find(hash);
      if (owned == counts_.end()) {
        return;
      }
      const uint64_t copies = random(3) == 0 ? 1 + random(std::min(owned->second, kMostCopies)) : 1;
      const Result<uint64_t> removed =
          copies > 1 ? file.remove_copies(hash, copies) : one_of(file.remove(hash));
      ASSERT_TRUE(removed.ok()) << removed.error().message;
      ASSERT_EQ(removed.value(), copies) << "S6";
      items_ -= copies;
      owned->second -= copies;
      if (owned->second == 0) {
        counts_.erase(owned);
      }
      return;
    }
    if (multiset() && random(16) == 0 && !counts_.empty()) {
      replace(file, counts_.begin()->first, hash);
      return;
    }
    Status added;
    uint64_t copies = 1;
    if (multiset() && random(8) == 0) {
      copies = 2 + random(random(4) == 0 ? kMostCopies - 1 : 12);
      if (items_ + copies > options_.most_items_by_hashes() / 2) {
        return;
      }
      added = file.insert_copies(hash, copies);
    } else if (random(8) == 0) {
      Result<bool> is_new = file.insert_new(hash);
      if (is_new.ok() && !is_new.value()) {
        return;
      }
      ASSERT_TRUE(!is_new.ok() || !counts_.contains(hash));
      added = is_new.take_status();
    } else {
      added = file.insert(hash);
    }
    if (!added.ok()) {
      ASSERT_EQ(added.error().code, ErrorCode::kFull) << message_of(added);
      ASSERT_FALSE(options_.growth);
      return;
    }
    items_ += copies;
    counts_[hash] += copies;
    if (asks_ && random_ask() % 20 == 0) {
      const Result<bool> there = file.load_and_probe(hash);
      ASSERT_TRUE(there.ok() && there.value()) << "S6";
    }
  }
  static Result<uint64_t> one_of(const Result<bool>& removed) {
    return removed.ok() ? Result<uint64_t>(removed.value() ? 1 : 0)
                        : Result<uint64_t>(removed.error());
  }
  void replace(FilterFile& file, uint64_t from, uint64_t to) {
    constexpr FilterFile::IfPresent kChoices[] = {
        FilterFile::IfPresent::kAdd, FilterFile::IfPresent::kLeave, FilterFile::IfPresent::kRefuse};
    const FilterFile::IfPresent if_present = kChoices[random(3)];
    const uint64_t items = file.items();
    const Result<FilterFile::Replaced> replaced = file.replace(from, to, if_present);
    if (!replaced.ok()) {
      ASSERT_EQ(replaced.error().code, ErrorCode::kFull);
      ASSERT_EQ(file.items(), items);
      return;
    }
    ASSERT_NE(replaced.value(), FilterFile::Replaced::kNoSuch) << "S6";
    if (replaced.value() == FilterFile::Replaced::kRefused) {
      ASSERT_EQ(if_present, FilterFile::IfPresent::kRefuse);
      ASSERT_EQ(file.items(), items);
      return;
    }
    const bool added = file.items() == items;
    ASSERT_TRUE(added || if_present == FilterFile::IfPresent::kLeave);
    items_ -= added ? 0 : 1;
    if (--counts_[from] == 0) {
      counts_.erase(from);
    }
    if (added) {
      ++counts_[to];
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

  void expect_same(Result<Contents> contents) {
    test::HeldPieces pieces;
    const Status taken = pieces.take(std::move(contents));
    ASSERT_TRUE(taken.ok()) << message_of(taken);
    if (multiset()) {
      ASSERT_EQ(pieces.contents.items, items_);
      ASSERT_EQ(pieces.items(), items_);
    }
    for (uint64_t i = 0; i < 20; ++i) {
      const uint64_t hash = hash_of(random_ask() % distinct_);
      const auto found = counts_.find(hash);
      if (found != counts_.end()) {
        ASSERT_GE(pieces.count(hash), multiset() ? found->second : 1) << "S6";
      }
    }
    if (pieces.contents.with_hashes) {
      ASSERT_EQ(pieces.contents.hash_count, counts_.size());
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

// So a key that comes is not taken for one that is there.
TEST(SmallFilterFile, I8_pages_for_few_keys_are_never_too_full) {
  for (const FilterKind kind : test::kLoggedKinds) {
    uint64_t items = 0;
    uint64_t wrong = 0;
    for (uint64_t capacity = 1; capacity <= 20; ++capacity) {
      FilterOptions options = test::options_for({kind, true}, capacity, 1e-7, 448);
      options.seed = capacity;
      MemoryBlocks storage;
      FilterFile file(options, storage);
      expect_ok(file.create());
      for (uint64_t i = 0; i < 1000; ++i) {
        expect_ok(file.insert(nth_key(1000 * capacity + i)));
      }
      for (uint64_t i = 0; i < 1000; ++i) {
        wrong += must(file.load_and_probe(nth_key(1'000'000 * capacity + i))) ? 1 : 0;
      }
      items += file.items();
    }
    EXPECT_EQ(items, 20'000U) << name_of(kind);
    EXPECT_EQ(wrong, 0U) << name_of(kind);
  }
}

// A counter does not know how many keys it has, and takes one more than it was made for.
TEST(SmallFilterFile, I8_of_few_counted_keys_has_its_rate) {
  for (const double rate : {0.1, 1e-3, 1e-6}) {
    for (uint64_t capacity = 1; capacity <= 20; ++capacity) {
      uint64_t wrong = 0;
      constexpr uint64_t kProbes = 200;
      constexpr uint64_t kSeeds = 50;
      for (uint64_t seed = 0; seed < kSeeds; ++seed) {
        FilterOptions options =
            test::options_for({FilterKind::kCountingBloom, true}, capacity, rate, 448);
        options.seed = seed;
        MemoryBlocks storage;
        FilterFile file(options, storage);
        expect_ok(file.create());
        for (uint64_t i = 0; i < 2 * capacity; ++i) {
          expect_ok(file.insert(nth_key(100 * seed + i)));
        }
        for (uint64_t i = 0; i < kProbes; ++i) {
          wrong += must(file.load_and_probe(nth_key(1'000'000 * (seed + 1) + i))) ? 1 : 0;
        }
      }
      EXPECT_LE(static_cast<double>(wrong), 1.3 * rate * kProbes * kSeeds + 8) << capacity;
    }
  }
}

TEST_P(FilterFileLives, lose_no_key_and_leave_equal_bytes_whatever_is_asked) {
  test::for_each_seed(25, [](uint64_t seed) {
    Life asked(GetParam(), seed, true);
    Life quiet(GetParam(), seed, false);
    SCOPED_TRACE(asked.description());
    asked.run();
    quiet.run();
    ASSERT_TRUE(asked.rows() == quiet.rows()) << "S5";
  });
}

INSTANTIATE_EACH(Kinds, FilterFileLives, test::kLoggedKinds);

// --- what a life does not show -------------------------------------------------------------------

using test::expect_ok;
using test::nth_key;

TEST(FilterFileLife, of_the_largest_capacity_begins_in_little_memory) {
  FilterOptions options =
      test::options_for({FilterKind::kCuckoo, false}, uint64_t{1} << 40, 0.01, 4032);
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  expect_ok(test::commit(file));
  EXPECT_EQ(storage.rows.size(), 2u);
  EXPECT_LT(file.memory_bytes(), size_t{32} << 20);
  expect_ok(test::add_and_commit(file, 0, 100));
  test::expect_stored(storage, options, 100);
}

TEST(FilterFileLife, with_a_capacity_takes_that_many_keys_and_then_is_full) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom}) {
    const FilterOptions options = test::options_for({kind, false}, 300'000, 0.01, 448);
    MemoryBlocks storage;
    FilterFile file(options, storage);
    expect_ok(file.create());
    ASSERT_GT(file.segments(), 1u);
    expect_ok(test::add(file, 0, 300'000));
    expect_ok(test::commit(file));
    if (options.multiset()) {
      const Status more = file.insert(nth_key(1'000'000));
      ASSERT_FALSE(more.ok());
      EXPECT_EQ(more.error().code, ErrorCode::kFull);
      EXPECT_EQ(more.error().message,
                "300000 items, its capacity of 300000 is reached, and growth is off");
      EXPECT_FALSE(file.pending());
      test::expect_stored(storage, options, 300'000);
    }
  }
}

TEST(FilterFileLife, with_chosen_keys_grows_but_its_directory_does_not) {
  const FilterOptions options = test::small_segments(FilterKind::kCuckoo);
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  constexpr uint64_t kKeys = 60'000;
  const auto key = [](uint64_t i) { return nth_key(i) >> 20 & ~uint64_t{0x1FFFF}; };
  for (uint64_t i = 0; i < kKeys; ++i) {
    expect_ok(file.insert(key(i)));
  }
  expect_ok(test::commit(file));
  EXPECT_LT(file.segments(), 100u);
  EXPECT_LT(file.memory_bytes(), size_t{4} << 20);
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(file.load_and_probe(key(i)).value());
  }
  expect_ok(file.check());
}

TEST(FilterFileLife, of_a_load_that_was_rolled_back_in_part_has_a_short_log) {
  FilterOptions options = test::options_for({FilterKind::kCuckoo, true}, 1000, 0.01, 4032);
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  uint64_t keys = 0;
  for (int i = 0; i < 3; ++i) {  // savepoints, to which it is rolled back each time
    expect_ok(test::add(file, keys, keys + 2'000'000));
    keys += 2'000'000;
    expect_ok(file.flush());
    file.forget();
    expect_ok(file.refresh());
  }
  EXPECT_EQ(file.items(), keys);
  expect_ok(test::commit(file));
  FilterFile other(options, storage);
  expect_ok(other.refresh());
  EXPECT_LT(storage.calls.blocks_read, 20'000u) << "S3";
  EXPECT_EQ(other.items(), keys);
}

TEST(FilterFileUnique, counts_a_hash_once_when_it_is_made_anew) {
  FilterOptions options = test::small_segments(FilterKind::kCuckoo);
  options.unique = true;
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  for (int copy = 0; copy < 5; ++copy) {
    expect_ok(test::add(file, 0, 3000));
  }
  EXPECT_EQ(file.insert_new(nth_key(1)).value(), false);
  expect_ok(test::add(file, 3000, 20'000));
  expect_ok(test::commit(file));
  expect_ok(file.check());
  EXPECT_LE(file.items(), 20'000u + 12'000u);
  EXPECT_GE(file.items(), 20'000u);
  expect_ok(test::add_and_commit(file, 20'000, 80'000));
  EXPECT_EQ(file.items(), 80'000u) << "each segment was made anew";
  test::expect_stored(storage, options, 80'000);
}

TEST(FilterFileClear, begins_anew_and_other_connections_see_it) {
  const FilterOptions options = test::small_segments(FilterKind::kBlockedBloom);
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  expect_ok(test::commit(file));
  const size_t rows = storage.rows.size();
  expect_ok(test::add_and_commit(file, 0, 20'000));
  FilterFile other(options, storage);
  expect_ok(other.refresh());
  test::expect_all(other, 20'000);
  expect_ok(file.clear());
  expect_ok(test::commit(file));
  EXPECT_EQ(storage.rows.size(), rows);
  EXPECT_EQ(file.items(), 0u);
  expect_ok(other.refresh());
  EXPECT_EQ(other.items(), 0u);
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_FALSE(other.load_and_probe(nth_key(i)).value());
  }
  expect_ok(test::add_and_commit(other, 0, 5000));
  expect_ok(file.refresh());
  test::expect_all(file, 5000);
  expect_ok(file.check());
}

TEST(FilterFileReplace, says_what_became_of_it) {
  using IfPresent = FilterFile::IfPresent;
  using Replaced = FilterFile::Replaced;
  const FilterOptions options = test::small_segments(FilterKind::kCuckoo);
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  expect_ok(test::add(file, 0, 10));
  EXPECT_EQ(file.replace(nth_key(50), nth_key(51)).value(), Replaced::kNoSuch);
  EXPECT_EQ(file.replace(nth_key(1), nth_key(2), IfPresent::kRefuse).value(), Replaced::kRefused);
  EXPECT_EQ(file.items(), 10u);
  EXPECT_EQ(file.count(nth_key(1)).value(), 1u);
  EXPECT_EQ(file.replace(nth_key(1), nth_key(1), IfPresent::kRefuse).value(), Replaced::kDone)
      << "it is asked for without itself";
  EXPECT_EQ(file.replace(nth_key(1), nth_key(2), IfPresent::kLeave).value(), Replaced::kDone);
  EXPECT_EQ(file.items(), 9u);
  EXPECT_EQ(file.count(nth_key(1)).value(), 0u);
  EXPECT_EQ(file.count(nth_key(2)).value(), 1u);
  EXPECT_EQ(file.replace(nth_key(3), nth_key(2)).value(), Replaced::kDone);
  EXPECT_EQ(file.items(), 9u);
  EXPECT_EQ(file.count(nth_key(2)).value(), 2u);
}

}  // namespace
}  // namespace segments_filter_file_test
}  // namespace cuckoo::segments
