// sha1(x), flash_kv_map(table)
#pragma once

#include <memory>

#include "ext/sqlite_api.hpp"

namespace cuckoo {

class Connection;

// Throws SqlError.
void register_flash_functions(sqlite3* db, const std::shared_ptr<Connection>& connection);

}  // namespace cuckoo
