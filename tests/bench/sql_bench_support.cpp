#include "tests/bench/sql_bench_support.hpp"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "tests/support/extension_path.hpp"

namespace cuckoo::bench {
namespace {

[[noreturn]] void fail(const std::string& what, sqlite3* db) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n  %s\n", what.c_str(), sqlite3_errmsg(db));
  std::exit(2);
}

void expect(bool good, const std::string& what, sqlite3* db) {
  if (!good) {
    fail(what, db);
  }
}

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// --- the do-nothing table

struct NothingTable : sqlite3_vtab {
  const Answer* answer;
};

struct NothingCursor : sqlite3_vtab_cursor {
  uint64_t state;
  bool row;
};

int connect(sqlite3* db, void* client, int count, const char* const* texts, sqlite3_vtab** vtab,
            char**) {
  const std::string key = count > 3 ? texts[3] : "k INTEGER";
  const std::string declaration = "CREATE TABLE x(" + key + " PRIMARY KEY, count HIDDEN, \"" +
                                  texts[2] + "\" HIDDEN) WITHOUT ROWID";
  const int code = sqlite3_declare_vtab(db, declaration.c_str());
  if (code == SQLITE_OK) {
    *vtab = new NothingTable{{}, static_cast<const Answer*>(client)};
  }
  return code;
}

int disconnect(sqlite3_vtab* vtab) {
  delete static_cast<NothingTable*>(vtab);
  return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  for (int i = 0; i < info->nConstraint; ++i) {
    const auto& constraint = info->aConstraint[i];
    if (constraint.usable != 0 && constraint.iColumn == 0 &&
        constraint.op == SQLITE_INDEX_CONSTRAINT_EQ) {
      info->aConstraintUsage[i].argvIndex = 1;
      info->aConstraintUsage[i].omit = 1;
      info->estimatedCost = 100;
      info->estimatedRows = 1;
      info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
      return SQLITE_OK;
    }
  }
  return SQLITE_CONSTRAINT;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
  *cursor = new NothingCursor{{}, 1, false};
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<NothingCursor*>(cursor);
  return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* base, int, const char*, int, sqlite3_value**) {
  auto* cursor = static_cast<NothingCursor*>(base);
  switch (*static_cast<NothingTable*>(cursor->pVtab)->answer) {
    case Answer::kNever:
      cursor->row = false;
      break;
    case Answer::kAlways:
      cursor->row = true;
      break;
    case Answer::kAlternately:
      cursor->row = (++cursor->state & 1) != 0;
      break;
    case Answer::kAtRandom:
      cursor->state = cursor->state * 0x5851F42D4C957F2D + 0x14057B7EF767814F;
      cursor->row = (cursor->state >> 63) != 0;
      break;
  }
  return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
  static_cast<NothingCursor*>(cursor)->row = false;
  return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* cursor) { return static_cast<NothingCursor*>(cursor)->row ? 0 : 1; }

int column(sqlite3_vtab_cursor*, sqlite3_context*, int) { return SQLITE_OK; }  // NULL

int rowid(sqlite3_vtab_cursor*, sqlite3_int64* id) {
  *id = 0;
  return SQLITE_OK;
}

int update(sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64*) { return SQLITE_OK; }

int transaction(sqlite3_vtab*) { return SQLITE_OK; }

int savepoint(sqlite3_vtab*, int) { return SQLITE_OK; }

const sqlite3_module& nothing_module() {
  static const sqlite3_module module = [] {
    sqlite3_module made{};
    made.iVersion = 2;
    made.xCreate = made.xConnect = connect;
    made.xDestroy = made.xDisconnect = disconnect;
    made.xBestIndex = best_index;
    made.xOpen = open_cursor;
    made.xClose = close_cursor;
    made.xFilter = filter;
    made.xNext = next;
    made.xEof = eof;
    made.xColumn = column;
    made.xRowid = rowid;
    made.xUpdate = update;
    made.xBegin = made.xSync = made.xCommit = made.xRollback = transaction;
    made.xSavepoint = made.xRelease = made.xRollbackTo = savepoint;
    return made;
  }();
  return module;
}

void remove_database(const std::string& path) {
  for (const char* suffix : {"", "-journal", "-wal", "-shm"}) {
    std::error_code ignored;
    std::filesystem::remove(path + suffix, ignored);
  }
}

std::string number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace

// --- SQL

Connection::Connection(const std::string& path) {
  expect(sqlite3_open(path.c_str(), &db_) == SQLITE_OK, path, db_);
  sqlite3_enable_load_extension(db_, 1);
  char* error = nullptr;
  if (sqlite3_load_extension(db_, test::extension_path(), nullptr, &error) != SQLITE_OK) {
    fail(error != nullptr ? error : test::extension_path(), db_);
  }
  expect(sqlite3_create_module(db_, "do_nothing", &nothing_module(), &answer_) == SQLITE_OK,
         "do_nothing", db_);
}

Connection::~Connection() { sqlite3_close(db_); }

void Connection::run(const std::string& sql) const {
  expect(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, sql, db_);
}

int64_t Connection::integer(const std::string& sql) const { return Prepared(*this, sql).run(); }

std::string Connection::text(const std::string& sql) const {
  std::string result;
  const auto take = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = values[0] != nullptr ? values[0] : "";
    return 1;  // the first row only
  };
  const int code = sqlite3_exec(db_, sql.c_str(), take, &result, nullptr);
  expect(code == SQLITE_OK || code == SQLITE_ABORT, sql, db_);
  return result;
}

std::string Connection::inner_plan(const std::string& sql) const {
  std::string result;
  const auto take = [](void* to, int count, char** values, char**) {
    *static_cast<std::string*>(to) = values[count - 1];
    return 0;
  };
  const std::string explain = "EXPLAIN QUERY PLAN " + sql;
  expect(sqlite3_exec(db_, explain.c_str(), take, &result, nullptr) == SQLITE_OK, explain, db_);
  return result;
}

int64_t Connection::changes() const { return sqlite3_changes(db_); }

int64_t Connection::cache_misses() const {
  int now = 0;
  int highest = 0;
  sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_MISS, &now, &highest, 0);
  return now;
}

int64_t Connection::bytes_in_use() const {
  return (integer("PRAGMA page_count") - integer("PRAGMA freelist_count")) *
         integer("PRAGMA page_size");
}

Prepared::Prepared(const Connection& connection, const std::string& sql) : db_(connection.db_) {
  expect(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr) == SQLITE_OK, sql, db_);
}

Prepared::~Prepared() { sqlite3_finalize(statement_); }

int64_t Prepared::run(const std::string& parameter) {
  sqlite3_bind_text64(statement_, 1, parameter.data(), parameter.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
  return run();
}

int64_t Prepared::run(int64_t parameter) {
  sqlite3_bind_int64(statement_, 1, parameter);
  return run();
}

int64_t Prepared::run() {
  int64_t result = 0;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement_)) == SQLITE_ROW) {
    result = sqlite3_column_int64(statement_, 0);
  }
  expect(code == SQLITE_DONE, sqlite3_sql(statement_), db_);
  sqlite3_reset(statement_);
  return result;
}

ScratchFile::ScratchFile(const std::string& name)
    : path_((std::filesystem::temp_directory_path() / name).string()) {
  remove_database(path_);
}

ScratchFile::~ScratchFile() { remove_database(path_); }

int64_t random_key(uint64_t i) { return static_cast<int64_t>(mix(i) >> 1); }

void fill(const Connection& connection, const std::string& table, uint64_t count,
          const std::function<int64_t(uint64_t)>& key) {
  connection.run("BEGIN");
  {
    Prepared insert(connection, "INSERT INTO " + table + " VALUES (?1)");
    for (uint64_t i = 0; i < count; ++i) {
      insert.run(key(i));
    }
  }
  connection.run("COMMIT");
}

// --- time

double seconds(Clock clock) {
  timespec time{};
  clock_gettime(clock == Clock::kWall ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Alternated::Alternated(int rounds, const std::vector<std::function<void()>>& runs, Clock clock)
    : times_(runs.size()) {
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const double start = seconds(clock);
      runs[i]();
      times_[i].push_back(seconds(clock) - start);
    }
  }
}

double Alternated::ratio(size_t a, size_t b) const {
  std::vector<double> ratios;
  for (size_t round = 0; round < times_[a].size(); ++round) {
    ratios.push_back(times_[a][round] / times_[b][round]);
  }
  return median(ratios);
}

// --- the table

void Report::section(const std::string& title) {
  section_ = title;
  open_ = false;
  std::printf("\n%s\n", title.c_str());
}

void Report::note(const std::string& text) const { std::printf("%s\n", text.c_str()); }

void Report::row(const std::string& what, const std::string& value, const std::string& budget,
                 const std::string& verdict) {
  const auto print = [](const std::string& a, const std::string& b, const std::string& c,
                        const std::string& d) {
    std::printf("| %-56s | %14s | %10s | %-4s |\n", a.c_str(), b.c_str(), c.c_str(), d.c_str());
  };
  if (!open_) {
    std::printf("\n");
    print("what", "measured", "budget", "");
    print(std::string(56, '-'), std::string(14, '-'), std::string(10, '-'), "----");
    open_ = true;
  }
  print(what, value, budget, verdict);
  std::fflush(stdout);
}

void Report::show(const std::string& what, double value, int decimals, const std::string& unit) {
  row(what, number(value, decimals) + " " + unit, "", "");
}

void Report::judge(bool good, const char* relation, double limit, const std::string& what,
                   double value, int decimals, const std::string& unit) {
  const std::string measured = number(value, decimals) + " " + unit;
  const std::string budget = relation + number(limit, decimals);
  ++judged_;
  if (!good) {
    missed_.push_back(section_ + ": " + what + ": " + measured + ", budget " + budget);
  }
  row(what, measured, budget, !judge_ ? "" : good ? "PASS" : "FAIL");
}

void Report::at_most(double limit, const std::string& what, double value, int decimals,
                     const std::string& unit) {
  judge(value <= limit, "<= ", limit, what, value, decimals, unit);
}

void Report::at_least(double limit, const std::string& what, double value, int decimals,
                      const std::string& unit) {
  judge(value >= limit, ">= ", limit, what, value, decimals, unit);
}

int Report::finish() const {
  if (!judge_) {
    std::printf("\nSmoke run: too small to judge the %d budgets.\n", judged_);
    return 0;
  }
  std::printf("\n%d of %d budgets are met.\n", judged_ - static_cast<int>(missed_.size()), judged_);
  for (const std::string& missed : missed_) {
    std::printf("FAIL  %s\n", missed.c_str());
  }
  return static_cast<int>(missed_.size());
}

}  // namespace cuckoo::bench
