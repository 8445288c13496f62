// Reading: the JOIN probe, with and without pending keys, in a grown filter, on a cold connection.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

// Even numbers are in the filter and in the index, odd ones are not: absent keys lie between the
// present ones, so that the index is searched down to a leaf.
int64_t present_key(uint64_t i) { return static_cast<int64_t>(2 * i); }

enum class Mix { kHalf, kAbsent, kPresent };

int64_t app_key(uint64_t i, uint64_t keys, Mix mix) {
  const auto random = static_cast<uint64_t>(random_key(i));
  const int64_t key = present_key((random >> 1) % keys);
  return mix == Mix::kAbsent || (mix == Mix::kHalf && (random & 1) != 0) ? key + 1 : key;
}

// An app table of `rows` integer keys in random order.
void make_app(const Connection& connection, const std::string& name, uint64_t rows, uint64_t keys,
              Mix mix) {
  connection.run("CREATE TABLE " + name + "(k INTEGER)");
  fill(connection, name, rows, [&](uint64_t i) { return app_key(i, keys, mix); });
}

std::string join(const std::string& app, const std::string& inner) {
  return "SELECT count(*) FROM " + app + " CROSS JOIN " + inner + " USING (k)";
}

double per_row(double seconds, uint64_t rows) { return seconds * 1e9 / static_cast<double>(rows); }

uint64_t page_rows(const Connection& connection, const std::string& filter) {
  return static_cast<uint64_t>(
      connection.integer("SELECT count(*) FROM " + filter + "_data WHERE " + kPageRows));
}

// So many keys pend before a segment is folded, at least (docs/DESIGN.md, 3).
uint64_t most_pending(const Connection& connection, const std::string& filter) {
  const auto segments = static_cast<uint64_t>(connection.integer(
      "SELECT count(DISTINCT id >> 24) FROM " + filter + "_data WHERE " + kPageRows));
  return segments * std::clamp<uint64_t>((uint64_t{1} << 18) / segments, 1, 504);
}

struct JoinBudget {
  uint64_t keys;
  double nothing;  // times the do-nothing table, at most; 0: none
  double index;    // times faster than the index, at least; 0: none
  const char* module = "cuckoo_filter";
  const char* options = "";
};

void join_one(Connection& connection, Report& report, const JoinBudget& budget, int rounds,
              const std::string& app, const std::string& mix, Answer answer, uint64_t rows) {
  connection.answer(answer);
  Prepared scan(connection, "SELECT count(k) FROM " + app);
  Prepared nothing(connection, join(app, "idle"));
  Prepared filter(connection, join(app, "f"));
  Prepared index(connection, join(app, "b"));
  filter.run();  // loads the pages
  const Alternated times(rounds, {[&] { scan.run(); }, [&] { nothing.run(); },
                                  [&] { filter.run(); }, [&] { index.run(); }});
  report.show(mix + ": scan alone", per_row(times.time(0), rows), 1, "ns/row");
  report.show(mix + ": JOIN do-nothing table", per_row(times.time(1), rows), 1, "ns/row");
  report.show(mix + ": JOIN filter", per_row(times.time(2), rows), 1, "ns/row");
  report.show(mix + ": JOIN hot B-tree index", per_row(times.time(3), rows), 1, "ns/row");
  const std::string slower = mix + ": filter / do-nothing, whole row";
  if (budget.nothing > 0) {
    report.at_most(budget.nothing, slower, times.ratio(2, 1), 2, "x");
  } else {
    report.show(slower, times.ratio(2, 1), 2, "x");
  }
  if (answer == Answer::kAlternately) {
    connection.answer(Answer::kAtRandom);
    const Alternated fair(rounds, {[&] { nothing.run(); }, [&] { filter.run(); }});
    report.show(mix + ": the same, do-nothing answers at random", fair.ratio(1, 0), 2, "x");
  }
  const std::string faster = mix + ": index / filter, whole row";
  if (budget.index > 0) {
    report.at_least(budget.index, faster, times.ratio(3, 2), 2, "x");
  } else {
    report.show(faster, times.ratio(3, 2), 2, "x");
  }
}

void join_at(const Settings& settings, Report& report, const JoinBudget& budget) {
  const uint64_t rows = settings.quick() ? 20000 : 1000000;
  report.section(std::string("JOIN probe, ") + budget.module + budget.options + ", " +
                 whole(budget.keys) + " integer keys, " + whole(rows) +
                 " app rows in random order, all in memory");
  Connection connection(":memory:");
  connection.run("CREATE TABLE b(k INTEGER)");
  fill(connection, "b", budget.keys, present_key);
  connection.run("CREATE INDEX b_k ON b(k)");
  connection.run(std::string("CREATE VIRTUAL TABLE f USING ") + budget.module +
                 "(k INTEGER, capacity = " + whole(budget.keys) + budget.options + ")");
  connection.run("INSERT INTO f SELECT k FROM b");
  connection.run("CREATE VIRTUAL TABLE idle USING do_nothing(k INTEGER)");
  make_app(connection, "half", rows, budget.keys, Mix::kHalf);
  make_app(connection, "absent", rows, budget.keys, Mix::kAbsent);
  make_app(connection, "present", rows, budget.keys, Mix::kPresent);
  if (connection.inner_plan(join("half", "b")).find("COVERING INDEX b_k") == std::string::npos) {
    std::fprintf(stderr, "the B-tree is not searched: %s\n",
                 connection.inner_plan(join("half", "b")).c_str());
    std::exit(2);
  }
  const int rounds = settings.rounds();
  join_one(connection, report, budget, rounds, "half", "half absent", Answer::kAlternately, rows);
  join_one(connection, report, budget, rounds, "absent", "all absent", Answer::kNever, rows);
  join_one(connection, report, budget, rounds, "present", "all present", Answer::kAlways, rows);
}

}  // namespace

void bench_join(const Settings& settings, Report& report) {
  if (settings.quick()) {
    join_at(settings, report, {20000, 1.5, 8});
    return;
  }
  join_at(settings, report, {1000000, 1.5, 8});
  join_at(settings, report, {10000000, 0, 12});
  if (settings.large()) {
    join_at(settings, report, {50000000, 7, 8});
  }
}

void bench_bloom_join(const Settings& settings, Report& report) {
  for (const char* options : {"", ", layout = blocked"}) {
    join_at(
        settings, report,
        {settings.quick() ? uint64_t{20000} : uint64_t{1000000}, 1.5, 0, "bloom_filter", options});
  }
}

void bench_tail(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const uint64_t rows = settings.quick() ? 20000 : 1000000;
  report.section("JOIN probe with many pending keys, " + whole(keys) + " keys");
  Connection connection(":memory:");
  for (const char* name : {"folded", "pending"}) {
    connection.run(std::string("CREATE VIRTUAL TABLE ") + name +
                   " USING cuckoo_filter(k INTEGER, seed = 1, capacity = " + whole(keys) + ")");
  }
  make_app(connection, "half", rows, keys, Mix::kHalf);
  // How many may pend follows from the number of segments: fill one first.
  fill(connection, "folded", keys, present_key);
  connection.run("INSERT INTO folded(folded) VALUES ('rebuild')");
  const uint64_t tail = most_pending(connection, "folded");
  fill(connection, "pending", keys - tail, present_key);
  connection.run("INSERT INTO pending(pending) VALUES ('rebuild')");
  connection.run(std::string("CREATE TABLE pages_before AS SELECT * FROM pending_data WHERE ") +
                 kPageRows);
  fill(connection, "pending", tail, [&](uint64_t i) { return present_key(keys - tail + i); });
  const int64_t folded_early = connection.integer(
      std::string("SELECT count(*) FROM pending_data p LEFT JOIN pages_before b USING (id) WHERE"
                  " p.block IS NOT b.block AND ") +
      kPageRows);
  Prepared without(connection, join("half", "folded"));
  Prepared with(connection, join("half", "pending"));
  without.run();
  with.run();
  const Alternated times(settings.rounds(), {[&] { without.run(); }, [&] { with.run(); }});
  report.show("half absent: all keys folded", per_row(times.time(0), rows), 1, "ns/row");
  report.show("half absent: " + whole(tail) + " of them pending", per_row(times.time(1), rows), 1,
              "ns/row");
  report.at_most(2, "with pending keys / without", times.ratio(1, 0), 2, "x");
  report.at_most(0, "pages that differ from before they came", static_cast<double>(folded_early), 0,
                 "pages");
}

// A table of visits: its keys come several times each.
void bench_copies(const Settings& settings, Report& report) {
  const uint64_t rows = settings.quick() ? 20000 : 1000000;
  report.section("A cuckoo filter of " + whole(rows) + " rows in which a key stands three times");
  Connection connection(":memory:");
  connection.run("CREATE TABLE once(k INTEGER)");
  connection.run("CREATE TABLE thrice(k INTEGER)");
  fill(connection, "once", rows, present_key);
  fill(connection, "thrice", rows, [rows](uint64_t i) { return present_key(i % (rows / 3)); });
  make_app(connection, "absent", rows, rows, Mix::kAbsent);
  for (const std::string table : {"once", "thrice"}) {
    connection.run("CREATE VIRTUAL TABLE of_" + table +
                   " USING cuckoo_filter(k INTEGER, seed = 1, capacity = " + whole(rows) + ")");
    connection.run("INSERT INTO of_" + table + " SELECT k FROM " + table);
  }
  Prepared build_once(connection, "SELECT length(cuckoo_build(k)) FROM once");
  Prepared build_thrice(connection, "SELECT length(cuckoo_build(k)) FROM thrice");
  Prepared join_once(connection, join("absent", "of_once"));
  Prepared join_thrice(connection, join("absent", "of_thrice"));
  const Alternated times(settings.rounds(), {[&] { build_once.run(); }, [&] { build_thrice.run(); },
                                             [&] { join_once.run(); }, [&] { join_thrice.run(); }});
  report.show("cuckoo_build, each key once", per_row(times.time(0), rows), 0, "ns/row");
  report.show("cuckoo_build, three times / once", times.ratio(1, 0), 2, "x");
  report.show("JOIN, all absent, each key once", per_row(times.time(2), rows), 0, "ns/row");
  report.show("JOIN, three times / once", times.ratio(3, 2), 2, "x");
}

void bench_growth(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 10000000;
  const uint64_t rows = settings.quick() ? 20000 : 1000000;
  const uint64_t probes = settings.quick() ? 100000 : 4000000;
  report.section("growth = on, from capacity 1000 to " + whole(keys) + " keys, in memory");
  Connection connection(":memory:");
  connection.run("CREATE VIRTUAL TABLE grown USING cuckoo_filter(k INTEGER, capacity = 1000)");
  connection.run(
      "CREATE VIRTUAL TABLE sized USING cuckoo_filter(k INTEGER, capacity = " + whole(keys) + ")");
  fill(connection, "sized", keys, present_key);
  // In several transactions, as a table grows.
  constexpr uint64_t kParts = 100;
  for (uint64_t part = 0; part < kParts; ++part) {
    fill(connection, "grown", keys / kParts,
         [&](uint64_t i) { return present_key(part * (keys / kParts) + i); });
  }
  make_app(connection, "half", rows, keys, Mix::kHalf);
  make_app(connection, "absent", probes, keys, Mix::kAbsent);
  Prepared sized(connection, join("half", "sized"));
  Prepared grown(connection, join("half", "grown"));
  sized.run();
  grown.run();
  const Alternated times(2 * settings.rounds() - 1, {[&] { sized.run(); }, [&] { grown.run(); }});
  report.show("half absent: JOIN right-sized filter", per_row(times.time(0), rows), 1, "ns/row");
  report.show("half absent: JOIN grown filter", per_row(times.time(1), rows), 1, "ns/row");
  report.at_most(1.10, "grown / right-sized", times.ratio(1, 0), 3, "x");
  const auto false_hits = static_cast<double>(connection.integer(join("absent", "grown")));
  report.at_most(0.1, "false positive rate of the grown filter",
                 100 * false_hits / static_cast<double>(probes), 4, "%");
  report.at_least(static_cast<double>(keys), "items",
                  static_cast<double>(connection.integer("SELECT count(*) FROM grown")), 0, "keys");
}

// Pages that a fresh connection reads from the file until it has answered one probe.
static int64_t cold_misses(const std::string& path, int64_t key) {
  const Connection fresh(path);
  fresh.integer("SELECT count(*) FROM f WHERE k = " + std::to_string(key));
  return fresh.cache_misses();
}

static int64_t worst_cold_misses(const std::string& path, int rounds) {
  int64_t worst = 0;
  for (int i = 0; i < rounds; ++i) {
    const uint64_t other = uint64_t{1} << 40;  // absent
    worst = std::max(worst, cold_misses(path, random_key(static_cast<uint64_t>(i))));
    worst = std::max(worst, cold_misses(path, random_key(other + static_cast<uint64_t>(i))));
  }
  return worst;
}

void bench_cold(const Settings& settings, Report& report) {
  const uint64_t capacity = settings.quick() ? 1000000 : 100000000;
  // A few keys are enough for every page to hold some, and so to have a row.
  const uint64_t keys = settings.large() ? 95000000 : capacity / 50;
  constexpr int kRounds = 20;
  constexpr double kPages = 5;
  constexpr double kSegmentPages = 26;  // all are read where entries are not folded yet
  constexpr double kOthers = 7;
  report.section("First probe of a fresh connection, capacity " + whole(capacity) + ", " +
                 whole(keys) + " keys");
  const ScratchFile file("cuckoo-bench-cold.db");
  double directory = 0;  // its rows: a connection reads them all
  int64_t tail_rows = 0;
  uint64_t tail = 0;
  {
    Connection connection(file.path());
    connection.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    connection.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = " +
                   whole(capacity) + ")");
    fill(connection, "f", keys, random_key);
    connection.run("INSERT INTO f(f) VALUES ('rebuild')");
    report.show("pages of the filter", static_cast<double>(page_rows(connection, "f")), 0, "rows");
    report.show("the database", static_cast<double>(connection.bytes_in_use()) / 1e6, 1, "MB");
    directory = static_cast<double>(
        connection.integer("SELECT count(*) FROM f_data WHERE id BETWEEN 1 AND 1 << 24"));
    report.at_most(directory + kPages + kOthers,
                   "just after a fold: pages read, worst of 40 probes",
                   static_cast<double>(worst_cold_misses(file.path(), kRounds)), 0, "pages");
    const std::string log_rows = std::string("SELECT count(*) FROM f_data WHERE ") + kLogRows;
    const int64_t before = connection.integer(log_rows);
    tail = most_pending(connection, "f");
    fill(connection, "f", tail, [&](uint64_t i) { return random_key(keys + i); });
    tail_rows = connection.integer(log_rows) - before;
  }
  report.show("rows of the log with " + whole(tail) + " pending keys",
              static_cast<double>(tail_rows), 0, "rows");
  report.at_most(directory + kSegmentPages + kOthers + static_cast<double>(tail_rows),
                 "with pending keys: pages read, worst of 40 probes",
                 static_cast<double>(worst_cold_misses(file.path(), kRounds)), 0, "pages");
  const double start = seconds(Clock::kWall);
  cold_misses(file.path(), 1);
  report.show("with pending keys: open and one probe", 1e3 * (seconds(Clock::kWall) - start), 2,
              "ms");
  const ScratchFile empty("cuckoo-bench-empty.db");
  const Connection connection(empty.path());
  connection.run("PRAGMA synchronous = OFF; CREATE TABLE other(k)");
  const int64_t bytes_before = connection.bytes_in_use();
  const double created = seconds(Clock::kWall);
  connection.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = 1e9)");
  report.at_most(50, "CREATE at capacity 1e9, wall clock", 1e3 * (seconds(Clock::kWall) - created),
                 2, "ms");
  report.at_most(64, "CREATE at capacity 1e9, bytes on disk",
                 static_cast<double>(connection.bytes_in_use() - bytes_before) / 1024, 1, "KiB");
}

}  // namespace cuckoo::bench
