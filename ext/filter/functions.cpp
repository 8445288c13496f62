#include "ext/filter/functions.hpp"

#include <algorithm>

#include "core/base/key_hash.hpp"

#include "ext/filter/filter_messages.hpp"
#include "ext/filter/image_filter.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/filter/tuple_key.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"
#include "ext/table/registration.hpp"

namespace cuckoo {
namespace {

// The filter that a constant first argument means, kept from row to row, and the transaction in
// which all rows are answered. The reference is counted, never raw, because RENAME and DETACH
// disconnect tables while a statement is open.
struct NamedFilter {
  Connection::Named<LiveFilter> table;
  uint64_t names_version = 0;
  Connection* connection = nullptr;
  std::shared_ptr<const ImageFilter> image;  // instead of a table

  // Returns whether the name still means that table, and its memory is as follow() left it.
  bool up_to_date() const noexcept {
    return table && names_version == connection->names_version() && table->still_followed();
  }
};

const NamedFilter* kept_filter(sqlite3_context* context) noexcept {
  return static_cast<NamedFilter*>(sqlite3_get_auxdata(context, 0));
}

// A spare object, kept from statement to statement.
struct SpareFilter {
  std::unique_ptr<NamedFilter> filter;
};

void release_filter(void* pointer) {
  std::unique_ptr<NamedFilter> old(static_cast<NamedFilter*>(pointer));
  Connection& connection = *old->connection;
  *old = NamedFilter();
  connection.kept<SpareFilter>().filter = std::move(old);
}

// Keeps the filter for the next row. A call does this last, because SQLite may drop the filter at
// once.
void keep_filter(sqlite3_context* context, NamedFilter filter) {
  filter.connection = &connection_of(context);
  auto& spare = filter.connection->kept<SpareFilter>().filter;
  auto kept = spare != nullptr ? std::move(spare) : std::make_unique<NamedFilter>();
  *kept = std::move(filter);
  sqlite3_set_auxdata(context, 0, kept.release(), release_filter);
}

// Calls `use` with the filter of that name, brought up to date.
template <class Use>
void with_filter(sqlite3_context* context, sqlite3_value* name, const char* function, Use&& use) {
  Connection& connection = connection_of(context);
  if (const NamedFilter* known = kept_filter(context);
      known != nullptr && known->table && known->names_version == connection.names_version()) {
    known->table->follow();
    use(*known->table);
    return;
  }
  if (sqlite3_value_type(name) != SQLITE_TEXT) {
    throw SqlError(SQLITE_ERROR,
                   std::string(function) + ": the first argument is a filter's name" +
                       (std::string(function) == "filter_contains" ? " or image" : ""));
  }
  NamedFilter found;
  found.table = connection.find<LiveFilter>(text_argument(name));
  found.names_version = connection.names_version();
  use(*found.table);
  keep_filter(context, std::move(found));
}

// Returns the decoded image. If the argument is a constant, SQLite keeps the image for the
// statement. Otherwise the cache keeps the image.
std::shared_ptr<const ImageFilter> image_filter(sqlite3_context* context, sqlite3_value* value) {
  if (const NamedFilter* known = kept_filter(context); known != nullptr && known->image) {
    return known->image;
  }
  std::shared_ptr<const ImageFilter> image =
      connection_of(context).kept<ImageCache>().find(blob_of(value), "filter_contains");
  NamedFilter found;
  found.image = image;
  keep_filter(context, std::move(found));
  return image;
}

// The connection's buffers for a key that a function was asked for.
class AskedKey {
 public:
  explicit AskedKey(sqlite3_context* context) : kept_(connection_of(context).kept<Buffers>()) {}
  ~AskedKey() {
    kept_.tuple.keep_if_small();
    keep_if_small(kept_.text);
  }
  AskedKey(const AskedKey&) = delete;
  AskedKey& operator=(const AskedKey&) = delete;

  TupleKey& tuple() noexcept { return kept_.tuple; }
  std::string& text() noexcept { return kept_.text; }

 private:
  struct Buffers {
    TupleKey tuple;
    std::string text;
  };
  Buffers& kept_;
};

std::string number_of(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// `names` has the names of the key's columns, if they are known.
SqlError wrong_number(const std::string& filter, size_t columns,
                      const std::vector<std::string>& names, size_t given) {
  std::string text = "filter_contains: a key of " + filter + " has " + number_of(columns, "column");
  for (size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? " (" : ", ") + names[i] + (i + 1 == names.size() ? ")" : "");
  }
  return {SQLITE_ERROR, text + ", not " + std::to_string(given)};
}

bool image_contains(sqlite3_context* context, const ImageFilter& image, size_t given,
                    sqlite3_value** keys) {
  const size_t columns = image.header().keys.columns;
  if (columns != given) {
    if (image.keys().types == 0) {
      return false;  // an image without keys, whose columns an aggregate can't know
    }
    throw wrong_number("this image", columns, {}, given);
  }
  return image.contains(keys, AskedKey(context).tuple());
}

bool table_contains(sqlite3_context* context, LiveFilter& live, size_t given,
                    sqlite3_value** keys) {
  if (live.key_form().columns != given) {
    throw wrong_number(live.table(), live.key_form().columns, live.key_names(), given);
  }
  if (given == 1) {
    return live.contains(key_of(keys[0], live.key_affinity(), AskedKey(context).text()));
  }
  return live.contains(AskedKey(context).tuple().make(KeyDomain(live.key_form(), 0), keys));
}

void filter_contains_any(sqlite3_context* context, int count, sqlite3_value** values) {
  if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
    return;  // a LEFT JOIN may find no image, and an aggregate over no rows makes none
  }
  sqlite3_value** const keys = values + 1;
  const auto given = static_cast<size_t>(count - 1);
  const auto answer = [&](const auto& contains) {
    if (std::any_of(keys, keys + given, is_null)) {
      sqlite3_result_null(context);
    } else {
      sqlite3_result_int(context, contains() ? 1 : 0);
    }
  };
  if (sqlite3_value_type(values[0]) == SQLITE_BLOB) {
    const std::shared_ptr<const ImageFilter> image = image_filter(context, values[0]);
    answer([&] { return image_contains(context, *image, given, keys); });
    return;
  }
  with_filter(context, values[0], "filter_contains", [&](LiveFilter& live) {
    answer([&] { return table_contains(context, live, given, keys); });
  });
}

// Called for each row. So the look-up of an integer key by a constant name is inline here.
void filter_contains(sqlite3_context* context, int count, sqlite3_value** values) {
  guarded(context, [&] {
    const NamedFilter* const known = kept_filter(context);
    if (known == nullptr || !known->up_to_date() || !known->table->ready_for_hashes() ||
        !is_plain_integer(values[1], known->table->key_affinity())) {
      filter_contains_any(context, count, values);
      return;
    }
    LiveFilter& live = *known->table;
    const uint64_t hash = hash_integer(sqlite3_value_int64(values[1]), live.seed());
    sqlite3_result_int(context, live.contains(hash) ? 1 : 0);
  });
}

// Does the same for a key of several columns.
void filter_contains_tuple(sqlite3_context* context, int count, sqlite3_value** values) {
  guarded(context, [&] {
    const NamedFilter* const known = kept_filter(context);
    const auto given = static_cast<size_t>(count - 1);
    if (known == nullptr || !known->up_to_date() || !known->table->ready_for_keys() ||
        known->table->key_form().columns != given) {
      filter_contains_any(context, count, values);
      return;
    }
    LiveFilter& live = *known->table;
    AskedKey asked(context);
    const KeyView key = asked.tuple().make(KeyDomain(live.key_form(), 0), values + 1);
    if (key.type != SQLITE_NULL) {
      sqlite3_result_int(context, live.contains(key) ? 1 : 0);
    }
  });
}

// Returns the key as a filter of so many columns without types would hash it.
void cuckoo_key(sqlite3_context* context, int count, sqlite3_value** values) {
  guarded(context, [&] {
    KeyDomain keys;
    keys.form.columns = static_cast<uint8_t>(count);
    AskedKey asked(context);
    const KeyView key = asked.tuple().make(keys, values);
    if (key.type != SQLITE_NULL) {
      sqlite3_result_blob(context, key.bytes, key.size, SQLITE_TRANSIENT);
    }
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
      FilterMessages messages(live);
      result_blob(context,
                  what == "legacy" ? messages.legacy_file() : messages.image(what == "hashes"));
    });
  });
}

void filter_mark(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    with_filter(context, values[0], "filter_mark", [&](LiveFilter& live) {
      if (const std::optional<std::vector<std::byte>> mark = FilterMessages(live).mark(); mark) {
        result_blob(context, *mark);
      }
    });
  });
}

}  // namespace

std::optional<std::span<const std::byte>> mark_argument(const char* function,
                                                        sqlite3_value* value) {
  if (sqlite3_value_type(value) == SQLITE_NULL) {
    return std::nullopt;
  }
  if (sqlite3_value_type(value) != SQLITE_BLOB) {
    throw SqlError(SQLITE_ERROR, std::string(function) +
                                     ": the second argument is a mark, a BLOB made by"
                                     " filter_mark(); bind it as a BLOB, not as TEXT");
  }
  return blob_of(value);
}

bool hashes_argument(const char* function, const char* which, const std::string& text) {
  if (lower(text) != "hashes") {
    throw SqlError(SQLITE_ERROR, std::string(function) + ": the " + which + " argument is \"" +
                                     printable(text) + "\", expected 'hashes'");
  }
  return true;
}

namespace {

void filter_changes(sqlite3_context* context, int count, sqlite3_value** values) {
  guarded(context, [&] {
    const bool with_hashes =
        count > 2 && hashes_argument("filter_changes", "third", text_argument(values[2]));
    with_filter(context, values[0], "filter_changes", [&](LiveFilter& live) {
      result_blob(context, FilterMessages(live).changes_since(
                               mark_argument("filter_changes", values[1]), with_hashes));
    });
  });
}

void filter_behind(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, [&] {
    with_filter(context, values[0], "filter_behind", [&](LiveFilter& live) {
      const auto mark = mark_argument("filter_behind", values[1]);
      if (const std::optional<uint64_t> behind =
              mark ? FilterMessages(live).behind(*mark) : std::nullopt;
          behind) {
        sqlite3_result_int64(context, static_cast<sqlite3_int64>(*behind));
      }
    });
  });
}

}  // namespace

void register_filter_functions(Registration& registration) {
  // Not DETERMINISTIC, because the same key may be found now and not later.
  registration.function("filter_contains", 2, SQLITE_INNOCUOUS, filter_contains);
  for (int columns = 2; columns <= static_cast<int>(kMaxKeyColumns); ++columns) {
    registration.function("filter_contains", 1 + columns, SQLITE_INNOCUOUS, filter_contains_tuple);
    registration.function("cuckoo_key", columns, SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC,
                          cuckoo_key);
  }
  registration.function("filter_export", 1, SQLITE_INNOCUOUS, filter_export);
  registration.function("filter_export", 2, SQLITE_INNOCUOUS, filter_export);
  registration.function("filter_mark", 1, SQLITE_INNOCUOUS, filter_mark);
  registration.function("filter_changes", 2, SQLITE_INNOCUOUS, filter_changes);
  registration.function("filter_changes", 3, SQLITE_INNOCUOUS, filter_changes);
  registration.function("filter_behind", 2, SQLITE_INNOCUOUS, filter_behind);
}

}  // namespace cuckoo
