// triggers = on: a filter that follows its source through all that SQLite lets happen to a table.
#include <cstring>
#include <sstream>

#include "tests/support/database.hpp"
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_source_trigger_test {
namespace {

class SourceTrigger : public testing::TestWithParam<const char*> {
 protected:
  static std::string create(const std::string& source, const std::string& table = "f") {
    return "CREATE VIRTUAL TABLE " + table + " USING " + GetParam() + ", source = " + source +
           ", triggers = on)";
  }
  // Every value of the column is there, as often as in the column, and nothing else is.
  void expect_in_step(Database& one, const std::string& column = "a",
                      const std::string& table = "t", const std::string& filter = "f") {
    one.gives(sql("SELECT count(*) FROM {} WHERE {} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {} AS"
                  " x WHERE x.key = {})",
                  table, column, filter, column),
              0);
    one.gives("SELECT count(*) FROM " + filter,
              one.number("SELECT count({}) FROM {}", column, table));
    one.gives(sql("SELECT count(*) FROM (SELECT {} AS k, count(*) AS n FROM {} WHERE {} IS NOT NULL"
                  " GROUP BY {}) JOIN {} AS x ON x.key = k WHERE x.count <> n",
                  column, table, column, column, filter),
              0);
  }
  void step(const std::string& sql) {
    SCOPED_TRACE(sql);
    db.run(sql);
    expect_in_step(db);
  }
  void steps(const std::vector<std::string>& all) {
    for (const std::string& each : all) {
      step(each);
    }
  }
  std::string triggers() { return triggers_of(db); }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, SourceTrigger,
                         testing::Values("cuckoo_filter(fingerprint_bits = 28, seed = 1",
                                         "bloom_filter(counting = on, fpr = 1e-7, seed = 1"),
                         kParameterName);

TEST_P(SourceTrigger, adds_the_new_value_where_the_old_one_was_missed) {
  db.run("CREATE TABLE t(a)");
  db.run(create("t(a)"));
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  db.run("INSERT INTO t VALUES ('missed')");
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
  db.gives("SELECT count(*) FROM f", 0);
  steps({"UPDATE t SET a = 'found'", "UPDATE t SET a = 'found'", "UPDATE t SET a = NULL",
         "UPDATE t SET a = NULL", "UPDATE t SET a = 'back'", "UPDATE OR REPLACE t SET a = 1",
         "UPDATE OR IGNORE t SET a = 1.5"});
}

// Such a filter has every key that the table had, until 'rebuild'.
TEST(SourceTriggerOfSet, only_adds) {
  for (const char* source : {"t(a)", "t(lower(a)), where = 'b > 0'"}) {
    for (const char* kind : {"layout = standard", "layout = blocked", "hash = murmur2"}) {
      SCOPED_TRACE(std::string(source) + " " + kind);
      Database db;
      db.run("CREATE TABLE t(a TEXT, b); INSERT INTO t VALUES ('old', 1)");
      db.run(
          sql("CREATE VIRTUAL TABLE f USING bloom_filter({}, source = {}, triggers = on,"
              " capacity = 1000, fpr = 1e-6, seed = 1)",
              kind, source));
      EXPECT_EQ(triggers_of(db), "f_source_insert,f_source_update");
      db.run(
          "INSERT INTO t VALUES ('new', 1), ('left', 1); UPDATE t SET a = 'later' WHERE a = 'new';"
          "DELETE FROM t WHERE a = 'left'; UPDATE t SET a = 'old'; INSERT INTO f(f) VALUES "
          "('check')");
      db.gives("SELECT key FROM f WHERE key IN ('old', 'new', 'left', 'later', 'x')",
               "later,left,new,old");
      db.run("ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME COLUMN a TO c");
      db.run("INSERT INTO u VALUES ('renamed', 1)");
      db.gives("SELECT key FROM f WHERE key = 'renamed'", "renamed");
      db.run("INSERT INTO f(f) VALUES ('rebuild')");
      db.gives("SELECT key FROM f WHERE key IN ('old', 'new', 'left', 'later', 'renamed')",
               "old,renamed");
      db.run(drop_of_own(db, "f", "update"));
      db.refuses("SELECT 1 FROM f WHERE key = 'old'", {"the triggers on its source are gone"});
      db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO u VALUES ('again', 1)");
      db.gives("SELECT key FROM f WHERE key = 'again'", "again");
      db.run("DROP TABLE f");
      db.gives("SELECT count(*) FROM sqlite_schema", 1);
    }
  }
}

// No trigger runs for a row that REPLACE deletes. So a stale copy stays until 'rebuild' takes it
// away.
TEST_P(SourceTrigger, misses_what_replace_deletes_unless_triggers_recurse) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE COLLATE NOCASE)");
  db.run(create("t(a)") + "; INSERT INTO t VALUES (1, 'x'), (2, 'y')");
  db.run(
      "REPLACE INTO t VALUES (1, 'z'); INSERT OR REPLACE INTO t VALUES (3, 'Y');"
      "UPDATE OR REPLACE t SET a = 'Z' WHERE id = 3");
  db.gives("SELECT a FROM t ORDER BY id", "Z");
  db.gives("SELECT lower(key) FROM f WHERE key IN ('x', 'y', 'z', 'Y', 'Z')", "x,y,z");
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  expect_in_step(db);
  db.gives("SELECT lower(key) FROM f WHERE key IN ('x', 'y', 'z', 'Y', 'Z')", "z");
  db.run("PRAGMA recursive_triggers = ON");
  steps({"REPLACE INTO t VALUES (3, 'w'), (4, 'v')", "REPLACE INTO t VALUES (5, 'W')",
         "UPDATE OR REPLACE t SET a = 'V' WHERE id = 5"});
  db.gives("SELECT a FROM t", "V");
}

// When a CREATE is undone, the keys that its load left pending must go, too.
TEST_P(SourceTrigger, made_in_a_savepoint_that_is_undone_writes_nothing_more) {
  db.run(
      "CREATE TABLE t(a); INSERT INTO t VALUES ('x'); CREATE TABLE z(b); INSERT INTO z VALUES"
      " (1), (2); BEGIN; SAVEPOINT s; SAVEPOINT r");
  step(create("t(a)"));
  db.run("ROLLBACK TO r; UPDATE OR FAIL z SET b = 3; INSERT INTO t VALUES ('y'), ('z')");
  steps({create("t(a)"), "INSERT INTO t VALUES ('w')"});
  db.run("ROLLBACK TO s; INSERT INTO z SELECT * FROM z; INSERT INTO t VALUES ('v'), ('u')");
  steps({create("t(a)") + "; COMMIT", "INSERT INTO f(f) VALUES ('check')"});
}

// --- names -------------------------------------------------------------------------------------

TEST_P(SourceTrigger, work_for_names_with_anything_in_them) {
  const std::pair<const char*, const char*> names[] = {
      {"\"a t\"", "\"x \"\"y\""},
      {"\"it's\"", "\"it's\""},
      {"\"select\"", "\"from\""},
      {"[a.b]", "[c.d]"},
      {"\"(\"", "\")\""},
      {"\"таблица\"", "\"ключ\""},
      {"\"a; DROP TABLE z\"", "\"--\""},
      {"\"new\"", "\"old\""},
      {"\"100%\"", "\"%w\""},
      {"\"x WHEN new.b y\"", "a"},
      {"t", "\"a WHEN new.b y\""},
  };
  for (const auto& [table, column] : names) {
    SCOPED_TRACE(table);
    const std::string t = table;
    const std::string c = column;
    db.run("CREATE TABLE {}(b, {}); INSERT INTO {} VALUES (100, 1), (200, 2)", t, c, t);
    db.run(create(t + "(" + c + ")"));
    db.run(
        "INSERT INTO {} VALUES (300, 3); UPDATE {} SET {} = 20 WHERE {} = 2;"
        " DELETE FROM {} WHERE {} = 1",
        t, t, c, c, t, c);
    expect_in_step(db, c, t);
    db.run(
        "INSERT INTO f(f) VALUES ('rebuild'); ALTER TABLE f RENAME TO g;"
        " INSERT INTO {} VALUES (400, 4)",
        t);
    expect_in_step(db, c, t, "g");
    db.run("DROP TABLE g; DROP TABLE " + t);
  }
}

TEST_P(SourceTrigger, of_attached_and_temp_schemas) {
  TemporaryFolder folder;
  db.run("ATTACH '{}' AS aux", folder.file("other_file.db"));
  db.run("CREATE TABLE main.t(a); CREATE TABLE aux.t(a); CREATE TEMP TABLE t(a)");
  for (const std::string schema : {"main", "aux", "temp"}) {
    SCOPED_TRACE(schema);
    const std::string t = schema + ".t";
    const std::string f = schema + ".f";
    db.run(create("t(a)", f));
    db.run(
        "INSERT INTO {} VALUES ('x'), ('y'); UPDATE {} SET a = 'z' WHERE a = 'x';"
        "DELETE FROM {} WHERE a = 'y'; INSERT INTO {} VALUES ('{}')",
        t, t, t, t, schema);
    expect_in_step(db, "a", t, f);
    db.run("ALTER TABLE {} RENAME TO g; INSERT INTO {} VALUES ('w')", f, t);
    expect_in_step(db, "a", t, schema + ".g");
    if (schema == "temp") {  // elsewhere SQLite itself would mistake the TEMP table for it
      db.run("ALTER TABLE temp.t RENAME TO u; INSERT INTO u VALUES ('v')");
      expect_in_step(db, "a", "temp.u", "temp.g");
      db.run("ALTER TABLE temp.u RENAME TO t");
    }
    db.run("ALTER TABLE {}.g RENAME TO f; INSERT INTO {}(f) VALUES ('rebuild')", schema, f);
    expect_in_step(db, "a", t, f);
  }
  for (const std::string schema : {"main", "aux", "temp"}) {
    db.gives(sql("SELECT key FROM {}.f WHERE key IN ('main', 'aux', 'temp')", schema), schema);
    db.gives(sql("SELECT count(*) FROM {}.sqlite_schema WHERE type = 'trigger'", schema), 3);
    db.run("DROP TABLE {}.f", schema);
    db.gives(sql("SELECT count(*) FROM {}.sqlite_schema WHERE type = 'trigger'", schema), 0);
  }
}

// Two filters of one table, and a filter of two names.
TEST_P(SourceTrigger, of_several_filters_do_not_meet) {
  db.run("CREATE TABLE t(a, b)");
  db.run(create("t(a)", "f") + ";" + create("t(b)", "g"));
  db.run("INSERT INTO t VALUES (1, 2), (NULL, 3), (4, NULL); UPDATE t SET a = b, b = a");
  expect_in_step(db, "a", "t", "f");
  expect_in_step(db, "b", "t", "g");
  db.refuses("ALTER TABLE f RENAME TO g", {"already"});
  db.run("INSERT INTO t VALUES (5, 6)");
  expect_in_step(db, "a", "t", "f");
  expect_in_step(db, "b", "t", "g");
  db.run("DROP TABLE f; INSERT INTO t VALUES (7, 8)");
  expect_in_step(db, "b", "t", "g");
  EXPECT_EQ(triggers(), "g_source_delete,g_source_insert,g_source_update");
}

// --- what would lose keys ----------------------------------------------------------------------

TEST_P(SourceTrigger, that_are_gone_are_an_error_at_the_next_question) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("f.db"));
  one.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'); " + create("t(a)"));
  QuickDatabase other(folder.file("f.db"));
  other.gives("SELECT count(*) FROM f", 1);
  for (const char* event : {"insert", "update", "delete"}) {
    Query prepared(other, "SELECT count(*) FROM f WHERE key = 'x'");
    Query function(other, "SELECT filter_contains('f', 'x')");
    EXPECT_EQ(prepared.once(), 1);
    EXPECT_EQ(function.once(), 1);
    one.run(drop_of_own(one, "f", event) + "; INSERT INTO t VALUES ('y')");
    for (Database* each : {static_cast<Database*>(&one), static_cast<Database*>(&other)}) {
      for (const char* sql :
           {"SELECT 1 FROM f WHERE key = 'y'", "SELECT count(*) FROM f",
            "SELECT filter_contains('f', 'y')", "SELECT a FROM t JOIN f ON f.key = t.a",
            "SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM f WHERE key = a)"}) {
        each->refuses(sql, {"f: ", "triggers", "rebuild"});
      }
    }
    EXPECT_EQ(prepared.step(), SQLITE_ERROR);
    EXPECT_EQ(function.step(), SQLITE_ERROR);
    prepared.reset();
    function.reset();
    one.run("INSERT INTO f(f) VALUES ('rebuild')");
    expect_in_step(one);
    expect_in_step(other);
    other.run("UPDATE t SET a = 'w' WHERE a = 'y'");
    expect_in_step(one);
  }
}

TEST_P(SourceTrigger, whose_source_was_dropped_are_an_error_until_it_is_there_again) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'); " + create("t(a)"));
  db.run("DROP TABLE t");
  db.refuses("SELECT 1 FROM f WHERE key = 'x'", {"f: ", "triggers", "source"});
  db.refuses("INSERT INTO f(f) VALUES ('rebuild')", {"f: source", "main.t(a)"});
  db.run("CREATE TABLE t(b); INSERT INTO t VALUES ('y')");
  db.refuses("SELECT 1 FROM f WHERE key = 'y'", {"triggers"});
  db.refuses("INSERT INTO f(f) VALUES ('rebuild')", {"f: source", "main.t(a)"});
  db.run("ALTER TABLE t RENAME b TO a; INSERT INTO f(f) VALUES ('rebuild')");
  expect_in_step(db);
  step("INSERT INTO t VALUES ('z')");
  db.gives("DROP TABLE t; DROP TABLE f; SELECT count(*) FROM sqlite_schema", 0);
}

TEST_P(SourceTrigger, that_are_gone_do_not_come_back_by_a_rename) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'); " + create("t(a)"));
  db.run(drop_of_own(db, "f", "insert") +
         "; INSERT INTO t VALUES ('y'); ALTER TABLE f RENAME TO g");
  db.refuses("SELECT 1 FROM g WHERE key = 'y'", {"g: ", "triggers", "rebuild"});
  db.run(
      "INSERT INTO t VALUES ('z'); INSERT INTO g(g) VALUES ('rebuild'); INSERT INTO t VALUES "
      "('w')");
  expect_in_step(db, "a", "t", "g");
  EXPECT_EQ(triggers(), "g_source_delete,g_source_insert,g_source_update");
}

TEST_P(SourceTrigger, refuse_commands_that_would_lose_keys) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'), ('y')");
  step(create("t(a)"));
  db.refuses("INSERT INTO f(f) VALUES ('clear')", {"clear", "rebuild"});
  db.refuses("INSERT INTO f(f) VALUES ('CLEAR')", {"clear", "rebuild"});
  db.refuses("INSERT INTO f(f, key) VALUES ('import', filter_export('f'))", {"import", "rebuild"});
  expect_in_step(db);
  steps({"INSERT INTO f(f, key) VALUES ('resize', 5000)", "INSERT INTO f(f) VALUES ('check')"});
}

// The error names all commands, so the test tries a new command, too.
TEST_P(SourceTrigger, keep_step_whatever_command_is_run) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'), ('y')");
  db.run(create("t(a)"));
  db.run(std::string("CREATE VIRTUAL TABLE empty USING ") + GetParam() + ")");
  const std::string refusal = db.attempt("INSERT INTO f(f) VALUES ('?')").message;
  const size_t begin = refusal.find("the commands are ");
  ASSERT_NE(begin, std::string::npos) << refusal;
  std::istringstream commands(refusal.substr(begin + std::strlen("the commands are ")));
  size_t taken = 0;
  for (std::string command; std::getline(commands >> std::ws, command, ',');) {
    for (const char* argument : {"NULL", "5000", "'empty'", "filter_export('empty', 'hashes')"}) {
      const std::string text = sql("INSERT INTO f(f, key) VALUES ('{}', {})", command, argument);
      SCOPED_TRACE(text);
      taken += db.attempt(text).code == SQLITE_OK ? 1 : 0;
      expect_in_step(db);
    }
  }
  // 'check', 'rebuild', 'resize', 'merge' of a name and of an image, and three times 'delete',
  // which finds nothing.
  EXPECT_EQ(taken, 8);
}

TEST_P(SourceTrigger, drop_column_of_the_source_is_refused) {
  db.run("CREATE TABLE t(a, b, c)");
  step(create("t(a)"));
  EXPECT_NE(db.attempt("ALTER TABLE t DROP COLUMN a").code, SQLITE_OK);
  db.run("ALTER TABLE t DROP COLUMN b");
  step("INSERT INTO t VALUES ('x', 1)");
  db.run("ALTER TABLE t ADD COLUMN d");
  step("INSERT INTO t VALUES ('y', 1, 2)");
}

TEST_P(SourceTrigger, without_the_extension_refuse_writes) {
  TemporaryFolder folder;
  {
    QuickDatabase one(folder.file("f.db"));
    one.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'); " + create("t(a)"));
  }
  sqlite3* bare = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("f.db").c_str(), &bare), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(bare, "INSERT INTO t VALUES ('y')", nullptr, nullptr, nullptr),
            SQLITE_ERROR);
  EXPECT_NE(std::string(sqlite3_errmsg(bare)).find("no such module"), std::string::npos);
  EXPECT_EQ(sqlite3_exec(bare, "SELECT * FROM t", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(bare);
  QuickDatabase later(folder.file("f.db"));
  expect_in_step(later);
}

}  // namespace
}  // namespace cuckoo::test::filter_source_trigger_test
