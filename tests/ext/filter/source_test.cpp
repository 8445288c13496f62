// The options source and triggers: loading, rebuild, and filters that keep step with a table.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_source_test {
namespace {

// --- loading ---------------------------------------------------------------------------------

class Source : public testing::TestWithParam<const char*> {
 protected:
  static std::string create(const std::string& options, const std::string& table = "f") {
    const std::string spec = GetParam();
    const size_t bar = spec.find('|');
    return "CREATE VIRTUAL TABLE " + table + " USING " + spec.substr(0, bar) + "(" +
           snapshot(options) + spec.substr(bar + 1) + ")";
  }
  static bool multiset() { return counts_copies(GetParam()); }
  static bool legacy() { return std::string(GetParam()).find("murmur2") != std::string::npos; }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Source,
                         testing::Values("cuckoo_filter|, fpr = 1e-6", "bloom_filter|, fpr = 1e-6",
                                         "bloom_filter|, layout = blocked, fpr = 1e-6",
                                         "bloom_filter|, counting = on, fpr = 1e-6",
                                         "bloom_filter|, hash = murmur2, fpr = 1e-6"),
                         kParameterName);

TEST_P(Source, is_loaded_without_its_nulls) {
  db.run("CREATE TABLE t(a, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, NULL), (4, 'x')");
  db.run(create("source = 't(b)'"));
  db.gives("SELECT key FROM f WHERE key IN ('x', 'y', 'z')", "x,y");
  db.gives("SELECT count(*) FROM f", multiset() ? 3 : 2);
  db.gives("SELECT b FROM t LEFT JOIN f ON f.key = b WHERE f.key IS NULL", "NULL");
  db.gives("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", 0);
  check(db);
}

TEST_P(Source, of_many_rows_makes_the_filter_grow) {
  db.run("CREATE TABLE t(a TEXT); INSERT INTO t " + numbers(1, 5000));
  db.run(create("source = t(a), capacity = " + std::string(legacy() ? "5000" : "10")));
  db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.a", 5000);
  EXPECT_LE(db.number("SELECT count(*) FROM f"), 5000);
  EXPECT_GE(db.number("SELECT count(*) FROM f"), 4990);
  check(db);
}

TEST_P(Source, larger_than_a_filter_without_growth_is_full) {
  db.run("CREATE TABLE t(a TEXT); INSERT INTO t " + numbers(1, 500));
  db.refuses(create("source = t(a), growth = off, capacity = 100"), {"full: f"});
  db.gives("SELECT name FROM sqlite_schema", "t");
  db.run("BEGIN; CREATE TABLE before_it(x)");
  db.refuses(create("source = t(a), growth = off, capacity = 100"), {"full: f"});
  db.gives("COMMIT; SELECT name FROM sqlite_schema", "t,before_it");
  db.run(create("source = t(a), growth = off, capacity = 500"));
  db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.a", 500);
  check(db);
}

TEST_P(Source, is_loaded_anew_by_rebuild) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("f.db"));
  QuickDatabase other(folder.file("f.db"));
  one.run("CREATE TABLE t(a TEXT); INSERT INTO t VALUES ('x'), ('y')");
  one.run(create("source = t(a)"));
  other.gives("SELECT key FROM f WHERE key IN ('x', 'y', 'z')", "x,y");
  one.run("INSERT INTO t VALUES ('z'); DELETE FROM t WHERE a = 'x'; INSERT INTO f VALUES ('own')");
  one.gives("SELECT key FROM f WHERE key IN ('own', 'x', 'y', 'z')", "own,x,y");
  one.run("BEGIN; INSERT INTO f(f) VALUES ('rebuild')");
  one.gives("SELECT key FROM f WHERE key IN ('own', 'x', 'y', 'z')", "y,z");
  one.run("SAVEPOINT s; INSERT INTO t VALUES ('w'); INSERT INTO f(f) VALUES ('rebuild')");
  one.gives("SELECT key FROM f WHERE key IN ('w', 'y', 'z')", "w,y,z");
  one.gives("ROLLBACK TO s; SELECT key FROM f WHERE key IN ('w', 'y', 'z')", "y,z");
  other.gives("SELECT key FROM f WHERE key IN ('own', 'x', 'y', 'z')", "own,x,y");
  one.gives("ROLLBACK; SELECT key FROM f WHERE key IN ('own', 'x', 'y', 'z')", "own,x,y");
  one.run("INSERT INTO f(f) VALUES ('rebuild')");
  other.gives("SELECT key FROM f WHERE key IN ('own', 'x', 'y', 'z')", "y,z");
  other.gives("SELECT count(*) FROM f", 2);
  check(one);
  check(other);
}

TEST_P(Source, lets_a_filter_without_growth_be_resized) {
  db.run("CREATE TABLE t(a TEXT); INSERT INTO t " + numbers(1, 300));
  db.run(create("source = t(a), growth = off, capacity = 300"));
  db.run("INSERT INTO t " + numbers(301, 2000));
  db.refuses("INSERT INTO f(f) VALUES ('rebuild')", {"full: f"});
  db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.a", 300);
  db.run("INSERT INTO f(f, key) VALUES ('resize', 2000)");
  db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.a", 2000);
  db.gives("SELECT capacity FROM filter_info('f')", "2000");
  db.refuses("INSERT INTO f(f, key) VALUES ('resize', 50)", {"full: f"});
  db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.a", 2000);
  check(db);
}

// The key has the type of the source's column, from CREATE on.
TEST_P(Source, gives_the_key_its_type) {
  if (legacy()) {
    return;
  }
  TemporaryFolder folder;
  const std::pair<const char*, const char*> types[] = {{"INTEGER", "INTEGER"},
                                                       {"TEXT", "TEXT"},
                                                       {"REAL", "REAL"},
                                                       {"NUMERIC", "NUMERIC"},
                                                       {"BLOB", ""},
                                                       {"", ""},
                                                       {"VARCHAR(20)", "TEXT"},
                                                       {"DOUBLE PRECISION", "REAL"},
                                                       {"DECIMAL(10, 2)", "NUMERIC"}};
  for (const auto& [type, shown] : types) {
    const std::string file = folder.file("f.db");
    std::filesystem::remove(file);
    {
      QuickDatabase one(file);
      one.run("CREATE TABLE t(a {}); INSERT INTO t VALUES (7), ('8'), (9.5)", type);
      one.run(create("source = t(a)"));
      one.gives("SELECT type FROM pragma_table_info('f')", shown);
      EXPECT_EQ(one.number("SELECT count(*) FROM t JOIN f ON f.key = t.a"), 3) << type;
      EXPECT_EQ(one.list("SELECT filter_contains('f', a) FROM t"), "1,1,1") << type;
      one.run("INSERT INTO f VALUES ('12'); DROP TABLE t");
    }
    QuickDatabase later(file);
    later.gives("SELECT type FROM pragma_table_info('f')", shown);
    Database same;
    same.run("CREATE TABLE t(a {}); INSERT INTO t VALUES (7), ('8'), (9.5), ('12')", type);
    for (const char* probe : {"7", "'7'", "7.0", "8", "'8'", "9.5", "'9.5'", "12", "'12'"}) {
      same.run("CREATE TABLE IF NOT EXISTS q(a {}); DELETE FROM q; INSERT INTO q VALUES ({})", type,
               probe);
      EXPECT_EQ(later.number("SELECT filter_contains('f', {})", probe),
                same.number("SELECT count(*) > 0 FROM t JOIN q ON t.a = q.a"))
          << type << ", " << probe;
    }
  }
}

TEST_P(Source, with_another_type_for_the_key_is_refused) {
  db.run("CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x')");
  db.refuses(create("k TEXT, source = t(a)"), {"f", "type", "INTEGER", "TEXT"});
  db.run(create("k VARCHAR(5), source = t(b)"));
  db.gives("SELECT k FROM f WHERE k = 'x'", "x");
}

TEST_P(Source, may_be_of_any_ordinary_kind) {
  db.run(
      "CREATE TABLE w(a TEXT PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO w VALUES ('x', 1);"
      "CREATE TABLE g(a TEXT, s TEXT AS (a || '!') STORED, v TEXT AS (a || '?'));"
      "INSERT INTO g(a) VALUES ('x'), (NULL);"
      "CREATE TABLE s(a TEXT) STRICT; INSERT INTO s VALUES ('x');"
      "CREATE TABLE \"my \"\"table\"\" (1)\"(\"the key)\" TEXT); INSERT INTO \"my \"\"table\"\" "
      "(1)\""
      " VALUES ('x'); CREATE TABLE \"select\"(\"from\" TEXT); INSERT INTO \"select\" VALUES ('x')");
  const std::pair<const char*, const char*> cases[] = {
      {"w(a)", "x"},
      {"'w(a)'", "x"},
      {"\"W\"(\"A\")", "x"},
      {"[w]([a])", "x"},
      {"w ( a )", "x"},
      {"g(s)", "x!"},
      {"g(v)", "x?"},
      {"s(a)", "x"},
      {"\"my \"\"table\"\" (1)\"(\"the key)\")", "x"},
      {"'\"my \"\"table\"\" (1)\"(\"the key)\")'", "x"},
      {"'\"select\"(from)'", "x"},
      {"`select`(`from`)", "x"},
  };
  for (const auto& [source, key] : cases) {
    db.run(create(std::string("source = ") + source));
    EXPECT_EQ(db.number("SELECT count(*) FROM f WHERE key = '{}'", key), 1) << source;
    EXPECT_EQ(db.number("SELECT count(*) FROM f"), 1) << source;
    db.run("INSERT INTO f(f) VALUES ('rebuild'); DROP TABLE f");
  }
}

TEST_P(Source, that_can_not_be_one_is_refused) {
  db.run(
      "CREATE TABLE t(a TEXT); CREATE VIEW v AS SELECT a FROM t;"
      "CREATE VIRTUAL TABLE other USING cuckoo_filter; ATTACH ':memory:' AS aux;"
      "CREATE TABLE aux.far(a TEXT); CREATE TEMP TABLE tmp(a TEXT)");
  const std::string before = db.list("SELECT name FROM sqlite_schema");
  const std::pair<const char*, const char*> cases[] = {
      {"v(a)", "view"},
      {"other(key)", "virtual"},
      {"nothing(a)", "no such table"},
      {"main.t(a)", "a source is in its filter's schema, and is named without it"},
      {"t(nothing)", "column"},
      {"far(a)", "no such table"},
      {"tmp(a)", "no such table"},
      {"t", "table(column)"},
      {"t()", "table(column)"},
      {"t(a", "table(column)"},
      {"(a)", "table(column)"},
      {"t(a) x", "table(column)"},
      {"t(a, b)", "2 column(s), and the key has 1"},
      {"''", "table(column)"},
      {"t(rowid)", "column"},
      {"sqlite_schema(name)", "table"},
      {"f(key)", ""},
      {"f_config(key)", "no such table"},
      {"aux.far(a)", ""},
      {"pragma_table_list(name)", "no such table"},
  };
  for (const auto& [source, part] : cases) {
    const Outcome outcome = db.attempt(create(sql("source = '{}'", source)));
    EXPECT_EQ(outcome.code, SQLITE_ERROR) << source;
    EXPECT_NE(outcome.message.find(part), std::string::npos) << source << ": " << outcome.message;
    EXPECT_EQ(db.list("SELECT name FROM sqlite_schema"), before) << source;
  }
}

TEST_P(Source, of_an_attached_or_temp_schema_is_of_that_schema) {
  db.run(
      "ATTACH ':memory:' AS aux; CREATE TABLE t(a TEXT); CREATE TABLE aux.t(a TEXT);"
      "CREATE TEMP TABLE t(a TEXT); INSERT INTO main.t VALUES ('m');"
      "INSERT INTO aux.t VALUES ('x'); INSERT INTO temp.t VALUES ('t')");
  for (const std::string schema : {"main", "aux", "temp"}) {
    db.run(create("source = t(a)", schema + ".f"));
    db.gives(sql("SELECT key FROM {}.f WHERE key IN ('m', 't', 'x')", schema),
             schema == "main"  ? "m"
             : schema == "aux" ? "x"
                               : "t");
    db.run("INSERT INTO {}.f(f) VALUES ('rebuild')", schema);
    db.gives(sql("SELECT count(*) FROM {}.f", schema), 1);
  }
  db.run("DROP TABLE temp.f; DROP TABLE main.f; DROP TABLE aux.f");
}

TEST_P(Source, that_is_gone_is_a_clear_error) {
  db.run("CREATE TABLE t(a TEXT, b); INSERT INTO t VALUES ('x', 1)");
  db.run(create("source = t(a)"));
  for (const char* change :
       {"ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO t; ALTER TABLE t RENAME a TO c",
        "DROP TABLE t", "CREATE VIEW t AS SELECT 'x' AS z"}) {
    db.run(change);
    db.refuses("INSERT INTO f(f) VALUES ('rebuild')", {"f: source", "main.t(a)"});
    db.gives("SELECT key FROM f WHERE key = 'x'", "x");
    db.refuses("INSERT INTO f(f) VALUES ('check')", {"f: source", "main.t(a)"});
  }
  db.run("DROP VIEW t; CREATE TABLE t(a TEXT); INSERT INTO t VALUES ('y')");
  db.gives("INSERT INTO f(f) VALUES ('rebuild'); SELECT key FROM f WHERE key IN ('x', 'y')", "y");
  db.run("DROP TABLE t; DROP TABLE f");
}

// A 'rebuild' that is stopped leaves all as it was.
TEST_P(Source, rebuild_is_interrupted) {
  db.run("CREATE TABLE t(a TEXT); INSERT INTO t " + numbers(1, 30000));
  db.run(create("source = t(a), capacity = 30000"));
  db.run("DELETE FROM t WHERE a <> '1'; INSERT INTO t " + numbers(50000, 150000));
  EXPECT_EQ(stopped(db, "INSERT INTO f(f) VALUES ('rebuild')", 1000, 20).code, SQLITE_INTERRUPT);
  db.gives(sql("SELECT count(*) FROM ({}) JOIN f ON f.key = CAST(i AS TEXT)", numbers(1, 30000)),
           30000);
  db.refuses("INSERT INTO f(f) VALUES ('check')", {"100001 of the 100002 values"});
}

// The connection first asks for the type while another connection holds a lock. It must not take
// the key to have no type.
TEST(SourceType, is_known_although_the_file_was_locked_at_first) {
  TemporaryFolder folder;
  const std::string file = folder.file("f.db");
  QuickDatabase one(file);
  one.run(
      "CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (7);"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(source = t(a), triggers = on)");
  QuickDatabase other(file);
  other.run("SELECT * FROM t");  // it knows the schema
  one.run("BEGIN EXCLUSIVE");
  other.refuses("SELECT 1 FROM f WHERE key = '7'", SQLITE_BUSY);
  other.refuses("SELECT filter_contains('f', '7')", SQLITE_BUSY);
  one.run("COMMIT");
  other.gives("SELECT typeof(key) FROM f WHERE key = '7'", "integer");
  other.gives("SELECT filter_contains('f', '7')", 1);
  other.gives("SELECT type FROM pragma_table_info('f')", "INTEGER");
  other.refuses("INSERT INTO f(f) VALUES ('clear')", {"clear", "source"});
  one.run(drop_of_own(one, "f", "insert") + "; INSERT INTO t VALUES (8)");
  EXPECT_NE(other.attempt("SELECT 1 FROM f WHERE key = 8").code, SQLITE_OK);
}

// Whatever stands in the option rows that a source adds, the filter gives the right answer or
// SQLITE_CORRUPT.
TEST(SourceConfig, damage_is_never_silent) {
  TemporaryFolder folder;
  const std::string file = folder.file("f.db");
  for (const char* row : {"key_type", "triggers", "source"}) {
    for (const char* value :
         {"NULL", "0", "'TEXT'", "''", "x'00'", "'off'", "'on'", "'BLOB'", "'t(b)'", "1.5"}) {
      for (const bool gone : {false, true}) {
        std::filesystem::remove(file);
        {
          QuickDatabase one(file);
          one.run(
              "CREATE TABLE t(a INTEGER, b INTEGER); INSERT INTO t VALUES (7, 1), (8, 2);"
              "CREATE VIRTUAL TABLE f USING cuckoo_filter(source = t(a), triggers = on)");
        }
        QuickDatabase one(file);
        const std::string damage =
            gone ? std::string("DELETE FROM f_config WHERE key = '") + row + "'"
                 : std::string("UPDATE f_config SET value = ") + value + " WHERE key = '" + row +
                       "'";
        one.run(damage);
        QuickDatabase later(file);
        const auto may_be_corrupt = [&](const std::string& sql, int64_t expected) {
          const Outcome outcome = later.attempt(sql);
          const int code = outcome.code & 0xFF;
          const bool says = outcome.message.find("corrupt") != std::string::npos;  // when planning
          EXPECT_TRUE(code == SQLITE_CORRUPT || (code == SQLITE_ERROR && says) ||
                      (code == SQLITE_OK && later.number(sql) == expected))
              << damage << ": " << sql << ": " << outcome.code << " " << outcome.message;
        };
        may_be_corrupt("SELECT count(*) FROM f WHERE key = '7'", 1);
        may_be_corrupt("SELECT filter_contains('f', '8')", 1);
        EXPECT_NE(later.attempt("INSERT INTO f(f) VALUES ('clear')").code, SQLITE_OK) << damage;
        const Outcome rebuilt = later.attempt("INSERT INTO f(f) VALUES ('rebuild')");
        if (rebuilt.code == SQLITE_OK) {
          may_be_corrupt("SELECT count(*) FROM f WHERE key IN (7, 8)", 2);
        }
        later.run("DROP TABLE f; INSERT INTO t VALUES (9, 3)");  // its triggers go, too
      }
    }
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_source_test
