// flash_kv while its blocks wear out. It loses nothing, and replays and other connections agree
// with it. In the end it says `full: … worn out`, and 'resize' gives it new blocks. A table of
// format 1 never wears out.
#include <filesystem>
#include <memory>

#include "tests/support/script.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_endurance_test {
namespace {

class FlashEndurance : public testing::Test {
 protected:
  std::string file(const std::string& name = "f.db") const { return folder_.file(name); }
  TemporaryFolder folder_;
};

constexpr const char* kSmall =
    "CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, sectors = 24, sector_size = 512,"
    " erase_block = 1, seed = 5, endurance = ";

std::string overwrite(int count, int keys, const std::string& tag = "v") {
  return with_numbers(count) +
         sql("INSERT OR REPLACE INTO kv SELECT printf('k%d', i % {}), '{}' || i FROM n", keys, tag);
}

TEST_F(FlashEndurance, a_device_wears_out_with_everything_readable_and_is_made_larger) {
  QuickDatabase db(file());
  db.run(kSmall + std::string("20)"));
  db.run("INSERT INTO kv VALUES ('static', 'kept')");
  const int64_t usable = db.number("SELECT usable_bytes FROM flash_kv_info('kv')");
  Outcome outcome;
  int rounds = 0;
  std::string before;
  while (outcome.code == SQLITE_OK && rounds < 10000) {
    before = db.list("SELECT name || doc FROM kv");
    outcome = db.attempt(overwrite(10, 4, "round " + std::to_string(++rounds) + ":"));
  }
  EXPECT_EQ(outcome.code, SQLITE_ERROR);
  EXPECT_TRUE(outcome.message.starts_with("full: kv: worn out: ")) << outcome.message;
  EXPECT_GT(rounds, 30);
  db.gives("SELECT name || doc FROM kv", before);
  EXPECT_LT(db.number("SELECT usable_bytes FROM flash_kv_info('kv')"), usable);
  const int64_t bad = db.number("SELECT bad_blocks FROM flash_kv_info('kv')");
  EXPECT_GT(bad, 0);
  db.gives("SELECT count(*) FROM flash_kv_sectors('kv') WHERE state = 'bad'", bad);
  EXPECT_GT(db.number("SELECT min(erase_count) FROM flash_kv_sectors('kv') WHERE state = 'bad'"),
            20);
  EXPECT_NE(db.text("SELECT flash_kv_map('kv')").find("bad blocks"), std::string::npos);
  db.run("INSERT INTO kv(kv) VALUES ('check')");

  QuickDatabase reopened(file());
  reopened.gives("SELECT name || doc FROM kv", before);
  reopened.run("INSERT INTO kv(kv, name) VALUES ('resize', '40KB')");
  reopened.run(overwrite(10, 4, "new life:"));
  db.gives("SELECT doc FROM kv WHERE name = 'static'", "kept");
  db.gives("SELECT doc FROM kv WHERE name = 'k2'", "new life:10");
  db.run("INSERT INTO kv(kv) VALUES ('check')");
}

// --- a table that was stored once ------------------------------------------------------

// tests/golden/flash_kv-4.sql is what `.dump` gave of a table of format 4 with endurance = 20: some
// blocks are bad. The statements below give the table new blocks. The sums after them are from the
// same time.
constexpr const char* kGolden = "flash_kv-4.sql";
constexpr const char* kGoldenRows =
    "integer 42 1,"
    "text 'bücher' 2,"
    "real 1.5 4,"
    "blob X'00FF' 5,"
    "null NULL 6,"
    "49c5fe645b2420992389373204fd5bc005d03622 'addressed by its digest' 7,"
    "key 1 'version 2981' 2988,"
    "key 2 'version 2982' 2989,"
    "key 3 'version 2983' 2990,"
    "key 4 'version 2984' 2991,"
    "key 0 'version 2985' 2992";
constexpr const char* kGoldenStatements =
    "DELETE FROM kv WHERE name = 'key 1';"
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12)"
    "INSERT OR REPLACE INTO kv SELECT printf('key %d', i % 4), 'again ' || i FROM n;"
    "INSERT INTO kv(kv, name) VALUES ('resize', 16384);"
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 70)"
    "INSERT OR REPLACE INTO kv SELECT printf('key %d', i % 4), 'more ' || i FROM n";
constexpr const char* kGoldenPages = "6e2ecd854acab62ae089d5e1d9a9a4907a299cce";
constexpr const char* kGoldenConfig = "2c583a52637ea3a9c39c6cd356595b41fc3f27eb";
constexpr const char* kGoldenWear = "21 2";

TEST_F(FlashEndurance, a_stored_table_is_read_and_written_with_the_same_bytes) {
  {
    QuickDatabase restored(file(kGolden));
    restored.run(test::golden(kGolden));
  }
  QuickDatabase db(file(kGolden));
  db.gives("SELECT name || ' ' || quote(doc) || ' ' || seq FROM kv WHERE name <> 'long'",
           kGoldenRows);
  db.gives("SELECT length(doc) FROM kv WHERE name = 'long'", 200);
  db.run("INSERT INTO kv(kv) VALUES ('check')");
  db.run(kGoldenStatements);
  db.gives(
      "SELECT sha1(group_concat(id || quote(page))) FROM"
      " (SELECT * FROM kv_pages ORDER BY id)",
      kGoldenPages);
  db.gives(
      "SELECT sha1(group_concat(key || quote(value))) FROM"
      " (SELECT * FROM kv_config ORDER BY key)",
      kGoldenConfig);
  db.gives("SELECT erase_max || ' ' || bad_blocks FROM flash_kv_info('kv')", kGoldenWear);
  db.run("INSERT INTO kv(kv) VALUES ('check')");
  const std::string rows = "SELECT name || quote(doc) FROM kv";
  EXPECT_EQ(QuickDatabase(file(kGolden)).list(rows), db.list(rows));
}

// --- random lives --------------------------------------------------------------------------------

// Runs the same statements on three files: two with a flash_kv, one with an ordinary table. One of
// the flash_kv is used through two connections and is reopened.
class WearScript : public Script {
 public:
  explicit WearScript(uint64_t seed) : Script(seed) {
    for (auto [db, name] : {std::pair(&plain_, "plain"), {&one_, "one"}, {&two_, "two"}}) {
      *db = std::make_unique<QuickDatabase>(folder_.file(name));
      (*db)->run("PRAGMA journal_mode = WAL");
    }
    other_ = std::make_unique<QuickDatabase>(folder_.file("two"));
    const std::string create =
        "CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, sector_size = 512, sectors = " +
        std::to_string(64 + random(64)) + ", erase_block = " + std::to_string(1 + random(3)) +
        ", program_unit = " + std::to_string(16 << random(3)) + ", seed = " + number(1000) +
        ", endurance = " + std::to_string(20 + random(one_in(2) ? 3 : 50)) + ")";
    one_->run(create);
    two_->run(create);
    plain_->run("CREATE TABLE kv(name TEXT PRIMARY KEY, doc) WITHOUT ROWID");
  }

  void run() {
    bool resized = false;
    int after = 0;
    for (int step = 0; step < 4000 && after < 40; ++step) {
      ASSERT_NO_FATAL_FAILURE(transact());
      after += resized ? 1 : 0;
      if (worn_out_ >= 12 && !resized) {
        ASSERT_NO_FATAL_FAILURE(revive());
        resized = true;
      }
    }
    ASSERT_TRUE(resized) << "the device lives for ever";
  }

 private:
  std::string statement() {
    const std::string key = "'k" + number(12) + "'";
    const std::string length = std::to_string(random(one_in(6) ? 700 : 90));
    const std::string value = "printf('%.*c', " + length + ", 'x') || " + std::to_string(random());
    switch (random(12)) {
      case 0:
        return "DELETE FROM kv WHERE name = " + key;
      case 1:
        return "DELETE FROM kv WHERE name > " + key;
      case 2:
        return "UPDATE kv SET doc = " + value + " WHERE name > " + key;
      case 3:
        return "UPDATE OR REPLACE kv SET name = 'k" + number(12) + "' WHERE name = " + key;
      default:
        return "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < " +
               std::to_string(1 + random(30)) + ") INSERT OR REPLACE INTO kv SELECT 'k' || (i * " +
               std::to_string(1 + random(11)) + " % 12), " + value + " || i FROM n";
    }
  }

  // The ordinary table does not get a statement that the flash_kv refused.
  void change() {
    const std::string sql = one_in(25)   ? "INSERT INTO kv(kv) VALUES ('collect')"
                            : one_in(60) ? "INSERT INTO kv(kv) VALUES ('clear')"
                                         : statement();
    const bool command = sql.starts_with("INSERT INTO kv(kv)");
    const Outcome one = one_->attempt(sql);
    const Outcome two = two_->attempt(sql);
    ASSERT_EQ(one.code, two.code) << sql << '\n' << one.message << '\n' << two.message;
    ASSERT_EQ(one.message, two.message);
    if (one.code == SQLITE_OK && !command) {
      plain_->run(sql);
    } else if (one.code == SQLITE_OK && sql.find("clear") != std::string::npos) {
      plain_->run("DELETE FROM kv");
    } else if (one.code != SQLITE_OK) {
      ASSERT_EQ(one.code, SQLITE_ERROR) << sql << '\n' << one.message;
      ASSERT_TRUE(one.message.starts_with("full: kv: ")) << one.message;
      worn_out_ += one.message.find("worn out") != std::string::npos ? 1 : 0;
    }
  }
  void all(const std::string& sql) {
    for (QuickDatabase* db : {plain_.get(), one_.get(), two_.get()}) {
      db->run(sql);
    }
  }

  void transact() {
    all("BEGIN");
    bool savepoint = false;
    for (uint64_t i = 1 + random(6); i > 0; --i) {
      ASSERT_NO_FATAL_FAILURE(change());
      if (one_in(4)) {
        const bool release = savepoint && one_in(2);
        all(release ? "RELEASE a" : savepoint ? "ROLLBACK TO a" : "SAVEPOINT a");
        savepoint = !release;
      }
    }
    all(one_in(5) ? "ROLLBACK" : "COMMIT");
    if (one_in(3)) {
      std::swap(two_, other_);  // it sees what the other one did
    } else if (one_in(4)) {
      two_ = std::make_unique<QuickDatabase>(folder_.file("two"));
    }
    ASSERT_NO_FATAL_FAILURE(compare());
  }

  void compare() {
    const std::string sql = "SELECT name || ' ' || doc FROM kv ORDER BY name";
    const std::string expected = plain_->list(sql);
    ASSERT_EQ(one_->list(sql), expected);
    ASSERT_EQ(two_->list(sql), expected);
    ASSERT_EQ(other_->list(sql), expected);
    ASSERT_EQ(shadow_rows(*one_, "kv"), shadow_rows(*two_, "kv"));
    one_->run("INSERT INTO kv(kv) VALUES ('check')");
    ASSERT_FALSE(testing::Test::HasFailure());
  }

  void revive() {
    for (QuickDatabase* db : {one_.get(), two_.get()}) {
      db->run("INSERT INTO kv(kv, name) VALUES ('resize', '200KB')");
      db->run("INSERT OR REPLACE INTO kv VALUES ('born', 'again')");
    }
    plain_->run("INSERT INTO kv VALUES ('born', 'again')");
    ASSERT_NO_FATAL_FAILURE(compare());
  }

  TemporaryFolder folder_;
  std::unique_ptr<QuickDatabase> plain_, one_, two_, other_;
  int worn_out_ = 0;
};

TEST_F(FlashEndurance, random_lives_are_those_of_an_ordinary_table_until_they_end) {
  run_scripts<WearScript>(6);
}

}  // namespace
}  // namespace flash_endurance_test
}  // namespace cuckoo::test
