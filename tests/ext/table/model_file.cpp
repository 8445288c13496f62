#include "tests/ext/table/model_file.hpp"

#include <algorithm>
#include <filesystem>

namespace cuckoo::test {
namespace {

constexpr size_t npos = std::string::npos;

bool is_busy(int code) { return (code & 0xFF) == SQLITE_BUSY; }

int code_of(Expected::End end) {
  switch (end) {
    case Expected::End::kDone:
      return SQLITE_OK;
    case Expected::End::kConstraint:
      return SQLITE_CONSTRAINT;
    default:
      return SQLITE_ERROR;
  }
}

// The SQL function k(i): gives the same key as literal(i).
void give_key(sqlite3_context* context, int, sqlite3_value** values) {
  const int64_t i = sqlite3_value_int64(values[0]);
  switch (i % 5) {
    case 1:
      sqlite3_result_text(context, ("k" + std::to_string(i)).c_str(), -1, SQLITE_TRANSIENT);
      break;
    case 2: {
      const std::string bytes = "b" + std::to_string(i);
      sqlite3_result_blob(context, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT);
      break;
    }
    case 3:
      sqlite3_result_double(context, static_cast<double>(i) + 0.5);
      break;
    default:
      sqlite3_result_int64(context, i % 5 == 0 ? i : (int64_t{1} << 53) + i);
  }
}

}  // namespace

ModelFile::ModelFile(ScriptLog& log, const ModelOptions& options, const State& empty)
    : log_(log), options_(options), committed_(empty) {
  connections_.resize(options.connections);
  for (size_t i = 0; i < connections_.size(); ++i) {
    connections_[i].number = i;
    open(connections_[i]);
    if (i == 0) {
      must(connections_[0], "PRAGMA page_size = " + std::to_string(options_.page_size));
      choose_journal();
      must(connections_[0],
           "CREATE TABLE parent(id INTEGER PRIMARY KEY);"
           "CREATE TABLE child(p REFERENCES parent DEFERRABLE INITIALLY DEFERRED);"
           "CREATE TABLE app(k, mode)");
    }
  }
}

void ModelFile::open(Connection& connection) {
  connection.db = std::make_unique<Database>(path());
  sqlite3_create_function(connection.db->handle(), "k", 1, SQLITE_UTF8 | SQLITE_INNOCUOUS, nullptr,
                          give_key, nullptr, nullptr);
  must(connection,
       "PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 100");
  if (options_.cache_pages > 0) {
    must(connection, "PRAGMA cache_size = " + std::to_string(options_.cache_pages));
  }
}

void ModelFile::choose_journal() {
  must(connections_[0], std::string("PRAGMA journal_mode = ") + (options_.wal ? "WAL" : "DELETE"));
}

bool ModelFile::others_idle(const Connection& connection) const {
  return std::none_of(connections_.begin(), connections_.end(), [&](const Connection& other) {
    return other.in_transaction && other.number != connection.number;
  });
}

bool ModelFile::may_be_busy(const Connection& connection) const {
  return !others_idle(connection) || (connection.base && connection.base_commit != commits_);
}

void ModelFile::committed(const State& state) {
  committed_ = state;
  ++commits_;
}

// ---- running statements

void ModelFile::note(const Connection& connection, const std::string& what) {
  log_.note("/* " + std::to_string(connection.number) + " */ " + what);
}
static std::string with_code(const std::string& sql, int code) {
  return sql + (code == SQLITE_OK ? ";" : ";  -- code " + std::to_string(code));
}

// SQLite does not say BUSY where a lock keeps it from seeing that its schema is an old one.
bool ModelFile::behind_lock(const Connection& connection, int code,
                            const std::string& message) const {
  return !options_.wal && !others_idle(connection) && (code & 0xFF) == SQLITE_ERROR &&
         (message.starts_with("no such table") || message.find(" has no column ") != npos);
}

Outcome ModelFile::run(Connection& connection, const std::string& sql) {
  Outcome outcome = connection.db->attempt(sql);
  note(connection, with_code(sql, outcome.code));
  if (behind_lock(connection, outcome.code, outcome.message)) {
    outcome.code = SQLITE_BUSY;
  }
  if (is_busy(outcome.code)) {
    require(may_be_busy(connection), "BUSY, and nobody else is there: " + sql);
  }
  return outcome;
}

void ModelFile::must(Connection& connection, const std::string& sql) {
  const Outcome outcome = run(connection, sql);
  require(outcome.code == SQLITE_OK, sql + "\n" + outcome.message);
}

void ModelFile::take_snapshot(Connection& connection) {
  if (connection.in_transaction && !connection.view) {
    connection.base = connection.view = committed_;
    connection.base_commit = commits_;
  }
}

void ModelFile::expect_autocommit(const Connection& connection) const {
  const bool open = sqlite3_get_autocommit(connection.db->handle()) == 0;
  require(open == connection.in_transaction, open ? "a transaction is open" : "none is open");
}

bool ModelFile::write(Connection& connection, const std::string& sql, const Expected& foretold) {
  bool is_full = false;
  const bool ran = write(connection, sql, [&](const Outcome& outcome) {
    is_full = foretold.or_full && (outcome.code & 0xFF) == SQLITE_ERROR &&
              outcome.message.starts_with("full: ");
    return is_full ? Expected{Expected::End::kFull, seen(connection), false, "full: "} : foretold;
  });
  return ran && !is_full;
}

bool ModelFile::write(Connection& connection, const std::string& sql, const Judge& judge) {
  const Outcome outcome = run(connection, sql);
  if (is_busy(outcome.code)) {
    expect_autocommit(connection);
    if (connection.in_transaction && !connection.view) {
      rollback(connection);  // whether it has taken a snapshot is SQLite's business
    }
    return false;
  }
  settle(connection, sql, outcome, judge(outcome));
  return true;
}

void ModelFile::settle(Connection& connection, const std::string& sql, const Outcome& outcome,
                       const Expected& expected) {
  require((outcome.code & 0xFF) == code_of(expected.end),
          sql + "\ncode " + std::to_string(outcome.code) + ", expected " +
              std::to_string(code_of(expected.end)) + ": " + outcome.message);
  require(outcome.message.find(expected.message) != npos,
          sql + "\nsays " + outcome.message + ", without " + expected.message);
  if (expected.rolls_back) {
    rolled_back(connection);
  } else if (connection.in_transaction) {
    take_snapshot(connection);
    connection.view = expected.after;
    connection.wrote = true;
  } else {
    committed(expected.after);
  }
  expect_autocommit(connection);
}

ModelFile::Answer ModelFile::ask(Connection& connection, const std::string& sql) {
  Answer answer;
  sqlite3* db = connection.db->handle();
  sqlite3_stmt* statement = nullptr;
  answer.code = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  if (answer.code == SQLITE_OK) {
    while ((answer.code = sqlite3_step(statement)) == SQLITE_ROW) {
      answer.rows.emplace_back(sqlite3_column_int64(statement, 0),
                               sqlite3_column_int64(statement, 1));
    }
  }
  answer.code = answer.code == SQLITE_DONE ? SQLITE_OK : answer.code & 0xFF;
  answer.message = answer.code == SQLITE_OK ? "" : sqlite3_errmsg(db);
  sqlite3_finalize(statement);
  note(connection, with_code(sql, answer.code));
  if (behind_lock(connection, answer.code, answer.message)) {
    answer.code = SQLITE_BUSY;
  }
  if (is_busy(answer.code)) {
    require(!options_.wal, "BUSY to a reader in WAL mode: " + sql + "\n" + answer.message);
    require(!others_idle(connection), "BUSY, and nobody else is there: " + sql);
    if (connection.in_transaction && !connection.view) {
      rollback(connection);
    }
    return answer;
  }
  if (answer.code == SQLITE_OK) {
    take_snapshot(connection);
  }
  return answer;
}

bool ModelFile::refused(Connection& connection, const std::string& sql,
                        const std::string& message) {
  const Answer answer = ask(connection, sql);
  if (is_busy(answer.code)) {
    return false;
  }
  require(answer.code == SQLITE_ERROR && answer.message.find(message) != npos,
          sql + "\ncode " + std::to_string(answer.code) + ", says " + answer.message +
              ", expected " + message);
  return true;
}

bool ModelFile::maintain(Connection& connection, const std::string& sql) {
  const Outcome outcome = run(connection, sql);
  require(outcome.code == SQLITE_OK || is_busy(outcome.code) || outcome.code == SQLITE_LOCKED,
          sql + "\ncode " + std::to_string(outcome.code) + ": " + outcome.message);
  require(outcome.code == SQLITE_OK || !others_idle(connection),
          "locked, and nobody else is there: " + sql);
  ++commits_;
  return outcome.code == SQLITE_OK;
}

void ModelFile::reset_schema(Connection& connection) {
  maintain(connection, "PRAGMA writable_schema = RESET");
  connection.reset_schema = connection.in_transaction;
}

// ---- transactions

void ModelFile::begin(Connection& connection, const std::string& how) {
  const Outcome outcome = run(connection, "BEGIN " + how);
  if (!is_busy(outcome.code)) {
    require(outcome.code == SQLITE_OK, "BEGIN\n" + outcome.message);
    connection.in_transaction = true;
    if (how != "DEFERRED") {
      take_snapshot(connection);
    }
  }
  expect_autocommit(connection);
}

void ModelFile::end(Connection& connection) {
  connection.in_transaction = connection.by_savepoint = false;
  connection.wrote = connection.reset_schema = false;
  connection.base.reset();
  connection.view.reset();
  connection.marks.clear();
}

// When SQLite forgets its schema, it also forgets that the transaction had changed it. So after
// ROLLBACK it keeps the schema that it read since. The next statement finds that out, unless
// somebody else has brought the schema's version up to the same number by then.
void ModelFile::rolled_back(Connection& connection) {
  const bool outdated = connection.reset_schema && connection.wrote;
  end(connection);
  expect_autocommit(connection);
  const FilterState& filter = committed_.filters[committed_.filters[0].exists ? 0 : 1];
  if (outdated && filter.exists) {
    const Answer answer = ask(connection, "SELECT count(*) FROM " + filter.quoted());
    const bool busy = (answer.code & 0xFF) == SQLITE_BUSY;  // another connection's exclusive lock
    require(busy || (answer.rows.size() == 1 &&
                     (!filter.multiset() ||
                      static_cast<uint64_t>(answer.rows[0].first) == filter.items())),
            "another count after ROLLBACK: " + answer.message);
  } else if (outdated) {
    ask(connection, "SELECT count(*) FROM app");
  }
}

// A COMMIT that fails leaves the transaction open.
void ModelFile::finish_commit(Connection& connection, const std::string& sql) {
  const bool violated = connection.view && connection.view->orphan;
  const Outcome outcome = run(connection, sql);
  if (!is_busy(outcome.code)) {
    const int expected = violated ? SQLITE_CONSTRAINT : SQLITE_OK;
    require((outcome.code & 0xFF) == expected, sql + ", code " + std::to_string(outcome.code) +
                                                   ", expected " + std::to_string(expected) + ": " +
                                                   outcome.message);
  }
  if (outcome.code == SQLITE_OK) {
    if (connection.wrote) {
      committed(*connection.view);
    }
    end(connection);
  }
  expect_autocommit(connection);
}

void ModelFile::commit(Connection& connection) { finish_commit(connection, "COMMIT"); }

void ModelFile::rollback(Connection& connection) {
  must(connection, "ROLLBACK");
  rolled_back(connection);
}

void ModelFile::savepoint(Connection& connection, const std::string& name) {
  must(connection, "SAVEPOINT " + name);
  connection.marks.push_back({name, connection.view});
  if (!connection.in_transaction) {
    connection.in_transaction = connection.by_savepoint = true;
  }
}

void ModelFile::release(Connection& connection, size_t mark) {
  const std::string sql = "RELEASE " + connection.marks[mark].name;
  if (mark == 0 && connection.by_savepoint) {
    finish_commit(connection, sql);
    return;
  }
  must(connection, sql);
  connection.marks.resize(mark);
}

void ModelFile::rollback_to(Connection& connection, size_t mark) {
  must(connection, "ROLLBACK TO " + connection.marks[mark].name);
  connection.marks.resize(mark + 1);
  connection.view = connection.marks[mark].state ? connection.marks[mark].state : connection.base;
  if (connection.reset_schema && connection.wrote) {  // as in rolled_back()
    ask(connection, "SELECT count(*) FROM app");
  }
}

// ---- the file as a whole

void ModelFile::reopen(Connection& connection) {
  end(connection);
  note(connection, "-- closed and opened");
  connection.db.reset();
  open(connection);
}

ModelFile::Connection ModelFile::stranger() {
  Connection connection;
  connection.number = connections_.size();
  open(connection);
  return connection;
}

void ModelFile::swap_with_vacuumed() {
  const std::string copy = folder_.file("vacuumed.db");
  must(connections_[0], "VACUUM INTO '" + copy + "'");
  for (Connection& connection : connections_) {
    connection.db.reset();
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::filesystem::remove(path() + suffix);
  }
  std::filesystem::rename(copy, path());
  for (Connection& connection : connections_) {
    open(connection);
  }
  choose_journal();
}

void ModelFile::save_backup(Connection& connection) {
  std::filesystem::remove(folder_.file("backup.db"));
  must(connection, "VACUUM INTO '" + folder_.file("backup.db") + "'");
  backup_ = committed_;
}

void ModelFile::restore_backup(Connection& connection) {
  note(connection, "-- the backup is restored");
  sqlite3* source = nullptr;
  sqlite3_open(folder_.file("backup.db").c_str(), &source);
  sqlite3* target = connection.db->handle();
  sqlite3_backup* backup = sqlite3_backup_init(target, "main", source, "main");
  const int step = backup == nullptr ? sqlite3_errcode(target) : sqlite3_backup_step(backup, -1);
  const int finish = sqlite3_backup_finish(backup);
  sqlite3_close(source);
  if (step == SQLITE_DONE && finish == SQLITE_OK) {
    committed(*backup_);
  } else {
    require((is_busy(step) || step == SQLITE_LOCKED) && !others_idle(connection),
            "the backup API says " + std::to_string(step));
  }
}

}  // namespace cuckoo::test
