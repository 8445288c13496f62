// One hash_ring table as this connection sees it: its shadow tables and the ring in memory.
//
// Every change is written at once; memory is a cache of what is stored, told by the record.
//
// Invariants
//   I1  after follow() memory holds what is stored, as this connection sees it: it was read, or its
//       record compared, since anything may have changed. In a write transaction anything may have
//       changed at any time: a roll-back to a savepoint is not announced to a table that was made
//       behind it.
//   I2  a look-up never writes.
//   I3  an error before the first write of a change leaves all as it was; one after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the statement or the
//       transaction.
// So two instances of one table (after DDL) need not know of one another.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/ring/hash_ring.hpp"
#include "ext/ring/store.hpp"

namespace cuckoo {

class LiveRing {
 public:
  LiveRing(sqlite3* db, const std::string& schema, const std::string& table)
      : store_(db, schema, table) {}

  const std::string& schema() const noexcept { return store_.schema(); }
  const std::string& table() const noexcept { return store_.table(); }
  RingStore& store() noexcept { return store_; }

  void create(const RingOptions& options) { store_.create(options); }
  void destroy();
  void rename(const std::string& name) { store_.rename(name); }

  // Throws SqlError. Cheap when nothing has changed.
  void follow();
  void prepare();  // … for look-ups
  // As far as is known without asking SQLite: between two rows of a statement.
  bool current() const noexcept { return ring_ != nullptr && !stale_; }
  bool ready() const noexcept { return current() && ring_->built(); }
  const HashRing& ring() const noexcept { return *ring_; }  // after follow()

  // A transaction or a savepoint was rolled back.
  void forget() noexcept { stale_ = true; }

  // In a write transaction.
  uint32_t insert(const std::string& name, double weight);
  void update(uint32_t id, const std::string& name, double weight);
  void remove(uint32_t id);
  void clear();
  void check();

 private:
  std::optional<uint32_t> data_version() const noexcept;  // nothing: SQLite doesn't tell
  template <class Change, class Write>
  void change(Change&& change, Write&& write);

  RingStore store_;
  std::shared_ptr<HashRing> ring_;
  RingRecord record_;
  RingRecord::Bytes seen_{};  // the record that ring_ belongs to
  std::optional<uint32_t> seen_version_;
  bool settled_ = false;  // seen_ was read outside a write transaction
  bool stale_ = false;
};

}  // namespace cuckoo
