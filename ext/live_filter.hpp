// One filter table as this connection sees it: its shadow tables, its memory image, and the
// contract that keeps the two in step.
//
// Invariants
//   I1  memory is a cache of the shadow tables: what a read sees is what a fresh connection would
//       see in the same snapshot plus this transaction's own entries.
//   I2  flushed before every savepoint mark and commit, dropped after every roll-back.
//   I3  a probe never writes.
//   I4  an error before the first shadow write of a statement changes nothing; one after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/logged_filter.hpp"
#include "ext/shadow_store.hpp"
#include "ext/value.hpp"

namespace cuckoo {

class Connection;

class LiveFilter {
 public:
  LiveFilter(Connection& connection, const std::string& schema, const std::string& table);

  const std::string& schema() const noexcept { return store_.schema(); }
  const std::string& table() const noexcept { return store_.table(); }

  // Instances of the virtual table that share it; the last one closes it.
  void add_instance() noexcept { ++instances_; }
  void drop_instance() noexcept;
  bool closed() const noexcept { return closed_; }
  // Made in this transaction and nothing pending: a roll-back to a savepoint may have undone the
  // CREATE, of which nobody tells. What is pending was told (see change()), so it is of this table.
  bool may_be_undone() const noexcept {
    return created_ && (filter_ == nullptr || !filter_->pending());
  }
  // Another table has this one's name now: nothing of it may be written any more.
  void orphan() noexcept { filter_.reset(); }

  void create(FilterOptions options);  // shadow tables, options, an empty filter
  void destroy();
  void rename(const std::shared_ptr<LiveFilter>& self, const std::string& name);

  // Brings memory up to date. Under a read transaction; throws SqlError. Cheap when it is.
  void follow();
  bool usable() const noexcept { return filter_ != nullptr && filter_->usable(); }
  LoggedFilter& filter() noexcept { return *filter_; }
  uint64_t seed() const noexcept { return seed_; }
  Affinity key_affinity() const noexcept { return key_affinity_; }
  void set_key_affinity(Affinity affinity) noexcept { key_affinity_ = affinity; }

  // I1, for a key's full 64-bit hash. follow() came before.
  bool contains(uint64_t hash) {
    hash &= hash_mask_;
    ++probes_;
    const LoggedFilter::Answer answer = filter_->probe(hash);
    const bool found = answer == LoggedFilter::Answer::kNotLoaded
                           ? load_and_probe(hash)
                           : answer == LoggedFilter::Answer::kPresent;
    positives_ += found ? 1 : 0;
    return found;
  }
  uint64_t count(uint64_t hash);
  uint64_t probes() const noexcept { return probes_; }
  uint64_t positives() const noexcept { return positives_; }

  // Changes; the table's virtual-table instance is in a write transaction.
  void insert(uint64_t hash);
  bool remove(uint64_t hash);
  void clear();
  void rebuild();
  void resize(uint64_t capacity);
  void check();

  // The transaction contract, called by every instance.
  void begin() noexcept;
  void sync();
  void commit() noexcept;
  void rollback() noexcept;
  void savepoint();
  void rollback_to() noexcept;

  // A read outside any statement on this table (scalar functions): all that is read in its lifetime
  // comes from one commit.
  class Reading {
   public:
    explicit Reading(LiveFilter& live);

   private:
    std::optional<ShadowStore::HeldRecord> held_;
  };

 private:
  uint32_t data_version() const noexcept;
  void set_filter(std::unique_ptr<LoggedFilter> filter) noexcept;
  FilterOptions read_options();
  template <class Body>
  void read_config(Body&& body);
  void reload();
  void load(uint64_t hash);
  bool load_and_probe(uint64_t hash);
  template <class Body>
  void change(Body&& body);
  void raise(const Status& status);
  void announce();
  void flush();

  Connection& connection_;
  ShadowStore store_;
  std::unique_ptr<LoggedFilter> filter_;
  Affinity key_affinity_ = Affinity::kNone;
  int instances_ = 0;
  bool closed_ = false;

  bool writing_ = false;    // between xBegin and the transaction's end
  bool current_ = false;    // memory was checked in this write transaction
  bool created_ = false;    // by this transaction
  bool announced_ = false;  // … and SQLite tells it of roll-backs to earlier savepoints
  bool changing_ = false;   // inside a change: a nested statement's savepoint must not flush
  uint32_t seen_version_ = 0;
  // Read in a write transaction that this table is no part of: what was read may be rolled back,
  // and nobody will tell.
  bool provisional_ = false;

  // of filter_'s options, at hand for every probe
  uint64_t seed_ = 0;
  uint64_t hash_mask_ = 0;
  uint64_t probes_ = 0;
  uint64_t positives_ = 0;
};

}  // namespace cuckoo
