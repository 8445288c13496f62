#include "ext/table/registration.hpp"

#include <optional>
#include <string>
#include <string_view>

#include "ext/sqlite/running.hpp"

namespace cuckoo {
namespace {

// Returns whether the entry is no longer registered.
bool take_back(sqlite3* db, const Registered& entry, bool running) noexcept {
  if (entry.arguments == Registered::kModule) {
    // This can't fail. If it returns an error, an earlier allocation failed.
    sqlite3_create_module_v2(db, entry.name, nullptr, nullptr, nullptr);
    return true;
  }
  return !running &&
         sqlite3_create_function_v2(db, entry.name, entry.arguments, SQLITE_UTF8, nullptr, nullptr,
                                    nullptr, nullptr, nullptr) == SQLITE_OK;
}

}  // namespace

Registration::~Registration() {
  if (kept_) {
    return;
  }
  const bool running = runs_statement(db());
  std::vector<Registered>& entries = connection_->registered();
  for (size_t i = entries.size(); i-- > first_;) {
    if (take_back(db(), entries[i], running)) {
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void Registration::function(const char* name, int arguments, int flags, Call call) {
  add({name, arguments}, [&](void* client) {
    return sqlite3_create_function_v2(db(), name, arguments, SQLITE_UTF8 | flags, client, call,
                                      nullptr, nullptr, release_connection);
  });
}

void Registration::aggregate(const char* name, int arguments, int flags, Call step, Final final) {
  add({name, arguments}, [&](void* client) {
    return sqlite3_create_function_v2(db(), name, arguments, SQLITE_UTF8 | flags, client, nullptr,
                                      step, final, release_connection);
  });
}

bool Registration::has(const char* name, int arguments) const noexcept {
  for (const Registered& entry : connection_->registered()) {
    if (entry.arguments == arguments && std::string_view(entry.name) == name) {
      return true;
    }
  }
  return false;
}

// Makes room for one more entry, so that listing it can't fail once SQLite has accepted it.
void Registration::prepare() {
  std::vector<Registered>& entries = connection_->registered();
  entries.reserve(entries.size() + 1);
}

std::optional<bool> can_call(sqlite3* db, const char* call) {
  const std::string sql = std::string("VACUUM INTO ") + call;
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  sqlite3_finalize(statement);  // never stepped, so it has no error of its own
  if (code == SQLITE_OK) {
    return true;
  }
  const std::string text = sqlite3_errmsg(db);
  // Makes the connection forget the error. Otherwise sqlite3_open() would fail after an automatic
  // extension. The text is empty, so that no authorizer is asked.
  execute(db, "");
  switch (code & 0xFF) {
    case SQLITE_NOMEM:
      throw SqlError(code, text);
    case SQLITE_AUTH:  // the authorizer is asked only about functions that are there
      return true;
    default:
      break;
  }
  if (text.starts_with("no such function") || text.starts_with("wrong number of arguments")) {
    return false;
  }
  return std::nullopt;
}

void forget_schema(sqlite3* db) {
  if (sqlite3_txn_state(db, nullptr) == SQLITE_TXN_WRITE) {
    return;
  }
  int writable = 0;
  sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, -1, &writable);
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(db, "PRAGMA writable_schema = RESET", -1, &statement, nullptr);
  sqlite3_finalize(statement);
  if (writable != 0) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
  }
  if (code == SQLITE_NOMEM) {
    throw std::bad_alloc();
  }
  if (code != SQLITE_OK) {  // an authorizer's "no": each table is protected from its first use on
    execute(db, "");        // as in can_call()
  }
}

}  // namespace cuckoo
