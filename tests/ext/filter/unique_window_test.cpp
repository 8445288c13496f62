// A sliding window with unique = on: INSERT adds keys that no generation has, and tells which.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_unique_window_test {
namespace {

constexpr const char* kKinds[] = {"cuckoo_filter(key, ", "bloom_filter(key, ",
                                  "bloom_filter(key, layout = blocked, ",
                                  "bloom_filter(key, counting = on, "};

class UniqueWindow : public testing::TestWithParam<const char*> {
 protected:
  void create(const std::string& name, const std::string& options) {
    db.run("CREATE VIRTUAL TABLE {} USING {}unique = on, {})", name, GetParam(), options);
  }
  void rotate(const std::string& name = "f") {
    db.run("INSERT INTO {}({}) VALUES ('rotate')", name, name);
  }
  std::string items(const std::string& name = "f") {
    return db.text("SELECT generation_items FROM filter_info('{}')", name);
  }
  int64_t added(const std::string& values) {
    db.run("INSERT OR IGNORE INTO f VALUES " + values);
    return db.number("SELECT changes()");
  }
  QuickDatabase db{":memory:"};
};

INSTANTIATE_TEST_SUITE_P(Kinds, UniqueWindow, testing::ValuesIn(kKinds), kParameterName);

TEST_P(UniqueWindow, adds_what_no_generation_has) {
  create("f", "generations = 3, seed = 1");
  EXPECT_EQ(added("(1), (2), (1)"), 2);
  rotate();
  EXPECT_EQ(added("(1), (3)"), 1);
  rotate();
  EXPECT_EQ(added("(1), (2), (3), (4)"), 1);
  EXPECT_EQ(items(), "1 1 2");
  db.refuses("INSERT INTO f VALUES (1)", SQLITE_CONSTRAINT_PRIMARYKEY,
             {"UNIQUE constraint failed: f.key"});
  db.gives("INSERT OR REPLACE INTO f VALUES (1); SELECT changes()", 1);
  EXPECT_EQ(items(), "1 1 2") << "it stays where it is";
  db.refuses("INSERT INTO f(key, count) VALUES (9, 2)", {"unique = on holds each"});
  db.refuses("DELETE FROM f WHERE key = 1", {"sliding window"});
  db.refuses("INSERT INTO f(f, key, count) VALUES ('delete', 1, 2)", {"sliding window"});
  check(db);
}

TEST_P(UniqueWindow, that_cannot_grow_is_full_by_its_newest_generation) {
  create("f", "generations = 2, capacity = 300, growth = off, seed = 1");
  db.run("INSERT OR IGNORE INTO f " + numbers(1, 200));
  rotate();
  db.refuses("INSERT OR IGNORE INTO f " + numbers(1, 2000), {"full: f holds"});
  EXPECT_EQ(present(db, 1, 200), 200);
  EXPECT_EQ(items().substr(0, 2), "0 ");
  db.run("INSERT OR IGNORE INTO f " + numbers(1, 480));
  db.gives("SELECT changes()", db.number("SELECT substr(generation_items, 1, 3)"
                                         " FROM filter_info('f')"));
  EXPECT_EQ(added("(1), (2)"), 0);
  rotate();
  EXPECT_GE(added("(1), (2), (3), (4)"), 3);
  check(db);
}

// Its options are read from the table's rows, and its mark says that each hash is there once.
TEST_P(UniqueWindow, is_opened_and_copied) {
  create("f", "generations = 3, capacity = 2000, seed = 1");
  create("copy", "generations = 2, growth = off");
  db.run("CREATE VIRTUAL TABLE plain USING {}generations = 2)", GetParam());
  const auto follow = [this](const std::string& what) {
    for (const std::string to : {"copy", "plain"}) {
      db.run("INSERT INTO {}({}, key) SELECT 'apply', filter_changes('f', filter_mark('{}'))", to,
             to, to);
      EXPECT_EQ(db.number("SELECT filter_mark('f') = filter_mark('{}')", to), 1) << what << to;
      EXPECT_EQ(items(to), items()) << what << to;
      check(db, to);
    }
  };
  for (int64_t day = 0; day < 5; ++day) {
    db.run("INSERT OR IGNORE INTO f " + numbers(100 * day, 100 * day + 150));
    follow("added");
    rotate();
    follow("rotated");
    db.run("INSERT OR IGNORE INTO f " + numbers(100 * day + 120, 100 * day + 180));
    follow("added to a new one");
  }
  db.run("INSERT OR IGNORE INTO copy " + numbers(500, 570));
  db.gives("SELECT changes()", 0);
  db.run("INSERT INTO copy(copy, key) VALUES ('import', filter_export('f'))");
  db.gives("SELECT filter_mark('f') = filter_mark('copy')", 1);
  db.run("INSERT INTO f(f) VALUES ('clear')");
  follow("cleared");
}

}  // namespace
}  // namespace cuckoo::test::filter_unique_window_test
