// filter_guard over a key of several columns: when it asks the filter, what it leaves to the table,
// and what it refuses.
#include <atomic>
#include <thread>

#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_guard_columns_test {
namespace {

constexpr const char* kViews =
    "CREATE TABLE views(id INTEGER PRIMARY KEY, who INTEGER, item TEXT, at INT, UNIQUE (who, "
    "item))";
constexpr const char* kSeen =
    "CREATE VIRTUAL TABLE seen USING cuckoo_filter(who, item, source = views(who, item),"
    " triggers = on)";
constexpr const char* kGuarded = "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)";
constexpr const char* kPlan = "filter seen, then views(who, item)";

class GuardColumns : public testing::Test {
 protected:
  // Adds 1000 rows (i, i % 50, 'i' || i, i % 10), and two rows that the filter does not have.
  void make(const char* filter = kSeen, const char* guard = kGuarded) {
    db_.run(kViews);
    db_.run(with_numbers(1000) +
            "INSERT INTO views(id, who, item, at) SELECT i, i % 50, 'i' || i, i % 10 FROM n");
    db_.run(filter);
    db_.run("INSERT INTO views VALUES (2001, NULL, 'i5', 50), (2002, 5, NULL, 51)");
    db_.run(guard);
  }
  int64_t probes() { return db_.number("SELECT probes FROM filter_info('seen')"); }
  std::string plan(const std::string& sql) { return plan_of(db_, sql); }
  // The guard gives the table's answer, and asks the filter `questions` times.
  void expect_asked(const std::string& sql, const std::string& answer, int64_t questions) {
    const std::string text = plan(sql);
    EXPECT_EQ(text.find(kPlan) != std::string::npos, questions > 0) << sql << "\n" << text;
    expect_answer(sql, answer, questions);
  }
  void expect_answer(std::string sql, const std::string& answer, int64_t questions) {
    const int64_t before = probes();
    EXPECT_EQ(db_.list(sql), answer) << sql;
    EXPECT_EQ(probes() - before, questions) << sql;
    const size_t at = sql.find("guarded");
    EXPECT_EQ(db_.list(sql.replace(at, 7, "views")), answer) << sql;
  }

  Database db_;
};

// --- when it asks --------------------------------------------------------------------------------

TEST_F(GuardColumns, asks_when_every_column_has_a_value) {
  make();
  for (const bool analyzed : {false, true}) {
    if (analyzed) {
      db_.run("ANALYZE");
    }
    expect_asked("SELECT id FROM guarded WHERE who = 5 AND item = 'i5'", "5", 1);
    expect_asked("SELECT id FROM guarded WHERE 'i5' = item AND who IS '5'", "5", 1);
    expect_asked("SELECT id FROM guarded WHERE who = 5 AND item = 'i6'", "", 1);
    expect_asked("SELECT id FROM guarded WHERE (who, item) = (6, 'i6') AND at > 3", "6", 1);
    expect_asked("SELECT id FROM guarded WHERE who = 5.0 AND item IN ('x', 'i5', 'y')", "5", 3);
    expect_asked("SELECT id FROM guarded WHERE item = 'i5' AND who IN (4, 5, 6)", "5", 3);
    expect_asked(
        "SELECT id FROM guarded WHERE (who, item) IN (SELECT column1, column2 FROM (VALUES (5,"
        " 'x'), (7, 'i7')))",
        "7", 2);
    expect_asked(
        "SELECT g.id FROM (SELECT 5 AS who, 'i5' AS item UNION SELECT 6, 'i5') CROSS JOIN guarded g"
        " USING (who, item) ORDER BY g.id",
        "5", 2);
    expect_asked("SELECT at, count(*) FROM guarded WHERE who = 5 AND item = 'i5' GROUP BY at", "5",
                 1);
  }
}

TEST_F(GuardColumns, asks_for_each_combination_of_lists) {
  make();
  expect_asked(
      "SELECT id FROM guarded WHERE who IN (4, 5, 6) AND item IN ('i4', 'x', 'i6', 'i7')"
      " ORDER BY id",
      "4,6", 12);
  db_.run("CREATE TABLE texts(a TEXT, b TEXT, c TEXT, UNIQUE (a, b, c))");
  db_.run(with_numbers(1000) + "INSERT INTO texts SELECT 'a' || (i % 7), 'b' || i, 'c' FROM n");
  db_.run(
      "DROP TABLE guarded; DROP TABLE seen;"
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(a, b, c, source = texts(a, b, c), triggers = "
      "on);"
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
  const int64_t before = probes();
  db_.gives(
      "SELECT b FROM guarded WHERE a IN ('a1', 'a2', NULL, 'z') AND c = 'c'"
      " AND b IN ('b1', 'b2', 'b3', 'b8', 'z') ORDER BY b",
      "b1,b2,b8");
  EXPECT_EQ(probes() - before, 15);  // the NULL is in no combination
  db_.gives("SELECT b FROM guarded WHERE a IN ('z', 'y') AND c = 'c' AND b IN ('b1')", "none");
  db_.gives("SELECT b FROM guarded WHERE a IN () AND c = 'c' AND b IN ('b1', 'b2')", "none");
  db_.gives(
      "SELECT count(*) FROM guarded WHERE a IN ('a1', 'a2') AND c = 'c' AND b IN"
      " (SELECT b FROM texts)",
      "286");
}

int64_t steps(Database& db, const std::string& sql) {
  int64_t count = 0;
  sqlite3_progress_handler(
      db.handle(), 1, [](void* counted) { return ++*static_cast<int64_t*>(counted) < 0 ? 1 : 0; },
      &count);
  db.rows(sql);
  sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
  return count;
}

// A list that begins the index has few rows for each value, and the other lists make many more
// combinations. Then the table reads these rows, and so does the guard.
TEST_F(GuardColumns, does_not_ask_for_more_combinations_than_it_would_read_rows) {
  for (const char* type : {"INT", "TEXT"}) {
    Database db;
    db.run("CREATE TABLE items(a {}, b {}, c {}, UNIQUE (a, b, c)); CREATE TABLE l(i {})", type,
           type, type, type);
    db.run(with_numbers(20000) + "INSERT INTO items SELECT i % 20, i / 20 % 300, i FROM n");
    db.run(with_numbers(100) + "INSERT INTO l SELECT i FROM n");
    db.run(
        "CREATE VIRTUAL TABLE seen USING cuckoo_filter(a, b, c, source = items(a, b, c), triggers"
        " = on); CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
    const std::string lists = "a IN (SELECT i FROM l) AND b IN (SELECT i FROM l) AND c IN ";
    for (const bool analyzed : {false, true}) {
      if (analyzed) {
        db.run("ANALYZE");
      }
      for (const std::string c : {"(SELECT i FROM l)", "(SELECT i * 20 FROM l)"}) {
        const std::string of_table = "SELECT count(*) FROM items WHERE " + lists + c;
        const std::string of_guard = "SELECT count(*) FROM guarded WHERE " + lists + c;
        db.gives(of_guard, db.number(of_table));
        EXPECT_LT(steps(db, of_guard), 4 * steps(db, of_table)) << type << analyzed << c;
      }
    }
    db.gives("SELECT probes FROM filter_info('seen')", 0);
  }
}

// The filter is not asked for a number in a TEXT key, and the index does not serve one. Then the
// guard reads the table once, and not once for each value of the other list.
TEST_F(GuardColumns, reads_once_for_lists_that_the_index_does_not_serve) {
  make();
  db_.run("CREATE TABLE numbers(i INTEGER); INSERT INTO numbers VALUES (4), (5)");
  db_.run(
      "CREATE TABLE pairs(item TEXT, who TEXT, UNIQUE (item, who));"
      "INSERT INTO pairs SELECT item, who FROM views WHERE who IS NOT NULL;"
      "INSERT INTO pairs VALUES ('05', 'w5');"
      "CREATE VIRTUAL TABLE some USING cuckoo_filter(item, who, source = pairs(item, who),"
      " triggers = on); CREATE VIRTUAL TABLE guarded_pairs USING filter_guard(some)");
  for (const char* item :
       {"item IN (SELECT i FROM numbers)", "item = (SELECT i FROM numbers WHERE i = 5)"}) {
    const std::string where = sql(" WHERE {} AND who IN (SELECT 'w' || who FROM views)", item);
    db_.gives("SELECT item FROM guarded_pairs" + where, "05");
    EXPECT_LT(steps(db_, "SELECT item FROM guarded_pairs" + where),
              3 * steps(db_, "SELECT item FROM pairs NOT INDEXED" + where))
        << item;
  }
}

// SQLite checks for an interrupt only while a statement of its own runs, and the filter runs none.
TEST_F(GuardColumns, stops_among_absent_combinations_when_it_is_interrupted) {
  db_.run("CREATE TABLE texts(a TEXT, b TEXT, UNIQUE (a, b))");
  db_.run(with_numbers(20000) + "INSERT INTO texts SELECT 'a' || i, 'b' || i FROM n");
  db_.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(a, b, source = texts(a, b), triggers = on);"
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
  // As if an `a` had as many rows as there are values in a list of `b`.
  db_.run(
      "ANALYZE; UPDATE sqlite_stat1 SET stat = '400000000 20000 1' WHERE tbl = 'texts';"
      "ANALYZE sqlite_schema");
  std::atomic<bool> ended = false;
  std::thread interrupter([&] {
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds(is_slow() ? 1000 : 50));
      sqlite3_interrupt(db_.handle());
    }
  });
  const Outcome outcome = db_.attempt(
      "SELECT count(*) FROM guarded WHERE a IN (SELECT a || 'x' FROM texts)"
      " AND b IN (SELECT b || 'x' FROM texts)");
  ended = true;
  interrupter.join();
  EXPECT_EQ(outcome.code, SQLITE_INTERRUPT);
  EXPECT_LT(probes(), 200000000);  // of 400 million
}

// --- what it leaves to the table -----------------------------------------------------------------

TEST_F(GuardColumns, goes_to_the_table_when_a_column_has_no_value) {
  make();
  const std::string few = " AND id NOT BETWEEN 50 AND 1000 ORDER BY id";
  expect_asked("SELECT id FROM guarded WHERE who = 5" + few, "5,2002", 0);
  expect_asked("SELECT id FROM guarded WHERE item = 'i5'" + few, "5,2001", 0);
  expect_asked("SELECT id FROM guarded WHERE who = 5 AND item >= 'i5'" + few, "5", 0);
  expect_asked("SELECT id FROM guarded WHERE (who = 5 OR item = 'i6')" + few, "5,6,2002", 0);
  expect_asked("SELECT count(*) FROM guarded", "1002", 0);
}

// The plan says that the guard would ask. The guard knows the value only when it looks the key up.
TEST_F(GuardColumns, goes_to_the_table_for_other_collations_and_classes) {
  make();
  expect_answer("SELECT id FROM guarded WHERE who = 5 AND item = 'I5' COLLATE NOCASE", "5", 0);
  expect_answer("SELECT id FROM guarded WHERE who = 5 AND item IN ('x', 'I5') COLLATE NOCASE", "",
                2);
  expect_answer("SELECT id FROM guarded WHERE who = 5 AND item COLLATE NOCASE IN ('x', 'I5')", "5",
                0);
  db_.run("INSERT INTO views VALUES (3001, 5, '007', 1), (3002, 5, '7', 1)");
  expect_answer("SELECT id FROM guarded WHERE who = 5 AND item = CAST(7 AS INTEGER) ORDER BY id",
                "3001,3002", 0);
}

TEST_F(GuardColumns, rows_with_null_in_the_key_are_found) {
  make();
  expect_answer("SELECT id FROM guarded WHERE who IS NULL AND item = 'i5'", "2001", 0);
  expect_answer("SELECT id FROM guarded WHERE who = 5 AND item IS NULL", "2002", 0);
  expect_answer("SELECT id FROM guarded WHERE who IS (SELECT NULL) AND item = 'i5'", "2001", 0);
  expect_answer("SELECT id FROM guarded WHERE who = (SELECT NULL) AND item = 'i5'", "", 0);
  expect_answer("SELECT id FROM guarded WHERE at = 51", "2002", 0);
  expect_answer("SELECT id FROM guarded WHERE at IN (50, 51) AND item IS NOT NULL", "2001", 0);
}

// If a row has NULL in one key column, the filter does not know its values in the other ones.
TEST_F(GuardColumns, types_of_rows_that_the_filter_lacks_are_unknown) {
  db_.run(
      "CREATE TABLE views(a, b, n INT); CREATE INDEX views_ab ON views(a, b);"
      "CREATE TABLE numbers(x INTEGER); INSERT INTO numbers VALUES (5)");
  db_.run(with_numbers(1000) + "INSERT INTO views SELECT i, i, i FROM n");
  db_.run("INSERT INTO views VALUES ('5', NULL, -1), (NULL, '05', -2)");
  db_.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(a, b, source = views(a, b), triggers = on)");
  db_.run(kGuarded);
  const char* const of = "SELECT v.n FROM numbers CROSS JOIN guarded v ON ";
  expect_answer(std::string(of) + "v.a = x ORDER BY v.n", "-1,5", 0);
  expect_answer(std::string(of) + "v.a = x AND v.b IS NULL", "-1", 0);
  expect_answer(std::string(of) + "v.b = x AND v.a IS (SELECT NULL)", "-2", 0);
  expect_answer(std::string(of) + "v.a = x AND v.b = x", "5", 1);
  db_.run("INSERT INTO views VALUES ('5', 5, -3)");
  expect_answer(std::string(of) + "v.a = x AND v.b = x ORDER BY v.n", "-3,5", 0);
}

// --- names and refusals --------------------------------------------------------------------------

TEST_F(GuardColumns, follows_the_names_of_the_source) {
  make();
  db_.run("ALTER TABLE views RENAME COLUMN who TO viewer; ALTER TABLE views RENAME TO visits");
  const std::string query = "SELECT id FROM guarded WHERE viewer = 5 AND item = 'i5'";
  db_.gives(query, "5");
  EXPECT_NE(plan(query).find("filter seen, then visits(viewer, item)"), std::string::npos);
  db_.refuses(
      "CREATE VIRTUAL TABLE g USING filter_guard(seen, source = visits(item, viewer), stale = "
      "allowed)",
      {"g: ", "seen is over main.visits(viewer, item)", "not over"});
  db_.run(
      "CREATE VIRTUAL TABLE g USING filter_guard(seen, source = visits(VIEWER, item), stale = "
      "allowed)");
  db_.run(drop_of_own(db_, "seen", "delete"));
  db_.refuses(query, {"guarded", "triggers", "'rebuild'"});
}

TEST_F(GuardColumns, stands_on_a_filter_that_the_application_fills) {
  make("CREATE VIRTUAL TABLE seen USING bloom_filter(a INT, b TEXT)",
       "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, source = views(who, item), stale = "
       "allowed)");
  db_.run(
      "INSERT INTO seen SELECT who, item FROM views WHERE who IS NOT NULL AND item IS NOT NULL");
  expect_asked("SELECT id FROM guarded WHERE who = 5 AND item = 'i5'", "5", 1);
  expect_asked("SELECT id FROM guarded WHERE who = 5 AND item = 'i6'", "", 1);
  expect_answer("SELECT id FROM guarded WHERE who = 5 AND item IS NULL", "2002", 0);
}

TEST_F(GuardColumns, names_the_column_that_does_not_fit) {
  make();
  struct Case {
    const char* filter;
    const char* source;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {"a TEXT, b TEXT", ", source = views(who, item)", {"column 1 of the key", "views(who)"}},
      {"a INT, b TEXT COLLATE NOCASE",
       ", source = views(who, item)",
       {"column 2 of the key", "NOCASE", "views(item)", "BINARY", "declare both alike"}},
      {"a INT, b TEXT",
       ", source = views(who)",
       {"has 2 columns", "views(who)", "name one column"}},
      {"a INT", ", source = views(who, item)", {"has 1 column,", "views(who, item)"}},
      {"a INT, b TEXT", ", source = views(who, gone)", {"main.views(who, gone): gone: no such"}},
      {"a INT, b TEXT", ", source = views(who, lower(item))", {"expected table(column)"}},
      {"a INT, b TEXT", "", {"has no source", "source = table(column, …)"}},
      {"a, b TEXT, source = views(who, lower(item)), triggers = off",
       "",
       {"own is over main.views(who, lower(item))", "columns of all rows"}},
      {"a, b, source = views(who, item), where = 'at > 1', triggers = off",
       "",
       {"own is over main.views(who, item) where at > 1", "columns of all rows"}},
      {"a INT, b TEXT, generations = 2", ", source = views(who, item)", {"sliding window"}},
  };
  for (const Case& one : cases) {
    db_.run("CREATE VIRTUAL TABLE own USING cuckoo_filter({})", one.filter);
    db_.refuses(sql("CREATE VIRTUAL TABLE g USING filter_guard(own{})", one.source), one.parts);
    db_.run("DROP TABLE own");
  }
}

int deny_item(void*, int action, const char* table, const char* column, const char*, const char*) {
  return action == SQLITE_READ && std::string_view(table) == "views" &&
                 std::string_view(column) == "item"
             ? SQLITE_DENY
             : SQLITE_OK;
}

TEST_F(GuardColumns, asks_the_authorizer_for_every_column) {
  make();
  sqlite3_set_authorizer(db_.handle(), deny_item, nullptr);
  const Outcome outcome = db_.attempt("SELECT id FROM guarded WHERE who = 5 AND item = 'absent'");
  EXPECT_NE(outcome.message.find("prohibited"), std::string::npos) << outcome.message;
  sqlite3_set_authorizer(db_.handle(), nullptr, nullptr);
  db_.gives("SELECT id FROM guarded WHERE who = 5 AND item = 'i5'", "5");
}

}  // namespace
}  // namespace cuckoo::test::filter_guard_columns_test
