// Random queries over a filter_guard and over the table that it guards: the same rows. Random
// statements that write what they find: the same changes. If a migration made the table anew, every
// connection's guard refuses to answer until 'rebuild'.
#include <algorithm>
#include <cctype>

#include "tests/ext/filter/guard_queries.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_guard_model_test {
namespace {

constexpr int kQueries = 60;

// A table with the key k, and t, n, r, u, v and gen beside it.
#define REST                                                                  \
  " t TEXT COLLATE NOCASE, n INTEGER, r REAL, u, v VARCHAR(9) COLLATE RTRIM," \
  " gen TEXT AS (n || ':' || t)"
struct Shape {
  std::string create;
  bool rowid = true;
  std::string copy = {};  // if the guard and its table differ, this table without indexes decides
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
    "cuckoo_filter(@K, source = users(@K), triggers = off)",  // rebuilt before each question
};
constexpr const char* kRebuild = "INSERT INTO seen(seen) VALUES ('rebuild')";

// Compares the first characters alone.
int by_first_letter(void*, int size, const void* text, int other_size, const void* other) {
  const auto first = [](int bytes, const void* from) {
    const int c = bytes == 0 ? 0 : *static_cast<const unsigned char*>(from);
    return c == ':' ? 1 : std::tolower(c);
  };
  return first(size, text) - first(other_size, other);
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

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
    queries_.add_texts_of(encoding_);
    replaces_nocase_ = queries_.chance(10);
    if (queries_.chance(20)) {
      shape_.create = replaced(shape_.create, "COLLATE RTRIM", "COLLATE own");
      shape_.copy = replaced(shape_.copy, "COLLATE RTRIM", "COLLATE own");
    }
    if (!shape_.rowid && says(shape_.create, " id INT")) {
      columns_ += ", id";
    }
    connect();
    run(shape_.create +
        ";CREATE TABLE o(i INTEGER PRIMARY KEY, x INTEGER, y TEXT, z, c TEXT COLLATE NOCASE,"
        " q REAL, m NUMERIC, w BLOB, hits INTEGER DEFAULT 0);"
        "CREATE TABLE taken(k, t, n, r, u, v, gen)");
    change_users(20 + queries_.random(60));
    if (queries_.chance(20)) {
      add_filler();
    }
    fill_o();
    make_guard();
  }

  void ask_and_write() {
    for (int i = 0; made_ && i < kQueries && !testing::Test::HasFailure(); ++i) {
      if (depth_ == 0) {
        db_ = queries_.pick(connections_).get();
      }
      disturb();
      if (queries_.keys().size() > 1) {
        choose_row();
      }
      const GuardQueries::Query query = queries_.query();
      const bool view = queries_.chance(5) && !says(query.sql, "rowid") && !says(query.sql, "oid");
      Database& other = *queries_.pick(connections_);
      load_snapshot();
      compare(snapshot_ && depth_ > 0 ? *db_ : other, query, view ? "by_view" : "guarded");
    }
  }
  int64_t probes() { return made_ ? db_->number("SELECT probes FROM filter_info('seen')") : 0; }

 private:
  void run(const std::string& sql) { db_->run(sql); }
  void connect() {
    connections_.push_back(std::make_unique<QuickDatabase>(folder_.file("guarded.db")));
    db_ = connections_.back().get();
    // With an automatic index SQLite 3.40 compares by another collation than without one. Then the
    // table's answers are no measure.
    run("PRAGMA automatic_index = OFF; PRAGMA journal_mode = MEMORY; PRAGMA encoding = '" +
        encoding_ + "'");
    for (const char* name : {"own", "NOCASE"}) {
      if (name[0] == 'o' || replaces_nocase_) {
        sqlite3_create_collation(db_->handle(), name, SQLITE_UTF8, nullptr, by_first_letter);
      }
    }
    run(shape_.copy);
  }
  // No filter takes a key with a collation of the application's own.
  void make_guard() {
    std::string names;
    std::string refusal;
    for (const std::string& key : queries_.keys()) {
      names += (names.empty() ? "" : ", ") + key;
      const char* of_key = nullptr;
      sqlite3_table_column_metadata(db_->handle(), nullptr, "users", key.c_str(), nullptr, &of_key,
                                    nullptr, nullptr, nullptr);
      const std::string collation = of_key;
      if (collation == "own") {
        refusal = "BINARY, NOCASE or RTRIM";
      } else if (collation == "NOCASE" && replaces_nocase_ && refusal.empty()) {
        refusal = "replaced by a collation of its own";
      }
    }
    const std::string filter = replaced(queries_.pick(kFilters), "@K", names);
    if (!refusal.empty()) {
      db_->refuses("CREATE VIRTUAL TABLE seen USING " + filter, {refusal});
      return;
    }
    snapshot_ = says(filter, "triggers = off");
    run("CREATE VIRTUAL TABLE seen USING " + filter);
    run(std::string("CREATE VIRTUAL TABLE guarded USING filter_guard(seen") +
        (snapshot_ ? ", stale = allowed)" : ")"));
    run("CREATE VIEW by_view AS SELECT * FROM guarded");
    while (connections_.size() < 3 && queries_.chance(60)) {
      connect();
    }
    made_ = true;
  }

  std::string values(int count) {
    std::string text = queries_.value();
    for (int i = 1; i < count; ++i) {
      text += ", " + queries_.value();
    }
    return text;
  }
  // Adds so many rows that a look-up for each value of an IN is cheaper than a scan.
  void add_filler() {
    const bool id = columns_.ends_with("id");
    const std::string integers = queries_.chance(50) ? "1000 + i" : "'f' || i";
    const bool text = says(shape_.create, "(k TEXT");
    for (const std::string& key : {text ? "'f' || i" : integers, std::string("1000 + i")}) {
      db_->attempt(with_numbers(500) + "INSERT INTO users(k, n" + std::string(id ? ", id" : "") +
                   ") SELECT " + key + ", -i" + (id ? ", i" : "") +
                   " FROM n WHERE (SELECT count(*) FROM users) < 500");
    }
  }
  void fill_o() {
    for (int64_t rows = db_->number("SELECT count(*) FROM o"); rows < 9; ++rows) {
      run("INSERT INTO o(x, y, z, c, q, m, w) VALUES (" + values(7) + ")");
    }
  }
  // Rows that a constraint or a STRICT type refuses are left out.
  void change_users(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::string id = columns_.ends_with("id") ? ", " + queries_.number(1000) : "";
      db_->attempt("INSERT INTO users(" + columns_ + ") VALUES (" + values(6) + id + ")");
    }
  }
  void choose_row() {
    std::string columns;
    for (const std::string& key : queries_.keys()) {
      columns += (columns.empty() ? "" : ", ") +
                 replaced(
                     "iif(typeof(@K) = 'text', 'CAST(x''' || hex(CAST(@K AS BLOB)) ||"
                     " ''' AS TEXT)', quote(@K))",
                     "@K", key);
    }
    const std::vector<Row> rows =
        db_->rows("SELECT " + columns + " FROM users ORDER BY 1, 2 LIMIT 1 OFFSET " +
                  std::to_string(queries_.random(30)));
    Row row = rows.empty() ? Row() : rows[0];
    std::replace(row.begin(), row.end(), std::string("Inf"), std::string("9e999"));
    queries_.set_row(row);
  }
  void disturb() {
    switch (queries_.random(40)) {
      case 0:
        db_->attempt(depth_ == 0 ? "BEGIN" : "SAVEPOINT s");
        ++depth_;
        break;
      case 1:
        if (depth_ > 0) {
          db_->attempt(queries_.chance(50) ? "COMMIT" : "ROLLBACK");
          depth_ = 0;
        }
        break;
      case 2:
        if (depth_ > 1) {
          db_->attempt("ROLLBACK TO s");
        }
        break;
      case 3:
        run("ANALYZE");
        break;
      case 4:
        run("DELETE FROM users WHERE n = " + queries_.value());
        break;
      case 5:
        db_->attempt("UPDATE users SET k = " + queries_.value() + " WHERE n = " + queries_.value());
        break;
      case 6:
        db_->attempt("CREATE INDEX extra ON users(" +
                     std::string(queries_.chance(50) ? "u" : "v, n") + ")");
        break;
      case 7:
        run("DROP INDEX IF EXISTS extra");
        break;
      case 8:
        db_->attempt("DELETE FROM sqlite_stat1; ANALYZE sqlite_schema");
        break;
      case 9:
      case 10:
      case 11:
        change_users(3);
        break;
      case 12:
        migrate();
        break;
      case 13:
      case 14:
      case 15:
      case 16:
        write();
        break;
      default:
        break;
    }
  }
  // Puts a copy in the table's place, as tools that migrate do.
  void migrate() {
    const size_t end = std::min(shape_.create.find(';'), shape_.create.size());
    const std::string type = "VARCHAR(" + queries_.number(300) + ")";
    std::string fresh = replaced(shape_.create.substr(0, end), "TABLE users(", "TABLE fresh(");
    fresh = replaced(replaced(fresh, "(k TEXT", "(k " + type), "VARCHAR(9)", type);
    run("SAVEPOINT m; " + fresh + "; INSERT INTO fresh(" + columns_ + ") SELECT " + columns_ +
        " FROM users; DROP TABLE users; ALTER TABLE fresh RENAME TO users" +
        shape_.create.substr(end));
    run(queries_.chance(25) ? "ROLLBACK TO m; RELEASE m" : "RELEASE m");
  }
  bool lost_triggers(Database& db) {
    return !snapshot_ &&
           db.number("SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'") == 0;
  }
  void load_snapshot() {
    if (snapshot_) {
      run(kRebuild);
    }
  }

  void write() {
    const std::string sql = queries_.write(columns_);
    // SQLite 3.40 finds in the table what such an UPDATE has just written. A snapshot does not.
    if (lost_triggers(*db_) || (snapshot_ && sql.starts_with("UPDATE users"))) {
      return;
    }
    load_snapshot();
    fill_o();
    run("SAVEPOINT w");
    std::vector<std::string> expected = what_does(replaced(sql, "@T", "users"));
    EXPECT_FALSE(says(expected[0], "no such")) << sql << "\n" << expected[0];
    run("ROLLBACK TO w");
    const std::vector<std::string> found = what_does(replaced(sql, "@T", "guarded"));
    const bool refused =
        snapshot_ && says(sql, "INTO users") && says(found[0], "would read its own rows");
    if (!refused && found != expected && !shape_.copy.empty()) {
      run("ROLLBACK TO w");
      copy_users(*db_);
      expected = what_does(replaced(sql, "@T", "copied"));
    }
    run("RELEASE w; DELETE FROM taken");
    if (!refused) {
      expect_equal(sql, found, expected);
    }
  }
  // Runs a statement, and returns its error, if any, and all rows after it.
  std::vector<std::string> what_does(const std::string& sql) {
    std::vector<std::string> all = {db_->attempt(sql).message};
    for (const char* table : {"users", "o", "taken"}) {
      const std::vector<std::string> rows = answer(*db_, std::string("SELECT * FROM ") + table);
      all.insert(all.end(), rows.begin(), rows.end());
    }
    std::sort(all.begin() + 1, all.end());
    return all;
  }

  void copy_users(Database& db) {
    const std::string columns = (shape_.rowid ? "rowid, " : "") + columns_;
    db.run("DELETE FROM copied; INSERT INTO copied(" + columns + ") SELECT " + columns +
           " FROM users");
  }
  static std::vector<std::string> rows_of(Database& db, const GuardQueries::Query& query,
                                          const std::string& sql, const std::string& table) {
    std::vector<std::string> rows = answer(db, replaced(sql, "@T", table));
    if (!query.ordered) {
      std::sort(rows.begin(), rows.end());
    }
    return rows;
  }
  void compare(Database& db, const GuardQueries::Query& query, const std::string& name) {
    const std::string& of_table = query.of_table.empty() ? query.sql : query.of_table;
    std::vector<std::string> expected = rows_of(db, query, of_table, "users");
    const std::vector<std::string> found = rows_of(db, query, query.sql, name);
    const std::string message = sqlite3_errmsg(db.handle());
    if (lost_triggers(db)) {
      EXPECT_TRUE(says(message, "'rebuild'")) << query.sql << "\n" << message;
      if (queries_.chance(40)) {
        run(kRebuild);
      }
      return;
    }
    if (found != expected && !shape_.copy.empty()) {
      copy_users(db);
      expected = rows_of(db, query, of_table, "copied");
    }
    expect_equal(query.sql, found, expected);
  }
  void expect_equal(const std::string& sql, const std::vector<std::string>& found,
                    const std::vector<std::string>& expected) {
    EXPECT_TRUE(found == expected)
        << sql << "\n"
        << shape_.create << "\n"
        << plan_of(*db_, replaced(sql, "@T", "guarded")) << "the guard: " << shown(found)
        << "\nthe table: " << shown(expected);
  }

  Shape shape_;
  std::string columns_ = "k, t, n, r, u, v";  // and id
  GuardQueries queries_;
  const std::string encoding_ = queries_.pick({"UTF-8", "UTF-16le", "UTF-16be"});
  bool replaces_nocase_ = false;
  bool made_ = false;
  bool snapshot_ = false;
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<QuickDatabase>> connections_;
  QuickDatabase* db_ = nullptr;  // it writes; the same one until its transaction ends
  int depth_ = 0;
};

TEST(GuardModel, gives_and_writes_what_the_table_does) {
  for_each_seed(48, [](uint64_t seed) {
    GuardScript(seed, kShapes[seed % std::size(kShapes)], {"k"}).ask_and_write();
  });
}

TEST(GuardModel, gives_and_writes_what_the_table_does_by_keys_of_several_columns) {
  int64_t probes = 0;
  const uint64_t scripts = for_each_seed(48, [&](uint64_t seed) {
    const WideShape& shape = kWideShapes[seed % std::size(kWideShapes)];
    const std::string columns = std::string("(") + shape.columns;
    GuardScript script(seed,
                       {"CREATE TABLE users" + columns + shape.end, shape.rowid,
                        "CREATE TEMP TABLE copied" + columns + ")"},
                       shape.keys);
    script.ask_and_write();
    probes += script.probes();
  });
  EXPECT_GT(probes, static_cast<int64_t>(scripts));
}

}  // namespace
}  // namespace cuckoo::test::filter_guard_model_test
