// Clients keep statements prepared. These keep instances of tables that SQLite has connected anew
// since. A roll-back of DDL may undo what an old instance knows of names and contents, and SQLite
// does not report that (C7 of live_table.hpp).
#include "tests/support/database.hpp"
#include "tests/support/names.hpp"

namespace cuckoo::test::table_kept_statement_test {
namespace {

class KeptStatement : public testing::TestWithParam<TableKind> {
 protected:
  KeptStatement() : db(folder.file("kept.db")) {}

  void create(Database& on, const std::string& name) const {
    on.run("CREATE VIRTUAL TABLE {} USING {}", name, GetParam().module);
  }
  void insert(Database& on, const std::string& name, const std::string& key) const {
    on.run("INSERT INTO {}({}) VALUES ('{}')", name, GetParam().key, key);
  }
  // A query that tells which of 'zero', 'one' and 'more' the table has.
  std::string query(const std::string& name) const {
    const std::string key = GetParam().key;
    return "SELECT group_concat(k) FROM (SELECT a.k FROM (SELECT 'more' AS k UNION ALL SELECT 'one'"
           " UNION ALL SELECT 'zero') a CROSS JOIN " +
           name + " f ON f." + key + " = a.k ORDER BY a.k)";
  }
  std::string found(Database& on, const std::string& name) const { return on.text(query(name)); }
  void check(Database& on, const std::string& name) const {
    on.run("INSERT INTO {}({}) VALUES ('check')", name, name);
  }

  TemporaryFolder folder;
  QuickDatabase db;
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, KeptStatement,
    testing::Values(TableKind{"cuckoo", "cuckoo_filter(k, seed = 1)", "k"},
                    TableKind{"seeded", "cuckoo_filter(k)", "k"},
                    TableKind{"bloom", "bloom_filter(k, seed = 1)", "k"},
                    TableKind{"counting", "bloom_filter(k, counting = on, seed = 1)", "k"},
                    TableKind{"window", "cuckoo_filter(k, generations = 3, seed = 1)", "k"},
                    TableKind{"flash", "flash_kv(k, v, size = '64KB', seed = 1)", "k"},
                    TableKind{"ring", "hash_ring(seed = 1)", "node"}),
    kParameterName);

TEST_P(KeptStatement, does_not_see_names_that_were_rolled_back) {
  const std::vector<std::string> changes[] = {
      {"DROP TABLE f0", "ALTER TABLE f1 RENAME TO f0"},
      {"ALTER TABLE f0 RENAME TO x", "ALTER TABLE f1 RENAME TO f0"},
      {"ALTER TABLE f0 RENAME TO x", "ALTER TABLE f1 RENAME TO f0", "ALTER TABLE x RENAME TO f1"},
      {"ALTER TABLE f0 RENAME TO x", "ALTER TABLE x RENAME TO f0"},
      {"ALTER TABLE f0 RENAME TO x",
       std::string("CREATE VIRTUAL TABLE f0 USING ") + GetParam().module},
      {"DROP TABLE f0", std::string("CREATE VIRTUAL TABLE f0 USING ") + GetParam().module},
  };
  create(db, "f0");
  create(db, "f1");
  insert(db, "f0", "zero");
  insert(db, "f1", "one");
  const Query kept0(db, query("f0"));
  const Query kept1(db, query("f1"));
  const std::pair<const char*, const char*> transactions[] = {
      {"BEGIN", "ROLLBACK"}, {"SAVEPOINT s", "ROLLBACK TO s; RELEASE s"}};
  for (const auto& [begin, end] : transactions) {
    for (const bool written : {false, true}) {
      for (const std::vector<std::string>& change : changes) {
        db.run(begin);
        if (written) {
          insert(db, "f0", "more");
          insert(db, "f1", "more");
        }
        for (const std::string& sql : change) {
          db.run(sql);
          db.attempt(query("f0"));
          db.attempt(query("f1"));
        }
        db.run(end);
        const std::string where = change.front() + "; " + change.back() + "; " + end;
        ASSERT_EQ(found(db, "f0"), "zero") << where;
        ASSERT_EQ(found(db, "f1"), "one") << where;
        Database fresh(folder.file("kept.db"));
        ASSERT_EQ(found(fresh, "f0"), "zero") << where;
        ASSERT_EQ(found(fresh, "f1"), "one") << where;
      }
    }
  }
  insert(db, "f0", "more");
  Database fresh(folder.file("kept.db"));
  EXPECT_EQ(found(fresh, "f0"), "more,zero");
  EXPECT_EQ(found(fresh, "f1"), "one");
  check(fresh, "f0");
  check(fresh, "f1");
}

TEST_P(KeptStatement, does_not_hide_what_others_write_to_a_table_made_anew) {
  for (const char* begin : {"BEGIN", "SAVEPOINT s"}) {
    QuickDatabase other(folder.file("kept.db"));
    create(other, "f");
    const Query kept(db, query("f"));
    EXPECT_EQ(found(db, "f"), "NULL");
    other.run("CREATE TABLE IF NOT EXISTS any(x); DROP TABLE any");  // it is connected anew
    db.run(begin);
    insert(db, "f", "one");
    db.run("DROP TABLE f; COMMIT");
    create(other, "f");
    EXPECT_EQ(found(db, "f"), "NULL");
    insert(other, "f", "zero");
    EXPECT_EQ(found(db, "f"), "zero");
    insert(db, "f", "more");
    EXPECT_EQ(found(other, "f"), "more,zero");
    check(other, "f");
    db.run("DROP TABLE f");
  }
}

// A statement goes on if its table is renamed, but not if the name then means another table.
TEST_P(KeptStatement, that_runs_does_not_read_another_table) {
  create(db, "f0");
  create(db, "f1");
  insert(db, "f0", "zero");
  insert(db, "f1", "one");
  const std::string key = GetParam().key;
  db.run(
      "CREATE TABLE keys AS SELECT 'one' AS k UNION ALL SELECT 'zero' UNION ALL SELECT 'one'"
      " UNION ALL SELECT 'zero'");
  // The list is in memory, because a roll-back ends the reading of an ordinary table.
  const std::string sql =
      "SELECT j.value FROM json_each('[\"one\",\"zero\",\"one\",\"zero\"]') j"
      " CROSS JOIN f1 ON f1." +
      key + " = j.value";
  Query running(db, sql);
  ASSERT_EQ(running.step(), SQLITE_ROW);
  db.run("BEGIN");
  const bool renamed = db.attempt("ALTER TABLE f0 RENAME TO x").code == SQLITE_OK &&
                       db.attempt("ALTER TABLE f1 RENAME TO f0").code == SQLITE_OK;
  db.run("ROLLBACK");
  int code = SQLITE_ROW;
  while ((code = running.step()) == SQLITE_ROW) {
    EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(running.handle(), 0)), "one");
  }
  EXPECT_TRUE(code == SQLITE_DONE || (renamed && (code & 0xFF) == SQLITE_ABORT)) << code;
}

// A function of the application renames the table in the middle of a statement that writes to it.
TEST_P(KeptStatement, that_writes_is_refused_when_its_table_is_renamed) {
  create(db, "f0");
  int calls = 0;
  struct Renamer {
    sqlite3* db;
    int* calls;
  } renamer{db.handle(), &calls};
  sqlite3_create_function(
      db.handle(), "renaming", 1, SQLITE_UTF8, &renamer,
      [](sqlite3_context* context, int, sqlite3_value** values) {
        auto* of = static_cast<Renamer*>(sqlite3_user_data(context));
        if (++*of->calls == 2) {
          sqlite3_exec(of->db, "ALTER TABLE f0 RENAME TO f9", nullptr, nullptr, nullptr);
        }
        sqlite3_result_value(context, values[0]);
      },
      nullptr, nullptr);
  const Outcome written =
      db.attempt("INSERT INTO f0({}) SELECT renaming(column1) FROM (VALUES ('a'), ('b'), ('c'))",
                 GetParam().key);
  EXPECT_EQ(written.code & 0xFF, SQLITE_LOCKED) << written.message;
  EXPECT_NE(written.message.find("changed by DDL while it was written to"), std::string::npos);
  EXPECT_EQ(calls, 2);
  const std::string name =
      db.text("SELECT name FROM sqlite_schema WHERE name = 'f0' OR name = 'f9'");
  check(db, name);
  insert(db, name, "one");
  EXPECT_EQ(found(db, name), "one");
}

// As long as the statement is there, DETACH does not let go of its table.
TEST_P(KeptStatement, does_not_lend_its_table_to_a_name_that_means_another_now) {
  const std::string function = std::string(GetParam().module).starts_with("flash")
                                   ? "SELECT count(*) FROM flash_kv_info('x.f')"
                               : std::string(GetParam().module).starts_with("hash_ring")
                                   ? "SELECT count(*) FROM hash_ring_moves('x.f', 'add', 'new')"
                                   : "SELECT filter_contains('x.f', 'one')";
  const std::string attach = "ATTACH '" + folder.file("one.db") + "' AS x";
  db.run(attach);
  create(db, "x.f");
  insert(db, "x.f", "one");
  db.run("DETACH x; " + attach);
  Query kept(db, query("x.f"));
  kept.once();
  db.gives(function, "1");
  db.run("DETACH x; ATTACH '{}' AS x; CREATE TABLE x.f(k, f)", folder.file("other.db"));
  db.refuses(function, {"x.f is not a "});
  db.gives("SELECT name || '' FROM filter_info", "none");
  db.run("DROP TABLE x.f");
  create(db, "x.f");
  insert(db, "x.f", "more");
  EXPECT_EQ(found(db, "x.f"), "more");
  if (function.find("contains") != std::string::npos) {
    db.gives(function, "0");
  }
  db.run("DETACH x; " + attach);
  EXPECT_EQ(found(db, "x.f"), "one");
  db.gives(function, "1");
}

}  // namespace
}  // namespace cuckoo::test::table_kept_statement_test
