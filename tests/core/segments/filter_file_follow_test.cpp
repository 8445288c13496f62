// Histories in which a connection might follow what others write, but not all of it, and what
// following costs. filter_lives_test.cpp has connections that follow anything.
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_filter_file_follow_test {
namespace {

std::vector<uint64_t> answers_of(FilterFile& file, uint64_t end) {
  std::vector<uint64_t> answers = {file.items()};
  for (uint64_t i = 0; i < end; i += 3) {
    answers.push_back(must(file.count(nth_key(i))));
  }
  return answers;
}

void fill(FilterFile& file, uint64_t first, uint64_t end) { expect_ok(add(file, first, end)); }

// Takes in the contents of another filter with the same options, which has `count` keys.
void take_in(FilterFile& file, uint64_t first, uint64_t count, bool unites) {
  MemoryBlocks storage;
  FilterFile other(file.options(), storage);
  expect_ok(other.create());
  fill(other, first, first + count);
  expect_ok(commit(other));
  const bool with_hashes = other.keeps_hashes() && !unites;
  Contents contents = must(other.contents(with_hashes));
  expect_ok(unites ? file.unite(contents) : file.import(file.options(), contents));
}

class FilterFileFollows : public test::KindsTest {
 protected:
  FilterOptions options() const {
    return test::options_for(GetParam(), growth() ? 500 : 40000, 0.01, 128);
  }
  void SetUp() override {
    writer = std::make_unique<FilterFile>(options(), storage);
    expect_ok(writer->create());
    fill(*writer, 0, 2950);
    expect_ok(commit(*writer));
    fill(*writer, 2950, 3000);
    expect_ok(commit(*writer));
  }
  MemoryBlocks storage;
  std::unique_ptr<FilterFile> writer;
};
INSTANTIATE_EACH(Kinds, FilterFileFollows, test::all_cases());

// Adds and removes of the same keys are pending, in segments that were never folded. A rebuild
// drops them, and the follower sees that. Then a backup from before the rebuild is put back.
TEST_P(FilterFileFollows, a_backup_with_entries_that_come_to_nothing) {
  MemoryBlocks kept;
  FilterFile file(options(), kept);
  if (!file.multiset() || !file.options().growth) {
    GTEST_SKIP() << "it removes nothing, or can't be made anew";
  }
  expect_ok(file.create());
  fill(file, 0, 100);
  expect_ok(commit(file));
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(must(file.remove(nth_key(i))));
  }
  expect_ok(commit(file));
  const MemoryBlocks::Rows backup = kept.rows;
  OpenedFile follower(options(), kept);
  (void)answers_of(follower, 100);
  expect_ok(file.rebuild(file.capacity()));
  expect_ok(commit(file));
  expect_ok(follower.refresh());
  kept.rows = backup;
  expect_ok(follower.refresh());
  follower.note_key_types(1);  // so that it writes the root
  fill(follower, 200, 201);
  expect_ok(commit(follower));
  OpenedFile opened(options(), kept);
  expect_ok(opened.check());
  EXPECT_EQ(opened.items(), 1u);
}

TEST_P(FilterFileFollows, a_small_commit_by_reading_one_row_and_what_is_the_same_by_one_read) {
  OpenedFile follower(options(), storage);
  storage.calls = {};
  expect_ok(follower.refresh());
  EXPECT_LE(storage.calls.reads, 1U);
  EXPECT_LE(storage.calls.blocks_read, 1U);
  fill(*writer, 10000, 10001);
  storage.calls = {};
  expect_ok(commit(*writer));
  EXPECT_LE(storage.calls.writes, 2U) << "a row, and the next one when it is full";
  storage.calls = {};
  expect_ok(follower.refresh());
  EXPECT_LE(storage.calls.reads, 1U);
  EXPECT_LE(storage.calls.blocks_read, 2U);
  EXPECT_TRUE(follower.load_and_probe(nth_key(10000)).value());
}

// Pages follow from the order in which keys came. A backup is put back, and the same keys come in
// another order: that is another history, though each segment has the same keys and the same F.
TEST(FilterFileFollow, a_reader_follows_the_same_keys_in_another_order) {
  for (const bool growth : {true, false}) {
    const FilterOptions options = small_segments(FilterKind::kCuckoo, growth, 20000);
    MemoryBlocks storage;
    NewFile writer(options, storage);
    const MemoryBlocks::Rows start = storage.rows;
    constexpr uint64_t kKeys = 20000;
    expect_ok(add_and_commit(writer, 0, kKeys));
    OpenedFile reader(options, storage);
    ASSERT_TRUE(must(reader.load_and_probe(nth_key(0))));  // has some of the pages
    storage.rows = start;
    OpenedFile other(options, storage);
    for (uint64_t i = kKeys; i > 0; --i) {
      expect_ok(other.insert(nth_key(i - 1)));
    }
    expect_ok(commit(other));
    expect_ok(reader.refresh());
    expect_all(reader, kKeys);
    expect_ok(reader.check());
  }
}

// A segment that was never folded got the same entries twice: while the filter kept no hashes, and,
// after a 'clear' that is rolled back, while it kept some. There its pages took fewer of them.
TEST(FilterFileFollow, a_roll_back_to_a_filter_without_hashes_leaves_no_segment_that_kept_them) {
  for (const FilterKind kind : test::kLoggedKinds) {
    const FilterOptions options = small_segments(kind, true, 10000);
    MemoryBlocks storage;
    NewFile file(options, storage);
    ASSERT_GT(file.segments(), 1U);
    const uint64_t share = options.capacity / file.segments();
    const auto segment_of = [&](uint64_t hash) { return file.leaf_of(hash).prefix; };
    const uint64_t full = segment_of(nth_key(0));
    uint64_t imported = 100'000;
    while (segment_of(nth_key(imported)) == full) {
      ++imported;
    }
    take_in(file, imported, 1, true);
    expect_ok(commit(file));
    ASSERT_FALSE(file.keeps_hashes());
    std::vector<uint64_t> keys;  // more than a segment is made for
    for (uint64_t i = 0; keys.size() < 2 * share; ++i) {
      if (segment_of(nth_key(i)) == full) {
        keys.push_back(nth_key(i));
      }
    }
    const auto insert = [&] {
      for (const uint64_t key : keys) {
        const Status added = file.insert(key);
        ASSERT_TRUE(added.ok() || added.error().code == ErrorCode::kFull);
      }
    };
    insert();
    expect_ok(file.flush());
    const MemoryBlocks::Rows saved = storage.rows;
    expect_ok(file.clear());
    insert();
    (void)must(file.load_and_probe(keys[0]));
    storage.rows = saved;
    file.forget();
    expect_ok(file.refresh());
    (void)file.insert(keys[0]);
    expect_ok(file.fold_all());
    expect_ok(commit(file));
    expect_ok(file.check());
    OpenedFile other(options, storage);
    expect_ok(other.check());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(must(other.load_and_probe(keys[i])), must(file.load_and_probe(keys[i]))) << i;
    }
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_follow_test
