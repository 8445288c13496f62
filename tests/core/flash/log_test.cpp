#include "core/flash/log.hpp"

#include "tests/core/flash/parts.hpp"

namespace cuckoo {
namespace flash_log_test {
namespace {

class FlashLogTest : public FormattedOnBothDevices {
 protected:
  FlashLog& log = parts.log;
};
INSTANTIATE_ON_BOTH_DEVICES(FlashLogTest);

TEST_P(FlashLogTest, I1_what_was_appended_is_loaded) {
  const std::string value(500, 'v');
  const FlashLogRecord record = parts.put("a key", value);
  FlashLoadedRecord loaded;
  ASSERT_STATUS(log.load(record.position, loaded));
  EXPECT_EQ(loaded.header, record.header);
  EXPECT_EQ(text_of(loaded.key), "a key");
  EXPECT_EQ(text_of(loaded.value), value);

  FlashLogRecord head;
  ASSERT_TRUE(must(log.read_head(record.position, head)));
  EXPECT_EQ(head.header, record.header);
  EXPECT_EQ(head.hash, record.hash);
  EXPECT_EQ(head.position, record.position);
}

TEST_P(FlashLogTest, I1_the_state_knows_where_the_stream_goes_on) {
  const uint64_t digest = state.now.digest;
  const FlashLogRecord one = parts.put("a", "1");
  EXPECT_NE(state.now.digest, digest);
  EXPECT_EQ(one.position, state.layout.position(state.now.streams.hot.block, kFlashHeaderUnits));
  const FlashLogRecord two = parts.put("b", "2");
  EXPECT_EQ(two.position, one.position + one.header.units(16));
  EXPECT_EQ(state.now.streams.hot.offset, kFlashHeaderUnits + 2 * one.header.units(16));
}

TEST_P(FlashLogTest, a_full_stream_goes_on_in_another_block) {
  const uint32_t first = parts.fill_block("key");
  const uint32_t second = state.now.streams.hot.block;
  EXPECT_NE(second, first);
  EXPECT_LT(state.blocks.at(first).sequence, state.blocks.at(second).sequence);
  const std::span<const std::byte> stored = parts.device.stored(first);
  const auto header = decode_open_header(first, stored.subspan(16, 16));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->purpose, FlashPurpose::kHot);
  EXPECT_EQ(header->next, state.policy.names_next_block() ? second : kNoBlock);
  EXPECT_EQ(parts.device.violations(), std::vector<std::string>());
}

TEST_P(FlashLogTest, I3_what_is_no_record_is_an_error) {
  const FlashLogRecord record = parts.put("a key", "value");
  FlashLoadedRecord loaded;
  EXPECT_TRUE(fails(
      log.load(record.position + 1, loaded), ErrorCode::kCorrupt,
      "the record at unit " + std::to_string(record.position + 1) + " does not begin as one"));
  EXPECT_TRUE(fails(log.load(24 * 256, loaded), ErrorCode::kCorrupt, "is beyond the device"));
  FlashLogRecord head;
  EXPECT_FALSE(log.read_head(24 * 256, head).value());
  EXPECT_FALSE(log.read_head(record.position + 1, head).value());
  parts.device.flip_stored(state.layout.address(record.position) + 31, 0);  // of the value
  EXPECT_TRUE(fails(log.load(record.position, loaded), ErrorCode::kCorrupt, "has a wrong CRC"));
  EXPECT_TRUE(log.read_head(record.position, head).value()) << "it doesn't read the value";
  parts.device.flip_stored(state.layout.address(record.position) + 21, 0);  // of the key
  EXPECT_FALSE(log.read_head(record.position, head).value());
}

TEST_P(FlashLogTest, I3_a_part_is_loaded_only_if_it_is_that_one) {
  const std::string value(state.layout.pieces().part_bytes(), 'p');
  const auto append = [&](uint64_t lsn, uint32_t offset, const std::string& bytes) {
    return must(
        log.append_hot(FlashRecordHeader::part(lsn, offset, static_cast<uint32_t>(bytes.size())),
                       {}, bytes_of(bytes)));
  };
  const uint32_t full = append(7, 300, value);
  const uint32_t last = append(7, 768, "the rest");
  FlashLoadedRecord part;
  ASSERT_TRUE(must(log.load_part(full, 7, 300, value.size() + 8, part)));
  EXPECT_EQ(text_of(part.value), value);
  ASSERT_TRUE(must(log.load_part(last, 7, 768, 8, part)));
  EXPECT_EQ(text_of(part.value), "the rest");
  EXPECT_FALSE(must(log.load_part(last, 8, 768, 8, part))) << "another value's";
  EXPECT_FALSE(must(log.load_part(last, 7, 769, 8, part))) << "another part";
  EXPECT_FALSE(must(log.load_part(full, 7, 300, 400, part))) << "another length";
  EXPECT_FALSE(must(log.load_part(last + 1, 7, 768, 8, part))) << "no record";
  EXPECT_FALSE(must(log.load_part(last + 3, 7, 776, 8, part))) << "after the last record";
  EXPECT_FALSE(must(log.load_part(24 * 256, 7, 768, 8, part))) << "beyond the device";
  const FlashLogRecord put = parts.put("a key", "value");
  EXPECT_FALSE(must(log.load_part(put.position, put.header.lsn, 0, 8, part))) << "no part";
  parts.device.flip_stored(state.layout.address(last) + 25, 0);  // of the value
  EXPECT_FALSE(must(log.load_part(last, 7, 768, 8, part))) << "damaged";
}

TEST_P(FlashLogTest, after_a_full_block_the_log_goes_on_in_the_next_one) {
  parts.fill_block("filler");  // the next block is one that the format reserved
  const FlashLogRecord one = parts.put("a", "1");
  const uint32_t units = one.header.units(16);
  EXPECT_EQ(log.position_after(one.position, units), one.position + units);
  EXPECT_EQ(must(log.will_load(one.position, units)), one.position + units);
  const uint32_t first = parts.fill_block("key");
  const uint32_t second = state.now.streams.hot.block;
  ASSERT_EQ(second, first + 1);
  const auto used = [&](uint32_t block) { return state.blocks.at(block).used_units; };
  const uint32_t last = state.layout.position(first, used(first) - units);
  EXPECT_EQ(log.position_after(last, units), state.layout.position(second, kFlashHeaderUnits));
  const uint32_t end = state.layout.position(second, used(second));
  EXPECT_EQ(log.position_after(end - units, units), end);
  EXPECT_EQ(must(log.will_load(one.position, 1000)), end) << "there is no more";
  EXPECT_EQ(must(log.will_load(last, units + 1)),
            state.layout.position(second, kFlashHeaderUnits + 1));
  EXPECT_EQ(must(log.will_load(end, 1)), end);
}

TEST_P(FlashLogTest, scans_an_image_as_it_scans_the_device) {
  const FlashLogRecord record = parts.put("a key", "value");
  const uint32_t block = state.layout.locate(record.position).block;
  const uint64_t sequence = state.blocks.at(block).sequence;
  FlashLogRecord from_device;
  FlashLogRecord from_image;
  const uint64_t before = log.read_bytes();
  ASSERT_TRUE(log.scan(record.position, sequence, {}, from_device).value());
  EXPECT_EQ(log.read_bytes() - before, 20U + 5 + 4) << "no value";
  ASSERT_TRUE(log.scan(record.position, sequence, parts.device.stored(block), from_image).value());
  EXPECT_EQ(log.read_bytes() - before, 20U + 5 + 4);
  EXPECT_EQ(from_device.header, from_image.header);
  EXPECT_EQ(from_device.hash, from_image.hash);
  EXPECT_EQ(from_device.crc, from_image.crc);
  EXPECT_FALSE(log.scan(record.position, sequence + 1, {}, from_device).value())
      << "of another use of the block";
}

TEST_P(FlashLogTest, only_a_bare_device_is_read_to_see_what_was_programmed) {
  parts.put("a", "1");
  const uint64_t before = parts.device.counters().read_calls;
  parts.put("b", "2");
  EXPECT_EQ(parts.device.counters().read_calls - before, GetParam() ? 1U : 0U);
}

TEST_P(FlashLogTest, prepare_erases_what_was_used) {
  const uint32_t used = parts.fill_block("key");
  const uint64_t erases = parts.device.counters().erases;
  ASSERT_STATUS(log.prepare(used));
  EXPECT_EQ(parts.device.counters().erases, erases + 1);
  ASSERT_STATUS(log.prepare(20));  // never used
  EXPECT_EQ(parts.device.counters().erases, erases + (GetParam() ? 2 : 1));
  EXPECT_EQ(decode_erase_header(20, parts.device.stored(20)),
            std::optional<uint32_t>(GetParam() ? 1 : 0));
}

TEST(FlashLogOnWornFlash, I2_a_block_whose_program_failed_gets_no_further_record) {
  FormattedParts parts(kBareFlash);
  const FlashLogRecord one = parts.put("a", "1");
  const uint32_t block = parts.state.now.streams.hot.block;
  parts.device.set_wear_failure(WearFailure::kProgramError);
  parts.device.set_endurance(block, 0);
  const FlashLogRecord two = parts.put("b", "2");
  EXPECT_NE(parts.state.now.streams.hot.block, block);
  EXPECT_EQ(parts.state.layout.locate(two.position).block, parts.state.now.streams.hot.block);
  EXPECT_TRUE(parts.state.blocks.at(block).failing);
  FlashLoadedRecord loaded;
  ASSERT_STATUS(parts.log.load(one.position, loaded));
  parts.state.blocks.release(block);
  EXPECT_EQ(parts.state.blocks.at(block).kind, FlashBlockKind::kBad);
}

TEST(FlashLogOnWornFlash, a_block_that_can_not_be_opened_is_retired) {
  FormattedParts parts(kBareFlash);
  const uint32_t first = parts.state.blocks.touched();  // the virgin blocks come in order
  parts.device.set_bad(first);
  parts.device.set_bad(first + 1);
  parts.put("a", "1");
  EXPECT_EQ(parts.state.now.streams.hot.block, first + 2);
  EXPECT_EQ(parts.state.blocks.bad_count(), 2U);
}

TEST(FlashLogOnWornFlash, without_a_free_block_it_is_full) {
  FormattedParts parts(kBareFlash);
  while (parts.state.blocks.free_count() > 0) {
    parts.state.blocks.take();
  }
  FlashRecordHeader header;
  header.type = FlashRecordType::kCollect;
  EXPECT_TRUE(fails_saying(parts.log.append_cold(header, {}, {}), ErrorCode::kFull,
                           "no erase block is free"));
}

}  // namespace
}  // namespace flash_log_test
}  // namespace cuckoo
