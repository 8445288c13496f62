// generations = N: sliding windows, 'rotate', and what they refuse.
#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_window_test {
namespace {

void rotate(Database& db) { db.run("INSERT INTO f(f) VALUES ('rotate')"); }
std::string items(Database& db) { return db.text("SELECT generation_items FROM filter_info('f')"); }

class Window : public testing::TestWithParam<const char*> {
 protected:
  std::string create(const std::string& options) const {
    return sql("CREATE VIRTUAL TABLE f USING {}{})", GetParam(), options);
  }
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

}  // namespace
}  // namespace cuckoo::test::filter_window_test
