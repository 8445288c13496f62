#include "ext/table/live_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "ext/sqlite/schema_rows.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

constexpr char kGone[] = ": it was renamed or dropped while it was read";

}  // namespace

void LiveTable::drop_instance() noexcept {
  if (--instances_ == 0) {
    // The object's statements are finalized when it is destroyed, not here, because one of them may
    // be the caller, which prepares itself anew. No statement can run here, so root_ stays as
    // note_place() left it.
    service_ = Service::kClosed;
    connection_.forget(*this);
  }
}

void LiveTable::note_planned() noexcept { connection_.note_planned(*this); }

ReadTransaction LiveTable::kept_transaction() {
  for (ReadTransaction& kept : transactions_) {
    if (kept) {
      ReadTransaction transaction = std::move(kept);
      return transaction.begin_again() ? std::move(transaction) : ReadTransaction();
    }
  }
  return {};
}

void LiveTable::keep_transaction(ReadTransaction transaction) noexcept {
  transaction.end();
  if (!has_own_name() || !transaction) {
    return;
  }
  for (ReadTransaction& kept : transactions_) {
    if (!kept) {
      kept = std::move(transaction);
      return;
    }
  }
}

void LiveTable::rename(const std::string& name) {
  flush();
  store_.rename_tables(name);
  orphan();  // a statement that still reads the table reads it anew
  connection_.forget(*this);
  retire();
}

void LiveTable::destroy() {
  orphan();
  store_.drop_tables();
  connection_.forget(*this);
  retire();
}

void LiveTable::retire() {
  service_ = std::max(service_, Service::kRetired);
  transactions_ = {};
  phase_ = std::min(phase_, Phase::kCurrent);
  note_place();
}

// If the root page's number can't be read, nothing reads this table any more once it is retired. If
// SQLite may have undone the transaction, this throws. Otherwise the running statement would go on,
// and write without a transaction.
void LiveTable::note_place() {
  root_ = 0;
  try {
    root_ = root_page();
  } catch (const SqlError& error) {
    if (undoes_transaction(error.code())) {
      throw;
    }
  }
}

// Returns 0 if there is no such table. Tables that exchanged names kept their root pages.
int64_t LiveTable::root_page() const {
  SchemaRows tables(store_.db(), schema(), "type = 'table'");
  return tables.find(table() + "_config") ? tables.root_page() : 0;
}

void LiveTable::look_for_name() const {
  if (root_ == 0 || root_page() != root_) {
    throw SqlError(SQLITE_ABORT_ROLLBACK, table() + kGone);
  }
  // Another table may have this name now. If it has unflushed changes, the shadow tables may have
  // half of a change.
  const std::shared_ptr<LiveTable> other = connection_.known_table(schema(), table());
  if (other != nullptr && other.get() != this && other->pending()) {
    throw SqlError(SQLITE_ABORT_ROLLBACK,
                   table() +
                       ": the schema changed while it was read, and it is written since;"
                       " read it again");
  }
}

// Refuses a change by a statement that began before the table retired, because statements that
// began later would not see it. Also refuses a statement whose transaction has ended, as SQLite
// does.
void LiveTable::expect_writable() const {
  if (!has_own_name()) {
    throw SqlError(SQLITE_LOCKED, table() + ": it was changed by DDL while it was written to");
  }
  if (phase_ == Phase::kIdle) {  // SQLite would tell us of no COMMIT, and of no other roll-back
    throw SqlError(SQLITE_ABORT_ROLLBACK,
                   table() + ": a function of this statement rolled its transaction back");
  }
}

// C2
void LiveTable::flush(FlushBefore next) {
  carry_out_rollback();
  const Changing changing(*this);
  try {
    write_pending();
  } catch (const SqlError& error) {
    // Logged, because SQLite does not show the text of a failed xSavepoint.
    sqlite3_log(error.code(), "%s", error.message().c_str());
    const bool undone = rolled_back_to_ == kBeginning ||
                        (next == FlushBefore::kCommit && undoes_transaction(error.code()));
    if (undone || (error.code() & 0xFF) == SQLITE_IOERR) {
      throw;
    }
    throw SqlError(SQLITE_IOERR, error.message());
  } catch (const std::bad_alloc&) {
    throw SqlError(SQLITE_IOERR_NOMEM, "out of memory");  // so short that it is not allocated
  }
}

void LiveTable::sync() {
  if (has_own_name()) {  // C7
    carry_out_rollback();
    finish_changes();
    flush(FlushBefore::kCommit);
  }
}

void LiveTable::savepoint(int number) {
  if (changing_) {  // C5; the savepoints before it are the application's
    last_savepoint_ = std::max(last_savepoint_, number - 1);
    return;
  }
  flush();
  savepoint_begun(number);
  last_savepoint_ = number;
}

void LiveTable::release(int number) noexcept {
  if (!changing_) {
    carry_out_rollback();
    last_savepoint_ = std::min(last_savepoint_, number - 1);
    savepoint_released(number);
  }
}

void LiveTable::rollback_to(int number) noexcept {
  if (!changing_ && number <= last_savepoint_) {  // C6
    rolled_back_to_ = std::min(rolled_back_to_, number);
    last_savepoint_ = number;
  }
}

void LiveTable::undo_noted() noexcept {
  const int savepoint = std::exchange(rolled_back_to_, kNowhere);
  phase_ = std::min(phase_, Phase::kBegun);
  if (savepoint == kBeginning) {
    undo_transaction();
  } else {
    undo_to(savepoint);
  }
}

LiveTable::DataVersion LiveTable::data_version() const {
  DataVersion version;
  // Null means main.
  const char* const name = schema() == "main" ? nullptr : schema().c_str();
  int code = sqlite3_file_control(store_.db(), name, SQLITE_FCNTL_DATA_VERSION, &version.number);
  if (code == SQLITE_OK) {
    code = sqlite3_file_control(store_.db(), name, SQLITE_FCNTL_VFS_POINTER, &version.vfs);
  }
  if (code != SQLITE_OK) {
    throw SqlError(code, table() + ": the database " + schema() + " has no data version");
  }
  return version;
}

bool LiveTable::DataVersion::is_same(const DataVersion& other) const noexcept {
  return number == other.number && vfs == other.vfs && std::strcmp(vfs->zName, "memdb") != 0;
}

void LiveTable::see_own_version() noexcept {
  seen_version_ = {};
  (void)guard([](const char*) {}, [this] { seen_version_ = data_version(); });
}

void LiveTable::note_created() noexcept {
  phase_ = Phase::kCurrent;
  birth_ = Birth::kUnannounced;
  see_own_version();
}

bool LiveTable::reads_provisionally() const noexcept {
  return phase_ == Phase::kIdle &&
         sqlite3_txn_state(store_.db(), schema().c_str()) == SQLITE_TXN_WRITE;
}

bool LiveTable::written_amid() const noexcept {
  return sqlite3_get_autocommit(store_.db()) == 0 &&
         sqlite3_txn_state(store_.db(), schema().c_str()) == SQLITE_TXN_WRITE;
}

void LiveTable::expect_room_for(uint32_t page_bytes) const {
  constexpr int kMostBeside = 64;    // record header, id, checksum
  constexpr int kLeastBytes = 1024;  // the table's record, statements of our own
  const int needed = std::max(static_cast<int>(page_bytes) + kMostBeside, kLeastBytes);
  const int limit = sqlite3_limit(store_.db(), SQLITE_LIMIT_LENGTH, -1);
  if (limit < needed) {
    throw SqlError(SQLITE_TOOBIG, table() + ": its rows take up to " + std::to_string(needed) +
                                      " bytes, and SQLITE_LIMIT_LENGTH is " +
                                      std::to_string(limit));
  }
}

void LiveTable::read_failed(const SqlError& error) const {
  const int code = error.code() & 0xFF;
  if (error.message().starts_with(table() + ": ") || code == SQLITE_INTERRUPT) {
    return;
  }
  const bool broken = code == SQLITE_ERROR;                       // no such table, no such column
  if (broken && !table_exists(store_.db(), schema(), table())) {  // its CREATE was rolled back
    throw SqlError(SQLITE_ABORT_ROLLBACK, table() + kGone);
  }
  throw SqlError(broken ? SQLITE_CORRUPT_VTAB : error.code(),
                 table() + (broken ? ": corrupt: " : ": ") + error.message());
}

void LiveTable::raise_failure(const Status& status, bool half_done) const {
  const SqlError error = sql_error(table(), status.error());
  throw SqlError(half_done ? undoing_code(error.code()) : error.code(), error.message());
}

// SQLite announces a roll-back to a savepoint only to instances that it has asked to keep that
// savepoint or a later one (VTable.iSavepoint in vtab.c). It has asked nothing of a table that was
// made in this transaction. The nested statement here may fail half-way, so SQLite opens a
// savepoint for it and asks. Then a roll-back of the CREATE drops the pending changes, too. Without
// this, such a table would go on writing.
void LiveTable::announce() {
  birth_ = Birth::kAnnounced;
  execute(store_.db(), sql_text(R"(INSERT INTO "%w"."%w_config" SELECT 0, 0 WHERE 0)",
                                schema().c_str(), table().c_str()));
}

}  // namespace cuckoo
