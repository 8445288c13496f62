#include "core/segments/block_sums.hpp"

#include "core/base/bytes.hpp"
#include "tests/core/segments/memory_blocks.hpp"

namespace cuckoo::segments::segments_block_sums_test {
namespace {

constexpr uint64_t kNumber = 7;
constexpr size_t kPageBytes = 64;  // 16 sums
const int64_t kFirst = segment_block(kNumber, kFirstSumsPart);

class SumsOfBlocks : public ::testing::Test {
 protected:
  static Bytes content(uint64_t i) {
    Bytes bytes(sizeof i);
    store_le(bytes.data(), i);
    return bytes;
  }
  static BlockSums sums_of(uint64_t pages, uint64_t runs) {
    BlockSums sums(40);
    for (uint64_t i = 0; i < pages; ++i) {
      sums.set_page(2 * i, content(i));
    }
    for (uint64_t i = 0; i < runs; ++i) {
      sums.add_run(content(100 + i));
    }
    return sums;
  }

  MemoryBlocks storage;
  const Blocks blocks{storage, 1};
};

TEST_F(SumsOfBlocks, I1_are_those_of_their_blocks_when_they_are_read_again) {
  const BlockSums sums = sums_of(5, 3);
  ASSERT_STATUS(sums.write(blocks, kNumber, kPageBytes, BlockSums(40)));
  EXPECT_EQ(storage.rows.size(), 3u);  // 43 sums
  BlockSums read(40);
  ASSERT_STATUS(read.read(blocks, kNumber, 3, sums.hash()));
  EXPECT_EQ(read.hash(), sums.hash());
  EXPECT_EQ(read.pages(), 5u);
  EXPECT_EQ(read.runs(), 3u);
  EXPECT_EQ(read.stored_bytes(), 43u * 4);
  EXPECT_TRUE(read.has_page(8));
  EXPECT_FALSE(read.has_page(7));
  EXPECT_STATUS(read.expect_page(8, content(4)));
  EXPECT_TRUE(fails(read.expect_page(8, content(3)), ErrorCode::kCorrupt, "of another time"));
  EXPECT_TRUE(fails(read.expect_page(7, content(3)), ErrorCode::kCorrupt));
  EXPECT_STATUS(read.expect_run(2, content(102)));
  EXPECT_TRUE(fails(read.expect_run(1, content(102)), ErrorCode::kCorrupt, "of another time"));
  EXPECT_TRUE(fails(read.expect_run(3, content(102)), ErrorCode::kCorrupt, "behind the last"));
}

TEST_F(SumsOfBlocks, are_none_where_there_are_no_blocks) {
  const BlockSums none(40);
  EXPECT_EQ(none.hash(), 0u);
  EXPECT_EQ(none.stored_bytes(), 0u);
  ASSERT_STATUS(none.write(blocks, kNumber, kPageBytes, none));
  EXPECT_TRUE(storage.rows.empty());
  BlockSums read(40);
  EXPECT_STATUS(read.read(blocks, kNumber, 0, 0));
  EXPECT_TRUE(fails(read.read(blocks, kNumber, 1, 0), ErrorCode::kCorrupt, "segment 7: sums"));
}

TEST_F(SumsOfBlocks, are_written_where_they_differ) {
  BlockSums sums = sums_of(5, 3);
  ASSERT_STATUS(sums.write(blocks, kNumber, kPageBytes, BlockSums(40)));
  const BlockSums before = sums;
  sums.set_page(39, content(1));
  storage.calls = {};
  ASSERT_STATUS(sums.write(blocks, kNumber, kPageBytes, before));
  EXPECT_EQ(storage.calls.writes, 1u);
  EXPECT_EQ(storage.calls.erases, 0u);
  BlockSums fewer = sums;
  fewer.keep_runs(0);
  for (int i = 0; i < 9; ++i) {
    fewer.add_run(content(200));
  }
  ASSERT_STATUS(fewer.write(blocks, kNumber, kPageBytes, sums));
  EXPECT_EQ(storage.rows.size(), 4u);
  ASSERT_STATUS(BlockSums(40).write(blocks, kNumber, kPageBytes, fewer));
  EXPECT_TRUE(storage.rows.empty());
}

TEST_F(SumsOfBlocks, of_other_blocks_are_refused) {
  const BlockSums sums = sums_of(5, 3);
  ASSERT_STATUS(sums.write(blocks, kNumber, kPageBytes, BlockSums(40)));
  const MemoryBlocks::Rows good = storage.rows;
  const auto refused = [&](uint64_t runs, uint64_t hash) {
    BlockSums read(40);
    const Status status = read.read(blocks, kNumber, runs, hash);
    return fails(status, ErrorCode::kCorrupt, "segment 7: sums of blocks");
  };
  EXPECT_TRUE(refused(3, sums.hash() + 1));
  EXPECT_TRUE(refused(2, sums.hash()));
  EXPECT_TRUE(refused(4, sums.hash()));
  EXPECT_TRUE(refused(UINT32_MAX, sums.hash()));
  storage.rows.erase(kFirst + 1);
  EXPECT_TRUE(refused(3, sums.hash()));
  storage.rows = good;
  ASSERT_STATUS(blocks.write(kFirst + 3, content(1), false));
  EXPECT_TRUE(refused(3, sums.hash()));
}

TEST_F(SumsOfBlocks, are_never_that_of_no_block) {
  EXPECT_EQ(BlockSums::of({}), 1u) << "CRC-32C of nothing is 0";
  BlockSums sums(1);
  sums.set_page(0, {});
  EXPECT_TRUE(sums.has_page(0));
}

}  // namespace
}  // namespace cuckoo::segments::segments_block_sums_test
