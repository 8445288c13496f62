// A read that fails in a statement of our own undoes the whole transaction (SQLite does so for any
// statement but an interrupted SELECT). Code that passes over such a failure lets the application's
// statement succeed and everything before it vanish. tests/faults looks for that everywhere; here
// is what it found.
#include "tests/support/database.hpp"
#include "tests/support/failing_reads.hpp"

namespace cuckoo::test::table_read_failure_test {
namespace {

class ReadFailure : public testing::Test {
 protected:
  ReadFailure() : one(open()), two(folder.file("r.db")) {}

  std::string open() {
    FailingReads::install();
    return "file:" + folder.file("r.db") + "?vfs=failing_reads";
  }

  // Runs `before` outside of a transaction, then `sql` in a transaction that has written already.
  // Each read of `sql` fails in turn. Then `sql` fails, or the transaction goes on.
  template <class Before>
  void fails_or_goes_on(const std::string& sql, Before&& before) {
    int failures = 0;
    for (int64_t n = 1; n < 1000; ++n) {
      before(n);
      one.run("BEGIN; INSERT INTO t VALUES ({})", n);
      sqlite3_db_release_memory(one.handle());
      FailingReads::arm(n);
      const Outcome outcome = one.attempt(sql);
      const bool failed = FailingReads::disarm();
      if (outcome.code == SQLITE_OK) {
        EXPECT_EQ(sqlite3_get_autocommit(one.handle()), 0) << "read " << n;
      } else {
        EXPECT_NE(outcome.message.find("disk I/O error"), std::string::npos) << outcome.message;
      }
      one.attempt("ROLLBACK");
      if (!failed) {
        EXPECT_GT(failures, 0);
        return;
      }
      ++failures;
    }
    FAIL() << "there was no end to it";
  }

  TemporaryFolder folder;
  QuickDatabase one, two;
};

TEST_F(ReadFailure, while_a_flash_kv_follows_another_connection) {
  one.run(
      "CREATE TABLE t(i);"
      "CREATE VIRTUAL TABLE kv USING flash_kv(name, doc, size = '64KB', seed = 1);"
      "INSERT INTO kv VALUES (0, 'zero')");
  fails_or_goes_on("DELETE FROM kv WHERE name = 0", [this](int64_t n) {
    one.run("SELECT * FROM kv");
    two.run("INSERT INTO kv VALUES ({}, 'by another')", n);
  });
  one.run("INSERT INTO kv(kv) VALUES ('check')");
}

TEST_F(ReadFailure, while_a_filter_looks_for_its_triggers) {
  one.run(
      "CREATE TABLE t(i); CREATE TABLE source(a);"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(source = source(a), triggers = on, seed = 1)");
  for (int i = 0; i < 50; ++i) {  // so that the schema takes many pages
    one.run("CREATE TABLE table_{}(a, b, c, CHECK (a <> '{}'))", i, std::string(300, 'x'));
  }
  fails_or_goes_on("SELECT 1 FROM f WHERE key = 5", [](int64_t) {});
}

}  // namespace
}  // namespace cuckoo::test::table_read_failure_test
