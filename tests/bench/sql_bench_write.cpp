// Writing: bulk loads and small transactions.
#include <algorithm>
#include <memory>
#include <optional>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

constexpr uint64_t kRowsPerTransaction = 500;

// Inserts rows in transactions of 500, into a table of a database of its own.
class Writer {
 public:
  Writer(const ScratchFile& file, const std::string& pragmas, const std::string& create,
         uint64_t rows)
      : connection_(file.path()), next_(rows) {
    connection_.run(pragmas);
    connection_.run(create);
    fill(connection_, "t", rows, random_key);
    if (connection_.text("PRAGMA journal_mode") == "wal") {
      connection_.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
  }

  // A further connection to it.
  Writer(const ScratchFile& file, const std::string& pragmas, uint64_t rows)
      : connection_(file.path()), next_(rows) {
    connection_.run(pragmas);
  }

  void transactions(uint64_t count) {
    Prepared begin(connection_, "BEGIN");
    Prepared insert(connection_, "INSERT INTO t VALUES (?1)");
    Prepared commit(connection_, "COMMIT");
    for (uint64_t i = 0; i < count; ++i) {
      const double processor = seconds(Clock::kProcessor);
      const double wall = seconds(Clock::kWall);
      begin.run();
      for (uint64_t row = 0; row < kRowsPerTransaction; ++row) {
        insert.run(random_key(next_++));
      }
      commit.run();
      const double took = seconds(Clock::kWall) - wall;
      processor_ += seconds(Clock::kProcessor) - processor;
      wall_ += took;
      longest_ = std::max(longest_, took);
      rows_ += kRowsPerTransaction;
    }
  }

  double processor_per_row() const { return 1e9 * processor_ / static_cast<double>(rows_); }
  double wall_per_row() const { return 1e9 * wall_ / static_cast<double>(rows_); }
  double longest_ms() const { return 1e3 * longest_; }

 private:
  Connection connection_;
  uint64_t next_;
  uint64_t rows_ = 0;
  double processor_ = 0;
  double wall_ = 0;
  double longest_ = 0;
};

// `blocks` blocks of `block` transactions each, filter and B-tree in turn.
void commit_with(Report& report, const std::string& module, const std::string& name,
                 const std::string& pragmas, uint64_t keys, uint64_t blocks, uint64_t block,
                 bool judged) {
  const ScratchFile filter_file("cuckoo-bench-commit-filter.db");
  const ScratchFile tree_file("cuckoo-bench-commit-tree.db");
  Writer filter(filter_file, pragmas,
                "CREATE VIRTUAL TABLE t USING " + module +
                    "(k INTEGER, seed = 1, capacity = " + whole(keys) + ")",
                keys);
  Writer tree(tree_file, pragmas, "CREATE TABLE t(k INTEGER PRIMARY KEY) WITHOUT ROWID", keys);
  for (uint64_t i = 0; i < blocks; ++i) {
    filter.transactions(block);
    tree.transactions(block);
  }
  report.section("500-row insert transactions of random keys, " + whole(keys) + " keys to " +
                 whole(keys + blocks * block * kRowsPerTransaction) + ", " + module + ", " + name);
  report.show("filter, wall clock", filter.wall_per_row(), 0, "ns/row");
  report.show("filter, processor", filter.processor_per_row(), 0, "ns/row");
  report.show("B-tree, wall clock", tree.wall_per_row(), 0, "ns/row");
  report.show("B-tree, processor", tree.processor_per_row(), 0, "ns/row");
  const std::string ratio = "B-tree / filter, wall clock, folds and growth included";
  if (judged) {
    report.at_least(14, ratio, tree.wall_per_row() / filter.wall_per_row(), 2, "x");
  } else {
    report.show(ratio, tree.wall_per_row() / filter.wall_per_row(), 2, "x");
  }
  report.show("B-tree / filter, processor", tree.processor_per_row() / filter.processor_per_row(),
              2, "x");
  report.at_most(60, "filter: the longest transaction, wall clock", filter.longest_ms(), 1, "ms");
  report.show("B-tree: the longest transaction, wall clock", tree.longest_ms(), 1, "ms");
}

// The longest transaction while the filter is made larger. `reopened`: each in a connection of its
// own, as processes do that come and go; opening is part of the time.
void pauses_of(Report& report, const std::string& module, const std::string& options, uint64_t keys,
               uint64_t transactions, bool reopened, std::optional<double> most) {
  const ScratchFile file("cuckoo-bench-pauses.db");
  const std::string pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL";
  const std::string create = "CREATE VIRTUAL TABLE t USING " + module +
                             "(k INTEGER, seed = 1, capacity = " + whole(keys) + options + ")";
  auto writer = std::make_unique<Writer>(file, pragmas, create, keys);
  double wall = 0;
  double longest = 0;
  for (uint64_t i = 0; i < transactions; ++i) {
    const double start = seconds(Clock::kWall);
    if (reopened) {
      writer = std::make_unique<Writer>(file, "PRAGMA synchronous = NORMAL",
                                        keys + i * kRowsPerTransaction);
    }
    writer->transactions(1);
    const double took = seconds(Clock::kWall) - start;
    wall += took;
    longest = std::max(longest, took);
  }
  report.section("500-row insert transactions, " + whole(keys) + " keys and " +
                 whole(transactions * kRowsPerTransaction) + " more, " + module + options +
                 (reopened ? ", a connection for each" : ""));
  report.show("on average, wall clock", 1e3 * wall / static_cast<double>(transactions), 2, "ms");
  if (most) {
    report.at_most(*most, "the longest, wall clock", 1e3 * longest, 1, "ms");
  } else {
    report.show("the longest, wall clock", 1e3 * longest, 1, "ms");
  }
}

}  // namespace

void bench_bulk(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 50000 : 10000000;
  const int rounds = settings.quick() ? 1 : 3;
  report.section("Bulk INSERT ... SELECT of " + whole(keys) +
                 " random integer keys, commit included, in a file");
  const ScratchFile file("cuckoo-bench-bulk.db");
  const Connection connection(file.path());
  connection.run("CREATE TABLE source(k INTEGER)");
  fill(connection, "source", keys, random_key);
  connection.run("CREATE VIRTUAL TABLE idle USING do_nothing(k INTEGER)");
  struct Loaded {
    std::string what;
    std::string module;
    double budget;  // CREATE INDEX beside it; 0: none
    std::vector<double> times = {};
    std::vector<double> ratios = {};
  };
  const std::string given = "capacity = " + whole(keys);
  std::vector<Loaded> filters = {
      {"a filter with " + given, "cuckoo_filter(k INTEGER, " + given + ")", 5},
      {"a filter that grows from 1000", "cuckoo_filter(k INTEGER)", 5},
      {"a Bloom filter with " + given, "bloom_filter(k INTEGER, " + given + ")", 0},
      {"a Bloom filter that grows from 1000", "bloom_filter(k INTEGER)", 0}};
  std::vector<double> scan, nothing, index;
  const auto timed = [&](std::vector<double>& times, const std::string& sql) {
    const double start = seconds(Clock::kProcessor);
    connection.run(sql);
    times.push_back((seconds(Clock::kProcessor) - start) * 1e9 / static_cast<double>(keys));
  };
  for (int round = 0; round < rounds; ++round) {
    timed(scan, "SELECT count(k) FROM source");
    timed(nothing, "INSERT INTO idle SELECT k FROM source");
    timed(index, "CREATE INDEX source_k ON source(k)");
    connection.run("DROP INDEX source_k");
    for (Loaded& filter : filters) {
      connection.run("CREATE VIRTUAL TABLE loaded USING " + filter.module);
      timed(filter.times, "INSERT INTO loaded SELECT k FROM source");
      connection.run("DROP TABLE loaded");
      filter.ratios.push_back(index.back() / filter.times.back());
    }
  }
  report.show("scan alone", median(scan), 0, "ns/row");
  report.show("into the do-nothing table", median(nothing), 0, "ns/row");
  for (const Loaded& filter : filters) {
    report.show("into " + filter.what, median(filter.times), 0, "ns/row");
  }
  report.show("CREATE INDEX", median(index), 0, "ns/row");
  for (const Loaded& filter : filters) {
    const std::string ratio = "CREATE INDEX / into " + filter.what;
    if (filter.budget > 0) {
      report.at_least(filter.budget, ratio, median(filter.ratios), 2, "x");
    } else {
      report.show(ratio, median(filter.ratios), 2, "x");
    }
  }
}

void bench_commit(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const uint64_t blocks = settings.quick() ? 2 : 20;
  const uint64_t block = settings.quick() ? 5 : 50;
  for (const char* module : {"cuckoo_filter", "bloom_filter"}) {
    commit_with(report, module, "WAL, synchronous = NORMAL",
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", keys, blocks, block,
                true);
  }
  commit_with(report, "cuckoo_filter", "DELETE journal, synchronous = FULL",
              "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL", keys, blocks,
              settings.quick() ? 1 : 5, false);
}

void bench_pauses(const Settings& settings, Report& report) {
  const bool quick = settings.quick();
  const uint64_t keys = quick ? 20000 : 1000000;
  const uint64_t transactions = quick ? 5 : 200;
  const uint64_t more_keys = quick ? 50000 : 10000000;
  const uint64_t more_transactions = quick ? 5 : 800;
  for (const char* module : {"cuckoo_filter", "bloom_filter"}) {
    pauses_of(report, module, "", keys, transactions, false, 60);
    pauses_of(report, module, "", more_keys, more_transactions, false, 120);
  }
  pauses_of(report, "cuckoo_filter", ", generations = 3", keys, transactions, false, 60);
  pauses_of(report, "cuckoo_filter", "", keys, transactions, true, {});
  pauses_of(report, "cuckoo_filter", "", more_keys, more_transactions, true, {});
}

void bench_build(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 50000 : 10000000;
  const int rounds = settings.quick() ? 1 : 3;
  report.section("Aggregates over " + whole(keys) + " random integer keys of a file, 0.1 %");
  const ScratchFile file("cuckoo-bench-build.db");
  const Connection connection(file.path());
  connection.run("CREATE TABLE source(k INTEGER)");
  fill(connection, "source", keys, random_key);
  const Alternated times(rounds,
                         {[&] { connection.integer("SELECT sum(k & 1) FROM source"); },
                          [&] { connection.integer("SELECT length(cuckoo_build(k)) FROM source"); },
                          [&] { connection.integer("SELECT length(bloom_build(k)) FROM source"); },
                          [&] {
                            connection.run("CREATE INDEX source_k ON source(k)");
                            connection.run("DROP INDEX source_k");
                          }});
  const double per_row = 1e9 / static_cast<double>(keys);
  report.show("sum(k & 1)", times.time(0) * per_row, 0, "ns/row");
  report.show("cuckoo_build(k)", times.time(1) * per_row, 0, "ns/row");
  report.show("bloom_build(k)", times.time(2) * per_row, 0, "ns/row");
  report.show("CREATE INDEX, and DROP INDEX", times.time(3) * per_row, 0, "ns/row");
  report.at_least(5, "CREATE INDEX / cuckoo_build", times.ratio(3, 1), 2, "x");
  report.at_least(5, "CREATE INDEX / bloom_build", times.ratio(3, 2), 2, "x");
}

}  // namespace cuckoo::bench
