// Sliding windows whose blocks are damaged, stray or hostile.
#include "tests/core/segments/stored_generations.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::segments::segments_filter_window_damage_test {
namespace {

constexpr uint64_t kGenerations = 3;

class DamagedWindow : public ::testing::TestWithParam<FilterCase> {
 protected:
  DamagedWindow() { fill(stored); }
  static FilterOptions options(uint64_t generations = kGenerations) {
    return test::generations_of(GetParam(), generations, 800, 0.05, 64);
  }

  // Full: each of three generations has pages, overflow cells (multisets) and pending entries.
  static void fill(StoredGenerations& stored) {
    for (uint64_t turn = 0; turn < kGenerations; ++turn) {
      if (turn > 0) {
        stored.rotate();
      }
      for (int copy = 0; copy < 30; ++copy) {
        stored.add(1000 * turn, 1000 * turn + 1);
      }
      stored.add(1000 * turn, 1000 * turn + 600);
    }
    stored.commit();
    stored.add_and_commit(2600, 2610);
    stored.expect_good();
  }

  StoredGenerations stored{options()};
};

INSTANTIATE_EACH(Kinds, DamagedWindow, test::all_cases());

// ---- damage

TEST_P(DamagedWindow, check_finds_every_missing_and_every_stray_block) {
  const MemoryBlocks::Rows good = stored.storage.rows;
  uint64_t seen = 0;
  for (const auto& entry : good) {
    if (seen++ % test::share_divisor() != test::share_first()) {
      continue;
    }
    stored.storage.rows.erase(entry.first);
    EXPECT_TRUE(fails(stored.window.check(), ErrorCode::kCorrupt))
        << "missing: " << block_name(entry.first);
    stored.storage.rows = good;
  }
  const int64_t beyond = first_block_of(kGenerations);
  std::vector<int64_t> strays = {INT64_MIN, -1000, kWindowBlock - 1, beyond, beyond + 5, INT64_MAX};
  for (uint64_t slot = 0; slot < kGenerations; ++slot) {
    for (const int64_t id :
         {kFirstDirectoryBlock + 500, segment_block(900, 0), kFirstLogBlock - 1, kLastLogBlock}) {
      strays.push_back(first_block_of(slot) + id);
    }
  }
  for (const int64_t id : strays) {
    ASSERT_FALSE(good.contains(id));
    ASSERT_TRUE(Blocks(stored.storage, stored.options.seed).write(id, Bytes(40), false).ok());
    EXPECT_TRUE(fails(stored.window.check(), ErrorCode::kCorrupt)) << "stray: " << block_name(id);
    stored.storage.rows = good;
  }
  stored.expect_good();
}

// The window holds two of three generations. A block is in the slot that no generation holds.
TEST_P(DamagedWindow, check_finds_blocks_of_a_slot_that_is_not_held) {
  StoredGenerations stored(options());
  stored.add(0, 600);
  stored.rotate();
  stored.add_and_commit(1000, 1600);
  stored.expect_good();
  ASSERT_TRUE(Blocks(stored.storage, stored.options.seed, 2).write(3, Bytes(40), false).ok());
  EXPECT_FALSE(stored.window.check().ok());
}

TEST_P(DamagedWindow, a_single_generation_stores_nothing_of_its_own) {
  StoredGenerations stored(options(1));
  MemoryBlocks alone;
  FilterFile file(stored.options, alone);
  ASSERT_TRUE(file.create().ok() && file.flush().ok());
  stored.add_and_commit(0, 600);
  for (uint64_t i = 0; i < 600; ++i) {
    ASSERT_TRUE(file.insert(nth_hash(i)).ok());
  }
  ASSERT_TRUE(file.finish_load().ok() && file.flush().ok());
  EXPECT_TRUE(stored.storage.rows == alone.rows);
  const MemoryBlocks::Rows good = stored.storage.rows;
  for (const int64_t id : {INT64_MIN, kWindowBlock, first_block_of(1), INT64_MAX}) {
    ASSERT_TRUE(Blocks(stored.storage, stored.options.seed).write(id, Bytes(40), false).ok());
    EXPECT_FALSE(stored.window.check().ok()) << id;
    stored.storage.rows = good;
  }
  stored.expect_good();
}

TEST_P(DamagedWindow, a_single_generation_does_not_rotate) {
  StoredGenerations stored(options(1));
  stored.add_and_commit(0, 100);
  const MemoryBlocks::Rows before = stored.storage.rows;
  EXPECT_TRUE(fails(stored.window.rotate(), ErrorCode::kInvalid));
  EXPECT_TRUE(stored.window.usable());
  stored.commit();
  EXPECT_TRUE(before == stored.storage.rows);
  stored.add_and_commit(100, 200);
  stored.expect_good();
  stored.roll_back(before);
  EXPECT_EQ(stored.missing(0, 100), 0u);
  stored.expect_good();
  EXPECT_EQ(stored.window.generation_items().size(), 1u);
}

TEST_P(DamagedWindow, a_generation_that_was_forgotten_leaves_no_block) {
  const MemoryBlocks::Rows before = stored.storage.rows;
  stored.rotate();
  stored.commit();
  uint64_t left = 0;
  for (const auto& entry : stored.storage.rows) {
    left += entry.first >= 0 && entry.first >> kSlotBits == 0 ? 1 : 0;
  }
  EXPECT_EQ(left, 2u) << "a root and a row of the log";
  for (const int64_t id : differing(before, stored.storage.rows)) {
    // The generation that becomes old gets another root, and the end of its log names it.
    const int64_t own = id - first_block_of(static_cast<uint64_t>(id >> kSlotBits));
    EXPECT_TRUE(id == kWindowBlock || id >> kSlotBits == 0 || own == kRootBlock ||
                own >= kFirstLogBlock)
        << id;
  }
  stored.expect_good();
}

TEST_P(DamagedWindow, hostile_numbers_are_refused) {
  const MemoryBlocks::Rows good = stored.storage.rows;
  const Blocks blocks(stored.storage, stored.options.seed);
  Bytes content;
  expect_ok(blocks.read_one(kWindowBlock, [&](int64_t, std::span<const std::byte> bytes) {
    content.assign(bytes.begin(), bytes.end());
    return Status();
  }));
  ASSERT_EQ(content.size(), 40u);
  const std::function<void(Bytes&)> kChanges[] = {
      [](Bytes& c) { c.clear(), c.resize(39); },
      [](Bytes& c) { c.resize(41); },
      [](Bytes& c) { c[0] ^= std::byte{1}; },
      [](Bytes& c) { c[4] = std::byte{2}; },
      [](Bytes& c) { store_le<uint64_t>(&c[8], 1); },  // fewer rotations than are held
      [](Bytes& c) { store_le<uint64_t>(&c[8], uint64_t{1} << 61); },
      [](Bytes& c) { store_le<uint64_t>(&c[8], UINT64_MAX); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], 0); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], kGenerations + 1); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], UINT64_MAX); },
      // Possible ones, but not those of this window: the newest generation names another block.
      [](Bytes& c) { store_le<uint64_t>(&c[8], 3); },
      [](Bytes& c) { store_le<uint64_t>(&c[16], 1); },
      [](Bytes& c) { store_le<uint64_t>(&c[24], 99); },
      [](Bytes& c) { store_le<uint64_t>(&c[32], 99); },
  };
  for (const bool warm : {false, true}) {
    for (size_t number = 0; number < std::size(kChanges); ++number) {
      SCOPED_TRACE("change " + std::to_string(number) + (warm ? ", warm" : ""));
      FilterWindow window(stored.options, stored.storage);
      if (warm) {
        StoredGenerations::follow(window);
      }
      Bytes changed = content;
      kChanges[number](changed);
      ASSERT_TRUE(blocks.write(kWindowBlock, changed, true).ok());
      EXPECT_TRUE(fails(window.refresh(), ErrorCode::kCorrupt));
      EXPECT_FALSE(stored.window.check().ok());
      stored.storage.rows = good;
      StoredGenerations::follow(window);
      EXPECT_EQ(window.items(), stored.window.items());
      EXPECT_TRUE(window.check().ok());
    }
  }
}

}  // namespace
}  // namespace cuckoo::segments::segments_filter_window_damage_test
