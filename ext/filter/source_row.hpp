// One row of a filter's source, with the values that it is given: the virtual table
// <filter>_source_row. A filter makes it for triggers that compute something. For example, FROM
// seen_source_row(new.a, new.b) gives one row, whose columns have the source's names, types and
// collations.
//
// Without it, a trigger would compare in another way than a query of the table. new.a has no
// affinity, so new.a = '1' is false where a = '1' is true.
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

  // Returns the name that this table has for a filter.
  static std::string name_for(const std::string& filter) { return filter + "_source_row"; }
  // Make or drop it for a filter, in its schema, with the columns of that source. Throw SqlError.
  static void make(sqlite3* db, const std::string& schema, const std::string& filter,
                   const SourceSpec& source);
  static void remove(sqlite3* db, const std::string& schema, const std::string& filter);

  std::string declaration() const;
  static void create() noexcept {}
  static void destroy() noexcept {}
  void rename(const std::string&) const;  // always throws SqlError
  bool best_index(sqlite3_index_info* info) const;

 private:
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
