// Power cuts at every step of random workloads, on a device that loses any part of what was done
// since the last sync (flash_samples.hpp). After each cut the store is opened. It holds what the
// first n changes made, for an n that is not below the last sync's, and check() passes. Then it
// goes on, is cut at a random step, and must pass the same again.
//
//   CUCKOO_MODEL_SCRIPTS, CUCKOO_MODEL_FIRST, CUCKOO_SEED: tests/support/script.hpp
#include <deque>

#include "tests/core/library/flash_samples.hpp"
#include "tests/support/flash_shape.hpp"
#include "tests/support/names.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::test {
namespace library_flash_power_test {
namespace {

// The models that a cut may leave: the last synced one, and one more for each change since.
class Possible {
 public:
  explicit Possible(FlashModel synced) { models_.push_back(std::move(synced)); }

  void begin(const FlashCall& call) {
    models_.push_back(models_.back());
    perform(models_.back(), call);
  }
  void undo() { models_.pop_back(); }  // the call changed nothing
  void synced() { models_.erase(models_.begin(), models_.end() - 1); }
  const FlashModel& newest() const { return models_.back(); }
  bool has(const FlashModel& found) const {
    return std::find(models_.rbegin(), models_.rend(), found) != models_.rend();
  }
  size_t size() const { return models_.size(); }

 private:
  std::deque<FlashModel> models_;
};

struct PowerCut {
  uint64_t seed = 0;
  FlashGeometry geometry;
  unsigned keys = 0;
  size_t large_bytes = 0;
  uint64_t cuts = 0;
  uint64_t unsynced_lost = 0;  // cuts that took an answered change away
  uint64_t most_depth = 0;
  std::string failure;
};

std::unique_ptr<ReorderingDevice> device_of(const PowerCut& cut, DeviceBytes bytes) {
  return std::make_unique<ReorderingDevice>(cut.geometry, std::move(bytes));
}

// Runs `calls` random calls. At every step, or at one in `every`, `live` gets what a cut leaves.
template <class Live>
void work(PowerCut& cut, FlashStore& store, ReorderingDevice& device, Possible& possible,
          uint64_t calls, std::mt19937_64& random, Live live) {
  bool inside = false;
  device.on_step = [&] {
    if (inside && cut.failure.empty()) {
      live();
    }
  };
  for (uint64_t i = 0; i < calls && cut.failure.empty(); ++i) {
    const FlashCall call = random_call(random, cut.keys, cut.large_bytes);
    if (random() % 32 == 0) {  // as after kill -9: nothing was synced, all is there
      inside = true;
      Result<FlashStore> opened = FlashStore::open(store.release());
      inside = false;
      if (!opened.ok()) {
        cut.failure = "open again: " + opened.error().message;
        return;
      }
      store = std::move(opened.value());
      possible.synced();
    }
    possible.begin(call);
    inside = true;
    const Status done = perform(store, call);
    inside = false;
    if (!done.ok()) {
      if (done.error().code != ErrorCode::kFull) {
        cut.failure = "it does not go on: " + done.error().message;
      }
      possible.undo();
    } else if (call.kind == FlashCall::Kind::kSync) {
      possible.synced();
    }
  }
  device.on_step = nullptr;
}

// Opens what a cut left, goes on, and cuts again.
void live_on(PowerCut& cut, const Possible& before, const DeviceBytes& left, uint64_t seed,
             unsigned depth) {
  std::mt19937_64 random(seed);
  ++cut.cuts;
  cut.most_depth = std::max<uint64_t>(cut.most_depth, depth);
  auto owned = device_of(cut, left);
  ReorderingDevice& device = *owned;
  // A cut may fall while the store is opened. Then the store must still hold one of `before`.
  const uint64_t cut_at = depth < 3 && random() % 4 == 0 ? random() % 12 : UINT64_MAX;
  uint64_t steps = 0;
  device.on_step = [&] {
    if (steps++ == cut_at) {
      live_on(cut, before, device.cut(random()), random(), depth + 1);
    }
  };
  Result<FlashStore> opened = FlashStore::open(std::move(owned));
  if (!opened.ok()) {  // and the device is no more
    cut.failure += "open: " + opened.error().message;
    return;
  }
  device.on_step = nullptr;
  if (!cut.failure.empty()) {
    return;
  }
  FlashStore& store = opened.value();
  const FlashModel found = contents_of(store);
  if (!before.has(found)) {
    cut.failure = "no state of the store: " + (found.contains("error") ? found.at("error") : "") +
                  " of " + std::to_string(before.size());
    return;
  }
  cut.unsynced_lost += found != before.newest() ? 1 : 0;
  if (depth >= 3 || random() % 4 != 0) {
    return;
  }
  Possible now(found);
  const uint64_t again_at = random() % 100;
  uint64_t at = 0;
  work(cut, store, device, now, 1 + random() % 12, random, [&] {
    if (at++ == again_at) {
      live_on(cut, now, device.cut(random()), random(), depth + 1);
    }
  });
  if (cut.failure.empty() && contents_of(store) != now.newest()) {
    cut.failure = "after going on it has something else";
  }
}

void explore(PowerCut& cut, uint64_t calls, bool lying = false) {
  std::mt19937_64 random(cut.seed);
  auto owned = std::make_unique<ReorderingDevice>(cut.geometry);
  ReorderingDevice& device = *owned;
  Result<FlashStore> opened = FlashStore::open(std::move(owned), {.create = true});
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  device.lying = lying;
  Possible possible({});
  work(cut, opened.value(), device, possible, calls, random,
       [&] { live_on(cut, possible, device.cut(random()), random(), 1); });
  if (cut.failure.empty() && contents_of(opened.value()) != possible.newest()) {
    cut.failure = "the workload itself has something else";
  }
}

constexpr test::FlashShape kShapes[] = {
    {512, 4, 22, 16, 30, 3000}, {512, 1, 40, 16, 20, 1500}, {1024, 4, 20, 64, 40, 4000}};

class FlashPower : public ::testing::TestWithParam<test::FlashShape> {
 protected:
  PowerCut cut_of(uint64_t seed) const {
    const test::FlashShape& shape = GetParam();
    PowerCut cut;
    cut.seed = seed;
    cut.geometry = small_geometry(shape.sector, shape.per_block, shape.blocks, shape.unit);
    cut.keys = shape.keys;
    cut.large_bytes = shape.large;
    return cut;
  }
};

TEST_P(FlashPower, a_cut_leaves_the_first_changes_and_all_that_were_synced) {
  uint64_t cuts = 0;
  uint64_t lost = 0;
  uint64_t depth = 0;
  const uint64_t scripts = for_each_seed(8, [&](uint64_t seed) {
    PowerCut cut = cut_of(seed);
    explore(cut, 200);
    ASSERT_EQ(cut.failure, "") << "cut " << cut.cuts;
    cuts += cut.cuts;
    lost += cut.unsynced_lost;
    depth = std::max(depth, cut.most_depth);
  });
  RecordProperty("cuts", std::to_string(cuts));
  EXPECT_GT(cuts, 400 * scripts);
  EXPECT_GT(lost, cuts / 50);  // the device does lose
  EXPECT_GE(depth, 2U);
}

// A sync() that does nothing gives no barriers. Then the test must find a cut that loses more.
TEST_P(FlashPower, a_device_that_does_not_sync_is_found_out) {
  std::string failure;
  for (uint64_t seed = 1; seed <= 20 && failure.empty(); ++seed) {
    PowerCut cut = cut_of(seed);
    explore(cut, 200, true);
    failure = cut.failure;
  }
  EXPECT_NE(failure, "");
}

TEST_P(FlashPower, making_a_store_can_be_cut_anywhere) {
  const PowerCut cut = cut_of(1);
  std::mt19937_64 random(1);
  uint64_t made = 0;
  const auto expect_made_again = [&](DeviceBytes left) {
    const bool was_there = FlashStore::open(device_of(cut, left)).ok();
    made += was_there ? 1 : 0;
    Result<FlashStore> opened = FlashStore::open(device_of(cut, left), {.create = true});
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    ASSERT_STATUS(opened.value().put("a", "1"));
    EXPECT_EQ(contents_of(opened.value()), (FlashModel{{"a", "1"}}));
  };
  for (int round = 0; round < 50; ++round) {
    auto owned = std::make_unique<ReorderingDevice>(cut.geometry);
    ReorderingDevice& device = *owned;
    device.on_step = [&] { expect_made_again(device.cut(random())); };
    const Result<FlashStore> opened = FlashStore::open(std::move(owned), {.create = true});
    ASSERT_TRUE(opened.ok());
    device.on_step = nullptr;
  }
  EXPECT_GT(made, 0U);
}

INSTANTIATE_TEST_SUITE_P(Shapes, FlashPower, ::testing::ValuesIn(kShapes), test::kParameterName);

}  // namespace
}  // namespace library_flash_power_test
}  // namespace cuckoo::test
