// The option source: types, interrupts, locks and damage; source.test has what SQL can show.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_source_test {
namespace {

class Source : public testing::TestWithParam<const char*> {
 protected:
  static std::string create(const std::string& options) {
    return replaced("CREATE VIRTUAL TABLE f USING " + std::string(GetParam()) + ", fpr = 1e-9)",
                    "|", "(" + snapshot(options));
  }
  static bool legacy() { return std::string(GetParam()).find("murmur2") != std::string::npos; }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Source,
                         testing::Values("cuckoo_filter|", "bloom_filter|",
                                         "bloom_filter|, layout = blocked",
                                         "bloom_filter|, counting = on",
                                         "bloom_filter|, hash = murmur2"),
                         kParameterName);

TEST_P(Source, of_many_rows_makes_the_filter_grow) {
  db.run("CREATE TABLE t(a TEXT); INSERT INTO t " + numbers(1, 5000));
  db.run(create("source = t(a), capacity = " + std::string(legacy() ? "5000" : "10")));
  db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.a", 5000);
  EXPECT_LE(db.number("SELECT count(*) FROM f"), 5000);
  EXPECT_GE(db.number("SELECT count(*) FROM f"), 4990);
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
