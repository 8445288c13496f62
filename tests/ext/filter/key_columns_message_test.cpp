// Images, merges, changes and unions of filters whose key has several columns: which of them go
// together, and what is refused.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_key_columns_message_test {
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

// An aggregate does not know the columns; the types that it sees in their keys are enough.
TEST_F(KeyColumnsMessage, an_image_of_cuckoo_key_is_that_of_a_filter) {
  for (const std::string module : {"cuckoo", "bloom"}) {
    db.run(create("f", "a, b", "", module + "_filter") +
           create("g", "a INTEGER, b TEXT", "", module + "_filter"));
    db.run("INSERT INTO f SELECT a, b FROM k");
    const std::string image =
        "(SELECT " + module + "_build(cuckoo_key(a, b), 1e-6, 1000, 7, 'hashes') FROM k)";
    EXPECT_EQ(found(image), "200/0");
    db.gives(sql("SELECT key_types || ' ' || collation FROM filter_info({})", image),
             "INTEGER, TEXT BINARY, BINARY");
    db.run(command("g", "merge", image, "a"));
    EXPECT_EQ(found("'g'"), "200/0");
    // The hashes are equal: a union with the filter's own export has no more entries.
    const std::string exported = "filter_export('f', 'hashes')";
    db.gives(
        sql("SELECT log_entries FROM filter_info((SELECT filter_union(x) FROM (SELECT {} AS x UNION"
            " ALL SELECT {})))",
            image, exported),
        200);
    db.run(command("f", "import", image, "a") + "; " + command("f", "check", "NULL", "a"));
    EXPECT_EQ(found("'f'"), "200/0");
    db.run("DROP TABLE f; DROP TABLE g");
  }
}

TEST_F(KeyColumnsMessage, an_image_says_how_many_columns_it_has) {
  db.run(create("f", "a INTEGER, b TEXT COLLATE NOCASE") + "INSERT INTO f SELECT * FROM k");
  db.gives("SELECT key_types || ' ' || collation FROM filter_info(filter_export('f'))",
           "INTEGER, TEXT BINARY, NOCASE");
  EXPECT_EQ(found("filter_export('f')"), "200/0");
  db.gives("SELECT filter_contains(filter_export('f'), '1', 'ITEM 1')", 1);
  db.gives("SELECT filter_contains(filter_export('f'), 1, NULL)", "NULL");
  db.refuses("SELECT filter_contains(filter_export('f'), 1)",
             {"filter_contains: a key of this image has 2 columns, not 1"});
  db.refuses("SELECT filter_contains(filter_export('f'), 1, 2, 3)", {"not 3"});
  db.refuses("SELECT filter_contains((SELECT cuckoo_build(a) FROM k), 1, 2)",
             {"filter_contains: a key of this image has 1 column, not 2"});
  EXPECT_EQ(db.number("SELECT filter_contains((SELECT cuckoo_build(NULL) FROM k), 1, 2)"), 0)
      << "no key, no columns";
}

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

TEST_F(KeyColumnsMessage, what_has_no_keys_goes_into_any) {
  db.run(create("one", "a") + create("two", "a, b") + "INSERT INTO two SELECT a, b FROM k;" +
         command("two", "merge", "'one'", "a") + "; " +
         command("two", "merge", "(SELECT cuckoo_build(NULL, 1e-6, 1000, 7, 'hashes'))", "a"));
  EXPECT_EQ(found("'two'"), "200/0");
  db.gives(
      "SELECT key_types FROM filter_info((SELECT filter_union(x) FROM (SELECT"
      " cuckoo_build(NULL, 1e-6, 1000, 7, 'hashes') AS x UNION ALL SELECT"
      " filter_export('two', 'hashes'))))",
      "INTEGER, TEXT");
  db.run("INSERT INTO two(two) VALUES ('clear')");
  db.gives(
      "SELECT items || key_types FROM filter_info((SELECT filter_union(x) FROM (SELECT"
      " filter_export('one', 'hashes') AS x UNION ALL SELECT"
      " filter_export('two', 'hashes'))))",
      "0");
}

// What holds for filters of one column holds for each column, and the text names the column.
TEST_F(KeyColumnsMessage, types_and_collations_go_together_in_each_column) {
  db.run(create("untyped", "a, b") + create("typed", "a INTEGER, b TEXT") +
         create("texts", "a TEXT, b TEXT") + create("nocase", "a, b COLLATE NOCASE") +
         "INSERT INTO untyped VALUES (1, 'x')");
  db.run(command("typed", "merge", "'untyped'", "a") + "; " +
         command("nocase", "merge", "'untyped'", "a"));
  db.gives("SELECT filter_contains('typed', 1, 'x') + filter_contains('nocase', 1, 'X')", 2);
  db.refuses(command("texts", "merge", "'untyped'", "a"),
             {"texts: merge: untyped, in column 1 of the key, holds INTEGER or REAL keys",
              "give both keys one type"});
  db.run("INSERT INTO untyped VALUES (1, 'Upper')");
  db.refuses(command("nocase", "import", "filter_export('untyped')", "a"),
             {"nocase: import: the image, in column 2 of the key, compares keys by BINARY, this one"
              " by NOCASE"});
  db.run(command("typed", "merge", "'untyped'", "a"));
  db.run("INSERT INTO untyped VALUES (1, 5)");
  db.refuses(command("typed", "merge", "'untyped'", "a"), {"in column 2 of the key"});
}

// UPDATE adds a key whose other column was folded already. A BINARY filter could miss such a key.
TEST_F(KeyColumnsMessage, what_update_adds_counts_as_cased) {
  db.run("{}{}INSERT INTO nocase VALUES ('low', 1)", create("nocase", "a TEXT COLLATE NOCASE, b"),
         create("binary", "a TEXT, b"));
  db.run(command("binary", "merge", "'nocase'", "a"));
  db.run("UPDATE nocase SET b = 2 WHERE a = 'LOW' AND b = 1");
  db.refuses(command("binary", "merge", "'nocase'", "a"), {"in column 1 of the key", "NOCASE"});
}

// A union unites types and collations column by column.
TEST_F(KeyColumnsMessage, unions_take_the_stricter_domain_of_each_column) {
  db.run("{}{}INSERT INTO x VALUES (1, 'x'); INSERT INTO y VALUES (2, 'Y')",
         create("x", "a INTEGER, b"), create("y", "a, b TEXT COLLATE NOCASE"));
  const std::string united =
      "(SELECT filter_union(i) FROM (SELECT filter_export('x', 'hashes') AS i UNION ALL"
      " SELECT filter_export('y', 'hashes')))";
  db.gives(sql("SELECT key_types || ' ' || collation FROM filter_info({})", united),
           "INTEGER, TEXT BINARY, NOCASE");
  db.gives(
      sql("SELECT filter_contains({}, '1', 'X') + filter_contains({}, 2, 'y')", united, united), 2);
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
}  // namespace filter_key_columns_message_test
}  // namespace cuckoo::test
