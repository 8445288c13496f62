#include "ext/table/shadow_tables.hpp"

#include "ext/sqlite/statement.hpp"

namespace cuckoo {

bool is_shadow_suffix(std::string_view suffix, std::span<const ShadowTable> tables) noexcept {
  for (const ShadowTable& table : tables) {
    if (suffix.size() == table.suffix.size() &&
        sqlite3_strnicmp(suffix.data(), table.suffix.data(), static_cast<int>(suffix.size())) ==
            0) {
      return true;
    }
  }
  return false;
}

bool table_exists(sqlite3* db, const std::string& schema, const std::string& table,
                  const char* column) {
  const int code = sqlite3_table_column_metadata(db, schema.c_str(), table.c_str(), column, nullptr,
                                                 nullptr, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK && (code & 0xFF) != SQLITE_ERROR) {
    throw SqlError(code, sqlite3_errmsg(db));
  }
  return code == SQLITE_OK;
}

void create_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                          std::span<const ShadowTable> tables) {
  for (const ShadowTable& shadow : tables) {
    execute(db, sql_text(R"(CREATE TABLE "%w"."%w_%s"%s)", schema.c_str(), table.c_str(),
                         std::string(shadow.suffix).c_str(), std::string(shadow.columns).c_str()));
  }
}

void drop_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                        std::span<const ShadowTable> tables) {
  for (const ShadowTable& shadow : tables) {
    execute(db, sql_text(R"(DROP TABLE IF EXISTS "%w"."%w_%s")", schema.c_str(), table.c_str(),
                         std::string(shadow.suffix).c_str()));
  }
}

void rename_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                          const std::string& new_table, std::span<const ShadowTable> tables) {
  for (const ShadowTable& shadow : tables) {
    const std::string suffix(shadow.suffix);
    const std::string name = sql_text("%s_%s", table.c_str(), suffix.c_str());
    if (table_exists(db, schema, name)) {
      execute(db, sql_text(R"(ALTER TABLE "%w"."%w" RENAME TO "%w_%s")", schema.c_str(),
                           name.c_str(), new_table.c_str(), suffix.c_str()));
    }
  }
}

}  // namespace cuckoo
