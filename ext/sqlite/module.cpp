#include "ext/sqlite/module.hpp"

#include <algorithm>
#include <span>

#include "ext/sqlite/options.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

void refuse_empty_arguments(sqlite3* db, const char* schema, const char* table, size_t count) {
  Statement select(db, sql_text("SELECT sql FROM \"%w\".sqlite_schema"
                                " WHERE type = 'table' AND name = ?1",
                                schema));
  const std::string name = table;
  select.bind(1, name);
  if (select.step() && count_arguments(select.text(0)) > count) {
    throw SqlError(SQLITE_ERROR, name + ": an empty argument; there is a comma too many");
  }
}

bool take_arguments(sqlite3_index_info* info, int first) {
  const std::span constraints(info->aConstraint, static_cast<size_t>(info->nConstraint));
  const auto is_argument = [first](const auto& constraint) {
    return constraint.iColumn >= first && constraint.op == SQLITE_INDEX_CONSTRAINT_EQ;
  };
  int end = first;
  for (const auto& constraint : constraints) {
    if (is_argument(constraint)) {
      if (constraint.usable == 0) {
        return false;
      }
      end = std::max(end, constraint.iColumn + 1);
    }
  }
  int taken = 0;
  for (int column = first; column < end; ++column) {
    // If a column is compared twice, the last constraint is the argument in parentheses. The other
    // one is left to SQLite.
    for (size_t i = constraints.size(); i-- > 0;) {
      if (constraints[i].iColumn == column && is_argument(constraints[i])) {
        info->aConstraintUsage[i].argvIndex = ++taken;
        info->aConstraintUsage[i].omit = 1;
        info->idxNum |= 1 << (column - first);
        break;
      }
    }
  }
  return true;
}

void describe_plan(sqlite3_index_info* info, const std::string& text) {
  info->idxStr = sqlite3_mprintf("%s", text.c_str());
  if (info->idxStr == nullptr) {
    throw std::bad_alloc();
  }
  info->needToFreeIdxStr = 1;
}

}  // namespace cuckoo
