// The columns of a filter table's key, one to eight. It makes keys of their values.
//
// A writable virtual table that is WITHOUT ROWID has a primary key of one column, because SQLite
// allows no other. So if the key is one column, that is the primary key. Otherwise it is the hidden
// column `cuckoo_key`: the whole key as one BLOB (tuple_key.hpp), as the filter hashes it. By its
// value, the *row key*, SQLite tells rows apart, and names the row that a DELETE or an UPDATE
// means.
//
// Invariants
//   I1  a key is as the filter hashes it: each value has the affinity of its column. A NULL among
//       the values makes it NULL.
//   I2  a key of several columns points into this object and lasts until the next one is made. A
//       key of one column points into its value.
//   I3  type and collation of a column are those of its source's column, if it has one (adopt()).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/key_hash.hpp"
#include "ext/filter/key_domain.hpp"
#include "ext/filter/source_spec.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class KeyColumns {
 public:
  static constexpr char kRowKey[] = "cuckoo_key";  // the hidden column

  // `table` is the table's name, for messages; it outlives this. No `columns` means one called key.
  // If `creating`, throws SqlError if a filter can't have them.
  KeyColumns(const std::string& table, const std::vector<ColumnSpec>& columns, bool creating);

  // Sets the type and the collation of a column.
  void adopt(size_t index, const std::string& type, Collation collation);
  // Does the same with those of the source. Throws SqlError if the declaration contradicts them.
  void adopt_source(size_t index, const SourceKey& from);

  const std::string& table() const noexcept { return table_; }
  size_t count() const noexcept { return columns_.size(); }
  bool several() const noexcept { return several_; }
  const std::string& name(size_t index) const noexcept { return columns_[index].name; }
  const KeyDomain& domain() const noexcept { return domain_; }  // without types
  Affinity affinity() const noexcept { return affinity_; }      // of the first column
  std::vector<std::string> names() const;
  std::vector<std::string> types() const;
  std::string names_text() const;  // "user_id, item_id"
  // "user_id = ? AND item_id = ?"
  std::string equalities(const char* equality = " = ?") const;

  // The columns of the table after those, and the one that is its primary key.
  int count_column() const noexcept { return static_cast<int>(count()); }
  int command_column() const noexcept { return static_cast<int>(count()) + 1; }
  int row_key_column() const noexcept { return several_ ? static_cast<int>(count()) + 2 : 0; }
  // Throws SqlError if the application has replaced a collation of the key: the filter hashes texts
  // by SQLite's rule, and would deny keys that the other rule calls equal.
  void refuse_replaced_collations(sqlite3* db) const;
  // Throws SqlError if another column than the command column has the name of that table.
  void refuse_table_name(const std::string& table) const;
  // For sqlite3_declare_vtab().
  std::string declaration(const std::string& command_column) const;

  // `values` has one for each column. `row_key` is the value of row_key_column().
  KeyView given(sqlite3_value** values) {
    return several_ ? tuple_.make(domain_, values) : key_of(values[0], affinity_, text_);
  }
  // Returns whether the value is an integer that the key's only column keeps as one.
  bool is_integer(sqlite3_value** values) const noexcept {
    return !several_ && is_plain_integer(values[0], affinity_);
  }
  KeyView to_store(sqlite3_value** values);  // throws SqlError instead of NULL
  // Returns the key that a row gets by UPDATE. It is not NULL either.
  KeyView changed(sqlite3_value* row_key, sqlite3_value** values);
  // Returns the key of the row that a statement means.
  KeyView of_row(sqlite3_value* row_key);
  // Throws SqlError if a statement gives a row another row key than it has. `row_key` is NULL for
  // an INSERT.
  void refuse_row_key(sqlite3_value* row_key, sqlite3_value* given) const;
  // Called after a statement's row: a large key must not leave its memory.
  void keep_if_small() noexcept {
    tuple_.keep_if_small();
    cuckoo::keep_if_small(text_);
    cuckoo::keep_if_small(row_text_);
  }
  // Returns the error of a NULL in that column. `why` says why it may not be NULL.
  SqlError null_error(size_t index, const char* why) const;

 private:
  void expect_names() const;
  Collation declared_collation(const ColumnSpec& column) const;

  const std::string& table_;
  std::vector<ColumnSpec> columns_;
  bool several_ = false;
  KeyDomain domain_;
  Affinity affinity_ = Affinity::kNone;
  TupleKey tuple_;  // the last one that was made
  std::string text_, row_text_;
};

}  // namespace cuckoo
