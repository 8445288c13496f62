// Random scripts of SQL over a flash_kv, on one to three connections in turn. In a file of its own
// an ordinary WITHOUT ROWID table goes through the same statements: SQLite itself says what the
// flash_kv must hold, which statements fail and with which code. Now and then a page is damaged.
#include <algorithm>

#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace flash_model_test {
namespace {

constexpr const char* kUntyped = "key, value";
constexpr const char* kAll = "SELECT quote(key), quote(value) FROM kv ORDER BY key";

class FlashScript : public Script {
 public:
  explicit FlashScript(uint64_t seed) : Script(seed) {
    wal_ = one_in(2);
    page_size_ = 512 << random(5);
    connections_.resize(1 + random(3));
    // A small cache spills in the middle of transactions, which takes an exclusive lock.
    cache_pages_ = one_in(3) && (wal_ || connections_.size() == 1) ? 10 : 0;
    keys_ = 4 + random(60);
    large_values_ = one_in(3);
    for (Connection& connection : connections_) {
      open(connection);
    }
    create();
  }

  void run() {
    const uint64_t steps = 40 + random(120);
    for (uint64_t i = 0; i < steps; ++i) {
      step(pick(connections_));
      if (one_in(3)) {
        compare(pick(connections_));
      }
    }
    for (Connection& connection : connections_) {
      if (connection.open) {
        both(connection, "COMMIT");
        if (in_transaction(*connection.flash)) {
          both(connection, "ROLLBACK");
        }
        connection.open = false;
      }
    }
    finish();
  }

 private:
  struct Connection {
    std::unique_ptr<QuickDatabase> flash, plain;
    bool open = false;   // a transaction
    bool reads = false;  // … in which it must not write: of others' commits it could be unaware
    uint64_t savepoints = 0;
  };

  void open(Connection& connection) {
    for (auto [db, name] :
         {std::pair(&connection.flash, "flash.db"), {&connection.plain, "plain"}}) {
      *db = std::make_unique<QuickDatabase>(folder_.file(name));
      if (cache_pages_ > 0) {
        (*db)->run("PRAGMA cache_size = " + std::to_string(cache_pages_));
      }
    }
    connection.open = false;
    connection.savepoints = 0;
  }

  void create() {
    Connection& first = connections_[0];
    for (QuickDatabase* db : {first.flash.get(), first.plain.get()}) {
      db->run("PRAGMA page_size = " + std::to_string(page_size_));
      db->run(wal_ ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
    }
    columns_ = one_in(2) ? kUntyped
                         : pick({kUntyped, "key TEXT, value", "key INTEGER, value TEXT",
                                 "key REAL, value NUMERIC", "key NUMERIC, value BLOB"});
    const bool small = one_in(2);  // collects all the time
    const std::string flash =
        "CREATE VIRTUAL TABLE kv USING flash_kv(" + columns_ + ", seed = " + number(1000) +
        ", sector_size = " + (small ? "512, sectors = 256" : "1024, size = 2000000") +
        ", erase_block = " + std::to_string(1 + random(4)) +
        ", program_unit = " + std::to_string(16 << random(3)) + ")";
    large_values_ = large_values_ && !small;
    keys_ = small ? std::min<uint64_t>(keys_, 24) : keys_;
    std::string plain = columns_;
    plain.insert(plain.find(','), " PRIMARY KEY");
    note(flash);
    first.flash->run(flash);
    first.plain->run("CREATE TABLE kv(" + plain + ") WITHOUT ROWID");
    both(first, "CREATE TABLE app(k, v, policy)");
    both(first,
         "CREATE TRIGGER app_insert AFTER INSERT ON app BEGIN INSERT INTO kv VALUES (new.k, new.v);"
         " SELECT RAISE(FAIL, 'stop') WHERE new.policy = 'fail';"
         " SELECT RAISE(ABORT, 'stop') WHERE new.policy = 'abort'; END");
    both(first,
         "CREATE TRIGGER app_delete AFTER DELETE ON app BEGIN DELETE FROM kv WHERE key ="
         " old.k; END");
  }

  // Expects the same outcome on both. True if the statement succeeded.
  bool both(Connection& connection, const std::string& flash_sql, const std::string& plain_sql) {
    const auto index = &connection - connections_.data();
    const Outcome flash = connection.flash->attempt(flash_sql);
    const Outcome plain = connection.plain->attempt(plain_sql);
    note("/* " + std::to_string(index) + ": " + std::to_string(flash.code) + " */ " + flash_sql);
    if (flash.code != plain.code && (flash.code == SQLITE_BUSY || plain.code == SQLITE_BUSY) &&
        connections_.size() > 1) {
      return only_one_busy(connection, flash.code == SQLITE_BUSY);
    }
    require(flash.code == plain.code,
            flash_sql + "\nflash_kv: " + std::to_string(flash.code) + " " + flash.message +
                "\nordinary: " + std::to_string(plain.code) + " " + plain.message);
    require((flash.code & 0xFF) != SQLITE_CONSTRAINT || flash.message == plain.message,
            flash_sql + "\nflash_kv: " + flash.message + "\nordinary: " + plain.message);
    look_at_transaction(connection, flash_sql);
    return flash.code == SQLITE_OK;
  }
  bool both(Connection& connection, const std::string& sql) { return both(connection, sql, sql); }

  void look_at_transaction(Connection& connection, const std::string& sql) {
    const bool open = in_transaction(*connection.flash);
    require(open == in_transaction(*connection.plain), sql + "\nonly one is in a transaction");
    connection.open = open;
    connection.reads = connection.reads && open;
    connection.savepoints = open ? connection.savepoints : 0;
  }
  // One of the tables had nothing to write, so it needed no lock. Then the rows of both must still
  // be the same.
  bool only_one_busy(Connection& connection, bool flash_is_busy) {
    QuickDatabase& busy = flash_is_busy ? *connection.flash : *connection.plain;
    QuickDatabase& done = flash_is_busy ? *connection.plain : *connection.flash;
    if (in_transaction(busy) && !in_transaction(done)) {
      busy.run("ROLLBACK");
    }
    note("-- only one of them is busy");
    look_at_transaction(connection, "BUSY");
    ask_both(connection, kAll);
    return false;
  }

  // Expects the same changes() on both. (Only VACUUM leaves another last_insert_rowid() behind.)
  void write(Connection& connection, const std::string& sql) {
    for (QuickDatabase* db : {connection.flash.get(), connection.plain.get()}) {
      sqlite3_set_last_insert_rowid(db->handle(), 77);
    }
    if (both(connection, sql)) {
      require(sqlite3_changes(connection.flash->handle()) ==
                      sqlite3_changes(connection.plain->handle()) ||
                  !connection.open,  // after COMMIT the flush may have come between
              sql + "\nchanges() is " +
                  std::to_string(sqlite3_changes(connection.flash->handle())) + ", expected " +
                  std::to_string(sqlite3_changes(connection.plain->handle())));
      require(sqlite3_last_insert_rowid(connection.flash->handle()) ==
                  sqlite3_last_insert_rowid(connection.plain->handle()),
              sql + "\nlast_insert_rowid() differs");
    }
  }

  // ---- values

  std::string key() {
    const uint64_t i = random(keys_);
    const std::string n = std::to_string(i);
    switch (i % 8) {
      case 0:
        return "'k" + n + "'";
      case 1:
        return n;
      case 2:
        return n + ".0";
      case 3:
        return "x'" + std::to_string(10 + i) + "'";
      case 4:
        return "sha1(" + n + ")";
      case 5:  // exact beyond a double, unless the key's own type is one
        return std::to_string((int64_t{columns_.starts_with("key REAL") ? 0 : 1} << 53) +
                              static_cast<int64_t>(i));
      case 6:
        return "'" + n + "'";
      default:
        return "-" + n + ".5";
    }
  }
  std::string value() {
    const std::string n = number(1000);
    const uint64_t limit = large_values_ && one_in(8) ? 20000 : 120;
    switch (random(8)) {
      case 0:
        return "NULL";
      case 1:
        return n;
      case 2:
        return "-" + n + ".25";
      case 3:
        return "'text " + n + "'";
      case 4:
        return "zeroblob(" + number(limit) + ")";
      case 5:
        return n + ".0";
      default:
        return "CAST(substr(hex(zeroblob(" + std::to_string(limit) + ")), 1, " +
               std::to_string(random(2 * limit)) + ") || '" + n + "' AS " +
               (one_in(2) ? "BLOB)" : "TEXT)");
    }
  }
  std::string policy() {
    return pick({"", "", " OR REPLACE", " OR REPLACE", " OR IGNORE", " OR FAIL", " OR ABORT",
                 " OR ROLLBACK"});
  }
  std::string rows(uint64_t count) {
    std::string list;
    for (uint64_t i = 0; i < count; ++i) {
      list += (i == 0 ? "(" : ", (") + key() + ", " + value() + ")";
    }
    return list;
  }

  // ---- steps

  void step(Connection& connection) {
    switch (connection.reads ? 25 : random(26)) {
      case 0:
      case 1:
      case 2:
        return write(connection, "INSERT" + policy() + " INTO kv VALUES " + rows(1));
      case 3:
      case 4:
        return write(connection, "INSERT" + policy() + " INTO kv VALUES " + rows(2 + random(20)));
      case 5:
        return content_addressed(connection);
      case 6:
        return write(connection,
                     "UPDATE" + policy() + " kv SET value = " + value() + " WHERE key = " + key());
      case 7:
        return write(connection, "UPDATE kv SET value = " + value() + " WHERE typeof(value) = '" +
                                     (one_in(2) ? "text" : "integer") + "'");
      case 8:
        return write(connection,
                     "UPDATE" + policy() + " kv SET key = " + key() + " WHERE key = " + key());
      case 9:
        return write(connection, "UPDATE kv SET key = " + key() + ", value = " + value() +
                                     " WHERE key IN (" + key() + ")");
      case 10:
        return write(connection,
                     "DELETE FROM kv WHERE key IN (" + key() + ", " + key() + ", " + key() + ")");
      case 11:
        return write(connection, "DELETE FROM kv WHERE length(value) > " + number(100));
      case 12:
        return one_in(4) ? write(connection, "DELETE FROM kv") : void();
      case 13:  // fails in the middle
        return write(connection,
                     with_numbers(0, 6) + "INSERT" + policy() + " INTO kv SELECT CASE i WHEN " +
                         number(7) +
                         " THEN abs(-9223372036854775807 - 1) ELSE i END, 'row' FROM n");
      case 14:
        return write(connection,
                     "INSERT OR REPLACE INTO kv SELECT key, 'copy' FROM kv WHERE"
                     " typeof(key) = 'text'");
      case 15:
        return write(connection, "INSERT" + policy() + " INTO app VALUES (" + key() + ", " +
                                     value() + ", '" +
                                     (one_in(3)   ? "abort"
                                      : one_in(3) ? "fail"
                                                  : "") +
                                     "')");
      case 16:
        return write(connection, "DELETE FROM app WHERE k = " + key());
      case 17:
        return command(connection);
      case 18:
        return maintain(connection);
      default:
        return transact(connection);
    }
  }

  void content_addressed(Connection& connection) {
    if (columns_.find("key TEXT") == std::string::npos && columns_ != kUntyped) {
      return;
    }
    const std::string content = "'content " + number(12) + "'";
    const std::string how = policy();
    if (!answer(*connection.plain,
                "SELECT 1 FROM kv WHERE key = sha1(" + content + ") AND value IS NOT " + content)
             .empty()) {
      return;  // an UPDATE gave the address another value: no duplicate, but an error
    }
    both(connection, "INSERT" + how + " INTO kv(value) VALUES (" + content + ")",
         "INSERT" + how + " INTO kv VALUES (sha1(" + content + "), " + content + ")");
  }

  void command(Connection& connection) {
    const std::string command = damaged_ ? "collect" : pick({"check", "collect", "check", "clear"});
    if (command == "clear") {
      if (one_in(4)) {
        both(connection, "INSERT INTO kv(kv) VALUES ('clear')", "DELETE FROM kv");
      }
      return;
    }
    // The ordinary table gets a write without effect.
    const bool done = both(connection, "INSERT INTO kv(kv) VALUES ('" + command + "')",
                           "DELETE FROM kv WHERE key = 'no such key'");
    damaged_ = damaged_ && (!done || connection.open);
  }

  // Damages one page, which costs nothing. Until a 'collect' mends it, only the check says so.
  void damage_a_page() {
    if (damaged_ || std::any_of(connections_.begin(), connections_.end(),
                                [](const Connection& one) { return one.open; })) {
      return;
    }
    QuickDatabase raw(folder_.file("flash.db"));
    const auto pages = static_cast<uint64_t>(raw.number("SELECT count(*) FROM kv_pages"));
    if (pages == 0) {
      return;
    }
    const std::string place = number(4000);
    const std::string flip = "UPDATE kv_pages SET page = CAST(substr(page, 1, " + place +
                             " % length(page)) || x'A5' || substr(page, 2 + " + place +
                             " % length(page)) AS BLOB) WHERE id ="
                             " (SELECT id FROM kv_pages ORDER BY id LIMIT 1 OFFSET " +
                             number(pages) + ")";
    note("/* from outside */ " + flip);
    raw.run(flip);
    damaged_ = true;
  }

  void maintain(Connection& connection) {
    switch (random(6)) {
      case 0:
        both(connection, "VACUUM");
        return;
      case 4:
      case 5:
        return damage_a_page();
      case 1:
        if (std::none_of(connections_.begin(), connections_.end(),
                         [](const Connection& one) { return one.open; })) {
          note("-- reopened");
          open(connection);
        }
        return;
      case 2:
        if (both(connection, "ALTER TABLE kv RENAME TO other")) {
          both(connection, "ALTER TABLE other RENAME TO kv");
        }
        return;
      default:
        both(connection, "PRAGMA writable_schema = RESET");
    }
  }

  void transact(Connection& connection) {
    switch (random(8)) {
      case 0:
      case 1:
        if (!connection.open) {
          const bool deferred = one_in(3);
          if (both(connection, deferred ? "BEGIN" : "BEGIN IMMEDIATE")) {
            connection.reads = deferred && connections_.size() > 1;
          }
        }
        return;
      case 2:
        if (connection.open) {
          both(connection, one_in(4) ? "ROLLBACK" : "COMMIT");
        }
        return;
      case 3:
      case 4: {
        const std::string name = "s" + std::to_string(connection.savepoints + 1);
        if (!connection.open && connections_.size() > 1 && !both(connection, "BEGIN IMMEDIATE")) {
          return;
        }
        if (both(connection, "SAVEPOINT " + name)) {
          ++connection.savepoints;
        }
        return;
      }
      default:
        if (connection.savepoints > 0) {
          const uint64_t to = 1 + random(connection.savepoints);
          const bool release = one_in(3);
          if (both(connection, (release ? "RELEASE s" : "ROLLBACK TO s") + std::to_string(to))) {
            connection.savepoints = !release ? to : connection.open ? to - 1 : 0;
          }
        }
    }
  }

  // ---- what they show

  void ask_both(Connection& connection, const std::string& sql) { ask_both(connection, sql, sql); }
  void ask_both(Connection& connection, const std::string& sql, const std::string& plain_sql) {
    note("/* " + std::to_string(&connection - connections_.data()) + " */ " + sql);
    const std::vector<std::string> flash = answer(*connection.flash, sql);
    const std::vector<std::string> plain = answer(*connection.plain, plain_sql);
    const auto at = std::mismatch(flash.begin(), flash.end(), plain.begin(), plain.end());
    require(flash == plain, sql + "\nflash_kv has " + std::to_string(flash.size()) +
                                " rows, among them\n" + (at.first == flash.end() ? "" : *at.first) +
                                "\nordinary: " + std::to_string(plain.size()) + "\n" +
                                (at.second == plain.end() ? "" : *at.second) + "\n" +
                                sqlite3_errmsg(connection.flash->handle()));
  }
  void compare(Connection& connection) {
    switch (random(6)) {
      case 0:
        return ask_both(connection, "SELECT count(*) FROM kv");
      case 3:
        return damaged_ ? void()
                        : ask_both(connection, "SELECT cuckoo_check('kv')",
                                   "SELECT 'ok' FROM (SELECT count(*) FROM kv)");
      case 1:
        return ask_both(connection,
                        "SELECT typeof(key), quote(key), quote(value) FROM kv"
                        " WHERE key = " +
                            key());
      case 2:
        return ask_both(connection, "SELECT quote(key), quote(value) FROM kv WHERE key IN (" +
                                        key() + ", " + key() + ", " + key() + ") ORDER BY 1");
      default:
        ask_both(connection,
                 "SELECT typeof(key), quote(key), typeof(value), quote(value) FROM kv"
                 " ORDER BY key");
        ask_both(connection, "SELECT count(*), count(DISTINCT key), max(value) FROM kv");
    }
  }

  void finish() {
    if (damaged_) {
      command(connections_[0]);
    }
    for (Connection& connection : connections_) {
      ask_both(connection, kAll);
    }
    const std::vector<Row> before = shadow_rows(*connections_[0].flash, "kv");
    QuickDatabase other(folder_.file("flash.db"));
    QuickDatabase plain(folder_.file("plain"));
    require(other.rows(kAll) == plain.rows(kAll), "another connection sees something else");
    other.run("INSERT INTO kv(kv) VALUES ('check')");
    require(other.text("PRAGMA integrity_check") == "ok", "integrity_check");
    require(shadow_rows(other, "kv") == before, "a new connection changed bytes");
    int64_t last = -1;
    for (const Row& row : other.rows("SELECT seq FROM kv")) {
      require(std::stoll(row[0]) > last, "a scan is not in the order of seq");
      last = std::stoll(row[0]);
    }
  }

  TemporaryFolder folder_;
  bool wal_ = false;
  uint64_t page_size_ = 4096;
  int cache_pages_ = 0;
  uint64_t keys_ = 0;
  bool large_values_ = false;
  bool damaged_ = false;  // a page
  std::string columns_;
  std::vector<Connection> connections_;
};

TEST(FlashModel, random_scripts_agree_with_an_ordinary_table) { run_scripts<FlashScript>(200); }

}  // namespace
}  // namespace flash_model_test
}  // namespace cuckoo::test
