// Which conditions on the columns of a key are a probe, and what another query gets instead.
#pragma once

#include "ext/filter/key_columns.hpp"
#include "ext/sqlite/api.hpp"

namespace cuckoo {

// What xBestIndex tells xFilter. Where the key has several columns, the two that refuse have a bit
// for each column at fault, from kColumnsShift on.
enum ProbePlan : int {
  kCountPlan = 0,            // as many rows as items, no column of them
  kProbePlan = 1,            // a value for each key column, in their order
  kRefuseListPlan = 2,       // would have to list keys: columns without a value
  kRefuseCollationPlan = 3,  // compares by another collation than the key's and BINARY
  kBinaryProbePlan = 4,      // as kProbePlan, but compared by BINARY, where the key's is another
  kSomeRowsPlan = 5,         // as kCountPlan, under a LIMIT (EXISTS has one): it need not end
};
constexpr int kColumnsShift = 8;

// For xBestIndex. Throws std::bad_alloc.
void plan_probe(sqlite3_index_info* info, const KeyColumns& key);

}  // namespace cuckoo
