// fit(): decides which values of a condition the statement on the guarded table can take.
#include <string>
#include <string_view>

#include "ext/filter/guard_plan.hpp"
#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {
namespace {

// Fits a text to a column that may hold texts. If the other side is a column of numbers, SQLite
// converts texts that look like numbers. A number is smaller than any text. Such texts begin with a
// character before ':'.
Fit fit_text(const GuardTerm& term, const GuardedColumn& column, sqlite3_value* value) {
  if (!term.own_collation) {
    return Fit::kLeave;
  }
  if (!is_upper_bound(term.op)) {
    return Fit::kPush;
  }
  std::string buffer;
  const std::string_view text = text_bytes(value, buffer);
  const auto first = static_cast<unsigned char>(text.empty() ? '\0' : text[0]);
  // In UTF-16, the bytes of characters beyond ASCII have another order than in UTF-8. And an
  // application may have a NOCASE of its own, with another order of ASCII.
  if (column.known_collation() != Collation::kBinary || first >= 0x80) {
    return Fit::kLeave;
  }
  return first < ':' ? Fit::kPushColon : Fit::kPush;
}

// Fits a number to a column that may hold texts. If the other side is a column of numbers, 5 equals
// '5' and '05'. A TEXT column may always have such a text, an untyped one may have none.
Fit fit_number(const GuardTerm& term, const GuardedColumn& column, uint8_t types) {
  const bool no_texts =
      column.affinity == Affinity::kNone && (types & (kTextKeys | kUnknownKeys)) == 0;
  return no_texts && is_equality(term.op) ? Fit::kPush : Fit::kLeave;
}

}  // namespace

Fit fit(const GuardTerm& term, const GuardedTable& table, sqlite3_value* value, uint8_t types) {
  if (!term.has_value()) {
    return Fit::kPush;
  }
  if (is_null(value)) {
    return term.op == GuardOperator::kIs ? Fit::kPush : Fit::kNever;
  }
  if (term.column == GuardTerm::kRowid) {
    return Fit::kPush;
  }
  const GuardedColumn& column = table.columns[static_cast<size_t>(term.column)];
  const int type = sqlite3_value_type(value);
  if (column.affinity >= Affinity::kNumeric) {
    // SQLite converts both sides to numbers, whatever the other side is.
    return term.own_collation || type != SQLITE_TEXT ? Fit::kPush : Fit::kLeave;
  }
  switch (type) {
    case SQLITE_BLOB:
      return Fit::kPush;
    case SQLITE_TEXT:
      return fit_text(term, column, value);
    default:
      return fit_number(term, column, types);
  }
}

}  // namespace cuckoo
