// Which keys are equal: as SQLite would say of the stored values, with BINARY collation.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_key_test {
namespace {

constexpr int kManyBits = 30;  // fingerprints so long that no test sees a false positive

std::string create(const std::string& type, const std::string& name = "f") {
  return sql("CREATE VIRTUAL TABLE {} USING cuckoo_filter(key {}, fingerprint_bits = {}, seed = 5)",
             name, type, kManyBits);
}

bool found(Database& db, const std::string& key) {
  return db.number("SELECT count(*) FROM f WHERE key = " + key) == 1;
}

// One of each kind of value that could be taken for another.
const std::vector<std::string>& values() {
  static const std::vector<std::string> all = split(
      "1, 1.0, '1', x'31', '1.0', 0, 0.0, -0.0, '', x'', zeroblob(0), zeroblob(3), x'000000',"
      " x'00', 9007199254740992, 9007199254740993, 9007199254740992.0, 9007199254740994.0,"
      " -9007199254740993, 9223372036854775807, 9223372036854775807.0, -9223372036854775807 - 1,"
      " -9223372036854775808.0, 9223372036854775808.0, 18446744073709551616.0, 1e999, -1e999,"
      " 1e308, 0.1, 0.5, 1e-320, 'a', 'A', 'a ', 'a' || char(0), 'a' || char(0) || 'b', x'61', 'ä',"
      " x'c3a4', '€😀', '1e3', 1000, ' 1', 'abc', x'616263', '9007199254740993', '-0.0'");
  return all;
}

// Inserts each value alone and probes with all. The filter must answer as an ordinary column does.
void expect_equal_as_in_a_table(const std::string& encoding, const std::string& type) {
  Database db;
  db.run("PRAGMA encoding = '{}'", encoding);
  // BINARY comparison in an ordinary table; the probe gets the column's affinity by being stored.
  db.run("CREATE TABLE a(k {}); CREATE TABLE b(k {})", type, type);
  for (const std::string& stored : values()) {
    db.run(create(type));
    db.run("INSERT INTO f VALUES ({}); INSERT INTO a VALUES ({})", stored, stored);
    for (const std::string& probe : values()) {
      db.run("INSERT INTO b VALUES ({})", probe);
      const bool equal = db.number("SELECT a.k = b.k FROM a, b") == 1;
      EXPECT_EQ(found(db, probe), equal) << encoding << " " << type << ": " << stored
                                         << " is stored, " << probe << " is asked for";
      db.run("DELETE FROM b");
    }
    db.run("DELETE FROM a; DROP TABLE f");
  }
}

TEST(KeyEquality, is_that_of_a_column) {
  for (const char* type : {"", "BLOB", "INTEGER", "REAL", "TEXT", "NUMERIC"}) {
    expect_equal_as_in_a_table("UTF-8", type);
  }
  expect_equal_as_in_a_table("UTF-16le", "");
  expect_equal_as_in_a_table("UTF-16be", "TEXT");
}

// What RETURNING and the probe's column show, against what a table would store.
TEST(KeyEcho, is_converted_as_a_column_would) {
  for (const char* type : {"", "INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "VARCHAR(9)", "FLOAT",
                           "BOOLEAN", "DATETIME", "POINT", "STRING"}) {
    Database db;
    db.run("CREATE TABLE a(k {})", type);
    db.run(create(type));
    for (const std::string& value : values()) {
      db.run("INSERT INTO f VALUES ({}); INSERT INTO a VALUES ({})", value, value);
      EXPECT_EQ(db.rows("SELECT typeof(key), quote(key) FROM f WHERE key = " + value),
                db.rows("SELECT typeof(k), quote(k) FROM a"))
          << type << ": " << value;
      db.run("DELETE FROM a; INSERT INTO f(f) VALUES ('clear')");
    }
  }
}

using KeyProbe = WithDatabase;
using KeyNull = WithDatabase;

TEST_F(KeyNull, under_or_ignore_is_skipped) {
  db.run(create(""));
  db.gives("INSERT OR IGNORE INTO f VALUES ('a'), (NULL), ('b'); SELECT changes()", 2);
  db.gives("SELECT count(*) FROM f", 2);
  db.gives("SELECT key FROM f WHERE key IN ('a', 'b')", "a,b");
  db.run("BEGIN; INSERT OR IGNORE INTO f VALUES (NULL); COMMIT");
  db.refuses("INSERT OR FAIL INTO f VALUES ('c'), (NULL), ('d')", SQLITE_CONSTRAINT, {"f.key"});
  db.gives("SELECT key FROM f WHERE key IN ('c', 'd')", "c");
  db.run("BEGIN; INSERT INTO f VALUES ('e')");
  db.refuses("INSERT INTO f VALUES ('g'), (NULL)", SQLITE_CONSTRAINT, {"f.key"});
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.gives("COMMIT; SELECT key FROM f WHERE key IN ('e', 'g')", "e");
  db.run("BEGIN; INSERT INTO f VALUES ('h')");
  db.refuses("INSERT OR ROLLBACK INTO f VALUES (NULL)", SQLITE_CONSTRAINT, {"f.key"});
  EXPECT_NE(sqlite3_get_autocommit(db.handle()), 0);
  EXPECT_FALSE(found(db, "'h'"));
  db.run("INSERT INTO f(f) VALUES ('check')");
}

TEST_F(KeyProbe, by_is_works_like_equals) {
  db.run(create("INTEGER"));
  db.run("INSERT INTO f VALUES (1)");
  db.gives_each("SELECT key FROM f WHERE key IS {}",
                {"1 => 1", "'1' => 1", "2 => none", "NOT DISTINCT FROM 1 => 1"});
  Query probe(db, "SELECT count(*) FROM f WHERE key IS ?");
  sqlite3_bind_int(probe.handle(), 1, 1);
  EXPECT_EQ(probe.once(), 1);
  sqlite3_bind_null(probe.handle(), 1);
  EXPECT_EQ(probe.once(), 0);
  sqlite3_bind_text(probe.handle(), 1, "1", -1, SQLITE_STATIC);
  EXPECT_EQ(probe.once(), 1);
  db.gives("DELETE FROM f WHERE key IS 1; SELECT count(*) FROM f", 0);
}

}  // namespace
}  // namespace cuckoo::test::filter_key_test
