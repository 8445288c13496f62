// The virtual table that a filter makes for its triggers, <filter>_source_row_<suffix>. It does two
// things.
//
// It is one row of the source, with the values that it is given. For example,
// FROM seen_source_row_1f(new.a, new.b) gives one row, whose columns have the source's names, types
// and collations. Without it, a trigger would compare in another way than a query of the table:
// new.a has no affinity, so new.a = '1' is false where a = '1' is true.
//
// And it seals the triggers: it tells triggers that have been there all the time from those that
// were dropped and created again. SQLite gives a new object of a schema the largest rowid in
// sqlite_schema, and a filter makes this table after its triggers. A trigger that is created again,
// from its own SQL or not, gets a rowid above the table's.
//
// Invariants
//   I1  a row has the values that were given, unchanged.
//   I2  a trigger with a rowid below the table's has been there since its filter made it.
//   I3  only the filter makes the table with its suffix. Any other CREATE of it fails, both with
//       the extension (create()) and without it (no such module). If it was dropped, no trigger is
//       below it. A table with another suffix can be made, because a schema that is replayed makes
//       one. No filter uses it.
//   I4  VACUUM and the backup API keep the order, because SQLite copies triggers and virtual tables
//       after all else, in their order. A .dump does not, because it writes virtual tables before
//       triggers. A change of sqlite_schema by hand (writable_schema) may forge anything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ext/filter/source_spec.hpp"
#include "ext/sqlite/module.hpp"

namespace cuckoo {

class SourceRow {
 public:
  class Cursor;

  static constexpr const char* kModule = "cuckoo_source_row";

  explicit SourceRow(const ModuleArguments& arguments);

  // Returns whether this is the SQL of such a table.
  static bool is_made_by(const std::string& sql);
  // Makes the table `name` in the schema of a filter, with the columns of its source. Throws
  // SqlError.
  static void make(sqlite3* db, const std::string& schema, const std::string& name,
                   const SourceSpec& source);

  std::string declaration() const;
  void create() const;  // throws SqlError by I3
  static void destroy() noexcept {}
  void rename(const std::string&) const;  // always throws SqlError
  bool best_index(sqlite3_index_info* info) const;

 private:
  Connection& connection_;
  sqlite3* db_;
  std::string schema_;
  std::string name_;
  std::vector<std::string> columns_;  // their declarations
};

class SourceRow::Cursor {
 public:
  explicit Cursor(SourceRow& table) : values_(table.columns_.size()) {}

  void filter(int given, const char*, int count, sqlite3_value** values);
  void next() noexcept { done_ = true; }
  bool eof() const noexcept { return done_; }
  void column(sqlite3_context* context, int column) const;
  static sqlite3_int64 rowid() noexcept { return 0; }

 private:
  struct Free {
    void operator()(sqlite3_value* value) const noexcept { sqlite3_value_free(value); }
  };
  std::vector<std::unique_ptr<sqlite3_value, Free>> values_;
  bool done_ = true;
};

}  // namespace cuckoo
