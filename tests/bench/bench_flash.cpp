// What the flash store costs, counted in reads and programs of a simulated device. Three tables:
//
//   write amplification   bytes programmed per byte of keys and values, at 80 % of the usable space
//   mount                 bytes that a mount reads, per key, just before a checkpoint would be due
//   look-ups              record reads per hit and per miss; index bytes per entry; ns
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/flash/store.hpp"

namespace {

using namespace cuckoo;

// Flash without faults.
class MemoryFlash final : public FlashDevice {
 public:
  explicit MemoryFlash(const FlashGeometry& geometry)
      : geometry_(geometry), bytes_(geometry.size_bytes(), std::byte{0xFF}) {}
  const FlashGeometry& geometry() const noexcept override { return geometry_; }
  Status read(uint64_t address, std::span<std::byte> out) override {
    std::memcpy(out.data(), &bytes_[address], out.size());
    return {};
  }
  Status program(uint64_t address, std::span<const std::byte> units) override {
    std::memcpy(&bytes_[address], units.data(), units.size());
    return {};
  }
  Status erase(uint32_t block) override {
    std::memset(&bytes_[geometry_.block_address(block)], 0xFF, geometry_.block_bytes());
    return {};
  }

 private:
  FlashGeometry geometry_;
  std::vector<std::byte> bytes_;
};

void expect(const Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
    std::exit(1);
  }
}

struct Workload {
  size_t key_bytes, value_bytes;
  std::vector<std::byte> key, value;

  Workload(size_t key_size, size_t value_size)
      : key_bytes(key_size), value_bytes(value_size), key(key_size), value(value_size) {}
  std::span<const std::byte> key_of(uint64_t i) {
    std::memcpy(key.data(), &i, sizeof i);
    return key;
  }
  std::span<const std::byte> value_of(uint64_t i) {
    std::memcpy(value.data(), &i, sizeof i);
    return value;
  }
};

struct Amplification {
  double writes, deviation;
};

Amplification amplification(uint32_t blocks, Workload load, bool skewed) {
  FlashGeometry geometry;
  geometry.blocks = blocks;
  MemoryFlash device(geometry);
  FlashStore store(device, {.seed = 1});
  expect(store.format());
  const uint64_t charge = store.charge(load.key_bytes, load.value_bytes).value();
  const uint64_t keys = store.usable_units() * 8 / 10 / charge;
  for (uint64_t i = 0; i < keys; ++i) {
    expect(store.put(load.key_of(i), load.value_of(i)));
  }
  std::mt19937_64 random(7);
  const auto update = [&](uint64_t count) {
    for (uint64_t n = 0; n < count; ++n) {
      const bool hot = skewed && random() % 10 != 0;
      const uint64_t key = hot ? random() % (keys / 10) : random() % keys;
      expect(store.put(load.key_of(key), load.value_of(n)));
    }
  };
  update(keys * 6);  // until it is steady
  const FlashStoreStats before = store.stats();
  update(keys * 10);
  const FlashStoreStats& after = store.stats();
  const FlashBlocks::Wear wear = store.blocks().wear();
  return {static_cast<double>(after.programmed_bytes - before.programmed_bytes) /
              static_cast<double>(after.user_bytes - before.user_bytes),
          wear.deviation / wear.mean};
}

void print_amplification() {
  std::printf("write amplification at 80 %% of the usable space (headers, checkpoints included)\n");
  std::printf("  %-22s %7s %9s %9s %12s\n", "key + value bytes", "blocks", "uniform", "90 / 10",
              "wear sd/mean");
  for (const auto& [key, value] : {std::pair<size_t, size_t>{20, 1004}, {8, 100}, {16, 400}}) {
    for (const uint32_t blocks : {64U, 256U, 1024U}) {
      const Amplification uniform = amplification(blocks, {key, value}, false);
      const Amplification skewed = amplification(blocks, {key, value}, true);
      std::printf("  %4zu + %-15zu %7u %9.2f %9.2f %12.4f\n", key, value, blocks, uniform.writes,
                  skewed.writes, uniform.deviation);
    }
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_look_ups() {
  constexpr uint64_t kKeys = 1'000'000;
  FlashGeometry geometry;
  geometry.blocks = 60'000;
  MemoryFlash device(geometry);
  FlashStore store(device, {.seed = 1});
  expect(store.format());
  Workload load(8, 100);
  double index_bytes = 0;
  double load_at_growth = 1;
  uint64_t samples = 0;
  uint64_t expansions = 0;
  auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < kKeys; ++i) {
    expect(store.put(load.key_of(i), load.value_of(i)));
    if (i >= 1000) {
      index_bytes += static_cast<double>(store.index().memory_bytes()) /
                     static_cast<double>(store.index().size());
      ++samples;
      if (store.index().figures().expansions != expansions) {
        expansions = store.index().figures().expansions;
        load_at_growth = std::min(load_at_growth, store.index().figures().load_at_last_expansion);
      }
    }
  }
  const double put_ns = seconds_since(start) * 1e9 / kKeys;
  std::printf("1 M keys of 8 bytes, values of 100\n");
  std::printf("  put, growing from 0          %8.0f ns\n", put_ns);
  std::printf("  programmed per user byte     %8.2f\n",
              static_cast<double>(store.stats().programmed_bytes) /
                  static_cast<double>(store.stats().user_bytes));
  std::printf("  index bytes per entry        %8.2f  averaged while growing, <= 9.5\n",
              index_bytes / static_cast<double>(samples));
  std::printf("  load at growth, least        %8.3f  >= 0.95\n", load_at_growth);
  std::vector<std::byte> value;
  for (const bool present : {true, false}) {
    const FlashStoreStats before = store.stats();
    start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < kKeys; ++i) {
      const uint64_t key = (present ? 0 : kKeys) + i * 7919 % kKeys;
      if (store.get(load.key_of(key), value).value() != present) {
        std::exit(1);
      }
    }
    const double ns = seconds_since(start) * 1e9 / kKeys;
    std::printf("  record reads per %s        %8.6f  <= %s; %.0f ns\n", present ? "hit " : "miss",
                static_cast<double>(store.stats().record_reads - before.record_reads) / kKeys,
                present ? "1.0002" : "0.0003", ns);
  }
  // The longest tail: up to where the next checkpoint would come.
  FlashStore manual(device, {.seed = 1, .automatic_checkpoints = false});
  expect(manual.mount());
  std::mt19937_64 random(3);
  while (!manual.checkpoint_due()) {
    expect(manual.put(load.key_of(random() % kKeys), load.value_of(1)));
  }
  start = std::chrono::steady_clock::now();
  FlashStore fresh(device, {.seed = 1});
  expect(fresh.mount());
  std::printf("  mount reads, longest tail    %8.2f  bytes per key, <= 10 + 64 sectors; %.0f ms\n",
              (static_cast<double>(fresh.last_mount_read_bytes()) - 64 * 1024) / kKeys,
              seconds_since(start) * 1e3);
}

}  // namespace

int main() {
  print_look_ups();
  print_amplification();
}
