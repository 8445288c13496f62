// Filters that are never flushed: what changes at once, beside a model and beside a stored filter.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/segments/filter_file.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/core/segments/pieces.hpp"
#include "tests/core/segments/stored_file.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::segments {
namespace segments_filter_file_now_test {
namespace {

using test::expect_ok;
using test::HeldPieces;
using test::MemoryBlocks;
using test::message_of;
using test::nth_key;
using test::nth_word;

class FilterFileNow : public test::KindsTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, FilterFileNow, testing::ValuesIn(test::all_cases()),
                         test::kCaseName);

// A filter that is never flushed, whose changes are in the cells at once.
struct MemoryFile : FilterFile {
  MemoryFile(const FilterOptions& options, BlockStorage& storage)
      : FilterFile(options, storage, NeverFlushed{}) {
    expect_ok(create());
  }
  Status insert_now(uint64_t hash) {
    CUCKOO_TRY(insert(hash));
    return settle(hash);
  }
  Result<bool> insert_new_now(uint64_t hash) {
    CUCKOO_ASSIGN_OR_RETURN(const bool added, insert_new(hash));
    CUCKOO_TRY(settle(hash));
    return added;
  }
  Result<bool> remove_now(uint64_t hash) {
    CUCKOO_ASSIGN_OR_RETURN(const bool removed, remove(hash));
    CUCKOO_TRY(settle(hash));
    return removed;
  }
};

// What the filter hands out is good for another table, which imports, stores and checks all of it.
void expect_exported(FilterFile& file, bool with_hashes) {
  HeldPieces held;
  expect_ok(held.take(file.contents(with_hashes)));
  MemoryBlocks storage;
  FilterOptions options = file.options();
  options.growth = with_hashes;
  FilterFile other(options, storage);
  expect_ok(other.create());
  expect_ok(other.import(options, held.contents));
  EXPECT_EQ(other.items(), held.contents.items);
  expect_ok(test::commit(other));
  expect_ok(other.refresh());
  expect_ok(other.check());
}

// A random life, beside a map from hashes to counts. Only what is there is removed, so hashes and
// counts are exact.
class Life {
 public:
  Life(const FilterOptions& options, uint64_t seed)
      : options_(options), seed_(seed), file_(std::make_unique<MemoryFile>(options, storage_)) {}

  void run() {
    for (int step = 0; step < 60 && !testing::Test::HasFailure(); ++step) {
      this->step();
      expect_sound();
      expect_all_there(50);
    }
    expect_all_there(counts_.size());
    expect_exported(*file_, options_.growth);
    if (options_.growth) {
      expect_hashes();
    }
  }

 private:
  uint64_t random(uint64_t limit) { return nth_word(seed_, draws_++) % limit; }
  uint64_t some_key() { return nth_key(random(options_.growth ? 6000 : 2 * options_.capacity)); }
  bool multiset() const { return options_.multiset(); }

  void note(uint64_t hash, const Status& added, uint64_t copies = 1) {
    ASSERT_TRUE(added.ok() || (added.error().code == ErrorCode::kFull && !options_.growth))
        << message_of(added);
    if (added.ok()) {
      counts_[hash] += copies;
      items_ += copies;
    }
  }
  void add_now(uint64_t hash) { note(hash, file_->insert_now(hash)); }

  void step() {
    const uint64_t many = 1 + random(400);
    switch (random(8)) {
      case 0:  // by the log
        for (uint64_t i = 0; i < many; ++i) {
          const uint64_t hash = some_key();
          note(hash, file_->insert(hash));
        }
        expect_ok(file_->fold_all());
        break;
      case 1:
        if (options_.counts_copies()) {
          const uint64_t hash = some_key();
          const uint64_t copies = 2 + random(30);
          note(hash, file_->insert_copies(hash, copies), copies);
          expect_ok(file_->fold_all());
        }
        break;
      case 2:
        remove_some(many);
        break;
      case 3:
        if (random(12) == 0) {
          expect_ok(file_->clear());
          expect_ok(file_->fold_all());
          counts_.clear();
          items_ = 0;
        }
        break;
      case 4:
        for (uint64_t i = 0; i < 20; ++i) {
          add_if_new(some_key());
        }
        break;
      case 5:  // the same few again and again
        for (uint64_t i = 0; i < many; ++i) {
          add_now(nth_key(random(5)));
        }
        break;
      default:
        for (uint64_t i = 0; i < many; ++i) {
          add_now(some_key());
        }
    }
    if (multiset()) {
      ASSERT_EQ(file_->items(), items_);
    }
  }

  // A remove of an absent hash removes nothing. An add after the remove counts in full.
  void remove_absent() {
    const uint64_t hash = some_key();
    if (file_->probe(hash) == FilterFile::Answer::kAbsent) {
      ASSERT_FALSE(file_->remove_now(hash).value());
      add_now(hash);
    }
  }

  void remove_some(uint64_t many) {
    for (int i = 0; multiset() && i < 5; ++i) {
      remove_absent();
    }
    for (uint64_t i = 0; multiset() && i < many && !counts_.empty(); ++i) {
      auto at = counts_.lower_bound(some_key());
      at = at != counts_.end() ? at : counts_.begin();
      ASSERT_TRUE(file_->remove_now(at->first).value());
      --items_;
      if (--at->second == 0) {
        counts_.erase(at);
      }
    }
  }

  void add_if_new(uint64_t hash) {
    const Result<bool> added = file_->insert_new_now(hash);
    if (counts_.contains(hash)) {
      ASSERT_TRUE(added.ok() && !added.value());
    } else if (!added.ok()) {
      note(hash, added.error());
    } else if (added.value()) {
      note(hash, {});
    }
  }

  void expect_all_there(size_t most) {
    size_t asked = 0;
    for (auto at = counts_.lower_bound(some_key()); at != counts_.end() && asked < most;
         ++at, ++asked) {
      expect_there(at->first, at->second);
    }
    for (auto at = counts_.begin(); at != counts_.end() && asked < most; ++at, ++asked) {
      expect_there(at->first, at->second);
    }
  }
  void expect_there(uint64_t hash, uint64_t count) {
    ASSERT_EQ(file_->probe(hash), FilterFile::Answer::kPresent);
    ASSERT_GE(file_->count(hash).value(), multiset() ? count : 1);
  }

  // Each segment passes its check, and nothing waits to be applied.
  void expect_sound() {
    const unsigned depth = file_->directory_depth();
    const Segment* last = nullptr;
    for (uint64_t i = 0; i < uint64_t{1} << depth; ++i) {
      const Directory::Leaf& leaf = file_->leaf_of(depth == 0 ? 0 : i << (64 - depth));
      Segment* const segment = leaf.segment.get();
      if (segment != nullptr && segment != last) {
        ASSERT_TRUE(leaf.is_current());
        ASSERT_FALSE(segment->outgrew());
        expect_ok(segment->check(Blocks(storage_, options_.seed), leaf.pending, options_.growth));
      }
      last = segment;
    }
  }

  // Runs and lists hold what was added and not removed, no more and no less.
  void expect_hashes() {
    std::map<uint64_t, uint64_t> found;
    expect_ok(file_->for_each_hash([&](uint64_t hash, uint64_t count) -> Status {
      found[hash] = count;
      return {};
    }));
    if (!options_.counts_copies()) {
      for (auto& [hash, count] : counts_) {
        count = 1;
      }
    }
    EXPECT_EQ(found, counts_);
  }

  FilterOptions options_;
  uint64_t seed_;
  uint64_t draws_ = 0;
  MemoryBlocks storage_;
  std::unique_ptr<MemoryFile> file_;
  std::map<uint64_t, uint64_t> counts_;
  uint64_t items_ = 0;
};

TEST_P(FilterFileNow, S6_has_what_was_added_more_often_than_removed) {
  test::for_each_seed(30, [](uint64_t seed) {
    constexpr uint64_t kCapacities[] = {1, 30, 100, 3000};
    Life(options(kCapacities[seed % 4]), seed).run();
  });
}

// In canonical filters all cells are the same. In cuckoo filters the digest of the cells is.
TEST_P(FilterFileNow, holds_what_a_stored_one_holds) {
  constexpr uint64_t kKeys = 2000;
  MemoryBlocks storage;
  MemoryBlocks none;
  const auto stored = std::make_unique<NewFile>(options(kKeys), storage);
  const auto now = std::make_unique<MemoryFile>(options(kKeys), none);
  for (uint64_t i = 0; i < kKeys; ++i) {
    const uint64_t key = nth_key(i % (kKeys * 3 / 4));
    expect_ok(stored->insert(key));
    expect_ok(now->insert_now(key));
    if (multiset() && i % 3 == 0) {
      EXPECT_TRUE(stored->remove(nth_key(i % 500)).value());
      EXPECT_TRUE(now->remove_now(nth_key(i % 500)).value());
    }
  }
  expect_ok(test::commit(*stored));
  EXPECT_EQ(now->items(), stored->items());
  HeldPieces theirs;
  HeldPieces own;
  expect_ok(theirs.take(stored->contents(false)));
  expect_ok(own.take(now->contents(false)));
  ASSERT_EQ(own.pieces.size(), theirs.pieces.size());
  for (size_t i = 0; i < own.pieces.size(); ++i) {
    const Filter& a = *own.pieces[i].filter;
    const Filter& b = *theirs.pieces[i].filter;
    EXPECT_EQ(own.pieces[i].items, theirs.pieces[i].items);
    EXPECT_EQ(a.words(), b.words());
    EXPECT_EQ(a.digest(), b.digest());
    EXPECT_TRUE(!a.canonical() || test::equal_cells(a, b)) << i;
  }
}

// The test also removes keys that were never added. A segment repairs the damage when it grows.
TEST_P(FilterFileNow, S7_counts_what_wrong_removes_left) {
  if (!multiset()) {
    return;
  }
  MemoryBlocks none;
  const auto file = std::make_unique<MemoryFile>(options(1000, 0.25), none);
  for (uint64_t i = 0; i < 3000; ++i) {
    const Status added = file->insert_now(nth_key(i));
    ASSERT_TRUE(added.ok() || !growth());
    (void)file->remove_now(nth_key(1'000'000 + i));
  }
  expect_exported(*file, growth());
}

TEST_P(FilterFileNow, S8_says_that_it_is_full_and_changes_nothing) {
  if (growth()) {
    return;
  }
  MemoryBlocks none;
  const auto file = std::make_unique<MemoryFile>(options(300), none);
  uint64_t added = 0;
  while (file->insert_now(nth_key(added)).ok()) {
    ASSERT_LT(++added, 2000U);
  }
  EXPECT_GE(added, 290U);
  const uint64_t items = file->items();
  EXPECT_EQ(file->insert_now(nth_key(added)).error().code, ErrorCode::kFull);
  EXPECT_EQ(file->items(), items);
  for (uint64_t i = 0; i < added; ++i) {
    EXPECT_EQ(file->probe(nth_key(i)), FilterFile::Answer::kPresent);
  }
}

}  // namespace
}  // namespace segments_filter_file_now_test
}  // namespace cuckoo::segments
