// The virtual tables that a filter makes for its triggers: source_row.hpp, source_seal.hpp.
#pragma once

#include <string>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Returns whether this is the SQL of a virtual table of that module.
bool is_virtual_table_of(const std::string& sql, const char* module);

// Drops the virtual table. Leaves a table of another kind with that name alone. Throws SqlError.
void drop_virtual_table(sqlite3* db, const std::string& schema, const std::string& name,
                        const char* module);

}  // namespace cuckoo
