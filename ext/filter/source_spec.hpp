// The source of a filter as its options declare it: a column of a table, or expressions of its
// columns, of all rows or of those that meet a condition. CREATE takes it, %_config keeps it, and
// resolve_source() lets SQLite check it.
//
// Invariants
//   I1  a text that resolve_source() accepted is one expression, anywhere between parentheses: it
//       closes its quotes and parentheses, and has no comment and no `;`.
//   I2  `columns` are all columns that the expressions can name, and perhaps more: every column
//       whose name is a word in them, outside of texts.
//   I3  an expression is deterministic and reads only the row. SQLite decides this as it does for
//       an index.
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

  // Returns whether it is one column of all rows, so that there is nothing to compute.
  bool is_plain() const { return keys.size() == 1 && where.empty() && column_of(keys[0]); }
  // Returns whether it is columns of all rows, with their values as in the table.
  bool is_of_columns() const;
  // Returns the column of a plain source.
  SourceColumn column() const { return {table, column_of(keys[0]).value_or("")}; }
  // Returns `columns`, or the column of a plain source, under its present name.
  std::vector<Column> used_columns() const;
  // Returns the name that a column has in the table now, given the one in the expressions.
  std::string name_now(const std::string& name) const;
  // Returns the table's column of each key, as the table names it now. Only if is_of_columns().
  std::vector<std::string> key_columns() const;
  // Returns the name, without quotes, if the expression is one; nothing if it is more than a name.
  static std::optional<std::string> column_of(std::string_view expression);
  // Returns an expression as statements have it.
  static std::string sql_of(const std::string& expression);
};

// Returns "main.users(lower(email))", for messages.
std::string shown(const std::string& schema, const SourceSpec& source);

// The declared type and the collation that a key takes from its column. An expression gives none.
struct SourceKey {
  bool of_column = false;
  std::string type;
  Collation collation = Collation::kBinary;
};
// Resolves the source of the table `filter`, and finds `columns`. Throws SqlError if there is no
// such ordinary table or column, if a column has a collation that no filter knows, or by I1 and I3.
std::vector<SourceKey> resolve_source(sqlite3* db, const std::string& filter,
                                      const std::string& schema, SourceSpec& source);

struct ColumnInfo {
  std::string name;
  std::string type;
  bool generated = false;
  bool rowid = false;  // another name of the rowid
};
// Returns the columns of that table that an expression can name; none if there is no such table.
std::vector<ColumnInfo> columns_of(sqlite3* db, const std::string& schema,
                                   const std::string& table);
// Returns the column of that name, or null.
const ColumnInfo* find_column(const std::vector<ColumnInfo>& all, const std::string& name);

// Returns a type that has the same affinity and is safe in a declaration. A column's own type may
// be any word, and some (HIDDEN) have a meaning there.
const char* plain_type(const std::string& type);

// Puts an item at the end of a list, after the separator unless it is the first.
inline void append_item(std::string& list, std::string_view separator, const std::string& item) {
  list += list.empty() ? std::string_view() : separator;
  list += item;
}

// Returns every column under the name that the expressions have for it, with `of` before each:
// "new"."email" AS "email", and so on.
std::string column_list(const SourceSpec& source, const std::string& of);

}  // namespace cuckoo
