// Rows of sqlite_schema, in the order in which SQLite made them.
//
// Names are compared here, not in SQL, because an application may have replaced lower(), LIKE and
// NOCASE by functions of its own. So `condition` uses operators alone: "type = 'trigger'".
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ext/sqlite/api.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

class SchemaRows {
 public:
  SchemaRows(sqlite3* db, const std::string& schema, const char* condition)
      : select_(db, sql_text("SELECT name, tbl_name, sql, rootpage, type FROM \"%w\".sqlite_schema"
                             " WHERE %s ORDER BY rowid",
                             schema.c_str(), condition)) {}

  bool next() { return select_.step(); }
  // Moves on to the row of that name. Returns false if there is none.
  bool find(const std::string& name) {
    while (next()) {
      if (is_named(name)) {
        return true;
      }
    }
    return false;
  }

  bool is_named(const std::string& name) const { return equals(kName, name); }
  bool is_named(const std::vector<std::string>& names) const {
    return std::any_of(names.begin(), names.end(),
                       [this](const std::string& name) { return is_named(name); });
  }
  bool is_of_table(const std::string& table) const { return equals(kTable, table); }
  bool is_trigger() const { return select_.text(kType) == "trigger"; }
  std::string name() const { return select_.text(kName); }
  std::string table() const { return select_.text(kTable); }
  std::string sql() const { return select_.text(kSql); }
  // Returns 0 for a view, a trigger or a virtual table.
  int64_t root_page() const noexcept { return select_.integer(kRootPage); }

 private:
  enum : int { kName, kTable, kSql, kRootPage, kType };

  bool equals(int column, const std::string& text) const {
    return sqlite3_stricmp(select_.text(column).c_str(), text.c_str()) == 0;
  }

  Statement select_;
};

// Returns whether the table is STRICT. There a column ANY has no affinity; in any other table ANY
// means NUMERIC.
inline bool is_strict(sqlite3* db, const std::string& schema, const std::string& table) {
  constexpr int kStrict = 5;
  Statement list(db, sql_text(R"(PRAGMA "%w".table_list("%w"))", schema.c_str(), table.c_str()));
  return list.step() && list.integer(kStrict) != 0;
}

}  // namespace cuckoo
