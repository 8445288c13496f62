// Blocks of filters and of sliding windows are changed, removed, moved and
// exchanged. No key may be lost without an error before.
// tests/fuzz/filter_file_fuzz.cpp has bytes that an attacker chose.
#include "tests/core/segments/stored_file.hpp"
#include "tests/core/segments/stored_generations.hpp"
#include "tests/support/sealed_blocks.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments::segments_filter_file_damage_test {
namespace {

constexpr uint64_t kKeys = 4000;

struct DamageCase {
  FilterCase kind;
  uint64_t generations;
};
std::string name_of(const DamageCase& one) {
  return name_of(one.kind) + (one.generations > 1 ? "_window" : "");
}
std::vector<DamageCase> damage_cases(bool windows) {
  std::vector<DamageCase> cases;
  for (const FilterCase& kind : test::all_cases()) {
    cases.push_back({kind, 1});
    if (windows) {
      cases.push_back({kind, 3});
    }
  }
  return cases;
}

class FilterDamage : public ::testing::TestWithParam<DamageCase> {
 protected:
  static FilterOptions options_of(const DamageCase& one) {
    FilterOptions options =
        options_for(one.kind, one.kind.growth ? 100 : 4800, one.generations > 1 ? 0.03 : 0.01, 64);
    options.generations = one.generations;
    return options;
  }
  // Segments of several folds, overflow cells, and a log of entries that are
  // not folded; in a window, in each generation. `older`: gets the blocks of
  // some time before.
  static MemoryBlocks::Rows rows_of(const FilterOptions& options, uint64_t first,
                                    MemoryBlocks::Rows* older = nullptr) {
    StoredGenerations stored(options);
    const uint64_t each = kKeys / options.generations;
    for (uint64_t turn = 0; turn < options.generations; ++turn) {
      const uint64_t from = first + turn * each;
      stored.add_and_commit(from, from + each * 5 / 8);
      if (older != nullptr) {
        *older = stored.storage.rows;
      }
      for (uint64_t i = each * 5 / 8; i < each - 300; i += 300) {
        stored.add_and_commit(from + i, from + std::min(i + 300, each - 300));
      }
      for (uint64_t i = 0; i < 600 && options.multiset(); ++i) {
        const Status added = stored.window.newest().insert(nth_hash(from + i % 20));
        EXPECT_TRUE(added.ok() || !options.growth) << message_of(added);
      }
      stored.commit();
      stored.add_and_commit(from + each - 300, from + each);
      if (turn + 1 < options.generations) {
        stored.rotate();
        stored.commit();
      }
    }
    stored.expect_good();
    return stored.storage.rows;
  }

  void SetUp() override { storage.rows = good; }
  // Expects that all keys are present, unless something failed before. Returns
  // true if something failed.
  bool finds_damage() {
    FilterWindow window(options, storage);
    if (!window.refresh().ok()) {
      return true;
    }
    for (uint64_t i = 0; i < kKeys / options.generations * options.generations; ++i) {
      const Result<bool> found = window.load_and_probe(nth_hash(i));
      if (!found.ok()) {
        EXPECT_TRUE(fails(found, ErrorCode::kCorrupt));
        return true;
      }
      if (!found.value()) {
        ADD_FAILURE() << "key " << i << " is lost";
        return true;
      }
    }
    return !window.check().ok();
  }

  // The first page of the directory.
  static Bytes first_page(const Blocks& blocks) {
    Bytes page;
    expect_ok(blocks.read_one(kFirstDirectoryBlock, [&](int64_t, std::span<const std::byte> bytes) {
      page.assign(bytes.begin(), bytes.end());
      return Status();
    }));
    return page;
  }

  // Expects that each of these blocks is found, if it differs, in the place of
  // the filter's own.
  void expect_found(const MemoryBlocks::Rows& others) {
    for (const auto& [id, row] : others) {
      const auto own = good.find(id);
      if (is_left_out() || (own != good.end() && own->second == row)) {
        continue;
      }
      storage.rows = good;
      storage.rows[id] = row;
      ASSERT_TRUE(finds_damage()) << block_name(id);
    }
  }
  bool is_left_out() { return seen_++ % test::share_divisor() != test::share_first(); }

  uint64_t seen_ = 0;
  const FilterOptions options = options_of(GetParam());
  const MemoryBlocks::Rows good = rows_of(options, 0);
  MemoryBlocks storage;
};
INSTANTIATE_EACH(Kinds, FilterDamage, damage_cases(true));

class FilterFileDamage : public FilterDamage {};
INSTANTIATE_EACH(Kinds, FilterFileDamage, damage_cases(false));

TEST_P(FilterDamage, is_not_seen_where_there_is_none) { EXPECT_FALSE(finds_damage()); }

// Each block in turn gets these changes.
TEST_P(FilterDamage, of_a_byte_and_of_a_block_that_is_lost_moved_or_copied_loses_no_key) {
  using Rows = MemoryBlocks::Rows;
  using Change = void (*)(Rows & rows, Rows::iterator at, uint64_t n);
  const std::pair<const char*, Change> changes[] = {
      {"first byte", [](Rows&, auto at, uint64_t n) { at->second[0] ^= std::byte{1} << (n % 8); }},
      {"a byte",
       [](Rows&, auto at, uint64_t n) {
         at->second[nth_word(1, n) % at->second.size()] ^= std::byte{1} << (n % 8);
       }},
      {"last byte",
       [](Rows&, auto at, uint64_t n) { at->second.back() ^= std::byte{1} << (n % 8); }},
      {"lost", [](Rows& rows, auto at, uint64_t) { rows.erase(at); }},
      {"moved",
       [](Rows& rows, auto at, uint64_t) {
         std::swap(at->second,
                   (at->first == rows.rbegin()->first ? rows.begin() : std::next(at))->second);
       }},
      {"copied",
       [](Rows& rows, auto at, uint64_t) { rows.try_emplace(at->first + 1, at->second); }},
  };
  uint64_t n = 0;
  for (const auto& row : good) {
    if (is_left_out()) {
      continue;
    }
    for (const auto& [name, change] : changes) {
      storage.rows = good;
      change(storage.rows, storage.rows.find(row.first), n++);
      if (storage.rows != good) {
        ASSERT_TRUE(finds_damage()) << block_name(row.first) << ": " << name;
      }
    }
  }
}

// The checksums of all but the first are right.
TEST_P(FilterDamage, of_a_block_of_another_filter_or_time_loses_no_key) {
  FilterOptions foreign = options;
  foreign.seed = 99;
  expect_found(rows_of(foreign, 0));
  expect_found(rows_of(options, 100'000));
  MemoryBlocks::Rows older;
  EXPECT_EQ(rows_of(options, 0, &older), good);
  expect_found(older);
}

// The pages of a segment stay as they are, and its runs are those of another
// filter. The filter that is made anew of them would lack its keys.
TEST_P(FilterFileDamage, of_all_runs_of_a_segment_loses_no_key) {
  if (!options.growth) {
    return;
  }
  const MemoryBlocks::Rows other = rows_of(options, 100'000);
  for (const auto& [id, row] : other) {
    if (id < kFirstLogBlock && id % kEndPart >= kFirstRunPart && id % kEndPart < kFirstSumsPart) {
      storage.rows[id] = row;
    }
  }
  ASSERT_NE(storage.rows, good);
  FilterFile file(options, storage);
  expect_ok(file.refresh());
  EXPECT_EQ(file.rebuild(1).error().code, ErrorCode::kCorrupt);
}

// An attacker may write blocks whose checksums are right. The figures make
// filters of the geometries in the headers, and nothing else has read these
// geometries before.
TEST_P(FilterFileDamage, of_a_geometry_takes_no_memory_for_figures) {
  const Blocks blocks(storage, options.seed);
  Bytes page = first_page(blocks);
  const auto at = std::span(page).first(kSegmentHeaderBytes);
  const SegmentHeader header = must(decode_segment_header(at));
  for (const bool of_capacity : {false, true}) {
    SegmentHeader changed = header;
    (of_capacity ? changed.capacity : changed.size) = uint64_t{1} << 40;
    encode_segment_header(changed, at);
    expect_ok(blocks.write(kFirstDirectoryBlock, page, true));
    test::seal(storage, options);
    OpenedFile file(options, storage);
    EXPECT_GE(file.rate_now(), 0);
    EXPECT_GE(file.load_factor(), 0);
    (void)file.places_per_key();
    (void)file.bits();
    EXPECT_FALSE(file.check().ok());
    EXPECT_LT(file.memory_bytes(), 10'000'000U);
  }
}

TEST_P(FilterFileDamage, of_a_segment_made_after_what_it_holds_is_found) {
  const Blocks blocks(storage, options.seed);
  Bytes page = first_page(blocks);
  const auto at = std::span(page).first(kSegmentHeaderBytes);
  SegmentHeader header = must(decode_segment_header(at));
  OpenedFile open(options, storage);
  header.made_at = header.folded_to + 1;
  encode_segment_header(header, at);
  expect_ok(blocks.write(kFirstDirectoryBlock, page, true));
  test::seal(storage, options);
  EXPECT_EQ(open.check().error().code, ErrorCode::kCorrupt);
  FilterFile file(options, storage);
  EXPECT_EQ(file.refresh().error().code, ErrorCode::kCorrupt);
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_damage_test
