// flash_kv beside an ordinary table with the same rows: CREATE TABLE t(k PRIMARY KEY, v) WITHOUT
// ROWID, both in files of their own, both with a page cache that holds all of it.
#include <algorithm>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

constexpr uint64_t kProbes = 200000;

struct KeyKind {
  const char* name;
  const char* type;
  const char* sql;  // of a number k
};
constexpr KeyKind kKinds[] = {{"integer", "INTEGER", "k"},
                              {"20-digit text", "TEXT", "printf('%020d', k)"}};

class Side {
 public:
  Side(const ScratchFile& file, const ScratchFile& rows, const std::string& create)
      : connection_(file.path()), create_(create) {
    connection_.run("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000");
    connection_.run("ATTACH '" + rows.path() + "' AS rows");
  }
  void insert(const std::string& order = "") {
    connection_.run(create_);
    connection_.run("BEGIN; INSERT INTO t SELECT k, v FROM rows." +
                    (order.empty() ? "source" : order) + "; COMMIT");
  }
  void drop() { connection_.run("DROP TABLE t"); }
  const Connection& connection() const { return connection_; }

 private:
  Connection connection_;
  std::string create_;
};

void bench_kind(const Settings& settings, Report& report, const KeyKind& kind) {
  const uint64_t rows = settings.quick() ? 20000 : 1000000;
  const uint64_t probes = settings.quick() ? 2000 : kProbes;
  const ScratchFile source_file("cuckoo-bench-flash-rows.db");
  const ScratchFile flash_file("cuckoo-bench-flash-flash.db");
  const ScratchFile tree_file("cuckoo-bench-flash-tree.db");
  {
    const Connection source(source_file.path());
    source.run("PRAGMA synchronous = OFF; CREATE TABLE numbers(k INTEGER)");
    fill(source, "numbers", rows, random_key);
    source.run(std::string("CREATE TABLE source AS SELECT ") + kind.sql +
               " AS k, CAST(substr(printf('%0200d', k), 101) AS BLOB) AS v FROM numbers");
    source.run("CREATE TABLE present AS SELECT k FROM source ORDER BY substr(k, -6) LIMIT " +
               whole(probes));
    source.run("CREATE TABLE sorted AS SELECT k, v FROM source ORDER BY k");
    source.run("DELETE FROM numbers");
    fill(source, "numbers", probes, [&](uint64_t i) { return random_key(rows + i); });
    source.run(std::string("CREATE TABLE absent AS SELECT ") + kind.sql + " AS k FROM numbers");
  }
  const std::string type = kind.type;
  Side flash(flash_file, source_file,
             "CREATE VIRTUAL TABLE t USING flash_kv(k " + type + ", v, seed = 1, size = '" +
                 whole(rows * 260 / 1000000 + 16) + " MB')");
  Side tree(tree_file, source_file, "CREATE TABLE t(k " + type + " PRIMARY KEY, v) WITHOUT ROWID");
  report.section("flash_kv beside a WITHOUT ROWID table, " + whole(rows) + " rows of 100 bytes, " +
                 kind.name + " keys in no order");
  const Alternated insert(settings.quick() ? 1 : 3,
                          {[&] { flash.insert(); }, [&] { tree.insert(); },
                           [&] {
                             flash.drop();
                             tree.drop();
                           }});
  const auto drop = [&] {
    flash.drop();
    tree.drop();
  };
  const Alternated sorted(settings.quick() ? 1 : 3,
                          {[&] { flash.insert("sorted"); }, [&] { tree.insert("sorted"); }, drop});
  flash.insert();
  tree.insert();
  const double per_row = 1e9 / static_cast<double>(rows);
  report.show("insert in one transaction, flash_kv", insert.time(0) * per_row, 0, "ns/row");
  report.show("insert in one transaction, B-tree", insert.time(1) * per_row, 0, "ns/row");
  report.at_least(0.7, "insert: B-tree / flash_kv", insert.ratio(1, 0), 2, "x");
  report.show("insert in the order of the keys, flash_kv", sorted.time(0) * per_row, 0, "ns/row");
  report.show("insert in the order of the keys, B-tree", sorted.time(1) * per_row, 0, "ns/row");
  const auto join = [&](const Side& side, const std::string& keys) {
    return [&side, keys] {
      side.connection().integer("SELECT sum(length(t.v)) FROM rows." + keys +
                                " AS p CROSS JOIN t ON t.k = p.k");
    };
  };
  const double per_probe = 1e9 / static_cast<double>(probes);
  for (const std::string keys : {"absent", "present"}) {
    const Alternated times(
        settings.rounds(),
        {join(flash, keys), join(tree, keys),
         [&] { flash.connection().integer("SELECT count(p.k) FROM rows." + keys + " AS p"); }});
    report.show(keys + " key, scan of the keys alone", times.time(2) * per_probe, 0, "ns");
    report.show(keys + " key, flash_kv", times.time(0) * per_probe, 0, "ns");
    report.show(keys + " key, B-tree", times.time(1) * per_probe, 0, "ns");
    report.at_least(keys == "absent" ? 4 : 1, keys + " key: B-tree / flash_kv", times.ratio(1, 0),
                    2, "x");
  }
  const auto figure = [&](const std::string& column) {
    return flash.connection().integer("SELECT 1000 * " + column + " FROM flash_kv_info('t')") /
           1000.0;
  };
  report.show("index", figure("1.0 * index_bytes / entries"), 2, "bytes/entry");
  for (const std::string keys : {"absent", "present"}) {
    const double before = figure("record_reads");
    join(flash, keys)();
    const double reads = (figure("record_reads") - before) / static_cast<double>(probes);
    report.at_most(keys == "absent" ? 0.0003 : 1.0002, "record reads, " + keys + " key", reads, 6,
                   "a look-up");
  }
}

}  // namespace

void bench_flash(const Settings& settings, Report& report) {
  for (const KeyKind& kind : kKinds) {
    bench_kind(settings, report, kind);
  }
}

}  // namespace cuckoo::bench
