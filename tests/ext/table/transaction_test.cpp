// Transactions: the contents are always what an ordinary table's would be. The test keeps an
// ordinary table beside the filter and compares after each step.
#include "tests/support/database.hpp"

namespace cuckoo::test {
namespace {

constexpr int kKeys = 40;

// A filter `f` (whatever it is called meanwhile) and a table `t` that holds the same keys.
class Transaction : public testing::Test {
 protected:
  Transaction() : db(folder.file("t.db")) {
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(key, fingerprint_bits = 28, seed = 1)");
    db.run("CREATE TABLE t(k)");
  }
  // Adds each key to both.
  void add(const std::string& keys, const std::string& filter = "f") {
    db.run("INSERT INTO " + filter + " SELECT value FROM json_each('[" + keys + "]')");
    db.run("INSERT INTO t SELECT value FROM json_each('[" + keys + "]')");
  }
  void add_one(int key, const std::string& filter = "f") {  // no statement savepoint
    db.run("INSERT INTO " + filter + " VALUES (" + std::to_string(key) + ")");
    db.run("INSERT INTO t VALUES (" + std::to_string(key) + ")");
  }
  void add_range(int first, int last) {
    const std::string keys = "WITH n(i) AS (SELECT " + std::to_string(first) +
                             " UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(last) +
                             ") SELECT i FROM n";
    db.run("INSERT INTO f " + keys);
    db.run("INSERT INTO t " + keys);
  }
  void remove(int key, const std::string& filter = "f") {
    const std::string text = std::to_string(key);
    db.run("DELETE FROM " + filter + " WHERE key = " + text);
    db.run("DELETE FROM t WHERE rowid = (SELECT min(rowid) FROM t WHERE k = " + text + ")");
  }
  static void expect_same(Database& one, const std::string& filter, const char* where) {
    EXPECT_EQ(one.number("SELECT count(*) FROM " + filter), one.number("SELECT count(*) FROM t"))
        << where;
    EXPECT_EQ(one.rows("SELECT k, count(*) FROM t GROUP BY k ORDER BY k"),
              one.rows("SELECT k, count FROM (SELECT DISTINCT k FROM t) JOIN " + filter +
                       " ON key = k ORDER BY k"))
        << where;
    EXPECT_EQ(one.number("WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                         std::to_string(kKeys) + ") SELECT count(*) FROM n JOIN " + filter +
                         " ON key = i WHERE i NOT IN (SELECT k FROM t)"),
              0)
        << where;
  }
  void same(const char* where, const std::string& filter = "f") { expect_same(db, filter, where); }
  // Also for a connection that reads it all from the file.
  void same_for_all(const char* where, const std::string& filter = "f") {
    same(where, filter);
    db.run("INSERT INTO " + filter + "(" + filter + ") VALUES ('check')");
    QuickDatabase other(folder.file("t.db"));
    expect_same(other, filter, where);
    other.run("INSERT INTO " + filter + "(" + filter + ") VALUES ('check')");
  }

  TemporaryFolder folder;
  QuickDatabase db;
};

TEST_F(Transaction, committed_and_rolled_back) {
  add("1, 2, 3");
  same_for_all("autocommit");
  db.run("BEGIN");
  add_one(4);
  add("5, 6, 1");
  remove(2);
  same("inside");
  db.run("COMMIT");
  same_for_all("committed");
  db.run("BEGIN");
  add_one(7);
  add("8, 9");
  remove(1);
  same("inside");
  db.run("ROLLBACK");
  same_for_all("rolled back");
  db.run("BEGIN");
  add_one(10);
  db.run("COMMIT");
  same_for_all("after it");
}

TEST_F(Transaction, with_nested_savepoints) {
  add("1, 2");
  db.run("BEGIN");
  add_one(3);
  db.run("SAVEPOINT a");
  add_one(4);
  db.run("SAVEPOINT b");
  add_one(5);
  remove(1);
  same("b");
  db.run("ROLLBACK TO b");
  same("rolled back to b");
  add_one(6);
  db.run("RELEASE b");
  same("released b");
  db.run("SAVEPOINT c; SAVEPOINT d");
  remove(6);
  add_one(7);
  db.run("ROLLBACK TO c");
  same("rolled back to c");
  db.run("ROLLBACK TO a");
  same("rolled back to a");
  add_one(8);
  db.run("ROLLBACK TO a; RELEASE a");
  add_one(9);
  db.run("COMMIT");
  same_for_all("committed");
}

TEST_F(Transaction, as_a_savepoint_without_begin) {
  db.run("SAVEPOINT s");
  add_one(1);
  db.run("SAVEPOINT s");
  add_one(2);
  db.run("ROLLBACK TO s; RELEASE s");
  same("inner rolled back");
  add_one(3);
  db.run("RELEASE s");
  same_for_all("committed by RELEASE");
  db.run("SAVEPOINT s");
  add_one(4);
  db.run("ROLLBACK TO s; RELEASE s");
  same_for_all("nothing");
}

// A fold and a growth in the middle, then undone.
TEST_F(Transaction, with_folds_and_growth_is_undone_by_savepoints) {
  add_range(1, 700);
  same_for_all("before");
  db.run("BEGIN");
  add_range(701, 1500);
  db.run("SAVEPOINT a");
  add_range(1501, 6000);
  remove(3);
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  same("grown");
  db.run("ROLLBACK TO a");
  same("growth undone");
  add_range(1501, 3000);
  db.run("RELEASE a");
  same("grown again");
  db.run("SAVEPOINT b; INSERT INTO f(f) VALUES ('clear')");
  EXPECT_EQ(db.number("SELECT count(*) FROM f"), 0);
  db.run("ROLLBACK TO b");
  same("clear undone");
  db.run("ROLLBACK");
  same_for_all("all undone");
  add_range(701, 6000);
  same_for_all("done at last");
}

TEST_F(Transaction, whose_statement_fails_in_its_middle) {
  for (const bool in_begin : {false, true}) {
    db.run("DELETE FROM t; INSERT INTO f(f) VALUES ('clear')");
    add("1, 2");
    if (in_begin) {
      db.run("BEGIN");
      add_one(3);
    }
    EXPECT_NE(db.attempt("INSERT INTO f VALUES (4), (5), (NULL), (6)").code, SQLITE_OK);
    same("NULL in the middle");
    EXPECT_NE(db.attempt("INSERT INTO f SELECT value FROM json_each('[7, 8, null]')").code,
              SQLITE_OK);
    same("NULL at the end");
    EXPECT_NE(db.attempt("INSERT INTO f WITH n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n)"
                         " SELECT CASE WHEN i < 5000 THEN i END FROM n")
                  .code,
              SQLITE_OK);
    same("after folds");
    EXPECT_NE(db.attempt("INSERT INTO f(f, key) VALUES ('delete', 1), ('nonsense', 2)").code,
              SQLITE_OK);
    same("a command in the middle");
    EXPECT_NE(db.attempt("UPDATE f SET key = nullif(key, 2) || 'x' WHERE key IN (1, 2)").code,
              SQLITE_OK);
    same("an UPDATE in the middle");
    EXPECT_NE(db.attempt("INSERT INTO f(f, key) SELECT CASE value WHEN 3 THEN 'clear' END, value"
                         " FROM json_each('[9, 10, 3]')")
                  .code,
              SQLITE_OK);
    same("rows, then a failing command");
    add_one(11);
    if (in_begin) {
      db.run("COMMIT");
    }
    same_for_all("the end");
  }
}

// A single row inside BEGIN has no statement savepoint.
TEST_F(Transaction, whose_single_row_fails_goes_on) {
  db.run("BEGIN");
  add_one(1);
  EXPECT_NE(db.attempt("INSERT INTO f VALUES (NULL)").code, SQLITE_OK);
  EXPECT_NE(db.attempt("INSERT INTO f(f) VALUES ('nonsense')").code, SQLITE_OK);
  EXPECT_NE(db.attempt("INSERT INTO f(key, count) VALUES (1, 0)").code, SQLITE_OK);
  EXPECT_NE(db.attempt("SELECT * FROM f").code, SQLITE_OK);
  EXPECT_NE(db.attempt("DELETE FROM f").code, SQLITE_OK);
  add_one(2);
  same("inside");
  db.run("COMMIT");
  same_for_all("committed");
}

// --- a COMMIT that fails -----------------------------------------------------------------------

TEST_F(Transaction, whose_commit_is_busy_can_be_retried) {
  add("1, 2");
  Database reader(folder.file("t.db"));
  for (const int keys : {1, 600, 3000}) {  // a log row, a fold, a growth
    Query read(reader, "SELECT k FROM t");
    ASSERT_EQ(read.step(), SQLITE_ROW);
    db.run("BEGIN");
    add_range(100, 100 + keys);
    EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_BUSY);
    EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
    same("after BUSY");
    add_one(3);
    EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_BUSY);
    remove(1);
    add_one(4);
    read.reset();
    db.run("COMMIT");
    same_for_all("committed at last");
    add_one(1);
  }
}

TEST_F(Transaction, whose_commit_is_busy_can_be_rolled_back) {
  add("1, 2");
  Database reader(folder.file("t.db"));
  for (const int keys : {1, 600, 3000}) {
    Query read(reader, "SELECT k FROM t");
    ASSERT_EQ(read.step(), SQLITE_ROW);
    db.run("BEGIN");
    add_range(100, 100 + keys);
    EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_BUSY);
    add_one(5);
    db.run("ROLLBACK");
    read.reset();
    same_for_all("rolled back");
    add_one(6);
    same_for_all("goes on");
  }
}

TEST_F(Transaction, in_autocommit_that_is_busy_leaves_nothing) {
  add("1, 2");
  Database reader(folder.file("t.db"));
  Query read(reader, "SELECT k FROM t");
  ASSERT_EQ(read.step(), SQLITE_ROW);
  EXPECT_EQ(db.attempt("INSERT INTO f VALUES (3)").code & 0xFF, SQLITE_BUSY);
  same("BUSY");
  read.reset();
  add_one(3);
  same_for_all("free again");
}

TEST_F(Transaction, whose_commit_violates_a_deferred_key_can_be_mended) {
  db.run(
      "PRAGMA foreign_keys = ON; CREATE TABLE p(id INTEGER PRIMARY KEY);"
      "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
  db.run("BEGIN; INSERT INTO c VALUES (1)");
  add_one(1);
  EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_CONSTRAINT);
  add("2, 3");
  EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_CONSTRAINT);
  db.run("INSERT INTO p VALUES (1); COMMIT");
  same_for_all("mended");
  db.run("BEGIN; INSERT INTO c VALUES (2)");
  add_one(4);
  EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_CONSTRAINT);
  db.run("ROLLBACK");
  same_for_all("rolled back");
}

// --- two instances of one table in a transaction ------------------------------------------------

TEST_F(Transaction, with_other_ddl_keeps_pending_rows) {
  for (const char* ddl :
       {"CREATE TABLE other(x)", "ALTER TABLE other RENAME TO other2",
        "ALTER TABLE other2 ADD COLUMN y", "CREATE INDEX oi ON other2(x)",
        "CREATE VIRTUAL TABLE g USING cuckoo_filter", "PRAGMA writable_schema = RESET",
        "ALTER TABLE g RENAME TO h", "DROP TABLE h", "CREATE VIEW v AS SELECT 1",
        "DROP TABLE other2", "ANALYZE", "CREATE TEMP TABLE tt(x)", "REINDEX"}) {
    db.run("BEGIN");
    add_one(1);
    db.run(ddl);
    add_one(2);
    same(ddl);
    remove(1);
    db.run(std::string("SAVEPOINT s"));
    add_one(3);
    db.run("ROLLBACK TO s; RELEASE s");
    same(ddl);
    db.run("COMMIT");
    same_for_all(ddl);
    db.run("BEGIN");
    add_one(9);
    db.run("PRAGMA writable_schema = RESET");
    add_one(10);
    db.run("PRAGMA writable_schema = RESET");
    remove(9);
    same(ddl);
    db.run("ROLLBACK");
    same_for_all(ddl);
  }
}

TEST_F(Transaction, with_its_own_rename_keeps_pending_rows) {
  add("1, 2");
  db.run("BEGIN");
  add_one(3);
  db.run("ALTER TABLE f RENAME TO g");
  same("renamed", "g");
  add_one(4, "g");
  remove(1, "g");
  db.run("ALTER TABLE g RENAME TO \"h i\"");
  add_one(5, "\"h i\"");
  same("renamed twice", "\"h i\"");
  db.run("COMMIT; ALTER TABLE \"h i\" RENAME TO F");
  same_for_all("and back", "F");
  EXPECT_EQ(db.list("SELECT name FROM sqlite_schema WHERE name GLOB '[gh]*'"), "");
}

TEST_F(Transaction, with_its_own_rename_is_rolled_back) {
  add("1, 2");
  db.run("BEGIN");
  add_one(3);
  db.run("ALTER TABLE f RENAME TO g");
  add_one(4, "g");
  db.run("ROLLBACK");
  same_for_all("rolled back");
  db.run("BEGIN");
  add_one(5);
  db.run("ALTER TABLE f RENAME TO g");
  add_one(6, "g");
  db.run("ALTER TABLE g RENAME TO f");
  add_one(7);
  db.run("COMMIT");
  same_for_all("there and back");
}

TEST_F(Transaction, with_savepoint_and_rename_is_rolled_back_to_it) {
  add("1, 2");
  for (const bool again : {false, true}) {
    db.run("BEGIN");
    add_one(3);
    db.run("SAVEPOINT s");
    add_one(4);
    db.run("ALTER TABLE f RENAME TO g");
    add_one(5, "g");
    db.run("ROLLBACK TO s");
    same("rolled back to s");
    add_one(6);
    remove(3);
    if (again) {
      db.run("ALTER TABLE f RENAME TO g");
      add_one(7, "g");
      same("renamed again", "g");
      db.run("COMMIT; ALTER TABLE g RENAME TO f");
    } else {
      db.run("COMMIT");
    }
    same_for_all("committed");
  }
}

TEST_F(Transaction, with_rename_to_the_name_of_a_dropped_filter_keeps_both_apart) {
  add("1, 2");
  db.run("CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity = 50); INSERT INTO g VALUES (30)");
  db.run("BEGIN; INSERT INTO g VALUES (31)");
  add_one(3);
  db.run("DROP TABLE g; ALTER TABLE f RENAME TO g");
  add_one(4, "g");
  same("in its place", "g");
  db.run("ROLLBACK");
  same_for_all("rolled back");
  EXPECT_EQ(db.list("SELECT key FROM g WHERE key IN (1, 3, 4, 30, 31)"), "30");
  db.run("INSERT INTO g(g) VALUES ('check')");
}

TEST_F(Transaction, with_drop_is_rolled_back) {
  add("1, 2");
  db.run("BEGIN");
  add_one(3);
  db.run("DROP TABLE f");
  EXPECT_NE(db.attempt("SELECT 1 FROM f WHERE key = 1").code, SQLITE_OK);
  db.run("ROLLBACK");
  same_for_all("rolled back");
  db.run("BEGIN");
  add_one(3);
  db.run("SAVEPOINT s");
  add_one(4);
  db.run("DROP TABLE f; CREATE VIRTUAL TABLE f USING cuckoo_filter; INSERT INTO f VALUES (33)");
  db.run("ROLLBACK TO s");
  same("back again");
  add_one(5);
  db.run("COMMIT");
  same_for_all("committed");
}

TEST_F(Transaction, with_drop_and_create_is_the_new_table) {
  add("1, 2");
  db.run("BEGIN");
  add_one(3);
  db.run(
      "DROP TABLE f; DELETE FROM t;"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(fingerprint_bits = 30, capacity = 9)");
  add_one(4);
  same("new");
  db.run("SAVEPOINT s");
  add_one(5);
  db.run("ROLLBACK TO s");
  add_one(6);
  db.run("COMMIT");
  same_for_all("committed");
}

// Anything that DROP can't do must not lose what was pending.
TEST_F(Transaction, with_a_drop_that_fails_keeps_pending_rows) {
  add("1, 2");
  Query reading(db, "SELECT * FROM f_data");
  db.run("BEGIN");
  add_one(3);
  ASSERT_EQ(reading.step(), SQLITE_ROW);
  EXPECT_NE(db.attempt("DROP TABLE f").code, SQLITE_OK);
  reading.reset();
  same("DROP failed");
  add_one(4);
  db.run("COMMIT");
  same_for_all("committed");
}

TEST_F(Transaction, with_a_rename_that_fails_keeps_pending_rows) {
  add("1, 2");
  db.run("CREATE TABLE g_data(x)");
  db.run("BEGIN");
  add_one(3);
  EXPECT_NE(db.attempt("ALTER TABLE f RENAME TO g").code, SQLITE_OK);
  same("RENAME failed");
  add_one(4);
  EXPECT_NE(db.attempt("ALTER TABLE f RENAME TO t").code, SQLITE_OK);
  db.run("COMMIT");
  same_for_all("committed");
  EXPECT_EQ(db.list("SELECT name FROM sqlite_schema WHERE name GLOB 'g*'"), "g_data");
}

// --- nested statements -------------------------------------------------------------------------

TEST_F(Transaction, of_triggers_on_application_tables) {
  db.run(
      "CREATE TABLE app(id INTEGER PRIMARY KEY, v);"
      "CREATE TRIGGER ai AFTER INSERT ON app BEGIN INSERT INTO f VALUES (new.v);"
      " INSERT INTO t VALUES (new.v); END;"
      "CREATE TRIGGER ad AFTER DELETE ON app BEGIN DELETE FROM f WHERE key = old.v;"
      " DELETE FROM t WHERE rowid = (SELECT min(rowid) FROM t WHERE k = old.v); END;"
      "CREATE TRIGGER au AFTER UPDATE ON app BEGIN UPDATE f SET key = new.v WHERE key = old.v;"
      " UPDATE t SET k = new.v WHERE rowid = (SELECT min(rowid) FROM t WHERE k = old.v); END");
  db.run("INSERT INTO app(v) VALUES (1), (2), (3)");
  same("inserted");
  db.run("UPDATE app SET v = v + 10; DELETE FROM app WHERE v = 12");
  same("changed");
  EXPECT_NE(db.attempt("INSERT INTO app(v) VALUES (4), (NULL), (5)").code, SQLITE_OK);
  same("failed in its middle");
  db.run("BEGIN; INSERT INTO app(v) VALUES (6)");
  EXPECT_NE(db.attempt("INSERT INTO app VALUES (20, 7), (20, 8)").code, SQLITE_OK);
  same("a duplicate id");
  EXPECT_NE(db.attempt("INSERT OR FAIL INTO app VALUES (21, 7), (21, 8)").code, SQLITE_OK);
  same("OR FAIL keeps what it did");
  db.run("INSERT OR IGNORE INTO app VALUES (22, 7), (22, 8); REPLACE INTO app VALUES (22, 9)");
  same("OR IGNORE");
  db.run("COMMIT");
  same_for_all("committed");
}

TEST_F(Transaction, of_raise_in_a_trigger) {
  db.run(
      "CREATE TABLE app(v);"
      "CREATE TRIGGER ai AFTER INSERT ON app BEGIN INSERT INTO f VALUES (new.v);"
      " SELECT CASE new.v WHEN 5 THEN RAISE(ABORT, 'five') WHEN 6 THEN RAISE(FAIL, 'six')"
      " WHEN 7 THEN RAISE(IGNORE) WHEN 8 THEN RAISE(ROLLBACK, 'eight') END;"
      " INSERT INTO t VALUES (new.v); END");
  db.run("BEGIN; INSERT INTO app VALUES (1)");
  EXPECT_NE(db.attempt("INSERT INTO app VALUES (2), (5), (3)").code, SQLITE_OK);
  same("ABORT");
  EXPECT_NE(db.attempt("INSERT INTO app VALUES (4), (8)").code, SQLITE_OK);
  same("ROLLBACK");
  EXPECT_NE(sqlite3_get_autocommit(db.handle()), 0);
  EXPECT_NE(db.attempt("INSERT INTO app VALUES (10), (6)").code, SQLITE_OK);
  db.run("INSERT INTO t VALUES (6); INSERT INTO app VALUES (7); INSERT INTO t VALUES (7)");
  same_for_all("FAIL and IGNORE keep what was done before");
}

TEST_F(Transaction, of_statements_that_read_while_they_write) {
  add("1, 2, 3, 4, 5, 6");
  // Each row's probe sees what the rows before it did.
  db.run("CREATE TABLE src(v); INSERT INTO src VALUES (1), (20), (20), (21), (2), (21)");
  db.run("INSERT INTO f SELECT v FROM src WHERE NOT filter_contains('f', v)");
  db.run("INSERT INTO t VALUES (20), (21)");
  same("INSERT … SELECT with a probe of itself");
  Query reader(db, "SELECT v FROM src JOIN f ON key = v");
  ASSERT_EQ(reader.step(), SQLITE_ROW);
  add_one(30);
  db.run("BEGIN");
  add_one(31);
  ASSERT_EQ(reader.step(), SQLITE_ROW);
  db.run("COMMIT");
  ASSERT_EQ(reader.step(), SQLITE_ROW);
  same("while a SELECT is open");
  db.run("BEGIN");
  add_one(32);
  db.run("ROLLBACK");
  reader.step();
  same("rolled back while a SELECT is open");
  reader.reset();
  same_for_all("the end");
}

TEST_F(Transaction, of_two_filters_and_schemas_is_one) {
  db.run("ATTACH '" + folder.file("other_file.db") + "' AS aux");
  db.run(
      "CREATE VIRTUAL TABLE aux.g USING cuckoo_filter(fingerprint_bits = 28);"
      "CREATE VIRTUAL TABLE temp.h USING cuckoo_filter(fingerprint_bits = 28)");
  db.run("BEGIN");
  add_one(1);
  db.run("INSERT INTO g VALUES (1); INSERT INTO h VALUES (1); SAVEPOINT s");
  add_one(2);
  db.run("INSERT INTO g VALUES (2); INSERT INTO h VALUES (2); ROLLBACK TO s; COMMIT");
  db.run("DELETE FROM t WHERE k = 2");
  same_for_all("f");
  expect_same(db, "g", "g");
  expect_same(db, "h", "h");
  db.run("BEGIN; INSERT INTO g VALUES (3); INSERT INTO h VALUES (3); ROLLBACK");
  expect_same(db, "g", "g");
  expect_same(db, "h", "h");
}

}  // namespace
}  // namespace cuckoo::test
