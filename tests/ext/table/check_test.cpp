// cuckoo_check() returns what 'check' finds, as a text, and writes nothing.
#include <map>

#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_check_test {
namespace {

// A table of each kind, and what tells its parts apart.
constexpr const char* kTables[] = {"cuckoo", "fixed",  "bloom", "blocked", "counting", "legacy",
                                   "window", "unique", "kv",    "ring",    "slots"};

void create_all(Database& db, const std::string& schema = "") {
  for (const char* table :
       {"cuckoo USING cuckoo_filter(key, seed = 1)",
        "fixed USING cuckoo_filter(key, seed = 1, growth = off, capacity = 9000)",
        "bloom USING bloom_filter(key, seed = 1)",
        "blocked USING bloom_filter(key, seed = 1, layout = blocked)",
        "counting USING bloom_filter(key, seed = 1, counting = on)",
        "legacy USING bloom_filter(key TEXT, seed = 1, hash = murmur2, capacity = 9000)",
        "window USING bloom_filter(key, seed = 1, generations = 3)",
        "\"unique\" USING cuckoo_filter(key, seed = 1, unique = on)",
        "kv USING flash_kv(key, value, seed = 1, size = '1MB')",
        "ring USING hash_ring(vnodes = 20)", "slots USING hash_ring(algorithm = slots)"}) {
    db.run("CREATE VIRTUAL TABLE {}{}", schema, table);
  }
}

// Adds the numbers from `first` to `last` to each table. A ring gets only the first 5, as nodes.
void fill_all(Database& db, int64_t first, int64_t last, const std::string& schema = "") {
  for (const std::string name : kTables) {
    const std::string table = schema + "\"" + name + "\"";
    if (name == "ring" || name == "slots") {
      db.run("INSERT INTO {}(node) SELECT 'node ' || i FROM ({})", table,
             numbers(first, std::min(last, first + 4)));
    } else if (name == "kv") {
      db.run("INSERT INTO {} SELECT i, 'value ' || i FROM ({})", table, numbers(first, last));
    } else {
      db.run("INSERT OR IGNORE INTO {} {}", table, numbers(first, last));
    }
  }
}

// Removes these numbers from the tables where that is possible.
void thin_all(Database& db, int64_t first, int64_t last) {
  for (const char* table : {"cuckoo", "fixed", "counting", "\"unique\"", "kv"}) {
    db.run("DELETE FROM {} WHERE key IN ({})", table, numbers(first, last));
  }
}

std::string checked(Database& db, const std::string& name) {
  return db.text("SELECT cuckoo_check('{}')", name);
}

void expect_all_well(Database& db, const std::string& where, const std::string& schema = "") {
  const int changes = sqlite3_total_changes(db.handle());
  for (const std::string name : kTables) {
    EXPECT_EQ(checked(db, schema + name), "ok") << name << " " << where;
  }
  EXPECT_EQ(sqlite3_total_changes(db.handle()), changes) << where;
}

class CuckooCheck : public testing::Test {
 protected:
  TemporaryFolder folder;
  std::string path = folder.file("c.db");
  QuickDatabase db{path};
};

// --- names ---------------------------------------------------------------------------------------

TEST_F(CuckooCheck, finds_tables_as_other_functions_do) {
  create_all(db);
  db.run("ATTACH '{}' AS aux", folder.file("other_file.db"));
  create_all(db, "aux.");
  create_all(db, "temp.");
  fill_all(db, 1, 50, "aux.");
  fill_all(db, 1, 50, "temp.");
  for (const char* schema : {"", "main.", "aux.", "temp."}) {
    expect_all_well(db, schema, schema);
  }
  EXPECT_EQ(checked(db, "CUCKOO"), "ok");
  db.run("UPDATE aux.cuckoo_data SET block = x'00' WHERE id = 0");
  EXPECT_EQ(checked(db, "cuckoo"), "ok");
  EXPECT_NE(checked(db, "aux.cuckoo"), "ok");
  db.gives("SELECT cuckoo_check(NULL)", "NULL");
  db.gives(
      "SELECT name || ' ' || cuckoo_check(schema || '.' || name) FROM"
      " filter_info() WHERE schema = 'temp' AND kind = 'cuckoo_filter'",
      "cuckoo ok,fixed ok,unique ok");
}

TEST_F(CuckooCheck, other_names_are_errors) {
  db.run("CREATE TABLE t(a); CREATE VIEW v AS SELECT 1; CREATE VIEW w AS SELECT * FROM nowhere");
  db.attempt("CREATE VIRTUAL TABLE words USING fts5(a)");
  db.refuses("SELECT cuckoo_check('none')", {"no such table: none"});
  db.refuses("SELECT cuckoo_check('')", {"no such table"});
  for (const char* name : {"t", "v", "w", "words"}) {
    db.refuses(sql("SELECT cuckoo_check('{}')", name), {name});
  }
  db.refuses("SELECT cuckoo_check('t')",
             {"t is not a cuckoo_filter, bloom_filter, flash_kv or hash_ring"});
  db.run(
      "PRAGMA writable_schema = on; INSERT INTO sqlite_schema VALUES ('table', 'foreign', "
      "'foreign',"
      " 0, 'CREATE VIRTUAL TABLE \"foreign\" USING nowhere(a)'); PRAGMA writable_schema = reset");
  db.refuses("SELECT cuckoo_check('foreign')", {"foreign is not a cuckoo_filter,"});
  db.refuses("SELECT * FROM filter_info('foreign')", {"foreign is not a cuckoo_"});
  db.refuses("SELECT cuckoo_check(1)", {"the argument is a table's name"});
  db.refuses("SELECT cuckoo_check(x'00')", {"the argument is a table's name"});
}

// --- nothing is written --------------------------------------------------------------------------

TEST_F(CuckooCheck, works_where_nothing_can_be_written) {
  create_all(db);
  fill_all(db, 1, 3000);
  thin_all(db, 1, 100);
  db.run("INSERT INTO window(window) VALUES ('rotate'); INSERT INTO window VALUES ('new')");
  expect_all_well(db, "written");
  db.run("PRAGMA query_only = on");
  expect_all_well(db, "query_only");
  Database reader(path, SQLITE_OPEN_READONLY);
  expect_all_well(reader, "opened to be read");
}

TEST_F(CuckooCheck, leaves_what_is_pending_pending) {
  Database twin(folder.file("twin.db"));
  for (Database* one : {static_cast<Database*>(&db), &twin}) {
    create_all(*one);
    fill_all(*one, 1, 1500);
    one->run("BEGIN");
    const auto look = [&](const std::string& where) {
      if (one == &db) {
        expect_all_well(*one, where);
      }
    };
    fill_all(*one, 2001, 2500);
    look("more");
    thin_all(*one, 2000, 2100);
    look("less");
    one->run("SAVEPOINT s");
    fill_all(*one, 3001, 6000);
    thin_all(*one, 1, 50);
    look("in a savepoint");
    one->run("ROLLBACK TO s");
    look("rolled back to it");
    fill_all(*one, 7001, 7010);
    one->run("INSERT INTO window(window) VALUES ('rotate'); INSERT INTO window VALUES (1)");
    look("and on");
    one->run("PRAGMA query_only = on");
    look("query_only");
    one->run("PRAGMA query_only = off; COMMIT");
    look("committed");
  }
  for (const std::string name : kTables) {
    EXPECT_EQ(shadow_rows(db, name), shadow_rows(twin, name)) << name;
    db.run("INSERT INTO \"{}\"(\"{}\") VALUES ('check')", name, name);
  }
}

// --- what is wrong -------------------------------------------------------------------------------

// Damages each row of each shadow table in turn. cuckoo_check() must say what 'check' says.
TEST_F(CuckooCheck, says_what_check_says) {
  create_all(db);
  fill_all(db, 1, 700);
  thin_all(db, 1, 9);
  db.run("INSERT INTO window(window) VALUES ('rotate'); INSERT INTO window VALUES ('new')");
  db.run("INSERT INTO cuckoo SELECT 5 FROM ({})", numbers(1, 20));
  std::map<std::string, int> found;
  for (const std::string name : kTables) {
    for (const char* part :
         {"_config|key|value", "_data|id|block", "_pages|id|page", "_items|key|value"}) {
      const std::string spec = part;
      const size_t first = spec.find('|');
      const size_t second = spec.find('|', first + 1);
      const std::string shadow = "\"" + name + spec.substr(0, first) + "\"";
      const std::string key = spec.substr(first + 1, second - first - 1);
      const std::string value = spec.substr(second + 1);
      if (db.number("SELECT count(*) FROM sqlite_schema WHERE name = '{}{}'", name,
                    spec.substr(0, first)) == 0) {
        continue;
      }
      for (const Row& row : db.rows("SELECT quote({}) FROM {}", key, shadow)) {
        db.run(
            "BEGIN;"
            " UPDATE {} SET {} = CASE typeof({}) WHEN 'blob' THEN CAST(substr({}, 1, 30) || x'AB'"
            " || substr({}, 32) AS BLOB) WHEN 'integer' THEN {} + 1 ELSE 'other' END WHERE {} = {}",
            shadow, value, value, value, value, value, key, row[0]);
        const std::string text = checked(db, name);
        const Outcome command =
            db.attempt("INSERT INTO \"{}\"(\"{}\") VALUES ('check')", name, name);
        EXPECT_EQ(text, command.code == SQLITE_OK ? "ok" : command.message)
            << shadow << " " << row[0];
        found[name] += text != "ok" ? 1 : 0;
        db.attempt("ROLLBACK");
        ASSERT_EQ(checked(db, name), "ok");
      }
    }
    EXPECT_GT(found[name], 2) << name;
  }
}

TEST_F(CuckooCheck, names_the_row_under_what_is_pending) {
  create_all(db);
  fill_all(db, 1, 700);
  db.run("BEGIN; INSERT INTO cuckoo VALUES (-1); DELETE FROM cuckoo WHERE key = 3");
  db.run(std::string("UPDATE cuckoo_data SET block ="
                     " CAST(substr(block, 1, 9) || x'FFFF' || substr(block, 12) AS BLOB) WHERE ") +
         kPageRows);
  const std::string text = checked(db, "cuckoo");
  EXPECT_EQ(text, "cuckoo: corrupt: page 0 of segment 1: a wrong checksum");
  db.run(std::string("ROLLBACK; BEGIN; INSERT INTO cuckoo VALUES (-1);"
                     " DELETE FROM cuckoo_data WHERE ") +
         kLogRows);
  EXPECT_NE(checked(db, "cuckoo"), "ok");
  db.run("ROLLBACK; BEGIN; INSERT INTO kv VALUES (-1, 'new'); UPDATE kv_pages SET page = x'00'");
  const std::string flash = checked(db, "kv");
  EXPECT_NE(flash.find("kv: corrupt: page row"), std::string::npos) << flash;
  db.run("ROLLBACK");
  expect_all_well(db, "rolled back");
}

TEST_F(CuckooCheck, compares_with_the_source) {
  db.run(
      "CREATE TABLE t(a); INSERT INTO t VALUES ('x'), ('y'), (NULL);"
      "CREATE VIRTUAL TABLE once USING bloom_filter(source = t(a), triggers = off, fpr = 1e-6, "
      "seed = 1);"
      "CREATE VIRTUAL TABLE always USING cuckoo_filter(source = t(a), triggers = on, seed = 1)");
  EXPECT_EQ(checked(db, "once"), "ok");
  db.run("BEGIN; INSERT INTO t VALUES ('z')");
  EXPECT_EQ(checked(db, "once").find("once: it lacks 1 of the 3 values of its source main.t(a);"),
            0u);
  EXPECT_EQ(checked(db, "always"), "ok");
  db.run("DELETE FROM t WHERE a = 'z'; INSERT INTO always VALUES ('more')");
  EXPECT_EQ(checked(db, "once"), "ok");
  EXPECT_EQ(checked(db, "always").find("always: it holds 1 that its source main.t(a) does not"),
            0u);
  db.run("ROLLBACK");
  EXPECT_EQ(checked(db, "always"), "ok");
  db.run(drop_of_own(db, "always", "delete"));
  EXPECT_NE(checked(db, "always").find("the triggers on its source are gone"), std::string::npos);
  db.run("DROP TABLE t");
  EXPECT_NE(checked(db, "once").find("source main.t(a): no such table or column any more"),
            std::string::npos);
}

TEST_F(CuckooCheck, lock_is_an_error) {
  create_all(db);
  db.run("PRAGMA journal_mode = delete; BEGIN EXCLUSIVE");
  Database other(path);
  for (const std::string name : kTables) {
    other.refuses(sql("SELECT cuckoo_check('{}')", name), SQLITE_BUSY, {"locked"});
  }
  db.run("COMMIT");
  expect_all_well(other, "no lock");
}

// --- what keeps it from looking ------------------------------------------------------------------

TEST_F(CuckooCheck, refusal_of_an_authorizer_is_an_error) {
  create_all(db);
  sqlite3_set_authorizer(
      db.handle(),
      [](void*, int action, const char* table, const char*, const char*, const char*) {
        return action == SQLITE_READ && std::string(table) == "cuckoo_config" ? SQLITE_DENY
                                                                              : SQLITE_OK;
      },
      nullptr);
  db.refuses("SELECT cuckoo_check('cuckoo')", SQLITE_AUTH, {"cuckoo_config"});
  EXPECT_EQ(checked(db, "kv"), "ok");
  sqlite3_set_authorizer(db.handle(), nullptr, nullptr);
  EXPECT_EQ(checked(db, "cuckoo"), "ok");
}

TEST_F(CuckooCheck, obeys_the_progress_handler) {
  create_all(db);
  fill_all(db, 1, 3000);
  for (const std::string name : kTables) {
    int interrupted = 0;
    for (const int calls : {0, 1, 2, 5, 10, 20, 1000000}) {
      const Outcome outcome = stopped(db, sql("SELECT cuckoo_check('{}')", name), 10, calls);
      EXPECT_TRUE(outcome.code == SQLITE_OK || (outcome.code & 0xFF) == SQLITE_INTERRUPT)
          << name << " " << outcome.code << " " << outcome.message;
      interrupted += outcome.code != SQLITE_OK ? 1 : 0;
    }
    EXPECT_GT(interrupted, 1) << name;
    EXPECT_LT(interrupted, 7) << name;
  }
  expect_all_well(db, "afterwards");
}

// cuckoo_check() does not see what others commit meanwhile: all that it reads is of one commit.
TEST_F(CuckooCheck, reads_one_commit) {
  db.run("PRAGMA journal_mode = wal");
  create_all(db);
  fill_all(db, 1, 2000);
  struct Writer {
    QuickDatabase db;
    int64_t next = 10'000;
    int writes = 0;
  } writer{QuickDatabase(path)};
  for (const std::string name : {"cuckoo", "bloom", "counting", "window", "kv", "ring"}) {
    writer.writes = 0;
    sqlite3_progress_handler(
        db.handle(), 30,
        [](void* context) {
          Writer& to = *static_cast<Writer*>(context);
          if (to.writes++ < 40) {
            const std::string next = std::to_string(to.next++);
            to.db.run(
                "INSERT INTO ring(node) VALUES ('{}'); INSERT INTO kv VALUES ({}, randomblob(500));"
                " DELETE FROM cuckoo WHERE key = {} - 9999",
                next, next, next);
            for (const char* table : {"cuckoo", "bloom", "counting", "window"}) {
              to.db.run("INSERT INTO {} VALUES ({})", table, next);
            }
          }
          return 0;
        },
        &writer);
    EXPECT_EQ(checked(db, name), "ok");
    sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
    EXPECT_GT(writer.writes, 1) << name;
  }
}

}  // namespace
}  // namespace cuckoo::test::table_check_test
