// INSERT, UPDATE and DELETE of a filter's rows, as SQL has them: constraints, conflicts, and the
// hidden column `count`.
//
// Invariants
//   I1  a failure changes nothing: everything is checked before LiveFilter is told.
//   I2  no remove where it could take another key's bits or another generation's fingerprint.
//   I3  what is not kept is refused: a NULL in a key, copies that a set would not count.
#pragma once

#include <cstdint>

#include "ext/filter/key_columns.hpp"
#include "ext/filter/live_filter.hpp"

namespace cuckoo {

class RowWriter {
 public:
  // Both outlive it.
  RowWriter(LiveFilter& live, KeyColumns& key) noexcept : live_(live), key_(key) {}

  // `keys`: a value for each key column. `row_key`: that of the primary key (KeyColumns). `count`:
  // that of the column `count`. LiveFilter::follow() came before. They throw SqlError, and return
  // false for a row that OR IGNORE skips.
  bool insert(sqlite3_value** keys, sqlite3_value* count) {
    return is_null(count) ? insert_one(keys) : insert_copies(keys, count);
  }
  bool update(sqlite3_value* row_key, sqlite3_value** keys);
  void remove(sqlite3_value* row_key);
  void remove_copies(sqlite3_value** keys, sqlite3_value* count);  // the command 'delete'
  // An UPDATE that sets `count` to anything else than it is.
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
