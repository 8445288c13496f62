// CREATE VIRTUAL TABLE … USING flash_kv(…): which columns and options it takes, which it refuses,
// and what it stores.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_create_test {
namespace {

class FlashCreate : public testing::Test {
 protected:
  std::string info(const std::string& arguments, const std::string& columns) {
    db.run("CREATE VIRTUAL TABLE kv USING flash_kv({})", arguments);
    const std::vector<Row> rows = db.rows("SELECT {} FROM flash_kv_info('kv')", columns);
    std::string text;
    for (const std::string& column : rows.at(0)) {
      text += (text.empty() ? "" : " ") + column;
    }
    db.run("DROP TABLE kv");
    return text;
  }
  Database db;
};

TEST_F(FlashCreate, refuses_what_is_out_of_range_and_states_the_range) {
  expect_values_refused(
      "flash_kv",
      {{"sector_size", {"256", "131072"}, "512 to 64KB"},
       {"erase_block", {"0", "1025"}, "1 to 1024"},
       {"program_unit", {"8", "48"}, "16, 32 or 64"},
       {"endurance", {"19", "1000000001"}, "20 to 10^9"},
       {"digest", {"md5"}, "sha1 or sha256"},
       {"hashes", {"1", "5"}, "2 to 4"},
       {"ways", {"0", "9"}, "1 to 8"},
       {"seed", {"red", "1 2"}, "64-bit integer"},
       {"size", {"'1PB'", "12345.5", "-5", "'64MBX'", "MB"}, "16 erase blocks to 2^32 program"},
       {"size", {"'1KB'", "'60KB'", "'100TB'", "1e14"}, "64KB (16 erase blocks of 4KB) to 64GB"},
       {"sectors", {"0", "1.5"}, "a whole number of sectors"},
       {"sectors", {"1", "60"}, "64 (16 erase blocks of 4)"}});
  expect_arguments_refused(
      "flash_kv",
      {{"sector_size = 1000", {"f: ", "sector size is 1000", "a power of two"}},
       {"size = '60KB'", {"option size is 60KB", "64KB (16 erase blocks of 4KB)", "64GB"}},
       {"size = '65GB'", {"option size is 65GB", "2^32 program units of 16 bytes"}},
       {"size = '100TB'", {"option size is 100TB, expected 64KB"}},
       {"sectors = 60", {"option sectors is 60, expected 64 (16 erase blocks of 4)"}}});
}

TEST_F(FlashCreate, refuses_options_and_columns_that_can_not_be) {
  const std::string options =
      "size, sectors, sector_size, erase_block, program_unit, endurance, digest, hashes, ways,"
      " seed";
  expect_arguments_refused(
      "flash_kv", {{"size = '1MB', sectors = 1024", {"size and sectors exclude one another"}},
                   {"size = '1MB', size = '1MB'", {"size is given twice"}},
                   {"hits = 100", {"unknown option \"hits\"; the options are " + options}},
                   {"seed = '1' x", {"has text that does not belong"}},
                   {"a, b, c", {"two columns, key and value", "c"}},
                   {"a, A", {"two columns are called"}},
                   {"a, seq", {"may not be called seq"}},
                   {"sector, b", {"may not be called sector"}},
                   {"a, Digest TEXT", {"may not be called digest"}},
                   {"f, b", {"called like one of its columns"}},
                   {"a, F", {"called like one of its columns"}},
                   {"a TEXT NOT NULL", {"takes a name and a type only"}},
                   {"a TEXT COLLATE NOCASE", {"takes a name and a type only"}}});
  for (const char* name : {"seq", "sector", "digest", "value", "key"}) {
    db.refuses(sql("CREATE VIRTUAL TABLE {} USING flash_kv", name),
               {"called like one of its columns"});
  }
  db.run("CREATE VIRTUAL TABLE kv USING flash_kv(a, b)");
  for (const char* name : {"a", "B", "seq"}) {
    db.refuses(std::string("ALTER TABLE kv RENAME TO ") + name, {"called like one of its columns"});
  }
  db.run("INSERT INTO kv VALUES (1, 2)");
}

TEST_F(FlashCreate, makes_and_drops_two_shadow_tables) {
  db.run("CREATE TABLE kv_log(a); CREATE TABLE kv_items(a)");  // the user's own
  db.run("CREATE VIRTUAL TABLE kv USING flash_kv");
  db.gives("SELECT name FROM sqlite_schema WHERE name GLOB 'kv_*' ORDER BY 1",
           "kv_config,kv_items,kv_log,kv_pages");
  db.run("PRAGMA defensive; INSERT INTO kv_log VALUES (1)");
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  db.run("INSERT INTO kv_log VALUES (2)");
  db.refuses("DELETE FROM kv_pages", {"may not be modified"});
  db.refuses("DELETE FROM kv_config", {"may not be modified"});
  db.run("INSERT INTO kv VALUES (1, 1)");
  db.gives("ALTER TABLE kv RENAME TO other; SELECT value FROM other", "1");
  db.gives("DROP TABLE other; SELECT name FROM sqlite_schema ORDER BY 1", "kv_items,kv_log");
}

TEST_F(FlashCreate, a_plan_says_what_a_table_can_use) {
  for (const auto& [arguments, options] :
       {std::pair("'64KB'", "size = '64KB'"),
        {"131072", "size = '128KB'"},
        {"'1.5 MB', 512", "size = '1.5MB', sector_size = 512"},
        {"'16MB', '4KB', 16", "size = '16MB', sector_size = '4KB', erase_block = 16"}}) {
    const std::string columns = "size_bytes || ' ' || sectors || ' ' || usable_bytes";
    Database db;
    db.gives(sql("SELECT {} FROM flash_kv_plan({})", columns, arguments), info(options, columns));
  }
  Database db;
  db.gives("SELECT usable_share BETWEEN 0.15 AND 0.17 FROM flash_kv_plan('64KB')", "1");
  db.gives("SELECT max_key_bytes FROM flash_kv_plan('64KB')", "4031");
  db.gives("SELECT size || sector_size || erase_block FROM flash_kv_plan('1MB', 512, 4)",
           "1MB5124");
  db.gives("SELECT count(*) FROM flash_kv_plan(NULL)", "0");
  db.gives("SELECT count(*) FROM flash_kv_plan('1MB', NULL)", "0");
  db.run("CREATE TABLE t(s); INSERT INTO t VALUES ('64KB'), (131072)");
  db.gives("SELECT size_bytes FROM t, flash_kv_plan(s)", "65536,131072");
  db.refuses("SELECT * FROM flash_kv_plan", {"flash_kv_plan: the arguments are"});
  db.refuses("SELECT * FROM flash_kv_plan('much')",
             {"flash_kv_plan: size is ", "much", "expected a size, such as '64KB'"});
  db.refuses("SELECT * FROM flash_kv_plan('16KB')",
             {"flash_kv_plan: the size is 16KB, expected 64KB"});
  db.refuses("SELECT * FROM flash_kv_plan('1MB', 1000)", {"flash_kv_plan: "});
  db.refuses("SELECT * FROM flash_kv_plan('1MB', 512, 1.5)",
             {"flash_kv_plan: erase_block is 1.5, expected a whole number of sectors"});
}

}  // namespace
}  // namespace flash_create_test
}  // namespace cuckoo::test
