// flash_kv by seq, and by the names of rowids, with the statements of tools that edit a table cell
// by cell.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_rowid_test {
namespace {

class FlashRowid : public testing::Test {
 protected:
  FlashRowid() {
    db.run(
        "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, seed = 1);"
        "INSERT INTO kv VALUES ('a', 1), ('b', 2), ('c', 3), ('d', 4)");
  }
  Database db;
};

TEST_F(FlashRowid, a_cell_is_edited_and_no_other) {
  db.run("UPDATE kv SET v = '42' WHERE \"_rowid_\" = '2'");  // as DB Browser does
  EXPECT_EQ(sqlite3_changes(db.handle()), 1);
  db.gives("SELECT rowid || k || v FROM kv", "1a1,3c3,4d4,5b42");
  db.gives("UPDATE kv SET v = 'all' WHERE \"_rowid_\" = '_rowid_'; SELECT v FROM kv", "1,3,4,42");
  db.run("DELETE FROM kv WHERE \"oid\" IN ('1', 1, 4, 77)");
  EXPECT_EQ(sqlite3_changes(db.handle()), 2);
  db.gives("SELECT rowid || k FROM kv", "3c,5b");
  db.gives("UPDATE kv SET k = 'renamed' WHERE rowid = 3; SELECT rowid || k FROM kv", "5b,9renamed");
}

TEST_F(FlashRowid, each_row_is_found_once_by_what_equals_its_seq) {
  for (const std::string name : {"_rowid_", "rowid", "oid", "seq"}) {
    SCOPED_TRACE(name);
    const auto keys = [&](const std::string& condition) {
      return db.list("SELECT k FROM kv WHERE {}{}", name, condition);
    };
    EXPECT_EQ(keys(" = 3"), "c");
    EXPECT_EQ(keys(" IS '3'"), "c");
    EXPECT_EQ(keys(" = 3.0"), "c");
    EXPECT_EQ(keys(" IN (3, '3', 3.0, 1)"), "a,c");
    EXPECT_EQ(keys(" = 3 OR k = 'c' OR k = 'a' ORDER BY k"), "a,c");
    EXPECT_EQ(keys(" > 2"), "c,d");
    for (const char* none : {" = 3.5", " = 0", " = -1", " = 5", " = 'abc'", " = ''", " = x'33'",
                             " IS NULL", " = NULL", " = 9223372036854775807", " = 1e300"}) {
      EXPECT_EQ(keys(none), "") << none;
    }
    db.gives(sql("SELECT k FROM kv ORDER BY {} DESC", name), "d,c,b,a");
  }
  db.gives("SELECT rowid = seq AND oid = seq AND _rowid_ = seq FROM kv", "1,1,1,1");
  db.gives("SELECT typeof(rowid) || count(*) FROM kv WHERE rowid = 2 AND k = 'b'", "integer1");
  db.run("CREATE TABLE t(i); INSERT INTO t VALUES (3), ('4'), (4.0), (7), (NULL)");
  db.gives("SELECT i || k FROM t JOIN kv ON rowid = i", "3c,4d,4.0d");
}

TEST_F(FlashRowid, a_row_is_found_without_reading_the_others) {
  db.run(with_numbers(3000) + "INSERT INTO kv SELECT i, zeroblob(100) FROM n");
  const std::string reads = "SELECT record_reads FROM flash_kv_info('kv')";
  const std::string sectors = "SELECT sector_reads FROM flash_kv_info('kv')";
  const int64_t before = db.number(reads);
  db.gives("SELECT k || length(v) FROM kv WHERE rowid = '1004'", "1000100");
  EXPECT_LE(db.number(reads) - before, 2);
  const int64_t headers = db.number(sectors);
  db.gives("SELECT count(*) FROM kv WHERE rowid IN (SELECT seq FROM kv WHERE seq < 200)", 199);
  EXPECT_LT(db.number(sectors) - headers, 60000);  // all headers a few times, not 199 times
}

}  // namespace
}  // namespace flash_rowid_test
}  // namespace cuckoo::test
