// A prepared statement of the extension's own, on the connection of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ext/sqlite/api.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/own_limits.hpp"
#include "ext/sqlite/utf16_text.hpp"

namespace cuckoo {

// sqlite3_mprintf as a std::string; %w quotes an identifier's inside, %Q a text.
template <class... Args>
std::string sql_text(const char* format, Args... args) {
  char* text = sqlite3_mprintf(format, args...);
  if (text == nullptr) {
    throw std::bad_alloc();
  }
  struct Free {
    char* text;
    ~Free() { sqlite3_free(text); }
  } free_text{text};
  return text;
}

class Statement {
 public:
  Statement() noexcept = default;
  // Kept for long (PERSISTENT) and never a virtual table's (NO_VTAB). Throws SqlError.
  Statement(sqlite3* db, const std::string& sql) {
    const OwnLimits own_limits(db);
    const int code = sqlite3_prepare_v3(db, sql.c_str(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT | SQLITE_PREPARE_NO_VTAB,
                                        &statement_, nullptr);
    if (code != SQLITE_OK) {
      throw SqlError(code, sqlite3_errmsg(db));
    }
  }
  Statement(Statement&& other) noexcept
      : statement_(std::exchange(other.statement_, nullptr)), has_row_(other.has_row_) {}
  Statement& operator=(Statement&& other) noexcept {
    std::swap(statement_, other.statement_);
    std::swap(has_row_, other.has_row_);
    return *this;
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  explicit operator bool() const noexcept { return statement_ != nullptr; }

  // Each of these throws SqlError, and then nothing stays bound. Otherwise a value that SQLite did
  // not take (SQLITE_LIMIT_LENGTH, no memory) would be written as NULL.
  Statement& bind(int index, int64_t value) {
    return expect_bound(sqlite3_bind_int64(statement_, index, value));
  }
  Statement& bind(int index, double value) {
    return expect_bound(sqlite3_bind_double(statement_, index, value));
  }
  // The bytes must live until reset(). No bytes are an empty BLOB, also at a null pointer.
  Statement& bind(int index, std::span<const std::byte> bytes) {
    return bind_blob(index, bytes, SQLITE_STATIC);
  }
  Statement& bind_copy(int index, std::span<const std::byte> bytes) {
    return bind_blob(index, bytes, SQLITE_TRANSIENT);
  }
  Statement& bind_copy(int index, std::string_view text) {
    return expect_bound(bind_text_bytes(statement_, index, text));
  }
  Statement& bind(int index, const std::string& text) {
    return expect_bound(sqlite3_bind_text64(statement_, index, text.data(), text.size(),
                                            SQLITE_STATIC, SQLITE_UTF8));
  }

  Statement& bind(int index, sqlite3_value* value) {  // a copy of it
    return expect_bound(sqlite3_bind_value(statement_, index, value));
  }

  // Returns whether there is a row. Throws SqlError with SQLite's text.
  bool step() {
    int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) [[unlikely]] {
      code = step_again(code);
    }
    has_row_ = code == SQLITE_ROW;
    if (code != SQLITE_ROW && code != SQLITE_DONE) [[unlikely]] {
      raise(code);
    }
    return has_row_;
  }
  // Forgets the bound values, too, because a tracing application would show them. Ignores the
  // result of sqlite3_reset(), because it only repeats the error that step() threw.
  void reset() noexcept {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    has_row_ = false;
  }
  // Prepares the statement for another step(), with the same bound values.
  void restart() noexcept { sqlite3_reset(statement_); }
  void run() {
    Reset resetting{*this};
    while (step()) {
    }
  }

  bool was_reprepared() const noexcept {
    return sqlite3_stmt_status(statement_, SQLITE_STMTSTATUS_REPREPARE, 0) != 0;
  }
  int type(int column) const noexcept { return sqlite3_column_type(statement_, column); }
  int64_t integer(int column) const noexcept { return sqlite3_column_int64(statement_, column); }
  double real(int column) const noexcept { return sqlite3_column_double(statement_, column); }
  std::span<const std::byte> bytes(int column) const {
    const bool was_null = type(column) == SQLITE_NULL;
    const void* data = sqlite3_column_blob(statement_, column);
    if (data == nullptr && !was_null && type(column) == SQLITE_NULL) {
      throw std::bad_alloc();  // of a zeroblob
    }
    return {static_cast<const std::byte*>(data),
            static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
  }
  sqlite3_value* value(int column) const noexcept {
    return sqlite3_column_value(statement_, column);
  }
  std::string text(int column) const {  // UTF-8, whatever the database's encoding; NULL: empty
    const bool is_null = type(column) == SQLITE_NULL;
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    if (text == nullptr && !is_null) {
      throw std::bad_alloc();
    }
    return text == nullptr ? std::string() : std::string(text, size);
  }

  // Resets at the end of a scope, so that no read lock outlives it.
  struct Reset {
    Statement& statement;
    ~Reset() { statement.reset(); }
  };

 private:
  Statement& bind_blob(int index, std::span<const std::byte> bytes, sqlite3_destructor_type copy) {
    return expect_bound(
        bytes.empty() ? sqlite3_bind_zeroblob(statement_, index, 0)
                      : sqlite3_bind_blob64(statement_, index, bytes.data(), bytes.size(), copy));
  }
  // Steps again if the first step failed because of lowered limits. If the schema has changed, the
  // first step prepares the statement anew, and the application may have lowered the limits since
  // the constructor.
  [[gnu::noinline]] int step_again(int code) const noexcept {
    if (has_row_ || (code & 0xFF) != SQLITE_ERROR) {
      return code;
    }
    const OwnLimits own_limits(sqlite3_db_handle(statement_));
    if (!own_limits.raised()) {
      return code;
    }
    sqlite3_reset(statement_);
    return sqlite3_step(statement_);
  }
  // Kept out of line, because step() is called once a row.
  [[noreturn, gnu::noinline]] void raise(int code) const {
    sqlite3* db = sqlite3_db_handle(statement_);
    const int extended = sqlite3_extended_errcode(db);
    throw SqlError((extended & 0xFF) == (code & 0xFF) ? extended : code, sqlite3_errmsg(db));
  }
  Statement& expect_bound(int code) {
    if (code != SQLITE_OK) [[unlikely]] {
      const std::string message = sqlite3_errmsg(sqlite3_db_handle(statement_));
      sqlite3_clear_bindings(statement_);
      throw SqlError(code, message);
    }
    return *this;
  }

  sqlite3_stmt* statement_ = nullptr;
  bool has_row_ = false;  // the last step() gave one
};

// Runs the SQL once. Throws SqlError.
inline void execute(sqlite3* db, const std::string& sql) {
  const OwnLimits own_limits(db);
  char* message = nullptr;
  const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message);
  if (code != SQLITE_OK) {
    const std::string text = message != nullptr ? message : sqlite3_errmsg(db);
    sqlite3_free(message);
    throw SqlError(interrupt_code(code, text), text);
  }
}

// A read transaction. As long as it lives, all reads of the schema come from one commit, and SQLite
// knows the schema as of that commit. Throws SqlError.
class ReadTransaction {
 public:
  ReadTransaction() noexcept = default;                    // none
  ReadTransaction(sqlite3* db, const std::string& schema)  // none if the schema is empty
      : select_(db, sql_text(R"(SELECT 1 FROM "%w".sqlite_schema)", schema.c_str())) {
    select_.step();
  }
  explicit operator bool() const noexcept { return static_cast<bool>(select_); }

  void end() noexcept { select_.reset(); }
  // Begins again after end(). Returns false if SQLite prepared the statement anew, because the
  // schema changed or the application installed an authorizer. Then look up again what you knew of
  // the schema.
  bool begin_again() { return select_.step() && !select_.was_reprepared(); }

 private:
  Statement select_;
};

// The application's last_insert_rowid() survives the shadow writes made in this scope.
class KeepLastRowid {
 public:
  explicit KeepLastRowid(sqlite3* db) noexcept : db_(db), rowid_(sqlite3_last_insert_rowid(db)) {}
  ~KeepLastRowid() {
    if (sqlite3_last_insert_rowid(db_) != rowid_) {
      sqlite3_set_last_insert_rowid(db_, rowid_);
    }
  }
  KeepLastRowid(const KeepLastRowid&) = delete;
  KeepLastRowid& operator=(const KeepLastRowid&) = delete;

 private:
  sqlite3* db_;
  sqlite3_int64 rowid_;
};

}  // namespace cuckoo
