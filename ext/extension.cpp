// The entry point, and the list of everything that is registered.
#include "ext/connection.hpp"
#include "ext/filter_aggregates.hpp"
#include "ext/filter_functions.hpp"
#include "ext/filter_info.hpp"
#include "ext/filter_table.hpp"
#include "ext/flash_functions.hpp"
#include "ext/flash_info.hpp"
#include "ext/flash_table.hpp"
#include "ext/hash_ring_moves.hpp"
#include "ext/hash_ring_table.hpp"
#include "ext/sqlite_api.hpp"
#include "ext/sqlite_cuckoo.h"

#ifndef SQLITE_CORE
SQLITE_EXTENSION_INIT1
#endif

namespace cuckoo {
namespace {

using ConnectionPointer = std::shared_ptr<Connection>;

void release_client(void* client) { delete static_cast<ConnectionPointer*>(client); }

template <class Table>
void register_table(sqlite3* db, const char* name, const ConnectionPointer& connection) {
  // SQLite calls release_client also when the registration fails.
  const int code =
      Adapter<Table>::register_module(db, name, new ConnectionPointer(connection), release_client);
  if (code != SQLITE_OK) {
    throw SqlError(code, sqlite3_errmsg(db));
  }
}

// A second load on one connection changes nothing: open tables keep their module and their memory.
bool is_loaded(sqlite3* db) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db, "SELECT cuckoo_version()", -1, &statement, nullptr);
  sqlite3_finalize(statement);
  if (code != SQLITE_OK) {
    // An automatic extension that leaves an error behind makes sqlite3_open() fail.
    sqlite3_exec(db, "SELECT 1", nullptr, nullptr, nullptr);
  }
  return code == SQLITE_OK;
}

void register_all(sqlite3* db) {
  const auto connection = std::make_shared<Connection>(db);
  register_table<CuckooTable>(db, "cuckoo_filter", connection);
  register_table<BloomTable>(db, "bloom_filter", connection);
  register_table<FilterInfo>(db, "filter_info", connection);
  register_table<FlashTable>(db, "flash_kv", connection);
  register_table<FlashInfo>(db, "flash_kv_info", connection);
  register_table<FlashSectors>(db, "flash_kv_sectors", connection);
  register_table<HashRingTable>(db, "hash_ring", connection);
  register_table<HashRingMoves>(db, "hash_ring_moves", connection);
  register_filter_functions(db, connection);
  register_filter_aggregates(db);
  register_flash_functions(db, connection);
}

}  // namespace
}  // namespace cuckoo

int sqlite3_cuckoo_init(sqlite3* db, char** error, const sqlite3_api_routines* api) {
#ifndef SQLITE_CORE
  SQLITE_EXTENSION_INIT2(api);
#else
  (void)api;
#endif
  constexpr int kOldest = 3040000;
  return cuckoo::guard(
      [error](const char* text) {
        if (error != nullptr) {
          *error = sqlite3_mprintf("%s", text);
        }
      },
      [db] {
        if (sqlite3_libversion_number() < kOldest) {
          throw cuckoo::SqlError(SQLITE_ERROR, "sqlite-cuckoo needs SQLite 3.40 or newer");
        }
        if (!cuckoo::is_loaded(db)) {
          cuckoo::register_all(db);
        }
      });
}
