// Makes, drops, renames and recognises the shadow tables of a virtual table, from its module's list
// of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Arrays of these are not inline, because GCC for Windows may put one array into a writable section
// in one file, and into a read-only section in another. Its linker then sees two arrays.
struct ShadowTable {
  std::string_view suffix;   // of "<table>_<suffix>"
  std::string_view columns;  // as in CREATE TABLE
};

bool is_shadow_suffix(std::string_view suffix, std::span<const ShadowTable> tables) noexcept;

// Returns whether there is a table of that name, with that column if one is given. Throws SqlError
// if the schema can't be read.
bool table_exists(sqlite3* db, const std::string& schema, const std::string& table,
                  const char* column = nullptr);

// All throw SqlError. When tables are dropped or renamed, no statement may be open on them, and
// missing ones are skipped.
void create_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                          std::span<const ShadowTable> tables);
void drop_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                        std::span<const ShadowTable> tables);
void rename_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                          const std::string& new_table, std::span<const ShadowTable> tables);

}  // namespace cuckoo
