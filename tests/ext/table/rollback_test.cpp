// What memory holds after SQLite undid something without telling the table: a resize, a CREATE, a
// DROP under an open cursor. A connection must answer what a new connection would.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_rollback_test {
namespace {

constexpr char kFirst[] = "CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, seed = 1)";

using Undone = WithDatabase;

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

}  // namespace
}  // namespace cuckoo::test::table_rollback_test
