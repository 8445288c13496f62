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

}  // namespace

void bench_everyday(const Settings& settings, Report& report) {
  for (const char* module : {"cuckoo_filter", "bloom_filter"}) {
    bench_conditions(settings, report, module);
  }
  for (const int tables : {2, 1000}) {
    bench_statements(settings, report, tables);
  }
  bench_everyday_flash(settings, report);
}

}  // namespace cuckoo::bench
