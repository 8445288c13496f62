#include "core/flash/replay.hpp"

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_replay_test {
namespace {

// One store writes; another one, which had the same state and has not seen what was written since,
// replays it.
class FlashReplayTest : public OnBothDevices {
 protected:
  void SetUp() override { ASSERT_EQ(reader.state.difference_to(writer.state), ""); }

  // On a bare device, headers tell which blocks were opened after the checkpoint.
  FlashReplay::Opened opened(FlashPurpose purpose) const {
    FlashReplay::Opened blocks;
    for (uint32_t block = 0; block < writer.state.blocks.touched(); ++block) {
      const std::span<const std::byte> stored = reader.device.stored(block);
      const auto header = decode_open_header(block, stored.subspan(16, 16));
      if (header && header->purpose == purpose &&
          header->sequence >= reader.state.now.streams.tail_sequence) {
        blocks.emplace_back(header->sequence, block);
      }
    }
    std::sort(blocks.begin(), blocks.end());
    return blocks;
  }
  FlashReplay replay_of_the_writer() {
    reader.device.restore(writer.device.snapshot());
    return bare() ? FlashReplay(reader.state, reader.log, opened(FlashPurpose::kHot),
                                opened(FlashPurpose::kCold))
                  : FlashReplay(reader.state, reader.log, {}, {});
  }
  // Runs a replay that succeeds.
  void expect_replayed() {
    FlashReplay replay = replay_of_the_writer();
    ASSERT_STATUS(replay.run());
    ASSERT_STATUS(reader.state.release_held());
    EXPECT_EQ(reader.state.difference_to(writer.state), "");
  }
  // On an atomic device the replay fails with this text. On a bare one it passes over the records.
  void expect_refused_or_passed_over(const std::string& text, uint64_t heads) {
    FlashReplay replay = replay_of_the_writer();
    if (bare()) {
      ASSERT_STATUS(replay.run());
      EXPECT_EQ(reader.state.now.heads, heads);
      ASSERT_STATUS(reader.state.index.check());
    } else {
      EXPECT_TRUE(fails(replay.run(), ErrorCode::kCorrupt, text));
    }
  }

  FormattedParts writer{options()};
  FormattedParts reader{options()};
};
INSTANTIATE_ON_BOTH_DEVICES(FlashReplayTest);

TEST_P(FlashReplayTest, of_nothing_changes_nothing) {
  ASSERT_NO_FATAL_FAILURE(expect_replayed());
  EXPECT_EQ(reader.state.now.next_lsn, 1U);
}

TEST_P(FlashReplayTest, I1_batches_are_applied_as_they_were_written) {
  writer.put("a", "1");
  writer.put("b", "2", false);
  writer.put("a", "3");
  writer.remove("b");
  writer.put("c", std::string(200, 'c'));
  ASSERT_NO_FATAL_FAILURE(expect_replayed());
  EXPECT_EQ(reader.state.now.heads, 2U);
  EXPECT_TRUE(contains(reader.state.index, writer.entries["a"].hash, writer.entries["a"].position));
}

TEST_P(FlashReplayTest, I1_goes_on_where_an_earlier_one_ended) {
  if (bare()) {
    return;  // a bare device is only mounted
  }
  for (int i = 0; i < 200; ++i) {
    writer.put("key" + std::to_string(i % 17), std::string(i % 90, 'v'));
    if (i % 13 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_replayed()) << i;
    }
  }
}

TEST_P(FlashReplayTest, goes_on_in_the_blocks_that_the_stream_went_on_in) {
  for (int i = 0; i < 4; ++i) {
    writer.fill_block("block" + std::to_string(i) + " ");
  }
  ASSERT_NO_FATAL_FAILURE(expect_replayed());
  EXPECT_EQ(reader.state.now.heads, writer.entries.size());
}

TEST_P(FlashReplayTest, I1_a_batch_without_an_end_is_as_if_it_had_never_begun) {
  writer.put("a", "1");
  writer.put("b", "2", false);
  writer.put("c", "3", false);
  ASSERT_NO_FATAL_FAILURE(
      expect_refused_or_passed_over("the log ends in the middle of a change", 1));
}

TEST_P(FlashReplayTest, a_change_that_is_missing_is_an_error) {
  writer.put("a", "1");
  ++writer.state.now.next_lsn;
  writer.put("b", "2");
  EXPECT_TRUE(fails(replay_of_the_writer().run(), ErrorCode::kCorrupt,
                    "the change with seq 2 is missing from the log"));
}

TEST_P(FlashReplayTest, I4_a_value_without_its_last_part_is_an_error) {
  FlashRecordHeader head;
  head.type = FlashRecordType::kHead;
  head.last_of_batch = true;
  head.lsn = writer.state.now.next_lsn;
  head.key_bytes = 1;
  head.value_bytes = 1;
  head.total_value_bytes = 2;
  ASSERT_TRUE(writer.log.append_hot(head, bytes_of("a"), bytes_of("1")).ok());
  EXPECT_TRUE(fails(replay_of_the_writer().run(), ErrorCode::kCorrupt,
                    "the change with seq 1 lacks a part of its value"));
}

TEST_P(FlashReplayTest, a_collection_moves_the_index_to_the_copies_in_the_order_of_events) {
  uint32_t victim = kNoBlock;
  for (FlashParts* parts : {&writer, &reader}) {  // the same on both
    victim = parts->fill_block("old ");
    parts->fill_block("new ");
    ASSERT_STATUS(parts->checkpointer.checkpoint());  // so that the victim is no part of the tail
  }
  std::vector<FlashLogRecord> copies;
  writer.mark(FlashRecordHeader::collect(writer.state.now.next_lsn, victim));
  for (auto& [key, record] : writer.entries) {
    if (writer.state.layout.locate(record.position).block == victim) {
      copies.push_back(writer.copy(record));
      record.position = copies.back().position;
    }
  }
  ASSERT_GT(copies.size(), 10U);
  const auto count = static_cast<uint32_t>(copies.size());
  writer.mark(FlashRecordHeader::collected(writer.state.now.next_lsn, count));
  ASSERT_STATUS(writer.state.apply_collection(copies, victim));
  // This put replaces a copy, so the order counts.
  writer.put("old 1", "newer");
  ASSERT_NO_FATAL_FAILURE(expect_replayed());
  EXPECT_EQ(reader.state.now.stats.collections, 1U);
  EXPECT_EQ(reader.state.blocks.at(victim).kind, FlashBlockKind::kFree);
}

TEST_P(FlashReplayTest, I1_a_collection_without_an_end_is_none) {
  const FlashLogRecord a = writer.put("a", "1");
  writer.mark(FlashRecordHeader::collect(writer.state.now.next_lsn, 7));
  writer.copy(a);
  ASSERT_NO_FATAL_FAILURE(expect_refused_or_passed_over("a collection has no end", 1));
  if (bare()) {
    EXPECT_TRUE(contains(reader.state.index, a.hash, a.position));
    EXPECT_EQ(reader.state.now.stats.collections, 0U);
  }
}

TEST_P(FlashReplayTest, I1_a_copy_outside_of_a_collection_counts_for_nothing) {
  const FlashLogRecord a = writer.put("a", "1");
  writer.copy(a);
  ASSERT_NO_FATAL_FAILURE(expect_refused_or_passed_over("belongs to no collection", 1));
}

TEST_P(FlashReplayTest, a_collection_of_the_future_lacks_a_change) {
  writer.put("a", "1");
  writer.mark(FlashRecordHeader::collect(writer.state.now.next_lsn + 1, 7));
  EXPECT_TRUE(fails(replay_of_the_writer().run(), ErrorCode::kCorrupt,
                    "the change with seq 2 is missing from the log"));
}

TEST_P(FlashReplayTest, a_collection_of_a_record_that_is_not_there_is_an_error) {
  FlashLogRecord a = writer.put("a", "1");
  const uint32_t block = writer.state.layout.locate(a.position).block;
  writer.mark(FlashRecordHeader::collect(writer.state.now.next_lsn, block + 1));
  writer.copy(a);
  writer.mark(FlashRecordHeader::collected(writer.state.now.next_lsn, 1));
  EXPECT_TRUE(
      fails(replay_of_the_writer().run(), ErrorCode::kCorrupt, "is of a record that is not there"));
}

TEST_P(FlashReplayTest, I2_a_torn_record_at_the_end_is_passed_over) {
  const FlashLogRecord a = writer.put("a", "1");
  const FlashLogRecord b = writer.put("b", "2");
  writer.device.flip_stored(writer.state.layout.address(b.position) + 20, 0);  // its key
  FlashReplay replay = replay_of_the_writer();
  ASSERT_STATUS(replay.run());  // on an atomic device the digest tells
  EXPECT_EQ(reader.state.now.heads, 1U);
  EXPECT_EQ(replay.newest().position, a.position);
  EXPECT_NE(reader.state.now.digest, writer.state.now.digest);
}

TEST_P(FlashReplayTest, I2_a_broken_record_with_one_after_it_is_damage) {
  const FlashLogRecord a = writer.put("a", "1");
  const FlashLogRecord b = writer.put("b", "2");
  writer.device.flip_stored(writer.state.layout.address(a.position) + 20, 0);
  const Status replayed = replay_of_the_writer().run();
  EXPECT_TRUE(!bare() || fails(replayed, ErrorCode::kCorrupt,
                               "unit " + std::to_string(a.position) + " is no record, but unit " +
                                   std::to_string(b.position) + " after it is one"));
  EXPECT_EQ(reader.state.now.heads, 0U);
}

TEST_P(FlashReplayTest, the_newest_record_comes_with_all_its_bytes_where_it_may_be_torn) {
  writer.put("a", "1");
  const FlashLogRecord b = writer.put("b", "the value");
  FlashReplay replay = replay_of_the_writer();
  ASSERT_STATUS(replay.run());
  EXPECT_EQ(replay.newest().position, b.position);
  if (bare()) {
    EXPECT_EQ(text_of(value_in(b.header, replay.newest().whole)), "the value");
    EXPECT_EQ(text_of(key_in(b.header, replay.newest().whole)), "b");
  } else {
    EXPECT_TRUE(replay.newest().whole.empty());
  }
}

// The next mount may fail to read the end of the newest change. Then it needs what that change
// emptied.
TEST_P(FlashReplayTest, I3_what_the_newest_change_emptied_is_held) {
  for (const bool one_more : {false, true}) {
    SCOPED_TRACE(one_more);
    FormattedParts first(options());
    FormattedParts second(options());
    uint32_t block = kNoBlock;
    for (FlashParts* parts : {&first, &second}) {
      block = parts->fill_block("old ");
      for (const auto& [key, record] : std::map(parts->entries)) {
        if (key != "old 0") {
          parts->put(key, "new");
        }
      }
      ASSERT_STATUS(parts->checkpointer.checkpoint());
      ASSERT_GT(parts->state.blocks.at(block).live_units, 0U);
    }
    first.remove("old 0");
    if (one_more) {
      first.put("old 1", "newer");
    }
    second.device.restore(first.device.snapshot());
    ASSERT_STATUS(FlashReplay(second.state, second.log, {}, {}).run());
    EXPECT_EQ(first.state.blocks.at(block).kind, FlashBlockKind::kFree);
    EXPECT_EQ(second.state.blocks.at(block).kind,
              bare() && !one_more ? FlashBlockKind::kData : FlashBlockKind::kFree);
    ASSERT_STATUS(second.state.release_held());
    EXPECT_EQ(second.state.blocks.at(block).kind, FlashBlockKind::kFree);
  }
}

// A bit of each seventh byte flips. A device that reorders takes the damage for the log's end, and
// goes on reading in the next block, in the middle of a value or of its drops.
TEST(FlashReplayOfAFile, I4_a_damaged_log_is_refused_or_each_key_can_be_put_and_removed) {
  for (const bool reorders : {false, true}) {
    SCOPED_TRACE(reorders);
    const FlashStoreOptions options{.seed = 3, .reordering_device = reorders};
    FlashSimulator device(small_geometry(512, 4, 48));
    FlashStore store(device, options);
    ASSERT_STATUS(store.format());
    for (const char byte : {'a', 'b'}) {  // the second time it drops parts
      for (const char* key : {"k1", "k2", "k3"}) {
        ASSERT_STATUS(store.put(bytes_of(key), bytes_of(std::string(5000, byte))));
      }
    }
    const FlashSimulator::State good = device.snapshot();
    int refused = 0;
    for (uint64_t at = 0; at < device.geometry().size_bytes(); at += 7) {
      const auto block = static_cast<uint32_t>(at / device.geometry().block_bytes());
      if (store.blocks().kind(block) != FlashBlockKind::kData) {
        continue;
      }
      SCOPED_TRACE(at);
      device.restore(good);
      device.flip_stored(at, static_cast<unsigned>(at % 8));
      FlashStore other(device, options);
      if (const Status mounted = other.mount(); !mounted.ok()) {
        ASSERT_TRUE(fails(mounted, ErrorCode::kCorrupt, "unit"));
        ++refused;
        continue;
      }
      for (const char* key : {"k1", "k2", "k3"}) {
        ASSERT_STATUS(other.put(bytes_of(key), bytes_of("new")));
        ASSERT_TRUE(must(other.remove(bytes_of(key))));
      }
      ASSERT_EQ(other.size(), 0U);
    }
    EXPECT_GT(refused, 100);
  }
}

}  // namespace
}  // namespace flash_replay_test
}  // namespace cuckoo
