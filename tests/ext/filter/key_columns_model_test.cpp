// A filter whose key has two columns, beside an ordinary table with UNIQUE (a, b): random changes
// by every statement that finds a row by its key, in and out of transactions, with savepoints and
// on two connections in turn. At so low a rate no key of so few is a false positive.
#include "tests/support/database.hpp"

namespace cuckoo::test {
namespace {

class Model {
 public:
  Model(const std::string& path, uint64_t seed)
      : first_(path), second_(path), random_(seed), mixed_(seed % 2 == 0) {
    const std::string b = mixed_ ? "b TEXT COLLATE NOCASE" : "b TEXT";
    db_ = &first_;
    db_->run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(a INTEGER, " + b +
        ","
        " unique = on, fpr = 1e-9, capacity = 100, seed = 1);"
        "CREATE TABLE t(a INTEGER, " +
        b +
        ", UNIQUE (a, b));"
        "CREATE TABLE probes(a INTEGER, " +
        b +
        ");"
        "WITH x(b) AS (VALUES ('x'), ('X'), ('y'), ('y '), ('')), n(i) AS (VALUES (0), (1), (2), "
        "(3))"
        " INSERT INTO probes SELECT i, b FROM n, x;"
        "INSERT INTO probes VALUES (NULL, 'x'), (1, NULL)");
  }

  void step() {
    switch (random_() % 14) {
      case 0:
      case 1:
      case 2:
        return both("INSERT OR IGNORE INTO ? VALUES " + row() + ", " + row());
      case 3:
        return both("INSERT INTO ? VALUES " + row());
      case 4:
        return both("INSERT OR REPLACE INTO ? VALUES " + row(), false);
      case 5:
        return both("DELETE FROM ? WHERE a = " + a() + " AND b = " + b());
      case 6:
        return both("DELETE FROM ? WHERE a IN (" + a() + ", " + a() + ") AND b IN (" + b() + ", " +
                    b() + ")");
      case 7:  // SQLite tells the collation of the first one for both
        return mixed_ ? void()
                      : both(
                            "DELETE FROM ? WHERE (a, b) IN (SELECT a, b FROM probes WHERE rowid % "
                            "7 = " +
                            a() + ")");
      case 8:
        return both("UPDATE ? SET b = " + b() + " WHERE a = " + a() + " AND b IS " + b());
      case 9:
        return both("UPDATE OR IGNORE ? SET a = " + a() + " WHERE (b, a) = (" + b() + ", " + a() +
                    ")");
      case 10:
        return both("UPDATE ? SET a = " + a() + ", b = " + b() + " WHERE a = " + a() +
                    " AND b = " + b());
      case 11:
        return both("UPDATE ? SET b = " + b() + " FROM (SELECT " + a() + " AS x, " + b() +
                    " AS y) AS u WHERE a = u.x AND b = u.y");
      default:
        return transaction();
    }
  }

  void compare() {
    const auto same = [this](const std::string& sql) {
      const auto of = [&](const std::string& table) {
        std::string text = sql;
        text.replace(text.find('?'), 1, table);
        return db_->rows(text + " ORDER BY 1, 2");
      };
      EXPECT_EQ(of("f"), of("t")) << sql;
    };
    same("SELECT p.a, p.b FROM probes p JOIN ? AS k ON k.a = p.a AND k.b = p.b");
    same("SELECT * FROM probes p WHERE EXISTS (SELECT 1 FROM ? k WHERE k.b = p.b AND k.a = p.a)");
    same(
        "SELECT * FROM probes p WHERE NOT EXISTS (SELECT 1 FROM ? k WHERE k.a = p.a AND"
        " k.b = p.b)");
    same("SELECT p.* FROM probes p LEFT JOIN ? k ON k.a = p.a AND k.b = p.b WHERE k.a IS NULL");
    same("SELECT a, upper(b) FROM ? WHERE a IN (0, 1, 2, 3) AND b IN ('x', 'y', 'y ', '')");
    same(
        "SELECT a, upper(b) FROM ? WHERE (a = 1 AND b = 'x') OR (a = 2 AND b = 'Y') OR"
        " (b = 'X' AND a = 1)");
    same("SELECT count(*), 1 FROM ?");
    EXPECT_EQ(db_->list("SELECT rowid FROM probes p WHERE filter_contains('f', a, b) IS NOT"
                        " (SELECT count(*) FROM t WHERE t.a = p.a AND t.b = p.b) AND"
                        " a IS NOT NULL AND b IS NOT NULL"),
              "");
  }

  void finish() {
    if (sqlite3_get_autocommit(db_->handle()) == 0) {
      db_->run("COMMIT");
    }
    for (Database* one : {&first_, &second_}) {
      db_ = one;
      compare();
      db_->run("INSERT INTO f(f) VALUES ('check')");
    }
  }

 private:
  std::string a() { return std::to_string(random_() % 4); }
  std::string b() {
    constexpr const char* kTexts[] = {"'x'", "'X'", "'y'", "'y '", "''"};
    return kTexts[random_() % std::size(kTexts)];
  }
  std::string row() { return "(" + a() + ", " + b() + ")"; }

  // What it does to the table it does to the filter, or both refuse it.
  void both(const std::string& sql, bool counts = true) {
    const auto run = [&](const std::string& table) {
      std::string text = sql;
      text.replace(text.find('?'), 1, table);
      const Outcome outcome = db_->attempt(text);
      return std::pair(outcome.code & 0xFF,
                       outcome.code == SQLITE_OK && counts ? sqlite3_changes(db_->handle()) : 0);
    };
    const auto of_table = run("t");
    EXPECT_EQ(run("f"), of_table) << sql;
  }

  void transaction() {
    if (sqlite3_get_autocommit(db_->handle()) != 0) {
      db_ = random_() % 2 == 0 ? &first_ : &second_;
      return db_->run("BEGIN");
    }
    switch (random_() % 6) {
      case 0:
        saved_ = false;
        return db_->run("COMMIT");
      case 1:
        saved_ = false;
        return db_->run("ROLLBACK");
      case 2:
      case 3:
        db_->run(saved_ ? "ROLLBACK TO s" : "SAVEPOINT s");
        saved_ = true;
        return;
      case 4:
        if (saved_) {
          db_->run("RELEASE s");
          saved_ = false;
        }
        return;
      default:
        return;
    }
  }

  QuickDatabase first_, second_;
  Database* db_;
  std::mt19937_64 random_;
  bool mixed_;  // the columns have different collations
  bool saved_ = false;
};

TEST(KeyColumnsModel, does_what_a_table_with_a_unique_pair_does) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const TemporaryFolder folder;
    Model model(folder.file("m.db"), seed);
    for (int i = 0; i < 600; ++i) {
      model.step();
      if (i % 5 == 0) {
        model.compare();
      }
      ASSERT_FALSE(testing::Test::HasFailure()) << "step " << i;
    }
    model.finish();
  }
}

}  // namespace
}  // namespace cuckoo::test
