// Connections of one process share equal pages and equal parts of an index in memory. No connection
// sees a change of another one before it is committed, and none can lose rows by sharing.
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_shared_memory_test {
namespace {

constexpr int kKeys = 60000;
constexpr int kRows = 20000;

struct Filter {
  const char* name;
  const char* definition;
};
constexpr Filter kFilters[] = {
    {"cuckoo", "cuckoo_filter(k, capacity = 60000, seed = 1)"},
    {"bloom", "bloom_filter(k, fpr = 1e-7, capacity = 60000, seed = 1)"},
    {"blocked", "bloom_filter(k, fpr = 1e-7, capacity = 60000, layout = blocked, seed = 1)"},
    {"counting", "bloom_filter(k, fpr = 1e-7, capacity = 60000, counting = on, seed = 1)"},
};

class SharedMemory : public testing::Test {
 protected:
  SharedMemory() {
    QuickDatabase db(path_);
    db.run(
        "PRAGMA journal_mode = WAL; CREATE TABLE keys(k); INSERT INTO keys {};"
        " CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '8MB', seed = 1);"
        "INSERT INTO kv SELECT k, 'value ' || k FROM keys WHERE k <= {}",
        numbers(1, kKeys), kRows);
    for (const Filter& filter : kFilters) {
      db.run("CREATE VIRTUAL TABLE {} USING {}; INSERT INTO {} SELECT k FROM keys", filter.name,
             filter.definition, filter.name);
    }
  }

  std::unique_ptr<QuickDatabase> open() const { return std::make_unique<QuickDatabase>(path_); }

  // Expects everything that was committed. The queries ask for a share of the keys, which are
  // enough to read every page.
  static void expect_all(Database& db, int keys, const char* context) {
    const std::string some =
        sql("(SELECT k FROM keys WHERE k % {} = {})", share_divisor(), share_first());
    const int64_t asked = db.number("SELECT count(*) FROM " + some);
    for (const Filter& filter : kFilters) {
      EXPECT_EQ(
          db.number("SELECT count(*) FROM {} CROSS JOIN {} AS f USING (k)", some, filter.name),
          asked)
          << filter.name << " " << context;
      EXPECT_EQ(db.number(std::string("SELECT count(*) FROM ") + filter.name), keys)
          << filter.name << " " << context;
    }
    EXPECT_EQ(
        db.number("SELECT count(*) FROM {} CROSS JOIN kv USING (k) WHERE v = 'value ' || k", some),
        db.number("SELECT count(*) FROM {} WHERE k <= {}", some, kRows))
        << context;
  }

  static void check_all(Database& db) {
    for (const Filter& filter : kFilters) {
      db.run("INSERT INTO {}({}) VALUES ('check')", filter.name, filter.name);
    }
    db.run("INSERT INTO kv(kv) VALUES ('check')");
  }

  // Changes so much that everything is folded. About every page and every part of the index
  // changes.
  static std::string change() {
    std::string sql = "UPDATE kv SET v = 'another ' || k;";
    for (const Filter& filter : kFilters) {
      sql += std::string("INSERT INTO ") + filter.name + " " + numbers(100001, 110000) + ";";
    }
    return sql;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("shared.db");
};

TEST_F(SharedMemory, each_further_connection_takes_little_and_gives_it_back) {
  const int64_t before = sqlite3_memory_used();
  std::vector<std::unique_ptr<QuickDatabase>> all;
  std::vector<int64_t> used;
  for (int i = 0; i < 5; ++i) {
    const int64_t start = sqlite3_memory_used();
    all.push_back(open());
    for (const Filter& filter : kFilters) {
      EXPECT_EQ(
          all.back()->number("SELECT count(*) FROM keys CROSS JOIN {} USING (k)", filter.name),
          kKeys);
    }
    EXPECT_EQ(all.back()->text("SELECT v FROM kv WHERE k = 7"), "value 7");
    all.back()->run("PRAGMA shrink_memory");  // of what was read of the ordinary table
    used.push_back(sqlite3_memory_used() - start);
  }
  for (size_t i = 1; i < used.size(); ++i) {
    EXPECT_LT(used[i], 300'000) << used[0];
  }
  all.erase(all.begin());  // the others have it all
  for (const auto& db : all) {
    expect_all(*db, kKeys, "without the first");
  }
  all.clear();
  EXPECT_EQ(sqlite3_memory_used(), before);
}

// SQLite's page cache keeps little of what we loaded: nobody would read it there.
TEST_F(SharedMemory, is_not_also_in_the_page_cache) {
  const auto used_by_cache = [this](const char* cache_size) {
    const auto db = open();
    db->run(std::string("PRAGMA cache_size = ") + cache_size);
    db->gives(sql("SELECT sum(filter_contains('counting', i)) FROM ({})", numbers(1, kKeys)),
              kKeys);
    int used = 0;
    int most = 0;
    sqlite3_db_status(db->handle(), SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0);
    return used;
  };
  EXPECT_LT(used_by_cache("-2000"), 350'000);
  EXPECT_GT(used_by_cache("-16000"), 1'000'000);  // as the application wants it
}

TEST_F(SharedMemory, is_not_changed_by_what_is_rolled_back_or_not_committed) {
  const auto one = open();
  const auto two = open();
  const auto three = open();
  for (const auto* db : {&one, &two, &three}) {
    expect_all(**db, kKeys, "at first");
  }
  one->run("BEGIN; SAVEPOINT s;" + change());
  one->gives("SELECT count(*) FROM cuckoo", kKeys + 10000);
  expect_all(*two, kKeys, "while another one changes");
  one->run("ROLLBACK TO s");
  expect_all(*one, kKeys, "after a rollback to a savepoint");
  one->run(change());
  one->run("ROLLBACK");
  expect_all(*one, kKeys, "after a rollback");
  expect_all(*two, kKeys, "after a rollback of another one");
  check_all(*one);

  two->gives("BEGIN; SELECT count(*) FROM cuckoo", kKeys);
  two->gives("SELECT count(*) FROM kv WHERE k = 1 AND v = 'value 1'", 1);
  one->run(change() + "UPDATE kv SET v = 'value ' || k");
  expect_all(*one, kKeys + 10000, "that it committed");
  expect_all(*three, kKeys + 10000, "that another one committed");
  expect_all(*two, kKeys, "in a transaction from before");
  two->run("COMMIT");
  expect_all(*two, kKeys + 10000, "when its transaction ended");
  const auto fresh = open();
  expect_all(*fresh, kKeys + 10000, "of a new connection");
  for (const auto* db : {&one, &two, &three, &fresh}) {
    check_all(**db);
  }
}

TEST_F(SharedMemory, outlives_rebuild_growth_and_vacuum_of_another_connection) {
  const auto one = open();
  const auto two = open();
  expect_all(*two, kKeys, "at first");
  two->gives("BEGIN; SELECT count(*) FROM cuckoo", kKeys);
  one->run(
      "INSERT INTO cuckoo(cuckoo) VALUES ('rebuild');"
      "INSERT INTO bloom(bloom, k) VALUES ('resize', 100000);"
      "INSERT INTO kv(kv) VALUES ('collect')");
  expect_all(*two, kKeys, "in a transaction from before");
  two->run("COMMIT");
  expect_all(*two, kKeys, "after it");
  one->run("VACUUM");
  for (const auto* db : {&one, &two}) {
    expect_all(**db, kKeys, "after VACUUM");
    check_all(**db);
  }
}

TEST_F(SharedMemory, has_no_page_that_is_damaged) {
  const auto two = open();
  two->run(std::string("CREATE TABLE saved AS SELECT id, block FROM cuckoo_data WHERE ") +
           kPageRows);
  const auto one = open();
  expect_all(*one, kKeys, "at first");
  two->run(std::string("UPDATE cuckoo_data SET block ="
                       " CAST(zeroblob(10) || substr(block, 11) AS BLOB) WHERE ") +
           kPageRows);
  const auto damaged = open();
  const std::string ask = "SELECT count(*) FROM keys CROSS JOIN cuckoo USING (k)";
  damaged->refuses(ask, SQLITE_CORRUPT);
  one->gives(ask, kKeys);  // as it was read
  two->run(std::string("UPDATE cuckoo_data SET block = (SELECT block FROM saved WHERE id ="
                       " cuckoo_data.id) WHERE ") +
           kPageRows);
  expect_all(*damaged, kKeys, "that was repaired");
  expect_all(*one, kKeys, "beside it");
}

// With every page shared, memory for the first change runs out at every point.
TEST_F(SharedMemory, is_kept_when_there_is_no_memory_to_change_it) {
  const auto other = open();
  expect_all(*other, kKeys, "at first");
  const std::string changes = change();
  int failures = 0;
  bool done = false;
  for (int64_t above = 1000; above < 30'000'000 && !done; above += above / 2) {
    const auto db = open();
    expect_all(*db, kKeys, "before");
    Outcome outcome;
    {
      const MemoryLimiter limit(above);
      outcome = db->attempt("BEGIN; " + changes);
    }
    const int code = outcome.code & 0xFF;
    ASSERT_TRUE(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_IOERR)
        << above << ": " << outcome.code << " " << outcome.message;
    failures += code == SQLITE_OK ? 0 : 1;
    done = code == SQLITE_OK;
    db->attempt("ROLLBACK");
    expect_all(*db, kKeys, "after a failure");
    expect_all(*other, kKeys, "after a failure of another one");
  }
  EXPECT_TRUE(done);
  EXPECT_GT(failures, 5);
  check_all(*other);
}

// Memory runs out while the pages themselves are loaded.
TEST_F(SharedMemory, is_loaded_or_not_when_memory_runs_out) {
  const auto other = open();
  expect_all(*other, kKeys, "at first");
  int failures = 0;
  bool done = false;
  for (int64_t above = 1000; above < 30'000'000 && !done; above += above / 2) {
    const auto db = open();
    Outcome outcome;
    {
      const MemoryLimiter limit(above);
      outcome = db->attempt(
          "SELECT count(*) FROM keys CROSS JOIN cuckoo USING (k);"
          "SELECT count(*) FROM keys CROSS JOIN kv USING (k) WHERE k < 100");
    }
    const int code = outcome.code & 0xFF;
    ASSERT_TRUE(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_IOERR)
        << above << ": " << outcome.code << " " << outcome.message;
    failures += code == SQLITE_OK ? 0 : 1;
    done = code == SQLITE_OK;
    expect_all(*db, kKeys, "after a failure");
  }
  EXPECT_TRUE(done);
  EXPECT_GT(failures, 5);
}

#if !defined(_WIN32)  // no process there has children that begin as its copies
TEST_F(SharedMemory, a_child_process_has_its_own_and_may_just_exit) {
  const auto one = open();
  const auto two = open();
  expect_all(*one, kKeys, "at first");
  expect_all(*two, kKeys, "at first");
  for (const bool exits : {true, false}) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      if (exits) {
        std::exit(0);
      }
      const auto own = open();
      expect_all(*own, kKeys, "of a child");
      own->run("BEGIN; {}ROLLBACK", change());
      expect_all(*own, kKeys, "of a child");
      _exit(HasFailure() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  one->run("BEGIN; {}ROLLBACK", change());
  expect_all(*one, kKeys, "of the parent");
  expect_all(*two, kKeys, "of the parent");
}
#endif

}  // namespace
}  // namespace cuckoo::test::table_shared_memory_test
