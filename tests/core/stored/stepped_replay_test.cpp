#include "core/stored/stepped_replay.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/core/stored/test_log.hpp"

namespace cuckoo {
namespace {

using test::Bytes;
using test::message_of;
using test::nth_word;
using test::TestLog;

using Counts = std::vector<CountedHash>;

SteppedReplay replay_of(TestLog& log, const LogExtent& extent, bool unique = false) {
  return {log.storage, TestLog::kWidth,     unique,
          extent,      log.first_raw_row(), log.compacted_entries()};
}

// All that is left, with so many raw rows at a time.
Status read_all(SteppedReplay& replay, uint64_t rows_at_a_time, Counts& counts) {
  for (uint64_t rows = 0; rows < replay.raw_rows(); rows += rows_at_a_time) {
    CUCKOO_TRY(replay.read_raw(std::min(rows + rows_at_a_time, replay.raw_rows())));
  }
  std::vector<CountedHash> batch;
  do {
    CUCKOO_TRY(replay.next(batch));
    counts.insert(counts.end(), batch.begin(), batch.end());
  } while (batch.size() == SteppedReplay::kBatch);
  return replay.next(batch);
}

// Copies and removes of a few hashes, some of which were never added.
void fill(TestLog& log, uint64_t seed, uint64_t hashes, bool multiset) {
  std::map<uint64_t, uint64_t> compacted;
  for (uint64_t i = 0; i < hashes; ++i) {
    if (nth_word(seed, i) % 3 != 0) {
      compacted[TestLog::nth_hash(i)] = multiset ? 1 + nth_word(seed + 1, i) % 5 / 4 : 1;
    }
  }
  if (seed % 4 != 0) {
    log.compacted(compacted);
  }
  std::vector<uint64_t> entries;
  for (uint64_t i = 0; seed % 5 != 0 && i < hashes; ++i) {
    const uint64_t draw = nth_word(seed + 2, i);
    const uint64_t hash = TestLog::nth_hash(draw % (hashes + 20));
    entries.push_back(multiset && (draw >> 40) % 3 == 0 ? hash | kRemoveBit : hash);
  }
  log.raw(entries);
}

TEST(SteppedReplay, I2_hands_over_what_a_whole_replay_does_however_it_is_read) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const bool multiset = seed % 3 != 0;
    const bool unique = seed % 2 == 0;
    TestLog log(multiset);
    fill(log, seed, 1 + nth_word(seed, 77) % 4000, multiset);
    LogReplay whole(log.storage, TestLog::kWidth, unique);
    Status status = whole.read(log.extent());
    ASSERT_TRUE(status.ok()) << message_of(status);
    Counts expected;
    ASSERT_TRUE(whole
                    .merge([&](uint64_t hash, uint64_t count) -> Status {
                      expected.emplace_back(hash, count);
                      return {};
                    })
                    .ok());
    for (const uint64_t rows_at_a_time : {uint64_t{1}, uint64_t{7}, uint64_t{1000}}) {
      SteppedReplay replay = replay_of(log, log.extent(), unique);
      Counts counts;
      status = read_all(replay, rows_at_a_time, counts);
      ASSERT_TRUE(status.ok()) << message_of(status);
      ASSERT_EQ(counts, expected) << "seed " << seed;
      EXPECT_EQ(replay.dropped(), whole.dropped());
    }
  }
}

// Every byte of every row, changed; every row, taken away; every end that is not the log's.
TEST(SteppedReplay, I1_no_damaged_row_gets_through) {
  TestLog log;
  fill(log, 1, 90, true);
  const auto expect_refused = [&](const LogExtent& extent, const char* what) {
    SteppedReplay replay = replay_of(log, extent);
    Counts counts;
    const Status status = read_all(replay, 3, counts);
    ASSERT_FALSE(status.ok()) << what;
    EXPECT_EQ(status.error().code, ErrorCode::kCorrupt) << what;
  };
  const auto rows = log.storage.rows.log;
  ASSERT_GT(rows.size(), 8u);
  for (const auto& [id, good] : rows) {
    for (size_t byte = 0; byte < good.size(); ++byte) {
      log.storage.rows.log[id][byte] ^= std::byte{0x21};
      expect_refused(log.extent(), "a changed byte");
      log.storage.rows.log[id] = good;
    }
    log.storage.rows.log.erase(id);
    expect_refused(log.extent(), "a row that is missing");
    log.storage.rows.log[id] = good;
    const auto next = rows.upper_bound(id);
    if (next != rows.end()) {  // whole, but in another's place
      log.storage.rows.log[id] = next->second;
      expect_refused(log.extent(), "another's row");
      log.storage.rows.log[id] = good;
    }
  }
  LogExtent extent = log.extent();
  ++extent.end_position;
  expect_refused(extent, "another end");
  extent = log.extent();
  ++extent.end_chain;
  expect_refused(extent, "another chain at the end");
  extent = log.extent();
  ++extent.start_chain;
  expect_refused(extent, "another chain at the start");
  extent = log.extent();
  ++extent.start_items;
  expect_refused(extent, "other items");
}

TEST(SteppedReplay, stops_when_the_storage_fails_or_its_poll_says_so) {
  TestLog log;
  fill(log, 1, 400, true);
  uint64_t failures = 0;
  for (uint64_t n = 1;; ++n) {
    log.storage.fail_at(n, n % 2 == 0 ? ErrorCode::kStorage : ErrorCode::kInterrupted);
    SteppedReplay replay = replay_of(log, log.extent());
    Counts counts;
    const Status status = read_all(replay, 2, counts);
    if (!log.storage.failed()) {
      EXPECT_TRUE(status.ok());
      break;
    }
    ASSERT_FALSE(status.ok());
    ++failures;
  }
  EXPECT_GT(failures, 20u);
}

}  // namespace
}  // namespace cuckoo
