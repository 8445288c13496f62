// FilterSource: makes, checks and drops its triggers.
#include <algorithm>

#include "ext/filter/source.hpp"
#include "ext/filter/source_row.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/command.hpp"

namespace cuckoo {
namespace {

// A filter that can't delete has no trigger for the last.
constexpr const char* kEvents[] = {"insert", "update", "delete"};

// A command removes an old value, so no trigger reads the filter. While the filter refuses to be
// asked, a trigger that read it would fail, and with it the change of the source. Also, if a
// statement has read a table, SQLite first copies the rows that it inserts into that table, which
// takes as long as all the rest.
constexpr char kInsertTrigger[] =
    "CREATE TRIGGER \"%w\".\"%w\" AFTER INSERT ON \"%w\" WHEN new.\"%w\" IS NOT NULL"
    " BEGIN INSERT INTO \"%w\"(\"%w\", \"%w\") VALUES ('insert %s', new.\"%w\"); END";
constexpr char kUpdateTrigger[] =
    "CREATE TRIGGER \"%w\".\"%w\" AFTER UPDATE %s ON \"%w\" WHEN"
    " old.\"%w\" COLLATE BINARY IS NOT new.\"%w\""
    " OR CAST(old.\"%w\" AS TEXT) COLLATE BINARY IS NOT CAST(new.\"%w\" AS TEXT)"
    " BEGIN%s"
    " INSERT INTO \"%w\"(\"%w\", \"%w\") SELECT 'insert %s', new.\"%w\""
    " WHERE new.\"%w\" IS NOT NULL; END";
constexpr char kRemoveOld[] =  // of the update trigger
    " INSERT INTO \"%w\"(\"%w\", \"%w\") SELECT 'delete %s', old.\"%w\""
    " WHERE old.\"%w\" IS NOT NULL;";
constexpr char kDeleteTrigger[] =
    "CREATE TRIGGER \"%w\".\"%w\" AFTER DELETE ON \"%w\" WHEN old.\"%w\" IS NOT NULL"
    " BEGIN INSERT INTO \"%w\"(\"%w\", \"%w\") VALUES ('delete %s', old.\"%w\"); END";

}  // namespace

void FilterSource::create_triggers() {
  const SourceSpec from = spec();
  const Stored now = stored();
  const std::vector<ColumnInfo> all = columns_of(db(), store_.schema(), from.table);
  // A generated column changes even if no statement names it. A column that is the rowid also
  // changes by the names rowid, oid and _rowid_. In both cases the update trigger has no OF. A list
  // can't have the rowid's names, because each may be or become another column's name, which SQLite
  // would rename in the list.
  std::string of;
  bool listed = true;
  for (const SourceSpec::Column& used : from.used_columns()) {
    const ColumnInfo* const column = find_column(all, used.now);
    if (column == nullptr) {
      throw SqlError(SQLITE_ERROR, store_.table() + ": source " + shown(store_.schema(), from) +
                                       ": no such table or column");
    }
    listed = listed && !column->generated && !column->rowid;
    append_item(of, ", ", sql_text(R"("%w")", used.now.c_str()));
  }
  of = listed ? "OF " + of : "";
  if (from.is_plain()) {
    create_plain_triggers(from.column(), of, now);
  } else {
    create_computing_triggers(from, of, now);
  }
  SourceRow::make(db(), store_.schema(), own_name("row", now.suffix), from);
}

void FilterSource::create_plain_triggers(const SourceColumn& from, const std::string& of,
                                         const Stored& stored) {
  const char* schema = store_.schema().c_str();
  const char* filter = store_.table().c_str();
  const char* table = from.table.c_str();
  const char* column = from.column.c_str();
  const char* key = keys_.front().c_str();
  const char* suffix = stored.suffix.c_str();
  execute(db(), sql_text(kInsertTrigger, schema, own_name("insert", suffix).c_str(), table, column,
                         filter, filter, key, suffix, column));
  const std::string remove =
      stored.removes ? sql_text(kRemoveOld, filter, filter, key, suffix, column, column) : "";
  execute(db(), sql_text(kUpdateTrigger, schema, own_name("update", suffix).c_str(), of.c_str(),
                         table, column, column, column, column, remove.c_str(), filter, filter, key,
                         suffix, column, column));
  if (stored.removes) {
    execute(db(), sql_text(kDeleteTrigger, schema, own_name("delete", suffix).c_str(), table,
                           column, filter, filter, key, suffix, column));
  }
}

// Makes triggers that compute the keys k1, k2 and so on of the row, before and after the change.
// Two keys are the same if they are so for a key of any type: 1 and 1.0 are equal as numbers, but
// not as TEXT. An update removes a key that the row had and no longer has, and adds a key that it
// has now and did not have. So a change of other columns changes nothing.
void FilterSource::create_computing_triggers(const SourceSpec& from, const std::string& of,
                                             const Stored& stored) {
  std::string computed;
  std::string names;
  std::string held;
  std::string same;
  std::string columns;
  for (size_t i = 0; i < from.keys.size(); ++i) {
    const std::string name = sql_text("k%d", static_cast<int>(i) + 1);
    append_item(computed, ", ", SourceSpec::sql_of(from.keys[i]) + " AS " + name);
    const char* k = name.c_str();
    append_item(names, ", ", sql_text("a.%s", k));
    append_item(held, " AND ", sql_text("a.%s IS NOT NULL", k));
    append_item(same, " AND ", sql_text("b.%s = a.%s COLLATE BINARY", k, k));
    append_item(same, " AND ",
                sql_text("CAST(b.%s AS TEXT) = CAST(a.%s AS TEXT) COLLATE BINARY", k, k));
    append_item(columns, ", ", sql_text(R"("%w")", keys_[i].c_str()));
  }
  const std::string where = from.where.empty() ? "" : " WHERE (" + from.where + ")";
  const auto rows = [&](const char* of_row) {
    std::string values;
    for (const SourceSpec::Column& column : from.columns) {
      append_item(values, ", ", sql_text(R"(%s."%w")", of_row, column.now.c_str()));
    }
    return "(SELECT " + computed + " FROM " +
           sql_text(R"("%w")", own_name("row", stored.suffix).c_str()) + "(" + values + ")" +
           where + ")";
  };
  const std::string filter = sql_text(R"("%w")", store_.table().c_str());
  const auto change = [&](const char* event, const char* of_row) {
    return "INSERT INTO " + filter + "(" + filter + ", " + columns + ") SELECT '" + event + " " +
           stored.suffix + "', " + names + " FROM " + rows(of_row) + " AS a WHERE " + held;
  };
  const std::string add = change("insert", "new");
  const std::string remove = change("delete", "old");
  const auto unless_same = [&](const char* of_row) {
    return " AND NOT EXISTS (SELECT 1 FROM " + rows(of_row) + " AS b WHERE " + same + ")";
  };
  const auto create = [&](const char* event, const std::string& when, const std::string& body) {
    execute(db(),
            sql_text(R"(CREATE TRIGGER "%w"."%w" AFTER %s ON "%w" BEGIN )", store_.schema().c_str(),
                     own_name(event, stored.suffix).c_str(), when.c_str(), from.table.c_str()) +
                body + "; END");
  };
  create("insert", "INSERT", add);
  create("update", "UPDATE " + of,
         (stored.removes ? remove + unless_same("new") + "; " : "") + add + unless_same("old"));
  if (stored.removes) {
    create("delete", "DELETE", remove);
  }
}

std::vector<std::string> FilterSource::trigger_names(const Stored& stored) const {
  std::vector<std::string> names;
  for (const char* event : kEvents) {
    names.push_back(own_name(event, stored.suffix));
  }
  names.resize(stored.removes ? names.size() : names.size() - 1);
  return names;
}

// Reads the rows of the schema in the order in which SQLite made them.
FilterSource::Triggers FilterSource::triggers() const {
  const Stored now = stored();
  const std::vector<std::string> own = trigger_names(now);
  const std::string seal = own_name("row", now.suffix);
  size_t found = 0;
  bool sealed = false;
  SchemaRows rows(db(), store_.schema(), "type IN ('trigger', 'table')");
  while (rows.next()) {
    if (rows.is_named(own)) {
      ++found;
      sealed = false;  // the trigger was made after the seal
    } else if (rows.is_named(seal) && SourceRow::is_made_by(rows.sql())) {
      sealed = true;
    }
  }
  if (found != own.size()) {
    return Triggers::kGone;
  }
  return sealed ? Triggers::kInPlace : Triggers::kUnsealed;
}

// Returns whether another filter over the same source made the trigger.
bool FilterSource::is_of_other_filter(const std::string& name) const {
  const std::optional<SourceName> parsed = SourceName::parse(name);
  return parsed && !equal_names(parsed->filter, store_.table()) &&
         parsed->is_used(db(), store_.schema());
}

std::string FilterSource::newer_trigger() const {
  const std::string table = spec().table;
  const std::vector<std::string> own = trigger_names(stored());
  bool older = true;  // the trigger of this row is older than all of ours
  SchemaRows rows(db(), store_.schema(), "type = 'trigger'");
  while (rows.next()) {
    if (rows.is_named(own)) {
      older = false;
    } else if (!older && rows.is_of_table(table) && !is_of_other_filter(rows.name())) {
      return rows.name();
    }
  }
  return {};
}

std::vector<FilterSource::Own> FilterSource::own_objects() const {
  std::vector<Own> all;
  SchemaRows rows(db(), store_.schema(), "type IN ('trigger', 'table')");
  while (rows.next()) {
    std::optional<SourceName> name = SourceName::parse(rows.name());
    if (!name || !equal_names(name->filter, store_.table())) {
      continue;
    }
    const bool row = name->what == "row" && SourceRow::is_made_by(rows.sql());
    const bool event =
        std::find(std::begin(kEvents), std::end(kEvents), name->what) != std::end(kEvents);
    if (row || (event && !rows.is_of_table(rows.name()))) {  // no table that has a trigger's name
      all.push_back(
          {std::move(*name), sql_text(row ? R"(DROP TABLE "%w"."%w")" : R"(DROP TRIGGER "%w"."%w")",
                                      store_.schema().c_str(), rows.name().c_str())});
    }
  }
  return all;
}

bool FilterSource::has_leftovers() const {
  const std::string suffix = stored().suffix;
  const std::vector<Own> all = own_objects();
  return std::any_of(all.begin(), all.end(),
                     [&suffix](const Own& one) { return one.name.suffix != suffix; });
}

// Drops those with another suffix, too.
void FilterSource::drop_triggers() {
  for (const Own& one : own_objects()) {
    execute(db(), one.drop);
  }
}

// Stores in the option the names that only the triggers knew, and drops the triggers.
void FilterSource::detach_triggers() {
  (void)store_names();
  drop_triggers();
}

bool FilterSource::check_triggers() const {
  Triggers found = Triggers::kInPlace;
  try {
    found = triggers();
  } catch (const SqlError& error) {
    if (!may_be_amid_ddl(error.code())) {
      throw;
    }
    return false;  // SQLite will plan this statement again
  }
  if (found == Triggers::kInPlace) {
    return true;
  }
  const std::string what = found == Triggers::kGone
                               ? "are gone (dropped, perhaps with the source)"
                               : "may have missed changes (they were dropped and made again, or "
                                 "restored from a dump, or " +
                                     own_name("row", stored().suffix) + " was dropped)";
  throw SqlError(SQLITE_ERROR, store_.table() + ": the triggers on its source " + what +
                                   ": keys may be missing; " +
                                   command_text(store_.table(), "rebuild") +
                                   " loads them and makes the triggers anew");
}

}  // namespace cuckoo
