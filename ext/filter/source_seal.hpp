// The seal of a filter's triggers: it tells triggers that have been there all the time from those
// that were dropped and created again.
//
// SQLite gives a new object of a schema the largest rowid in sqlite_schema. A filter makes its
// three triggers and, after them, its seal: the empty virtual table <filter>_source_seal. A trigger
// that is created again, from its own SQL or not, gets a rowid above the seal's.
//
// Invariants
//   I1  a trigger with a rowid below the seal's has been there since its filter made it.
//   I2  only a filter makes a seal. Any other CREATE fails, both with the extension (create()) and
//       without it (no such module). A seal may be dropped. Then no trigger is below it.
//   I3  VACUUM and the backup API keep the order, because SQLite copies triggers and virtual tables
//       after all else, in their order. A .dump does not, because it writes virtual tables before
//       triggers. A change of sqlite_schema by hand (writable_schema) may forge anything.
#pragma once

#include <string>

#include "ext/sqlite/module.hpp"

namespace cuckoo {

class SourceSeal {
 public:
  class Cursor;

  static constexpr const char* kModule = "cuckoo_source_seal";

  explicit SourceSeal(const ModuleArguments& arguments)
      : connection_(arguments.connection), name_(arguments.table()) {}

  // Returns the name of that filter's seal.
  static std::string name_for(const std::string& filter) { return filter + "_source_seal"; }
  // Returns whether this is the SQL of a seal.
  static bool is_made_by(const std::string& sql);
  // Make or drop the seal of a filter, in its schema. Throw SqlError.
  static void make(sqlite3* db, const std::string& schema, const std::string& filter);
  static void remove(sqlite3* db, const std::string& schema, const std::string& filter);

  static std::string declaration() { return "CREATE TABLE x(unused)"; }
  void create() const;  // throws SqlError, unless make() runs
  static void destroy() noexcept {}
  void rename(const std::string&) const;  // throws SqlError
  static bool best_index(sqlite3_index_info*) noexcept { return true; }

 private:
  Connection& connection_;
  std::string name_;
};

class SourceSeal::Cursor {
 public:
  explicit Cursor(SourceSeal&) noexcept {}

  static void filter(int, const char*, int, sqlite3_value**) noexcept {}
  static void next() noexcept {}
  static bool eof() noexcept { return true; }
  static void column(sqlite3_context*, int) noexcept {}
  static sqlite3_int64 rowid() noexcept { return 0; }
};

}  // namespace cuckoo
