// Filters in segments whose segments are all replaced: import, unite, rebuild.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/segments/filter_file.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/filled_file.hpp"
#include "tests/core/segments/pieces.hpp"
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments {
namespace {

using test::expect_counts;
using test::expect_ok;
using test::FilledFile;
using test::FilterCase;
using test::HeldPieces;
using test::items_of;
using test::kCaseName;
using test::MemoryBlocks;
using test::message_of;
using test::nth_key;
using test::small_segments;

FilterOptions options_of(const FilterCase& one) {
  return small_segments(one.kind, one.growth, one.growth ? 100 : 300000);
}

// What a new connection sees has these, and is good.
void expect_stored(MemoryBlocks& storage, const FilterOptions& options,
                   const std::map<uint64_t, uint64_t>& counts) {
  FilterFile file(options, storage);
  expect_ok(file.refresh());
  if (options.multiset()) {
    EXPECT_EQ(file.items(), items_of(counts));
  }
  expect_counts(file, counts);
  expect_ok(file.check());
}

void expect_error(const Status& status, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, code);
  EXPECT_NE(status.error().message.find(text), std::string::npos) << status.error().message;
}

class FilterFileImport : public ::testing::TestWithParam<FilterCase> {};
class GrowingFileRebuild : public ::testing::TestWithParam<FilterCase> {};
class FixedFileUnite : public ::testing::TestWithParam<FilterCase> {};
class GrowingFileUnite : public ::testing::TestWithParam<FilterCase> {};
INSTANTIATE_TEST_SUITE_P(Kinds, FilterFileImport, ::testing::ValuesIn(test::all_cases()),
                         kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingFileRebuild,
                         ::testing::ValuesIn(test::cases_where(test::grows)), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, GrowingFileUnite,
                         ::testing::ValuesIn(test::cases_where(test::grows)), kCaseName);
INSTANTIATE_TEST_SUITE_P(Kinds, FixedFileUnite,
                         ::testing::ValuesIn(test::cases_where(test::is_fixed)), kCaseName);

// --- import --------------------------------------------------------------------------------------

TEST_P(FilterFileImport, holds_what_was_exported_whatever_the_pages_and_goes_on) {
  const bool with_hashes = GetParam().growth;
  FilledFile from(options_of(GetParam()));
  from.fill(0, 9150);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(with_hashes)));
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
    expect_counts(to.file, from.counts);
    expect_ok(test::commit(to.file));
    expect_stored(to.storage, options, from.counts);
    to.counts = from.counts;
    to.fill(30000, 35190);
    expect_ok(test::commit(to.file));
    expect_stored(to.storage, options, to.counts);
  }
}

TEST_P(FilterFileImport, of_nothing_empties_it_and_keeps_it_growing) {
  FilledFile from(options_of(GetParam()));
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  FilledFile to(options_of(GetParam()));
  to.fill(0, 400);
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  EXPECT_EQ(to.file.items(), 0);
  EXPECT_EQ(to.file.keeps_hashes(), GetParam().growth);
  expect_ok(test::commit(to.file));
  const Result<bool> found = to.file.load_and_probe(nth_key(1));
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found.value());
  to.counts.clear();
  to.fill(400, 5400);
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, to.file.options(), to.counts);
}

TEST_P(GrowingFileRebuild, is_not_possible_after_an_import_without_hashes) {
  FilledFile from(options_of(GetParam()));
  from.fill(0, 9150);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  FilledFile to(options_of(GetParam()));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  EXPECT_FALSE(to.file.keeps_hashes());
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, to.file.options(), from.counts);
  expect_error(to.file.rebuild(1000), ErrorCode::kInvalid, "came without hashes");
  expect_error(to.file.contents(true).take_status(), ErrorCode::kInvalid, "came without hashes");
  expect_ok(to.file.clear());
  EXPECT_TRUE(to.file.keeps_hashes());
}

TEST(FilterFileImportOfUnique, counts_each_hash_once) {
  FilledFile from(small_segments(FilterKind::kCuckoo));
  from.fill(0, 3000);
  FilterOptions options = from.file.options();
  options.unique = true;
  for (const bool with_hashes : {true, false}) {
    HeldPieces pieces;
    expect_ok(pieces.take(from.file.contents(with_hashes)));
    FilledFile to(options);
    if (!with_hashes) {
      expect_error(to.file.import(options, pieces.contents), ErrorCode::kInvalid, "unique = on");
      EXPECT_EQ(to.file.items(), 0);
      continue;
    }
    expect_ok(to.file.import(options, pieces.contents));
    EXPECT_EQ(to.file.items(), from.counts.size());
    expect_ok(test::commit(to.file));
    FilterFile other(options, to.storage);
    expect_ok(other.refresh());
    expect_ok(other.check());
    for (const auto& [hash, count] : from.counts) {
      const Result<uint64_t> found = other.count(hash);
      ASSERT_TRUE(found.ok());
      EXPECT_GE(found.value(), 1);
    }
    EXPECT_EQ(other.items(), from.counts.size());
  }
}

// What cells can't tell, the mark of a filter whose hashes count once says.
TEST(FilterFileImportOfUnique, believes_a_mark_that_says_so) {
  FilterOptions options = small_segments(FilterKind::kCuckoo);
  options.unique = true;
  FilledFile from(options);
  from.fill(0, 3000);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  FilledFile to(options);
  ASSERT_TRUE(pieces.contents.mark.has_value());
  pieces.contents.mark->unique = false;
  expect_error(to.file.import(options, pieces.contents), ErrorCode::kInvalid, "unique = on");
  pieces.contents.mark->unique = true;
  expect_ok(to.file.import(options, pieces.contents));
  EXPECT_EQ(to.file.items(), from.file.items());
  EXPECT_EQ(to.file.mark().value(), from.file.mark().value());
  expect_ok(test::commit(to.file));
  expect_ok(to.file.check());
}

// Leaves of other depths than those that CREATE makes, some of them larger.
TEST_P(FilterFileImport, takes_segments_larger_than_its_own) {
  FilledFile from(options_of(GetParam()));
  from.fill(0, 300);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(GetParam().growth)));
  FilterOptions options = options_of(GetParam());
  options.capacity = 1000000;
  FilledFile to(options);
  ASSERT_GT(to.file.segments(), pieces.pieces.size());
  pieces.contents.capacity = options.capacity;
  expect_ok(to.file.import(options, pieces.contents));
  EXPECT_EQ(to.file.segments(), pieces.pieces.size());
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, options, from.counts);
}

TEST(FilterFileImportCheck, refuses_what_is_no_whole_filter_and_changes_nothing) {
  FilledFile from(small_segments(FilterKind::kCuckoo));
  from.fill(0, 9000);
  FilledFile to(small_segments(FilterKind::kCuckoo));
  to.fill(5000, 5100);
  expect_ok(test::commit(to.file));
  const auto rows = to.storage.rows;
  const FilterOptions before = to.file.options();
  using Break = void (*)(HeldPieces & pieces, FilterOptions & options);
  const std::pair<Break, const char*> breaks[] = {
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces.pop_back(); }, "do not cover"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces.erase(pieces.pieces.begin()); },
       "do not follow"},
      {[](HeldPieces& pieces, FilterOptions&) { std::swap(pieces.pieces[0], pieces.pieces[1]); },
       "do not follow"},
      {[](HeldPieces& pieces, FilterOptions&) { ++pieces.pieces[1].depth; }, ""},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].depth = 31; }, ""},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].prefix |= 1; }, ""},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].capacity = 0; }, "capacity"},
      {[](HeldPieces& pieces, FilterOptions&) { ++pieces.pieces[1].items; }, "items"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].hashes.pop_back(); }, "items"},
      {[](HeldPieces& pieces, FilterOptions&) {
         std::swap(pieces.pieces[1].hashes[3], pieces.pieces[1].hashes[4]);
       },
       "ascend"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].hashes[0].net = 0; }, "ascend"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].hashes[0].hash |= 1; }, "ascend"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.pieces[1].hashes[0].hash = 1 << 20; }, ""},
      {[](HeldPieces& pieces, FilterOptions&) { ++pieces.contents.items; }, "items"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.contents.capacity = 0; }, "capacity"},
      {[](HeldPieces& pieces, FilterOptions&) { pieces.contents.key_types = 256; }, "key types"},
      {[](HeldPieces&, FilterOptions& options) { options.spec.kind = FilterKind::kBloom; },
       "another kind"},
      {[](HeldPieces&, FilterOptions& options) { options.spec.rate = 2; }, "rate"},
      {[](HeldPieces&, FilterOptions& options) { options.page_bytes = 128; }, "pages of"},
  };
  for (const auto& [break_it, text] : breaks) {
    HeldPieces pieces;
    expect_ok(pieces.take(from.file.contents(true)));
    ASSERT_GE(pieces.pieces.size(), 2);
    FilterOptions options = before;
    options.digest = 77;
    break_it(pieces, options);
    expect_error(to.file.import(options, pieces.contents), ErrorCode::kInvalid, text);
    EXPECT_FALSE(to.file.pending());
    EXPECT_EQ(to.file.options().digest, before.digest);
    expect_counts(to.file, to.counts);
    expect_ok(to.file.check());
    EXPECT_EQ(to.storage.rows, rows);
  }
}

// The chain names what was imported, and other connections read it anew.
TEST(FilterFileImportMarks, lead_on_from_the_mark_of_the_contents) {
  FilledFile from(small_segments(FilterKind::kCuckoo));
  from.fill(0, 3000);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(true)));
  ASSERT_TRUE(pieces.contents.mark.has_value());
  FilledFile to(small_segments(FilterKind::kCuckoo));
  FilterFile other(to.file.options(), to.storage);
  expect_ok(other.refresh());
  const auto before = to.file.mark();
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  const auto after = to.file.mark();
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_NE(before.value(), after.value());
  EXPECT_EQ(after.value(), pieces.contents.mark);
  expect_ok(test::commit(to.file));
  EXPECT_EQ(to.file.mark().value(), pieces.contents.mark);
  expect_ok(other.refresh());
  EXPECT_EQ(other.mark().value(), pieces.contents.mark);
  expect_counts(other, from.counts);
  from.fill(3000, 3300);
  const Result<std::optional<FilterChanges>> changes =
      from.file.changes_since(*pieces.contents.mark);
  ASSERT_TRUE(changes.ok()) << changes.error().message;
  const Result<bool> applied = other.apply(*changes.value());
  ASSERT_TRUE(applied.ok()) << applied.error().message;
  EXPECT_EQ(other.items(), from.file.items());
  expect_counts(other, from.counts);
  expect_ok(test::commit(other));
  expect_ok(other.check());
}

TEST(FilterFileImportMarks, survive_a_rebuild) {
  FilledFile from(small_segments(FilterKind::kCuckoo));
  from.fill(0, 3000);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(true)));
  FilledFile to(small_segments(FilterKind::kCuckoo));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  expect_ok(test::commit(to.file));
  expect_ok(to.file.rebuild(5000));
  expect_ok(test::commit(to.file));
  FilterFile other(to.file.options(), to.storage);
  expect_ok(other.refresh());
  const auto mark = other.mark();
  ASSERT_TRUE(mark.ok()) << mark.error().message;
  EXPECT_EQ(mark.value(), pieces.contents.mark);
  expect_ok(to.file.clear());
  EXPECT_NE(to.file.mark().value(), pieces.contents.mark);
  expect_ok(test::commit(to.file));
  expect_ok(other.refresh());
  EXPECT_NE(other.mark().value(), pieces.contents.mark);
}

// A key with many copies, of a filter that takes no cell of them for changed.
TEST(FilterFileImportOfCopies, writes_the_cells_that_overflowed) {
  FilledFile from(small_segments(FilterKind::kCuckoo));
  for (uint64_t i = 0; i < 300; ++i) {
    from.add(1 + i % 2);
  }
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  pieces.contents.pieces = [&](const PieceSink& sink) {
    Piece piece = HeldPieces::copy_of(pieces.pieces.front());
    piece.filter->overflow().clear_changed();
    return sink(std::move(piece));
  };
  FilledFile to(small_segments(FilterKind::kCuckoo));
  expect_ok(to.file.import(to.file.options(), pieces.contents));
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, to.file.options(), from.counts);
}

TEST_P(FilterFileImport, that_fails_while_it_is_written_can_be_rolled_back) {
  FilledFile from(options_of(GetParam()));
  from.fill(0, 2150);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(GetParam().growth)));
  FilledFile to(options_of(GetParam()));
  to.fill(5000, 5400);
  expect_ok(test::commit(to.file));
  const auto rows = to.storage.rows;
  for (uint64_t fault = 1;; fault += 1 + fault / 4) {
    to.storage.fail_at(fault);
    Status status = to.file.import(to.file.options(), pieces.contents);
    const bool changed = status.ok();
    if (changed) {
      status = to.file.flush();
    }
    const bool was_due = to.storage.fault_is_due();
    to.storage.fail_at(0);
    if (was_due) {
      expect_ok(status);
      break;
    }
    EXPECT_EQ(to.file.poisoned(), changed);
    if (changed) {
      to.storage.rows = rows;
      to.file.forget();
      expect_ok(to.file.refresh());
    }
    EXPECT_EQ(to.storage.rows, rows);
    expect_counts(to.file, to.counts);
    ASSERT_LT(fault, 100000);
  }
  to.file.committed();
  expect_stored(to.storage, to.file.options(), from.counts);
}

// --- rebuild -------------------------------------------------------------------------------------

TEST_P(GrowingFileRebuild, holds_the_same_in_the_segments_that_create_would_make) {
  for (const uint64_t capacity : {1, 9000, 60000, 1000000}) {
    FilledFile filled(options_of(GetParam()));
    filled.fill(0, 9150);
    FilterFile other(filled.file.options(), filled.storage);
    expect_ok(other.refresh());
    expect_counts(other, {});
    const uint64_t items = filled.file.items();
    const auto mark = filled.file.mark();
    expect_ok(filled.file.rebuild(capacity));
    EXPECT_EQ(filled.file.items(), items);
    EXPECT_EQ(filled.file.mark().value(), mark.value());
    expect_counts(filled.file, filled.counts);
    expect_ok(test::commit(filled.file));
    EXPECT_EQ(filled.file.mark().value(), mark.value());
    expect_stored(filled.storage, filled.file.options(), filled.counts);
    EXPECT_GE(filled.file.capacity(), std::max<uint64_t>(capacity, filled.counts.size()));
    FilterOptions like = filled.file.options();
    like.capacity = filled.file.capacity();
    EXPECT_EQ(filled.file.segments(), uint64_t{1} << segment_limits(like).value().depth);
    EXPECT_EQ(filled.file.made_for(), filled.file.capacity());
    EXPECT_LT(filled.file.rate_now(), 0.0105);
    expect_ok(other.refresh());
    expect_counts(other, filled.counts);
    filled.fill(10000, 14990);
    expect_ok(test::commit(filled.file));
    expect_stored(filled.storage, filled.file.options(), filled.counts);
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
    expect_ok(test::commit(filled.file));
    for (uint64_t i = 0; i < 2000; ++i) {
      filled.remove(i);
    }
    expect_ok(test::commit(filled.file));
  }
  filled.fill(5000, 5300);
  expect_ok(test::commit(filled.file));
  const size_t before = filled.storage.rows.size();
  expect_ok(filled.file.rebuild(100));
  expect_ok(test::commit(filled.file));
  EXPECT_LT(filled.storage.rows.size(), before);
  EXPECT_EQ(filled.file.segments(), 1);
  EXPECT_GE(filled.file.capacity(), filled.counts.size());
  EXPECT_LT(filled.file.capacity(), 400);
  expect_stored(filled.storage, filled.file.options(), filled.counts);
}

// A leaf that has no header any more has none of the entries that were folded before.
TEST_P(GrowingFileRebuild, of_what_was_removed_again_leaves_nothing_pending) {
  if (!is_multiset(GetParam().kind)) {
    return;
  }
  FilledFile filled(options_of(GetParam()));
  filled.fill(0, 3000);
  while (!filled.counts.empty()) {
    const uint64_t hash = filled.counts.begin()->first;
    const Result<bool> removed = filled.file.remove(hash);
    ASSERT_TRUE(removed.ok() && removed.value());
    if (--filled.counts.begin()->second == 0) {
      filled.counts.erase(filled.counts.begin());
    }
  }
  FilterFile other(filled.file.options(), filled.storage);
  expect_ok(test::commit(filled.file));
  expect_ok(other.refresh());
  filled.add(1);
  filled.add(2);
  filled.remove(1);
  expect_ok(filled.file.rebuild(100000));
  expect_ok(test::commit(filled.file));
  expect_stored(filled.storage, filled.file.options(), filled.counts);
  expect_ok(other.refresh());
  expect_ok(other.check());
  EXPECT_EQ(other.items(), 1);
  filled.add(3);
  expect_ok(test::commit(filled.file));
  expect_ok(other.refresh());
  expect_ok(other.insert(nth_key(4)));
  filled.counts[nth_key(4)] = 1;
  expect_ok(test::commit(other));
  expect_stored(filled.storage, filled.file.options(), filled.counts);
}

// Keys whose hashes all begin alike: no segment is as deep as they ask for.
TEST(FilterFileRebuild, of_chosen_keys_cuts_them_further_but_not_without_end) {
  FilterOptions options = small_segments(FilterKind::kCuckoo);
  MemoryBlocks storage;
  FilterFile file(options, storage);
  expect_ok(file.create());
  constexpr uint64_t kKeys = 20000;
  std::map<uint64_t, uint64_t> counts;
  for (uint64_t i = 0; i < kKeys; ++i) {
    const uint64_t hash = uint64_t{0xABC} << 52 | nth_key(i) >> 12 << 16;
    expect_ok(file.insert(hash));
    ++counts[hash];
  }
  expect_ok(test::commit(file));
  expect_ok(file.rebuild(10));
  expect_ok(test::commit(file));
  expect_stored(storage, options, counts);
}

TEST_P(GrowingFileRebuild, that_fails_changes_nothing) {
  FilledFile filled(options_of(GetParam()));
  filled.fill(0, 5150);
  expect_ok(test::commit(filled.file));
  filled.fill(5150, 5160);
  expect_error(filled.file.rebuild(0), ErrorCode::kInvalid, "capacity");
  const auto rows = filled.storage.rows;
  for (uint64_t fault = 1;; fault += 1 + fault / 8) {
    filled.storage.fail_at(fault);
    const Status status = filled.file.rebuild(40000);
    if (status.ok()) {
      EXPECT_TRUE(filled.storage.fault_is_due());
      break;
    }
    EXPECT_FALSE(filled.file.poisoned());
    EXPECT_EQ(filled.storage.rows, rows);
    ASSERT_LT(fault, 10000);
  }
  filled.storage.fail_at(0);
  expect_counts(filled.file, filled.counts);
  expect_ok(test::commit(filled.file));
  expect_stored(filled.storage, filled.file.options(), filled.counts);
}

TEST_P(GrowingFileRebuild, that_is_rolled_back_changed_nothing) {
  FilledFile filled(options_of(GetParam()));
  filled.fill(0, 5150);
  expect_ok(test::commit(filled.file));
  const auto rows = filled.storage.rows;
  const size_t segments = filled.file.segments();
  for (const bool flushed : {false, true}) {
    expect_ok(filled.file.rebuild(200000));
    if (flushed) {
      expect_ok(filled.file.flush());
    }
    filled.storage.rows = rows;
    filled.file.forget();
    expect_ok(filled.file.refresh());
    EXPECT_EQ(filled.file.segments(), segments);
    expect_counts(filled.file, filled.counts);
    expect_ok(filled.file.check());
  }
}

// --- unite ---------------------------------------------------------------------------------------

TEST_P(FixedFileUnite, holds_both) {
  FilledFile from(options_of(GetParam()));
  from.fill(0, 5150);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  FilledFile to(options_of(GetParam()));
  to.fill(4000, 8150);
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
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, to.file.options(), to.counts);
  to.fill(9000, 9990);
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, to.file.options(), to.counts);
}

TEST_P(GrowingFileUnite, into_an_empty_filter_leaves_it_without_hashes) {
  FilterOptions options = options_of(GetParam());
  options.capacity = 9000;
  FilledFile from(options);
  from.fill(0, 5150);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  ASSERT_GT(pieces.pieces.size(), 1);
  FilledFile to(options);
  expect_ok(to.file.unite(pieces.contents));
  EXPECT_FALSE(to.file.keeps_hashes());
  expect_ok(test::commit(to.file));
  expect_stored(to.storage, options, from.counts);
  FilledFile held(options);
  held.fill(0, 10);
  expect_error(held.file.unite(pieces.contents), ErrorCode::kInvalid, "empty filter only");
  held.counts.clear();
}

TEST_P(FixedFileUnite, refuses_other_segments_and_changes_nothing) {
  FilledFile to(options_of(GetParam()));
  to.fill(0, 300);
  expect_ok(test::commit(to.file));
  const auto rows = to.storage.rows;
  for (const uint64_t capacity : {1000, 299000, 3000000}) {
    FilterOptions options = options_of(GetParam());
    options.capacity = capacity;
    FilledFile from(options);
    from.fill(300, 500);
    HeldPieces pieces;
    expect_ok(pieces.take(from.file.contents(false)));
    expect_error(to.file.unite(pieces.contents), ErrorCode::kInvalid, "by their hashes only");
    expect_error(to.file.expect_united(pieces.contents), ErrorCode::kInvalid, "");
  }
  EXPECT_FALSE(to.file.pending());
  EXPECT_EQ(to.storage.rows, rows);
  expect_counts(to.file, to.counts);
  expect_ok(to.file.check());
}

TEST_P(FixedFileUnite, of_more_than_the_capacity_is_full_and_changes_nothing) {
  for (const uint64_t capacity : {2000, 200000}) {
    FilterOptions options = options_of(GetParam());
    options.capacity = capacity;
    options.page_bytes = 4032;
    FilledFile from(options);
    FilledFile to(options);
    for (uint64_t i = 0; i < capacity * 6 / 10; ++i) {
      from.add(i);
      to.add(capacity + i);
    }
    expect_ok(test::commit(from.file));
    expect_ok(test::commit(to.file));
    HeldPieces pieces;
    expect_ok(pieces.take(from.file.contents(false)));
    const auto rows = to.storage.rows;
    const uint64_t items = to.file.items();
    expect_error(to.file.unite(pieces.contents), ErrorCode::kFull,
                 "more would exceed its capacity of " + std::to_string(capacity));
    EXPECT_EQ(to.file.items(), items);
    EXPECT_FALSE(to.file.pending());
    EXPECT_EQ(to.storage.rows, rows);
    expect_ok(to.file.check());
  }
}

TEST_P(FixedFileUnite, of_as_many_keys_as_its_capacity_always_fits) {
  for (const uint64_t capacity : {2000, 200000}) {
    FilterOptions options = options_of(GetParam());
    options.capacity = capacity;
    options.page_bytes = 4032;
    FilledFile from(options);
    FilledFile to(options);
    for (uint64_t i = 0; i < capacity / 2; ++i) {
      from.add(i);
      to.add(capacity + i);
    }
    HeldPieces pieces;
    expect_ok(pieces.take(from.file.contents(false)));
    expect_ok(to.file.unite(pieces.contents));
    EXPECT_LE(to.file.items(), capacity);
    to.counts.insert(from.counts.begin(), from.counts.end());
    expect_ok(test::commit(to.file));
    expect_counts(to.file, to.counts);
    expect_ok(to.file.check());
  }
}

TEST_P(FixedFileUnite, that_fails_changes_nothing) {
  FilledFile from(options_of(GetParam()));
  from.fill(0, 300);
  HeldPieces pieces;
  expect_ok(pieces.take(from.file.contents(false)));
  FilledFile to(options_of(GetParam()));
  to.fill(200, 4200);
  expect_ok(test::commit(to.file));
  to.file.forget();
  expect_ok(to.file.refresh());
  const auto rows = to.storage.rows;
  for (uint64_t fault = 1;; fault += 1 + fault / 8) {
    to.storage.fail_at(fault);
    const Status status = to.file.unite(pieces.contents);
    if (status.ok()) {
      break;
    }
    EXPECT_FALSE(to.file.poisoned());
    ASSERT_LT(fault, 10000);
  }
  to.storage.fail_at(0);
  EXPECT_EQ(to.storage.rows, rows);
  to.counts.insert(from.counts.begin(), from.counts.end());
  expect_counts(to.file, to.counts);
  expect_ok(test::commit(to.file));
  expect_ok(to.file.check());
}

TEST(FilterFileRoom, is_asked_for_before_the_work) {
  FilledFile fixed(small_segments(FilterKind::kCuckoo, false, 1000));
  fixed.fill(0, 100);
  const uint64_t held = fixed.file.items();
  expect_ok(fixed.file.expect_room(1000 - held));
  expect_error(fixed.file.expect_room(1001 - held), ErrorCode::kFull,
               std::to_string(held) + " items, and " + std::to_string(1001 - held) +
                   " more would exceed its capacity of 1000");
  expect_error(fixed.file.expect_room(~uint64_t{0}), ErrorCode::kFull, "");
  FilledFile grows(small_segments(FilterKind::kCuckoo));
  expect_ok(grows.file.expect_room(1000000));
  expect_error(grows.file.expect_room(uint64_t{1} << 50), ErrorCode::kFull, "can tell apart");
  FilledFile set(small_segments(FilterKind::kBloom, false, 1000));
  expect_ok(set.file.expect_room(1 << 20));
}

}  // namespace
}  // namespace cuckoo::segments
