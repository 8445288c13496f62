// Which keys of a flash_kv may equal an SQL value: the keys that `key = value` looks up.
//
// Invariants
//   I1  A look-up finds what a scan with the same condition finds. SQLite compares a key with a
//       value by the affinity of both sides, and doesn't tell us the value's: 5 may come from a
//       column of numbers (then it equals '05'), from an untyped one (then it equals no text) or
//       from a parameter (then it equals '5' in a TEXT column). So a look-up in a TEXT or untyped
//       column gives every row that is equal in one of these ways, and SQLite compares again.
//   I2  In a column of numbers all ways are one: a look-up there is exact, and SQLite need not
//       compare.
//
// One kind of value escapes I1: a text that looks like a number, out of an expression with the
// affinity of a number. Ordinary tables hold none; another virtual table may show one.
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
  // Both outlive it.
  EqualKeys(LiveFlash& live, const FlashColumns& columns) noexcept
      : live_(live), columns_(columns) {}

  // Returns the only key that may equal the value, NULL if none does. A view of the value or of a
  // buffer, until the next call. Nothing: it may equal several keys.
  std::optional<KeyView> only(sqlite3_value* value);
  // Appends each row whose key may equal the value, perhaps more than once.
  void add_rows(sqlite3_value* value, std::vector<FlashStore::Listed>& rows);

 private:
  uint64_t notes() const noexcept { return live_.flash().stats().notes; }
  // A number in a column of texts or of anything (I1).
  bool is_compared_anew(sqlite3_value* value) const noexcept {
    if (columns_.has_number_keys()) {
      return false;
    }
    const int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
  }
  // A TEXT column holds it as 'Inf' or '-Inf', which looks like no number.
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
  std::string text_;
};

}  // namespace cuckoo
