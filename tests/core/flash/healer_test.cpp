#include "core/flash/healer.hpp"

#include <functional>
#include <set>

#include "tests/core/flash/harness.hpp"

namespace cuckoo {
namespace flash_healer_test {
namespace {

// A store with small and long values, whose records are in many blocks, and a model beside it.
class FlashHealing : public ::testing::TestWithParam<bool> {
 protected:
  FlashHealing() {
    EXPECT_STATUS(store.format());
    for (int i = 0; i < 120; ++i) {
      put("key " + std::to_string(i),
          std::string(i % 10 == 0 ? 1500 : static_cast<size_t>(40 + i % 7), 'a'));
    }
    for (int i = 0; i < 120; i += 4) {
      put("key " + std::to_string(i), "new" + std::string(i % 10 == 0 ? 900 : 30, 'b'));
    }
    EXPECT_STATUS(store.checkpoint());
  }
  void put(const std::string& key, const std::string& value) {
    EXPECT_STATUS(store.put(bytes_of(key), bytes_of(value)));
    model[key] = value;
  }
  // Flips a bit of what the head of that key has on the device, behind its header.
  void damage(const std::string& key) {
    const uint32_t position = must(store.find(bytes_of(key)))->position;
    device.flip_stored(uint64_t{position} * store.geometry().program_unit_bytes + 24, 3);
  }
  // Returns the keys that can't be read. All others have their values.
  std::set<std::string> damaged_keys() {
    std::set<std::string> damaged;
    for (const auto& [key, value] : model) {
      std::vector<std::byte> got;
      const Result<bool> there = store.get(bytes_of(key), got);
      if (!there.ok()) {
        EXPECT_EQ(there.error().code, ErrorCode::kCorrupt) << there.error().message;
        damaged.insert(key);
      } else {
        EXPECT_TRUE(there.value()) << key;
        EXPECT_EQ(text_of(got), value) << key;
      }
    }
    return damaged;
  }
  // Calls the function once for each block that has live records, on the store as it is now.
  void for_each_block_of_data(const std::function<void(uint32_t, const FlashBlock&)>& visit) {
    const FlashSimulator::State good = device.snapshot();
    const FlashModel whole = model;
    for (uint32_t block = 0; block < store.blocks().touched(); ++block) {
      device.restore(good);
      model = whole;
      ASSERT_STATUS(store.mount());
      const FlashBlock state = store.blocks().at(block);
      if (state.kind == FlashBlockKind::kData && state.live_units != 0) {
        visit(block, state);
      }
    }
  }
  void expect_whole() {
    EXPECT_EQ(difference(store, model), "");
    EXPECT_STATUS(store.check(no_poll));
    EXPECT_STATUS(store.mount());
    EXPECT_EQ(difference(store, model), "");
    EXPECT_STATUS(store.check(no_poll));
  }

  FlashSimulator device{small_geometry(512, 2, 64)};
  FlashStore store{device, GetParam() ? FlashStoreOptions{.atomic_device = true, .wears_out = true}
                                      : FlashStoreOptions{}};
  FlashModel model;
};

INSTANTIATE_TEST_SUITE_P(Devices, FlashHealing, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "atomic" : "bare");
});

TEST_P(FlashHealing, a_damaged_record_costs_its_key_alone) {
  damage("key 5");
  EXPECT_EQ(damaged_keys(), std::set<std::string>{"key 5"});
  const Result<std::optional<FlashEntry>> given =
      store.find_damaged_too(store.hashed(bytes_of("key 5")));
  ASSERT_TRUE(given.ok() && given.value());
  EXPECT_EQ(given.value()->lsn, 0U);
  EXPECT_FALSE(store.find(bytes_of("no such key")).value());
  put("another", "value");
  EXPECT_EQ(damaged_keys(), std::set<std::string>{"key 5"});
  EXPECT_FALSE(store.check(no_poll).ok());
}

TEST_P(FlashHealing, S4_a_change_of_the_key_replaces_it) {
  damage("key 5");
  damage("key 20");  // the head of a long value
  EXPECT_FALSE(store.insert(store.hashed(bytes_of("key 5")), bytes_of("x")).value()) << "is there";
  put("key 5", "mended");
  EXPECT_EQ(damaged_keys(), std::set<std::string>{"key 20"});
  EXPECT_TRUE(fails(store.check(no_poll), ErrorCode::kCorrupt, "1 row was damaged"));
  ASSERT_STATUS(store.mount());
  EXPECT_EQ(damaged_keys(), std::set<std::string>{"key 20"}) << "it stays damaged";
  EXPECT_TRUE(must(store.remove(bytes_of("key 20"))));
  model.erase("key 20");
  expect_whole();
}

TEST_P(FlashHealing, a_batch_replaces_several) {
  damage("key 5");
  damage("key 77");
  const std::vector<std::byte> value(900, std::byte{'v'});
  const FlashStore::Change changes[] = {
      {store.hashed(bytes_of("key 4")), std::span<const std::byte>(value)},
      {store.hashed(bytes_of("key 5")), std::nullopt},
      {store.hashed(bytes_of("key 77")), std::span<const std::byte>(value)}};
  ASSERT_STATUS(store.write(changes));
  model.erase("key 5");
  model["key 4"] = model["key 77"] = text_of(value);
  expect_whole();
}

TEST_P(FlashHealing, a_damaged_part_costs_its_value) {
  // Long values have parts all over the device: find one of them.
  const uint64_t units = store.geometry().units();
  const std::string key = "key 10";
  for (uint64_t unit = 0; unit < units; ++unit) {
    const FlashSimulator::State before = device.snapshot();
    device.flip_stored(unit * store.geometry().program_unit_bytes + 2, 1);
    std::vector<std::byte> got;
    if (store.find(bytes_of(key)).ok() && !store.get(bytes_of(key), got).ok()) {
      put(key, "mended");
      EXPECT_EQ(damaged_keys(), std::set<std::string>());
      expect_whole();
      return;
    }
    device.restore(before);
  }
  FAIL() << "no part was found";
}

TEST_P(FlashHealing, a_collection_gives_the_block_up_and_goes_on) {
  damage("key 5");
  damage("key 6");
  ASSERT_STATUS(store.collect());
  const std::set<std::string> damaged = damaged_keys();
  EXPECT_EQ(damaged, (std::set<std::string>{"key 5", "key 6"}));
  for (int i = 0; i < 2000; ++i) {
    put("turning " + std::to_string(i % 20), std::string(100, 'c'));
  }
  EXPECT_GT(store.stats().collections, 0U);
  EXPECT_EQ(damaged_keys(), damaged);
  put("key 5", "mended");
  put("key 6", "mended");
  expect_whole();
}

TEST_P(FlashHealing, I4_a_scan_gives_what_is_sound_and_then_the_error) {
  damage("key 5");
  damage("key 50");
  for (const bool healed : {false, true}) {
    std::set<std::string> seen;
    FlashScan scan;
    Result<bool> more = false;
    while ((more = store.next(scan)).ok() && more.value()) {
      seen.insert(text_of(scan.record().key));
    }
    EXPECT_TRUE(fails(more.take_status(), ErrorCode::kCorrupt)) << healed;
    EXPECT_EQ(seen.size(), model.size() - 2) << healed;
    FlashScan sound(FlashScan::Of::kSound);
    size_t count = 0;
    while ((more = store.next(sound)).ok() && more.value()) {
      ++count;
    }
    EXPECT_STATUS(more.take_status());
    EXPECT_EQ(count, seen.size());
    Status damage;
    EXPECT_EQ(must(store.entries(&damage)).size(), seen.size());
    EXPECT_TRUE(fails(damage, ErrorCode::kCorrupt));
    EXPECT_TRUE(fails(store.entries().take_status(), ErrorCode::kCorrupt));
    ASSERT_STATUS(store.collect());
  }
}

TEST_P(FlashHealing, I1_every_block_of_data_can_be_lost) {
  for_each_block_of_data([&](uint32_t block, const FlashBlock&) {
    for (uint64_t at = 0; at < store.geometry().block_bytes(); at += 16) {
      device.flip_stored(store.geometry().block_address(block) + at + 5, 2);
    }
    const std::set<std::string> damaged = damaged_keys();
    EXPECT_GT(damaged.size(), 0U) << block;
    EXPECT_LT(damaged.size(), 30U) << block;
    for (const std::string& key : damaged) {
      put(key, "mended");
    }
    expect_whole();
  });
}

// The streams' own blocks are damaged: what is moved must not go there.
TEST_P(FlashHealing, I1_every_block_can_be_lost_while_collections_write) {
  for (int i = 0; i < 600; ++i) {
    put("turning " + std::to_string(i * i % 50), std::string(60, static_cast<char>('a' + i % 26)));
  }
  ASSERT_STATUS(store.collect());
  ASSERT_GT(store.stats().collections, 0U);
  for_each_block_of_data([&](uint32_t block, const FlashBlock& state) {
    // The first half of its records.
    for (uint32_t unit = 2; unit < state.used_units / 2; ++unit) {
      device.flip_stored(store.geometry().block_address(block) + uint64_t{16} * unit + 5, 2);
    }
    const std::set<std::string> damaged = damaged_keys();
    if (damaged.empty()) {
      return;
    }
    put(*damaged.begin(), "mended");
    std::set<std::string> rest = damaged;
    rest.erase(rest.begin());
    EXPECT_EQ(damaged_keys(), rest) << "block " << block << ": no other row is lost";
    for (const std::string& key : rest) {
      put(key, "mended");
    }
    expect_whole();
  });
}

TEST_P(FlashHealing, clear_gives_the_blocks_back_where_a_rule_says_which_are_worn) {
  const uint64_t usable = store.usable_units();
  damage("key 5");
  put("key 5", "mended");
  EXPECT_LT(store.usable_units(), usable);
  ASSERT_STATUS(store.clear());
  EXPECT_EQ(store.usable_units() == usable, GetParam());
  model.clear();
  put("a", "1");
  expect_whole();
}

TEST_P(FlashHealing, I2_without_room_nothing_changes) {
  damage("key 5");
  for (int i = 0;
       store.put(bytes_of("fill " + std::to_string(i)), std::vector<std::byte>(300, std::byte{1}))
           .ok();
       ++i) {
  }
  const Status full = store.put(bytes_of("key 5"), bytes_of("mended"));
  EXPECT_TRUE(full.ok() || full.error().code == ErrorCode::kFull) << full.error().message;
  EXPECT_FALSE(store.poisoned());
}

}  // namespace
}  // namespace flash_healer_test
}  // namespace cuckoo
