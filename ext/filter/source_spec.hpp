// What a filter holds of its source: a column of a table, or expressions of its columns, of all
// rows or of those that meet a condition. As CREATE takes it, as %_config keeps it, and what of it
// SQLite accepts.
//
// Invariants
//   I1  a text that resolve_source() accepted is one expression wherever it stands between
//       parentheses: it closes its quotes and parentheses and has no comment and no `;`.
//   I2  `columns` are all columns that the expressions can name, and perhaps more: every column
//       whose name stands in them as a word, outside of texts.
//   I3  an expression is deterministic and reads nothing but the row: SQLite judges, as it would
//       for an index.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ext/filter/key_domain.hpp"
#include "ext/sqlite/options.hpp"

namespace cuckoo {

struct SourceColumn {
  std::string table;
  std::string column;
};

struct SourceSpec {
  struct Column {
    std::string name;  // in the expressions
    std::string now;   // in the table, which may have renamed it
  };

  std::string table;
  std::vector<std::string> keys;  // one for each key column
  std::string where;              // empty: all rows
  std::vector<Column> columns;    // empty: is_plain()

  // One column, of all rows: nothing to compute.
  bool is_plain() const { return keys.size() == 1 && where.empty() && column_of(keys[0]); }
  // Rows and values as they are in the table.
  bool is_of_columns() const;
  // Of a plain one.
  SourceColumn column() const { return {table, column_of(keys[0]).value_or("")}; }
  // Returns the name that a column has in the table now, given the one in the expressions.
  std::string name_now(const std::string& name) const;
  // Returns the table's column of each key, as the table names it now. Only if is_of_columns().
  std::vector<std::string> key_columns() const;
  // The name that an expression is, out of its quotes; nothing where it is more than a name.
  static std::optional<std::string> column_of(std::string_view expression);
  // An expression as it stands in a statement.
  static std::string sql_of(const std::string& expression);
};

// "main.users(lower(email))", for messages.
std::string shown(const std::string& schema, const SourceSpec& source);

// The declared type and the collation that a key takes from its column. An expression gives none.
struct SourceKey {
  bool of_column = false;
  std::string type;
  Collation collation = Collation::kBinary;
};
// For the table `filter`. Finds `columns`. Throws SqlError when there is no such ordinary table or
// column, a column has a collation that no filter knows, or by I1 and I3.
std::vector<SourceKey> resolve_source(sqlite3* db, const std::string& filter,
                                      const std::string& schema, SourceSpec& source);

struct ColumnInfo {
  std::string name;
  std::string type;
  bool generated = false;
  bool rowid = false;  // another name of it
};
// The columns of that table that an expression can name; none where it is not there.
std::vector<ColumnInfo> columns_of(sqlite3* db, const std::string& schema,
                                   const std::string& table);

// What a declaration says to mean that type's affinity: any word may stand in a type, and some
// (HIDDEN) mean something there.
const char* plain_type(const std::string& type);

// Puts an item at the end of a list, behind the separator if it is not the first.
inline void append_item(std::string& list, std::string_view separator, const std::string& item) {
  list += list.empty() ? std::string_view() : separator;
  list += item;
}

// "new"."email" AS "email", …: every column under the name that the expressions have for it.
// `of`: in front of each, "new." for example.
std::string column_list(const SourceSpec& source, const std::string& of);

}  // namespace cuckoo
