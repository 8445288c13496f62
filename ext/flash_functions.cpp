#include "ext/flash_functions.hpp"

#include "ext/connection.hpp"
#include "ext/flash_map.hpp"
#include "ext/function.hpp"
#include "ext/utf16_text.hpp"

namespace cuckoo {
namespace {

// Of a blob's bytes, of anything else's text.
void sha1(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    std::span<const std::byte> bytes;
    std::string buffer;
    switch (sqlite3_value_type(values[0])) {
      case SQLITE_NULL:
        return;
      case SQLITE_BLOB:
        bytes = blob_argument(values[0]);
        break;
      default:
        bytes = std::as_bytes(std::span(text_bytes(values[0], buffer)));
    }
    const std::string digest =
        hex_of(connection_of(context).digester().compute(DigestKind::kSha1, bytes));
    sqlite3_result_text64(context, digest.data(), digest.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  });
}

void flash_kv_map(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
      return;
    }
    if (sqlite3_value_type(values[0]) != SQLITE_TEXT) {
      throw SqlError(SQLITE_ERROR, "flash_kv_map: the argument is a flash_kv's name");
    }
    const auto live = connection_of(context).find<LiveFlash>(text_argument(values[0]));
    const LiveTable::Reading reading(*live);
    const std::string svg = draw_flash_map(*live);
    sqlite3_result_text64(context, svg.data(), svg.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  });
}

}  // namespace

void register_flash_functions(sqlite3* db, const std::shared_ptr<Connection>& connection) {
  struct Function {
    const char* name;
    int flags;
    void (*call)(sqlite3_context*, int, sqlite3_value**);
  };
  constexpr Function kFunctions[] = {
      {"sha1", SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, sha1},
      {"flash_kv_map", SQLITE_INNOCUOUS, flash_kv_map},
  };
  for (const Function& function : kFunctions) {
    // SQLite releases the pointer also when the registration fails.
    const int code =
        sqlite3_create_function_v2(db, function.name, 1, SQLITE_UTF8 | function.flags,
                                   new std::shared_ptr<Connection>(connection), function.call,
                                   nullptr, nullptr, release_connection);
    if (code != SQLITE_OK) {
      throw SqlError(code, sqlite3_errmsg(db));
    }
  }
}

}  // namespace cuckoo
