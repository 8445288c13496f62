// Finds the conditions on the columns of a key that are a probe, and refuses other queries.
#pragma once

#include "ext/filter/key_columns.hpp"
#include "ext/sqlite/api.hpp"

namespace cuckoo {

// idxNum, from xBestIndex to xFilter. If the key has several columns, the two plans that refuse
// have a bit for each column at fault, from kColumnsShift on.
enum ProbePlan : int {
  kCountPlan = 0,            // as many rows as items, no column of them
  kProbePlan = 1,            // a value for each key column, in their order
  kRefuseListPlan = 2,       // would have to list keys: columns without a value
  kRefuseCollationPlan = 3,  // compares by another collation than the key's and BINARY
  kBinaryProbePlan = 4,      // as kProbePlan, but compared by BINARY, while the key has another one
  kSomeRowsPlan = 5,         // as kCountPlan, but under a LIMIT (as of EXISTS), so it may end early
};
constexpr int kColumnsShift = 8;

// Chooses the plan for xBestIndex. Throws std::bad_alloc.
void plan_probe(sqlite3_index_info* info, const KeyColumns& key);

}  // namespace cuckoo
