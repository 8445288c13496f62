// Filters and sliding windows with unique = on, whose key has one column or two. In a database of
// its own an ordinary table with UNIQUE goes through the same: random changes by every statement
// that finds a row by its key, also through a trigger, in and out of transactions, on two
// connections in turn. The rate is so low that none of these few keys is a false positive. A copy
// follows by messages.
#include <variant>

#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_unique_model_test {
namespace {

// %k are the key's columns, %v is a row, %s assigns a key, and %w is a condition on one. %a and %b
// are values of a column, and %m is what the trigger raises. All are drawn anew at each place.
constexpr const char* kInserts[] = {
    "INSERT OR IGNORE INTO f(%k) VALUES (%v), (%v), (%v)",
    "INSERT OR IGNORE INTO f(%k) VALUES (%v), (%v)",
    "INSERT INTO f(%k) VALUES (%v)",
    "INSERT INTO f(%k) VALUES (%v), (%v)",
    "INSERT OR FAIL INTO f(%k) VALUES (%v), (%v), (%v)",
    "INSERT OR ROLLBACK INTO f(%k) VALUES (%v), (%v)",
    "INSERT OR REPLACE INTO f(%k) VALUES (%v), (%v)",
    "INSERT INTO app(%k, raise) VALUES (%v, %m), (%v, 0)",
    "INSERT OR IGNORE INTO app(%k, raise) VALUES (%v, 0), (%v, %m), (%v, 0)",
    "INSERT OR FAIL INTO app(%k, raise) VALUES (%v, 0), (%v, %m)",
};
constexpr const char* kUpdates[] = {
    "DELETE FROM f WHERE %w",
    "UPDATE f SET %s WHERE %w",
    "UPDATE OR IGNORE f SET %s WHERE %w",
    "UPDATE OR REPLACE f SET %s WHERE %w",
    "UPDATE OR ROLLBACK f SET %s WHERE %w",
    "UPDATE f SET %s WHERE a IN (%a, %a)",
    "DELETE FROM f WHERE a IN (%a, %a) AND b IN (%b, %b)",
    "DELETE FROM f WHERE (a, b) IN (SELECT a, b FROM probes WHERE rowid % 7 = %a)",
    "UPDATE f SET %s WHERE a IN (%a, %a) AND b = %b",
    "UPDATE f SET b = %b WHERE a = %a AND %b = b",
    "UPDATE OR IGNORE f SET a = %a WHERE (b, a) = (%b, %a)",
    "UPDATE f SET b = %b FROM (SELECT %a AS x, %b AS y) AS u WHERE a = u.x AND b = u.y",
};

constexpr const char* kQueries[] = {
    "SELECT %p FROM probes p JOIN f AS k ON %j",
    "SELECT %p FROM probes p WHERE EXISTS (SELECT 1 FROM f k WHERE %j)",
    "SELECT %p FROM probes p WHERE NOT EXISTS (SELECT 1 FROM f k WHERE %j)",
    "SELECT %p FROM probes p LEFT JOIN f k ON %j WHERE k.a IS NULL",
    "SELECT count(*) FROM app UNION ALL SELECT count(*) FROM f",
    "SELECT a, upper(b) FROM f WHERE a IN (0, 1, 2, 3) AND b IN ('x', 'y', 'y ', '')",
    "SELECT a, upper(b) FROM f WHERE (a = 1 AND b = 'x') OR (a = 2 AND b = 'Y') OR"
    " (b = 'X' AND a = 1)",
};

class UniqueScript : public Script {
 public:
  explicit UniqueScript(uint64_t seed) : Script(seed) {
    const std::string columns =
        !pair_ ? "a" : std::string("a INTEGER, b TEXT") + (mixed_ ? " COLLATE NOCASE" : "");
    std::string module = kind_;
    module.insert(module.find('(') + 1, columns + ", fpr = 1e-8, ");
    const std::string generations =
        most_ > 1 ? ", generations = " + std::to_string(most_) : std::string();
    const std::string f = "CREATE VIRTUAL TABLE f USING " + module + "unique = on" + generations;
    const std::string samples =
        "CREATE TABLE probes(" + columns + ");" +
        (pair_ ? "WITH x(b) AS (VALUES ('x'), ('X'), ('y'), ('y '), ('')),"
                 " n(i) AS (VALUES (0), (1), (2), (3)) INSERT INTO probes SELECT i, b FROM n, x;"
                 "INSERT INTO probes VALUES (NULL, 'x'), (1, NULL);"
                 "INSERT INTO other VALUES (1, 'x'), (3, ''), (1, 'x')"
               : "INSERT INTO probes " + numbers(0, 39) +
                     "; INSERT INTO probes VALUES ('x'), ('1'), (NULL);"
                     "INSERT INTO other VALUES (1), ('x'), (35), (1)");
    const std::string app =
        ";CREATE TABLE app(" + columns + ", raise);" +
        replaced(
            "CREATE TRIGGER t AFTER INSERT ON app BEGIN INSERT INTO f(%k) VALUES (%n);"
            " SELECT CASE new.raise WHEN 1 THEN RAISE(ABORT, 'stop') WHEN 2 THEN"
            " RAISE(FAIL, 'stop') WHEN 3 THEN RAISE(ROLLBACK, 'stop') WHEN 4 THEN"
            " RAISE(IGNORE) END; END",
            "%n", pair_ ? "new.a, new.b" : "new.a");
    first_.run(f + ", seed = 1, capacity = 12" + (grows_ ? "" : ", growth = off") +
               ");CREATE VIRTUAL TABLE other USING " + module + "seed = 1);" + samples +
               replaced(app, "%k", keys_));
    copy_.run(f + ")");
    table_.run(
        "CREATE TABLE f(" +
        replaced(replaced(columns, "a INTEGER", "a INTEGER NOT NULL"), "TEXT", "TEXT NOT NULL") +
        (pair_ ? "" : " NOT NULL") + ", generation DEFAULT 0, UNIQUE (" + keys_ +
        ")); CREATE TABLE held(n); INSERT INTO held VALUES (0); CREATE TABLE other(" + columns +
        ");" + samples + replaced(app, "%k", keys_));
  }

  void run() {
    for (int i = 0; i < 300 && !testing::Test::HasFailure(); ++i) {
      if (!in_transaction(*db_)) {
        saved_ = {};  // OR ROLLBACK may have ended it
        db_ = one_in(2) ? &first_ : &second_;
      }
      step();
      if (i % 5 == 0) {
        compare(*db_);
      }
      if (!in_transaction(*db_) && one_in(8)) {
        follow();
      }
    }
    if (in_transaction(*db_)) {
      run("COMMIT", "COMMIT");
    }
    for (Database* one : {&first_, &second_}) {
      compare(*one);
      check(*one);
    }
    follow();
  }

 private:
  void step() {
    switch (random(16)) {
      case 0:
      case 1:
      case 2: {
        const std::string sql = saved_.step(*this, none_);
        return run(sql, sql);
      }
      case 3:
        if (most_ > 1) {
          run("INSERT INTO f(f) VALUES ('rotate')",
              replaced("UPDATE f SET generation = generation + 1; DELETE FROM f WHERE generation >="
                       " %m; INSERT INTO held SELECT count(*) FROM held HAVING count(*) < %m",
                       "%m", std::to_string(most_)));
        }
        return;
      case 4:
        if (one_in(4)) {
          run("INSERT INTO f(f) VALUES ('clear')", "DELETE FROM f; DELETE FROM held WHERE n > 0");
        } else if (grows_) {
          run("INSERT INTO f(f) VALUES ('rebuild')", "SELECT 1");
        }
        return;
      case 5:
        if (grows_ && most_ == 1 && one_in(3)) {  // a window looks into its newest generation alone
          run("INSERT INTO f(f, a) VALUES ('merge', 'other')",
              replaced("INSERT OR IGNORE INTO f(%k) SELECT %k FROM other", "%k", keys_));
        }
        return;
      default:
        change();
    }
  }
  void run(const std::string& of_filter, const std::string& of_table) {
    note(of_filter);
    db_->run(of_filter);
    table_.run(of_table);
  }

  std::string value(char column) {
    if (one_in(25)) {
      return "NULL";
    }
    return column == 'b' ? pick({"'x'", "'X'", "'y'", "'y '", "''"})
           : pair_       ? number(4)
           : one_in(6)   ? pick({"'x'", "'1'", "1.0"})
                         : number(40);
  }
  // The statement with all its places filled in.
  std::string sql_of(std::string sql) {
    for (size_t at = 0; (at = sql.find('%', at)) != std::string::npos;) {
      const char what = sql[at + 1];
      const std::string filling = what == 'k'   ? keys_
                                  : what == 'v' ? (pair_ ? "%a, %b" : "%a")
                                  : what == 's' ? (pair_ ? "a = %a, b = %b" : "a = %a")
                                  : what == 'w' ? (pair_ ? "a = %a AND b = %b" : "a = %a")
                                  : what == 'm' ? number(5)
                                  : what == ' ' ? "%"
                                                : value(what);
      sql.replace(at, what == ' ' ? 1 : 2, filling);
      at += what == ' ' ? 1 : 0;
    }
    return sql;
  }
  void change() {
    const bool removes = most_ == 1 && counts_copies(kind_);
    const std::string form = removes && one_in(2) ? pick(kUpdates) : pick(kInserts);
    // In a window a key stays in its generation. SQLite tells the collation of the first column for
    // a row value.
    if ((!pair_ && form.find("%b") != std::string::npos) ||
        ((!pair_ || mixed_) && form.find("(a, b) IN") != std::string::npos) ||
        (most_ > 1 && form.find("OR REPLACE") != std::string::npos) ||
        (pair_ && form == "UPDATE f SET %s WHERE a IN (%a, %a)")) {
      return;
    }
    both(sql_of(form));
  }

  // A statement does to the filter what it does to the table, or both refuse it. Only the filter
  // can be full, and then nothing changes.
  void both(const std::string& sql) {
    note(sql);
    const Outcome outcome = db_->attempt(sql);
    if (outcome.message.starts_with("full: f")) {
      EXPECT_FALSE(grows_) << sql;
      return;
    }
    EXPECT_EQ(outcome.code & 0xFF, table_.attempt(sql).code & 0xFF) << sql << outcome.message;
    if (outcome.code == SQLITE_OK && sql.find("OR REPLACE") == std::string::npos) {
      EXPECT_EQ(sqlite3_changes(db_->handle()), sqlite3_changes(table_.handle())) << sql;
    }
  }

  void compare(Database& db) {
    for (std::string query : kQueries) {
      if (pair_ || query.find(" b") == std::string::npos) {
        query = replaced(query, "%p", pair_ ? "p.a, p.b" : "p.a");
        query = replaced(query, "%j", pair_ ? "k.a = p.a AND k.b = p.b" : "k.a = p.a");
        query +=
            pair_ && query.find("count") == std::string::npos ? " ORDER BY 1, 2" : " ORDER BY 1";
        EXPECT_EQ(db.rows(query), table_.rows(query)) << query;
      }
    }
    db.gives("SELECT generation_items FROM filter_info('f')",
             table_.text("SELECT group_concat(c, ' ') FROM (SELECT (SELECT count(*) FROM f WHERE"
                         " generation = n) AS c FROM held ORDER BY n)"));
    db.gives("SELECT count(*) FROM probes WHERE filter_contains('f', " + keys_ +
                 ") IS NOT EXISTS (SELECT 1 FROM f WHERE f.a = probes.a" +
                 (pair_ ? " AND f.b = probes.b) AND a IS NOT NULL AND b IS NOT NULL"
                        : ") AND a IS NOT NULL"),
             0);
  }

  // A copy without hashes does not get the origin's mark if its segments differ from the origin's.
  // Then the second message is an image.
  void follow() {
    for (int message = 0; message < 2 && mark_of(copy_, "f") != mark_of(first_, "f"); ++message) {
      const std::string changes =
          first_.text("SELECT hex(filter_changes('f', x'{}'))", mark_of(copy_, "f"));
      copy_.run("INSERT INTO f(f, a) VALUES ('apply', x'{}')", changes);
    }
    EXPECT_EQ(mark_of(copy_, "f"), mark_of(first_, "f"));
    EXPECT_EQ(copy_.text("SELECT generation_items FROM filter_info('f')"),
              first_.text("SELECT generation_items FROM filter_info('f')"));
    copy_.gives("SELECT cuckoo_check('f')", "ok");
  }

  const bool pair_ = one_in(2);
  const bool mixed_ = pair_ && one_in(2);  // the columns have different collations
  const std::string keys_ = pair_ ? "a, b" : "a";
  const std::string kind_ = pick(kFilterKinds);
  const uint64_t most_ = one_in(2) ? 1 : 2 + random(4);  // generations
  const bool grows_ = !one_in(3);
  TemporaryFolder folder_;
  QuickDatabase first_{folder_.file("f.db")}, second_{folder_.file("f.db")};
  Database* db_ = &first_;
  QuickDatabase copy_{":memory:"}, table_{":memory:"};
  SavedStates<std::monostate> saved_;
  std::monostate none_;
};

TEST(UniqueModel, does_what_a_table_with_unique_does) { run_scripts<UniqueScript>(120); }

}  // namespace
}  // namespace cuckoo::test::filter_unique_model_test
