// One row of a filter's source, given by its values: the virtual table <filter>_source_row, which
// the filter makes for triggers that compute something. FROM seen_source_row(new.a, new.b) gives
// one row with columns of the source's names, types and collations.
//
// Without it a trigger would compare otherwise than a query of the table: new.a has no affinity, so
// that new.a = '1' is false where a = '1' is true.
//
// Invariant
//   I1  a row has the values that were given, unchanged.
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

  // Those of a filter are called so.
  static std::string name_for(const std::string& filter) { return filter + "_source_row"; }
  // For a filter, in its schema, with the columns of that source. Throw SqlError.
  static void make(sqlite3* db, const std::string& schema, const std::string& filter,
                   const SourceSpec& source);
  static void remove(sqlite3* db, const std::string& schema, const std::string& filter);

  std::string declaration() const;
  static void create() noexcept {}
  static void destroy() noexcept {}
  void rename(const std::string&) const;  // throws SqlError
  bool best_index(sqlite3_index_info* info) const;

 private:
  std::string name_;
  std::vector<std::string> columns_;  // as they are declared
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
