#include "core/stored/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/base/checksum.hpp"
#include "core/filter/cuckoo_filter.hpp"
#include "core/stored/hash_sort.hpp"
#include "tests/core/stored/test_log.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::MemoryStorage;
using test::message_of;
using test::nth_word;
using test::TestLog;

constexpr HashWidth kWidth = TestLog::kWidth;
constexpr size_t kRowBytes = TestLog::kRowBytes;
constexpr uint64_t kStartChain = TestLog::kStartChain;
constexpr int64_t kFirstRow = TestLog::kFirstRow;

uint64_t nth_hash(uint64_t i) { return TestLog::nth_hash(i); }

std::map<uint64_t, uint64_t> merged(LogReplay& replay) {
  std::map<uint64_t, uint64_t> counts;
  uint64_t last = 0;
  const Status status = replay.merge([&](uint64_t hash, uint64_t count) -> Status {
    EXPECT_TRUE(counts.empty() || hash > last) << "I2";
    EXPECT_GT(count, 0u) << "I2";
    last = hash;
    counts[hash] = count;
    return {};
  });
  EXPECT_TRUE(status.ok()) << message_of(status);
  return counts;
}

void expect_counts(TestLog& log, const std::map<uint64_t, uint64_t>& expected) {
  uint64_t items = 0;
  uint64_t entries = 0;
  for (const auto& [hash, count] : expected) {
    items += count;
    entries += count <= kMaxCopiesInBuckets ? count : 1;
  }
  for (const uint64_t most_kept : {LogReplay::kMostKept, uint64_t{0}}) {
    LogReplay replay(log.storage, kWidth, false, most_kept);
    const Status status = replay.read(log.extent());
    ASSERT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(replay.hashes(), expected.size());
    EXPECT_EQ(replay.items(), items);
    EXPECT_EQ(replay.entries(), entries);
    EXPECT_EQ(merged(replay), expected) << "I4: kept up to " << most_kept;
    EXPECT_EQ(merged(replay), expected) << "merged as often as asked";
  }
}

TEST(LogReplay, in_the_log_of_a_set_what_is_kept_counts_once) {
  TestLog log(false);
  log.compacted({{nth_hash(1), 1}, {nth_hash(2), 1}});
  log.raw({nth_hash(2), nth_hash(3), nth_hash(3)});
  LogReplay replay(log.storage, kWidth);
  ASSERT_TRUE(replay.read(log.extent()).ok());
  const std::map<uint64_t, uint64_t> once = {{nth_hash(1), 1}, {nth_hash(2), 1}, {nth_hash(3), 1}};
  EXPECT_EQ(merged(replay), once);
  EXPECT_EQ(replay.merge_net([](uint64_t, int64_t) { return Status(); }).error().code,
            ErrorCode::kInvalid);
}

TEST(LogReplay, what_is_kept_is_not_read_again) {
  for (const bool kept : {true, false}) {
    TestLog log;
    log.compacted({{nth_hash(1), 1}, {nth_hash(2), 3}});
    LogReplay replay(log.storage, kWidth, false, kept ? 2 : 1);
    ASSERT_TRUE(replay.read(log.extent()).ok());
    log.storage.calls = {};
    EXPECT_EQ(merged(replay).size(), 2U);
    EXPECT_EQ(log.storage.calls.all() == 0, kept);
  }
}

// Fails with `code`, and does so again: a replay has no half-read state.
ErrorCode failure_of(TestLog& log, const LogExtent& extent) {
  LogReplay replay(log.storage, kWidth);
  const Status status = replay.read(extent);
  if (status.ok()) {
    ADD_FAILURE() << "was read";
    return ErrorCode::kInvalid;
  }
  EXPECT_FALSE(status.error().message.empty());
  return status.error().code;
}

TEST(LogReplay, empty_log_holds_nothing) {
  TestLog log;
  expect_counts(log, {});
}

TEST(LogReplay, compacted_rows_alone_are_handed_over) {
  TestLog log;
  std::map<uint64_t, uint64_t> counts = {{0, 1}};
  for (uint64_t i = 0; i < 500; ++i) {
    counts[nth_hash(i)] = 1 + i % 12;
  }
  log.compacted(counts);
  expect_counts(log, counts);
}

TEST(LogReplay, I3_entries_of_one_hash_cancel_in_order_with_a_floor_at_zero) {
  const uint64_t a = nth_hash(1);
  const uint64_t b = nth_hash(2);
  const uint64_t remove = kRemoveBit;
  TestLog log;
  log.raw({a | remove, a, b, b | remove, b | remove, b | remove, b, b});
  expect_counts(log, {{a, 1}, {b, 2}});
  TestLog reversed;
  reversed.raw({a, a | remove, b | remove, b, b | remove});
  expect_counts(reversed, {});
}

TEST(LogReplay, I3_raw_entries_cancel_compacted_counts) {
  const uint64_t remove = kRemoveBit;
  TestLog log;
  log.compacted({{nth_hash(1), 1}, {nth_hash(2), 3}, {nth_hash(3), 1}});
  log.raw({nth_hash(1) | remove, nth_hash(2) | remove, nth_hash(3) | remove, nth_hash(3) | remove,
           nth_hash(3), nth_hash(4)});
  expect_counts(log, {{nth_hash(2), 2}, {nth_hash(3), 1}, {nth_hash(4), 1}});
}

TEST(LogReplay, smallest_and_largest_hash_are_hashes_like_others) {
  const uint64_t largest = logged_hash(UINT64_MAX, kWidth);
  for (const bool compacted : {false, true}) {
    TestLog log;
    if (compacted) {
      log.compacted({{0, 1}, {largest, 1}});
    }
    log.raw({0, largest, 0, largest});
    const uint64_t count = compacted ? 3 : 2;
    expect_counts(log, {{0, count}, {largest, count}});
  }
}

TEST(LogReplay, random_logs_give_what_a_map_gives) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const uint64_t distinct = uint64_t{1} << (nth_word(seed, 0) % 11);
    std::map<uint64_t, uint64_t> counts;
    TestLog log;
    if (seed % 3 != 0) {
      for (uint64_t i = 0; i < distinct; i += 2) {
        counts[nth_hash(i)] = 1 + nth_word(seed, i) % 3;
      }
      log.compacted(counts);
    }
    std::vector<uint64_t> entries;
    for (uint64_t i = 0; i < nth_word(seed, 1) % 2000; ++i) {
      const uint64_t hash = nth_hash(nth_word(seed, 2 * i) % distinct);
      const bool remove = nth_word(seed, 2 * i + 1) % 2 == 0;
      entries.push_back(hash | (remove ? kRemoveBit : 0));
      uint64_t& count = counts[hash];
      count = remove ? count - std::min<uint64_t>(count, 1) : count + 1;
    }
    log.raw(entries);
    std::erase_if(counts, [](const auto& entry) { return entry.second == 0; });
    SCOPED_TRACE("seed " + std::to_string(seed));
    expect_counts(log, counts);
  }
}

// ---- entries behind the log's end, sums without a floor, sets

TEST(LogReplay, entries_behind_the_log_follow_its_own) {
  const uint64_t remove = kRemoveBit;
  for (const bool compacted : {false, true}) {
    TestLog log;
    if (compacted) {
      log.compacted({{nth_hash(1), 3}, {nth_hash(2), 1}});
    } else {
      log.raw({nth_hash(1), nth_hash(2), nth_hash(1), nth_hash(1)});
    }
    LogReplay replay(log.storage, kWidth);
    const std::vector<uint64_t> behind = {nth_hash(2) | remove, nth_hash(9) | remove, nth_hash(9),
                                          nth_hash(1) | remove, nth_hash(5)};
    ASSERT_TRUE(replay.read(log.extent(), sorted_by_hash(behind, kWidth)).ok());
    const std::map<uint64_t, uint64_t> expected = {
        {nth_hash(1), 2}, {nth_hash(5), 1}, {nth_hash(9), 1}};
    EXPECT_EQ(merged(replay), expected);
    EXPECT_EQ(replay.hashes(), 3u);
    EXPECT_EQ(replay.items(), 4u);
    ASSERT_TRUE(replay.read(log.extent()).ok()) << "they are forgotten by the next read";
    EXPECT_EQ(replay.items(), 4u);
    EXPECT_EQ(merged(replay).count(nth_hash(5)), 0u);
  }
}

std::map<uint64_t, int64_t> net_of(LogReplay& replay) {
  std::map<uint64_t, int64_t> nets;
  uint64_t last = 0;
  const Status status = replay.merge_net([&](uint64_t hash, int64_t net) -> Status {
    EXPECT_TRUE(nets.empty() || hash > last) << "ascending, each once";
    last = hash;
    nets[hash] = net;
    return {};
  });
  EXPECT_TRUE(status.ok()) << message_of(status);
  return nets;
}

TEST(LogReplay, merge_net_sums_without_a_floor) {
  const uint64_t remove = kRemoveBit;
  TestLog log;
  log.compacted({{nth_hash(1), 1}, {nth_hash(2), 3}, {nth_hash(8), 1}});
  log.raw({nth_hash(1) | remove, nth_hash(1) | remove, nth_hash(2) | remove, nth_hash(3) | remove,
           nth_hash(3), nth_hash(4) | remove, nth_hash(5)});
  LogReplay replay(log.storage, kWidth, false, 0);
  ASSERT_TRUE(replay.read(log.extent()).ok());
  const std::map<uint64_t, int64_t> expected = {{nth_hash(1), -1}, {nth_hash(2), 2},
                                                {nth_hash(3), 0},  {nth_hash(4), -1},
                                                {nth_hash(5), 1},  {nth_hash(8), 1}};
  EXPECT_EQ(net_of(replay), expected);
  EXPECT_EQ(net_of(replay), expected) << "as often as asked";
  const Status status = replay.merge_net([](uint64_t, int64_t) -> Status {
    return Error{ErrorCode::kFull, "enough", 0};
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
}

TEST(LogReplay, in_the_log_of_a_set_each_hash_counts_once) {
  TestLog log(false);
  std::map<uint64_t, uint64_t> expected;
  for (uint64_t i = 0; i < 300; ++i) {
    expected[nth_hash(i)] = 1;
  }
  log.compacted(expected);
  std::vector<uint64_t> entries;
  for (uint64_t i = 250; i < 500; ++i) {
    entries.insert(entries.end(), 1 + i % 3, nth_hash(i));
    expected[nth_hash(i)] = 1;
  }
  log.raw(entries);
  LogReplay replay(log.storage, kWidth, false, 0);
  const Status status = replay.read(log.extent());
  ASSERT_TRUE(status.ok()) << message_of(status);
  EXPECT_EQ(merged(replay), expected);
  EXPECT_EQ(replay.hashes(), expected.size());
  for (const auto& [hash, net] : net_of(replay)) {
    EXPECT_EQ(net, 1) << hash;
  }
  LogExtent extent = log.extent();
  extent.multiset = true;
  EXPECT_EQ(failure_of(log, extent), ErrorCode::kCorrupt) << "its items don't add up then";
}

// Of a set, items may rise by at most one an entry, and never fall.
TEST(LogReplay, I1_items_of_a_set_that_can_not_be_are_found) {
  const auto log_with = [](uint64_t items_of_second) {
    TestLog log(false);
    RawRowBuilder row(kWidth, kRowBytes);
    row.start(kStartChain, 0, 5);
    for (uint64_t i = 0; i < 4; ++i) {
      row.append(nth_hash(i));
    }
    EXPECT_TRUE(log.storage.write_log(kFirstRow, row.encode(), false).ok());
    const uint64_t chain = row.chain();
    row.start(chain, 4, items_of_second);
    row.append(nth_hash(9));
    EXPECT_TRUE(log.storage.write_log(kFirstRow + 1, row.encode(), false).ok());
    LogExtent extent = log.extent();
    extent.last_row = kFirstRow + 1;
    extent.start_items = 5;
    extent.end_chain = row.chain();
    extent.end_position = 5;
    LogReplay replay(log.storage, kWidth);
    return replay.read(extent).ok();
  };
  for (const uint64_t items : {5u, 6u, 9u}) {
    EXPECT_TRUE(log_with(items)) << items;
  }
  for (const uint64_t items : {uint64_t{0}, uint64_t{4}, uint64_t{10}, UINT64_MAX}) {
    EXPECT_FALSE(log_with(items)) << items;
  }
}

TestLog long_log() {
  TestLog log;
  std::map<uint64_t, uint64_t> counts;
  std::vector<uint64_t> entries;
  for (uint64_t i = 0; i < 100; ++i) {
    counts[nth_hash(i)] = 1 + i % 3;
    entries.push_back(nth_hash(i * 3) | (i % 2));
  }
  log.compacted(counts);
  log.raw(entries);
  return log;
}

TEST(LogReplay, I1_every_missing_or_repeated_row_is_found) {
  const TestLog whole = long_log();
  for (const auto& entry : whole.storage.rows.log) {
    const int64_t id = entry.first;
    TestLog log = whole;
    log.storage.rows.log.erase(id);
    EXPECT_EQ(failure_of(log, log.extent()), ErrorCode::kCorrupt) << "row " << id << " missing";
    log = whole;
    if (log.storage.rows.log.count(id + 1) != 0) {
      log.storage.rows.log[id + 1] = log.storage.rows.log[id];
      EXPECT_EQ(failure_of(log, log.extent()), ErrorCode::kCorrupt) << "row " << id << " twice";
      log = whole;
      std::swap(log.storage.rows.log[id], log.storage.rows.log[id + 1]);
      EXPECT_EQ(failure_of(log, log.extent()), ErrorCode::kCorrupt) << "row " << id << " swapped";
    }
  }
}

TEST(LogReplay, I1_every_changed_byte_is_found_and_named) {
  const TestLog whole = long_log();
  for (const auto& [id, row] : whole.storage.rows.log) {
    for (size_t at = 0; at < row.size(); at += 5) {
      TestLog log = whole;
      log.storage.rows.log[id][at] ^= std::byte{0x10};
      LogReplay replay(log.storage, kWidth);
      const Status status = replay.read(log.extent());
      ASSERT_FALSE(status.ok());
      EXPECT_NE(message_of(status).find("log row " + std::to_string(id)), std::string::npos)
          << message_of(status);
    }
  }
}

// Behind a right checksum. If those of the first raw row are wrong, the row behind it may be named,
// which disagrees with it.
TEST(LogReplay, I1_wrong_items_are_found_and_named_in_every_row_of_a_multiset) {
  const TestLog whole = long_log();
  bool after_compacted = false;
  for (const auto& [id, row] : whole.storage.rows.log) {
    const bool compacted = parse_log_row(row, kWidth).value().header.compacted();
    const bool first_raw = after_compacted && !compacted;
    after_compacted = compacted;
    for (const uint64_t wrong : {uint64_t{1}, ~uint64_t{0}, uint64_t{1} << 40}) {
      TestLog log = whole;
      std::vector<std::byte>& changed = log.storage.rows.log[id];
      store_le(&changed[16], load_le<uint64_t>(&changed[16]) + wrong);
      const size_t crc_at = changed.size() - kLogRowCrcBytes;
      store_le(&changed[crc_at], crc32c(std::span(changed).first(crc_at)));
      LogReplay replay(log.storage, kWidth);
      const Status status = replay.read(log.extent());
      ASSERT_FALSE(status.ok()) << "row " << id << ", items and " << wrong;
      EXPECT_EQ(status.error().code, ErrorCode::kCorrupt);
      const auto names = [&](int64_t named) {
        return message_of(status).find("log row " + std::to_string(named) + ":") !=
               std::string::npos;
      };
      EXPECT_TRUE(names(id) || (first_raw && names(id + 1)))
          << "row " << id << ", items and " << wrong << ": " << message_of(status);
    }
  }
}

TEST(LogReplay, I1_another_extent_than_the_one_written_is_found) {
  const std::function<void(LogExtent&)> kChanges[] = {
      [](LogExtent& e) { ++e.first_row; },      [](LogExtent& e) { --e.first_row; },
      [](LogExtent& e) { --e.last_row; },       [](LogExtent& e) { ++e.start_chain; },
      [](LogExtent& e) { ++e.start_position; }, [](LogExtent& e) { ++e.start_items; },
      [](LogExtent& e) { ++e.end_chain; },      [](LogExtent& e) { ++e.end_position; },
  };
  size_t number = 0;
  for (const auto& change : kChanges) {
    TestLog log = long_log();
    LogExtent extent = log.extent();
    change(extent);
    EXPECT_EQ(failure_of(log, extent), ErrorCode::kCorrupt) << "change " << number;
    ++number;
  }
}

TEST(LogReplay, compacted_row_behind_a_raw_one_is_refused) {
  TestLog log;
  log.raw({nth_hash(1)});
  const LogExtent before = log.extent();
  CompactedRowWriter writer(kWidth, kRowBytes, 1, before.end_chain,
                            [&](std::span<const std::byte> row) {
                              Bytes moved(row.begin(), row.end());
                              return log.storage.write_log(before.last_row + 1, moved, false);
                            });
  ASSERT_TRUE(writer.add(nth_hash(2), 1).ok());
  ASSERT_TRUE(writer.finish().ok());
  LogExtent extent = before;
  ++extent.last_row;
  EXPECT_EQ(failure_of(log, extent), ErrorCode::kCorrupt);
}

TEST(LogReplay, failures_of_storage_and_sink_are_returned) {
  TestLog log = long_log();
  LogReplay replay(log.storage, kWidth);
  ASSERT_TRUE(replay.read(log.extent()).ok());
  log.storage.calls = {};
  ASSERT_TRUE(replay.read(log.extent()).ok());
  const uint64_t calls = log.storage.calls.all();
  for (uint64_t n = 1; n <= calls; ++n) {
    log.storage.fail_at(n, ErrorCode::kInterrupted);
    const Status status = replay.read(log.extent());
    ASSERT_FALSE(status.ok()) << "call " << n << " of " << calls;
    EXPECT_EQ(status.error().code, ErrorCode::kInterrupted);
  }
  log.storage.fail_at(0);
  ASSERT_TRUE(replay.read(log.extent()).ok()) << "a failed replay can be used again";
  size_t handed = 0;
  const Status status = replay.merge([&handed](uint64_t, uint64_t) -> Status {
    return ++handed == 10 ? Status(Error{ErrorCode::kFull, "enough", 0}) : Status();
  });
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kFull);
  EXPECT_EQ(handed, 10u);
}

TEST(LogReplay, row_names_go_to_corrupt_statuses_only) {
  EXPECT_TRUE(in_row("page", 3, {}).ok());
  EXPECT_EQ(in_row("page", 3, corrupt("is bad")).error().message, "page row 3: is bad");
  const Status other = in_row("page", 3, Error{ErrorCode::kStorage, "disk", 10});
  EXPECT_EQ(other.error().message, "disk");
  EXPECT_EQ(other.error().storage_code, 10);
}

}  // namespace
}  // namespace cuckoo
