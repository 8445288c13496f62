// An application's limits and functions do not make a sound table look broken. Our own statements
// have limits of their own, and use no function, LIKE or collation that the application can
// replace.
#include <functional>
#include <string>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_own_limits_test {
namespace {

void make_tables(Database& db) {
  db.run(
      "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT);"
      "INSERT INTO users(email) VALUES ('a'), ('b'), ('c');"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(key TEXT, source = 'users(email)',"
      " triggers = on);"
      "CREATE INDEX by_email ON users(email); ANALYZE;"
      "CREATE VIRTUAL TABLE guarded USING filter_guard(f);"
      "CREATE VIRTUAL TABLE u USING cuckoo_filter(k, \"unique\" = on);"
      "CREATE VIRTUAL TABLE w USING bloom_filter(k, generations = 3);"
      "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB');"
      "CREATE VIRTUAL TABLE ring USING hash_ring;"
      "CREATE VIRTUAL TABLE slots USING hash_ring(algorithm = slots);"
      "INSERT INTO u VALUES (1); INSERT INTO w VALUES (1); INSERT INTO kv VALUES ('a', 'b');"
      "INSERT INTO ring(node) VALUES ('n1'), ('n2'); INSERT INTO slots(node) VALUES ('n1')");
}

// Reads, writes, commands, checks and DDL of every kind of table.
void expect_all_works(Database& db) {
  for (const char* name : {"f", "u", "w", "kv", "ring", "slots"}) {
    db.gives(sql("SELECT cuckoo_check('{}')", name), "ok");
  }
  db.gives("SELECT key FROM f WHERE key = 'a'", "a");
  db.gives("SELECT id FROM guarded WHERE email = 'a'", "1");
  EXPECT_TRUE(db.rows("SELECT id FROM guarded WHERE email = 'nobody'").empty());
  db.gives("SELECT k FROM w WHERE k = 1", "1");
  db.gives("SELECT v FROM kv WHERE k = 'a'", "b");
  db.gives("SELECT node IS NOT NULL FROM ring WHERE key = 'x'", "1");
  EXPECT_EQ(db.rows("SELECT name FROM filter_info").size(), 3u);
  EXPECT_EQ(db.rows("SELECT name FROM flash_kv_info").size(), 1u);
  for (const char* sql :
       {"INSERT INTO users(email) VALUES ('z')",
        "UPDATE users SET email = 'y' WHERE email = 'z'",
        "DELETE FROM users WHERE email = 'y'",
        "INSERT INTO f(f) VALUES ('check')",
        "INSERT INTO f(f) VALUES ('rebuild')",
        "INSERT INTO u(u, k) VALUES ('resize', 5000)",
        "INSERT INTO u(u) VALUES ('clear')",
        "INSERT INTO u VALUES (1)",
        "INSERT INTO w(w) VALUES ('rotate')",
        "INSERT INTO w VALUES (5)",
        "INSERT INTO kv VALUES ('c', 'd')",
        "UPDATE kv SET v = 'e' WHERE k = 'c'",
        "DELETE FROM kv WHERE k = 'c'",
        "INSERT INTO ring(node) VALUES ('n9')",
        "DELETE FROM ring WHERE node = 'n9'",
        "INSERT INTO slots(node) VALUES ('n9')",
        "DELETE FROM slots WHERE node = 'n9'",
        "SELECT filter_export('f')",
        "CREATE VIRTUAL TABLE g USING cuckoo_filter(key TEXT, source = 'users(email)',"
        " triggers = on)",
        "INSERT INTO g(g) VALUES ('rebuild')",
        "DROP TABLE g",
        "CREATE VIRTUAL TABLE h USING filter_guard(f)",
        "DROP TABLE h",
        "CREATE VIRTUAL TABLE h USING flash_kv(k, v)",
        "DROP TABLE h",
        "CREATE VIRTUAL TABLE h USING hash_ring",
        "DROP TABLE h"}) {
    const Outcome outcome = db.attempt(sql);
    EXPECT_EQ(outcome.code, SQLITE_OK) << sql << ": " << outcome.message;
  }
}

struct Restriction {
  const char* name;
  std::function<void(sqlite3*)> apply;

  friend std::ostream& operator<<(std::ostream& out, const Restriction& one) {
    return out << one.name;
  }
};

void lower_limit(sqlite3* db, int limit, int value) { sqlite3_limit(db, limit, value); }

// https://www.sqlite.org/security.html, "Untrusted SQL Inputs".
void recommended(sqlite3* db) {
  for (const auto& [limit, value] : {std::pair(SQLITE_LIMIT_LENGTH, 1000000),
                                     {SQLITE_LIMIT_SQL_LENGTH, 100000},
                                     {SQLITE_LIMIT_COLUMN, 100},
                                     {SQLITE_LIMIT_EXPR_DEPTH, 10},
                                     {SQLITE_LIMIT_COMPOUND_SELECT, 3},
                                     {SQLITE_LIMIT_VDBE_OP, 25000},
                                     {SQLITE_LIMIT_FUNCTION_ARG, 8},
                                     {SQLITE_LIMIT_ATTACHED, 0},
                                     {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50},
                                     {SQLITE_LIMIT_VARIABLE_NUMBER, 10},
                                     {SQLITE_LIMIT_TRIGGER_DEPTH, 10}}) {
    sqlite3_limit(db, limit, value);
  }
}

void replace_functions(sqlite3* db) {
  const auto wrong = [](sqlite3_context* context, int, sqlite3_value**) {
    sqlite3_result_int(context, 7);
  };
  for (const char* name : {"like", "glob", "lower", "upper", "count", "min", "max", "coalesce",
                           "ifnull", "length", "substr", "hex", "quote", "typeof"}) {
    for (int arguments = -1; arguments <= 3; ++arguments) {
      ASSERT_EQ(sqlite3_create_function(db, name, arguments, SQLITE_UTF8, nullptr, wrong, nullptr,
                                        nullptr),
                SQLITE_OK);
    }
  }
  const auto all_differ = [](void*, int, const void*, int, const void*) { return 1; };
  ASSERT_EQ(sqlite3_create_collation(db, "NOCASE", SQLITE_UTF8, nullptr, all_differ), SQLITE_OK);
}

class OwnLimits : public ::testing::TestWithParam<Restriction> {
 protected:
  TemporaryFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(
    Restrictions, OwnLimits,
    ::testing::Values(
        Restriction{"no_variable",
                    [](auto* db) { lower_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, 0); }},
        Restriction{"one_variable",
                    [](auto* db) { lower_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, 1); }},
        Restriction{"short_patterns",
                    [](auto* db) { lower_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1); }},
        Restriction{"one_argument",
                    [](auto* db) { lower_limit(db, SQLITE_LIMIT_FUNCTION_ARG, 1); }},
        Restriction{"as_recommended", recommended},
        Restriction{"own_functions", replace_functions}),
    kParameterName);

TEST_P(OwnLimits, are_enough_where_the_application_has_less) {
  const std::string path = folder_.file("test.db");
  {
    QuickDatabase db(path);
    make_tables(db);
  }
  QuickDatabase db(path);
  GetParam().apply(db.handle());
  expect_all_works(db);
}

// Statements that were prepared before are prepared again.
TEST_P(OwnLimits, are_enough_when_the_schema_changes) {
  const std::string path = folder_.file("test.db");
  QuickDatabase db(path);
  make_tables(db);
  expect_all_works(db);
  GetParam().apply(db.handle());
  {
    QuickDatabase other(path);
    other.run(
        "CREATE TABLE more(a); INSERT INTO users(email) VALUES ('from another');"
        "INSERT INTO kv VALUES ('other', 1); INSERT INTO w VALUES (9)");
  }
  db.gives("SELECT key FROM f WHERE key = 'from another'", "from another");
  db.gives("SELECT v FROM kv WHERE k = 'other'", "1");
  db.gives("SELECT k FROM w WHERE k = 9", "9");
  expect_all_works(db);
}

// What the application set stays.
TEST(OwnLimit, is_taken_back) {
  Database db;
  make_tables(db);
  sqlite3_limit(db.handle(), SQLITE_LIMIT_VARIABLE_NUMBER, 1);
  sqlite3_limit(db.handle(), SQLITE_LIMIT_EXPR_DEPTH, 10);
  expect_all_works(db);
  EXPECT_EQ(sqlite3_limit(db.handle(), SQLITE_LIMIT_VARIABLE_NUMBER, -1), 1);
  EXPECT_EQ(sqlite3_limit(db.handle(), SQLITE_LIMIT_EXPR_DEPTH, -1), 10);
  EXPECT_NE(db.attempt("SELECT ?2").code, SQLITE_OK);
}

// To ask whether to stop, we run a recursive statement of two SELECTs.
TEST(OwnLimit, lets_a_long_command_be_interrupted) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE r USING hash_ring(vnodes = 100000);"
      "{}INSERT INTO r(node) SELECT 'n' || i FROM n",
      with_numbers(50));
  sqlite3_limit(db.handle(), SQLITE_LIMIT_COMPOUND_SELECT, 1);
  EXPECT_EQ(stopped(db, "SELECT node FROM r WHERE key = 1", 500, 3).code, SQLITE_INTERRUPT);
}

}  // namespace
}  // namespace cuckoo::test::table_own_limits_test
