// One answer, whatever the plan: a flash_kv gives the rows that an ordinary table gives, for each
// type of the key, each affinity and type of the other side, and each form of the question.
#include <algorithm>

#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace flash_plan_test {
namespace {

constexpr const char* kTypes[] = {"", "TEXT", "INTEGER", "REAL", "BLOB", "NUMERIC"};

// Values that look like a number, in as many ways as possible, and values that don't.
constexpr const char* kValues =
    "(5), (6), (7), (5.0), (5.5), (0.1), (-3), (1000), (1e300), (0), (1.0 / 3), (9007199254740992),"
    "('5'), ('6'), ('05'), ('5.0'), (' 7'), ('7 '), ('7e0'), ('+5'), ('5.5'), ('.1'), ('0.1'),"
    "('-3'), ('1e3'), ('-0'), ('0'), ('abc'), (''), ('5x'), ('0x5'), ('Inf'), ('5' || char(0)), "
    "('6' || char(0) || 'x'),"
    "('0.333333333333333'), ('9007199254740992'), ('09007199254740992'), ('12345678901234567890'),"
    "('1e400'), ('.'), ('-'), ('e5'), ('3.' || char(9)), ('3'), ('1_000'),"
    "(x'35'), (x'05'), (x''), (printf('%040d', 5)), (substr(printf('%040d', 0), 3) || 'e5')";

// The other side: a FROM clause and an expression over it.
struct Side {
  const char* from;
  const char* x;
};
constexpr Side kSides[] = {
    {"s_none AS s", "s.x"},
    {"s_text AS s", "s.x"},
    {"s_integer AS s", "s.x"},
    {"s_real AS s", "s.x"},
    {"s_blob AS s", "s.x"},
    {"s_numeric AS s", "s.x"},
    {"json_each('[5,6,\"05\",\"5\",5.5,\"abc\",7.0,\"-3\",1000,null]') AS s", "s.value"},
    {"(VALUES (5), ('5'), ('05'), (5.5), (NULL), (x'35'), (7)) AS s", "s.column1"},
    {"(SELECT CAST(x AS INTEGER) AS x FROM s_none) AS s", "s.x"},
    {"s_none AS s", "+s.x"},
    {"s_integer AS s", "+s.x"},
    {"s_integer AS s", "s.x + 0"},
    {"s_none AS s", "CAST(s.x AS TEXT)"},
    {"s_none AS s", "CAST(s.x AS INTEGER)"},
    {"s_none AS s", "CAST(s.x AS REAL)"},
    {"s_none AS s", "CAST(s.x AS NUMERIC)"},
    {"s_none AS s", "CAST(s.x AS BLOB)"},
    {"s_text AS s", "s.x || ''"},
    {"s_numeric AS s", "(SELECT s.x)"},
    {"s_numeric AS s", "coalesce(s.x, NULL)"},
    {"s_integer AS s", "s.x COLLATE NOCASE"},
    {"s_indexed AS s", "s.x"},
};

// {K}: the table with the keys; {S}: the other side's FROM; X: its expression.
constexpr const char* kForms[] = {
    "SELECT quote(k.key), quote({X}) FROM {S} JOIN {K} AS k ON k.key = {X}",
    "SELECT quote(k.key), quote({X}) FROM {S} CROSS JOIN {K} AS k ON k.key = {X}",
    "SELECT quote(k.key), quote({X}) FROM {K} AS k CROSS JOIN {S} ON k.key = {X}",
    "SELECT quote(k.key), quote({X}) FROM {S} CROSS JOIN {K} AS k ON {X} = k.key AND k.value > 0",
    "SELECT quote(k.key), quote({X}) FROM {S} CROSS JOIN {K} AS k ON k.key IS {X}",
    "SELECT quote(k.key), quote({X}) FROM {S} LEFT JOIN {K} AS k ON k.key = {X}",
    "SELECT quote({X}) FROM {S} LEFT JOIN {K} AS k ON k.key = {X} WHERE k.key IS NULL",
    "SELECT quote(k.key) FROM {K} AS k LEFT JOIN {S} ON {X} = k.key WHERE {X} IS NULL",
    "SELECT quote(k.key), k.value FROM {K} AS k WHERE k.key IN (SELECT {X} FROM {S})",
    "SELECT quote(k.key), k.value FROM {K} AS k WHERE k.key NOT IN (SELECT {X} FROM {S})",
    "SELECT quote(k.key) FROM {K} AS k WHERE k.key NOT IN"
    " (SELECT {X} FROM {S} WHERE {X} IS NOT NULL)",
    "SELECT quote(k.key) FROM {K} AS k WHERE EXISTS (SELECT 1 FROM {S} WHERE {X} = k.key)",
    "SELECT quote({X}) FROM {S} WHERE EXISTS (SELECT 1 FROM {K} AS k WHERE k.key = {X})",
    "SELECT quote({X}), (SELECT count(*) FROM {K} AS k WHERE k.key = {X}) FROM {S}",
    "SELECT quote({X}), (SELECT count(k.value) FROM {K} AS k WHERE k.key IN ({X}, 6)) FROM {S}",
    "SELECT quote({X}), {X} IN (SELECT key FROM {K}) FROM {S}",
    "SELECT quote(k.key) FROM {K} AS k WHERE k.key = (SELECT {X} FROM {S})",
    "SELECT quote(k.key), quote({X}) FROM {S} CROSS JOIN {K} AS k"
    " WHERE k.key = {X} OR k.key = 'abc' OR k.value = 7",
    "SELECT quote(k.key) FROM {S} CROSS JOIN {K} AS k ON k.key = {X} AND k.key = 5",
    "SELECT DISTINCT quote(k.key) FROM {K} AS k WHERE k.key IN (SELECT {X} FROM {S}) ORDER BY "
    "k.key",
    "SELECT count(*), min(k.key) FROM {K} AS k WHERE k.key IN (SELECT {X} FROM {S}) GROUP BY "
    "k.value % 3",
    "SELECT quote(k.key), quote({X}) FROM {S} CROSS JOIN {K} AS k ON k.key >= {X} AND k.key <= {X}",
};

// Statements that change {K}. The test compares the rows that are left.
constexpr const char* kChanges[] = {
    "DELETE FROM {K} WHERE key IN (SELECT {X} FROM {S})",
    "DELETE FROM {K} WHERE key NOT IN (SELECT {X} FROM {S} WHERE {X} IS NOT NULL)",
    "DELETE FROM {K} WHERE key = (SELECT {X} FROM {S})",
    "DELETE FROM {K} WHERE EXISTS (SELECT 1 FROM {S} WHERE {X} = {K}.key)",
    "UPDATE {K} SET value = value + 100 WHERE key IN (SELECT {X} FROM {S})",
    "UPDATE {K} SET value = -1 WHERE key NOT IN (SELECT {X} FROM {S} WHERE {X} IS NOT NULL)",
    "UPDATE {K} SET value = -2 FROM {S} WHERE {K}.key = {X}",
};

// Conditions that need no other side; ?1 … ?4: 5, '5', 5.0, x'35'.
const std::vector<std::string> kConditions = split(
    "key = 5; key = '5'; key = '05'; key = 5.0; key = 5.5; key = x'35'; key = NULL; key IS 5;"
    " key IS '05'; key IS NULL; key IS NOT 5; 5 = key; key = ?1; key = ?2; key = ?3; key = ?4;"
    " key IS ?1; key IN (5); key IN (5, 6); key IN ('5', 6, '05'); key IN (?1, ?2, ?3, ?4);"
    " key IN (?1, ?1 + 1); key NOT IN (5, 6); key NOT IN ('5', '6'); key NOT IN (?1, ?2);"
    " key IN (); key = CAST(5 AS TEXT); key = CAST('05' AS TEXT); key = CAST('5' AS INTEGER);"
    " key = CAST(5 AS NUMERIC); key = CAST(5 AS REAL); key = CAST(?1 AS INTEGER);"
    " key = CAST('5' AS BLOB); key = +CAST(5 AS INTEGER); key = 1.0 / 3;"
    " key = CAST(1.0 / 3 AS REAL); key = 1e300; key = CAST(1e3 AS INTEGER); key = 5 OR key = '6';"
    " key = CAST(5 AS INTEGER) OR key = 'abc'; key = 5 AND key = '5';"
    " key = CAST(5 AS INTEGER) AND value > 3; key BETWEEN 5 AND 5; key LIKE '5'; key > '5';"
    " key COLLATE NOCASE = 'ABC'; key = 'ABC' COLLATE NOCASE; key IN ('ABC') AND value < 99;"
    " value = 5; value IN (5, '6'); value IS '7'; value NOT IN (5); value LIKE '1%';"
    " (key, value) = ('5', 13); (key, value) IN (VALUES ('5', 13), (5, 1), ('abc', 28));"
    " key = (SELECT max(x) FROM s_integer WHERE x = 5); key IN (SELECT '05' UNION SELECT '6');"
    " key IN (SELECT x FROM s_integer UNION SELECT x FROM s_text)",
    "; ");

class FlashPlan : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  FlashPlan() {
    const auto [type, analyzed] = GetParam();
    db.run(
        "CREATE TABLE given(x); INSERT INTO given VALUES {};"
        " CREATE VIRTUAL TABLE flash USING flash_kv(key {}, value, seed = 1, size = '1MB');"
        "CREATE TABLE plain(key {} PRIMARY KEY, value) WITHOUT ROWID;"
        "INSERT OR IGNORE INTO flash SELECT x, rowid FROM given;"
        "INSERT OR IGNORE INTO plain SELECT x, rowid FROM given",
        kValues, type, type);
    for (const std::string other : {"", "text", "integer", "real", "blob", "numeric"}) {
      const std::string name = "s_" + (other.empty() ? "none" : other);
      db.run(
          "CREATE TABLE {}(x {});"
          " INSERT INTO {} SELECT x FROM given WHERE rowid % 4 <> 2 UNION ALL SELECT NULL",
          name, other, name);
    }
    db.run(
        "CREATE TABLE s_indexed(x INTEGER); INSERT INTO s_indexed SELECT x FROM given;"
        "CREATE INDEX s_index ON s_indexed(x)");
    if (analyzed) {
      db.run("ANALYZE");
    }
  }

  // The query's rows, sorted; binds ?1 … ?4.
  std::string rows(const std::string& sql) {
    std::vector<std::string> rows;
    Query query(db, sql);
    sqlite3_stmt* const statement = query.handle();
    if (sqlite3_bind_parameter_count(statement) > 0) {
      sqlite3_bind_int(statement, 1, 5);
      sqlite3_bind_text(statement, 2, "5", -1, SQLITE_STATIC);
      sqlite3_bind_double(statement, 3, 5.0);
      sqlite3_bind_blob(statement, 4, "5", 1, SQLITE_STATIC);
    }
    int code = SQLITE_OK;
    while ((code = query.step()) == SQLITE_ROW) {
      std::string row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row += std::string(text == nullptr ? "NULL" : text) + ' ';
      }
      rows.push_back(row);
    }
    EXPECT_EQ(code, SQLITE_DONE) << sql << '\n' << sqlite3_errmsg(db.handle());
    std::sort(rows.begin(), rows.end());
    std::string all;
    for (const std::string& row : rows) {
      all += row + '\n';
    }
    return all;
  }

  void expect_same_rows(const std::string& form, const Side& side = {"", ""}) {
    const std::string sql = replaced(replaced(form, "{S}", side.from), "{X}", side.x);
    EXPECT_EQ(rows(replaced(sql, "{K}", "flash")), rows(replaced(sql, "{K}", "plain"))) << sql;
  }

  void expect_same_change(const std::string& form, const Side& side = {"", ""}) {
    const std::string sql = replaced(replaced(form, "{S}", side.from), "{X}", side.x);
    db.run("SAVEPOINT before");
    for (const char* table : {"flash", "plain"}) {
      db.run(replaced(sql, "{K}", table));
    }
    const std::string all = "SELECT quote(key), value, changes() FROM ";
    EXPECT_EQ(rows(all + "flash"), rows(all + "plain")) << sql;
    db.run("ROLLBACK TO before; RELEASE before");
  }

  Database db;
};

TEST_P(FlashPlan, joins_and_subqueries_find_what_an_ordinary_table_does) {
  ASSERT_EQ(rows("SELECT quote(key), value FROM flash"),
            rows("SELECT quote(key), value FROM plain"));
  for (const Side& side : kSides) {
    for (const char* form : kForms) {
      expect_same_rows(form, side);
    }
  }
}

TEST_P(FlashPlan, changes_take_the_rows_of_an_ordinary_table) {
  for (const Side& side : kSides) {
    for (const char* form : kChanges) {
      expect_same_change(form, side);
    }
  }
}

TEST_P(FlashPlan, conditions_hold_for_the_rows_of_an_ordinary_table) {
  for (const std::string& condition : kConditions) {
    expect_same_rows("SELECT quote(key), value FROM {K} WHERE " + condition);
    expect_same_rows("SELECT quote(key), value FROM {K} WHERE NOT (" + condition + ")");
    expect_same_rows("SELECT count(*) FROM {K} WHERE " + condition);
    expect_same_rows("SELECT quote(key), " + condition + " FROM {K}");
    if (condition.find('?') == std::string::npos) {
      expect_same_change("DELETE FROM {K} WHERE " + condition);
      expect_same_change("UPDATE {K} SET value = -1 WHERE " + condition);
      expect_same_change("UPDATE OR REPLACE {K} SET key = 'new' || value WHERE " + condition);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, FlashPlan,
                         testing::Combine(testing::ValuesIn(kTypes), testing::Bool()),
                         [](const auto& info) {
                           const std::string type = std::get<0>(info.param);
                           return (type.empty() ? "untyped" : type) +
                                  (std::get<1>(info.param) ? "_analyzed" : "");
                         });

// {K}: the table.
constexpr const char* kKeptQueries[] = {
    "SELECT value FROM {K} WHERE key = (SELECT x FROM s) ORDER BY value DESC LIMIT 1",
    "SELECT value FROM s CROSS JOIN {K} ON key = x ORDER BY value",
    "SELECT DISTINCT value % 2 FROM s CROSS JOIN {K} ON key = x ORDER BY 1",
    "SELECT value % 2, count(*) FROM s CROSS JOIN {K} ON key = x GROUP BY 1",
    "SELECT value % 2 FROM {K} WHERE key = (SELECT x FROM s) UNION SELECT 9 ORDER BY 1",
    "SELECT group_concat(value) FROM"
    " (SELECT value FROM {K} WHERE key = (SELECT x FROM s) ORDER BY value)",
    "SELECT value, row_number() OVER (ORDER BY value) FROM s CROSS JOIN {K} ON key = x",
    "SELECT x FROM s LEFT JOIN {K} ON key = x",
    "SELECT x FROM s LEFT JOIN {K} ON key = x AND value > 1",
    "SELECT max(value), min(value) FROM s CROSS JOIN {K} ON key = x",
};

// A number equals one key when the statement is prepared, and several when it runs.
TEST(FlashPlanKept, a_query_of_before_gives_what_an_ordinary_table_gives) {
  for (const std::string type : {"", "TEXT"}) {
    Database db;
    db.run(
        "CREATE VIRTUAL TABLE flash USING flash_kv(key {}, value, seed = 1, size = '64KB');"
        "CREATE TABLE plain(key {} PRIMARY KEY, value) WITHOUT ROWID;"
        "CREATE TABLE s(x INTEGER); INSERT INTO s VALUES (5)",
        type, type);
    std::vector<std::unique_ptr<Query>> queries;
    const auto rows_of = [](Query& query) {
      std::vector<std::string> rows;
      query.reset();
      while (query.step() == SQLITE_ROW) {
        std::string row;
        for (int i = 0; i < sqlite3_column_count(query.handle()); ++i) {
          const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query.handle(), i));
          row += std::string(text == nullptr ? "NULL" : text) + ' ';
        }
        rows.push_back(row);
      }
      query.reset();
      return rows;
    };
    db.run("INSERT INTO flash VALUES ('5', 1); INSERT INTO plain VALUES ('5', 1)");
    for (const char* query : kKeptQueries) {
      for (const char* table : {"flash", "plain"}) {
        queries.push_back(std::make_unique<Query>(db, replaced(query, "{K}", table)));
        EXPECT_EQ(rows_of(*queries.back()).empty(), false);
      }
    }
    const std::string more = "('05', 3), ('5.0', 2), ('005', 1), ('6', 7)";
    db.run("INSERT INTO flash VALUES {}; INSERT INTO plain VALUES {}", more, more);
    for (size_t i = 0; i < queries.size(); i += 2) {
      EXPECT_EQ(rows_of(*queries[i]), rows_of(*queries[i + 1]))
          << type << ": " << kKeptQueries[i / 2];
    }
  }
}

// A TEXT column holds an infinite number as 'Inf', a text without a digit.
TEST(FlashPlanKept, an_infinite_number_finds_its_text) {
  for (const std::string table :
       {"CREATE VIRTUAL TABLE k USING flash_kv(key TEXT, value, seed = 1, size = '64KB')",
        "CREATE TABLE k(key TEXT PRIMARY KEY, value)"}) {
    Database db;
    db.run(table + "; INSERT INTO k VALUES (9e999, 'plus'), (-9e999, 'minus'), ('inf', 'other')");
    db.gives("SELECT key || value FROM k ORDER BY key", "-Infminus,Infplus,infother");
    for (int round = 0; round < 2; ++round) {
      db.gives("SELECT value FROM k WHERE key = 9e999", "plus");
      db.gives("SELECT value FROM k WHERE key IN (9e999, -9e999, 3) ORDER BY 1", "minus,plus");
      db.gives("SELECT count(*) FROM (SELECT 9e999 AS x) JOIN k ON key = x", 1);
      db.run("INSERT INTO k VALUES ('05', 5)");  // a number's text is looked up in another way
      db.run("DELETE FROM k WHERE key = '05'");
    }
    db.run("UPDATE k SET value = 'more' WHERE key = 9e999; DELETE FROM k WHERE key = -9e999");
    db.gives("SELECT value FROM k ORDER BY key", "more,other");
  }
}

// When SQLite prepared the statements, one key equalled the number. Now several do.
TEST(FlashPlanKept, a_statement_of_before_finds_every_row_that_equals_a_number) {
  for (const std::string type : {"", "TEXT"}) {
    SCOPED_TRACE(type);
    Database db;
    db.run(
        "CREATE VIRTUAL TABLE kv USING flash_kv(key {}, value, seed = 1, size = '64KB');"
        "CREATE TABLE s(x INTEGER); INSERT INTO s VALUES (5); INSERT INTO kv VALUES ('5', 0)",
        type);
    Query change(db, "UPDATE kv SET value = value + 1 WHERE key = (SELECT x FROM s)");
    Query left(db, "SELECT count(*) FROM s LEFT JOIN kv ON key = x");
    Query read(db, "SELECT sum(value) FROM s CROSS JOIN kv ON key = x");
    Query parameter(db, "UPDATE kv SET value = 7 WHERE key = ?1");
    EXPECT_EQ(change.step(), SQLITE_DONE);
    EXPECT_EQ(read.once(), 1);
    db.run("INSERT INTO kv VALUES ('05', 0), ('5.0', 0)");
    change.reset();
    EXPECT_EQ(change.step(), SQLITE_DONE) << sqlite3_errmsg(db.handle());
    EXPECT_EQ(sqlite3_changes(db.handle()), 3);
    change.reset();
    EXPECT_EQ(read.once(), 4);
    db.gives("SELECT key || ' ' || value FROM kv ORDER BY key", "05 1,5 2,5.0 1");
    sqlite3_bind_int(parameter.handle(), 1, 5);
    EXPECT_EQ(parameter.step(), SQLITE_DONE);
    db.gives("SELECT sum(value = 7) FROM kv", type.empty() ? "0" : "1");
  }
}

// A join of such texts with a column of numbers lists the texts that look like numbers once.
TEST(FlashPlanKept, number_texts_are_listed_once_for_a_join) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(key TEXT, value, seed = 1, size = '4MB');"
      "{}INSERT INTO kv SELECT printf('%08d', i), i FROM n",
      with_numbers(20000));
  db.run("CREATE TABLE s(x INTEGER); {}INSERT INTO s SELECT 7 * i FROM n", with_numbers(2000));
  const auto reads = [&] { return db.number("SELECT sector_reads FROM flash_kv_info('kv')"); };
  const int64_t before = reads();
  db.gives("SELECT sum(value) FROM s CROSS JOIN kv ON key = x", db.number("SELECT sum(x) FROM s"));
  EXPECT_LT(reads() - before, 100000);
}

}  // namespace
}  // namespace flash_plan_test
}  // namespace cuckoo::test
