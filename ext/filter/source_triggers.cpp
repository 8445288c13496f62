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

// Reads the names from a trigger that create_triggers() wrote, and in which SQLite renamed them:
//   CREATE TRIGGER "…" AFTER INSERT ON "…" WHEN new."column" IS NOT NULL …, for a plain source;
//   … FROM "…_source_row_…"(new."a", new."b") … for any other.
// `row` is "new" or "old", as the trigger calls it.
bool learn_names(std::string_view trigger, const char* row, const std::string& row_table,
                 SourceSpec& source) {
  const bool plain = source.is_plain();
  const size_t wanted = plain ? 1 : source.columns.size();
  std::vector<std::string> names;
  bool inside = false;
  while (names.size() < wanted) {
    const std::optional<SqlToken> token = take_token(trigger);
    if (!token) {
      return false;
    }
    std::string_view text = token->text;
    inside =
        inside || (plain ? equal_names(text, "when")
                         : token->kind == SqlToken::Kind::kName && take_name(text) == row_table);
    if (inside && equal_names(token->text, row) && trigger.starts_with('.')) {
      trigger.remove_prefix(1);
      const std::optional<SqlToken> name = take_token(trigger);
      std::string_view quoted = name ? name->text : std::string_view();
      names.push_back(take_name(quoted));
    }
  }
  if (plain) {
    source.keys[0] = sql_text(R"("%w")", names[0].c_str());
  }
  for (size_t i = 0; i < source.columns.size(); ++i) {
    source.columns[i].now = names[i];
  }
  return true;
}

}  // namespace

void FilterSource::create_triggers() {
  const Found found = look();
  const SourceSpec& from = found.source;
  const Stored& now = found.stored;
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

// Reads the rows of the schema in the order in which SQLite made them.
FilterSource::Found FilterSource::look(Stored stored) const {
  Found found{std::move(stored), {}, Triggers::kGone, {}, {}, false};
  const Stored& now = found.stored;
  found.source = now.source;
  const std::string insert = own_name("insert", now.suffix);
  const std::string remove = own_name("delete", now.suffix);
  std::vector<std::string> own = {insert, own_name("update", now.suffix)};
  if (now.removes) {
    own.push_back(remove);
  }
  const std::string seal = own_name("row", now.suffix);
  size_t in_place = 0;
  bool sealed = false;
  bool learned = false;
  std::string table;  // of the triggers
  SchemaRows rows(db(), store_.schema(), "type IN ('trigger', 'table')");
  while (rows.next()) {
    const bool trigger = rows.is_trigger();
    if (trigger && rows.is_named(own)) {
      ++in_place;
      sealed = false;  // the trigger was made after the seal
      table = rows.table();
      if (rows.is_named(insert) || (rows.is_named(remove) && !learned)) {
        SourceSpec renamed = now.source;
        if (learn_names(rows.sql(), rows.is_named(insert) ? "new" : "old", seal, renamed)) {
          renamed.table = table;
          found.source = std::move(renamed);
          learned = true;
        }
      }
    } else if (!trigger && rows.is_named(seal) && SourceRow::is_made_by(rows.sql())) {
      sealed = true;
    } else if (trigger && in_place != 0 && rows.is_of_table(table)) {
      found.newer.push_back(rows.name());
    }
    const std::optional<SourceName> name = SourceName::parse(rows.name());
    if (name && equal_names(name->filter, store_.table()) &&
        (trigger
             ? std::find(std::begin(kEvents), std::end(kEvents), name->what) != std::end(kEvents)
             : name->what == "row" && SourceRow::is_made_by(rows.sql()))) {
      found.drops.push_back(
          sql_text(trigger ? R"(DROP TRIGGER "%w"."%w")" : R"(DROP TABLE "%w"."%w")",
                   store_.schema().c_str(), rows.name().c_str()));
      found.leftovers = found.leftovers || name->suffix != now.suffix;
    }
  }
  found.triggers = in_place != own.size() ? Triggers::kGone
                   : sealed               ? Triggers::kInPlace
                                          : Triggers::kUnsealed;
  return found;
}

// Returns whether another filter over the same source made the trigger.
bool FilterSource::is_of_other_filter(const std::string& name) const {
  const std::optional<SourceName> parsed = SourceName::parse(name);
  return parsed && !equal_names(parsed->filter, store_.table()) &&
         parsed->is_used(db(), store_.schema());
}

std::string FilterSource::newer_trigger(const Found& found) const {
  const auto newer =
      std::find_if(found.newer.begin(), found.newer.end(),
                   [this](const std::string& trigger) { return !is_of_other_filter(trigger); });
  return newer == found.newer.end() ? std::string() : *newer;
}

void FilterSource::drop(const Found& found) const {
  for (const std::string& statement : found.drops) {
    execute(db(), statement);
  }
}

// Stores in the option the names that only the triggers knew, and drops the triggers.
void FilterSource::detach_triggers() {
  const Found found = look();
  (void)store_names(found);
  drop(found);
}

bool FilterSource::check_triggers() const {
  Triggers found = Triggers::kInPlace;
  try {
    found = look().triggers;
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
