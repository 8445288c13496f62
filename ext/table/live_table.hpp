// One virtual table of any kind, as this connection sees it: its shadow tables, the instances that
// share it, and the state of its transaction. LiveFilter, LiveFlash and LiveRing derive from it to
// keep their contents in step with the shadow tables.
//
// Contract
//   C1  memory is a cache of the shadow tables: flush() before every savepoint and commit,
//       dropped or undone after every roll-back (C4).
//   C2  an error before the first shadow write of a statement changes nothing. An error after it is
//       SQLITE_IOERR (or FULL, NOMEM, INTERRUPT), for which SQLite undoes the statement or the
//       transaction. If flush() fails before a savepoint and the transaction is not undone already,
//       the code is IOERR: with any other code, even INTERRUPT, SQLite may keep what the flush
//       wrote. If memory ran out, SQLite turns this IOERR into NOMEM. Then, if the flush was
//       writing, every use of the table and COMMIT fail until a roll-back.
//   C3  a read never writes.
//   C4  a roll-back is only noted, and carried out at the next call, because SQLite may roll back
//       in the middle of a nested statement of ours, while functions that hold the contents are on
//       the stack. Until then nothing is pending.
//   C5  in a change and in flush(), savepoints are those of our own nested statements (a trigger on
//       a shadow table makes them). Nothing is flushed for them. If SQLite rolls back to one, the
//       statement fails, so we notice. Nested statements know no virtual tables (Statement), so
//       such a trigger can't come back here.
//   C6  SQLite also "rolls back" to a savepoint that never began, because another virtual table
//       refused it: then nothing was undone. last_savepoint_ is the last that did begin.
//   C7  a LiveTable retires when its table is renamed or dropped, because SQLite does not report
//       that this was rolled back. It also retires when SQLite connects the table anew while no
//       transaction writes it. Nothing is pending then, and another LiveTable has the name. The
//       retired one serves the statements that read it already, as long as the name means the same
//       table, and writes nothing. The other one may write at any time, so each follow() of a
//       retired table compares memory with the shadow tables.
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
  // For Connection::find_or_error(), which finds a table of any kind.
  static constexpr const char* kWhat = "table";
  static constexpr const char* kKinds = "a cuckoo_filter, bloom_filter, flash_kv or hash_ring";
  static constexpr std::array<const char*, 4> kModules = {"cuckoo_filter", "bloom_filter",
                                                          "flash_kv", "hash_ring"};
  static const char* hint(std::string_view) noexcept { return ""; }

  // `store` is a member of the derived class, so it lives as long as this.
  LiveTable(Connection& connection, ShadowStore& store) noexcept
      : connection_(connection), store_(store) {}
  virtual ~LiveTable() = default;
  LiveTable(const LiveTable&) = delete;
  LiveTable& operator=(const LiveTable&) = delete;

  const std::string& schema() const noexcept { return store_.schema(); }
  const std::string& table() const noexcept { return store_.table(); }

  // Begins a ReadTransaction of keep_transaction() again. Returns none if there is none, or if
  // earlier answers about the schema and from the authorizer no longer hold. Throws SqlError.
  ReadTransaction kept_transaction();
  void keep_transaction(ReadTransaction transaction) noexcept;

  // Counts the instances of the virtual table that share this. The last one closes it.
  void add_instance() noexcept { ++instances_; }
  void drop_instance() noexcept;
  // For a reader that keeps this longer than SQLite keeps its instances (C8).
  void note_place();             // throws SqlError
  void note_planned() noexcept;  // SQLite plans a statement on an instance
  // Returns whether a transaction writes this table, which still has its name. A table that this
  // transaction made, with nothing pending, does not count: SQLite may undo its CREATE without
  // telling us. Pending changes were announced (announce()), so SQLite does tell us of those.
  bool is_written() const noexcept {
    return phase_ != Phase::kIdle && service_ != Service::kClosed &&
           (birth_ == Birth::kEarlier || pending());
  }
  // Makes the table write nothing more, because another table has its name now.
  virtual void orphan() noexcept = 0;

  // Returns whether memory is still as follow() left it. The read transaction has been open since
  // then, so no other connection can have changed anything.
  bool still_followed() const noexcept {
    return has_own_name() && seen_version_.vfs != nullptr && !rolled_back();
  }
  // Brings memory up to date, cheaply if it is. Throws SqlError. Call it in a read transaction:
  // that of a statement on this table, or a ReadTransaction.
  virtual void follow() = 0;

  // Checks every invariant of the stored table, as if pending changes were written now. Throws
  // SqlError that names the error. By C3 it works where nothing can be written.
  virtual void check_stored() = 0;
  // Also compares the table with its source, if it has one: the command 'check', cuckoo_check().
  virtual void check() { check_stored(); }

  void rename(const std::string& name);
  void destroy();
  void retire();  // C7; throws SqlError

  // Must not fail, because DROP TABLE begins a transaction, too, and must work on a broken table.
  void begin() noexcept { phase_ = Phase::kBegun; }

  void sync();  // writes pending changes; more changes and another sync() may follow
  void rollback() noexcept {
    rolled_back_to_ = kBeginning;  // C4
    end_transaction();
  }
  // Savepoints are 0, 1 and so on, each inside of those before it. -1 is one that began the
  // transaction. A release ends a savepoint and those inside it.
  void savepoint(int number);
  void release(int number) noexcept;
  void rollback_to(int number) noexcept;

 protected:
  // Returns whether memory has changes that the shadow tables lack.
  virtual bool pending() const noexcept = 0;
  enum class FlushBefore { kSavepoint, kCommit };
  void flush(FlushBefore next = FlushBefore::kSavepoint);
  virtual void write_pending() = 0;   // if it throws, only a roll-back helps
  virtual void finish_changes() = 0;  // before the last flush() of a transaction
  // Called once everything is flushed.
  virtual void savepoint_begun(int) {}
  virtual void savepoint_released(int) noexcept {}

  bool has_own_name() const noexcept { return service_ == Service::kActive; }
  // Throws SqlError if the name means another table (C7). follow() calls it first.
  void expect_own_name() {
    if (!has_own_name()) [[unlikely]] {
      look_for_name();
    }
  }

  bool rolled_back() const noexcept { return rolled_back_to_ != kNowhere; }
  // Carries out a noted roll-back. Every call does this first.
  void carry_out_rollback() noexcept {
    if (rolled_back()) [[unlikely]] {
      undo_noted();
    }
  }
  virtual void undo_transaction() noexcept = 0;
  virtual void undo_to(int savepoint) noexcept = 0;

  // What the database file looked like when memory was read last. Empty if it was read in a write
  // transaction that this table takes no part in, because SQLite may undo that without telling us.
  struct DataVersion {
    uint32_t number = 0;  // changes with each commit, of this or another connection
    const sqlite3_vfs* vfs = nullptr;

    // In the VFS memdb, sqlite3_deserialize() puts another database in the place of the open one,
    // and nothing else tells. So there two versions are never known to be the same.
    bool is_same(const DataVersion& other) const noexcept;
  };
  DataVersion data_version() const;  // throws SqlError
  // Remembers the version that our own commit or CREATE made, so that follow() does not reload.
  void see_own_version() noexcept;
  // Returns whether we read in a write transaction that this table does not take part in.
  bool reads_provisionally() const noexcept;
  // Returns whether an earlier statement of the present transaction may have written our rows. No
  // data version tells. For example, a program puts saved rows back, and adds a key after that.
  // Once the transaction has changed the table itself, nothing asks this any more.
  bool written_amid() const noexcept;
  // Reads the config with `body`. Errors name the table.
  template <class Body>
  void read_config(Body&& body);
  // Throws SqlError (SQLITE_TOOBIG) if the connection's limit forbids rows with pages of that size.
  // Otherwise SQLite would refuse them when they are flushed.
  void expect_room_for(uint32_t page_bytes) const;
  // Returns whether expect_changeable() would do nothing.
  bool may_change() const noexcept { return is_changed() && birth_ != Birth::kUnannounced; }
  // Called before every change, after follow(). Asks once a transaction whether the table may be
  // written (C7) and whether its rows may be that long. Announces a table that this transaction
  // made. Throws SqlError.
  void expect_changeable(uint32_t page_bytes) {
    if (!is_changed()) [[unlikely]] {
      expect_writable();
      expect_room_for(page_bytes);
      phase_ = Phase::kChanged;
    }
    if (birth_ == Birth::kUnannounced) [[unlikely]] {
      announce();
    }
  }
  // Throws a failure. `half_done`: as after the first shadow write (C2).
  void raise(const Status& status, bool half_done) const {
    if (!status.ok()) [[unlikely]] {
      raise_failure(status, half_done);
    }
  }
  bool is_changed() const noexcept { return phase_ == Phase::kChanged; }
  // Called when memory is as the shadow tables are, in a write transaction or not.
  void note_current() noexcept { phase_ = phase_ == Phase::kBegun ? Phase::kCurrent : phase_; }
  // Called at CREATE, because SQLite calls no xBegin for its transaction.
  void note_created() noexcept;
  void end_transaction() noexcept {
    phase_ = Phase::kIdle;
    birth_ = Birth::kEarlier;
    last_savepoint_ = kNoSavepoint;
  }

  // Marks a change (C5). Also keeps the application's last_insert_rowid().
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

  // How far this table is in a write transaction of its own. Each instance's calls move it on. A
  // roll-back to a savepoint takes it back to kBegun, and the end of the transaction to kIdle.
  // Another connection has its own; a restored backup needs that no transaction is open.
  enum class Phase : uint8_t {
    kIdle,     // no xBegin came
    kBegun,    // xBegin came, or what it found in memory may be undone
    kCurrent,  // memory was checked in this transaction, so no other connection changes anything
    kChanged,  // this transaction changed the table, or may now
  };
  Phase phase_ = Phase::kIdle;
  // Whether this transaction made the table. A roll-back of the CREATE closes it, and any other one
  // changes nothing here. To another connection and after a restored backup, it is an earlier one.
  enum class Birth : uint8_t {
    kEarlier,
    kUnannounced,  // made now; SQLite does not tell it of roll-backs to earlier savepoints
    kAnnounced,    // made now; SQLite tells it
  };
  Birth birth_ = Birth::kEarlier;
  bool changing_ = false;              // C5
  int last_savepoint_ = kNoSavepoint;  // C6: the innermost open one that SQLite told us of
  DataVersion seen_version_;

 private:
  void undo_noted() noexcept;
  [[noreturn]] void raise_failure(const Status& status, bool half_done) const;
  void announce();
  void read_failed(const SqlError& error) const;
  void look_for_name() const;
  void expect_writable() const;
  int64_t root_page() const;

  ShadowStore& store_;

  std::array<ReadTransaction, 4> transactions_;  // ended; a statement may use a table several times

  static constexpr int kNoSavepoint = -1;
  static constexpr int kBeginning = INT_MIN;
  static constexpr int kNowhere = INT_MAX;
  int rolled_back_to_ = kNowhere;  // C4: the outermost savepoint that was noted

  int instances_ = 0;
  // It never goes back, because SQLite tells of no DDL that was undone (C7, C8). Another connection
  // has its own.
  enum class Service : uint8_t {
    kActive,   // the name is this table's
    kRetired,  // another LiveTable has the name
    kClosed,   // no instance is left
  };
  Service service_ = Service::kActive;
  // The first page of the table's config, when it retired or in note_place().
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
