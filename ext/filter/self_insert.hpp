// INSERT INTO users SELECT … FROM a guard over users. SQLite reads all rows of a table before it
// writes the first one into the same table, but it doesn't know what table a guard reads. It also
// does so if the table has triggers, so a guard over a filter with triggers needs no care.
#pragma once

#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Returns whether the SQL has an INSERT of several rows into a table of that name: from a SELECT,
// or with several rows of VALUES.
bool inserts_rows_into(std::string_view sql, std::string_view table);

// Return whether a statement that runs now, or a trigger of that schema or of temp, is such an
// INSERT. True also if it inserts into the table of that name in another schema.
bool running_statement_inserts_rows_into(sqlite3* db, std::string_view table);
bool trigger_inserts_rows_into(sqlite3* db, const std::string& schema, std::string_view table);

}  // namespace cuckoo
