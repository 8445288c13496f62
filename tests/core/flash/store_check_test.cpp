#include <functional>

#include "tests/core/flash/harness.hpp"

namespace cuckoo {

namespace core {

// Plants damage in memory.
class FlashStoreTestPeer {
 public:
  explicit FlashStoreTestPeer(FlashStore& store) : store_(store) {}
  FlashBlocks& blocks() { return store_.state_.blocks; }
  FlashIndex& index() { return store_.state_.index; }
  FlashStreams& streams() { return store_.state_.now.streams; }
  uint64_t& state() { return store_.state_.now.digest; }
  uint64_t& charged_units() { return store_.state_.now.charged_units; }
  uint32_t checkpoint_block() const { return store_.state_.now.checkpoint_blocks.back(); }

 private:
  FlashStore& store_;
};

}  // namespace core

namespace flash_store_check_test {
namespace {

TEST(FlashStoreCheck, names_the_invariant_that_is_broken) {
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
         remove(peer.index(), peer.index().hash_of(bytes_of("key 7")), entry(store));
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
    EXPECT_TRUE(fails(store.check(no_poll), ErrorCode::kCorrupt, damage.what));
  }
}

TEST(FlashStoreCheck, needs_a_mounted_store) {
  FlashSimulator device(small_geometry());
  FlashStore store(device, {});
  EXPECT_EQ(store.check(no_poll).error().message, "the store is not mounted");
}

TEST(FlashStoreCheck, ends_when_poll_says_so) {
  FlashSimulator device(small_geometry());
  FlashStore store(device, {});
  ASSERT_STATUS(store.format());
  for (int i = 0; i < 600; ++i) {
    ASSERT_STATUS(store.put(bytes_of("key " + std::to_string(i)), {}));
  }
  int polls = 0;
  ASSERT_STATUS(store.check([&]() -> Status {
    ++polls;
    return {};
  }));
  EXPECT_EQ(polls, 3 + 2);
  for (int last = 1; last <= polls; ++last) {
    int left = last;
    const auto stop = [&] { return --left > 0 ? Status() : Status(invalid("interrupted")); };
    EXPECT_TRUE(fails_saying(store.check(stop), ErrorCode::kInvalid, "interrupted"));
    EXPECT_EQ(left, 0);
  }
}

}  // namespace
}  // namespace flash_store_check_test
}  // namespace cuckoo
