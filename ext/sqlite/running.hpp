// The statements of a connection that run now.
#pragma once

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Returns the first one after `statement` that runs, null if there is none. Null: of all.
inline sqlite3_stmt* next_running(sqlite3* db, sqlite3_stmt* statement) noexcept {
  do {
    statement = sqlite3_next_stmt(db, statement);
  } while (statement != nullptr && sqlite3_stmt_busy(statement) == 0);
  return statement;
}

// The same of those that write.
inline sqlite3_stmt* next_writing(sqlite3* db, sqlite3_stmt* statement) noexcept {
  do {
    statement = next_running(db, statement);
  } while (statement != nullptr && sqlite3_stmt_readonly(statement) != 0);
  return statement;
}

inline bool runs_statement(sqlite3* db) noexcept { return next_running(db, nullptr) != nullptr; }
inline bool runs_writing_statement(sqlite3* db) noexcept {
  return next_writing(db, nullptr) != nullptr;
}

}  // namespace cuckoo
