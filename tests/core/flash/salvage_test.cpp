#include "core/flash/salvage.hpp"

#include "tests/core/flash/harness.hpp"

namespace cuckoo {
namespace flash_salvage_test {
namespace {

FlashModel salvaged(FlashDevice& device, const FlashStoreOptions& options) {
  FlashSalvage salvage(device, options);
  EXPECT_STATUS(salvage.begin());
  FlashModel found;
  Result<bool> more = false;
  while ((more = salvage.next()).ok() && more.value()) {
    EXPECT_TRUE(found.emplace(text_of(salvage.key()), text_of(salvage.value())).second)
        << "I1: " << text_of(salvage.key());
  }
  EXPECT_STATUS(more.take_status());
  return found;
}

class FlashSalvages : public ::testing::TestWithParam<bool> {
 protected:
  FlashSalvages() {
    EXPECT_STATUS(store.format());
    for (int i = 0; i < 100; ++i) {
      put("key " + std::to_string(i), std::string(i % 10 == 0 ? 1500 : 40, 'a'));
    }
    for (int i = 0; i < 100; i += 3) {
      put("key " + std::to_string(i), "new" + std::string(i % 10 == 0 ? 700 : 30, 'b'));
    }
    EXPECT_TRUE(must(store.remove(bytes_of("key 7"))));
    model.erase("key 7");
  }
  void put(const std::string& key, const std::string& value) {
    EXPECT_STATUS(store.put(bytes_of(key), bytes_of(value)));
    model[key] = value;
  }
  void flip_block(uint32_t block) {
    for (uint64_t at = 0; at < store.geometry().block_bytes(); at += 16) {
      device.flip_stored(store.geometry().block_address(block) + at + 5, 2);
    }
  }

  const FlashStoreOptions options{.atomic_device = GetParam()};
  FlashSimulator device{small_geometry(512, 2, 64)};
  FlashStore store{device, options};
  FlashModel model;
};

INSTANTIATE_TEST_SUITE_P(Devices, FlashSalvages, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "atomic" : "bare");
});

TEST_P(FlashSalvages, give_all_where_nothing_is_damaged) {
  EXPECT_EQ(salvaged(device, options), model);
}

TEST_P(FlashSalvages, give_all_without_anchors_and_checkpoints) {
  for (uint32_t block = 0; block < store.blocks().touched(); ++block) {
    const FlashBlockKind kind = store.blocks().at(block).kind;
    if (kind == FlashBlockKind::kAnchor || kind == FlashBlockKind::kCheckpoint) {
      flip_block(block);
    }
  }
  FlashStore other(device, options);
  EXPECT_FALSE(other.mount().ok());
  EXPECT_EQ(salvaged(device, options), model);
}

// What is in a damaged block is missing, or comes in an older version that was written before.
TEST_P(FlashSalvages, give_what_is_sound_where_a_block_is_damaged) {
  const FlashSimulator::State good = device.snapshot();
  for (uint32_t block = 0; block < store.blocks().touched(); ++block) {
    device.restore(good);
    flip_block(block);
    const FlashModel found = salvaged(device, options);
    EXPECT_GT(found.size() + 30, model.size()) << block;
    for (const auto& [key, value] : found) {
      const auto now = model.find(key);
      EXPECT_TRUE((now != model.end() && now->second == value) || value.front() == 'a')
          << "block " << block << ": " << key;
    }
  }
}

// A record is found again behind one that is damaged.
TEST_P(FlashSalvages, go_on_behind_a_damaged_record) {
  const uint32_t position = must(store.find(bytes_of("key 1")))->position;
  device.flip_stored(uint64_t{position} * store.geometry().program_unit_bytes + 3, 1);
  FlashModel expected = model;
  expected.erase("key 1");
  EXPECT_EQ(salvaged(device, options), expected);
}

TEST(FlashSalvageOfNothing, gives_nothing) {
  FlashSimulator device(small_geometry());
  EXPECT_TRUE(salvaged(device, {}).empty());
}

}  // namespace
}  // namespace flash_salvage_test
}  // namespace cuckoo
