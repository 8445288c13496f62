// A store of the library beside the std::map that it must equal, and a device that loses at a power
// cut all that it may.
#pragma once

#include <cuckoo/flash_store.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/status.hpp"

namespace cuckoo::test {

using FlashModel = std::map<std::string, std::string>;
using DeviceBytes = std::vector<std::byte>;

inline FlashGeometry small_geometry(uint32_t sector = 512, uint32_t per_block = 4,
                                    uint32_t blocks = 22, uint32_t unit = 16) {
  FlashGeometry geometry;
  geometry.sector_size_bytes = sector;
  geometry.sectors_per_block = per_block;
  geometry.blocks = blocks;
  geometry.program_unit_bytes = unit;
  return geometry;
}

// All entries by a walk; each of them is also looked up. An error is an entry of its own.
inline FlashModel contents_of(FlashStore& store) {
  FlashModel found;
  Status status = store.for_each([&](FlashBytes key, FlashBytes value) {
    std::string looked_up;
    const Result<bool> there = store.get(key, looked_up);
    if (!there.ok() || !there.value() || looked_up != value.text()) {
      found["look-up"] = there.ok() ? "gives something else" : there.error().message;
    }
    const bool is_new = found.emplace(key.text(), value.text()).second;
    EXPECT_TRUE(is_new) << key.text();
    return true;
  });
  if (status.ok() && store.size() != found.size()) {
    status = invalid("another size");
  }
  if (status.ok()) {
    status = store.check();
  }
  if (!status.ok()) {
    found["error"] = status.error().message;
  }
  return found;
}

// The path of a file that is not there yet. The destructor removes the file.
class TemporaryPath {
 public:
  TemporaryPath() {
    static int number = 0;
    const std::string name =
        "cuckoo_flash_" + std::to_string(std::random_device()()) + "_" + std::to_string(++number);
    path_ = std::filesystem::temp_directory_path() / name;
  }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  ~TemporaryPath() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string text() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// A device in memory that keeps what was done since the last sync() apart. Every operation that
// changes it is a step; `on_step` is called before each, and after the last byte of it.
//
// A power cut, cut(), leaves each piece of the device with any of the values that it had since the
// last sync(). Each cut draws the length of its pieces, from single bytes to 1 MiB.
class ReorderingDevice final : public FlashDevice {
 public:
  ReorderingDevice(const FlashGeometry& geometry, DeviceBytes bytes)
      : geometry_(geometry), synced_(bytes), now_(std::move(bytes)) {}
  explicit ReorderingDevice(const FlashGeometry& geometry)
      : ReorderingDevice(geometry, DeviceBytes(geometry.size_bytes(), std::byte{0xFF})) {}

  FlashGeometry geometry() const noexcept override { return geometry_; }
  Status read(uint64_t address, std::span<std::byte> out) override {
    EXPECT_LE(address + out.size(), now_.size());
    std::copy_n(now_.begin() + static_cast<std::ptrdiff_t>(address), out.size(), out.begin());
    return {};
  }
  Status program(uint64_t address, std::span<const std::byte> units) override {
    EXPECT_EQ(address % geometry_.program_unit_bytes, 0U);
    EXPECT_EQ(address / geometry_.block_bytes(),
              (address + units.size() - 1) / geometry_.block_bytes());
    for (size_t i = 0; i < units.size(); ++i) {
      EXPECT_EQ(now_[address + i], std::byte{0xFF}) << "programmed twice";
    }
    return change(address, {units.begin(), units.end()});
  }
  Status erase(uint32_t block) override {
    return change(uint64_t{block} * geometry_.block_bytes(),
                  DeviceBytes(geometry_.block_bytes(), std::byte{0xFF}));
  }
  Status sync() override {
    ++syncs;
    if (lying) {
      return {};
    }
    step();
    synced_ = now_;
    since_.clear();
    return {};
  }

  // What a power cut now may leave.
  DeviceBytes cut(uint64_t seed) const {
    constexpr size_t kPieces[] = {1, 16, 64, 512, 4096, 1 << 20};
    std::mt19937_64 random(seed);
    DeviceBytes left = synced_;
    const size_t piece = kPieces[random() % std::size(kPieces)];
    const uint64_t kept_of_8 = random() % 9;  // from nothing to nearly all
    for (const Change& change : since_) {
      for (size_t at = 0; at < change.bytes.size();) {
        const size_t end =
            std::min(change.bytes.size(), at + piece - (change.address + at) % piece);
        if (random() % 8 < kept_of_8) {
          std::copy(change.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    change.bytes.begin() + static_cast<std::ptrdiff_t>(end),
                    left.begin() + static_cast<std::ptrdiff_t>(change.address + at));
        }
        at = end;
      }
    }
    return left;
  }
  // What a power cut now leaves if it takes all unsynced bytes but those for which `keeps` is true.
  DeviceBytes cut_keeping(const std::function<bool(uint64_t address)>& keeps) const {
    DeviceBytes left = synced_;
    for (const Change& change : since_) {
      for (size_t i = 0; i < change.bytes.size(); ++i) {
        if (keeps(change.address + i)) {
          left[change.address + i] = now_[change.address + i];
        }
      }
    }
    return left;
  }
  // The erase blocks that were changed since the last sync().
  std::set<uint32_t> unsynced_blocks() const {
    std::set<uint32_t> blocks;
    for (const Change& change : since_) {
      blocks.insert(static_cast<uint32_t>(change.address / geometry_.block_bytes()));
    }
    return blocks;
  }
  const DeviceBytes& bytes() const noexcept { return now_; }

  std::function<void()> on_step;
  uint64_t syncs = 0;
  bool lying = false;  // sync() does nothing: for tests of these tests

 private:
  struct Change {
    uint64_t address;
    DeviceBytes bytes;
  };

  void step() {
    if (on_step != nullptr) {
      on_step();
    }
  }
  Status change(uint64_t address, DeviceBytes bytes) {
    step();
    std::copy(bytes.begin(), bytes.end(), now_.begin() + static_cast<std::ptrdiff_t>(address));
    since_.push_back({address, std::move(bytes)});
    return {};
  }

  FlashGeometry geometry_;
  DeviceBytes synced_, now_;
  std::vector<Change> since_;
};

// One call that changes the store, and the model.
struct FlashCall {
  enum class Kind { kPut, kRemove, kBatch, kClear, kCollect, kSync };
  Kind kind = Kind::kPut;
  std::vector<std::pair<std::string, std::optional<std::string>>> changes;
};

inline FlashCall random_call(std::mt19937_64& random, unsigned keys, size_t large_bytes) {
  FlashCall call;
  const uint64_t choice = random() % 1000;
  call.kind = choice < 60    ? FlashCall::Kind::kSync
              : choice < 66  ? FlashCall::Kind::kCollect
              : choice < 68  ? FlashCall::Kind::kClear
              : choice < 200 ? FlashCall::Kind::kBatch
              : choice < 350 ? FlashCall::Kind::kRemove
                             : FlashCall::Kind::kPut;
  const uint64_t changes = call.kind == FlashCall::Kind::kBatch    ? 2 + random() % 4
                           : call.kind <= FlashCall::Kind::kRemove ? 1
                                                                   : 0;
  for (uint64_t i = 0; i < changes; ++i) {
    auto& [key, value] =
        call.changes.emplace_back("key" + std::to_string(random() % keys), std::nullopt);
    if (call.kind == FlashCall::Kind::kPut ||
        (call.kind == FlashCall::Kind::kBatch && random() % 4 != 0)) {
      const uint64_t size = random() % 100;
      const size_t length = random() % (size < 85 ? 100 : size < 97 ? 600 : large_bytes);
      value = std::to_string(random());  // no two values are equal
      value->resize(std::max(length, value->size()), static_cast<char>('a' + random() % 26));
    }
  }
  return call;
}

inline Status perform(FlashStore& store, const FlashCall& call) {
  FlashBatch batch;
  switch (call.kind) {
    case FlashCall::Kind::kPut:
      return store.put(call.changes[0].first, *call.changes[0].second);
    case FlashCall::Kind::kRemove:
      return store.remove(call.changes[0].first).take_status();
    case FlashCall::Kind::kBatch:
      for (const auto& [key, value] : call.changes) {
        value ? batch.put(key, *value) : batch.remove(key);
      }
      return store.write(batch);
    case FlashCall::Kind::kClear:
      return store.clear();
    case FlashCall::Kind::kCollect:
      return store.collect();
    case FlashCall::Kind::kSync:
      return store.sync();
  }
  return {};
}

inline void perform(FlashModel& model, const FlashCall& call) {
  if (call.kind == FlashCall::Kind::kClear) {
    model.clear();
  }
  for (const auto& [key, value] : call.changes) {
    if (value) {
      model[key] = *value;
    } else {
      model.erase(key);
    }
  }
}

}  // namespace cuckoo::test
