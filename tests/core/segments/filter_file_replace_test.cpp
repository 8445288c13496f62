// Filters in segments whose segments are all replaced: import, unite, rebuild.
#include "tests/core/segments/filled_file.hpp"

namespace cuckoo::segments::segments_filter_file_replace_test {
namespace {

FilterOptions options_of(const FilterCase& one) {
  return small_segments(one.kind, one.growth, one.growth ? 100 : 300000);
}

class FilterFileImport : public ::testing::TestWithParam<FilterCase> {};
class GrowingFileRebuild : public ::testing::TestWithParam<FilterCase> {};
class FixedFileUnite : public ::testing::TestWithParam<FilterCase> {
 protected:
  static FilterOptions options_of_large_pages(uint64_t capacity) {
    FilterOptions options = options_of(GetParam());
    options.capacity = capacity;
    options.page_bytes = 4032;
    return options;
  }
  // Adds `keys` keys to each filter. No key goes to both.
  static void add_to_each(FilledFile& from, FilledFile& to, uint64_t keys) {
    for (uint64_t i = 0; i < keys; ++i) {
      from.add(i);
      to.add(1'000'000 + i);
    }
  }
};
class GrowingFileUnite : public ::testing::TestWithParam<FilterCase> {};
INSTANTIATE_EACH(Kinds, FilterFileImport, test::all_cases());
INSTANTIATE_EACH(Kinds, GrowingFileRebuild, test::cases_where(test::grows));
INSTANTIATE_EACH(Kinds, GrowingFileUnite, test::cases_where(test::grows));
INSTANTIATE_EACH(Kinds, FixedFileUnite, test::cases_where(test::is_fixed));

// --- import --------------------------------------------------------------------------------------

TEST_P(FilterFileImport, holds_what_was_exported_whatever_the_pages_and_goes_on) {
  const bool with_hashes = GetParam().growth;
  FilledFile from(options_of(GetParam()), 0, 9150);
  HeldPieces pieces(from.file.contents(with_hashes));
  for (const uint32_t page_bytes : {64U, 448U}) {
    FilterOptions own = options_of(GetParam());
    own.page_bytes = page_bytes;
    own.capacity = 500;
    own.digest = 1;
    own.seed = 2;
    FilledFile to(own);
    to.file.note_key_types(8);
    to.fill(20000, 20450);
    FilterOptions options = from.file.options();
    options.page_bytes = page_bytes;
    pieces.contents.key_types = 5;
    expect_ok(to.file.import(options, pieces.contents));
    EXPECT_EQ(to.file.items(), pieces.contents.items);
    EXPECT_EQ(to.file.key_types(), 5);
    EXPECT_EQ(to.file.keeps_hashes(), with_hashes);
    EXPECT_EQ(to.file.segments(), pieces.pieces.size());
    to.counts = from.counts;
    expect_counts(to.file, to.counts);
    to.expect_stored();
    to.fill(30000, 35190);
    to.expect_stored();
  }
}

TEST_P(GrowingFileRebuild, is_not_possible_after_an_import_without_hashes) {
  FilledFile from(options_of(GetParam()), 0, 9150);
  HeldPieces pieces(from.file.contents(false));
  FilledFile to(options_of(GetParam()));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  EXPECT_FALSE(to.file.keeps_hashes());
  to.counts = from.counts;
  to.expect_stored();
  EXPECT_TRUE(fails(to.file.rebuild(1000), ErrorCode::kInvalid, "came without hashes"));
  EXPECT_TRUE(fails(to.file.contents(true), ErrorCode::kInvalid, "came without hashes"));
  expect_ok(to.file.clear());
  EXPECT_TRUE(to.file.keeps_hashes());
}

TEST(FilterFileImportOfUnique, counts_each_hash_once) {
  FilledFile from(small_segments(FilterKind::kCuckoo), 0, 3000);
  FilterOptions options = from.file.options();
  options.unique = true;
  for (const bool with_hashes : {true, false}) {
    HeldPieces pieces(from.file.contents(with_hashes));
    FilledFile to(options);
    if (!with_hashes) {
      EXPECT_TRUE(
          fails(to.file.import(options, pieces.contents), ErrorCode::kInvalid, "unique = on"));
      EXPECT_EQ(to.file.items(), 0);
      continue;
    }
    expect_ok(to.file.import(options, pieces.contents));
    EXPECT_EQ(to.file.items(), from.counts.size());
    to.commit();
    OpenedFile other(options, to.storage);
    expect_ok(other.check());
    for (const auto& [hash, count] : from.counts) {
      EXPECT_GE(must(other.count(hash)), 1);
    }
    EXPECT_EQ(other.items(), from.counts.size());
  }
}

// Cells can't tell that each hash of a filter counts once. The contents say so.
TEST(FilterFileImportOfUnique, believes_contents_that_say_so) {
  FilterOptions options = small_segments(FilterKind::kCuckoo);
  options.unique = true;
  FilledFile from(options, 0, 3000);
  HeldPieces pieces(from.file.contents(false));
  FilledFile to(options);
  ASSERT_TRUE(pieces.contents.mark.has_value());
  pieces.contents.unique = false;
  EXPECT_TRUE(fails(to.file.import(options, pieces.contents), ErrorCode::kInvalid, "unique = on"));
  pieces.contents.unique = true;
  expect_ok(to.file.import(options, pieces.contents));
  EXPECT_EQ(to.file.items(), from.file.items());
  EXPECT_EQ(to.file.mark().value(), from.file.mark().value());
  to.commit();
  expect_ok(to.file.check());
}

TEST(FilterFileImportCheck, refuses_what_is_no_whole_filter_and_changes_nothing) {
  FilledFile from(small_segments(FilterKind::kCuckoo), 0, 9000);
  FilledFile to(small_segments(FilterKind::kCuckoo), 5000, 5100);
  to.commit();
  const auto rows = to.storage.rows;
  const FilterOptions before = to.file.options();
  using Break = void (*)(HeldPieces & held, FilterOptions & options);
  const std::pair<Break, const char*> breaks[] = {
      {[](HeldPieces& held, FilterOptions&) { held.pieces.pop_back(); }, "do not cover"},
      {[](HeldPieces& held, FilterOptions&) { held.pieces.erase(held.pieces.begin()); },
       "do not follow"},
      {[](HeldPieces& held, FilterOptions&) { std::swap(held.pieces[0], held.pieces[1]); },
       "do not follow"},
      {[](HeldPieces& held, FilterOptions&) { ++held.pieces[1].depth; }, ""},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].depth = 31; }, ""},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].prefix |= 1; }, ""},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].capacity = 0; }, "capacity"},
      {[](HeldPieces& held, FilterOptions&) { ++held.pieces[1].items; }, "items"},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].hashes.pop_back(); }, "items"},
      {[](HeldPieces& held, FilterOptions&) {
         std::swap(held.pieces[1].hashes[3], held.pieces[1].hashes[4]);
       },
       "ascend"},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].hashes[0].net = 0; }, "ascend"},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].hashes[0].hash |= 1; }, "ascend"},
      {[](HeldPieces& held, FilterOptions&) { held.pieces[1].hashes[0].hash = 1 << 20; }, ""},
      {[](HeldPieces& held, FilterOptions&) { ++held.contents.items; }, "items"},
      {[](HeldPieces& held, FilterOptions&) { held.contents.capacity = 0; }, "capacity"},
      {[](HeldPieces& held, FilterOptions&) { held.contents.key_types = 256; }, "key types"},
      {[](HeldPieces&, FilterOptions& options) { options.spec.kind = FilterKind::kBloom; },
       "another kind"},
      {[](HeldPieces&, FilterOptions& options) { options.spec.rate = 2; }, "rate"},
      {[](HeldPieces&, FilterOptions& options) { options.page_bytes = 128; }, "pages of"},
  };
  for (const auto& [break_it, text] : breaks) {
    HeldPieces pieces(from.file.contents(true));
    ASSERT_GE(pieces.pieces.size(), 2);
    FilterOptions options = before;
    options.digest = 77;
    break_it(pieces, options);
    EXPECT_TRUE(fails(to.file.import(options, pieces.contents), ErrorCode::kInvalid, text));
    EXPECT_FALSE(to.file.pending());
    EXPECT_EQ(to.file.options().digest, before.digest);
    expect_counts(to.file, to.counts);
    expect_ok(to.file.check());
    EXPECT_EQ(to.storage.rows, rows);
  }
}

// The chain names what was imported, and other connections read it anew.
TEST(FilterFileImportMarks, lead_on_from_the_mark_of_the_contents) {
  FilledFile from(small_segments(FilterKind::kCuckoo), 0, 3000);
  HeldPieces pieces(from.file.contents(true));
  ASSERT_TRUE(pieces.contents.mark.has_value());
  FilledFile to(small_segments(FilterKind::kCuckoo));
  OpenedFile other(to.file.options(), to.storage);
  EXPECT_NE(must(to.file.mark()), pieces.contents.mark);
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  EXPECT_EQ(must(to.file.mark()), pieces.contents.mark);
  to.commit();
  EXPECT_EQ(to.file.mark().value(), pieces.contents.mark);
  expect_ok(other.refresh());
  EXPECT_EQ(other.mark().value(), pieces.contents.mark);
  expect_counts(other, from.counts);
  from.fill(3000, 3300);
  const auto changes = must(from.file.changes_since(*pieces.contents.mark));
  ASSERT_TRUE(must(other.apply(*changes)));
  EXPECT_EQ(other.items(), from.file.items());
  expect_counts(other, from.counts);
  expect_ok(test::commit(other));
  expect_ok(other.check());
}

// A log that began there would soon come to positions that no mark has.
TEST(FilterFileImportMarks, are_not_taken_if_their_position_is_far_away) {
  FilledFile from(small_segments(FilterKind::kCuckoo), 0, 300);
  HeldPieces pieces(from.file.contents(true));
  pieces.contents.mark->position = kMostMarkedPosition;
  FilledFile to(small_segments(FilterKind::kCuckoo));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  to.commit();
  EXPECT_NE(to.file.mark().value(), pieces.contents.mark);
  EXPECT_LE(to.file.mark().value()->position, 300u);
}

TEST(FilterFileImportMarks, survive_a_rebuild) {
  FilledFile from(small_segments(FilterKind::kCuckoo), 0, 3000);
  HeldPieces pieces(from.file.contents(true));
  FilledFile to(small_segments(FilterKind::kCuckoo));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  to.commit();
  expect_ok(to.file.rebuild(5000));
  to.commit();
  OpenedFile other(to.file.options(), to.storage);
  EXPECT_EQ(must(other.mark()), pieces.contents.mark);
  expect_ok(to.file.clear());
  EXPECT_NE(to.file.mark().value(), pieces.contents.mark);
  to.commit();
  expect_ok(other.refresh());
  EXPECT_NE(other.mark().value(), pieces.contents.mark);
}

// Two keys have many copies. Their filter takes none of its overflow cells for changed.
TEST(FilterFileImportOfCopies, writes_the_cells_that_overflowed) {
  FilledFile from(small_segments(FilterKind::kCuckoo));
  for (uint64_t i = 0; i < 300; ++i) {
    from.add(1 + i % 2);
  }
  HeldPieces pieces(from.file.contents(false));
  pieces.contents.pieces = [&](const PieceSink& sink) {
    Piece piece = HeldPieces::copy_of(pieces.pieces.front());
    piece.filter->overflow().clear_changed();
    return sink(std::move(piece));
  };
  FilledFile to(small_segments(FilterKind::kCuckoo));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  to.counts = from.counts;
  to.expect_stored();
}

// --- rebuild -------------------------------------------------------------------------------------

TEST_P(GrowingFileRebuild, holds_the_same_in_the_segments_that_create_would_make) {
  for (const uint64_t capacity : {1, 9000, 60000, 1000000}) {
    FilledFile filled(options_of(GetParam()), 0, 9150);
    OpenedFile other(filled.file.options(), filled.storage);
    expect_counts(other, {});
    const uint64_t items = filled.file.items();
    const auto mark = filled.file.mark();
    expect_ok(filled.file.rebuild(capacity));
    EXPECT_EQ(filled.file.items(), items);
    EXPECT_EQ(filled.file.mark().value(), mark.value());
    expect_counts(filled.file, filled.counts);
    filled.expect_stored();
    EXPECT_EQ(filled.file.mark().value(), mark.value());
    EXPECT_GE(filled.file.capacity(), std::max<uint64_t>(capacity, filled.counts.size()));
    FilterOptions like = filled.file.options();
    like.capacity = filled.file.capacity();
    EXPECT_EQ(filled.file.segments(), uint64_t{1} << segment_limits(like).value().depth);
    EXPECT_EQ(filled.file.made_for(), filled.file.capacity());
    EXPECT_LT(filled.file.rate_now(), 0.0105);
    expect_ok(other.refresh());
    expect_counts(other, filled.counts);
    filled.fill(10000, 14990);
    filled.expect_stored();
    expect_ok(other.refresh());
    expect_counts(other, filled.counts);
    expect_ok(other.check());
  }
}

TEST(FilterFileRebuild, drops_dead_entries_and_old_blocks) {
  FilledFile filled(small_segments(FilterKind::kCuckoo));
  for (int round = 0; round < 6; ++round) {
    for (uint64_t i = 0; i < 2000; ++i) {
      filled.add(i);
    }
    filled.commit();
    for (uint64_t i = 0; i < 2000; ++i) {
      filled.remove(i);
    }
    filled.commit();
  }
  filled.fill(5000, 5300);
  filled.commit();
  const size_t before = filled.storage.rows.size();
  expect_ok(filled.file.rebuild(100));
  filled.commit();
  EXPECT_LT(filled.storage.rows.size(), before);
  EXPECT_EQ(filled.file.segments(), 1);
  EXPECT_GE(filled.file.capacity(), filled.counts.size());
  EXPECT_LT(filled.file.capacity(), 400);
  filled.expect_stored();
}

// The hashes of all keys begin alike. No segment is as deep as these keys ask for.
TEST(FilterFileRebuild, of_chosen_keys_cuts_them_further_but_not_without_end) {
  FilledFile filled(small_segments(FilterKind::kCuckoo));
  for (uint64_t i = 0; i < 20000; ++i) {
    const uint64_t hash = uint64_t{0xABC} << 52 | nth_key(i) >> 12 << 16;
    expect_ok(filled.file.insert(hash));
    ++filled.counts[hash];
  }
  filled.commit();
  expect_ok(filled.file.rebuild(10));
  filled.expect_stored();
}

// --- unite ---------------------------------------------------------------------------------------

TEST_P(FixedFileUnite, holds_both) {
  FilledFile from(options_of(GetParam()), 0, 5150);
  HeldPieces pieces(from.file.contents(false));
  FilledFile to(options_of(GetParam()), 4000, 8150);
  const auto mark = to.file.mark();
  expect_ok(to.file.expect_united(pieces.contents));
  pieces.contents.key_types = 2;
  expect_ok(to.file.unite(pieces.contents));
  EXPECT_EQ(to.file.key_types(), 2);
  EXPECT_NE(to.file.mark().value(), mark.value());
  for (const auto& [hash, count] : from.counts) {
    to.counts[hash] = to.file.multiset() ? to.counts[hash] + count : 1;
  }
  expect_counts(to.file, to.counts);
  if (!to.file.multiset()) {
    const auto items = static_cast<double>(to.counts.size());
    EXPECT_NEAR(static_cast<double>(to.file.items()), items, items / 50);
  }
  to.expect_stored();
  to.fill(9000, 9990);
  to.expect_stored();
}

TEST_P(GrowingFileUnite, into_an_empty_filter_leaves_it_without_hashes) {
  FilterOptions options = options_of(GetParam());
  options.capacity = 9000;
  FilledFile from(options, 0, 5150);
  HeldPieces pieces(from.file.contents(false));
  ASSERT_GT(pieces.pieces.size(), 1);
  FilledFile to(options);
  expect_ok(to.file.unite(pieces.contents));
  EXPECT_FALSE(to.file.keeps_hashes());
  to.counts = from.counts;
  to.expect_stored();
  FilledFile held(options, 0, 10);
  EXPECT_TRUE(fails(held.file.unite(pieces.contents), ErrorCode::kInvalid, "empty filter only"));
  held.counts.clear();
}

TEST_P(FixedFileUnite, refuses_other_segments_and_changes_nothing) {
  FilledFile to(options_of(GetParam()), 0, 300);
  to.commit();
  const auto rows = to.storage.rows;
  for (const uint64_t capacity : {1000, 299000, 3000000}) {
    FilterOptions options = options_of(GetParam());
    options.capacity = capacity;
    FilledFile from(options, 300, 500);
    HeldPieces pieces(from.file.contents(false));
    EXPECT_TRUE(fails(to.file.unite(pieces.contents), ErrorCode::kInvalid, "by their hashes only"));
    EXPECT_TRUE(fails(to.file.expect_united(pieces.contents), ErrorCode::kInvalid));
  }
  EXPECT_FALSE(to.file.pending());
  EXPECT_EQ(to.storage.rows, rows);
  expect_counts(to.file, to.counts);
  expect_ok(to.file.check());
}

TEST_P(FixedFileUnite, of_more_than_the_capacity_is_full_and_changes_nothing) {
  for (const uint64_t capacity : {2000, 200000}) {
    FilledFile from(options_of_large_pages(capacity));
    FilledFile to(from.file.options());
    add_to_each(from, to, capacity * 6 / 10);
    from.commit();
    to.commit();
    HeldPieces pieces(from.file.contents(false));
    const auto rows = to.storage.rows;
    const uint64_t items = to.file.items();
    EXPECT_TRUE(fails(to.file.unite(pieces.contents), ErrorCode::kFull,
                      "more would exceed its capacity of " + std::to_string(capacity)));
    EXPECT_EQ(to.file.items(), items);
    EXPECT_FALSE(to.file.pending());
    EXPECT_EQ(to.storage.rows, rows);
    expect_ok(to.file.check());
  }
}

TEST(FilterFileRoom, is_asked_for_before_the_work) {
  FilledFile fixed(small_segments(FilterKind::kCuckoo, false, 1000), 0, 100);
  const uint64_t held = fixed.file.items();
  expect_ok(fixed.file.expect_room(1000 - held));
  EXPECT_TRUE(fails(fixed.file.expect_room(1001 - held), ErrorCode::kFull,
                    std::to_string(held) + " items, and " + std::to_string(1001 - held) +
                        " more would exceed its capacity of 1000"));
  EXPECT_TRUE(fails(fixed.file.expect_room(~uint64_t{0}), ErrorCode::kFull));
  FilledFile grows(small_segments(FilterKind::kCuckoo));
  expect_ok(grows.file.expect_room(1000000));
  EXPECT_TRUE(fails(grows.file.expect_room(uint64_t{1} << 50), ErrorCode::kFull, "can tell apart"));
  FilledFile set(small_segments(FilterKind::kBloom, false, 1000));
  expect_ok(set.file.expect_room(1 << 20));
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_replace_test
