// The statements of a connection that run now.
#pragma once

#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Returns the next running statement after `statement`, or null. Null as `statement`: the first
// one.
inline sqlite3_stmt* next_running(sqlite3* db, sqlite3_stmt* statement) noexcept {
  do {
    statement = sqlite3_next_stmt(db, statement);
  } while (statement != nullptr && sqlite3_stmt_busy(statement) == 0);
  return statement;
}

// Returns the next running statement that writes.
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
