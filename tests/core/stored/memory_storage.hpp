// FilterStorage in memory, with faults.
//
// Fault model
//   - A call can fail: the n-th from now returns an error of the asked code and changes nothing.
//     After a failure the test restores a snapshot, as SQLite's rollback does.
//   - Rows are handed to a visitor in a block of their own size that is freed after the visit, so
//     that the address sanitizer sees every read behind a row or after the visit.
//   - A write that is wrong about `stored`, or that writes an empty row, fails the test.
// Rows are public: a test damages them as it likes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/stored/record.hpp"
#include "core/stored/storage.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

struct StoredRows {
  std::map<int64_t, Bytes> pages;
  std::map<int64_t, Bytes> log;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> items;  // (generation, key) -> value
  Bytes record;
  std::map<uint64_t, Bytes> older;  // slot -> record
  Bytes places;
  Bytes progress;

  friend bool operator==(const StoredRows&, const StoredRows&) = default;
};

// What differs first, or "" when both hold the same bytes.
inline std::string difference(const StoredRows& a, const StoredRows& b) {
  const auto name = [](const auto& id) {
    if constexpr (requires { id.first; }) {
      return std::to_string(id.first) + "/" + std::to_string(id.second);
    } else {
      return std::to_string(id);
    }
  };
  const auto rows = [&](const char* kind, const auto& left, const auto& right) -> std::string {
    for (const auto& [id, row] : left) {
      const auto other = right.find(id);
      if (other == right.end() || other->second != row) {
        return std::string(kind) + " row " + name(id) +
               (other == right.end() ? " is missing" : " has other bytes");
      }
    }
    return left.size() == right.size() ? "" : std::string(kind) + " rows are too many";
  };
  std::string found = rows("page", a.pages, b.pages);
  found = found.empty() ? rows("log", a.log, b.log) : found;
  found = found.empty() ? rows("item", a.items, b.items) : found;
  found = found.empty() ? rows("older", a.older, b.older) : found;
  found = found.empty() && a.places != b.places ? "marked places differ" : found;
  found = found.empty() && a.progress != b.progress ? "progress differs" : found;
  return !found.empty() ? found : a.record == b.record ? "" : "records differ";
}

class MemoryStorage final : public FilterStorage {
 public:
  struct Calls {
    uint64_t reads = 0;  // calls, not rows
    uint64_t rows_read = 0;
    uint64_t writes = 0;
    uint64_t erases = 0;
    uint64_t polls = 0;

    uint64_t all() const noexcept { return reads + writes + erases + polls; }
  };

  StoredRows rows;
  Calls calls;

  StoredRows snapshot() const { return rows; }
  void restore(const StoredRows& snapshot) { rows = snapshot; }

  // The n-th call from now fails, 1 is the next one; 0: none does any more.
  void fail_at(uint64_t n, ErrorCode code = ErrorCode::kStorage) {
    fail_in_ = n;
    fail_code_ = code;
    failed_ = failed_ && n == 0;
  }
  // Since the last fault was armed.
  bool failed() const noexcept { return failed_; }

  Status read_pages(int64_t first, int64_t last, const RowVisitor& visitor) override {
    return read(rows.pages, first, last, visitor);
  }
  Status write_page(int64_t id, std::span<const std::byte> row, bool stored) override {
    return write(rows.pages, id, row, stored);
  }
  Status erase_pages(int64_t first, int64_t last) override {
    return erase(rows.pages, first, last);
  }

  Status read_log(int64_t first, int64_t last, const RowVisitor& visitor) override {
    return read(rows.log, first, last, visitor);
  }
  Status write_log(int64_t id, std::span<const std::byte> row, bool stored) override {
    return write(rows.log, id, row, stored);
  }
  Status erase_log(int64_t first, int64_t last) override { return erase(rows.log, first, last); }

  Status read_items(uint64_t generation, const ItemVisitor& visitor) override {
    CUCKOO_TRY(called(calls.reads));
    for (auto at = rows.items.lower_bound({generation, 0});
         at != rows.items.end() && at->first.first == generation; ++at) {
      ++calls.rows_read;
      CUCKOO_TRY(visitor(at->first.second, at->second));
    }
    return {};
  }
  Status write_item(uint64_t generation, uint64_t key, uint64_t value) override {
    CUCKOO_TRY(called(calls.writes));
    rows.items[{generation, key}] = value;
    return {};
  }
  Status erase_item(uint64_t generation, uint64_t key) override {
    CUCKOO_TRY(called(calls.erases));
    rows.items.erase({generation, key});
    return {};
  }
  Result<uint64_t> count_items() override {
    CUCKOO_TRY(called(calls.reads));
    return static_cast<uint64_t>(rows.items.size());
  }
  Status erase_items(uint64_t generation) override {
    CUCKOO_TRY(called(calls.erases));
    rows.items.erase(rows.items.lower_bound({generation, 0}),
                     rows.items.lower_bound({generation + 1, 0}));
    return {};
  }

  Status write_record(std::span<const std::byte> record) override {
    CUCKOO_TRY(called(calls.writes));
    rows.record.assign(record.begin(), record.end());
    return {};
  }

  Status read_older(uint64_t slot, Bytes& record) override {
    CUCKOO_TRY(called(calls.reads));
    EXPECT_LT(slot, kMaxGenerations);
    const auto found = rows.older.find(slot);
    record = found == rows.older.end() ? Bytes() : found->second;
    return {};
  }
  Status write_older(uint64_t slot, std::span<const std::byte> record) override {
    CUCKOO_TRY(called(calls.writes));
    EXPECT_LT(slot, kMaxGenerations);
    EXPECT_FALSE(record.empty());
    rows.older[slot].assign(record.begin(), record.end());
    return {};
  }

  Status read_places(Bytes& places) override {
    CUCKOO_TRY(called(calls.reads));
    places = rows.places;
    return {};
  }
  Status write_places(std::span<const std::byte> places) override {
    CUCKOO_TRY(called(calls.writes));
    rows.places.assign(places.begin(), places.end());
    return {};
  }

  Status read_progress(Bytes& progress) override {
    CUCKOO_TRY(called(calls.reads));
    progress = rows.progress;
    return {};
  }
  Status write_progress(std::span<const std::byte> progress) override {
    CUCKOO_TRY(called(calls.writes));
    rows.progress.assign(progress.begin(), progress.end());
    return {};
  }

  Status poll() override { return called(calls.polls); }

 private:
  using Table = std::map<int64_t, Bytes>;

  Status called(uint64_t& counter) {
    ++counter;
    if (fail_in_ == 0 || --fail_in_ != 0) {
      return {};
    }
    failed_ = true;
    return Error{fail_code_, "made to fail", 7};
  }

  // A visitor may write rows of the table that is being read (a rebuild does).
  Status read(const Table& table, int64_t first, int64_t last, const RowVisitor& visitor) {
    CUCKOO_TRY(called(calls.reads));
    for (auto at = table.lower_bound(first); at != table.end() && at->first <= last; ++at) {
      ++calls.rows_read;
      const Bytes copy = at->second;
      CUCKOO_TRY(visitor(at->first, copy));
    }
    return {};
  }

  Status write(Table& table, int64_t id, std::span<const std::byte> row, bool stored) {
    CUCKOO_TRY(called(calls.writes));
    EXPECT_EQ(stored, table.count(id) != 0) << "row " << id;
    EXPECT_FALSE(row.empty()) << "row " << id;
    table[id].assign(row.begin(), row.end());
    return {};
  }

  Status erase(Table& table, int64_t first, int64_t last) {
    CUCKOO_TRY(called(calls.erases));
    EXPECT_LE(first, last);
    table.erase(table.lower_bound(first), table.upper_bound(last));
    return {};
  }

  uint64_t fail_in_ = 0;
  ErrorCode fail_code_ = ErrorCode::kStorage;
  bool failed_ = false;
};

}  // namespace cuckoo::test
