// INSERT INTO users SELECT … FROM a guard over users. SQLite reads all rows of a table before it
// writes the first one into the same table, but it doesn't know what table a guard reads. It also
// does so if the table has triggers, so a guard over a filter with triggers needs no care.
#pragma once

#include <string>
#include <string_view>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Return whether a statement that runs now, or a trigger of that schema or of temp, has an INSERT
// of several rows into the table: from a SELECT, or with several rows of VALUES. A table of that
// name in another attached database may be taken for it. Throw SqlError.
bool running_statement_inserts_rows_into(sqlite3* db, const std::string& schema,
                                         const std::string& table);
bool trigger_inserts_rows_into(sqlite3* db, const std::string& schema, const std::string& table);

}  // namespace cuckoo
