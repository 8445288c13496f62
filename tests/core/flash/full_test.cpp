// A full flash store: when it is full, and what still goes then.
#include "tests/core/flash/harness.hpp"
#include "tests/support/names.hpp"
#include "tests/support/share.hpp"

namespace cuckoo {
namespace flash_full_test {
namespace {

struct Shape {
  uint32_t sector, per_block, blocks, unit;
  bool atomic = false;
  bool wears_out = false;  // and nothing fails in a test's time

  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    return out << shape.sector << " by " << shape.per_block << " blocks " << shape.blocks
               << " units of " << shape.unit
               << (shape.wears_out ? " wearing"
                   : shape.atomic  ? " atomic"
                                   : "");
  }
};
constexpr Shape kShapes[] = {
    {512, 16, 16, 16},
    {512, 16, 24, 64},
    {512, 1, 32, 16},
    {1024, 4, 16, 16},
    {1024, 4, 20, 32},
    {1024, 4, 24, 64},
    {1024, 4, 100, 16},
    {4096, 1, 16, 16},
    {4096, 1, 40, 32},
    {4096, 1, 64, 64},
    {4096, 8, 16, 16},
    {512, 16, 16, 16, true},
    {512, 1, 40, 16, true},
    {1024, 4, 16, 32, true},
    {1024, 4, 100, 16, true},
    {4096, 1, 24, 64, true},
    {512, 16, 16, 16, true, true},
    {512, 1, 40, 16, true, true},
    {1024, 4, 16, 32, true, true},
    {1024, 4, 100, 16, true, true},
    {4096, 1, 24, 64, true, true},
};

// A store and its model. The class checks that the store reports "full" in two cases only: if the
// charges would exceed the usable room, or if old and new values together would exceed it by more
// than may be in flight.
class FullStore {
 public:
  FullStore(const Shape& shape, uint64_t seed)
      : device(small_geometry(shape.sector, shape.per_block, shape.blocks, shape.unit)),
        store(device, {.seed = seed, .atomic_device = shape.atomic, .wears_out = shape.wears_out}),
        random(seed) {}

  // `done` says whether the store took the value. If not, the store was full.
  ::testing::AssertionResult put(const std::string& key, const std::string& value, bool& done) {
    const auto old = model.find(key);
    const uint64_t gone =
        old == model.end() ? 0 : store.charge(key.size(), old->second.size()).value();
    const uint64_t charge = store.charge(key.size(), value.size()).value();
    const uint64_t after = store.charged_units() - gone + charge;
    const uint64_t drops =
        store.charge(key.size(), old == model.end() ? 0 : old->second.size()).value();
    const bool fits = after <= store.usable_units();
    const bool large =
        store.charged_units() + charge + drops > store.usable_units() + store.in_flight_units();
    const Status status = store.put(bytes_of(key), bytes_of(value));
    done = status.ok();
    if ((done && !fits) || (!done && fits && !large) ||
        (!done && status.error().code != ErrorCode::kFull)) {
      return ::testing::AssertionFailure()
             << (done ? "done" : status.error().message) << "; " << after << " of "
             << store.usable_units() << " units would be charged";
    }
    if (done) {
      model[key] = value;
    }
    return ::testing::AssertionSuccess();
  }

  ::testing::AssertionResult remove(const std::string& key) {
    const Result<bool> removed = store.remove(bytes_of(key));
    if (!removed.ok()) {
      return ::testing::AssertionFailure() << removed.error().message;
    }
    if (removed.value() != (model.erase(key) > 0)) {
      return ::testing::AssertionFailure() << key << " was there, or not";
    }
    return ::testing::AssertionSuccess();
  }

  std::string value(size_t bytes) {
    std::string text = std::to_string(random());
    text.resize(bytes, static_cast<char>('a' + random() % 26));
    return text;
  }

  // Puts ever smaller values until the store is full.
  ::testing::AssertionResult fill(size_t bytes) {
    for (bool done = true; bytes > 0; bytes = done ? bytes : bytes / 2) {
      const std::string key = "f" + std::to_string(next_++);
      const ::testing::AssertionResult result = put(key, value(bytes), done);
      if (!result) {
        return result;
      }
    }
    return ::testing::AssertionSuccess();
  }

  std::string any_key() {
    auto at = model.lower_bound("f" + std::to_string(random() % (next_ + 1)));
    return (at == model.end() ? model.begin() : at)->first;
  }

  ::testing::AssertionResult right() {
    const std::string differs = difference(store, model);
    if (!differs.empty()) {
      return ::testing::AssertionFailure() << differs;
    }
    if (!device.violations().empty()) {
      return ::testing::AssertionFailure() << device.violations().front();
    }
    return succeeded(store.check(no_poll));
  }

  FlashSimulator device;
  FlashStore store;
  FlashModel model;
  std::mt19937_64 random;

 private:
  uint64_t next_ = 0;
};

class FlashFull : public ::testing::TestWithParam<Shape> {};

// The updates write ten times the device's size, with all usable units charged, or all but a few.
TEST_P(FlashFull, I6_updates_go_on_for_ever) {
  for (const size_t bytes : test::share_of(std::vector<size_t>{1, 60, 300, 1500, 9000})) {
    SCOPED_TRACE(bytes);
    FullStore full(GetParam(), bytes);
    ASSERT_STATUS(full.store.format());
    ASSERT_TRUE(full.fill(bytes));
    ASSERT_TRUE(full.right());
    uint64_t written = 0;
    while (written < 10 * full.device.geometry().size_bytes()) {
      const std::string key = full.any_key();
      bool done = false;
      const std::string value = full.value(full.model[key].size());
      ASSERT_TRUE(full.put(key, value, done));
      ASSERT_TRUE(done || full.store.charge(key.size(), value.size()).value() + 1 >
                              full.store.in_flight_units() / 2);
      written += std::max<size_t>(64, key.size() + value.size());
    }
    ASSERT_TRUE(full.right());
    ASSERT_STATUS(full.store.mount());
    ASSERT_TRUE(full.right());
  }
}

// Whatever is removed from a full store makes room for as much.
TEST_P(FlashFull, removals_always_go_and_make_room) {
  for (const size_t bytes : test::share_of(std::vector<size_t>{1, 60, 300, 1500, 20000})) {
    SCOPED_TRACE(bytes);
    FullStore full(GetParam(), bytes);
    ASSERT_STATUS(full.store.format());
    for (int round = 0; round < 6; ++round) {
      ASSERT_TRUE(full.fill(bytes));
      ASSERT_TRUE(full.right());
      const uint64_t keep = round % 3 == 0 ? 0 : full.random() % (full.model.size() + 1);
      while (full.model.size() > keep) {
        ASSERT_TRUE(full.remove(full.any_key())) << round;
      }
      if (round % 2 == 1) {
        ASSERT_STATUS(full.store.mount());
      }
      ASSERT_TRUE(full.right());
    }
  }
}

// Changes of all kinds in a nearly full store never get stuck.
TEST_P(FlashFull, I6_random_changes_near_full) {
  for (const uint64_t seed : test::share_of(std::vector<uint64_t>{1, 2, 3, 4})) {
    SCOPED_TRACE(seed);
    FullStore full(GetParam(), seed);
    ASSERT_STATUS(full.store.format());
    const size_t most = seed % 2 == 0 ? 200 : 5000;
    bool filling = true;
    for (int i = 0; i < 6000; ++i) {
      bool done = true;
      if (filling || full.model.empty()) {
        ASSERT_TRUE(full.put("f" + std::to_string(full.random() % 2000),
                             full.value(full.random() % most), done))
            << i;
      } else {
        ASSERT_TRUE(full.remove(full.any_key())) << i;
      }
      filling = done && (filling ? true : full.random() % 8 == 0);
      if (i % 400 == 0) {
        ASSERT_STATUS(i % 800 == 0 ? full.store.collect() : full.store.mount());
      }
      if (i % 1500 == 0) {
        ASSERT_TRUE(full.right()) << i;
      }
    }
    ASSERT_TRUE(full.right());
    ASSERT_STATUS(full.store.clear());
    full.model.clear();
    ASSERT_TRUE(full.right());
    ASSERT_TRUE(full.fill(most));
    ASSERT_TRUE(full.right());
  }
}

TEST_P(FlashFull, a_batch_is_full_as_a_whole) {
  FullStore full(GetParam(), 9);
  ASSERT_STATUS(full.store.format());
  ASSERT_TRUE(full.fill(100));
  const std::string value = full.value(500);
  const std::string key = full.any_key();
  std::vector<FlashStore::Change> batch(4);
  batch[0].key = full.store.hashed(bytes_of(key));
  batch[1].key = full.store.hashed(bytes_of(value).first(200));
  batch[2].key = full.store.hashed(bytes_of(value).first(100));
  batch[3].key = full.store.hashed(bytes_of(value).first(50));
  batch[1].value = batch[2].value = batch[3].value = bytes_of(value);
  EXPECT_TRUE(fails(full.store.write(batch), ErrorCode::kFull));
  ASSERT_TRUE(full.right());
}

// A batch that removes one key and adds another gives the old key's room to the new one.
TEST_P(FlashFull, a_key_can_be_changed_beside_a_full_store) {
  FullStore full(GetParam(), 9);
  ASSERT_STATUS(full.store.format());
  bool done = true;
  for (int i = 1000; done; ++i) {
    ASSERT_TRUE(full.put("key " + std::to_string(i), "", done));
  }
  const std::string old_key = full.model.begin()->first;
  const std::string new_key(old_key.size(), 'x');
  const std::span<const std::byte> no_value;
  const FlashStore::Change changes[] = {{full.store.hashed(bytes_of(old_key)), std::nullopt},
                                        {full.store.hashed(bytes_of(new_key)), no_value}};
  ASSERT_STATUS(full.store.write(changes));
  EXPECT_FALSE(full.store.find(bytes_of(old_key)).value());
  EXPECT_TRUE(full.store.find(bytes_of(new_key)).value());
  ASSERT_STATUS(full.store.check(no_poll));
  // A key that the batch names twice is charged twice.
  const FlashStore::Change once{full.store.hashed(bytes_of(new_key)), no_value};
  const FlashStore::Change twice[] = {once, once};
  EXPECT_TRUE(fails(full.store.write(twice), ErrorCode::kFull));
}

INSTANTIATE_TEST_SUITE_P(Shapes, FlashFull, ::testing::ValuesIn(kShapes), test::kParameterName);

}  // namespace
}  // namespace flash_full_test
}  // namespace cuckoo
