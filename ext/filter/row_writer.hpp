// INSERT, UPDATE and DELETE of a filter's rows, as SQL has them: constraints, conflicts, and the
// hidden column `count`.
//
// Invariants
//   I1  a failure changes nothing, because everything is checked before LiveFilter is changed.
//   I2  a remove is refused if it could take another key's bits, or another generation's
//       fingerprint.
//   I3  values that would not be kept are refused: a NULL in a key, and copies that a set would not
//       count.
#pragma once

#include <cstdint>

#include "ext/filter/key_columns.hpp"
#include "ext/filter/live_filter.hpp"

namespace cuckoo {

class RowWriter {
 public:
  // Both outlive this.
  RowWriter(LiveFilter& live, KeyColumns& key) noexcept : live_(live), key_(key) {}

  // `keys` has a value for each key column. `row_key` is the value of the primary key (KeyColumns).
  // `count` is that of the column `count`. Call LiveFilter::follow() before. They throw SqlError,
  // and return false for a row that OR IGNORE skips.
  bool insert(sqlite3_value** keys, sqlite3_value* count) {
    return is_null(count) ? insert_one(keys) : insert_copies(keys, count);
  }
  bool update(sqlite3_value* row_key, sqlite3_value** keys);
  void remove(sqlite3_value* row_key);
  void remove_copies(sqlite3_value** keys, sqlite3_value* count);  // the command 'delete'
  // Throws if an UPDATE sets `count` to another value than it has.
  void refuse_count(sqlite3_value* row_key, sqlite3_value* count);

 private:
  const FilterOptions& options() const noexcept { return live_.filter().options(); }
  bool insert_one(sqlite3_value** keys);
  bool insert_copies(sqlite3_value** keys, sqlite3_value* count);
  uint64_t copies_of(sqlite3_value* count) const;
  void remove_key(const KeyView& key, uint64_t copies);
  void refuse_removal(const char* what) const;
  int on_conflict() const noexcept { return sqlite3_vtab_on_conflict(live_.store().db()); }
  bool refuse_present() const;

  LiveFilter& live_;
  KeyColumns& key_;
};

}  // namespace cuckoo
