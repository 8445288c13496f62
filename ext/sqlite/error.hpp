// Errors inside ext are exceptions (SqlError); guard() turns them into SQLite's codes and texts at
// the C boundary, and is the only try/catch there.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.hpp"
#include "ext/sqlite/api.hpp"

namespace cuckoo {

// Thrown with the SQLite code to return and the text to show. Empty: SQLite's own text of the code.
class SqlError : public std::exception {
 public:
  SqlError(int code, std::string message) : code_(code), message_(std::move(message)) {}
  int code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int code_;
  std::string message_;
};

// Turns core's error into SQLite's. "full: …" and invalid arguments become SQLITE_ERROR, after
// which the transaction goes on. Broken rows become SQLITE_CORRUPT_VTAB.
inline SqlError sql_error(const std::string& table, const Error& error) {
  switch (error.code) {
    case ErrorCode::kFull:
      return {SQLITE_ERROR, "full: " + table + " holds " + error.message};
    case ErrorCode::kCorrupt:
      return {SQLITE_CORRUPT_VTAB, table + ": corrupt: " + error.message};
    case ErrorCode::kInterrupted:
      return {SQLITE_INTERRUPT, "interrupted"};
    case ErrorCode::kFlashFailure:  // of a chip only: pages of a table fail by rule
    case ErrorCode::kStorage:
      return {error.storage_code != 0 ? error.storage_code : SQLITE_IOERR,
              table + ": " + error.message};
    case ErrorCode::kBadMessage:
    case ErrorCode::kInvalid:
      break;
  }
  return {SQLITE_ERROR, table + ": " + error.message};
}

inline void throw_if(const std::string& table, const Status& status) {
  if (!status.ok()) {
    throw sql_error(table, status.error());
  }
}

// Returns the value, or throws the failure as throw_if() does.
template <class Value>
Value value_or_throw(const std::string& table, Result<Value> result) {
  throw_if(table, result.take_status());
  return std::move(result.value());
}

// Returns SQLITE_INTERRUPT if the code is SQLITE_ERROR because of an interrupt. SQLite reports one
// so that came in xBestIndex or in sqlite3_declare_vtab().
inline int interrupt_code(int code, std::string_view message) noexcept {
  return code == SQLITE_ERROR && message == sqlite3_errstr(SQLITE_INTERRUPT) ? SQLITE_INTERRUPT
                                                                             : code;
}

// Returns whether SQLite undoes the statement or the whole transaction for this code.
inline bool undoes_transaction(int code) noexcept {
  switch (code & 0xFF) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_INTERRUPT:
      return true;
    default:
      return false;
  }
}

// Returns the code to report for a failure in the middle of writing, so that SQLite undoes it.
inline int undoing_code(int code) noexcept {
  return undoes_transaction(code) ? code : SQLITE_IOERR;
}

// Returns whether a failure with this code says nothing about the table: the same call may succeed
// the next time, or SQLite has undone the transaction already. Such a failure must not be
// swallowed.
inline bool may_pass(int code) noexcept {
  const int primary = code & 0xFF;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED || undoes_transaction(code);
}

// Returns whether SQLite may report this code for a schema that is being changed. It will plan the
// statement again then.
inline bool may_be_amid_ddl(int code) noexcept {
  const int primary = code & 0xFF;
  return primary == SQLITE_ERROR || primary == SQLITE_SCHEMA || primary == SQLITE_LOCKED;
}

// Returns whether a failure with this code says something about a table: it is missing or damaged.
inline bool is_finding(int code) noexcept {
  const int primary = code & 0xFF;
  return primary == SQLITE_CORRUPT || primary == SQLITE_ERROR || primary == SQLITE_NOTADB;
}

// Returns SQLite's code for the exception that is being handled, and hands its text to `report`.
template <class Report>
[[gnu::noinline]] int report_exception(Report&& report) noexcept {
  try {
    throw;
  } catch (const SqlError& error) {
    if (!error.message().empty()) {
      report(error.message().c_str());
    }
    return error.code();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& error) {
    report(error.what());
    return SQLITE_INTERNAL;
  } catch (...) {
    return SQLITE_INTERNAL;
  }
}

// Runs `body`, which returns nothing. If it throws, hands the text to `report` and returns the
// code. It is inlined, so that a callback that is called once a row costs nothing more for it.
template <class Report, class Body>
[[gnu::always_inline]] inline int guard(Report&& report, Body&& body) noexcept {
  try {
    body();
    return SQLITE_OK;
  } catch (...) {
    return report_exception(report);
  }
}

}  // namespace cuckoo
