#include "ext/filter_functions.hpp"

#include <string>

#include "ext/connection.hpp"
#include "ext/error.hpp"
#include "ext/live_filter.hpp"
#include "ext/value.hpp"
#include "ext/version.hpp"

namespace cuckoo {
namespace {

// The filter that a constant first argument names, kept from row to row. A counted reference, never
// a raw one: RENAME and DETACH disconnect tables while a statement is open.
struct NamedFilter {
  std::shared_ptr<LiveFilter> live;
  uint64_t generation = 0;
};

Connection& connection_of(sqlite3_context* context) noexcept {
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

std::shared_ptr<LiveFilter> named_filter(sqlite3_context* context, sqlite3_value* name) {
  Connection& connection = connection_of(context);
  const auto* known = static_cast<NamedFilter*>(sqlite3_get_auxdata(context, 0));
  if (known != nullptr && known->generation == connection.generation() && !known->live->closed()) {
    return known->live;
  }
  if (sqlite3_value_type(name) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR, "filter_contains: the first argument is a filter's name");
  }
  const std::string text(reinterpret_cast<const char*>(sqlite3_value_text(name)),
                         static_cast<size_t>(sqlite3_value_bytes(name)));
  std::shared_ptr<LiveFilter> live = connection.find(text);
  auto kept = std::make_unique<NamedFilter>(NamedFilter{live, connection.generation()});
  sqlite3_set_auxdata(context, 0, kept.release(),
                      [](void* old) { delete static_cast<NamedFilter*>(old); });
  return live;
}

void filter_contains(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    const std::shared_ptr<LiveFilter> live = named_filter(context, values[0]);
    if (sqlite3_value_type(values[1]) == SQLITE_NULL) {
      sqlite3_result_null(context);
      return;
    }
    const LiveFilter::Reading reading(*live);
    const KeyView key = key_of(values[1], live->key_affinity());
    sqlite3_result_int(context, live->contains(hash_key(key, live->seed())) ? 1 : 0);
  });
}

void cuckoo_version(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_text(context, kVersion, -1, SQLITE_STATIC);
}

}  // namespace

int register_filter_functions(sqlite3* db, const std::shared_ptr<Connection>& connection) noexcept {
  auto* client = new (std::nothrow) std::shared_ptr<Connection>(connection);
  if (client == nullptr) {
    return SQLITE_NOMEM;
  }
  // Not DETERMINISTIC: the same key may be found now and not later.
  const int code = sqlite3_create_function_v2(
      db, "filter_contains", 2, SQLITE_UTF8 | SQLITE_INNOCUOUS, client, filter_contains, nullptr,
      nullptr, [](void* old) { delete static_cast<std::shared_ptr<Connection>*>(old); });
  if (code != SQLITE_OK) {
    return code;
  }
  return sqlite3_create_function_v2(db, "cuckoo_version", 0,
                                    SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC, nullptr,
                                    cuckoo_version, nullptr, nullptr, nullptr);
}

}  // namespace cuckoo
