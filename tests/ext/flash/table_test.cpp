// flash_kv as an exact map: typed keys and values, constraints and conflicts, content addresses,
// scans, plans and commands.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_table_test {
namespace {

class FlashTable : public testing::Test {
 protected:
  FlashTable() { create("key, value, seed = 1, size = '1MB'"); }
  void create(const std::string& arguments) {
    db.run("DROP TABLE IF EXISTS kv; CREATE VIRTUAL TABLE kv USING flash_kv({})", arguments);
  }
  std::string plan(const std::string& sql) { return plan_of(db, sql); }
  Database db;
};

// --- keys and values -----------------------------------------------------------------------------

TEST_F(FlashTable, keeps_every_type_and_value) {
  db.run("CREATE TABLE t(v)");
  db.run(
      "INSERT INTO t VALUES (NULL), (0), (-1), (127), (128), (-128), (-129), (32767), (32768),"
      " (2147483648), (-9223372036854775807 - 1), (9223372036854775807), (0.0), (1.0), (-2.5),"
      " (1e300), (9e999), (-9e999), (''), ('a'), (x''), (x'00'), (x'ff00ff'), ('ü€𝄞'), (1e18),"
      " (zeroblob(100)), (zeroblob(50000)), (CAST(x'610062' AS TEXT))");
  db.run("INSERT INTO kv SELECT rowid, v FROM t");
  db.gives(
      "SELECT count(*) FROM t JOIN kv ON key = t.rowid WHERE value IS v AND"
      " typeof(value) = typeof(v) AND quote(v) = quote(value)",
      db.number("SELECT count(*) FROM t"));
  db.run(
      "DELETE FROM t WHERE length(v) > 1000; DELETE FROM kv;"
      " INSERT INTO kv SELECT v, rowid FROM t WHERE v IS NOT NULL AND v <> 0"
      " GROUP BY v");
  db.gives("SELECT typeof(key) || quote(key) FROM kv ORDER BY key",
           db.list("SELECT typeof(v) || quote(v) FROM t WHERE v IS NOT NULL AND v <> 0 GROUP BY v"
                   " ORDER BY v"));
}

TEST_F(FlashTable, an_integer_that_no_real_equals_finds_no_real_key) {
  db.run(
      "CREATE VIRTUAL TABLE r USING flash_kv(k REAL, v); CREATE TABLE o(k REAL PRIMARY KEY, v);"
      "INSERT INTO r VALUES (9007199254740992, 1), (3, 1), (9223372036854775807, 1);"
      "INSERT INTO o SELECT * FROM r");
  for (const char* key :
       {"9007199254740992", "9007199254740993", "9007199254740993.0", "'9007199254740993'", "3",
        "'3'", "3.0", "9223372036854775807", "9223372036854775808.0", "-9223372036854775808"}) {
    const std::string where = std::string(" WHERE k = ") + key;
    EXPECT_EQ(db.list("SELECT k FROM r" + where), db.list("SELECT k FROM o" + where)) << key;
  }
  db.gives("DELETE FROM r WHERE k IN (9007199254740993, 4); SELECT count(*) FROM r", 3);
}

// --- constraints and conflicts -------------------------------------------------------------------

TEST_F(FlashTable, every_or_clause_does_what_it_does_to_a_table) {
  db.run("INSERT INTO kv VALUES (1, 'a'); INSERT OR IGNORE INTO kv VALUES (1, 'b')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 0);
  db.run("INSERT OR IGNORE INTO kv VALUES (1, 'b'), (2, 'c'), (2, 'd')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.gives("SELECT key || value FROM kv", "1a,2c");
  db.run("INSERT OR REPLACE INTO kv VALUES (1, 'b'), (3, 'd')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 2);
  db.gives("SELECT key || value FROM kv", "2c,1b,3d");
  db.refuses("INSERT OR FAIL INTO kv VALUES (4, 'e'), (1, 'x'), (5, 'f')",
             SQLITE_CONSTRAINT_PRIMARYKEY);
  db.gives("SELECT key || value FROM kv", "2c,1b,3d,4e");
  db.run("BEGIN; INSERT INTO kv VALUES (9, 'z')");
  db.refuses("INSERT OR ROLLBACK INTO kv VALUES (1, 'x')", SQLITE_CONSTRAINT_PRIMARYKEY);
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 1);
  db.gives("SELECT key || value FROM kv", "2c,1b,3d,4e");
}

TEST_F(FlashTable, update_changes_keys_and_values) {
  db.run("INSERT INTO kv VALUES (1, 'a'), (2, 'b'), (3, 'c')");
  db.run("UPDATE kv SET value = 'A' WHERE key = 1");
  db.run("UPDATE kv SET value = value || '!' WHERE value IN ('b', 'c')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 2);
  db.gives("SELECT key || value FROM kv ORDER BY key", "1A,2b!,3c!");
  db.run("UPDATE kv SET key = key + 10");
  db.gives("SELECT key || value FROM kv ORDER BY key", "11A,12b!,13c!");
  db.refuses("UPDATE kv SET key = 12 WHERE key = 11", SQLITE_CONSTRAINT_PRIMARYKEY,
             {"UNIQUE constraint failed: kv.key"});
  db.run("UPDATE OR IGNORE kv SET key = 12 WHERE key = 11");
  EXPECT_EQ(sqlite3_changes(db.handle()), 0);
  db.run("UPDATE OR REPLACE kv SET key = 12, value = 'Z' WHERE key = 11");
  db.gives("SELECT key || value FROM kv ORDER BY key", "12Z,13c!");
  db.refuses("UPDATE kv SET key = NULL", SQLITE_CONSTRAINT_NOTNULL,
             {"NOT NULL constraint failed: kv.key"});
  db.run("UPDATE kv SET value = NULL WHERE key = 13; UPDATE kv SET key = key");
  db.gives("SELECT key || quote(value) FROM kv ORDER BY key", "12'Z',13NULL");
}

// --- content addresses ---------------------------------------------------------------------------

TEST_F(FlashTable, a_row_without_a_key_gets_the_digest_of_its_value) {
  db.run("INSERT INTO kv(value) VALUES ('hello'), (x'00ff')");
  db.gives("SELECT key FROM kv",
           "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d," + db.text("SELECT sha1(x'00ff')"));
  db.gives("SELECT value FROM kv WHERE key = sha1('hello')", "hello");
  db.gives("SELECT count(*) FROM kv WHERE digest = key", 2);
  db.refuses("INSERT INTO kv(value) VALUES ('hello')", SQLITE_CONSTRAINT_PRIMARYKEY,
             {"UNIQUE constraint failed: kv.key"});
  db.run("INSERT OR IGNORE INTO kv(value) VALUES ('hello'), ('world'), ('hello')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.gives("SELECT count(*) FROM kv", 3);
}

TEST_F(FlashTable, only_texts_and_blobs_have_an_address) {
  for (const char* value : {"5", "1.5", "NULL"}) {
    db.refuses(sql("INSERT OR IGNORE INTO kv(value) VALUES ({})", value), SQLITE_MISMATCH,
               {"kv: ", "sha1", "TEXT or a BLOB"});
  }
  create("key INTEGER, value");
  db.refuses("INSERT INTO kv(value) VALUES ('x')", SQLITE_CONSTRAINT_NOTNULL,
             {"NOT NULL constraint failed: kv.key"});
  create("key TEXT, value TEXT");
  db.run("INSERT INTO kv(value) VALUES (5)");  // a text, by its column
  db.gives("SELECT key FROM kv", db.text("SELECT sha1('5')"));
}

// --- reading -------------------------------------------------------------------------------------

TEST_F(FlashTable, a_scan_is_in_the_order_of_seq) {
  db.run(with_numbers(300) + "INSERT INTO kv SELECT i * 7919 % 1000, i FROM n");
  db.run("UPDATE kv SET value = -value WHERE value % 3 = 0; DELETE FROM kv WHERE value % 5 = 0");
  const std::vector<Row> rows = db.rows("SELECT seq, key FROM kv");
  EXPECT_EQ(rows, db.rows("SELECT seq, key FROM kv ORDER BY seq"));
  EXPECT_EQ(rows.size(), 240U);
  EXPECT_EQ(plan("SELECT * FROM kv ORDER BY seq").find("TEMP B-TREE"), std::string::npos);
  EXPECT_NE(plan("SELECT * FROM kv ORDER BY key").find("TEMP B-TREE"), std::string::npos);
  db.gives("SELECT key FROM kv ORDER BY seq DESC LIMIT 1", rows.back()[1]);
}

TEST_F(FlashTable, a_scan_survives_changes_by_its_own_and_other_statements) {
  db.run(with_numbers(100) + "INSERT INTO kv SELECT i, i FROM n");
  db.gives("INSERT INTO kv SELECT key + 100, value FROM kv; SELECT count(*) FROM kv", 200);
  Query query(db, "SELECT key FROM kv");
  int64_t seen = 0;
  while (query.step() == SQLITE_ROW) {
    ++seen;
    if (query.integer() == 10) {
      db.run("DELETE FROM kv WHERE key > 150; INSERT INTO kv VALUES (1000, 1)");
      db.run("INSERT INTO kv(kv) VALUES ('collect')");
    }
  }
  EXPECT_EQ(seen, 150);
  db.gives("SELECT count(*) FROM kv", 151);
}

TEST_F(FlashTable, a_scan_goes_on_after_a_rollback) {
  db.run(with_numbers(50) + "INSERT INTO kv SELECT i, i FROM n");
  db.run("BEGIN; SAVEPOINT s");
  Query query(db, "SELECT key FROM kv");
  EXPECT_EQ(query.step(), SQLITE_ROW);
  db.run("DELETE FROM kv WHERE key = 30; ROLLBACK TO s");
  int64_t seen = 1;
  while (query.step() == SQLITE_ROW) {
    ++seen;
  }
  EXPECT_EQ(seen, 50);
  query.reset();
  db.run("COMMIT");
}

TEST_F(FlashTable, counting_reads_no_row) {
  db.run(with_numbers(10000) + "INSERT INTO kv SELECT i, zeroblob(8) FROM n");
  const std::string reads = "SELECT record_reads FROM flash_kv_info('kv')";
  const int64_t before = db.number(reads);
  db.gives("SELECT count(*) FROM kv", 10000);
  db.gives("SELECT count(*) FROM kv WHERE key = 5", 1);
  EXPECT_LE(db.number(reads) - before, 1);
  db.run("DELETE FROM kv");
  EXPECT_EQ(sqlite3_changes(db.handle()), 10000);
  db.gives("SELECT count(*) FROM kv", 0);
}

TEST_F(FlashTable, the_planner_looks_keys_up) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, k INTEGER); {}INSERT INTO t SELECT i, i FROM n",
         with_numbers(1000));
  db.run(with_numbers(1000) + "INSERT INTO kv SELECT i, i FROM n");
  EXPECT_EQ(plan("SELECT * FROM t JOIN kv ON kv.key = t.k"),
            "SCAN t\nSCAN kv VIRTUAL TABLE INDEX 13:key=?\n");
  EXPECT_EQ(plan("SELECT * FROM kv JOIN t ON kv.key = t.k"),
            "SCAN t\nSCAN kv VIRTUAL TABLE INDEX 13:key=?\n");
  db.gives("SELECT count(*) FROM t JOIN kv ON kv.key = t.k", 1000);
  db.gives("SELECT count(*) FROM t LEFT JOIN kv ON kv.key = t.k + 990 WHERE kv.key IS NULL", 990);
  db.gives("SELECT count(*) FROM kv WHERE key = 5 OR key = 7 OR key = 5000", 2);
  db.gives("SELECT count(*) FROM t WHERE k IN (SELECT key FROM kv WHERE value < 10)", 9);
  db.gives("SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM kv WHERE key = t.k)", 1000);
}

// --- full ----------------------------------------------------------------------------------------

TEST_F(FlashTable, full_is_an_error_that_loses_nothing) {
  create("key, value, size = '128KB'");
  db.run("BEGIN");
  Outcome outcome;
  int64_t rows = 0;
  while ((outcome = db.attempt("INSERT INTO kv VALUES ({}, zeroblob(500))", rows)).code ==
         SQLITE_OK) {
    ++rows;
  }
  EXPECT_EQ(outcome.code, SQLITE_ERROR);
  EXPECT_TRUE(outcome.message.starts_with("full: kv")) << outcome.message;
  EXPECT_GT(rows, 100);
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.refuses("INSERT OR IGNORE INTO kv VALUES ('x', zeroblob(500))", {"full: kv"});
  db.refuses("INSERT INTO kv VALUES ('x', 1), ('y', zeroblob(5000))", {"full: kv"});
  db.gives("SELECT count(*) FROM kv", rows);
  db.run("COMMIT; INSERT INTO kv(kv) VALUES ('check')");
  db.gives("SELECT sum(length(value)) FROM kv", 500 * rows);
  db.run("DELETE FROM kv WHERE key % 10 = 0");
  for (int64_t i = 0; i < rows; i += 10) {
    db.run("INSERT INTO kv VALUES ({}, zeroblob(500))", i);
  }
  db.run("DELETE FROM kv; INSERT INTO kv(kv) VALUES ('check')");
  db.run(with_numbers(rows) + "INSERT INTO kv SELECT i, zeroblob(500) FROM n");
}

TEST_F(FlashTable, ten_times_its_size_in_updates_never_fails) {
  create("key, value, size = '128KB', sector_size = 512, seed = 3");
  const int64_t rows = 120;
  db.run(with_numbers(rows) + "INSERT INTO kv SELECT i, zeroblob(400) FROM n");
  for (int64_t i = 0; 400 * i < 10 * 128 * 1024; ++i) {
    db.run("UPDATE kv SET value = CAST(zeroblob(399) || 'x' AS BLOB) WHERE key = " +
           std::to_string(1 + i * i % rows));
  }
  db.gives("SELECT count(*) FROM kv WHERE length(value) = 400", rows);
  EXPECT_GT(db.number("SELECT collections FROM flash_kv_info('kv')"), 10);
  db.run("INSERT INTO kv(kv) VALUES ('check')");
}

// A scan that has read no column yet has only counted its rows. If some of these are deleted then,
// the scan must not pass over others.
TEST(FlashScan, that_counts_passes_over_no_row_when_others_are_deleted) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB');"
      "INSERT INTO kv(k, v) SELECT value, value FROM json_each('[0,1,2,3,4,5,6,7,8,9]')");
  static bool reads;
  reads = false;
  sqlite3_create_function(
      db.handle(), "reads", 0, SQLITE_UTF8, nullptr,
      [](sqlite3_context* context, int, sqlite3_value**) {
        sqlite3_result_int(context, reads ? 1 : 0);
      },
      nullptr, nullptr);
  Query scan(db, "SELECT CASE WHEN reads() THEN k END FROM kv");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(scan.step(), SQLITE_ROW);
  }
  db.run("DELETE FROM kv WHERE k IN (0, 1, 4, 5)");
  reads = true;
  std::string rest;
  while (scan.step() == SQLITE_ROW) {
    rest += std::to_string(scan.integer());
  }
  EXPECT_EQ(rest, "36789");
}

}  // namespace
}  // namespace flash_table_test
}  // namespace cuckoo::test
