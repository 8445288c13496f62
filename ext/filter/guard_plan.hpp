// Plans how a filter_guard reads the table that it guards: which of SQLite's conditions go into the
// statement on that table, whether the filter is asked before, and what that costs.
//
// Invariants
//   I1  the statement finds every row that SQLite's own conditions accept. It may find more,
//       because SQLite tests each row again. fit() decides this anew for each value: xBestIndex
//       knows neither the value's class nor the affinity of the other side: an INTEGER column,
//       compared with a TEXT one, turns the texts '5' and '05' into 5.
//   I2  the filter is asked only if the statement has an equality for each column of the key. It is
//       asked only for values as those columns store them, and never for NULL, because rows with a
//       NULL in the key are not in the filter. So the filter's "no" means that the statement would
//       find nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ext/filter/guarded_table.hpp"
#include "ext/sqlite/api.hpp"

namespace cuckoo {

enum class GuardOperator : uint8_t {
  kEqual,
  kIs,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIsNull
};

inline bool is_equality(GuardOperator op) noexcept {
  return op == GuardOperator::kEqual || op == GuardOperator::kIs || op == GuardOperator::kIsNull;
}
inline bool is_upper_bound(GuardOperator op) noexcept {
  return op == GuardOperator::kLess || op == GuardOperator::kLessOrEqual;
}
inline bool is_range(GuardOperator op) noexcept {
  return is_upper_bound(op) || op == GuardOperator::kGreater ||
         op == GuardOperator::kGreaterOrEqual;
}

// A condition that may go into the statement: a column, an operator and, mostly, a value.
struct GuardTerm {
  static constexpr int kRowid = -1;

  int column = kRowid;
  GuardOperator op = GuardOperator::kEqual;
  bool own_collation = true;  // SQLite compares texts by the column's collation
  bool list = false;          // IN with all of its values; its column has texts or is untyped
  int untyped_key = -1;       // a key column without a type: its place in the key; otherwise -1

  bool has_value() const noexcept { return op != GuardOperator::kIsNull; }
};

struct GuardPlan {
  static constexpr size_t kMostTerms = 32;

  std::vector<GuardTerm> terms;  // the arguments of xFilter, in their order
  std::vector<int> places;       // of the table's columns in a row of the statement; -1: not read
  int rowid_place = -1;
  std::vector<int> asked;  // the terms with the values of the key; empty: the filter is not asked
  std::vector<int> lists;  // the terms that are lists
  // If there are lists: the term that begins an index, and about how many rows have one value of it
  // and of the terms that follow in the index. More questions than that cost more than these rows.
  int lead = -1;
  double lead_rows = 0;
  uint32_t one_row = 0;  // terms that together find one row at most; 0: there are none

  bool asks() const noexcept { return !asked.empty(); }
  std::string statement(const GuardedTable& table, uint32_t pushed) const;
};

// Says how the statement uses a term, for one value.
enum class Fit : uint8_t {
  kPush,       // goes into the statement
  kPushColon,  // goes into the statement with the value ':', which is larger
  kLeave,      // the statement does without it
  kNever,      // no row fulfils it
};

// `types` are those of the values in the term's column (KeyTypes), if it is a column of the
// filter's key; otherwise kUnknownKeys.
Fit fit(const GuardTerm& term, const GuardedTable& table, sqlite3_value* value, uint8_t types);

// The facts about the guard that planning needs.
struct GuardPlanning {
  const GuardedTable& table;
  const std::vector<int>& keys;  // its columns
  std::string filter;
  bool may_ask;
};

struct PlannedGuard {
  GuardPlan plan;
  std::string text;  // for EXPLAIN QUERY PLAN
  std::string name;  // equal for equal plans
};

// Chooses the conditions, and tells SQLite which it took and what the plan costs.
PlannedGuard plan_guard(sqlite3_index_info* info, const GuardPlanning& planning);

}  // namespace cuckoo
