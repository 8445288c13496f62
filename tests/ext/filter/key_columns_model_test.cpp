// A filter whose key has two columns, beside an ordinary table with UNIQUE (a, b): random changes
// by every statement that finds a row by its key, in and out of transactions, with savepoints and
// on two connections in turn. The rate is so low that none of these few keys is a false positive.
#include <variant>

#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace filter_key_columns_model_test {
namespace {

// ? is the table. %a and %b are values of its columns, drawn anew at each place.
constexpr const char* kStatements[] = {
    "INSERT OR IGNORE INTO ? VALUES (%a, %b), (%a, %b)",
    "INSERT OR IGNORE INTO ? VALUES (%a, %b), (%a, %b)",
    "INSERT OR IGNORE INTO ? VALUES (%a, %b), (%a, %b)",
    "INSERT INTO ? VALUES (%a, %b)",
    "INSERT OR REPLACE INTO ? VALUES (%a, %b)",
    "DELETE FROM ? WHERE a = %a AND b = %b",
    "DELETE FROM ? WHERE a IN (%a, %a) AND b IN (%b, %b)",
    "DELETE FROM ? WHERE (a, b) IN (SELECT a, b FROM probes WHERE rowid % 7 = %a)",
    "UPDATE ? SET b = %b WHERE a = %a AND b IS %b",
    "UPDATE OR IGNORE ? SET a = %a WHERE (b, a) = (%b, %a)",
    "UPDATE ? SET a = %a, b = %b WHERE a = %a AND b = %b",
    "UPDATE ? SET b = %b FROM (SELECT %a AS x, %b AS y) AS u WHERE a = u.x AND b = u.y",
};

constexpr const char* kQueries[] = {
    "SELECT p.a, p.b FROM probes p JOIN ? AS k ON k.a = p.a AND k.b = p.b",
    "SELECT * FROM probes p WHERE EXISTS (SELECT 1 FROM ? k WHERE k.b = p.b AND k.a = p.a)",
    "SELECT * FROM probes p WHERE NOT EXISTS (SELECT 1 FROM ? k WHERE k.a = p.a AND k.b = p.b)",
    "SELECT p.* FROM probes p LEFT JOIN ? k ON k.a = p.a AND k.b = p.b WHERE k.a IS NULL",
    "SELECT a, upper(b) FROM ? WHERE a IN (0, 1, 2, 3) AND b IN ('x', 'y', 'y ', '')",
    "SELECT a, upper(b) FROM ? WHERE (a = 1 AND b = 'x') OR (a = 2 AND b = 'Y') OR"
    " (b = 'X' AND a = 1)",
    "SELECT count(*), 1 FROM ?",
};

std::string over(std::string sql, const std::string& table) {
  return sql.replace(sql.find('?'), 1, table);
}

class KeyColumnsScript : public Script {
 public:
  explicit KeyColumnsScript(uint64_t seed)
      : Script(seed),
        first_(folder_.file("m.db")),
        second_(folder_.file("m.db")),
        mixed_(seed % 2 == 0) {
    const std::string columns =
        std::string("(a INTEGER, b TEXT") + (mixed_ ? " COLLATE NOCASE" : "");
    db_->run("CREATE VIRTUAL TABLE f USING cuckoo_filter" + columns +
             ", unique = on, fpr = 1e-9, capacity = 100, seed = 1);"
             "CREATE TABLE t" +
             columns + ", UNIQUE (a, b)); CREATE TABLE probes" + columns +
             ");"
             "WITH x(b) AS (VALUES ('x'), ('X'), ('y'), ('y '), ('')),"
             " n(i) AS (VALUES (0), (1), (2), (3)) INSERT INTO probes SELECT i, b FROM n, x;"
             "INSERT INTO probes VALUES (NULL, 'x'), (1, NULL)");
  }

  void run() {
    for (int i = 0; i < 600 && !testing::Test::HasFailure(); ++i) {
      if (random(14) < std::size(kStatements)) {
        change();
      } else {
        transaction();
      }
      if (i % 5 == 0) {
        compare();
      }
    }
    if (in_transaction(*db_)) {
      db_->run("COMMIT");
    }
    for (Database* one : {&first_, &second_}) {
      db_ = one;
      compare();
      db_->run("INSERT INTO f(f) VALUES ('check')");
    }
  }

 private:
  // A statement does to the filter what it does to the table, or both refuse it.
  void change() {
    std::string sql = pick(kStatements);
    if (mixed_ && sql.find("(a, b) IN") != std::string::npos) {
      return;  // SQLite tells the collation of the first one for both
    }
    for (size_t at = sql.find('%'); at != std::string::npos; at = sql.find('%', at + 1)) {
      if (sql[at + 1] == 'a') {
        sql.replace(at, 2, number(4));
      } else if (sql[at + 1] == 'b') {
        sql.replace(at, 2, pick({"'x'", "'X'", "'y'", "'y '", "''"}));
      }
    }
    note(sql);
    const bool counts = sql.find("OR REPLACE") == std::string::npos;
    const auto run = [&](const std::string& table) {
      const int code = db_->attempt(over(sql, table)).code;
      return std::pair(code & 0xFF,
                       code == SQLITE_OK && counts ? sqlite3_changes(db_->handle()) : 0);
    };
    const auto of_table = run("t");
    EXPECT_EQ(run("f"), of_table) << sql;
  }

  void compare() {
    for (const std::string query : kQueries) {
      const auto of = [&](const char* table) {
        return db_->rows(over(query, table) + " ORDER BY 1, 2");
      };
      EXPECT_EQ(of("f"), of("t")) << query;
    }
    EXPECT_EQ(db_->list("SELECT rowid FROM probes p WHERE filter_contains('f', a, b) IS NOT"
                        " (SELECT count(*) FROM t WHERE t.a = p.a AND t.b = p.b) AND"
                        " a IS NOT NULL AND b IS NOT NULL"),
              "");
  }

  void transaction() {
    if (!in_transaction(*db_)) {
      db_ = one_in(2) ? &first_ : &second_;
    }
    const std::string sql = saved_.step(*this, none_);
    note(sql);
    db_->run(sql);
  }

  TemporaryFolder folder_;
  QuickDatabase first_, second_;
  Database* db_ = &first_;
  const bool mixed_;  // the columns have different collations
  SavedStates<std::monostate> saved_;
  std::monostate none_;
};

TEST(KeyColumnsModel, does_what_a_table_with_a_unique_pair_does) {
  run_scripts<KeyColumnsScript>(6);
}

}  // namespace
}  // namespace filter_key_columns_model_test
}  // namespace cuckoo::test
