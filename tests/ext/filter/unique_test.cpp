// unique = on: INSERT adds new keys, and tells which were new.
#include <set>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_unique_test {
namespace {

class Unique : public testing::TestWithParam<const char*> {
 protected:
  Unique() : db(":memory:") {
    db.run("CREATE VIRTUAL TABLE f USING {}, unique = on, seed = 1)", GetParam());
  }
  int64_t items() { return db.number("SELECT count(*) FROM f"); }
  void check() { db.run("INSERT INTO f(f) VALUES ('check')"); }
  QuickDatabase db;
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, Unique,
    testing::Values("cuckoo_filter(url TEXT, capacity = 5000",
                    "cuckoo_filter(url TEXT, capacity = 5000, growth = off",
                    "cuckoo_filter(url TEXT COLLATE NOCASE, capacity = 5000",
                    "bloom_filter(url TEXT, capacity = 5000",
                    "bloom_filter(url TEXT, capacity = 5000, layout = blocked",
                    "bloom_filter(url TEXT, capacity = 5000, counting = on",
                    "bloom_filter(url TEXT, capacity = 5000, counting = on, growth = off",
                    "bloom_filter(url TEXT, capacity = 5000, hash = murmur2",
                    "cuckoo_filter(url TEXT, capacity = 5000, generations = 3",
                    "bloom_filter(url TEXT, capacity = 5000, generations = 64, growth = off"),
    kParameterName);

TEST_P(Unique, every_or_clause_does_what_it_does_to_a_table) {
  db.run("INSERT INTO f VALUES ('a'); CREATE TABLE other(x)");
  db.refuses("INSERT INTO f VALUES ('a')", SQLITE_CONSTRAINT_PRIMARYKEY,
             {"UNIQUE constraint failed: f.url"});
  db.run("INSERT OR IGNORE INTO f VALUES ('a')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 0);
  db.run("INSERT OR IGNORE INTO f VALUES ('b')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.run("INSERT OR REPLACE INTO f VALUES ('a')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  EXPECT_EQ(items(), 2);
  db.run("BEGIN; INSERT INTO other VALUES (1)");
  EXPECT_NE(db.attempt("INSERT INTO f VALUES ('c'), ('a'), ('d')").code, SQLITE_OK);
  EXPECT_EQ(items(), 2) << "ABORT undoes the statement";
  EXPECT_NE(db.attempt("INSERT OR FAIL INTO f VALUES ('c'), ('a'), ('d')").code, SQLITE_OK);
  EXPECT_EQ(items(), 3) << "FAIL keeps what came before";
  EXPECT_NE(db.attempt("INSERT OR ROLLBACK INTO f VALUES ('d'), ('a')").code, SQLITE_OK);
  EXPECT_NE(sqlite3_get_autocommit(db.handle()), 0);
  EXPECT_EQ(items(), 2);
  db.gives("SELECT count(*) FROM other", 0);
  check();
}

TEST_P(Unique, a_skipped_row_leaves_no_text) {
  db.run("INSERT INTO f VALUES ('a'); INSERT OR IGNORE INTO f VALUES ('a'), (NULL)");
  const Outcome outcome = db.attempt("SELECT * FROM f");
  EXPECT_EQ(outcome.message.find("UNIQUE"), std::string::npos) << outcome.message;
}

// A key that INSERT called new is there, whatever happened since, in and out of transactions, and
// with roll-backs. A key that INSERT called present was there.
TEST_P(Unique, changes_tells_what_was_new) {
  std::mt19937_64 random(7);
  std::set<std::string> held;
  std::set<std::string> before;
  bool open = false;
  for (int i = 0; i < 6000; ++i) {
    const std::string key = "https://example.org/" + std::to_string(random() % 3000);
    db.run("INSERT OR IGNORE INTO f VALUES ('{}')", key);
    if (sqlite3_changes(db.handle()) == 1) {
      ASSERT_FALSE(held.contains(key)) << key;
      held.insert(key);
    }
    ASSERT_EQ(db.number("SELECT count(*) FROM f WHERE url = '{}'", key), 1);
    if (random() % 50 == 0) {
      if (!open) {
        db.run("BEGIN");
        before = held;
      } else if (random() % 2 == 0) {
        db.run("COMMIT");
      } else {
        db.run("ROLLBACK");
        held = before;
      }
      open = !open;
    }
  }
  if (open) {
    db.run("COMMIT");
  }
  EXPECT_EQ(static_cast<uint64_t>(items()), held.size());
  for (const std::string& key : held) {
    ASSERT_EQ(db.number("SELECT count(*) FROM f WHERE url = '{}'", key), 1) << key;
  }
  check();
}

using UniqueFilter = WithDatabase;

TEST_F(UniqueFilter, takes_each_hash_of_a_source_a_merge_or_an_import_once) {
  db.run("CREATE TABLE s(u); {}INSERT INTO s SELECT i % 2000 FROM n", with_numbers(0, 5999));
  const auto count = [this](const char* table) {
    db.run("INSERT INTO {}({}) VALUES ('check')", table, table);
    db.gives(sql("SELECT count(*) FROM s CROSS JOIN {} f ON f.u = s.u AND f.count = 1", table),
             6000);
    return db.number(std::string("SELECT count(*) FROM ") + table);
  };
  const auto expect_each_once = [&](const char* table) { EXPECT_EQ(count(table), 2000); };
  for (const std::string module :
       {"cuckoo_filter(u", "bloom_filter(u", "bloom_filter(u, counting = on"}) {
    const std::string using_module = module + ", seed = 5, fpr = 1e-6";  // no two keys look alike
    db.run("CREATE VIRTUAL TABLE f USING {}, source = s(u), triggers = off, unique = on)",
           using_module);
    expect_each_once("f");
    db.run("INSERT INTO f(f) VALUES ('rebuild')");
    expect_each_once("f");
    db.run("CREATE VIRTUAL TABLE m USING {}); INSERT INTO m SELECT u FROM s", using_module);
    db.run("CREATE VIRTUAL TABLE g USING {}, unique = on)", using_module);
    db.run("INSERT INTO g SELECT value FROM json_each('[0, 1, 2, 3]')");
    db.run("INSERT INTO g(g, u) VALUES ('merge', 'm'); INSERT INTO g(g, u) VALUES ('merge', 'f')");
    expect_each_once("g");
    db.run("INSERT INTO g(g, u) SELECT 'merge', filter_export('m', 'hashes')");
    expect_each_once("g");
    db.run("INSERT INTO g(g) VALUES ('clear')");
    db.run("INSERT INTO g(g, u) SELECT 'import', filter_export('m', 'hashes')");
    expect_each_once("g");
    db.run("INSERT OR IGNORE INTO g SELECT u FROM s");
    EXPECT_EQ(sqlite3_changes(db.handle()), 0);
    db.run("INSERT INTO g(g) VALUES ('rebuild')");
    expect_each_once("g");
    if (module != "bloom_filter(u") {
      db.refuses("INSERT INTO g(g, u) SELECT 'import', filter_export('m')",
                 {"unique = on takes each hash once", "'hashes'"});
      db.refuses("INSERT INTO g(g, u) SELECT 'merge', filter_export('m')",
                 {"unique = on skips hashes that it has", "'hashes'"});
      db.run("CREATE VIRTUAL TABLE fixed USING {}, capacity = 9000, growth = off, unique = on)",
             using_module);
      db.refuses("INSERT INTO fixed(fixed, u) VALUES ('merge', 'm')",
                 {"this table keeps none", "growth = on"});
      db.run("INSERT INTO fixed(fixed, u) SELECT 'import', filter_export('m', 'hashes')");
      expect_each_once("fixed");
      db.run("DROP TABLE fixed");
    }
    expect_each_once("g");
    db.run("DROP TABLE f; DROP TABLE g; DROP TABLE m");
  }
}

// After OR REPLACE changes() is 1 even if the key only looked present and was not added.
TEST_F(UniqueFilter, or_replace_does_not_tell_what_was_new) {
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fingerprint_bits = 4, seed = 3, unique = on);"
      "INSERT OR IGNORE INTO f {}; INSERT INTO f(f) VALUES ('rebuild')",
      numbers(0, 899));
  std::vector<int> told;   // to be new, by OR IGNORE
  int left_as_it_was = 0;  // by OR REPLACE
  for (int i = 1000; i < 1200; ++i) {
    const int64_t before = db.number("SELECT count(*) FROM f");
    const char* clause = i % 2 == 0 ? "IGNORE" : "REPLACE";
    db.run("INSERT OR {} INTO f VALUES ({})", clause, i);
    if (i % 2 != 0) {
      EXPECT_EQ(sqlite3_changes(db.handle()), 1);
      left_as_it_was += db.number("SELECT count(*) FROM f") == before ? 1 : 0;
    } else if (sqlite3_changes(db.handle()) == 1) {
      told.push_back(i);
    }
  }
  EXPECT_GT(left_as_it_was, 10);
  db.run("INSERT INTO f(f, k) VALUES ('resize', 60000)");
  for (const int i : told) {
    db.gives(sql("SELECT filter_contains('f', {})", i), 1);
  }
}

// A DELETE of what was never added can take a key's fingerprint out, and the key comes again.
TEST_F(UniqueFilter, rebuilds_with_each_hash_once) {
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fingerprint_bits = 4, seed = 3, unique = on)");
  db.run("BEGIN");
  for (int i = 0; i < 900; ++i) {
    db.run("INSERT OR IGNORE INTO f VALUES ({})", i);
  }
  for (int i = 1000; i < 3000; ++i) {
    db.run("DELETE FROM f WHERE k = " + std::to_string(i));
  }
  db.run("COMMIT; BEGIN");
  for (int i = 0; i < 900; ++i) {
    db.run("INSERT OR IGNORE INTO f VALUES ({})", i);
  }
  db.run("COMMIT; INSERT INTO f(f) VALUES ('check'); INSERT INTO f(f) VALUES ('rebuild')");
  EXPECT_LE(db.number("SELECT count(*) FROM f"), 900);
  db.run("INSERT INTO f(f) VALUES ('check')");
}

}  // namespace
}  // namespace cuckoo::test::filter_unique_test
