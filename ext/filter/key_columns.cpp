#include "ext/filter/key_columns.hpp"

#include <algorithm>

#include "ext/sqlite/statement.hpp"
#include "ext/table/command.hpp"

namespace cuckoo {

// --- declaring -----------------------------------------------------------------------------------

KeyColumns::KeyColumns(const std::string& table, const std::vector<ColumnSpec>& columns,
                       bool creating)
    : table_(table), columns_(columns.empty() ? std::vector<ColumnSpec>{{"key", ""}} : columns) {
  several_ = count() > 1;
  if (creating) {
    expect_names();
    refuse_table_name(table_);
  }
  // A schema that was changed from outside may have more columns.
  columns_.resize(std::min(count(), kMaxKeyColumns));
  domain_.form.columns = static_cast<uint8_t>(count());
  for (size_t i = 0; i < count(); ++i) {
    adopt(i, columns_[i].type, declared_collation(columns_[i]));
  }
}

void KeyColumns::expect_names() const {
  if (count() > kMaxKeyColumns) {
    throw SqlError(SQLITE_ERROR, table_ + ": a key of 1 to 8 columns expected, not of " +
                                     std::to_string(count()) + "; the ninth is " +
                                     printable(name(kMaxKeyColumns)));
  }
  for (size_t i = 0; i < count(); ++i) {
    if (equal_names(name(i), "count")) {
      throw SqlError(SQLITE_ERROR, table_ + ": the key column may not be called count");
    }
    if (several_ && equal_names(name(i), kRowKey)) {
      throw SqlError(SQLITE_ERROR, table_ + ": of several key columns none may be called " +
                                       kRowKey + ", which is a hidden column's name");
    }
    for (size_t before = 0; before < i; ++before) {
      if (equal_names(name(i), name(before))) {
        throw SqlError(SQLITE_ERROR, table_ + ": two key columns are called " + printable(name(i)));
      }
    }
  }
}

Collation KeyColumns::declared_collation(const ColumnSpec& column) const {
  if (column.collation.empty()) {
    return Collation::kBinary;
  }
  const std::optional<Collation> collation = collation_named(column.collation);
  if (!collation) {
    throw SqlError(SQLITE_ERROR, table_ + ": column " + column.name + ": collation " +
                                     printable(column.collation) +
                                     ", expected BINARY, NOCASE or RTRIM");
  }
  return *collation;
}

void KeyColumns::adopt(size_t index, const std::string& type, Collation collation) {
  columns_[index].type = type;
  domain_.set(index, {affinity_of(type), collation, 0});
  affinity_ = domain_.column(0).affinity;
}

void KeyColumns::adopt_source(size_t index, const SourceKey& from) {
  const ColumnSpec& key = columns_[index];
  const Collation collation = domain_.column(index).collation;
  const std::string what = several_ ? "key column " + key.name : "the key";
  if (!key.type.empty() && affinity_of(key.type) != affinity_of(from.type)) {
    throw SqlError(SQLITE_ERROR, table_ + ": " + what + " takes the type of its source, \"" +
                                     printable(from.type) + "\", not \"" + printable(key.type) +
                                     "\"; leave it out");
  }
  if (!key.collation.empty() && collation != from.collation) {
    throw SqlError(SQLITE_ERROR, table_ + ": " + what + " takes the collation of its source, " +
                                     collation_name(from.collation) + ", not " +
                                     collation_name(collation) + "; leave it out");
  }
  adopt(index, key.type.empty() ? from.type : key.type, from.collation);
}

std::vector<std::string> KeyColumns::names() const {
  std::vector<std::string> names;
  for (const ColumnSpec& column : columns_) {
    names.push_back(column.name);
  }
  return names;
}

std::vector<std::string> KeyColumns::types() const {
  std::vector<std::string> types;
  for (const ColumnSpec& column : columns_) {
    types.push_back(column.type);
  }
  return types;
}

std::string KeyColumns::names_text() const {
  std::string text;
  for (const ColumnSpec& column : columns_) {
    append_item(text, ", ", sql_name(column.name));
  }
  return text;
}

std::string KeyColumns::equalities(const char* equality) const {
  std::string text;
  for (const ColumnSpec& column : columns_) {
    append_item(text, " AND ", sql_name(column.name) + equality);
  }
  return text;
}

void KeyColumns::refuse_replaced_collations(sqlite3* db) const {
  // Pairs that are equal, and pairs that are not. A collation that ICU, .NET or Delphi brings tells
  // some of them apart differently.
  constexpr char kNocase[] =
      "SELECT 'AZI' = 'azi' COLLATE NOCASE AND 'É' = 'É' COLLATE NOCASE"
      " AND NOT ('É' = 'é' COLLATE NOCASE OR 'e' = 'é' COLLATE NOCASE OR '[' = '{' COLLATE NOCASE"
      " OR '@' = '`' COLLATE NOCASE OR 'ß' = 'ss' COLLATE NOCASE OR 'a' = 'a ' COLLATE NOCASE"
      " OR 'a-b' = 'ab' COLLATE NOCASE OR 'Σ' = 'ς' COLLATE NOCASE OR '2' = '02' COLLATE NOCASE)";
  constexpr char kRtrim[] =
      "SELECT 'a' = 'a  ' COLLATE RTRIM AND 'É' = 'É ' COLLATE RTRIM"
      " AND NOT ('a' = 'A' COLLATE RTRIM OR 'a' = 'a' || char(9) COLLATE RTRIM"
      " OR 'a' = ' a' COLLATE RTRIM OR 'É' = 'é' COLLATE RTRIM OR '2' = '02' COLLATE RTRIM)";
  for (size_t i = 0; i < count(); ++i) {
    const Collation collation = domain_.column(i).collation;
    if (collation == Collation::kBinary) {
      continue;
    }
    Statement as_sqlite(db, collation == Collation::kNocase ? kNocase : kRtrim);
    if (as_sqlite.step() && as_sqlite.integer(0) == 0) {
      throw SqlError(SQLITE_ERROR,
                     table_ + ": its key column " + name(i) + " compares by " +
                         collation_name(collation) +
                         ", which this connection has replaced by a collation of its own, and the"
                         " filter knows SQLite's alone; give the key no collation, and add" +
                         (collation == Collation::kNocase ? " lower(x)" : " rtrim(x)") +
                         ", or leave " + collation_name(collation) + " as it is");
    }
  }
}

void KeyColumns::refuse_table_name(const std::string& table) const {
  std::vector<std::string_view> all = {"count"};
  for (const ColumnSpec& column : columns_) {
    all.push_back(column.name);
  }
  if (several_) {
    all.emplace_back(kRowKey);
  }
  refuse_own_column("a filter", table, all);
}

std::string KeyColumns::declaration(const std::string& command_column) const {
  std::string key;
  for (size_t i = 0; i < count(); ++i) {
    key += sql_text("\"%w\" %s COLLATE %s%s, ", name(i).c_str(), columns_[i].type.c_str(),
                    collation_name(domain_.column(i).collation), several_ ? "" : " PRIMARY KEY");
  }
  const std::string row_key =
      several_ ? std::string(", ") + kRowKey + " BLOB HIDDEN PRIMARY KEY" : "";
  return sql_text("CREATE TABLE x(%scount INTEGER HIDDEN, \"%w\" TEXT HIDDEN%s) WITHOUT ROWID",
                  key.c_str(), command_column.c_str(), row_key.c_str());
}

// --- keys of values ------------------------------------------------------------------------------

SqlError KeyColumns::null_error(size_t index, const char* why) const {
  return {SQLITE_CONSTRAINT_NOTNULL,
          "NOT NULL constraint failed: " + table_ + "." + name(index) + ": " + why};
}

static constexpr char kHoldsNoNull[] = "a filter can't hold NULL";

KeyView KeyColumns::to_store(sqlite3_value** values) {
  const KeyView key = given(values);
  if (key.type == SQLITE_NULL) [[unlikely]] {
    size_t column = 0;
    while (column + 1 < count() && !is_null(values[column])) {
      ++column;
    }
    throw null_error(column, kHoldsNoNull);
  }
  return key;
}

// SQLite passes no value for a column that the statement leaves alone. So this takes the value from
// the row key. There a text has lost what the collation ignores.
KeyView KeyColumns::changed(sqlite3_value* row_key, sqlite3_value** values) {
  if (!several_) {
    return to_store(values);
  }
  const TupleColumns old = *decode_tuple(bytes_of(of_row(row_key)));
  tuple_.begin(count());
  for (size_t i = 0; i < count(); ++i) {
    const ColumnDomain column = domain_.column(i);
    if (sqlite3_value_nochange(values[i]) != 0) {
      const bool folded = old.keys[i].type == SQLITE_TEXT && column.collation != Collation::kBinary;
      tuple_.add(old.keys[i], Collation::kBinary, folded ? kCasedKeys | kPaddedKeys : 0);
      continue;
    }
    const KeyView key = key_of(values[i], column.affinity, text_);
    if (key.type == SQLITE_NULL) {
      throw null_error(i, kHoldsNoNull);
    }
    tuple_.add(key, column.collation);
  }
  return tuple_.view();
}

// SQLite read the row key from a cursor, unless a statement sets it.
KeyView KeyColumns::of_row(sqlite3_value* row_key) {
  const KeyView key = key_of(row_key, several_ ? Affinity::kNone : affinity_, row_text_);
  if (several_) {
    const std::optional<TupleColumns> found =
        key.type == SQLITE_BLOB ? decode_tuple(bytes_of(key)) : std::nullopt;
    if (!found || found->count != count()) {
      throw SqlError(SQLITE_MISMATCH, table_ + ": " + kRowKey + " is no key of " +
                                          std::to_string(count()) + " columns; set these");
    }
  }
  return key;
}

void KeyColumns::refuse_row_key(sqlite3_value* row_key, sqlite3_value* given) const {
  if (is_null(given) || sqlite3_value_nochange(given) != 0) {
    return;
  }
  const auto a = blob_of(row_key);
  const auto b = blob_of(given);
  if (is_null(row_key) || !std::equal(a.begin(), a.end(), b.begin(), b.end())) {
    throw SqlError(SQLITE_ERROR, table_ + ": " + kRowKey + " is made of " + names_text() +
                                     "; give or set these, and leave it out");
  }
}

}  // namespace cuckoo
