// Random scripts of CREATE, DROP, RENAME, savepoints and single rows. In a database of its own an
// ordinary table goes through the same: SQLite itself says what the filter must hold. (In the same
// database its statements would open savepoints, of which the filter is told.)
#include <random>

#include "tests/support/database.hpp"

namespace cuckoo::test {
namespace {

constexpr int kKeys = 12;

class SchemaModel {
 public:
  explicit SchemaModel(uint64_t seed, const std::string& file) : random_(seed), db_(file) {}

  // False at the first difference.
  bool run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      if (random_() % 3 == 0) {
        compare(db_);
      }
    }
    if (open_ > 0) {
      alone("COMMIT");
      open_ = 0;
    }
    compare(db_);
    return !testing::Test::HasFailure();
  }
  void compare(Database& db) {
    for (const char* name : {"f", "g", "h"}) {
      const std::string filter = name;
      const std::string there = "SELECT count(*) FROM sqlite_schema WHERE name = '" + filter + "'";
      EXPECT_EQ(db.number(there), tables_.number(there)) << filter << script_;
      if (tables_.number(there) == 0) {
        EXPECT_NE(db.attempt("SELECT 1 FROM " + filter + " WHERE key = 1").code, SQLITE_OK);
        continue;
      }
      EXPECT_EQ(db.number("SELECT count(*) FROM " + filter),
                tables_.number("SELECT count(*) FROM " + filter))
          << filter << script_;
      EXPECT_EQ(
          db.list("SELECT f.key || 'x' || f.count FROM json_each('[0,1,2,3,4,5,6,7,8,9,10,11]') j"
                  " JOIN " +
                  filter + " AS f ON f.key = j.value ORDER BY f.key"),
          tables_.list("SELECT key || 'x' || count(*) FROM " + filter +
                       " GROUP BY key ORDER BY key"))
          << filter << script_;
    }
  }
  std::vector<std::string> names(Database& db) {
    std::vector<std::string> all;
    for (const Row& row : db.rows("SELECT name FROM sqlite_schema WHERE name IN ('f', 'g', 'h')")) {
      all.push_back(row[0]);
    }
    return all;
  }
  Database& db() { return db_; }

 private:
  std::string name() { return std::string(1, static_cast<char>('f' + random_() % 3)); }

  // Both succeed or both fail.
  void both(const std::string& filter_sql, const std::string& table_sql) {
    script_ += "\n" + filter_sql + ";";
    const Outcome first = db_.attempt(filter_sql);
    const Outcome second = tables_.attempt(table_sql);
    EXPECT_EQ(first.code == SQLITE_OK, second.code == SQLITE_OK) << first.message << "\n"
                                                                 << second.message << script_;
  }
  void alone(const std::string& sql) {
    script_ += "\n" + sql + ";";
    db_.run(sql);
    tables_.run(sql);
  }

  void step() {
    const std::string f = name();
    const std::string key = std::to_string(random_() % kKeys);
    switch (random_() % 17) {
      case 0:
        // The same seed: a new table looks like the old one when both are empty.
        return both("CREATE VIRTUAL TABLE " + f +
                        " USING cuckoo_filter(key, seed = 1,"
                        " fingerprint_bits = 28)",
                    "CREATE TABLE " + f + "(key)");
      case 1:
        return both("DROP TABLE " + f, "DROP TABLE " + f);
      case 2: {
        const std::string to = name();
        if (to != f) {
          both("ALTER TABLE " + f + " RENAME TO " + to, "ALTER TABLE " + f + " RENAME TO " + to);
        }
        return;
      }
      case 3:
      case 4:
        alone(std::string("SAVEPOINT s") + std::to_string(++open_));
        return;
      case 5:
        if (open_ > 0) {
          const int to = 1 + static_cast<int>(random_() % static_cast<unsigned>(open_));
          alone(std::string("ROLLBACK TO s") + std::to_string(to));
          open_ = to;
        }
        return;
      case 6:
        if (open_ > 0) {
          alone(std::string("RELEASE s") + std::to_string(open_--));
        }
        return;
      case 7:
        return end();
      case 8:
        return both("INSERT INTO " + f + " VALUES (1), (" + key + "), (" + key + ")",
                    "INSERT INTO " + f + " VALUES (1), (" + key + "), (" + key + ")");
      case 9:
        return both("DELETE FROM " + f + " WHERE key = " + key,
                    "DELETE FROM " + f + " WHERE rowid = (SELECT min(rowid) FROM " + f +
                        " WHERE key = " + key + ")");
      case 10:
        return both("INSERT INTO " + f + "(" + f + ") VALUES ('" +
                        (random_() % 2 == 0 ? "rebuild" : "check") + "')",
                    "SELECT 1 FROM " + f);
      case 16:
        return keep(f);
      case 11:
        return both("INSERT INTO " + f + "(" + f + ") VALUES ('clear')", "DELETE FROM " + f);
      default:
        return both("INSERT INTO " + f + " VALUES (" + key + ")",
                    "INSERT INTO " + f + " VALUES (" + key + ")");
    }
  }

  // As clients do: a statement that stays prepared, and with it an instance of the table.
  void keep(const std::string& f) {
    if (db_.number("SELECT count(*) FROM sqlite_schema WHERE name = '" + f + "'") > 0) {
      script_ += "\n-- a statement on " + f + " is kept;";
      kept_.push_back(std::make_unique<Query>(db_, "SELECT count(*) FROM " + f));
    }
    if (kept_.size() > 3) {
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(random_() % kept_.size()));
    }
  }

  void end() {
    if (open_ == 0) {
      return;
    }
    alone(random_() % 2 == 0 ? "COMMIT" : "ROLLBACK");
    open_ = 0;
  }

  std::mt19937_64 random_;
  QuickDatabase db_;
  std::vector<std::unique_ptr<Query>> kept_;  // on db_
  Database tables_;
  int open_ = 0;
  std::string script_;
};

TEST(SchemaModel, random_ddl_and_savepoints_agree_with_ordinary_tables) {
  TemporaryFolder folder;
  const char* count = std::getenv("CUCKOO_MODEL_SCRIPTS");
  const uint64_t scripts = count == nullptr ? 400 : std::stoull(count);
  for (uint64_t seed = 1; seed <= scripts; ++seed) {
    const std::string file = folder.file(std::to_string(seed) + ".db");
    {
      SchemaModel model(seed, file);
      if (!model.run(60)) {
        FAIL() << "script of seed " << seed;
      }
      QuickDatabase other(file);
      model.compare(other);
      for (const std::string& name : model.names(other)) {
        other.run("INSERT INTO " + name + "(" + name + ") VALUES ('check')");
      }
    }
    std::filesystem::remove(file);
    if (testing::Test::HasFailure()) {
      FAIL() << "script of seed " << seed;
    }
  }
}

}  // namespace
}  // namespace cuckoo::test
