#include "ext/filter/source.hpp"

#include <algorithm>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/filter/kind.hpp"

#include "ext/filter/store.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

// The rows of %_config.
struct Texts {
  std::string source;
  std::string columns;
  std::string where;
  std::string key_types;
  std::string triggers;  // the suffix, or kNoTriggers
};
constexpr const char* kNoTriggers = "off";

constexpr size_t kSuffixLength = 8;
bool is_suffix(std::string_view text) noexcept {
  return text.size() == kSuffixLength &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Computes the checksum over all texts. A NUL follows each text, because no text has a NUL in it.
// The suffix is not in it, so nodes that run the same statements have the same checksum.
int64_t checksum(const Texts& texts) {
  const std::string triggers = texts.triggers == kNoTriggers ? kNoTriggers : "on";
  const std::string all = texts.source + '\0' + texts.columns + '\0' + texts.where + '\0' +
                          texts.key_types + '\0' + triggers + '\0';
  return crc32c(bytes_of(all));
}

// Returns "table(key, …)".
std::string source_text(const SourceSpec& source) {
  std::string keys;
  for (const std::string& key : source.keys) {
    append_item(keys, ", ", key);
  }
  return sql_text(R"("%w")", source.table.c_str()) + "(" + keys + ")";
}

// Parses a text of column_list().
std::optional<std::vector<SourceSpec::Column>> parse_columns(std::string_view list) {
  std::vector<SourceSpec::Column> columns;
  while (!list.empty()) {
    SourceSpec::Column column;
    column.now = take_name(list);
    if (take_name(list) != "AS") {
      return std::nullopt;
    }
    column.name = take_name(list);
    columns.push_back(std::move(column));
    const std::optional<SqlToken> comma = take_token(list);
    if (comma && comma->text != ",") {
      return std::nullopt;
    }
  }
  return columns;
}

// Parses "TEXT, INTEGER": a type for each key column, which may be empty.
std::vector<std::string> parse_types(std::string_view list) {
  std::vector<std::string> types;
  while (true) {
    const size_t comma = std::min(list.find(','), list.size());
    types.emplace_back(trim(list.substr(0, comma)));
    if (comma == list.size()) {
      return types;
    }
    list.remove_prefix(comma + 1);
  }
}

// Returns a SELECT of the keys of all rows that have them.
std::string select_keys(const std::string& schema, const SourceSpec& source) {
  std::string keys;
  std::string held;
  for (const std::string& key : source.keys) {
    append_item(keys, ", ", SourceSpec::sql_of(key));
    append_item(held, " AND ", SourceSpec::sql_of(key) + " IS NOT NULL");
  }
  const std::string from = sql_text(R"("%w"."%w")", schema.c_str(), source.table.c_str());
  if (source.is_plain()) {
    return "SELECT " + keys + " FROM " + from + " WHERE " + held;
  }
  const std::string where = source.where.empty() ? "" : "(" + source.where + ") AND ";
  return "SELECT " + keys + " FROM (SELECT " + column_list(source, "") + " FROM " + from +
         ") WHERE " + where + held;
}

// Throws if a column is gone, because SQLite takes "name" for a text if there is no such column.
void expect_columns(sqlite3* db, const std::string& schema, const SourceSpec& source) {
  const std::vector<ColumnInfo> all = columns_of(db, schema, source.table);
  for (const SourceSpec::Column& column : source.used_columns()) {
    if (find_column(all, column.now) == nullptr) {
      throw SqlError(SQLITE_ERROR,
                     "no such table or column any more; drop the filter, or give the"
                     " source its name again");
    }
  }
}

}  // namespace

std::optional<SourceCommand> SourceCommand::parse(std::string_view text) noexcept {
  constexpr std::string_view kInsert = "insert ";
  constexpr std::string_view kDelete = "delete ";
  const std::string_view event = text.substr(0, kInsert.size());
  const std::string_view suffix = text.substr(event.size());
  if ((event != kInsert && event != kDelete) || !is_suffix(suffix)) {
    return std::nullopt;
  }
  return SourceCommand{event == kDelete, suffix};
}

std::string SourceName::new_suffix() {
  uint32_t number = 0;
  sqlite3_randomness(sizeof number, &number);
  return sql_text("%08x", number);
}

std::optional<SourceName> SourceName::parse(const std::string& name) {
  constexpr std::string_view kBetween = "_source_";
  const std::string all = lower(name);
  const size_t between = all.rfind(kBetween);
  const size_t end = all.rfind('_');
  if (between == std::string::npos || end < between + kBetween.size() ||
      !is_suffix(std::string_view(all).substr(end + 1))) {
    return std::nullopt;
  }
  const size_t what = between + kBetween.size();
  return SourceName{all.substr(0, between), all.substr(what, end - what), all.substr(end + 1)};
}

bool SourceName::is_used(sqlite3* db, const std::string& schema) const {
  try {
    const auto options = FilterStore(db, schema, filter).read_options();
    const auto found = options.find("triggers");
    return found != options.end() && found->second.text == suffix;
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) != SQLITE_ERROR) {
      throw;
    }
    return false;  // there is no such filter; other extensions have tables of such names, too
  }
}

uint64_t count_source(sqlite3* db, const std::string& schema, const SourceSpec& source) {
  Statement select(db, select_keys(schema, source));
  uint64_t count = 0;  // not by count(), which an application may have replaced
  while (select.step()) {
    ++count;
  }
  return count;
}

void FilterSource::store(const Stored& stored) {
  std::string types;
  for (size_t i = 0; i < stored.key_types.size(); ++i) {
    types += i == 0 ? "" : ", ";
    types += stored.key_types[i];
  }
  const Texts texts{source_text(stored.source), column_list(stored.source, ""), stored.source.where,
                    types, stored.suffix.empty() ? kNoTriggers : stored.suffix};
  store_.write_option("source", texts.source);
  if (!texts.columns.empty()) {
    store_.write_option("source_columns", texts.columns);
  }
  if (!texts.where.empty()) {
    store_.write_option("where", texts.where);
  }
  store_.write_option("key_type", texts.key_types);
  store_.write_option("triggers", texts.triggers);
  store_.write_option("source_crc", checksum(texts));
}

FilterSource::Stored FilterSource::stored() const {
  const std::string& table = store_.table();
  std::map<std::string, ShadowStore::OptionValue> rows;
  try {
    rows = store_.read_options();
  } catch (const SqlError& error) {
    if (is_finding(error.code())) {
      throw SqlError(SQLITE_CORRUPT_VTAB, table + ": corrupt: " + error.message());
    }
    throw;
  }
  const auto row = [&](const char* key, int type) -> const ShadowStore::OptionValue& {
    const auto found = rows.find(key);
    if (found == rows.end() || found->second.type != type) {
      throw SqlError(SQLITE_CORRUPT_VTAB,
                     table + ": corrupt: \"" + table + "_config\" has no valid option " + key);
    }
    return found->second;
  };
  Texts texts{row("source", SQLITE_TEXT).text,
              {},
              {},
              row("key_type", SQLITE_TEXT).text,
              row("triggers", SQLITE_TEXT).text};
  if (rows.contains("source_columns")) {
    texts.columns = row("source_columns", SQLITE_TEXT).text;
  }
  if (rows.contains("where")) {
    texts.where = row("where", SQLITE_TEXT).text;
  }
  std::optional<SourceText> source = parse_source(texts.source);
  std::optional<std::vector<SourceSpec::Column>> columns = parse_columns(texts.columns);
  const bool has_triggers = texts.triggers != kNoTriggers;
  if (row("source_crc", SQLITE_INTEGER).integer != checksum(texts) || !source || !columns ||
      (has_triggers && !is_suffix(texts.triggers))) {
    throw SqlError(SQLITE_CORRUPT_VTAB,
                   table + ": corrupt: \"" + table +
                       "_config\" has options source, where, key_type and triggers that don't"
                       " belong together");
  }
  Stored stored;
  stored.source = {std::move(source->table), std::move(source->keys), std::move(texts.where),
                   std::move(*columns)};
  stored.key_types = parse_types(texts.key_types);
  stored.suffix = has_triggers ? texts.triggers : std::string();
  const int64_t kind = row("kind", SQLITE_INTEGER).integer;
  stored.removes = std::any_of(
      std::begin(kFilterKinds), std::end(kFilterKinds),
      [&](FilterKind one) { return static_cast<int64_t>(one) == kind && is_multiset(one); });
  if (const auto found = rows.find("collation"); found != rows.end()) {
    stored.form = form_of_collations(found->second.text).value_or(KeyForm());
  }
  return stored;
}

bool FilterSource::store_names(const Found& found) {
  Stored now = found.stored;
  if (source_text(found.source) == source_text(now.source) &&
      column_list(found.source, "") == column_list(now.source, "")) {
    return false;
  }
  now.source = found.source;
  store(now);
  return true;
}

void FilterSource::for_each_row(const RowVisitor& visit) const {
  const SourceSpec from = look().source;
  const std::string& schema = store_.schema();
  try {
    expect_columns(db(), schema, from);
    Statement select(db(), select_keys(schema, from));
    std::vector<sqlite3_value*> keys(from.keys.size());
    while (select.step()) {
      for (size_t i = 0; i < keys.size(); ++i) {
        keys[i] = select.value(static_cast<int>(i));
      }
      visit(keys);
    }
  } catch (const SqlError& error) {
    throw SqlError(error.code(),
                   store_.table() + ": source " + shown(schema, from) + ": " + error.message());
  }
}

std::string FilterSource::name(const Found& found) const {
  return shown(store_.schema(), found.source);
}

std::optional<SourceSpec> source_of(sqlite3* db, const std::string& schema,
                                    const std::string& filter) {
  FilterStore store(db, schema, filter);
  if (!store.read_options().contains("source")) {
    return std::nullopt;
  }
  return FilterSource(store, {}).look().source;
}

}  // namespace cuckoo
