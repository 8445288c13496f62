// generations = N: sliding windows, 'rotate', and what they refuse.
#include <cmath>
#include <memory>

#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_window_test {
namespace {

void rotate(Database& db) { db.run("INSERT INTO f(f) VALUES ('rotate')"); }
std::string items(Database& db) { return db.text("SELECT generation_items FROM filter_info('f')"); }

class Window : public testing::TestWithParam<const char*> {
 protected:
  std::string create(const std::string& options) const {
    return sql("CREATE VIRTUAL TABLE f USING {}{})", GetParam(), options);
  }
  bool multiset() const { return counts_copies(GetParam()); }
  Database db;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Window,
                         testing::Values("cuckoo_filter(seed = 1, ", "bloom_filter(seed = 1, ",
                                         "bloom_filter(layout = blocked, seed = 1, ",
                                         "bloom_filter(counting = on, seed = 1, "),
                         kParameterName);

TEST_P(Window, forgets_the_oldest_generation) {
  db.run(create("generations = 3, capacity = 200, fpr = 1e-4"));
  EXPECT_EQ(items(db), "0");
  for (int day = 0; day < 12; ++day) {
    const int64_t first = day * 1000;
    db.run("INSERT INTO f " + numbers(first, first + 149));
    for (int old = 0; old <= day; ++old) {
      const int64_t found = present(db, old * 1000, old * 1000 + 149);
      if (day - old < 3) {
        EXPECT_EQ(found, 150) << day << " of " << old;
      } else {
        EXPECT_LE(found, 2) << day << " of " << old;
      }
    }
    EXPECT_EQ(items(db), day == 0 ? "150" : day == 1 ? "150 150" : "150 150 150");
    db.gives("SELECT count(*) FROM f", 150 * std::min(day + 1, 3));
    db.gives("SELECT items || ' ' || generations FROM filter_info('f')",
             std::to_string(150 * std::min(day + 1, 3)) + " 3");
    check(db);
    rotate(db);
  }
  EXPECT_EQ(items(db), "0 150 150");
  rotate(db);
  rotate(db);
  EXPECT_EQ(items(db), "0 0 0");
  EXPECT_EQ(present(db, 0, 12000), 0);
  EXPECT_EQ(rows_of(db, "f", kPageRows) + rows_of(db, "f", kOverflowRows), 0);
  check(db);
}

TEST_P(Window, takes_up_to_64_generations) {
  db.run(create("generations = 64, capacity = 20, fpr = 1e-5"));
  for (int turn = 0; turn < 130; ++turn) {
    db.run("INSERT INTO f " + numbers(turn * 100, turn * 100 + 9));
    if (static_cast<uint64_t>(turn) % share_divisor() == share_first()) {
      const int first = std::max(0, turn - 63);
      EXPECT_EQ(present(db, first * 100, turn * 100 + 9), (turn - first + 1) * 10);
      EXPECT_LE(first == 0 ? 0 : present(db, 0, first * 100 - 1), 1);
    }
    rotate(db);
  }
  check(db);
  db.gives("SELECT count(*) FROM f", 630);
  EXPECT_LE(present(db, 1'000'001, 1'100'000), 15);
}

// Any number of workers may ask for the same day.
TEST_P(Window, rotates_to_a_number) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  const auto rotate_to = [this](const std::string& number) {
    db.run("INSERT INTO f(f, key) VALUES ('rotate', {})", number);
    check(db);
  };
  const auto expect = [this](const std::string& number, const std::string& counts) {
    db.gives("SELECT rotation FROM filter_info('f')", number);
    EXPECT_EQ(items(db), counts);
  };
  expect("0", "0");
  rotate_to("unixepoch('2026-11-28') / 86400");  // from 0: all is forgotten
  expect("20785", "0");
  db.run("INSERT INTO f VALUES (1), (2)");
  for (int worker = 0; worker < 3; ++worker) {
    rotate_to("20785");
  }
  expect("20785", "2");
  rotate_to("20786.0");
  db.run("INSERT INTO f VALUES (3)");
  rotate_to("'20786'");
  expect("20786", "1 2");
  rotate(db);  // the next one
  expect("20787", "0 1 2");
  rotate_to("20789");
  expect("20789", "0 0 0");
  db.run("INSERT INTO f VALUES (4)");
  db.run("BEGIN; INSERT INTO f(f, key) VALUES ('rotate', 20791), ('rotate', 20799); ROLLBACK");
  expect("20789", "1 0 0");
  rotate_to("20791");
  expect("20791", "0 0 1");
  rotate_to("20794");
  expect("20794", "0");
  db.run("INSERT INTO f VALUES (5); INSERT INTO f(f, key) VALUES ('rotate', 1 << 60)");
  expect(std::to_string(uint64_t{1} << 60), "0");
  db.refuses("INSERT INTO f(f) VALUES ('rotate')", {"f: ", "above 2^60"});
  db.gives("SELECT rotation FROM filter_info(filter_export('f'))",
           std::to_string(uint64_t{1} << 60));
}

// A copy that missed some rotations follows, and one that missed all of them.
TEST_P(Window, that_follows_rotates_to_the_number) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  db.run("INSERT INTO f VALUES (1)");
  Database copy;
  copy.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  for (const auto& [number, counts] : std::vector<std::pair<int, std::string>>{
           {0, "1"}, {2, "0 0 1"}, {2, "0 0 1"}, {3, "0 0 0"}, {9, "0"}, {10, "0 0"}}) {
    db.run("INSERT INTO f(f, key) VALUES ('rotate', {})", number);
    const std::string changes = db.text(
        sql("SELECT hex(filter_changes('f', x'{}'))", copy.text("SELECT hex(filter_mark('f'))")));
    copy.run("INSERT INTO f(f, key) VALUES ('apply', x'{}')", changes);
    EXPECT_EQ(items(copy), counts);
    copy.gives("SELECT rotation FROM filter_info('f')", number);
    check(copy);
  }
}

TEST_P(Window, without_growth_is_full_until_it_is_rotated) {
  db.run(create("generations = 2, capacity = 100, growth = off"));
  for (int turn = 0; turn < 6; ++turn) {
    const int64_t first = turn * 1000;
    db.run("INSERT INTO f " + numbers(first, first + 99));
    db.run("BEGIN");
    db.refuses("INSERT INTO f " + numbers(first + 100, first + 199), {"full: f", "100"});
    db.run("COMMIT");
    EXPECT_EQ(present(db, first, first + 99), 100);
    EXPECT_EQ(turn == 0 ? 100 : present(db, first - 1000, first - 901), 100);
    check(db);
    rotate(db);
  }
}

TEST_P(Window, is_byte_for_byte_what_the_statements_make_it) {
  TemporaryFolder folder;
  const std::string file = folder.file("f.db");
  auto one = std::make_unique<QuickDatabase>(file);
  Database two;
  one->run(create("generations = 3, capacity = 50, fpr = 0.01"));
  two.run(create("generations = 3, capacity = 50, fpr = 0.01"));
  for (int turn = 0; turn < 20; ++turn) {
    for (const std::string& sql :
         {"INSERT INTO f " + numbers(turn * 90, turn * 90 + turn * 20),
          "INSERT INTO f SELECT 'x' FROM (" + numbers(1, turn * 9 + 1) + ")",
          std::string("BEGIN; INSERT INTO f(f) VALUES ('rotate'); ROLLBACK"),
          std::string("INSERT INTO f(f) VALUES ('rotate')")}) {
      one->run(sql);
      two.run(sql);
    }
    one = std::make_unique<QuickDatabase>(file);
    check(*one);
  }
  EXPECT_EQ(shadow_rows(*one, "f"), shadow_rows(two, "f"));
}

// --- refused -----------------------------------------------------------------------------------

TEST_P(Window, refuses_what_could_lose_a_key) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  db.run(
      "INSERT INTO f VALUES ('a'), ('b'); INSERT INTO f(f) VALUES ('rotate');"
      "INSERT INTO f VALUES ('a'); CREATE TABLE t(v); INSERT INTO t VALUES ('a');"
      "CREATE TRIGGER tr AFTER DELETE ON t BEGIN DELETE FROM f WHERE key = old.v; END");
  const std::vector<Row> before = shadow_rows(db, "f");
  db.run("BEGIN");
  for (const char* sql :
       {"DELETE FROM f WHERE key = 'a'", "DELETE FROM f WHERE key IN ('b', 'c')", "DELETE FROM t",
        "INSERT INTO f(f, key) VALUES ('delete', 'a')",
        "INSERT INTO f(f, key) VALUES ('delete', 'z')", "UPDATE f SET key = 'c' WHERE key = 'a'"}) {
    db.refuses(sql, {"f: ", "window", "rotate"});
  }
  for (const char* number : {"-1", "1.5", "'x'", "x'00'", "1e300"}) {
    db.refuses(sql("INSERT INTO f(f, key) VALUES ('rotate', {})", number),
               {"f: rotate takes the number", "2^60"});
  }
  db.refuses("INSERT INTO f(f, key) VALUES ('rotate', 0)", {"f: ", "number 1", "back to 0"});
  db.refuses("INSERT INTO f(f, key) VALUES ('rotate', (1 << 60) + 1)", {"f: ", "above 2^60"});
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.run("COMMIT");
  EXPECT_EQ(shadow_rows(db, "f"), before);
  db.gives("SELECT key FROM f WHERE key IN ('a', 'b', 'c')", "a,b");
}

TEST_P(Window, refuses_source_triggers_and_import) {
  db.run("CREATE TABLE t(a)");
  for (const char* options : {"generations = 2, source = t(a)", "source = t(a), generations = 9",
                              "generations = 2, source = t(a), triggers = on"}) {
    db.refuses(create(options), {"f: ", "generations", "source"});
  }
  db.run(create("generations = 1, source = t(a), triggers = off") + "; DROP TABLE f");
  db.run(create("capacity = 50"));
  db.run(
      "INSERT INTO f VALUES (1); CREATE TABLE i AS SELECT filter_export('f', 'hashes') AS b;"
      "DROP TABLE f; " +
      create("generations = 2, capacity = 50"));
  db.run("INSERT INTO f VALUES (2)");
  rotate(db);
  db.refuses("INSERT INTO f(f, key) SELECT 'import', b FROM i", {"f: ", "window"});
  EXPECT_EQ(items(db), "0 1");
  db.run("INSERT INTO f(f, key) SELECT 'merge', b FROM i");
  EXPECT_EQ(items(db), "1 1");
  db.gives("SELECT key FROM f WHERE key IN (1, 2)", "1,2");
  rotate(db);
  db.gives("SELECT key FROM f WHERE key IN (1, 2)", "1");
  check(db);
}

TEST_P(Window, of_one_generation_does_not_rotate) {
  db.run(create("generations = 1"));
  db.refuses("INSERT INTO f(f) VALUES ('rotate')", {"f: ", "generations"});
}

}  // namespace
}  // namespace cuckoo::test::filter_window_test
