// INSERT, UPDATE and DELETE of a flash_kv's rows, as SQL has them: constraints, conflicts, computed
// columns, and rows without a key, which get the digest of their value.
//
// Invariants
//   I1  a failure changes nothing, because everything is checked before LiveFlash changes anything.
//   I2  no computed column is written. An INSERT that sets one is refused, and so is an UPDATE that
//       sets one to another value than it has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "ext/flash/columns.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

class FlashRowWriter {
 public:
  // All arguments outlive this.
  FlashRowWriter(LiveFlash& live, const FlashColumns& columns, Connection& connection) noexcept
      : live_(live), columns_(columns), connection_(connection) {}

  // Notes that a scan begins, perhaps of the statement that will write. Rows with a later seq were
  // written since then.
  void note_scan() noexcept { scan_lsn_ = live_.flash().next_lsn(); }

  // `columns` has a value for each column. `key` is that of the row, which may be gone.
  // Call LiveFlash::follow() before. They throw SqlError.
  void expect_none_computed(sqlite3_value** columns) const;  // for an INSERT, and for commands
  void insert(sqlite3_value** columns);
  void update(sqlite3_value* key, sqlite3_value** columns);
  void remove(sqlite3_value* key);

 private:
  const std::string& name() const noexcept { return live_.table(); }
  int on_conflict() const noexcept { return sqlite3_vtab_on_conflict(connection_.db()); }
  Digester& digester() { return connection_.kept<Digester>(); }

  void encode_key(const KeyView& key);
  void encode_value(sqlite3_value* value, bool key_was_real);
  void encode_address();
  [[noreturn]] void refuse_computed(int column) const;
  void expect_unchanged(sqlite3_value** columns);

  bool take_old_key(sqlite3_value* value);
  void change(sqlite3_value* key_value, sqlite3_value* value);
  void note_key();
  void expect_same_content();
  [[noreturn]] void refuse_duplicate() const;

  LiveFlash& live_;
  const FlashColumns& columns_;
  Connection& connection_;
  uint64_t scan_lsn_ = 0;

  // Reused from row to row.
  std::vector<std::byte> key_bytes_, old_key_bytes_, value_bytes_, stored_value_;
  HashedKey old_key_;  // of old_key_bytes_
  std::string key_text_, text_;
};

}  // namespace cuckoo
