// The source of one filter table, as its options source, where and triggers declare it. It says
// what each command and each DDL statement on the filter must do about the source. A table without
// a source has one of these, too, and declared() is false.
//
// Invariants
//   I1  the source is resolved once, at CREATE. The types and collations that it gives the key are
//       stored, and always read from there, even if the source changes later.
//   I2  a damaged row does not keep SQLite from connecting, because otherwise the table could not
//       be dropped. Every use of the filter throws the damage.
//   I3  with triggers, only 'rebuild' may remove keys that the source still has
//       (refuse_losing_keys()).
//   I4  once a trigger has written in a transaction that began after a renaming of the source, the
//       stored names are the new ones. The first trigger that writes in a transaction compares
//       them, unless they were equal before in the same schema. If it stores new names, the next
//       transaction compares again, because these may be rolled back.
#pragma once

#include <cstdint>
#include <string>

#include "ext/filter/key_columns.hpp"
#include "ext/filter/source.hpp"
#include "ext/filter/source_spec.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/schema_fact.hpp"

namespace cuckoo {

class LiveFilter;

class DeclaredSource {
 public:
  // Gives the key the types and collations of the source. `live` and `key` outlive this. Throws
  // SqlError.
  DeclaredSource(LiveFilter& live, KeyColumns& key, const Options& options, bool creating);

  bool declared() const noexcept { return declared_; }

  // Called at CREATE. All of these throw SqlError.
  uint64_t capacity() const;  // room for a quarter more keys than the source has
  void create();              // stores it, loads its keys and makes the triggers
  void drop();
  // Called around a renaming. Call attach() if detach() returned true. It returns false if some
  // triggers were missing, and then they stay away.
  [[nodiscard]] bool detach();
  void attach() { source().create_triggers(); }
  // Returns what a trigger says in the command column; nothing if it is no trigger's word.
  enum class TriggerEvent {
    kInsert,
    kDelete,
    kOfOthers,  // the trigger isn't the filter's (FilterSource, I5)
  };
  std::optional<TriggerEvent> event_of(sqlite3_value* command);
  // Called when a transaction begins to write to the filter.
  void begin() noexcept { may_be_renamed_ = triggers_; }
  // Throws if the triggers may have missed a change. Returns false if the schema is being changed.
  [[nodiscard]] bool check_triggers() const { return !triggers_ || source().check_triggers(); }
  // Loads the keys anew. Makes the triggers anew if they are not as they were made.
  void rebuild(uint64_t capacity);  // 0: as it is
  void refuse_losing_keys(const char* command) const;

 private:
  FilterSource source() const;
  SourceSpec parse(const Options& options) const;
  void resolve(const Options& options);
  void read_stored();
  void store_new_names();
  void load(const FilterSource& from, uint64_t capacity);

  LiveFilter& live_;
  KeyColumns& key_;
  bool declared_;
  bool triggers_;
  std::string suffix_;           // of the triggers; SQLite reads both with the schema
  SourceSpec chosen_;            // at CREATE
  SchemaFact stored_names_;      // that they are the triggers' names
  bool may_be_renamed_ = false;  // I4: true until a trigger writes in this transaction
};

}  // namespace cuckoo
