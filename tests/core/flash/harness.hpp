// A flash store on a simulated device, beside the std::map that it must equal.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "core/flash/store.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/flash_simulator.hpp"
#include "tests/support/status.hpp"

namespace cuckoo {

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

using FlashModel = std::map<std::string, std::string>;

inline Status no_poll() { return {}; }

inline FlashGeometry small_geometry(uint32_t sector = 1024, uint32_t per_block = 4,
                                    uint32_t blocks = 24, uint32_t unit = 16) {
  FlashGeometry geometry;
  geometry.sector_size_bytes = sector;
  geometry.sectors_per_block = per_block;
  geometry.blocks = blocks;
  geometry.program_unit_bytes = unit;
  return geometry;
}

// Fetch a hash, and ask or change the index.
inline bool contains(FlashIndex& index, uint32_t hash, uint32_t position) {
  return index.contains(must(index.fetch(hash)), position);
}
inline bool replace(FlashIndex& index, uint32_t hash, uint32_t from, uint32_t to) {
  return index.replace(must(index.fetch(hash)), from, to);
}
inline bool remove(FlashIndex& index, uint32_t hash, uint32_t position) {
  return index.remove(must(index.fetch(hash)), position);
}

// Empty when a scan gives what entries() and read() give; otherwise what differs.
inline std::string difference_of_scan(FlashStore& store, std::vector<FlashStore::Listed> listed) {
  FlashScan scan;
  for (FlashStore::Listed& one : listed) {
    const Result<bool> more = store.next(scan);
    if (!more.ok()) {
      return more.error().message;
    }
    if (!more.value() || scan.position() != one.entry.position) {
      return "a scan passes over the entry at unit " + std::to_string(one.entry.position);
    }
    const std::string key = text_of(scan.record().key);  // before anything else is read
    std::vector<std::byte> value;
    if (const Status read = store.value_at(scan, value); !read.ok()) {
      return read.error().message;
    }
    std::vector<std::byte> expected_key;
    std::vector<std::byte> expected;
    const Result<bool> read = store.read(one.entry, one.hash, expected_key, &expected);
    if (!read.ok() || key != text_of(expected_key) || value != expected) {
      return "a scan gives something else than the entry at unit " +
             std::to_string(one.entry.position);
    }
  }
  const Result<bool> more = store.next(scan);
  return !more.ok() ? more.error().message : more.value() ? "a scan gives more" : "";
}

// Empty when the store holds exactly the model; otherwise what differs.
inline std::string difference(FlashStore& store, const FlashModel& model) {
  Result<std::vector<FlashStore::Listed>> listed = store.entries();
  if (!listed.ok()) {
    return listed.error().message;
  }
  if (std::string scanned = difference_of_scan(store, listed.value()); !scanned.empty()) {
    return scanned;
  }
  FlashModel found;
  for (FlashStore::Listed& one : listed.value()) {
    std::vector<std::byte> key;
    std::vector<std::byte> value;
    const Result<bool> read = store.read(one.entry, one.hash, key, &value);
    if (!read.ok()) {
      return read.error().message;
    }
    if (!found.emplace(text_of(key), text_of(value)).second) {
      return "key " + text_of(key) + " is there twice";
    }
  }
  for (const auto& [key, value] : model) {
    std::vector<std::byte> got;
    const Result<bool> there = store.get(bytes_of(key), got);
    if (!there.ok()) {
      return there.error().message;
    }
    if (!there.value()) {
      return "key " + key + " is lost";
    }
    if (text_of(got) != value) {
      return "key " + key + " has another value of " + std::to_string(got.size()) +
             " bytes, expected " + std::to_string(value.size());
    }
  }
  if (found != model) {
    return std::to_string(found.size()) + " keys are there, expected " +
           std::to_string(model.size());
  }
  return {};
}

// One step of a random workload.
struct FlashOperation {
  std::string key;
  std::optional<std::string> value;  // none: remove
};

inline FlashOperation random_operation(std::mt19937_64& random, unsigned keys, size_t large_bytes) {
  FlashOperation operation;
  operation.key = "key" + std::to_string(random() % keys);
  const uint64_t choice = random() % 100;
  if (choice < 20) {
    return operation;
  }
  const size_t length = choice < 85   ? random() % 120
                        : choice < 95 ? random() % 700
                                      : random() % (large_bytes + 1);
  operation.value = std::string(length, static_cast<char>('a' + random() % 26));
  if (length >= 8) {
    operation.value->replace(0, 8, std::to_string(random()).substr(0, 8));
  }
  return operation;
}

inline Status perform(FlashStore& store, const FlashOperation& operation) {
  if (operation.value) {
    return store.put(bytes_of(operation.key), bytes_of(*operation.value));
  }
  Result<bool> removed = store.remove(bytes_of(operation.key));
  return removed.take_status();
}

inline void perform(FlashModel& model, const FlashOperation& operation) {
  if (operation.value) {
    model[operation.key] = *operation.value;
  } else {
    model.erase(operation.key);
  }
}

}  // namespace cuckoo
