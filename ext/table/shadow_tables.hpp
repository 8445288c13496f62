// The shadow tables of a virtual table: made, dropped, renamed and recognised from one list, its
// module's.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Arrays of these are not inline, because GCC for Windows puts the same one into a section that can
// be written in one file and into one that can't in another. Its linker then sees two arrays.
struct ShadowTable {
  std::string_view suffix;   // of "<table>_<suffix>"
  std::string_view columns;  // as in CREATE TABLE
};

bool is_shadow_suffix(std::string_view suffix, std::span<const ShadowTable> tables) noexcept;

// Is there a table of that name, with that column if one is given? Throws SqlError when the schema
// can't be read.
bool table_exists(sqlite3* db, const std::string& schema, const std::string& table,
                  const char* column = nullptr);

// All throw SqlError. No statement may be open on them when they are dropped or renamed; those that
// are missing are passed over then.
void create_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                          std::span<const ShadowTable> tables);
void drop_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                        std::span<const ShadowTable> tables);
void rename_shadow_tables(sqlite3* db, const std::string& schema, const std::string& table,
                          const std::string& new_table, std::span<const ShadowTable> tables);

}  // namespace cuckoo
