// What applications do with a flash_kv, beside CREATE TABLE t(k INTEGER PRIMARY KEY, v) WITHOUT
// ROWID: load it in the order of its keys, read all of it, ask it first thing after a start. Both
// are in files of their own; the page cache holds all of it.
#include <memory>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

struct Side {
  const char* name;
  std::string create;
  ScratchFile file;
  std::unique_ptr<Connection> connection;

  Side(const char* name, std::string create)
      : name(name),
        create(std::move(create)),
        file(std::string("cuckoo-bench-everyday-") + name + ".db") {}
  void open(const std::string& rows) {
    connection = std::make_unique<Connection>(file.path());
    connection->run("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; ATTACH '" + rows +
                    "' AS rows");
  }
  void fill() const {
    connection->run(create + "; BEGIN; INSERT INTO t SELECT k, v FROM rows.source; COMMIT");
  }
  void drop() const { connection->run("DROP TABLE t"); }
};

// Opens the file, loads the extension and asks for one key: seconds.
double first_answer(const Settings& settings, const Side& side, uint64_t rows) {
  uint64_t i = 0;
  return Alternated(2 * settings.rounds() + 1, {[&] {
                      const Connection connection(side.file.path());
                      connection.integer("SELECT length(v) FROM t WHERE k = " +
                                         whole(2 * (++i * 7919 % rows)));
                    }})
      .time(0);
}

constexpr double kFirstAnswerLimitMs = 10;

void bench_rows(const Settings& settings, Report& report, uint64_t rows) {
  const ScratchFile source_file("cuckoo-bench-everyday-rows.db");
  {
    const Connection source(source_file.path());
    source.run(
        "PRAGMA synchronous = OFF; CREATE TABLE source AS WITH n(i) AS (VALUES (0) UNION ALL"
        " SELECT i + 1 FROM n WHERE i < " +
        whole(rows - 1) +
        ") SELECT 2 * i AS k, CAST(printf('%0100d', i) AS BLOB) AS v FROM n ORDER BY i");
  }
  Side flash("flash", "CREATE VIRTUAL TABLE t USING flash_kv(k INTEGER, v, seed = 1, size = '" +
                          whole(rows * 260 / 1000000 + 16) + " MB')");
  Side tree("tree", "CREATE TABLE t(k INTEGER PRIMARY KEY, v) WITHOUT ROWID");
  flash.open(source_file.path());
  tree.open(source_file.path());
  report.section("flash_kv beside a WITHOUT ROWID table, " + whole(rows) +
                 " rows of 100 bytes, loaded in the order of their integer keys");
  const double per_row = 1e9 / static_cast<double>(rows);
  const auto beside = [&](const char* what, double limit, const Alternated& times) {
    report.show(std::string(what) + ", flash_kv", times.time(0) * per_row, 0, "ns/row");
    report.show(std::string(what) + ", B-tree", times.time(1) * per_row, 0, "ns/row");
    report.at_most(limit, std::string(what) + ": flash_kv / B-tree", times.ratio(0, 1), 2, "x");
  };
  const auto drop = [&] {
    flash.drop();
    tree.drop();
  };
  const Alternated load(settings.rounds(), {[&] { flash.fill(); }, [&] { tree.fill(); }, drop});
  beside("INSERT … SELECT", 1.5, load);
  flash.fill();
  tree.fill();
  for (const char* sql : {"SELECT count(v), sum(length(v)) FROM t", "SELECT sum(k) FROM t",
                          "SELECT sum(k) + count(v) FROM t"}) {
    const auto read = [sql](const Side& side) {
      return [sql, &side] { side.connection->integer(sql); };
    };
    beside(sql, 3, Alternated(settings.rounds(), {read(flash), read(tree)}));
  }
  flash.connection.reset();
  tree.connection.reset();
  report.show("first answer of a new connection, B-tree", first_answer(settings, tree, rows) * 1e3,
              1, "ms");
  report.at_most(kFirstAnswerLimitMs, "first answer of a new connection, flash_kv",
                 first_answer(settings, flash, rows) * 1e3, 1, "ms");
}

// Values that are cut into many records: the index has more entries than the table has rows.
void bench_long_values(const Settings& settings, Report& report, uint64_t rows, uint64_t bytes) {
  report.section("flash_kv, " + whole(rows) + " rows of " + whole(bytes) + " bytes");
  const uint64_t megabytes = rows * bytes * 13 / 10 / 1000000 + 16;
  Side flash("flash", "CREATE VIRTUAL TABLE t USING flash_kv(k INTEGER, v, seed = 1, size = '" +
                          whole(megabytes) + " MB')");
  {
    const Connection connection(flash.file.path());
    connection.run("PRAGMA synchronous = OFF; " + flash.create +
                   "; WITH n(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM n WHERE i < " +
                   whole(rows - 1) + ") INSERT INTO t SELECT 2 * i, zeroblob(" + whole(bytes) +
                   ") FROM n");
  }
  report.at_most(kFirstAnswerLimitMs, "first answer of a new connection, flash_kv",
                 first_answer(settings, flash, rows) * 1e3, 1, "ms");
}

}  // namespace

void bench_everyday_flash(const Settings& settings, Report& report) {
  bench_rows(settings, report, settings.quick() ? 10000 : 300000);
  bench_rows(settings, report, settings.quick() ? 20000 : 1000000);
  for (const uint64_t bytes : {1000, 4000}) {
    bench_long_values(settings, report, settings.quick() ? 2000 : 200000, bytes);
  }
}

}  // namespace cuckoo::bench
