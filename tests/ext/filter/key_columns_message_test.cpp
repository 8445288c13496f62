// Images, merges, changes and unions of filters whose key has several columns: which of them go
// together, and what is refused.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_key_columns_message_test {
namespace {

std::string create(const std::string& name, const std::string& columns,
                   const std::string& more = "", const std::string& module = "cuckoo_filter") {
  return "CREATE VIRTUAL TABLE " + name + " USING " + module + "(" + columns +
         ", capacity = 1000, fpr = 1e-6, seed = 7" + more + ");";
}

constexpr char kKeys[] =
    "CREATE TABLE k(a INTEGER, b TEXT);"
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200)"
    " INSERT INTO k SELECT i % 20, 'item ' || i FROM n;";

class KeyColumnsMessage : public testing::Test {
 protected:
  KeyColumnsMessage() { db.run(kKeys); }
  // Says how many of the keys the filter finds, and how many of as many absent keys.
  std::string found(const std::string& filter) {
    return db.text(
        "SELECT sum(filter_contains({}, a, b)) || '/' || sum(filter_contains({}, a + 20, b)) FROM"
        " k",
        filter, filter);
  }
  Database db;
};

TEST_F(KeyColumnsMessage, other_numbers_of_columns_are_refused) {
  db.run(
      "{}{}{}INSERT INTO one SELECT a FROM k; INSERT INTO two SELECT a, b FROM k;"
      "INSERT INTO three SELECT a, b, 1 FROM k",
      create("one", "a"), create("two", "a, b"), create("three", "a, b, c"));
  const std::string tables[] = {"one", "two", "three"};
  const std::string counts[] = {"1 column", "2 columns", "3 columns"};
  for (size_t from = 0; from < 3; ++from) {
    for (size_t to = 0; to < 3; ++to) {
      if (from == to) {
        continue;
      }
      const std::vector<std::string> parts = {
          tables[to] + ": ", " has keys of " + counts[from] + ", this one of " + counts[to],
          "make both of one number of columns", "cuckoo_build(cuckoo_key(a, b))"};
      const std::string other = "'" + tables[from] + "'";
      db.refuses(command(tables[to], "merge", other, "a"), parts);
      db.refuses(command(tables[to], "merge", "filter_export(" + other + ")", "a"), parts);
      db.refuses(command(tables[to], "import", "filter_export(" + other + ")", "a"), parts);
      db.refuses(command(tables[to], "apply", "filter_changes(" + other + ", NULL)", "a"), parts);
      db.refuses(sql("SELECT filter_union(x) FROM (SELECT filter_export({}) AS x UNION ALL SELECT"
                     " filter_export('{}'))",
                     other, tables[to]),
                 {"filter_union: an image has keys of ", "make both of one number"});
    }
  }
  db.refuses(command("two", "import", "(SELECT cuckoo_build(a, 1e-6, 1000, 7) FROM k)", "a"),
             {"two: import: the image has keys of 1 column, this one of 2 columns"});
  for (const std::string& table : tables) {
    db.run(command(table, "check", "NULL", "a"));
    db.gives("SELECT count(*) FROM " + table, 200);
  }
}

TEST_F(KeyColumnsMessage, copies_follow_by_changes_and_parts) {
  for (const char* more : {"", ", generations = 3"}) {
    db.run(create("f", "a INTEGER, b TEXT COLLATE NOCASE", more) +
           create("copy", "a INTEGER, b TEXT COLLATE NOCASE", more));
    for (int round = 0; round < 4; ++round) {
      const std::string some = " WHERE rowid % 4 = " + std::to_string(round);
      db.run("INSERT INTO f SELECT a, upper(b) FROM k" + some);
      if (round == 2) {
        db.run(*more == '\0' ? "DELETE FROM f WHERE a = 1 AND b = 'item 1'"
                             : "INSERT INTO f(f) VALUES ('rotate')");
      }
      db.run(command("copy", "apply", "filter_changes('f', filter_mark('copy'))", "a"));
      EXPECT_EQ(found("'copy'"), found("'f'")) << more << round;
      EXPECT_EQ(mark_of(db, "copy"), mark_of(db, "f"));
      db.gives("SELECT key_types || collation FROM filter_info('copy')",
               "INTEGER, TEXTBINARY, NOCASE");
    }
    db.run(
        "BEGIN; INSERT INTO copy(copy) VALUES ('clear');"
        "INSERT INTO copy(copy, a) SELECT 'apply', piece FROM filter_parts('f', NULL, 1048576);"
        "COMMIT; INSERT INTO copy(copy) VALUES ('check')");
    EXPECT_EQ(found("'copy'"), found("'f'"));
    db.run("DROP TABLE f; DROP TABLE copy");
  }
}

TEST_F(KeyColumnsMessage, types_roll_back_and_are_forgotten_by_clear) {
  db.run(create("f", "a, b"));
  const auto types = [this] { return db.text("SELECT key_types FROM filter_info('f')"); };
  EXPECT_EQ(types(), "");
  db.run("INSERT INTO f VALUES (1, 'x'); BEGIN; INSERT INTO f VALUES ('y', x'00')");
  EXPECT_EQ(types(), "INTEGER TEXT, TEXT BLOB");
  db.run("ROLLBACK");
  EXPECT_EQ(types(), "INTEGER, TEXT");
  db.run("INSERT INTO f(f) VALUES ('clear')");
  EXPECT_EQ(types(), "");
}

}  // namespace
}  // namespace cuckoo::test::filter_key_columns_message_test
