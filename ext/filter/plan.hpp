// filter_plan(capacity, fpr, bytes): a table-valued function with one row for each kind and layout
// of filter, which says what it would take. It makes nothing.
//
// Two of the three are given. `bytes` is the memory that the whole filter may take. Then the
// greatest capacity that fits is searched for, or the least rate. A kind that does not fit has no
// row.
#pragma once

#include <array>
#include <string>

#include "core/segments/plan.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class FilterPlans {
 public:
  class Cursor;

  explicit FilterPlans(const ModuleArguments& arguments) : db_(arguments.db) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  sqlite3* db() const noexcept { return db_; }

 private:
  sqlite3* db_;
};

class FilterPlans::Cursor {
 public:
  explicit Cursor(FilterPlans& table) : db_(table.db()) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next();
  bool eof() const noexcept { return row_ >= kKinds.size(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(row_) + 1; }

 private:
  enum class Unknown : uint8_t { kNothing, kCapacity, kRate };
  static constexpr std::array kKinds = {FilterKind::kCuckoo, FilterKind::kBloom,
                                        FilterKind::kBlockedBloom, FilterKind::kCountingBloom};
  void take_arguments(int given, sqlite3_value** values);
  void move_to_row();
  void compute();
  FilterOptions options_of(FilterKind kind, bool growth) const;
  uint64_t least_bytes() const;
  bool solve();
  bool solve_for_capacity();
  bool solve_for_rate();
  bool fits(uint64_t capacity, double rate) const;
  std::string options_text(FilterKind kind) const;

  sqlite3* db_;
  KeyCopy capacity_argument_, rate_argument_, bytes_argument_;  // shown as they were given
  Unknown unknown_ = Unknown::kNothing;
  uint64_t capacity_ = 0;  // of the row, like rate_
  double rate_ = 0;
  uint64_t bytes_ = 0;                    // 0: not given
  uint32_t page_bytes_ = 0;               // of a filter's pages, in the main database
  uint32_t database_page_bytes_ = 0;      // of the database's own
  segments::FilterPlan growing_, fixed_;  // the row's kind, with growth on and off
  size_t row_ = kKinds.size();
};

}  // namespace cuckoo
