// A filter's source: the ordinary table whose values it holds (source_spec.hpp), and the triggers
// that keep it in step.
//
// Invariants
//   I1  with the triggers in place, every key that a row has when it comes or is changed enters the
//       filter, and every key that a row had leaves it once, if the filter can delete. Keys are
//       compared by BINARY, because another collation would hide a change.
//   I2  if SQLite changes the table without a trigger (REPLACE without recursive_triggers), a key
//       may stay in the filter: a false positive, never a false negative.
//   I3  a filter whose triggers are gone, or were gone (source_row.hpp), is not asked:
//       check_triggers() throws.
//       SQLite runs the triggers of a table by age, the newest first. A newer trigger that changes
//       the row again, or ends its statement with RAISE(IGNORE), breaks I1. newer_trigger() names
//       it. If these triggers are made anew, they are the newest.
//   I4  the rows of %_config about the source have a checksum. stored() throws if they were changed
//       from outside, because otherwise the key would silently have another type.
//   I5  only the filter's own triggers change it. Their names end in its suffix, and they hand it
//       over with each key (SourceCommand). A schema that is replayed (`.schema`) makes triggers of
//       another suffix beside them. The filter takes no notice of these, and drops them with its
//       own.
//
// The triggers know the current names of table and columns, because SQLite renames them there, and
// not in the option.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ext/filter/key_domain.hpp"
#include "ext/filter/source_spec.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

// Returns how many keys the source has. Throws SqlError.
uint64_t count_source(sqlite3* db, const std::string& schema, const SourceSpec& source);

// What a trigger of a filter says in the filter's command column: "insert 0123abcd" or
// "delete 0123abcd". 0123abcd is the suffix, which CREATE draws.
struct SourceCommand {
  bool removes = false;
  std::string_view suffix;

  // Returns nothing if the text says something else.
  static std::optional<SourceCommand> parse(std::string_view text) noexcept;
};

// The name of what a filter makes for its source: <filter>_source_insert_0123abcd, and the same
// with update, delete and row.
struct SourceName {
  std::string filter;
  std::string what;  // an event, or "row" (source_row.hpp)
  std::string suffix;

  static std::string new_suffix();
  // Returns nothing if it is a name of another kind. All is in lower case.
  static std::optional<SourceName> parse(const std::string& name);
  // Returns whether there is such a filter, and its triggers have that suffix. Throws SqlError.
  bool is_used(sqlite3* db, const std::string& schema) const;
};

class FilterSource {
 public:
  // `keys` are the names of the filter's key columns.
  FilterSource(ShadowStore& store, std::vector<std::string> keys)
      : store_(store), keys_(std::move(keys)) {}

  // The content of %_config: the option, the keys' types, and whether there are triggers; and the
  // key's collations, which are one of the filter's own options.
  struct Stored {
    SourceSpec source;
    std::vector<std::string> key_types;
    KeyForm form = {};     // its collations; this class does not store them
    std::string suffix;    // of its triggers; empty: it has none
    bool removes = false;  // whether the filter can delete; its kind says so
  };
  void store(const Stored& stored);
  Stored stored() const;  // throws SqlError, SQLITE_CORRUPT_VTAB by I4

  // Visits the keys of every row in which none is NULL. Throws SqlError if the source can't be
  // read.
  using RowVisitor = std::function<void(std::span<sqlite3_value*> keys)>;
  void for_each_row(const RowVisitor& visit) const;

  enum class Triggers {
    kInPlace,   // all of them, since the filter made them
    kGone,      // at least one is missing
    kUnsealed,  // all are there, but they may have missed changes (source_row.hpp)
  };
  // What one reading of sqlite_schema tells of the filter and its source.
  struct Found {
    Stored stored;
    SourceSpec source;  // as the insert trigger names it, else as the option does
    Triggers triggers = Triggers::kGone;
    std::vector<std::string> newer;  // triggers on the source that are newer than the filter's
    std::vector<std::string> drops;  // statements that drop what the filter made, with any suffix
    bool leftovers = false;          // a schema that was replayed left some of another suffix
  };
  Found look() const { return look(stored()); }  // throws SqlError
  // Returns the first newer trigger that is no other filter's: SQLite runs it before these; empty
  // if there is none.
  std::string newer_trigger(const Found& found) const;
  std::string name(const Found& found) const;  // "main.users(email)", for messages

  void create_triggers();
  void drop_triggers() const { drop(look({})); }  // also if what is stored is damaged
  // Stores the names that SQLite has renamed in the triggers, so the triggers may be dropped.
  // Returns false if they are stored already.
  bool store_names() { return store_names(look()); }
  void detach_triggers();  // drops them; create_triggers() makes them again, under another name too
  // Throws if they are not in place. Returns false if the schema is being changed.
  [[nodiscard]] bool check_triggers() const;

 private:
  sqlite3* db() const noexcept { return store_.db(); }
  // Returns the name of a trigger, for an event, or of the virtual table, for "row".
  std::string own_name(const char* what, const std::string& suffix) const {
    return store_.table() + "_source_" + what + "_" + suffix;
  }
  Found look(Stored stored) const;
  void drop(const Found& found) const;
  bool store_names(const Found& found);
  bool is_of_other_filter(const std::string& name) const;
  void create_plain_triggers(const SourceColumn& from, const std::string& of, const Stored& stored);
  void create_computing_triggers(const SourceSpec& from, const std::string& of,
                                 const Stored& stored);

  ShadowStore& store_;
  std::vector<std::string> keys_;
};

// Returns the source of that filter, or nothing if it has none. Reads the filter's rows without
// opening the filter. Throws SqlError if there is no such filter, or its rows are damaged.
std::optional<SourceSpec> source_of(sqlite3* db, const std::string& schema,
                                    const std::string& filter);

}  // namespace cuckoo
