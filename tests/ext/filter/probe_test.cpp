// Asking a filter: every form that works, where the planner puts it, and what is refused with which
// words.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_probe_test {
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

TEST_F(Probe, by_a_key_answers) {
  expect("SELECT key FROM seen WHERE key = 'a'", "a");
  expect("SELECT 1 FROM seen WHERE key = 'a'", "1");
  expect("SELECT 1 FROM seen WHERE 'a' = key", "1");
  expect("SELECT 1 FROM seen WHERE key = 'd'", "");
  expect("SELECT * FROM seen WHERE key = 'c'", "c");
  expect("SELECT key || '!' FROM seen s WHERE s.key = 'a'", "a!");
  expect("SELECT seen FROM seen WHERE key = 'a'", "NULL");
  expect("SELECT key FROM seen WHERE key IN ('a', 'd', 'c', 'a')", "a,c");
  expect("SELECT key FROM seen WHERE key = 'a' OR key = 'c' OR key = 'd'", "a,c");
  expect("SELECT key FROM seen WHERE key = 'a' AND key = 'a'", "a");
  expect("SELECT key FROM seen WHERE key = 'a' AND key = 'b'", "");
  expect("SELECT key FROM seen WHERE key = 'a' AND key <> 'a'", "");
  expect("SELECT key FROM seen WHERE key = 'a' AND key LIKE 'a%'", "a");
  expect("SELECT key FROM seen WHERE (key = 'a' AND 1) OR (key = 'b' AND 1)", "a,b");
  expect("SELECT key FROM seen WHERE key = lower('A')", "a");
  expect("SELECT key FROM seen WHERE key = (SELECT min(k) FROM t)", "a");
  expect("VALUES (EXISTS (SELECT 1 FROM seen WHERE key = 'b'))", "1");
}

TEST_F(Probe, count_column_tells_the_copies) {
  expect("SELECT count FROM seen WHERE key = 'c'", "3");
  expect("SELECT key || count FROM seen WHERE key IN ('a', 'b', 'c', 'd')", "a1,b2,c3");
  expect("SELECT key FROM seen WHERE key IN ('a', 'b', 'c') AND count > 1", "b,c");
  expect("SELECT sum(count) FROM t JOIN seen ON key = k", "6");
  db.run("DELETE FROM seen WHERE key = 'c'");
  expect("SELECT count FROM seen WHERE key = 'c'", "2");
  db.run("INSERT INTO seen SELECT 'c' FROM t, t AS u");  // 36 more: past the two buckets
  expect("SELECT count FROM seen WHERE key = 'c'", "38");
}

TEST_F(Probe, count_star_gives_the_items) {
  expect("SELECT count(*) FROM seen", "6");
  expect("SELECT count(1) FROM seen", "6");
  expect("SELECT 1 FROM seen LIMIT 2", "1,1");
  expect("SELECT count(*) FROM seen WHERE 1", "6");
  expect("SELECT (SELECT count(*) FROM seen) + 1", "7");
  expect("SELECT EXISTS (SELECT 1 FROM seen)", "1");
  expect("SELECT count(*) FROM seen, t", "36");
  db.run("INSERT INTO seen(seen) VALUES ('clear')");
  expect("SELECT count(*) FROM seen", "0");
  expect("SELECT EXISTS (SELECT 1 FROM seen)", "0");
}

TEST_F(Probe, in_a_join_answers) {
  expect("SELECT n FROM t JOIN seen ON key = k ORDER BY n", "1,2,3");
  expect("SELECT n FROM t JOIN seen ON seen.key = t.k ORDER BY n DESC", "3,2,1");
  expect("SELECT n FROM t, seen WHERE key = k AND n > 1 ORDER BY n", "2,3");
  expect("SELECT n FROM t JOIN seen ON key = k OR key = 'a' ORDER BY n", "1,2,2,3,3,4,5,6");
  expect("SELECT n FROM t LEFT JOIN seen ON key = k WHERE key IS NULL ORDER BY n", "4,5,6");
  expect("SELECT n FROM t LEFT JOIN seen ON key = k WHERE key IS NOT NULL ORDER BY n", "1,2,3");
  expect("SELECT n || ifnull(key, '-') FROM t LEFT JOIN seen ON key = k ORDER BY n",
         "1a,2b,3c,4-,5-,6-");
  expect("SELECT n FROM t WHERE EXISTS (SELECT 1 FROM seen WHERE key = k) ORDER BY n", "1,2,3");
  expect("SELECT n FROM t WHERE EXISTS (SELECT * FROM seen WHERE key = t.k) ORDER BY n", "1,2,3");
  expect("SELECT n FROM t WHERE NOT EXISTS (SELECT 1 FROM seen WHERE key = k) ORDER BY n", "4,5,6");
  expect("SELECT (SELECT count FROM seen WHERE key = k) FROM t ORDER BY n", "1,2,3,NULL,NULL,NULL");
  expect("SELECT n FROM t WHERE 'x' || k IN (SELECT 'x' || key FROM seen WHERE key = k) ORDER BY n",
         "1,2,3");
  expect(
      "SELECT x.n FROM t x JOIN seen s1 ON s1.key = x.k JOIN seen s2 ON s2.key = s1.key"
      " ORDER BY 1",
      "1,2,3");
  db.run("CREATE TABLE u(key TEXT); INSERT INTO u VALUES ('a'), ('z')");
  expect("SELECT u.key FROM u JOIN seen USING (key)", "a");
  expect("SELECT key FROM u NATURAL JOIN seen", "a");
  expect("SELECT t.n FROM u JOIN seen USING (key) JOIN t ON t.k = u.key", "1");
}

TEST_F(Probe, with_limit_and_offset_answers) {
  expect("SELECT key FROM seen WHERE key IN ('a', 'b', 'c') LIMIT 2", "a,b");
  expect("SELECT key FROM seen WHERE key IN ('a', 'b', 'c') LIMIT 2 OFFSET 1", "b,c");
  expect("SELECT key FROM seen WHERE key = 'a' LIMIT 1", "a");
  expect("SELECT key FROM seen WHERE key = 'a' LIMIT 1 OFFSET 1", "");
  expect("SELECT key FROM seen WHERE key = 'a' LIMIT 0", "");
  expect("SELECT n FROM t JOIN seen ON key = k ORDER BY n LIMIT 1 OFFSET 2", "3");
  expect("SELECT 1 FROM seen LIMIT 10 OFFSET 4", "1,1");
  expect("SELECT key FROM seen WHERE key IN ('a', 'b', 'c') ORDER BY key DESC LIMIT 1", "c");
}

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

TEST_F(Probe, that_would_list_keys_is_refused) {
  for (const char* sql : {"SELECT * FROM seen",
                          "SELECT key FROM seen",
                          "SELECT count FROM seen",
                          "SELECT key, count FROM seen LIMIT 1",
                          "SELECT key FROM seen WHERE key LIKE 'a%'",
                          "SELECT count(*) FROM seen WHERE key > 'a'",
                          "SELECT 1 FROM seen WHERE key BETWEEN 'a' AND 'b'",
                          "SELECT 1 FROM seen WHERE key <> 'a'",
                          "SELECT 1 FROM seen WHERE key GLOB 'a*'",
                          "SELECT count(key) FROM seen",
                          "SELECT DISTINCT key FROM seen",
                          "SELECT max(key) FROM seen",
                          "SELECT key FROM seen ORDER BY key",
                          "SELECT n FROM t WHERE k IN seen",
                          "SELECT n FROM t WHERE k IN (SELECT key FROM seen)",
                          "SELECT n FROM t WHERE k NOT IN (SELECT key FROM seen)",
                          "SELECT n FROM t WHERE k NOT IN seen",
                          "SELECT 1 FROM seen WHERE count = 1",
                          "SELECT 1 FROM seen WHERE count > 1",
                          "SELECT 1 FROM seen WHERE seen = 'x'",
                          "SELECT 1 FROM seen WHERE lower(key) = 'a'",
                          "SELECT 1 FROM seen WHERE +key = 'a'",
                          "SELECT n FROM seen LEFT JOIN t ON key = k",
                          "SELECT n FROM t RIGHT JOIN seen ON key = k",
                          "SELECT n FROM t FULL JOIN seen ON key = k",
                          "SELECT n FROM seen CROSS JOIN t ON key = k",
                          "SELECT n FROM t JOIN seen ON key = k OR n = 1",
                          "SELECT n FROM t, seen WHERE key = k OR n = 4",
                          "SELECT k FROM t INTERSECT SELECT key FROM seen",
                          "SELECT key FROM seen UNION SELECT k FROM t",
                          "INSERT INTO t(k) SELECT key FROM seen",
                          "CREATE TABLE copy AS SELECT * FROM seen",
                          "DELETE FROM seen",
                          "DELETE FROM seen WHERE key LIKE 'a%'",
                          "DELETE FROM seen WHERE 1",
                          "UPDATE seen SET key = 'x'",
                          "UPDATE seen SET key = 'x' WHERE count > 1"}) {
    const Outcome outcome = db.attempt(sql);
    EXPECT_EQ(outcome.code, SQLITE_ERROR) << sql << ": " << outcome.message;
    EXPECT_NE(outcome.message.find("seen"), std::string::npos) << sql << ": " << outcome.message;
    EXPECT_NE(outcome.message.find("can't list"), std::string::npos)
        << sql << ": " << outcome.message;
    EXPECT_EQ(db.number("SELECT count(*) FROM seen"), 6) << sql;
  }
}

TEST_F(Probe, that_is_refused_names_the_way_out) {
  db.refuses("DELETE FROM seen", {"'clear'"});
  db.refuses("DELETE FROM seen WHERE key LIKE 'x'", {"'clear'"});
  db.refuses("SELECT * FROM seen", {"key ="});
  db.refuses("SELECT n FROM t WHERE k IN seen", {"EXISTS", "filter_contains"});
  db.refuses("SELECT n FROM t WHERE k IN (SELECT key FROM seen)", {"EXISTS", "filter_contains"});
  // The way out that the error names works.
  expect("SELECT n FROM t WHERE filter_contains('seen', k) ORDER BY n", "1,2,3");
  db.run("INSERT INTO seen(seen) VALUES ('clear')");
  expect("SELECT count(*) FROM seen", "0");
}

TEST_F(Probe, of_an_or_across_tables_is_refused_or_right) {
  const char* sql = "SELECT n FROM t JOIN seen ON (key = k OR key = n) ORDER BY n";
  expect(sql, "1,2,3");
  db.refuses("SELECT n FROM t, seen WHERE key = k OR k = 'd'", {"seen"});
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

TEST_F(Probe, finds_all_and_few_others_in_a_large_filter) {
  db.run("CREATE VIRTUAL TABLE big USING cuckoo_filter(key INTEGER, fpr = 0.01, seed = 3)");
  const std::string numbers = with_numbers(0, 99999);
  db.run("INSERT INTO big {}SELECT i FROM n", numbers);
  db.gives(numbers + "SELECT count(*) FROM n JOIN big ON key = i", 100000);
  const int64_t wrong = db.number(numbers + "SELECT count(*) FROM n JOIN big ON key = i + 1000000");
  EXPECT_GT(wrong, 300);
  EXPECT_LT(wrong, 1100);
  db.run("INSERT INTO big(big) VALUES ('check')");
}

}  // namespace
}  // namespace filter_probe_test
}  // namespace cuckoo::test
