// filter_guard against the table itself, and against WHERE filter_contains in front of it.
#include <cstdint>
#include <string>

#include "tests/bench/sql_bench.hpp"

namespace cuckoo::bench {
namespace {

constexpr double kMostOfContains = 1.15;  // of the time with filter_contains, keys absent
constexpr double kLeastGain = 4;          // times faster than the index alone, keys absent
constexpr double kMostOfPresent = 1.4;    // of the time of the index alone, keys present
constexpr double kMostOfRowid = 2;        // of the time of WHERE id = ? in the table

double per_row(double seconds, uint64_t rows) { return seconds * 1e9 / static_cast<double>(rows); }

struct Sizes {
  uint64_t users;
  uint64_t requests;
  int rounds;
};

// Keys in no order: numbers, or the addresses made of them.
std::string key_of(const std::string& number, bool texts) {
  return texts ? "printf('user%d@example.org', " + number + ")" : number;
}

// `requests`: of a hundred, so many have a user.
void make_requests(const Connection& connection, const Sizes& sizes, int present, bool texts) {
  connection.run("DROP TABLE IF EXISTS requests; DROP TABLE IF EXISTS numbers");
  connection.run("CREATE TABLE numbers(k INTEGER)");
  fill(connection, "numbers", sizes.requests, [&](uint64_t i) {
    const auto random = static_cast<uint64_t>(random_key(i ^ 0x55555)) >> 8;
    const bool there = (i * 61 + 7) % 100 < static_cast<uint64_t>(present);
    return random_key(random % sizes.users + (there ? 0 : uint64_t{1} << 40));
  });
  connection.run("CREATE TABLE requests AS SELECT " + key_of("k", texts) + " AS k FROM numbers");
}

struct Form {
  const char* name;
  const char* before;  // of the table's name
  const char* after;
  const char* contains;  // instead of `after`
};
constexpr Form kForms[] = {
    {"JOIN … GROUP BY", "SELECT u.grp, count(*) FROM requests r JOIN ",
     " u ON u.k = r.k GROUP BY 1", " u ON u.k = r.k WHERE filter_contains('seen', r.k) GROUP BY 1"},
    {"JOIN … ORDER BY", "SELECT u.id FROM requests r JOIN ", " u ON u.k = r.k ORDER BY u.note",
     " u ON u.k = r.k WHERE filter_contains('seen', r.k) ORDER BY u.note"},
    {"EXISTS", "SELECT count(*) FROM requests r WHERE EXISTS (SELECT 1 FROM ",
     " u WHERE u.k = r.k)", " u WHERE u.k = r.k AND filter_contains('seen', r.k))"},
};

void compare_form(const Connection& connection, Report& report, const Sizes& sizes,
                  const Form& form, int present) {
  Prepared bare(connection, std::string(form.before) + "users" + form.after);
  Prepared contains(connection, std::string(form.before) + "users" + form.contains);
  Prepared guard(connection, std::string(form.before) + "guarded" + form.after);
  guard.run();
  const Alternated times(sizes.rounds,
                         {[&] { bare.run(); }, [&] { contains.run(); }, [&] { guard.run(); }});
  const std::string what = std::string(form.name) + ", " + std::to_string(present) + " % present: ";
  report.show(what + "index alone", per_row(times.time(0), sizes.requests), 0, "ns/row");
  report.show(what + "filter_contains", per_row(times.time(1), sizes.requests), 0, "ns/row");
  report.show(what + "guard", per_row(times.time(2), sizes.requests), 0, "ns/row");
  const bool exists = form.name == std::string("EXISTS");
  if (present == 0 && !exists) {
    report.at_most(kMostOfContains, what + "guard / filter_contains", times.ratio(2, 1), 2, "x");
    report.at_least(kLeastGain, what + "index / guard", times.ratio(0, 2), 2, "x");
  } else if (present == 100 && !exists) {
    report.at_most(kMostOfPresent, what + "guard / index", times.ratio(2, 0), 2, "x");
  } else {
    report.show(what + "guard / filter_contains", times.ratio(2, 1), 2, "x");
    report.show(what + "guard / index", times.ratio(2, 0), 2, "x");
  }
}

// One statement a key, prepared once.
void compare_points(const Connection& connection, Report& report, const Sizes& sizes,
                    const std::string& what, const std::string& column, uint64_t first,
                    double most) {
  Prepared bare(connection, "SELECT grp FROM users WHERE " + column + " = ?1");
  Prepared guard(connection, "SELECT grp FROM guarded WHERE " + column + " = ?1");
  const uint64_t count = sizes.requests / 3;
  const auto run = [&](Prepared& statement) {
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t place = static_cast<uint64_t>(random_key(i) >> 8) % sizes.users;
      statement.run(column == "id" ? static_cast<int64_t>(place + 1) : random_key(first + place));
    }
  };
  const Alternated times(sizes.rounds, {[&] { run(bare); }, [&] { run(guard); }});
  report.show(what + ": table", per_row(times.time(0), count), 0, "ns");
  report.show(what + ": guard", per_row(times.time(1), count), 0, "ns");
  if (most > 0) {
    report.at_most(most, what + ": guard / table", times.ratio(1, 0), 2, "x");
  } else {
    report.show(what + ": guard / table", times.ratio(1, 0), 2, "x");
  }
}

void compare_all(const Settings& settings, Report& report, bool texts) {
  const Sizes sizes = {settings.quick() ? uint64_t{20000} : uint64_t{1000000},
                       settings.quick() ? uint64_t{5000} : uint64_t{300000}, settings.rounds()};
  report.section(std::string("filter_guard, ") + (texts ? "TEXT" : "INTEGER") + " keys, " +
                 whole(sizes.requests) + " requests in no order, " + whole(sizes.users) + " users");
  Connection connection(":memory:");
  connection.run("CREATE TABLE loaded(k INTEGER)");
  fill(connection, "loaded", sizes.users, [](uint64_t i) { return random_key(i); });
  connection.run(std::string("CREATE TABLE users(id INTEGER PRIMARY KEY, k ") +
                 (texts ? "TEXT" : "INTEGER") + " UNIQUE, grp INTEGER, note TEXT)");
  connection.run("INSERT INTO users(k, grp, note) SELECT " + key_of("k", texts) +
                 ", rowid % 100, hex(rowid) FROM loaded");
  connection.run("DROP TABLE loaded");
  connection.run(
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(k, source = users(k), triggers = on, seed = "
      "1)");
  connection.run("CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
  for (const int present : {0, 2, 10, 50, 100}) {
    make_requests(connection, sizes, present, texts);
    for (const Form& form : kForms) {
      compare_form(connection, report, sizes, form, present);
    }
  }
  if (!texts) {
    compare_points(connection, report, sizes, "WHERE k = ?, absent", "k", uint64_t{1} << 40, 0);
    compare_points(connection, report, sizes, "WHERE k = ?, present", "k", 0, 0);
    compare_points(connection, report, sizes, "WHERE id = ?", "id", 0, kMostOfRowid);
  }
}

}  // namespace

void bench_guard(const Settings& settings, Report& report) {
  compare_all(settings, report, false);
  compare_all(settings, report, true);
}

}  // namespace cuckoo::bench
