// DELETE and UPDATE of a bloom_filter: refused, or counted.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_bloom_removal_test {
namespace {

std::string create(const std::string& options, const std::string& table = "f") {
  return "CREATE VIRTUAL TABLE " + table + " USING bloom_filter(" + options + ")";
}

class NoRemoval : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, NoRemoval,
                         testing::Values("layout = standard", "layout = blocked", "growth = off",
                                         "hash = murmur2"),
                         kParameterName);

TEST_P(NoRemoval, names_the_ways_out) {
  Database db;
  db.run(create(std::string("seed = 1, capacity = 100, ") + GetParam()));
  db.run("INSERT INTO f VALUES ('a'), ('b')");
  db.run(
      "CREATE TABLE t(v);"
      "CREATE TRIGGER tr AFTER DELETE ON t BEGIN DELETE FROM f WHERE key = old.v; END;"
      "INSERT INTO t VALUES ('a')");
  const std::vector<Row> before = shadow_rows(db, "f");
  db.run("BEGIN");
  for (const char* sql :
       {"DELETE FROM f WHERE key = 'a'", "DELETE FROM f WHERE key IN ('x', 'b')", "DELETE FROM t",
        "INSERT INTO f(f, key) VALUES ('delete', 'a')",
        "INSERT INTO f(f, key) VALUES ('delete', 'z')", "UPDATE f SET key = 'c' WHERE key = 'a'"}) {
    db.refuses(sql, {"f: ", "counting = on", "cuckoo_filter", "clear"});
  }
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.run("COMMIT");
  EXPECT_EQ(shadow_rows(db, "f"), before);
  db.gives("SELECT count(*) FROM t", 1);
  db.run("DELETE FROM f WHERE key = 'never there'");  // of which the table is not told
  EXPECT_NE(db.attempt("DELETE FROM f").code, SQLITE_OK);
  db.gives("SELECT count(*) FROM f WHERE key IN ('a', 'b')", 2);
}

class Counting : public testing::Test {
 protected:
  Counting() { db.run(create("counting = on, seed = 1, fpr = 1e-6")); }
  int64_t count(const std::string& key) {
    const int64_t found = db.number("SELECT count FROM f WHERE key = " + key);
    return found < 0 ? 0 : found;
  }
  Database db;
};

// Nothing saturates: counters above 14 overflow into entries of their own.
TEST_F(Counting, adds_and_removes_any_number_of_copies) {
  int64_t total = 0;
  for (const int64_t copies : {1, 13, 14, 15, 16, 17, 100, 5000}) {
    db.run("INSERT INTO f SELECT 'x' FROM ({})", numbers(1, copies));
    total += copies;
    EXPECT_EQ(count("'x'"), total);
  }
  db.run("INSERT INTO f VALUES ('y')");
  check(db);
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  EXPECT_EQ(count("'x'"), total);
  EXPECT_GT(rows_of(db, "f", kOverflowRows), 0);
  check(db);
  for (const int64_t copies : {1, 4000, 1130, 14, 15, 1, 1}) {
    db.run("INSERT INTO f(f, key) SELECT 'delete', 'x' FROM ({})", numbers(1, copies));
    total -= copies;
    EXPECT_EQ(count("'x'"), total);
    db.run("INSERT INTO f(f) VALUES ('rebuild')");
    EXPECT_EQ(count("'x'"), total);
    check(db);
  }
  db.run("INSERT INTO f(f, key) SELECT 'delete', 'x' FROM ({})", numbers(1, 5000));
  EXPECT_EQ(count("'x'"), 0);
  EXPECT_EQ(count("'y'"), 1);
  db.gives("SELECT count(*) FROM f", 1);
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  EXPECT_EQ(rows_of(db, "f", kOverflowRows), 0);
  check(db);
}

TEST_F(Counting, without_growth_can_be_emptied_and_filled_again) {
  db.run("DROP TABLE f");
  db.run(create("counting = on, seed = 2, capacity = 500, growth = off"));
  for (int round = 0; round < 8; ++round) {
    const int64_t first = round * 10000;
    db.run("INSERT INTO f " + numbers(first, first + 499));
    EXPECT_EQ(present(db, first, first + 499), 500);
    db.refuses("INSERT INTO f " + numbers(first + 500, first + 999), {"full: f"});
    db.run("INSERT INTO f(f, key) SELECT 'delete', i FROM ({})", numbers(first, first + 499));
    EXPECT_EQ(db.number("SELECT count(*) FROM f"), 0) << round;
    check(db);
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_bloom_removal_test
