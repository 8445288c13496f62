// Databases that the first format's code wrote (tests/golden/): they are read, and written on with
// the very bytes that it would have written.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test {
namespace {

// A dump read back; tables are virtual again when it is opened anew.
void restore(const std::string& file, const std::string& dump) {
  QuickDatabase db(file);
  db.run(golden(dump));
}

// What the triggers of that time did. The filter does not answer where they came from a dump, and
// they ask it.
void replace_triggers(Database& db) {
  for (const char* event : {"insert", "update", "delete"}) {
    db.run(std::string("DROP TRIGGER s_source_") + event);
  }
  db.run(
      "CREATE TRIGGER add_new AFTER INSERT ON words BEGIN INSERT INTO s(w) VALUES (new.w); END;"
      "CREATE TRIGGER change AFTER UPDATE ON words BEGIN"
      " INSERT INTO s(s, w) VALUES ('delete', old.w); INSERT INTO s(w) VALUES (new.w); END;"
      "CREATE TRIGGER take_old AFTER DELETE ON words BEGIN"
      " INSERT INTO s(s, w) VALUES ('delete', old.w); END");
}

std::string tables_of(Database& db) {
  return db.list(
      "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL%'"
      " AND name <> 's_source_seal' ORDER BY name");
}

class OlderFormat : public testing::TestWithParam<const char*> {
 protected:
  TemporaryFolder folder_;
  const std::string file_ = folder_.file("older.db");
};

INSTANTIATE_TEST_SUITE_P(Golden, OlderFormat, testing::Values("filters"),
                         [](const auto& name) { return std::string(name.param); });

TEST_P(OlderFormat, is_written_on_with_the_bytes_of_its_own_time) {
  const std::string name = GetParam();
  restore(file_, name + "-1.sql");
  {
    QuickDatabase db(file_);
    replace_triggers(db);
    db.run(golden(name + "-1-steps.sql"));
  }
  const std::string expected_file = folder_.file("expected.db");
  restore(expected_file, name + "-1-after.sql");
  QuickDatabase now(file_);
  QuickDatabase expected(expected_file);
  ASSERT_EQ(tables_of(now), tables_of(expected));
  std::istringstream tables(tables_of(expected));
  for (std::string table; std::getline(tables, table, ',');) {
    EXPECT_EQ(shadow_rows(now, table), shadow_rows(expected, table)) << table;
  }
}

TEST(OlderFormatOfFilters, is_read_under_its_own_rules) {
  TemporaryFolder folder;
  const std::string file = folder.file("older.db");
  restore(file, "filters-1.sql");
  QuickDatabase db(file);
  db.refuses("SELECT count(*) FROM s", SQLITE_ERROR, {"s: the triggers", "rebuild"});
  db.run("INSERT INTO s(s) VALUES ('rebuild')");
  for (const auto& [name, items] : {std::pair("c", 52),
                                    {"off", 50},
                                    {"b", 39},
                                    {"bl", 39},
                                    {"co", 74},
                                    {"le", 39},
                                    {"wi", 48},
                                    {"s", 40}}) {
    const std::string table = name;
    EXPECT_EQ(db.number("SELECT count(*) FROM " + table), items) << name;
    EXPECT_EQ(db.text("SELECT collation || key_types IS NULL FROM filter_info('" + table + "')"),
              "1");
    if (table != "s") {
      db.run("INSERT INTO " + table + "(" + table + ") VALUES ('check')");
    }
  }
  EXPECT_EQ(db.number("SELECT count(*) FROM n JOIN c ON c.k = 'key ' || i"), 49);
  EXPECT_EQ(db.number("SELECT count(*) FROM n JOIN b ON b.k = i WHERE i < 40"), 39);
  EXPECT_EQ(db.number("SELECT count FROM co WHERE k = 7"), 51);
  // A source's collation came with the second format: what is there was hashed as it is.
  EXPECT_EQ(db.number("SELECT filter_contains('s', 'Word 3') + filter_contains('s', 'WORD 3')"), 1);
  // … and so is what it gives away.
  EXPECT_EQ(db.text("SELECT hex(substr(filter_export('c'), 5, 4))"), "01000000");
  EXPECT_EQ(db.text("SELECT key_types FROM filter_info(filter_export('c'))"), "NULL");
}

}  // namespace
}  // namespace cuckoo::test
