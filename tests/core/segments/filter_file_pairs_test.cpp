// Filters of pairs of hashes, in one segment.
#include "core/filter/legacy_bloom.hpp"
#include "tests/core/segments/copies.hpp"
#include "tests/core/segments/pieces.hpp"

namespace cuckoo::segments::segments_filter_file_pairs_test {
namespace {

FilterOptions options_of(uint64_t capacity) {
  FilterOptions options = test::options_for({FilterKind::kLegacyBloom, false}, capacity, 0.01, 64);
  options.width = HashWidth::k63Bits;
  return options;
}

HashPair nth_pair(uint64_t i) { return {nth_word(41, i), nth_word(43, i)}; }

uint64_t missing(FilterFile& file, uint64_t first, uint64_t end) {
  uint64_t missing = 0;
  for (uint64_t i = first; i < end; ++i) {
    missing += must(file.contains_pair(nth_pair(i))) ? 0 : 1;
  }
  return missing;
}

struct StoredPairs : StoredFile {
  using StoredFile::StoredFile;

  void add_and_commit(uint64_t first, uint64_t end) {
    add(first, end);
    commit();
  }
  void roll_back(const MemoryBlocks::Rows& rows) {
    storage.rows = rows;
    file.forget();
    expect_ok(file.refresh());
  }
  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      expect_ok(file.insert_pair(nth_pair(i)));
    }
  }
};

TEST(FilterFilePairs, are_found_once_added_and_other_connections_follow) {
  StoredPairs stored(options_of(2000));
  FilterFile follower(stored.file.options(), stored.storage);
  for (uint64_t done = 0; done < 2000;) {
    const uint64_t end = std::min<uint64_t>(done + 1 + done / 2, 2000);
    stored.add(done, end);
    done = end;
    EXPECT_EQ(missing(stored.file, 0, done), 0) << "before the commit";
    stored.commit();
    expect_ok(follower.refresh());
    EXPECT_EQ(missing(follower, 0, done), 0);
    EXPECT_EQ(missing(follower, 5000, 7000), missing(stored.file, 5000, 7000));
    EXPECT_EQ(follower.items(), stored.file.items());
    expect_ok(stored.file.check());
  }
  EXPECT_EQ(stored.file.log_entries(), 0);
  EXPECT_EQ(stored.file.segments(), 1);
  EXPECT_GE(stored.file.items(), 1950);
  EXPECT_LE(stored.file.items(), 2000);
  EXPECT_LE(static_cast<double>(2000 - missing(stored.file, 5000, 7000)) / 2000, 0.02);
  stored.storage.calls = {};
  stored.add(0, 2000);  // all there already
  stored.commit();
  EXPECT_EQ(stored.storage.calls.writes, 0);
}

// A connection that adds one pair reads and writes what belongs to it, and the sums of all blocks,
// whatever the filter's size.
TEST(FilterFilePairs, cost_the_pages_of_one_pair_each) {
  StoredPairs stored(options_of(20000));
  stored.add_and_commit(0, 15000);
  ASSERT_GT(stored.storage.rows.size(), 300);
  OpenedFile file(stored.file.options(), stored.storage);
  stored.storage.calls = {};
  uint64_t i = 30000;
  while (!file.pending()) {
    expect_ok(file.insert_pair(nth_pair(i++)));
  }
  expect_ok(test::commit(file));
  const int64_t sums = segment_block(1, kFirstSumsPart);
  const auto sum_blocks = static_cast<uint64_t>(std::distance(
      stored.storage.rows.lower_bound(sums), stored.storage.rows.lower_bound(segment_block(2, 0))));
  EXPECT_LE(stored.storage.calls.blocks_read, sum_blocks + 7 * (i - 30000));
  EXPECT_LE(stored.storage.calls.writes, 7 + 7 + 3);  // its pages, their sums; header, root and log
  expect_ok(file.check());
}

TEST(FilterFilePairs, that_are_too_many_are_refused_and_change_nothing) {
  StoredPairs stored(options_of(300));
  uint64_t fitted = 0;
  while (stored.file.insert_pair(nth_pair(fitted)).ok()) {
    ASSERT_LT(++fitted, 600);
  }
  EXPECT_GE(fitted, 300);
  stored.commit();
  const auto before = stored.storage.rows;
  EXPECT_TRUE(fails(stored.file.insert_pair(nth_pair(fitted)), ErrorCode::kFull));
  EXPECT_FALSE(stored.file.pending());
  expect_ok(stored.file.insert_pair(nth_pair(0)));  // it is there already
  stored.commit();
  EXPECT_EQ(stored.storage.rows, before);
  EXPECT_EQ(missing(stored.file, 0, fitted), 0);
}

// The two histories have the same number of pages and items, but other pairs.
TEST(FilterFilePairs, of_another_history_are_noticed) {
  StoredPairs stored(options_of(1000));
  const auto backup = stored.storage.rows;
  stored.add_and_commit(0, 500);
  OpenedFile follower(stored.file.options(), stored.storage);
  (void)missing(follower, 0, 3000);
  stored.roll_back(backup);
  stored.add_and_commit(1000, 1500);
  expect_ok(follower.refresh());
  EXPECT_EQ(missing(follower, 1000, 1500), 0);
}

TEST(FilterFilePairs, can_be_handed_out_imported_united_and_cleared) {
  StoredPairs stored(options_of(1000));
  stored.add(0, 400);
  HeldPieces pieces(stored.file.contents(false));
  EXPECT_FALSE(pieces.contents.mark.has_value());
  EXPECT_FALSE(stored.file.contents(true).ok());
  EXPECT_EQ(pieces.contents.items, stored.file.items());
  StoredPairs other(options_of(1000));
  other.add_and_commit(300, 700);
  expect_ok(other.file.unite(pieces.contents));
  other.commit_and_check();
  EXPECT_EQ(missing(other.file, 0, 700), 0);
  EXPECT_NEAR(static_cast<double>(other.file.items()), 700, 30);
  other.add(700, 720);
  other.commit_and_check();
  expect_ok(other.file.import(other.file.options(), pieces.contents));
  other.commit_and_check();
  EXPECT_EQ(other.file.items(), stored.file.items());
  EXPECT_EQ(missing(other.file, 0, 400), 0);
  EXPECT_GE(missing(other.file, 400, 700), 250);
  expect_ok(other.file.clear());
  EXPECT_EQ(missing(other.file, 0, 700), 700);
  other.add(0, 1000);
  other.commit_and_check();
  EXPECT_TRUE(fails(other.file.rebuild(2000), ErrorCode::kInvalid));
}

// A file has its own number of bits and of hashes, whatever was asked for. An empty file keeps
// both, too.
TEST(FilterFilePairs, of_a_file_keep_its_geometry) {
  for (const uint64_t added : {0, 50}) {
    FilterOptions options = options_of(1000);
    options.spec.rate = 1e-300;
    const GeometryWords words{1 << 16, 3, 0};
    HeldPieces pieces;
    Piece piece;
    piece.capacity = options.capacity;
    piece.filter = make_filter(options.spec.kind, words, 4032).value();
    piece.filter->pages().complete();
    for (uint64_t i = 0; i < added; ++i) {
      pairs_of(*piece.filter).insert_pair(nth_pair(i));
    }
    piece.items = added;
    pieces.pieces.push_back(std::move(piece));
    Contents contents;
    contents.capacity = options.capacity;
    contents.items = added;
    contents.pieces = [&](const PieceSink& sink) {
      return sink(HeldPieces::copy_of(pieces.pieces.front()));
    };
    StoredPairs stored(options_of(77));
    expect_ok(stored.file.import(options, contents));
    stored.commit();
    OpenedFile file(options, stored.storage);
    EXPECT_EQ(file.bits(), 1 << 16);
    EXPECT_EQ(file.places_per_key(), 3);
    EXPECT_EQ(missing(file, 0, added), 0);
    for (uint64_t i = 100; i < 200; ++i) {
      expect_ok(file.insert_pair(nth_pair(i)));
    }
    expect_ok(test::commit(file));
    EXPECT_EQ(missing(file, 100, 200), 0);
    EXPECT_EQ(file.bits(), 1 << 16);
    expect_ok(file.check());
  }
}

TEST(FilterFilePairs, that_are_damaged_are_noticed) {
  StoredPairs stored(options_of(1000));
  stored.add(0, 800);
  stored.commit_and_check();
  const auto good = stored.storage.rows;
  ASSERT_GT(good.size(), 12);
  for (const auto& [id, block] : good) {
    stored.storage.rows = good;
    stored.storage.rows.erase(id);
    EXPECT_FALSE(stored.file.check().ok()) << id;
    stored.storage.rows = good;
    stored.storage.rows[id][3] ^= std::byte{8};
    EXPECT_FALSE(stored.file.check().ok()) << id;
  }
  stored.storage.rows = good;
  expect_ok(stored.file.check());
}

TEST(FilterFileMark, is_none_of_a_filter_of_pairs) {
  const FilterOptions options = test::options_for({FilterKind::kLegacyBloom, false}, 1000);
  test::Site site(options);
  EXPECT_FALSE(site->mark().value().has_value());
  EXPECT_TRUE(fails(site->changes_since(FilterMark()), ErrorCode::kInvalid));
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_pairs_test
