#include "ext/filter/cursor.hpp"

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/command.hpp"

namespace cuckoo {

// The most items that count(*) may count. SQLite can count a virtual table only by asking for a row
// for each item, at 11 to 15 ns a row. An image of a hundred bytes may claim 2^62 copies of one
// key.
static constexpr uint64_t kMostCounted = uint64_t{1} << 32;

FilterTable::Cursor::Cursor(FilterTable& table)
    : table_(table), columns_(table.key()), live_(table.live()), affinity_(table.key().affinity()) {
  if (columns_.several()) {
    row_ = table.take_row();
  }
  live_.follow();
}

void FilterTable::Cursor::probe_any(sqlite3_value* value) {
  const KeyView key = key_of(value, affinity_, text_);
  if (key.type != SQLITE_NULL && live_.contains(key)) {
    rows_left_ = 1;
    key_.assign(key);
  }
}

void FilterTable::Cursor::probe_tuple(sqlite3_value** values) {
  const KeyDomain& keys = columns_.domain();
  const KeyView key = row_->key.make(keys, values);
  if (key.type != SQLITE_NULL && live_.contains(key)) {
    rows_left_ = 1;
    for (size_t i = 0; i < keys.columns(); ++i) {
      row_->columns[i].assign(values[i], keys.column(i).affinity);
    }
  }
}

void FilterTable::Cursor::filter_other(int plan, sqlite3_value** values) {
  if (plan == kProbePlan && row_ != nullptr && live_.ready_for_keys()) {
    probe_tuple(values);
    return;
  }
  live_.follow();  // a roll-back may have come between
  if (plan == kProbePlan || plan == kBinaryProbePlan) {
    if (plan == kBinaryProbePlan && !noted_binary_) {
      table_.binary_probes().note();
      noted_binary_ = true;
    }
    if (row_ != nullptr) {
      probe_tuple(values);
    } else {
      probe_any(values[0]);
    }
    return;
  }
  if (plan == kCountPlan || plan == kSomeRowsPlan) {
    rows_left_ = live_.filter().items();
    if (plan == kCountPlan && rows_left_ > kMostCounted) {
      refuse_to_count(rows_left_);
    }
    return;
  }
  refuse(plan);
}

void FilterTable::Cursor::refuse(int plan) const {
  const int columns = plan >> kColumnsShift;
  if ((plan & ~(columns << kColumnsShift)) == kRefuseCollationPlan) {
    refuse_collation(columns);
  }
  if (columns != 0 && columns != (1 << columns_.count()) - 1) {
    refuse_part_of_key(columns);
  }
  refuse_to_list();
}

// `columns` has a bit for each column at fault. It is 0 if the key has only one column.
void FilterTable::Cursor::refuse_collation(int columns) const {
  size_t column = 0;
  while ((columns >> column & 1) == 0 && columns != 0) {
    ++column;
  }
  const std::string own = collation_name(columns_.domain().column(column).collation);
  throw SqlError(SQLITE_ERROR, live_.table() +
                                   ": a filter compares keys with the collation of"
                                   " its key, " +
                                   own + (own == "BINARY" ? "" : ", or with BINARY") +
                                   ", only; write " + sql_name(columns_.name(column)) +
                                   " = value COLLATE " + own +
                                   ", or put the filter's key on the left of =");
}

void FilterTable::Cursor::refuse_part_of_key(int columns) const {
  std::string lacking;
  for (size_t i = 0; i < columns_.count(); ++i) {
    if ((columns >> i & 1) != 0) {
      lacking += (lacking.empty() ? "" : ", ") + columns_.name(i);
    }
  }
  throw SqlError(SQLITE_ERROR,
                 live_.table() +
                     ": a filter finds a row by its whole key, and here nothing gives a value to " +
                     lacking + "; write " + columns_.equalities());
}

void FilterTable::Cursor::refuse_to_count(uint64_t items) const {
  throw SqlError(SQLITE_ERROR, live_.table() + ": it holds " + std::to_string(items) +
                                   " items, and SQLite would count them one by one, 2^32 of them"
                                   " in a minute; take items of " +
                                   sql_text("filter_info(%Q)", live_.table().c_str()));
}

void FilterTable::Cursor::refuse_to_list() const {
  const std::string& name = live_.table();
  throw SqlError(SQLITE_ERROR,
                 name +
                     ": a filter does not know its keys and can't list them; give a key"
                     " (WHERE filter_contains(" +
                     sql_text("%Q", name.c_str()) + ", " + columns_.names_text() + "), " +
                     columns_.equalities() +
                     ", JOIN, EXISTS); to empty it: " + command_text(name, "clear"));
}

void FilterTable::Cursor::column(sqlite3_context* context, int column) {
  if (plan_ == kCountPlan || plan_ == kSomeRowsPlan) {
    refuse_to_list();
  }
  if (sqlite3_vtab_nochange(context) != 0) {
    return;
  }
  if (row_ != nullptr) {
    tuple_column(context, column);
  } else if (column == 0) {
    key_.result(context);
  } else if (column == 1) {
    result_occurrences(context, key_.view());
  }
}

void FilterTable::Cursor::result_occurrences(sqlite3_context* context, const KeyView& key) {
  live_.follow();  // a roll-back may have come between
  result_count(context, live_.count(key));
}

// Gives the key's columns as they were asked for, and the whole key as the filter has it.
void FilterTable::Cursor::tuple_column(sqlite3_context* context, int column) {
  if (column < columns_.count_column()) {
    row_->columns[static_cast<size_t>(column)].result(context);
  } else if (column == columns_.count_column()) {
    result_occurrences(context, row_->key.view());
  } else if (column == columns_.row_key_column()) {
    const KeyView key = row_->key.view();
    sqlite3_result_blob(context, key.bytes, key.size, SQLITE_TRANSIENT);
  }
}

}  // namespace cuckoo
