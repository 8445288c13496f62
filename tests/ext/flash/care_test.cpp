// flash_kv in transactions, connections and backups, with damage and faults. Also that its files
// are deterministic, and that it reads no more than it needs.
#include <functional>

#include "tests/support/copy_over.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_care_test {
namespace {

// Pages that SQLite read from the file since the last call.
int64_t misses(Database& db) {
  int now = 0, highest = 0;
  sqlite3_db_status(db.handle(), SQLITE_DBSTATUS_CACHE_MISS, &now, &highest, 1);
  return now;
}

class FlashCare : public testing::Test {
 protected:
  std::string file(const std::string& name = "a.db") const { return folder.file(name); }
  static void fill(Database& db, int64_t rows, int64_t bytes, const std::string& options) {
    db.run("CREATE VIRTUAL TABLE kv USING flash_kv(key, value, {})", options);
    db.run("{}INSERT INTO kv SELECT i, zeroblob({} + i % 7) FROM n", with_numbers(1, rows), bytes);
  }
  TemporaryFolder folder;
};

// --- transactions --------------------------------------------------------------------------------

TEST_F(FlashCare, a_rollback_to_a_savepoint_does_not_mount) {
  QuickDatabase db(file());
  fill(db, 20000, 100, "size = '8MB', seed = 1");
  db.run(
      "BEGIN; UPDATE kv SET value = 1 WHERE key < 100; SAVEPOINT a;"
      "INSERT INTO kv VALUES (-1, 'x'); DELETE FROM kv WHERE key = 5");
  const std::string reads = "SELECT sector_reads FROM flash_kv_info('kv')";
  const int64_t before = db.number(reads);
  db.gives("ROLLBACK TO a; SELECT count(*) FROM kv WHERE key IN (-1, 5)", "1");
  EXPECT_LT(db.number(reads) - before, 20);
  db.gives(
      "SAVEPOINT b; INSERT INTO kv VALUES (-1, 'x'); DELETE FROM kv WHERE key = 5; ROLLBACK TO b;"
      "RELEASE b; SELECT count(*) FROM kv WHERE key IN (-1, 5)",
      1);
  EXPECT_LT(db.number(reads) - before, 30);
  db.gives("ROLLBACK; SELECT length(value) FROM kv WHERE key = 8", "101");
  EXPECT_LT(db.number(reads) - before, 40);
  db.refuses("INSERT INTO kv SELECT 20001, 1 UNION ALL SELECT 20002, 1 UNION ALL SELECT 1, 1",
             SQLITE_CONSTRAINT_PRIMARYKEY);
  db.gives("SELECT count(*) FROM kv", 20000);
  EXPECT_LT(db.number(reads) - before, 60);
  db.run("INSERT INTO kv(kv) VALUES ('check')");
}

TEST_F(FlashCare, a_page_that_was_read_between_two_roll_backs_goes_with_the_second) {
  QuickDatabase db(file());
  fill(db, 10, 10, "seed = 1");
  db.run(
      "BEGIN; INSERT INTO kv VALUES (11, 'x'); SAVEPOINT a; INSERT INTO kv VALUES (12, 'y');"
      "ROLLBACK TO a");
  db.gives("SELECT value FROM kv WHERE key = 11", "x");
  db.run("ROLLBACK; INSERT INTO kv VALUES (13, 'z')");  // in the place of key 11
  db.gives("SELECT key FROM kv WHERE key > 10", "13");
  db.run("INSERT INTO kv(kv) VALUES ('check')");
}

// --- connections ---------------------------------------------------------------------------------

TEST_F(FlashCare, another_connection_s_commit_is_followed_without_a_mount) {
  QuickDatabase one(file());
  one.run("PRAGMA journal_mode = WAL");
  fill(one, 20000, 50, "size = '8MB', seed = 1");
  QuickDatabase two(file());
  two.gives("SELECT count(*) FROM kv", 20000);
  const std::string reads = "SELECT sector_reads FROM flash_kv_info('kv')";
  for (int i = 1; i <= 20; ++i) {
    const int64_t before = two.number(reads);
    one.run("INSERT INTO kv VALUES ({}, 1)", 20000 + i);
    two.gives("SELECT count(*) FROM kv", 20000 + i);
    two.gives("SELECT value FROM kv WHERE key = " + std::to_string(20000 + i), "1");
    EXPECT_LT(two.number(reads) - before, 50);
    two.run("UPDATE kv SET value = {} WHERE key = 1", i);
    one.gives("SELECT value FROM kv WHERE key = 1", i);
  }
  one.run("INSERT INTO kv(kv) VALUES ('collect')");
  two.gives("SELECT value FROM kv WHERE key = 1", 20);
  one.run("INSERT INTO kv(kv, key) VALUES ('resize', '9MB')");
  two.gives("SELECT size_bytes FROM flash_kv_info('kv')", 9437184);
  two.run("INSERT INTO kv VALUES ('two', 2); INSERT INTO kv(kv) VALUES ('check')");
  one.run("DROP TABLE kv; CREATE VIRTUAL TABLE kv USING flash_kv(sector_size = 512)");
  two.gives("SELECT count(*) FROM kv", 0);
}

TEST_F(FlashCare, opening_does_not_read_the_values) {
  {
    QuickDatabase db(file());
    fill(db, 2000, 4000, "size = '16MB', seed = 1");
  }
  QuickDatabase db(file());
  const int64_t pages = db.number("PRAGMA page_count");
  misses(db);
  db.gives("SELECT count(*) FROM kv", 2000);
  EXPECT_LT(misses(db), pages / 20);
  // The lookup reads one index page of each of nine pieces, and two pages of the value.
  db.gives("SELECT length(value) FROM kv WHERE key = 7", 4000);
  EXPECT_LT(misses(db), 24);
}

TEST_F(FlashCare, reading_writes_nothing) {
  {
    QuickDatabase db(file());
    fill(db, 2000, 100, "seed = 1");
  }
  std::vector<Row> before, after;
  {
    QuickDatabase db(file());
    before = shadow_rows(db, "kv");
  }
  {
    QuickDatabase db(file());
    db.run(
        "SELECT * FROM kv; SELECT * FROM flash_kv_info; SELECT flash_kv_map('kv');"
        "INSERT INTO kv(kv) VALUES ('check'); BEGIN IMMEDIATE; SELECT * FROM kv; COMMIT;"
        "BEGIN; DELETE FROM kv; ROLLBACK");
    after = shadow_rows(db, "kv");
  }
  EXPECT_FALSE(before.empty());
  EXPECT_EQ(before, after);
  Database db(file(), SQLITE_OPEN_READONLY);
  db.gives("SELECT count(*) FROM kv WHERE key < 10", 9);
}

TEST_F(FlashCare, the_same_statements_give_the_same_bytes) {
  std::vector<std::vector<Row>> bytes;
  for (int run = 0; run < 3; ++run) {
    auto db = std::make_unique<QuickDatabase>(file("d" + std::to_string(run)));
    const auto statement = [&](const std::string& sql) {
      db->run(sql);
      if (run == 1) {  // every statement in a connection of its own
        db = std::make_unique<QuickDatabase>(file("d1"));
      } else if (run == 2) {  // others look on
        QuickDatabase(file("d2")).run("SELECT * FROM kv");
      }
    };
    statement("CREATE VIRTUAL TABLE kv USING flash_kv(seed = 9, size = '256KB')");
    for (int i = 0; i < 60; ++i) {
      const std::string n = std::to_string(i);
      statement(with_numbers(1, 30) + "INSERT OR REPLACE INTO kv SELECT (i * " + n +
                ") % 97, zeroblob(100 + i * 7) FROM n");
      statement("DELETE FROM kv WHERE key % 11 = " + std::to_string(i % 11));
      statement("INSERT OR REPLACE INTO kv VALUES (" + n + ", '" + n + "')");
    }
    bytes.push_back(shadow_rows(*db, "kv"));
    EXPECT_GT(db->number("SELECT collections + erases FROM flash_kv_info('kv')"), 0);
  }
  EXPECT_FALSE(bytes[0].empty());
  EXPECT_EQ(bytes[0], bytes[1]);
  EXPECT_EQ(bytes[0], bytes[2]);
}

// --- the file as a whole -------------------------------------------------------------------------

TEST_F(FlashCare, vacuum_backup_rename_attach_and_temp) {
  QuickDatabase db(file());
  fill(db, 3000, 100, "seed = 1");
  const std::string sum = "SELECT sum(length(value)) || ' ' || count(*) FROM kv";
  const std::string expected = db.text(sum);
  db.run("VACUUM");
  db.gives(sum, expected);
  db.run("VACUUM INTO '{}'", file("b.db"));
  db.run("ATTACH '{}' AS b", file("b.db"));
  db.gives("SELECT count(*) FROM b.kv JOIN main.kv USING (key)", "3000");
  db.run("DELETE FROM b.kv WHERE key > 10; ALTER TABLE b.kv RENAME TO other");
  db.gives("SELECT count(*) FROM other", 10);
  db.gives("SELECT entries FROM flash_kv_info('b.other')", 10);
  db.run(
      "DETACH b; CREATE VIRTUAL TABLE temp.kv USING flash_kv; INSERT INTO temp.kv VALUES (1, 2)");
  db.gives("SELECT entries FROM flash_kv_info('kv')", 1);
  db.gives("SELECT schema FROM flash_kv_info ORDER BY 1", "main,temp");
  db.run("DROP TABLE temp.kv");
  {
    QuickDatabase copy(file("c.db"));
    back_up(db, copy);
    copy.gives(sum, expected);
    copy.run("INSERT INTO kv(kv) VALUES ('check')");
  }
  db.gives("PRAGMA integrity_check", "ok");
}

TEST_F(FlashCare, a_restored_backup_is_noticed) {
  QuickDatabase db(file());
  fill(db, 500, 100, "seed = 1");
  db.run("VACUUM INTO '{}'", file("b.db"));
  db.run("DELETE FROM kv WHERE key > 5; INSERT INTO kv VALUES ('later', 1)");
  db.gives("SELECT count(*) FROM kv", 6);
  {
    QuickDatabase source(file("b.db"));
    back_up(source, db);
  }
  db.gives("SELECT count(*) FROM kv", 500);
  db.gives("SELECT length(value) FROM kv WHERE key = 400", 101);
  db.run("INSERT INTO kv VALUES ('later', 2); INSERT INTO kv(kv) VALUES ('check')");
}

TEST_F(FlashCare, a_dump_restores_it) {
  QuickDatabase db(file());
  fill(db, 200, 50, "seed = 1");
  std::string script = "PRAGMA writable_schema = ON; BEGIN;";
  for (const Row& row : db.rows("SELECT sql FROM sqlite_schema WHERE name GLOB 'kv_*' AND"
                                " sql IS NOT NULL")) {
    script += row[0] + ";";
  }
  for (const Row& row : db.rows("SELECT quote(key), quote(value) FROM kv_config")) {
    script += "INSERT INTO kv_config VALUES (" + row[0] + "," + row[1] + ");";
  }
  for (const Row& row : db.rows("SELECT id, quote(page) FROM kv_pages")) {
    script += "INSERT INTO kv_pages VALUES (" + row[0] + "," + row[1] + ");";
  }
  script +=
      "INSERT INTO sqlite_schema VALUES ('table', 'kv', 'kv', 0, 'CREATE VIRTUAL TABLE kv"
      " USING flash_kv(key, value)'); COMMIT";
  {
    QuickDatabase restored(file("r.db"));
    restored.run(script);
  }
  QuickDatabase restored(file("r.db"));
  restored.gives("SELECT count(*) FROM kv WHERE length(value) >= 50", 200);
  restored.run("INSERT INTO kv VALUES (0, 0); INSERT INTO kv(kv) VALUES ('check')");
}

// --- damage --------------------------------------------------------------------------------------

class FlashDamage : public FlashCare {
 protected:
  FlashDamage() {
    QuickDatabase db(file("good.db"));
    fill(db, 500, 300, "size = '512KB', seed = 1");
    db.run("UPDATE kv SET value = 'new ' || key WHERE key % 3 = 0; DELETE FROM kv WHERE key = 7");
    db.run("CREATE VIRTUAL TABLE other USING flash_kv; INSERT INTO other VALUES (1, 2)");
  }
  // Every error names the table and is CORRUPT or IOERR. No answer is ever wrong.
  void damage(const std::string& sql, bool must_be_found) {
    copy_over(file("good.db"), file("bad.db"));
    QuickDatabase(file("bad.db")).run(sql);
    bool found = false;
    const auto look = [&](Database& db, const std::string& query) {
      const Outcome outcome = db.attempt(query);
      if (outcome.code != SQLITE_OK) {
        found = true;
        EXPECT_TRUE((outcome.code & 0xFF) == SQLITE_CORRUPT ||
                    (outcome.code & 0xFF) == SQLITE_IOERR)
            << sql << ": " << query << ": " << outcome.code << " " << outcome.message;
        EXPECT_NE(outcome.message.find("kv"), std::string::npos) << sql << ": " << outcome.message;
      }
      return outcome.code == SQLITE_OK;
    };
    QuickDatabase db(file("bad.db"));
    for (const char* query : {"SELECT count(*) FROM kv WHERE key = 3", "SELECT * FROM kv",
                              "SELECT * FROM flash_kv_info", "SELECT * FROM flash_kv_sectors('kv')",
                              "SELECT flash_kv_map('kv')"}) {
      look(db, query);
    }
    if (look(db, "SELECT * FROM kv")) {
      EXPECT_EQ(db.number("SELECT count(*) FROM kv WHERE value = 'new ' || key"), 166) << sql;
      EXPECT_EQ(db.number("SELECT count(*) FROM kv"), 499) << sql;
    }
    for (const char* statement :
         {"INSERT INTO kv(kv) VALUES ('check')", "INSERT OR REPLACE INTO kv VALUES (3, 'again')",
          "BEGIN; DELETE FROM kv WHERE key = 9; SAVEPOINT a; INSERT INTO kv VALUES (-5, zeroblob("
          "5000)); ROLLBACK TO a; COMMIT",
          "INSERT INTO kv(kv) VALUES ('collect')", "INSERT INTO kv(kv) VALUES ('clear')"}) {
      look(db, statement);
      db.attempt("ROLLBACK");
    }
    EXPECT_TRUE(found || !must_be_found) << sql << " is not noticed";
    EXPECT_EQ(db.text("SELECT value FROM other WHERE key = 1"), "2") << sql;
    db.run("DROP TABLE kv; CREATE VIRTUAL TABLE kv USING flash_kv; INSERT INTO kv VALUES (1, 2)");
    db.run("INSERT INTO kv(kv) VALUES ('check'); INSERT INTO other(other) VALUES ('check')");
  }
};

TEST_F(FlashDamage, of_nothing_is_none) { damage("SELECT 1", false); }

TEST_F(FlashDamage, of_the_record_is_found) {
  for (const char* value :
       {"NULL", "5", "'text'", "x''", "zeroblob(100)", "zeroblob(4000)", "randomblob(100)",
        "substr(value, 1, 50)", "substr(value, 2)", "CAST(value || x'00' AS BLOB)",
        "CAST(substr(value, 1, 20) || x'ff' || substr(value, 22) AS BLOB)"}) {
    damage(sql("UPDATE kv_config SET value = {} WHERE key = 'record'", value), true);
  }
  damage("DELETE FROM kv_config WHERE key = 'record'", true);
  damage(
      "UPDATE kv_config SET value = (SELECT value FROM other_config WHERE key = 'record') WHERE"
      " key = 'record'",
      true);
  damage("DELETE FROM kv_config", true);
  damage("PRAGMA writable_schema = ON; DROP TABLE kv_config", true);
}

TEST_F(FlashDamage, of_any_page_is_found) {
  QuickDatabase db(file("good.db"));
  for (const Row& row : db.rows("SELECT id FROM kv_pages")) {
    const std::string where = " WHERE id = " + row[0];
    damage(
        "UPDATE kv_pages SET page = CAST(substr(page, 1, 2000) || x'a5' || substr(page, 2002) AS"
        " BLOB)" +
            where,
        true);
    damage("DELETE FROM kv_pages" + where, true);
  }
}

TEST_F(FlashDamage, of_a_page_s_form_is_found) {
  const std::string length = std::to_string(kPageRowBytes);
  for (const std::string& value : std::vector<std::string>{
           "NULL", "5", "'text'", "x''", "x'00'", "zeroblob(" + length + ")", "zeroblob(9)",
           "randomblob(" + length + ")", "substr(page, 1, 4000)", "CAST(page || x'00' AS BLOB)"}) {
    damage("UPDATE kv_pages SET page = " + value + " WHERE id = 4", true);
    damage("UPDATE kv_pages SET page = " + value, true);
  }
  damage("UPDATE kv_pages SET page = (SELECT page FROM kv_pages WHERE id = 5) WHERE id = 4", true);
  damage("INSERT INTO kv_pages SELECT 1000000, page FROM kv_pages WHERE id = 4", true);
  damage("DROP TABLE kv_pages", true);
}

TEST_F(FlashDamage, an_older_page_is_found) {
  copy_over(file("good.db"), file("old.db"));
  {
    QuickDatabase newer(file("good.db"));
    newer.run("UPDATE kv SET value = 'newest' WHERE key > 490");
    newer.run("UPDATE kv SET value = 'new ' || key WHERE key > 490 AND key % 3 = 0");
  }
  QuickDatabase good(file("good.db"));
  good.run("ATTACH '{}' AS old", file("old.db"));
  for (const Row& row : good.rows("SELECT m.id FROM kv_pages AS m JOIN old.kv_pages AS o USING (id)"
                                  " WHERE m.page <> o.page")) {
    damage("ATTACH '" + file("old.db") +
               "' AS old; UPDATE main.kv_pages SET page = (SELECT page"
               " FROM old.kv_pages WHERE id = " +
               row[0] + ") WHERE id = " + row[0],
           true);
  }
}

// --- faults --------------------------------------------------------------------------------------

TEST_F(FlashCare, out_of_memory_is_an_error_that_changes_nothing) {
  QuickDatabase db(file());
  fill(db, 1000, 200, "size = '1MB', seed = 1");
  db.run("CREATE TABLE t AS SELECT key, zeroblob(300) AS value FROM kv");
  const std::vector<std::string> statements = {
      "INSERT INTO kv SELECT -key, value FROM t LIMIT 300",
      "INSERT OR REPLACE INTO kv SELECT key, value FROM t LIMIT 500",
      "UPDATE kv SET value = zeroblob(2000) WHERE key % 10 = 0",
      "UPDATE kv SET key = -key",
      "DELETE FROM kv WHERE key % 2",
      "INSERT INTO kv VALUES ('large', zeroblob(100000))",
      "INSERT INTO kv(kv) VALUES ('collect')",
      "INSERT INTO kv(kv) VALUES ('check')",
      "INSERT INTO kv(kv) VALUES ('clear')",
      "INSERT INTO kv(kv, key) VALUES ('resize', '2MB')",
      "SELECT count(*) FROM t JOIN kv USING (key)",
      "SELECT sum(length(value)) FROM kv",
      "SELECT length(flash_kv_map('kv'))",
      "SELECT * FROM flash_kv_info"};
  const auto expect_old = [&](const std::string& what) {
    ASSERT_EQ(db.number("SELECT count(*) FROM kv WHERE length(value) BETWEEN 200 AND 206"), 1000)
        << what;
    ASSERT_EQ(db.number("SELECT count(*) FROM t JOIN kv USING (key)"), 1000) << what;
  };
  for (const std::string& sql : statements) {
    int failures = 0;
    for (int64_t above = 100; above < 4'000'000; above += above / 3 + 50) {
      const bool in_transaction = failures % 2 == 1;
      db.run(in_transaction ? "BEGIN; SAVEPOINT s" : "SELECT 1");
      Outcome outcome;
      {
        const MemoryLimiter limit(above);
        outcome = db.attempt(sql);
      }
      const int code = outcome.code & 0xFF;
      ASSERT_TRUE(code == SQLITE_OK || code == SQLITE_NOMEM || code == SQLITE_IOERR)
          << sql << " at " << above << ": " << outcome.code << " " << outcome.message;
      if (in_transaction) {
        db.attempt("ROLLBACK TO s");
        if (code != SQLITE_OK) {
          expect_old(sql + " at " + std::to_string(above));
        }
        db.attempt("ROLLBACK");
      }
      if (code == SQLITE_OK && in_transaction) {
        break;
      }
      if (code != SQLITE_OK) {
        ++failures;
        expect_old(sql + " at " + std::to_string(above));
      } else {  // done for good: start anew
        db.run("DROP TABLE kv");
        fill(db, 1000, 200, "size = '1MB', seed = 1");
        failures += failures % 2 == 0 ? 1 : 0;
      }
    }
    EXPECT_GT(failures, 0) << sql;
    db.run("INSERT INTO kv(kv) VALUES ('check')");
  }
}

// A VFS whose n-th write to the file fails with an I/O error.
struct FailingFile {
  sqlite3_file base;
  sqlite3_file* real;
};
int64_t writes_left = -1;  // < 0: none fails
sqlite3_vfs* real_vfs = nullptr;

bool fails() { return writes_left >= 0 && writes_left-- == 0; }
sqlite3_file* real_of(sqlite3_file* file) {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<FailingFile*>(file) + 1);
}
const sqlite3_io_methods* methods_of(sqlite3_file* file) { return real_of(file)->pMethods; }

const sqlite3_io_methods kFailing = {
    1,
    [](sqlite3_file* f) { return methods_of(f)->xClose(real_of(f)); },
    [](sqlite3_file* f, void* to, int n, sqlite3_int64 at) {
      return methods_of(f)->xRead(real_of(f), to, n, at);
    },
    [](sqlite3_file* f, const void* from, int n, sqlite3_int64 at) {
      return fails() ? SQLITE_IOERR_WRITE : methods_of(f)->xWrite(real_of(f), from, n, at);
    },
    [](sqlite3_file* f, sqlite3_int64 n) { return methods_of(f)->xTruncate(real_of(f), n); },
    [](sqlite3_file* f, int flags) { return methods_of(f)->xSync(real_of(f), flags); },
    [](sqlite3_file* f, sqlite3_int64* n) { return methods_of(f)->xFileSize(real_of(f), n); },
    [](sqlite3_file* f, int lock) { return methods_of(f)->xLock(real_of(f), lock); },
    [](sqlite3_file* f, int lock) { return methods_of(f)->xUnlock(real_of(f), lock); },
    [](sqlite3_file* f, int* out) { return methods_of(f)->xCheckReservedLock(real_of(f), out); },
    [](sqlite3_file* f, int op, void* arg) {
      return methods_of(f)->xFileControl(real_of(f), op, arg);
    },
    [](sqlite3_file* f) { return methods_of(f)->xSectorSize(real_of(f)); },
    [](sqlite3_file* f) { return methods_of(f)->xDeviceCharacteristics(real_of(f)); },
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
    nullptr};

int open_failing(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  file->pMethods = nullptr;
  const int code = real_vfs->xOpen(real_vfs, name, real_of(file), flags, out);
  if (code == SQLITE_OK) {
    file->pMethods = &kFailing;
  }
  return code;
}

TEST_F(FlashCare, a_failing_write_loses_nothing) {
  real_vfs = sqlite3_vfs_find(nullptr);
  sqlite3_vfs vfs = *real_vfs;
  vfs.zName = "failing";
  vfs.szOsFile = static_cast<int>(sizeof(FailingFile)) + real_vfs->szOsFile;
  vfs.xOpen = open_failing;
  sqlite3_vfs_register(&vfs, 0);
  {
    QuickDatabase db(file());
    fill(db, 300, 200, "size = '256KB', seed = 1");
  }
  int failures = 0;
  for (int64_t n = 0; n < 400; n += 1 + n / 8) {
    {
      Database db("file:" + file() + "?vfs=failing", SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI);
      db.run("PRAGMA cache_size = 5; PRAGMA synchronous = OFF; PRAGMA cache_spill = ON");
      db.gives("SELECT count(*) FROM kv", 300);
      writes_left = n;
      Outcome outcome;
      for (const char* sql : {"BEGIN", "UPDATE kv SET value = 'x' WHERE key < 200", "SAVEPOINT a",
                              "DELETE FROM kv WHERE key % 2", "ROLLBACK TO a",
                              "INSERT INTO kv(kv) VALUES ('collect')", "COMMIT"}) {
        outcome = db.attempt(sql);
        if (outcome.code != SQLITE_OK) {
          break;
        }
      }
      const bool failed = outcome.code != SQLITE_OK;
      writes_left = -1;
      db.attempt("ROLLBACK");
      if (failed) {
        ++failures;
        EXPECT_EQ(outcome.code & 0xFF, SQLITE_IOERR) << n << ": " << outcome.message;
        ASSERT_EQ(db.number("SELECT count(*) FROM kv WHERE length(value) >= 200"), 300) << n;
      } else {
        ASSERT_EQ(db.number("SELECT count(*) FROM kv WHERE value = 'x'"), 199) << n;
        db.run(with_numbers(1, 200) +
               "INSERT OR REPLACE INTO kv SELECT i, zeroblob(200 + i % 7) FROM n");
      }
      db.run("INSERT INTO kv(kv) VALUES ('check')");
    }
    QuickDatabase other(file());
    ASSERT_EQ(other.number("SELECT count(*) FROM kv WHERE length(value) >= 200"), 300) << n;
  }
  EXPECT_GT(failures, 10);
  sqlite3_vfs_unregister(&vfs);
}

TEST_F(FlashCare, long_commands_can_be_interrupted) {
  QuickDatabase db(file());
  fill(db, 30000, 100, "size = '8MB', seed = 1");
  db.run("DELETE FROM kv WHERE key % 3 = 0");
  const std::string state = db.text("SELECT count(*) || sum(length(value)) FROM kv");
  for (const char* command : {"check", "collect"}) {
    const Outcome outcome = stopped(db, sql("INSERT INTO kv(kv) VALUES ('{}')", command), 100, 2);
    EXPECT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << command << ": " << outcome.message;
    db.gives("SELECT count(*) || sum(length(value)) FROM kv", state);
  }
  db.run("INSERT INTO kv(kv) VALUES ('check')");
}

// --- functions -----------------------------------------------------------------------------------

TEST_F(FlashCare, the_functions_agree_with_each_other) {
  Database db;
  db.run("CREATE VIRTUAL TABLE kv USING flash_kv(size = '256KB', seed = 1)");
  db.run(with_numbers(1, 400) + "INSERT INTO kv SELECT i, zeroblob(300) FROM n");
  db.run("UPDATE kv SET value = 1 WHERE key % 4 = 0; DELETE FROM kv WHERE key % 4 = 1");
  db.gives("SELECT count(*) FROM flash_kv_sectors('kv')", 256);
  db.gives(
      "SELECT count(*) FROM flash_kv_sectors('kv') WHERE live_bytes + dead_bytes +"
      " free_bytes <> 1024 OR live_bytes < 0 OR free_bytes < 0",
      0);
  for (const std::string kind : {"live_bytes", "dead_bytes", "free_bytes"}) {
    db.gives(sql("SELECT sum({}) FROM flash_kv_sectors('kv')", kind),
             db.text("SELECT {} FROM flash_kv_info('kv')", kind));
  }
  db.gives("SELECT max(erase_count) FROM flash_kv_sectors('kv')",
           db.text("SELECT erase_max FROM flash_kv_info('kv')"));
  db.gives("SELECT entries FROM flash_kv_info WHERE name = 'kv'", 300);
  db.gives("SELECT dead_bytes > 20000 FROM flash_kv_info('kv')", 1);
  const std::string map = db.text("SELECT flash_kv_map('kv')");
  EXPECT_TRUE(map.starts_with("<svg ") && map.ends_with("</svg>\n"));
  EXPECT_NE(map.find("256 sectors of 1 KB"), std::string::npos);
  db.gives("SELECT flash_kv_map(NULL)", "NULL");
  EXPECT_EQ(db.rows("SELECT * FROM flash_kv_info(NULL)").size(), 0U);
  db.gives("SELECT count(*) FROM flash_kv_info AS i JOIN flash_kv_sectors(i.name)", 256);
}

// Anchors are never erased, and bad blocks are not used any more. The wear counts neither.
TEST_F(FlashCare, the_map_tells_the_wear_that_flash_kv_info_tells) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(size = '64KB', sector_size = 512, endurance = 100,"
      " seed = 1)");
  const std::string overwrite =
      with_numbers(1, 400) + "INSERT OR REPLACE INTO kv SELECT i % 160, printf('%60s', i) FROM n";
  for (int code = SQLITE_OK; code == SQLITE_OK;) {  // until it is worn out
    code = db.attempt(overwrite).code;
    const std::string wear = db.text(
        "SELECT printf('>least %d, mean %.1f, most %d<', erase_min, erase_avg, erase_max)"
        " FROM flash_kv_info('kv')");
    EXPECT_NE(db.text("SELECT flash_kv_map('kv')").find(wear), std::string::npos) << wear;
  }
  EXPECT_GT(db.number("SELECT bad_blocks FROM flash_kv_info('kv')"), 0);
}

}  // namespace
}  // namespace flash_care_test
}  // namespace cuckoo::test
