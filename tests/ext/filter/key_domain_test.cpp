// Which keys go together: merge, import and filter_union between filters and images whose keys have
// other types or collations. A key that is taken is found afterwards. What could not be found is
// refused.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_key_domain_test {
namespace {

const std::vector<std::string> kColumns = split(
    "k, k TEXT, k INTEGER, k NUMERIC, k REAL, k TEXT COLLATE NOCASE, k COLLATE RTRIM, k BLOB");
// Values whose types, case and spaces make a difference.
constexpr const char* kValues[] = {
    "1", "9007199254740993", "1.5", "2.0", "'ada'", "'Ada'", "'b '", "'1'", "'x'", "x'31'", "''"};

std::string create(const std::string& name, const std::string& column) {
  return "CREATE VIRTUAL TABLE " + name + " USING cuckoo_filter(" + column +
         ", fpr = 1e-9, capacity = 100, seed = 0)";
}

// Tries every pair of columns with every value. If the target takes a value, it finds what an
// ordinary table of the source's kind gives back, as an ordinary table of the target's kind would.
TEST(KeyDomain, what_merge_takes_is_found_afterwards) {
  for (const std::string& source : kColumns) {
    for (const std::string& target : kColumns) {
      for (const std::string value : kValues) {
        const std::string what = source + " -> " + target + ": " + value;
        Database db;
        db.run(create("a", source) + ";" + create("b", target));
        db.run("CREATE TABLE ta({}); CREATE TABLE tb({})", source, target);
        db.run("INSERT INTO a VALUES ({}); INSERT INTO ta VALUES ({})", value, value);
        const Outcome merged = db.attempt("INSERT INTO b(b, k) VALUES ('merge', 'a')");
        const Outcome imported =
            db.attempt("INSERT INTO b(b, k) VALUES ('import', filter_export('a'))");
        EXPECT_EQ(merged.code, imported.code) << what;
        if (merged.code != SQLITE_OK) {
          EXPECT_EQ(merged.code, SQLITE_ERROR) << what;
          EXPECT_NE(merged.message.find("give both keys one"), std::string::npos) << merged.message;
          continue;
        }
        db.run("INSERT INTO tb SELECT k FROM ta");
        // Asks for the value as the source shows it, as the target would, and as it was given.
        for (const std::string asked :
             {"(SELECT k FROM ta)", "(SELECT k FROM tb)", value.c_str()}) {
          EXPECT_GE(db.number("SELECT filter_contains('b', {})", asked),
                    db.number("SELECT count(*) FROM tb WHERE k = " + asked))
              << what << " asked " << asked;
        }
        EXPECT_EQ(db.number("SELECT filter_contains('b', (SELECT k FROM tb))"), 1) << what;
      }
    }
  }
}

TEST(KeyDomain, equal_columns_always_go_together) {
  for (const std::string& column : kColumns) {
    Database db;
    db.run(create("a", column) + ";" + create("b", column));
    for (const std::string value : kValues) {
      db.run("INSERT INTO a VALUES ({})", value);
    }
    db.run(
        "INSERT INTO b(b, k) VALUES ('merge', 'a'); INSERT INTO b(b, k) VALUES ('merge', "
        "filter_export('a', 'hashes')); INSERT INTO b(b, k) VALUES ('import', filter_export('a'))");
    db.run(
        "CREATE TABLE i AS SELECT filter_export('a') AS image UNION ALL SELECT filter_export('b')");
    db.gives("SELECT filter_union(image) IS NOT NULL FROM i", 1);
  }
}

TEST(KeyDomain, integers_do_not_get_lost_among_texts) {
  Database db;
  db.run("{}; {}; INSERT INTO numbers VALUES (1)", create("numbers", "k"),
         create("texts", "k TEXT"));
  for (const char* sql : {"INSERT INTO texts(texts, k) VALUES ('merge', 'numbers')",
                          "INSERT INTO texts(texts, k) VALUES ('merge', filter_export('numbers'))",
                          "INSERT INTO texts(texts, k) VALUES ('import', filter_export('numbers'))",
                          "INSERT INTO texts(texts, k) SELECT 'import', cuckoo_build(1)"}) {
    db.refuses(sql, {"texts: ", "INTEGER", "TEXT", "give both keys one type"});
    db.gives("SELECT count(*) FROM texts", 0);
  }
  db.run(
      "INSERT INTO texts(texts, k) SELECT 'import', cuckoo_build(x, 1e-9, 100) FROM"
      " (SELECT 'ada' AS x UNION ALL SELECT 'Eve')");
  db.gives("SELECT filter_contains('texts', 'Eve')", 1);
}

// An aggregate sees no collation. It sees whether a collation would change the values it gets.
TEST(KeyDomain, builds_of_folded_texts_go_into_a_filter_that_folds) {
  Database db;
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('Ada'), ('EVE '), (7)");
  db.run(create("n", "k COLLATE NOCASE") + ";" + create("r", "k COLLATE RTRIM"));
  db.refuses("INSERT INTO n(n, k) SELECT 'import', cuckoo_build(a) FROM t",
             {"BINARY", "NOCASE", "lower(x)"});
  db.refuses("INSERT INTO r(r, k) SELECT 'import', cuckoo_build(a) FROM t",
             {"BINARY", "RTRIM", "rtrim(x)"});
  db.run("INSERT INTO n(n, k) SELECT 'import', cuckoo_build(lower(a)) FROM t");
  db.gives("SELECT count(*) FROM t JOIN n ON n.k = t.a", 2);
  db.run("INSERT INTO r(r, k) SELECT 'import', cuckoo_build(rtrim(a)) FROM t");
  db.gives("SELECT count(*) FROM t JOIN r ON r.k = t.a", 2);
}

TEST(KeyDomain, a_union_answers_for_all_its_images) {
  Database db;
  db.run("{}; {}; CREATE TABLE i(x)", create("n", "k TEXT COLLATE NOCASE"), create("b", "k TEXT"));
  db.run("INSERT INTO n VALUES ('Ada'); INSERT INTO b VALUES ('eve')");
  db.run("INSERT INTO i VALUES (filter_export('n')), (filter_export('b'))");
  for (const char* order : {"x", "x DESC"}) {
    const std::string united =
        sql("(SELECT filter_union(x) FROM (SELECT x FROM i ORDER BY {}))", order);
    db.gives(sql("SELECT collation FROM filter_info({})", united), "NOCASE");
    db.gives(sql("SELECT filter_contains({}, 'ADA') + filter_contains({}, 'EVE')", united, united),
             2);
  }
  db.run("INSERT INTO b VALUES ('Eve'); UPDATE i SET x = filter_export('b') WHERE rowid = 2");
  db.refuses("SELECT filter_union(x) FROM i", {"BINARY", "NOCASE", "collation"});
}

TEST(KeyDomain, of_a_union_is_rather_one_with_a_type) {
  Database db;
  db.run(create("t", "k TEXT") + "; INSERT INTO t VALUES ('1'); CREATE TABLE i(x)");
  db.run(
      "INSERT INTO i SELECT cuckoo_build('2', 1e-9, 100, 0) UNION ALL SELECT filter_export('t')");
  for (const char* order : {"rowid", "rowid DESC"}) {
    const std::string united =
        sql("(SELECT filter_union(x) FROM (SELECT x FROM i ORDER BY {}))", order);
    db.gives(sql("SELECT filter_contains({}, 1) + filter_contains({}, 2)", united, united), 2);
  }
}

TEST(KeyTypes, are_those_of_all_keys_since_the_filter_was_empty) {
  TemporaryFolder folder;
  const std::string file = folder.file("t.db");
  QuickDatabase db(file);
  const auto types = [&] { return db.text("SELECT key_types FROM filter_info('f')"); };
  db.run(create("f", "k"));
  EXPECT_EQ(types(), "");
  db.run("INSERT INTO f VALUES (1); DELETE FROM f WHERE k = 1");
  EXPECT_EQ(types(), "INTEGER");
  db.run("UPDATE f SET k = 'a' WHERE k = 1");
  EXPECT_EQ(types(), "INTEGER");
  db.run("BEGIN; INSERT INTO f VALUES ('a'); SAVEPOINT s; INSERT INTO f VALUES (x'00'), (1.5)");
  EXPECT_EQ(types(), "INTEGER REAL TEXT BLOB");
  db.run("ROLLBACK TO s");
  EXPECT_EQ(types(), "INTEGER TEXT");
  db.run("ROLLBACK");
  EXPECT_EQ(types(), "INTEGER");
  db.run("INSERT INTO f VALUES (2); UPDATE f SET k = 2.5 WHERE k = 2");
  EXPECT_EQ(types(), "INTEGER REAL");
  for (const char* command : {"('rebuild', NULL)", "('resize', 5000)", "('resize', 10)"}) {
    db.run(std::string("INSERT INTO f(f, k) VALUES ") + command);
    EXPECT_EQ(types(), "INTEGER REAL") << command;
  }
  {
    QuickDatabase other(file);
    other.gives("SELECT key_types FROM filter_info('f')", "INTEGER REAL");
    other.run("INSERT INTO f VALUES (x'01')");
  }
  EXPECT_EQ(types(), "INTEGER REAL BLOB");
  db.gives("SELECT key_types FROM filter_info(filter_export('f'))", "INTEGER REAL BLOB");
  db.run("INSERT INTO f(f, k) SELECT 'import', cuckoo_build('x')");
  EXPECT_EQ(types(), "TEXT");
  db.run("INSERT INTO f(f) VALUES ('clear')");
  EXPECT_EQ(types(), "");
  db.run("INSERT INTO f(f, k) SELECT 'merge', cuckoo_build(1.5)");
  EXPECT_EQ(types(), "REAL");
}

TEST(KeyTypes, of_a_column_are_those_after_its_affinity) {
  Database db;
  db.run(create("t", "k TEXT") + ";" + create("r", "k REAL") + ";" + create("n", "k NUMERIC"));
  for (const char* table : {"t", "r", "n"}) {
    db.run("INSERT INTO {} VALUES (1), ('2')", table);
  }
  db.gives("SELECT name || ' ' || key_types FROM filter_info", "n INTEGER,r REAL,t TEXT");
  db.run(
      "CREATE VIRTUAL TABLE w USING bloom_filter(k, generations = 3); INSERT INTO w VALUES (1);"
      "INSERT INTO w(w) VALUES ('rotate'); INSERT INTO w VALUES ('a');"
      "INSERT INTO w(w) VALUES ('rotate')");
  db.gives("SELECT key_types FROM filter_info('w')", "INTEGER TEXT");
  db.gives("INSERT INTO w(w) VALUES ('rotate'); SELECT key_types FROM filter_info('w')", "TEXT");
  db.run(
      "CREATE TABLE s(a, b); INSERT INTO s VALUES (1, 'x'), ('y', 'z');"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(source = s(a), triggers = off);"
      "CREATE VIRTUAL TABLE m USING bloom_filter(hash = murmur2, source = s(b), triggers = off)");
  db.gives("SELECT key_types FROM filter_info('f')", "INTEGER TEXT");
  db.gives("SELECT key_types FROM filter_info('m')", "TEXT");
  db.run("DELETE FROM s WHERE a = 1; INSERT INTO f(f) VALUES ('rebuild')");
  db.gives("SELECT key_types FROM filter_info('f')", "TEXT");
}

}  // namespace
}  // namespace filter_key_domain_test
}  // namespace cuckoo::test
