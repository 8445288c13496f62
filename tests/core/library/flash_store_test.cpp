#include <cuckoo/flash_store.hpp>

#include <array>
#include <fstream>

#include "tests/core/library/flash_samples.hpp"

namespace cuckoo::test {
namespace library_flash_store_test {
namespace {

FlashStore in_memory(const FlashGeometry& geometry = small_geometry()) {
  return must(FlashStore::open(MemoryDevice::create(geometry).value(), {.create = true}));
}

// What a device of the program's own may do to the store.
class FailingDevice final : public FlashDevice {
 public:
  explicit FailingDevice(const FlashGeometry& geometry) : device_(geometry) {}
  FlashGeometry geometry() const noexcept override { return device_.geometry(); }
  Status read(uint64_t at, std::span<std::byte> out) override { return device_.read(at, out); }
  Status program(uint64_t at, std::span<const std::byte> units) override {
    Status failed = step();
    return failed.ok() ? device_.program(at, units) : std::move(failed);
  }
  Status erase(uint32_t block) override {
    Status failed = step();
    return failed.ok() ? device_.erase(block) : std::move(failed);
  }
  Status sync() override {
    return failing && fails_sync ? Status(Error{ErrorCode::kInvalid, "no sync"}) : device_.sync();
  }

  bool failing = false;
  bool fails_sync = false;
  bool throws = false;

 private:
  Status step() const {
    if (throws) {
      throw std::bad_alloc();
    }
    return failing ? Status(Error{ErrorCode::kInvalid, "it burns"}) : Status();
  }
  ReorderingDevice device_;
};

TEST(LibraryFlashStore, equals_a_map) {
  std::mt19937_64 random(1);
  FlashStore store = in_memory();
  FlashModel model;
  for (int i = 0; i < 3000; ++i) {
    const FlashCall call = random_call(random, 40, 3000);
    const Status done = perform(store, call);
    if (done.ok()) {
      perform(model, call);
    } else {
      ASSERT_EQ(done.error().code, ErrorCode::kFull) << done.error().message;
    }
    if (i % 300 == 0) {
      store = must(FlashStore::open(store.release()));
    }
  }
  EXPECT_EQ(contents_of(store), model);
}

TEST(LibraryFlashStore, has_what_was_put) {
  FlashStore store = in_memory();
  ASSERT_STATUS(store.put("apple", "3"));
  ASSERT_STATUS(store.put(std::string("pear"), std::array{std::byte{0}, std::byte{1}}));
  ASSERT_STATUS(store.put("", std::string(1000, 'v')));
  EXPECT_EQ(store.size(), 3U);
  std::string text;
  EXPECT_TRUE(store.get("", text).value());
  EXPECT_EQ(text, std::string(1000, 'v'));
  EXPECT_EQ(store.get("pear").value(), (DeviceBytes{std::byte{0}, std::byte{1}}));
  EXPECT_EQ(store.get("plum").value(), std::nullopt);
  EXPECT_FALSE(store.get("plum", text).value());
  EXPECT_EQ(text, "");
  EXPECT_TRUE(store.contains("apple").value());
  EXPECT_FALSE(store.insert("apple", "4").value());
  EXPECT_TRUE(store.insert("plum", "4").value());
  EXPECT_TRUE(store.remove("apple").value());
  EXPECT_FALSE(store.remove("apple").value());
  EXPECT_FALSE(store.contains("apple").value());
}

TEST(LibraryFlashStore, a_batch_has_copies_and_its_order) {
  FlashStore store = in_memory();
  FlashBatch batch;
  {
    std::string key = "key";
    batch.put(key, "1");
    batch.remove(key);
    batch.put(key, "2");
    batch.put("other", "");
    key = "gone";
  }
  EXPECT_EQ(batch.size(), 4U);
  ASSERT_STATUS(store.write(batch));
  EXPECT_EQ(contents_of(store), (FlashModel{{"key", "2"}, {"other", ""}}));
  batch.clear();
  EXPECT_TRUE(batch.empty());
  ASSERT_STATUS(store.write(batch));
  EXPECT_EQ(store.size(), 2U);
}

TEST(LibraryFlashStore, G4_without_a_store_answers_so) {
  FlashStore none;
  std::string text;
  const auto expect_none = [&](FlashStore& store) {
    const std::string expected = "holds no store";
    EXPECT_FALSE(store.holds_store());
    EXPECT_TRUE(fails(store.put("a", "b"), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.insert("a", "b"), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.remove("a"), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.write({}), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.get("a"), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.get("a", text), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.contains("a"), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.for_each(nullptr), ErrorCode::kInvalid, expected));
    EXPECT_TRUE(fails(store.for_each_key(nullptr), ErrorCode::kInvalid, expected));
    for (const Status& status : {store.clear(), store.collect(), store.sync(), store.check()}) {
      EXPECT_EQ(status.error().message, "this object " + expected);
    }
    EXPECT_EQ(store.size(), 0U);
    EXPECT_EQ(store.stats().blocks, 0U);
    EXPECT_EQ(store.geometry().blocks, 0U);
    EXPECT_EQ(store.max_key_bytes(), 0U);
    EXPECT_EQ(store.release(), nullptr);
  };
  expect_none(none);
  FlashStore moved = in_memory();
  none = std::move(moved);
  expect_none(moved);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(none.holds_store());
  EXPECT_NE(none.release(), nullptr);
  expect_none(none);
}

TEST(LibraryFlashStore, too_long_and_too_much_change_nothing) {
  FlashStore store = in_memory();
  ASSERT_STATUS(store.put("a", "1"));
  EXPECT_TRUE(fails(store.put(std::string(store.max_key_bytes() + 1, 'k'), ""), ErrorCode::kInvalid,
                    "expected at most"));
  EXPECT_TRUE(fails(store.put("b", std::string(100000, 'v')), ErrorCode::kFull, "don't fit"));
  EXPECT_EQ(contents_of(store), (FlashModel{{"a", "1"}}));
  ASSERT_STATUS(store.put("c", "2"));
}

TEST(LibraryFlashStore, a_visit_reads_and_refuses_changes) {
  FlashStore store = in_memory();
  for (int i = 0; i < 100; ++i) {
    ASSERT_STATUS(store.put(std::to_string(i), std::string(static_cast<size_t>(i), 'v')));
  }
  int visited = 0;
  ASSERT_STATUS(store.for_each([&](FlashBytes key, FlashBytes value) {
    EXPECT_EQ(key.text(), std::to_string(visited));  // the oldest first
    EXPECT_TRUE(store.contains("99").value());
    EXPECT_EQ(value.bytes().size(), static_cast<size_t>(visited));
    EXPECT_TRUE(fails(store.put("x", ""), ErrorCode::kInvalid, "inside for_each()"));
    return ++visited < 50;
  }));
  EXPECT_EQ(visited, 50);
  EXPECT_THROW((void)store.for_each([](FlashBytes, FlashBytes) -> bool { throw 1; }), int);
  EXPECT_TRUE(fails(store.for_each(nullptr), ErrorCode::kInvalid, "no function"));
  FlashStore other;
  ASSERT_STATUS(store.for_each([&](FlashBytes, FlashBytes) {
    other = std::move(store);
    other = FlashStore();  // it lives until the visit ends
    return true;
  }));
  EXPECT_FALSE(store.holds_store());  // NOLINT(bugprone-use-after-move)
}

// It reads the first record of each entry, and no further one of a long value.
TEST(LibraryFlashStore, keys_are_visited_without_their_values) {
  FlashStore store = in_memory();
  for (int i = 0; i < 20; ++i) {
    ASSERT_STATUS(store.put(std::to_string(i), std::string(i % 2 == 0 ? 500 : 10, 'v')));
  }
  ASSERT_TRUE(must(store.remove("3")));
  ASSERT_STATUS(store.put("5", "newest"));
  std::vector<std::string> keys;
  ASSERT_STATUS(store.for_each([&](FlashBytes key, FlashBytes) {
    keys.emplace_back(key.text());
    return true;
  }));
  EXPECT_EQ(keys.back(), "5");
  size_t visited = 0;
  ASSERT_STATUS(store.for_each_key([&](FlashBytes key) {
    EXPECT_EQ(key.text(), keys[visited]);
    EXPECT_TRUE(must(store.get(key)).has_value());
    EXPECT_TRUE(fails(store.put("x", ""), ErrorCode::kInvalid, "inside for_each()"));
    ++visited;
    return true;
  }));
  EXPECT_EQ(visited, 19U);
  ASSERT_STATUS(store.for_each_key([&](FlashBytes) { return --visited > 9; }));
  EXPECT_EQ(visited, 9U);
  EXPECT_THROW((void)store.for_each_key([](FlashBytes) -> bool { throw 1; }), int);
  EXPECT_TRUE(fails(store.for_each_key(nullptr), ErrorCode::kInvalid, "no function"));
  std::unique_ptr<FlashDevice> device;
  EXPECT_TRUE(fails(store.for_each_key([&](FlashBytes) {
    device = store.release();
    return true;
  }),
                    ErrorCode::kStorage, "released"));
}

TEST(LibraryFlashStore, a_device_that_is_released_in_a_visit_ends_it) {
  FlashStore store = in_memory();
  ASSERT_STATUS(store.put("a", "1"));
  ASSERT_STATUS(store.put("b", "1"));
  std::unique_ptr<FlashDevice> device;
  EXPECT_TRUE(fails(store.for_each([&](FlashBytes, FlashBytes) {
    device = store.release();
    return true;
  }),
                    ErrorCode::kStorage, "released"));
}

TEST(LibraryFlashStore, after_a_failed_change_asks_to_be_opened_again) {
  auto owned = std::make_unique<FailingDevice>(small_geometry());
  FailingDevice& device = *owned;
  auto opened = must(FlashStore::open(std::move(owned), {.create = true}));
  FlashStore store = std::move(opened);
  ASSERT_STATUS(store.put("a", "1"));
  const auto expect_failed = [&](const std::string& why) {
    device.failing = device.throws = device.fails_sync = false;
    const std::string text = why + "; open the store again";
    EXPECT_TRUE(fails(store.put("c", "3"), ErrorCode::kStorage, text));
    EXPECT_TRUE(fails(store.get("a"), ErrorCode::kStorage, text));
    EXPECT_TRUE(fails(store.check(), ErrorCode::kStorage, text));
    store = must(FlashStore::open(store.release()));
    EXPECT_EQ(contents_of(store), (FlashModel{{"a", "1"}}));
  };
  device.failing = true;
  EXPECT_TRUE(fails(store.put("b", "2"), ErrorCode::kStorage, "it burns"));
  expect_failed("it burns");
  device.throws = true;
  EXPECT_THROW((void)store.put("b", "2"), std::bad_alloc);
  expect_failed("half-way");
  device.failing = device.fails_sync = true;
  EXPECT_TRUE(fails(store.sync(), ErrorCode::kStorage, "no sync"));
  expect_failed("no sync");
}

class LibraryFlashDamage : public ::testing::Test {
 protected:
  LibraryFlashDamage() {
    auto owned = std::make_unique<ReorderingDevice>(small_geometry(512, 4, 60));
    FlashStore store = must(FlashStore::open(std::move(owned), {.create = true}));
    for (int i = 0; i < 300; ++i) {
      const std::string key = "key " + std::to_string(i);
      model[key] = std::string(i % 40 == 0 ? 700 : 60, static_cast<char>('a' + i % 26));
      EXPECT_STATUS(store.put(key, model[key]));
    }
    EXPECT_STATUS(store.collect());  // a checkpoint, too
    good = static_cast<ReorderingDevice&>(*store.release()).bytes();
  }
  std::unique_ptr<FlashDevice> device_of(DeviceBytes bytes) const {
    return std::make_unique<ReorderingDevice>(small_geometry(512, 4, 60), std::move(bytes));
  }
  // Flips a bit in each place where these bytes are.
  DeviceBytes damaged_at(const std::string& text) const {
    DeviceBytes bytes = good;
    const auto* const from = reinterpret_cast<const std::byte*>(text.data());
    for (auto at = bytes.begin();; ++at) {
      at = std::search(at, bytes.end(), from, from + text.size());
      if (at == bytes.end()) {
        return bytes;
      }
      *at ^= std::byte{4};
    }
  }

  FlashModel model;
  DeviceBytes good;
};

TEST_F(LibraryFlashDamage, costs_its_entries_and_is_mended_by_a_put) {
  FlashStore store = must(FlashStore::open(device_of(damaged_at("key 77"))));
  EXPECT_TRUE(fails(store.get("key 77"), ErrorCode::kCorrupt));
  EXPECT_TRUE(fails(store.contains("key 77"), ErrorCode::kCorrupt));
  EXPECT_FALSE(must(store.contains("no such key")));
  size_t visited = 0;
  EXPECT_TRUE(fails(store.for_each([&](FlashBytes key, FlashBytes value) {
    ++visited;
    EXPECT_EQ(model[std::string(key.text())], value.text());
    return true;
  }),
                    ErrorCode::kCorrupt));
  EXPECT_EQ(visited, model.size() - 1);
  visited = 0;
  EXPECT_TRUE(fails(store.for_each_key([&](FlashBytes key) {
    EXPECT_NE(key.text(), "key 77");
    return ++visited > 0;
  }),
                    ErrorCode::kCorrupt));
  EXPECT_EQ(visited, model.size() - 1);
  ASSERT_STATUS(store.put("key 77", "mended"));
  model["key 77"] = "mended";
  EXPECT_EQ(contents_of(store), model);
  store = must(FlashStore::open(store.release()));
  EXPECT_EQ(contents_of(store), model);
}

TEST_F(LibraryFlashDamage, that_open_refuses_leaves_what_is_sound) {
  // Every checkpoint and every anchor: no byte of the keys and values.
  size_t refused = 0;
  for (size_t block = 2; block < 60; ++block) {
    DeviceBytes bytes = good;
    for (size_t at = block * 2048; at < (block + 1) * 2048; at += 16) {
      bytes[at] ^= std::byte{1};
    }
    const std::unique_ptr<FlashDevice> device = device_of(bytes);
    FlashModel found;
    ASSERT_STATUS(FlashStore::for_each_sound(*device, [&](FlashBytes key, FlashBytes value) {
      found.emplace(key.text(), value.text());
      return true;
    }));
    EXPECT_EQ(static_cast<ReorderingDevice&>(*device).bytes(), bytes) << "nothing is written";
    EXPECT_GT(found.size() + 40, model.size());
    for (const auto& [key, value] : found) {
      EXPECT_EQ(model[key], value);
    }
    if (!FlashStore::open(device_of(bytes)).ok()) {
      ++refused;
      EXPECT_EQ(found, model);
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, 10U);
}

TEST_F(LibraryFlashDamage, visits_end_when_they_say_so) {
  const std::unique_ptr<FlashDevice> device = device_of(good);
  size_t visited = 0;
  ASSERT_STATUS(
      FlashStore::for_each_sound(*device, [&](FlashBytes, FlashBytes) { return ++visited < 3; }));
  EXPECT_EQ(visited, 3U);
  EXPECT_TRUE(fails(FlashStore::for_each_sound(*device, nullptr), ErrorCode::kInvalid));
}

TEST(LibraryFlashStore, closes_with_a_checkpoint) {
  FlashStore store = in_memory();
  ASSERT_STATUS(store.put("a", "1"));
  const uint64_t checkpoints = store.stats().checkpoints;
  EXPECT_GE(checkpoints, 1U);
  ASSERT_STATUS(store.close());
  EXPECT_FALSE(store.holds_store());
  EXPECT_TRUE(fails(store.close(), ErrorCode::kInvalid));
}

TEST(LibraryFlashStore, opens_only_what_is_a_store) {
  EXPECT_TRUE(fails(FlashStore::open(nullptr), ErrorCode::kInvalid, "no device"));
  EXPECT_TRUE(fails(FlashStore::open(std::make_unique<ReorderingDevice>(small_geometry())),
                    ErrorCode::kInvalid, "the device is blank"));
  EXPECT_TRUE(
      fails(FlashStore::open(std::make_unique<ReorderingDevice>(
                                 small_geometry(), DeviceBytes(small_geometry().size_bytes())),
                             {.create = true}),
            ErrorCode::kCorrupt, "holds no store and is not blank"));
}

TEST(LibraryFlashStore, lives_in_a_file) {
  const TemporaryPath path;
  EXPECT_TRUE(fails(FlashStore::open_file(path.text()), ErrorCode::kStorage, path.text()));
  FlashOptions options{.create = true, .geometry = small_geometry()};
  {
    FlashStore opened = must(FlashStore::open_file(path.text(), options));
    ASSERT_STATUS(opened.put("a", "1"));
    EXPECT_EQ(FlashStore::open_file(path.text()).error().code, ErrorCode::kStorage);  // locked
  }
  auto opened = FlashStore::open_file(path.text(), {.create = true});  // it has its own geometry
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(contents_of(opened.value()), (FlashModel{{"a", "1"}}));
  EXPECT_EQ(opened.value().geometry(), small_geometry());
  opened = FlashStore();
  std::ofstream(path.text()) << std::string(10000, 'x');
  EXPECT_TRUE(fails(FlashStore::open_file(path.text(), {.create = true}), ErrorCode::kCorrupt,
                    "is no flash device"));
  options.geometry.blocks = 1;
  EXPECT_TRUE(fails(FlashStore::open_file(path.text() + "2", options), ErrorCode::kInvalid, "18"));
}

TEST(LibraryFlashStore, figures_add_up) {
  FlashStore store = in_memory();
  for (int i = 0; i < 2000; ++i) {
    ASSERT_STATUS(store.put(std::to_string(i % 50), std::string(50, 'v')));
  }
  const FlashStats stats = store.stats();
  EXPECT_EQ(stats.entries, 50U);
  EXPECT_EQ(stats.blocks, 20U);
  EXPECT_GT(stats.free_blocks, 0U);
  EXPECT_GT(stats.used_bytes, 50U * 51);
  EXPECT_LT(stats.fill, 1);
  EXPECT_GT(stats.programmed_bytes, stats.user_bytes);
  EXPECT_GE(stats.erases, stats.most_erases);
  EXPECT_GE(stats.mean_erases, stats.least_erases);
  EXPECT_GT(stats.memory_bytes, 50U * 5);
  const uint64_t checkpoints = stats.checkpoints;
  ASSERT_STATUS(store.collect());
  EXPECT_GT(store.stats().checkpoints, checkpoints);
  ASSERT_STATUS(store.clear());
  EXPECT_EQ(contents_of(store), FlashModel{});
}

// G2: a few wrong bytes lead to an error or, at the log's end, to an earlier state.
TEST(LibraryFlashStore, G2_damage_is_no_crash_and_no_wrong_value) {
  std::mt19937_64 random(3);
  auto owned = std::make_unique<ReorderingDevice>(small_geometry());
  ReorderingDevice& device = *owned;
  auto store = must(FlashStore::open(std::move(owned), {.create = true}));
  std::map<std::string, std::vector<std::string>> put;
  for (int i = 0; i < 400; ++i) {
    const std::string key = std::to_string(i % 30);
    put[key].push_back(std::string(random() % 300, 'v') + std::to_string(i));
    ASSERT_STATUS(store.put(key, put[key].back()));
  }
  const DeviceBytes whole = device.bytes();
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    DeviceBytes bytes = whole;
    for (uint64_t i = 1 + random() % 8; i > 0; --i) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    auto opened = FlashStore::open(
        std::make_unique<ReorderingDevice>(small_geometry(), std::move(bytes)), {.create = true});
    const bool good =
        opened.ok() && opened.value()
                           .for_each([&](FlashBytes key, FlashBytes value) {
                             const auto& all = put[std::string(key.text())];
                             EXPECT_NE(std::find(all.begin(), all.end(), value.text()), all.end());
                             return true;
                           })
                           .ok();
    refused += good ? 0 : 1;
    (void)opened.value().check();
    (void)opened.value().put("1", "2");
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace library_flash_store_test
}  // namespace cuckoo::test
