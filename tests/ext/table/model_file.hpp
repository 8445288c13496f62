// One database file with several connections, and the state that each of them must see.
//
// Every statement of a script goes through write() or ask(): they compare what SQLite says with
// what was expected and keep the books of transactions, savepoints and snapshots. A savepoint is a
// copy of the state; so is a snapshot.
//
// The model never foretells BUSY exactly. It allows BUSY only where another connection has a
// transaction open, or committed after this one's snapshot, and never to a reader in WAL mode. BUSY
// must leave everything as it was.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/ext/table/model_state.hpp"
#include "tests/support/database.hpp"
#include "tests/support/script.hpp"

namespace cuckoo::test {

struct ModelOptions {
  bool wal = false;
  int page_size = 4096;
  int cache_pages = 0;  // 0: SQLite's default; few: it spills in the middle of transactions
  size_t connections = 1;
};

class ModelFile {
 public:
  struct Mark {
    std::string name;
    std::optional<State> state;  // nothing was read or written before
  };
  struct Connection {
    size_t number = 0;
    std::unique_ptr<Database> db;
    bool in_transaction = false;
    bool by_savepoint = false;  // the outermost savepoint began it
    bool wrote = false;
    bool reset_schema = false;  // by PRAGMA writable_schema = RESET, in this transaction
    std::optional<State> base;  // as the transaction found the file: its snapshot
    std::optional<State> view;  // as it sees the file now
    uint64_t base_commit = 0;   // how many commits there were before
    std::vector<Mark> marks;
  };
  struct Answer {
    int code = SQLITE_OK;  // primary
    std::string message;
    std::vector<std::pair<int64_t, int64_t>> rows;  // the first two columns
  };

  ModelFile(ScriptLog& log, const ModelOptions& options, const State& empty);

  const ModelOptions& options() const { return options_; }
  std::vector<Connection>& connections() { return connections_; }
  const State& committed() const { return committed_; }
  const State& seen(const Connection& connection) const {
    return connection.view ? *connection.view : committed_;
  }
  bool others_idle(const Connection& connection) const;

  // Runs a statement that writes. True if it came to what was foretold; false if it was BUSY, or if
  // the filter could be full and was.
  bool write(Connection& connection, const std::string& sql, const Expected& foretold);
  // The same where only the outcome tells what it must come to. BUSY is not judged.
  using Judge = std::function<Expected(const Outcome& outcome)>;
  bool write(Connection& connection, const std::string& sql, const Judge& judge);
  // Runs a query. BUSY must be allowed here; the caller judges any other code.
  Answer ask(Connection& connection, const std::string& sql);
  // Runs a query that must fail with a text that holds `message`. False if it was BUSY.
  bool refused(Connection& connection, const std::string& sql, const std::string& message);
  // A statement that changes nothing that a query shows; false when BUSY.
  bool maintain(Connection& connection, const std::string& sql);
  void reset_schema(Connection& connection);

  void begin(Connection& connection, const std::string& how);
  void commit(Connection& connection);
  void rollback(Connection& connection);
  void savepoint(Connection& connection, const std::string& name);
  void release(Connection& connection, size_t mark);
  void rollback_to(Connection& connection, size_t mark);

  void reopen(Connection& connection);
  // Closes all connections, which must be idle, replaces the file by its VACUUM INTO and reopens
  // all.
  void swap_with_vacuumed();
  void save_backup(Connection& connection);
  bool has_backup() const { return backup_.has_value(); }
  void restore_backup(Connection& connection);
  // A new connection to the file, that knows nothing.
  Connection stranger();

 private:
  std::string path() const { return folder_.file("model.db"); }
  void open(Connection& connection);
  void choose_journal();
  Outcome run(Connection& connection, const std::string& sql);
  void must(Connection& connection, const std::string& sql);
  void settle(Connection& connection, const std::string& sql, const Outcome& outcome,
              const Expected& expected);
  void require(bool condition, const std::string& what) const { log_.require(condition, what); }
  void note(const Connection& connection, const std::string& what);
  bool behind_lock(const Connection& connection, int code, const std::string& message) const;
  bool may_be_busy(const Connection& connection) const;
  void committed(const State& state);
  // Notes that a statement took the transaction's snapshot, if there was none.
  void take_snapshot(Connection& connection);
  void end(Connection& connection);
  void rolled_back(Connection& connection);
  void expect_autocommit(const Connection& connection) const;
  void finish_commit(Connection& connection, const std::string& sql);

  ScriptLog& log_;
  ModelOptions options_;
  TemporaryFolder folder_;
  State committed_;
  uint64_t commits_ = 0;
  std::optional<State> backup_;
  std::vector<Connection> connections_;
};

}  // namespace cuckoo::test
