// filter_guard: what it refuses, with the text that names the cure, and that it can be dropped.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_guard_refusal_test {
namespace {

constexpr const char* kUsers =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE, n INT)";
constexpr const char* kSeen =
    "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = on)";
constexpr const char* kGuarded = "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)";

void make(Database& db, const char* guard = kGuarded) {
  db.run(kUsers);
  db.run("INSERT INTO users(email, n) VALUES ('a', 1), ('b', 2), (NULL, 3)");
  db.run(kSeen);
  db.run(guard);
}

// SQLite refuses every query with these texts, however it is planned. The guard can be dropped.
void expect_refused(Database& db, const std::vector<std::string>& parts) {
  for (const char* sql : {"SELECT * FROM guarded", "SELECT count(*) FROM guarded",
                          "SELECT 1 FROM guarded WHERE rowid = 1"}) {
    db.refuses(sql, parts);
  }
  db.run("BEGIN; DROP TABLE guarded; ROLLBACK");
}

// --- CREATE --------------------------------------------------------------------------------------

TEST(GuardCreate, names_what_is_wrong) {
  struct Case {
    const char* before;
    const char* arguments;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"", "", {"guarded", "expected the name of one filter", "filter_guard(seen)"}},
      {"", "a, b", {"guarded", "expected the name of one filter"}},
      {"", "seen TEXT", {"guarded", "expected the name of one filter"}},
      {"", "seen, option = 1", {"guarded", "unknown option", "source"}},
      {"", "seen, source = users", {"guarded", "source", "table(column)"}},
      {"", "users", {"guarded", "users is not a cuckoo_filter or bloom_filter"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT)",
       "own",
       {"guarded", "own has no source", "source = table(column)"}},
      {"",
       "seen, source = users(n)",
       {"guarded", "seen is over main.users(email), not over main.users(n)"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT)",
       "own, source = gone(email)",
       {"guarded", "main.gone", "no such table", "make the guard anew"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT)",
       "own, source = users(gone)",
       {"guarded", "main.users(gone)", "no such column"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT); CREATE VIEW v AS SELECT * FROM"
       " users",
       "own, source = v(email)",
       {"guarded", "main.v", "expected an ordinary table"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT)",
       "own, source = seen(email)",
       {"guarded", "main.seen", "expected an ordinary table"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT)",
       "own, source = users(n)",
       {"guarded", "own", "another type than users(n)", "declare both alike"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT COLLATE NOCASE)",
       "own, source = users(email)",
       {"guarded", "own", "NOCASE", "BINARY", "declare both alike"}},
      {"CREATE VIRTUAL TABLE own USING cuckoo_filter(email TEXT, generations = 2)",
       "own, source = users(email)",
       {"guarded", "own", "sliding window"}},
      {"CREATE TABLE names(rowid, oid, _rowid_, k TEXT);"
       "CREATE VIRTUAL TABLE own USING cuckoo_filter(k, source = names(k), triggers = off)",
       "own",
       {"guarded", "main.names", "all three names of the rowid"}},
      {"", "seen,", {"guarded", "empty argument"}},
  };
  for (const Case& one : cases) {
    Database db;
    db.run(kUsers);
    db.run(kSeen);
    db.run(*one.before == '\0' ? "SELECT 1" : one.before);
    const int64_t before = db.number("SELECT count(*) FROM sqlite_schema");
    db.refuses(sql("CREATE VIRTUAL TABLE guarded USING filter_guard({})", one.arguments),
               one.parts);
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema"), before) << one.arguments;
  }
}

// A filter that nothing keeps in step would hide rows, so the guard says what could be missed.
TEST(GuardCreate, over_a_filter_that_nothing_keeps_in_step_needs_stale_allowed) {
  for (const char* filter : {"cuckoo_filter(email, source = users(email), triggers = off)",
                             "bloom_filter(email, source = users(email), triggers = off)",
                             "cuckoo_filter(email TEXT)"}) {
    const bool sourced = std::string(filter).find("source") != std::string::npos;
    const std::string arguments = sourced ? "seen" : "seen, source = users(email)";
    Database db;
    db.run(kUsers);
    db.run("CREATE VIRTUAL TABLE seen USING " + std::string(filter));
    db.refuses("CREATE VIRTUAL TABLE guarded USING filter_guard(" + arguments + ")",
               {"guarded: nothing keeps the filter seen in step with users(email)",
                "would not find a row whose key came later", "triggers = on", "stale = allowed"});
    db.refuses("CREATE VIRTUAL TABLE guarded USING filter_guard(" + arguments + ", stale = on)",
               {"option stale is \"on\", expected allowed"});
    db.refuses("CREATE VIRTUAL TABLE guarded USING filter_guard(" + arguments + ", stale)",
               {"stale is an option: write stale = allowed"});
    db.run("CREATE VIRTUAL TABLE guarded USING filter_guard(" + arguments + ", stale = allowed)");
    db.run("INSERT INTO users(email, n) VALUES ('late', 4)");
    db.gives("SELECT n FROM guarded WHERE email = 'late'", "none");
    db.run(sourced ? "INSERT INTO seen(seen) VALUES ('rebuild')"
                   : "INSERT INTO seen(email) VALUES ('late')");
    db.gives("SELECT n FROM guarded WHERE email = 'late'", "4");
  }
}

TEST(GuardCreate, a_filter_that_is_made_anew_as_a_snapshot_is_refused) {
  Database db;
  make(db);
  db.run("DROP TABLE seen");
  db.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = "
      "off)");
  expect_refused(db, {"guarded: nothing keeps the filter seen in step", "stale = allowed"});
}

// Dumps that are loaded by name make it first.
TEST(GuardCreate, before_its_filter_is_an_error_at_first_use) {
  const TemporaryFolder folder;
  {
    QuickDatabase db(folder.file("order.db"));
    db.run(kGuarded);
    db.refuses("SELECT * FROM guarded", {"guarded", "main.seen", "no such table"});
    db.run(kUsers);
    db.run(kSeen);
    db.run("INSERT INTO users(email, n) VALUES ('a', 1)");
    db.refuses("SELECT * FROM guarded",
               {"guarded: its filter or its table was missing", "open the database"});
  }
  QuickDatabase db(folder.file("order.db"));
  db.gives("SELECT n FROM guarded WHERE email = 'a'", "1");
  // With a source of its own it knows its columns before it knows its filter.
  db.run("DROP TABLE guarded; DROP TABLE seen");
  db.run("CREATE VIRTUAL TABLE guarded USING filter_guard(seen, source = users(email))");
  db.refuses("SELECT n FROM guarded", {"guarded", "main.seen", "no such table"});
  db.run(kSeen);
  db.gives("SELECT n FROM guarded WHERE email = 'a'", "1");
}

TEST(GuardCreate, takes_quoted_names) {
  Database db;
  db.run(
      "CREATE TABLE \"my users\"(\"the key\" TEXT); INSERT INTO \"my users\" VALUES ('a');"
      "CREATE VIRTUAL TABLE \"my filter\" USING cuckoo_filter(k TEXT);"
      "INSERT INTO \"my filter\" VALUES ('a');"
      "CREATE VIRTUAL TABLE \"my guard\" USING filter_guard(\"my filter\","
      " source = 'my users'(\"the key\"), stale = allowed)");
  db.gives("SELECT \"the key\" FROM \"my guard\" WHERE \"the key\" = 'a'", "a");
}

TEST(GuardCreate, keeps_nothing) {
  Database db;
  make(db);
  db.gives("SELECT name FROM sqlite_schema WHERE name LIKE 'guarded%'", "guarded");
  db.run("CREATE TABLE guarded_data(a); INSERT INTO guarded_data VALUES (1)");
  db.run("DROP TABLE guarded; CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
  db.gives("SELECT count(*) FROM guarded", 3);
}

// --- writing -------------------------------------------------------------------------------------

TEST(GuardWrite, is_refused_by_every_statement) {
  Database db;
  make(db);
  for (const char* sql :
       {"INSERT INTO guarded(email) VALUES ('x')", "INSERT INTO guarded DEFAULT VALUES",
        "INSERT OR IGNORE INTO guarded(email) SELECT 'x' WHERE 0",
        "REPLACE INTO guarded(id) VALUES (1)", "UPDATE guarded SET n = 1",
        "UPDATE guarded SET n = 1 WHERE id = 99", "DELETE FROM guarded",
        "DELETE FROM guarded WHERE email = 'absent'"}) {
    db.refuses(sql, {"guarded: a filter_guard can't be written; write to users"});
  }
  db.run("CREATE TRIGGER t AFTER UPDATE OF n ON users BEGIN DELETE FROM guarded; END");
  db.refuses("UPDATE users SET n = 5", {"write to users"});
  db.gives("SELECT n FROM guarded", "1,2,3");
  db.run("BEGIN");
  db.refuses("DELETE FROM guarded", {"write to users"});
  db.run("INSERT INTO users(email) VALUES ('kept'); COMMIT");
  db.gives("SELECT count(*) FROM guarded WHERE email = 'kept'", 1);
}

TEST(GuardWrite, does_not_stand_in_the_way_of_ddl) {
  Database db;
  make(db);
  db.run(
      "BEGIN; ALTER TABLE guarded RENAME TO g2; SAVEPOINT s; DROP TABLE g2; ROLLBACK TO s; COMMIT");
  db.gives("SELECT count(*) FROM g2", 3);
  db.refuses("DELETE FROM g2", {"g2: a filter_guard can't be written"});
  db.run("DROP TABLE g2");
}

// --- names ---------------------------------------------------------------------------------------

using GuardNames = WithDatabase;

TEST_F(GuardNames, follow_the_source_of_the_filter) {
  make(db);
  db.gives("ALTER TABLE users RENAME TO people; SELECT id FROM guarded WHERE email = 'b'", "2");
  db.run("ALTER TABLE people RENAME COLUMN email TO mail");
  db.gives("SELECT id FROM guarded WHERE mail = 'b'", "2");
  db.run("ALTER TABLE people ADD COLUMN extra DEFAULT 7");
  db.gives("SELECT extra FROM guarded WHERE mail = 'b'", "7");
  db.run("ALTER TABLE people DROP COLUMN n");
  EXPECT_EQ(db.rows("SELECT * FROM guarded"), db.rows("SELECT * FROM people"));
}

TEST_F(GuardNames, of_a_source_that_was_given_are_not_followed) {
  db.run(kUsers);
  db.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT)");
  db.run(
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, source = users(email), stale = "
      "allowed)");
  db.run("ALTER TABLE users RENAME TO people");
  expect_refused(db, {"guarded", "main.users", "no such table", "make the guard anew"});
}

TEST_F(GuardNames, of_a_filter_are_not_followed) {
  make(db);
  db.run("ALTER TABLE seen RENAME TO known");
  expect_refused(db, {"guarded", "filter", "main.seen", "drop the guard"});
}

// If a column is gone, SQLite would read its name in double quotes as a text.
TEST_F(GuardNames, of_columns_that_went_while_it_was_read_are_an_error) {
  db.run(kUsers);
  db.run(kSeen);
  db.run(with_numbers(100) + "INSERT INTO users(email, n) SELECT 'u' || i, i FROM n");
  db.run(kGuarded);
  Query query(db,
              "SELECT g.n FROM (SELECT 'u3' AS e UNION ALL SELECT 'u4') CROSS JOIN guarded g"
              " ON g.email = e");
  ASSERT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(query.integer(), 3);
  const Outcome dropped = db.attempt("ALTER TABLE users DROP COLUMN n");
  const int code = query.step();
  if (dropped.code == SQLITE_OK) {
    EXPECT_NE(code, SQLITE_ROW);
  } else {  // SQLite refuses it while the table is read
    EXPECT_EQ(code, SQLITE_ROW);
    EXPECT_EQ(query.integer(), 4);
  }
}

// --- what it stands on is gone -------------------------------------------------------------------

TEST(GuardLost, says_that_the_triggers_are_gone) {
  Database db;
  make(db);
  for (const char* event : {"insert", "update", "delete"}) {
    db.run(drop_of_own(db, "seen", event));
    expect_refused(db, {"guarded", "triggers", "'rebuild'"});
    db.run("INSERT INTO seen(seen) VALUES ('rebuild')");
    db.gives("SELECT id FROM guarded WHERE email = 'b'", "2");
  }
}

TEST(GuardLost, says_that_the_filter_is_gone) {
  const TemporaryFolder folder;
  {
    QuickDatabase db(folder.file("lost.db"));
    make(db);
    db.run("DROP TABLE seen");
    expect_refused(db, {"guarded", "main.seen", "no such table"});
  }
  QuickDatabase db(folder.file("lost.db"));
  expect_refused(db, {"guarded", "main.seen", "no such table"});
  db.refuses("DELETE FROM guarded", {"guarded", "main.seen"});
  db.run("DROP TABLE guarded");
}

TEST(GuardLost, says_that_the_table_is_gone) {
  for (const char* given : {"", ", source = users(email)"}) {
    Database db;
    db.run(kUsers);
    db.run(std::string("CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT") +
           (*given == '\0' ? ", source = users(email), triggers = off)" : ")"));
    db.run("CREATE VIRTUAL TABLE guarded USING filter_guard(seen{}, stale = allowed)", given);
    db.gives("SELECT count(*) FROM guarded", 0);
    db.run("DROP TABLE users");
    expect_refused(db, {"guarded", "users"});
    db.run("DROP TABLE guarded");
  }
}

TEST(GuardLost, says_that_the_table_has_other_columns) {
  const TemporaryFolder folder;
  QuickDatabase db(folder.file("columns.db"));
  db.run(kUsers);
  db.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter(email TEXT)");
  db.run(
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, source = users(email), stale = "
      "allowed)");
  db.gives("SELECT count(*) FROM guarded", 0);
  db.run("DROP TABLE users; CREATE TABLE users(n INT, email TEXT)");
  expect_refused(db, {"guarded", "columns of users", "make the guard anew"});
  QuickDatabase other(folder.file("columns.db"));
  other.run("INSERT INTO users VALUES (1, 'a'); INSERT INTO seen VALUES ('a')");
  other.gives("SELECT n FROM guarded WHERE email = 'a'", "1");
  db.run("DROP TABLE guarded");
  db.run(
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, source = users(email), stale = "
      "allowed)");
  db.gives("SELECT n FROM guarded WHERE email = 'a'", "1");
}

// A migration puts a copy in the table's place (Rails' change_column, Alembic's batch mode).
TEST(GuardLost, rebuild_brings_it_back_in_every_connection_after_a_migration) {
  const TemporaryFolder folder;
  QuickDatabase db(folder.file("migrated.db"));
  db.run("CREATE TABLE users(id INTEGER PRIMARY KEY, email VARCHAR(80) UNIQUE)");
  db.run("INSERT INTO users(email) VALUES ('a'), ('b')");
  db.run(kSeen);
  db.run(kGuarded);
  QuickDatabase other(folder.file("migrated.db"));
  QuickDatabase third(folder.file("migrated.db"));
  other.gives("SELECT id FROM guarded WHERE email = 'b'", "2");
  db.run(
      "BEGIN; CREATE TEMPORARY TABLE copy AS SELECT * FROM users; DROP TABLE users;"
      "CREATE TABLE users(id INTEGER PRIMARY KEY, email VARCHAR(255) UNIQUE);"
      "INSERT INTO users SELECT * FROM copy; DROP TABLE copy; COMMIT");
  for (QuickDatabase* each : {&db, &other, &third}) {
    (void)each->attempt("SELECT * FROM guarded");  // sqlite3_exec() says that the schema changed
    expect_refused(*each, {"guarded", "seen", "triggers", "'rebuild'"});
  }
  other.run("INSERT INTO seen(seen) VALUES ('rebuild')");
  int64_t id = 2;
  for (QuickDatabase* each : {&db, &other, &third}) {
    each->gives("SELECT id FROM guarded WHERE email = 'b'", "2");
    each->run("INSERT INTO users(email) VALUES ('new' || " + std::to_string(++id) + ")");
    db.gives("SELECT id FROM guarded WHERE email = 'new" + std::to_string(id) + "'", id);
  }
}

// SQLite connects the guard anew for the refusal. So the next plan is its first, in a schema that
// another connection changed meanwhile.
TEST(GuardLost, comes_back_in_a_connection_that_saw_the_refusal) {
  const std::pair<const char*, const char*> losses[] = {
      {"DROP TABLE users; CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE, n INT);"
       "INSERT INTO users VALUES (2, 'b', 2)",
       "INSERT INTO seen(seen) VALUES ('rebuild')"},
      {"DROP TABLE seen", kSeen},
  };
  for (const auto& [loss, remedy] : losses) {
    const TemporaryFolder folder;
    QuickDatabase db(folder.file("lost.db"));
    make(db);
    QuickDatabase other(folder.file("lost.db"));
    other.gives("SELECT n FROM guarded WHERE email = 'b'", 2);
    db.run(loss);
    (void)other.attempt("SELECT * FROM guarded");  // sqlite3_exec() says that the schema changed
    other.refuses("SELECT n FROM guarded WHERE email = 'b'", {"guarded", "seen"});
    db.run(remedy);
    other.gives("SELECT n FROM guarded WHERE email = 'b'", 2);
    other.gives("SELECT count(*) FROM guarded WHERE email = 'c'", 0);
  }
}

TEST(GuardLost, goes_on_when_the_filter_is_there_again) {
  Database db;
  make(db);
  db.run("BEGIN; CREATE TABLE undone(a); ROLLBACK");  // SQLite connects the guard anew
  db.run("DROP TABLE seen");
  db.refuses("SELECT n FROM guarded WHERE email = 'b'", {"guarded", "main.seen"});
  db.run("BEGIN; CREATE TABLE undone(a); ROLLBACK");
  db.refuses("SELECT n FROM guarded WHERE email = 'b'", {"guarded", "main.seen"});
  db.run(kSeen);
  db.gives("SELECT n FROM guarded WHERE email = 'b'", "2");
  db.run(
      "DROP TABLE seen;"
      "CREATE VIRTUAL TABLE seen USING bloom_filter(n, source = users(n), triggers = on)");
  db.gives("SELECT email FROM guarded WHERE n = 2", "b");
  db.gives("SELECT n FROM guarded WHERE email = 'b'", "2");
  db.gives("SELECT probes FROM filter_info('seen')", 1);
}

TEST(GuardLost, says_that_the_filter_is_damaged) {
  const TemporaryFolder folder;
  for (const char* damage :
       {"UPDATE seen_data SET block = x'00' WHERE id = 0",
        "DELETE FROM seen_config WHERE key = 'source_crc'", "DROP TABLE seen_config"}) {
    const std::string path = folder.file("damaged.db");
    std::filesystem::remove(path);
    {
      QuickDatabase db(path);
      make(db);
      db.run(damage);
    }
    QuickDatabase db(path);
    const Outcome outcome = db.attempt("SELECT * FROM guarded");
    EXPECT_TRUE(outcome.code == SQLITE_CORRUPT_VTAB || outcome.code == SQLITE_ERROR)
        << outcome.code;
    EXPECT_NE(outcome.message.find("guarded: "), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("seen"), std::string::npos) << outcome.message;
    db.run("DROP TABLE guarded");
  }
}

TEST(GuardLost, says_that_pages_of_the_filter_are_damaged) {
  const TemporaryFolder folder;
  {
    QuickDatabase db(folder.file("pages.db"));
    make(db);
    db.run(std::string("INSERT INTO seen(seen) VALUES ('rebuild');"
                       "UPDATE seen_data SET block = zeroblob(length(block)) WHERE ") +
           kPageRows);
  }
  QuickDatabase db(folder.file("pages.db"));
  const Outcome outcome = db.attempt("SELECT * FROM guarded WHERE email = 'b'");
  EXPECT_EQ(outcome.code, SQLITE_CORRUPT_VTAB) << outcome.message;
  db.run("DROP TABLE guarded");
}

}  // namespace
}  // namespace cuckoo::test::filter_guard_refusal_test
