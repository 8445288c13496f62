// Random scripts of CREATE, DROP, RENAME, savepoints and single rows. In a database of its own an
// ordinary table goes through the same: SQLite itself says what the filter must hold. (In the same
// database its statements would open savepoints, of which the filter is told.)
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::table_schema_model_test {
namespace {

constexpr uint64_t kKeys = 12;

class SchemaScript : public Script {
 public:
  explicit SchemaScript(uint64_t seed) : Script(seed) {}

  void run() {
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); ++i) {
      step();
      if (one_in(3)) {
        compare(db_);
      }
    }
    if (open_ > 0) {
      alone("COMMIT");
    }
    compare(db_);
    QuickDatabase other(folder_.file("f.db"));
    compare(other);
    for (const Row& row :
         other.rows("SELECT name FROM sqlite_schema WHERE name IN ('f', 'g', 'h')")) {
      other.run("INSERT INTO " + row[0] + "(" + row[0] + ") VALUES ('check')");
    }
  }

 private:
  void compare(Database& db) {
    for (const char* name : {"f", "g", "h"}) {
      const std::string filter = name;
      const std::string there = "SELECT count(*) FROM sqlite_schema WHERE name = '" + filter + "'";
      EXPECT_EQ(db.number(there), tables_.number(there)) << filter;
      if (tables_.number(there) == 0) {
        EXPECT_NE(db.attempt("SELECT 1 FROM " + filter + " WHERE key = 1").code, SQLITE_OK);
        continue;
      }
      EXPECT_EQ(db.number("SELECT count(*) FROM " + filter),
                tables_.number("SELECT count(*) FROM " + filter))
          << filter;
      EXPECT_EQ(
          db.list("SELECT f.key || 'x' || f.count FROM json_each('[0,1,2,3,4,5,6,7,8,9,10,11]') j"
                  " JOIN " +
                  filter + " AS f ON f.key = j.value ORDER BY f.key"),
          tables_.list("SELECT key || 'x' || count(*) FROM " + filter +
                       " GROUP BY key ORDER BY key"))
          << filter;
    }
  }
  std::string name() { return pick({"f", "g", "h"}); }

  // Both succeed or both fail.
  void both(const std::string& filter_sql, const std::string& table_sql) {
    note(filter_sql + ";");
    const Outcome first = db_.attempt(filter_sql);
    const Outcome second = tables_.attempt(table_sql);
    EXPECT_EQ(first.code == SQLITE_OK, second.code == SQLITE_OK) << first.message << "\n"
                                                                 << second.message;
  }
  void both(const std::string& sql) { both(sql, sql); }
  void alone(const std::string& sql) {
    note(sql + ";");
    db_.run(sql);
    tables_.run(sql);
  }

  void step() {
    const std::string f = name();
    const std::string key = number(kKeys);
    const std::string rows = " VALUES (1), (" + key + "), (" + key + ")";
    switch (random(17)) {
      case 0:
        // All tables have the same seed, so a new table looks like the old one when both are empty.
        return both("CREATE VIRTUAL TABLE " + f +
                        " USING cuckoo_filter(key, seed = 1,"
                        " fingerprint_bits = 28)",
                    "CREATE TABLE " + f + "(key)");
      case 1:
        return both("DROP TABLE " + f);
      case 2: {
        const std::string to = name();
        if (to != f) {
          both("ALTER TABLE " + f + " RENAME TO " + to);
        }
        return;
      }
      case 3:
      case 4:
        alone("SAVEPOINT s" + std::to_string(++open_));
        return;
      case 5:
        if (open_ > 0) {
          open_ = 1 + random(open_);
          alone("ROLLBACK TO s" + std::to_string(open_));
        }
        return;
      case 6:
        if (open_ > 0) {
          alone("RELEASE s" + std::to_string(open_--));
        }
        return;
      case 7:
        return end();
      case 8:
        return both("INSERT INTO " + f + rows);
      case 9:
        return both("DELETE FROM " + f + " WHERE key = " + key,
                    "DELETE FROM " + f + " WHERE rowid = (SELECT min(rowid) FROM " + f +
                        " WHERE key = " + key + ")");
      case 10:
        return both(
            "INSERT INTO " + f + "(" + f + ") VALUES ('" + pick({"rebuild", "check"}) + "')",
            "SELECT 1 FROM " + f);
      case 16:
        return keep(f);
      case 11:
        return both("INSERT INTO " + f + "(" + f + ") VALUES ('clear')", "DELETE FROM " + f);
      default:
        return both("INSERT INTO " + f + " VALUES (" + key + ")");
    }
  }

  // Keeps a statement prepared, as clients do, and with it an instance of the table.
  void keep(const std::string& f) {
    if (db_.number("SELECT count(*) FROM sqlite_schema WHERE name = '" + f + "'") > 0) {
      note("-- a statement on " + f + " is kept");
      kept_.push_back(std::make_unique<Query>(db_, "SELECT count(*) FROM " + f));
    }
    if (kept_.size() > 3) {
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(random(kept_.size())));
    }
  }

  void end() {
    if (open_ == 0) {
      return;
    }
    alone(pick({"COMMIT", "ROLLBACK"}));
    open_ = 0;
  }

  TemporaryFolder folder_;
  QuickDatabase db_{folder_.file("f.db")};
  std::vector<std::unique_ptr<Query>> kept_;  // on db_
  Database tables_;
  uint64_t open_ = 0;
};

TEST(SchemaModel, random_ddl_and_savepoints_agree_with_ordinary_tables) {
  run_scripts<SchemaScript>(400);
}

}  // namespace
}  // namespace cuckoo::test::table_schema_model_test
