// Transactions: the contents are always what an ordinary table's would be. The test keeps an
// ordinary table beside the filter and compares after each step.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_transaction_test {
namespace {

constexpr int kKeys = 40;

// A filter and a table `t` that holds the same keys.
class Transaction : public testing::Test {
 protected:
  Transaction() : db(folder.file("t.db")) {
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(key, fingerprint_bits = 28, seed = 1)");
    db.run("CREATE TABLE t(k)");
  }

  // Plays steps. "+1" adds a key to both in a statement without a savepoint of its own, "+1, 2"
  // several in one statement, "+1 to 9" a range; "-1" removes a key. "same" compares the two, "same
  // for all" also from a connection that reads it all from the file. "called g" tells what the
  // filter is called from then on. "fails: " comes before SQL that must fail; all else is SQL.
  void play(const std::vector<std::string>& steps) {
    for (size_t i = 0; i < steps.size(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i) + ": " + steps[i]);
      step(steps[i]);
    }
  }
  void step(const std::string& text) {
    const auto rest_after = [&](const char* word) {
      return text.starts_with(word) ? text.substr(std::string(word).size()) : "";
    };
    if (const std::string keys = rest_after("+"); !keys.empty()) {
      add(keys);
    } else if (const std::string key = rest_after("-"); !key.empty()) {
      db.run("DELETE FROM {} WHERE key = {}", filter, key);
      db.run("DELETE FROM t WHERE rowid = (SELECT min(rowid) FROM t WHERE k = {})", key);
    } else if (const std::string name = rest_after("called "); !name.empty()) {
      filter = name;
    } else if (const std::string refused = rest_after("fails: "); !refused.empty()) {
      EXPECT_NE(db.attempt(refused).code, SQLITE_OK);
    } else if (text == "same") {
      expect_same(db, filter);
    } else if (text == "same for all") {
      expect_same(db, filter);
      check(db, filter);
      QuickDatabase other(folder.file("t.db"));
      expect_same(other, filter);
      check(other, filter);
    } else {
      db.run(text);
    }
  }
  void add(const std::string& keys) {
    std::string rows = " VALUES (" + keys + ")";
    if (const size_t to = keys.find(" to "); to != std::string::npos) {
      rows = " " + numbers(std::stoi(keys), std::stoi(keys.substr(to + 4)));
    } else if (keys.find(',') != std::string::npos) {
      rows = " SELECT value FROM json_each('[" + keys + "]')";
    }
    db.run("INSERT INTO " + filter + rows);
    db.run("INSERT INTO t" + rows);
  }
  static void expect_same(Database& one, const std::string& filter) {
    one.gives("SELECT count(*) FROM " + filter, one.number("SELECT count(*) FROM t"));
    EXPECT_EQ(
        one.rows("SELECT k, count(*) FROM t GROUP BY k ORDER BY k"),
        one.rows("SELECT k, count FROM (SELECT DISTINCT k FROM t) JOIN {} ON key = k ORDER BY k",
                 filter));
    one.gives(sql("SELECT count(*) FROM ({}) JOIN {} ON key = i WHERE i NOT IN (SELECT k FROM t)",
                  numbers(0, kKeys), filter),
              0);
  }

  TemporaryFolder folder;
  QuickDatabase db;
  std::string filter = "f";
};

TEST_F(Transaction, committed_and_rolled_back) {
  play({"+1, 2, 3", "same for all"});
  play({"BEGIN", "+4", "+5, 6, 1", "-2", "same", "COMMIT", "same for all"});
  play({"BEGIN", "+7", "+8, 9", "-1", "same", "ROLLBACK", "same for all"});
  play({"BEGIN", "+10", "COMMIT", "same for all"});
}

TEST_F(Transaction, with_nested_savepoints) {
  play({"+1, 2", "BEGIN", "+3", "SAVEPOINT a", "+4", "SAVEPOINT b", "+5", "-1", "same"});
  play({"ROLLBACK TO b", "same", "+6", "RELEASE b", "same"});
  play({"SAVEPOINT c; SAVEPOINT d", "-6", "+7", "ROLLBACK TO c", "same", "ROLLBACK TO a", "same"});
  play({"+8", "ROLLBACK TO a; RELEASE a", "+9", "COMMIT", "same for all"});
}

TEST_F(Transaction, as_a_savepoint_without_begin) {
  play({"SAVEPOINT s", "+1", "SAVEPOINT s", "+2", "ROLLBACK TO s; RELEASE s", "same"});
  play({"+3", "RELEASE s", "same for all"});
  play({"SAVEPOINT s", "+4", "ROLLBACK TO s; RELEASE s", "same for all"});
}

// The filter folds and grows inside savepoints that are then undone.
TEST_F(Transaction, with_folds_and_growth_is_undone_by_savepoints) {
  play({"+1 to 700", "same for all", "BEGIN", "+701 to 1500", "SAVEPOINT a", "+1501 to 6000", "-3",
        "INSERT INTO f(f) VALUES ('rebuild')", "same"});
  play({"ROLLBACK TO a", "same", "+1501 to 3000", "RELEASE a", "same"});
  db.gives("SAVEPOINT b; INSERT INTO f(f) VALUES ('clear'); SELECT count(*) FROM f", 0);
  play({"ROLLBACK TO b", "same", "ROLLBACK", "same for all", "+701 to 6000", "same for all"});
}

TEST_F(Transaction, whose_statement_fails_in_its_middle) {
  for (const bool in_begin : {false, true}) {
    play({"DELETE FROM t; INSERT INTO f(f) VALUES ('clear')", "+1, 2"});
    if (in_begin) {
      play({"BEGIN", "+3"});
    }
    for (const char* statement :
         {"INSERT INTO f VALUES (4), (5), (NULL), (6)",
          "INSERT INTO f SELECT value FROM json_each('[7, 8, null]')",
          "INSERT INTO f WITH n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n)"  // after folds
          " SELECT CASE WHEN i < 5000 THEN i END FROM n",
          "INSERT INTO f(f, key) VALUES ('delete', 1), ('nonsense', 2)",
          "UPDATE f SET key = nullif(key, 2) || 'x' WHERE key IN (1, 2)",
          "INSERT INTO f(f, key) SELECT CASE value WHEN 3 THEN 'clear' END, value"
          " FROM json_each('[9, 10, 3]')"}) {
      play({std::string("fails: ") + statement, "same"});
    }
    play({"+11", in_begin ? "COMMIT" : "SELECT 1", "same for all"});
  }
}

// A single row inside BEGIN has no statement savepoint.
TEST_F(Transaction, whose_single_row_fails_goes_on) {
  play({"BEGIN", "+1", "fails: INSERT INTO f VALUES (NULL)",
        "fails: INSERT INTO f(f) VALUES ('nonsense')",
        "fails: INSERT INTO f(key, count) VALUES (1, 0)", "fails: SELECT * FROM f",
        "fails: DELETE FROM f", "+2", "same", "COMMIT", "same for all"});
}

// --- a COMMIT that fails -----------------------------------------------------------------------

TEST_F(Transaction, whose_commit_is_busy_can_be_retried) {
  play({"+1, 2"});
  Database reader(folder.file("t.db"));
  for (const char* keys : {"+100 to 101", "+100 to 700", "+100 to 3100"}) {  // row, fold, growth
    Query read(reader, "SELECT k FROM t");
    ASSERT_EQ(read.step(), SQLITE_ROW);
    play({"BEGIN", keys});
    db.refuses("COMMIT", SQLITE_BUSY);
    EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
    play({"same", "+3"});
    db.refuses("COMMIT", SQLITE_BUSY);
    play({"-1", "+4"});
    read.reset();
    play({"COMMIT", "same for all", "+1"});
  }
}

TEST_F(Transaction, whose_commit_is_busy_can_be_rolled_back) {
  play({"+1, 2"});
  Database reader(folder.file("t.db"));
  for (const char* keys : {"+100 to 101", "+100 to 700", "+100 to 3100"}) {
    Query read(reader, "SELECT k FROM t");
    ASSERT_EQ(read.step(), SQLITE_ROW);
    play({"BEGIN", keys});
    db.refuses("COMMIT", SQLITE_BUSY);
    play({"+5", "ROLLBACK"});
    read.reset();
    play({"same for all", "+6", "same for all"});
  }
}

TEST_F(Transaction, in_autocommit_that_is_busy_leaves_nothing) {
  play({"+1, 2"});
  Database reader(folder.file("t.db"));
  Query read(reader, "SELECT k FROM t");
  ASSERT_EQ(read.step(), SQLITE_ROW);
  db.refuses("INSERT INTO f VALUES (3)", SQLITE_BUSY);
  play({"same"});
  read.reset();
  play({"+3", "same for all"});
}

TEST_F(Transaction, whose_commit_violates_a_deferred_key_can_be_mended) {
  db.run(
      "PRAGMA foreign_keys = ON; CREATE TABLE p(id INTEGER PRIMARY KEY);"
      "CREATE TABLE c(p REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
  play({"BEGIN; INSERT INTO c VALUES (1)", "+1"});
  db.refuses("COMMIT", SQLITE_CONSTRAINT);
  play({"+2, 3"});
  db.refuses("COMMIT", SQLITE_CONSTRAINT);
  play({"INSERT INTO p VALUES (1); COMMIT", "same for all"});
  play({"BEGIN; INSERT INTO c VALUES (2)", "+4"});
  db.refuses("COMMIT", SQLITE_CONSTRAINT);
  play({"ROLLBACK", "same for all"});
}

// --- two instances of one table in a transaction ------------------------------------------------

TEST_F(Transaction, with_other_ddl_keeps_pending_rows) {
  for (const char* ddl :
       {"CREATE TABLE other(x)", "ALTER TABLE other RENAME TO other2",
        "ALTER TABLE other2 ADD COLUMN y", "CREATE INDEX oi ON other2(x)",
        "CREATE VIRTUAL TABLE g USING cuckoo_filter", "PRAGMA writable_schema = RESET",
        "ALTER TABLE g RENAME TO h", "DROP TABLE h", "CREATE VIEW v AS SELECT 1",
        "DROP TABLE other2", "ANALYZE", "CREATE TEMP TABLE tt(x)", "REINDEX"}) {
    play({"BEGIN", "+1", ddl, "+2", "same", "-1", "SAVEPOINT s", "+3", "ROLLBACK TO s; RELEASE s",
          "same", "COMMIT", "same for all"});
    play({"BEGIN", "+9", "PRAGMA writable_schema = RESET", "+10", "PRAGMA writable_schema = RESET",
          "-9", "same", "ROLLBACK", "same for all"});
  }
}

TEST_F(Transaction, with_its_own_rename_keeps_pending_rows) {
  play({"+1, 2", "BEGIN", "+3", "ALTER TABLE f RENAME TO g", "called g", "same", "+4", "-1",
        "ALTER TABLE g RENAME TO \"h i\"", "called \"h i\"", "+5", "same",
        "COMMIT; ALTER TABLE \"h i\" RENAME TO F", "called F", "same for all"});
  db.gives("SELECT name FROM sqlite_schema WHERE name GLOB '[gh]*'", "none");
}

TEST_F(Transaction, with_its_own_rename_is_rolled_back) {
  play({"+1, 2", "BEGIN", "+3", "ALTER TABLE f RENAME TO g", "called g", "+4", "ROLLBACK",
        "called f", "same for all"});
  play({"BEGIN", "+5", "ALTER TABLE f RENAME TO g", "called g", "+6", "ALTER TABLE g RENAME TO f",
        "called f", "+7", "COMMIT", "same for all"});
}

TEST_F(Transaction, with_savepoint_and_rename_is_rolled_back_to_it) {
  play({"+1, 2"});
  for (const bool again : {false, true}) {
    play({"BEGIN", "+3", "SAVEPOINT s", "+4", "ALTER TABLE f RENAME TO g", "called g", "+5",
          "ROLLBACK TO s", "called f", "same", "+6", "-3"});
    if (again) {
      play({"ALTER TABLE f RENAME TO g", "called g", "+7", "same",
            "COMMIT; ALTER TABLE g RENAME TO f", "called f", "same for all"});
    } else {
      play({"COMMIT", "same for all"});
    }
  }
}

TEST_F(Transaction, with_rename_to_the_name_of_a_dropped_filter_keeps_both_apart) {
  play({"+1, 2", "CREATE VIRTUAL TABLE g USING cuckoo_filter(capacity = 50)",
        "INSERT INTO g VALUES (30); BEGIN; INSERT INTO g VALUES (31)", "+3",
        "DROP TABLE g; ALTER TABLE f RENAME TO g", "called g", "+4", "same", "ROLLBACK", "called f",
        "same for all"});
  db.gives("SELECT key FROM g WHERE key IN (1, 3, 4, 30, 31)", "30");
  check(db, "g");
}

TEST_F(Transaction, with_drop_is_rolled_back) {
  play({"+1, 2", "BEGIN", "+3", "DROP TABLE f", "fails: SELECT 1 FROM f WHERE key = 1", "ROLLBACK",
        "same for all"});
  play({"BEGIN", "+3", "SAVEPOINT s", "+4",
        "DROP TABLE f; CREATE VIRTUAL TABLE f USING cuckoo_filter; INSERT INTO f VALUES (33)",
        "ROLLBACK TO s", "same", "+5", "COMMIT", "same for all"});
}

TEST_F(Transaction, with_drop_and_create_is_the_new_table) {
  play({"+1, 2", "BEGIN", "+3", "DROP TABLE f; DELETE FROM t",
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(fingerprint_bits = 30, capacity = 9)", "+4",
        "same", "SAVEPOINT s", "+5", "ROLLBACK TO s", "+6", "COMMIT", "same for all"});
}

// A DROP that fails must not lose what was pending.
TEST_F(Transaction, with_a_drop_that_fails_keeps_pending_rows) {
  play({"+1, 2"});
  Query reading(db, "SELECT * FROM f_data");
  play({"BEGIN", "+3"});
  ASSERT_EQ(reading.step(), SQLITE_ROW);
  play({"fails: DROP TABLE f"});
  reading.reset();
  play({"same", "+4", "COMMIT", "same for all"});
}

TEST_F(Transaction, with_a_rename_that_fails_keeps_pending_rows) {
  play({"+1, 2", "CREATE TABLE g_data(x); BEGIN", "+3", "fails: ALTER TABLE f RENAME TO g", "same",
        "+4", "fails: ALTER TABLE f RENAME TO t", "COMMIT", "same for all"});
  db.gives("SELECT name FROM sqlite_schema WHERE name GLOB 'g*'", "g_data");
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
  play({"INSERT INTO app(v) VALUES (1), (2), (3)", "same",
        "UPDATE app SET v = v + 10; DELETE FROM app WHERE v = 12", "same",
        "fails: INSERT INTO app(v) VALUES (4), (NULL), (5)", "same",
        "BEGIN; INSERT INTO app(v) VALUES (6)", "fails: INSERT INTO app VALUES (20, 7), (20, 8)",
        "same", "fails: INSERT OR FAIL INTO app VALUES (21, 7), (21, 8)", "same",
        "INSERT OR IGNORE INTO app VALUES (22, 7), (22, 8); REPLACE INTO app VALUES (22, 9)",
        "same", "COMMIT", "same for all"});
}

TEST_F(Transaction, of_raise_in_a_trigger) {
  db.run(
      "CREATE TABLE app(v);"
      "CREATE TRIGGER ai AFTER INSERT ON app BEGIN INSERT INTO f VALUES (new.v);"
      " SELECT CASE new.v WHEN 5 THEN RAISE(ABORT, 'five') WHEN 6 THEN RAISE(FAIL, 'six')"
      " WHEN 7 THEN RAISE(IGNORE) WHEN 8 THEN RAISE(ROLLBACK, 'eight') END;"
      " INSERT INTO t VALUES (new.v); END");
  play({"BEGIN; INSERT INTO app VALUES (1)", "fails: INSERT INTO app VALUES (2), (5), (3)", "same",
        "fails: INSERT INTO app VALUES (4), (8)", "same"});
  EXPECT_NE(sqlite3_get_autocommit(db.handle()), 0);
  // FAIL and IGNORE keep what was done before.
  play({"fails: INSERT INTO app VALUES (10), (6)",
        "INSERT INTO t VALUES (6); INSERT INTO app VALUES (7); INSERT INTO t VALUES (7)",
        "same for all"});
}

TEST_F(Transaction, of_statements_that_read_while_they_write) {
  // Each row's probe sees what the rows before it did.
  play({"+1, 2, 3, 4, 5, 6",
        "CREATE TABLE src(v); INSERT INTO src VALUES (1), (20), (20), (21), (2), (21)",
        "INSERT INTO f SELECT v FROM src WHERE NOT filter_contains('f', v)",
        "INSERT INTO t VALUES (20), (21)", "same"});
  Query reader(db, "SELECT v FROM src JOIN f ON key = v");
  ASSERT_EQ(reader.step(), SQLITE_ROW);
  play({"+30", "BEGIN", "+31"});
  ASSERT_EQ(reader.step(), SQLITE_ROW);
  play({"COMMIT"});
  ASSERT_EQ(reader.step(), SQLITE_ROW);
  play({"same", "BEGIN", "+32", "ROLLBACK"});
  reader.step();
  play({"same"});
  reader.reset();
  play({"same for all"});
}

TEST_F(Transaction, of_two_filters_and_schemas_is_one) {
  db.run("ATTACH '{}' AS aux", folder.file("other_file.db"));
  db.run(
      "CREATE VIRTUAL TABLE aux.g USING cuckoo_filter(fingerprint_bits = 28);"
      "CREATE VIRTUAL TABLE temp.h USING cuckoo_filter(fingerprint_bits = 28)");
  play({"BEGIN", "+1", "INSERT INTO g VALUES (1); INSERT INTO h VALUES (1); SAVEPOINT s", "+2",
        "INSERT INTO g VALUES (2); INSERT INTO h VALUES (2); ROLLBACK TO s; COMMIT",
        "DELETE FROM t WHERE k = 2", "same for all"});
  expect_same(db, "g");
  expect_same(db, "h");
  db.run("BEGIN; INSERT INTO g VALUES (3); INSERT INTO h VALUES (3); ROLLBACK");
  expect_same(db, "g");
  expect_same(db, "h");
}

}  // namespace
}  // namespace cuckoo::test::table_transaction_test
