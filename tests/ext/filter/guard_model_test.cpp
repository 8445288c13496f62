// Random queries over a filter_guard and over the table that it guards: the same rows.
#include <algorithm>

#include "tests/ext/filter/guard_queries.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace filter_guard_model_test {
namespace {

constexpr int kQueries = 60;

// A table with the key k, and t, n, r, u, v and gen beside it.
#define REST                                                                  \
  " t TEXT COLLATE NOCASE, n INTEGER, r REAL, u, v VARCHAR(9) COLLATE RTRIM," \
  " gen TEXT AS (n || ':' || t)"
struct Shape {
  std::string create;
  bool rowid = true;
};
const Shape kShapes[] = {
    {"CREATE TABLE users(id INTEGER PRIMARY KEY, k TEXT UNIQUE," REST ")"},
    {"CREATE TABLE users(k TEXT," REST "); CREATE INDEX users_k ON users(k)"},
    {"CREATE TABLE users(k TEXT COLLATE NOCASE," REST
     "); CREATE INDEX users_k ON users(k, n); CREATE INDEX users_n ON users(n DESC, t)"},
    {"CREATE TABLE users(k INTEGER PRIMARY KEY," REST ")"},
    {"CREATE TABLE users(k INT UNIQUE," REST "); CREATE UNIQUE INDEX users_u ON users(u, k)"},
    {"CREATE TABLE users(k," REST "); CREATE INDEX users_k ON users(k)"},
    {"CREATE TABLE users(k REAL," REST "); CREATE INDEX users_k ON users(k);"
     " CREATE INDEX users_v ON users(v)"},
    {"CREATE TABLE users(k NUMERIC," REST "); CREATE INDEX users_k ON users(k, t)"},
    {"CREATE TABLE users(k TEXT COLLATE RTRIM," REST "); CREATE INDEX users_k ON users(k)"},
    {"CREATE TABLE users(k TEXT PRIMARY KEY," REST ") WITHOUT ROWID", false},
    {"CREATE TABLE users(k INT," REST ", id INT, PRIMARY KEY (n, id)) WITHOUT ROWID;"
     " CREATE INDEX users_k ON users(k)",
     false},
    {"CREATE TABLE users(k TEXT COLLATE NOCASE," REST
     ", id INT, PRIMARY KEY (k COLLATE BINARY, id)) WITHOUT ROWID",
     false},
    {"CREATE TABLE users(k ANY, t TEXT COLLATE NOCASE, n INTEGER, r REAL, u ANY,"
     " v TEXT COLLATE RTRIM, gen TEXT AS (n || ':' || t)) STRICT;"
     " CREATE INDEX users_k ON users(k)"},
};

// Keys of several columns.
struct WideShape {
  const char* columns;
  const char* end;  // of CREATE TABLE, and indexes
  std::vector<std::string> keys;
  bool rowid = true;
};
const WideShape kWideShapes[] = {
    {"k TEXT," REST, ", UNIQUE (k, n))", {"k", "n"}},
    {"k INT," REST, "); CREATE INDEX users_k ON users(n, k)", {"k", "n"}},
    {"k INT NOT NULL," REST ", id INT",
     ", PRIMARY KEY (n, k, id)) WITHOUT ROWID",
     {"n", "k"},
     false},
    {"k," REST, "); CREATE INDEX users_k ON users(k, u)", {"u", "k"}},
    {"k TEXT," REST, "); CREATE INDEX users_k ON users(t)", {"k", "t"}},
    {"k TEXT COLLATE NOCASE," REST, "); CREATE INDEX users_k ON users(k, v)", {"v", "k"}},
    {"k REAL," REST, "); CREATE INDEX users_k ON users(k, u, n)", {"k", "u", "n"}},
    {"k TEXT," REST, ")", {"k", "gen"}},
};
#undef REST

constexpr const char* kFilters[] = {
    "cuckoo_filter(@K, source = users(@K), triggers = on)",
    "cuckoo_filter(@K, source = users(@K), triggers = on, fpr = 0.2)",
    "bloom_filter(@K, source = users(@K), triggers = on, counting = on)",
    "bloom_filter(@K, source = users(@K), triggers = on)",
};

std::string shown(const std::vector<std::string>& rows) {
  std::string text = std::to_string(rows.size()) + " rows:";
  for (size_t i = 0; i < std::min<size_t>(rows.size(), 12); ++i) {
    text += "\n  " + rows[i];
  }
  return text;
}

class GuardScript {
 public:
  GuardScript(uint64_t seed, const Shape& shape, const std::vector<std::string>& keys)
      : shape_(shape), queries_(seed, shape.rowid, keys) {
    db_.run(queries_.chance(15) ? "PRAGMA encoding = 'UTF-16'" : "SELECT 1");
    // With an automatic index SQLite 3.40 compares by another collation than without one. Then the
    // table's answers are no measure.
    db_.run("PRAGMA automatic_index = OFF");
    db_.run(shape_.create);
    db_.run(
        "CREATE TABLE o(i INTEGER PRIMARY KEY, x INTEGER, y TEXT, z, c TEXT COLLATE NOCASE,"
        " q REAL, m NUMERIC, w BLOB)");
    change_users(20 + queries_.random(60));
    if (queries_.chance(20)) {
      add_filler();
    }
    for (uint64_t i = 0; i < 9; ++i) {
      db_.run("INSERT INTO o(x, y, z, c, q, m, w) VALUES (" + values(7) + ")");
    }
    std::string key;
    for (const std::string& column : keys) {
      key += (key.empty() ? "" : ", ") + column;
    }
    db_.run("CREATE VIRTUAL TABLE seen USING " + replaced(queries_.pick(kFilters), "@K", key));
    db_.run("CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
    db_.run("CREATE VIEW by_view AS SELECT * FROM guarded");
  }

  void run() {
    for (int i = 0; i < kQueries && !testing::Test::HasFailure(); ++i) {
      disturb();
      if (queries_.keys().size() > 1) {
        choose_row();
      }
      const GuardQueries::Query query = queries_.query();
      const bool view = queries_.chance(5) && query.sql.find("rowid") == std::string::npos &&
                        query.sql.find("oid") == std::string::npos;
      compare(query, view ? "by_view" : "guarded");
    }
  }
  // From now on, if the guard and its table differ, a table without indexes decides. With an index
  // SQLite loses rows of some queries that have an IN on one column of several.
  void check_without_indexes(const std::string& columns) {
    db_.run("CREATE TABLE copied(" + columns + ")");
    copies_ = true;
  }
  int64_t probes() { return db_.number("SELECT probes FROM filter_info('seen')"); }

 private:
  std::string values(int count) {
    std::string text = queries_.value();
    for (int i = 1; i < count; ++i) {
      text += ", " + queries_.value();
    }
    return text;
  }
  // Adds so many rows that a look-up for each value of an IN is cheaper than a scan.
  void add_filler() {
    const bool id = shape_.create.find(" id INT") != std::string::npos && !shape_.rowid;
    const std::string integers = queries_.chance(50) ? "1000 + i" : "'f' || i";
    const bool text = shape_.create.find("(k TEXT") != std::string::npos;
    for (const std::string& key : {text ? "'f' || i" : integers, std::string("1000 + i")}) {
      db_.attempt(with_numbers(500) + "INSERT INTO users(k, n" + std::string(id ? ", id" : "") +
                  ") SELECT " + key + ", -i" + (id ? ", i" : "") +
                  " FROM n WHERE (SELECT count(*) FROM users) < 500");
    }
  }
  // Rows that a constraint or a STRICT type refuses are left out.
  void change_users(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const bool id = shape_.create.find(" id INT") != std::string::npos && !shape_.rowid;
      db_.attempt(std::string("INSERT INTO users(k, t, n, r, u, v") + (id ? ", id" : "") +
                  ") VALUES (" + values(6) +
                  (id ? ", " + std::to_string(queries_.random(1000)) : "") + ")");
    }
  }
  void choose_row() {
    std::string columns;
    for (const std::string& key : queries_.keys()) {
      columns += (columns.empty() ? "quote(" : ", quote(") + key + ")";
    }
    const std::vector<Row> rows =
        db_.rows("SELECT " + columns + " FROM users ORDER BY 1, 2 LIMIT 1 OFFSET " +
                 std::to_string(queries_.random(30)));
    queries_.set_row(rows.empty() ? Row() : rows[0]);
  }
  void disturb() {
    switch (queries_.random(40)) {
      case 0:
        db_.attempt(depth_ == 0 ? "BEGIN" : "SAVEPOINT s");
        ++depth_;
        break;
      case 1:
        if (depth_ > 0) {
          db_.attempt(queries_.chance(50) ? "COMMIT" : "ROLLBACK");
          depth_ = 0;
        }
        break;
      case 2:
        if (depth_ > 1) {
          db_.attempt("ROLLBACK TO s");
        }
        break;
      case 3:
        db_.run("ANALYZE");
        break;
      case 4:
        db_.run("DELETE FROM users WHERE n = " + queries_.value());
        break;
      case 5:
        db_.attempt("UPDATE users SET k = " + queries_.value() + " WHERE n = " + queries_.value());
        break;
      case 6:
        db_.attempt("CREATE INDEX extra ON users(" +
                    std::string(queries_.chance(50) ? "u" : "v, n") + ")");
        break;
      case 7:
        db_.run("DROP INDEX IF EXISTS extra");
        break;
      case 8:
        db_.attempt("DELETE FROM sqlite_stat1; ANALYZE sqlite_schema");
        break;
      case 9:
      case 10:
      case 11:
        change_users(3);
        break;
      default:
        break;
    }
  }
  void copy_users() {
    const std::string columns = std::string(shape_.rowid ? "rowid" : "id") + ", k, t, n, r, u, v";
    db_.run("DELETE FROM copied; INSERT INTO copied(" + columns + ") SELECT " + columns +
            " FROM users");
  }
  void compare(const GuardQueries::Query& query, const std::string& name) {
    const std::string& of_table = query.of_table.empty() ? query.sql : query.of_table;
    std::vector<std::string> expected = answer(db_, replaced(of_table, "@T", "users"));
    std::vector<std::string> found = answer(db_, replaced(query.sql, "@T", name));
    if (!query.ordered) {
      std::sort(expected.begin(), expected.end());
      std::sort(found.begin(), found.end());
    }
    if (found != expected && copies_) {
      copy_users();
      expected = answer(db_, replaced(of_table, "@T", "copied"));
      if (!query.ordered) {
        std::sort(expected.begin(), expected.end());
      }
    }
    if (found != expected) {
      const std::string sql = replaced(query.sql, "@T", name);
      ADD_FAILURE() << sql << "\n"
                    << shape_.create << "\n"
                    << plan_of(db_, sql) << "the guard: " << shown(found)
                    << "\nthe table: " << shown(expected);
    }
  }

  const Shape shape_;
  Database db_;
  GuardQueries queries_;
  int depth_ = 0;
  bool copies_ = false;
};

TEST(GuardModel, gives_what_the_table_gives) {
  for_each_seed(60, [](uint64_t seed) {
    GuardScript(seed, kShapes[seed % std::size(kShapes)], {"k"}).run();
  });
}

TEST(GuardModel, gives_what_the_table_gives_by_keys_of_several_columns) {
  int64_t probes = 0;
  const uint64_t scripts = for_each_seed(60, [&](uint64_t seed) {
    const WideShape& shape = kWideShapes[seed % std::size(kWideShapes)];
    const std::string create = std::string("CREATE TABLE users(") + shape.columns + shape.end;
    GuardScript script(seed, {create, shape.rowid}, shape.keys);
    script.check_without_indexes(shape.columns);
    script.run();
    probes += script.probes();
  });
  EXPECT_GT(probes, static_cast<int64_t>(5 * scripts));
}

}  // namespace
}  // namespace filter_guard_model_test
}  // namespace cuckoo::test
