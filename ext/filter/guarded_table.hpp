// The table that a filter_guard shows, as SQLite describes it: its columns, the names of its rows,
// and its indexes.
//
// Invariants
//   I1  declaration_of() declares every column with the name, the affinity and the collation that
//       it has in the table. So SQLite converts and compares the guard's values as the table's.
//   I2  row_key names each row of the table uniquely: its rowid, or all values of its primary key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ext/filter/key_domain.hpp"
#include "ext/sqlite/api.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

struct GuardedColumn {
  std::string name;
  std::string type;  // in the guard's declaration; has the same affinity, and no other meaning
  std::string collation;
  Affinity affinity = Affinity::kNone;

  std::optional<Collation> known_collation() const { return collation_named(collation); }
  // Two written types of one affinity are the same: VARCHAR(80), VARCHAR(255).
  friend bool operator==(const GuardedColumn& a, const GuardedColumn& b) {
    return a.name == b.name && a.collation == b.collation && a.affinity == b.affinity;
  }
};

// An index by which the table's rows can be found, or the table itself by its rowid.
struct GuardedIndex {
  static constexpr int kRowid = -1;
  static constexpr int kOther = -2;  // an expression, or a column under another collation

  std::vector<int> columns;
  // By ANALYZE: how many rows have the same value in the first column, in the first two, and so on.
  // May be shorter than `columns`.
  std::vector<double> equal_rows;
  bool unique = false;
};

struct GuardedTable {
  std::string schema;
  std::string name;
  std::vector<GuardedColumn> columns;
  std::string rowid;             // a name of the rowid that no column has; empty: WITHOUT ROWID
  std::vector<int> primary_key;  // WITHOUT ROWID: its columns
  std::vector<GuardedIndex> indexes;
  double rows = 0x1p20;  // by ANALYZE; without it SQLite assumes so many

  bool has_rowid() const noexcept { return primary_key.empty(); }
  int column_named(const std::string& column) const;  // -1: none
  // The guard of a WITHOUT ROWID table has one more column, hidden, which names the row (I2).
  int row_key_column() const noexcept {
    return has_rowid() ? -1 : static_cast<int>(columns.size());
  }
  // Returns whether a guard that was declared for one of the two serves the other.
  bool same_declaration(const GuardedTable& other) const;
};

// Throws SqlError that names the table if there is no such ordinary table.
GuardedTable read_guarded_table(sqlite3* db, const std::string& schema, const std::string& table);

// "user_id, item_id": the names of those columns, as SQL in a text shows them.
std::string names_of(const GuardedTable& table, const std::vector<int>& columns);

// For sqlite3_declare_vtab().
std::string declaration_of(const GuardedTable& table);

}  // namespace cuckoo
