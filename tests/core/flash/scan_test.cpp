#include "core/flash/scan.hpp"

#include "tests/core/flash/parts.hpp"

// harness.hpp compares a scan with what else a store says of its entries wherever it is used; here
// is what that does not reach.

namespace cuckoo {
namespace flash_scan_test {
namespace {

class FlashScanTest : public FormattedOnBothDevices {
 protected:
  FlashScan::Source source() { return {parts.state, parts.log}; }
  // Keys, in the order in which they come; or the error.
  std::string scanned() {
    FlashScan scan;
    std::string keys;
    while (true) {
      const Result<bool> more = scan.next(source());
      if (!more.ok()) {
        return more.error().message;
      }
      if (!more.value()) {
        return keys;
      }
      keys += (keys.empty() ? "" : " ") + text_of(scan.record().key);
    }
  }
  // Flips a bit of the record, `byte` bytes after its beginning.
  void damage(const FlashLogRecord& record, uint64_t byte) {
    parts.device.flip_stored(parts.state.layout.address(record.position) + byte, 0);
  }
};
INSTANTIATE_ON_BOTH_DEVICES(FlashScanTest);

TEST_P(FlashScanTest, I1_of_an_empty_store_is_empty) {
  EXPECT_EQ(scanned(), "");
  parts.put("a", "1");
  parts.remove("a");
  EXPECT_EQ(scanned(), "");
}

TEST_P(FlashScanTest, I1_gives_what_is_live_in_the_order_of_changes) {
  for (const char* key : {"c", "a", "d", "b"}) {
    parts.put(key, "1");
  }
  EXPECT_EQ(scanned(), "c a d b");
  parts.put("a", "2");
  parts.remove("d");
  EXPECT_EQ(scanned(), "c b a");
}

TEST_P(FlashScanTest, I1_merges_what_a_collection_moved) {
  const uint32_t victim = parts.fill_block("x");
  parts.put("x1", "hot again");
  parts.put("end", "");
  ASSERT_STATUS(parts.checkpointer.checkpoint());
  const std::string before = scanned();
  EXPECT_TRUE(before.starts_with("x0 x2 x3 ")) << before;
  EXPECT_TRUE(before.ends_with(" x1 end")) << before;
  ASSERT_STATUS(parts.collector.collect_all());
  ASSERT_NE(parts.state.blocks.at(victim).kind, FlashBlockKind::kData);
  EXPECT_EQ(scanned(), before);
  parts.put("later", "");
  EXPECT_EQ(scanned(), before + " later");
}

TEST_P(FlashScanTest, I2_a_damaged_record_is_an_error_and_a_dead_value_is_none) {
  const FlashLogRecord first = parts.put("first", std::string(40, 'v'));
  const FlashLogRecord second = parts.put("second", std::string(40, 'v'));
  damage(first, 45);
  EXPECT_EQ(scanned(), "the record at unit " + std::to_string(first.position) + " has a wrong CRC");
  parts.put("first", "new");
  EXPECT_EQ(scanned(), "second first");
  damage(second, 3);  // its length
  EXPECT_NE(scanned().find("the record at unit " + std::to_string(second.position)),
            std::string::npos);
}

TEST_P(FlashScanTest, I2_live_units_that_are_not_found_are_an_error) {
  const FlashLogRecord first = parts.put("first", "1");
  const FlashLogRecord second = parts.put("second", "2");
  const uint32_t block = parts.state.layout.locate(first.position).block;
  parts.state.blocks.add_live(block, 5);
  EXPECT_EQ(scanned(),
            "erase block " + std::to_string(block) + " lacks 5 units that the index points to");
  parts.state.blocks.remove_live(block, 5);
  EXPECT_EQ(scanned(), "first second");
  damage(second, 0);  // its type: it begins no record
  damage(second, 12);
  EXPECT_NE(scanned(), "first second");
}

TEST_P(FlashScanTest, I2_a_block_without_its_header_is_an_error) {
  const FlashLogRecord record = parts.put("key", "1");
  const uint32_t block = parts.state.layout.locate(record.position).block;
  parts.device.flip_stored(parts.state.layout.block_address(block) + 16, 0);
  EXPECT_EQ(scanned(), "the header of erase block " + std::to_string(block) + " is broken");
}

TEST_P(FlashScanTest, I3_another_store_in_the_same_state_goes_on) {
  for (int i = 0; i < 200; ++i) {
    parts.put("key" + std::to_string(i), std::string(100, 'v'));
  }
  if (GetParam()) {
    return;  // the mount of a bare device changes it
  }
  FlashState other(parts.device, kAtomicFlash);
  FlashLog log(parts.device, other);
  FlashAnchors anchors(other, log);
  FlashCheckpointer checkpointer(other, log, anchors);
  ASSERT_STATUS(FlashMount(other, log, anchors, checkpointer).mount());
  ASSERT_EQ(other.now.digest, parts.state.now.digest);
  FlashScan scan;
  for (int i = 0; i < 200; ++i) {
    const Result<bool> more =
        i % 2 == 0 ? scan.next(source()) : scan.next(FlashScan::Source{other, log});
    ASSERT_TRUE(more.ok() && more.value());
    EXPECT_EQ(text_of(scan.record().key), "key" + std::to_string(i));
  }
  EXPECT_FALSE(scan.next(source()).value());
}

// Records of all lengths are on both sides of every border between two reads.
TEST(FlashScanOfLargeBlocks, I1_gives_everything) {
  for (const uint32_t unit : {16, 32, 64}) {
    SCOPED_TRACE(unit);
    FlashSimulator device(small_geometry(8192, 8, 24, unit));
    FlashStore store(device, {.seed = unit, .atomic_device = true});
    ASSERT_STATUS(store.format());
    FlashModel model;
    std::mt19937_64 random(unit);
    for (int step = 0; step < 1500; ++step) {
      const FlashOperation operation = random_operation(random, 300, 30000);
      ASSERT_STATUS(perform(store, operation));
      perform(model, operation);
      if (step % 250 == 0) {
        ASSERT_EQ(difference(store, model), "");
      }
    }
    ASSERT_STATUS(store.collect());
    ASSERT_EQ(difference(store, model), "");
  }
}

}  // namespace
}  // namespace flash_scan_test
}  // namespace cuckoo
