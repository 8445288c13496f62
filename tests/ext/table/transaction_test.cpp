// Transactions amid statements that are open. tests/ext/table/model_test.cpp has all that random
// statements do to transactions, savepoints, names and triggers.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_transaction_test {
namespace {

using Transaction = WithDatabase;
constexpr char kCreate[] = "CREATE VIRTUAL TABLE f USING cuckoo_filter(fingerprint_bits = 28)";

// A DROP that fails must not lose what was pending.
TEST_F(Transaction, with_a_drop_that_fails_keeps_pending_rows) {
  db.run("{}; INSERT INTO f VALUES (1)", kCreate);
  Query reading(db, "SELECT * FROM f_data");
  db.run("BEGIN; INSERT INTO f VALUES (2)");
  ASSERT_EQ(reading.step(), SQLITE_ROW);
  db.refuses("DROP TABLE f", SQLITE_LOCKED);
  reading.reset();
  db.run("INSERT INTO f VALUES (3); COMMIT");
  EXPECT_EQ(present(db, 1, 100), 3);
  check(db);
}

// Each row's probe sees what the rows before it did.
TEST_F(Transaction, of_statements_that_read_while_they_write) {
  db.run("{}; INSERT INTO f {}; CREATE TABLE src(v)", kCreate, numbers(1, 6));
  db.run("INSERT INTO src VALUES (1), (20), (20), (21), (2), (21)");
  db.run("INSERT INTO f SELECT v FROM src WHERE NOT filter_contains('f', v)");
  db.gives("SELECT count(*) FROM f", 8);
  Query reader(db, "SELECT v FROM src JOIN f ON key = v");
  for (const char* amid : {"INSERT INTO f VALUES (30)", "BEGIN; INSERT INTO f VALUES (31)",
                           "COMMIT", "BEGIN; INSERT INTO f VALUES (32); ROLLBACK"}) {
    ASSERT_EQ(reader.step(), SQLITE_ROW);
    db.run(amid);
  }
  reader.step();
  db.gives("SELECT count(*) FROM f", 10);
  EXPECT_EQ(present(db, 30, 32), 2);
  reader.reset();
  check(db);
}

}  // namespace
}  // namespace cuckoo::test::table_transaction_test
