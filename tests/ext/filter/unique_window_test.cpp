// A sliding window with unique = on: INSERT adds keys that no generation has, and tells which.
#include <deque>
#include <set>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

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

// --- random lives --------------------------------------------------------------------------------

using Generations = std::deque<std::set<int64_t>>;  // newest first

// Several connections write one window in turn; a copy in another database follows. At this rate
// no false positive comes.
class UniqueWindowScript : public Script {
 public:
  explicit UniqueWindowScript(uint64_t seed) : Script(seed), most_(2 + random(5)) {
    const bool grows = !one_in(3);
    const std::string options = std::string(pick(kKinds)) + "unique = on, fpr = 1e-8, ";
    for (int i = 0; i < 3; ++i) {
      connections_.push_back(std::make_unique<QuickDatabase>(folder_.file("f.db")));
    }
    connections_[0]->run("CREATE VIRTUAL TABLE f USING {}seed = 1, generations = {}{})", options,
                         most_, (grows ? ", capacity = 60" : ", growth = off, capacity = 800"));
    copy_.run("CREATE VIRTUAL TABLE f USING {}generations = 2)", options);
  }

  void run() {
    for (int turn = 0; turn < 60 && !testing::Test::HasFailure(); ++turn) {
      db_ = pick(connections_).get();
      if (one_in(3)) {
        step();
      } else {
        transaction();
      }
      db_ = pick(connections_).get();
      look();
      if (one_in(4)) {
        follow();
      }
    }
    follow();
    for (const auto& one : connections_) {
      one->gives("SELECT cuckoo_check('f')", "ok");
    }
  }

 private:
  static constexpr int64_t kKeys = 400;

  bool held(int64_t key) const {
    return std::any_of(held_.begin(), held_.end(),
                       [key](const std::set<int64_t>& one) { return one.contains(key); });
  }

  void transaction() {
    SavedStates<Generations> saved;
    do {
      db_->run(saved.step(*this, held_));
      for (uint64_t steps = random(4); steps > 0; --steps) {
        step();
      }
      if (one_in(4)) {
        look();
      }
    } while (saved.open());
  }

  void step() {
    switch (random(12)) {
      case 0:
        db_->run("INSERT INTO f(f) VALUES ('rotate')");
        held_.emplace_front();
        held_.resize(std::min<size_t>(held_.size(), most_));
        return;
      case 1:
        if (one_in(4)) {
          db_->run("INSERT INTO f(f) VALUES ('clear')");
          held_ = {{}};
        }
        return;
      case 2:
      case 3:
        return insert("INSERT INTO f VALUES ");
      case 4:
        return insert("INSERT OR REPLACE INTO f VALUES ");
      default:
        return insert("INSERT OR IGNORE INTO f VALUES ");
    }
  }

  void insert(const std::string& insert) {
    const Generations before = held_;
    std::string values;
    int64_t fresh = 0;
    const uint64_t rows = one_in(5) ? 40 : 1 + random(3);
    for (uint64_t i = 0; i < rows; ++i) {
      const auto key = static_cast<int64_t>(random(kKeys));
      values += (values.empty() ? "(" : ", (") + std::to_string(key) + ")";
      if (!held(key)) {
        held_.front().insert(key);
        ++fresh;
      }
    }
    const bool all = static_cast<uint64_t>(fresh) == rows;
    if (insert.starts_with("INSERT INTO") && !all) {
      db_->refuses(insert + values, SQLITE_CONSTRAINT_PRIMARYKEY, {"UNIQUE"});
      held_ = before;
      return;
    }
    db_->run(insert + values);
    const bool replaces = insert.starts_with("INSERT OR REPLACE");
    db_->gives("SELECT changes()", replaces ? static_cast<int64_t>(rows) : fresh);
  }

  void look(Database& db) const {
    std::string items;
    std::set<int64_t> all;
    for (const std::set<int64_t>& one : held_) {
      items += (items.empty() ? "" : " ") + std::to_string(one.size());
      all.insert(one.begin(), one.end());
    }
    std::string keys;
    for (const int64_t key : all) {
      keys += (keys.empty() ? "" : ",") + std::to_string(key);
    }
    db.gives("SELECT generation_items FROM filter_info('f')", items);
    db.gives(with_numbers(0, kKeys) + "SELECT i FROM n JOIN f ON f.key = i ORDER BY i",
             all.empty() ? "none" : keys);
  }
  void look() { look(*db_); }

  // A copy without hashes does not get the origin's mark if its segments differ from the origin's.
  // Then the second message is an image.
  void follow() {
    Database& origin = *connections_[0];
    for (int message = 0; message < 2 && mark_of(copy_, "f") != mark_of(origin, "f"); ++message) {
      const std::string changes =
          origin.text("SELECT hex(filter_changes('f', x'{}'))", mark_of(copy_, "f"));
      copy_.run("INSERT INTO f(f, key) VALUES ('apply', x'{}')", changes);
      look(copy_);
    }
    EXPECT_EQ(mark_of(copy_, "f"), mark_of(origin, "f"));
    copy_.gives("SELECT cuckoo_check('f')", "ok");
  }

  uint64_t most_;
  TemporaryFolder folder_;
  std::vector<std::unique_ptr<QuickDatabase>> connections_;
  QuickDatabase copy_{":memory:"};
  Database* db_ = nullptr;
  Generations held_ = {{}};
};

TEST(UniqueWindowModel, holds_each_key_in_one_generation) { run_scripts<UniqueWindowScript>(40); }

}  // namespace
}  // namespace cuckoo::test::filter_unique_window_test
