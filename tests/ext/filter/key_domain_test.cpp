// Which keys go together: merge, import and filter_union between filters and images whose keys have
// other types or collations. A key that is taken is found afterwards. What could not be found is
// refused.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_key_domain_test {
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

}  // namespace
}  // namespace cuckoo::test::filter_key_domain_test
