// filter_contains(), filter_info(), cuckoo_version(); loading.
#include <cmath>

#include "tests/support/extension_path.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_function_test {
namespace {

std::string create(const std::string& name, const std::string& arguments = "") {
  return "CREATE VIRTUAL TABLE " + name + " USING cuckoo_filter(key, fingerprint_bits = 28" +
         (arguments.empty() ? "" : ", " + arguments) + ")";
}

class Contains : public testing::Test {
 protected:
  Contains() : db(folder.file("f.db")) {
    db.run(create("seen"));
    db.run("INSERT INTO seen VALUES ('a'), (1)");
    db.run("CREATE TABLE t(k); INSERT INTO t VALUES ('a'), ('b'), (1), (NULL)");
  }
  std::string contains(const std::string& arguments) {
    return db.text("SELECT filter_contains({})", arguments);
  }
  TemporaryFolder folder;
  Database db;
};

TEST_F(Contains, works_in_views_triggers_and_checks) {
  db.run(
      "CREATE VIEW known AS SELECT k FROM t WHERE filter_contains('seen', k);"
      "CREATE TABLE app(v CHECK (filter_contains('seen', v)));"
      "CREATE TABLE log(v, there);"
      "CREATE TRIGGER tr AFTER INSERT ON log BEGIN"
      " UPDATE log SET there = filter_contains('seen', new.v) WHERE rowid = new.rowid;"
      " INSERT INTO seen VALUES (new.v); END;");
  db.gives("SELECT k FROM known", "a,1");
  db.run("INSERT INTO app VALUES ('a')");
  db.refuses("INSERT INTO app VALUES ('b')", SQLITE_CONSTRAINT, {"CHECK"});
  db.gives("INSERT INTO log(v) VALUES ('b'), ('c'), ('b'); SELECT v || there FROM log", "b0,c0,b1");
  db.run("INSERT INTO app VALUES ('b')");
  for (const char* sql : {"CREATE INDEX i ON t(filter_contains('seen', k))",
                          "CREATE TABLE g(a, b AS (filter_contains('seen', a)))"}) {
    EXPECT_NE(db.attempt(sql).code, SQLITE_OK) << sql;
  }
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  db.gives("SELECT k FROM known", "a,b,1");
  db.gives("INSERT INTO log(v) VALUES ('d'); SELECT v || there FROM log", "b0,c0,b1,d0");
}

int deny_seen(void* wanted, int action, const char* table, const char*, const char*, const char*) {
  const bool hit = action == SQLITE_READ && table != nullptr &&
                   std::string(table) == static_cast<const char*>(wanted);
  return hit ? SQLITE_DENY : SQLITE_OK;
}

TEST_F(Contains, asks_the_authorizer) {
  EXPECT_EQ(contains("'seen', 'a'"), "1");
  char denied[] = "seen";
  sqlite3_set_authorizer(db.handle(), deny_seen, denied);
  EXPECT_NE(db.attempt("SELECT filter_contains('seen', 'a')").code, SQLITE_OK);
  EXPECT_NE(db.attempt("SELECT filter_contains('main.seen', 'a')").code, SQLITE_OK);
  sqlite3_set_authorizer(db.handle(), nullptr, nullptr);
  EXPECT_EQ(contains("'seen', 'a'"), "1");
}

// --- while the schema changes --------------------------------------------------------------------

// The function remembers from statement to statement which table a name means.
TEST_F(Contains, notices_that_a_name_means_another_table) {
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES ('main')");
  const Query main_key(db, "SELECT filter_contains('f', 'main'), filter_contains('f', 'temp')");
  const auto answers = [&db = this->db] {
    std::string text = db.text(
        "SELECT filter_contains('f', 'main') || filter_contains('f', 'temp')"
        " || filter_contains('f', 'attached')");
    db.gives(
        "SELECT filter_contains('F', 'main') || filter_contains('F', 'temp')"
        " || filter_contains('F', 'attached')",
        text);
    return text;
  };
  EXPECT_EQ(answers(), "100");
  EXPECT_EQ(answers(), "100");
  db.gives("SELECT filter_contains('main.f', 'main')", "1");
  db.gives("SELECT filter_contains('main.f', 'main')", "1");
  db.run("CREATE VIRTUAL TABLE temp.f USING bloom_filter(k); INSERT INTO temp.f VALUES ('temp')");
  EXPECT_EQ(answers(), "010");
  EXPECT_EQ(answers(), "010");
  db.gives("SELECT filter_contains('main.f', 'main')", "1");
  db.run("DROP TABLE temp.f; CREATE TEMP TABLE f(x)");
  db.refuses("SELECT filter_contains('f', 'main')", {"f is not a cuckoo_filter"});
  db.run("DROP TABLE temp.f");
  EXPECT_EQ(answers(), "100");
  db.run(
      "ATTACH ':memory:' AS a; CREATE VIRTUAL TABLE a.f USING cuckoo_filter(k);"
      "INSERT INTO a.f VALUES ('attached')");
  EXPECT_EQ(answers(), "100");
  db.run("ALTER TABLE main.f RENAME TO g");
  EXPECT_EQ(answers(), "001");
  EXPECT_EQ(answers(), "001");
  db.run("ALTER TABLE main.g RENAME TO f");
  EXPECT_EQ(answers(), "100");
  db.run("DROP TABLE main.f");
  EXPECT_EQ(answers(), "001");
  db.run("CREATE TABLE main.\"main.f\"(x)");
  db.refuses("SELECT filter_contains('main.f', 'main')", {"main.f is not a cuckoo_filter"});
  db.run("DETACH a");
  db.refuses("SELECT filter_contains('f', 'main')", {"no such filter: f"});
}

TEST_F(Contains, notices_that_another_connection_made_the_table_anew) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("f.db"));
  QuickDatabase two(folder.file("f.db"));
  one.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES ('old')");
  const std::string ask = "SELECT filter_contains('f', 'old') || filter_contains('f', 'new')";
  two.gives(ask, "10");
  two.gives(ask, "10");
  one.run(
      "DROP TABLE f; CREATE VIRTUAL TABLE f USING bloom_filter(k); INSERT INTO f VALUES ('new')");
  two.gives(ask, "01");
  one.run("INSERT INTO f VALUES ('old')");
  two.gives(ask, "11");
  one.run("DROP TABLE f; CREATE TABLE f(x)");
  two.refuses(ask, {"f is not a cuckoo_filter"});
}

// A statement calls the function for each row, and writes to the filter that it asks.
TEST_F(Contains, sees_what_its_own_statement_adds) {
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); CREATE TABLE urls(u, fresh)");
  db.run(
      "CREATE TRIGGER t BEFORE INSERT ON urls BEGIN"
      " INSERT INTO f SELECT new.u WHERE NOT filter_contains('f', new.u); END");
  db.run("INSERT INTO urls(u) VALUES (1), (3), (1), (2), (2)");
  db.gives("SELECT count FROM f WHERE k = 1", 1);
  db.gives("SELECT items FROM filter_info('f')", 3);
  Query query(db, "SELECT filter_contains('f', u) FROM urls");
  EXPECT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(query.step(), SQLITE_ROW);
  db.run("DELETE FROM f WHERE k = 2; INSERT INTO f VALUES (7)");
  EXPECT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(query.handle(), 0), 0);
  db.run("BEGIN; INSERT INTO f VALUES (2); ROLLBACK");
  EXPECT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(sqlite3_column_int(query.handle(), 0), 0);
}

TEST_F(Contains, in_an_open_statement_survives_rename_and_drop) {
  db.run(create("gone") + "; INSERT INTO gone VALUES ('a'), ('b')");
  Query open(db, "SELECT filter_contains('gone', k) FROM json_each('[1,2,3,4,5]'), t");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  db.run("ALTER TABLE gone RENAME TO moved");
  const int code = open.step();
  EXPECT_TRUE(code == SQLITE_ROW || code == SQLITE_ERROR) << code;
  open.reset();
  Query second(db, "SELECT filter_contains('moved', k) FROM json_each('[1,2,3,4,5]'), t");
  ASSERT_EQ(second.step(), SQLITE_ROW);
  EXPECT_EQ(second.integer(), 1);
  const bool dropped = db.attempt("DROP TABLE moved").code == SQLITE_OK;
  int last = SQLITE_ROW;
  while ((last = second.step()) == SQLITE_ROW) {
    EXPECT_FALSE(dropped);
  }
  EXPECT_EQ(last, dropped ? SQLITE_ERROR : SQLITE_DONE);
  second.reset();
  EXPECT_EQ(contains("'seen', 'a'"), "1");
}

TEST_F(Contains, in_an_open_statement_survives_detach) {
  db.run("ATTACH '{}' AS aux; {}; INSERT INTO far VALUES ('a')", folder.file("other_file.db"),
         create("aux.far"));
  Query open(db, "SELECT filter_contains('aux.far', k) FROM t");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(open.integer(), 1);
  const bool detached = db.attempt("DETACH aux").code == SQLITE_OK;
  if (detached) {
    EXPECT_EQ(open.step(), SQLITE_ERROR);
  } else {
    EXPECT_EQ(open.step(), SQLITE_ROW);
    open.reset();
    db.run("DETACH aux");
  }
  open.reset();
  EXPECT_NE(open.step(), SQLITE_ROW);
  open.reset();
  // Another file gets the same name. The function answers from that file's contents.
  db.run("ATTACH ':memory:' AS aux; {}; INSERT INTO far VALUES ('b')", create("aux.far"));
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(open.integer(), 0);
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(open.integer(), 1);
}

TEST_F(Contains, without_from_survives_schema_changes_of_another_connection) {
  for (const char* journal : {"DELETE", "WAL"}) {
    db.run(std::string("PRAGMA journal_mode = ") + journal);
    Database other(folder.file("f.db"));
    Query probe(db, "SELECT filter_contains('seen', 'a')");
    EXPECT_EQ(probe.once(), 1);
    other.run("CREATE TABLE x(y)");
    EXPECT_EQ(probe.once(), 1);
    other.run("ALTER TABLE seen RENAME TO moved");
    probe.reset();
    EXPECT_EQ(probe.step(), SQLITE_ERROR);
    probe.reset();
    EXPECT_EQ(contains("'moved', 'a'"), "1");
    other.run("ALTER TABLE moved RENAME TO seen");
    EXPECT_EQ(probe.once(), 1);
    other.run("DROP TABLE seen; {}; INSERT INTO seen VALUES ('q')",
              create("seen", "capacity = 5, seed = 9"));
    EXPECT_EQ(probe.once(), 0);
    other.run("DROP TABLE seen; CREATE TABLE seen(key)");
    probe.reset();
    EXPECT_EQ(probe.step(), SQLITE_ERROR);
    probe.reset();
    other.run("DROP TABLE seen; DROP TABLE x; {}; INSERT INTO seen VALUES ('a')",
              create("seen", "capacity = 7"));
    EXPECT_EQ(probe.once(), 1);
    db.gives("SELECT capacity FROM filter_info('seen')", "7");
  }
}

TEST_F(Contains, in_a_statement_on_another_schema_survives_schema_changes) {
  db.run("ATTACH '{}' AS aux; {}; INSERT INTO far VALUES ('a')", folder.file("other_file.db"),
         create("aux.far"));
  Database other(folder.file("other_file.db"));
  Query probe(db, "SELECT filter_contains('aux.far', k) FROM t");
  ASSERT_EQ(probe.step(), SQLITE_ROW);
  EXPECT_EQ(probe.integer(), 1);
  other.run("PRAGMA busy_timeout = 0");
  other.attempt("CREATE TABLE x(y)");
  other.attempt("INSERT INTO far VALUES ('b')");
  ASSERT_EQ(probe.step(), SQLITE_ROW);
  probe.reset();
  other.run("INSERT INTO far VALUES ('b'); CREATE TABLE IF NOT EXISTS z(y)");
  ASSERT_EQ(probe.step(), SQLITE_ROW);
  ASSERT_EQ(probe.step(), SQLITE_ROW);
  EXPECT_EQ(probe.integer(), 1);
}

// Another connection commits at the worst moments: at the start of each internal statement.
struct Interloper {
  Database* other;
  int at;  // which internal statement
  int seen = 0;
  std::string sql;
};

int on_statement(unsigned, void* context, void*, void*) {
  auto* interloper = static_cast<Interloper*>(context);
  if (interloper->seen++ == interloper->at) {
    interloper->other->attempt(interloper->sql);
  }
  return 0;
}

TEST_F(Contains, without_from_sees_one_commit_only) {
  for (const char* sql :
       {"INSERT INTO seen(seen) VALUES ('rebuild')", "INSERT INTO seen(seen) VALUES ('clear')",
        "BEGIN; DELETE FROM seen WHERE key = 60; INSERT INTO seen VALUES (60), (60); COMMIT",
        "INSERT INTO seen WITH n(i) AS (SELECT 10000 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)"
        " SELECT i FROM n"}) {
    for (int at = 0; at < 8; ++at) {
      const std::string file = folder.file("one" + std::to_string(at) + ".db");
      for (const char* suffix : {"", "-wal", "-shm"}) {
        std::filesystem::remove(file + suffix);
      }
      QuickDatabase one(file);
      one.run("PRAGMA journal_mode = WAL");
      one.run("{}; INSERT INTO seen {}SELECT i FROM n",
              create("seen", "seed = 3, capacity = 20000"), with_numbers(2000));
      one.run("DELETE FROM seen WHERE key = 7; INSERT INTO seen VALUES (7)");
      const bool cleared = std::string(sql).find("clear") != std::string::npos;
      Database reader(file);
      reader.gives("SELECT filter_contains('seen', 51)", 1);
      one.run("INSERT INTO seen VALUES (52)");  // the reader has to follow now; 60 is folded
      Interloper interloper{&one, at, 0, sql};
      Query probe(reader, "SELECT filter_contains('seen', 60)");
      sqlite3_trace_v2(reader.handle(), SQLITE_TRACE_STMT, on_statement, &interloper);
      const int code = probe.step();
      sqlite3_trace_v2(reader.handle(), 0, nullptr, nullptr);
      ASSERT_EQ(code, SQLITE_ROW) << at << ": " << sqlite3_errmsg(reader.handle());
      if (!cleared) {
        EXPECT_EQ(probe.integer(), 1) << "a commit at internal statement " << at << ": " << sql;
      }
      probe.reset();
      EXPECT_EQ(reader.number("SELECT filter_contains('seen', 60)"),
                cleared && interloper.seen > at ? 0 : 1)
          << at << ": " << sql;
    }
  }
}

// --- filter_info ---------------------------------------------------------------------------------

TEST(Info, has_the_documented_columns) {
  Database db;
  db.gives("SELECT name FROM pragma_table_xinfo('filter_info') WHERE hidden = 0",
           "schema,name,kind,items,capacity,load_factor,fpr,fpr_now,bits_per_key,"
           "fingerprint_bits,hashes,generations,generation_items,memory_bytes,disk_bytes,"
           "log_entries,probes,positives,false_positives,seed,rotation,unique,collation,key_types,"
           "mark,mark_from,message,adds,removes,segments,part,parts,error");
  db.gives("SELECT count(*) FROM filter_info", 0);
}

TEST(Info, columns_are_sane) {
  TemporaryFolder folder;
  Database db(folder.file("i.db"));
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(capacity = 20000, fpr = 0.01, seed = 4)");
  db.run("INSERT INTO f {}SELECT i FROM n", with_numbers(20000));
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  const Row row = db.rows("SELECT * FROM filter_info('f')").at(0);
  EXPECT_EQ(row[0] + row[1] + row[2], "mainfcuckoo_filter");
  EXPECT_EQ(row[3], "20000");
  EXPECT_EQ(row[4], "20000");
  EXPECT_GT(std::stod(row[5]), 0.90);
  EXPECT_LE(std::stod(row[5]), 1.0);
  EXPECT_EQ(row[6], "0.01");
  EXPECT_GT(std::stod(row[7]), 0.008);
  EXPECT_LE(std::stod(row[7]), 0.01);
  EXPECT_NEAR(std::stod(row[8]), 9.1, 0.4);
  EXPECT_GT(std::stod(row[9]), 8);
  EXPECT_LT(std::stod(row[9]), 10);
  EXPECT_EQ(row[10] + row[11] + row[12], "2120000");
  EXPECT_GT(std::stoll(row[13]), 20000);
  EXPECT_LT(std::stoll(row[13]), 2'000'000);
  const int64_t file_bytes = db.number("PRAGMA page_count") * db.number("PRAGMA page_size");
  EXPECT_LE(std::stoll(row[14]), file_bytes);
  EXPECT_GT(std::stoll(row[14]), file_bytes / 4);
  EXPECT_EQ(row[15], "0") << "what is folded is not in the log";
  db.gives("SELECT typeof(items) || typeof(fpr) || typeof(disk_bytes) FROM filter_info",
           "integerrealinteger");
}

TEST(Info, of_fingerprint_bits_and_growth_off_is_sane) {
  Database db;
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(fingerprint_bits = 12, growth = off)");
  const Row row =
      db.rows("SELECT fpr, fpr_now, load_factor, fingerprint_bits FROM filter_info('f')").at(0);
  EXPECT_NEAR(std::stod(row[0]), 8.0 / 4096, 0.0003);
  EXPECT_EQ(std::stod(row[1]), 0);
  EXPECT_EQ(std::stod(row[2]), 0);
  EXPECT_EQ(std::stod(row[3]), 12);
}

TEST(Info, with_an_open_statement_survives_a_drop) {
  Database db;
  db.run(create("a") + "; " + create("b"));
  Query open(db, "SELECT name, items, disk_bytes FROM filter_info");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  db.attempt("DROP TABLE b");
  while (open.step() == SQLITE_ROW) {
  }
  open.reset();
  db.gives("SELECT count(*) FROM filter_info",
           db.number("SELECT count(*) FROM"
                     " sqlite_schema WHERE rootpage = 0 AND sql IS NOT NULL"));
}

// --- loading ---------------------------------------------------------------------------------

TEST(Load, twice_is_a_no_op) {
  Database db;
  db.run(create("f") + "; BEGIN; INSERT INTO f VALUES (1)");
  Query open(db, "SELECT count(*) FROM f WHERE key = 1");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(sqlite3_load_extension(db.handle(), extension_path(), nullptr, nullptr), SQLITE_OK);
  EXPECT_EQ(sqlite3_load_extension(db.handle(), extension_path(), "sqlite3_cuckoo_init", nullptr),
            SQLITE_OK);
  EXPECT_EQ(open.integer(), 1);
  open.reset();
  db.gives("INSERT INTO f VALUES (2); COMMIT; SELECT key FROM f WHERE key IN (1, 2)", "1,2");
  db.gives("SELECT filter_contains('f', 2)", "1");
}

}  // namespace
}  // namespace cuckoo::test::filter_function_test
