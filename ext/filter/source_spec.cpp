#include "ext/filter/source_spec.hpp"

#include <algorithm>

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {
namespace {

using Kind = SqlToken::Kind;

// The plan of the source row has a bit for each column.
constexpr size_t kMostColumns = 30;

bool is_rowid_name(std::string_view name) {
  return equal_names(name, "rowid") || equal_names(name, "oid") || equal_names(name, "_rowid_");
}

// Checks the expressions of one source. Its errors name the source.
class Judge {
 public:
  Judge(sqlite3* db, const std::string& filter, const std::string& schema, SourceSpec& source)
      : db_(db), filter_(filter), schema_(schema), source_(source) {}

  [[noreturn]] void refuse(const std::string& why, int code = SQLITE_ERROR) const {
    throw SqlError(code, filter_ + ": source " + shown(schema_, source_) + ": " + why);
  }

  void expect_table() const {
    SchemaRows tables(db_, schema_, "type IN ('table', 'view')");
    if (!tables.find(source_.table)) {
      refuse(source_.table.find('.') == std::string::npos
                 ? "no such table in this schema"
                 : "no such table; a source is in its filter's schema, and is named without it");
    }
    if (tables.root_page() == 0) {
      refuse("expected an ordinary table, not a view or a virtual table");
    }
  }

  // I1, I2
  void find_columns(const std::vector<ColumnInfo>& all) {
    std::vector<bool> named(all.size());
    for (const std::string& key : source_.keys) {
      note_names(SourceSpec::sql_of(key), all, named);
    }
    if (!source_.where.empty()) {
      note_names(source_.where, all, named);
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (named[i]) {
        source_.columns.push_back({all[i].name, all[i].name});
      }
    }
  }

  // I3: lets SQLite prepare an index on the expressions, and never makes that index.
  void ask_sqlite() const {
    std::string keys;
    for (const std::string& key : source_.keys) {
      append_item(keys, ", ", SourceSpec::sql_of(key));
    }
    const std::string where = source_.where.empty() ? "" : " WHERE (" + source_.where + ")";
    try {
      const Statement index(db_, sql_text(R"(CREATE INDEX "%w"."expressions of a filter" ON "%w")",
                                          schema_.c_str(), source_.table.c_str()) +
                                     "(" + keys + ")" + where);
    } catch (const SqlError& error) {
      refuse(error.message() + "; only what an index may contain is allowed", error.code());
    }
  }

  void expect_columns() const {
    if (source_.columns.empty()) {
      refuse("it names no column of " + printable(source_.table));
    }
    if (source_.columns.size() > kMostColumns) {
      refuse("it names " + std::to_string(source_.columns.size()) + " columns, expected at most " +
             std::to_string(kMostColumns));
    }
  }

  SourceKey column_key(const std::string& name, const std::vector<ColumnInfo>& all) const {
    const ColumnInfo* const column = find_column(all, name);
    if (column == nullptr) {
      refuse(source_.keys.size() > 1 ? printable(name) + ": no such column" : "no such column");
    }
    const char* collation_text = nullptr;
    const int code =
        sqlite3_table_column_metadata(db_, schema_.c_str(), source_.table.c_str(), name.c_str(),
                                      nullptr, &collation_text, nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
      refuse(sqlite3_errmsg(db_), code);
    }
    const std::optional<Collation> collation = collation_named(collation_text);
    if (!collation) {
      refuse(std::string("its collation is ") + collation_text +
             ", expected BINARY, NOCASE or RTRIM; take a generated column of it as the source,"
             " declared with one of these");
    }
    return {true, plain_type(column->type), *collation};
  }

 private:
  void note_names(const std::string& expression, const std::vector<ColumnInfo>& all,
                  std::vector<bool>& named) const {
    std::string_view rest = expression;
    int depth = 0;
    while (const std::optional<SqlToken> token = take_token(rest)) {
      std::string_view quoted = token->text;
      const std::string text =
          token->kind == Kind::kName ? take_name(quoted) : std::string(token->text);
      depth += text == "(" && token->kind == Kind::kOther ? 1 : 0;
      depth -= text == ")" && token->kind == Kind::kOther ? 1 : 0;
      if (token->kind == Kind::kComment || (token->kind == Kind::kOther && text == ";") ||
          depth < 0) {
        refuse(std::string("\"") + printable(expression) + "\" is no expression");
      }
      if (token->kind != Kind::kWord && token->kind != Kind::kName) {
        continue;
      }
      if (const ColumnInfo* const column = find_column(all, text); column != nullptr) {
        named[static_cast<size_t>(column - all.data())] = true;
      } else if (token->text.starts_with('"')) {  // SQLite might take it for a text
        refuse(printable(token->text) + ": no such column; write a text in single quotes");
      } else if (is_rowid_name(text)) {
        refuse(text + " is no column; give the row's number a column, an INTEGER PRIMARY KEY");
      }
      refuse_clock(text, rest);
      if (rest.starts_with('.')) {
        refuse(std::string("\"") + printable(expression) +
               "\": write column names without a table");
      }
    }
    if (depth != 0) {
      refuse(std::string("\"") + printable(expression) +
             "\" is no expression: a parenthesis is not closed");
    }
  }

  // Refuses the time of day. SQLite refuses the time only when it fills an index, not when it
  // prepares the statement. A value of the table that says 'now' is not noticed here.
  void refuse_clock(const std::string& function, std::string_view rest) const {
    constexpr std::string_view kFunctions[] = {"date",      "time",     "datetime", "julianday",
                                               "unixepoch", "strftime", "timediff"};
    const std::optional<SqlToken> open = take_token(rest);
    if (!open || open->text != "(" ||
        std::find(std::begin(kFunctions), std::end(kFunctions), lower(function)) ==
            std::end(kFunctions)) {
      return;
    }
    size_t tokens = 0;  // in the parentheses
    size_t commas = 0;
    bool clock = false;
    for (int depth = 1; depth > 0; ++tokens) {
      const std::optional<SqlToken> token = take_token(rest);
      if (!token) {
        return;
      }
      depth += token->text == "(" ? 1 : 0;
      depth -= token->text == ")" ? 1 : 0;
      commas += depth == 1 && token->text == "," ? 1 : 0;
      const std::string text = lower(token->text);
      clock = clock || text == "'now'" || text == "'localtime'" || text == "'utc'" ||
              text == "'subsec'" || text == "'subsecond'";
    }
    const bool of_format_alone = equal_names(function, "strftime") && commas == 0;
    if (clock || tokens == 1 || of_format_alone) {
      refuse(function +
             "() of the present time or zone: a row would come or go without being changed; keep"
             " what is due in a column");
    }
  }

  sqlite3* db_;
  const std::string& filter_;
  const std::string& schema_;
  SourceSpec& source_;
};

}  // namespace

std::optional<std::string> SourceSpec::column_of(std::string_view expression) {
  std::string_view rest = expression;
  const std::optional<SqlToken> token = take_token(rest);
  if (!token || take_token(rest)) {
    return std::nullopt;
  }
  std::string_view text = token->text;
  const bool name =
      token->kind == Kind::kWord || token->kind == Kind::kName || token->kind == Kind::kText;
  return name ? std::optional(take_name(text)) : std::nullopt;
}

bool SourceSpec::is_of_columns() const {
  return where.empty() && std::all_of(keys.begin(), keys.end(), [](const std::string& key) {
           return column_of(key).has_value();
         });
}

std::vector<SourceSpec::Column> SourceSpec::used_columns() const {
  if (!is_plain()) {
    return columns;
  }
  const std::string name = column().column;
  return {{name, name}};
}

std::string SourceSpec::name_now(const std::string& name) const {
  const auto column = std::find_if(columns.begin(), columns.end(), [&name](const Column& one) {
    return equal_names(one.name, name);
  });
  return column == columns.end() ? name : column->now;
}

std::vector<std::string> SourceSpec::key_columns() const {
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    names.push_back(name_now(column_of(key).value_or("")));
  }
  return names;
}

std::string SourceSpec::sql_of(const std::string& expression) {
  const std::optional<std::string> column = column_of(expression);
  return column ? sql_text(R"("%w")", column->c_str()) : "(" + expression + ")";
}

std::string shown(const std::string& schema, const SourceSpec& source) {
  std::string keys;
  for (const std::string& key : source.keys) {
    const std::optional<std::string> column = SourceSpec::column_of(key);
    append_item(keys, ", ", printable(column ? source.name_now(*column) : key));
  }
  return schema + "." + printable(source.table) + "(" + keys + ")" +
         (source.where.empty() ? "" : " where " + printable(source.where));
}

std::vector<SourceKey> resolve_source(sqlite3* db, const std::string& filter,
                                      const std::string& schema, SourceSpec& source) {
  Judge judge(db, filter, schema, source);
  judge.expect_table();
  const std::vector<ColumnInfo> all = columns_of(db, schema, source.table);
  source.columns.clear();
  std::vector<SourceKey> keys;
  for (const std::string& key : source.keys) {
    const std::optional<std::string> column = SourceSpec::column_of(key);
    keys.push_back(column ? judge.column_key(*column, all) : SourceKey());
  }
  if (!source.is_plain()) {
    judge.find_columns(all);
    judge.ask_sqlite();
    judge.expect_columns();
  }
  return keys;
}

const ColumnInfo* find_column(const std::vector<ColumnInfo>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&name](const ColumnInfo& one) {
    return equal_names(one.name, name);
  });
  return found == all.end() ? nullptr : &*found;
}

std::vector<ColumnInfo> columns_of(sqlite3* db, const std::string& schema,
                                   const std::string& table) {
  enum : int { kName = 1, kType = 2, kPrimaryKey = 5, kHidden = 6 };
  constexpr int64_t kHiddenColumn = 1;  // 2 and 3: generated
  std::vector<ColumnInfo> columns;
  const bool strict = is_strict(db, schema, table);
  Statement info(db, sql_text(R"(PRAGMA "%w".table_xinfo("%w"))", schema.c_str(), table.c_str()));
  while (info.step()) {
    if (info.integer(kHidden) != kHiddenColumn) {
      const bool any = strict && equal_names(info.text(kType), "ANY");
      columns.push_back(
          {info.text(kName), any ? "" : info.text(kType), info.integer(kHidden) != 0,
           info.integer(kPrimaryKey) != 0 && equal_names(info.text(kType), "INTEGER")});
    }
  }
  return columns;
}

const char* plain_type(const std::string& type) {
  const Affinity affinity = affinity_of(type);
  return affinity == Affinity::kNone ? "" : affinity_word(affinity);
}

std::string column_list(const SourceSpec& source, const std::string& of) {
  std::string list;
  for (const SourceSpec::Column& column : source.columns) {
    append_item(list, ", ",
                of + sql_text(R"("%w" AS "%w")", column.now.c_str(), column.name.c_str()));
  }
  return list;
}

}  // namespace cuckoo
