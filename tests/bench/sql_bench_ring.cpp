// Hash rings: the JOIN that finds each row's node, and changes of the nodes.
#include <string>
#include <utility>
#include <vector>

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

// The time of a change of one node until the next answer: in the connection that makes it, and in
// another one that follows. Without fsync(), and without the commit's own time in the other one.
struct Changes {
  const char* name;
  const char* options;
  int nodes;
  double budget_ms;  // 0: none
};

void bench_changes_of(const Settings& settings, Report& report, const Changes& ring) {
  const int nodes = settings.quick() ? ring.nodes / 100 : ring.nodes;
  const ScratchFile file("ring-changes");
  Connection one(file.path());
  one.run("PRAGMA synchronous = OFF");
  one.run(std::string("CREATE VIRTUAL TABLE ring USING hash_ring(") + ring.options + ")");
  one.run("WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " +
          std::to_string(nodes) + ") INSERT INTO ring(node) SELECT 'node-' || i FROM n");
  Connection other(file.path());
  Prepared own(one, "SELECT rowid FROM ring WHERE key = ?1");
  Prepared follow(other, "SELECT rowid FROM ring WHERE key = ?1");
  follow.run(own.run(1));
  const std::string label =
      std::string(ring.name) + ", " + whole(static_cast<uint64_t>(nodes)) + " nodes, ";
  const std::pair<const char*, const char*> changes[] = {
      {"a node comes", "INSERT INTO ring(node) VALUES ('new')"},
      {"it gets another name", "UPDATE ring SET node = 'newer' WHERE node = 'new'"},
      {"its weight doubles", "UPDATE ring SET weight = 2 WHERE node = 'newer'"},
      {"it goes", "DELETE FROM ring WHERE node = 'newer'"},
  };
  std::vector<double> own_ms[4];
  std::vector<double> follow_ms[4];
  for (int round = 0; round <= settings.rounds(); ++round) {
    for (size_t i = 0; i < 4; ++i) {
      const double start = seconds(Clock::kProcessor);
      one.run(changes[i].second);
      own.run(round);
      const double changed = seconds(Clock::kProcessor);
      follow.run(round);
      const double followed = seconds(Clock::kProcessor);
      if (round > 0) {
        own_ms[i].push_back(1000 * (changed - start));
        follow_ms[i].push_back(1000 * (followed - changed));
      }
    }
  }
  for (size_t i = 0; i < 4; ++i) {
    const std::string what = label + changes[i].first;
    const std::pair<const char*, double> times[] = {{"", median(own_ms[i])},
                                                    {", another connection", median(follow_ms[i])}};
    for (const auto& [where, time] : times) {
      if (ring.budget_ms > 0) {
        report.at_most(ring.budget_ms, what + where, time, 2, "ms");
      } else {
        report.show(what + where, time, 2, "ms");
      }
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
  report.section("hash_ring: a change of one node until the next answer");
  constexpr Changes kChanges[] = {
      {"ring", "vnodes = 1000", 1000, 2},
      {"ring", "vnodes = 1000", 10000, 0},
      {"ketama", "algorithm = ketama", 1000, 0},
      {"slots", "algorithm = slots", 1000, 0},
  };
  for (const Changes& ring : kChanges) {
    bench_changes_of(settings, report, ring);
  }
}

}  // namespace cuckoo::bench
