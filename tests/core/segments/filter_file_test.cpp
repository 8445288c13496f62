#include "core/segments/filter_file.hpp"

#include "tests/core/segments/pieces.hpp"
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_filter_file_test {
namespace {

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

class FilterFileNow : public test::KindsTest {};
INSTANTIATE_EACH(Kinds, FilterFileNow, test::all_cases());

// In canonical filters all cells are the same. In cuckoo filters the digest of the cells is.
TEST_P(FilterFileNow, holds_what_a_stored_one_holds) {
  constexpr uint64_t kKeys = 2000;
  StoredFile stored(options(kKeys));
  MemoryBlocks none;
  FilterFile now(options(kKeys), none, FilterFile::NeverFlushed{});
  expect_ok(now.create());
  for (uint64_t i = 0; i < kKeys; ++i) {
    const uint64_t key = nth_key(i % (kKeys * 3 / 4));
    const uint64_t gone = nth_key(i % 500);
    for (FilterFile* const file : std::initializer_list<FilterFile*>{&stored.file, &now}) {
      expect_ok(file->insert(key));
      expect_ok(file == &now ? now.settle(key) : Status());
      if (multiset() && i % 3 == 0) {
        EXPECT_TRUE(must(file->remove(gone)));
        expect_ok(file == &now ? now.settle(gone) : Status());
      }
    }
  }
  stored.commit();
  EXPECT_EQ(now.items(), stored.file.items());
  const HeldPieces theirs(stored.file.contents(false));
  const HeldPieces own(now.contents(false));
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
}  // namespace cuckoo::segments::segments_filter_file_test
