// filter_guard: what it declares, how it plans, what it sees; guard_model_test.cpp has its answers.
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_guard_test {
namespace {

constexpr const char* kUsers =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE, grp INT, note TEXT);"
    "CREATE INDEX users_grp ON users(grp)";
constexpr const char* kSeen =
    "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = on)";
constexpr const char* kGuarded = "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)";

void add_users(Database& db, int64_t first, int64_t last) {
  db.run(with_numbers(first, last) +
         "INSERT INTO users(email, grp, note) SELECT 'u' || i, i % 10, 'n' || i FROM n");
}

void make(Database& db, const char* filter = kSeen, const char* guard = kGuarded) {
  db.run(kUsers);
  add_users(db, 1, 1000);
  db.run(filter);
  db.run(guard);
}

void expect_plan(Database& db, const std::string& sql, const std::string& part) {
  const std::string text = plan_of(db, sql);
  EXPECT_NE(text.find(part), std::string::npos) << sql << "\n" << text << "without: " << part;
}

int64_t probes(Database& db) { return db.number("SELECT probes FROM filter_info('seen')"); }

// --- plans ---------------------------------------------------------------------------------------

using Guard = WithDatabase;

TEST_F(Guard, asks_the_filter_before_it_looks_a_key_up) {
  make(db);
  for (const char* sql :
       {"SELECT id FROM guarded WHERE email = 'u5'", "SELECT id FROM guarded WHERE email IS 'u5'",
        "SELECT id FROM guarded WHERE email IN ('u5', 'x')",
        "SELECT id FROM guarded WHERE email IN (SELECT 'u5' UNION SELECT 'x')",
        "SELECT g.id FROM (SELECT 'u5' AS e UNION SELECT 'x') CROSS JOIN guarded g ON g.email = e",
        "SELECT max(id) FROM guarded WHERE email = 'u5' AND grp = 5 GROUP BY grp ORDER BY 1"}) {
    expect_plan(db, sql, "filter seen, then users(email)");
    const int64_t before = probes(db);
    db.gives(sql, "5");
    EXPECT_GT(probes(db), before) << sql;
  }
}

TEST_F(Guard, uses_the_indexes_of_its_table) {
  make(db);
  expect_plan(db, "SELECT note FROM guarded WHERE id = 5", "users(id=?)");
  expect_plan(db, "SELECT note FROM guarded WHERE rowid > 5 AND grp = 3",
              "users(rowid>? AND grp=?)");
  expect_plan(db, "SELECT note FROM guarded WHERE note = 'x' AND email IS NULL",
              "users(note=? AND email IS NULL)");
  expect_plan(db, "SELECT * FROM guarded", "users");
  const int64_t before = probes(db);
  db.gives("SELECT note FROM guarded WHERE id IN (5, 7, 5000)", "n5,n7");
  db.gives("SELECT count(*) FROM guarded WHERE grp = 3 AND id < 100", 10);
  EXPECT_EQ(probes(db), before);
}

TEST_F(Guard, is_ordered_among_other_tables_as_its_table_is) {
  make(db);
  db.run("CREATE TABLE requests(id INTEGER PRIMARY KEY, email TEXT, k INT)");
  db.run(with_numbers(500) + "INSERT INTO requests(email, k) SELECT 'u' || i, i % 10 FROM n");
  db.run("CREATE TABLE groups(grp INTEGER PRIMARY KEY, name TEXT)");
  db.run("INSERT INTO groups SELECT DISTINCT grp, 'g' || grp FROM users");
  // Lists the tables in the order in which the plan comes to them.
  const auto order = [this](std::string sql, const std::string& table) {
    sql.replace(sql.find("@T"), 2, table);
    std::string tables;
    for (const Row& row : db.rows("EXPLAIN QUERY PLAN " + sql)) {
      const size_t at = row[3].find(' ');
      if (row[3].starts_with("S")) {
        tables += row[3].substr(at + 1, 1);
      }
    }
    return tables;
  };
  for (const char* analyze : {"SELECT 1", "ANALYZE"}) {
    db.run(analyze);
    for (const char* sql :
         {"SELECT * FROM requests r JOIN @T u USING (email)",
          "SELECT * FROM @T u JOIN requests r USING (email) WHERE r.id = 5",
          "SELECT * FROM requests r JOIN @T u USING (email) WHERE u.id = 5",
          "SELECT * FROM requests r JOIN @T u USING (email) JOIN groups g ON g.grp = u.grp",
          "SELECT * FROM requests r JOIN @T u USING (email) ORDER BY u.id LIMIT 10",
          "SELECT * FROM @T u JOIN groups g ON g.grp = u.grp",
          "SELECT * FROM @T u JOIN requests r ON u.grp = r.k WHERE r.id < 10",
          "SELECT u.grp, count(*) FROM requests r JOIN @T u USING (email) GROUP BY 1"}) {
      EXPECT_EQ(order(sql, "guarded"), order(sql, "users")) << analyze << ": " << sql;
    }
  }
}

// SQLite leaves out a LEFT JOIN that finds one row at most and of which nothing is read.
TEST_F(Guard, counts_what_the_filter_said_in_vain) {
  make(db,
       "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email),"
       " triggers = on, fpr = 0.25)");
  db.run("CREATE TEMP TABLE asked(email PRIMARY KEY)");
  db.run(with_numbers(2000) + "INSERT INTO asked SELECT 'u' || i FROM n");
  const std::string figures =
      "SELECT positives - false_positives, false_positives FROM filter_info('seen')";
  int64_t found = 0;
  int64_t in_vain = 0;
  for (const char* sql :
       {"SELECT count(*) FROM asked a CROSS JOIN guarded g ON g.email = a.email",
        "SELECT count(*) FROM guarded WHERE email IN (SELECT email FROM asked)"}) {
    db.gives(sql, 1000);
    const Row row = db.rows(figures).at(0);
    EXPECT_EQ(std::stoll(row[0]), found += 1000) << sql;
    EXPECT_GT(std::stoll(row[1]), in_vain + 50) << sql;  // of 1000 that the table lacks
    EXPECT_LT(std::stoll(row[1]), in_vain + 350) << sql;
    in_vain = std::stoll(row[1]);
  }
  // The key is there: that the row is not wanted is not the filter's fault.
  db.gives("SELECT count(*) FROM guarded WHERE email = 'u5' AND grp = 77", 0);
  db.gives(figures, std::to_string(found + 1) + "|" + std::to_string(in_vain));
}

TEST_F(Guard, promises_one_row_only_where_there_is_one) {
  db.run(
      "CREATE TABLE users(code TEXT UNIQUE, n INTEGER UNIQUE);"
      "INSERT INTO users VALUES ('05', 2), ('5', 1), ('6', 3);"
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(code, source = users(code), triggers = on);"
      "CREATE TABLE numbers(i INTEGER); INSERT INTO numbers VALUES (5)");
  db.run(kGuarded);
  db.gives("SELECT i FROM numbers LEFT JOIN guarded ON code = i", "5,5");
  db.gives("SELECT i FROM numbers LEFT JOIN guarded ON code IS i", "5,5");
  EXPECT_EQ(plan_of(db, "SELECT i FROM numbers LEFT JOIN guarded ON n = i"),
            plan_of(db, "SELECT i FROM numbers LEFT JOIN users ON n = i"));
  db.gives("SELECT n FROM guarded WHERE code = (SELECT i FROM numbers) ORDER BY n", "1,2");
  db.gives("SELECT n FROM guarded WHERE code = 5", "1");
}

// A list may have two values that a REAL column stores as one.
TEST_F(Guard, finds_a_row_once_for_all_values_of_a_list) {
  db.run(
      "CREATE TABLE users(k INTEGER, r REAL); CREATE INDEX users_r ON users(r);"
      "INSERT INTO users VALUES (1, 9007199254740992), (2, 5)");
  db.run(with_numbers(100) + "INSERT INTO users SELECT i, i + 10 FROM n");
  db.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(k, source = users(k), triggers = on);"
      "CREATE VIRTUAL TABLE by_r USING cuckoo_filter(r, source = users(r), triggers = on);"
      "CREATE VIRTUAL TABLE guarded_r USING filter_guard(by_r)");
  db.run(kGuarded);
  for (const char* table : {"users", "guarded", "guarded_r"}) {
    db.gives(sql("SELECT k FROM {} WHERE r IN (9007199254740993, 9007199254740992.0, 5, 5.0, '5')"
                 " ORDER BY k",
                 table),
             "1,2");
    db.gives(sql("SELECT k FROM {} WHERE r IN (9007199254740993, 5)", table), "2");
  }
}

// Some builds of SQLite let LIKE and GLOB accept BLOBs.
TEST_F(Guard, finds_the_blobs_that_its_table_finds) {
  db.run(
      "CREATE TABLE users(email TEXT, folded TEXT COLLATE NOCASE);"
      "CREATE INDEX users_email ON users(email); CREATE INDEX users_folded ON users(folded);"
      "INSERT INTO users VALUES ('abc', 'abc'), (x'616263', x'616263'), ('b', 'b')");
  db.run(kSeen);
  db.run(kGuarded);
  for (const std::string condition :
       {"email LIKE 'ab%'", "email GLOB 'ab*'", "folded LIKE 'aB%'", "folded GLOB 'ab*'",
        "email LIKE 'ab%' OR folded LIKE 'z%'"}) {
    db.gives(sql("SELECT rowid FROM guarded WHERE {} ORDER BY 1", condition),
             db.list("SELECT rowid FROM users WHERE {} ORDER BY 1", condition));
  }
}

TEST_F(Guard, keeps_few_statements_prepared) {
  make(db);
  const auto statements = [this] {
    int count = 0;
    for (sqlite3_stmt* one = sqlite3_next_stmt(db.handle(), nullptr); one != nullptr;
         one = sqlite3_next_stmt(db.handle(), one)) {
      ++count;
    }
    return count;
  };
  const int before = statements();
  for (int i = 0; i < 300; ++i) {
    std::string sql = "SELECT * FROM guarded WHERE 1";
    for (int bit = 0; bit < 9; ++bit) {
      sql += (i >> bit & 1) != 0 ? " AND id > " + std::to_string(-bit) : "";
      sql += (i >> bit & 1) != 0 ? " AND grp < " + std::to_string(100 + bit) : "";
    }
    EXPECT_EQ(db.rows(sql + (i % 2 == 0 ? " AND email > ''" : "")).size(), 1000u);
  }
  EXPECT_LE(statements(), before + 70);
  const int kept = statements();
  for (int i = 0; i < 50; ++i) {
    db.rows("SELECT a.id FROM guarded a JOIN guarded b USING (email) WHERE a.id = 5");
  }
  EXPECT_LE(statements(), kept + 3);
}

// --- what it declares ----------------------------------------------------------------------------

TEST_F(Guard, has_the_columns_of_its_table) {
  db.run(
      "CREATE TABLE users(\"a \"\"b\" VARCHAR(20), \"c\" \"HIDDEN\", d DOUBLE PRECISION COLLATE"
      " NOCASE, e, \"select\" INT8, g TEXT AS (e || 'x') STORED, h AS (e), rowid TEXT, k TEXT)");
  db.run(
      "INSERT INTO users(\"a \"\"b\", c, d, e, \"select\", rowid, k)"
      " VALUES ('5', 6, '7.5', 8, '9', 'r', 'key')");
  db.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter(k, source = users(k), triggers = on)");
  db.run(kGuarded);
  EXPECT_EQ(db.rows("SELECT * FROM guarded"), db.rows("SELECT * FROM users"));
  EXPECT_EQ(db.rows("SELECT _rowid_, rowid, oid FROM guarded"),
            db.rows("SELECT _rowid_, rowid, oid FROM users"));
  const char* columns = "SELECT name, type FROM pragma_table_xinfo('%') WHERE name <> 'c'";
  const auto of = [&](const char* table) {
    std::string sql = columns;
    return db.rows(sql.replace(sql.find('%'), 1, table));
  };
  EXPECT_EQ(of("guarded"), of("users"));
  db.gives("SELECT typeof(c) FROM guarded WHERE c = '6'", "integer");
}

TEST_F(Guard, reads_tables_of_many_columns) {
  std::string columns = "k INTEGER";
  std::string values = "SELECT i";
  for (int i = 0; i < 90; ++i) {
    columns += ", c" + std::to_string(i);
    values += ", i * 1000 + " + std::to_string(i);
  }
  db.run("CREATE TABLE users({})", columns);
  db.run("{}INSERT INTO users {} FROM n", with_numbers(20), values);
  db.run("CREATE INDEX users_k ON users(k)");
  db.run("CREATE VIRTUAL TABLE seen USING bloom_filter(k, source = users(k), triggers = on)");
  db.run(kGuarded);
  for (const char* list : {"c0", "c61, c62, c63", "c89, k", "*"}) {
    EXPECT_EQ(db.rows("SELECT {} FROM guarded WHERE k IN (3, 7)", list),
              db.rows("SELECT {} FROM users WHERE k IN (3, 7)", list));
  }
}

// For an OR SQLite tells rows apart by the primary key.
TEST_F(Guard, tells_rows_without_a_rowid_apart) {
  db.run(
      "CREATE TABLE users(a TEXT COLLATE NOCASE, b, email TEXT, PRIMARY KEY (a COLLATE BINARY, b))"
      " WITHOUT ROWID;"
      "INSERT INTO users VALUES ('x', 1, 'e'), ('X', 1, 'e'), ('x', '1', 'e'), ('x', 2, 'f')");
  db.run("CREATE INDEX users_email ON users(email); CREATE INDEX users_b ON users(b)");
  db.run(with_numbers(1000) + "INSERT INTO users SELECT 'n' || i, i, 'n' || i FROM n");
  db.run(kSeen);
  db.run(kGuarded);
  const char* const either = "SELECT count(*) FROM guarded WHERE email = 'e' OR b = 1";
  expect_plan(db, either, "MULTI-INDEX OR");
  db.gives(either, 4);
  db.gives(
      "SELECT count(*) FROM guarded g RIGHT JOIN users u ON u.b = g.b"
      " AND g.email = 'e'",
      db.number("SELECT count(*) FROM users g RIGHT JOIN users u ON u.b = g.b"
                " AND g.email = 'e'"));
  db.refuses("SELECT rowid FROM guarded", {"no such column: rowid"});
  EXPECT_EQ(db.rows("SELECT * FROM guarded"), db.rows("SELECT * FROM users"));
}

// --- transactions, connections -------------------------------------------------------------------

TEST_F(Guard, goes_on_while_its_table_is_written) {
  make(db);
  db.run("CREATE TABLE requests(email TEXT)");
  db.run(with_numbers(900, 1100) + "INSERT INTO requests SELECT 'u' || i FROM n");
  Query query(db, "SELECT g.id FROM requests r CROSS JOIN guarded g USING (email)");
  ASSERT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(query.integer(), 900);
  add_users(db, 1001, 1100);  // the filter grows meanwhile
  int rows = 1;
  while (query.step() == SQLITE_ROW) {
    ++rows;
  }
  EXPECT_EQ(rows, 201);
}

// A statement that inserts into the table what it reads from the guard. %g is the guard, or, to
// compare with, the table.
constexpr const char* kSelfInserts[] = {
    "INSERT INTO users(id, email, grp) SELECT id + 1000, email, grp FROM %g LIMIT 5000",
    "INSERT INTO users(id, email, grp) SELECT id + 1000, email, grp FROM %g"
    " WHERE email IN ('u1', 'u2') OR id < 10 LIMIT 5000",
    "INSERT INTO users(id, email, grp) SELECT g.id + 1000, g.email, 1"
    " FROM (SELECT 'u3' AS e UNION ALL SELECT 'u4') CROSS JOIN %g g ON email = e LIMIT 5000",
    "INSERT INTO main.\"users\" AS u (email, id, grp) SELECT x.email, o.n + 1000 + row_number() "
    "OVER"
    " (), 1 FROM o CROSS JOIN %g x ON x.email = o.e LIMIT 5000",
    "INSERT INTO users(email, id) SELECT e, 1000 + n FROM o WHERE NOT EXISTS"
    " (SELECT 1 FROM %g g WHERE g.email = o.e)",
    "REPLACE INTO users(email, id) SELECT e, 1000 + n FROM o WHERE n > 2 OR EXISTS"
    " (SELECT 1 FROM %g g WHERE g.email = o.e AND g.id > 1000)",
    "WITH a AS (SELECT e, n FROM o) INSERT INTO users(email, id) SELECT e, 1000 + n FROM a"
    " UNION ALL SELECT email, id + 2000 FROM %g WHERE email = 'late'",
    "INSERT INTO users(id, email, grp) VALUES (1001, 'late', 1),"
    " (1002, 'u1', (SELECT count(*) FROM %g WHERE email = 'late'))",
    "INSERT OR IGNORE INTO users(id, email) SELECT n, (SELECT max(email) FROM %g WHERE email = e)"
    " FROM o WHERE true ON CONFLICT DO UPDATE SET grp = 7",
    "INSERT INTO by_trigger VALUES ('late'), ('late')",
};

// It finds the rows that were there before it. If no trigger of the filter makes SQLite read them
// all first, the guard refuses it.
TEST_F(Guard, I5_a_statement_that_adds_what_it_reads_finds_the_rows_before_it) {
  for (const char* table :
       {"CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT, grp INT)",
        "CREATE TABLE users(email TEXT, grp INT, id INTEGER, PRIMARY KEY (email, id))"
        " WITHOUT ROWID"}) {
    for (const std::string triggers : {"off", "on", "disabled"}) {
      for (const char* insert : kSelfInserts) {
        std::string expected;
        for (const char* read : {"users", "guarded"}) {
          Database fresh;
          fresh.run(table);
          fresh.run(with_numbers(100) +
                    "INSERT INTO users(id, email, grp) SELECT i, 'u' || (i % 7), i FROM n");
          fresh.run(
              "CREATE INDEX users_email ON users(email); CREATE TABLE o(n INTEGER PRIMARY KEY, e);"
              "INSERT INTO o(e) VALUES ('late'), ('u3'), ('late'), ('u3')");
          fresh.run(
              "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers"
              " = {})",
              triggers == "off" ? "off" : "on");
          fresh.run("CREATE VIRTUAL TABLE guarded USING filter_guard(seen" +
                    std::string(triggers == "off" ? ", stale = allowed)" : ")"));
          const bool in_trigger = std::string(insert).find("by_trigger") != std::string::npos;
          if (in_trigger) {
            fresh.run("CREATE TABLE by_trigger(e)");
            fresh.run(replaced(
                "CREATE TRIGGER t AFTER INSERT ON by_trigger BEGIN INSERT INTO users(id, email)"
                " SELECT 1000 + n + 10 * new.rowid, e FROM o WHERE NOT EXISTS"
                " (SELECT 1 FROM %g g WHERE g.email = o.e); END",
                "%g", read));
          }
          if (triggers == "disabled") {
            sqlite3_db_config(fresh.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
          }
          const std::string statement = replaced(insert, "%g", read);
          if (triggers == "on" || (triggers == "disabled" && in_trigger) || read[0] == 'u') {
            fresh.run(statement);
          } else {
            fresh.refuses(statement, {in_trigger ? "guarded: a trigger inserts into users"
                                                 : "guarded: a statement that inserts into users"
                                                   " would read its own rows",
                                      "read users itself"});
          }
          const std::string rows =
              fresh.list("SELECT id || email || coalesce(grp, '-') FROM users ORDER BY 1");
          if (read[0] == 'u') {
            expected = rows;
          } else if (triggers == "on") {
            EXPECT_EQ(rows, expected) << statement;
          } else if (!in_trigger) {
            EXPECT_EQ(fresh.number("SELECT count(*) FROM users"), 100) << statement;
          }
        }
      }
    }
  }
}

TEST(GuardedInsert, into_a_table_of_the_same_name_elsewhere_reads_no_row_of_its_own) {
  Database db;
  db.run(
      "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT);"
      "INSERT INTO users(email) VALUES ('a'), ('b');"
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = off);"
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, stale = allowed);"
      "ATTACH ':memory:' AS backup; CREATE TABLE backup.users(id INTEGER PRIMARY KEY, email TEXT);"
      "CREATE TEMP TABLE users(id INTEGER PRIMARY KEY, email TEXT)");
  db.run("INSERT INTO backup.users SELECT * FROM guarded");
  db.run("INSERT INTO temp.users SELECT * FROM guarded");
  db.run("INSERT INTO users SELECT id + 2, email FROM guarded");  // temp's
  db.gives("SELECT count(*) FROM backup.users", 2);
  db.gives("SELECT count(*) FROM temp.users", 4);
  db.refuses("INSERT INTO main.users SELECT id + 2, email FROM guarded",
             {"would read its own rows"});
  db.run("DROP TABLE temp.users");
  db.refuses("INSERT INTO users SELECT id + 2, email FROM guarded", {"would read its own rows"});
  db.gives("SELECT count(*) FROM main.users", 2);
}

TEST_F(Guard, I5_other_inserts_are_not_refused) {
  db.run("CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT); CREATE TABLE log(users, n)");
  db.run("INSERT INTO users(email) VALUES ('a'), ('b')");
  db.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = off);"
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, stale = allowed);"
      "CREATE TRIGGER t AFTER INSERT ON log WHEN new.n = 9 BEGIN INSERT INTO users(email)"
      " VALUES ('(SELECT'); END");
  db.run(
      "INSERT INTO log SELECT 'into users', id FROM guarded;"
      "INSERT INTO log(users) SELECT (SELECT id FROM guarded WHERE email = e) FROM"
      " (SELECT 'a' AS e UNION ALL SELECT 'x');"
      "INSERT INTO users(email) VALUES ((SELECT email || 1 FROM guarded WHERE email = 'a'));"
      "UPDATE users SET email = 'c' WHERE EXISTS (SELECT 1 FROM guarded g WHERE g.id = users.id - "
      "1);"
      "DELETE FROM users WHERE id IN (SELECT id FROM guarded WHERE id = 3)");
  db.gives("SELECT email FROM users", "a,c");
  db.gives("SELECT count(*) FROM log", 4);
  const char* const insert = "INSERT INTO log SELECT 'x', id FROM guarded";
  db.run(
      "BEGIN; CREATE TEMP TRIGGER later AFTER INSERT ON log BEGIN INSERT INTO users(email)"
      " SELECT email FROM guarded; END");
  db.refuses(insert, {"guarded: a trigger inserts into users"});
  db.run("ROLLBACK");
  db.run(insert);
  // Triggers keep this filter in step, so its guard may read whatever is written.
  db.run(
      "CREATE VIRTUAL TABLE followed USING cuckoo_filter(email, source = users(email), triggers = "
      "on);"
      "CREATE VIRTUAL TABLE near USING filter_guard(followed, stale = allowed)");
  const int64_t before = db.number("SELECT count(*) FROM users");
  db.run("INSERT INTO users(email) SELECT g.email FROM near g");
  db.gives("SELECT count(*) FROM users", 2 * before);
}

TEST_F(Guard, guards_tables_of_other_schemas) {
  const TemporaryFolder folder;
  db.run("ATTACH '{}' AS other", folder.file("other.db"));
  for (const std::string schema : {"other", "temp"}) {
    db.run("CREATE TABLE users(email TEXT)");  // not this one
    db.run(
        "CREATE TABLE {}.users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);"
        "INSERT INTO {}.users(email) VALUES ('a'), ('b')",
        schema, schema);
    db.run(
        "CREATE VIRTUAL TABLE {}.seen USING cuckoo_filter(email, source = users(email), triggers ="
        " on)",
        schema);
    db.run("CREATE VIRTUAL TABLE {}.guarded USING filter_guard(seen)", schema);
    db.run("INSERT INTO {}.users(email) VALUES ('c')", schema);
    db.gives(sql("SELECT id FROM {}.guarded WHERE email IN ('b', 'c', 'd') ORDER BY 1", schema),
             "2,3");
    db.run("DROP TABLE main.users");
  }
  db.run("DETACH other");
}

TEST_F(Guard, stops_when_it_is_interrupted) {
  make(db);
  Query query(db, "SELECT max(note) FROM guarded");
  ASSERT_EQ(query.step(), SQLITE_ROW);
  query.reset();
  sqlite3_progress_handler(
      db.handle(), 1000, [](void*) { return 1; }, nullptr);
  EXPECT_EQ(query.step(), SQLITE_INTERRUPT);
  query.reset();
  sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
  EXPECT_EQ(query.step(), SQLITE_ROW);
}

TEST_F(Guard, runs_out_of_memory_as_an_error) {
  make(db);
  const std::string query =
      "SELECT count(*), max(note) FROM guarded WHERE email IN (SELECT 'u' || grp FROM guarded"
      " WHERE id BETWEEN 100 AND 109) OR id = 500";
  int failures = 0;
  for (int64_t above = 0; above < 120000; above += 1500) {
    sqlite3_db_release_memory(db.handle());
    Outcome outcome;
    {
      const MemoryLimiter limiter(above);
      db.attempt("PRAGMA writable_schema = RESET");  // the guard is connected and looked at anew
      outcome = db.attempt(query);
    }
    failures += outcome.code == SQLITE_OK ? 0 : 1;
    EXPECT_TRUE(outcome.code == SQLITE_OK || (outcome.code & 0xFF) == SQLITE_NOMEM ||
                outcome.message.find("out of memory") != std::string::npos)
        << above << ": " << outcome.code << " " << outcome.message;
    EXPECT_EQ(db.rows(query), (std::vector<Row>{{"10", "n9"}})) << above;
  }
  EXPECT_GT(failures, 0);
}

// If a column is gone, SQLite would read its name in double quotes as a text.
TEST_F(Guard, of_a_column_that_went_while_it_was_read_is_an_error) {
  make(db);
  Query query(db,
              "SELECT substr(g.note, 2) FROM (SELECT 'u3' AS e UNION ALL SELECT 'u4') CROSS JOIN"
              " guarded g ON g.email = e");
  ASSERT_EQ(query.step(), SQLITE_ROW);
  EXPECT_EQ(query.integer(), 3);
  const bool dropped = db.attempt("ALTER TABLE users DROP COLUMN note").code == SQLITE_OK;
  EXPECT_EQ(query.step() == SQLITE_ROW && query.integer() == 4, !dropped);  // SQLite may refuse it
}

// --- who may read it -----------------------------------------------------------------------------

int deny_email(void*, int action, const char* table, const char* column, const char*, const char*) {
  const bool email = action == SQLITE_READ && std::string(table) == "users" && column != nullptr &&
                     std::string(column) == "email";
  return email ? SQLITE_DENY : SQLITE_OK;
}

TEST_F(Guard, asks_the_authorizer_as_its_table_does) {
  make(db);
  db.gives("SELECT note FROM guarded WHERE email = 'u5'", "n5");
  sqlite3_set_authorizer(db.handle(), deny_email, nullptr);
  for (const char* sql : {"SELECT note FROM guarded WHERE email = 'u5'",
                          "SELECT note FROM guarded WHERE email = 'absent'",
                          "SELECT email FROM guarded WHERE id = 5"}) {
    EXPECT_NE(db.attempt(sql).message.find("prohibited"), std::string::npos)
        << sql << "\n"
        << db.attempt(sql).message;
  }
  sqlite3_set_authorizer(db.handle(), nullptr, nullptr);
  db.gives("SELECT note FROM guarded WHERE email = 'u5'", "n5");
}

TEST_F(Guard, is_not_for_views_of_an_untrusted_schema) {
  make(db);
  db.gives("CREATE VIEW v AS SELECT * FROM guarded; SELECT count(*) FROM v", 1000);
  db.run("PRAGMA trusted_schema = OFF");
  db.refuses("SELECT count(*) FROM v", {"unsafe use of virtual table"});
  db.gives("SELECT count(*) FROM guarded", 1000);
}

// --- keys ----------------------------------------------------------------------------------------

TEST_F(Guard, serves_filters_of_every_kind) {
  for (const std::string filter :
       {"cuckoo_filter(email TEXT, growth = off)", "bloom_filter(email TEXT)",
        "bloom_filter(email TEXT, layout = blocked)", "bloom_filter(email TEXT, counting = on)",
        "bloom_filter(email TEXT, hash = murmur2)", "cuckoo_filter(email TEXT, unique = on)"}) {
    Database each;
    each.run(kUsers);
    add_users(each, 1, 500);
    each.run("CREATE VIRTUAL TABLE seen USING " + filter);
    each.run("INSERT OR IGNORE INTO seen SELECT email FROM users");
    each.run(
        "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, source = users(email), stale = "
        "allowed)");
    EXPECT_EQ(each.number(with_numbers(1000) +
                          "SELECT count(*) FROM n CROSS JOIN guarded ON email = 'u' || i"),
              500)
        << filter;
    each.gives("SELECT id FROM guarded WHERE email IN ('u1', 'u2', 'x') ORDER BY 1", "1,2");
  }
}

// The documents say that a guard does not find such keys.
TEST_F(Guard, does_not_find_keys_that_the_filter_lacks) {
  make(
      db,
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = off)",
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen, stale = allowed)");
  add_users(db, 1001, 1001);
  db.gives("SELECT id FROM guarded WHERE email = 'u1001'", "none");
  db.gives("SELECT email FROM guarded WHERE id = 1001", "u1001");
  db.refuses("INSERT INTO seen(seen) VALUES ('check')", {"lacks 1 of the 1001 values"});
  db.run("INSERT INTO seen(seen) VALUES ('rebuild')");
  db.gives("SELECT id FROM guarded WHERE email = 'u1001'", "1001");
}

TEST_F(Guard, asks_for_untyped_keys_where_all_have_one_type) {
  db.run("CREATE TABLE users(k, note); CREATE INDEX users_k ON users(k)");
  db.run(with_numbers(100) + "INSERT INTO users SELECT i, 'n' || i FROM n");
  db.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter(k, source = users(k), triggers = on)");
  db.run(kGuarded);
  db.gives("SELECT note FROM guarded WHERE k = 1000", "none");
  EXPECT_EQ(probes(db), 1);
  db.run("INSERT INTO users VALUES ('5', 'text')");
  db.gives("SELECT note FROM guarded WHERE k = CAST('5' AS INTEGER) ORDER BY 1", "n5,text");
  EXPECT_EQ(probes(db), 1);  // not asked: the text '5' equals the number here
}

}  // namespace
}  // namespace cuckoo::test::filter_guard_test
