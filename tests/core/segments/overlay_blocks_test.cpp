#include "core/segments/overlay_blocks.hpp"

#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::segments::segments_overlay_blocks_test {
namespace {

MemoryBlocks::Rows rows_of(BlockStorage& storage, int64_t first, int64_t last) {
  MemoryBlocks::Rows rows;
  bool any = false;
  int64_t before = 0;
  expect_ok(storage.read(first, last, [&](int64_t id, std::span<const std::byte> block) -> Status {
    EXPECT_TRUE(!any || id > before) << "ascending";
    any = true;
    before = id;
    rows[id] = Bytes(block.begin(), block.end());
    return {};
  }));
  return rows;
}

TEST(OverlayBlocks, read_as_if_every_change_had_been_made_below) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    MemoryBlocks below;
    for (int64_t id = 0; id < 60; id += 1 + static_cast<int64_t>(seed % 3)) {
      below.rows[id] = Bytes(3, std::byte{1});
    }
    const MemoryBlocks::Rows before = below.rows;
    MemoryBlocks changed;
    changed.trusting = false;
    changed.rows = before;
    OverlayBlocks overlay(below);
    for (uint64_t i = 0; i < 60; ++i) {
      const auto id = static_cast<int64_t>(nth_word(seed, 3 * i) % 60);
      const auto last = id + static_cast<int64_t>(nth_word(seed, 3 * i + 1) % 8);
      for (BlockStorage* const storage :
           {static_cast<BlockStorage*>(&overlay), static_cast<BlockStorage*>(&changed)}) {
        expect_ok(nth_word(seed, 3 * i + 2) % 2 == 0
                      ? storage->erase(id, last)
                      : storage->write(id, Bytes(2, static_cast<std::byte>(i)), true));
      }
      EXPECT_TRUE(rows_of(overlay, 0, 99) == changed.rows);
      EXPECT_TRUE(rows_of(overlay, id, last) == rows_of(changed, id, last));
    }
    EXPECT_TRUE(below.rows == before) << "I1";
  }
}

TEST(OverlayBlocks, pass_failures_of_below_and_of_the_visitor) {
  MemoryBlocks below;
  OverlayBlocks overlay(below);
  expect_ok(overlay.write(5, Bytes(1), false));
  const auto fails = [](int64_t, std::span<const std::byte>) -> Status {
    return invalid("enough");
  };
  EXPECT_FALSE(overlay.read(0, 9, fails).ok());
  expect_ok(overlay.read(6, 9, fails));
  below.fail_at(1);
  EXPECT_FALSE(overlay.read(6, 9, fails).ok());
  below.fail_at(1, ErrorCode::kInterrupted);
  EXPECT_FALSE(overlay.poll().ok());
}

TEST(OverlayBlocks, show_what_a_filter_would_flush) {
  for (const uint64_t more : {3u, 700u, 20000u}) {
    MemoryBlocks storage;
    const FilterOptions options = test::small_segments(FilterKind::kCuckoo);
    NewFile file(options, storage);
    expect_ok(test::add_and_commit(file, 0, 3000));
    expect_ok(test::add(file, 3000, 3000 + more));
    const MemoryBlocks::Rows before = storage.rows;
    OverlayBlocks overlay(storage);
    expect_ok(file.write_pending_to(overlay));
    EXPECT_TRUE(storage.rows == before && file.pending());
    const MemoryBlocks::Rows shown = rows_of(overlay, INT64_MIN, INT64_MAX);
    OpenedFile other(options, overlay);
    EXPECT_EQ(other.items(), 3000 + more);
    test::expect_all(other, 3000 + more);
    expect_ok(other.check());
    expect_ok(file.flush());
    EXPECT_TRUE(storage.rows == shown);
    storage.calls = {};
    expect_ok(file.write_pending_to(overlay));
    EXPECT_TRUE(rows_of(overlay, INT64_MIN, INT64_MAX) == shown) << "nothing is pending";
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_overlay_blocks_test
