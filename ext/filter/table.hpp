// The virtual tables cuckoo_filter and bloom_filter: one class, told apart by their options. Its
// members do the work, each for one subject:
//   KeyColumns      the visible columns, and keys of their values
//   DeclaredSource  the table that the filter follows
//   RowWriter       INSERT, UPDATE and DELETE
//   FilterCommands  the commands
//   BinaryProbes    statements that may not change rows
//   plan_probe()    which queries are a look-up, and Cursor, which answers them
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ext/filter/binary_probes.hpp"
#include "ext/filter/commands.hpp"
#include "ext/filter/declared_source.hpp"
#include "ext/filter/key_columns.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/options.hpp"
#include "ext/filter/row_writer.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/schema_fact.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/stored_table.hpp"

namespace cuckoo {

class FilterTable : public StoredTable<LiveFilter> {
 public:
  class Cursor;  // cursor.hpp

  FilterTable(const ModuleArguments& arguments, FilterModule module);

  static bool owns_shadow(const char* suffix) noexcept {
    return is_shadow_suffix(suffix, kFilterTables);
  }

  std::string declaration() const { return key_.declaration(declared_name_); }
  void create();
  void destroy();
  bool best_index(sqlite3_index_info* info);
  bool update(int count, sqlite3_value** values, sqlite3_int64& rowid);
  void rename(const std::string& name);
  void begin() noexcept {
    StoredTable::begin();
    source_.begin();
  }

  const KeyColumns& key() const noexcept { return key_; }
  BinaryProbes& binary_probes() noexcept { return binary_probes_; }

  // A cursor's memory for a key of several columns. One is kept for the next cursor.
  struct TupleRow {
    TupleKey key;
    std::array<KeyCopy, kMaxKeyColumns> columns;

    bool is_small() const noexcept {
      return key.is_small() && std::all_of(columns.begin(), columns.end(),
                                           [](const KeyCopy& one) { return one.is_small(); });
    }
  };
  std::unique_ptr<TupleRow> take_row() {
    return spare_row_ != nullptr ? std::move(spare_row_) : std::make_unique<TupleRow>();
  }
  void give_back(std::unique_ptr<TupleRow> row) noexcept {
    if (row->is_small()) {
      spare_row_ = std::move(row);
    }
  }

 private:
  std::optional<SeedSource> seed_source() const;
  FilterCommands commands();
  bool follow_for(sqlite3_value* command);

  Connection& connection_;
  sqlite3* db_;
  FilterModule module_;
  std::string declared_name_;
  Options options_;
  KeyColumns key_;
  DeclaredSource source_;
  RowWriter rows_;
  BinaryProbes binary_probes_;
  SchemaFact checked_;  // that the triggers are sound, and the collations SQLite's own
  std::unique_ptr<TupleRow> spare_row_;
};

// SQLite knows the table by the names of these two modules.
class CuckooTable : public FilterTable {
 public:
  explicit CuckooTable(const ModuleArguments& arguments)
      : FilterTable(arguments, FilterModule::kCuckoo) {}
};
class BloomTable : public FilterTable {
 public:
  explicit BloomTable(const ModuleArguments& arguments)
      : FilterTable(arguments, FilterModule::kBloom) {}
};

}  // namespace cuckoo
