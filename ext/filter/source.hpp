// A filter's source: the ordinary table whose values it holds (source_spec.hpp), and the triggers
// that keep it in step.
//
// Invariants
//   I1  with the triggers in place, every key that a row has when it comes or is changed enters the
//       filter, and every key that a row had leaves it once, if the filter can delete. Keys are
//       compared by BINARY, because another collation would hide a change.
//   I2  if SQLite changes the table without a trigger (REPLACE without recursive_triggers), a key
//       may stay in the filter: a false positive, never a false negative.
//   I3  a filter whose triggers are gone, or were gone (source_seal.hpp), is not asked:
//       check_triggers() throws.
//       SQLite runs the triggers of a table by age, the newest first. A newer trigger that changes
//       the row again, or ends its statement with RAISE(IGNORE), breaks I1. newer_trigger() names
//       it. If these triggers are made anew, they are the newest.
//   I4  the rows of %_config about the source have a checksum. stored() throws if they were changed
//       from outside, because otherwise the key would silently have another type.
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
#include "ext/filter/source_row.hpp"
#include "ext/filter/source_spec.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

// Returns how many keys the source has. Throws SqlError.
uint64_t count_source(sqlite3* db, const std::string& schema, const SourceSpec& source);

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
    KeyForm form = {};  // its collations; this class does not store them
    bool triggers = false;
    bool removes = false;  // whether the filter can delete; its kind says so
  };
  void store(const Stored& stored);
  Stored stored() const;  // throws SqlError, SQLITE_CORRUPT_VTAB by I4

  // Visits the keys of every row in which none is NULL. Throws SqlError if the source can't be
  // read.
  using RowVisitor = std::function<void(std::span<sqlite3_value*> keys)>;
  void for_each_row(const RowVisitor& visit) const;

  // Returns the source as its insert trigger names it, else as the option does. Throws SqlError.
  SourceSpec spec() const;
  std::string name() const;  // "main.users(email)", for messages

  void create_triggers();
  void drop_triggers();
  void store_names();      // stores the triggers' names in the option, so triggers may be dropped
  void detach_triggers();  // drops them; create_triggers() makes them again, under another name too
  enum class Triggers {
    kInPlace,   // all of them, since the filter made them
    kGone,      // at least one is missing
    kUnsealed,  // all are there, but they may have missed changes (source_seal.hpp)
  };
  Triggers triggers() const;
  // Returns the name of a trigger on the source that is newer than these, so that SQLite runs it
  // before them; empty if there is none.
  std::string newer_trigger() const;
  void check_triggers() const;

 private:
  sqlite3* db() const noexcept { return store_.db(); }
  std::string trigger(const char* event) const { return store_.table() + "_source_" + event; }
  std::vector<std::string> trigger_names(bool removes) const;
  std::string row_name() const { return SourceRow::name_for(store_.table()); }
  bool learn_names(std::string_view trigger, const char* row, SourceSpec& source) const;
  void create_plain_triggers(const SourceColumn& from, const std::string& of, bool removes);
  void create_computing_triggers(const SourceSpec& from, const std::string& of, bool removes);

  ShadowStore& store_;
  std::vector<std::string> keys_;
};

// Returns the source of that filter, or nothing if it has none. Reads the filter's rows without
// opening the filter. Throws SqlError if there is no such filter, or its rows are damaged.
std::optional<SourceSpec> source_of(sqlite3* db, const std::string& schema,
                                    const std::string& filter);

}  // namespace cuckoo
