// DELETE and UPDATE of a bloom_filter that does not count.
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

}  // namespace
}  // namespace cuckoo::test::filter_bloom_removal_test
