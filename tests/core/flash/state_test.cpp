#include "core/flash/state.hpp"

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_state_test {
namespace {

// Calls of a store's life, made by hand: nothing is read from the device.
class FlashStateTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kBlock = 5;
  static constexpr uint32_t kOther = 6;

  FlashStateTest() {
    state.open(kBlock, FlashBlockKind::kData, 1, 1);
    state.open(kOther, FlashBlockKind::kData, 1, 2);
    state.now.streams.hot = {kBlock, kFlashHeaderUnits, kNoBlock};
    state.now.streams.cold = {kOther, kFlashHeaderUnits, kNoBlock};
    state.now.streams.tail_sequence = 3;  // neither is part of the tail
  }

  // The next record of the hot stream, of a key of 3 bytes and a value of 10.
  FlashLogRecord next(FlashRecordType type, uint32_t hash, uint32_t previous = 0) {
    FlashLogRecord record;
    record.position = state.layout.position(kBlock, state.now.streams.hot.offset);
    record.hash = hash;
    record.header.type = type;
    record.header.lsn = state.now.next_lsn;
    record.header.key_bytes = 3;
    record.header.value_bytes = type == FlashRecordType::kTombstone ? 0 : 10;
    record.header.total_value_bytes = record.header.value_bytes;
    record.header.set_replaced(previous, previous == 0 ? 0 : 10);
    state.append(state.now.streams.hot, record.header, record.position, 77);
    return record;
  }
  FlashLogRecord put(uint32_t hash, uint32_t previous = 0) {
    FlashLogRecord record = next(FlashRecordType::kPut, hash, previous);
    EXPECT_STATUS(state.apply(record));
    return record;
  }
  uint32_t live(uint32_t block) const { return state.blocks.at(block).live_units; }

  FlashSimulator device{small_geometry()};
  FlashState state{device, kAtomicFlash};
};

constexpr uint32_t kUnits = 3;  // of such a put: 28 + 13 bytes

TEST_F(FlashStateTest, a_put_a_replacement_and_a_removal) {
  const FlashLogRecord one = put(7);
  EXPECT_EQ(state.now.heads, 1U);
  EXPECT_EQ(state.now.charged_units, kUnits + 1);
  EXPECT_EQ(live(kBlock), kUnits);
  EXPECT_EQ(state.now.next_lsn, 2U);
  EXPECT_EQ(state.now.streams.hot.offset, kFlashHeaderUnits + kUnits);

  const FlashLogRecord two = put(7, one.position);
  EXPECT_EQ(state.now.heads, 1U);
  EXPECT_EQ(state.now.charged_units, kUnits + 1);
  EXPECT_EQ(live(kBlock), kUnits);
  EXPECT_TRUE(contains(state.index, 7, two.position));
  EXPECT_FALSE(contains(state.index, 7, one.position));

  ASSERT_STATUS(state.apply(next(FlashRecordType::kTombstone, 7, two.position)));
  EXPECT_EQ(state.now.heads, 0U);
  EXPECT_EQ(state.now.charged_units, 0U);
  EXPECT_EQ(live(kBlock), 0U);
  EXPECT_EQ(state.index.size(), 0U);
  ASSERT_STATUS(state.check());
}

TEST_F(FlashStateTest, a_record_that_replaces_nothing_is_an_error) {
  const FlashLogRecord one = put(7);
  const auto refused = [&](uint32_t hash, uint32_t previous) {
    return fails(state.apply(next(FlashRecordType::kPut, hash, previous)), ErrorCode::kCorrupt,
                 "replaces one that is not there");
  };
  EXPECT_TRUE(refused(8, one.position));
  EXPECT_TRUE(refused(7, one.position + 1));
  EXPECT_TRUE(refused(7, 4000000000));
}

TEST_F(FlashStateTest, a_drop_removes_the_parts_that_it_names) {
  const uint32_t part_bytes = state.layout.pieces().part_bytes();
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < 2; ++i) {
    FlashLogRecord part = next(FlashRecordType::kPart, 0);
    part.hash = state.index.part_hash(1, 100 + i * part_bytes);
    ASSERT_STATUS(state.apply(part));
    positions.push_back(part.position);
  }
  EXPECT_EQ(live(kBlock), 2 * kUnits);
  // The drop is of parts of full length, but the last one has 10 bytes less.
  state.blocks.add_live(kBlock, 100);
  FlashLogRecord drop;
  drop.header = FlashRecordHeader::drop(0, 100 + 2 * part_bytes - 10, 0);
  drop.drop.assign(kFlashDropHeaderBytes + 8, std::byte{0});
  store_le(&drop.drop[0], uint32_t{1});
  store_le(&drop.drop[6], uint32_t{100});
  store_le(&drop.drop[10], positions[0]);
  store_le(&drop.drop[14], positions[1]);
  FlashLogRecord broken = drop;
  broken.drop.pop_back();
  EXPECT_TRUE(fails(state.apply(broken), ErrorCode::kCorrupt, "names a part that is not there"));
  broken = drop;
  broken.header = FlashRecordHeader::drop(0, 100, 0);
  EXPECT_TRUE(fails(state.apply(broken), ErrorCode::kCorrupt, "names a part that is not there"));
  ASSERT_STATUS(state.apply(drop));
  EXPECT_EQ(state.index.size(), 0U);
  EXPECT_EQ(live(kBlock), 2 * kUnits + 100 - state.layout.pieces().part_units(part_bytes) -
                              state.layout.pieces().part_units(part_bytes - 10));
  EXPECT_TRUE(fails(state.apply(drop), ErrorCode::kCorrupt, "names a part that is not there"));
}

TEST_F(FlashStateTest, a_collection_moves_what_is_live_and_frees_the_victim) {
  FlashLogRecord copy = put(7);
  copy.header.set_copied_from(copy.position);
  copy.position = state.layout.position(kOther, kFlashHeaderUnits);
  state.append(state.now.streams.cold, copy.header, copy.position, 77);
  state.now.streams.hot.block = kNoBlock;
  EXPECT_TRUE(fails(state.apply_collection({&copy, 1}, kBlock + 7), ErrorCode::kCorrupt,
                    "is of a record that is not there"));
  EXPECT_TRUE(fails(state.apply_collection({}, kBlock), ErrorCode::kCorrupt,
                    "a collection left something in erase block 5"));
  EXPECT_TRUE(fails(state.apply_collection({}, 24), ErrorCode::kCorrupt,
                    "a collection of erase block 24, of 24"));
  ASSERT_STATUS(state.apply_collection({&copy, 1}, kBlock));
  EXPECT_TRUE(contains(state.index, 7, copy.position));
  EXPECT_EQ(live(kOther), kUnits);
  EXPECT_EQ(state.blocks.at(kBlock).kind, FlashBlockKind::kFree);
  EXPECT_EQ(state.now.stats.collections, 1U);
}

TEST_F(FlashStateTest, S1_equal_calls_give_equal_states) {
  FlashSimulator other_device{small_geometry()};
  FlashState other(other_device, kAtomicFlash);
  EXPECT_EQ(state.difference_to(other), "state " + std::to_string(state.now.digest) + " and 0");
  other.open(kBlock, FlashBlockKind::kData, 1, 1);
  other.open(kOther, FlashBlockKind::kData, 1, 2);
  other.now.streams = state.now.streams;
  EXPECT_EQ(state.difference_to(other), "");
  const FlashLogRecord record = put(7);
  EXPECT_EQ(state.difference_to(other), "next seq 2 and 1");
  other.append(other.now.streams.hot, record.header, record.position, 77);
  ASSERT_STATUS(other.apply(record));
  EXPECT_EQ(state.difference_to(other), "");
  replace(other.index, 7, record.position, record.position + 1);
  EXPECT_EQ(state.difference_to(other), "index");
}

TEST_F(FlashStateTest, S2_a_block_stays_while_it_is_written_to_or_in_the_tail_or_held) {
  const auto kind = [&] { return state.blocks.at(kBlock).kind; };
  ASSERT_STATUS(state.release_if_dead(kBlock));
  EXPECT_EQ(kind(), FlashBlockKind::kData) << "a stream writes to it";
  const FlashLogRecord one = put(7);
  state.now.streams.hot.block = kNoBlock;
  ASSERT_STATUS(state.release_if_dead(kBlock));
  EXPECT_EQ(kind(), FlashBlockKind::kData) << "something is live in it";
  remove(state.index, 7, one.position);
  state.blocks.remove_live(kBlock, kUnits);
  state.now.streams.tail_sequence = 1;
  ASSERT_STATUS(state.release_if_dead(kBlock));
  EXPECT_EQ(kind(), FlashBlockKind::kData) << "a mount reads it";
  state.now.streams.tail_sequence = 3;
  state.hold_releases();
  ASSERT_STATUS(state.release_if_dead(kBlock));
  EXPECT_EQ(kind(), FlashBlockKind::kData) << "held";
  ASSERT_STATUS(state.release_held());
  EXPECT_EQ(kind(), FlashBlockKind::kFree);
}

TEST_F(FlashStateTest, sweep_frees_what_nothing_points_to) {
  state.open(8, FlashBlockKind::kCheckpoint, 1, 4);
  state.open(9, FlashBlockKind::kCheckpoint, 1, 5);
  state.now.checkpoint_blocks = {9};
  state.blocks.take(10);
  state.blocks.take(11);
  state.now.streams.hot.next = 11;
  state.now.streams.hot.block = kNoBlock;
  ASSERT_STATUS(state.sweep());
  EXPECT_EQ(state.blocks.at(kBlock).kind, FlashBlockKind::kFree);
  EXPECT_EQ(state.blocks.at(kOther).kind, FlashBlockKind::kData);
  EXPECT_EQ(state.blocks.at(8).kind, FlashBlockKind::kFree);
  EXPECT_EQ(state.blocks.at(9).kind, FlashBlockKind::kCheckpoint);
  EXPECT_EQ(state.blocks.at(10).kind, FlashBlockKind::kFree);
  EXPECT_EQ(state.blocks.at(11).kind, FlashBlockKind::kReserved);
  ASSERT_STATUS(state.check());
}

TEST(FlashStateThatWearsOut, a_block_is_erased_when_it_becomes_free_but_by_no_replay) {
  for (const bool replays : {false, true}) {
    FlashSimulator device(small_geometry());
    FlashState state(device, kWearingFlash);
    state.open(5, FlashBlockKind::kData, 1, 1);
    state.now.streams.tail_sequence = 2;
    const std::optional<FlashState::Replaying> replaying =
        replays ? std::optional<FlashState::Replaying>(std::in_place, state) : std::nullopt;
    ASSERT_STATUS(state.release_if_dead(5));
    EXPECT_EQ(state.blocks.at(5).kind, FlashBlockKind::kFree);
    EXPECT_EQ(state.blocks.at(5).erase_count, 2U);
    EXPECT_EQ(state.blocks.at(5).sequence, 0U);
    EXPECT_EQ(device.counters().erases, replays ? 0U : 1U);
    EXPECT_EQ(state.now.stats.erases, replays ? 0U : 1U);
  }
}

TEST_F(FlashStateTest, S3_undo_gives_the_state_of_each_mark) {
  put(1);
  const FlashLogRecord two = put(2);
  const uint64_t digest = state.now.digest;
  EXPECT_EQ(state.mark(0), 0U);
  put(2, two.position);
  ++state.now.stats.record_reads;
  const uint64_t digest_within = state.now.digest;
  EXPECT_EQ(state.mark(0), 1U);
  put(3);
  state.now.streams.cold.block = kNoBlock;
  ASSERT_STATUS(state.release_if_dead(kOther));
  EXPECT_EQ(state.undo.at(0).registers.digest, digest);
  EXPECT_EQ(state.undo.at(1).registers.digest, digest_within);

  state.undo_to(1);
  EXPECT_EQ(state.now.digest, digest_within);
  EXPECT_EQ(state.blocks.at(kOther).kind, FlashBlockKind::kData);
  EXPECT_EQ(state.now.streams.cold.block, kOther);
  EXPECT_EQ(state.now.heads, 2U);
  state.undo_to(0);
  EXPECT_EQ(state.now.digest, digest);
  EXPECT_TRUE(contains(state.index, 2, two.position));
  EXPECT_EQ(state.now.stats.record_reads, 1U) << "reads are not undone";
  EXPECT_EQ(state.undo.marks(), 1U) << "the mark stays";
  state.undo.release(0);
  EXPECT_EQ(state.undo.marks(), 0U);
  EXPECT_FALSE(state.poisoned());
  ASSERT_STATUS(state.check());
}

TEST_F(FlashStateTest, an_error_poisons_until_a_reset) {
  EXPECT_TRUE(state.fail({}).ok());
  EXPECT_FALSE(state.poisoned());
  EXPECT_FALSE(state.fail(corrupt("bits")).ok());
  EXPECT_TRUE(state.fail({}).ok());
  EXPECT_TRUE(state.poisoned());
  state.reset();
  EXPECT_FALSE(state.poisoned());
}

TEST_F(FlashStateTest, full_says_whether_the_device_is_worn_out) {
  EXPECT_EQ(state.full("no room").message, "no room");
  state.blocks.retire(kOther);
  EXPECT_EQ(state.full("no room").message, "worn out: 1 of 24 erase blocks failed: no room");
}

}  // namespace
}  // namespace flash_state_test
}  // namespace cuckoo
