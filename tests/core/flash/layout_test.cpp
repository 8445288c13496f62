#include "core/flash/layout.hpp"

#include "core/flash/checkpoint.hpp"
#include "tests/core/flash/harness.hpp"

namespace cuckoo {
namespace flash_layout_test {
namespace {

const FlashGeometry kGeometries[] = {
    small_geometry(512, 1, 16, 16),  small_geometry(512, 2, 48, 16),
    small_geometry(1024, 4, 24, 32), small_geometry(4096, 1, 32, 64),
    small_geometry(512, 16, 64, 16), small_geometry(65536, 4, 16, 64),
};

TEST(FlashLayout, I1_positions_and_addresses) {
  const FlashLayout layout(small_geometry(1024, 4, 24, 16));
  EXPECT_EQ(layout.units_per_block(), 256U);
  EXPECT_EQ(layout.position(3, 7), 775U);
  EXPECT_EQ(layout.locate(775).block, 3U);
  EXPECT_EQ(layout.locate(775).offset, 7U);
  EXPECT_EQ(layout.address(775), 12400U);
  EXPECT_EQ(layout.block_address(3), layout.address(layout.position(3, 0)));
  EXPECT_EQ(layout.room_bytes(255), 16U);
  EXPECT_EQ(layout.room_bytes(0), 4096U);
}

TEST(FlashLayout, a_piece_is_an_eighth_of_a_block_and_at_least_128_bytes) {
  EXPECT_EQ(FlashLayout(small_geometry(1024, 4, 24, 16)).piece_units(), 254U / 8);
  EXPECT_EQ(FlashLayout(small_geometry(512, 1, 16, 16)).piece_units(), 8U);
  EXPECT_EQ(FlashLayout(small_geometry(512, 1, 16, 64)).piece_units(), 2U);
}

TEST(FlashLayout, I2_records_of_a_piece_fill_a_block_so_far) {
  for (const FlashGeometry& geometry : kGeometries) {
    const FlashLayout layout(geometry);
    std::mt19937_64 random(geometry.units());
    for (int i = 0; i < 1000; ++i) {
      uint32_t offset = kFlashHeaderUnits;
      uint32_t next = 0;
      while (true) {
        next = 2 + static_cast<uint32_t>(random() % (layout.piece_units() - 1));
        next = std::min(next, layout.piece_units());
        if (offset + next > layout.units_per_block()) {
          break;
        }
        offset += next;
      }
      ASSERT_GE(offset - kFlashHeaderUnits, layout.filled_units());
    }
  }
}

// A key is charged at least the units of its records, whatever its lengths.
TEST(FlashLayout, a_charge_covers_the_records) {
  for (const FlashGeometry& geometry : kGeometries) {
    const FlashLayout layout(geometry);
    const FlashPieces cut = layout.pieces();
    for (const size_t key : {size_t{0}, size_t{9}, size_t{100}, layout.max_key_bytes()}) {
      for (const uint64_t value : {0, 1, 50, 127, 128, 1000, 20000}) {
        if (key > layout.max_key_bytes()) {
          continue;
        }
        uint64_t units = cut.first_units(key, value);
        for (uint64_t at = cut.first_bytes(key, value); at < value; at += cut.part_bytes()) {
          units += cut.part_units(std::min<uint64_t>(cut.part_bytes(), value - at));
        }
        units += cut.drop_units(cut.parts(key, value));
        const uint64_t charged = must(layout.charge(key, value));
        EXPECT_GT(charged, units) << key << ", " << value;
        EXPECT_LE(charged, units + cut.parts(key, value) + 1 + units) << key;
      }
    }
  }
}

TEST(FlashLayout, what_is_too_long_is_named) {
  const FlashLayout layout(small_geometry(512, 1, 16, 16));
  EXPECT_EQ(layout.max_key_bytes(), 30U * 16 - 32);
  EXPECT_TRUE(layout.charge(layout.max_key_bytes(), 0).ok());
  EXPECT_TRUE(fails_saying(layout.charge(layout.max_key_bytes() + 1, 0), ErrorCode::kInvalid,
                           "key of 449 bytes; expected at most 448"));
  EXPECT_TRUE(layout.charge(1, (uint64_t{1} << 31) - 1).ok());
  EXPECT_TRUE(fails_saying(layout.charge(1, uint64_t{1} << 31), ErrorCode::kInvalid,
                           "value of 2147483648 bytes; expected less than 2^31"));
  EXPECT_EQ(FlashLayout(small_geometry(65536, 4, 16, 64)).max_key_bytes(), 65535U);
}

TEST(FlashLayout, I3_bad_blocks_take_from_what_is_usable) {
  for (const FlashGeometry& geometry : kGeometries) {
    const FlashLayout layout(geometry);
    uint64_t before = layout.usable_units(0);
    EXPECT_GT(before, 0U);
    EXPECT_LT(before, uint64_t{geometry.blocks} * (layout.units_per_block() - kFlashHeaderUnits));
    for (uint32_t bad = 1; bad <= geometry.blocks; ++bad) {
      const uint64_t usable = layout.usable_units(bad);
      EXPECT_TRUE(usable < before || usable == 0);
      before = usable;
    }
    EXPECT_EQ(before, 0U);
  }
}

// The reckoned blocks must hold the largest checkpoint: its hashes are far apart, its numbers
// large.
TEST(FlashLayout, a_checkpoint_fits_the_blocks_that_are_reckoned) {
  for (const FlashGeometry& geometry : kGeometries) {
    const FlashLayout layout(geometry);
    const size_t payload = layout.room_bytes(kFlashHeaderUnits) - kFlashRecordFixedBytes;
    for (const uint64_t wanted : {0, 1, 10, 100, 1000, 3000, 20000, 300000}) {
      const uint64_t entries = std::min(wanted, geometry.units() / 2);
      FlashCheckpoint checkpoint;
      checkpoint.next_lsn = checkpoint.next_sequence = kMaxLsn;
      checkpoint.user_bytes = checkpoint.programmed_bytes = uint64_t{1} << 60;
      for (uint32_t i = 0; i < geometry.blocks; ++i) {
        checkpoint.blocks.push_back({.kind = FlashBlockKind::kData,
                                     .erase_count = 1U << 29,
                                     .used_units = layout.units_per_block(),
                                     .live_units = 0,
                                     .sequence = uint64_t{i % 2} << 40,
                                     .newest_lsn = uint64_t{i % 2} << 40});
      }
      FlashIndexEntries all;
      for (uint64_t i = 0; i < entries; ++i) {
        all.emplace_back(static_cast<uint32_t>(i + 2),
                         static_cast<uint32_t>((i + 1) * 0xFFFFFFFF / entries));
      }
      std::span<const FlashIndexEntry> rest = all;
      std::vector<std::byte> piece;
      while (true) {
        piece.clear();
        const size_t count = encode_flash_index(rest, payload, piece);
        if (count == rest.size()) {
          break;
        }
        checkpoint.pieces.push_back(
            {geometry.blocks - 1, rest.front().second, static_cast<uint32_t>(count)});
        rest = rest.subspan(count);
      }
      checkpoint.rest.assign(rest.begin(), rest.end());
      const size_t bytes = encode_flash_checkpoint(checkpoint, geometry).size();
      EXPECT_GE(layout.checkpoint_blocks(geometry.blocks, entries) * payload,
                bytes + checkpoint.pieces.size() * payload)
          << geometry.units() << " units, " << entries << " entries";
    }
  }
}

}  // namespace
}  // namespace flash_layout_test
}  // namespace cuckoo
