#include "ext/filter/trigger_tables.hpp"

#include "ext/sqlite/options.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

bool is_virtual_table_of(const std::string& sql, const char* module) {
  std::string_view rest = sql;
  for (const char* word : {"CREATE", "VIRTUAL", "TABLE", "", "USING", module}) {
    const std::string next = take_name(rest);
    if (*word != '\0' && !equal_names(next, word)) {
      return false;
    }
  }
  return true;
}

void drop_virtual_table(sqlite3* db, const std::string& schema, const std::string& name,
                        const char* module) {
  bool found = false;
  {
    SchemaRows tables(db, schema, "type = 'table'");
    while (!found && tables.next()) {
      found = tables.is_named(name) && is_virtual_table_of(tables.sql(), module);
    }
  }
  if (found) {
    execute(db, sql_text(R"(DROP TABLE "%w"."%w")", schema.c_str(), name.c_str()));
  }
}

}  // namespace cuckoo
