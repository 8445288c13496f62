// Helpers that every SQL function uses: the C boundary, its arguments and its results.
#pragma once

#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "ext/sqlite/api.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

// Sets the message first and then the code, because sqlite3_result_error() sets the code, too.
template <class Body>
void guarded(sqlite3_context* context, Body&& body) noexcept {
  const int code =
      guard([context](const char* text) { sqlite3_result_error(context, text, -1); }, body);
  if (code == SQLITE_NOMEM) {
    sqlite3_result_error_nomem(context);
  } else if (code != SQLITE_OK) {
    sqlite3_result_error_code(context, code);
  }
}

// Returns an empty text for NULL. Throws std::bad_alloc if SQLite ran out of memory.
inline std::string text_argument(sqlite3_value* value) {
  const bool is_null = sqlite3_value_type(value) == SQLITE_NULL;
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  if (text == nullptr && !is_null) {
    throw std::bad_alloc();
  }
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

// Returns the argument of a function that takes the name of `what`, such as "a flash_kv"; nothing
// for NULL. Throws SqlError for any other value, and if it was not given (null).
inline std::optional<std::string> name_argument(sqlite3_value* value, const std::string& function,
                                                const char* what) {
  if (value == nullptr) {
    throw SqlError(SQLITE_ERROR, function + " takes " + what + "'s name");
  }
  if (is_null(value)) {
    return std::nullopt;
  }
  if (sqlite3_value_type(value) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR, function + ": the argument is " + what + "'s name");
  }
  return text_argument(value);
}

// Returns how many bytes a BLOB or a text may have.
inline uint64_t length_limit(sqlite3* db) noexcept {
  return static_cast<uint64_t>(sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1));
}

inline void result_text(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}
// Every number of ours is below 2^63.
inline void result_count(sqlite3_context* context, uint64_t count) {
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(count));
}
inline void result_blob(sqlite3_context* context, const std::vector<std::byte>& bytes) {
  sqlite3_result_blob64(context, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

// Gives a number, a text or bytes. Returns false for an empty optional.
template <class Value>
bool result_of(sqlite3_context* context, const Value& value) {
  if constexpr (requires { value.has_value(); }) {
    return value.has_value() && result_of(context, *value);
  } else if constexpr (std::is_floating_point_v<Value>) {
    sqlite3_result_double(context, value);
  } else if constexpr (std::is_integral_v<Value>) {
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(value));
  } else if constexpr (std::is_convertible_v<Value, std::string>) {
    result_text(context, value);
  } else {
    result_blob(context, value);
  }
  return true;
}

}  // namespace cuckoo
