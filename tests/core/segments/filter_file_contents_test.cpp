// What a filter in segments hands out.
#include "tests/core/segments/filled_file.hpp"

namespace cuckoo::segments::segments_filter_file_contents_test {
namespace {

FilterOptions options_of(const FilterCase& one) {
  return small_segments(one.kind, one.growth, one.growth ? 100 : 300000);
}

class GrowingFileContents : public ::testing::TestWithParam<FilterCase> {};
INSTANTIATE_EACH(Kinds, GrowingFileContents, test::cases_where(test::grows));

TEST(FilterFileContentsWithHashes, are_refused_where_it_keeps_none) {
  FilledFile filled(small_segments(FilterKind::kCuckoo, false, 3000), 0, 10);
  EXPECT_TRUE(fails_saying(filled.file.contents(true), ErrorCode::kInvalid,
                           "keeps no hashes, as growth is off"));
  const auto ignore = [](uint64_t, uint64_t) { return Status(); };
  EXPECT_FALSE(filled.file.for_each_hash(ignore).ok());
}

// So much is pending for one segment that a copy of the same size would be too full.
TEST_P(GrowingFileContents, that_outgrow_a_segment_are_made_for_more) {
  FilterOptions options = options_of(GetParam());
  options.page_bytes = 4032;
  FilledFile filled(options, 0, 400);
  HeldPieces pieces(filled.file.contents(false));
  ASSERT_EQ(pieces.pieces.size(), 1);
  const Piece& piece = pieces.pieces.front();
  EXPECT_GE(piece.capacity, filled.counts.size());
  EXPECT_FALSE(piece.filter->overfull(piece.items, piece.capacity));
  EXPECT_LT(piece.filter->rate_now(), 0.011);
  expect_counts(pieces, filled.counts, filled.file.multiset());
}

// A piece is asked for the rest of a hash; contents say when a remove repaired something.
TEST(FilterFileContentsWithHashes, drop_removes_of_what_was_never_added) {
  FilledFile filled(small_segments(FilterKind::kCuckoo), 0, 600);
  filled.commit();
  uint64_t stranger = 1000000;
  while (filled.file.items() > 0) {
    const bool removed = must(filled.file.remove(nth_key(++stranger)));
    if (removed) {
      break;
    }
  }
  HeldPieces pieces(filled.file.contents(true));
  EXPECT_EQ(pieces.contents.items, items_of(filled.counts));
  EXPECT_EQ(pieces.items(), items_of(filled.counts));
  EXPECT_EQ(filled.file.items() + 1, items_of(filled.counts));
  expect_counts(pieces, filled.counts, true);
}

// The keys whose cells the remove took are added again. Then only the remove seems dead.
TEST(FilterFileContentsWithHashes, are_counted_where_a_run_has_a_remove_of_what_was_never_added) {
  FilterOptions options = small_segments(FilterKind::kCountingBloom);
  options.capacity = 40;
  options.spec.rate = 0.001;
  int found = 0;
  for (uint64_t first = 0; first < 1000 * 40 && found < 100; first += 40) {
    FilledFile filled(options, first, first + 40);
    expect_ok(filled.file.fold_all());
    uint64_t stranger = 10'000'000;
    while (stranger < 10'003'000 && !must(filled.file.load_and_probe(nth_key(stranger)))) {
      ++stranger;
    }
    if (!must(filled.file.remove(nth_key(stranger)))) {
      continue;
    }
    expect_ok(filled.file.fold_all());
    std::vector<uint64_t> denied;
    for (const auto& [hash, count] : filled.counts) {
      if (!must(filled.file.load_and_probe(hash))) {
        denied.push_back(hash);
      }
    }
    if (denied.size() < 3) {
      continue;
    }
    ++found;
    for (const uint64_t hash : denied) {
      expect_ok(filled.file.insert(hash));
    }
    expect_ok(filled.file.fold_all());
    HeldPieces pieces(filled.file.contents(true));
    EXPECT_EQ(pieces.items(), items_of(filled.counts) + denied.size());
    EXPECT_EQ(pieces.contents.items, pieces.items());
    EXPECT_EQ(pieces.contents.hash_count, filled.counts.size());
  }
  EXPECT_EQ(found, 100);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_contents_test
