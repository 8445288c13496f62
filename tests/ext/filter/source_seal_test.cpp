// A filter with triggers = on whose triggers or source were gone and came back: it refuses to be
// asked until 'rebuild'. Whatever else happens to the database, it answers.
#include <cstdlib>
#include <functional>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_source_seal_test {
namespace {

constexpr const char* kEvents[] = {"insert", "update", "delete"};

// A connection of a program that doesn't have the extension.
class Bare {
 public:
  explicit Bare(const std::string& file) { EXPECT_EQ(sqlite3_open(file.c_str(), &db_), SQLITE_OK); }
  ~Bare() { sqlite3_close(db_); }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sql << "\n"
        << sqlite3_errmsg(db_);
  }
  void refuses(const std::string& sql, const std::string& part) {
    EXPECT_NE(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sql;
    EXPECT_NE(std::string(sqlite3_errmsg(db_)).find(part), std::string::npos)
        << sqlite3_errmsg(db_);
  }

 private:
  sqlite3* db_ = nullptr;
};

class SourceSeal : public testing::TestWithParam<const char*> {
 protected:
  SourceSeal() : file_(folder_.file("f.db")), db_(file_) {
    db_.run(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);"
        "INSERT INTO t(a) VALUES ('old'), ('older'), (NULL)");
    db_.run(create());
  }
  static std::string create() {
    return std::string("CREATE VIRTUAL TABLE f USING ") + GetParam() +
           ", source = t(a), triggers = on)";
  }
  // The SQL of one of the filter's triggers, or of all, as a program saves it.
  std::string saved(const std::string& event = "%") {
    return db_.text(
        "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema WHERE name LIKE"
        " 'f\\_source\\_{}\\_%' ESCAPE '\\' AND type = 'trigger' ORDER BY rowid)",
        event);
  }
  std::string drops() {
    std::string sql;
    for (const char* event : kEvents) {
      sql += drop_of_own(db_, "f", event) + ";";
    }
    return sql;
  }

  static void expect_in_step(Database& db, const std::string& filter = "f",
                             const std::string& table = "t", const std::string& column = "a") {
    db.gives(sql("SELECT cuckoo_check('{}')", filter), "ok");
    db.gives(
        sql("SELECT count(*) FROM {} WHERE NOT filter_contains('{}', {})", table, filter, column),
        0);
  }
  // The filter answers nothing and says why. It keeps nobody from writing to the source.
  static void expect_refuses(Database& db, const std::string& filter = "f") {
    const std::string f = filter;
    for (const std::string& sql :
         {"SELECT 1 FROM " + f + " WHERE key = 'old'", "SELECT count(*) FROM " + f,
          "SELECT filter_contains('" + f + "', 'old')", "SELECT filter_export('" + f + "')",
          "SELECT filter_mark('" + f + "')", "SELECT filter_changes('" + f + "', NULL)",
          "INSERT INTO " + f + "(" + f + ") VALUES ('check')"}) {
      db.refuses(sql, {f + ": the triggers on its source", f + "(" + f + ") VALUES ('rebuild')"});
    }
    db.run("INSERT INTO t(a) VALUES ('written')");
    db.run("UPDATE t SET a = a || '!' WHERE a = 'written'; DELETE FROM t WHERE a = 'written!'");
    db.gives("SELECT changes()", 1);
  }
  void expect_cured(Database& db) {
    db.run("INSERT INTO f(f) VALUES ('rebuild')");
    expect_in_step(db);
    db.run("INSERT INTO t(a) VALUES ('new'); UPDATE t SET a = 'newer' WHERE a = 'new'");
    db.run("DELETE FROM t WHERE a = 'older'");
    expect_in_step(db);
  }

  TemporaryFolder folder_;
  const std::string file_;
  QuickDatabase db_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, SourceSeal,
                         testing::Values("cuckoo_filter(key",
                                         "cuckoo_filter(key, growth = off, capacity = 100",
                                         "bloom_filter(key, counting = on"),
                         kParameterName);

// --- gone and back -----------------------------------------------------------------------------

TEST_P(SourceSeal, is_broken_by_triggers_that_are_made_again) {
  for (const char* before : {"SELECT 1", "VACUUM", "CREATE TABLE later(x)"}) {
    db_.run(before);
    const std::string sql = saved();
    db_.run("{}INSERT INTO t(a) VALUES ('gap'); {}", drops(), sql);
    expect_refuses(db_);
    db_.run("VACUUM");
    expect_refuses(db_);
    expect_cured(db_);
    db_.run("DELETE FROM t WHERE a = 'gap'");
  }
}

TEST_P(SourceSeal, is_broken_by_one_trigger_that_is_made_again) {
  for (const char* event : kEvents) {
    SCOPED_TRACE(event);
    const std::string sql = saved(event);
    db_.run(drop_of_own(db_, "f", event) +
            "; INSERT INTO t(a) VALUES ('gap'); UPDATE t SET a = a || '+';"
            "DELETE FROM t WHERE a = 'gap'");
    db_.run(sql);
    expect_refuses(db_);
    db_.run("INSERT INTO f(f) VALUES ('rebuild')");
    expect_in_step(db_);
  }
}

TEST_P(SourceSeal, is_broken_by_a_trigger_that_is_made_again_in_capitals) {
  const std::string name = own_name(db_, "f", "insert");
  const std::string sql =
      db_.text("SELECT replace(sql, name, upper(name)) FROM sqlite_schema WHERE name = '{}'", name);
  db_.run("DROP TRIGGER {}; INSERT INTO t(a) VALUES ('gap'); {}", name, sql);
  expect_refuses(db_);
  expect_cured(db_);
}

TEST_P(SourceSeal, is_broken_in_one_transaction) {
  const std::string sql = saved();
  db_.run("BEGIN; {}INSERT INTO t(a) VALUES ('gap'); {}", drops(), sql);
  expect_refuses(db_);
  db_.run("COMMIT");
  expect_refuses(db_);
  expect_cured(db_);
}

TEST_P(SourceSeal, is_broken_by_a_program_without_the_extension) {
  const std::string sql = saved();
  Query prepared(db_, "SELECT count(*) FROM f WHERE key = 'gap'");
  Query function(db_, "SELECT filter_contains('f', 'gap')");
  EXPECT_EQ(prepared.once(), 0);
  EXPECT_EQ(function.once(), 0);
  const std::string drops = this->drops();
  const std::string row = own_name(db_, "f", "row");
  {
    Bare other(file_);
    other.run("BEGIN; " + drops + "INSERT INTO t(a) VALUES ('gap'); " + sql + "; COMMIT");
    other.refuses("DROP TABLE " + row, "no such module");
    other.refuses("CREATE VIRTUAL TABLE again USING cuckoo_source_row", "no such module");
  }
  EXPECT_EQ(prepared.step(), SQLITE_ERROR);
  EXPECT_EQ(function.step(), SQLITE_ERROR);
  prepared.reset();
  function.reset();
  expect_refuses(db_);
  QuickDatabase later(file_);
  expect_refuses(later);
  expect_cured(later);
  EXPECT_EQ(prepared.once(), 1);
  EXPECT_EQ(function.once(), 1);
}

// The test makes all triggers and views of the database again, in their order. So each gets its old
// rowid.
TEST_P(SourceSeal, is_broken_when_every_trigger_and_view_is_made_again) {
  db_.run(
      "CREATE VIEW v AS SELECT a FROM t; CREATE TABLE audit(a);"
      "CREATE TRIGGER own AFTER DELETE ON t BEGIN INSERT INTO audit VALUES (old.a); END; VACUUM");
  const std::string all = db_.text(
      "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema"
      " WHERE type IN ('trigger', 'view') ORDER BY rowid)");
  db_.run("DROP VIEW v; DROP TRIGGER own; {}INSERT INTO t(a) VALUES ('gap'); {}", drops(), all);
  expect_refuses(db_);
  expect_cured(db_);
}

TEST_P(SourceSeal, is_broken_when_the_source_is_another_table) {
  const std::string sql = saved();
  db_.run("DROP TABLE t; CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)");
  db_.run("INSERT INTO t(a) VALUES ('other');" + sql);
  expect_refuses(db_);
  expect_cured(db_);
  // This is SQLite's way to make any change to a table: a changed copy takes its place.
  const std::string again = saved();
  db_.run(
      "BEGIN; CREATE TABLE copy(id INTEGER PRIMARY KEY, a TEXT NOT NULL);"
      "INSERT INTO copy SELECT * FROM t WHERE a IS NOT NULL; DROP TABLE t;"
      "ALTER TABLE copy RENAME TO t; {}; COMMIT",
      again);
  expect_refuses(db_);
  expect_cured(db_);
}

TEST_P(SourceSeal, is_broken_when_it_is_dropped) {
  const std::string row = own_name(db_, "f", "row");
  db_.run("DROP TABLE {}", row);
  expect_refuses(db_);
  db_.refuses(sql("CREATE VIRTUAL TABLE {} USING cuckoo_source_row", row),
              {row, "only the filter"});
  db_.run("CREATE TABLE {}(x)", row);
  expect_refuses(db_);
  db_.refuses("INSERT INTO f(f) VALUES ('rebuild')", {row, "exists"});
  expect_refuses(db_);
  db_.run("DROP TABLE {}", row);
  expect_cured(db_);
}

TEST_P(SourceSeal, that_is_broken_stays_so_under_another_name) {
  const std::string sql = saved("insert");
  db_.run(drop_of_own(db_, "f", "insert") + "; INSERT INTO t(a) VALUES ('gap');" + sql);
  db_.run("ALTER TABLE f RENAME TO g");
  expect_refuses(db_, "g");
  db_.run("ALTER TABLE g RENAME TO f");
  expect_refuses(db_);
  expect_cured(db_);
}

TEST_P(SourceSeal, is_whole_again_when_it_is_rolled_back) {
  const std::string sql = saved();
  const std::string gap = drops() + "INSERT INTO t(a) VALUES ('gap');" + sql;
  db_.run("BEGIN; " + gap);
  expect_refuses(db_);
  db_.run("ROLLBACK");
  expect_in_step(db_);
  db_.run("BEGIN; INSERT INTO t(a) VALUES ('kept'); SAVEPOINT s; " + gap);
  expect_refuses(db_);
  db_.run("ROLLBACK TO s");
  expect_in_step(db_);
  db_.run("INSERT INTO f(f) VALUES ('rebuild'); COMMIT");
  expect_in_step(db_);
  // A 'rebuild' cures the filter, and then a roll-back undoes the cure.
  db_.run(gap + "; BEGIN; INSERT INTO f(f) VALUES ('rebuild')");
  expect_in_step(db_);
  db_.run("ROLLBACK");
  expect_refuses(db_);
  expect_cured(db_);
}

// An authorizer hides the triggers, or a row of the filter is damaged. The filter does not know
// whether its triggers are there, and must not believe it.
TEST_P(SourceSeal, that_cannot_be_read_is_not_whole) {
  QuickDatabase other(file_);
  const auto hide = [](void*, int action, const char* table, const char* column, const char*,
                       const char*) {
    return action == SQLITE_READ && std::string(table).starts_with("sqlite_") &&
                   std::string(column) == "sql"
               ? SQLITE_DENY
               : SQLITE_OK;
  };
  sqlite3_set_authorizer(other.handle(), hide, nullptr);
  db_.run(drop_of_own(db_, "f", "insert") + "; INSERT INTO t(a) VALUES ('missed')");
  const auto expect_no_answer = [&] {
    EXPECT_NE(other.attempt("SELECT filter_contains('f', 'missed')").code, SQLITE_OK);
    EXPECT_NE(other.attempt("SELECT t.a FROM t JOIN f ON f.key = t.a").code, SQLITE_OK);
  };
  expect_no_answer();
  other.run("UPDATE t SET a = 'written' WHERE a = 'older'");
  sqlite3_set_authorizer(other.handle(), nullptr, nullptr);
  expect_no_answer();
  other.run("INSERT INTO f(f) VALUES ('rebuild')");
  expect_in_step(other);
  for (const char* damage : {"DELETE FROM f_config WHERE key = 'source_crc'",
                             "UPDATE f_config SET value = 'off' WHERE key = 'triggers'"}) {
    SCOPED_TRACE(damage);
    other.run("BEGIN; {}; CREATE TABLE x(a)", damage);
    expect_no_answer();
    other.run("UPDATE t SET a = 'changed' WHERE a = 'old'");
    other.run("ROLLBACK");
    expect_in_step(other);
  }
}

// --- what happens to a database in its life ------------------------------------------------------

TEST_P(SourceSeal, goes_with_the_names) {
  db_.run("ALTER TABLE f RENAME TO \"the \"\"f\"\"\"; VACUUM; INSERT INTO t(a) VALUES ('x')");
  expect_in_step(db_, "the \"f\"");
  EXPECT_NE(own_name(db_, "the \"f\"", "row"), "");
  db_.run("ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME COLUMN a TO b");
  db_.run("ALTER TABLE \"the \"\"f\"\"\" RENAME TO F; INSERT INTO u(b) VALUES ('y')");
  expect_in_step(db_, "f", "u", "b");
  db_.run("ALTER TABLE u RENAME TO old; ALTER TABLE old RENAME TO u");
  expect_in_step(db_, "f", "u", "b");
  db_.gives("DROP TABLE f; SELECT name FROM sqlite_schema", "u");
}

TEST_P(SourceSeal, is_in_every_copy_of_the_pages) {
  for (const char* before : {"SELECT 1", "VACUUM"}) {
    db_.run(before);
    const std::string into = folder_.file("into.db");
    db_.run("VACUUM INTO '{}'", into);
    const std::string copied = folder_.file("copy.db");
    {
      Database copy(copied);
      back_up(db_, copy);
    }
    for (const std::string& file : {into, copied}) {
      QuickDatabase copy(file);
      copy.run("INSERT INTO t(a) VALUES ('copied')");
      expect_in_step(copy);
    }
    db_.run("ATTACH '{}' AS aux; INSERT INTO aux.t(a) VALUES ('attached')", into);
    db_.gives("SELECT filter_contains('aux.f', 'attached')", 1);
    db_.gives("SELECT cuckoo_check('aux.f')", "ok");
    db_.run("DETACH aux");
    std::filesystem::remove(into);
  }
}

// A dump writes virtual tables before triggers, whatever came first.
TEST_P(SourceSeal, is_broken_in_a_restored_dump) {
  if (std::system("sqlite3 -version > /dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no sqlite3 shell";
  }
  const std::string to = folder_.file("restored.db");
  const std::string command = "sqlite3 '" + file_ + "' .dump | sqlite3 '" + to + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  QuickDatabase restored(to);
  expect_refuses(restored);
  expect_cured(restored);
  restored.gives("PRAGMA integrity_check", "ok");
}

// --- a schema that is replayed: CREATE makes the triggers, then the script does ------------------

TEST_P(SourceSeal, of_a_schema_that_is_replayed_is_whole) {
  const std::string schema = db_.text(
      "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema"
      " WHERE name NOT IN ('f_config', 'f_data') ORDER BY rowid)");
  for (const char* then : {"SELECT 1", "INSERT INTO f(f) VALUES ('rebuild')",
                           "ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f", "VACUUM"}) {
    SCOPED_TRACE(then);
    Database db;
    db.run(schema);
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"), 6);
    db.run("INSERT INTO t(a) VALUES ('x'), ('x'), ('y'); UPDATE t SET a = 'z' WHERE id = 1");
    db.run(then);
    db.run("DELETE FROM t WHERE a = 'y'; INSERT INTO t(a) VALUES ('w')");
    expect_in_step(db);
    db.gives("SELECT count(*) FROM f", 3);
    db.gives("DROP TABLE f; SELECT name FROM sqlite_schema", "t");
    db.run("INSERT INTO t(a) VALUES ('still')");
  }
  Database db;  // 'rebuild' takes the triggers of the script away, also those that are older
  db.run("CREATE TABLE t(a); " + saved() + ";" + create());
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'"), 3);
}

// Two databases with the same history: nothing but the suffix tells one schema from the other.
TEST_P(SourceSeal, is_that_of_the_database_that_was_put_in_place) {
  Database other;
  other.run(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT);"
      "INSERT INTO t(a) VALUES ('old'), ('older'), (NULL)");
  other.run(create());
  Database here;
  back_up(db_, here);
  here.run("INSERT INTO t(a) VALUES ('first')");
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(other.handle(), "main", &size, 0);
  ASSERT_NE(bytes, nullptr);
  ASSERT_EQ(sqlite3_deserialize(here.handle(), "main", bytes, size, size,
                                SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
            SQLITE_OK);
  here.run("INSERT INTO t(a) VALUES ('second'); DELETE FROM t WHERE a = 'old'");
  expect_in_step(here);
  here.gives("SELECT count(*) FROM f", 2);
}

// --- the table itself ----------------------------------------------------------------------------

TEST_P(SourceSeal, is_a_table_that_belongs_to_the_filter) {
  const std::string row = own_name(db_, "f", "row");
  db_.refuses(sql("INSERT INTO {} VALUES (1)", row), {"may not be modified"});
  db_.refuses(sql("ALTER TABLE {} RENAME TO x", row), {"need it under this name"});
  db_.refuses("CREATE VIRTUAL TABLE x USING cuckoo_source_row", {"x: ", "only"});
  db_.refuses("CREATE VIRTUAL TABLE x_source_row_012345678 USING cuckoo_source_row", {"only"});
  expect_in_step(db_);
  db_.gives("SELECT name FROM filter_info", "f");
  db_.gives("PRAGMA integrity_check", "ok");
  db_.gives("DROP TABLE f; SELECT name FROM sqlite_schema", "t");
}

TEST_P(SourceSeal, works_in_defensive_mode) {
  sqlite3_db_config(db_.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  db_.run("ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f");
  const std::string sql = saved("insert");
  db_.run(drop_of_own(db_, "f", "insert") + "; INSERT INTO t(a) VALUES ('gap');" + sql);
  expect_refuses(db_);
  expect_cured(db_);
  db_.run("DROP TABLE f; " + create());
  expect_in_step(db_);
}

}  // namespace
}  // namespace cuckoo::test::filter_source_seal_test
