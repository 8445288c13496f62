// TopKeys beside a std::map: random adds and removals of two connections, roll-backs, rotations.
#include <map>
#include <random>

#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::top_keys_test {
namespace {

using Counts = std::map<std::string, int64_t>;

Counts listed(Database& db) {
  Counts counts;
  int64_t before = INT64_MAX;
  for (const Row& row : db.rows("SELECT key, count FROM filter_top('f')")) {
    const int64_t count = std::stoll(row[1]);
    EXPECT_LE(count, before) << row[0];
    EXPECT_GT(count, 0) << row[0];
    EXPECT_TRUE(counts.emplace(row[0], count).second) << row[0] << " twice";
    before = count;
  }
  return counts;
}

class TopKeysModel : public testing::TestWithParam<const char*> {
 protected:
  void life(uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return random() % n; };
    TemporaryFolder folder;
    Database a(folder.file("f.db"));
    a.run("PRAGMA journal_mode = wal");
    a.run("CREATE VIRTUAL TABLE f USING {}, fpr = 1e-9, seed = {}, top = {})", GetParam(), seed,
          top);
    Database b(folder.file("f.db"));
    Counts counts;
    Counts before;
    Database* writer = nullptr;
    for (int step = 0; step < 120; ++step) {
      Database& db = writer != nullptr ? *writer : below(2) == 0 ? a : b;
      if (writer == nullptr && below(4) == 0) {
        before = counts;
        writer = &db;
        db.run(below(2) == 0 ? "BEGIN; SAVEPOINT s" : "SAVEPOINT s");
      } else if (writer != nullptr && below(5) == 0) {
        const bool back = below(2) == 0;
        db.run(back ? "ROLLBACK TO s; RELEASE s" : "RELEASE s");
        if (sqlite3_get_autocommit(db.handle()) == 0) {
          db.run("COMMIT");
        }
        counts = back ? before : counts;
        writer = nullptr;
      }
      const std::string key = "k" + std::to_string(below(12) * below(12));
      const auto copies = static_cast<int64_t>(1 + below(3) * below(6));
      std::string added = key;
      switch (below(8)) {
        case 0:
          db.run("INSERT INTO f(f, key, count) VALUES ('delete', '{}', {})", key, copies);
          counts[key] = std::max<int64_t>(counts[key] - copies, 0);
          added.clear();
          break;
        case 1:
          added = "k" + std::to_string(below(20));
          db.run("UPDATE f SET key = '{}' WHERE key = '{}'", added, key);
          if (counts[key] > 0) {
            --counts[key];
            ++counts[added];
          } else {
            added.clear();
          }
          break;
        case 2:
          if (below(10) == 0) {
            db.run("INSERT INTO f(f) VALUES ('clear')");
            counts.clear();
            added.clear();
            break;
          }
          [[fallthrough]];
        default:
          db.run("INSERT INTO f(key, count) VALUES ('{}', {})", key, copies);
          counts[key] += copies;
          break;
      }
      const Counts top_now = listed(db);
      ASSERT_LE(top_now.size(), static_cast<size_t>(top));
      int64_t least = INT64_MAX;
      for (const auto& [name, count] : top_now) {
        ASSERT_EQ(count, counts[name]) << name << " at step " << step;
        least = std::min(least, count);
      }
      if (!added.empty() && !top_now.contains(added)) {  // I1
        ASSERT_EQ(top_now.size(), static_cast<size_t>(top)) << added << " at step " << step;
        ASSERT_LE(counts[added], least) << added << " at step " << step;
      }
      if (writer == nullptr) {  // I2
        Database fresh(folder.file("f.db"));
        ASSERT_EQ(listed(fresh), top_now) << "at step " << step;
        ASSERT_EQ(listed(&db == &a ? b : a), top_now) << "at step " << step;
      }
      ASSERT_EQ(db.text("SELECT cuckoo_check('f')"), "ok");
    }
  }

  static constexpr int top = 4;
};

INSTANTIATE_TEST_SUITE_P(Kinds, TopKeysModel,
                         testing::Values("cuckoo_filter(key", "cuckoo_filter(key, growth = off",
                                         "bloom_filter(key, counting = on"),
                         kParameterName);

TEST_P(TopKeysModel, I1_I2_random_lives) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    ASSERT_NO_FATAL_FAILURE(life(seed));
  }
}

// Each step of what an INSERT writes fails once: then the list is as before.
TEST(TopKeys, a_failed_write_changes_nothing) {
  Database db;
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(key, seed = 1, top = 2)");
  db.run("INSERT INTO f(key, count) VALUES ('a', 3), ('b', 2)");
  db.run(
      "CREATE TRIGGER refuse BEFORE UPDATE ON f_config WHEN new.value = 'c'"
      " BEGIN SELECT RAISE(FAIL, 'no'); END");
  db.refuses("INSERT INTO f(key, count) VALUES ('a', 1), ('c', 9)", SQLITE_IOERR);
  EXPECT_EQ(listed(db), (Counts{{"a", 3}, {"b", 2}}));
  EXPECT_EQ(db.text("SELECT count(*) FROM f WHERE key = 'c'"), "0");
  db.run("DROP TRIGGER refuse");
  db.run("INSERT INTO f(key, count) VALUES ('a', 1), ('c', 9)");
  EXPECT_EQ(listed(db), (Counts{{"a", 4}, {"c", 9}}));
}

}  // namespace
}  // namespace cuckoo::test::top_keys_test
