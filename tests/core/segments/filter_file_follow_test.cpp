// Connections follow what others write, whatever it is and however much. They do so also after
// somebody restored a backup and told no one.
#include "tests/core/segments/stored_file.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments {
namespace segments_filter_file_follow_test {
namespace {

std::vector<uint64_t> answers_of(FilterFile& file, uint64_t end) {
  std::vector<uint64_t> answers = {file.items()};
  for (uint64_t i = 0; i < end; i += 3) {
    answers.push_back(must(file.count(nth_key(i))));
  }
  return answers;
}

using Work = std::function<void(FilterFile& file, uint64_t first)>;

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

const std::pair<const char*, Work> kWork[] = {
    {"one", [](FilterFile& file, uint64_t first) { fill(file, first, first + 1); }},
    {"few", [](FilterFile& file, uint64_t first) { fill(file, first, first + 40); }},
    {"fold", [](FilterFile& file, uint64_t first) { fill(file, first, first + 700); }},
    {"many folds",
     [](FilterFile& file, uint64_t first) {
       for (uint64_t i = 0; i < 12; ++i) {
         fill(file, first + 300 * i, first + 300 * i + 300);
         expect_ok(commit(file));
       }
     }},
    {"load", [](FilterFile& file, uint64_t first) { fill(file, first, first + 17000); }},
    {"clear", [](FilterFile& file, uint64_t) { expect_ok(file.clear()); }},
    {"clear, add",
     [](FilterFile& file, uint64_t first) {
       expect_ok(file.clear());
       fill(file, first, first + 600);
     }},
    {"removes",
     [](FilterFile& file, uint64_t first) {
       fill(file, first, first + 300);
       for (uint64_t i = 0; i < 300 && file.multiset(); ++i) {
         ASSERT_TRUE(file.remove(nth_key(i + first / 10)).value());
       }
     }},
    {"copies",
     [](FilterFile& file, uint64_t first) {
       for (uint64_t i = 0; i < 400; ++i) {
         expect_ok(file.insert(nth_key(first + i % 3)));
       }
     }},
    {"rebuild",
     [](FilterFile& file, uint64_t first) {
       fill(file, first, first + 100);
       if (file.keeps_hashes()) {
         expect_ok(file.rebuild(first));
       }
     }},
    // No entry of the log tells whether storage is before a rebuild or after it.
    {"a rebuild alone",
     [](FilterFile& file, uint64_t) {
       expect_ok(file.keeps_hashes() ? file.rebuild(file.capacity()) : Status());
     }},
    // A resize leaves the same entries in as many segments, of another size.
    {"a resize alone",
     [](FilterFile& file, uint64_t first) {
       expect_ok(file.keeps_hashes() ? file.rebuild(40000 + first / 10) : Status());
     }},
    {"import", [](FilterFile& file, uint64_t first) { take_in(file, first, 900, false); }},
    {"unite",
     [](FilterFile& file, uint64_t first) {
       if (!file.options().growth) {
         take_in(file, first, 900, true);
       }
     }},
    {"a key of another type",
     [](FilterFile& file, uint64_t first) {
       fill(file, first, first + 1);
       file.note_key_types(first % 7 + 1);
     }},
};

class FilterFileFollows : public test::KindsTest {
 protected:
  static constexpr uint64_t kKeys = 3000;

  FilterOptions options() const {
    return test::options_for(GetParam(), growth() ? 500 : 40000, 0.01, 128);
  }
  void SetUp() override {
    writer = std::make_unique<FilterFile>(options(), storage);
    expect_ok(writer->create());
    fill(*writer, 0, kKeys - 50);
    expect_ok(commit(*writer));
    fill(*writer, kKeys - 50, kKeys);
    expect_ok(commit(*writer));
  }
  void roll_back(const MemoryBlocks::Rows& to) {
    storage.rows = to;
    writer->forget();
    writer->committed();
    expect_ok(writer->refresh());
  }
  void expect_follows(FilterFile& follower) {
    expect_ok(follower.refresh());
    OpenedFile opened(options(), storage);
    const std::vector<uint64_t> expected = answers_of(opened, 40000);
    ASSERT_EQ(answers_of(follower, 40000), expected);
    ASSERT_EQ(answers_of(*writer, 40000), expected);
    EXPECT_EQ(follower.key_types(), opened.key_types());
    EXPECT_EQ(follower.capacity(), opened.capacity());
    EXPECT_EQ(follower.segments(), opened.segments());
    expect_ok(follower.check());
  }

  MemoryBlocks storage;
  std::unique_ptr<FilterFile> writer;
};
INSTANTIATE_EACH(Kinds, FilterFileFollows, test::all_cases());

TEST_P(FilterFileFollows, whatever_is_done) {
  const MemoryBlocks::Rows start = storage.rows;
  for (const auto& [name, work] : test::share_of(std::vector(std::begin(kWork), std::end(kWork)))) {
    for (const bool warm : {false, true}) {
      SCOPED_TRACE(name);
      roll_back(start);
      OpenedFile follower(options(), storage);
      if (warm) {
        (void)answers_of(follower, 40000);
      }
      work(*writer, 10000);
      expect_ok(commit(*writer));
      expect_follows(follower);
      work(*writer, 20000);  // again, by the one that followed
      expect_ok(commit(*writer));
      expect_follows(follower);
    }
  }
}

// The same work is done with other keys from the same backup. It leaves as many entries, segments
// and blocks.
TEST_P(FilterFileFollows, another_history) {
  const MemoryBlocks::Rows start = storage.rows;
  for (const auto& [name, work] : test::share_of(std::vector(std::begin(kWork), std::end(kWork)))) {
    for (const auto& [keys, seen_between] : {std::pair(40000, false), {40000, true}, {1, false}}) {
      SCOPED_TRACE(name);
      roll_back(start);
      work(*writer, 10000);
      expect_ok(commit(*writer));
      OpenedFile follower(options(), storage);
      (void)answers_of(follower, static_cast<uint64_t>(keys));  // so many pages are in memory
      roll_back(start);
      if (seen_between) {
        expect_follows(follower);
      }
      work(*writer, 20001);
      expect_ok(commit(*writer));
      expect_follows(follower);
    }
  }
}

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

// Three connections take turns. Each removes a key that was added in the turn before.
TEST_P(FilterFileFollows, one_another) {
  std::unique_ptr<FilterFile> files[3];
  for (auto& file : files) {
    file = std::make_unique<FilterFile>(options(), storage);
  }
  for (uint64_t turn = 0; turn < 150; ++turn) {
    FilterFile& file = *files[test::nth_word(5, turn) % 3];
    expect_ok(file.refresh());
    const uint64_t first = 10000 + 30 * turn;
    ASSERT_EQ(file.load_and_probe(nth_key(turn == 0 ? 0 : first - 1)).value(), true);
    fill(file, first, first + 30);
    if (file.multiset() && turn > 0) {
      ASSERT_TRUE(file.remove(nth_key(first - 25)).value());
    }
    expect_ok(commit(file));
    if (turn % 10 == 0) {
      expect_ok(file.check());
    }
  }
  expect_ok(writer->refresh());
  for (const auto& file : files) {
    expect_follows(*file);
  }
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
}  // namespace segments_filter_file_follow_test
}  // namespace cuckoo::segments
