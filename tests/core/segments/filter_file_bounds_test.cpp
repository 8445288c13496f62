// S4: what a transaction does depends on its rows, not on the size of the filter.
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_filter_file_bounds_test {
namespace {

struct Most {
  uint64_t calls = 0;  // of storage
  uint64_t blocks_read = 0;
  uint64_t writes = 0;
};

// The most that one of these transactions of 500 rows does. With `opens`, each has a new
// connection.
Most most_of(MemoryBlocks& storage, const FilterOptions& options, uint64_t first, uint64_t count,
             bool opens) {
  Most most;
  auto file = std::make_unique<FilterFile>(options, storage);
  expect_ok(file->refresh());
  for (uint64_t i = 0; i < count; ++i) {
    storage.calls = {};
    if (opens) {
      file = std::make_unique<FilterFile>(options, storage);
    }
    expect_ok(test::add_and_commit(*file, first + 500 * i, first + 500 * (i + 1)));
    const MemoryBlocks::Calls& calls = storage.calls;
    most.calls = std::max(most.calls, calls.reads + calls.writes + calls.erases);
    most.blocks_read = std::max(most.blocks_read, calls.blocks_read);
    most.writes = std::max(most.writes, calls.writes);
  }
  return most;
}

class FilterFileBounds : public ::testing::TestWithParam<FilterKind> {};

TEST_P(FilterFileBounds, work_of_500_rows_does_not_grow_with_the_filter) {
  FilterOptions options = test::options_for({GetParam(), true}, 1000, 0.001, 4032);
  for (const uint64_t keys : {10'000u, 100'000u, 1'000'000u}) {
    MemoryBlocks storage;
    NewFile file(options, storage);
    expect_ok(test::add_and_commit(file, 0, keys));
    const Most most = most_of(storage, options, keys, 40, false);
    // A split: the pages and runs of one segment are read, those of two written.
    EXPECT_LE(most.writes, 400u) << keys;
    // A set asks for its rows' pages, and reads those that are not in memory yet.
    const uint64_t asked = options.multiset() ? 0 : 500;
    EXPECT_LE(most.blocks_read, 400u + asked) << keys;
    EXPECT_LE(most.calls, 600u + asked) << keys;
    const Most opened = most_of(storage, options, keys + 20'000, 10, true);
    // A new connection also reads the log, which has some 700 entries a row.
    EXPECT_LE(opened.blocks_read, 400u + asked + (uint64_t{1} << 18) / 600) << keys;
    EXPECT_LE(opened.writes, 400u) << keys;
    test::expect_stored(storage, options, keys + 25'000);
  }
}

TEST_P(FilterFileBounds, work_of_one_row_is_one_row_of_the_log) {
  const FilterOptions options = test::options_for({GetParam(), true}, 1000, 0.001, 4032);
  MemoryBlocks storage;
  NewFile file(options, storage);
  expect_ok(test::add_and_commit(file, 0, 50'000));
  uint64_t more = 0;
  for (uint64_t i = 50'000; i < 52'000; ++i) {
    storage.calls = {};
    expect_ok(test::add_and_commit(file, i, i + 1));
    more += storage.calls.writes == 1 ? 0 : 1;
  }
  EXPECT_LE(more, 8u) << "full rows and folds";
}

INSTANTIATE_EACH(Kinds, FilterFileBounds, test::kLoggedKinds);

}  // namespace
}  // namespace cuckoo::segments::segments_filter_file_bounds_test
