// One virtual table as this connection sees it, whatever it keeps: its shadow tables, the instances
// that share it, and where it stands in a transaction. LiveFilter and LiveFlash keep their contents
// in step with the shadow tables by it.
//
// Contract
//   C1  memory is a cache of the shadow tables: flush() before every savepoint mark and commit,
//       dropped or undone after every roll-back.
//   C2  an error before the first shadow write of a statement changes nothing; one after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the transaction.
//   C3  what is read never writes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ext/shadow_store.hpp"

namespace cuckoo {

class Connection;

class LiveTable {
 public:
  LiveTable(Connection& connection, std::span<const ShadowTable> tables, const std::string& schema,
            const std::string& table);
  virtual ~LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  const std::string& schema() const noexcept { return store_.schema(); }
  const std::string& table() const noexcept { return store_.table(); }
  ShadowStore& store() noexcept { return store_; }

  // Instances of the virtual table that share it; the last one closes it.
  void add_instance() noexcept { ++instances_; }
  void drop_instance() noexcept;
  bool closed() const noexcept { return closed_; }
  // Made in this transaction and nothing pending: a roll-back to a savepoint may have undone the
  // CREATE, of which nobody tells. What is pending was told (announce()), so it is of this table.
  bool may_be_undone() const noexcept { return created_ && !pending(); }
  // Another table has this one's name now: nothing of it may be written any more.
  virtual void orphan() noexcept = 0;

  // Brings memory up to date. Under a read transaction; throws SqlError. Cheap when it is.
  virtual void follow() = 0;
  void rename(const std::shared_ptr<LiveTable>& self, const std::string& name);

  // Must not fail: DROP TABLE begins a transaction too, and a broken table must be droppable.
  void begin() noexcept {
    writing_ = true;
    current_ = false;
  }

  // A read outside any statement on this table (functions): all that is read in its lifetime comes
  // from one commit.
  class Reading {
   public:
    explicit Reading(LiveTable& live);

   private:
    std::optional<ShadowStore::HeldRecord> held_;
  };

 protected:
  // Memory holds what the shadow tables don't.
  virtual bool pending() const noexcept = 0;
  virtual void flush() = 0;

  uint32_t data_version() const noexcept;
  // Is what is read now part of a write transaction that this table does not take part in?
  bool reads_provisionally() const noexcept;
  // Whatever reading the config runs into names the table.
  template <class Body>
  void read_config(Body&& body);
  // Throws a failure; `half_done`: C2.
  void raise(const Status& status, bool half_done) const;
  void announce_once() {
    if (created_ && !announced_) [[unlikely]] {
      announce();
    }
  }
  void end_transaction() noexcept { writing_ = current_ = created_ = announced_ = false; }

  // In its lifetime a nested statement's savepoint does not flush, and the application's
  // last_insert_rowid() survives.
  class Changing {
   public:
    explicit Changing(LiveTable& live)
        : live_(live), rowid_(sqlite3_last_insert_rowid(live.store_.db())) {
      live_.changing_ = true;
    }
    ~Changing() {
      live_.changing_ = false;
      if (sqlite3_last_insert_rowid(live_.store_.db()) != rowid_) {
        sqlite3_set_last_insert_rowid(live_.store_.db(), rowid_);
      }
    }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    LiveTable& live_;
    sqlite3_int64 rowid_;
  };

  Connection& connection_;
  ShadowStore store_;

  bool writing_ = false;    // between xBegin and the transaction's end
  bool current_ = false;    // memory was checked in this write transaction
  bool created_ = false;    // by this transaction
  bool announced_ = false;  // … and SQLite tells it of roll-backs to earlier savepoints
  bool changing_ = false;   // inside a change: a nested statement's savepoint must not flush
  uint32_t seen_version_ = 0;
  // Read in a write transaction that this table is no part of: what was read may be rolled back,
  // and nobody will tell.
  bool provisional_ = false;

 private:
  void announce();
  void read_failed(const SqlError& error) const;

  int instances_ = 0;
  bool closed_ = false;
};

template <class Body>
void LiveTable::read_config(Body&& body) {
  try {
    body();
  } catch (const SqlError& error) {
    read_failed(error);
    throw;
  }
}

}  // namespace cuckoo
