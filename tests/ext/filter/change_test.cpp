// INSERT, DELETE, UPDATE and the commands of a filter.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_change_test {
namespace {

class Change : public testing::Test {
 protected:
  Change() {
    db.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter(key, fingerprint_bits = 28, seed = 1)");
  }
  int64_t count(const std::string& key) {
    const int64_t found = db.number("SELECT count FROM seen WHERE key = " + key);
    return found < 0 ? 0 : found;
  }
  int64_t items() { return db.number("SELECT count(*) FROM seen"); }
  int64_t changes() { return db.number("SELECT changes()"); }
  void check() { db.run("INSERT INTO seen(seen) VALUES ('check')"); }
  Database db;
};

// --- DELETE ----------------------------------------------------------------------------------

// SQLite keeps the error text of a row that OR IGNORE skipped. It would show this text with the
// next failure.
TEST_F(Change, a_skipped_row_leaves_no_text_behind) {
  db.run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(k, v); INSERT INTO kv VALUES (1, 1);"
      "CREATE VIRTUAL TABLE ring USING hash_ring(); INSERT INTO ring(node) VALUES ('a')");
  for (const char* sql : {"INSERT OR IGNORE INTO seen SELECT nullif(i, 1) FROM n",
                          "INSERT OR IGNORE INTO kv SELECT nullif(i, 0), 1 FROM n",
                          "INSERT OR IGNORE INTO ring(node) SELECT CASE i WHEN 1 THEN 'a' ELSE 'b' "
                          "|| i END FROM n"}) {
    db.run(
        "DROP VIEW IF EXISTS n; CREATE VIEW n AS WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL"
        " SELECT i + 1 FROM c WHERE i < 100000) SELECT i FROM c");
    const Outcome outcome = stopped(db, sql, 500, 3);
    EXPECT_EQ(outcome.code, SQLITE_INTERRUPT) << sql;
    EXPECT_NE(outcome.message.find("interrupted"), std::string::npos) << sql << outcome.message;
  }
}

// --- commands --------------------------------------------------------------------------------

TEST_F(Change, clear_empties_and_keeps_the_options) {
  db.run("INSERT INTO seen {}SELECT i FROM n", with_numbers(5000));
  const std::string seed = db.text("SELECT value FROM seen_config WHERE key = 'seed'");
  db.run("INSERT INTO seen(seen) VALUES ('clear')");
  EXPECT_EQ(items(), 0);
  db.gives(with_numbers(5000) + "SELECT count(*) FROM n JOIN seen ON key = i", 0);
  db.gives("SELECT capacity, items, log_entries FROM filter_info('seen')", "1000|0|0");
  db.gives("SELECT value FROM seen_config WHERE key = 'seed'", seed);
  EXPECT_EQ(db.number("SELECT count(*) FROM seen_data"), 2) << "the root and where the log ends";
  db.run("INSERT INTO seen VALUES ('a'); INSERT INTO seen(seen) VALUES ('CLEAR')");
  db.run(
      "BEGIN; INSERT INTO seen VALUES ('b'); INSERT INTO seen(seen) VALUES ('clear');"
      "INSERT INTO seen VALUES ('c'); COMMIT");
  db.gives("SELECT key FROM seen WHERE key IN ('a', 'b', 'c')", "c");
  check();
}

// --- what the application is told --------------------------------------------------------------

TEST_F(Change, last_insert_rowid_is_the_applications) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (77, 'x')");
  const auto expect_kept = [this](const std::string& sql) {
    db.run(sql);
    EXPECT_EQ(sqlite3_last_insert_rowid(db.handle()), 77) << sql;
  };
  expect_kept("INSERT INTO seen VALUES ('a')");
  expect_kept("INSERT INTO seen " + with_numbers(5000) + "SELECT i FROM n");
  expect_kept(
      "BEGIN; INSERT INTO seen VALUES ('b'); SAVEPOINT s; INSERT INTO seen VALUES ('c');"
      "RELEASE s; COMMIT");
  expect_kept("BEGIN; INSERT INTO seen VALUES ('b'); ROLLBACK");
  expect_kept("DELETE FROM seen WHERE key = 'a'");
  expect_kept("UPDATE seen SET key = 'd' WHERE key = 'b'");
  expect_kept("INSERT INTO seen(seen) VALUES ('rebuild')");
  expect_kept("INSERT INTO seen(seen) VALUES ('check')");
  expect_kept("INSERT INTO seen(seen) VALUES ('clear')");
  expect_kept("CREATE VIRTUAL TABLE other USING cuckoo_filter; INSERT INTO other VALUES (1)");
  expect_kept("ALTER TABLE other RENAME TO another; DROP TABLE another");
  db.run(
      "CREATE TRIGGER add_it AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (new.v); END;"
      "INSERT INTO t VALUES (78, 'y')");
  EXPECT_EQ(sqlite3_last_insert_rowid(db.handle()), 78);
}

TEST_F(Change, changes_counts_the_rows_of_the_statement) {
  db.run("INSERT INTO seen {}SELECT i FROM n", with_numbers(10000));
  EXPECT_EQ(sqlite3_changes(db.handle()), 10000);
  db.run("DELETE FROM seen WHERE key IN (1, 2, 3, 'x')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 3);
  db.run("BEGIN; INSERT INTO seen VALUES ('a'), ('b')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 2);
  db.run("UPDATE seen SET key = 'c' WHERE key = 'a'");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.run("DELETE FROM seen WHERE key = 'nobody'");
  EXPECT_EQ(sqlite3_changes(db.handle()), 0);
  db.run("INSERT INTO seen VALUES ('e')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.run("COMMIT");
}

// --- full ------------------------------------------------------------------------------------

class Full : public testing::Test {
 protected:
  Full() {
    db.run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(growth = off, capacity = 10,"
        " fingerprint_bits = 28, seed = 1)");
    db.run("INSERT INTO f VALUES (1), (2), (3), (4), (5), (6), (7), (8), (8)");
  }
  std::string found() {
    return db.list("SELECT key FROM f WHERE key IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)");
  }
  Database db;
};

TEST_F(Full, lets_the_transaction_go_on) {
  db.run("BEGIN; CREATE TABLE t(x); INSERT INTO t VALUES (1); INSERT INTO f VALUES (9)");
  db.refuses("INSERT INTO f VALUES (10)", {"full: "});
  db.refuses("INSERT OR IGNORE INTO f VALUES (10), (11)", {"full: "});
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.run("DELETE FROM f WHERE key = 1; INSERT INTO f VALUES (10)");
  db.refuses("INSERT INTO f SELECT 11 UNION ALL SELECT 12", {"full: "});
  db.run("UPDATE f SET key = 11 WHERE key = 2; INSERT INTO t VALUES (2); COMMIT");
  EXPECT_EQ(found(), "3,4,5,6,7,8,9,10,11");
  db.gives("SELECT count(*) FROM t", 2);
  db.run("INSERT INTO f(f) VALUES ('check')");
}

// --- duplicates ------------------------------------------------------------------------------

}  // namespace
}  // namespace cuckoo::test::filter_change_test
