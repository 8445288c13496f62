// Plans, memory and damage of filters whose key has several columns; key_columns.test has the rest.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_key_columns_test {
namespace {

TEST(KeyColumns, are_named_by_plans) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(user_id INTEGER, item_id INTEGER);"
      "CREATE VIRTUAL TABLE one USING cuckoo_filter(email);"
      "CREATE TABLE shown(user_id INTEGER, item_id INTEGER)");
  const auto expect_plan = [&db](const std::string& sql, const std::string& part) {
    EXPECT_NE(plan_of(db, sql).find(part), std::string::npos) << sql << "\n" << plan_of(db, sql);
  };
  const std::string whole = "VIRTUAL TABLE INDEX 1:user_id=? AND item_id=?";
  expect_plan("SELECT 1 FROM seen WHERE item_id = 1 AND user_id = 2", whole);
  const std::string join = plan_of(db,
                                   "SELECT * FROM shown JOIN seen USING (user_id, item_id)"
                                   " JOIN shown AS more ON more.rowid = shown.item_id");
  EXPECT_LT(join.find(whole), join.find("more")) << join;
  for (const char* sql : {"SELECT * FROM seen", "SELECT * FROM seen WHERE user_id = 1"}) {
    expect_plan(sql, "an error: no user_id=? AND item_id=?");
  }
  for (const char* sql : {"SELECT count(*) FROM one", "SELECT * FROM one", "DELETE FROM one"}) {
    expect_plan(sql, "a count; an error if keys are read");
  }
}

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

}  // namespace
}  // namespace cuckoo::test::filter_key_columns_test
