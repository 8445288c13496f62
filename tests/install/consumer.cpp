// A small application on the installed files: prints cuckoo_version(), from the library linked in,
// or from the module whose path is given.
#include <sqlite3.h>
#include <sqlite_cuckoo.h>

#include <cstdio>

namespace {

int fail(sqlite3* db, const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, db != nullptr ? sqlite3_errmsg(db) : "out of memory");
  sqlite3_close(db);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const char* const module = argc > 1 ? argv[1] : nullptr;
  if (module == nullptr) {
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(sqlite3_cuckoo_init));
  }

  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) return fail(db, "open");
  if (module != nullptr) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    if (sqlite3_load_extension(db, module, nullptr, nullptr) != SQLITE_OK) return fail(db, "load");
  }

  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, "SELECT cuckoo_version()", -1, &statement, nullptr) != SQLITE_OK) {
    return fail(db, "prepare");
  }
  const bool found = sqlite3_step(statement) == SQLITE_ROW;
  if (found) std::printf("%s\n", sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  if (!found) return fail(db, "step");
  sqlite3_close(db);
  return 0;
}
