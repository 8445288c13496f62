// The entry point, and the list of everything that is registered.
#if defined(__APPLE__) && !defined(SQLITE_CORE)
#include <dlfcn.h>
#elif defined(_WIN32) && !defined(SQLITE_CORE)
#define WIN32_LEAN_AND_MEAN
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#endif

#include <mutex>
#include <span>

#include "ext/filter/aggregates.hpp"
#include "ext/filter/cursor.hpp"
#include "ext/filter/functions.hpp"
#include "ext/filter/guard.hpp"
#include "ext/filter/options.hpp"
#include "ext/filter/source_row.hpp"
#include "ext/flash/cursor.hpp"
#include "ext/flash/functions.hpp"
#include "ext/flash/options.hpp"
#include "ext/ring/functions.hpp"
#include "ext/ring/store.hpp"
#include "ext/ring/table.hpp"
#include "ext/sqlite/api.hpp"
#include "ext/sqlite_cuckoo.h"
#include "ext/table/check.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"
#include "ext/version.hpp"

#ifndef SQLITE_CORE
SQLITE_EXTENSION_INIT1
#endif

namespace cuckoo {
namespace {

constexpr int kOldestSqlite = 3040000;
constexpr char kTooOld[] = "sqlite-cuckoo needs SQLite 3.40 or newer";

#ifdef SQLITE_CORE

// Returns why this SQLite can't have the extension, or null.
const char* library_refusal(const sqlite3_api_routines*) noexcept {
  return sqlite3_libversion_number() < kOldestSqlite ? kTooOld : nullptr;
}
char* error_text(const sqlite3_api_routines*, const char* text) {
  return sqlite3_mprintf("%s (this SQLite is %s)", text, sqlite3_libversion());
}

#else

// Returns why this SQLite can't have the extension, or null if its routine table was taken. One
// table serves all connections. If the process has a second SQLite library and we took its table as
// well, we would pass connections of the first library to the second. Before the table is taken,
// nothing allocates, and SQLite is called only through `api`.
const char* library_refusal(const sqlite3_api_routines* api) noexcept {
  if (api->libversion_number() < kOldestSqlite) {
    return kTooOld;
  }
  static std::mutex first;
  const std::lock_guard lock(first);
  if (sqlite3_api == nullptr) {
    sqlite3_api = api;
  }
  return sqlite3_api == api ? nullptr
                            : "sqlite-cuckoo serves another SQLite library of this process"
                              " already; load a copy of its file here, cuckoo2 for example";
}
char* error_text(const sqlite3_api_routines* api, const char* text) {
  return api->mprintf("%s (this SQLite is %s)", text, api->libversion());
}

#endif

#if defined(SQLITE_CORE)

bool stay_mapped() noexcept { return true; }  // the application's own code

#elif defined(__APPLE__)

bool stay_mapped() noexcept {
  Dl_info info;
  return dladdr(reinterpret_cast<const void*>(&stay_mapped), &info) != 0 &&
         dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

#elif defined(_WIN32)

bool stay_mapped() noexcept {
  HMODULE module = nullptr;
  return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                            reinterpret_cast<const wchar_t*>(&stay_mapped), &module) != 0;
}

#else

bool stay_mapped() noexcept { return true; }  // linked with -z nodelete

#endif

void cuckoo_version(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_text(context, kVersion, -1, SQLITE_STATIC);
}

// Returns the modules that take options, with these.
std::span<const ModuleOptions> modules_with_options() noexcept {
  static const ModuleOptions kAll[] = {
      {"cuckoo_filter", "filter", option_specs(FilterModule::kCuckoo)},
      {"bloom_filter", "filter", option_specs(FilterModule::kBloom)},
      {"filter_guard", "guard", guard_option_specs()},
      {"flash_kv", "flash", flash_option_specs()},
      {"hash_ring", "ring", ring_option_specs()},
  };
  return kAll;
}

void register_all(Registration& registration) {
  registration.module<CuckooTable>("cuckoo_filter");
  registration.module<BloomTable>("bloom_filter");
  registration.module<GuardTable>("filter_guard");
  registration.module<SourceRow>(SourceRow::kModule);
  registration.module<FlashTable>("flash_kv");
  registration.module<HashRingTable>("hash_ring");
  register_filter_functions(registration);
  register_filter_info(registration);
  register_filter_overlap(registration);
  register_filter_parts(registration);
  register_filter_plan(registration);
  register_filter_top(registration);
  register_filter_aggregates(registration);
  register_flash_functions(registration);
  register_flash_info(registration);
  register_flash_plan(registration);
  register_flash_salvage(registration);
  register_ring_functions(registration);
  register_ring_moves(registration);
  register_check(registration);
  // This function comes last: if a connection has it, it has all the others, too.
  registration.function("cuckoo_version", 0, SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC,
                        cuckoo_version);
}

// Loads the extension. A second load on one connection changes nothing, so open tables keep their
// module and their memory. But if the first load failed half-way, the second completes it.
void load(sqlite3* db) {
  if (!stay_mapped()) {  // SQLite closes a library whose load failed, and keeps what it registered
    throw SqlError(SQLITE_ERROR, "sqlite-cuckoo can't keep its file loaded");
  }
  std::shared_ptr<Connection> connection = Connection::of(db);
  if (connection == nullptr) {
    if (can_call(db, "cuckoo_version()").value_or(false)) {
      return;  // db uses another copy of this library, linked in or in a file
    }
    connection = std::make_shared<Connection>(db, modules_with_options());
  }
  Registration registration(std::move(connection));
  if (!registration.has("cuckoo_version", 0)) {
    forget_schema(db);
    register_all(registration);
  }
  registration.keep();
}

int init(sqlite3* db, char** error, const sqlite3_api_routines* api) {
  if (const char* const why = library_refusal(api); why != nullptr) {
    if (error != nullptr) {
      *error = error_text(api, why);
    }
    return SQLITE_ERROR;
  }
  return guard(
      [error](const char* text) {
        if (error != nullptr) {
          *error = sqlite3_mprintf("%s", text);
        }
      },
      [db] { load(db); });
}

}  // namespace
}  // namespace cuckoo

// Neither function calls the other, because with a second copy of this file in the process, the
// call would reach the first copy's function.
int sqlite3_cuckoo_init(sqlite3* db, char** error, const sqlite3_api_routines* api) {
  return cuckoo::init(db, error, api);
}

#ifdef SQLITE_CORE
int sqlite3_cuckoo_auto_extension(void) {
  return sqlite3_auto_extension(reinterpret_cast<void (*)(void)>(sqlite3_cuckoo_init));
}
#else
// SQLite looks for this name first, whatever the file is called.
extern "C" SQLITE_CUCKOO_API int sqlite3_extension_init(sqlite3* db, char** error,
                                                        const sqlite3_api_routines* api) {
  return cuckoo::init(db, error, api);
}
#endif
