#include "ext/table/stored_options.hpp"

#include "ext/sqlite/options.hpp"

namespace cuckoo {

StoredOptions::StoredOptions(ShadowStore& store)
    : store_(store), table_(store.table()), rows_(store.read_options()) {}

void StoredOptions::expect(bool valid, const char* key) const {
  if (!valid) {
    throw SqlError(SQLITE_CORRUPT_VTAB,
                   table_ + ": corrupt: \"" + table_ + "_config\" has no valid option " + key);
  }
}

const ShadowStore::OptionValue& StoredOptions::find(const char* key, int type) const {
  const auto found = rows_.find(key);
  read_.insert(key);
  expect(found != rows_.end() && found->second.type == type, key);
  return found->second;
}

int64_t StoredOptions::whole(const char* key, int64_t least, int64_t most) const {
  const ShadowStore::OptionValue& row = find(key, SQLITE_INTEGER);
  expect(row.integer >= least && row.integer <= most, key);
  return row.integer;
}

double StoredOptions::number(const char* key, double least, double most) const {
  const ShadowStore::OptionValue& row = find(key, SQLITE_FLOAT);
  expect(row.real >= least && row.real <= most, key);  // refuses NaN
  return row.real;
}

const std::string& StoredOptions::text(const char* key) const {
  return find(key, SQLITE_TEXT).text;
}

bool StoredOptions::on(const char* key) const {
  const std::string& word = text(key);
  expect(word == "on" || word == "off", key);
  return word == "on";
}

void StoredOptions::expect_no_more(std::initializer_list<const char*> elsewhere) const {
  read_.insert(elsewhere.begin(), elsewhere.end());
  for (const auto& [key, row] : rows_) {
    if (!read_.contains(key)) {
      throw SqlError(SQLITE_CORRUPT_VTAB, store_.no_option(key));
    }
  }
}

uint32_t StoredOptions::format(uint32_t oldest, uint32_t newest) const {
  const int64_t stored = whole("format", INT64_MIN, INT64_MAX);
  if (stored < oldest || stored > newest) {
    const std::string known =
        oldest == newest ? "format " + std::to_string(newest)
                         : "formats " + std::to_string(oldest) + " to " + std::to_string(newest);
    throw SqlError(SQLITE_CORRUPT_VTAB, table_ + ": written in format " + std::to_string(stored) +
                                            "; this version reads " + known);
  }
  return static_cast<uint32_t>(stored);
}

}  // namespace cuckoo
