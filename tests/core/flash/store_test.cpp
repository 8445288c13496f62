#include "core/flash/store.hpp"

#include <functional>

#include "tests/core/flash/harness.hpp"

namespace cuckoo {

// Plants damage in memory.
class FlashStoreTestPeer {
 public:
  explicit FlashStoreTestPeer(FlashStore& store) : store_(store) {}
  FlashBlocks& blocks() { return store_.blocks_; }
  FlashIndex& index() { return store_.index_; }
  FlashStreams& streams() { return store_.s_.streams; }
  uint64_t& state() { return store_.s_.state; }
  uint64_t& charged_units() { return store_.s_.charged_units; }
  uint32_t checkpoint_block() const { return store_.s_.checkpoint_blocks.back(); }

 private:
  FlashStore& store_;
};

namespace {

TEST(Flash_store, I5_model_without_cuts) {
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

// An atomic device: a database transaction. Marks are savepoints; who owns the database puts the
// bytes of the device back.
TEST(Flash_store, I1_atomic_mounts_follows_and_undoes_to_the_same_state) {
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
      const Result<bool> reached = follower.follow(store.state());
      ASSERT_TRUE(reached.ok());
      followed += reached.value() ? 1 : 0;
      if (!reached.value()) {
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

TEST(Flash_store, check_names_the_invariant_that_is_broken) {
  struct Damage {
    const char* what;
    std::function<void(FlashStoreTestPeer&, FlashStore&)> plant;
  };
  const auto entry = [](FlashStore& store) {
    return store.find(bytes_of("key 7")).value()->position;
  };
  const Damage damages[] = {
      {"(I1)", [](auto& peer, auto&) { ++peer.state(); }},
      {"(I5)",
       [&](auto& peer, auto& store) {
         peer.index().insert(peer.index().hash_of(bytes_of("key 7")) ^ 1, entry(store));
       }},
      {"lies where no record can be",
       [](auto& peer, auto& store) {
         peer.index().insert(7, static_cast<uint32_t>(store.geometry().units() - 1));
       }},
      {"counted",
       [&](auto& peer, auto& store) {
         peer.index().remove(peer.index().hash_of(bytes_of("key 7")), entry(store));
       }},
      {"counted", [](auto& peer, auto&) { ++peer.charged_units(); }},
      {"live units, noted",
       [](auto& peer, auto&) { peer.blocks().add_live(peer.streams().hot.block, 1); }},
      {"(I7)", [](auto& peer, auto&) { --peer.streams().hot.offset; }},
      {"(I7)", [](auto& peer, auto&) { peer.blocks().take(); }},
      {"(I7)", [](auto& peer, auto&) { peer.blocks().release(peer.streams().hot.next); }},
      {"(I7)", [](auto& peer, auto&) { peer.blocks().release(peer.checkpoint_block()); }},
      {"(I7)", [](auto& peer, auto&) { peer.blocks().release(peer.streams().anchor.block); }},
  };
  for (const Damage& damage : damages) {
    FlashSimulator device(small_geometry(1024, 4, 24));
    FlashStore store(device, {.atomic_device = true});
    ASSERT_STATUS(store.format());
    for (int i = 0; i < 20; ++i) {
      ASSERT_STATUS(store.put(bytes_of("key " + std::to_string(i)), bytes_of("value")));
    }
    ASSERT_STATUS(store.check(no_poll));
    FlashStoreTestPeer peer(store);
    damage.plant(peer, store);
    const Status checked = store.check(no_poll);
    ASSERT_FALSE(checked.ok()) << damage.what;
    EXPECT_EQ(checked.error().code, ErrorCode::kCorrupt);
    EXPECT_NE(checked.error().message.find(damage.what), std::string::npos)
        << damage.what << ": " << checked.error().message;
  }
}

}  // namespace
}  // namespace cuckoo
