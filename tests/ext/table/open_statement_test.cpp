// Statements that stay open while what they read is taken away or changed: the cases that once went
// wrong, by name. open_statement_model_test.cpp has random cases.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_open_statement_test {
namespace {

// Rows that are read twice, the second time without moving the cursor.
constexpr char kTwice[] = " CROSS JOIN json_each('[1,2]') i";

class OpenStatements : public ::testing::Test {
 protected:
  // Makes SQLite connect the table anew: the statements that are open keep what they have.
  void connect_anew(const std::string& table) {
    db_.run("PRAGMA writable_schema = reset");
    db_.run("SELECT 1 FROM {} LIMIT 0", table);
  }
  static std::string text(const Query& query, int column) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query.handle(), column));
    return text == nullptr ? "NULL" : text;
  }

  TemporaryFolder folder_;
  QuickDatabase db_{folder_.file("db")};
};

// The statement reads the share after the name. To compute the share, we may read the ring anew.
TEST_F(OpenStatements, a_share_is_of_the_node_that_the_cursor_is_at) {
  db_.run("CREATE VIRTUAL TABLE ring USING hash_ring(vnodes = 10)");
  db_.run("INSERT INTO ring(node) VALUES ('a'), ('b'), ('c'), ('d')");
  db_.run("PRAGMA writable_schema = reset");  // as in a connection that has not looked up a key
  Query open(db_, std::string("SELECT r.node, CASE WHEN i.value = 2 THEN r.share END FROM ring r") +
                      kTwice);
  ASSERT_EQ(open.step(), SQLITE_ROW);
  connect_anew("ring");
  db_.run("DELETE FROM ring WHERE node = 'd'");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(text(open, 0), "a");
  const std::string share = db_.text("SELECT share FROM ring WHERE node = 'a'");
  EXPECT_EQ(text(open, 1), share);
}

// A new node may get the number of a node that was removed.
TEST_F(OpenStatements, an_owner_is_not_the_node_that_took_its_number) {
  db_.run("CREATE VIRTUAL TABLE ring USING hash_ring()");
  db_.run("INSERT INTO ring(node) VALUES ('a'), ('b'), ('c')");
  const std::string keys = "json_each('[1,2,3,4,5,6,7,8,9,10,11,12]') j";
  const std::string key = db_.text(
      "SELECT j.value FROM {} CROSS JOIN ring r ON r.key = j.value WHERE r.node = 'c' AND"
      " j.value NOT IN (4)",
      keys);
  Query open(db_, "SELECT r.node, r.weight, r.share FROM (SELECT " + key +
                      " AS k) CROSS JOIN ring r ON r.key = k" + kTwice);
  Query replicas(db_, "SELECT r.node, r.weight, r.replica FROM (SELECT " + key +
                          " AS k) CROSS JOIN ring r ON r.key = k AND r.replicas = 2" + kTwice);
  ASSERT_EQ(open.step(), SQLITE_ROW);
  ASSERT_EQ(replicas.step(), SQLITE_ROW);
  EXPECT_EQ(text(open, 0), "c");
  db_.run("DELETE FROM ring WHERE node = 'c'; INSERT INTO ring(node, weight) VALUES ('x', 0.001)");
  const std::string now = db_.text("SELECT node FROM ring WHERE key = " + key);
  ASSERT_NE(now, "x");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(text(open, 0), now);
  EXPECT_EQ(text(open, 1), "1");
  EXPECT_EQ(text(open, 2), db_.text("SELECT share FROM ring WHERE node = '{}'", now));
  ASSERT_EQ(replicas.step(), SQLITE_ROW);  // as they were found
  EXPECT_EQ(text(replicas, 0), "c");
  EXPECT_EQ(text(replicas, 1), "1");
  ASSERT_EQ(replicas.step(), SQLITE_ROW);
  EXPECT_EQ(text(replicas, 0), now);
}

// The statement's instance has an older state in memory, but the pages that it reads are new.
TEST_F(OpenStatements, a_store_written_by_another_instance_is_read_as_it_is) {
  db_.run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(size = '64KB', sector_size = 512,"
      " erase_block = 1)");
  for (int i = 0; i < 40; ++i) {
    db_.run("INSERT INTO kv VALUES ('k{}', hex(zeroblob(100)))", i);
  }
  db_.run("BEGIN");
  Query scan(db_, "SELECT key, value FROM kv");
  Query point(db_,
              "SELECT t.key, t.value FROM json_each('[1,2,39]') j CROSS JOIN kv t"
              " ON t.key = 'k' || j.value");
  ASSERT_EQ(scan.step(), SQLITE_ROW);
  ASSERT_EQ(point.step(), SQLITE_ROW);
  connect_anew("kv");
  // Blocks are erased and written again.
  for (int round = 0; round < 8; ++round) {
    db_.run(
        "UPDATE kv SET value = value || 'x' WHERE key < 'k3'; SAVEPOINT s; RELEASE s;"
        "INSERT INTO kv(kv) VALUES ('collect')");
  }
  db_.run("COMMIT");
  int rows = 1;
  int code = SQLITE_OK;
  while ((code = scan.step()) == SQLITE_ROW) {
    ++rows;
    EXPECT_EQ(text(scan, 1).size(),
              db_.number("SELECT length(value) FROM kv WHERE key = '{}'", text(scan, 0)));
  }
  EXPECT_EQ(code, SQLITE_DONE) << sqlite3_errmsg(db_.handle());
  EXPECT_GE(rows, 8);  // k3 … k9 and those above, which did not change
  ASSERT_EQ(point.step(), SQLITE_ROW);
  EXPECT_EQ(text(point, 1), db_.text("SELECT value FROM kv WHERE key = 'k2'"));
  ASSERT_EQ(point.step(), SQLITE_ROW);
  EXPECT_EQ(text(point, 1), db_.text("SELECT value FROM kv WHERE key = 'k39'"));
}

// A rebuild erases pages that the statement's instance had not loaded. An absent page says "no".
TEST_F(OpenStatements, a_filter_rebuilt_by_another_instance_loses_no_key) {
  db_.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = 100000)");
  db_.run(with_numbers(50000) + "INSERT INTO f SELECT i FROM n");
  db_.run("PRAGMA writable_schema = reset; BEGIN");
  Query open(db_,
             "SELECT f.k FROM json_each('[1,2,30000,40000,50000]') j CROSS JOIN f"
             " ON f.k = j.value");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  connect_anew("f");
  db_.run("INSERT INTO f(f) VALUES ('rebuild'); SAVEPOINT s; RELEASE s");
  for (const char* key : {"2", "30000", "40000", "50000"}) {
    ASSERT_EQ(open.step(), SQLITE_ROW) << key;
    EXPECT_EQ(text(open, 0), key);
  }
  EXPECT_EQ(open.step(), SQLITE_DONE);
  open.reset();
  db_.run("COMMIT");
}

// The statement reads what the other instance folded, and then the fold is rolled back. The keys
// are in the log again, and nowhere else.
TEST_F(OpenStatements, a_fold_of_another_instance_that_is_rolled_back_loses_no_key) {
  for (const char* more : {"", ", generations = 2"}) {
    SCOPED_TRACE(more);
    db_.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER{})", more);
    db_.run("INSERT INTO f VALUES (1), (2), (3), (4)");
    Query open(db_, "SELECT f.k FROM json_each('[1,2,3,4,5]') j CROSS JOIN f ON f.k = j.value");
    ASSERT_EQ(open.step(), SQLITE_ROW);
    connect_anew("f");
    db_.run("BEGIN; INSERT INTO f(f) VALUES ('rebuild'); SAVEPOINT s");
    ASSERT_EQ(open.step(), SQLITE_ROW);
    db_.run("ROLLBACK; INSERT INTO f VALUES (5)");
    for (const char* key : {"3", "4", "5"}) {
      ASSERT_EQ(open.step(), SQLITE_ROW) << key;
      EXPECT_EQ(text(open, 0), key);
    }
    EXPECT_EQ(open.step(), SQLITE_DONE);
    open.reset();
    db_.run("DROP TABLE f");
  }
}

// The statement reads the filter after a 'resize'. This 'resize' is rolled back, and the filter
// gets another size.
TEST_F(OpenStatements, a_resize_that_is_undone_and_done_otherwise_loses_no_key) {
  const std::string keys = numbers(1, 20000);
  for (const char* more : {"", ", generations = 2"}) {
    SCOPED_TRACE(more);
    db_.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER, capacity = 30000{})", more);
    db_.run("INSERT INTO f " + keys);
    Query open(db_, "SELECT f.k FROM (" + keys + ") n CROSS JOIN f ON f.k = n.i");
    ASSERT_EQ(open.step(), SQLITE_ROW);
    connect_anew("f");
    db_.run("BEGIN; SAVEPOINT s; INSERT INTO f(f, k) VALUES ('resize', 40000); SAVEPOINT t");
    ASSERT_EQ(open.step(), SQLITE_ROW);
    db_.run("ROLLBACK TO s; INSERT INTO f(f, k) VALUES ('resize', 60000); SAVEPOINT u");
    int rows = 2;
    int rc = SQLITE_OK;
    while ((rc = open.step()) == SQLITE_ROW) {
      ++rows;
    }
    EXPECT_EQ(rc, SQLITE_DONE) << sqlite3_errmsg(db_.handle());
    EXPECT_EQ(rows, 20000);
    open.reset();
    db_.run("COMMIT; DROP TABLE f");
  }
}

TEST_F(OpenStatements, what_is_half_written_is_an_error_that_says_so) {
  db_.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER)");
  db_.run("INSERT INTO f VALUES (1), (2), (3); BEGIN");
  Query open(db_, "SELECT f.k, f.count FROM json_each('[1,2,3]') j CROSS JOIN f ON f.k = j.value");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  connect_anew("f");
  db_.run("INSERT INTO f VALUES (1); INSERT INTO f(f) VALUES ('clear')");
  EXPECT_EQ(open.step(), SQLITE_ABORT_ROLLBACK);
  EXPECT_STREQ(sqlite3_errmsg(db_.handle()),
               "f: the schema changed while it was read, and it is written since; read it again");
  open.reset();
  db_.gives("COMMIT; SELECT count(*) FROM f", 0);
}

TEST_F(OpenStatements, a_table_whose_name_went_is_an_error_that_says_so) {
  db_.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER)");
  db_.run("CREATE VIRTUAL TABLE kv USING flash_kv()");
  const std::string gone = "it was renamed or dropped while it was read";
  const auto expect_gone = [&](Query& open, const std::string& name) {
    EXPECT_EQ(open.step(), SQLITE_ABORT_ROLLBACK);
    EXPECT_EQ(sqlite3_errmsg(db_.handle()), name + ": " + gone);
    open.reset();
  };
  // Only the function's cursor has the table: no instance of it is left.
  Query info(db_, std::string("SELECT n.items FROM filter_info('f') n") + kTwice);
  Query flash_info(db_, std::string("SELECT n.entries FROM flash_kv_info('kv') n") + kTwice);
  ASSERT_EQ(info.step(), SQLITE_ROW);
  ASSERT_EQ(flash_info.step(), SQLITE_ROW);
  db_.run("PRAGMA writable_schema = reset");
  db_.run("ALTER TABLE f RENAME TO g; ALTER TABLE kv RENAME TO kv2");
  db_.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k INTEGER)");  // another one
  expect_gone(info, "f");
  expect_gone(flash_info, "kv");

  // Only a transaction gave the table this name, and the transaction is rolled back.
  db_.run("INSERT INTO f VALUES (1), (2); BEGIN; ALTER TABLE f RENAME TO h");
  Query probe(db_, "SELECT h.count FROM json_each('[1,2]') j CROSS JOIN h ON h.k = j.value");
  ASSERT_EQ(probe.step(), SQLITE_ROW);
  db_.run("PRAGMA writable_schema = reset; ROLLBACK");  // without it SQLite ends them itself
  expect_gone(probe, "h");
}

}  // namespace
}  // namespace cuckoo::test::table_open_statement_test
