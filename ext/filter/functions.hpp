// filter_contains(filter, key…), cuckoo_key(value…), filter_export(table [, 'hashes' | 'legacy']),
// filter_mark(table), filter_changes(table, mark [, 'hashes']), filter_behind(table, mark),
// filter_overlap(a, b), and the table-valued functions
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "ext/sqlite/api.hpp"
#include "ext/sqlite/error.hpp"

namespace cuckoo {

class Registration;

// All throw SqlError.
void register_filter_functions(Registration& registration);
void register_filter_info(Registration& registration);
void register_filter_overlap(Registration& registration);
void register_filter_parts(Registration& registration);
void register_filter_plan(Registration& registration);
void register_filter_top(Registration& registration);

// Read arguments that several functions have. They throw SqlError that begins with `function`.
// Returns a mark's bytes; nothing for NULL.
std::optional<std::span<const std::byte>> mark_argument(const char* function, sqlite3_value* value);
template <class Mark>
Mark expect_mark(const char* function, const Result<Mark>& decoded) {
  if (!decoded.ok()) {
    throw SqlError(SQLITE_ERROR, std::string(function) + ": " + decoded.error().message +
                                     "; a mark is what filter_mark() gives, bound as a BLOB");
  }
  return decoded.value();
}
// Returns true if the text is 'hashes'. `which` says which argument it is: "third".
bool hashes_argument(const char* function, const char* which, const std::string& text);

}  // namespace cuckoo
