// A large filter that is made larger, or compacted, in steps: through SQL, beside an ordinary
// table, with roll-backs, other connections and everything that may come in between.
#include "tests/support/database.hpp"

namespace cuckoo::test {
namespace {

// Pages of 512 bytes: more than 128 of them hold 15,000 keys, and a tail is a third of that.
struct Kind {
  const char* name;
  const char* module;
  bool removes;
};

const Kind kKinds[] = {
    {"cuckoo", "cuckoo_filter(k, capacity = 15000, fingerprint_bits = 32, seed = 1)", true},
    {"unique", "cuckoo_filter(k, capacity = 15000, fingerprint_bits = 32, unique = on, seed = 1)",
     true},
    {"standard", "bloom_filter(k, capacity = 15000, fpr = 1e-7, seed = 1)", false},
    {"blocked", "bloom_filter(k, capacity = 15000, fpr = 1e-7, layout = blocked, seed = 1)", false},
};

class GrowthInSteps : public testing::TestWithParam<Kind> {
 protected:
  static std::string create() {
    return std::string("CREATE VIRTUAL TABLE f USING ") + GetParam().module;
  }
  static void make(Database& db) {
    db.run("PRAGMA page_size = 512; VACUUM");
    db.run(create());
    db.run("CREATE TABLE mirror(k INTEGER PRIMARY KEY)");
  }
  static void insert(Database& db, int64_t first, int64_t end) {
    const std::string rows = " WITH RECURSIVE c(i) AS (VALUES (" + std::to_string(first) +
                             ") UNION ALL SELECT i + 1 FROM c WHERE i < " +
                             std::to_string(end - 1) + ") SELECT i FROM c";
    db.run("INSERT INTO f" + rows + "; INSERT INTO mirror" + rows);
  }
  static void add(Database& db, int64_t first, int64_t end) {
    db.run("BEGIN");
    insert(db, first, end);
    db.run("COMMIT");
  }
  // Until half of the next epoch stands.
  static int64_t add_until_half_made(Database& db) {
    int64_t next = 0;
    do {
      add(db, next, next + 100);
      next += 100;
    } while (next < 20000 && db.number("SELECT count(DISTINCT id >> 40) FROM f_log") < 2);
    EXPECT_TRUE(half_made(db));
    return next;
  }
  static void expect_same(Database& db) {
    EXPECT_EQ(db.number("SELECT count(*) FROM mirror m WHERE NOT EXISTS"
                        " (SELECT 1 FROM f WHERE f.k = m.k)"),
              0);
    EXPECT_EQ(db.number("SELECT count(*) FROM f"), db.number("SELECT count(*) FROM mirror"));
    db.run("INSERT INTO f(f) VALUES ('check')");
  }
  static bool half_made(Database& db) {
    return db.number("SELECT count(*) FROM f_config WHERE key = 'next_epoch'") > 0;
  }
  static int64_t epoch(Database& db) { return db.number("SELECT max(id) >> 40 FROM f_pages"); }
  static std::string bytes(Database& db) {
    return db.text("SELECT group_concat(key || quote(value), ' ') FROM f_config") +
           db.text("SELECT group_concat(id || hex(page), ' ') FROM f_pages") +
           db.text("SELECT group_concat(id || hex(entries), ' ') FROM f_log");
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, GrowthInSteps, testing::ValuesIn(kKinds),
                         [](const auto& info) { return info.param.name; });

TEST_P(GrowthInSteps, every_commit_leaves_a_filter_that_answers) {
  QuickDatabase db(":memory:");
  make(db);
  uint64_t steps = 0;
  for (int64_t i = 0; i < 24000; i += 200) {
    add(db, i, i + 200);
    steps += half_made(db) ? 1 : 0;
    if (i % 2000 == 0 || (half_made(db) && i % 600 == 0)) {
      expect_same(db);
    }
  }
  EXPECT_GT(steps, 10u);
  EXPECT_GE(db.number("SELECT capacity FROM filter_info('f')"), 24000);
  expect_same(db);
  EXPECT_EQ(db.text("PRAGMA integrity_check"), "ok");
}

// What is on disk depends on what was committed, not on who did it, nor on what was taken back.
TEST_P(GrowthInSteps, whoever_makes_the_steps_leaves_the_same_bytes) {
  QuickDatabase alone(":memory:");
  make(alone);
  const TemporaryFolder folder;
  const std::string path = folder.file("shared.db");
  {
    QuickDatabase first(path);
    make(first);
  }
  QuickDatabase one(path);
  QuickDatabase other(path);
  int64_t half = 0;
  for (int64_t i = 0; i < 24000; i += 250) {
    add(alone, i, i + 250);
    const int64_t turn = i / 250 % 5;
    Database& writer = turn < 2 ? one : other;
    if (turn == 1) {
      writer.run("BEGIN");
      insert(writer, i, i + 900);
      writer.run("ROLLBACK");
    } else if (turn == 2) {
      writer.run("BEGIN; SAVEPOINT s");
      insert(writer, i + 100, i + 700);
      writer.run("ROLLBACK TO s; COMMIT");
    }
    if (turn == 4) {
      QuickDatabase guest(path);
      add(guest, i, i + 250);
    } else {
      add(writer, i, i + 250);
    }
    if (half_made(alone) || i % 2500 == 0) {
      ++half;
      ASSERT_EQ(bytes(alone), bytes(turn < 2 ? other : one)) << "behind key " << i;
    }
  }
  EXPECT_GT(half, 15);
  expect_same(one);
}

// 'rebuild' and the like make everything anew, whatever stood there.
TEST_P(GrowthInSteps, commands_in_between_leave_nothing_of_other_epochs) {
  const char* const commands[] = {
      "INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f, k) VALUES ('resize', 30000)",
      "INSERT INTO f(f, k) VALUES ('import', filter_export('f', 'hashes'))"};
  for (const char* command : commands) {
    QuickDatabase db(":memory:");
    make(db);
    const int64_t end = add_until_half_made(db);
    EXPECT_GT(db.number("SELECT count(DISTINCT id >> 40) FROM f_log"), 1);
    db.run(command);
    EXPECT_EQ(db.number("SELECT count(DISTINCT id >> 40) FROM f_log"), 1) << command;
    EXPECT_EQ(db.number("SELECT count(DISTINCT id >> 40) FROM f_pages"), 1) << command;
    EXPECT_FALSE(half_made(db));
    expect_same(db);
    add(db, end, end + 5000);
    expect_same(db);
  }
}

TEST_P(GrowthInSteps, a_table_is_renamed_copied_and_dropped_in_between) {
  QuickDatabase db(":memory:");
  make(db);
  const int64_t end = add_until_half_made(db);
  const TemporaryFolder folder;
  db.run("VACUUM INTO '" + folder.file("copy.db") + "'");
  QuickDatabase copy(folder.file("copy.db"));
  copy.run("ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f");
  for (int64_t i = end; i < end + 6000; i += 300) {
    add(db, i, i + 300);
    add(copy, i, i + 300);
    ASSERT_EQ(bytes(copy), bytes(db));
  }
  expect_same(copy);
  copy.run("DROP TABLE f");
  EXPECT_EQ(copy.text("SELECT group_concat(name) FROM sqlite_schema"), "mirror");
}

// A trigger on a shadow table stops a step in the middle.
TEST_P(GrowthInSteps, a_step_that_is_stopped_takes_its_statement_back) {
  QuickDatabase db(":memory:");
  make(db);
  const int64_t end = add_until_half_made(db);
  for (const char* table : {"f_log", "f_pages", "f_config"}) {
    const int64_t epoch = GrowthInSteps::epoch(db);
    db.run(std::string("CREATE TEMP TRIGGER stop BEFORE INSERT ON main.") + table +
           " BEGIN SELECT RAISE(ABORT, 'stopped'); END");
    Outcome outcome;
    int64_t tries = 0;
    for (int64_t i = end; outcome.code == SQLITE_OK && tries < 6000; ++i, ++tries) {
      outcome =
          db.attempt("BEGIN; INSERT INTO f VALUES (" + std::to_string(100000 + i) + "); ROLLBACK");
    }
    db.attempt("ROLLBACK");
    db.run("DROP TRIGGER stop");
    EXPECT_EQ(GrowthInSteps::epoch(db), epoch);
    expect_same(db);
  }
  add(db, end, end + 6000);
  expect_same(db);
}

TEST_P(GrowthInSteps, a_damaged_account_is_named_and_clear_begins_anew) {
  QuickDatabase db(":memory:");
  make(db);
  const int64_t end = add_until_half_made(db);
  db.run("UPDATE f_config SET value = x'00' WHERE key = 'next_epoch'");
  db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT,
             {"f", "account of other epochs that is none"});
  EXPECT_EQ(db.number("SELECT count(*) FROM mirror m WHERE NOT EXISTS"
                      " (SELECT 1 FROM f WHERE f.k = m.k)"),
            0)
      << "nobody who asks needs it";
  db.refuses("WITH RECURSIVE c(i) AS (VALUES (" + std::to_string(end) +
                 ") UNION ALL SELECT i + 1 FROM c WHERE i < 90000) INSERT INTO f SELECT i FROM c",
             SQLITE_CORRUPT, {"f", "account of other epochs"});
  db.run("INSERT INTO f(f) VALUES ('clear'); DELETE FROM mirror");
  EXPECT_FALSE(half_made(db));
  add(db, 0, 3000);
  expect_same(db);
}

TEST_P(GrowthInSteps, disk_bytes_count_what_stands_of_other_epochs) {
  QuickDatabase db(":memory:");
  make(db);
  (void)add_until_half_made(db);
  const int64_t rows =
      db.number("SELECT (SELECT count(*) FROM f_pages) + (SELECT count(*) FROM f_log)");
  const int64_t bytes = db.number("SELECT disk_bytes FROM filter_info('f')");
  EXPECT_GE(bytes, rows * 512);
  EXPECT_LE(bytes, (rows + 20) * 512);
}

// Where as many keys go as come, the filter stays as large as it is, and its log is compacted.
TEST_P(GrowthInSteps, churn_grows_nothing) {
  if (!GetParam().removes) {
    return;
  }
  QuickDatabase db(":memory:");
  make(db);
  add(db, 0, 14800);
  const int64_t capacity = db.number("SELECT capacity FROM filter_info('f')");
  const int64_t first = epoch(db);
  for (int64_t i = 0; i < 36000; i += 300) {
    db.run("BEGIN; DELETE FROM mirror WHERE k IN (SELECT k FROM mirror ORDER BY k LIMIT 300)");
    const std::string keys = std::to_string(i) + ") UNION ALL SELECT i + 1 FROM c WHERE i < " +
                             std::to_string(i + 299) + ")";
    db.run("WITH RECURSIVE c(i) AS (VALUES (" + keys +
           " DELETE FROM f WHERE k IN (SELECT i FROM c)");
    insert(db, 14800 + i, 14800 + i + 300);
    db.run("COMMIT");
  }
  EXPECT_EQ(db.number("SELECT capacity FROM filter_info('f')"), capacity);
  EXPECT_GT(epoch(db), first);
  EXPECT_LT(db.number("SELECT log_entries FROM filter_info('f')"), 60000);
  expect_same(db);
}

// All keys were removed, and the log is mostly dead: the next epoch is made of nothing.
TEST_P(GrowthInSteps, an_epoch_made_of_nothing_leaves_nothing_of_the_one_before) {
  if (!GetParam().removes) {
    return;
  }
  QuickDatabase db(":memory:");
  make(db);
  for (int64_t i = 0; i < 6000; i += 200) {
    add(db, i, i + 200);
  }
  db.run(
      "BEGIN; DELETE FROM mirror;"
      "WITH RECURSIVE c(i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM c WHERE i < 5999)"
      " DELETE FROM f WHERE k IN (SELECT i FROM c); COMMIT");
  for (int64_t i = 10000; i < 20000; i += 150) {
    add(db, i, i + 150);
    expect_same(db);
    ASSERT_FALSE(HasFailure()) << "behind key " << i;
  }
}

// Not a constraint: OR IGNORE would leave the row out and say nothing.
TEST_P(GrowthInSteps, rows_that_stand_in_the_way_are_damage) {
  for (const char* table : {"f_log(id, entries)", "f_pages(id, page)"}) {
    QuickDatabase db(":memory:");
    make(db);
    int64_t next = 0;
    while (!half_made(db) && next < 20000) {
      add(db, next, next + 100);
      next += 100;
    }
    const std::string first = std::to_string((epoch(db) + 1) << 40);
    db.run(std::string("INSERT OR REPLACE INTO ") + table + " VALUES (" + first +
           " + 20, x'00'), (" + first + " + 40, x'00')");
    Outcome outcome;
    for (; outcome.code == SQLITE_OK && next < 30000; ++next) {
      outcome = db.attempt("INSERT OR IGNORE INTO f VALUES (" + std::to_string(next) + ")");
    }
    EXPECT_EQ(outcome.code, SQLITE_IOERR) << "half a step is written: all is rolled back";
    EXPECT_NE(outcome.message.find("f: corrupt: "), std::string::npos) << outcome.message;
    EXPECT_NE(outcome.message.find("is there, where none is expected"), std::string::npos)
        << outcome.message;
    db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO f(f) VALUES ('check')");
  }
}

TEST_P(GrowthInSteps, an_account_that_is_none_is_told_and_can_be_made_anew) {
  for (const char* value : {"5", "x''", "NULL", "'text'", "x'00'"}) {
    for (const char* command : {"rebuild", "clear"}) {
      SCOPED_TRACE(std::string(value) + " " + command);
      QuickDatabase db(":memory:");
      make(db);
      (void)add_until_half_made(db);
      db.run(std::string("UPDATE f_config SET value = ") + value + " WHERE key = 'next_epoch'");
      db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT_VTAB, {"f: "});
      db.run(std::string("INSERT INTO f(f) VALUES ('") + command + "')");
      db.run("INSERT INTO f(f) VALUES ('check')");
      EXPECT_FALSE(half_made(db));
    }
  }
}

// Behind the back of a connection that has them in memory.
TEST_P(GrowthInSteps, a_log_that_lost_rows_becomes_no_epoch) {
  QuickDatabase db(":memory:");
  make(db);
  int64_t next = add_until_half_made(db);
  const int64_t before = epoch(db);
  db.run(
      "DELETE FROM f_log WHERE id = (SELECT max(id) - 5 FROM f_log WHERE id < (SELECT max(id)"
      " FROM f_log) >> 40 << 40)");
  Outcome outcome;
  for (; outcome.code == SQLITE_OK && next < 30000; ++next) {
    outcome = db.attempt("INSERT INTO f VALUES (" + std::to_string(next) + ")");
  }
  EXPECT_EQ(outcome.code, SQLITE_CORRUPT_VTAB) << next;
  EXPECT_NE(outcome.message.find("f: corrupt: log row"), std::string::npos) << outcome.message;
  EXPECT_LE(epoch(db), before + 1) << "at most, the next one is half made";
  db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT_VTAB, {"f: corrupt: log row"});
}

}  // namespace
}  // namespace cuckoo::test
