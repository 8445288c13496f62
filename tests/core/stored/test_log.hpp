// A log in memory, written row by row without a filter.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/stored/log.hpp"
#include "core/stored/replay.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo::test {

// Writes a log as a filter does: compacted rows, then raw ones; every third raw row is left short.
// Of a set: its compacted rows all state its items, and a raw entry adds one item or none.
class TestLog {
 public:
  static constexpr HashWidth kWidth = HashWidth::k47Bits;
  static constexpr size_t kRowBytes = 132;
  static constexpr uint64_t kStartChain = 99;
  static constexpr int64_t kFirstRow = int64_t{5} << 40;

  static uint64_t nth_hash(uint64_t i) { return test::nth_hash(1, i, kWidth); }

  explicit TestLog(bool multiset = true) : raw_(kWidth, kRowBytes) {
    extent_.multiset = multiset;
    extent_.first_row = next_row_ = kFirstRow;
    extent_.start_chain = chain_ = kStartChain;
  }

  void compacted(const std::map<uint64_t, uint64_t>& counts) {
    CompactedRowWriter writer(
        kWidth, kRowBytes, counts.size(), chain_,
        [this](std::span<const std::byte> row) {
          return storage.write_log(next_row_++, row, false);
        },
        extent_.multiset ? std::nullopt : std::optional(counts.size()));
    if (!extent_.multiset) {
      items_ = extent_.start_items = counts.size();
    }
    for (const auto& [hash, count] : counts) {
      EXPECT_TRUE(writer.add(hash, count).ok());
    }
    EXPECT_TRUE(writer.finish().ok());
    chain_ = writer.chain();
    position_ = compacted_entries_ = writer.position();
    items_ = writer.items();
    first_raw_row_ = next_row_;
  }

  void raw(const std::vector<uint64_t>& entries) {
    for (size_t at = 0, row = 0; at < entries.size(); ++row) {
      raw_.start(chain_, position_, items_);
      const size_t limit = row % 3 == 2 ? 2 : raw_row_capacity(kRowBytes, kWidth);
      for (; at < entries.size() && raw_.entries() < limit; ++at) {
        raw_.append(entries[at]);
        items_ += !extent_.multiset ? at % 2 : (entries[at] & kRemoveBit) == 0 ? 1 : ~uint64_t{0};
      }
      chain_ = raw_.chain();
      position_ += raw_.entries();
      EXPECT_TRUE(storage.write_log(next_row_++, raw_.encode(), false).ok());
    }
  }

  LogExtent extent() const {
    LogExtent extent = extent_;
    extent.last_row = next_row_ - 1;
    extent.end_chain = chain_;
    extent.end_position = position_;
    return extent;
  }

  int64_t first_raw_row() const noexcept { return first_raw_row_; }
  uint64_t compacted_entries() const noexcept { return compacted_entries_; }

  MemoryStorage storage;

 private:
  RawRowBuilder raw_;
  LogExtent extent_;
  int64_t next_row_;
  int64_t first_raw_row_ = kFirstRow;
  uint64_t compacted_entries_ = 0;
  uint64_t chain_;
  uint64_t position_ = 0;
  uint64_t items_ = 0;
};

}  // namespace cuckoo::test
