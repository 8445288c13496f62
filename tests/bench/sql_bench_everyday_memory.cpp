// What each further connection of a process takes, SQLite's page cache included: what others have
// in memory already it shares with them.
#include <algorithm>
#include <memory>
#include <vector>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

constexpr int kConnections = 5;
constexpr double kMostMegabytes = 0.5;

// SELECT of an expression of i = 1 … count.
std::string numbers(uint64_t count, const std::string& what) {
  return "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " +
         whole(count) + ") SELECT " + what + " FROM n";
}

void bench_further_connections(Report& report, const std::string& path, const std::string& what,
                               const std::string& use) {
  std::vector<std::unique_ptr<Connection>> connections;
  double first = 0;
  double most = 0;
  for (int i = 0; i < kConnections; ++i) {
    const int64_t before = sqlite3_memory_used();
    connections.push_back(std::make_unique<Connection>(path));
    connections.back()->run(use);
    const double used = static_cast<double>(sqlite3_memory_used() - before) / 1e6;
    (i == 0 ? first : most) = i == 0 ? used : std::max(most, used);
  }
  report.show(what + ", the first connection", first, 2, "MB");
  report.at_most(kMostMegabytes, what + ", each further one", most, 2, "MB");
}

}  // namespace

void bench_everyday_memory(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const uint64_t rows = settings.quick() ? 6000 : 300000;
  report.section("Memory of " + std::to_string(kConnections) + " connections of one process");
  const ScratchFile file("cuckoo-bench-memory.db");
  {
    const Connection connection(file.path());
    connection.run("PRAGMA synchronous = OFF");
    connection.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = " +
                   whole(keys) + "); CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64MB')");
    fill(connection, "f", keys, random_key);
    connection.run("INSERT INTO kv " + numbers(rows, "i, 'value ' || i"));
  }
  bench_further_connections(
      report, file.path(), "a cuckoo_filter of " + whole(keys) + " keys, warm",
      "SELECT count(*) FROM (" + numbers(keys / 4, "i AS k") + ") CROSS JOIN f USING (k)");
  bench_further_connections(report, file.path(),
                            "a flash_kv of " + whole(rows) + " rows, one look-up",
                            "SELECT v FROM kv WHERE k = 77");
}

}  // namespace cuckoo::bench
