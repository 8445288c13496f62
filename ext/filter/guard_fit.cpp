// fit(): which values of a condition the statement on the guarded table can take.
#include <new>

#include "ext/filter/guard_plan.hpp"

namespace cuckoo {
namespace {

// A text beside a column that may hold texts. If the other side is a number's column, SQLite takes
// texts that look like numbers for numbers, which are smaller than any other text. They all begin
// with a character before ':'.
Fit fit_text(const GuardTerm& term, const GuardedColumn& column, sqlite3_value* value) {
  if (!term.own_collation) {
    return Fit::kLeave;
  }
  if (!is_upper_bound(term.op)) {
    return Fit::kPush;
  }
  const auto* const text = sqlite3_value_text(value);
  if (text == nullptr) {
    throw std::bad_alloc();
  }
  // UTF-16 compares the bytes of other characters in another order.
  if (!column.known_collation() || text[0] >= 0x80) {
    return Fit::kLeave;
  }
  return text[0] < ':' ? Fit::kPushColon : Fit::kPush;
}

// A number beside a column that may hold texts. If the other side is a number's column, 5 equals
// '5' and '05'. In a column TEXT there is always such a text, in an untyped one there may be none.
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
    // SQLite makes numbers of both sides, whatever the other side is.
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
