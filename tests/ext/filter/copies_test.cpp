// Keys that were added often: copies that two buckets can't hold are counted in the overflow table,
// where a cell answers like any entry. The false positive rate holds for them, too.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_copies_test {
namespace {

constexpr int kKeys = 3000;

// The test asks for 20,000 absent keys. At a rate of 0.001 a filter finds 20 of them on average,
// and 60 once in 10^12 filters.
void expect_rate(Database& db, const std::string& what) {
  const std::string absent =
      with_numbers(0, 19999) + "SELECT sum(filter_contains('f', 'absent' || i)) FROM n";
  EXPECT_LE(db.number(absent), 60) << what;
  EXPECT_EQ(db.number(with_numbers(0, kKeys - 1) + "SELECT sum(filter_contains('f', i)) FROM n"),
            kKeys)
      << what;
  EXPECT_EQ(db.text("SELECT capacity >= {} AND fpr_now <= fpr FROM filter_info('f')", kKeys), "1")
      << what << db.text("SELECT capacity || ' ' || fpr_now FROM filter_info('f')");
  db.run("INSERT INTO f(f) VALUES ('check')");
}

class Copies : public testing::TestWithParam<int> {
 protected:
  Copies() : db(":memory:") {
    db.run("CREATE TABLE s(u); {}INSERT INTO s SELECT i % {} FROM n",
           with_numbers(0, kKeys * GetParam() - 1), kKeys);
  }
  void create(const std::string& options) {
    db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fpr = 0.001, seed = 2{})", options);
  }
  QuickDatabase db;
};

INSTANTIATE_TEST_SUITE_P(Each, Copies, testing::Values(1, 8, 9, 20), kParameterName);

TEST_P(Copies, in_the_order_of_their_keys_do_not_raise_the_rate) {
  create(", capacity = 10");
  db.run("INSERT INTO f SELECT u FROM s ORDER BY u");
  expect_rate(db, "one statement");
  db.run("INSERT INTO f(f) VALUES ('rebuild')");
  expect_rate(db, "rebuild");
  db.run("INSERT INTO f(f, k) VALUES ('resize', 10)");
  expect_rate(db, "resize");
}

TEST_P(Copies, a_transaction_for_each_key_do_not_raise_the_rate) {
  create(", capacity = 10");
  db.run("BEGIN");
  for (int key = 0; key < kKeys; ++key) {
    for (int i = 0; i < GetParam(); ++i) {
      db.run("INSERT INTO f VALUES ({})", key);
    }
    if (key % 100 == 99) {
      db.run("COMMIT; BEGIN");
    }
  }
  db.run("COMMIT");
  expect_rate(db, "row by row");
}

// Removing copies that the overflow table counts makes no room in this table.
TEST_P(Copies, that_are_removed_again_do_not_raise_the_rate) {
  create(", capacity = 1000");
  db.run("INSERT INTO f SELECT u FROM s WHERE u < 1000");
  db.run("INSERT INTO f SELECT u FROM s WHERE u < 1000 ORDER BY u");
  db.run(
      "BEGIN; DELETE FROM f WHERE k IN (SELECT u FROM s WHERE u < 1000);"
      "INSERT INTO f SELECT DISTINCT u FROM s; COMMIT");
  expect_rate(db, "one transaction");
}

TEST_P(Copies, from_a_source_a_merge_or_an_image_do_not_raise_the_rate) {
  create(", capacity = 10, source = s(u), triggers = off");
  expect_rate(db, "source");
  db.run("DROP TABLE f");
  create(", capacity = 10");
  db.run("CREATE VIRTUAL TABLE g USING cuckoo_filter(k, seed = 2); INSERT INTO g SELECT u FROM s");
  db.run("INSERT INTO f(f, k) VALUES ('merge', 'g')");
  expect_rate(db, "merge");
  db.run("INSERT INTO f(f, k) SELECT 'import', cuckoo_build(u, 0.001) FROM s");
  expect_rate(db, "cuckoo_build");
  db.run("INSERT INTO f(f, k) SELECT 'import', filter_export('g', 'hashes')");
  expect_rate(db, "filter_export");
}

}  // namespace
}  // namespace cuckoo::test::filter_copies_test
