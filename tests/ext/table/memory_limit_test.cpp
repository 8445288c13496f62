// Out of memory at every point of the long commands: an error, never a crash, and afterwards the
// table is what it was, or what the command makes of it.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_memory_limit_test {
namespace {

class MemoryLimit : public testing::TestWithParam<const char*> {
 protected:
  MemoryLimit() {
    db.run("CREATE VIRTUAL TABLE f USING {}seed = 1, capacity = 200, fpr = 0.001)", GetParam());
    db.run("CREATE VIRTUAL TABLE g USING {}seed = 1, capacity = 9000, fpr = 0.01)", GetParam());
    db.run(
        "INSERT INTO f {}; INSERT INTO g {}; CREATE TABLE t(a); INSERT INTO t {};"
        " CREATE TABLE i AS SELECT filter_export('g', 'hashes') AS b",
        numbers(1, 3000), numbers(3001, 6000), numbers(1, 3000));
  }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, MemoryLimit,
                         testing::Values("cuckoo_filter(", "bloom_filter(",
                                         "bloom_filter(layout = blocked, ",
                                         "bloom_filter(counting = on, "),
                         kParameterName);

TEST_P(MemoryLimit, is_an_error_that_changes_nothing) {
  const std::string module = GetParam();
  const std::string kind = module.substr(0, module.find('_'));
  const std::vector<std::string> statements = {
      "INSERT INTO f(f) VALUES ('rebuild')",
      "INSERT INTO f(f, key) VALUES ('resize', 9000)",
      "INSERT INTO f(f, key) VALUES ('merge', 'g')",
      "INSERT INTO f(f, key) SELECT 'merge', b FROM i",
      "INSERT INTO f(f, key) SELECT 'import', b FROM i",
      "INSERT INTO f(f) VALUES ('check')",
      "INSERT INTO f " + numbers(6001, 9000),
      "SELECT length(filter_export('f', 'hashes'))",
      "SELECT sum(filter_contains(b, a)) FROM i, t",
      "SELECT length(filter_union(b)) FROM (SELECT b FROM i UNION ALL SELECT b FROM i)",
      "SELECT length(" + kind + "_build(a, 0.001)) FROM t",
      "SELECT length(filter_union(b)) FROM (SELECT " + kind +
          "_build(a, 0.001, NULL, 0, 'hashes') AS b FROM t GROUP BY a % 2)",
      "CREATE VIRTUAL TABLE h USING " + module + "source = t(a), triggers = off)",
  };
  for (const std::string& sql : statements) {
    int failures = 0;
    for (int64_t above = 200; above < 2'000'000; above += above / 3 + 50) {
      db.run("SAVEPOINT s");
      Outcome outcome;
      {
        const MemoryLimiter limit(above);
        outcome = db.attempt(sql);
      }
      const int code = outcome.code & 0xFF;
      ASSERT_TRUE(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_IOERR)
          << sql << " at " << above << ": " << outcome.code << " " << outcome.message;
      if (code == SQLITE_OK) {
        db.run("ROLLBACK TO s; RELEASE s");
        break;
      }
      ++failures;
      db.attempt("ROLLBACK TO s");
      db.attempt("RELEASE s");  // SQLite may have undone the transaction
      ASSERT_EQ(sqlite3_get_autocommit(db.handle()), 1) << sql;
      ASSERT_EQ(db.number("SELECT count(*) FROM t JOIN f ON f.key = t.a"), 3000)
          << sql << " at " << above;
      ASSERT_EQ(db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'h'"), 0);
    }
    EXPECT_EQ(db.number("SELECT count(*) FROM t JOIN f ON f.key = t.a"), 3000) << sql;
    db.run("INSERT INTO f(f) VALUES ('check')");
    EXPECT_GT(failures, 0) << sql;
  }
}

// A merge unites cells in memory. If memory runs out, the cells that are already in must not stay.
TEST_P(MemoryLimit, of_a_merge_without_hashes_leaves_nothing_of_it) {
  const std::string module = GetParam();
  db.run(
      "CREATE VIRTUAL TABLE x USING {}growth = off, seed = 1, capacity = 20000);"
      "CREATE VIRTUAL TABLE y USING {}growth = off, seed = 1, capacity = 20000); INSERT INTO x {};"
      " INSERT INTO y SELECT 7 FROM ({}); INSERT INTO y {}",
      module, module, numbers(1, 3000), numbers(1, 40), numbers(10001, 14000));
  const int64_t before = db.number("SELECT count(*) FROM x");
  int failures = 0;
  for (int64_t above = 200; above < 2'000'000; above += above / 8 + 50) {
    db.run("BEGIN; INSERT INTO x VALUES ('a')");
    const int64_t with_one = db.number("SELECT count(*) FROM x");
    Outcome outcome;
    {
      const MemoryLimiter limit(above);
      outcome = db.attempt("INSERT INTO x(x, key) VALUES ('merge', 'y')");
    }
    const bool merged = outcome.code == SQLITE_OK;
    const bool open = sqlite3_get_autocommit(db.handle()) == 0;
    if (!merged) {
      ++failures;
      EXPECT_EQ(db.number("SELECT count(*) FROM x"), open ? with_one : before) << above;
      EXPECT_EQ(db.number("SELECT count FROM x WHERE key = 7"), 1) << above;
      EXPECT_EQ(db.attempt("INSERT INTO x(x) VALUES ('check')").message, "") << above;
    }
    db.run(sqlite3_get_autocommit(db.handle()) == 0 ? "ROLLBACK" : "SELECT 1");
    db.run("INSERT INTO x(x) VALUES ('check')");
    if (merged) {
      break;
    }
  }
  EXPECT_GT(failures, 0);
}

TEST_P(MemoryLimit, of_a_source_with_triggers_loses_no_key) {
  if (std::string(GetParam()).find("counting") == std::string::npos &&
      !std::string(GetParam()).starts_with("cuckoo")) {
    return;
  }
  db.run("CREATE VIRTUAL TABLE h USING {}fpr = 1e-7, seed = 1, source = t(a), triggers = on)",
         GetParam());
  for (const char* sql : {"UPDATE t SET a = a + 1", "DELETE FROM t WHERE a % 2",
                          "INSERT INTO t SELECT -a FROM t", "INSERT INTO h(h) VALUES ('rebuild')",
                          "ALTER TABLE h RENAME TO h2", "ALTER TABLE t RENAME TO t2"}) {
    for (int64_t above = 500; above < 3'000'000; above += above / 2) {
      Outcome outcome;
      {
        const MemoryLimiter limit(above);
        outcome = db.attempt(sql);
      }
      const int code = outcome.code & 0xFF;
      ASSERT_TRUE(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_IOERR ||
                  code == SQLITE_ERROR)  // SQLite's ALTER says "error in trigger …: out of memory"
          << sql << " at " << above << ": " << outcome.code << " " << outcome.message;
      const std::string h =
          db.number("SELECT count(*) FROM sqlite_schema WHERE name = 'h'") == 1 ? "h" : "h2";
      const std::string t =
          db.number("SELECT count(*) FROM sqlite_schema WHERE name = 't'") == 1 ? "t" : "t2";
      ASSERT_EQ(
          db.number(
              "SELECT count(*) FROM {} WHERE NOT EXISTS (SELECT 1 FROM {} AS x WHERE x.key = a)", t,
              h),
          0)
          << sql << " at " << above;
      ASSERT_EQ(db.number("SELECT count(*) FROM " + h), db.number("SELECT count(*) FROM " + t))
          << sql << " at " << above;
      if (code == SQLITE_OK) {
        break;
      }
    }
  }
  db.run("INSERT INTO h2(h2) VALUES ('check')");
}

// SQLite makes a NULL of a zeroblob if it has no memory to write it out. The table has the
// zeroblob, so the answer "no" would be a lie.
TEST(MemoryLimitOfAZeroblob, is_an_error_not_a_null) {
  for (const char* module : {"cuckoo_filter(k)", "bloom_filter(k)", "hash_ring()"}) {
    Database db;
    db.run(std::string("CREATE VIRTUAL TABLE f USING ") + module);
    const bool ring = std::string(module) == "hash_ring()";
    db.run(ring ? "INSERT INTO f(node) VALUES ('a')"
                : "INSERT INTO f(k) VALUES (zeroblob(20000000))");
    const std::string key = ring ? "key" : "k";
    const std::string ask = "SELECT count(*) FROM f WHERE " + key + " = zeroblob(20000000)";
    EXPECT_EQ(db.number(ask), 1) << module;
    {
      const MemoryLimiter limit(1 << 20);
      EXPECT_EQ(db.attempt(ask).code, SQLITE_NOMEM) << module;
      if (!ring) {
        EXPECT_EQ(db.attempt("DELETE FROM f WHERE k = zeroblob(20000000)").code, SQLITE_NOMEM);
      }
    }
    EXPECT_EQ(db.number(ask), 1) << module;
  }
}

}  // namespace
}  // namespace cuckoo::test::table_memory_limit_test
