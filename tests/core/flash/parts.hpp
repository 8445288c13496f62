// The parts of a flash store on a simulated device, for tests of one of them.
#pragma once

#include <map>
#include <string>

#include "core/flash/collector.hpp"
#include "core/flash/mount.hpp"
#include "tests/core/flash/harness.hpp"

namespace cuckoo {

struct FlashParts {
  explicit FlashParts(const FlashStoreOptions& options = {},
                      const FlashGeometry& geometry = small_geometry())
      : device(geometry),
        state(device, options),
        log(device, state),
        anchors(state, log),
        checkpointer(state, log, anchors),
        healer(state, log, checkpointer),
        collector(state, log, checkpointer, healer) {}

  FlashMount mount() { return {state, log, anchors, checkpointer}; }

  // A record of one piece, appended and applied. `entries` has the newest of each key.
  FlashLogRecord change(FlashRecordType type, const std::string& key, const std::string& value,
                        bool last = true) {
    FlashLogRecord record;
    record.header.type = type;
    record.header.last_of_batch = last;
    record.header.lsn = state.now.next_lsn;
    record.header.key_bytes = static_cast<uint16_t>(key.size());
    record.header.value_bytes = static_cast<uint32_t>(value.size());
    record.header.total_value_bytes = record.header.value_bytes;
    record.hash = state.index.hash_of(bytes_of(key));
    if (const auto old = entries.find(key); old != entries.end()) {
      record.header.set_replaced(old->second.position, old->second.header.value_bytes);
    }
    const Result<uint32_t> position = log.append_hot(record.header, bytes_of(key), bytes_of(value));
    EXPECT_TRUE(position.ok());
    record.position = position.ok() ? position.value() : 0;
    EXPECT_STATUS(state.apply(record));
    entries[key] = record;
    return record;
  }
  FlashLogRecord put(const std::string& key, const std::string& value, bool last = true) {
    return change(FlashRecordType::kPut, key, value, last);
  }
  FlashLogRecord remove(const std::string& key) {
    const FlashLogRecord record = change(FlashRecordType::kTombstone, key, "");
    entries.erase(key);
    return record;
  }
  // A mark in the cold stream.
  void mark(const FlashRecordHeader& header) { EXPECT_TRUE(log.append_cold(header, {}, {}).ok()); }
  // A copy in the cold stream; nothing points to it yet.
  FlashLogRecord copy(const FlashLogRecord& original) {
    FlashLoadedRecord loaded;
    EXPECT_STATUS(log.load(original.position, loaded));
    FlashLogRecord copy;
    copy.header = loaded.header;
    copy.hash = original.hash;
    const Result<uint32_t> to =
        log.append_copy(original.position, copy.header, loaded.key, loaded.value);
    EXPECT_TRUE(to.ok());
    copy.position = to.ok() ? to.value() : 0;
    return copy;
  }
  // Puts prefix0, prefix1 … until the hot stream has gone on in another block; gives the first
  // block. The last key is in the second.
  uint32_t fill_block(const std::string& prefix) {
    const std::string value(100, 'v');
    put(prefix + "0", value);
    const uint32_t block = state.now.streams.hot.block;
    for (int i = 1; state.now.streams.hot.block == block && i < 10000; ++i) {
      put(prefix + std::to_string(i), value);
    }
    return block;
  }

  FlashSimulator device;
  FlashState state;
  FlashLog log;
  FlashAnchors anchors;
  FlashCheckpointer checkpointer;
  FlashHealer healer;
  FlashCollector collector;
  std::map<std::string, FlashLogRecord> entries;
};

// The parts of a store that was just formatted.
struct FormattedParts : FlashParts {
  explicit FormattedParts(const FlashStoreOptions& options) : FlashParts(options) {
    expect_ok(mount().format());
  }
};

inline constexpr FlashStoreOptions kAtomicFlash{.seed = 3, .atomic_device = true};
inline constexpr FlashStoreOptions kBareFlash{.seed = 3};
inline constexpr FlashStoreOptions kWearingFlash{
    .seed = 3, .atomic_device = true, .wears_out = true};

// Tests of a device that writes atomically and of a bare one.
class OnBothDevices : public ::testing::TestWithParam<bool> {
 protected:
  static bool bare() { return GetParam(); }
  static const FlashStoreOptions& options() { return bare() ? kBareFlash : kAtomicFlash; }
};
#define INSTANTIATE_ON_BOTH_DEVICES(Suite)             \
  INSTANTIATE_TEST_SUITE_P(, Suite, ::testing::Bool(), \
                           [](const auto& info) { return info.param ? "bare" : "atomic"; })

// Such tests with the parts of a formatted store.
class FormattedOnBothDevices : public OnBothDevices {
 protected:
  FormattedParts parts{options()};
  FlashState& state = parts.state;
};

}  // namespace cuckoo
