// Asking a filter: every form that works, where the planner puts it, and what is refused with which
// words.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_probe_test {
namespace {

// seen: 'a', 'b' twice, 'c' three times. t: a … e and NULL, each with a number.
class Probe : public testing::Test {
 protected:
  Probe() {
    db.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter(key TEXT, fingerprint_bits = 30)");
    db.run("INSERT INTO seen VALUES ('a'), ('b'), ('b'), ('c'), ('c'), ('c')");
    db.run("CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER)");
    db.run("INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4), ('e', 5), (NULL, 6)");
  }
  // The query must give the answer that a table of the keys would give.
  void expect(const std::string& sql, const std::string& answer) {
    EXPECT_EQ(db.list(sql), answer) << sql;
  }
  std::string plan(const std::string& sql) { return plan_of(db, sql); }
  void expect_before(const std::string& sql, const std::string& first, const std::string& then) {
    const std::string text = plan(sql);
    const size_t at = text.find(first);
    EXPECT_NE(at, std::string::npos) << sql << "\n" << text;
    EXPECT_NE(text.find(then, at == std::string::npos ? 0 : at), std::string::npos) << sql << "\n"
                                                                                    << text;
  }
  Database db;
};

TEST_F(Probe, in_other_clauses_answers) {
  db.run("CREATE VIEW v AS SELECT n FROM t JOIN seen ON key = k");
  expect("SELECT n FROM v ORDER BY n", "1,2,3");
  expect("WITH c AS (SELECT k FROM t) SELECT k FROM c JOIN seen ON key = k ORDER BY 1", "a,b,c");
  expect("SELECT n FROM (SELECT * FROM t WHERE n < 3) JOIN seen ON key = k ORDER BY n", "1,2");
  expect("SELECT n FROM t JOIN seen ON key = k UNION SELECT 9 ORDER BY 1", "1,2,3,9");
  expect("SELECT max(n) FROM t JOIN seen ON key = k GROUP BY n % 2 ORDER BY 1", "2,3");
  expect("SELECT value FROM json_each('[\"a\",\"x\",\"c\"]') JOIN seen ON seen.key = value", "a,c");
  expect(
      "SELECT CASE WHEN EXISTS (SELECT 1 FROM seen WHERE key = k) THEN 'y' ELSE 'n' END"
      " FROM t ORDER BY n",
      "y,y,y,n,n,n");
  Query probe(db, "SELECT count(*) FROM seen WHERE key = ?1");
  for (const char* key : {"a", "d", "c"}) {
    sqlite3_bind_text(probe.handle(), 1, key, -1, SQLITE_STATIC);
    EXPECT_EQ(probe.once(), key[0] != 'd');
  }
}

// Plain joins that sort nothing; join_order_test.cpp counts the others.
TEST_F(Probe, is_planned_before_look_ups) {
  db.run("CREATE TABLE requests(email TEXT); CREATE TABLE users(email TEXT PRIMARY KEY, name)");
  db.run("CREATE TABLE numbered(id INTEGER PRIMARY KEY, name)");
  db.run("CREATE VIRTUAL TABLE ids USING cuckoo_filter(id INTEGER)");
  db.run("CREATE VIRTUAL TABLE mails USING cuckoo_filter(email TEXT)");
  db.run("CREATE INDEX by_name ON numbered(name)");
  const auto check = [this] {
    expect_before("SELECT u.* FROM requests r JOIN mails USING (email) JOIN users u USING (email)",
                  "SCAN mails VIRTUAL TABLE", "SEARCH u ");
    expect_before(
        "SELECT n.* FROM requests r JOIN numbered n ON n.id = r.email"
        " JOIN ids ON ids.id = r.email",
        "SCAN ids VIRTUAL TABLE", "SEARCH n ");
    expect_before(
        "SELECT n.* FROM requests r JOIN numbered n ON n.name = r.email"
        " JOIN mails m ON m.email = r.email",
        "SCAN m VIRTUAL TABLE", "SEARCH n ");
  };
  check();
  db.run(with_numbers(2000) + "INSERT INTO numbered SELECT i, i FROM n");
  db.run(
      "INSERT INTO users SELECT id, name FROM numbered;"
      "INSERT INTO requests SELECT name FROM numbered; ANALYZE");
  check();
}

TEST_F(Probe, in_a_nested_loop_asks_again_for_each_row) {
  Query outer(db, "SELECT k FROM t ORDER BY k DESC");
  Query probe(db, "SELECT count(*) FROM seen WHERE key = ?");
  std::string answers;
  while (outer.step() == SQLITE_ROW) {
    sqlite3_bind_value(probe.handle(), 1, sqlite3_column_value(outer.handle(), 0));
    answers += std::to_string(probe.once());
  }
  EXPECT_EQ(answers, "001110");
}

TEST_F(Probe, counts_probes_and_positives) {
  const auto before = db.rows("SELECT probes, positives FROM filter_info('seen')").at(0);
  db.list("SELECT n FROM t JOIN seen ON key = k");
  const auto after = db.rows("SELECT probes, positives FROM filter_info('seen')").at(0);
  EXPECT_EQ(std::stoll(after[0]) - std::stoll(before[0]), 5);  // NULL asks nothing
  EXPECT_EQ(std::stoll(after[1]) - std::stoll(before[1]), 3);
}

TEST_F(Probe, writes_nothing) {
  const std::vector<Row> before = shadow_rows(db, "seen");
  const int changes = sqlite3_total_changes(db.handle());
  db.list("SELECT n FROM t JOIN seen ON key = k");
  db.list("SELECT count(*) FROM seen");
  db.list("SELECT filter_contains('seen', k) FROM t");
  db.list("SELECT * FROM filter_info");
  EXPECT_EQ(sqlite3_total_changes(db.handle()), changes);
  EXPECT_EQ(shadow_rows(db, "seen"), before);
}

}  // namespace
}  // namespace cuckoo::test::filter_probe_test
