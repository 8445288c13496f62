// hash_ring over damaged shadow tables: an error that names the table, never a wrong answer, and
// the table can still be dropped.
#include <random>
#include <string>

#include "tests/support/copy_over.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace ring_corruption_test {
namespace {

class DamagedRing : public ::testing::Test {
 protected:
  DamagedRing() {
    QuickDatabase db(path_);
    db.run("CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = slots, seed = 1)");
    db.run("CREATE VIRTUAL TABLE points USING hash_ring(vnodes = 10, seed = 1)");
    db.run("INSERT INTO ring(node) VALUES ('a'), ('b'), ('c')");
    db.run("INSERT INTO points(node) VALUES ('a'), ('b'), ('c')");
  }

  // Expects that each use says that the table is corrupt, and that DROP TABLE works.
  void expect_corrupt(const std::string& damage, const std::string& table = "ring",
                      const std::string& part = "corrupt: ") {
    copy_over(path_, folder_.file("copy"));
    QuickDatabase db(folder_.file("copy"));
    db.run(damage);
    for (const std::string& sql :
         {"SELECT node FROM " + table + " WHERE key = 1", "SELECT * FROM " + table,
          "INSERT INTO " + table + "(node) VALUES ('d')", "DELETE FROM " + table,
          "INSERT INTO " + table + "(" + table + ") VALUES ('check')",
          "SELECT * FROM hash_ring_moves('" + table + "', 'add', 'x')"}) {
      const Outcome outcome = db.attempt(sql);
      EXPECT_EQ(outcome.code & 0xFF, SQLITE_CORRUPT) << damage << "\n" << sql;
      EXPECT_NE(outcome.message.find(table + ": "), std::string::npos) << outcome.message;
      EXPECT_NE(outcome.message.find(part), std::string::npos) << outcome.message;
    }
    db.run("DROP TABLE " + table);
    db.gives(sql("SELECT count(*) FROM sqlite_schema WHERE name LIKE '{}%'", table), "0");
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("db");
};

TEST_F(DamagedRing, is_found_at_first_use) {
  expect_corrupt("DELETE FROM ring_config WHERE key = 'record'");
  expect_corrupt("UPDATE ring_config SET value = 'x' WHERE key = 'record'");
  expect_corrupt("UPDATE ring_config SET value = zeroblob(48) WHERE key = 'record'");
  expect_corrupt("UPDATE ring_config SET value = 2 WHERE key = 'seed'");
  expect_corrupt("UPDATE ring_config SET value = 1 WHERE key = 'format'");
  expect_corrupt("UPDATE points_config SET value = 11 WHERE key = 'vnodes'", "points");
  expect_corrupt("UPDATE ring_config SET value = 'ring' WHERE key = 'algorithm'");
  expect_corrupt("UPDATE ring_config SET value = 'x' WHERE key = 'algorithm'");
  expect_corrupt("DELETE FROM ring_config WHERE key = 'seed'");
  expect_corrupt("DELETE FROM ring_items WHERE key = 'a'");
  expect_corrupt("INSERT INTO ring_items SELECT 'd', value FROM ring_items WHERE key = 'a'");
  expect_corrupt("UPDATE ring_items SET value = zeroblob(16) WHERE key = 'a'");
  expect_corrupt("UPDATE ring_items SET value = 5 WHERE key = 'a'");
  expect_corrupt("UPDATE ring_items SET key = 5 WHERE key = 'a'");
  expect_corrupt("DELETE FROM ring_pages WHERE id = 3");
  expect_corrupt("DELETE FROM ring_pages");
  expect_corrupt("INSERT INTO ring_pages VALUES (33, x'00')");
  expect_corrupt(sql("UPDATE ring_pages SET page = zeroblob({}) WHERE id = 3", kPageRowBytes));
  expect_corrupt("UPDATE ring_pages SET page = 'x' WHERE id = 3");
  expect_corrupt(
      "UPDATE ring_pages SET page = (SELECT page FROM ring_pages WHERE id = 4)"
      " WHERE id = 3");
  expect_corrupt("DELETE FROM points_items WHERE key = 'a'", "points");
  expect_corrupt("UPDATE points_config SET value = 0 WHERE key = 'vnodes'", "points");
}

TEST_F(DamagedRing, newer_format_is_said) {
  for (const std::string format : {"3", "0", "-1", "256"}) {
    expect_corrupt("UPDATE ring_config SET value = " + format + " WHERE key = 'format'", "ring",
                   "written in format " + format + "; this version reads formats 1 to 2");
  }
}

TEST_F(DamagedRing, missing_tables_are_said) {
  for (const char* table : {"config", "items", "pages"}) {
    copy_over(path_, folder_.file("copy"));
    QuickDatabase db(folder_.file("copy"));
    db.run(std::string("DROP TABLE ring_") + table);
    db.refuses("SELECT node FROM ring WHERE key = 1", SQLITE_CORRUPT,
               {"ring: corrupt: ", std::string("ring_") + table});
    db.run("ALTER TABLE ring RENAME TO other; DROP TABLE other");
  }
}

TEST_F(DamagedRing, random_damage_is_an_error_or_no_change) {
  std::string expected;
  {
    QuickDatabase db(path_);
    expected =
        db.list("SELECT node || share FROM ring") + db.list("SELECT node || share FROM points");
  }
  std::mt19937_64 random(4);
  int errors = 0;
  for (int round = 0; round < 300; ++round) {
    QuickDatabase db(path_);
    const char* const tables[] = {"config", "items", "pages"};
    const std::string suffix = tables[random() % 3];
    const std::string table = (random() % 2 == 0 ? "ring_" : "points_") + suffix;
    const std::string column = suffix == "pages" ? "page" : "value";
    const std::string key = suffix == "pages" ? "id" : "key";
    db.run("BEGIN");
    const std::string at = std::to_string(1 + random() % 60);
    db.run(
        "UPDATE {} SET {} = CAST(substr({}, 1, {} - 1) || char({}) || substr({}, {} + 1) AS BLOB)"
        " WHERE typeof({}) = 'blob' AND {} = (SELECT {} FROM {} ORDER BY random() LIMIT 1)",
        table, column, column, at, 1 + random() % 126, column, at, column, key, key, table);
    for (const char* sql : {"SELECT sum(length(node || share)) FROM ring",
                            "SELECT sum(length(node || share)) FROM points"}) {
      const Outcome outcome = db.attempt(sql);
      errors += outcome.code == SQLITE_OK ? 0 : 1;
      EXPECT_TRUE(outcome.code == SQLITE_OK || (outcome.code & 0xFF) == SQLITE_CORRUPT)
          << outcome.code << outcome.message;
      if (outcome.code == SQLITE_OK) {
        const std::string table_name = std::string(sql).substr(std::string(sql).rfind(' ') + 1);
        EXPECT_NE(expected.find(db.list("SELECT node || share FROM " + table_name)),
                  std::string::npos);
      }
    }
    db.run("ROLLBACK");
  }
  EXPECT_GT(errors, 50);
}

}  // namespace
}  // namespace ring_corruption_test
}  // namespace cuckoo::test
