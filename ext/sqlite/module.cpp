#include "ext/sqlite/module.hpp"

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

void describe_plan(sqlite3_index_info* info, const std::string& text) {
  info->idxStr = sqlite3_mprintf("%s", text.c_str());
  if (info->idxStr == nullptr) {
    throw std::bad_alloc();
  }
  info->needToFreeIdxStr = 1;
}

}  // namespace cuckoo
