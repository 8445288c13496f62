// The source of one filter table: what its declaration says of it (options source, where and
// triggers), and what the source means for each thing that happens to the table. A table without a
// source has one of these, too, and declared() is false.
//
// Invariants
//   I1  the source is resolved once, at CREATE. Types and collations that it gives the key are
//       stored, and read from there ever after, whatever becomes of the source.
//   I2  damage of what is stored does not keep SQLite from connecting, because the table could not
//       be dropped: every use of the filter throws it.
//   I3  with triggers nothing but 'rebuild' may take keys away that the source still has:
//       refuse_losing_keys().
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
  // Gives the key the types and collations that it has of the source. `live` and `key` outlive it.
  // Throws SqlError.
  DeclaredSource(LiveFilter& live, KeyColumns& key, const Options& options, bool creating);

  bool declared() const noexcept { return declared_; }

  // At CREATE. All of these throw SqlError.
  uint64_t capacity() const;  // room for a quarter more keys than the source has
  void create();              // stores it, loads its keys and makes the triggers
  void drop();
  // Around a renaming: attach() if detach() says so. Triggers that are not all in place stay away.
  [[nodiscard]] bool detach();
  void attach() { source().create_triggers(); }
  // When a statement on the table is planned: throws if the triggers may have missed a change.
  void check_triggers();
  // Loads the keys anew, and makes triggers anew that are not as they were made.
  void rebuild(uint64_t capacity);  // 0: as it is
  void refuse_losing_keys(const char* command) const;

 private:
  FilterSource source() const;
  SourceSpec parse(const Options& options) const;
  void resolve(const Options& options);
  void read_stored();
  void load(const FilterSource& from, uint64_t capacity);

  LiveFilter& live_;
  KeyColumns& key_;
  bool declared_;
  bool triggers_;
  SourceSpec chosen_;  // at CREATE
  SchemaFact sound_triggers_;
};

}  // namespace cuckoo
