// A scan of a flash_kv while the table changes. It gives each row that was there when the scan
// began and is still there when its turn comes. It gives the row once, in the order of seq.
#include <map>
#include <random>
#include <set>

#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_scan_test {
namespace {

// A scan that reads a row only while `reads` says so.
class FlashCountThenRead : public testing::Test {
 protected:
  FlashCountThenRead() {
    db.run(
        "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB');"
        "INSERT INTO kv(k, v) SELECT value, value FROM json_each('[0,1,2,3,4,5,6,7,8,9]')");
    sqlite3_create_function(
        db.handle(), "reads", 0, SQLITE_UTF8, &reads,
        [](sqlite3_context* context, int, sqlite3_value**) {
          sqlite3_result_int(context, *static_cast<bool*>(sqlite3_user_data(context)) ? 1 : 0);
        },
        nullptr, nullptr);
  }
  std::string rest(Query& scan) {
    std::string text;
    while (scan.step() == SQLITE_ROW) {
      text += std::to_string(scan.integer());
    }
    return text;
  }

  bool reads = false;
  Database db;
};

TEST_F(FlashCountThenRead, what_was_counted_is_passed_over) {
  Query scan(db, "SELECT CASE WHEN reads() THEN k END FROM kv");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(scan.step(), SQLITE_ROW);
  }
  reads = true;
  EXPECT_EQ(rest(scan), "3456789");
}

// The scan has read rows. From the first change on it reads by the index.
TEST_F(FlashCountThenRead, what_was_given_is_not_given_again_after_a_change) {
  Query scan(db, "SELECT k FROM kv");
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(scan.step(), SQLITE_ROW);
  }
  db.run("DELETE FROM kv WHERE k IN (0, 2, 3, 7); REPLACE INTO kv VALUES (5, 'new'), (10, 'new')");
  EXPECT_EQ(rest(scan), "4689");
}

// One instance of the table scans, and another instance removes the row that the scan is at.
TEST(FlashScan, goes_on_when_another_instance_removes_its_row) {
  Database db;
  db.run("CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB')");
  db.run("BEGIN; INSERT INTO kv VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')");
  Query scan(db, "SELECT k FROM kv");
  ASSERT_EQ(scan.step(), SQLITE_ROW);
  ASSERT_EQ(scan.step(), SQLITE_ROW);
  ASSERT_EQ(scan.integer(), 2);
  db.run("PRAGMA writable_schema = RESET; DELETE FROM kv WHERE k IN (2, 3)");
  ASSERT_EQ(scan.step(), SQLITE_ROW);
  EXPECT_EQ(scan.integer(), 4);
  EXPECT_EQ(scan.step(), SQLITE_DONE);
}

// Large values have parts. An untyped key's value remembers how the key was given.
TEST(FlashScan, gives_values_of_any_length_and_keys_as_they_were_given) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '4MB');"
      "CREATE TABLE t(k PRIMARY KEY, v);"
      " {}INSERT INTO t SELECT CASE i % 3 WHEN 0 THEN i WHEN 1 THEN i + 0.0 ELSE 'k' || i END,"
      " CASE WHEN i % 7 = 0 THEN zeroblob(i * 300) ELSE i END FROM n;"
      "INSERT INTO kv SELECT * FROM t",
      with_numbers(120));
  db.gives("SELECT quote(k) || typeof(k) FROM kv",
           db.list("SELECT quote(k) || typeof(k) FROM t ORDER BY rowid"));
  db.gives("SELECT quote(v) FROM kv", db.list("SELECT quote(v) FROM t ORDER BY rowid"));
  db.gives("SELECT quote(k) || quote(v) FROM kv WHERE v IS NOT 5",
           db.list("SELECT quote(k) || quote(v) FROM t WHERE v IS NOT 5 ORDER BY rowid"));
}

// --- random changes, savepoints and roll-backs between the steps of a scan -----------------------

class ChangingScan {
 public:
  explicit ChangingScan(uint64_t seed) : random_(seed) {
    db_.run(
        "CREATE VIRTUAL TABLE kv USING flash_kv(k INTEGER, v, size = '128KB',"
        " sector_size = 512, seed = 1); BEGIN");
    for (int i = 0; i < 150; ++i) {
      change();
    }
    if (one_in(2)) {
      db_.run("INSERT INTO kv(kv) VALUES ('collect')");
    }
  }

  void run() {
    const int64_t first_unseen = 1 + db_.number("SELECT coalesce(max(seq), 0) FROM kv");
    std::map<int64_t, int64_t> untouched = seqs_;  // by key
    const bool with_values = one_in(2);
    Query scan(db_, with_values ? "SELECT k, seq, v FROM kv" : "SELECT k, seq FROM kv");
    int64_t last = 0;
    const uint64_t calm = 1 + random() % 12;
    while (scan.step() == SQLITE_ROW) {
      const int64_t key = sqlite3_column_int64(scan.handle(), 0);
      const int64_t seq = sqlite3_column_int64(scan.handle(), 1);
      ASSERT_TRUE(seqs_.contains(key)) << key;
      ASSERT_EQ(seqs_[key], seq);
      ASSERT_GT(seq, last);
      ASSERT_LT(seq, first_unseen);
      if (with_values) {
        ASSERT_EQ(sqlite3_column_bytes(scan.handle(), 2), lengths_[key]);
      }
      last = seq;
      untouched.erase(key);
      while (!one_in(calm)) {
        untouched.erase(step());
      }
    }
    ASSERT_EQ(untouched.size(), 0U) << "not given: " << untouched.begin()->first;
  }

 private:
  uint64_t random() { return random_(); }
  bool one_in(uint64_t n) { return random() % n == 0; }

  struct Savepoint {
    std::map<int64_t, int64_t> seqs;
    std::map<int64_t, int> lengths;
  };

  // Makes a random step. Returns the key that the step changed, or -1 if none.
  int64_t step() {
    const std::string name = "s" + std::to_string(savepoints_.size());
    switch (random() % 12) {
      case 0:
        db_.run("SAVEPOINT " + name);
        savepoints_.push_back({seqs_, lengths_});
        return -1;
      case 1:
        if (!savepoints_.empty()) {
          db_.run("ROLLBACK TO s" + std::to_string(savepoints_.size() - 1));
          seqs_ = savepoints_.back().seqs;
          lengths_ = savepoints_.back().lengths;
        }
        return -1;
      case 2:
        if (!savepoints_.empty()) {
          db_.run("RELEASE s" + std::to_string(savepoints_.size() - 1));
          savepoints_.pop_back();
        }
        return -1;
      case 3:
        db_.run("INSERT INTO kv(kv) VALUES ('collect')");
        return -1;
      default:
        return change();
    }
  }

  int64_t change() {
    const auto key = static_cast<int64_t>(random() % 60);
    const std::string text = std::to_string(key);
    if (one_in(3)) {
      db_.run("DELETE FROM kv WHERE k = " + text);
      seqs_.erase(key);
      return key;
    }
    lengths_[key] = static_cast<int>(one_in(6) ? random() % 2000 : random() % 100);
    db_.run("REPLACE INTO kv VALUES ({}, zeroblob({}))", text, lengths_[key]);
    seqs_[key] = db_.number("SELECT seq FROM kv WHERE k = " + text);
    return key;
  }

  Database db_;
  std::mt19937_64 random_;
  std::map<int64_t, int64_t> seqs_;
  std::map<int64_t, int> lengths_;
  std::vector<Savepoint> savepoints_;
};

TEST(FlashScanModel, gives_what_was_there_and_still_is) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(seed);
    ChangingScan script(seed);
    script.run();
    ASSERT_FALSE(HasFatalFailure());
  }
}

}  // namespace
}  // namespace flash_scan_test
}  // namespace cuckoo::test
