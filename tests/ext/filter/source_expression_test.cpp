// The options source and where with expressions: what is held, what follows the table, what is
// refused.
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace filter_source_expression_test {
namespace {

class SourceExpression : public testing::Test {
 protected:
  // The filter holds the key of each row of that query, and nothing else.
  void expect_held(const std::string& query) {
    db.gives(sql("SELECT k FROM ({}) WHERE NOT filter_contains('f', k)", query), "none");
    db.gives("SELECT count(*) FROM f", db.number("SELECT count(k) FROM ({})", query));
    db.run("INSERT INTO f(f) VALUES ('check')");
  }
  void create(const std::string& options) {
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter({}, fpr = 1e-8)", snapshot(options));
  }
  void refuses(const std::string& options, const std::vector<std::string>& texts) {
    db.refuses(sql("CREATE VIRTUAL TABLE f USING cuckoo_filter({})", snapshot(options)), texts);
    db.gives("SELECT name FROM sqlite_schema WHERE name LIKE 'f%'", "none");
  }
  Database db;
};

TEST_F(SourceExpression, is_loaded_and_rebuilt) {
  db.run("CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT, deleted_at)");
  db.run("INSERT INTO u VALUES (1, 'Ada', NULL), (2, NULL, NULL), (3, 'BOB', 5), (4, 'Cy', NULL)");
  create("email TEXT, source = u(lower(email)), where = 'deleted_at IS NULL'");
  db.gives("SELECT email FROM f WHERE email IN ('ada', 'Ada', 'bob', 'cy')", "ada,cy");
  db.gives("SELECT count(*) FROM f", 2);
  db.run("INSERT INTO u VALUES (5, 'Eve', NULL), (6, 'Fay', 1)");
  db.refuses("INSERT INTO f(f) VALUES ('check')",
             {"lacks 1 of the 3 values", "main.u(lower(email)) where deleted_at IS NULL"});
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  expect_held("SELECT lower(email) AS k FROM u WHERE deleted_at IS NULL");
}

TEST_F(SourceExpression, follows_what_begins_and_ceases_to_meet_the_condition) {
  db.run("CREATE TABLE u(id INTEGER PRIMARY KEY, email TEXT, deleted_at)");
  create("source = u(email), where = 'deleted_at IS NULL', triggers = on");
  const char* const query = "SELECT email AS k FROM u WHERE deleted_at IS NULL";
  for (const char* sql : {
           "INSERT INTO u VALUES (1, 'a', NULL), (2, 'b', 7), (3, NULL, NULL), (4, 'a', NULL)",
           "UPDATE u SET deleted_at = 1 WHERE id = 1",
           "UPDATE u SET deleted_at = NULL WHERE id = 2",
           "UPDATE u SET email = 'c' WHERE id = 2",
           "UPDATE u SET email = 'd', deleted_at = 3 WHERE id = 2",
           "UPDATE u SET email = 'e', deleted_at = NULL WHERE id = 2",
           "UPDATE u SET email = NULL WHERE id = 2",
           "DELETE FROM u WHERE id = 4",
           "BEGIN; INSERT INTO u VALUES (9, 'x', NULL); ROLLBACK",
       }) {
    SCOPED_TRACE(sql);
    db.run(sql);
    expect_held(query);
  }
}

TEST_F(SourceExpression, compares_as_a_query_of_the_table_does) {
  db.run("CREATE TABLE t(n INTEGER, s TEXT COLLATE NOCASE, r REAL, a)");
  create(
      "source = t(s), where = 'n = ''1'' AND s = ''ADA'' AND r < ''2'' AND a = 1', "
      "triggers = on");
  db.run(
      "INSERT INTO t VALUES (1, 'ada', 1, 1), (1, 'Ada', 1.5, 1), ('1', 'aDa', '1', '1'),"
      " (1, 'ada', 2, 1), (2, 'ada', 1, 1)");
  db.gives("SELECT count(*) FROM f", 2);
  expect_held("SELECT s AS k FROM t WHERE n = '1' AND s = 'ADA' AND r < '2' AND a = 1");
}

TEST_F(SourceExpression, that_did_not_change_leaves_the_filter_as_it_was) {
  db.run("CREATE TABLE t(a TEXT, b)");
  create("source = t(lower(a)), where = 'b > 0', triggers = on");
  db.run("INSERT INTO t VALUES ('X', 1), ('Y', 1)");
  const std::string mark = mark_of(db, "f");
  db.run("UPDATE t SET b = 2; UPDATE t SET a = upper(a); UPDATE t SET a = lower(a)");
  EXPECT_EQ(mark_of(db, "f"), mark);
  db.run("UPDATE t SET a = 'z' WHERE a = 'x'");
  expect_held("SELECT lower(a) AS k FROM t WHERE b > 0");
}

TEST_F(SourceExpression, follows_renames_of_tables_columns_and_filter) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INTEGER, other)");
  create("source = t(upper(a)), where = 'b = ''1'' OR \"b\" = 2', triggers = on");
  db.run("INSERT INTO t VALUES (1, 'x', 1, 0), (2, 'y', 3, 0)");
  db.run("ALTER TABLE t RENAME COLUMN a TO \"the 'a'\"; ALTER TABLE t RENAME COLUMN b TO \"b()\"");
  db.run("INSERT INTO t VALUES (3, 'z', 2, 0)");
  const std::string now = "SELECT upper(\"the 'a'\") AS k FROM ";
  expect_held(now + "t WHERE \"b()\" < 3");
  db.run("ALTER TABLE t RENAME TO \"t \"\"2\"");
  db.run("INSERT INTO \"t \"\"2\" VALUES (4, 'w', 2, 0); INSERT INTO f(f) VALUES ('rebuild')");
  expect_held(now + "\"t \"\"2\" WHERE \"b()\" < 3");
  db.run("ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f");
  db.run("UPDATE \"t \"\"2\" SET \"b()\" = 1 WHERE id = 2");
  expect_held(now + "\"t \"\"2\" WHERE \"b()\" < 3");
  db.run("ALTER TABLE \"t \"\"2\" DROP COLUMN other; ALTER TABLE \"t \"\"2\" ADD COLUMN more");
  db.run("DELETE FROM \"t \"\"2\" WHERE id = 1; INSERT INTO f(f) VALUES ('rebuild')");
  expect_held(now + "\"t \"\"2\" WHERE \"b()\" < 3");
  EXPECT_NE(db.attempt("ALTER TABLE \"t \"\"2\" DROP COLUMN \"b()\"").code, SQLITE_OK);
  expect_held(now + "\"t \"\"2\" WHERE \"b()\" < 3");
  db.gives("DROP TABLE f; SELECT name FROM sqlite_schema", "t \"2");
}

TEST_F(SourceExpression, follows_tables_of_all_kinds) {
  for (const char* table : {
           "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b AS (id % 3))",
           "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b AS (id % 3) STORED)",
           "CREATE TABLE t(id INT PRIMARY KEY, a TEXT, b INT DEFAULT 1) WITHOUT ROWID",
           "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT UNIQUE ON CONFLICT IGNORE, b DEFAULT 1)",
       }) {
    SCOPED_TRACE(table);
    db.run(table);
    create("source = t(id || a), where = 'b = 1', triggers = on");
    const char* const query = "SELECT id || a AS k FROM t WHERE b = 1";
    db.run("PRAGMA recursive_triggers = on");
    db.run("INSERT INTO t(id, a) VALUES (1, 'x'), (2, 'y'), (4, 'z')");
    expect_held(query);
    db.run("UPDATE t SET id = id + 3 WHERE id = 4; REPLACE INTO t(id, a) VALUES (1, 'q')");
    expect_held(query);
    db.run("UPDATE OR IGNORE t SET a = 'q'; DELETE FROM t WHERE id < 3");
    expect_held(query);
    db.run("DROP TABLE f; DROP TABLE t");
  }
}

TEST_F(SourceExpression, gives_the_key_no_type_and_no_collation) {
  db.run("CREATE TABLE t(a INTEGER, b TEXT COLLATE NOCASE); INSERT INTO t VALUES (5, 'Ada')");
  create("source = t(+a)");
  db.gives("SELECT filter_contains('f', 5) || filter_contains('f', '5')", "10");
  db.run("DROP TABLE f");
  create("k TEXT, source = t(+a)");
  db.gives("SELECT filter_contains('f', 5) || filter_contains('f', '5')", "11");
  db.run("DROP TABLE f");
  create("k TEXT COLLATE NOCASE, source = t(trim(b))");
  db.gives("SELECT filter_contains('f', 'ADA')", "1");
  db.run("DROP TABLE f");
  create("source = t(b), where = 'a > 0'");  // a column still does
  db.gives("SELECT filter_contains('f', 'ADA')", "1");
}

TEST_F(SourceExpression, that_no_index_could_have_is_refused) {
  db.run("CREATE TABLE t(a TEXT, b)");
  refuses("source = t(lower(c))", {"source main.t(lower(c))", "no such column"});
  refuses("source = t(lower(\"c\"))", {"no such column", "single quotes"});
  refuses("source = t(random() + a)", {"non-deterministic"});
  refuses("source = t((SELECT a))", {"subqueries"});
  refuses("source = t(max(a))", {"misuse of aggregate"});
  refuses("source = t(lower(t.a))", {"without a table"});
  refuses("source = t(5)", {"names no column"});
  refuses("source = t(a DESC)", {"syntax error"});
  refuses("source = t(a -- so\n)", {"is no expression"});
  refuses("source = t(a), where = 'a = ?1'", {"prohibited"});
  refuses("source = t(a), where = 'random() > 0'", {"non-deterministic"});
  refuses("source = t(a), where = 'a IN (SELECT 1)'", {"subqueries"});
  refuses("source = t(a), where = 'a = 1; DROP TABLE t'", {"is no expression"});
  refuses("source = t(a), where = 'a = 1) OR (b = 2'", {"is no expression"});
  refuses("source = t(a), where = '(a = 1'", {"a parenthesis is not closed"});
  refuses("source = t(a), where = 'a = 1 /* b */'", {"is no expression"});
  refuses("source = t(a), where = ''", {"option where", "a condition"});
  refuses("where = 'a = 1'", {"where needs a source"});
  refuses("source = t(a, b)", {"keys of 2 column(s), and the key has 1"});
  db.gives("SELECT name FROM sqlite_schema", "t");
}

TEST_F(SourceExpression, is_no_ground_for_a_guard) {
  db.run("CREATE TABLE t(a TEXT, b)");
  create("source = t(a), where = 'b > 0', triggers = on");
  db.refuses("CREATE VIRTUAL TABLE g USING filter_guard(f)",
             {"main.t(a) where b > 0", "columns of all rows"});
  db.run("DROP TABLE f");
  create("source = t(lower(a)), triggers = on");
  db.refuses("CREATE VIRTUAL TABLE g USING filter_guard(f, source = t(a), stale = allowed)",
             {"main.t(lower(a))", "columns of all rows"});
}

TEST_F(SourceExpression, whose_row_table_is_gone_stops_changes_of_the_source) {
  db.run("CREATE TABLE t(a TEXT, b)");
  create("source = t(lower(a)), triggers = on");
  db.run(drop_of_own(db, "f", "row"));
  EXPECT_NE(db.attempt("INSERT INTO t VALUES ('A', 1)").code, SQLITE_OK);
  db.gives("SELECT count(*) FROM t", 0);
  db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO t VALUES ('A', 1)");
  expect_held("SELECT lower(a) AS k FROM t");
  db.refuses(sql("ALTER TABLE {} RENAME TO r", own_name(db, "f", "row")), {"under this name"});
}

TEST_F(SourceExpression, may_be_one_of_several_key_columns) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a INTEGER, b TEXT COLLATE NOCASE, c)");
  db.run("INSERT INTO t VALUES (1, 1, 'x', 0), (2, 1, NULL, 0), (3, NULL, 'x', 0), (4, 2, 'Y', 0)");
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(a, b, source = t(a, b), triggers = on)");
  const auto expect = [&] {
    db.gives("SELECT count(*) FROM f",
             db.number("SELECT count(*) FROM t WHERE a IS NOT NULL AND b IS NOT NULL"));
    db.gives(
        "SELECT count(*) FROM t WHERE a IS NOT NULL AND b IS NOT NULL"
        " AND NOT filter_contains('f', a, b)",
        0);
    db.run("INSERT INTO f(f) VALUES ('check')");
  };
  expect();
  db.gives("SELECT filter_contains('f', '1', 'X')", 1);  // types and collations of t
  for (const char* sql : {
           "INSERT INTO t(a, b) VALUES (5, 'p'), (NULL, 'q'), (6, NULL)",
           "UPDATE t SET a = a + 1",
           "UPDATE t SET b = 'z' WHERE b IS NULL",
           "UPDATE t SET a = NULL WHERE id = 4",
           "UPDATE t SET c = 5",
           "ALTER TABLE t RENAME COLUMN b TO \"b b\"; ALTER TABLE t RENAME COLUMN \"b b\" TO b",
           "INSERT INTO f(f) VALUES ('rebuild')",
           "DELETE FROM t WHERE id < 3",
       }) {
    SCOPED_TRACE(sql);
    db.run(sql);
    expect();
  }
  db.run("DROP TABLE f");
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(a, b TEXT, source = t(a, upper(b)),"
      " where = 'c = 5', triggers = on, capacity = 10)");
  db.run("INSERT INTO t(a, b, c) VALUES (9, 'low', 5), (9, 'other', 6)");
  db.gives("SELECT filter_contains('f', 9, 'LOW') || filter_contains('f', 9, 'OTHER')", "10");
  db.run("INSERT INTO f(f) VALUES ('check'); DROP TABLE f");
  refuses("a, b, source = t(a)", {"keys of 1 column(s), and the key has 2"});
  refuses("a TEXT, b, source = t(a, b)", {"key column a takes the type of its source", "INTEGER"});
  refuses("a, b COLLATE RTRIM, source = t(a, b)", {"key column b takes the collation", "NOCASE"});
  refuses("a, b, source = t(a, nothing)", {"nothing: no such column"});
}

TEST_F(SourceExpression, whose_values_differ_in_the_type_of_the_key_are_not_the_same) {
  db.run("CREATE TABLE t(x); INSERT INTO t VALUES (1)");
  for (const char* source : {"t((x))", "t(x + 0)", "t(x)"}) {
    SCOPED_TRACE(source);
    db.run("UPDATE t SET x = 1");
    if (std::string(source) == "t(x)") {  // a column that lost its type
      db.run("CREATE TABLE typed(x TEXT); INSERT INTO typed VALUES (1)");
      create("source = typed(x), triggers = on");
      db.run("CREATE TABLE copy(x); DROP TABLE typed; ALTER TABLE copy RENAME TO typed");
      db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO typed VALUES (1)");
      db.run("UPDATE typed SET x = 1.0");
    } else {
      create(sql("k TEXT, source = {}, triggers = on", source));
      db.run("UPDATE t SET x = 1.0");
    }
    db.gives("SELECT filter_contains('f', '1.0') || filter_contains('f', '1')", "10");
    db.run("INSERT INTO f(f) VALUES ('check'); DROP TABLE f");
  }
}

TEST_F(SourceExpression, compares_columns_of_any_type_as_their_table_does) {
  db.run("CREATE TABLE t(x ANY, k TEXT) STRICT");
  create("source = t(k), where = 'x <> ''5''', triggers = on");
  db.run("INSERT INTO t VALUES (5, 'number'), ('5', 'text')");
  db.gives("SELECT filter_contains('f', 'number') || filter_contains('f', 'text')", "10");
  db.run("INSERT INTO f(f) VALUES ('check')");
}

TEST_F(SourceExpression, keeps_the_names_of_columns_without_its_insert_trigger) {
  db.run("CREATE TABLE t(a TEXT); INSERT INTO t VALUES ('one')");
  for (const char* source : {"t(a)", "t(lower(a))"}) {
    SCOPED_TRACE(source);
    create(sql("source = {}, triggers = on", source));
    db.run("ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t ADD COLUMN a");
    db.run(drop_of_own(db, "f", "insert") + "; INSERT INTO f(f) VALUES ('rebuild')");
    db.gives("SELECT filter_contains('f', 'one')", 1);
    db.run("DROP TABLE f; ALTER TABLE t DROP COLUMN a; ALTER TABLE t RENAME COLUMN b TO a");
  }
}

TEST_F(SourceExpression, may_name_a_column_that_is_called_new) {
  db.run("CREATE TABLE t(new TEXT); INSERT INTO t VALUES ('A')");
  create("k, source = t(CASE WHEN new > '' THEN lower(new) END), triggers = on");
  db.run("INSERT INTO t VALUES ('B'); INSERT INTO f(f) VALUES ('check')");
  db.run("ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f");
  expect_held("SELECT lower(new) AS k FROM t");
}

TEST_F(SourceExpression, of_the_clock_or_the_rowid_is_refused) {
  db.run("CREATE TABLE t(a TEXT, due REAL)");
  for (const char* where : {"due < julianday(''now'')", "date() > a", "strftime(''%s'') > due",
                            "datetime(due, ''localtime'') > a"}) {
    refuses(sql("source = t(a), where = '{}'", where), {"present time or zone"});
  }
  refuses("source = t(a), where = 'rowid > 0'", {"rowid is no column"});
  refuses("source = t(a || oid)", {"oid is no column"});
  create("source = t(date(a)), where = 'strftime(''%Y'', a) > ''2000'''");
}

}  // namespace
}  // namespace filter_source_expression_test
}  // namespace cuckoo::test
