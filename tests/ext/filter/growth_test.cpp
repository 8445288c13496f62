// A filter of several segments that grows, segment by segment: through SQL, beside an ordinary
// table, with roll-backs, other connections and everything that may come in between.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_growth_test {
namespace {

struct Kind {
  const char* name;
  const char* module;
  bool removes;

  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

const Kind kKinds[] = {
    {"cuckoo", "cuckoo_filter(k, capacity = 4000, fingerprint_bits = 32, seed = 1)", true},
    {"unique", "cuckoo_filter(k, capacity = 4000, fingerprint_bits = 32, unique = on, seed = 1)",
     true},
    {"standard", "bloom_filter(k, capacity = 4000, fpr = 1e-7, seed = 1)", false},
    {"blocked", "bloom_filter(k, capacity = 4000, fpr = 1e-7, layout = blocked, seed = 1)", false},
    {"counting", "bloom_filter(k, capacity = 4000, fpr = 0.01, counting = on, seed = 1)", true},
};

// With pages of 512 bytes, a segment of each of these kinds has some thousand keys.
class GrowthOfSegments : public testing::TestWithParam<Kind> {
 protected:
  static void make(Database& db) {
    db.run("PRAGMA page_size = 512; VACUUM");
    db.run(std::string("CREATE VIRTUAL TABLE f USING ") + GetParam().module);
    db.run("CREATE TABLE mirror(k INTEGER PRIMARY KEY)");
  }
  static void insert(Database& db, int64_t first, int64_t end) {
    const std::string rows = numbers(first, end - 1);
    db.run("INSERT INTO f {}; INSERT INTO mirror {}", rows, rows);
  }
  static void add(Database& db, int64_t first, int64_t end) {
    db.run("BEGIN");
    insert(db, first, end);
    db.run("COMMIT");
  }
  // Adds keys in transactions of 200, so the filter grows bit by bit.
  static void grow(Database& db, int64_t first, int64_t end) {
    for (int64_t i = first; i < end; i += 200) {
      add(db, i, std::min(i + 200, end));
    }
  }
  static void expect_same(Database& db) {
    db.gives("SELECT count(*) FROM mirror m WHERE NOT EXISTS (SELECT 1 FROM f WHERE f.k = m.k)", 0);
    db.gives("SELECT count(*) FROM f", db.number("SELECT count(*) FROM mirror"));
    check(db);
  }
  static int64_t segments(Database& db) {
    return db.number(std::string("SELECT count(DISTINCT id >> 24) FROM f_data WHERE ") + kPageRows);
  }
  static int64_t last_segment(Database& db) {
    return db.number(std::string("SELECT max(id >> 24) FROM f_data WHERE ") + kPageRows);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, GrowthOfSegments, testing::ValuesIn(kKinds), kParameterName);

TEST_P(GrowthOfSegments, every_commit_leaves_a_filter_that_answers) {
  QuickDatabase db(":memory:");
  make(db);
  int64_t before = 0;
  int64_t changes = 0;
  for (int64_t i = 0; i < 24000; i += 200) {
    add(db, i, i + 200);
    const int64_t now = segments(db);
    changes += now != before ? 1 : 0;
    if (now != before || i % 2000 == 0) {
      expect_same(db);
    }
    before = now;
  }
  EXPECT_GT(before, 3);
  EXPECT_GT(changes, 3);
  EXPECT_GE(db.number("SELECT capacity FROM filter_info('f')"), 24000);
  expect_same(db);
  db.gives("PRAGMA integrity_check", "ok");
}

// The longest commit writes two segments, however many there are.
TEST_P(GrowthOfSegments, no_commit_writes_more_than_a_few_segments) {
  QuickDatabase db(":memory:");
  make(db);
  const auto longest = [&](int64_t first, int64_t end) {
    int most = 0;
    for (int64_t i = first; i < end; i += 100) {
      const int before = sqlite3_total_changes(db.handle());
      db.run("BEGIN; INSERT INTO f {}; COMMIT", numbers(i, i + 99));
      most = std::max(most, sqlite3_total_changes(db.handle()) - before - 100);
    }
    return most;
  };
  const int early = longest(0, 30000);
  const int64_t few = segments(db);
  const int late = longest(30000, 120000);
  EXPECT_GT(segments(db), 3 * few);
  EXPECT_LT(late, early * 3 / 2);
  EXPECT_GT(db.number("SELECT count(*) FROM f_data"), 4 * late);
}

// What is on disk depends on what was committed, not on who did it, nor on what was taken back.
TEST_P(GrowthOfSegments, any_connection_leaves_the_same_bytes) {
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
    if (i % 1000 == 0) {
      ASSERT_EQ(shadow_rows(alone, "f"), shadow_rows(turn < 2 ? other : one, "f"))
          << "after key " << i;
    }
  }
  EXPECT_GT(segments(alone), 3);
  expect_same(one);
}

// 'rebuild', 'resize' and 'import' write all segments anew and leave no old row. 'check' counts the
// rows.
TEST_P(GrowthOfSegments, commands_in_between_leave_no_row_of_what_was_before) {
  for (const std::string command :
       {"INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f, k) VALUES ('resize', 30000)",
        "INSERT INTO f(f, k) VALUES ('import', filter_export('f', 'hashes'))",
        "INSERT INTO f(f, k) VALUES ('resize', 9)"}) {
    QuickDatabase db(":memory:");
    make(db);
    grow(db, 0, 9000);
    const int64_t last = last_segment(db);
    db.run(command);
    EXPECT_EQ(db.number("SELECT count(*) FROM f_data WHERE id >> 24 BETWEEN 1 AND " +
                        std::to_string(last)),
              0)
        << command;
    expect_same(db);
    grow(db, 9000, 15000);
    expect_same(db);
  }
}

TEST_P(GrowthOfSegments, a_table_is_renamed_copied_and_dropped_in_between) {
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 7900);
  const TemporaryFolder folder;
  db.run("VACUUM INTO '{}'", folder.file("copy.db"));
  QuickDatabase copy(folder.file("copy.db"));
  copy.run("ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f");
  for (int64_t i = 7900; i < 14000; i += 300) {
    add(db, i, i + 300);
    add(copy, i, i + 300);
    ASSERT_EQ(shadow_rows(copy, "f"), shadow_rows(db, "f"));
  }
  expect_same(copy);
  copy.gives("DROP TABLE f; SELECT group_concat(name) FROM sqlite_schema", "mirror");
}

// A trigger on the shadow table stops a fold in the middle, and the making of a segment.
TEST_P(GrowthOfSegments, work_that_is_stopped_takes_its_transaction_back) {
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 6000);
  int64_t next = 6000;
  for (const std::string event :
       {"INSERT ON main.f_data WHEN new.id >> 24 BETWEEN 1 AND 1073741823 AND new.id & 8388608 = 0",
        "INSERT ON main.f_data WHEN new.id >> 24 BETWEEN 1 AND 1073741823 AND new.id & 8388608 > 0",
        "UPDATE ON main.f_data WHEN new.id = 0", "UPDATE ON main.f_data WHEN new.id = 1",
        "DELETE ON main.f_data WHEN old.id >> 24 BETWEEN 1 AND 1073741823"}) {
    db.run("CREATE TEMP TRIGGER stop BEFORE {} BEGIN SELECT RAISE(ABORT, 'stopped'); END", event);
    Outcome outcome;
    for (const int64_t end = next + 6000; outcome.code == SQLITE_OK && next < end;) {
      const std::string row = sql(" VALUES ({})", next);
      outcome = db.attempt("BEGIN; INSERT INTO mirror{}; INSERT INTO f{}; COMMIT", row, row);
      next += outcome.code == SQLITE_OK ? 1 : 0;
    }
    EXPECT_NE(outcome.code, SQLITE_OK) << event;
    db.attempt("ROLLBACK");
    expect_same(db);
    db.run("DROP TRIGGER stop");
    expect_same(db);
    grow(db, next, next + 600);
    next += 600;
  }
  expect_same(db);
}

TEST_P(GrowthOfSegments, disk_bytes_are_those_of_its_rows) {
  QuickDatabase db(":memory:");
  make(db);
  for (int64_t i = 0; i < 15000; i += 1000) {
    grow(db, i, i + 1000);
    const int64_t stored = db.number("SELECT sum(length(block)) FROM f_data");
    const int64_t bytes = db.number("SELECT disk_bytes FROM filter_info('f')");
    EXPECT_GE(bytes, stored * 9 / 10) << i;
    EXPECT_LE(bytes, stored * 11 / 10 + 8 * 512) << i;
  }
}

// As many keys go as come. So the filter stays as large as it is. A merge of runs drops the hashes
// that went, and no segment is made anew for them.
TEST_P(GrowthOfSegments, churn_grows_nothing) {
  if (!GetParam().removes) {
    return;
  }
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 14800);
  db.run("INSERT INTO f(f, k) VALUES ('resize', 15000)");
  const int64_t capacity = db.number("SELECT capacity FROM filter_info('f')");
  const int64_t first = last_segment(db);
  int64_t entries = 0;
  for (int64_t i = 0; i < 90000; i += 300) {
    db.run("BEGIN; DELETE FROM mirror WHERE k IN (SELECT k FROM mirror ORDER BY k LIMIT 300)");
    db.run("DELETE FROM f WHERE k IN ({})", numbers(i, i + 299));
    insert(db, 14800 + i, 14800 + i + 300);
    db.run("COMMIT");
    entries = std::max(
        entries,
        db.number(std::string("SELECT sum(length(block)) / 6 FROM f_data WHERE ") + kRunRows));
  }
  EXPECT_LE(db.number("SELECT capacity FROM filter_info('f')"), capacity * 5 / 4);
  EXPECT_LE(last_segment(db), first + 2 * segments(db)) << "but for growth by chance";
  EXPECT_LT(entries, segments(db) * 9000);
  expect_same(db);
}

// After all keys were removed, the filter makes segments that hold nothing.
TEST_P(GrowthOfSegments, segments_made_of_nothing_take_keys_again) {
  if (!GetParam().removes) {
    return;
  }
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 9000);
  db.run("BEGIN; DELETE FROM mirror; DELETE FROM f WHERE k IN ({}); COMMIT", numbers(0, 8999));
  db.gives("SELECT count(*) FROM f", 0);
  check(db);
  for (int64_t i = 10000; i < 20000; i += 150) {
    add(db, i, i + 150);
    expect_same(db);
    ASSERT_FALSE(HasFailure()) << "after key " << i;
  }
}

// The error is no SQLITE_CONSTRAINT, because then OR IGNORE would leave the row out and say
// nothing.
TEST_P(GrowthOfSegments, rows_that_stand_in_the_way_are_damage) {
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 6000);
  int64_t next = 6000;
  for (int64_t ahead = 1; ahead < 9; ++ahead) {
    db.run(
        "INSERT INTO f_data SELECT ({} << 24) + column1, x'00' FROM (VALUES (0), (1), (2),"
        " (8388608), (8388609))",
        last_segment(db) + ahead);
  }
  Outcome outcome;
  for (; outcome.code == SQLITE_OK && next < 30000; ++next) {
    outcome = db.attempt("INSERT OR IGNORE INTO f VALUES ({})", next);
  }
  EXPECT_EQ(outcome.code, SQLITE_IOERR) << "half of it is written: all is rolled back";
  EXPECT_NE(outcome.message.find("f: corrupt: "), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("is there, where none is expected"), std::string::npos)
      << outcome.message;
  db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT_VTAB, {"f: corrupt: "});
  db.run("INSERT INTO f(f) VALUES ('clear'); DELETE FROM mirror");
  grow(db, 0, 3000);
  expect_same(db);
}

// The connection has the pages in memory, so only a write can notice that their rows are gone.
TEST_P(GrowthOfSegments, rows_that_are_gone_when_they_are_written_again_are_damage) {
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 2000);
  expect_same(db);
  db.run("DELETE FROM f_data WHERE {}", kPageRows);
  Outcome outcome;
  for (int64_t next = 2000; outcome.code == SQLITE_OK && next < 4000; ++next) {
    outcome = db.attempt("INSERT INTO f VALUES ({})", next);
  }
  EXPECT_EQ(outcome.code, SQLITE_IOERR) << "half of it is written: all is rolled back";
  EXPECT_NE(outcome.message.find("f: corrupt: "), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("is gone"), std::string::npos) << outcome.message;
  db.run("INSERT INTO f(f) VALUES ('clear'); DELETE FROM mirror");
  grow(db, 0, 3000);
  expect_same(db);
}

// The runs are deleted while the connection has the segments in memory.
TEST_P(GrowthOfSegments, a_segment_that_lost_a_run_is_not_made_anew) {
  QuickDatabase db(":memory:");
  make(db);
  grow(db, 0, 9000);
  db.run("DELETE FROM f_data WHERE {} AND id & 1 = 0", kRunRows);
  Outcome outcome;
  int64_t next = 9000;
  for (; outcome.code == SQLITE_OK && next < 40000; ++next) {
    outcome = db.attempt("INSERT INTO f VALUES ({})", next);
  }
  // A merge may read what is left of its runs, and miss the row of a block that it replaces.
  EXPECT_TRUE(outcome.code == SQLITE_CORRUPT_VTAB || outcome.code == SQLITE_IOERR)
      << next << ": " << outcome.code;
  EXPECT_NE(outcome.message.find("f: corrupt: "), std::string::npos) << outcome.message;
  db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT_VTAB, {"f: corrupt: "});
  EXPECT_EQ(db.number("SELECT count(*) FROM mirror m WHERE NOT EXISTS"
                      " (SELECT 1 FROM f WHERE f.k = m.k)"),
            0)
      << "no answer needs it";
}

// Some of the DELETEs take the cell of another key, and the INSERT gives it back.
TEST(GrowingFilter, holds_what_was_deleted_before_it_was_inserted) {
  for (const std::string module : {"cuckoo_filter(key, fpr = 0.1, seed = 1)",
                                   "bloom_filter(key, fpr = 0.1, counting = on, seed = 1)"}) {
    Database db;
    db.run("CREATE VIRTUAL TABLE f USING {}; INSERT INTO f {}", module, numbers(1, 10000));
    Query remove(db, "DELETE FROM f WHERE key = ?1");
    Query insert(db, "INSERT INTO f VALUES (?1)");
    db.run("BEGIN");
    for (int i = 100'001; i <= 103'000; ++i) {
      for (Query* query : {&remove, &insert}) {
        sqlite3_bind_int(query->handle(), 1, i);
        ASSERT_EQ(query->step(), SQLITE_DONE);
        query->reset();
      }
    }
    db.run("COMMIT");
    EXPECT_LT(db.number("SELECT count(*) FROM f"), 13000 - 20) << "so many seemed to be there";
    EXPECT_EQ(present(db, 100'001, 103'000), 3000);
    db.run("INSERT INTO f {}", numbers(10001, 60000));
    EXPECT_EQ(present(db, 100'001, 103'000), 3000);
    db.run("INSERT INTO f(f) VALUES ('rebuild')");
    EXPECT_EQ(present(db, 100'001, 103'000), 3000);
    EXPECT_EQ(present(db, 1, 60000), 60000);
    EXPECT_EQ(db.number("SELECT count(*) FROM f"), 63000);
    check(db);
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_growth_test
