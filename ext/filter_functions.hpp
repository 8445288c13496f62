// SQL functions over filters: filter_contains(filter, key), cuckoo_version().
#pragma once

#include <memory>

#include "ext/sqlite_api.hpp"

namespace cuckoo {

class Connection;

// Registers them; returns an SQLite code.
int register_filter_functions(sqlite3* db, const std::shared_ptr<Connection>& connection) noexcept;

}  // namespace cuckoo
