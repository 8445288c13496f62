// The commands of a filter: INSERT INTO filter(filter, key) VALUES ('command', argument).
//
// Invariants
//   I1  if triggers keep a filter in step with its source, it takes no command that would lose keys
//       of the source (DeclaredSource).
//   I2  an argument of another type than the command's is refused before anything changes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ext/filter/declared_source.hpp"
#include "ext/filter/key_columns.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/row_writer.hpp"
#include "ext/table/command.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

class FilterCommands {
 public:
  // An object serves one statement.
  FilterCommands(Connection& connection, LiveFilter& live, KeyColumns& key, DeclaredSource& source,
                 RowWriter& rows) noexcept
      : connection_(connection), live_(live), key_(key), source_(source), rows_(rows) {}

  // `keys` has a value for each key column. The first one is the argument of every command except
  // 'delete'. Throws SqlError.
  void run(sqlite3_value* command, sqlite3_value** keys, sqlite3_value* count);

  // Returns whether the command replaces all that the filter holds. So it works on a filter that
  // can't be read.
  bool replaces_all(sqlite3_value* command) const;

  const std::string& name() const noexcept { return live_.table(); }  // the table's

 private:
  static std::span<const Command<FilterCommands>> all() noexcept;
  void expect_one_argument(const std::string& command) const;
  void apply(sqlite3_value* changes);
  void check(sqlite3_value*) { live_.check(); }
  void clear(sqlite3_value*);
  void remove(sqlite3_value*) { rows_.remove_copies(keys_, count_); }
  void import(sqlite3_value* image);
  void merge(sqlite3_value* other);  // a filter's name or an image
  void rebuild(sqlite3_value*) { rebuild_for(0); }
  void resize(sqlite3_value* capacity);
  void rotate(sqlite3_value* number);  // of the newest generation then; NULL: the next one
  void rebuild_for(uint64_t capacity);

  Connection& connection_;
  LiveFilter& live_;
  KeyColumns& key_;
  DeclaredSource& source_;
  RowWriter& rows_;
  sqlite3_value** keys_ = nullptr;
  sqlite3_value* count_ = nullptr;
};

}  // namespace cuckoo
