// INSERT, DELETE, UPDATE and the commands of a filter.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_change_test {
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

// --- INSERT ----------------------------------------------------------------------------------

TEST_F(Change, insert_always_adds) {
  for (const char* verb : {"INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "REPLACE",
                           "INSERT OR FAIL", "INSERT OR ABORT", "INSERT OR ROLLBACK"}) {
    const int64_t before = count("'a'");
    db.run(std::string(verb) + " INTO seen VALUES ('a')");
    EXPECT_EQ(changes(), 1) << verb;
    EXPECT_EQ(count("'a'"), before + 1) << verb;
  }
  EXPECT_EQ(items(), 7);
  check();
}

TEST_F(Change, insert_in_a_trigger_adds_whatever_the_outer_conflict_clause) {
  db.run(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, v);"
      "CREATE TRIGGER add_it AFTER INSERT ON t BEGIN INSERT INTO seen VALUES (new.v); END");
  db.run("INSERT OR IGNORE INTO t VALUES (1, 'a'); INSERT OR IGNORE INTO t VALUES (2, 'a')");
  db.run("INSERT OR REPLACE INTO t VALUES (3, 'a'); REPLACE INTO t VALUES (3, 'b')");
  EXPECT_EQ(count("'a'"), 3);
  EXPECT_EQ(count("'b'"), 1);
  db.run("INSERT OR IGNORE INTO t VALUES (1, 'c')");  // skipped there, so here
  EXPECT_EQ(count("'c'"), 0);
  check();
}

TEST_F(Change, insert_of_many_rows_and_from_select_adds_all) {
  db.run("INSERT INTO seen VALUES ('a'), ('b'), ('a')");
  EXPECT_EQ(changes(), 3);
  db.run("INSERT INTO seen(key) {}SELECT i FROM n", with_numbers(5000));
  EXPECT_EQ(changes(), 5000);
  EXPECT_EQ(items(), 5003);
  db.gives(with_numbers(5000) + "SELECT count(*) FROM n JOIN seen ON key = i", 5000);
  db.run("INSERT INTO seen SELECT key FROM seen WHERE key IN ('a', 'b')");
  EXPECT_EQ(count("'a'"), 3);
  EXPECT_EQ(count("'b'"), 2);
  check();
}

TEST_F(Change, insert_returning_echoes) {
  db.gives("INSERT INTO seen VALUES ('a'), ('b') RETURNING key", "a,b");
  db.gives("INSERT INTO seen VALUES ('a') RETURNING quote(count)", "NULL");
  db.gives("INSERT INTO seen VALUES ('a') RETURNING key || '!'", "a!");
  EXPECT_EQ(items(), 4);
}

TEST_F(Change, insert_of_other_columns_than_the_key) {
  db.refuses("INSERT INTO seen(count) VALUES (0)", {"seen", "count"});
  db.run("INSERT INTO seen(key, count, seen) VALUES ('a', NULL, NULL)");
  EXPECT_EQ(items(), 1);
  EXPECT_NE(db.attempt("INSERT INTO seen(rowid, key) VALUES (1, 'a')").code, SQLITE_OK);
  EXPECT_NE(db.attempt("INSERT INTO seen VALUES ('a') ON CONFLICT DO NOTHING").code, SQLITE_OK);
  EXPECT_EQ(items(), 1);
}

// --- DELETE ----------------------------------------------------------------------------------

TEST_F(Change, delete_removes_one_occurrence) {
  db.run("INSERT INTO seen VALUES ('a'), ('a'), ('b'); DELETE FROM seen WHERE key = 'a'");
  EXPECT_EQ(changes(), 1);
  EXPECT_EQ(count("'a'"), 1);
  db.run("DELETE FROM seen WHERE key = 'a'");
  EXPECT_EQ(count("'a'"), 0);
  db.run("DELETE FROM seen WHERE key = 'a'");
  EXPECT_EQ(changes(), 0);
  db.gives("SELECT key FROM seen WHERE key IN ('a', 'b')", "b");
  EXPECT_EQ(items(), 1);
  check();
}

TEST_F(Change, delete_in_removes_one_per_distinct_key) {
  db.run("INSERT INTO seen VALUES (1), (1), (2), (3), ('x')");
  db.run("DELETE FROM seen WHERE key IN (1, 1, 2.0, 2, 9)");
  EXPECT_EQ(changes(), 2);
  EXPECT_EQ(count("1"), 1);
  EXPECT_EQ(count("2"), 0);
  db.run("CREATE TABLE t(v); INSERT INTO t VALUES (1), (3), (3), ('y')");
  db.run("DELETE FROM seen WHERE key IN (SELECT v FROM t)");
  EXPECT_EQ(changes(), 2);
  EXPECT_EQ(items(), 1);
  db.run(
      "INSERT INTO seen VALUES (1), (3); DELETE FROM seen WHERE key = 1 OR key = 3 OR key = 'x'");
  EXPECT_EQ(changes(), 3);
  EXPECT_EQ(items(), 0);
  check();
}

TEST_F(Change, delete_command_removes_one_per_row) {
  db.run("INSERT INTO seen VALUES ('a'), ('a'), ('a'), ('b')");
  db.run("CREATE TABLE t(k); INSERT INTO t VALUES ('a'), ('a'), ('c'), (NULL)");
  db.run("INSERT INTO seen(seen, key) SELECT 'delete', k FROM t WHERE k IS NOT NULL");
  EXPECT_EQ(count("'a'"), 1);
  EXPECT_EQ(items(), 2);
  db.run("INSERT INTO seen(seen, key) VALUES ('DELETE', 'b')");
  EXPECT_EQ(items(), 1);
  check();
}

TEST_F(Change, delete_command_without_a_key_is_refused) {
  db.run("INSERT INTO seen VALUES ('a')");
  for (const char* sql : {"INSERT INTO seen(seen) VALUES ('delete')",
                          "INSERT INTO seen(seen, key) VALUES ('delete', 'a'), ('delete', NULL)"}) {
    db.refuses(sql, SQLITE_CONSTRAINT_NOTNULL, {"seen.key", "'delete' takes a key"});
    EXPECT_EQ(items(), 1);
  }
  db.run("INSERT OR IGNORE INTO seen(seen, key) VALUES ('delete', NULL), ('delete', 'a')");
  EXPECT_EQ(items(), 0);
  check();
}

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

TEST_F(Change, delete_with_returning_is_refused_by_sqlite) {
  db.run("INSERT INTO seen VALUES ('a')");
  EXPECT_NE(db.attempt("DELETE FROM seen WHERE key = 'a' RETURNING key").code, SQLITE_OK);
  EXPECT_EQ(items(), 1);
}

// --- UPDATE ----------------------------------------------------------------------------------

TEST_F(Change, update_of_the_key_moves_one_occurrence) {
  db.run("INSERT INTO seen VALUES ('a'), ('a'), ('b'); UPDATE seen SET key = 'c' WHERE key = 'a'");
  EXPECT_EQ(changes(), 1);
  EXPECT_EQ(count("'a'"), 1);
  EXPECT_EQ(count("'c'"), 1);
  db.run("UPDATE seen SET key = key || '!' WHERE key IN ('a', 'b')");
  db.gives("SELECT key FROM seen WHERE key IN ('a', 'b', 'c', 'a!', 'b!') ORDER BY 1", "a!,b!,c");
  db.run("UPDATE seen SET key = 'x' WHERE key = 'nothing'");
  EXPECT_EQ(changes(), 0);
  db.run("UPDATE seen SET key = key WHERE key = 'c'");
  EXPECT_EQ(count("'c'"), 1);
  db.run("UPDATE OR IGNORE seen SET key = 'a!' WHERE key = 'c'");
  EXPECT_EQ(count("'a!'"), 2);
  EXPECT_EQ(items(), 3);
  check();
}

TEST_F(Change, update_of_count_or_command_is_an_error) {
  db.run("INSERT INTO seen VALUES ('a')");
  db.refuses("UPDATE seen SET count = 5 WHERE key = 'a'", {"seen", "count"});
  db.refuses("UPDATE seen SET key = 'b', count = 5 WHERE key = 'a'", {"count"});
  db.refuses("UPDATE seen SET seen = 'clear' WHERE key = 'a'", {"seen", "INSERT"});
  db.run("UPDATE seen SET count = NULL, seen = NULL WHERE key = 'a'");
  EXPECT_EQ(count("'a'"), 1);
  EXPECT_EQ(items(), 1);
  check();
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

TEST_F(Change, rebuild_and_resize_keep_every_key) {
  db.run("INSERT INTO seen {}SELECT i FROM n", with_numbers(3000));
  db.run("INSERT INTO seen {}SELECT i FROM n WHERE i % 10 = 0", with_numbers(3000));
  db.run("INSERT INTO seen(seen, key) {}SELECT 'delete', i FROM n WHERE i % 3 = 0",
         with_numbers(3000));
  const auto expect_right = [this] {
    EXPECT_EQ(items(), 2300);
    db.gives(with_numbers(3000) + "SELECT count(*) FROM n JOIN seen ON key = i", 2100);
    db.gives(with_numbers(3000) + "SELECT sum(count) FROM n JOIN seen ON key = i", 2300);
    check();
  };
  expect_right();
  db.run("INSERT INTO seen(seen) VALUES ('rebuild')");
  expect_right();
  for (const char* capacity : {"5e6", "1000000", "'1_000_000'", "'2e4'", "10", "5000", "1"}) {
    db.run("INSERT INTO seen(seen, key) VALUES ('resize', {})", capacity);
    expect_right();
  }
  EXPECT_GE(db.number("SELECT capacity FROM filter_info('seen')"), 2300);
  db.run("INSERT INTO seen(seen, key) VALUES ('resize', 20000)");
  db.gives("SELECT capacity FROM filter_info('seen')", 20000);
}

TEST_F(Change, commands_used_wrongly_say_so) {
  db.run("INSERT INTO seen VALUES ('a')");
  db.refuses("INSERT INTO seen(seen) VALUES ('clar')",
             {"clar", "check", "clear", "delete", "rebuild", "resize"});
  db.refuses("INSERT INTO seen(seen) VALUES ('')", {"clear"});
  db.refuses("INSERT INTO seen(seen) VALUES (5)", {"5", "clear"});
  db.refuses("INSERT INTO seen(seen) VALUES (x'00ff')", {"clear"});
  db.refuses("INSERT INTO seen(seen) VALUES ('clear ')", {"clear"});
  db.refuses("INSERT INTO seen(seen, key) VALUES ('clear', 'a')", {"clear"});
  db.refuses("INSERT INTO seen(seen, key) VALUES ('check', 1)", {"check"});
  db.refuses("INSERT INTO seen(seen, key) VALUES ('rebuild', 1)", {"rebuild"});
  for (const char* argument :
       {"NULL", "0", "-5", "'many'", "''", "1e13", "'10x'", "x'31'||'z'", "1.5", "9e999"}) {
    db.refuses(sql("INSERT INTO seen(seen, key) VALUES ('resize', {})", argument),
               {"resize", "2^40"});
  }
  db.refuses("INSERT INTO seen(seen) VALUES ('resize')", {"resize"});
  db.refuses("INSERT INTO seen(seen, count) VALUES ('clear', 1)", {"count"});
  db.refuses("INSERT OR IGNORE INTO seen(seen) VALUES ('clar')", {"clar"});
  EXPECT_EQ(items(), 1);
  check();
}

TEST_F(Change, commands_of_a_typed_table_take_their_argument_without_affinity) {
  db.run("CREATE VIRTUAL TABLE m USING cuckoo_filter(email TEXT)");
  db.run("INSERT INTO m VALUES ('x'), ('5'); INSERT INTO m(m, email) VALUES ('resize', 5e4)");
  db.gives("SELECT capacity FROM filter_info('m')", 50000);
  db.run("INSERT INTO m(m, email) VALUES ('delete', 5)");
  db.gives("SELECT email FROM m WHERE email IN ('x', '5')", "x");
  db.run("INSERT INTO m(m) VALUES ('check')");
}

TEST_F(Change, rebuild_and_resize_without_growth_name_the_option) {
  db.run("CREATE VIRTUAL TABLE g USING cuckoo_filter(growth = off, capacity = 100)");
  db.run("INSERT INTO g VALUES ('a')");
  db.refuses("INSERT INTO g(g) VALUES ('rebuild')", {"g", "growth = on"});
  db.refuses("INSERT INTO g(g, key) VALUES ('resize', 500)", {"g", "growth = on"});
  db.run("INSERT INTO g(g) VALUES ('check'); INSERT INTO g(g) VALUES ('clear')");
  db.gives("SELECT count(*) FROM g", 0);
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

TEST_F(Full, is_an_error_of_the_statement_alone) {
  db.refuses("INSERT INTO f VALUES (9), (10)", {"full: f", "10", "growth"});
  EXPECT_EQ(found(), "1,2,3,4,5,6,7,8");
  db.run("INSERT INTO f VALUES (9)");
  for (const char* verb : {"INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL",
                           "INSERT OR ROLLBACK"}) {
    const Outcome outcome = db.attempt(std::string(verb) + " INTO f VALUES (10)");
    EXPECT_EQ(outcome.code, SQLITE_ERROR) << verb;
    EXPECT_EQ(outcome.message.rfind("full: ", 0), 0U) << verb << ": " << outcome.message;
  }
  EXPECT_EQ(found(), "1,2,3,4,5,6,7,8,9");
  db.gives("SELECT count(*) FROM f", 10);
  db.run("INSERT INTO f(f) VALUES ('check')");
}

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

TEST_F(Full, under_or_ignore_of_a_triggers_statement_drops_nothing_silently) {
  db.run(
      "CREATE TABLE t(v UNIQUE);"
      "CREATE TRIGGER add_it AFTER INSERT ON t BEGIN INSERT INTO f VALUES (new.v); END");
  db.run("INSERT OR IGNORE INTO t VALUES (9)");
  db.refuses("INSERT OR IGNORE INTO t VALUES (10)", {"full: "});
  db.refuses("INSERT OR IGNORE INTO t VALUES (11), (12)", {"full: "});
  db.gives("SELECT v FROM t", "9");
  EXPECT_EQ(found(), "1,2,3,4,5,6,7,8,9");
}

TEST_F(Full, counts_duplicates_and_ends_with_a_removal) {
  db.run("INSERT INTO f(f) VALUES ('clear')");
  db.run("INSERT INTO f SELECT 1 FROM json_each('[1,2,3,4,5,6,7,8,9,10]')");
  db.gives("SELECT count FROM f WHERE key = 1", 10);
  db.refuses("INSERT INTO f VALUES (1)", {"full: "});
  db.run("DELETE FROM f WHERE key = 1; INSERT INTO f VALUES (2)");
  db.refuses("INSERT INTO f VALUES (2)", {"full: "});
  EXPECT_EQ(found(), "1,2");
  db.run("INSERT INTO f(f) VALUES ('check')");
}

TEST(FullAtEveryCapacity, is_reached_with_the_capacity_and_not_before) {
  for (const int capacity : {1, 2, 3, 7, 100, 999, 3001}) {
    Database db;
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(growth = off, capacity = {})", capacity);
    db.run("INSERT INTO f {}SELECT i FROM n", with_numbers(capacity));
    db.refuses("INSERT INTO f VALUES (0)", {"full: "});
    db.gives(with_numbers(capacity) + "SELECT count(*) FROM n JOIN f ON key = i", capacity);
    db.run("INSERT INTO f(f) VALUES ('check')");
  }
}

// --- duplicates ------------------------------------------------------------------------------

TEST(Duplicates, of_one_key_go_in_and_out_a_million_times) {
  constexpr int64_t kTimes = 1'000'000;
  Database db;
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(key, fingerprint_bits = 28, seed = 1)");
  db.run("INSERT INTO f {}SELECT 'other' || i FROM n", with_numbers(1000));
  const auto expect_others = [&db](int64_t copies) {
    db.gives(with_numbers(1000) + "SELECT count(*) FROM n JOIN f ON key = 'other' || i", 1000);
    db.gives("SELECT count(*) FROM f", 1000 + copies);
    const int64_t count = db.number("SELECT count FROM f WHERE key = 'one'");
    EXPECT_EQ(count < 0 ? 0 : count, copies);
    db.run("INSERT INTO f(f) VALUES ('check')");
  };
  db.run("INSERT INTO f {}SELECT 'one' FROM n", with_numbers(kTimes));
  expect_others(kTimes);
  EXPECT_LT(db.number("SELECT capacity FROM filter_info('f')"), 3000);
  db.run("INSERT INTO f(f, key) {}SELECT 'delete', 'one' FROM n", with_numbers(kTimes / 2));
  expect_others(kTimes / 2);
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  expect_others(kTimes / 2);
  db.run("INSERT INTO f(f, key) {}SELECT 'delete', 'one' FROM n", with_numbers(kTimes / 2));
  expect_others(0);
  EXPECT_LT(db.number("SELECT log_entries FROM filter_info('f')"), 20000);
}

// UPDATE … FROM hands every column over, also those that nobody named.
TEST_F(Change, update_from_another_table) {
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES ('a'), ('c'), ('c');"
      "CREATE TABLE p(o, n); INSERT INTO p VALUES ('a', 'b'), ('c', 'd'), ('none', 'e');"
      "UPDATE f SET k = p.n FROM p WHERE f.k = p.o");
  db.gives(
      "SELECT value FROM json_each('[\"a\", \"b\", \"c\", \"d\", \"e\"]')"
      " JOIN f ON k = value",
      "b,c,d");
  db.gives("SELECT count(*) FROM f", 3);
  db.refuses("UPDATE f SET count = 7 WHERE k = 'b'", {"f: UPDATE can't set count"});
  db.run("INSERT INTO f(f) VALUES ('check')");
}

}  // namespace
}  // namespace filter_change_test
}  // namespace cuckoo::test
