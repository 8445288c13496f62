#include "ext/filter/row_writer.hpp"

#include <algorithm>
#include <cmath>

#include "core/stored/log_entry.hpp"
#include "ext/sqlite/function.hpp"

namespace cuckoo {

// --- adding --------------------------------------------------------------------------------------

bool RowWriter::insert_one(sqlite3_value** keys) {
  const bool unique = options().unique;
  if (!unique && key_.is_integer(keys)) {
    live_.insert_integer(sqlite3_value_int64(keys[0]));
    return true;
  }
  const KeyView key = key_.to_store(keys);
  if (!unique) {
    live_.insert(key);
  } else if (!live_.insert_new(key) && on_conflict() != SQLITE_REPLACE) {
    return refuse_present();
  }
  return true;
}

// Adds several copies. Refuses a count for a set, because it would be ignored: a set has a key or
// lacks it.
bool RowWriter::insert_copies(sqlite3_value** keys, sqlite3_value* count) {
  const uint64_t copies = copies_of(count);
  if (copies == 1) {
    return insert_one(keys);
  }
  if (!options().counts_copies()) {
    throw SqlError(SQLITE_ERROR,
                   key_.table() + ": count is " + std::to_string(copies) + ", and " +
                       (options().unique ? "unique = on holds each key once; leave count out"
                                         : "this Bloom filter does not count its keys; make it with"
                                           " counting = on, or use a cuckoo_filter"));
  }
  live_.insert_copies(key_.to_store(keys), copies);
  return true;
}

// Reads a count. A whole REAL counts as an INTEGER, as in an ordinary column of that type, because
// some languages bind every number as REAL.
uint64_t RowWriter::copies_of(sqlite3_value* count) const {
  if (is_null(count)) {
    return 1;
  }
  const int type = sqlite3_value_type(count);
  const double number = sqlite3_value_double(count);
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || std::floor(number) != number ||
      number < 1 || number > static_cast<double>(kMostCopies)) {
    const std::string text = type == SQLITE_BLOB ? "a BLOB" : printable(text_argument(count));
    throw SqlError(SQLITE_ERROR, key_.table() + ": count is " + text +
                                     (type == SQLITE_TEXT ? ", a TEXT" : "") +
                                     ", expected an INTEGER from 1 to 2^31, or NULL for 1");
  }
  return static_cast<uint64_t>(number);
}

// Refuses a key that is present, or seems to be. With OR IGNORE this makes neither an exception nor
// a text. OR IGNORE is the cheapest way to add new keys row by row, and half of the keys may come
// here.
bool RowWriter::refuse_present() const {
  if (on_conflict() != SQLITE_IGNORE) {
    std::string columns;
    for (const std::string& column : key_.names()) {
      append_item(columns, ", ", key_.table() + "." + column);
    }
    throw SqlError(SQLITE_CONSTRAINT_PRIMARYKEY, "UNIQUE constraint failed: " + columns);
  }
  return false;
}

// --- removing and changing -----------------------------------------------------------------------

// I2
void RowWriter::refuse_removal(const char* what) const {
  if (options().generations > 1) {
    throw SqlError(SQLITE_ERROR, key_.table() +
                                     ": a sliding window forgets by 'rotate' and 'clear' only, " +
                                     what + " could lose another generation's key");
  }
  if (!is_multiset(options().spec.kind)) {
    throw SqlError(SQLITE_ERROR,
                   key_.table() + ": a Bloom filter can't " + what +
                       "; make it with counting = on, use a cuckoo_filter, or empty it with"
                       " 'clear' (with a source: 'rebuild')");
  }
}

void RowWriter::remove_key(const KeyView& key, uint64_t copies) {
  if (copies == 1) {
    live_.remove(key);
  } else {
    live_.remove_copies(key, copies);
  }
}

void RowWriter::remove(sqlite3_value* row_key) {
  const KeyView key = key_.of_row(row_key);
  refuse_removal("DELETE");
  if (key.type != SQLITE_NULL) {
    remove_key(key, 1);
  }
}

void RowWriter::remove_copies(sqlite3_value** keys, sqlite3_value* count) {
  for (size_t i = 0; i < key_.count(); ++i) {
    if (is_null(keys[i])) {
      throw key_.null_error(i, "'delete' takes a key");
    }
  }
  refuse_removal("DELETE");
  const uint64_t copies = copies_of(count);
  if (copies > 1 && options().unique) {
    throw SqlError(SQLITE_ERROR, key_.table() + ": count is " + std::to_string(copies) +
                                     ", and 'delete' finds each key once where unique = on; leave"
                                     " count out");
  }
  remove_key(key_.given(keys), copies);
}

bool RowWriter::update(sqlite3_value* row_key, sqlite3_value** keys) {
  const auto is_unchanged = [](sqlite3_value* key) { return sqlite3_value_nochange(key) != 0; };
  if (std::all_of(keys, keys + key_.count(), is_unchanged)) {
    return true;
  }
  refuse_removal("UPDATE");
  const KeyView added = key_.changed(row_key, keys);
  const KeyView removed = key_.of_row(row_key);
  if (removed.type == SQLITE_NULL) {
    return true;
  }
  using IfPresent = LiveFilter::IfPresent;
  const IfPresent if_present = !options().unique                 ? IfPresent::kAdd
                               : on_conflict() == SQLITE_REPLACE ? IfPresent::kLeave
                                                                 : IfPresent::kRefuse;
  return live_.replace_key(removed, added, if_present) != LiveFilter::Replaced::kRefused ||
         refuse_present();
}

// Refuses any count but the one that the key has. UPDATE … FROM writes every column back as it was
// read, and writes each row only once.
void RowWriter::refuse_count(sqlite3_value* row_key, sqlite3_value* count) {
  if (is_null(count)) {
    return;
  }
  const KeyView key = key_.of_row(row_key);
  if (sqlite3_value_type(count) != SQLITE_INTEGER || key.type == SQLITE_NULL ||
      sqlite3_value_int64(count) != static_cast<int64_t>(live_.count(key))) {
    throw SqlError(SQLITE_ERROR, key_.table() +
                                     ": UPDATE can't set count, in which other keys may count;"
                                     " INSERT adds so many, the command 'delete' removes them");
  }
}

}  // namespace cuckoo
