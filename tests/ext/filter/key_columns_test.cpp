// Filters whose key has several columns: what is one key, what is a probe, what is refused, and
// what DELETE and UPDATE do.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_key_columns_test {
namespace {

constexpr char kColumns[] = "user_id INTEGER, item_id INTEGER";

std::string create(const std::string& columns = kColumns, const std::string& more = "",
                   const std::string& module = "cuckoo_filter") {
  return "CREATE VIRTUAL TABLE seen USING " + module + "(" + columns + ", seed = 3, fpr = 1e-9" +
         more + ");";
}

// The tests join `shown` with the filter. Users 1 and 2 saw some of the items.
constexpr char kRows[] =
    "INSERT INTO seen VALUES (1, 10), (1, 11), (2, 10);"
    "CREATE TABLE shown(user_id INTEGER, item_id INTEGER);"
    "INSERT INTO shown VALUES (1, 10), (1, 12), (2, 10), (2, 11), (3, 10), (NULL, 10), (1, NULL);";

class KeyColumns : public testing::Test {
 protected:
  KeyColumns() { db.run(create() + kRows); }
  std::string pairs(const std::string& sql) {
    std::string all;
    for (const Row& row : db.rows(sql)) {
      for (size_t i = 0; i < row.size(); ++i) {
        all += (i > 0 ? " " : all.empty() ? "" : ", ") + row[i];
      }
    }
    return all;
  }
  std::string plan(const std::string& sql) { return plan_of(db, sql); }
  Database db;
};

// --- asking --------------------------------------------------------------------------------------

TEST_F(KeyColumns, the_plan_names_all_of_them) {
  EXPECT_NE(plan("SELECT 1 FROM seen WHERE item_id = 1 AND user_id = 2")
                .find("VIRTUAL TABLE INDEX 1:user_id=? AND item_id=?"),
            std::string::npos);
  const std::string join = plan(
      "SELECT * FROM shown JOIN seen USING (user_id, item_id) JOIN shown AS more"
      " ON more.rowid = shown.item_id");
  EXPECT_LT(join.find("VIRTUAL TABLE INDEX 1:user_id=? AND item_id=?"), join.find("more")) << join;
}

TEST_F(KeyColumns, a_probe_needs_a_value_for_each) {
  const std::string whole = "write user_id = ? AND item_id = ?";
  db.refuses("SELECT * FROM seen WHERE user_id = 1",
             {"seen: a filter finds a row by its whole key, and here nothing gives a value to"
              " item_id; ",
              whole});
  db.refuses("SELECT count(*) FROM seen WHERE item_id IN (1, 2)", {"a value to user_id; ", whole});
  db.refuses("SELECT * FROM seen WHERE user_id = 1 AND item_id > 1",
             {"a value to item_id; ", whole});
  db.refuses("SELECT * FROM shown JOIN seen USING (user_id)", {"a value to item_id; ", whole});
  db.refuses("DELETE FROM seen WHERE item_id = 10", {"a value to user_id; ", whole});
  db.refuses("UPDATE seen SET item_id = 1 WHERE user_id = 1", {"a value to item_id; ", whole});
  for (const char* sql : {"SELECT * FROM seen", "SELECT user_id FROM seen", "DELETE FROM seen",
                          "SELECT * FROM seen WHERE user_id > 1", "SELECT cuckoo_key FROM seen"}) {
    db.refuses(sql, {"can't list them", "filter_contains('seen', user_id, item_id)",
                     "user_id = ? AND item_id = ?"});
  }
  for (const char* sql : {"SELECT * FROM seen", "SELECT * FROM seen WHERE user_id = 1"}) {
    EXPECT_NE(plan_of(db, sql).find("an error: no user_id=? AND item_id=?"), std::string::npos)
        << plan_of(db, sql);
  }
  db.run("CREATE VIRTUAL TABLE one USING cuckoo_filter(email)");
  for (const char* sql : {"SELECT count(*) FROM one", "SELECT * FROM one", "DELETE FROM one"}) {
    EXPECT_NE(plan_of(db, sql).find("a count; an error if keys are read"), std::string::npos)
        << plan_of(db, sql);
  }
}

TEST_F(KeyColumns, filter_contains_takes_one_value_for_each) {
  EXPECT_EQ(pairs("SELECT filter_contains('seen', 1, 11), filter_contains('seen', 2, 11),"
                  " filter_contains('seen', '1', 11.0), filter_contains('seen', NULL, 11),"
                  " filter_contains('seen', 1, NULL), filter_contains(NULL, 1, 2)"),
            "1 0 1 NULL NULL NULL");
  EXPECT_EQ(pairs("SELECT user_id, item_id FROM shown WHERE filter_contains('seen', user_id,"
                  " item_id) ORDER BY 1, 2"),
            "1 10, 2 10");
  const std::string text = "filter_contains: a key of seen has 2 columns (user_id, item_id), not ";
  db.refuses("SELECT filter_contains('seen', 1)", {text + "1"});
  db.refuses("SELECT filter_contains('seen', 1, 2, 3)", {text + "3"});
  // Twice, so that the second row finds the filter as the first one left it.
  db.refuses("SELECT filter_contains('seen', value) FROM (SELECT 1 AS value UNION ALL SELECT 2)",
             {text + "1"});
  db.run("CREATE VIRTUAL TABLE one USING cuckoo_filter(email)");
  db.refuses("SELECT filter_contains('one', 1, 2)",
             {"filter_contains: a key of one has 1 column (email), not 2"});
}

// --- changing ------------------------------------------------------------------------------------

TEST_F(KeyColumns, delete_removes_one_occurrence_of_a_key) {
  db.run("INSERT INTO seen VALUES (1, 10); DELETE FROM seen WHERE user_id = 1 AND item_id = 10");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.gives("SELECT filter_contains('seen', 1, 10)", 1);
  db.run("DELETE FROM seen WHERE item_id IN (10, 11, 12) AND user_id IN (1, 2, 3)");
  EXPECT_EQ(sqlite3_changes(db.handle()), 3);
  db.gives("SELECT count(*) FROM seen", 0);
  db.run("INSERT INTO seen SELECT 5, item_id FROM shown WHERE item_id IS NOT NULL");
  db.run("DELETE FROM seen WHERE (user_id, item_id) IN (SELECT 5, item_id FROM shown)");
  EXPECT_EQ(sqlite3_changes(db.handle()), 3) << "10, 11 and 12";
  db.run("DELETE FROM seen WHERE (user_id = 5 AND item_id = 10) OR (item_id = 10 AND user_id = 5)");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1) << "each key once";
  db.run("INSERT INTO seen(seen) VALUES ('check')");
}

TEST_F(KeyColumns, update_of_one_keeps_the_others) {
  db.run("UPDATE seen SET item_id = 99 WHERE user_id = 1 AND item_id = 10");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  EXPECT_EQ(pairs("SELECT filter_contains('seen', 1, 10), filter_contains('seen', 1, 99),"
                  " filter_contains('seen', 1, 11), filter_contains('seen', 2, 10)"),
            "0 1 1 1");
  db.run("UPDATE seen SET user_id = user_id + 4 WHERE user_id = 2 AND item_id = 10");
  db.gives("SELECT filter_contains('seen', 6, 10)", 1);
  db.run(
      "UPDATE seen SET (user_id, item_id) = (item_id, user_id) WHERE (user_id, item_id) = (6, 10)");
  EXPECT_EQ(pairs("SELECT filter_contains('seen', 6, 10), filter_contains('seen', 10, 6)"), "0 1");
  db.refuses("UPDATE seen SET item_id = NULL WHERE user_id = 1 AND item_id = 11",
             SQLITE_CONSTRAINT_NOTNULL, {"NOT NULL constraint failed: seen.item_id"});
  db.refuses("UPDATE seen SET cuckoo_key = x'00' WHERE user_id = 1 AND item_id = 11",
             {"seen: cuckoo_key is made of"});
  db.refuses("UPDATE seen SET count = 5 WHERE user_id = 1 AND item_id = 11",
             {"UPDATE can't set count"});
  db.gives("SELECT count(*) FROM seen", 3);
}

// --- types and collations ------------------------------------------------------------------------

TEST_F(KeyColumns, each_has_its_collation) {
  db.run("DROP TABLE seen; {}INSERT INTO seen VALUES ('Ada', 'Rome ', 'X')",
         create("name TEXT COLLATE NOCASE, place COLLATE RTRIM, exact"));
  EXPECT_EQ(pairs("SELECT name, place, exact FROM seen WHERE name = 'ADA' AND place = 'Rome'"
                  " AND exact = 'X'"),
            "ADA Rome X");
  EXPECT_EQ(pairs("SELECT filter_contains('seen', 'aDA', 'Rome   ', 'X'),"
                  " filter_contains('seen', 'ada', 'rome', 'X'),"
                  " filter_contains('seen', 'ada', 'Rome', 'x')"),
            "1 0 0");
  db.gives("SELECT collation FROM filter_info('seen')", "NOCASE, RTRIM, BINARY");
  db.gives(
      "SELECT count(*) FROM seen WHERE (name = 'ada' AND place = 'Rome' AND"
      " exact = 'X') OR (name = 'ADA' AND place = 'Rome ' AND exact = 'X')",
      1);
  db.run(
      "DELETE FROM seen WHERE (name = 'ada' AND place = 'Rome' AND exact = 'X') OR"
      " (name = 'ADA' AND place = 'Rome ' AND exact = 'X')");
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.gives("SELECT count(*) FROM seen", 0);
}

// --- creating ------------------------------------------------------------------------------------

// Under another type or collation a key has another hash, and would be denied.
TEST(KeyDeclaration, that_was_edited_in_the_schema_is_noticed) {
  struct Case {
    const char *create, *from, *to, *ask, *what;
  };
  const Case cases[] = {
      {"cuckoo_filter(k TEXT)", "k TEXT", "k INTEGER", "SELECT filter_contains('t', 5)",
       "type than the one it was made with, TEXT compared by BINARY"},
      {"bloom_filter(k, j INTEGER)", "k, j INTEGER", "k INTEGER, j",
       "SELECT filter_contains('t', '5', 5)",
       "type than the one it was made with, no type, INTEGER compared by BINARY, BINARY"},
      {"cuckoo_filter(k TEXT COLLATE NOCASE)", "NOCASE", "BINARY", "SELECT filter_contains('t', 5)",
       "collation than the one it was made with, TEXT compared by NOCASE"},
      {"cuckoo_filter(k TEXT, generations = 2)", "(k TEXT", "(k", "SELECT filter_contains('t', 5)",
       "type than the one it was made with, TEXT compared by BINARY"},
      {"cuckoo_filter(k BLOB)", "k BLOB", "k REAL", "SELECT filter_contains('t', '5')",
       "type than the one it was made with, no type compared by BINARY"},
      {"flash_kv(k TEXT, v)", "k TEXT", "k INTEGER", "SELECT count(*) FROM t WHERE k = 5",
       "type than the one it was made with, TEXT"},
      {"flash_kv(k, v)", "(k,", "(k TEXT,", "SELECT count(*) FROM t WHERE k = 5",
       "type than the one it was made with, no type"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.create);
    const TemporaryFolder folder;
    const std::string path = folder.file("t.db");
    const bool flash = std::string(one.create).starts_with("flash");
    QuickDatabase db(path);
    db.run("CREATE VIRTUAL TABLE t USING {}", one.create);
    db.run(std::string("INSERT INTO t VALUES ('5'") +
           (flash || std::string(one.create).find(", j") != std::string::npos ? ", 5)" : ")"));
    db.gives(one.ask, flash && std::string(one.create).find("TEXT") == std::string::npos ? 0 : 1);
    QuickDatabase other(path);
    other.run(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '{}', '{}')"
        " WHERE name = 't'; PRAGMA writable_schema = RESET",
        one.from, one.to);
    const std::vector<std::string> parts = {"t: corrupt: its key is declared with another " +
                                            std::string(one.what)};
    other.refuses(one.ask, SQLITE_CORRUPT, parts);
    other.refuses("INSERT INTO t(t) VALUES ('check')", SQLITE_CORRUPT, parts);
    QuickDatabase(path).refuses(one.ask, SQLITE_CORRUPT, parts);
    db.run("SELECT count(*) FROM sqlite_schema");
    other.run(
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '{}', '{}')"
        " WHERE name = 't'; PRAGMA writable_schema = RESET",
        one.to, one.from);
    other.run("INSERT INTO t(t) VALUES ('check')");
  }
}

TEST(LargeKey, leaves_no_memory_behind) {
  for (const char* columns : {"a", "a COLLATE NOCASE", "a, b", "a COLLATE NOCASE, b"}) {
    SCOPED_TRACE(columns);
    const bool two = std::string(columns).find('b') != std::string::npos;
    Database db;
    db.run("PRAGMA cache_size = 10; CREATE TABLE big(a, b); CREATE TABLE small(a, b)");
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter({}, growth = off)", columns);
    db.run("INSERT INTO small VALUES ('a', 'b')");
    db.run("INSERT INTO big VALUES (hex(zeroblob(500000)), zeroblob(1000000))");
    const std::string of = two ? "a, b" : "a";
    const std::string same = two ? "f.a = t.a AND f.b = t.b" : "f.a = t.a";
    int64_t used = 0;
    for (const char* table : {"small", "big"}) {
      const std::string from = std::string(" FROM ") + table + " AS t";
      db.run("INSERT INTO f SELECT " + of + from);
      db.gives("SELECT filter_contains('f', " + of + ")" + from, 1);
      db.gives("SELECT length(f.a) > 0" + from + " JOIN f ON " + same, 1);
      db.gives("SELECT 1" + from + " WHERE EXISTS (SELECT 1 FROM f WHERE " + same + ")", 1);
      db.run("DELETE FROM f WHERE " + std::string(two ? "(a, b) = (SELECT a, b" : "a = (SELECT a") +
             from + ")");
      db.gives("SELECT count(*) FROM f", 0);
      used = sqlite3_memory_used() - used;
    }
    EXPECT_LT(used, 1 << 18);
  }
}

TEST_F(KeyColumns, bloom_filters_and_windows_have_them) {
  for (const char* more : {"", ", layout = blocked", ", counting = on", ", generations = 3"}) {
    db.run("DROP TABLE seen; {}INSERT INTO seen VALUES ('a', 1), ('b', 2)",
           create("a TEXT, b INTEGER", more, "bloom_filter"));
    EXPECT_EQ(pairs("SELECT * FROM seen WHERE a IN ('a', 'b') AND b IN (1, 2) ORDER BY 1"),
              "a 1, b 2")
        << more;
    db.run("INSERT INTO seen(seen) VALUES ('check')");
  }
  for (const char* expected : {"a 1, b 2", "a 1, b 2", "a 1, b 2", ""}) {
    EXPECT_EQ(pairs("SELECT * FROM seen WHERE a IN ('a', 'b') AND b IN (1, 2) ORDER BY 1"),
              expected);
    db.run("INSERT INTO seen(seen) VALUES ('rotate')");
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_key_columns_test
