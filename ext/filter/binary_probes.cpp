#include "ext/filter/binary_probes.hpp"

#include <algorithm>

#include "ext/filter/key_columns.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/running.hpp"

namespace cuckoo {

BinaryProbes::Execution BinaryProbes::execution_of(sqlite3_stmt* statement) noexcept {
  return {statement, sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0)};
}

bool BinaryProbes::runs(const Execution& execution) const noexcept {
  sqlite3_stmt* one = next_writing(db_, nullptr);
  while (one != nullptr && one != execution.statement) {
    one = next_writing(db_, one);
  }
  return one != nullptr && execution_of(one) == execution;
}

void BinaryProbes::note() {
  if (sqlite3_txn_state(db_, nullptr) != SQLITE_TXN_WRITE) {
    return;  // no statement writes
  }
  for (sqlite3_stmt* one = next_writing(db_, nullptr); one != nullptr;
       one = next_writing(db_, one)) {
    const Execution execution = execution_of(one);
    if (std::find(executions_.begin(), executions_.end(), execution) == executions_.end()) {
      executions_.push_back(execution);
    }
  }
}

void BinaryProbes::keep_running() noexcept {
  std::erase_if(executions_, [this](const Execution& execution) { return !runs(execution); });
}

void BinaryProbes::refuse_change_by(const KeyColumns& key) {
  keep_running();
  if (!executions_.empty()) {
    throw SqlError(SQLITE_ERROR, key.table() +
                                     ": DELETE and UPDATE find keys by the collation of the key"
                                     " only; write " +
                                     key.equalities(" = value") + ", the key on the left of =");
  }
}

}  // namespace cuckoo
