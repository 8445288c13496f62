// One virtual table as this connection sees it, whatever it keeps: its shadow tables, the instances
// that share it, and where it stands in a transaction. LiveFilter, LiveFlash and LiveRing derive
// from it, and so keep their contents in step with the shadow tables.
//
// Contract
//   C1  memory is a cache of the shadow tables: flush() before every savepoint and commit,
//       dropped or undone after every roll-back (C4).
//   C2  an error before the first shadow write of a statement changes nothing. One after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the statement or the
//       transaction. An error of flush() is IOERR, unless the transaction is undone already: for
//       another code SQLite may keep what the flush wrote before a savepoint. If memory ran out,
//       SQLite turns this IOERR into NOMEM: then, if the flush was writing, every use of the table
//       and COMMIT fail until a roll-back.
//   C3  a read never writes.
//   C4  a roll-back is only noted, and carried out at the next call: SQLite may roll back in the
//       middle of a nested statement of ours, with the functions that hold the contents on the
//       stack. Until then nothing is pending.
//   C5  in a change and in flush(), savepoints are those of our own nested statements (a trigger on
//       a shadow table makes them): nothing is flushed for them, and a roll-back to one is told by
//       the statement's failure. Nested statements know no virtual tables (Statement), so such a
//       trigger can't come back here.
//   C6  SQLite also "rolls back" to a savepoint that never began, because another virtual table
//       refused it: then nothing was undone. last_savepoint_ is the last that did begin.
//   C7  a LiveTable retires when its table is renamed or dropped (SQLite does not report that this
//       was rolled back), and when SQLite connects the table anew while it is not written. Nothing
//       is pending then, and another one has the name. The retired one serves the statements that
//       read it already, as long as the name means the same table. It writes nothing. The other one
//       may write at any time: so each follow() of a retired table compares memory with the tables.
//   C8  a LiveTable that lost its last instance is retired, too: a cursor that found it by name may
//       keep it, and SQLite reports nothing to it any more.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ext/table/shadow_store.hpp"

namespace cuckoo {

class Connection;

class LiveTable {
 public:
  // For Connection::find_or_error(): a table of any kind.
  static constexpr const char* kWhat = "table";
  static constexpr const char* kKinds = "a cuckoo_filter, bloom_filter, flash_kv or hash_ring";
  static constexpr std::array<const char*, 4> kModules = {"cuckoo_filter", "bloom_filter",
                                                          "flash_kv", "hash_ring"};
  static const char* hint(std::string_view) noexcept { return ""; }

  // `store` is a member of the derived class: it lives as long.
  LiveTable(Connection& connection, ShadowStore& store) noexcept
      : connection_(connection), store_(store) {}
  virtual ~LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  const std::string& schema() const noexcept { return store_.schema(); }
  const std::string& table() const noexcept { return store_.table(); }

  // A ReadTransaction that keep_transaction() was given, begun again. None: there is none, or what
  // was known of the schema and asked of the authorizer no longer holds. Throws SqlError.
  ReadTransaction kept_transaction();
  void keep_transaction(ReadTransaction transaction) noexcept;

  // Instances of the virtual table that share it; the last one closes it.
  void add_instance() noexcept { ++instances_; }
  void drop_instance() noexcept;
  // For a reader that keeps it longer than SQLite keeps its instances (C8).
  void note_place();  // throws SqlError
  bool closed() const noexcept { return closed_; }
  void note_planned() noexcept;  // a statement on one of them is
  // By a transaction, and it is still what has this name. Made in this transaction and nothing
  // pending: a roll-back to a savepoint may have undone the CREATE, of which nobody tells. What is
  // pending was told (announce()), so it is of this table.
  bool is_written() const noexcept { return writing_ && !closed_ && (!created_ || pending()); }
  // Another table has this one's name now: nothing of it may be written any more.
  virtual void orphan() noexcept = 0;

  // Does memory hold what follow() left, in a read transaction that is open since? Others can't
  // have changed anything then.
  bool still_followed() const noexcept { return !retired_ && !provisional_ && !rolled_back(); }
  // Brings memory up to date. Throws SqlError. Cheap when it is. Under a read transaction: that of
  // a statement on this table, else a ReadTransaction.
  virtual void follow() = 0;

  // All that is stored, or would be if what is pending were written now, against every invariant:
  // throws SqlError that says what is wrong. C3: it works where nothing can be written.
  virtual void check_stored() = 0;
  // … and against what the table should agree with: the command 'check', cuckoo_check().
  virtual void check() { check_stored(); }

  void rename(const std::string& name);
  void destroy();
  void retire();  // C7; throws SqlError

  // Must not fail: DROP TABLE begins a transaction too, and a broken table must be droppable.
  void begin() noexcept {
    writing_ = true;
    current_ = changed_ = false;
  }

  void sync();  // what is pending is written; more changes and another sync() may follow
  void rollback() noexcept {
    rolled_back_to_ = kBeginning;  // C4
    end_transaction();
  }
  // Savepoints are 0, 1 …, each inside of those before it, -1 is one that began the transaction;
  // a release ends it and those inside.
  void savepoint(int number);
  void release(int number) noexcept;
  void rollback_to(int number) noexcept;

 protected:
  // Memory holds what the shadow tables don't.
  virtual bool pending() const noexcept = 0;
  void flush();
  virtual void write_pending() = 0;   // when it throws, only a roll-back helps
  virtual void finish_changes() = 0;  // before the last flush() of a transaction
  // Everything is flushed.
  virtual void savepoint_begun(int) {}
  virtual void savepoint_released(int) noexcept {}

  bool has_own_name() const noexcept { return !retired_; }
  // The first thing that follow() does. Throws SqlError: the name means another table (C7).
  void expect_own_name() {
    if (retired_) [[unlikely]] {
      look_for_name();
    }
  }

  bool rolled_back() const noexcept { return rolled_back_to_ != kNowhere; }
  // Carries out what was noted; the first thing that every call does.
  void carry_out_rollback() noexcept {
    if (rolled_back()) [[unlikely]] {
      undo_noted();
    }
  }
  virtual void undo_transaction() noexcept = 0;
  virtual void undo_to(int savepoint) noexcept = 0;

  // Moves whenever another connection committed, or this one. Throws SqlError.
  uint32_t data_version() const;
  // Remembers the version that our own commit made, so that follow() does not reload.
  void see_own_commit() noexcept;
  // Is what is read now part of a write transaction that this table does not take part in?
  bool reads_provisionally() const noexcept;
  // Whatever reading the config runs into names the table.
  template <class Body>
  void read_config(Body&& body);
  // May rows with pages of that size be as long as they are? Else SQLite would refuse them when
  // they are flushed. Throws SqlError (SQLITE_TOOBIG).
  void expect_room_for(uint32_t page_bytes) const;
  // True if expect_changeable() would do nothing.
  bool may_change() const noexcept { return changed_ && (announced_ || !created_); }
  // Before every change, after follow(): asks once a transaction whether the table may be written
  // (C7) and its rows have room, and announces a table that this transaction made. Throws SqlError.
  void expect_changeable(uint32_t page_bytes) {
    if (!changed_) [[unlikely]] {
      expect_writable();
      expect_room_for(page_bytes);
      changed_ = true;
    }
    announce_once();
  }
  // Throws a failure; `half_done`: C2.
  void raise(const Status& status, bool half_done) const {
    if (!status.ok()) [[unlikely]] {
      raise_failure(status, half_done);
    }
  }
  void end_transaction() noexcept {
    writing_ = current_ = changed_ = created_ = announced_ = false;
    last_savepoint_ = kNoSavepoint;
  }

  // C5; and the application's last_insert_rowid() survives.
  class Changing {
   public:
    explicit Changing(LiveTable& live)
        : live_(live), rowid_(live.store_.db()), outer_(std::exchange(live.changing_, true)) {}
    ~Changing() { live_.changing_ = outer_; }
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;

   private:
    LiveTable& live_;
    KeepLastRowid rowid_;
    bool outer_;
  };

  Connection& connection_;

  bool writing_ = false;    // between xBegin and the transaction's end
  bool current_ = false;    // memory was checked in this write transaction
  bool changed_ = false;    // … or about to be, and nothing is in the way
  bool created_ = false;    // by this transaction
  bool announced_ = false;  // … and SQLite tells it of roll-backs to earlier savepoints
  bool changing_ = false;   // C5
  int last_savepoint_ = kNoSavepoint;  // C6: the innermost that is open, as far as we were told
  uint32_t seen_version_ = 0;
  // Read in a write transaction that this table is no part of: what was read may be rolled back,
  // and nobody will tell.
  bool provisional_ = false;

 private:
  void undo_noted() noexcept;
  [[noreturn]] void raise_failure(const Status& status, bool half_done) const;
  void announce_once() {
    if (created_ && !announced_) [[unlikely]] {
      announce();
    }
  }
  void announce();
  void read_failed(const SqlError& error) const;
  void look_for_name() const;
  void expect_writable() const;
  int64_t root_page() const;

  ShadowStore& store_;

  std::array<ReadTransaction, 4> transactions_;  // ended; a statement may name it several times

  static constexpr int kNoSavepoint = -1;
  static constexpr int kBeginning = INT_MIN;
  static constexpr int kNowhere = INT_MAX;
  int rolled_back_to_ = kNowhere;  // C4: the outermost of those noted

  int instances_ = 0;
  bool closed_ = false;
  bool retired_ = false;
  // The first page of its config, under the name that it had when it retired or in note_place().
  int64_t root_ = 0;
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
