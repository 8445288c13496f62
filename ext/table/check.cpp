#include "ext/table/check.hpp"

#include <string>

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/live_table.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

// Returns the table's error, or "ok". A failure that is no finding (a lock, an interrupt, no
// memory, an authorizer) kept the table from being checked, so it is thrown. All reads come from
// one commit, because the transaction in which the table was found lasts as long as `tables`.
std::string check_table(Connection& connection, const std::string& name) {
  const auto tables = connection.find_or_error<LiveTable>(name);
  const auto& found = tables.found[0];
  try {
    if (found.live == nullptr) {
      throw SqlError(found.code, found.error);
    }
    found.live->check();
    return "ok";
  } catch (const SqlError& error) {
    if (!is_finding(error.code())) {
      throw;
    }
    return error.message();
  }
}

void cuckoo_check(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    if (const auto name = name_argument(values[0], "cuckoo_check", "a table")) {
      result_text(context, check_table(connection_of(context), *name));
    }
  });
}

}  // namespace

void register_check(Registration& registration) {
  registration.function("cuckoo_check", 1, SQLITE_DIRECTONLY, cuckoo_check);
}

}  // namespace cuckoo
