// A filter's source: the ordinary table whose column it holds, and the triggers that keep it in
// step.
//
// Invariants
//   I1  with the triggers in place every value that enters the column enters the filter, and every
//       value that leaves it by DELETE or UPDATE leaves the filter once. No comparison of old and
//       new: a column with a collation would hide a change.
//   I2  what SQLite does to the column without a trigger can only leave a value behind in the
//       filter (REPLACE without recursive_triggers): a false positive, never a false negative.
//   I3  a filter whose triggers are gone, or were gone (source_seal.hpp), is not asked:
//       check_triggers() throws.
//       SQLite runs the triggers of a table by age, the newest first. One that is newer than these
//       and changes the row again, or ends its statement with RAISE(IGNORE), comes between the row
//       and I1: newer_trigger() names it, and making these anew ends it.
//   I4  what %_config keeps of the source has a checksum: stored() throws when it was changed from
//       outside, or the key would silently have another type.
//
// The triggers know their table and column better than the option does: SQLite renames them there.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ext/filter/key_domain.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/shadow_store.hpp"

namespace cuckoo {

// The declared type and the collation of that column, for the table `filter`. Throws SqlError when
// there is no such ordinary table or column, or its collation is none that a filter knows.
struct SourceKey {
  std::string type;
  Collation collation = Collation::kBinary;
};
SourceKey source_key(sqlite3* db, const std::string& filter, const std::string& schema,
                     const SourceColumn& source);

// How many values that are not NULL it has. Throws SqlError.
uint64_t count_source(sqlite3* db, const std::string& schema, const SourceColumn& source);

class FilterSource {
 public:
  FilterSource(ShadowStore& store, std::string key) : store_(store), key_(std::move(key)) {}

  // What %_config keeps: the option, the key's type, and whether there are triggers; and, as one of
  // the filter's own options, its collation.
  struct Stored {
    std::string source;
    std::string key_type;
    bool triggers = false;
    Collation collation = Collation::kBinary;
  };
  void store(const Stored& stored);
  Stored stored() const;  // throws SqlError, SQLITE_CORRUPT_VTAB by I4

  // Every value of the column that is not NULL. Throws SqlError when it can't be read.
  void for_each_key(Affinity affinity, const std::function<void(const KeyView&)>& visit) const;

  // The source as its insert trigger names it, else as the option does. Throws SqlError.
  SourceColumn column() const;
  std::string name() const;  // "main.users(email)", for messages

  void create_triggers();
  void drop_triggers();
  void detach_triggers();  // drops them; create_triggers() makes them again, under another name too
  enum class Triggers {
    kInPlace,   // all of them, since the filter made them
    kGone,      // at least one is missing
    kUnsealed,  // there, but they may have missed changes (source_seal.hpp)
  };
  Triggers triggers() const;
  // The name of a trigger on the source that is newer than these, so that SQLite runs it before
  // them; empty: there is none.
  std::string newer_trigger() const;
  void check_triggers() const;

 private:
  sqlite3* db() const noexcept { return store_.db(); }
  std::string trigger(const char* event) const { return store_.table() + "_source_" + event; }
  std::vector<std::string> trigger_names() const;

  ShadowStore& store_;
  std::string key_;
};

// The source of that filter, nothing when it has none. It reads the filter's rows without opening
// the filter. Throws SqlError when there is no such filter, or its rows are damaged.
std::optional<SourceColumn> source_of(sqlite3* db, const std::string& schema,
                                      const std::string& filter);

}  // namespace cuckoo
