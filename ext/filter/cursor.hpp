// The cursor of a filter table. It gives one row for a key that is there, or a row for each item.
//
// Invariants
//   I1  a row repeats the key that was asked for, because the filter does not store keys.
//   I2  memory is up to date before a probe, because a roll-back may come between any two calls.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/key_hash.hpp"
#include "ext/filter/probe_plan.hpp"
#include "ext/filter/table.hpp"

namespace cuckoo {

class FilterTable::Cursor {
 public:
  explicit Cursor(FilterTable& table);
  ~Cursor() {
    if (row_ != nullptr) {
      table_.give_back(std::move(row_));
    }
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Called for each row of a join. So the probe of an integer key is inline, and the rest is in a
  // function.
  void filter(int plan, const char*, int, sqlite3_value** values) {
    rows_left_ = 0;
    plan_ = plan;
    if (plan != kProbePlan || !live_.ready_for_hashes()) [[unlikely]] {
      filter_other(plan, values);
    } else if (is_plain_integer(values[0], affinity_)) [[likely]] {
      const int64_t key = sqlite3_value_int64(values[0]);
      key_.assign(key);
      rows_left_ = live_.contains(hash_integer(key, live_.seed())) ? 1 : 0;
    } else {
      probe_any(values[0]);
    }
  }
  void next() noexcept { --rows_left_; }
  bool eof() const noexcept { return rows_left_ == 0; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return 0; }

 private:
  [[noreturn]] void refuse(int plan) const;
  [[noreturn]] void refuse_to_list() const;
  [[noreturn]] void refuse_to_count(uint64_t items) const;
  [[noreturn]] void refuse_collation(int columns) const;
  [[noreturn]] void refuse_part_of_key(int columns) const;
  void probe_any(sqlite3_value* value);
  void probe_tuple(sqlite3_value** values);
  void filter_other(int plan, sqlite3_value** values);
  void tuple_column(sqlite3_context* context, int column);
  void result_occurrences(sqlite3_context* context, const KeyView& key);

  FilterTable& table_;
  const KeyColumns& columns_;
  LiveFilter& live_;
  Affinity affinity_;
  int plan_ = 0;
  bool noted_binary_ = false;
  uint64_t rows_left_ = 0;
  KeyCopy key_;
  std::string text_;
  std::unique_ptr<TupleRow> row_;  // instead of key_, if the key has several columns
};

}  // namespace cuckoo
