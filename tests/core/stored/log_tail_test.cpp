#include "core/stored/log_tail.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::MemoryStorage;
using test::message_of;
using test::nth_hash;
using test::nth_word;

FilterRecord first_record() {
  FilterRecord record;
  record.epoch = 3;
  record.first_row = record.fold_row = static_cast<uint64_t>(first_row_id(3));
  record.start_chain = record.fold_chain = 77;
  return record;
}

// A tail on a storage, behind an empty filter.
struct StoredTail {
  explicit StoredTail(FilterKind kind)
      : options(test::options_for({kind, true}, 1000, 0.01, 128)), tail(options) {
    Result<std::unique_ptr<Filter>> made = options.make_filter_for(1000);
    EXPECT_TRUE(made.ok());
    base = std::move(made.value());
    tail.start(record);
  }

  void write() {
    tail.put_rows();
    const Status status = tail.write(storage);
    ASSERT_TRUE(status.ok()) << message_of(status);
    record.end_position = tail.position();
    record.end_chain = tail.chain();
    record.end_items = tail.items();
    record.end_row = tail.end_row();
  }
  std::string follow(LogTail& other) {
    other.index(*base);
    return message_of(other.follow(storage, record, *base));
  }

  FilterOptions options;
  MemoryStorage storage;
  FilterRecord record = first_record();
  std::unique_ptr<Filter> base;
  LogTail tail;
};

// hash -> count, both above zero
std::map<uint64_t, uint64_t> counts_of(std::span<const uint64_t> hashes) {
  std::map<uint64_t, uint64_t> counts;
  for (const uint64_t hash : hashes) {
    ++counts[hash];
  }
  return counts;
}

// Adds and removes of a few hashes, their sums followed by the way.
void change_at_random(StoredTail& stored, uint64_t seed, std::vector<uint64_t>& log,
                      std::map<uint64_t, int32_t>& nets) {
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t word = nth_word(seed, i);
    const uint64_t hash = nth_hash(word % 50);
    const bool is_remove = (word >> 32) % 3 == 0;
    if (is_remove) {
      stored.tail.index(*stored.base);
      stored.tail.remove(hash, *stored.base);
    } else {
      stored.tail.add(hash);
    }
    nets[hash] += is_remove ? -1 : 1;
    log.push_back(is_remove ? hash | kRemoveBit : hash);
  }
}

TEST(LogTail, sums_what_was_logged) {
  StoredTail stored(FilterKind::kCuckoo);
  stored.record.fold_items = 1000;
  stored.tail.start(stored.record);
  std::vector<uint64_t> log;
  std::map<uint64_t, int32_t> nets;
  change_at_random(stored, 5, log, nets);
  stored.tail.index(*stored.base);
  std::map<uint64_t, uint64_t> pending;
  uint64_t items = 1000;
  for (const auto& [hash, net] : nets) {
    EXPECT_EQ(stored.tail.net(hash), net);  // I1
    uint64_t cells[Filter::kMaxPlaces];
    ASSERT_EQ(stored.base->cells_of(hash, cells), 1u);
    pending[cells[0]] += net < 0 ? static_cast<uint64_t>(-net) : 0;
    items += static_cast<uint64_t>(int64_t{net});
  }
  stored.tail.pending_removes().for_each([&pending](uint64_t cell, uint64_t removes) {
    EXPECT_EQ(removes, pending[cell]);  // I2
    pending.erase(cell);
  });
  for (const auto& [cell, removes] : pending) {
    EXPECT_EQ(removes, 0u) << cell;
  }
  EXPECT_EQ(stored.tail.items(), items);  // I3
  EXPECT_EQ(stored.tail.position(), log.size());
  EXPECT_EQ(stored.tail.removes(),
            static_cast<uint64_t>(std::count_if(
                log.begin(), log.end(), [](uint64_t entry) { return (entry & kRemoveBit) != 0; })));

  const NetEntries entries = stored.tail.net_entries(*stored.base);
  EXPECT_TRUE(std::is_sorted(entries.removes.begin(), entries.removes.end()));
  EXPECT_TRUE(std::is_sorted(entries.adds.begin(), entries.adds.end()));
  const std::map<uint64_t, uint64_t> adds = counts_of(entries.adds);
  const std::map<uint64_t, uint64_t> removes = counts_of(entries.removes);
  for (const auto& [hash, net] : nets) {
    EXPECT_EQ(adds.count(hash) != 0 ? adds.at(hash) : 0, static_cast<uint64_t>(std::max(net, 0)));
    EXPECT_EQ(removes.count(hash) != 0 ? removes.at(hash) : 0,
              static_cast<uint64_t>(std::max(-net, 0)));
  }
}

TEST(LogTail, I6_what_stands_in_no_row_is_not_written) {
  StoredTail stored(FilterKind::kCuckoo);
  stored.tail.add(nth_hash(1));
  stored.write();
  const test::StoredRows before = stored.storage.snapshot();
  stored.tail.add(nth_hash(2));
  EXPECT_NE(stored.tail.chain(), stored.record.end_chain);
  const Status status = stored.tail.write(stored.storage);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(test::difference(stored.storage.rows, before), "");
  stored.write();
  LogTail other(stored.options);
  other.start(first_record());
  EXPECT_EQ(stored.follow(other), "");
  EXPECT_EQ(other.items(), 2u);
}

// Whenever they are put, and whether a row at a time.
TEST(LogTail, adds_of_a_multiset_are_put_into_the_same_rows_later) {
  constexpr uint64_t kAdds = 500;
  StoredTail at_once(FilterKind::kCuckoo);
  for (uint64_t i = 0; i < kAdds; ++i) {
    at_once.tail.add(nth_hash(i));
    at_once.tail.put_rows();
  }
  at_once.write();
  ASSERT_GT(at_once.storage.rows.log.size(), 3u);
  for (const uint64_t pause : {uint64_t{1}, at_once.tail.row_entries(), uint64_t{77}, kAdds}) {
    for (const bool soon : {false, true}) {
      StoredTail later(FilterKind::kCuckoo);
      if (soon) {
        later.tail.put_rows_soon();
      }
      for (uint64_t i = 0; i < kAdds; ++i) {
        later.tail.add(nth_hash(i));
        EXPECT_EQ(later.tail.position(), i + 1);
        if (i % pause == 0) {
          later.tail.put_rows();
          EXPECT_TRUE(later.tail.has_rows());
        }
      }
      EXPECT_EQ(later.tail.chain(), at_once.tail.chain());
      EXPECT_EQ(later.tail.items(), kAdds);
      later.write();
      EXPECT_EQ(test::difference(later.storage.rows, at_once.storage.rows), "");
      EXPECT_EQ(later.record, at_once.record);
      EXPECT_EQ(counts_of(later.tail.waiting()), counts_of(at_once.tail.waiting()));
    }
  }
}

TEST(LogTail, a_row_that_is_too_long_is_refused) {
  StoredTail stored(FilterKind::kCuckoo);
  RawRowBuilder row(stored.options.width, 2 * stored.options.row_bytes());
  row.start(stored.record.fold_chain, 0, 0);
  for (uint64_t i = 0; i <= stored.tail.row_entries(); ++i) {
    row.append(nth_hash(i));
  }
  const int64_t id = first_row_id(3);
  ASSERT_TRUE(stored.storage.write_log(id, row.encode(), false).ok());
  stored.record.end_position = stored.record.end_items = row.entries();
  stored.record.end_chain = row.chain();
  stored.record.end_row = static_cast<uint64_t>(id) + 1;
  LogTail other(stored.options);
  other.start(first_record());
  EXPECT_NE(stored.follow(other).find("entries, expected"), std::string::npos);
}

TEST(LogTail, adds_wait_until_somebody_asks) {
  StoredTail stored(FilterKind::kCuckoo);
  for (uint64_t i = 0; i < 100; ++i) {
    stored.tail.add(nth_hash(i % 10));
  }
  EXPECT_FALSE(stored.tail.indexed());
  EXPECT_EQ(stored.tail.items(), 100u);
  EXPECT_EQ(stored.tail.net_entries(*stored.base).adds.size(), 100u);
  EXPECT_FALSE(stored.tail.indexed());
  stored.tail.index(*stored.base);
  EXPECT_TRUE(stored.tail.indexed());
  EXPECT_EQ(stored.tail.net(nth_hash(3)), 10);
  EXPECT_EQ(stored.tail.items(), 100u);
  stored.tail.start(stored.record);
  EXPECT_TRUE(stored.tail.indexed());
  EXPECT_EQ(stored.tail.net(nth_hash(3)), 0);
  EXPECT_EQ(stored.tail.items(), 0u);
  EXPECT_EQ(stored.tail.position(), 0u);
}

TEST(LogTail, another_follows_through_storage) {
  StoredTail stored(FilterKind::kCuckoo);
  LogTail other(stored.options);
  other.start(stored.record);
  std::vector<uint64_t> log;
  std::map<uint64_t, int32_t> nets;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    change_at_random(stored, seed, log, nets);
    stored.write();
    ASSERT_EQ(stored.follow(other), "");
    for (const auto& [hash, net] : nets) {
      EXPECT_EQ(other.net(hash), net);
    }
    EXPECT_EQ(other.items(), stored.tail.items());
    EXPECT_EQ(other.chain(), stored.tail.chain());
    EXPECT_EQ(other.end_row(), stored.tail.end_row());
  }
  // Those that are not written yet are among them, too.
  change_at_random(stored, 9, log, nets);
  stored.tail.put_rows();
  Result<std::vector<uint64_t>> entries = stored.tail.entries_in_order(stored.storage);
  ASSERT_TRUE(entries.ok()) << entries.error().message;
  EXPECT_EQ(entries.value(), log);
  // I4: the rows of both are one log, whoever goes on with it.
  stored.tail.forget_unwritten();
  other.add(nth_hash(1));
  stored.tail.start(stored.record);
  ASSERT_EQ(stored.follow(stored.tail), "");
  stored.tail.add(nth_hash(1));
  EXPECT_EQ(other.chain(), stored.tail.chain());
}

TEST(LogTail, a_set_knows_its_items_from_the_rows) {
  StoredTail stored(FilterKind::kBloom);
  for (uint64_t i = 0; i < 200; ++i) {
    stored.tail.add_to_set(nth_hash(i), i % 3 != 0);
  }
  EXPECT_EQ(stored.tail.items(), 133u);
  EXPECT_EQ(stored.tail.net(nth_hash(0)), 1);
  EXPECT_EQ(stored.tail.net(nth_hash(200)), 0);
  stored.write();
  LogTail other(stored.options);
  other.start(stored.record);
  ASSERT_EQ(stored.follow(other), "");
  EXPECT_EQ(other.items(), 133u);
  EXPECT_EQ(other.net(nth_hash(0)), 1);
  EXPECT_TRUE(other.pending_removes().empty());
}

TEST(LogTail, rows_that_do_not_follow_are_refused) {
  StoredTail stored(FilterKind::kCuckoo);
  std::vector<uint64_t> log;
  std::map<uint64_t, int32_t> nets;
  change_at_random(stored, 2, log, nets);
  stored.write();
  ASSERT_GT(stored.storage.rows.log.size(), 4u);
  const test::StoredRows good = stored.storage.snapshot();
  const auto follow_anew = [&] {
    LogTail other(stored.options);
    other.start(stored.record);
    return stored.follow(other);
  };
  ASSERT_EQ(follow_anew(), "");
  stored.storage.rows.log.erase(std::next(stored.storage.rows.log.begin(), 2));
  EXPECT_NE(follow_anew().find("the row before it is missing"), std::string::npos);
  stored.storage.restore(good);
  stored.storage.rows.log.erase(std::prev(stored.storage.rows.log.end()));
  EXPECT_NE(follow_anew().find("log that ends at entry"), std::string::npos);
  stored.storage.restore(good);
  std::swap(stored.storage.rows.log.begin()->second, stored.storage.rows.log.rbegin()->second);
  EXPECT_NE(follow_anew().find("does not follow what is before it"), std::string::npos);
}

}  // namespace
}  // namespace cuckoo
