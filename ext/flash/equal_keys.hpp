// Finds the keys of a flash_kv that may equal an SQL value: the keys that `key = value` looks up.
//
// Invariants
//   I1  A look-up finds what a scan with the same condition finds. SQLite compares a key with a
//       value by the affinity of both sides, and doesn't tell us the value's: 5 may come from a
//       column of numbers (then it equals '05'), from an untyped one (then it equals no text) or
//       from a parameter (then it equals '5' in a TEXT column). So a look-up in a TEXT or untyped
//       column gives every row that is equal in one of these ways, and SQLite compares again.
//   I2  In a column of numbers all ways are the same. So a look-up there is exact, and SQLite need
//       not compare.
//
// One kind of value is an exception to I1: a text that looks like a number, from an expression with
// the affinity of a number. Ordinary tables hold none, but another virtual table may show one.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ext/flash/columns.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/flash/number_texts.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class EqualKeys {
 public:
  // `live` and `columns` outlive this.
  EqualKeys(LiveFlash& live, const FlashColumns& columns) noexcept
      : live_(live), columns_(columns) {}

  // Returns the only key that may equal the value, or NULL if none does: a view of the value or of
  // a buffer, valid until the next call. Returns nothing if several keys may equal it.
  std::optional<KeyView> only(sqlite3_value* value);
  // Appends each row whose key may equal the value, perhaps more than once.
  void add_rows(sqlite3_value* value, std::vector<FlashStore::Listed>& rows);

 private:
  uint64_t notes() const noexcept { return live_.flash().stats().notes; }
  // Returns whether the value is a number, and the column has texts or is untyped (I1).
  bool is_compared_anew(sqlite3_value* value) const noexcept {
    if (columns_.has_number_keys()) {
      return false;
    }
    const int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
  }
  // Returns whether a TEXT column would hold it as 'Inf' or '-Inf', which does not look like a
  // number.
  bool is_infinite_text(const KeyView& number) const noexcept {
    return columns_.key_affinity() == Affinity::kText && number.type == SQLITE_FLOAT &&
           std::isinf(number.real);
  }
  KeyView as_stored(sqlite3_value* value);
  void add_row(const KeyView& key, std::vector<FlashStore::Listed>& rows);

  LiveFlash& live_;
  const FlashColumns& columns_;
  NumberTexts number_texts_;

  // Reused from value to value.
  std::vector<std::byte> key_bytes_;
  std::string text_, given_;
};

}  // namespace cuckoo
