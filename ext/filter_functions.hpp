// filter_contains(filter, key), filter_export(table [, 'hashes' | 'legacy']), cuckoo_version()
#pragma once

#include <memory>

#include "ext/sqlite_api.hpp"

namespace cuckoo {

class Connection;

// Throws SqlError.
void register_filter_functions(sqlite3* db, const std::shared_ptr<Connection>& connection);

}  // namespace cuckoo
