// What memory holds after SQLite undid something without telling the table: a resize, a CREATE, a
// DROP under an open cursor. A connection must answer what a new connection would.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace table_rollback_test {
namespace {

constexpr char kFirst[] = "CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, seed = 1)";

using Undone = WithDatabase;

TEST_F(Undone, resize_to_another_size_than_the_next_one_loses_no_key) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("db"));
  one.run(kFirst);
  one.run("INSERT INTO f " + numbers(1, 20000));
  one.run(
      "BEGIN; INSERT INTO f(f, k) VALUES ('resize', 100000); SAVEPOINT s; ROLLBACK TO s;"
      "SELECT count(*) FROM f; ROLLBACK");
  QuickDatabase other(folder.file("db"));
  other.run("INSERT INTO f(f, k) VALUES ('resize', 200000)");
  one.gives(sql("SELECT count(*) FROM ({}) JOIN f ON f.k = i", numbers(1, 20000)), 20000);
  one.run("INSERT INTO f " + numbers(30000, 32000));
  one.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO f(f) VALUES ('check')");
  other.run("INSERT INTO f(f) VALUES ('check')");
}

TEST_F(Undone, create_of_the_same_name_gives_the_old_table_back) {
  db.run(kFirst);
  db.run("INSERT INTO f VALUES (1), (2)");
  db.run(
      "BEGIN; DROP TABLE f;"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(k, capacity = 3, growth = off, seed = 2);"
      "SAVEPOINT x; PRAGMA writable_schema = RESET; SELECT count(*) FROM f; ROLLBACK");
  db.gives("SELECT count(*) FROM f", 2);
  db.gives("SELECT k FROM f WHERE k IN (1, 2, 3)", "1,2");
}

TEST_F(Undone, create_under_an_open_cursor_is_an_error_not_a_crash) {
  db.run("BEGIN; SAVEPOINT s");
  db.run(kFirst);
  db.run("INSERT INTO f VALUES (5)");
  Query open(db, "SELECT f.count FROM f CROSS JOIN json_each('[1, 2, 3]') WHERE f.k = 5");
  EXPECT_EQ(open.step(), SQLITE_ROW);
  db.attempt("ROLLBACK TO s");
  db.attempt("CREATE VIRTUAL TABLE f USING cuckoo_filter(k, seed = 2)");
  EXPECT_NE(open.step(), SQLITE_OK);  // a row or an error
  open.reset();
  db.attempt("ROLLBACK");
}

TEST_F(Undone, table_renamed_and_dropped_under_an_open_cursor_is_an_error_not_a_crash) {
  db.run(kFirst);
  db.run("INSERT INTO f VALUES (5)");
  Query open(db, "SELECT f.count FROM f CROSS JOIN json_each('[1, 2, 3]') WHERE f.k = 5");
  EXPECT_EQ(open.step(), SQLITE_ROW);
  db.attempt("ALTER TABLE f RENAME TO g");
  db.attempt("DROP TABLE g");
  EXPECT_NE(open.step(), SQLITE_OK);
}

TEST_F(Undone, insert_is_not_counted_by_a_cursor_that_stayed_open) {
  db.run(kFirst);
  db.run("INSERT INTO f VALUES (5); BEGIN; INSERT INTO f VALUES (5)");
  Query open(db, "SELECT f.count FROM f CROSS JOIN json_each('[1, 2, 3]') WHERE f.k = 5");
  EXPECT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(open.integer(), 2);
  db.run("ROLLBACK");
  if (open.step() == SQLITE_ROW) {
    EXPECT_EQ(open.integer(), 1);
  }
}

// When the other connection removes the key, its memory knows the key only from a log row.
TEST_F(Undone, add_by_another_connection_passes_the_check) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("db"));
  one.run(kFirst);
  one.run("INSERT INTO f VALUES (481)");
  QuickDatabase other(folder.file("db"));
  other.run("DELETE FROM f WHERE k = 481");
  one.gives("INSERT INTO f(f) VALUES ('check'); SELECT count(*) FROM f", 0);
}

}  // namespace
}  // namespace table_rollback_test
}  // namespace cuckoo::test
