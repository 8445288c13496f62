// The keys of a large INSERT pend in memory. The filter makes their segments at the transaction's
// end. No statement may notice this.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_waiting_test {
namespace {

// More than some of the filters were made for.
const int64_t kKeys = is_sanitized() ? 1200 : 3000;

class WaitingKeys : public testing::TestWithParam<const char*> {
 protected:
  WaitingKeys() {
    db.run(
        "{}; {}; INSERT INTO g VALUES ('g'); CREATE TABLE t(a); INSERT INTO t {};"
        " CREATE TABLE i(empty, mark)",
        create("f"), create("g"), numbers(1, kKeys));
    if (!window()) {
      db.run("INSERT INTO i SELECT filter_export('f'{}), filter_mark('f')",
             (growth() ? ", 'hashes'" : ""));
    }
  }
  static std::string create(const std::string& name) {
    return "CREATE VIRTUAL TABLE " + name + " USING " + GetParam() + "seed = 1, fpr = 1e-9)";
  }
  static bool has(const char* option) {
    return std::string(GetParam()).find(option) != std::string::npos;
  }
  static bool window() { return has("generations"); }
  static bool growth() { return !has("growth = off"); }
  void add_many() { db.run("BEGIN; INSERT INTO f " + numbers(1, kKeys)); }

  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, WaitingKeys,
                         testing::Values("bloom_filter(capacity = 1000, ",
                                         "bloom_filter(layout = blocked, capacity = 4000, ",
                                         "bloom_filter(growth = off, capacity = 10000, ",
                                         "bloom_filter(generations = 3, capacity = 4000, ",
                                         "bloom_filter(counting = on, capacity = 1000, ",
                                         "cuckoo_filter(growth = off, capacity = 5000, ",
                                         "cuckoo_filter(capacity = 4000, "),
                         kParameterName);

struct Question {
  std::string first;
  std::string ask;
  int64_t answer = kKeys;
};

TEST_P(WaitingKeys, are_there_whatever_asks_first) {
  const std::string count = "SELECT count(*) FROM f";
  const std::string join = "SELECT count(*) FROM t JOIN f ON f.key = t.a";
  const std::string last = "SELECT count(*) FROM f WHERE key = " + std::to_string(kKeys);
  std::vector<Question> questions = {
      {"", count},
      {"", join},
      {"", last, 1},
      {"", "SELECT count FROM f WHERE key = " + std::to_string(kKeys), 1},
      {"", "SELECT count(*) FROM t WHERE a IN (SELECT key FROM f WHERE key = a)"},
      {"", "SELECT count(*) FROM t WHERE EXISTS (SELECT 1 FROM f WHERE key = a)"},
      {"", "SELECT count(*) FROM t WHERE filter_contains('f', a)"},
      {"", "SELECT items FROM filter_info('f')"},
      {"SAVEPOINT s; ROLLBACK TO s", count},
      {"SAVEPOINT s; INSERT INTO f VALUES ('a'); ROLLBACK TO s; RELEASE s", count},
      {"INSERT INTO f VALUES ('a')", count, kKeys + 1},
      {"INSERT INTO f(f) VALUES ('check')", join},
      {"SELECT cuckoo_check('f')", count},
      {"INSERT INTO f(f) VALUES ('clear')", count, 0},
      {"ALTER TABLE f RENAME TO h", "SELECT count(*) FROM t JOIN h ON h.key = t.a"},
      {"DROP TABLE f; " + create("f"), count, 0},
  };
  if (window()) {
    questions.push_back({"INSERT INTO f(f) VALUES ('rotate')", join});
  } else {
    questions.push_back(
        {"", "SELECT count(*) FROM t WHERE filter_contains(filter_export('f'), a)"});
    questions.push_back({"INSERT INTO g(g, key) VALUES ('merge', 'f')",
                         "SELECT count(*) FROM t JOIN g ON g.key = t.a"});
    questions.push_back({"INSERT INTO f(f, key) SELECT 'import', empty FROM i", count, 0});
  }
  if (growth() && !window()) {
    questions.push_back({"INSERT INTO f(f) VALUES ('rebuild')", join});
    questions.push_back({"INSERT INTO f(f, key) VALUES ('resize', 9000)", count});
  }
  if (has("capacity = 4000") && !window()) {  // it does not grow: its log goes back to the mark
    questions.push_back(
        {"CREATE TABLE c AS SELECT filter_changes('f', mark) AS b FROM i;"
         " INSERT INTO g(g, key) SELECT 'import', empty FROM i;"
         " INSERT INTO g(g, key) SELECT 'apply', b FROM c",
         "SELECT count(*) FROM t JOIN g ON g.key = t.a"});
  }
  for (const auto& [first, ask, answer] : questions) {
    SCOPED_TRACE(first + "; " + ask);
    add_many();
    db.run(first);
    db.gives(ask, answer);
    db.run("ROLLBACK");
    db.gives(count, 0);
    check(db);
  }
  add_many();
  db.run("COMMIT");
  db.gives(join, kKeys);
  check(db);
}

// The statement asks for what it added itself.
TEST_P(WaitingKeys, are_there_for_the_statement_that_adds_them) {
  db.run(
      "CREATE TABLE seen(a, there); CREATE TABLE s(a); CREATE TRIGGER tr AFTER INSERT ON s BEGIN"
      " INSERT INTO seen SELECT new.a, count(*) FROM f WHERE key = new.a;"
      " INSERT INTO f VALUES (new.a);"
      " INSERT INTO seen SELECT new.a, 2 * count(*) FROM f WHERE key = new.a; END");
  add_many();
  db.run("INSERT INTO s " + numbers(kKeys - 99, kKeys + 100));
  db.gives("SELECT count(*) FROM seen WHERE there = 0", 100);
  db.gives("SELECT count(*) FROM seen WHERE there = 1", 100);
  db.gives("SELECT count(*) FROM seen WHERE there = 2", 200);
  db.run(
      "INSERT INTO f SELECT i FROM ({}) WHERE i NOT IN (SELECT key FROM f WHERE key = i); COMMIT",
      numbers(kKeys - 99, kKeys + 500));
  EXPECT_EQ(present(db, 1, kKeys + 500), kKeys + 500);
  check(db);
}

// Runs `attempt` with more and more memory above what is in use, until it says that it was done. At
// least the first run must fail.
template <class Attempt>
void with_more_and_more_memory(int64_t most, int64_t step_divisor, Attempt&& attempt) {
  int failures = 0;
  for (int64_t above = 0; above < most; above += above / step_divisor + 200) {
    SCOPED_TRACE(std::to_string(above) + " bytes");
    bool done = false;
    attempt(above, done);
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    if (done) {
      break;
    }
    ++failures;
  }
  if (!is_sanitized()) {  // there, SQLite's limit is not the module's
    EXPECT_GT(failures, 0);
  }
}

Outcome attempt_with(int64_t above, QuickDatabase& db, const std::string& sql) {
  const MemoryLimiter limit(above);
  return db.attempt(sql);
}

// Memory may run out while keys wait. For example, their list grows at the 513th of them.
TEST_P(WaitingKeys, are_not_lost_where_memory_runs_out) {
  constexpr int64_t kFolded = kPageBytes / 8;
  constexpr int64_t kLast = kFolded + 513 + 30;
  for (const std::string sql : {"SELECT count(*) FROM f", "SELECT filter_contains('f', 1)",
                                "INSERT INTO f VALUES ('a')", "COMMIT"}) {
    SCOPED_TRACE(sql);
    with_more_and_more_memory(300000, 2, [&](int64_t above, bool& done) {
      QuickDatabase quick(":memory:");
      quick.run(create("f"));
      quick.run("BEGIN; INSERT INTO f " + numbers(1, kFolded + 513 - 20));
      quick.run("INSERT INTO f " + numbers(kFolded + 513 - 19, kLast));
      done = attempt_with(above, quick, sql).code == SQLITE_OK;
      const bool open = sqlite3_get_autocommit(quick.handle()) == 0;
      if (open) {
        const int64_t keys = kLast + (done && sql.starts_with("INSERT") ? 1 : 0);
        ASSERT_EQ(quick.number("SELECT count(*) FROM f"), keys);
        quick.run("COMMIT");
        ASSERT_EQ(quick.number("SELECT count(*) FROM f"), keys);
      }
      ASSERT_EQ(present(quick, 1, kLast), open || done ? kLast : 0);
      check(quick);
    });
  }
}

// Memory may also run out at a load's end. `sql` may fail, or a part of it, or nothing. What is
// committed then is right.
TEST(PendingLoad, are_not_lost_where_memory_runs_out) {
  constexpr int64_t kFirst = 100;
  const std::string load = "INSERT INTO f " + numbers(kFirst + 1, kKeys);
  const std::string more = "INSERT INTO f " + numbers(kKeys + 1, kKeys + 900);
  for (const std::string growth : {"on", "off"}) {
    for (const std::string& sql :
         {load, more, std::string("SELECT filter_contains('f', 1)"), std::string("SAVEPOINT s"),
          std::string("DELETE FROM f WHERE key = 1"), std::string("COMMIT")}) {
      SCOPED_TRACE(sql + ", growth = " + growth);
      with_more_and_more_memory(1000000, 3, [&](int64_t above, bool& done) {
        QuickDatabase quick(":memory:");
        quick.run(
            "CREATE VIRTUAL TABLE f USING cuckoo_filter(seed = 1, fpr = 1e-9, capacity = 4000,"
            " growth = {})",
            growth);
        quick.run("INSERT INTO f " + numbers(1, kFirst));
        quick.run(sql == load ? "BEGIN" : "BEGIN; " + load);
        done = attempt_with(above, quick, sql).code == SQLITE_OK;
        for (const char* end : {"COMMIT", "ROLLBACK"}) {
          if (sqlite3_get_autocommit(quick.handle()) == 0) {
            (void)quick.attempt(end);
          }
        }
        const int64_t keys = quick.number("SELECT count(*) FROM f");
        const int64_t all = sql == more && done ? kKeys + 900 : kKeys;
        const int64_t removed = done && sql.starts_with("DELETE") ? 1 : 0;
        ASSERT_TRUE(keys == kFirst || keys == all - removed || (keys == kKeys && !done)) << keys;
        ASSERT_TRUE(!done || keys == all - removed) << keys;
        ASSERT_EQ(present(quick, 1 + removed, keys + removed), keys);
        check(quick);
      });
    }
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_waiting_test
