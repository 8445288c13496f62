#include "core/flash/undo_log.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace cuckoo {
namespace flash_undo_log_test {
namespace {

FlashRegisters registers(uint64_t digest) {
  FlashRegisters all;
  all.digest = digest;
  return all;
}

// Takes back what was noted since the mark, as a store does; returns it in that order.
std::string undone(FlashUndoLog& log, size_t mark) {
  std::string all;
  log.undo_index(
      mark, [&](const FlashIndexUndo& change) { all += "i" + std::to_string(change.hash) + " "; });
  log.undo_blocks(
      mark, [&](const FlashBlockUndo& change) { all += "b" + std::to_string(change.block) + " "; });
  log.release(mark + 1);
  return all;
}

TEST(FlashUndoLog, I1_marks_nest_and_the_one_that_is_gone_back_to_stays) {
  FlashUndoLog log;
  EXPECT_FALSE(log.noting());
  EXPECT_EQ(log.mark(-1, 16, registers(7)), 0U);
  log.note(FlashIndexUndo{1, 0, 1});
  EXPECT_EQ(log.mark(3, 17, registers(8)), 1U);
  log.note(FlashIndexUndo{2, 0, 1});
  EXPECT_EQ(log.mark(4, 17, registers(9)), 2U);
  log.note(FlashIndexUndo{3, 0, 1});
  EXPECT_EQ(log.at(1).savepoint, 3);
  EXPECT_EQ(log.at(1).block_count, 17U);
  EXPECT_EQ(log.at(1).registers.digest, 8U);
  log.set_savepoint(1, 2);
  EXPECT_EQ(log.at(1).savepoint, 2);
  EXPECT_EQ(undone(log, 1), "i3 i2 ");
  EXPECT_EQ(log.marks(), 2U);
  EXPECT_EQ(undone(log, 1), "");
  log.release(1);
  EXPECT_EQ(undone(log, 0), "i1 ");
  EXPECT_EQ(log.marks(), 1U);
  EXPECT_EQ(log.at(0).registers.digest, 7U);
}

// Changes that were noted for a released mark belong to the mark before it.
TEST(FlashUndoLog, I1_a_released_mark_leaves_its_changes_to_the_one_before) {
  FlashUndoLog log;
  log.mark(0, 16, {});
  log.note(FlashIndexUndo{1, 0, 1});
  log.mark(1, 16, {});
  log.note(FlashIndexUndo{2, 0, 1});
  log.note(FlashBlockUndo{5, false, {}});
  log.release(1);
  EXPECT_EQ(undone(log, 0), "i2 i1 b5 ");
}

TEST(FlashUndoLog, I2_nothing_is_noted_without_a_mark) {
  FlashUndoLog log;
  log.note(FlashIndexUndo{1, 0, 1});
  log.drop_index_change();
  EXPECT_TRUE(log.has_block(7, 0)) << "it need not be noted";
  log.mark(0, 16, {});
  log.note(FlashIndexUndo{2, 0, 1});
  log.note(FlashBlockUndo{3, false, {}});
  log.release(0);
  log.mark(0, 16, {});
  EXPECT_EQ(undone(log, 0), "");
  log.note(FlashIndexUndo{4, 0, 1});
  log.note(FlashIndexUndo{5, 0, 1});
  log.drop_index_change();
  EXPECT_EQ(undone(log, 0), "i4 ");
}

TEST(FlashUndoLog, I2_a_block_is_noted_once_after_each_mark) {
  FlashUndoLog log;
  log.mark(0, 16, {});
  EXPECT_FALSE(log.has_block(7, 0));
  const FlashUndoLog::Place block = log.note(FlashBlockUndo{7, false, {}});
  EXPECT_TRUE(log.has_block(7, block));
  EXPECT_FALSE(log.has_block(8, block)) << "another block's place";
  EXPECT_FALSE(log.has_block(7, block + 1)) << "no place";
  log.mark(1, 16, {});
  EXPECT_FALSE(log.has_block(7, block)) << "before the newest mark";
  log.note(FlashBlockUndo{7, false, {}});
  EXPECT_EQ(undone(log, 1), "b7 ");
  EXPECT_FALSE(log.has_block(7, block)) << "the mark stays, so its next change is the first";
  log.release(1);
  EXPECT_TRUE(log.has_block(7, block));
}

TEST(FlashUndoLog, I3_what_can_not_be_taken_back_is_noted_still) {
  FlashUndoLog log;
  log.mark(0, 16, {});
  for (uint32_t hash = 1; hash <= 3; ++hash) {
    log.note(FlashIndexUndo{hash, 0, 1});
  }
  const auto fail_at_two = [](const FlashIndexUndo& change) {
    if (change.hash == 2) {
      throw std::bad_alloc();
    }
  };
  EXPECT_THROW(log.undo_index(0, fail_at_two), std::bad_alloc);
  EXPECT_EQ(undone(log, 0), "i2 i1 ");
}

}  // namespace
}  // namespace flash_undo_log_test
}  // namespace cuckoo
