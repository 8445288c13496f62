// Images on their way between SQL and C++.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/support/database.hpp"

namespace cuckoo::test {

// The BLOB that an expression gives.
inline std::vector<std::byte> blob_of(Database& db, const std::string& expression,
                                      Caller from = Caller::here()) {
  Query query(db, {"SELECT " + expression, from});
  if (query.step() != SQLITE_ROW || sqlite3_column_type(query.handle(), 0) != SQLITE_BLOB) {
    ADD_FAILURE_AT(from.file, from.line)
        << expression << " gives no BLOB: " << sqlite3_errmsg(db.handle());
    return {};
  }
  const auto* const bytes = static_cast<const std::byte*>(sqlite3_column_blob(query.handle(), 0));
  return {bytes, bytes + sqlite3_column_bytes(query.handle(), 0)};
}

// Runs a statement with the bytes as its only parameter.
inline Outcome attempt_with(Database& db, const std::string& sql,
                            const std::vector<std::byte>& bytes, Caller from = Caller::here()) {
  Query query(db, {sql, from});
  sqlite3_bind_blob64(query.handle(), 1, bytes.data(), bytes.size(), SQLITE_STATIC);
  const int code = query.step();
  const bool done = code == SQLITE_ROW || code == SQLITE_DONE;
  return done ? Outcome() : Outcome{code, sqlite3_errmsg(db.handle())};
}

inline std::string literal_of(const std::vector<std::byte>& bytes) {
  std::string text = "x'";
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text + "'";
}

}  // namespace cuckoo::test
