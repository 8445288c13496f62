// A database of filters that was written once (tests/golden/): the same statements still leave the
// same bytes, and we can read the database and write to it. A table of another format is refused.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test::table_stored_filters_test {
namespace {

constexpr char kMake[] =
    "CREATE TABLE n(i INTEGER PRIMARY KEY);"
    "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 100)"
    " INSERT INTO n SELECT i FROM c;"
    "CREATE TABLE words(w TEXT COLLATE NOCASE);"
    "INSERT INTO words SELECT 'Word ' || i FROM n WHERE i <= 40;"
    "CREATE VIRTUAL TABLE c USING cuckoo_filter(k TEXT, capacity = 60, fpr = 0.01, seed = 11);"
    "CREATE VIRTUAL TABLE off USING cuckoo_filter(capacity = 100, growth = off, seed = 12);"
    "CREATE VIRTUAL TABLE b USING bloom_filter(k, capacity = 50, fpr = 0.02, seed = 13);"
    "CREATE VIRTUAL TABLE bl USING bloom_filter(k, capacity = 50, layout = blocked, seed = 14);"
    "CREATE VIRTUAL TABLE co USING"
    " bloom_filter(k INTEGER, capacity = 30, fpr = 0.1, counting = on, seed = 15);"
    "CREATE VIRTUAL TABLE le USING bloom_filter(k TEXT, capacity = 50, hash = murmur2, seed = 16);"
    "CREATE VIRTUAL TABLE wi USING"
    " cuckoo_filter(k, capacity = 40, fpr = 0.05, generations = 3, seed = 17);"
    "CREATE VIRTUAL TABLE s USING"
    " cuckoo_filter(w, source = words(w), triggers = off, capacity = 60, seed = 18);"
    "INSERT INTO c SELECT 'key ' || i FROM n WHERE i <= 50;"
    "INSERT INTO c(c) VALUES ('rebuild');"
    "INSERT INTO c SELECT 'key 1' FROM n WHERE i <= 20; DELETE FROM c WHERE k = 'key 2';"
    "INSERT INTO off SELECT i FROM n WHERE i <= 60; DELETE FROM off WHERE key = 7;"
    "INSERT INTO b SELECT i FROM n; INSERT INTO b(b) VALUES ('rebuild');"
    "INSERT INTO bl SELECT i FROM n WHERE i <= 40;"
    "INSERT INTO co SELECT 7 FROM n; INSERT INTO co SELECT i FROM n;"
    "INSERT INTO co(co) VALUES ('rebuild'); DELETE FROM co WHERE k = 9;"
    "INSERT INTO le SELECT 'key ' || i FROM n WHERE i <= 40;"
    "INSERT INTO wi SELECT i FROM n WHERE i <= 30; INSERT INTO wi(wi) VALUES ('rotate');"
    "INSERT INTO wi SELECT i FROM n WHERE i > 70;"
    "UPDATE words SET w = 'changed' WHERE rowid = 3; DELETE FROM words WHERE rowid = 4;"
    "INSERT INTO s(s) VALUES ('rebuild');";

constexpr char kGoOn[] =
    "INSERT INTO c SELECT 'more ' || i FROM n; DELETE FROM c WHERE k = 'key 4';"
    "INSERT INTO c(c) VALUES ('rebuild');"
    "INSERT INTO off SELECT -i FROM n WHERE i < 30; DELETE FROM off WHERE key = 9;"
    "INSERT INTO b SELECT -i FROM n; INSERT INTO b(b) VALUES ('rebuild');"
    "INSERT INTO bl SELECT -i FROM n; INSERT INTO bl(bl, k) VALUES ('resize', 500);"
    "DELETE FROM co WHERE k = 7; INSERT INTO co VALUES (99);"
    "INSERT INTO le VALUES ('x');"
    "INSERT INTO wi(wi) VALUES ('rotate'); INSERT INTO wi VALUES ('x');"
    "INSERT INTO wi(wi) VALUES ('rotate');"
    "UPDATE words SET w = upper(w) WHERE rowid < 9; INSERT INTO words VALUES ('new');"
    "INSERT INTO s(s) VALUES ('rebuild');";

constexpr const char* kTables[] = {"c", "off", "b", "bl", "co", "le", "wi", "s"};

class StoredFilters : public testing::Test {
 protected:
  // Makes the database whose rows the golden file has.
  void make(Database& db) {
    db.run("PRAGMA page_size = 4096");
    db.run(kMake);
  }
  // Its shadow rows, one a line.
  static std::string rows_of(Database& db) {
    std::string text;
    for (const char* table : kTables) {
      for (const Row& row : shadow_rows(db, table)) {
        text += std::string(table) + row[0] + "|" + row[1] + "|" + row[2] + "\n";
      }
    }
    return text;
  }
  // Replaces all shadow rows by the rows in `text`.
  static void put_rows(Database& db, const std::string& text) {
    for (const char* table : kTables) {
      db.run("DELETE FROM {}_config; DELETE FROM {}_data", table, table);
    }
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const size_t first = line.find('|');
      const size_t second = line.find('|', first + 1);
      db.run("INSERT INTO {} VALUES ({}, {})", line.substr(0, first),
             line.substr(first + 1, second - first - 1), line.substr(second + 1));
    }
  }

  TemporaryFolder folder_;
  const std::string file_ = folder_.file("filters.db");
};

TEST_F(StoredFilters, have_the_bytes_that_they_always_had) {
  QuickDatabase db(file_);
  make(db);
  EXPECT_EQ(rows_of(db), golden("filters-4.rows"));
}

TEST_F(StoredFilters, are_read_and_written_on) {
  {
    QuickDatabase db(file_);
    make(db);
    db.run("INSERT INTO c SELECT 'other ' || i FROM n; INSERT INTO wi(wi) VALUES ('rotate')");
    put_rows(db, golden("filters-4.rows"));
  }
  QuickDatabase db(file_);
  for (const auto& [name, items] :
       {std::pair("c", 69), {"off", 59}, {"co", 199}, {"le", 40}, {"wi", 60}, {"s", 39}}) {
    db.gives("SELECT count(*) FROM " + std::string(name), items);
    db.gives(sql("SELECT cuckoo_check('{}')", name), "ok");
  }
  db.gives("SELECT count(*) FROM n JOIN b ON b.k = i", 100);
  db.gives("SELECT count(*) FROM n JOIN bl ON bl.k = i WHERE i <= 40", 40);
  db.gives("SELECT count FROM co WHERE k = 7", 101);
  db.gives("SELECT filter_contains('s', 'WORD 5')", 1);
  db.run(kGoOn);
  QuickDatabase fresh(folder_.file("fresh.db"));
  make(fresh);
  fresh.run(kGoOn);
  EXPECT_EQ(rows_of(db), rows_of(fresh));
}

TEST_F(StoredFilters, of_another_format_are_refused_and_can_be_dropped) {
  for (const int format : {1, 3, 5}) {
    const std::string file = folder_.file("format" + std::to_string(format) + ".db");
    {
      QuickDatabase db(file);
      make(db);
      db.run("UPDATE c_config SET value = {} WHERE key = 'format'", format);
    }
    QuickDatabase db(file);
    const char* const why = format < 4 ? "before the first release" : "format 5";
    db.refuses("SELECT count(*) FROM c", SQLITE_CORRUPT, {"c: ", why});
    db.refuses("INSERT INTO c VALUES ('x')", SQLITE_CORRUPT, {"c: ", why});
    db.gives("SELECT count(*) FROM off", 59);
    db.run("DROP TABLE c");
  }
}

// Writes the golden file. To be run when the format changes, with
// --gtest_also_run_disabled_tests.
TEST_F(StoredFilters, DISABLED_write_the_file) {
  QuickDatabase db(file_);
  make(db);
  std::ofstream out(source_path("tests/golden/filters-4.rows"), std::ios::trunc);
  out << rows_of(db);
  EXPECT_TRUE(out.good());
}

}  // namespace
}  // namespace cuckoo::test::table_stored_filters_test
