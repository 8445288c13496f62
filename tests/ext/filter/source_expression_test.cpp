// The options source and where with expressions: what is held, what follows the table, what is
// refused.
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_source_expression_test {
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
}  // namespace cuckoo::test::filter_source_expression_test
