// 'check' of a filter with a source: it compares the two, and says what is missing or too many; and
// what triggers of the application's own can do between a source and its filter.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_source_check_test {
namespace {

class SourceCheck : public testing::TestWithParam<const char*> {
 protected:
  void create(const std::string& more = "") {
    db.run("CREATE VIRTUAL TABLE f USING {}{})", GetParam(), snapshot(", source = t(a)" + more));
  }
  void check() { db.run("INSERT INTO f(f) VALUES ('check')"); }
  void check_says(const std::vector<std::string>& parts) {
    db.refuses("INSERT INTO f(f) VALUES ('check')", parts);
  }
  void rebuild() { db.run("INSERT INTO f(f) VALUES ('rebuild')"); }
  // Every value of the source is found.
  void expect_none_missing() {
    db.gives(
        "SELECT count(*) FROM t WHERE a IS NOT NULL AND NOT EXISTS"
        " (SELECT 1 FROM f WHERE f.key = t.a)",
        0);
  }
  TemporaryFolder folder_;
  QuickDatabase db{folder_.file("c.db")};
};

class SourceCheckOfTriggers : public SourceCheck {};

INSTANTIATE_TEST_SUITE_P(Kinds, SourceCheck,
                         testing::Values("cuckoo_filter(fpr = 1e-6, seed = 1, capacity = 1000",
                                         "cuckoo_filter(growth = off, fpr = 1e-6, seed = 1",
                                         "bloom_filter(fpr = 1e-6, seed = 1, growth = off",
                                         "bloom_filter(fpr = 1e-6, seed = 1",
                                         "bloom_filter(layout = blocked, fpr = 1e-6, seed = 1",
                                         "bloom_filter(counting = on, fpr = 1e-6, seed = 1"),
                         kParameterName);

INSTANTIATE_TEST_SUITE_P(Kinds, SourceCheckOfTriggers,
                         testing::Values("cuckoo_filter(fpr = 1e-6, seed = 1, capacity = 1000",
                                         "cuckoo_filter(growth = off, fpr = 1e-6, seed = 1",
                                         "bloom_filter(counting = on, fpr = 1e-6, seed = 1"),
                         kParameterName);

TEST_P(SourceCheck, tells_values_that_are_missing) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x'), ('x'), (NULL), (5)");
  create();
  check();
  db.run("INSERT INTO t VALUES ('y'), (6), (NULL)");
  check_says({"f: it lacks 2 of the 5 values of its source main.t(a);", "('rebuild') mends it"});
  db.run("INSERT INTO f VALUES (6)");
  check_says({"f: it lacks 1 of the 5 values"});
  rebuild();
  check();
  db.run("DELETE FROM t WHERE a = 'x'");  // nobody promised that it follows
  check();
  db.gives("SELECT key FROM f WHERE key = 'x'", "x");
}

TEST_P(SourceCheckOfTriggers,
       tells_keys_that_are_too_many_where_triggers_should_have_removed_them) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y')");
  create(", triggers = on");
  db.run(
      "INSERT INTO t VALUES (3, 'z'); DELETE FROM t WHERE id = 2; UPDATE t SET a = 'q' WHERE id = "
      "1");
  check();
  db.run("REPLACE INTO t VALUES (1, 'new')");
  check_says({"f: it holds 1 that its source main.t(a) does not have", "('rebuild') mends it"});
  rebuild();
  check();
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  db.run("INSERT INTO t VALUES (7, 'unseen'); DELETE FROM t WHERE id = 3");
  sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr);
  check_says({"lacks 1 of the 2 values", ", and holds 1 that its source"});
  rebuild();
  check();
}

// A trigger that is newer than the filter's triggers runs before them. If it changes the row that
// was just inserted, the filter's triggers see the change before the insert. So they take away a
// value that is not there yet.
TEST_P(SourceCheckOfTriggers, names_a_newer_trigger_and_rebuild_takes_precedence_again) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t(a) VALUES ('x')");
  create(", triggers = on");
  db.run(
      "CREATE TRIGGER fold AFTER INSERT ON t BEGIN"
      " UPDATE t SET a = lower(a) WHERE id = new.id; END");
  db.run("INSERT INTO t(a) VALUES ('Ada')");
  expect_none_missing();
  check_says({"f: it holds 1 that its source", "trigger fold is newer than the filter's"});
  rebuild();
  check();
  EXPECT_EQ(triggers_of(db, "rowid"), "fold,f_source_insert,f_source_update,f_source_delete");
  db.run("INSERT INTO t(a) VALUES ('Bob'), ('EVE'); UPDATE t SET a = 'Zoe' WHERE a = 'bob'");
  expect_none_missing();
  check();
  rebuild();  // nothing is newer: they stay
  db.gives("SELECT count(*) FROM f", db.number("SELECT count(a) FROM t"));
}

// The fingerprints are so short that a value "removed" before it is added mostly hits another
// key's.
TEST_P(SourceCheckOfTriggers, a_newer_trigger_never_makes_a_value_missing) {
  const std::string kind = GetParam();
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)");
  db.run(
      "CREATE VIRTUAL TABLE f USING {}{}fpr = 0.25, seed = 3, capacity = 2000, source = t(a),"
      " triggers = on)",
      kind.substr(0, kind.find('(')),
      (kind.find("counting") == std::string::npos ? "(" : "(counting = on, "));
  db.run(
      "CREATE TRIGGER fold AFTER INSERT ON t BEGIN"
      " UPDATE t SET a = lower(a) WHERE id = new.id; END");
  for (int round = 0; round < 12; ++round) {
    db.run("{}INSERT INTO t(a) SELECT 'Word ' || (i * 7919 + {} * 100003) FROM n",
           with_numbers(200), round);
    expect_none_missing();
    db.run("DELETE FROM t WHERE id % 5 = " + std::to_string(round % 5));
    expect_none_missing();
  }
}

// What docs/following.md warns of: the statement ends before the filter's trigger has seen the row.
TEST_P(SourceCheckOfTriggers, finds_what_raise_ignore_kept_from_the_filter) {
  db.run("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t(a) VALUES ('x')");
  create(", triggers = on");
  db.run("CREATE TRIGGER stop AFTER INSERT ON t WHEN new.a = 'y' BEGIN SELECT RAISE(IGNORE); END");
  db.run("INSERT INTO t(a) VALUES ('y')");
  check_says({"lacks 1 of the 2 values", "trigger stop is newer"});
  rebuild();
  check();
  db.run("INSERT INTO t(a) VALUES ('y')");
  check();
}

// Its 'rebuild' makes no triggers anew, so no statement is planned again.
TEST_P(SourceCheckOfTriggers, does_not_take_those_of_another_filter_for_newer_ones) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES ('x')");
  create(", triggers = on");
  db.run("CREATE VIRTUAL TABLE other USING cuckoo_filter(source = t(a), triggers = on)");
  const int64_t version = db.number("PRAGMA schema_version");
  rebuild();
  db.run("INSERT INTO other(other) VALUES ('rebuild')");
  db.gives("PRAGMA schema_version", version);
  db.run("DELETE FROM f WHERE key = 'x'");
  const Outcome outcome = db.attempt("INSERT INTO f(f) VALUES ('check')");
  EXPECT_EQ(outcome.message.find("newer"), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("lacks 1 of the 1"), std::string::npos) << outcome.message;
}

TEST_P(SourceCheckOfTriggers, says_that_the_triggers_are_gone) {
  db.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)");
  create(", triggers = on");
  check();
  db.run(drop_of_own(db, "f", "insert"));
  check_says({"f: the triggers on its source are gone", "'rebuild'"});
  db.run("INSERT INTO t(a) VALUES (77)");
  check_says({"f: the triggers on its source are gone", "'rebuild'"});
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  check();
}

}  // namespace
}  // namespace cuckoo::test::filter_source_check_test
