#include "ext/filter/binary_probes.hpp"

#include <algorithm>

#include "ext/filter/key_columns.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/running.hpp"

namespace cuckoo {

std::vector<BinaryProbes::Execution> BinaryProbes::running() const {
  std::vector<Execution> found;
  for (sqlite3_stmt* one = next_writing(db_, nullptr); one != nullptr;
       one = next_writing(db_, one)) {
    found.push_back({one, sqlite3_stmt_status(one, SQLITE_STMTSTATUS_RUN, 0)});
  }
  return found;
}

void BinaryProbes::note() {
  if (sqlite3_txn_state(db_, nullptr) != SQLITE_TXN_WRITE) {
    return;  // no statement writes
  }
  for (const Execution& execution : running()) {
    if (std::find(executions_.begin(), executions_.end(), execution) == executions_.end()) {
      executions_.push_back(execution);
    }
  }
}

void BinaryProbes::keep_running() {
  const std::vector<Execution> now = running();
  std::erase_if(executions_, [&now](const Execution& execution) {
    return std::find(now.begin(), now.end(), execution) == now.end();
  });
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
