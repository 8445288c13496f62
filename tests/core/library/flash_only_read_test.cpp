// A store that was opened only to read: R1 … R3 of <cuckoo/flash_store.hpp>.
#include <cuckoo/flash_store.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "tests/core/library/flash_samples.hpp"
#include "tests/support/share.hpp"

namespace cuckoo::test {
namespace library_flash_only_read_test {
namespace {

constexpr uint64_t kKeys = 40;

// Fills a new store in a file, so that a checkpoint and a tail are there.
FlashModel fill(const std::string& path, uint64_t seed) {
  std::mt19937_64 random(seed);
  FlashStore store =
      must(FlashStore::open_file(path, {.create = true, .geometry = small_geometry()}));
  FlashModel model;
  for (int i = 0; i < 500; ++i) {
    const FlashCall call = random_call(random, kKeys, 2000);
    if (perform(store, call).ok()) {
      perform(model, call);
    }
  }
  return model;
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

FlashStore open_to_read(const std::string& path) {
  return must(FlashStore::open_file(path, {.only_read = true}));
}

void expect_refuses_changes(FlashStore& store) {
  const std::string expected = "opened only to read";
  FlashBatch batch;
  batch.put("a", "1");
  EXPECT_TRUE(fails(store.put("a", "1"), ErrorCode::kInvalid, expected));
  EXPECT_TRUE(fails(store.insert("a", "1"), ErrorCode::kInvalid, expected));
  EXPECT_TRUE(fails(store.remove("a"), ErrorCode::kInvalid, expected));
  EXPECT_TRUE(fails(store.write(batch), ErrorCode::kInvalid, expected));
  EXPECT_TRUE(fails(store.clear(), ErrorCode::kInvalid, expected));
  EXPECT_TRUE(fails(store.collect(), ErrorCode::kInvalid, expected));
  EXPECT_TRUE(fails(store.sync(), ErrorCode::kInvalid, expected));
}

TEST(FlashOnlyRead, R1_R2_has_all_entries_and_writes_nothing) {
  const TemporaryPath path;
  const FlashModel model = fill(path.text(), 1);
  const std::string before = bytes_of_file(path.text());
  FlashStore store = open_to_read(path.text());
  EXPECT_EQ(contents_of(store), model);
  expect_refuses_changes(store);
  EXPECT_EQ(contents_of(store), model);
  FlashStore other = open_to_read(path.text());
  EXPECT_EQ(contents_of(other), model);
  EXPECT_STATUS(store.close());
  EXPECT_FALSE(store.holds_store());
  EXPECT_TRUE(bytes_of_file(path.text()) == before);
}

TEST(FlashOnlyRead, R3_needs_no_lock_and_takes_none) {
  const TemporaryPath path;
  FlashModel model = fill(path.text(), 2);
  FlashStore writer = must(FlashStore::open_file(path.text()));
  ASSERT_STATUS(writer.put("newest", "1"));  // not synced
  model["newest"] = "1";
  FlashStore reader = open_to_read(path.text());
  EXPECT_EQ(contents_of(reader), model);
  ASSERT_STATUS(writer.close());
  writer = must(FlashStore::open_file(path.text()));  // while the reader has it
  EXPECT_EQ(contents_of(writer), model);
}

// All values that a key ever had.
TEST(FlashOnlyRead, R3_if_a_writer_writes_there_is_no_other_value) {
  for (uint64_t seed = 1 + share_first(); seed <= 12; seed += share_divisor()) {
    const TemporaryPath path;
    std::map<std::string, std::set<std::string>> had;
    for (const auto& [key, value] : fill(path.text(), seed)) {
      had[key].insert(value);
    }
    FlashStore writer = must(FlashStore::open_file(path.text()));
    FlashStore reader = open_to_read(path.text());
    std::mt19937_64 random(seed);
    size_t out_of_date = 0;
    for (int i = 0; i < 400; ++i) {
      const FlashCall call = random_call(random, kKeys, 2000);
      for (const auto& [key, value] : call.changes) {
        had[key].insert(value.value_or(""));
      }
      ASSERT_NE(perform(writer, call).take_error().code, ErrorCode::kStorage);
      const std::string key = "key" + std::to_string(random() % kKeys);
      std::string value;
      const Result<bool> found = reader.get(key, value);
      if (found.ok() && found.value()) {
        ASSERT_TRUE(had[key].contains(value)) << key << ", seed " << seed << ", change " << i;
      } else if (!found.ok()) {
        ++out_of_date;
        ASSERT_EQ(found.error().code, ErrorCode::kCorrupt) << found.error().message;
      }
    }
    EXPECT_GT(out_of_date, 0U) << seed;
    FlashStore again = open_to_read(path.text());
    EXPECT_EQ(contents_of(again), contents_of(writer));
  }
}

// What a power cut left is read as open() finds it, and stays as it is.
TEST(FlashOnlyRead, R1_opens_what_a_power_cut_left) {
  for (uint64_t seed = 1 + share_first(); seed <= 60; seed += share_divisor()) {
    std::mt19937_64 random(seed);
    auto owned = std::make_unique<ReorderingDevice>(small_geometry());
    ReorderingDevice& device = *owned;
    FlashStore store = must(FlashStore::open(std::move(owned), {.create = true}));
    for (uint64_t i = 50 + random() % 300; i > 0; --i) {
      (void)perform(store, random_call(random, kKeys, 2000));
    }
    const DeviceBytes left = device.cut(seed);
    const auto opened = [&](bool only_read) {
      return must(FlashStore::open(std::make_unique<ReorderingDevice>(small_geometry(), left),
                                   {.only_read = only_read}));
    };
    FlashStore reader = opened(true);
    FlashStore writer = opened(false);
    EXPECT_EQ(contents_of(reader), contents_of(writer)) << seed;
    const std::unique_ptr<FlashDevice> read = reader.release();
    EXPECT_TRUE(static_cast<ReorderingDevice&>(*read).bytes() == left) << seed;
  }
}

TEST(FlashOnlyRead, opens_only_what_is_a_store) {
  const TemporaryPath path;
  EXPECT_TRUE(fails(FlashStore::open_file(path.text(), {.only_read = true}), ErrorCode::kStorage,
                    path.text()));
  EXPECT_TRUE(fails(FlashStore::open_file(path.text(), {.create = true, .only_read = true}),
                    ErrorCode::kInvalid, "expected one of them"));
  EXPECT_FALSE(std::filesystem::exists(path.text()));
  EXPECT_TRUE(
      fails(FlashStore::open(MemoryDevice::create(small_geometry()).value(), {.only_read = true}),
            ErrorCode::kInvalid, "blank"));
}

// The device of such a store is as open_to_read() gave it.
TEST(FlashOnlyRead, its_device_writes_nothing) {
  const TemporaryPath path;
  const FlashModel model = fill(path.text(), 3);
  std::unique_ptr<FlashDevice> device = open_to_read(path.text()).release();
  EXPECT_TRUE(fails(device->erase(3), ErrorCode::kStorage, "to be read only"));
  EXPECT_TRUE(fails(device->program(0, DeviceBytes(16)), ErrorCode::kStorage, "to be read only"));
  EXPECT_STATUS(device->sync());
  size_t sound = 0;
  EXPECT_STATUS(FlashStore::for_each_sound(*device, [&](FlashBytes, FlashBytes) {
    ++sound;
    return true;
  }));
  EXPECT_GE(sound, model.size());
  EXPECT_TRUE(fails(FlashStore::open(std::move(device)), ErrorCode::kStorage, "to be read only"));
}

// A child gives up root, for whom a file without permissions is like any other.
TEST(FlashOnlyRead, R1_needs_no_permission_to_write) {
  constexpr int kNoOtherUser = 9;
  constexpr unsigned kNobody = 65534;
  const TemporaryPath folder;
  ASSERT_TRUE(std::filesystem::create_directory(folder.text()));
  const std::string path = folder.text() + "/store";
  const FlashModel model = fill(path, 4);
  const std::string before = bytes_of_file(path);
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder.text().c_str(), 0555), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) {
      _exit(kNoOtherUser);
    }
    EXPECT_TRUE(fails(FlashStore::open_file(path), ErrorCode::kStorage, path));
    EXPECT_TRUE(fails(FlashStore::open_file(path, {.create = true}), ErrorCode::kStorage, path));
    FlashStore store = open_to_read(path);
    EXPECT_EQ(contents_of(store), model);
    expect_refuses_changes(store);
    EXPECT_STATUS(store.close());
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_TRUE(bytes_of_file(path) == before);
  ::chmod(folder.text().c_str(), 0755);
  std::filesystem::remove(path);
  ASSERT_TRUE(WIFEXITED(state));
  if (WEXITSTATUS(state) == kNoOtherUser) {
    GTEST_SKIP() << "root can't become another user here";
  }
  EXPECT_EQ(WEXITSTATUS(state), 0);
}

}  // namespace
}  // namespace library_flash_only_read_test
}  // namespace cuckoo::test
