// A filter of several segments that grows, segment by segment: through SQL, beside an ordinary
// table, with roll-backs, other connections and everything that may come in between.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_growth_test {
namespace {

const TableKind kKinds[] = {
    {"cuckoo", "cuckoo_filter(k, capacity = 4000, fingerprint_bits = 32, seed = 1)", "k"},
    {"unique", "cuckoo_filter(k, capacity = 4000, fingerprint_bits = 32, unique = on, seed = 1)",
     "k"},
    {"standard", "bloom_filter(k, capacity = 4000, fpr = 1e-7, seed = 1)", "k"},
    {"blocked", "bloom_filter(k, capacity = 4000, fpr = 1e-7, layout = blocked, seed = 1)", "k"},
    {"counting", "bloom_filter(k, capacity = 4000, fpr = 0.01, counting = on, seed = 1)", "k"},
};

// With pages of 512 bytes, a segment of each of these kinds has some thousand keys.
class GrowthOfSegments : public testing::TestWithParam<TableKind> {
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
  static int64_t last_segment(Database& db) {
    return db.number(std::string("SELECT max(id >> 24) FROM f_data WHERE ") + kPageRows);
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, GrowthOfSegments, testing::ValuesIn(kKinds), kParameterName);

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

}  // namespace
}  // namespace cuckoo::test::filter_growth_test
