// Hash rings: the JOIN that finds each row's node, and changes of the nodes.
#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

double per_row(double seconds, uint64_t rows) { return seconds * 1e9 / static_cast<double>(rows); }

std::string join(const std::string& what, const std::string& inner, const std::string& key) {
  return "SELECT " + what + " FROM app CROSS JOIN " + inner + " r ON r." + key + " = app.k";
}

void make_ring(const Connection& connection, const std::string& name, const std::string& options) {
  connection.run("CREATE VIRTUAL TABLE " + name + " USING hash_ring(" + options + ")");
  connection.run(
      "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100) INSERT INTO " + name +
      "(node) SELECT printf('10.0.0.%d:11211', i) FROM n");
}

struct Ring {
  const char* name;
  const char* options;
  double budget;  // times the do-nothing table; 0: none
};
constexpr Ring kRings[] = {
    {"slots", "seed = 1, algorithm = slots", 1.5},
    {"ring", "seed = 1, vnodes = 1000", 4},
    {"ketama", "algorithm = ketama", 0},
};

// A column is read of each row: the do-nothing table gives NULL, a ring copies the node's name.
// With text keys (which the do-nothing table does not look at) that is shown, not judged.
void join_rings(const Settings& settings, Report& report, const Connection& connection,
                uint64_t rows, const std::string& label, const std::string& ring_column,
                const std::string& idle_column) {
  Prepared idle(connection, join("count(" + idle_column + ")", "idle", "k"));
  for (const Ring& ring : kRings) {
    Prepared owner(connection, join("count(" + ring_column + ")", ring.name, "key"));
    owner.run();
    const Alternated times(settings.rounds(), {[&] { idle.run(); }, [&] { owner.run(); }});
    const std::string what = label + ", " + ring.name;
    report.show(what + ": do-nothing table", per_row(times.time(0), rows), 1, "ns/row");
    report.show(what + ": hash_ring", per_row(times.time(1), rows), 1, "ns/row");
    const std::string slower = what + ": hash_ring / do-nothing, whole row";
    if (ring.budget > 0 && (ring_column == "*" || label.starts_with("integer"))) {
      report.at_most(ring.budget, slower, times.ratio(1, 0), 2, "x");
    } else {
      report.show(slower, times.ratio(1, 0), 2, "x");
    }
  }
}

}  // namespace

void bench_ring(const Settings& settings, Report& report) {
  const uint64_t rows = settings.quick() ? 20000 : 1000000;
  Connection connection(":memory:");
  connection.answer(Answer::kAlways);
  connection.run("CREATE VIRTUAL TABLE idle USING do_nothing(k)");
  for (const Ring& ring : kRings) {
    make_ring(connection, ring.name, ring.options);
  }
  connection.run("CREATE TABLE app(k INTEGER)");
  fill(connection, "app", rows, random_key);
  report.section("JOIN against a hash_ring of 100 nodes, " + whole(rows) + " app rows, in memory");
  join_rings(settings, report, connection, rows, "integer key", "*", "*");
  join_rings(settings, report, connection, rows, "integer key, node read", "r.node", "r.count");
  connection.run("CREATE TABLE texts AS SELECT 'user:' || k AS k FROM app");
  connection.run("ALTER TABLE app RENAME TO numbers");
  connection.run("ALTER TABLE texts RENAME TO app");
  join_rings(settings, report, connection, rows, "text key", "*", "*");
  join_rings(settings, report, connection, rows, "text key, node read", "r.node", "r.count");
}

}  // namespace cuckoo::bench
