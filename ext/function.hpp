// What every SQL function shares: its connection, and the C boundary.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "ext/error.hpp"
#include "ext/sqlite_api.hpp"

namespace cuckoo {

class Connection;

inline Connection& connection_of(sqlite3_context* context) noexcept {
  return **static_cast<std::shared_ptr<Connection>*>(sqlite3_user_data(context));
}

// Message first, then code: sqlite3_result_error() sets the code, too.
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

inline std::span<const std::byte> blob_argument(sqlite3_value* value) noexcept {
  const void* bytes = sqlite3_value_blob(value);
  return {static_cast<const std::byte*>(bytes), static_cast<size_t>(sqlite3_value_bytes(value))};
}

inline std::string text_argument(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}

inline void result_blob(sqlite3_context* context, const std::vector<std::byte>& bytes) {
  sqlite3_result_blob64(context, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

inline void release_connection(void* pointer) {
  delete static_cast<std::shared_ptr<Connection>*>(pointer);
}

}  // namespace cuckoo
