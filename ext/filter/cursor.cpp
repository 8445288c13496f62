// FilterTable::Cursor: one key, or how many there are.
#include "ext/filter/table.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

// count(*) asks for a row per item, at 11 to 15 ns each, and SQLite offers a virtual table no other
// way. An image of a hundred bytes may claim 2^62 copies of one key.
static constexpr uint64_t kMostCounted = uint64_t{1} << 32;

FilterTable::Cursor::Cursor(FilterTable& table)
    : table_(table), live_(table.live()), affinity_(table.affinity()) {
  live_.follow();
}

void FilterTable::Cursor::probe_any(sqlite3_value* value) {
  const KeyView key = key_of(value, affinity_);
  if (key.type != SQLITE_NULL && live_.contains(key)) {
    rows_left_ = 1;
    key_.assign(key);
  }
}

void FilterTable::Cursor::filter_other(int plan, sqlite3_value** values) {
  live_.follow();  // a roll-back may have come between
  if (plan == kProbePlan || plan == kBinaryProbePlan) {
    if (plan == kBinaryProbePlan && !noted_binary_) {
      table_.note_binary_probe();
      noted_binary_ = true;
    }
    probe_any(values[0]);
    return;
  }
  if (plan == kCountPlan || plan == kSomeRowsPlan) {
    rows_left_ = live_.filter().items();
    if (plan == kCountPlan && rows_left_ > kMostCounted) {
      refuse_to_count(rows_left_);
    }
    return;
  }
  if (plan == kRefuseCollationPlan) {
    const std::string own = collation_name(table_.collation());
    throw SqlError(SQLITE_ERROR, live_.table() +
                                     ": a filter compares keys with the collation of"
                                     " its key, " +
                                     own + ", only; write key = value COLLATE " + own +
                                     ", or put the filter's key on the left of =");
  }
  refuse_to_list();
}

void FilterTable::Cursor::refuse_to_count(uint64_t items) const {
  throw SqlError(SQLITE_ERROR, live_.table() + ": it holds " + std::to_string(items) +
                                   " items, and SQLite would count them one by one, 2^32 of them"
                                   " in a minute; take items of filter_info('" +
                                   live_.table() + "')");
}

void FilterTable::Cursor::refuse_to_list() const {
  const std::string& name = live_.table();
  throw SqlError(SQLITE_ERROR,
                 name +
                     ": a filter does not know its keys and can't list them; give a key"
                     " (WHERE filter_contains(name, key), key = ?, JOIN, EXISTS); to empty it:"
                     " INSERT INTO " +
                     name + "(" + name + ") VALUES ('clear')");
}

void FilterTable::Cursor::column(sqlite3_context* context, int column) {
  if (plan_ == kCountPlan || plan_ == kSomeRowsPlan) {
    refuse_to_list();
  }
  if (column == kKeyColumn) {
    if (sqlite3_vtab_nochange(context) == 0) {
      key_.result(context);
    }
  } else if (column == kCountColumn && sqlite3_vtab_nochange(context) == 0) {
    live_.follow();  // a roll-back may have come between
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(live_.count(key_.view())));
  }
}

}  // namespace cuckoo
