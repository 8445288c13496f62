#include "ext/filter/source.hpp"

#include <span>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"

#include "ext/filter/source_seal.hpp"
#include "ext/filter/store.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

constexpr const char* kEvents[] = {"insert", "update", "delete"};
constexpr char kTriggers[] = "type = 'trigger'";  // rows of the schema

// A value that leaves is removed by the command 'delete', so no trigger reads the filter. A trigger
// that read it would fail, and the change of the source with it, while the filter refuses to be
// asked. And where a statement has read a table, SQLite first copies what it inserts into that
// table, which takes as long as all the rest.
constexpr char kInsertTrigger[] =
    "CREATE TRIGGER \"%w\".\"%w\" AFTER INSERT ON \"%w\" WHEN new.\"%w\" IS NOT NULL"
    " BEGIN INSERT INTO \"%w\"(\"%w\") VALUES (new.\"%w\"); END";
constexpr char kUpdateTrigger[] =
    "CREATE TRIGGER \"%w\".\"%w\" AFTER UPDATE %s ON \"%w\" WHEN"
    " old.\"%w\" COLLATE BINARY IS NOT new.\"%w\""
    " BEGIN INSERT INTO \"%w\"(\"%w\", \"%w\") SELECT 'delete', old.\"%w\""
    " WHERE old.\"%w\" IS NOT NULL;"
    " INSERT INTO \"%w\"(\"%w\") SELECT new.\"%w\" WHERE new.\"%w\" IS NOT NULL; END";
constexpr char kDeleteTrigger[] =
    "CREATE TRIGGER \"%w\".\"%w\" AFTER DELETE ON \"%w\" WHEN old.\"%w\" IS NOT NULL"
    " BEGIN INSERT INTO \"%w\"(\"%w\", \"%w\") VALUES ('delete', old.\"%w\"); END";

struct ColumnInfo {
  std::string type;
  bool generated = false;
  bool primary_key = false;
};

std::optional<ColumnInfo> column_info(sqlite3* db, const std::string& schema,
                                      const SourceColumn& source) {
  enum : int { kName = 1, kType = 2, kPrimaryKey = 5, kHidden = 6 };
  constexpr int64_t kHiddenColumn = 1;  // 2 and 3: generated
  Statement info(
      db, sql_text(R"(PRAGMA "%w".table_xinfo("%w"))", schema.c_str(), source.table.c_str()));
  while (info.step()) {
    if (equal_names(info.text(kName), source.column) && info.integer(kHidden) != kHiddenColumn) {
      return ColumnInfo{info.text(kType), info.integer(kHidden) != 0,
                        info.integer(kPrimaryKey) != 0};
    }
  }
  return std::nullopt;
}

// By its affinity: any word may stand in a type, and some (HIDDEN) mean something in a declaration.
const char* plain_type(const std::string& type) {
  switch (affinity_of(type)) {
    case Affinity::kText:
      return "TEXT";
    case Affinity::kNumeric:
      return "NUMERIC";
    case Affinity::kInteger:
      return "INTEGER";
    case Affinity::kReal:
      return "REAL";
    case Affinity::kNone:
      break;
  }
  return "";
}

// A column ANY of a STRICT table has no affinity; of any other table ANY is as good as NUMERIC.
bool is_strict(sqlite3* db, const std::string& schema, const std::string& table) {
  constexpr int kStrict = 5;
  Statement list(db, sql_text(R"(PRAGMA "%w".table_list("%w"))", schema.c_str(), table.c_str()));
  return list.step() && list.integer(kStrict) != 0;
}

std::string shown(const std::string& schema, const SourceColumn& source) {
  return schema + "." + printable(source.table) + "(" + printable(source.column) + ")";
}

// Each text with a NUL behind it, which none of them holds.
int64_t checksum(const FilterSource::Stored& stored) {
  const std::string all =
      stored.source + '\0' + stored.key_type + '\0' + (stored.triggers ? "on" : "off") + '\0';
  return crc32c(bytes_of(all));
}

}  // namespace

SourceKey source_key(sqlite3* db, const std::string& filter, const std::string& schema,
                     const SourceColumn& source) {
  const auto refuse = [&](const std::string& why) -> SqlError {
    return {SQLITE_ERROR, filter + ": source " + shown(schema, source) + ": " + why};
  };
  SchemaRows tables(db, schema, "type IN ('table', 'view')");
  if (!tables.find(source.table)) {
    throw refuse("no such table in this schema");
  }
  if (tables.root_page() == 0) {
    throw refuse("expected an ordinary table, not a view or a virtual table");
  }
  const std::optional<ColumnInfo> column = column_info(db, schema, source);
  if (!column) {
    throw refuse("no such column");
  }
  const char* name = nullptr;
  const int code =
      sqlite3_table_column_metadata(db, schema.c_str(), source.table.c_str(), source.column.c_str(),
                                    nullptr, &name, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    throw SqlError(code, filter + ": source " + shown(schema, source) + ": " + sqlite3_errmsg(db));
  }
  const std::optional<Collation> collation = collation_named(name);
  if (!collation) {
    throw refuse(std::string("its collation is ") + name +
                 ", expected BINARY, NOCASE or RTRIM; take a generated column of it as the source,"
                 " declared with one of these");
  }
  const bool any = equal_names(column->type, "ANY") && is_strict(db, schema, source.table);
  return {any ? "" : plain_type(column->type), *collation};
}

uint64_t count_source(sqlite3* db, const std::string& schema, const SourceColumn& source) {
  Statement select(db, sql_text(R"(SELECT 1 FROM "%w"."%w" WHERE "%w" IS NOT NULL)", schema.c_str(),
                                source.table.c_str(), source.column.c_str()));
  uint64_t count = 0;  // not by count(), which an application may have replaced
  while (select.step()) {
    ++count;
  }
  return count;
}

void FilterSource::store(const Stored& stored) {
  store_.write_option("source", stored.source);
  store_.write_option("key_type", stored.key_type);
  store_.write_option("triggers", std::string(stored.triggers ? "on" : "off"));
  store_.write_option("source_crc", checksum(stored));
}

FilterSource::Stored FilterSource::stored() const {
  const std::string& table = store_.table();
  std::map<std::string, ShadowStore::OptionValue> rows;
  try {
    rows = store_.read_options();
  } catch (const SqlError& error) {
    const int code = error.code() & 0xFF;  // others will pass: a lock, no memory
    if (code == SQLITE_ERROR || code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
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
  Stored stored{row("source", SQLITE_TEXT).text, row("key_type", SQLITE_TEXT).text,
                row("triggers", SQLITE_TEXT).text == "on"};
  if (const auto found = rows.find("collation"); found != rows.end()) {
    stored.collation = collation_named(found->second.text).value_or(Collation::kBinary);
  }
  if (row("source_crc", SQLITE_INTEGER).integer != checksum(stored)) {
    throw SqlError(SQLITE_CORRUPT_VTAB,
                   table + ": corrupt: \"" + table +
                       "_config\" has options source, key_type and triggers that don't belong"
                       " together");
  }
  return stored;
}

// Table and column out of CREATE TRIGGER "…" AFTER INSERT ON "table" WHEN new."column" IS NOT NULL
// …
static std::optional<SourceColumn> parse_insert_trigger(std::string_view sql) {
  SourceColumn source;
  for (const char* word : {"CREATE", "TRIGGER", "", "AFTER", "INSERT", "ON"}) {
    const std::string next = take_name(sql);
    if (*word != '\0' && !equal_names(next, word)) {
      return std::nullopt;
    }
  }
  source.table = take_name(sql);
  constexpr std::string_view kWhen = " WHEN new.";
  if (!sql.starts_with(kWhen)) {
    return std::nullopt;
  }
  sql.remove_prefix(kWhen.size());
  source.column = take_name(sql);
  return source;
}

SourceColumn FilterSource::column() const {
  SchemaRows rows(db(), store_.schema(), kTriggers);
  if (rows.find(trigger("insert"))) {
    if (std::optional<SourceColumn> source = parse_insert_trigger(rows.sql())) {
      source->table = rows.table();
      return *source;
    }
  }
  return parse_source(stored().source).value_or(SourceColumn{});
}

void FilterSource::for_each_key(Affinity affinity,
                                const std::function<void(const KeyView&)>& visit) const {
  const SourceColumn from = column();
  const std::string& schema = store_.schema();
  try {
    if (!column_info(db(), schema, from)) {  // "…" that names no column would be a text
      throw SqlError(SQLITE_ERROR,
                     "no such table or column any more; drop the filter, or give the"
                     " source its name again");
    }
    Statement select(
        db(), sql_text(R"(SELECT "%w" FROM "%w"."%w" WHERE "%w" IS NOT NULL)", from.column.c_str(),
                       schema.c_str(), from.table.c_str(), from.column.c_str()));
    while (select.step()) {
      visit(key_of(select.value(0), affinity));
    }
  } catch (const SqlError& error) {
    throw SqlError(error.code(),
                   store_.table() + ": source " + shown(schema, from) + ": " + error.message());
  }
}

std::string FilterSource::name() const { return shown(store_.schema(), column()); }

// --- triggers ------------------------------------------------------------------------------------

void FilterSource::create_triggers() {
  const SourceColumn from = column();
  const std::optional<ColumnInfo> info = column_info(db(), store_.schema(), from);
  if (!info) {
    throw SqlError(SQLITE_ERROR, store_.table() + ": source " + shown(store_.schema(), from) +
                                     ": no such table or column");
  }
  const char* schema = store_.schema().c_str();
  const char* filter = store_.table().c_str();
  const char* table = from.table.c_str();
  const char* column = from.column.c_str();
  const char* key = key_.c_str();
  // A generated column changes when no statement names it. A column that is the rowid also changes
  // by the names rowid, oid and _rowid_. OF does not list them, because each may be or become a
  // column's name, and SQLite renames that in the list.
  const bool rowid = info->primary_key && equal_names(info->type, "INTEGER");
  const std::string of = info->generated || rowid ? "" : sql_text(R"(OF "%w")", column);
  execute(db(), sql_text(kInsertTrigger, schema, trigger("insert").c_str(), table, column, filter,
                         key, column));
  execute(db(),
          sql_text(kUpdateTrigger, schema, trigger("update").c_str(), of.c_str(), table, column,
                   column, filter, filter, key, column, column, filter, key, column, column));
  execute(db(), sql_text(kDeleteTrigger, schema, trigger("delete").c_str(), table, column, filter,
                         filter, key, column));
  SourceSeal::make(db(), store_.schema(), store_.table());
}

std::vector<std::string> FilterSource::trigger_names() const {
  std::vector<std::string> names;
  for (const char* event : kEvents) {
    names.push_back(trigger(event));
  }
  return names;
}

// Rows come in the order in which SQLite made them.
FilterSource::Triggers FilterSource::triggers() const {
  const std::vector<std::string> own = trigger_names();
  const std::string seal = SourceSeal::name_for(store_.table());
  size_t found = 0;
  bool sealed = false;
  SchemaRows rows(db(), store_.schema(), "type IN ('trigger', 'table')");
  while (rows.next()) {
    if (rows.is_named(own)) {
      ++found;
      sealed = false;  // made after it
    } else if (rows.is_named(seal) && SourceSeal::is_made_by(rows.sql())) {
      sealed = true;
    }
  }
  if (found != own.size()) {
    return Triggers::kGone;
  }
  return sealed ? Triggers::kInPlace : Triggers::kUnsealed;
}

std::string FilterSource::newer_trigger() const {
  const std::string table = column().table;
  const std::vector<std::string> own = trigger_names();
  bool older = true;  // than all of ours
  SchemaRows rows(db(), store_.schema(), kTriggers);
  while (rows.next()) {
    if (rows.is_named(own)) {
      older = false;
    } else if (!older && rows.is_of_table(table)) {
      return rows.name();
    }
  }
  return {};
}

void FilterSource::drop_triggers() {
  for (const char* event : kEvents) {
    execute(db(), sql_text(R"(DROP TRIGGER IF EXISTS "%w"."%w")", store_.schema().c_str(),
                           trigger(event).c_str()));
  }
  SourceSeal::remove(db(), store_.schema(), store_.table());
}

// The names that only the triggers knew go back into the option.
void FilterSource::detach_triggers() {
  const SourceColumn from = column();
  Stored now = stored();
  const std::optional<SourceColumn> known = parse_source(now.source);
  if (!known || known->table != from.table || known->column != from.column) {
    now.source = sql_text(R"("%w"("%w"))", from.table.c_str(), from.column.c_str());
    store(now);
  }
  drop_triggers();
}

void FilterSource::check_triggers() const {
  Triggers found = Triggers::kInPlace;
  try {
    found = triggers();
  } catch (const SqlError& error) {
    if (undoes_transaction(error.code())) {
      throw;
    }
    return;  // the schema is being changed: this statement will be planned again
  }
  if (found == Triggers::kInPlace) {
    return;
  }
  const std::string what = found == Triggers::kGone
                               ? "are gone (dropped, perhaps with the source)"
                               : "may have missed changes (they were dropped and made again, or "
                                 "restored from a dump, or " +
                                     SourceSeal::name_for(store_.table()) + " was dropped)";
  throw SqlError(SQLITE_ERROR, store_.table() + ": the triggers on its source " + what +
                                   ": keys may be missing; INSERT INTO " + store_.table() + "(" +
                                   store_.table() +
                                   ") VALUES ('rebuild') loads them and makes the triggers anew");
}

std::optional<SourceColumn> source_of(sqlite3* db, const std::string& schema,
                                      const std::string& filter) {
  FilterStore store(db, schema, filter);
  if (!store.read_options().contains("source")) {
    return std::nullopt;
  }
  return FilterSource(store, "").column();
}

}  // namespace cuckoo
