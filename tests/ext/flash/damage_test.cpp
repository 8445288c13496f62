// One damaged page of a flash_kv costs nothing: it is made of the others. Two damaged pages cost
// the rows in them. All other rows can be read and written. The damaged ones can be replaced. And
// flash_kv_salvage() gives all rows that are sound.
#include <set>

#include "tests/support/copy_over.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace flash_damage_test {
namespace {

constexpr int64_t kRows = 1200;

class FlashPageDamage : public testing::Test {
 protected:
  FlashPageDamage() { make("name TEXT, doc, size = '1MB', seed = 1"); }

  void make(const std::string& columns) {
    std::filesystem::remove(good);
    QuickDatabase db(good);
    db.run("CREATE VIRTUAL TABLE kv USING flash_kv({})", columns);
    db.run(with_numbers(kRows) +
           "INSERT INTO kv SELECT 'k' || i, printf('%d-%.*c', i, 100 + i % 300, 'x') FROM n");
    ids = db.rows("SELECT id FROM kv_pages ORDER BY id");
  }
  // Changes the last byte of these pages, in a copy of the database.
  void damage_pages(const std::string& ids_of_them) {
    copy_over(good, bad);
    QuickDatabase(bad).run(
        "UPDATE kv_pages SET page = CAST(substr(page, 1, length(page) - 1) || x'5A' AS BLOB)"
        " WHERE id IN ({})",
        ids_of_them);
  }
  // Damages the parity with the page. Without it the page can't be made again.
  void damage(const std::string& id) { damage_pages(id + ", -1"); }
  // Returns the keys whose rows can't be read, in ascending order of their numbers. All others but
  // the `changed` have their values.
  static std::vector<int64_t> damaged_rows(Database& db, const std::set<int64_t>& changed = {}) {
    std::vector<int64_t> damaged;
    for (int64_t i = 1; i <= kRows; ++i) {
      const std::string value = sql("SELECT doc FROM kv WHERE name = 'k{}'", i);
      const Outcome outcome = db.attempt(value);
      if (outcome.code != SQLITE_OK) {
        EXPECT_EQ(outcome.code & 0xFF, SQLITE_CORRUPT) << outcome.message;
        damaged.push_back(i);
      } else if (!changed.contains(i)) {
        db.gives(value, db.text(sql("SELECT printf('%d-%.*c', {}, {}, 'x')", i, 100 + i % 300)));
      }
    }
    return damaged;
  }
  // Returns the id of a page with rows that are in no tail.
  std::string page_of_rows() {
    QuickDatabase db(good);
    return db.text("SELECT sector * 1024 / 4032 FROM kv WHERE name = 'k77'");
  }

  TemporaryFolder folder;
  const std::string good = folder.file("good.db");
  const std::string bad = folder.file("bad.db");
  std::vector<Row> ids;
};

// I6 of pages.hpp.
TEST_F(FlashPageDamage, I6_of_one_page_costs_nothing_whichever_it_is) {
  const std::string all = "SELECT count(*), sum(length(doc)) FROM kv";
  const std::string expected = QuickDatabase(good).text(
      "SELECT count(*) || '|' || sum(length(doc))"
      " FROM kv");
  int damaged_first = 0;
  for (size_t i = share_first() % 4; i < ids.size(); i += 4) {
    SCOPED_TRACE("page " + ids[i][0]);
    damage_pages(ids[i][0]);
    {
      QuickDatabase db(bad);
      db.run("PRAGMA query_only = 1");
      db.gives(all, expected);
      db.gives("SELECT cuckoo_check('kv')",
               "kv: corrupt: page row " + ids[i][0] + ": a wrong checksum");
    }
    {
      QuickDatabase db(bad);
      const bool asks_first = ++damaged_first % 2 == 0;
      if (asks_first) {
        db.gives(all, expected);
      }
      // Undone, and then done.
      db.run(
          "BEGIN; INSERT INTO kv VALUES ('a', 1); SAVEPOINT s;"
          "INSERT INTO kv(kv) VALUES ('collect'); ROLLBACK TO s; DELETE FROM kv WHERE name = 'a';"
          "ROLLBACK");
      EXPECT_NE(db.text("SELECT cuckoo_check('kv')"), "ok");
      if (asks_first) {
        db.gives(all, expected);
        db.run("INSERT INTO kv VALUES ('a', 1); DELETE FROM kv WHERE name = 'a'");
      } else {
        db.run("INSERT INTO kv(kv) VALUES ('collect')");
      }
      db.gives("SELECT cuckoo_check('kv')", "ok");
      db.gives(all, expected);
    }
    QuickDatabase(bad).gives(all, expected);
  }
}

// Also if only the mount reads it, and after a roll-back.
TEST_F(FlashPageDamage, I6_of_a_page_is_mended_by_the_next_change_whoever_read_it) {
  for (const char* page : {"0", "(SELECT max(id) FROM kv_pages)"}) {
    SCOPED_TRACE(page);
    copy_over(good, bad);
    QuickDatabase(bad).run("UPDATE kv_pages SET page = zeroblob(9) WHERE id = {}", page);
    const std::string length = sql("SELECT length(page) FROM kv_pages WHERE id = {}", page);
    QuickDatabase db(bad);
    db.gives("SELECT count(*) FROM (SELECT doc FROM kv)", kRows);
    db.run("BEGIN; INSERT INTO kv VALUES ('a', 1); ROLLBACK");
    db.gives(length, 9);
    db.run("BEGIN; SAVEPOINT s; INSERT INTO kv VALUES ('a', 1); ROLLBACK TO s; COMMIT");
    db.gives(length, 9);
    QuickDatabase(bad).run("CREATE TABLE other(a)");  // the store is mounted anew
    db.run("INSERT INTO kv VALUES ('a', 1)");
    EXPECT_GT(db.number(length), 4000);
    db.gives("SELECT cuckoo_check('kv')", "ok");
  }
}

// One flipped bit makes a TEXT of a BLOB.
TEST_F(FlashPageDamage, I6_of_a_row_that_is_no_blob_costs_nothing) {
  for (const char* page : {"-1", "0", "20"}) {
    for (const char* value : {"NULL", "7", "CAST(page AS TEXT)", "1.5"}) {
      SCOPED_TRACE(std::string(page) + " " + value);
      copy_over(good, bad);
      QuickDatabase(bad).run("UPDATE kv_pages SET page = {} WHERE id = {}", value, page);
      QuickDatabase db(bad);
      EXPECT_NE(db.text("SELECT cuckoo_check('kv')"), "ok");
      EXPECT_TRUE(damaged_rows(db).empty());
      db.run("DELETE FROM kv WHERE name = 'k1'; INSERT INTO kv(kv) VALUES ('collect')");
      db.gives("SELECT cuckoo_check('kv')", "ok");
    }
  }
}

// A page that is in memory is written as it is there.
TEST_F(FlashPageDamage, I6_of_a_page_in_memory_is_mended_too) {
  copy_over(good, bad);
  QuickDatabase db(bad);
  db.gives("SELECT count(*) FROM (SELECT doc FROM kv)", kRows);
  const std::string flip =
      "UPDATE kv_pages SET page = CAST(substr(page, 1, length(page) - 1) || x'5A' AS BLOB)"
      " WHERE id IN ({})";
  for (const char* which : {"20", "20, 30", "-1"}) {
    SCOPED_TRACE(which);
    db.run(flip, which);
    EXPECT_NE(db.text("SELECT cuckoo_check('kv')"), "ok");
    db.run("INSERT INTO kv(kv) VALUES ('collect')");
    db.gives("SELECT cuckoo_check('kv')", "ok");
  }
  EXPECT_TRUE(damaged_rows(db).empty());
}

TEST_F(FlashPageDamage, I6_a_parity_of_an_earlier_time_is_found_and_gives_no_wrong_row) {
  copy_over(good, bad);
  const std::string earlier =
      QuickDatabase(bad).text("SELECT quote(page) FROM kv_pages WHERE id = -1");
  {
    QuickDatabase db(bad);
    db.run(with_numbers(400) + "INSERT OR REPLACE INTO kv SELECT 'k' || (i * 3), 'later' FROM n");
    db.run("UPDATE kv_pages SET page = {} WHERE id = -1", earlier);
    db.gives("SELECT cuckoo_check('kv')", "kv: corrupt: page row -1 is not the one that was read");
  }
  QuickDatabase(bad).gives("SELECT cuckoo_check('kv')",
                           "kv: corrupt: the parity, page row -1, is not that of the other rows");
  {
    const std::string mended = folder.file("mended.db");
    copy_over(bad, mended);
    QuickDatabase db(mended);
    db.run("INSERT INTO kv(kv) VALUES ('collect')");
    db.gives("SELECT cuckoo_check('kv')", "ok");
  }
  const std::string page = page_of_rows();
  QuickDatabase(bad).run("UPDATE kv_pages SET page = x'00' WHERE id = {}", page);
  QuickDatabase db(bad);
  for (int i = 1; i <= kRows; ++i) {
    const Outcome outcome = db.attempt("SELECT doc FROM kv WHERE name = 'k{}'", i);
    if (outcome.code == SQLITE_OK) {
      db.gives(sql("SELECT doc FROM kv WHERE name = 'k{}'", i),
               i % 3 == 0 && i <= 1200
                   ? "later"
                   : db.text(sql("SELECT printf('%d-%.*c', {}, {}, 'x')", i, 100 + i % 300)));
    }
  }
}

// I7: the parity is made anew when a damaged page is, and when the second one is mended.
TEST_F(FlashPageDamage, I7_of_two_pages_ends_when_their_rows_are_written_again) {
  const std::string page = page_of_rows();
  damage_pages(page + ", " + std::to_string(std::stoi(page) + 12));
  {
    QuickDatabase db(bad);
    const std::vector<int64_t> damaged = damaged_rows(db);
    ASSERT_GE(damaged.size(), 6u);
    ASSERT_LE(damaged.size(), 80u);
    for (const int64_t key : damaged) {
      db.run("INSERT OR REPLACE INTO kv VALUES ('k{}', 'mended')", key);
    }
    db.run("INSERT INTO kv(kv) VALUES ('collect')");
    for (int turn = 0; turn < 40; ++turn) {  // until the given-up pages don't count
      db.run(with_numbers(50) + "INSERT OR REPLACE INTO kv SELECT 't' || i, zeroblob(900) FROM n");
    }
    db.gives("SELECT count(*) FROM kv WHERE length(doc) > 1 AND name LIKE 'k%'", kRows);
    db.gives("SELECT cuckoo_check('kv')", "ok");
    ids = db.rows("SELECT id FROM kv_pages ORDER BY id");
  }
  // From now on one more damaged page costs nothing again.
  copy_over(bad, good);
  damage_pages("40");
  QuickDatabase(bad).gives("SELECT count(*) FROM kv WHERE length(doc) > 1 AND name LIKE 'k%'",
                           kRows);
}

TEST_F(FlashPageDamage, of_each_page_costs_its_rows) {
  size_t whole = 0;
  size_t pages = 0;
  for (size_t i = share_first() % 4; i < ids.size(); i += 4) {
    SCOPED_TRACE("page " + ids[i][0]);
    if (ids[i][0] == "-1") {
      continue;
    }
    damage(ids[i][0]);
    QuickDatabase db(bad);
    ++pages;
    const int64_t sound = db.number("SELECT count(DISTINCT key) FROM flash_kv_salvage('kv')");
    const std::vector<int64_t> damaged = damaged_rows(db);
    if (damaged.size() == kRows) {  // the index, or what tells of it
      ++whole;
      EXPECT_GE(sound, kRows - 40);
      db.run("INSERT INTO kv(kv) VALUES ('clear')");
    } else {
      EXPECT_EQ(sound + static_cast<int64_t>(damaged.size()), kRows);
      EXPECT_LE(damaged.size(), 40u);
      for (const int64_t key : damaged) {
        db.run("INSERT OR REPLACE INTO kv VALUES ('k{}', 'mended')", key);
      }
      db.gives("SELECT count(*) FROM kv WHERE length(doc) > 1", kRows);
    }
    db.run("INSERT INTO kv(kv) VALUES ('check')");
  }
  EXPECT_LE(whole, 3u) << "of " << pages;
}

// The index has several pieces. After many look-ups all of it is loaded, if that is possible.
TEST(FlashIndexDamage, of_a_piece_costs_its_own_look_ups_however_often_others_are_asked) {
  TemporaryFolder folder;
  std::vector<std::string> sectors;
  {
    QuickDatabase db(folder.file("good.db"));
    db.run(
        "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '4MB', sector_size = 4096,"
        " erase_block = 1, seed = 1)");
    db.run(with_numbers(5000) + "INSERT INTO kv SELECT i, i FROM n");
    db.run("INSERT INTO kv(kv) VALUES ('collect')");
    for (const Row& row : db.rows("SELECT sector FROM flash_kv_sectors('kv')"
                                  " WHERE state LIKE '%check%'")) {
      sectors.push_back(row[0]);
    }
  }
  int found = 0;
  for (const std::string& sector : sectors) {
    copy_over(folder.file("good.db"), folder.file("bad.db"));
    QuickDatabase db(folder.file("bad.db"));
    db.run(
        "UPDATE kv_pages SET page = CAST(substr(page, 1, length(page) - 1) || x'5A' AS BLOB)"
        " WHERE id IN ({}, -1)",
        sector);
    std::vector<int> sound;
    for (int key = 1; key <= 40; ++key) {
      if (db.attempt("SELECT v FROM kv WHERE k = {}", key).code == SQLITE_OK) {
        sound.push_back(key);
      }
    }
    if (sound.empty() || sound.size() == 40) {
      continue;
    }
    ++found;
    for (int again = 0; again < 200; ++again) {
      db.gives(sql("SELECT v FROM kv WHERE k = {}", sound[0]), sound[0]);
    }
    db.run("UPDATE kv SET v = 'new' WHERE k = {}", sound[0]);
    db.gives(sql("SELECT v FROM kv WHERE k = {}", sound[0]), "new");
  }
  EXPECT_GT(found, 0) << "of " << sectors.size();
}

TEST_F(FlashPageDamage, is_an_error_that_names_the_row) {
  damage(page_of_rows());
  QuickDatabase db(bad);
  const std::vector<int64_t> damaged = damaged_rows(db);
  ASSERT_GE(damaged.size(), 3u);
  ASSERT_LT(damaged.size(), 40u);
  const std::string key = "'k" + std::to_string(damaged[0]) + "'";
  db.refuses("SELECT doc FROM kv WHERE name = " + key, SQLITE_CORRUPT_VTAB,
             {"kv: corrupt: the row with the key " + key + " is damaged: page row ",
              "replace it or DELETE it"});
  db.refuses("SELECT seq FROM kv WHERE name = " + key, SQLITE_CORRUPT_VTAB, {key});
  db.refuses("SELECT doc FROM kv", SQLITE_CORRUPT_VTAB, {"kv: corrupt: page row "});
  db.refuses("SELECT name FROM kv ORDER BY name DESC", SQLITE_CORRUPT_VTAB, {"kv: corrupt: "});
  db.refuses("INSERT INTO kv VALUES (" + key + ", 1)", SQLITE_CONSTRAINT_PRIMARYKEY, {"UNIQUE"});
  db.gives("SELECT count(*) FROM kv WHERE name = 'none'", 0);
  db.gives("SELECT count(*) FROM kv", kRows);
  db.run("INSERT INTO kv VALUES ('new', 1)");
  db.gives("SELECT doc FROM kv WHERE name = 'new'", "1");
}

TEST_F(FlashPageDamage, is_mended_by_each_way_to_write_a_row) {
  damage(page_of_rows());
  QuickDatabase db(bad);
  const std::vector<int64_t> damaged = damaged_rows(db);
  ASSERT_GE(damaged.size(), 6u);
  db.run("INSERT OR REPLACE INTO kv VALUES ('k{}', 'replaced')", damaged[0]);
  db.run("DELETE FROM kv WHERE name = 'k{}'", damaged[1]);
  db.run("UPDATE kv SET doc = 'updated' WHERE name = 'k{}'", damaged[2]);
  db.run("UPDATE kv SET name = 'moved', doc = 'here' WHERE name = 'k{}'", damaged[3]);
  db.refuses(sql("UPDATE kv SET name = 'moved too' WHERE name = 'k{}'", damaged[4]),
             SQLITE_CORRUPT_VTAB);
  db.gives(sql("SELECT doc FROM kv WHERE name IN ('k{}', 'k{}', 'k{}', 'moved') ORDER BY doc",
               damaged[0], damaged[1], damaged[2]),
           "here,replaced,updated");
  const std::set<int64_t> changed(damaged.begin(), damaged.begin() + 4);
  EXPECT_EQ(damaged_rows(db, changed), std::vector<int64_t>(damaged.begin() + 4, damaged.end()));
  for (size_t i = 4; i < damaged.size(); ++i) {
    db.run("DELETE FROM kv WHERE name = 'k{}'", damaged[i]);
  }
  db.gives("SELECT count(*) FROM (SELECT doc FROM kv)",
           kRows - static_cast<int64_t>(damaged.size()) + 3);
  db.run("INSERT INTO kv(kv) VALUES ('check')");
  db.gives("SELECT bad_blocks BETWEEN 1 AND 2 FROM flash_kv_info('kv')", 1);
}

TEST_F(FlashPageDamage, mended_in_a_transaction_comes_back_with_its_rollback) {
  damage(page_of_rows());
  QuickDatabase db(bad);
  const std::vector<int64_t> damaged = damaged_rows(db);
  ASSERT_GE(damaged.size(), 2u);
  const std::string replace = sql("INSERT OR REPLACE INTO kv VALUES ('k{}', 'mended')", damaged[0]);
  db.run("BEGIN; INSERT INTO kv VALUES ('a', 1); SAVEPOINT s; {}; ROLLBACK TO s", replace);
  EXPECT_EQ(damaged_rows(db), damaged);
  db.run("{}; ROLLBACK", replace);
  EXPECT_EQ(damaged_rows(db), damaged);
  QuickDatabase other(bad);
  EXPECT_EQ(damaged_rows(other), damaged);
  db.run(replace);
  EXPECT_EQ(damaged_rows(db, {damaged[0]}).size(), damaged.size() - 1);
  other.gives(sql("SELECT doc FROM kv WHERE name = 'k{}'", damaged[0]), "mended");
  other.refuses(sql("SELECT doc FROM kv WHERE name = 'k{}'", damaged[1]), SQLITE_CORRUPT_VTAB,
                {"its erase block is given up"});
}

TEST_F(FlashPageDamage, does_not_stop_collections) {
  damage(page_of_rows());
  QuickDatabase db(bad);
  const std::vector<int64_t> damaged = damaged_rows(db);
  db.run("INSERT INTO kv(kv) VALUES ('collect')");
  for (int i = 0; i < 60; ++i) {
    db.run(
        with_numbers(100) +
            "INSERT OR REPLACE INTO kv SELECT 'turn' || (i * i * {} % 300), zeroblob(500) FROM n",
        i + 1);
  }
  EXPECT_EQ(damaged_rows(db), damaged);
  EXPECT_GT(db.number("SELECT collections FROM flash_kv_info('kv')"), 0);
}

TEST_F(FlashPageDamage, of_a_long_value_hides_no_later_row) {
  std::filesystem::remove(good);
  {
    QuickDatabase db(good);
    db.run("CREATE VIRTUAL TABLE kv USING flash_kv(name TEXT, doc, size = '1MB', seed = 1)");
    db.run(with_numbers(10) + "INSERT INTO kv SELECT 'k' || i, i FROM n");
    db.run("INSERT INTO kv VALUES ('long', zeroblob(20000))");
    db.run(with_numbers(11, 300) + "INSERT INTO kv SELECT 'k' || i, i FROM n");
    db.run("INSERT INTO kv(kv) VALUES ('collect')");
  }
  for (const char* query : {"SELECT name, doc FROM kv", "SELECT doc FROM kv WHERE doc >= ''"}) {
    int rows_before_the_error = 0;
    bool hit = false;
    for (int page = 4; page < 12; ++page) {
      damage(std::to_string(page));
      QuickDatabase db(bad);
      const Outcome one = db.attempt("SELECT doc FROM kv WHERE name = 'long'");
      if (one.code == SQLITE_OK || db.attempt("SELECT doc FROM kv WHERE name = 'k299'").code != 0) {
        continue;
      }
      hit = true;
      rows_before_the_error = 0;
      sqlite3_stmt* statement = nullptr;
      ASSERT_EQ(sqlite3_prepare_v2(db.handle(), query, -1, &statement, nullptr), SQLITE_OK);
      int code = 0;
      while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        ++rows_before_the_error;
      }
      EXPECT_EQ(sqlite3_finalize(statement) & 0xFF, SQLITE_CORRUPT);
      EXPECT_GE(rows_before_the_error, query[7] == 'n' ? 240 : 0);
      EXPECT_EQ(db.number("SELECT count(*) FROM flash_kv_salvage('kv')") +
                    static_cast<int64_t>(query[7] == 'n' ? 301 - rows_before_the_error : 0),
                query[7] == 'n' ? 301 : db.number("SELECT count(*) FROM flash_kv_salvage('kv')"));
      db.run("UPDATE kv SET doc = 'short' WHERE name = 'long'");
    }
    EXPECT_TRUE(hit);
  }
}

// The pages of a long value are loaded together.
TEST_F(FlashPageDamage, in_the_middle_of_a_long_value_is_the_error_of_that_value) {
  std::string page;
  {
    QuickDatabase db(good);
    db.run(
        "INSERT INTO kv VALUES ('before', 1), ('long', zeroblob(30000)), ('after', 2);"
        "INSERT INTO kv(kv) VALUES ('collect')");
    page = db.text("SELECT sector * 1024 / 4032 - 2 FROM kv WHERE name = 'after'");
  }
  damage(page);
  QuickDatabase db(bad);
  db.refuses("SELECT doc FROM kv WHERE name = 'long'", SQLITE_CORRUPT_VTAB,
             {"the row with the key 'long' is damaged: page row " + page + ": a wrong checksum"});
  db.gives("SELECT doc FROM kv WHERE name IN ('before', 'after') ORDER BY doc", "1,2");
}

TEST_F(FlashPageDamage, of_a_row_that_is_gone_ends_with_clear) {
  copy_over(good, bad);
  QuickDatabase(bad).run("DELETE FROM kv_pages WHERE id = {}", page_of_rows());
  QuickDatabase db(bad);
  EXPECT_GT(damaged_rows(db).size(), 0u);
  db.run("INSERT INTO kv(kv) VALUES ('clear'); INSERT INTO kv VALUES ('a', 1)");
  db.run("INSERT INTO kv(kv) VALUES ('check')");
}

TEST_F(FlashPageDamage, of_rows_with_numbers_as_keys_is_mended_too) {
  std::filesystem::remove(good);
  {
    QuickDatabase db(good);
    db.run("CREATE VIRTUAL TABLE kv USING flash_kv(name, doc, size = '1MB', seed = 1)");
    db.run(with_numbers(kRows) + "INSERT INTO kv SELECT i, printf('%.*c', 200, 'x') FROM n");
  }
  damage("20");
  QuickDatabase db(bad);
  std::vector<int64_t> damaged;
  for (int64_t i = 1; i <= kRows; ++i) {
    if (db.attempt(sql("SELECT doc FROM kv WHERE name = {}", i)).code != SQLITE_OK) {
      damaged.push_back(i);
    }
  }
  ASSERT_GE(damaged.size(), 4u);
  ASSERT_LT(damaged.size(), 50u);
  db.refuses(sql("SELECT doc FROM kv WHERE name = {}", damaged[0]), SQLITE_CORRUPT_VTAB,
             {sql("the row with the key {} is damaged", damaged[0])});
  db.run("UPDATE kv SET doc = 'new' WHERE name = {}", damaged[0]);
  db.run("UPDATE OR REPLACE kv SET name = {} WHERE name = {}", damaged[1], damaged[0]);
  db.gives(sql("SELECT doc FROM kv WHERE name = {}", damaged[1]), "new");
  db.run("DELETE FROM kv WHERE name = {}", damaged[2]);
}

TEST_F(FlashPageDamage, is_left_out_by_salvage) {
  damage(page_of_rows());
  QuickDatabase db(bad);
  const int64_t damaged = static_cast<int64_t>(damaged_rows(db).size());
  db.run("CREATE TABLE saved AS SELECT * FROM flash_kv_salvage('kv')");
  db.gives("SELECT count(*), count(DISTINCT key) FROM saved",
           sql("{}|{}", kRows - damaged, kRows - damaged));
  db.gives("SELECT count(*) FROM saved WHERE value NOT LIKE substr(key, 2) || '-x%'", 0);
  db.gives("SELECT max(sector) BETWEEN 1 AND 1023 FROM saved", 1);
  db.gives("SELECT count(*) FROM flash_kv_salvage(NULL)", 0);
  db.refuses("SELECT * FROM flash_kv_salvage", {"flash_kv_salvage takes a flash_kv's name"});
  db.refuses("SELECT * FROM flash_kv_salvage(7)", {"the argument is a flash_kv's name"});
  db.refuses("SELECT * FROM flash_kv_salvage('none')", {"none"});
}

// The index, the tail or the record of the store is damaged: nothing can be read, but for salvage.
TEST_F(FlashPageDamage, of_what_a_mount_needs_leaves_salvage_and_clear) {
  const std::string zero = "UPDATE kv_pages SET page = x'00' WHERE id = 0";
  for (const std::string& broken :
       {zero, std::string("UPDATE kv_config SET value = x'00' WHERE key = 'record'"),
        std::string("DELETE FROM kv_config WHERE key = 'record'")}) {
    SCOPED_TRACE(broken);
    copy_over(good, bad);
    QuickDatabase(bad).run(broken);
    QuickDatabase db(bad);
    if (db.attempt("SELECT doc FROM kv WHERE name = 'k1'").code == SQLITE_OK) {
      continue;  // it has another name
    }
    EXPECT_GE(db.number("SELECT count(*) FROM flash_kv_salvage('kv')"), kRows - 20);
    db.run("CREATE TABLE saved AS SELECT * FROM flash_kv_salvage('kv')");
    db.run("BEGIN; INSERT INTO kv(kv) VALUES ('clear'); INSERT INTO kv VALUES ('a', 1)");
    db.gives("SELECT count(*) FROM kv", 1);
    db.run("ROLLBACK");
    db.refuses("SELECT doc FROM kv WHERE name = 'k1'", SQLITE_CORRUPT_VTAB);
    db.run(
        "INSERT INTO kv(kv) VALUES ('clear'); INSERT INTO kv(kv, name) VALUES ('resize', '2MB');"
        "INSERT INTO kv SELECT key, value FROM saved");
    db.run("INSERT INTO kv(kv) VALUES ('check')");
    EXPECT_GE(kRows, db.number("SELECT count(*) FROM kv"));
    QuickDatabase other(bad);
    other.run("INSERT INTO kv VALUES ('b', 2); INSERT INTO kv(kv) VALUES ('check')");
    db.gives("SELECT doc FROM kv WHERE name = 'b'", 2);
  }
}

}  // namespace
}  // namespace flash_damage_test
}  // namespace cuckoo::test
