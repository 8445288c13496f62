// Keeping a copy up to date: by changes, and by the whole image again.
#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {

void bench_changes(const Settings& settings, Report& report) {
  const uint64_t keys = settings.quick() ? 20000 : 1000000;
  const uint64_t added = keys / 100;
  const uint64_t removed = keys / 1000;
  report.section("A copy of a cuckoo_filter of " + whole(keys) + " keys, 0.1 %, after " +
                 whole(added) + " adds and " + whole(removed) + " removes; files, WAL");
  const ScratchFile origin_file("cuckoo-bench-origin.db");
  const ScratchFile copy_file("cuckoo-bench-copy.db");
  const Connection origin(origin_file.path());
  const Connection copy(copy_file.path());
  for (const Connection* connection : {&origin, &copy}) {
    connection->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  }
  copy.run("ATTACH '" + origin_file.path() + "' AS o");
  origin.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = " + whole(2 * keys) +
             ")");
  origin.run("CREATE TABLE sent(bytes BLOB)");
  fill(origin, "f", keys, random_key);
  for (const char* name : {"changed", "replaced"}) {
    copy.run(std::string("CREATE VIRTUAL TABLE ") + name + " USING cuckoo_filter(k INTEGER)");
    copy.run(std::string("INSERT INTO ") + name + "(" + name +
             ", k) VALUES ('import', filter_export('o.f'))");
  }
  uint64_t next = keys;
  uint64_t oldest = 0;
  const auto change = [&] {
    fill(origin, "f", added, [&](uint64_t i) { return random_key(next + i); });
    next += added;
    origin.run("CREATE TEMP TABLE gone(k)");
    fill(origin, "gone", removed, [&](uint64_t i) { return random_key(oldest + i); });
    oldest += removed;
    origin.run("INSERT INTO f(f, k) SELECT 'delete', k FROM gone; DROP TABLE gone");
    origin.run("DELETE FROM sent");
  };
  int64_t bytes = 0;
  const Alternated times(
      settings.rounds(),
      {change,
       [&] {
         origin.run("INSERT INTO sent SELECT filter_changes('f', x'" +
                    copy.text("SELECT hex(filter_mark('changed'))") + "')");
       },
       [&] {
         copy.run("INSERT INTO changed(changed, k) SELECT 'apply', bytes FROM o.sent");
         bytes = copy.integer("SELECT length(bytes) FROM o.sent");
       },
       [&] { origin.run("UPDATE sent SET bytes = filter_export('f')"); },
       [&] { copy.run("INSERT INTO replaced(replaced, k) SELECT 'import', bytes FROM o.sent"); }});
  const int64_t image = copy.integer("SELECT length(bytes) FROM o.sent");
  report.at_most(70, "length of the changes", static_cast<double>(bytes) / 1000, 1, "KB");
  report.show("length of the image", static_cast<double>(image) / 1000, 1, "KB");
  report.at_most(10, "filter_changes", 1000 * times.time(1), 2, "ms");
  report.at_most(15, "'apply'", 1000 * times.time(2), 2, "ms");
  report.show("filter_export", 1000 * times.time(3), 2, "ms");
  report.show("'import'", 1000 * times.time(4), 2, "ms");
  report.at_least(1, "filter_export / filter_changes", times.ratio(3, 1), 2, "x");
  report.at_least(1, "'import' / 'apply'", times.ratio(4, 2), 2, "x");
}

}  // namespace cuckoo::bench
