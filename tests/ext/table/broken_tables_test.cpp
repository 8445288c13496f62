// One broken table among others: filter_info tells what is wrong with it, and shows the others in
// full.
#include "tests/support/database.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_broken_tables_test {
namespace {

TEST(BrokenTable, does_not_hide_the_others) {
  for (const char* damage : {"DELETE FROM bad_config", "DROP TABLE bad_config",
                             "UPDATE bad_config SET value = 9 WHERE key = 'format'",
                             "UPDATE bad_data SET block = x'00' WHERE id = 0",
                             "DELETE FROM bad_data", "DROP TABLE bad_data"}) {
    TemporaryFolder folder;
    const std::string file = folder.file("b.db");
    {
      QuickDatabase db(file);
      db.run(
          "CREATE VIRTUAL TABLE bad USING cuckoo_filter(seed = 1); INSERT INTO bad VALUES (1);"
          "CREATE VIRTUAL TABLE a USING bloom_filter(seed = 1); INSERT INTO a VALUES (1), (2);"
          "CREATE VIRTUAL TABLE z USING cuckoo_filter(seed = 1); INSERT INTO z VALUES (3)");
      db.run(damage);
    }
    QuickDatabase db(file);
    EXPECT_EQ(db.list("SELECT name || coalesce(items, '-') || (error IS NULL) FROM filter_info"),
              "a21,bad-0,z11")
        << damage;
    const std::string error = db.text("SELECT error FROM filter_info WHERE name = 'bad'");
    EXPECT_TRUE(error.starts_with("bad: ")) << damage << ": " << error;
    db.gives("SELECT error FROM filter_info('bad')", error);
    db.gives(
        "SELECT count(*) FROM filter_info('bad') WHERE schema = 'main' AND name ="
        " 'bad' AND kind IS NULL AND memory_bytes IS NULL AND probes IS NULL",
        1);
    db.gives("DROP TABLE bad; SELECT name FROM filter_info WHERE error IS NULL", "a,z");
  }
}

TEST(BrokenTable, of_flash_does_not_hide_the_others) {
  TemporaryFolder folder;
  const std::string file = folder.file("b.db");
  {
    QuickDatabase db(file);
    db.run(
        "CREATE VIRTUAL TABLE bad USING flash_kv(size = '64KB'); INSERT INTO bad VALUES (1, 1);"
        "CREATE VIRTUAL TABLE kv USING flash_kv(size = '64KB'); INSERT INTO kv VALUES (1, 1), (2, "
        "2);"
        "DELETE FROM bad_pages");
  }
  QuickDatabase db(file);
  db.gives("SELECT name || coalesce(entries, '-') || (error IS NULL) FROM flash_kv_info",
           "bad-0,kv21");
  const std::string error = db.text("SELECT error FROM flash_kv_info('bad')");
  EXPECT_TRUE(error.starts_with("bad: corrupt")) << error;
  db.gives(
      "SELECT live_bytes IS NULL AND usable_bytes IS NULL AND schema = 'main'"
      " FROM flash_kv_info('bad')",
      1);
}

TEST(BrokenTable, by_triggers_that_are_gone_says_so) {
  Database db;
  db.run(
      "CREATE TABLE t(a); INSERT INTO t VALUES (1);"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(source = t(a), triggers = on);"
      "CREATE VIRTUAL TABLE g USING cuckoo_filter()");
  db.run(drop_of_own(db, "f", "insert"));
  db.gives("SELECT name FROM filter_info WHERE error LIKE '%triggers%gone%rebuild%'", "f");
  db.gives("SELECT name FROM filter_info WHERE error IS NULL", "g");
}

// Opening the table does not read the damaged page, but a column of the table's row does.
TEST(BrokenTable, of_flash_in_the_middle_does_not_hide_the_others) {
  TemporaryFolder folder;
  const std::string file = folder.file("b.db");
  {
    QuickDatabase db(file);
    db.run(
        "CREATE VIRTUAL TABLE bad USING flash_kv(k, v, size = '1MB', seed = 1);"
        "CREATE VIRTUAL TABLE good USING flash_kv(k, v, size = '1MB', seed = 1)");
    for (const char* name : {"bad", "good"}) {
      db.run(
          "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 3000) INSERT"
          " INTO {}(k, v) SELECT i, hex(zeroblob(25)) FROM c",
          name);
    }
    db.run("UPDATE bad_pages SET page = zeroblob(10) WHERE id IN (40, -1)");
  }
  for (const char* columns : {"error, live_bytes", "live_bytes, error", "dead_bytes + 0, error",
                              "free_bytes, error", "*"}) {
    QuickDatabase db(file);
    EXPECT_EQ(db.rows("SELECT {} FROM flash_kv_info", columns).size(), 2u);
  }
  QuickDatabase db(file);
  db.gives(
      "SELECT name || (live_bytes > 0) || (error IS NULL) FROM flash_kv_info"
      " WHERE live_bytes IS NOT NULL",
      "good11");
  db.gives(
      "SELECT name FROM flash_kv_info WHERE live_bytes IS NULL AND"
      " error LIKE 'bad: corrupt: %40%'",
      "bad");
}

}  // namespace
}  // namespace cuckoo::test::table_broken_tables_test
