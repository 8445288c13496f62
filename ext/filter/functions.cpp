#include "ext/filter/functions.hpp"

#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

// The filter that a constant first argument means, kept from row to row, and a transaction in which
// they all are answered. A counted reference, never a raw one: RENAME and DETACH disconnect tables
// while a statement is open.
struct NamedFilter {
  Connection::Named<LiveFilter> table;
  uint64_t generation = 0;
  std::shared_ptr<const ImageFilter> image;  // instead
};

const NamedFilter* kept_filter(sqlite3_context* context) noexcept {
  return static_cast<NamedFilter*>(sqlite3_get_auxdata(context, 0));
}

// SQLite may drop it at once: the last thing that a call does.
void keep_filter(sqlite3_context* context, NamedFilter filter) {
  auto kept = std::make_unique<NamedFilter>(std::move(filter));
  sqlite3_set_auxdata(context, 0, kept.release(),
                      [](void* old) { delete static_cast<NamedFilter*>(old); });
}

// Calls `use` with the filter of that name, brought up to date.
template <class Use>
void with_filter(sqlite3_context* context, sqlite3_value* name, const char* function, Use&& use) {
  Connection& connection = connection_of(context);
  if (const NamedFilter* known = kept_filter(context);
      known != nullptr && known->table.live != nullptr &&
      known->generation == connection.generation() && !known->table.live->closed()) {
    known->table.live->follow();
    use(*known->table.live);
    return;
  }
  if (sqlite3_value_type(name) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR,
                   std::string(function) + ": the first argument is a filter's name" +
                       (std::string(function) == "filter_contains" ? " or image" : ""));
  }
  NamedFilter found{connection.find<LiveFilter>(text_argument(name)), connection.generation(), {}};
  use(*found.table.live);
  keep_filter(context, std::move(found));
}

// SQLite keeps it for the statement when the argument is a constant; else the cache does.
std::shared_ptr<const ImageFilter> image_filter(sqlite3_context* context, sqlite3_value* value) {
  if (const NamedFilter* known = kept_filter(context); known != nullptr && known->image) {
    return known->image;
  }
  std::shared_ptr<const ImageFilter> image =
      connection_of(context).part<ImageCache>().find(blob_of(value), "filter_contains");
  keep_filter(context, {{}, 0, image});
  return image;
}

void filter_contains(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    if (sqlite3_value_type(values[0]) == SQLITE_BLOB) {
      const std::shared_ptr<const ImageFilter> image = image_filter(context, values[0]);
      if (sqlite3_value_type(values[1]) == SQLITE_NULL) {
        sqlite3_result_null(context);
      } else {
        sqlite3_result_int(context, image->contains(values[1]) ? 1 : 0);
      }
      return;
    }
    with_filter(context, values[0], "filter_contains", [&](LiveFilter& live) {
      if (sqlite3_value_type(values[1]) == SQLITE_NULL) {
        sqlite3_result_null(context);
        return;
      }
      sqlite3_result_int(context, live.contains(key_of(values[1], live.key_affinity())) ? 1 : 0);
    });
  });
}

void filter_export(sqlite3_context* context, int count, sqlite3_value** values) {
  guarded(context, [&] {
    const std::string what = count > 1 ? lower(text_argument(values[1])) : "";
    if (count > 1 && what != "hashes" && what != "legacy") {
      throw SqlError(SQLITE_ERROR, "filter_export: the second argument is \"" + printable(what) +
                                       "\", expected 'hashes' or 'legacy'");
    }
    with_filter(context, values[0], "filter_export", [&](LiveFilter& live) {
      result_blob(context, what == "legacy" ? live.export_legacy_file()
                                            : live.export_image(what == "hashes"));
    });
  });
}

}  // namespace

void register_filter_functions(Registration& registration) {
  // Not DETERMINISTIC: the same key may be found now and not later.
  registration.function("filter_contains", 2, SQLITE_INNOCUOUS, filter_contains);
  registration.function("filter_export", 1, SQLITE_INNOCUOUS, filter_export);
  registration.function("filter_export", 2, SQLITE_INNOCUOUS, filter_export);
}

}  // namespace cuckoo
