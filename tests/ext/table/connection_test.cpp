// Several connections on one file; attached, temporary and read-only databases; settings that
// forbid things; copies of a database.
#include <atomic>
#include <fstream>
#include <thread>

#include "tests/support/extension_path.hpp"
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_connection_test {
namespace {

// `f` and an ordinary table `t` of the same keys.
void make(Database& db, const std::string& options = "") {
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(key, fingerprint_bits = 28{}); CREATE TABLE t(k)",
      options);
}
void add(Database& db, int64_t first, int64_t last) {
  db.run("BEGIN; INSERT INTO f {}; INSERT INTO t {}; COMMIT", numbers(first, last),
         numbers(first, last));
}
void remove(Database& db, int64_t key) {
  const std::string text = std::to_string(key);
  db.run(
      "BEGIN; DELETE FROM f WHERE key = {};"
      " DELETE FROM t WHERE rowid = (SELECT min(rowid) FROM t WHERE k = {}); COMMIT",
      text, text);
}
void expect_same(Database& db, const std::string& where, const std::string& schema = "main") {
  const std::string f = schema + ".f";
  const std::string t = schema + ".t";
  EXPECT_EQ(db.number("SELECT count(*) FROM " + f), db.number("SELECT count(*) FROM " + t))
      << where;
  EXPECT_EQ(db.number("SELECT count(*) FROM {} JOIN {} ON key = k", t, f),
            db.number("SELECT count(*) FROM " + t))
      << where;
  EXPECT_EQ(db.number("SELECT count(*) FROM ({}) JOIN {} ON key = i", numbers(900'000, 900'999), f),
            0)
      << where;
}

class Connections : public testing::TestWithParam<const char*> {
 protected:
  Connections() : one(folder.file("c.db")), two(folder.file("c.db")), three(folder.file("c.db")) {
    one.run("PRAGMA journal_mode = {}", GetParam());
    make(one);
  }
  void all_same(const std::string& where) {
    expect_same(one, where + ", one");
    expect_same(two, where + ", two");
    expect_same(three, where + ", three");
  }
  TemporaryFolder folder;
  QuickDatabase one, two, three;
};
INSTANTIATE_TEST_SUITE_P(Journal, Connections, testing::Values("WAL", "DELETE"), kParameterName);

TEST_P(Connections, survive_a_table_dropped_and_made_again) {
  add(one, 1, 2000);
  all_same("first");
  Query probe(two, "SELECT count(*) FROM f WHERE key = 7");
  EXPECT_EQ(probe.once(), 1);
  one.run(
      "DROP TABLE f; DELETE FROM t; CREATE VIRTUAL TABLE f USING cuckoo_filter(key TEXT,"
      " capacity = 99, fpr = 1e-7, growth = off, seed = 4)");
  EXPECT_EQ(probe.once(), 0);
  two.gives("SELECT capacity FROM filter_info('f')", "99");
  two.run("INSERT INTO f VALUES (7)");
  EXPECT_EQ(probe.once(), 1);
  two.gives("SELECT typeof(key) FROM f WHERE key = 7", "text");
  one.run("DROP TABLE f; CREATE VIRTUAL TABLE f USING cuckoo_filter(key, seed = 4, capacity = 99)");
  EXPECT_EQ(probe.once(), 0);
  three.gives("SELECT count(*) FROM f", 0);
  one.run("DROP TABLE f");
  probe.reset();
  EXPECT_EQ(probe.step(), SQLITE_ERROR);
  probe.reset();
  one.run("CREATE TABLE f(key); INSERT INTO f VALUES (7), (7)");
  EXPECT_EQ(probe.once(), 2);
  one.run("DROP TABLE f; DROP TABLE t");
  make(one);
  add(two, 1, 10);
  all_same("a filter again");
}

TEST_P(Connections, of_two_threads_write_and_probe) {
  add(one, 1, 100);
  for (Database* db : {&one, &two}) {
    sqlite3_busy_timeout(db->handle(), 20000);
  }
  std::atomic<bool> done = false;
  std::atomic<int> missing = 0;
  std::thread writer([&] {
    for (int i = 0; i < 60; ++i) {
      add(one, 1000 + i * 100, 1099 + i * 100);
      if (i % 20 == 19) {
        one.run("INSERT INTO f(f) VALUES ('rebuild')");
      }
    }
    done = true;
  });
  Query in_table(two, "SELECT count(*) FROM t WHERE NOT EXISTS (SELECT 1 FROM f WHERE key = k)");
  Query by_function(two, "SELECT filter_contains('f', 77)");
  while (!done) {
    missing += static_cast<int>(in_table.once());
    missing += by_function.once() == 1 ? 0 : 1;
  }
  writer.join();
  EXPECT_EQ(missing, 0);
  all_same("the end");
  check(two);
}

// --- schemas and settings ----------------------------------------------------------------------

TEST(Schema, attached_and_temporary_work) {
  TemporaryFolder folder;
  Database db(folder.file("main.db"));
  Database other(folder.file("other_file.db"));
  make(other);
  add(other, 1, 10);
  db.run("ATTACH '{}' AS aux", folder.file("other_file.db"));
  expect_same(db, "attached", "aux");
  add(other, 11, 3000);
  expect_same(db, "followed", "aux");
  db.run(
      "INSERT INTO aux.f(f) VALUES ('check'); INSERT INTO f VALUES (5000);"
      "INSERT INTO t VALUES (5000)");
  expect_same(other, "written through the attached one");
  db.run("DETACH aux; ATTACH '{}' AS \"o dd\"", folder.file("other_file.db"));
  expect_same(db, "attached again", "\"o dd\"");
  db.run(
      "CREATE VIRTUAL TABLE temp.f USING cuckoo_filter(key, fingerprint_bits = 28); CREATE TEMP "
      "TABLE t(k)");
  db.run("INSERT INTO temp.f {}; INSERT INTO temp.t {}", numbers(1, 3000), numbers(1, 3000));
  expect_same(db, "temp", "temp");
  db.run("ALTER TABLE temp.f RENAME TO ff; INSERT INTO ff(ff) VALUES ('check'); DROP TABLE ff");
  expect_same(db, "the attached one again", "\"o dd\"");
  db.gives("SELECT count(*) FROM temp.sqlite_schema", 1);
}

TEST(Schema, in_memory_of_two_connections_are_apart) {
  Database one;
  Database two;
  make(one);
  make(two);
  add(one, 1, 5);
  expect_same(one, "one");
  expect_same(two, "two");
}

TEST(ReadOnly, database_can_be_probed) {
  TemporaryFolder folder;
  const std::string file = folder.file("r.db");
  for (const char* journal : {"DELETE", "WAL"}) {
    {
      Database db(file);
      db.run("PRAGMA journal_mode = {}; DROP TABLE IF EXISTS f; DROP TABLE IF EXISTS t", journal);
      make(db);
      add(db, 1, 3000);
      add(db, 3001, 3010);
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    for (const std::string& uri : {"file:" + file + "?mode=ro", "file:" + file + "?immutable=1"}) {
      Database db(uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
      expect_same(db, uri);
      db.gives("SELECT filter_contains('f', 3005)", 1);
      db.gives("SELECT items FROM filter_info", 3010);
      db.refuses("INSERT INTO f VALUES (1)", SQLITE_READONLY);
      db.refuses("DELETE FROM f WHERE key = 1", SQLITE_READONLY);
      db.refuses("INSERT INTO f(f) VALUES ('clear')", SQLITE_READONLY);
      db.refuses("DROP TABLE f", SQLITE_READONLY);
      expect_same(db, uri);
    }
  }
}

TEST(Setting, defensive_protects_the_shadow_tables) {
  TemporaryFolder folder;
  Database db(folder.file("d.db"));
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  make(db);
  add(db, 1, 3000);
  db.run("CREATE TABLE g_data(mine); INSERT INTO g_data VALUES (1)");  // nobody's shadow table
  for (const char* sql :
       {"DELETE FROM f_data", "UPDATE f_data SET block = NULL", "INSERT INTO f_data VALUES (1, 1)",
        "UPDATE f_config SET value = 1", "DROP TABLE f_data", "ALTER TABLE f_data RENAME TO x",
        "CREATE TABLE f_data(x)"}) {
    EXPECT_NE(db.attempt(sql).code, SQLITE_OK) << sql;
  }
  expect_same(db, "defensive");
  db.run(
      "BEGIN; INSERT INTO f VALUES (9000); SAVEPOINT s; INSERT INTO f VALUES (9001);"
      "ROLLBACK TO s; ROLLBACK");
  db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO f(f, key) VALUES ('resize', 9000)");
  remove(db, 5);
  db.run("ALTER TABLE f RENAME TO ff; ALTER TABLE ff RENAME TO f; VACUUM");
  expect_same(db, "defensive still");
  check(db);
  Database other(folder.file("d.db"));
  sqlite3_db_config(other.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  add(other, 5000, 6000);
  expect_same(db, "the other's");
  db.gives("DROP TABLE f; SELECT name FROM sqlite_schema ORDER BY 1", "g_data,t");
}

TEST(Setting, untrusted_schema_may_use_the_filter) {
  Database db;
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  make(db);
  add(db, 1, 10);
  db.run(
      "CREATE VIEW v AS SELECT k FROM t JOIN f ON key = k;"
      "CREATE VIEW w AS SELECT items FROM filter_info('f');"
      "CREATE TABLE app(v);"
      "CREATE TRIGGER tr AFTER INSERT ON app WHEN filter_contains('f', new.v) = 0"
      " BEGIN INSERT INTO f VALUES (new.v); INSERT INTO t VALUES (new.v); END");
  db.gives("SELECT count(*) FROM v", 10);
  db.gives("SELECT * FROM w", 10);
  db.run("INSERT INTO app VALUES (5), (50), (50)");
  expect_same(db, "through a trigger");
  db.gives("SELECT count(*) FROM f", 11);
}

TEST(Setting, pages_of_every_size_hold_it) {
  TemporaryFolder folder;
  for (const int size : {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536}) {
    for (const int reserved : {0, 32}) {
      for (const char* vacuum : {"NONE", "FULL", "INCREMENTAL"}) {
        const std::string where =
            std::to_string(size) + "/" + std::to_string(reserved) + "/" + vacuum;
        const std::string file = folder.file("p.db");
        {
          QuickDatabase db(file);
          int bytes = reserved;
          sqlite3_file_control(db.handle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
          db.run("PRAGMA page_size = {}; PRAGMA auto_vacuum = {}", size, vacuum);
          make(db);
          add(db, 1, 2500);
          add(db, 3000, 3010);
          remove(db, 3);
          expect_same(db, where);
          db.gives("PRAGMA page_size", size);
        }
        {
          QuickDatabase db(file);
          expect_same(db, where + ", reopened");
          // No row spills over into an overflow page.
          const int64_t usable = size - reserved;
          EXPECT_LE(db.number("SELECT max(length(block)) FROM f_data"), usable - 39) << where;
          db.run("PRAGMA incremental_vacuum; PRAGMA page_size = 4096; VACUUM");
          expect_same(db, where + ", at 4096 now");
          add(db, 4000, 5000);
          expect_same(db, where + ", written");
          check(db);
          EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok") << where;
        }
        std::filesystem::remove(file);
      }
    }
  }
}

// --- dump and restore --------------------------------------------------------------------------

TEST(Dump, restores_with_the_shell) {
  if (std::system("sqlite3 -version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no sqlite3 shell";
  }
  TemporaryFolder folder;
  const std::string from = folder.file("from.db");
  const std::string to = folder.file("to.db");
  const std::string dump = folder.file("dump.sql");
  {
    Database db(from);
    make(db, ", capacity = 3000, seed = -9223372036854775808");
    db.run(
        "CREATE VIRTUAL TABLE rate USING cuckoo_filter(fpr = 0.0123456789012345678);"
        "CREATE VIRTUAL TABLE \"it's\" USING cuckoo_filter(growth = off, capacity = 50);"
        "INSERT INTO rate VALUES ('x'); INSERT INTO \"it's\" VALUES ('x')");
    add(db, 1, 5000);
    db.run("INSERT INTO f {}; INSERT INTO t {}", numbers(1, 20), numbers(1, 20));
    db.run(
        "INSERT INTO f SELECT 7 FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13]');"
        "INSERT INTO t SELECT 7 FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13]')");
    db.run("INSERT INTO f(f) VALUES ('rebuild')");
  }
  const std::string command =
      "sqlite3 '" + from + "' .dump > '" + dump + "' && sqlite3 '" + to + "' < '" + dump + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  Database db(to);
  expect_same(db, "restored");
  check(db);
  db.gives("SELECT filter_contains('rate', 'x') + filter_contains('it''s', 'x')", 2);
  db.run(
      "INSERT INTO rate(rate) VALUES ('check'); INSERT INTO \"it's\"(\"it's\") VALUES ('check')");
  add(db, 6000, 9000);
  expect_same(db, "written");
  Database original(from);
  expect_same(original, "the original");
}

// --- interruption --------------------------------------------------------------------------------

class Long : public testing::Test {
 protected:
  Long() : db(folder.file("l.db")) {
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(key, seed = 1)");
    db.run("INSERT INTO f " + numbers(1, kKeys));
  }
  void expect_all(const std::string& where) {
    EXPECT_EQ(db.number("SELECT count(*) FROM f"), kKeys) << where;
    EXPECT_EQ(db.number("SELECT count(*) FROM ({}) JOIN f ON key = i", numbers(1, kKeys)), kKeys)
        << where;
  }
  static constexpr int64_t kKeys = 400'000;
  TemporaryFolder folder;
  QuickDatabase db;
};

TEST_F(Long, commands_obey_the_progress_handler) {
  for (const char* sql :
       {"INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f) VALUES ('check')",
        "INSERT INTO f(f, key) VALUES ('resize', 1000000)"}) {
    for (const int calls : {0, 2}) {
      const Outcome outcome = stopped(db, sql, 200, calls);
      EXPECT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << sql << ": " << outcome.message;
    }
    expect_all(sql);
  }
  check(db);
}

TEST_F(Long, inserts_obey_the_progress_handler) {
  for (const int calls : {0, 10, 1000, 30'000}) {
    const Outcome outcome = stopped(db, "INSERT INTO f " + numbers(500'000, 900'000), 50, calls);
    EXPECT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << outcome.message;
    db.gives("SELECT count(*) FROM f", kKeys);
  }
  expect_all("interrupted inserts");
  check(db);
}

TEST_F(Long, commands_obey_interrupt) {
  int interrupted = 0;
  for (const int wait_ms : {1, 5, 20, 40}) {
    std::atomic<bool> ended = false;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
      while (!ended) {  // one before the statement began would be forgotten
        sqlite3_interrupt(db.handle());
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
    const Outcome outcome = db.attempt("INSERT INTO f(f, key) VALUES ('resize', 2e6)");
    ended = true;
    other.join();
    const int code = outcome.code & 0xFF;
    EXPECT_TRUE(code == SQLITE_OK || code == SQLITE_INTERRUPT) << outcome.code << outcome.message;
    interrupted += outcome.code == SQLITE_OK ? 0 : 1;
    expect_all("interrupted");
  }
  EXPECT_GT(interrupted, 0);
  check(db);
}

TEST_F(Long, command_interrupted_in_a_transaction_undoes_all_of_it) {
  db.run("BEGIN; INSERT INTO f VALUES ('pending')");
  const Outcome outcome = stopped(db, "INSERT INTO f(f) VALUES ('rebuild')", 200, 1);
  EXPECT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << outcome.message;
  const bool open = sqlite3_get_autocommit(db.handle()) == 0;
  db.gives("SELECT count(*) FROM f WHERE key = 'pending'", open ? 1 : 0);
  if (open) {
    db.run("ROLLBACK");
  }
  expect_all("rolled back");
  check(db);
}

// --- closing -----------------------------------------------------------------------------------

// ~Database expects SQLITE_OK from sqlite3_close(): no statement of ours keeps a connection open.
TEST(Close, is_never_busy) {
  TemporaryFolder folder;
  const std::string file = folder.file("c.db");
  for (int round = 0; round < 6; ++round) {
    Database db(file);
    if (round == 0) {
      make(db);
      add(db, 1, 3000);
    }
    if (round >= 1) {
      db.number("SELECT filter_contains('f', 1)");
    }
    if (round >= 2) {
      db.rows("SELECT * FROM filter_info");
      db.run("ATTACH '{}' AS aux", folder.file("other_file.db"));
    }
    if (round >= 3) {
      db.attempt("SELECT * FROM f");
      db.attempt("SELECT filter_contains('nothing', 1)");
      db.attempt("INSERT INTO f VALUES (NULL)");
    }
    if (round >= 4) {
      db.run("BEGIN; INSERT INTO f VALUES (1)");  // still open
    }
    if (round >= 5) {
      db.run("DROP TABLE f");
    }
  }
  Database db(file);
  db.gives("SELECT count(*) FROM f", 3000);
  check(db);
}

TEST(Close, with_an_open_statement_is_a_zombie_that_ends) {
  TemporaryFolder folder;
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("z.db").c_str(), &raw), SQLITE_OK);
  sqlite3_db_config(raw, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
  ASSERT_EQ(sqlite3_load_extension(raw, extension_path(), nullptr, nullptr), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(raw, "CREATE VIRTUAL TABLE f USING cuckoo_filter; INSERT INTO f VALUES (1)",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_stmt* open[3] = {};
  sqlite3_prepare_v2(raw, "SELECT filter_contains('f', 1)", -1, &open[0], nullptr);
  sqlite3_prepare_v2(raw, "SELECT 1 FROM f WHERE key = 1", -1, &open[1], nullptr);
  sqlite3_prepare_v2(raw, "SELECT * FROM filter_info", -1, &open[2], nullptr);
  for (sqlite3_stmt* statement : open) {
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
  }
  EXPECT_EQ(sqlite3_close(raw), SQLITE_BUSY);
  EXPECT_EQ(sqlite3_close_v2(raw), SQLITE_OK);
  for (sqlite3_stmt* statement : open) {
    sqlite3_step(statement);
    sqlite3_finalize(statement);
  }
}

}  // namespace
}  // namespace cuckoo::test::table_connection_test
