// generations = N: sliding windows, 'rotate', and what they refuse.
#include <cmath>
#include <deque>
#include <memory>
#include <random>

#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_window_test {
namespace {

void rotate(Database& db) { db.run("INSERT INTO f(f) VALUES ('rotate')"); }
std::string items(Database& db) { return db.text("SELECT generation_items FROM filter_info('f')"); }

class Window : public testing::TestWithParam<const char*> {
 protected:
  std::string create(const std::string& options) const {
    return sql("CREATE VIRTUAL TABLE f USING {}{})", GetParam(), options);
  }
  bool multiset() const { return counts_copies(GetParam()); }
  Database db;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Window,
                         testing::Values("cuckoo_filter(seed = 1, ", "bloom_filter(seed = 1, ",
                                         "bloom_filter(layout = blocked, seed = 1, ",
                                         "bloom_filter(counting = on, seed = 1, "),
                         kParameterName);

TEST_P(Window, forgets_the_oldest_generation) {
  db.run(create("generations = 3, capacity = 200, fpr = 1e-4"));
  EXPECT_EQ(items(db), "0");
  for (int day = 0; day < 12; ++day) {
    const int64_t first = day * 1000;
    db.run("INSERT INTO f " + numbers(first, first + 149));
    for (int old = 0; old <= day; ++old) {
      const int64_t found = present(db, old * 1000, old * 1000 + 149);
      if (day - old < 3) {
        EXPECT_EQ(found, 150) << day << " of " << old;
      } else {
        EXPECT_LE(found, 2) << day << " of " << old;
      }
    }
    EXPECT_EQ(items(db), day == 0 ? "150" : day == 1 ? "150 150" : "150 150 150");
    db.gives("SELECT count(*) FROM f", 150 * std::min(day + 1, 3));
    db.gives("SELECT items || ' ' || generations FROM filter_info('f')",
             std::to_string(150 * std::min(day + 1, 3)) + " 3");
    check(db);
    rotate(db);
  }
  EXPECT_EQ(items(db), "0 150 150");
  rotate(db);
  rotate(db);
  EXPECT_EQ(items(db), "0 0 0");
  EXPECT_EQ(present(db, 0, 12000), 0);
  EXPECT_EQ(rows_of(db, "f", kPageRows) + rows_of(db, "f", kOverflowRows), 0);
  check(db);
}

TEST_P(Window, leaves_no_rows_behind) {
  db.run(create("generations = 4, capacity = 300, fpr = 0.01"));
  int64_t most = 0;
  for (int turn = 0; turn < 60; ++turn) {
    db.run("INSERT INTO f " + numbers(turn * 500, turn * 500 + 299));
    db.run("INSERT INTO f SELECT 'x' FROM ({})", numbers(1, 30));
    rotate(db);
    const int64_t rows =
        db.number("SELECT (SELECT count(*) FROM f_data) + (SELECT count(*) FROM f_config)");
    if (turn == 10) {
      most = rows;
    } else if (turn > 10) {
      EXPECT_LE(rows, most + 4) << turn;
    }
  }
  check(db);
  db.run("INSERT INTO f(f) VALUES ('clear')");
  EXPECT_EQ(db.number("SELECT count(*) FROM f_data"), 3) << "block -1, a root, where its log ends";
  EXPECT_EQ(items(db), "0");
  EXPECT_EQ(present(db, 29000, 30000), 0);
  db.run("INSERT INTO f VALUES (1)");
  rotate(db);
  EXPECT_EQ(items(db), "0 1");
  check(db);
}

TEST_P(Window, takes_up_to_64_generations) {
  db.run(create("generations = 64, capacity = 20, fpr = 1e-5"));
  for (int turn = 0; turn < 130; ++turn) {
    db.run("INSERT INTO f " + numbers(turn * 100, turn * 100 + 9));
    if (static_cast<uint64_t>(turn) % share_divisor() == share_first()) {
      const int first = std::max(0, turn - 63);
      EXPECT_EQ(present(db, first * 100, turn * 100 + 9), (turn - first + 1) * 10);
      EXPECT_LE(first == 0 ? 0 : present(db, 0, first * 100 - 1), 1);
    }
    rotate(db);
  }
  check(db);
  db.gives("SELECT count(*) FROM f", 630);
  EXPECT_LE(present(db, 1'000'001, 1'100'000), 15);
}

// Any number of workers may ask for the same day.
TEST_P(Window, rotates_to_a_number) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  const auto rotate_to = [this](const std::string& number) {
    db.run("INSERT INTO f(f, key) VALUES ('rotate', {})", number);
    check(db);
  };
  const auto expect = [this](const std::string& number, const std::string& counts) {
    db.gives("SELECT rotation FROM filter_info('f')", number);
    EXPECT_EQ(items(db), counts);
  };
  expect("0", "0");
  rotate_to("unixepoch('2026-11-28') / 86400");  // from 0: all is forgotten
  expect("20785", "0");
  db.run("INSERT INTO f VALUES (1), (2)");
  for (int worker = 0; worker < 3; ++worker) {
    rotate_to("20785");
  }
  expect("20785", "2");
  rotate_to("20786.0");
  db.run("INSERT INTO f VALUES (3)");
  rotate_to("'20786'");
  expect("20786", "1 2");
  rotate(db);  // the next one
  expect("20787", "0 1 2");
  rotate_to("20789");
  expect("20789", "0 0 0");
  db.run("INSERT INTO f VALUES (4)");
  db.run("BEGIN; INSERT INTO f(f, key) VALUES ('rotate', 20791), ('rotate', 20799); ROLLBACK");
  expect("20789", "1 0 0");
  rotate_to("20791");
  expect("20791", "0 0 1");
  rotate_to("20794");
  expect("20794", "0");
  db.run("INSERT INTO f VALUES (5); INSERT INTO f(f, key) VALUES ('rotate', 1 << 60)");
  expect(std::to_string(uint64_t{1} << 60), "0");
  db.refuses("INSERT INTO f(f) VALUES ('rotate')", {"f: ", "above 2^60"});
  db.gives("SELECT rotation FROM filter_info(filter_export('f'))",
           std::to_string(uint64_t{1} << 60));
}

// A copy that missed some rotations follows, and one that missed all of them.
TEST_P(Window, that_follows_rotates_to_the_number) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  db.run("INSERT INTO f VALUES (1)");
  Database copy;
  copy.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  for (const auto& [number, counts] : std::vector<std::pair<int, std::string>>{
           {0, "1"}, {2, "0 0 1"}, {2, "0 0 1"}, {3, "0 0 0"}, {9, "0"}, {10, "0 0"}}) {
    db.run("INSERT INTO f(f, key) VALUES ('rotate', {})", number);
    const std::string changes = db.text(
        sql("SELECT hex(filter_changes('f', x'{}'))", copy.text("SELECT hex(filter_mark('f'))")));
    copy.run("INSERT INTO f(f, key) VALUES ('apply', x'{}')", changes);
    EXPECT_EQ(items(copy), counts);
    copy.gives("SELECT rotation FROM filter_info('f')", number);
    check(copy);
  }
}

TEST_P(Window, has_the_rate_asked_as_a_whole) {
  for (const char* growth : {"on", "off"}) {
    for (const double rate : {0.05, 0.01, 0.001}) {
      for (const int generations : {2, 7}) {
        Database one;
        one.run(create(sql("generations = {}, capacity = 3000, growth = {}, fpr = {}", generations,
                           growth, rate)));
        for (int turn = 0; turn < generations; ++turn) {
          one.run("INSERT INTO f " + numbers(turn * 3000, turn * 3000 + 2999));
          if (turn + 1 < generations) {
            rotate(one);
          }
        }
        EXPECT_EQ(present(one, 0, generations * 3000 - 1), generations * 3000);
        const auto found = static_cast<double>(present(one, 1'000'001, 1'100'000));
        EXPECT_LE(found, 1.08 * rate * 1e5 + 4 * std::sqrt(rate * 1e5))
            << generations << " " << rate;
        EXPECT_EQ(std::stod(one.text("SELECT fpr FROM filter_info('f')")), rate);
        EXPECT_LE(std::stod(one.text("SELECT fpr_now FROM filter_info('f')")), rate * 1.05);
      }
    }
  }
}

TEST_P(Window, grows_inside_the_newest_generation) {
  db.run(create("generations = 3, capacity = 50, fpr = 0.001"));
  db.run("INSERT INTO f " + numbers(1, 4000));
  rotate(db);
  db.run("INSERT INTO f " + numbers(4001, 4100));
  rotate(db);
  db.run("INSERT INTO f " + numbers(4101, 12000));
  EXPECT_EQ(present(db, 1, 12000), 12000);
  check(db);
  EXPECT_LE(present(db, 1'000'001, 1'100'000), 150);
  db.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO f(f, key) VALUES ('resize', 20000)");
  EXPECT_EQ(present(db, 1, 12000), 12000);
  check(db);
  rotate(db);
  EXPECT_EQ(present(db, 4001, 12000), 8000);
  EXPECT_LE(present(db, 1, 4000), 15);
  check(db);
}

TEST_P(Window, without_growth_is_full_until_it_is_rotated) {
  db.run(create("generations = 2, capacity = 100, growth = off"));
  for (int turn = 0; turn < 6; ++turn) {
    const int64_t first = turn * 1000;
    db.run("INSERT INTO f " + numbers(first, first + 99));
    db.run("BEGIN");
    db.refuses("INSERT INTO f " + numbers(first + 100, first + 199), {"full: f", "100"});
    db.run("COMMIT");
    EXPECT_EQ(present(db, first, first + 99), 100);
    EXPECT_EQ(turn == 0 ? 100 : present(db, first - 1000, first - 901), 100);
    check(db);
    rotate(db);
  }
}

TEST_P(Window, counts_the_copies_of_all_generations) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  const int64_t copies[] = {5000, 3, 40, 7};
  for (const int64_t each : copies) {
    db.run("INSERT INTO f SELECT 'x' FROM ({}); INSERT INTO f VALUES ('y')", numbers(1, each));
    check(db);
    rotate(db);
  }
  db.gives("SELECT count FROM f WHERE key = 'x'", multiset() ? 47 : 2);
  EXPECT_EQ(items(db), multiset() ? "0 8 41" : "0 2 2");
  db.run("INSERT INTO f SELECT 'x' FROM ({})", numbers(1, 5000));
  db.gives("SELECT count FROM f WHERE key = 'x'", multiset() ? 5047 : 3);
  check(db);
}

TEST_P(Window, with_overflow_entries_in_several_generations) {
  TemporaryFolder folder;
  {
    QuickDatabase one(folder.file("f.db"));
    one.run("PRAGMA page_size = 512; " + create("generations = 3, capacity = 60, fpr = 0.01"));
    for (int turn = 0; turn < 4; ++turn) {
      one.run("INSERT INTO f SELECT 'x' FROM ({})", numbers(1, 5000));
      one.run("INSERT INTO f SELECT 'k' || {} FROM ({})", turn, numbers(1, 3000));
      one.run("INSERT INTO f " + numbers(turn * 1000, turn * 1000 + 400));
      check(one);
      one.run(
          "BEGIN; SAVEPOINT s; INSERT INTO f(f) VALUES ('rotate');"
          " INSERT INTO f SELECT 'z' FROM ({}); ROLLBACK TO s; COMMIT",
          numbers(1, 3000));
      check(one);
      if (turn < 3) {
        rotate(one);
      }
    }
  }
  QuickDatabase one(folder.file("f.db"));
  one.gives("SELECT count FROM f WHERE key = 'x'", multiset() ? 15000 : 3);
  one.gives("SELECT count FROM f WHERE key = 'k2'", multiset() ? 3000 : 1);
  EXPECT_EQ(present(one, 1000, 1400) + present(one, 2000, 2400) + present(one, 3000, 3400), 1203);
  check(one);
  if (multiset()) {
    EXPECT_GT(rows_of(one, "f", kOverflowRows), 0);
  }
  for (int turn = 0; turn < 3; ++turn) {
    rotate(one);
  }
  EXPECT_EQ(rows_of(one, "f", kOverflowRows), 0);
  one.gives("SELECT count(*) FROM f WHERE key IN ('x', 'k3')", 0);
  check(one);
}

// --- transactions and connections ----------------------------------------------------------------

TEST_P(Window, rotation_is_undone_by_roll_backs) {
  db.run(create("generations = 2, capacity = 100, fpr = 1e-5"));
  db.run("INSERT INTO f " + numbers(1, 90));
  rotate(db);
  db.run("INSERT INTO f " + numbers(101, 190));
  const std::vector<Row> before = shadow_rows(db, "f");
  db.run("BEGIN; INSERT INTO f(f) VALUES ('rotate'); INSERT INTO f " + numbers(201, 290));
  EXPECT_LE(present(db, 1, 90), 1);
  EXPECT_EQ(present(db, 101, 290), 180);
  db.run("ROLLBACK");
  EXPECT_EQ(shadow_rows(db, "f"), before);
  EXPECT_EQ(present(db, 1, 190), 180);
  EXPECT_EQ(items(db), "90 90");
  db.run(
      "BEGIN; INSERT INTO f VALUES (191); SAVEPOINT a; INSERT INTO f(f) VALUES ('rotate');"
      "SAVEPOINT b; INSERT INTO f(f) VALUES ('rotate'); INSERT INTO f VALUES (300)");
  EXPECT_EQ(items(db), "1 0");
  db.run("ROLLBACK TO b");
  EXPECT_EQ(items(db), "0 91");
  EXPECT_EQ(present(db, 101, 191), 91);
  db.run("INSERT INTO f VALUES (301); ROLLBACK TO a; INSERT INTO f VALUES (302); COMMIT");
  EXPECT_EQ(items(db), "92 90");
  EXPECT_EQ(present(db, 1, 302), 182);
  check(db);
  db.run("BEGIN; INSERT INTO f(f) VALUES ('rotate'), ('rotate'), ('clear'); ROLLBACK");
  EXPECT_EQ(items(db), "92 90");
  db.refuses("INSERT INTO f(f) VALUES ('rotate'), ('clear'), ('nonsense')", {"nonsense"});
  EXPECT_EQ(items(db), "92 90");
  EXPECT_EQ(present(db, 1, 302), 182);
  check(db);
}

TEST_P(Window, is_one_for_all_connections) {
  for (const char* journal : {"DELETE", "WAL"}) {
    TemporaryFolder folder;
    QuickDatabase one(folder.file("f.db"));
    one.run(std::string("PRAGMA journal_mode = ") + journal);
    one.run(create("generations = 3, capacity = 80, fpr = 1e-5"));
    QuickDatabase two(folder.file("f.db"));
    std::deque<int64_t> held = {0};
    for (int turn = 0; turn < 25; ++turn) {
      Database& writer = turn % 3 == 1 ? two : one;
      Database& reader = turn % 3 == 1 ? one : two;
      const int64_t first = turn * 100;
      writer.run("INSERT INTO f " + numbers(first, first + 79));
      if (turn % 4 == 3) {
        reader.run("INSERT INTO f VALUES ({})", first + 80);
      }
      for (Database* each : {&writer, &reader}) {
        EXPECT_EQ(present(*each, first, first + 79), 80);
        EXPECT_EQ(present(*each, held.front(), held.front() + 79), 80);
        if (held.front() > 0) {
          EXPECT_LE(present(*each, held.front() - 100, held.front() - 21), 1);
        }
        EXPECT_EQ(items(*each), items(one));
        check(*each);
      }
      rotate(turn % 2 == 0 ? reader : writer);
      held.push_back(first + 100);
      if (held.size() > 3) {
        held.pop_front();
      }
    }
    one.run("VACUUM");
    EXPECT_EQ(items(one), items(two));
    check(two);
    QuickDatabase three(folder.file("f.db"));
    EXPECT_EQ(items(three), items(one));
    EXPECT_EQ(present(three, held.front(), held.front() + 79), 80);
    check(three);
    three.gives("PRAGMA integrity_check", "ok");
  }
}

// One connection reads a snapshot from before several rotations, and then the newest state.
TEST_P(Window, snapshot_holds_while_others_rotate) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("f.db"));
  one.run("PRAGMA journal_mode = WAL");
  one.run(create("generations = 2, capacity = 80, fpr = 1e-5"));
  one.run("INSERT INTO f " + numbers(1, 70));
  rotate(one);
  one.run("INSERT INTO f " + numbers(101, 170));
  QuickDatabase two(folder.file("f.db"));
  two.run("BEGIN; SELECT count(*) FROM f");
  EXPECT_EQ(present(two, 1, 20), 20);  // the other pages are not in memory
  for (int turn = 2; turn < 7; ++turn) {
    rotate(one);
    one.run("INSERT INTO f " + numbers(turn * 100 + 1, turn * 100 + 70));
  }
  EXPECT_EQ(present(two, 1, 170), 140);
  EXPECT_EQ(items(two), "70 70");
  EXPECT_EQ(present(two, 301, 900), 0);
  two.run("COMMIT");
  EXPECT_EQ(present(two, 501, 700), 140);
  EXPECT_LE(present(two, 1, 500), 1);
  check(two);
}

TEST_P(Window, is_byte_for_byte_what_the_statements_make_it) {
  TemporaryFolder folder;
  const std::string file = folder.file("f.db");
  auto one = std::make_unique<QuickDatabase>(file);
  Database two;
  one->run(create("generations = 3, capacity = 50, fpr = 0.01"));
  two.run(create("generations = 3, capacity = 50, fpr = 0.01"));
  for (int turn = 0; turn < 20; ++turn) {
    for (const std::string& sql :
         {"INSERT INTO f " + numbers(turn * 90, turn * 90 + turn * 20),
          "INSERT INTO f SELECT 'x' FROM (" + numbers(1, turn * 9 + 1) + ")",
          std::string("BEGIN; INSERT INTO f(f) VALUES ('rotate'); ROLLBACK"),
          std::string("INSERT INTO f(f) VALUES ('rotate')")}) {
      one->run(sql);
      two.run(sql);
    }
    one = std::make_unique<QuickDatabase>(file);
    check(*one);
  }
  EXPECT_EQ(shadow_rows(*one, "f"), shadow_rows(two, "f"));
}

TEST_P(Window, survives_rename_drop_and_vacuum_into) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("f.db"));
  one.run(create("generations = 2, capacity = 80, fpr = 1e-5"));
  one.run("INSERT INTO f {}; INSERT INTO f(f) VALUES ('rotate')", numbers(1, 70));
  one.run("ALTER TABLE f RENAME TO g; INSERT INTO g " + numbers(101, 170));
  one.run("ALTER TABLE g RENAME TO f; VACUUM INTO '{}'", folder.file("copy.db"));
  QuickDatabase copy(folder.file("copy.db"));
  EXPECT_EQ(present(copy, 1, 170), 140);
  rotate(copy);
  EXPECT_EQ(present(copy, 101, 170), 70);
  check(copy);
  EXPECT_EQ(present(one, 1, 170), 140);
  one.gives("DROP TABLE f; SELECT count(*) FROM sqlite_schema", 0);
}

// --- refused -----------------------------------------------------------------------------------

TEST_P(Window, refuses_what_could_lose_a_key) {
  db.run(create("generations = 3, capacity = 100, fpr = 1e-5"));
  db.run(
      "INSERT INTO f VALUES ('a'), ('b'); INSERT INTO f(f) VALUES ('rotate');"
      "INSERT INTO f VALUES ('a'); CREATE TABLE t(v); INSERT INTO t VALUES ('a');"
      "CREATE TRIGGER tr AFTER DELETE ON t BEGIN DELETE FROM f WHERE key = old.v; END");
  const std::vector<Row> before = shadow_rows(db, "f");
  db.run("BEGIN");
  for (const char* sql :
       {"DELETE FROM f WHERE key = 'a'", "DELETE FROM f WHERE key IN ('b', 'c')", "DELETE FROM t",
        "INSERT INTO f(f, key) VALUES ('delete', 'a')",
        "INSERT INTO f(f, key) VALUES ('delete', 'z')", "UPDATE f SET key = 'c' WHERE key = 'a'"}) {
    db.refuses(sql, {"f: ", "window", "rotate"});
  }
  for (const char* number : {"-1", "1.5", "'x'", "x'00'", "1e300"}) {
    db.refuses(sql("INSERT INTO f(f, key) VALUES ('rotate', {})", number),
               {"f: rotate takes the number", "2^60"});
  }
  db.refuses("INSERT INTO f(f, key) VALUES ('rotate', 0)", {"f: ", "number 1", "back to 0"});
  db.refuses("INSERT INTO f(f, key) VALUES ('rotate', (1 << 60) + 1)", {"f: ", "above 2^60"});
  EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
  db.run("COMMIT");
  EXPECT_EQ(shadow_rows(db, "f"), before);
  db.gives("SELECT key FROM f WHERE key IN ('a', 'b', 'c')", "a,b");
}

TEST_P(Window, refuses_source_triggers_and_import) {
  db.run("CREATE TABLE t(a)");
  for (const char* options : {"generations = 2, source = t(a)", "source = t(a), generations = 9",
                              "generations = 2, source = t(a), triggers = on"}) {
    db.refuses(create(options), {"f: ", "generations", "source"});
  }
  db.run(create("generations = 1, source = t(a), triggers = off") + "; DROP TABLE f");
  db.run(create("capacity = 50"));
  db.run(
      "INSERT INTO f VALUES (1); CREATE TABLE i AS SELECT filter_export('f', 'hashes') AS b;"
      "DROP TABLE f; " +
      create("generations = 2, capacity = 50"));
  db.run("INSERT INTO f VALUES (2)");
  rotate(db);
  db.refuses("INSERT INTO f(f, key) SELECT 'import', b FROM i", {"f: ", "window"});
  EXPECT_EQ(items(db), "0 1");
  db.run("INSERT INTO f(f, key) SELECT 'merge', b FROM i");
  EXPECT_EQ(items(db), "1 1");
  db.gives("SELECT key FROM f WHERE key IN (1, 2)", "1,2");
  rotate(db);
  db.gives("SELECT key FROM f WHERE key IN (1, 2)", "1");
  check(db);
}

TEST_P(Window, of_one_generation_does_not_rotate) {
  db.run(create("generations = 1"));
  db.refuses("INSERT INTO f(f) VALUES ('rotate')", {"f: ", "generations"});
}

// --- random ------------------------------------------------------------------------------------

// The window runs beside a queue of sets. It never has a false negative, and all connections see
// the same number of items.
TEST_P(Window, random_scripts_agree_with_a_queue_of_sets) {
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](uint64_t limit) { return random() % limit; };
    TemporaryFolder folder;
    const size_t generations = 2 + below(4);
    std::vector<std::unique_ptr<QuickDatabase>> connections;
    for (int i = 0; i < 2; ++i) {
      connections.push_back(std::make_unique<QuickDatabase>(folder.file("f.db")));
      if (i == 0) {
        connections[0]->run("PRAGMA page_size = 512");
        connections[0]->run(create(
            sql("generations = {}, capacity = {}, fpr = 0.01", generations, 5 + below(300))));
      }
    }
    using State = std::deque<std::vector<std::pair<int64_t, int64_t>>>;
    State committed = {{}};
    State now = committed;
    std::vector<State> marks;
    size_t writer = 0;
    bool open = false;
    const auto compare = [&](Database& one, const State& state) {
      for (const auto& generation : state) {
        for (const auto& [first, last] : generation) {
          ASSERT_EQ(present(one, first, last), last - first + 1) << "seed " << seed;
        }
      }
    };
    for (int step = 0; step < 80; ++step) {
      if (!open) {
        writer = below(2);
      }
      Database& one = *connections[writer];
      switch (below(9)) {
        case 0:
          rotate(one);
          now.push_front({});
          now.resize(std::min(now.size(), generations));
          break;
        case 1:
          if (!open) {
            one.run("BEGIN");
            open = true;
            marks.clear();
          }
          break;
        case 2:
          if (open) {
            one.run("SAVEPOINT s" + std::to_string(marks.size()));
            marks.push_back(now);
          }
          break;
        case 3:
          if (open && !marks.empty()) {
            const size_t mark = below(marks.size());
            one.run("ROLLBACK TO s" + std::to_string(mark));
            now = marks[mark];
            marks.resize(mark + 1);
          }
          break;
        case 4:
          if (open) {
            const bool undo = below(2) == 0;
            one.run(undo ? "ROLLBACK" : "COMMIT");
            now = undo ? committed : now;
            open = false;
          }
          break;
        case 5:
          check(one);
          break;
        case 6:
          if (below(4) == 0) {
            one.run("INSERT INTO f(f) VALUES ('clear')");
            now = {{}};
          } else {
            one.run("INSERT INTO f(f) VALUES ('rebuild')");
          }
          break;
        default: {
          const auto first = static_cast<int64_t>(below(100000));
          const auto last = first + static_cast<int64_t>(below(below(3) == 0 ? 900 : 20));
          one.run("INSERT INTO f " + numbers(first, last));
          now.front().emplace_back(first, last);
        }
      }
      if (!open) {
        committed = now;
      }
      compare(one, now);
      if (!open) {
        Database& other = *connections[1 - writer];
        compare(other, committed);
        EXPECT_EQ(items(one), items(other)) << "seed " << seed;
        one.gives("SELECT count(*) FROM f", other.number("SELECT count(*) FROM f"));
      }
      ASSERT_FALSE(HasFailure()) << "seed " << seed << " step " << step;
    }
    if (open) {
      connections[writer]->run("COMMIT");
      committed = now;
    }
    QuickDatabase later(folder.file("f.db"));
    compare(later, committed);
    EXPECT_EQ(items(later), items(*connections[0])) << "seed " << seed;
    check(later);
    check(*connections[1]);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_window_test
