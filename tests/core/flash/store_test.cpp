#include "core/flash/store.hpp"

#include "tests/core/flash/harness.hpp"

namespace cuckoo {

namespace flash_store_test {
namespace {

TEST(FlashStore, I5_model_without_cuts) {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6, 7, 8}) {
    SCOPED_TRACE(seed);
    FlashSimulator device(small_geometry(1024, 4, 24));
    FlashStore store(device, {.seed = seed});
    ASSERT_STATUS(store.format());
    FlashModel model;
    std::mt19937_64 random(seed);
    for (int step = 0; step < 6000; ++step) {
      const FlashOperation operation = random_operation(random, 80, 5000);
      const Status done = perform(store, operation);
      if (!done.ok()) {
        ASSERT_EQ(done.error().code, ErrorCode::kFull) << done.error().message;
      } else {
        perform(model, operation);
      }
      if (step % 500 == 0) {
        ASSERT_EQ(difference(store, model), "") << step;
        ASSERT_STATUS(store.check(no_poll));
      }
      if (step % 700 == 0) {
        ASSERT_STATUS(store.mount());
        ASSERT_EQ(difference(store, model), "") << step;
        ASSERT_STATUS(store.check(no_poll));
      }
    }
    ASSERT_EQ(device.violations(), std::vector<std::string>());
  }
}

// insert() tells a key that is there from one that has no room, also on a full device.
TEST(FlashStore, I5_insert_changes_no_key_that_is_there) {
  FlashSimulator device(small_geometry(1024, 4, 24));
  FlashStore store(device, {.seed = 1});
  ASSERT_STATUS(store.format());
  const std::string value(300, 'v');
  int keys = 0;
  for (;; ++keys) {
    const Result<bool> inserted = store.insert(bytes_of(std::to_string(keys)), bytes_of(value));
    if (!inserted.ok()) {
      EXPECT_EQ(inserted.error().code, ErrorCode::kFull);
      break;
    }
    ASSERT_TRUE(inserted.value());
  }
  EXPECT_GT(keys, 10);
  const uint64_t state = store.state();
  for (int key = 0; key < keys; ++key) {
    const Result<bool> inserted = store.insert(bytes_of(std::to_string(key)), bytes_of("other"));
    ASSERT_TRUE(inserted.ok() && !inserted.value());
  }
  EXPECT_EQ(store.state(), state);
  ASSERT_TRUE(store.remove(bytes_of("3")).value());
  EXPECT_TRUE(store.insert(bytes_of("3"), bytes_of("other")).value());
  ASSERT_STATUS(store.check(no_poll));
}

// Its parts follow one another in the log, so each is read at once.
TEST(FlashStore, a_long_value_takes_one_read_a_part) {
  FlashSimulator device(small_geometry(1024, 4, 40));
  FlashStore store(device, {.seed = 1, .atomic_device = true});
  ASSERT_STATUS(store.format());
  const std::string stored(20000, 'v');
  ASSERT_STATUS(store.put(bytes_of("key"), bytes_of(stored)));
  const uint64_t before = device.counters().read_calls;
  const uint64_t records = store.stats().record_reads;
  std::vector<std::byte> value;
  ASSERT_TRUE(must(store.get(bytes_of("key"), value)));
  EXPECT_EQ(text_of(value), stored);
  constexpr uint64_t kRecords = 1 + (20000 - 468) / 468 + 1;  // the head has 461 bytes
  constexpr uint64_t kBlocks = kRecords / 8 + 1;
  EXPECT_EQ(store.stats().record_reads - records, kRecords);
  EXPECT_LE(device.counters().read_calls - before, kRecords + 1 + kBlocks);
}

// Every call that takes a key with its hash asks the index for this hash.
TEST(FlashStore, a_key_is_found_by_the_hash_that_comes_with_it) {
  FlashSimulator device(small_geometry(1024, 4, 24));
  FlashStore store(device, {.seed = 1});
  ASSERT_STATUS(store.format());
  const HashedKey key = store.hashed(bytes_of("key"));
  EXPECT_EQ(key.hash, store.index().hash_of(bytes_of("key")));
  ASSERT_TRUE(store.insert(key, bytes_of("value")).value());
  EXPECT_TRUE(store.find(bytes_of("key")).value());
  EXPECT_TRUE(store.find(key).value());
  const HashedKey other{key.bytes, key.hash ^ 1};
  std::vector<std::byte> value;
  EXPECT_FALSE(store.find(other).value());
  EXPECT_FALSE(store.get(other, value).value());
  EXPECT_TRUE(store.get(key, value).value());
  EXPECT_FALSE(store.insert(key, bytes_of("another")).value());
  const FlashStore::Change remove{key, std::nullopt};
  ASSERT_STATUS(store.write({&remove, 1}));
  EXPECT_FALSE(store.find(bytes_of("key")).value());
  ASSERT_STATUS(store.check(no_poll));
}

// The store computes the charge before a put. A mount computes it again from the record's lengths.
TEST(FlashStore, I1_a_mount_charges_what_the_puts_were_charged) {
  FlashSimulator device(small_geometry(1024, 4, 40));
  FlashStore store(device, {.seed = 1});
  ASSERT_STATUS(store.format());
  uint64_t charged = 0;
  for (const size_t bytes : {0, 1, 100, 700, 5000}) {
    const std::string value(bytes, 'v');
    ASSERT_STATUS(store.put(bytes_of("replaced"), bytes_of(value)));
    ASSERT_STATUS(store.put(bytes_of(std::to_string(bytes)), bytes_of(value)));
    charged += store.charge(std::to_string(bytes).size(), bytes).value();
    EXPECT_EQ(store.charged_units(), charged + store.charge(8, bytes).value()) << bytes;
  }
  const HashedKey twice = store.hashed(bytes_of("twice"));
  const FlashStore::Change batch[] = {{twice, bytes_of("first")},
                                      {twice, bytes_of("second one")},
                                      {store.hashed(bytes_of("replaced")), std::nullopt}};
  ASSERT_STATUS(store.write(batch));
  charged += store.charge(5, 10).value();
  EXPECT_EQ(store.charged_units(), charged);
  ASSERT_STATUS(store.mount());
  EXPECT_EQ(store.charged_units(), charged);
  ASSERT_STATUS(store.check(no_poll));
}

// The device is atomic, as in a database's transaction. Marks are savepoints. The owner of the
// database puts the bytes of the device back.
TEST(FlashStore, I1_atomic_mounts_follows_and_undoes_to_the_same_state) {
  for (const uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    SCOPED_TRACE(seed);
    FlashSimulator device(small_geometry(1024, 4, 40));
    const FlashStoreOptions options{
        .seed = seed, .atomic_device = true, .automatic_checkpoints = false};
    FlashStore store(device, options);
    ASSERT_STATUS(store.format());
    FlashStore follower(device, options);
    ASSERT_STATUS(follower.mount());
    FlashModel model;
    std::mt19937_64 random(seed);
    unsigned followed = 0;
    unsigned remounted = 0;
    for (int transaction = 0; transaction < 600; ++transaction) {
      const FlashSimulator::State before = device.snapshot();
      const FlashModel model_before = model;
      ASSERT_EQ(store.mark(), 0U);
      std::vector<std::pair<FlashSimulator::State, FlashModel>> savepoints{{before, model}};
      for (int i = static_cast<int>(random() % 12); i > 0; --i) {
        const uint64_t choice = random() % 10;
        if (choice == 0) {
          ASSERT_EQ(store.mark(), savepoints.size());
          savepoints.emplace_back(device.snapshot(), model);
        } else if (choice == 1) {
          const size_t to = random() % savepoints.size();
          store.undo_to(to);
          savepoints.resize(to + 1);
          device.restore(savepoints[to].first);
          model = savepoints[to].second;
        } else if (choice == 2 && savepoints.size() > 1) {
          const size_t to = 1 + random() % (savepoints.size() - 1);
          store.release(to);
          savepoints.resize(to);
          ASSERT_EQ(store.marks(), savepoints.size());
        } else {
          const FlashOperation operation = random_operation(random, 90, 5000);
          const Status done = perform(store, operation);
          ASSERT_TRUE(done.ok() || done.error().code == ErrorCode::kFull) << done.error().message;
          if (done.ok()) {
            perform(model, operation);
          }
        }
      }
      if (random() % 4 == 0) {
        store.undo_to(0);
        device.restore(before);
        model = model_before;
      } else if (store.checkpoint_due() || random() % 20 == 0) {
        ASSERT_STATUS(store.checkpoint());
      }
      store.release(0);
      const uint64_t steps = device.steps();
      FlashStore fresh(device, options);
      ASSERT_STATUS(fresh.mount());
      ASSERT_EQ(device.steps(), steps) << "a mount wrote";
      ASSERT_EQ(store.difference_to(fresh), "") << transaction;
      const bool reached = must(follower.follow(store.state()));
      followed += reached ? 1 : 0;
      if (!reached) {
        ++remounted;
        ASSERT_STATUS(follower.mount());
      }
      ASSERT_EQ(store.difference_to(follower), "") << transaction;
      if (transaction % 50 == 0) {
        ASSERT_EQ(difference(store, model), "") << transaction;
        ASSERT_STATUS(store.check(no_poll));
      }
    }
    EXPECT_GT(followed, 5 * remounted);
    ASSERT_EQ(device.violations(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace flash_store_test
}  // namespace cuckoo
