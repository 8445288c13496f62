// SQLite rolls back in the middle of a nested statement of ours (LiveTable C4): a trigger on a
// shadow table stops the n-th write to it, whatever was under way. Afterwards memory holds what the
// shadow tables hold, and these hold what was committed before.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_nested_rollback_test {
namespace {

struct Kind {
  const char* name;
  const char* create;  // of table t with a key k
  std::vector<const char*> shadow_tables;

  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

const Kind kKinds[] = {
    {"cuckoo",
     "CREATE VIRTUAL TABLE t USING cuckoo_filter(k INTEGER, capacity = 100, seed = 1)",
     {"data"}},
    {"bloom",
     "CREATE VIRTUAL TABLE t USING bloom_filter(k INTEGER, capacity = 500, seed = 1)",
     {"data"}},
    {"counting",
     "CREATE VIRTUAL TABLE t USING bloom_filter(k INTEGER, counting = on, capacity = 10000,"
     " growth = off, seed = 1)",
     {"data"}},
    {"window",
     "CREATE VIRTUAL TABLE t USING bloom_filter(k INTEGER, generations = 3, capacity = 5000,"
     " seed = 1)",
     {"data"}},
    {"flash",
     "CREATE VIRTUAL TABLE t USING flash_kv(k INTEGER, v, size = '4MB')",
     {"config", "pages"}},
};

// Keys 1 … 50 are committed; these statements add others.
const char* const kChanges[] = {
    "INSERT INTO t(k) SELECT value FROM generate WHERE value BETWEEN 1001 AND 4000",
    "BEGIN; INSERT INTO t(k) SELECT value FROM generate WHERE value BETWEEN 1001 AND 1100; COMMIT",
    "BEGIN; INSERT INTO t(k) VALUES (1001); SAVEPOINT s; INSERT INTO t(k) VALUES (1002); COMMIT",
    ("SAVEPOINT a; INSERT INTO t(k) VALUES (1001); SAVEPOINT b; INSERT INTO t(k) VALUES (1002);"
     " RELEASE b; RELEASE a"),
    "BEGIN; INSERT INTO t(k) VALUES (1001); INSERT INTO t(t) VALUES ('check'); COMMIT",
};

class NestedRollback : public testing::TestWithParam<Kind> {};

int64_t held(QuickDatabase& db, int first, int last) {
  return db.number(
      "SELECT count(*) FROM generate JOIN t ON t.k = value WHERE value BETWEEN {} AND {}", first,
      last);
}

void make(QuickDatabase& db, const Kind& kind) {
  db.run(kind.create);
  db.run(
      "CREATE TABLE generate(value INTEGER PRIMARY KEY); INSERT INTO generate {};"
      "INSERT INTO t(k) SELECT value FROM generate WHERE value <= 50;"
      "CREATE TABLE other(a UNIQUE)",
      numbers(1, 9000));
}

void make_triggers(QuickDatabase& db, const std::string& shadow, const std::string& body) {
  for (const std::string event : {"INSERT", "UPDATE"}) {
    db.run("CREATE TRIGGER on_{} BEFORE {} ON t_{} BEGIN {}; END", event, event, shadow, body);
  }
}

void drop_triggers(QuickDatabase& db) { db.run("DROP TRIGGER on_INSERT; DROP TRIGGER on_UPDATE"); }

// Memory must hold what another connection reads, and the table must still take and keep new keys.
void expect_goes_on(QuickDatabase& db, QuickDatabase& other) {
  EXPECT_EQ(held(db, 1, 50), 50);
  other.gives("SELECT count(*) FROM t", db.text("SELECT count(*) FROM t"));
  EXPECT_EQ(held(other, 51, 4000), held(db, 51, 4000));
  db.run("INSERT INTO t(k) SELECT value FROM generate WHERE value > 8000");
  EXPECT_EQ(held(db, 8001, 9000), 1000);
  db.run("INSERT INTO t(t) VALUES ('check')");
  EXPECT_EQ(held(other, 8001, 9000), 1000);
  other.run("INSERT INTO t(t) VALUES ('check')");
}

TEST_P(NestedRollback, leaves_what_was_committed) {
  const bool exact = std::string(GetParam().name) == "flash";
  int stopped = 0;
  for (const char* shadow : GetParam().shadow_tables) {
    for (const char* action : {"ROLLBACK", "ABORT", "FAIL"}) {
      for (const char* change : kChanges) {
        for (const int nth : {0, 1, 3}) {
          SCOPED_TRACE(std::string(shadow) + " " + action + " " + std::to_string(nth) + ": " +
                       change);
          TemporaryFolder folder;
          QuickDatabase db(folder.file("db"));
          make(db, GetParam());
          db.run("CREATE TABLE fuse(left INTEGER); INSERT INTO fuse VALUES ({})", nth);
          make_triggers(db, shadow,
                        sql("SELECT RAISE({}, 'stopped') FROM fuse WHERE left = 0;"
                            " UPDATE fuse SET left = left - 1",
                            action));
          const Outcome outcome = db.attempt(change);
          stopped += outcome.code != SQLITE_OK ? 1 : 0;
          db.attempt("ROLLBACK");
          drop_triggers(db);
          if (outcome.code != SQLITE_OK) {
            db.gives("SELECT count(*) FROM t", 50);
            EXPECT_LE(held(db, 1001, 4000), exact ? 0 : 100);
          }
          QuickDatabase other(folder.file("db"));
          expect_goes_on(db, other);
        }
      }
    }
  }
  EXPECT_GT(stopped, 10 * static_cast<int>(GetParam().shadow_tables.size()));
}

// Nothing that the trigger does to the table may reach it in mid-change (LiveTable C5).
TEST_P(NestedRollback, trigger_on_a_shadow_table_can_not_use_the_table) {
  int refused = 0;
  for (const char* shadow : GetParam().shadow_tables) {
    for (const char* use : {"INSERT INTO t(k) VALUES (7000)", "SELECT count(*) FROM t",
                            "SELECT k FROM t WHERE k = 1", "DELETE FROM t WHERE k = 1"}) {
      for (const char* change : kChanges) {
        SCOPED_TRACE(std::string(shadow) + ", " + use + ": " + change);
        QuickDatabase db(":memory:");
        make(db, GetParam());
        make_triggers(db, shadow, use);
        refused += db.attempt(change).code != SQLITE_OK ? 1 : 0;
        db.attempt("ROLLBACK");
        drop_triggers(db);
        expect_goes_on(db, db);
      }
    }
  }
  EXPECT_GT(refused, 10 * static_cast<int>(GetParam().shadow_tables.size()));
}

// The disk becomes full while a savepoint, a statement or a COMMIT writes.
TEST_P(NestedRollback, full_disk_leaves_what_was_committed) {
  int stopped = 0;
  for (const char* change : kChanges) {
    for (int spare = 0; spare < 12; spare += 2) {
      SCOPED_TRACE(std::string(change) + ", pages to spare " + std::to_string(spare));
      TemporaryFolder folder;
      QuickDatabase db(folder.file("db"));
      db.run("PRAGMA page_size = 512");
      make(db, GetParam());
      db.run("PRAGMA max_page_count = " +
             std::to_string(db.number("PRAGMA page_count") + int64_t{spare}));
      const Outcome outcome = db.attempt(change);
      stopped += outcome.code != SQLITE_OK ? 1 : 0;
      db.attempt("COMMIT");
      db.run("PRAGMA max_page_count = 1000000");
      QuickDatabase other(folder.file("db"));
      expect_goes_on(db, other);
    }
  }
  EXPECT_GT(stopped, 0);
}

// The table must hold the keys 1 … 50 and `first` … `last`, and 'check' must find nothing wrong.
void expect_held(QuickDatabase& db, int first, int last) {
  EXPECT_EQ(held(db, 1, 50), 50);
  EXPECT_EQ(held(db, first, last), last - first + 1);
  db.run("INSERT INTO t(t) VALUES ('check')");
}

// A virtual table that takes part in transactions and refuses savepoints when told to.
bool refuses_savepoints = false;

const sqlite3_module kRefuser = [] {
  sqlite3_module module{};
  module.iVersion = 2;
  module.xConnect = [](sqlite3* db, void*, int, const char* const*, sqlite3_vtab** table, char**) {
    *table = new sqlite3_vtab{};
    return sqlite3_declare_vtab(db, "CREATE TABLE x(a)");
  };
  module.xCreate = module.xConnect;
  module.xDisconnect = [](sqlite3_vtab* table) {
    delete table;
    return SQLITE_OK;
  };
  module.xDestroy = module.xDisconnect;
  module.xBestIndex = [](sqlite3_vtab*, sqlite3_index_info*) { return SQLITE_OK; };
  module.xUpdate = [](sqlite3_vtab*, int, sqlite3_value**, sqlite3_int64*) { return SQLITE_OK; };
  module.xBegin = [](sqlite3_vtab*) { return SQLITE_OK; };
  module.xCommit = module.xBegin;
  module.xRollback = module.xBegin;
  module.xSavepoint = [](sqlite3_vtab*, int) {
    return refuses_savepoints ? SQLITE_CONSTRAINT : SQLITE_OK;
  };
  return module;
}();

// If one table refuses a savepoint, SQLite tells all tables to go back to it, even those that it
// had not told of the savepoint (LiveTable C6).
TEST_P(NestedRollback, savepoint_that_another_table_refuses_undoes_nothing) {
  for (const bool first : {false, true}) {
    for (const bool warm : {false, true}) {
      QuickDatabase db(":memory:");
      sqlite3_create_module(db.handle(), "refuser", &kRefuser, nullptr);
      make(db, GetParam());
      db.run("CREATE VIRTUAL TABLE g USING refuser; BEGIN");
      db.run(first ? "INSERT INTO t(k) VALUES (1001); INSERT INTO g VALUES (1)"
                   : "INSERT INTO g VALUES (1); INSERT INTO t(k) VALUES (1001)");
      if (warm) {  // the table hears of savepoint 0
        db.run("INSERT INTO other SELECT 1 UNION SELECT 2");
      }
      for (int key = 1002; key <= 1030; ++key) {
        db.run("INSERT INTO t(k) VALUES ({})", key);
      }
      for (const char* statement : {"INSERT INTO other SELECT 3 UNION SELECT 4", "SAVEPOINT s"}) {
        refuses_savepoints = true;
        db.refuses(statement, SQLITE_CONSTRAINT);
        refuses_savepoints = false;
      }
      EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
      db.run("COMMIT");
      expect_held(db, 1001, 1030);
    }
  }
}

// If a flush at a savepoint runs out of memory, SQLite undoes the transaction at once, or COMMIT
// fails and undoes it. Nothing half-written is committed, and nothing is lost in silence.
TEST_P(NestedRollback, savepoint_out_of_memory_keeps_all_or_undoes_all) {
  int undone = 0;
  for (int64_t above = 200; above < 60000; above += 300) {
    SCOPED_TRACE(above);
    QuickDatabase db(":memory:");
    make(db, GetParam());
    db.run("BEGIN");
    for (int key = 1001; key <= 1200; ++key) {
      db.run("INSERT INTO t(k) VALUES ({})", key);
    }
    const auto insert_within = [&](int64_t bytes) {
      const MemoryLimiter limited(bytes);
      return db.attempt("INSERT INTO other SELECT value FROM generate WHERE value < 3");
    };
    const Outcome outcome = insert_within(above);
    const bool open = sqlite3_get_autocommit(db.handle()) == 0;
    if (open && db.attempt("COMMIT").code == SQLITE_OK) {
      expect_held(db, 1001, 1200);
    } else {
      ++undone;
      EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 1);
      db.gives("SELECT count(*) FROM t", 50);
      db.run("INSERT INTO t(t) VALUES ('check')");
      EXPECT_EQ(held(db, 1, 50), 50);
    }
    if (outcome.code == SQLITE_OK) {
      break;
    }
  }
  EXPECT_GT(undone, 0);
}

// If a SAVEPOINT statement is interrupted, SQLite does not undo the transaction.
TEST_P(NestedRollback, interrupted_savepoint_keeps_all_or_undoes_all) {
  int interrupted = 0;
  for (int steps = 1; steps < 60; ++steps) {
    SCOPED_TRACE(steps);
    QuickDatabase db(":memory:");
    make(db, GetParam());
    db.run("BEGIN");
    for (int key = 1001; key <= 1050; ++key) {
      db.run("INSERT INTO t(k) VALUES ({})", key);
    }
    int left = steps;
    sqlite3_progress_handler(
        db.handle(), 1, [](void* count) { return --*static_cast<int*>(count) == 0 ? 1 : 0; },
        &left);
    const Outcome outcome = db.attempt("SAVEPOINT s");
    sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
    interrupted += outcome.code != SQLITE_OK ? 1 : 0;
    if (sqlite3_get_autocommit(db.handle()) == 0) {
      expect_held(db, 1001, 1050);
      db.run("COMMIT");
      expect_held(db, 1001, 1050);
    } else {
      db.gives("SELECT count(*) FROM t", 50);
      EXPECT_EQ(held(db, 1, 50), 50);
    }
  }
  EXPECT_GT(interrupted, 0);
}

// Adds the function roll_back(x), which rolls back and returns x.
void add_roll_back(Database& db) {
  ASSERT_EQ(sqlite3_create_function(
                db.handle(), "roll_back", 1, SQLITE_UTF8, nullptr,
                [](sqlite3_context* context, int, sqlite3_value** value) {
                  sqlite3_exec(sqlite3_context_db_handle(context), "ROLLBACK", nullptr, nullptr,
                               nullptr);
                  sqlite3_result_value(context, value[0]);
                },
                nullptr, nullptr),
            SQLITE_OK);
}

// An ordinary table does the same. Otherwise a later transaction would write the change over what
// others committed.
TEST_P(NestedRollback, of_a_function_ends_the_statement_that_calls_it) {
  TemporaryFolder folder;
  Database db(folder.file("f.db"));
  db.run(std::string(GetParam().create) + "; INSERT INTO t(k) VALUES (1), (2)");
  add_roll_back(db);
  Database other(folder.file("f.db"));
  int count = 2;
  for (const char* statement : {"INSERT INTO t(k) VALUES (roll_back(99))",
                                "INSERT OR IGNORE INTO t(k) VALUES (roll_back(2))",
                                "INSERT OR REPLACE INTO t(k) VALUES (roll_back(99))"}) {
    SCOPED_TRACE(statement);
    for (const char* before : {"BEGIN", "BEGIN; INSERT INTO t(k) VALUES (98)"}) {
      db.run(before);
      const Outcome outcome = db.attempt(statement);
      EXPECT_EQ(outcome.code & 0xFF, SQLITE_ABORT) << outcome.message;
      EXPECT_NE(sqlite3_get_autocommit(db.handle()), 0);
      ++count;
      other.run("INSERT INTO t(k) VALUES ({})", count);
      EXPECT_EQ(db.number("SELECT count(*) FROM t WHERE k = {}", count), 1);
      ++count;
      db.run("INSERT INTO t(k) VALUES ({})", count);
      EXPECT_EQ(db.number("SELECT count(*) FROM t"), count);
      EXPECT_EQ(other.number("SELECT count(*) FROM t WHERE k IN ({}, {})", count - 1, count), 2);
      EXPECT_EQ(other.number("SELECT count(*) FROM t WHERE k IN (98, 99)"), 0);
    }
  }
  for (Database* each : {&db, &other}) {
    each->run("INSERT INTO t(t) VALUES ('check')");
  }
}

TEST(NestedRollbackOfRing, of_a_function_ends_the_statement_that_calls_it) {
  Database db;
  db.run("BEGIN; CREATE VIRTUAL TABLE r USING hash_ring; INSERT INTO r(node) VALUES ('a'); COMMIT");
  add_roll_back(db);
  db.run("BEGIN");
  EXPECT_EQ(db.attempt("INSERT INTO r(node) VALUES (roll_back('b'))").code & 0xFF, SQLITE_ABORT);
  db.gives("SELECT node FROM r", "a");
  db.run("INSERT INTO r(node) VALUES ('c'); INSERT INTO r(r) VALUES ('check')");
  db.gives("SELECT count(*) FROM r", 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NestedRollback, testing::ValuesIn(kKinds), kParameterName);

}  // namespace
}  // namespace cuckoo::test::table_nested_rollback_test
