// What applications do besides JOIN, beside the JOIN or what plain SQLite takes for the same.
#include <memory>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

// Even numbers are keys; an app row asks for one of them or, as often, for an odd one.
int64_t present_key(uint64_t i) { return static_cast<int64_t>(2 * i); }

int64_t app_key(uint64_t i, uint64_t keys) {
  const auto random = static_cast<uint64_t>(random_key(i));
  return present_key((random >> 1) % keys) + static_cast<int64_t>(random & 1);
}

void bench_conditions(const Settings& settings, Report& report, const std::string& module) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const uint64_t rows = keys;
  report.section("A " + module + " of " + whole(keys) + " integer keys in a condition, " +
                 whole(rows) + " app rows, half absent");
  const Connection connection(":memory:");
  connection.run("CREATE TABLE b(k INTEGER PRIMARY KEY); CREATE TABLE app(k INTEGER)");
  fill(connection, "b", keys, present_key);
  fill(connection, "app", rows, [&](uint64_t i) { return app_key(i, keys); });
  connection.run("CREATE VIRTUAL TABLE f USING " + module +
                 "(k INTEGER, capacity = " + whole(keys) + "); INSERT INTO f SELECT k FROM b");
  connection.run("CREATE VIRTUAL TABLE idle USING do_nothing(k INTEGER)");
  const std::string count = "SELECT count(*) FROM app WHERE ";
  struct Way {
    const char* name;
    std::string sql;
    double limit;  // times the JOIN; 0: none
  };
  const Way ways[] = {
      {"JOIN", "SELECT count(*) FROM app CROSS JOIN f USING (k)", 0},
      {"EXISTS", count + "EXISTS (SELECT 1 FROM f WHERE f.k = app.k)", 1.5},
      {"NOT EXISTS", count + "NOT EXISTS (SELECT 1 FROM f WHERE f.k = app.k)", 1.5},
      {"filter_contains", count + "filter_contains('f', k)", 1.0},
      {"LEFT JOIN, IS NULL", "SELECT count(*) FROM app LEFT JOIN f USING (k) WHERE f.k IS NULL", 0},
      {"JOIN do-nothing table", "SELECT count(*) FROM app CROSS JOIN idle USING (k)", 0},
      {"EXISTS in do-nothing table", count + "EXISTS (SELECT 1 FROM idle WHERE idle.k = app.k)", 0},
      {"EXISTS in a B-tree", count + "EXISTS (SELECT 1 FROM b WHERE b.k = app.k)", 0},
      {"scan alone", "SELECT count(k) FROM app", 0},
  };
  std::vector<std::unique_ptr<Prepared>> statements;
  std::vector<std::function<void()>> runs;
  for (const Way& way : ways) {
    statements.push_back(std::make_unique<Prepared>(connection, way.sql));
    runs.emplace_back([statement = statements.back().get()] { statement->run(); });
  }
  runs[0]();  // loads the pages
  const Alternated times(settings.rounds(), runs);
  for (size_t i = 0; i < std::size(ways); ++i) {
    report.show(ways[i].name, times.time(i) * 1e9 / static_cast<double>(rows), 1, "ns/row");
  }
  for (size_t i = 0; i < std::size(ways); ++i) {
    if (ways[i].limit > 0) {
      report.at_most(ways[i].limit, std::string(ways[i].name) + " / JOIN", times.ratio(i, 0), 2,
                     "x");
    }
  }
}

void bench_statements(const Settings& settings, Report& report, int tables) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const int64_t probes = settings.quick() ? 2000 : 200000;
  report.section("A statement for each key, " + whole(keys) + " integer keys, a schema of " +
                 std::to_string(tables) + " tables, in a file");
  const ScratchFile file("cuckoo-bench-everyday.db");
  const Connection connection(file.path());
  connection.run("PRAGMA synchronous = OFF; BEGIN");
  for (int i = 0; i < tables; ++i) {
    connection.run("CREATE TABLE other_" + std::to_string(i) + "(a, b)");
  }
  connection.run("CREATE TABLE b(k INTEGER PRIMARY KEY)");
  connection.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = " + whole(keys) +
                 "); COMMIT");
  fill(connection, "b", keys, present_key);
  connection.run("INSERT INTO f SELECT k FROM b");
  Prepared select(connection, "SELECT 1 FROM f WHERE k = ?1");
  Prepared contains(connection, "SELECT filter_contains('f', ?1)");
  Prepared tree(connection, "SELECT 1 FROM b WHERE k = ?1");
  const auto all = [&](Prepared& statement) {
    return [&statement, probes, keys] {
      for (int64_t i = 0; i < probes; ++i) {
        statement.run(app_key(static_cast<uint64_t>(i), keys));
      }
    };
  };
  const Alternated times(settings.rounds(), {all(select), all(contains), all(tree)});
  const double each = 1e9 / static_cast<double>(probes);
  report.show("SELECT 1 FROM f WHERE k = ?", times.time(0) * each, 0, "ns");
  report.show("SELECT filter_contains('f', ?)", times.time(1) * each, 0, "ns");
  report.show("SELECT 1 FROM a B-tree WHERE k = ?", times.time(2) * each, 0, "ns");
  report.at_most(1.3, "filter_contains / WHERE k = ?", times.ratio(1, 0), 2, "x");
}

// --- following a table ----------------------------------------------------------------------

// An application table with a filter that follows it, by triggers = on or by triggers of one's own.
class Followed {
 public:
  Followed(bool source, uint64_t rows) : connection_(":memory:") {
    connection_.run(
        "CREATE TABLE t(id INTEGER PRIMARY KEY, u TEXT); CREATE TABLE all_rows(u TEXT)");
    connection_.run("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " +
                    whole(rows) + ") INSERT INTO all_rows SELECT 'user' || i FROM n");
    const std::string filter = "CREATE VIRTUAL TABLE f USING cuckoo_filter(";
    const std::string options = "capacity = " + whole(2 * rows);
    if (source) {
      connection_.run(filter + options + ", source = t(u), triggers = on)");
    } else {
      connection_.run(filter + "u TEXT, " + options + ");" +
                      "CREATE TRIGGER ti AFTER INSERT ON t BEGIN"
                      " INSERT INTO f VALUES (new.u); END;"
                      "CREATE TRIGGER td AFTER DELETE ON t BEGIN"
                      " DELETE FROM f WHERE u = old.u; END;"
                      "CREATE TRIGGER tu AFTER UPDATE OF u ON t BEGIN"
                      " UPDATE f SET u = new.u WHERE u = old.u; END");
    }
  }
  void insert() { connection_.run("INSERT INTO t(u) SELECT u FROM all_rows"); }
  void update() { connection_.run("UPDATE t SET u = 'new ' || u"); }
  void remove() { connection_.run("DELETE FROM t"); }
  void update_rows(int64_t rows) {  // a statement of its own each, prepared anew
    for (int64_t i = 1; i <= rows; ++i) {
      connection_.run("UPDATE t SET u = 'one ' || u WHERE id = " + std::to_string(i));
    }
  }

 private:
  Connection connection_;
};

void bench_followed(const Settings& settings, Report& report) {
  const uint64_t rows = settings.quick() ? 2000 : 100000;
  const auto single = static_cast<int64_t>(rows / 20);
  report.section("A filter that follows a table, triggers = on beside triggers of one's own, " +
                 whole(rows) + " rows");
  Followed source(true, rows);
  Followed own(false, rows);
  const Alternated times(
      settings.rounds(),
      {[&] { source.insert(); }, [&] { own.insert(); }, [&] { source.update(); },
       [&] { own.update(); }, [&] { source.update_rows(single); }, [&] { own.update_rows(single); },
       [&] { source.remove(); }, [&] { own.remove(); }});
  const char* const what[] = {"INSERT … SELECT", "UPDATE of all rows", "UPDATE, row by row",
                              "DELETE of all rows"};
  for (size_t i = 0; i < std::size(what); ++i) {
    const double each = 1e9 / static_cast<double>(i == 2 ? static_cast<uint64_t>(single) : rows);
    report.show(std::string(what[i]) + ", triggers = on", times.time(2 * i) * each, 0, "ns/row");
    report.at_most(1.3, std::string(what[i]) + ": triggers = on / one's own",
                   times.ratio(2 * i, 2 * i + 1), 2, "x");
  }
}

// --- adding what is new ----------------------------------------------------------------------

std::string url(uint64_t i) {
  return "https://www.example.org/articles/" + std::to_string(random_key(i) % 1000000000000) +
         ".html";
}

// A crawler: each link of a page is added if it is not there, row by row, and followed if it was
// new. Half of them are there.
class Crawl {
 public:
  Crawl(const std::string& path, const std::string& create, uint64_t known, uint64_t links)
      : connection_(path), known_(known), links_(links) {
    connection_.run("PRAGMA synchronous = OFF; PRAGMA cache_size = -2000");
    connection_.run(create);
    insert_ = std::make_unique<Prepared>(connection_, "INSERT OR IGNORE INTO t VALUES (?1)");
    connection_.run("BEGIN");
    for (uint64_t i = 0; i < known_; ++i) {
      insert_->run(url(i));
    }
    connection_.run("COMMIT");
  }
  // `round` has links of its own.
  int64_t run(uint64_t round) {
    const uint64_t first_new = known_ + round * links_;
    int64_t added = 0;
    connection_.run("BEGIN");
    for (uint64_t i = 0; i < links_; ++i) {
      const uint64_t pick = static_cast<uint64_t>(random_key(first_new + i));
      const uint64_t old = (pick >> 1) % known_;
      insert_->run(url((pick & 1) != 0 ? old : first_new + i));
      added += connection_.changes();
    }
    connection_.run("COMMIT");
    return added;
  }

 private:
  Connection connection_;
  std::unique_ptr<Prepared> insert_;
  uint64_t known_, links_;
};

struct CrawlBudget {
  const char* what;
  bool in_file;
  uint64_t known;
  double faster;  // than the B-tree, at least
};

void bench_add_if_absent(const Settings& settings, Report& report, const CrawlBudget& budget) {
  const uint64_t known = settings.quick() ? 3000 : budget.known;
  const uint64_t links = settings.quick() ? 3000 : 300000;
  report.section("Add a URL if it is absent, row by row, " + whole(links) +
                 " links, half new, to " + whole(known) + ", " + budget.what);
  const ScratchFile filter_file("cuckoo-bench-crawl-filter.db");
  const ScratchFile tree_file("cuckoo-bench-crawl-tree.db");
  const std::string memory = ":memory:";
  Crawl filter(budget.in_file ? filter_file.path() : memory,
               "CREATE VIRTUAL TABLE t USING cuckoo_filter(url TEXT, unique = on, capacity = " +
                   whole(known + 10 * links) + ")",
               known, links);
  Crawl tree(budget.in_file ? tree_file.path() : memory,
             "CREATE TABLE t(url TEXT PRIMARY KEY) WITHOUT ROWID", known, links);
  uint64_t round = 0;
  const int rounds = settings.quick() ? 1 : 3;
  const Alternated times(rounds, {[&] { filter.run(round); }, [&] { tree.run(round++); }});
  const double each = 1e9 / static_cast<double>(links);
  report.show("cuckoo_filter, unique = on", times.time(0) * each, 0, "ns/row");
  report.show("WITHOUT ROWID table", times.time(1) * each, 0, "ns/row");
  report.at_least(budget.faster, "B-tree / filter", times.ratio(1, 0), 2, "x");
}

}  // namespace

void bench_everyday(const Settings& settings, Report& report) {
  for (const char* module : {"cuckoo_filter", "bloom_filter"}) {
    bench_conditions(settings, report, module);
  }
  for (const int tables : {2, 1000}) {
    bench_statements(settings, report, tables);
  }
  bench_followed(settings, report);
  bench_add_if_absent(settings, report, {"in memory", false, 150000, 1.2});
  bench_add_if_absent(settings, report, {"in a file larger than the cache", true, 2000000, 3});
  bench_everyday_flash(settings, report);
  bench_everyday_memory(settings, report);
}

}  // namespace cuckoo::bench
