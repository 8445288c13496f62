// Where SQLite puts a filter in a join: before the look-up that it guards, or after it, where it
// saves nothing. A plain join is left to SQLite's estimates. So the test counts how often the
// filter comes first, over forms of queries, tables, sizes, and with and without ANALYZE, and
// prints the counts. In the forms that the documents promise, the filter always comes first.
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <span>

#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_join_order_test {
namespace {

// --- what is asked -------------------------------------------------------------------------------

// r: the table with the keys that are asked for, u: the guarded one, s: the filter.
struct Form {
  const char* name;
  const char* sql;
};

constexpr std::array kPlainJoins{
    Form{"bare", "SELECT u.name FROM r JOIN s ON s.k = r.k JOIN u ON u.k = r.k"},
    Form{"USING", "SELECT u.name FROM r JOIN s USING (k) JOIN u USING (k)"},
    Form{"subquery", "SELECT u.name FROM (SELECT r.k FROM r JOIN s USING (k)) JOIN u USING (k)"},
    Form{"three tables",
         "SELECT o.x FROM r JOIN s USING (k) JOIN u USING (k) JOIN o ON o.name = u.name"},
    Form{"filter last in FROM", "SELECT u.name FROM r JOIN u USING (k) JOIN s USING (k)"},
    Form{"ON the filter's key", "SELECT u.name FROM r JOIN s ON s.k = r.k JOIN u ON u.k = s.k"},
    Form{"ORDER BY", "SELECT u.name FROM r JOIN s USING (k) JOIN u USING (k) ORDER BY u.name"},
    Form{"ORDER BY, LIMIT",
         "SELECT u.name FROM r JOIN s USING (k) JOIN u USING (k) WHERE r.at > 5 ORDER BY r.at"
         " LIMIT 20"},
    Form{"GROUP BY", "SELECT r.k, count(*) FROM r JOIN s USING (k) JOIN u USING (k) GROUP BY r.k"},
    Form{"DISTINCT", "SELECT DISTINCT u.name FROM r JOIN s USING (k) JOIN u USING (k)"},
    Form{"count(DISTINCT)",
         "SELECT count(DISTINCT u.name) FROM r JOIN s USING (k) JOIN u USING (k)"},
    Form{"window",
         "SELECT row_number() OVER (ORDER BY r.at), u.name FROM r JOIN s USING (k) JOIN u"
         " USING (k)"},
};
constexpr size_t kFormsWithoutSorting = 4;  // the first ones

constexpr std::array kExists{
    Form{"EXISTS",
         "SELECT u.name FROM r JOIN u USING (k) WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k)"},
    Form{"EXISTS, ORDER BY",
         "SELECT u.name FROM r JOIN u USING (k) WHERE EXISTS (SELECT 1 FROM s WHERE s.k = r.k)"
         " ORDER BY u.name"},
};

struct Guarded {
  const char* name;
  const char* type;
  const char* create;
  const char* statistics;  // sqlite_stat1's idx and stat, %s for the rows
};

constexpr std::array kGuarded{
    Guarded{"UNIQUE TEXT", "TEXT",
            "CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE, name TEXT)",
            "'sqlite_autoindex_u_1', '%s 1'"},
    Guarded{"UNIQUE TEXT, many columns", "TEXT",
            "CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE, name TEXT, a TEXT, b TEXT,"
            " c TEXT, d TEXT, e INTEGER, f INTEGER)",
            "'sqlite_autoindex_u_1', '%s 1'"},
    Guarded{"WITHOUT ROWID", "TEXT", "CREATE TABLE u(k TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID",
            "'u', '%s 1'"},
    Guarded{"plain index", "TEXT",
            "CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT, name TEXT); CREATE INDEX by_k ON u(k)",
            "'by_k', '%s 1'"},
    Guarded{"rowid", "INTEGER", "CREATE TABLE u(k INTEGER PRIMARY KEY, name TEXT)", "NULL, '%s'"},
    Guarded{"UNIQUE INTEGER", "INTEGER",
            "CREATE TABLE u(id INTEGER PRIMARY KEY, k INTEGER UNIQUE, name TEXT)",
            "'sqlite_autoindex_u_1', '%s 1'"},
};

// Rows of r and of u, as ANALYZE would have counted them.
using Size = std::pair<int64_t, int64_t>;
constexpr std::array<Size, 5> kSizes{Size{1000, 1000}, Size{10000, 30000}, Size{100000, 300000},
                                     Size{1000000, 1000000}, Size{1000000, 30000000}};

std::string with_rows(const char* format, int64_t rows) {
  std::string text = format;
  return text.replace(text.find("%s"), 2, std::to_string(rows));
}

// `create` makes s. Without a size nothing is analyzed, and SQLite takes every table to be large.
std::unique_ptr<Database> tables(const Guarded& guarded, const std::string& create,
                                 const Size* size) {
  auto db = std::make_unique<Database>();
  db->run(
      "CREATE TABLE r(id INTEGER PRIMARY KEY, k {}, at INTEGER);"
      " CREATE TABLE o(id INTEGER PRIMARY KEY, name TEXT, x);CREATE INDEX o_name ON o(name);{};{}",
      guarded.type, guarded.create, create);
  if (size != nullptr) {
    db->run(
        "ANALYZE; DELETE FROM sqlite_stat1;"
        " INSERT INTO sqlite_stat1 VALUES ('r', NULL, '{}'), ('o', 'o_name', '{} 3'), ('u', {});"
        " ANALYZE sqlite_schema",
        size->first, 3 * size->second, with_rows(guarded.statistics, size->second));
  }
  return db;
}

std::vector<std::string> plan(Database& db, const std::string& sql) {
  std::vector<std::string> lines;
  for (const Row& row : db.rows("EXPLAIN QUERY PLAN " + sql)) {
    lines.push_back(row[3]);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) {
    all += "  " + line + "\n";
  }
  return all;
}

bool begins(const std::string& text, const std::string& with) {
  return text.compare(0, with.size(), with) == 0;
}

// Older versions of SQLite write "SCAN s VIRTUAL TABLE", newer ones also "SCAN s EXISTS …".
bool filter_is_first(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (begins(line, "SCAN s ") && line.find("VIRTUAL TABLE") != std::string::npos) {
      return true;
    }
    if (begins(line, "SEARCH u ") || begins(line, "SCAN u")) {
      return false;
    }
  }
  return false;
}

// --- a stand-in for the filter, of any cost ------------------------------------------------------

double stand_in_cost = 0;

const sqlite3_module kStandIn = [] {
  sqlite3_module module{};
  module.iVersion = 1;
  module.xConnect = [](sqlite3* db, void*, int, const char* const* arguments, sqlite3_vtab** table,
                       char**) {
    *table = new sqlite3_vtab{};
    const std::string declaration =
        sql("CREATE TABLE x(k {} PRIMARY KEY, count INTEGER HIDDEN) WITHOUT ROWID", arguments[3]);
    return sqlite3_declare_vtab(db, declaration.c_str());
  };
  module.xCreate = module.xConnect;
  module.xDisconnect = [](sqlite3_vtab* table) {
    delete table;
    return SQLITE_OK;
  };
  module.xDestroy = module.xDisconnect;
  module.xBestIndex = [](sqlite3_vtab*, sqlite3_index_info* info) {
    info->estimatedCost = 1e99;
    info->estimatedRows = 1000000;
    for (int i = 0; i < info->nConstraint; ++i) {
      if (info->aConstraint[i].iColumn == 0 && info->aConstraint[i].usable != 0 &&
          info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ) {
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->estimatedCost = stand_in_cost;
        info->estimatedRows = 1;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        break;
      }
    }
    return SQLITE_OK;
  };
  module.xOpen = [](sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
    *cursor = new sqlite3_vtab_cursor{};
    return SQLITE_OK;
  };
  module.xClose = [](sqlite3_vtab_cursor* cursor) {
    delete cursor;
    return SQLITE_OK;
  };
  return module;
}();

// --- counting ------------------------------------------------------------------------------------

struct Count {
  int first = 0;
  int all = 0;
  void add(bool is_first) {
    first += is_first ? 1 : 0;
    ++all;
  }
  double share() const { return static_cast<double>(first) / all; }
};

struct Counts {
  Count plain;     // not analyzed
  Count analyzed;  // at all sizes
  std::map<std::string, Count> plain_forms;
  std::map<std::string, Count> analyzed_forms;
  // Analyzed tables weigh as much as the others, because we don't know which are more common.
  double share() const { return (plain.share() + analyzed.share()) / 2; }
};

void count_forms(Counts& counts, std::span<const Form> forms, Database& db, bool analyzed) {
  for (const Form& form : forms) {
    const bool first = filter_is_first(plan(db, form.sql));
    (analyzed ? counts.analyzed : counts.plain).add(first);
    (analyzed ? counts.analyzed_forms : counts.plain_forms)[form.name].add(first);
  }
}

// Counts for the filter itself.
Counts count_filter(std::span<const Form> forms) {
  Counts counts;
  for (const Guarded& guarded : kGuarded) {
    const std::string create =
        sql("CREATE VIRTUAL TABLE s USING cuckoo_filter(k {})", guarded.type);
    count_forms(counts, forms, *tables(guarded, create, nullptr), false);
    for (const Size& size : kSizes) {
      count_forms(counts, forms, *tables(guarded, create, &size), true);
    }
  }
  return counts;
}

// Counts for a table that does nothing, at each cost.
std::map<double, Counts> count_stand_ins(const std::vector<double>& costs) {
  std::map<double, Counts> counts;
  const auto count_all = [&](const Guarded& guarded, const Size* size) {
    const auto db = tables(guarded, "", size);
    EXPECT_EQ(sqlite3_create_module(db->handle(), "stand_in", &kStandIn, nullptr), SQLITE_OK);
    db->run("CREATE VIRTUAL TABLE s USING stand_in({})", guarded.type);
    for (const double cost : costs) {
      stand_in_cost = cost;
      count_forms(counts[cost], kPlainJoins, *db, size != nullptr);
    }
  };
  for (const Guarded& guarded : kGuarded) {
    count_all(guarded, nullptr);
    for (const Size& size : kSizes) {
      count_all(guarded, &size);
    }
  }
  return counts;
}

void print(const std::string& name, const Count& plain, const Count& analyzed) {
  std::printf("  %-24s %3d of %3d    %3d of %3d\n", name.c_str(), plain.first, plain.all,
              analyzed.first, analyzed.all);
}

void print(const Counts& counts, std::span<const Form> forms) {
  std::printf("SQLite %s: the filter is asked before the look-up in\n", sqlite3_libversion());
  std::printf("  %-24s %-12s %s\n", "query", "not analyzed", "analyzed");
  for (const Form& form : forms) {
    print(form.name, counts.plain_forms.at(form.name), counts.analyzed_forms.at(form.name));
  }
  print("all", counts.plain, counts.analyzed);
}

// The cost of a probe puts the filter first in 93 % of the joins, and in 72 % once analyzed. SQLite
// 3.40 and 3.54 agree in this.
TEST(JoinOrder, plain_joins_mostly_ask_the_filter_first) {
  const Counts counts = count_filter(kPlainJoins);
  print(counts, kPlainJoins);
  EXPECT_GE(counts.plain.share(), 0.93);
  EXPECT_GE(counts.analyzed.share(), 0.72);
  for (size_t i = 0; i < kFormsWithoutSorting; ++i) {
    EXPECT_EQ(counts.plain_forms.at(kPlainJoins[i].name).share(), 1) << kPlainJoins[i].name;
    EXPECT_EQ(counts.analyzed_forms.at(kPlainJoins[i].name).share(), 1) << kPlainJoins[i].name;
  }
}

// From 3.51 on SQLite turns EXISTS into a join, and chooses the order.
TEST(JoinOrder, exists_asks_the_filter_first_in_older_versions) {
  const Counts counts = count_filter(kExists);
  print(counts, kExists);
  if (sqlite3_libversion_number() < 3051000) {
    EXPECT_EQ(counts.share(), 1);
  }
}

// If this test fails with a new version of SQLite, its output says which cost to take.
TEST(JoinOrder, no_other_cost_asks_the_filter_first_more_often) {
  const std::vector<double> costs = {1,   8,   20,  30,  40,  60,  80,  90,  100, 107, 115,  123,
                                     135, 150, 167, 190, 208, 230, 250, 338, 480, 700, 1000, 10000};
  const Counts filter = count_filter(kPlainJoins);
  const std::map<double, Counts> counts = count_stand_ins(costs);
  std::printf("SQLite %s: asked before the look-up, by the cost of a probe\n",
              sqlite3_libversion());
  std::printf("  %-24s %-12s %s\n", "cost", "not analyzed", "analyzed");
  for (const auto& [cost, count] : counts) {
    print(std::to_string(static_cast<int>(cost)), count.plain, count.analyzed);
    EXPECT_LE(count.share(), filter.share()) << cost;
  }
  EXPECT_EQ(counts.at(150).plain.first, filter.plain.first);  // the stand-in is planned as a filter
  EXPECT_EQ(counts.at(150).analyzed.first, filter.analyzed.first);
}

// --- guards --------------------------------------------------------------------------------------

// g: the table, or its guard.
constexpr const char* kJoins[] = {
    "SELECT g.name FROM r JOIN g USING (k)",
    "SELECT g.name FROM g JOIN r USING (k)",
    "SELECT g.name, r.at FROM r JOIN g USING (k) ORDER BY r.at",
    "SELECT g.name FROM r JOIN g USING (k) ORDER BY g.name",
    "SELECT g.name FROM r JOIN g USING (k) ORDER BY g.k",
    "SELECT g.k, count(*) FROM r JOIN g USING (k) GROUP BY g.k",
    "SELECT r.k, count(*) FROM r JOIN g USING (k) GROUP BY r.k",
    "SELECT g.name, count(*) FROM r JOIN g USING (k) GROUP BY 1",
    "SELECT DISTINCT g.name FROM r JOIN g USING (k)",
    "SELECT o.x FROM r JOIN g USING (k) JOIN o ON o.name = g.name",
    "SELECT o.x FROM r JOIN g USING (k) JOIN o ON o.name = g.name GROUP BY o.x",
    "SELECT g.name FROM r JOIN g USING (k) WHERE r.at > 5 ORDER BY r.at LIMIT 20",
    "SELECT r.at, (SELECT g.name FROM g WHERE g.k = r.k) FROM r",
    "SELECT g.name FROM (SELECT r.k FROM r) AS r JOIN g USING (k)",
    "SELECT count(DISTINCT g.name) FROM r JOIN g USING (k)",
    "SELECT row_number() OVER (ORDER BY r.at), g.name FROM r JOIN g USING (k)",
    "SELECT r.k FROM r WHERE EXISTS (SELECT 1 FROM g WHERE g.k = r.k)",
    "SELECT r.k FROM r WHERE EXISTS (SELECT 1 FROM g WHERE g.k = r.k) ORDER BY r.at",
    "SELECT r.k, g.name FROM r LEFT JOIN g USING (k) ORDER BY r.id",
};

// Returns the tables in the order in which SQLite reads them: "r u".
std::string order(Database& db, const std::string& sql) {
  std::string names;
  for (const std::string& line : plan(db, sql)) {
    for (const char* verb : {"SCAN ", "SEARCH "}) {
      if (begins(line, verb)) {
        const size_t at = std::string(verb).size();
        names += line.substr(at, line.find(' ', at) - at) + " ";
      }
    }
  }
  return names;
}

// Where the table is looked into, the guard is, and its filter is asked. It is also looked into
// where the table is read from end to end.
TEST(JoinOrder, of_a_guard_is_not_before_that_of_its_table) {
  std::vector<const Size*> sizes = {nullptr};
  for (const Size& size : kSizes) {
    sizes.push_back(&size);
  }
  int64_t same = 0;
  int64_t asked = 0;
  for (const Guarded& guarded : kGuarded) {
    for (const Size* size : sizes) {
      for (const bool indexed : {false, true}) {
        const auto db = tables(guarded,
                               std::string(indexed ? "CREATE INDEX r_k ON r(k);" : "") +
                                   "CREATE VIRTUAL TABLE s USING cuckoo_filter(k, source = u(k),"
                                   " triggers = on);"
                                   "CREATE VIRTUAL TABLE v USING filter_guard(s)",
                               size);
        if (size != nullptr && indexed) {
          db->run("INSERT INTO sqlite_stat1 VALUES ('r', 'r_k', '{} 2'); ANALYZE sqlite_schema",
                  size->first);
        }
        for (const char* join : kJoins) {
          const auto join_with = [&](const std::string& name) {
            return replaced(replaced(join, "JOIN g", "JOIN " + name + " AS g"), "FROM g",
                            "FROM " + name + " AS g");
          };
          const std::string table = " " + order(*db, join_with("u"));
          const std::string guard = " " + order(*db, join_with("v"));
          EXPECT_NE(plan_of(*db, join_with("v")).find("filter s, then u(k)"), std::string::npos)
              << join << "\n"
              << guarded.name;
          same += guard == table ? 1 : 0;
          ++asked;
          EXPECT_TRUE(guard.find(" g ") > guard.find(" r ") ||
                      table.find(" g ") < table.find(" r "))
              << join << "\n"
              << guarded.name << ", " << (size == nullptr ? 0 : size->first) << ", "
              << (size == nullptr ? 0 : size->second) << ": " << guard << "not" << table;
        }
      }
    }
  }
  std::printf("SQLite %s: in %d of %d joins the guard stands where its table would\n",
              sqlite3_libversion(), static_cast<int>(same), static_cast<int>(asked));
  EXPECT_GT(same, asked * 94 / 100);
}

// --- the forms that always work ------------------------------------------------------------------

// 1000 requests, one in fifty for one of 3000 users.
class Promised : public testing::TestWithParam<bool> {
 protected:
  Promised() {
    db.run(
        "CREATE TABLE r(id INTEGER PRIMARY KEY, k TEXT, at INTEGER);"
        "CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE, name TEXT);"
        "CREATE TABLE o(id INTEGER PRIMARY KEY, name TEXT, x); CREATE INDEX o_name ON o(name);"
        "{}SELECT 'u' || i, 'name ' || i FROM n;"
        "{}SELECT iif(i % 50 = 0, 'u', 'x') || i, i FROM n;"
        "INSERT INTO o(name, x) SELECT name, id FROM u;"
        "CREATE VIRTUAL TABLE s USING cuckoo_filter(k, source = u(k), triggers = off, fpr = 1e-8, "
        "seed = 1)",
        ("INSERT INTO u(k, name) " + with_numbers(3000)),
        ("INSERT INTO r(k, at) " + with_numbers(1000)));
    if (GetParam()) {
      db.run("ANALYZE");
    }
  }
  int64_t probes() { return db.number("SELECT probes FROM filter_info('s')"); }
  // The filter is asked of each request, so it is asked before the look-up. After the look-up only
  // twenty requests would be left.
  void expect_asked_first(const std::string& sql, const std::string& as) {
    const int64_t before = probes();
    const std::vector<Row> rows = db.rows(sql);
    EXPECT_EQ(probes() - before, 1000) << sql << "\n" << joined(plan(db, sql));
    EXPECT_EQ(rows, db.rows(as)) << sql;
  }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Analyzed, Promised, testing::Bool(),
                         [](const auto& info) { return info.param ? "analyzed" : "not_analyzed"; });

// Each query is "SELECT <first> FROM …<second>".
constexpr std::array<std::pair<const char*, const char*>, 9> kQueries{{
    {"u.name", ""},
    {"u.name", " ORDER BY u.name"},
    {"u.name", " ORDER BY r.at DESC LIMIT 30"},
    {"u.name, count(*)", " GROUP BY u.name"},
    {"DISTINCT u.name", ""},
    {"count(DISTINCT u.name)", ""},
    {"sum(r.at) OVER (ORDER BY r.at), u.name", ""},
    {"max(u.name)", " GROUP BY r.at % 7 ORDER BY 1"},
    {"count(*)", ""},
}};

TEST_P(Promised, filter_contains_in_where_asks_the_filter_first) {
  for (const auto& [columns, rest] : kQueries) {
    const std::string select = sql("SELECT {} FROM ", columns);
    for (const char* from : {"r JOIN u USING (k)", "r JOIN u ON u.k = r.k", "u JOIN r USING (k)",
                             "r, u", "r JOIN u USING (k) JOIN o ON o.name = u.name",
                             "(SELECT * FROM r WHERE at > 0) AS r JOIN u USING (k)"}) {
      const std::string same = " WHERE u.k = r.k";
      expect_asked_first(select + from + same + " AND filter_contains('s', r.k)" + rest,
                         select + from + same + rest);
    }
  }
}

TEST_P(Promised, two_cross_joins_ask_the_filter_first) {
  for (const auto& [columns, rest] : kQueries) {
    const std::string select = sql("SELECT {} FROM r ", columns);
    for (const char* joins : {"CROSS JOIN s USING (k) CROSS JOIN u USING (k)",
                              "CROSS JOIN s ON s.k = r.k CROSS JOIN u ON u.k = r.k",
                              "CROSS JOIN s ON s.k = r.k CROSS JOIN u ON u.k = s.k"}) {
      expect_asked_first(select + joins + rest, select + "JOIN u USING (k)" + rest);
    }
  }
}

// SQLite must begin with r for that. By CROSS JOIN it does. Left to itself it may begin with u if
// it takes a key to have many rows and the query sorts by the key. Then it looks nothing up.
TEST(JoinOrder, filter_contains_is_asked_of_rows_that_are_read_first) {
  const auto expect_first = [](const Guarded& guarded, const Size* size) {
    const auto db = tables(
        guarded, sql("CREATE VIRTUAL TABLE s USING cuckoo_filter(k {})", guarded.type), size);
    const bool has_many_rows = std::string(guarded.name) == "plain index" && size == nullptr;
    for (const char* rest : {"", " ORDER BY u.name", " ORDER BY u.k", " ORDER BY r.at LIMIT 10",
                             " GROUP BY u.k", " GROUP BY u.name"}) {
      for (const char* join : {"CROSS JOIN", "JOIN"}) {
        if (has_many_rows && std::string(join) == "JOIN") {
          continue;
        }
        const std::vector<std::string> lines =
            plan(*db, sql("SELECT u.name FROM r {} u USING (k) WHERE filter_contains('s', r.k){}",
                          join, rest));
        EXPECT_TRUE(begins(lines.at(0), "SCAN r") && begins(lines.at(1), "SEARCH u "))
            << guarded.name << ", " << join << rest << "\n"
            << joined(lines);
      }
    }
  };
  for (const Guarded& guarded : kGuarded) {
    expect_first(guarded, nullptr);
    for (const Size& size : kSizes) {
      expect_first(guarded, &size);
    }
  }
}

// For look-ups that are no part of the join: if the key is absent, SQLite compares with NULL.
TEST_P(Promised, iif_of_filter_contains_asks_the_filter_first) {
  const std::string key = "iif(filter_contains('s', r.k), r.k, NULL)";
  expect_asked_first("SELECT r.k, u.name FROM r LEFT JOIN u ON u.k = " + key + " ORDER BY r.id",
                     "SELECT r.k, u.name FROM r LEFT JOIN u USING (k) ORDER BY r.id");
  expect_asked_first("SELECT r.k FROM r LEFT JOIN u ON u.k = " + key + " WHERE u.id IS NULL",
                     "SELECT r.k FROM r LEFT JOIN u USING (k) WHERE u.id IS NULL");
  expect_asked_first("SELECT (SELECT name FROM u WHERE u.k = " + key + ") FROM r ORDER BY id",
                     "SELECT (SELECT name FROM u WHERE u.k = r.k) FROM r ORDER BY id");
  // The key is a rowid here, and three in five are present.
  db.run(
      "CREATE VIRTUAL TABLE ids USING cuckoo_filter(id, source = u(id), triggers = off, fpr = "
      "1e-8, seed = 1)");
  EXPECT_EQ(db.rows("SELECT r.id, u.name FROM r LEFT JOIN u ON u.id ="
                    " iif(filter_contains('ids', 5 * r.id), 5 * r.id, NULL) ORDER BY r.id"),
            db.rows("SELECT r.id, u.name FROM r LEFT JOIN u ON u.id = 5 * r.id ORDER BY r.id"));
  db.gives("SELECT probes FROM filter_info('ids')", 1000);
}

TEST_P(Promised, conditions_on_subqueries_ask_the_filter_first) {
  const std::string found = "SELECT k FROM r WHERE k IN (SELECT k FROM u)";
  const std::string missing = "SELECT k FROM r WHERE k NOT IN (SELECT k FROM u)";
  const std::string exists = "EXISTS (SELECT 1 FROM u WHERE u.k = r.k)";
  expect_asked_first("SELECT k FROM r WHERE filter_contains('s', k) AND k IN (SELECT k FROM u)",
                     found);
  expect_asked_first("SELECT k FROM r WHERE filter_contains('s', k) AND " + exists, found);
  expect_asked_first("SELECT k FROM r WHERE NOT filter_contains('s', k) OR NOT " + exists, missing);
  expect_asked_first("SELECT r.k, u.name FROM r LEFT JOIN s USING (k) LEFT JOIN u ON u.k = s.k",
                     "SELECT r.k, u.name FROM r LEFT JOIN u USING (k)");
}

// An application asks for one key at a time.
TEST_P(Promised, one_key_is_asked_for_first) {
  Query found(db, "SELECT count(*) FROM u WHERE k = iif(filter_contains('s', ?1), ?1, NULL)");
  const int64_t before = probes();
  for (const auto& [key, rows] : {std::pair("x1", 0), std::pair("u7", 1)}) {
    sqlite3_bind_text(found.handle(), 1, key, -1, SQLITE_STATIC);
    EXPECT_EQ(found.once(), rows);
  }
  EXPECT_EQ(probes() - before, 2);
}

// The cost of a probe must not spoil other plans than joins with a look-up.
TEST_P(Promised, other_joins_keep_their_order) {
  db.run("CREATE VIRTUAL TABLE t USING bloom_filter(k, source = u(k), triggers = off, seed = 2)");
  // Each key is asked of both filters, or of the second one only if the first says yes.
  for (const char* sql : {"SELECT r.k FROM r JOIN s USING (k) JOIN t USING (k)",
                          "SELECT r.k FROM r JOIN s USING (k) JOIN t USING (k) ORDER BY r.at"}) {
    EXPECT_EQ(plan(db, sql).at(0), "SCAN r") << sql;
    EXPECT_EQ(db.rows(sql), db.rows("SELECT r.k FROM r JOIN u USING (k) ORDER BY r.at")) << sql;
  }
  // If the query gives the key, SQLite makes the filter the outer table, with one row.
  EXPECT_TRUE(begins(plan(db, "SELECT u.name FROM s JOIN u USING (k) WHERE s.k = 'u7'").at(0),
                     "SCAN s VIRTUAL TABLE INDEX"));
  // SQLite looks up a table by its index and does not scan it, with a filter as without one.
  for (const char* sql : {"SELECT u.name FROM r JOIN s USING (k) JOIN u USING (k)",
                          "SELECT u.name FROM r JOIN s USING (k) JOIN u USING (k) ORDER BY 1",
                          "SELECT u.name FROM r JOIN u USING (k) JOIN s USING (k)"}) {
    EXPECT_NE(joined(plan(db, sql)).find("SEARCH u USING "), std::string::npos) << sql;
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_join_order_test
