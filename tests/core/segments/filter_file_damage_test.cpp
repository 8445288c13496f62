// Blocks are changed, removed, moved and exchanged. No key may be lost without an error before, and
// no bytes whatever lead to a crash or to work without end.
#include "tests/core/segments/stored_file.hpp"
#include "tests/support/sealed_blocks.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments {
namespace segments_filter_file_damage_test {
namespace {

constexpr uint64_t kKeys = 4000;

class FilterFileDamage : public ::testing::TestWithParam<test::FilterCase> {
 protected:
  // Segments of several folds, overflow cells, and a log of entries that are not folded. `older`:
  // gets the blocks of some time before.
  static MemoryBlocks::Rows rows_of(const FilterOptions& options, uint64_t first,
                                    MemoryBlocks::Rows* older = nullptr) {
    MemoryBlocks storage;
    NewFile file(options, storage);
    expect_ok(test::add_and_commit(file, first, first + 2500));
    if (older != nullptr) {
      *older = storage.rows;
    }
    for (uint64_t i = 2500; i < kKeys - 300; i += 300) {
      expect_ok(test::add_and_commit(file, first + i, first + i + 300));
    }
    expect_ok(file.refresh());
    for (uint64_t i = 0; i < 600 && options.multiset(); ++i) {
      const Status added = file.insert(test::nth_key(first + i % 20));
      EXPECT_TRUE(added.ok() || !options.growth) << test::message_of(added);
    }
    expect_ok(test::commit(file));
    expect_ok(test::add_and_commit(file, first + 3700, first + kKeys));
    expect_ok(file.check());
    return storage.rows;
  }

  void SetUp() override {
    good = rows_of(options, 0);
    storage.rows = good;
  }
  // Expects that all keys are present, unless something failed before. Returns true if something
  // failed.
  bool finds_damage() {
    FilterFile file(options, storage);
    if (!file.refresh().ok()) {
      return true;
    }
    for (uint64_t i = 0; i < kKeys; ++i) {
      const Result<bool> found = file.load_and_probe(test::nth_key(i));
      if (!found.ok()) {
        EXPECT_EQ(found.error().code, ErrorCode::kCorrupt);
        return true;
      }
      if (!found.value()) {
        ADD_FAILURE() << "key " << i << " is lost";
        return true;
      }
    }
    return !file.check().ok();
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

  // Expects that each of these blocks is found, if it differs, in the place of the filter's own.
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
  const FilterOptions options =
      test::small_segments(GetParam().kind, GetParam().growth, GetParam().growth ? 100 : 4800);
  MemoryBlocks storage;
  MemoryBlocks::Rows good;
};

TEST_P(FilterFileDamage, is_not_seen_where_there_is_none) { EXPECT_FALSE(finds_damage()); }

TEST_P(FilterFileDamage, of_any_byte_loses_no_key) {
  uint64_t n = 0;
  for (const auto& row : good) {
    if (is_left_out()) {
      continue;
    }
    const size_t size = row.second.size();
    for (const size_t at : {size_t{0}, nth_word(1, n) % size, size - 1}) {
      storage.rows = good;
      storage.rows[row.first][at] ^= std::byte{1} << (n++ % 8);
      ASSERT_TRUE(finds_damage()) << block_name(row.first) << ", byte " << at;
    }
  }
}

TEST_P(FilterFileDamage, of_a_lost_block_loses_no_key) {
  for (const auto& row : good) {
    if (is_left_out()) {
      continue;
    }
    storage.rows = good;
    storage.rows.erase(row.first);
    ASSERT_TRUE(finds_damage()) << block_name(row.first);
  }
}

TEST_P(FilterFileDamage, of_a_moved_or_copied_block_loses_no_key) {
  for (auto row = good.begin(); std::next(row) != good.end(); ++row) {
    if (is_left_out()) {
      continue;
    }
    storage.rows = good;
    std::swap(storage.rows[row->first], storage.rows[std::next(row)->first]);
    ASSERT_TRUE(finds_damage()) << block_name(row->first);
    if (!good.contains(row->first + 1)) {
      storage.rows = good;
      storage.rows[row->first + 1] = row->second;
      ASSERT_TRUE(finds_damage()) << block_name(row->first);
    }
  }
}

TEST_P(FilterFileDamage, of_a_foreign_block_loses_no_key) {
  FilterOptions foreign = options;
  foreign.seed = 99;
  expect_found(rows_of(foreign, 0));
}

// Their checksums are right.
TEST_P(FilterFileDamage, of_a_block_of_a_filter_with_the_same_seed_loses_no_key) {
  expect_found(rows_of(options, 100'000));
}

TEST_P(FilterFileDamage, of_a_block_of_an_earlier_time_loses_no_key) {
  MemoryBlocks::Rows older;
  EXPECT_EQ(rows_of(options, 0, &older), good);
  expect_found(older);
}

// The pages of a segment stay as they are, and its runs are those of another filter. The filter
// that is made anew of them would lack its keys.
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

// An attacker may write blocks whose checksums are right. The figures make filters of the
// geometries in the headers, and nothing else has read these geometries before.
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

TEST_P(FilterFileDamage, by_an_attacker_does_no_harm) {
  storage.trusting = false;
  const Blocks blocks(storage, options.seed);
  constexpr uint64_t rounds = 3;
  uint64_t n = 0;
  for (const auto& row : good) {
    if (is_left_out()) {
      continue;
    }
    const size_t size = row.second.size() - 4;
    for (uint64_t round = 0; round < rounds; ++round, ++n) {
      storage.rows = good;
      Bytes content(row.second.begin(), row.second.end() - 4);
      for (uint64_t i = 0; i <= round && size > 0; ++i) {
        const auto word = static_cast<uint8_t>(nth_word(7, 2 * n + i));
        constexpr uint8_t kBytes[] = {0, 1, 0x7F, 0x80, 0xFF};
        content[nth_word(8, 3 * n + i) % size] =
            static_cast<std::byte>(word % 2 == 0 ? word : kBytes[word % 5]);
      }
      expect_ok(blocks.write(row.first, content, true));
      if (round % 2 == 0) {
        test::seal(storage, options);
      }
      FilterFile file(options, storage);
      if (!file.refresh().ok()) {
        continue;
      }
      for (uint64_t i = 0; i < kKeys; i += 7) {
        (void)file.load_and_probe(test::nth_key(i));
        (void)file.count(test::nth_key(i));
      }
      (void)file.check();
      for (uint64_t i = 0; i < 1200; ++i) {
        (void)file.insert(test::nth_key(kKeys + i));
        if (options.multiset()) {
          (void)file.remove(test::nth_key(i));
        }
      }
      (void)test::commit(file);
    }
  }
}

INSTANTIATE_EACH(Kinds, FilterFileDamage, test::all_cases());

}  // namespace
}  // namespace segments_filter_file_damage_test
}  // namespace cuckoo::segments
