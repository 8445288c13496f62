// Each barrier of core/flash/store.hpp has a history here that needs it. A cut at each step of the
// history takes the parts that do harm, so nothing is left to chance. Without the barrier its test
// fails.
#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test {
namespace library_flash_barrier_test {
namespace {

using Models = std::vector<FlashModel>;
using Keeps = std::function<bool(uint64_t address)>;

class FlashBarriers : public ::testing::Test {
 protected:
  static FlashStore opened(std::unique_ptr<FlashDevice> device) {
    return must(FlashStore::open(std::move(device), {.create = true}));
  }
  std::unique_ptr<ReorderingDevice> device_of(DeviceBytes bytes) const {
    return std::make_unique<ReorderingDevice>(geometry_, std::move(bytes));
  }
  std::unique_ptr<ReorderingDevice> blank_device() const {
    return std::make_unique<ReorderingDevice>(geometry_);
  }

  // What is left after a cut must be one of the models.
  void expect_one_of(const Models& models, DeviceBytes left, const std::string& cut) {
    ++cuts_;
    Result<FlashStore> store = FlashStore::open(device_of(std::move(left)));
    ASSERT_TRUE(store.ok()) << cut << ": " << store.error().message;
    const FlashModel found = contents_of(store.value());
    ASSERT_NE(std::find(models.begin(), models.end(), found), models.end())
        << cut << ": " << (found.contains("error") ? found.at("error") : "no state of the store");
  }
  // Cuts at each step from now on: one erase block loses what was not synced, all others keep it.
  void take_one_block_each(ReorderingDevice& device, const Models& models) {
    device.on_step = [this, &device, &models] {
      for (const uint32_t block : device.unsynced_blocks()) {
        if (!HasFatalFailure()) {
          const Keeps keeps = [&](uint64_t at) { return at / geometry_.block_bytes() != block; };
          expect_one_of(models, device.cut_keeping(keeps),
                        "without block " + std::to_string(block));
        }
      }
    };
  }

  FlashGeometry geometry_ = small_geometry(512, 2, 18);
  uint64_t cuts_ = 0;
};

// A change, a collection and a checkpoint each write to several blocks, and each part counts on the
// other parts: B1, B3, the first half of B4.
TEST_F(FlashBarriers, B1_B3_B4_any_one_block_may_lose_what_was_not_synced) {
  auto owned = blank_device();
  ReorderingDevice& device = *owned;
  FlashStore store = opened(std::move(owned));
  Models possible{{}};
  take_one_block_each(device, possible);
  for (int i = 0; i < 150 && !HasFatalFailure(); ++i) {
    // A fifth of the puts are of keys that change seldom, so that collections have something to
    // copy.
    const std::string key = "key" + std::to_string(i % 5 == 0 ? i / 5 % 20 : i % 3);
    const std::string value = std::to_string(i) + std::string(i % 7 == 0 ? 150 : 60, 'x');
    possible.push_back(possible.back());
    possible.back()[key] = value;
    if (const Status put = store.put(key, value); !put.ok()) {
      ASSERT_EQ(put.error().code, ErrorCode::kFull);
      possible.pop_back();
    }
    if (i % 20 == 19) {
      ASSERT_STATUS(store.sync());
      possible.erase(possible.begin(), possible.end() - 1);
    }
  }
  device.on_step = nullptr;
  EXPECT_GT(store.stats().collections, 5U);
  EXPECT_GT(store.stats().checkpoints, 2U);
  EXPECT_GT(cuts_, 200U);
}

// A checkpoint that is cut leaves a piece of the index in a block without a header. No tail has
// begun, so the mount writes only an anchor. The next block that the store opens, for changes, is
// the same one. A second cut takes the change and the erase in that block. If the block had its old
// sequence again, the piece would stand in the place of the change.
TEST_F(FlashBarriers, B2_no_block_gets_a_sequence_that_was_used_before) {
  geometry_ = small_geometry(512, 1, 40, 64);  // 6 anchors in a block
  const uint32_t header_bytes = 2 * geometry_.program_unit_bytes;
  const auto in_header = [&](uint64_t at) { return at % geometry_.block_bytes() < header_bytes; };
  const Models possible{{{"a", "1"}}, {{"a", "1"}, {"b", "2"}}};
  for (int anchors = 0; anchors < 6;
       ++anchors) {  // in one of them the checkpoint opens a new block
    auto owned = blank_device();
    ReorderingDevice& first = *owned;
    FlashStore store = opened(std::move(owned));
    ASSERT_STATUS(store.put("a", "1"));
    for (int i = 0; i < anchors; ++i) {
      ASSERT_STATUS(store.collect());
    }
    ASSERT_STATUS(store.sync());
    first.on_step = [&] {
      auto left = device_of(first.cut_keeping([&](uint64_t at) { return !in_header(at); }));
      ReorderingDevice& second = *left;
      second.on_step = [&] {
        if (!HasFatalFailure()) {
          expect_one_of(possible, second.cut_keeping(in_header), "the second cut");
        }
      };
      FlashStore again = opened(std::move(left));
      EXPECT_STATUS(again.put("b", "2"));
      EXPECT_STATUS(again.sync());
      second.on_step = nullptr;
    };
    ASSERT_STATUS(store.collect());
    first.on_step = nullptr;
    ASSERT_FALSE(HasFailure()) << anchors << " anchors";
  }
  EXPECT_GT(cuts_, 1000U);
}

// A mount copies the newest record, and its checkpoint says so. A later change of that key says
// that it replaces the copy. Without the mount's anchor there is no such copy.
TEST_F(FlashBarriers, B4_a_change_after_a_mount_counts_on_its_anchor) {
  auto owned = blank_device();
  ReorderingDevice& device = *owned;
  FlashStore store = opened(std::move(owned));
  ASSERT_STATUS(store.put("a", "1"));
  store = opened(store.release());  // as after kill -9: the device has what was not synced
  const Models possible{{{"a", "1"}}, {{"a", "2"}}};
  take_one_block_each(device, possible);
  ASSERT_STATUS(store.put("a", "2"));
  ASSERT_STATUS(store.sync());
  device.on_step = nullptr;
  EXPECT_GT(cuts_, 0U);
}

// A change replaces all that is in the least worn block, and the process is killed. The mount finds
// the change, and so it takes that block for its own records.
TEST_F(FlashBarriers, B5_a_mount_counts_on_changes_that_were_not_synced) {
  auto owned = blank_device();
  ReorderingDevice& device = *owned;
  FlashStore store = opened(std::move(owned));
  const std::string large(1100, 'x');  // all of one block, and more
  ASSERT_STATUS(store.put("seldom", large));
  for (int i = 0; i < 300; ++i) {
    ASSERT_STATUS(store.put("often", std::to_string(i) + std::string(60, 'x')));
  }
  ASSERT_STATUS(store.collect());
  ASSERT_STATUS(store.sync());
  Models possible{{{"seldom", large}, {"often", "299" + std::string(60, 'x')}}};
  for (const char* const key : {"seldom", "often"}) {  // until the second one, the block is held
    ASSERT_STATUS(store.put(key, "new"));
    possible.push_back(possible.back());
    possible.back()[key] = "new";
  }
  const uint64_t erases = store.stats().erases;
  take_one_block_each(device, possible);
  store = opened(store.release());  // as after kill -9: the device has what was not synced
  device.on_step = nullptr;
  EXPECT_GT(store.stats().erases, erases);
  EXPECT_GT(cuts_, 5U);
}

}  // namespace
}  // namespace library_flash_barrier_test
}  // namespace cuckoo::test
