#include "ext/filter/self_insert.hpp"

#include <optional>

#include "ext/sqlite/options.hpp"
#include "ext/sqlite/running.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/tokens.hpp"

namespace cuckoo {
namespace {

// Takes tokens off a text, without the comments.
class Tokens {
 public:
  explicit Tokens(std::string_view sql) : left_(sql) { take(); }

  bool at_end() const noexcept { return !now_.has_value(); }
  bool is(std::string_view word) const { return now_ && equal_names(now_->text, word); }
  bool is_name(std::string_view name) const {
    std::string_view text = now_ ? now_->text : std::string_view();
    return now_ && equal_names(take_name(text), name);
  }
  void take() {
    do {
      now_ = take_token(left_);
    } while (now_ && now_->kind == SqlToken::Kind::kComment);
  }
  void take_parentheses() {
    int depth = 0;
    do {
      depth += is("(") ? 1 : is(")") ? -1 : 0;
      take();
    } while (depth > 0 && !at_end());
  }

 private:
  std::string_view left_;
  std::optional<SqlToken> now_;
};

bool has_table(sqlite3* db, const char* schema, const std::string& table) {
  return SchemaRows(db, schema, "type = 'table' OR type = 'view'").find(table);
}

// Returns whether SQLite may mean the schema's table if a statement names it without a schema. It
// looks into temp first, then into main.
bool is_meant_alone(sqlite3* db, const std::string& schema, const std::string& table) {
  if (equal_names(schema, "temp")) {
    return true;
  }
  return !has_table(db, "temp", table) &&
         (equal_names(schema, "main") || !has_table(db, "main", table));
}

// `alone`: a name without a schema counts, too.
bool inserts_rows_into(std::string_view sql, std::string_view schema, std::string_view table,
                       bool alone) {
  Tokens tokens(sql);
  while (!tokens.at_end()) {
    const bool into = tokens.is("into");
    tokens.take();
    if (!into) {
      continue;
    }
    const bool of_schema = tokens.is_name(schema);
    bool same = alone && tokens.is_name(table);
    tokens.take();
    if (tokens.is(".")) {
      tokens.take();
      same = of_schema && tokens.is_name(table);
      tokens.take();
    }
    if (tokens.is("as")) {
      tokens.take();
      tokens.take();
    }
    if (tokens.is("(")) {
      tokens.take_parentheses();
    }
    if (tokens.is("default")) {
      continue;
    }
    if (tokens.is("values")) {
      tokens.take();
      tokens.take_parentheses();
      if (!tokens.is(",")) {
        continue;
      }
    }
    if (same) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool running_statement_inserts_rows_into(sqlite3* db, const std::string& schema,
                                         const std::string& table) {
  for (sqlite3_stmt* one = next_writing(db, nullptr); one != nullptr; one = next_writing(db, one)) {
    const char* const sql = sqlite3_sql(one);
    if (sql != nullptr && inserts_rows_into(sql, schema, table, true) &&
        inserts_rows_into(sql, schema, table, is_meant_alone(db, schema, table))) {
      return true;
    }
  }
  return false;
}

bool trigger_inserts_rows_into(sqlite3* db, const std::string& schema, const std::string& table) {
  for (const std::string& of : {schema, std::string("temp")}) {
    SchemaRows triggers(db, of, "type = 'trigger'");
    while (triggers.next()) {
      if (inserts_rows_into(triggers.sql(), schema, table, true)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace cuckoo
