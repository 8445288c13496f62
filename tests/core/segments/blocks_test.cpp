#include "core/segments/blocks.hpp"

#include "tests/core/segments/memory_blocks.hpp"

namespace cuckoo::segments::segments_blocks_test {
namespace {

const Bytes kContent = {std::byte{1}, std::byte{2}, std::byte{3}};

Status ignore(int64_t, std::span<const std::byte>) { return {}; }

TEST(SegmentBlocks, ids_of_different_parts_never_meet) {
  EXPECT_LT(kRootBlock, kFirstDirectoryBlock);
  EXPECT_EQ(kFirstDirectoryBlock + kMaxDirectoryPages, segment_block(1, 0));
  EXPECT_LT(kFirstRunPart, kFirstOverflowPart);
  EXPECT_EQ(segment_block(1, kEndPart), segment_block(2, 0));
  EXPECT_LE(segment_block(kMaxSegmentNumber, kEndPart), kFirstLogBlock);
}

TEST(SegmentBlocks, names_say_whose_block_it_is) {
  EXPECT_EQ(block_name(kRootBlock), "the root");
  EXPECT_EQ(block_name(kFirstDirectoryBlock + 4), "page 4 of the directory");
  EXPECT_EQ(block_name(segment_block(12, 3)), "page 3 of segment 12");
  EXPECT_EQ(block_name(segment_block(12, kFirstRunPart + 1)), "run block 1 of segment 12");
  EXPECT_EQ(block_name(segment_block(12, kFirstOverflowPart)), "overflow block 0 of segment 12");
  EXPECT_EQ(block_name(kFirstLogBlock + 7), "row 7 of the log");
  EXPECT_EQ(block_name(first_block_of(3) + kFirstLogBlock + 7), "row 7 of the log of slot 3");
  EXPECT_EQ(block_name(first_block_of(63) + kRootBlock), "the root of slot 63");
  EXPECT_EQ(block_name(kWindowBlock), "the window's block");
}

TEST(SegmentBlocks, read_back_what_was_written) {
  MemoryBlocks storage;
  const Blocks blocks(storage, 5);
  ASSERT_TRUE(blocks.write(9, kContent, false).ok());
  ASSERT_TRUE(blocks.write(11, kContent, false).ok());
  std::vector<int64_t> seen;
  expect_ok(blocks.read(9, 11, [&](int64_t id, std::span<const std::byte> content) {
    EXPECT_TRUE(equal_bytes(content, kContent));
    seen.push_back(id);
    return Status();
  }));
  EXPECT_EQ(seen, (std::vector<int64_t>{9, 11}));
  ASSERT_TRUE(blocks.erase(9, 10).ok());
  EXPECT_EQ(storage.rows.size(), 1u);
}

TEST(SegmentBlocks, a_damaged_moved_or_foreign_block_is_corrupt_and_named) {
  MemoryBlocks storage;
  const Blocks blocks(storage, 5);
  const int64_t id = segment_block(12, 3);
  ASSERT_TRUE(blocks.write(id, kContent, false).ok());
  const MemoryBlocks::Rows good = storage.rows;
  for (size_t at = 0; at < good.at(id).size(); ++at) {
    storage.rows = good;
    storage.rows[id][at] ^= std::byte{0x10};
    EXPECT_TRUE(refusal_of(blocks.read_one(id, ignore), ErrorCode::kCorrupt)
                    .starts_with("page 3 of segment 12: "));
  }
  storage.rows = good;
  storage.rows[id + 1] = good.at(id);
  EXPECT_FALSE(blocks.read_one(id + 1, ignore).ok());
  EXPECT_FALSE(Blocks(storage, 6).read_one(id, ignore).ok());
  EXPECT_TRUE(blocks.read_one(id, ignore).ok());
}

TEST(SegmentBlocks, of_a_slot_have_ids_of_their_own_and_are_found_in_no_other_one) {
  MemoryBlocks storage;
  const Blocks first(storage, 5);
  const Blocks third(storage, 5, 2);
  ASSERT_TRUE(first.write(kLastLogBlock, kContent, false).ok());
  ASSERT_TRUE(third.write(kRootBlock, kContent, false).ok());
  ASSERT_TRUE(third.write(kLastLogBlock, kContent, false).ok());
  EXPECT_EQ(storage.rows.begin()->first, kLastLogBlock);
  EXPECT_EQ(storage.rows.rbegin()->first, first_block_of(3) - 1);
  std::vector<int64_t> seen;
  const auto see = [&](int64_t id, std::span<const std::byte>) {
    seen.push_back(id);
    return Status();
  };
  ASSERT_TRUE(third.read(kRootBlock, kLastLogBlock, see).ok());
  EXPECT_EQ(seen, (std::vector<int64_t>{kRootBlock, kLastLogBlock}));
  MemoryBlocks other;
  other.rows = storage.rows;
  EXPECT_TRUE(third.over(other).read_one(kRootBlock, ignore).ok());
  EXPECT_FALSE(third.with_seed(6).read_one(kRootBlock, ignore).ok());
  storage.rows[first_block_of(1)] = storage.rows[first_block_of(2)];
  EXPECT_TRUE(refusal_of(Blocks(storage, 5, 1).read_one(kRootBlock, ignore), ErrorCode::kCorrupt)
                  .starts_with("the root of slot 1: "));
  ASSERT_TRUE(third.erase(kRootBlock, kLastLogBlock - 1).ok());
  EXPECT_TRUE(fails_saying(third.read_one(kRootBlock, ignore), ErrorCode::kCorrupt,
                           "the root of slot 2 is missing"));
  EXPECT_EQ(storage.rows.size(), 3u);
}

TEST(SegmentBlocks, a_missing_block_is_corrupt_where_it_must_exist) {
  MemoryBlocks storage;
  EXPECT_TRUE(fails_saying(Blocks(storage, 5).read_one(kRootBlock, ignore), ErrorCode::kCorrupt,
                           "the root is missing"));
}

TEST(SegmentBlocks, a_failure_that_is_not_corruption_keeps_its_text) {
  MemoryBlocks storage;
  const Blocks blocks(storage, 5);
  ASSERT_TRUE(blocks.write(9, kContent, false).ok());
  storage.fail_at(1, ErrorCode::kInterrupted);
  EXPECT_TRUE(fails_saying(blocks.read(9, 9, ignore), ErrorCode::kInterrupted, "a fault"));
}

TEST(SegmentBlocks, over_another_storage_have_the_same_checksums) {
  MemoryBlocks one;
  MemoryBlocks other;
  const Blocks blocks(one, 5);
  ASSERT_TRUE(blocks.write(9, kContent, false).ok());
  ASSERT_TRUE(blocks.over(other).write(9, kContent, false).ok());
  EXPECT_TRUE(one.rows == other.rows);
}

}  // namespace
}  // namespace cuckoo::segments::segments_blocks_test
