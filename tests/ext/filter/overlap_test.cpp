// filter_overlap(): how many keys two filters share.
#include <set>

#include "tests/support/script.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_overlap_test {
namespace {

constexpr const char* kGrowing[] = {"cuckoo_filter(key, seed = 1", "bloom_filter(key, seed = 1",
                                    "bloom_filter(key, layout = blocked, seed = 1",
                                    "bloom_filter(key, counting = on, seed = 1",
                                    "cuckoo_filter(key, generations = 3, seed = 1"};

class Overlap : public testing::TestWithParam<const char*> {
 protected:
  // Tables that differ in size and rate.
  void create(const std::string& name, const std::string& more = "") {
    db.run("CREATE VIRTUAL TABLE {} USING {}{})", name, GetParam(), more);
  }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Overlap, testing::ValuesIn(kGrowing), kParameterName);

TEST_P(Overlap, of_tables_and_images_is_exact) {
  create("a", ", capacity = 100, fpr = 1e-6");
  create("b", ", capacity = 5000, fpr = 0.2");
  db.gives("SELECT filter_overlap('a', 'b')", 0);
  db.run("INSERT INTO a {}; INSERT INTO b {}", numbers(1, 3000), numbers(2001, 9000));
  const std::string a = "filter_export('a', 'hashes')";
  const std::string b = "filter_export('b', 'hashes')";
  for (const std::string& one : {std::string("'a'"), a}) {
    for (const std::string& other : {std::string("'b'"), b}) {
      db.gives("SELECT filter_overlap(" + one + ", " + other + ")", 1000);
      db.gives("SELECT filter_overlap(" + other + ", " + one + ")", 1000);
    }
    db.gives("SELECT filter_overlap(" + one + ", 'a')", 3000);
  }
  db.gives("SELECT filter_overlap(NULL, 'a') IS NULL, filter_overlap('a', NULL) IS NULL", "1|1");
  // It counts the keys of an open transaction until they are rolled back.
  db.run("BEGIN; INSERT INTO a {}; INSERT INTO a {}", numbers(3001, 3100), numbers(2500, 2600));
  db.gives("SELECT filter_overlap('a', 'b')", 1100);
  db.run("ROLLBACK");
  db.gives("SELECT filter_overlap('a', 'b')", 1000);
  check(db, "a");
  check(db, "b");
}

// A key that is in several generations counts once.
TEST(OverlapOfWindows, takes_the_generations_together) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE w USING cuckoo_filter(generations = 3, seed = 1);"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(seed = 1); INSERT INTO f {}",
      numbers(1, 1000));
  for (int i = 0; i < 4; ++i) {
    db.run("INSERT INTO w {}; INSERT INTO w(w) VALUES ('rotate')",
           numbers(100 * i + 1, 100 * i + 150));
  }
  // Held are those of the third and the fourth time.
  db.gives("SELECT filter_overlap('w', 'f'), filter_overlap('f', 'w')", "250|250");
  db.gives("SELECT filter_overlap(filter_export('w', 'hashes'), 'f')", 250);
  db.gives("SELECT filter_overlap('w', filter_export('w', 'hashes'))", 250);
}

TEST(OverlapOfCopies, counts_a_key_once_and_none_that_was_removed) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE a USING cuckoo_filter(seed = 1);"
      "CREATE VIRTUAL TABLE b USING bloom_filter(counting = on, seed = 1);"
      "INSERT INTO a(key, count) VALUES (1, 5), (2, 1000000), (3, 1), (4, 2);"
      "INSERT INTO b(key, count) VALUES (2, 7), (3, 8), (4, 1), (5, 1);"
      "DELETE FROM a WHERE key IN (3, 4)");
  db.gives("SELECT filter_overlap('a', 'b')", 2);  // 2, and 4 once more
  db.run("DELETE FROM a WHERE key = 4");
  db.gives("SELECT filter_overlap('a', 'b')", 1);
}

TEST(OverlapOfKeys, is_by_value_as_one_of_the_two_compares) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE i USING cuckoo_filter(key INTEGER, seed = 1);"
      "CREATE VIRTUAL TABLE n USING cuckoo_filter(key, seed = 1);"
      "CREATE VIRTUAL TABLE t USING cuckoo_filter(key TEXT COLLATE NOCASE, seed = 1);"
      "CREATE VIRTUAL TABLE m USING cuckoo_filter(key TEXT, seed = 1);"
      "CREATE VIRTUAL TABLE p USING cuckoo_filter(a, b, seed = 1);"
      "INSERT INTO i VALUES (1), ('2'), (3); INSERT INTO n VALUES (1), (2.0), ('3')");
  db.gives("SELECT filter_overlap('i', 'n'), filter_overlap('n', 'i')", "2|2");
  db.run("INSERT INTO t VALUES ('Ada'), ('bob'); INSERT INTO m VALUES ('ada')");
  db.gives("SELECT filter_overlap('m', 't'), filter_overlap('t', 'm')", "1|1");
  db.run("INSERT INTO m VALUES ('Bob')");  // has another hash there
  db.refuses("SELECT filter_overlap('m', 't')", {"filter_overlap: with m: t", "NOCASE"});
  db.gives("SELECT filter_overlap('i', 'p')", 0);  // it has no keys
  db.run("INSERT INTO p VALUES (1, 2)");
  db.refuses("SELECT filter_overlap('i', 'p')",
             {"filter_overlap: with i: p has keys of 2 columns"});
  db.refuses("SELECT filter_overlap('i', 't')", {"filter_overlap: with i: t holds TEXT keys"});
}

TEST(OverlapErrors, say_what_is_missing_and_the_way_out) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(seed = 1); INSERT INTO f VALUES (1);"
      "CREATE VIRTUAL TABLE fixed USING cuckoo_filter(seed = 1, growth = off);"
      "CREATE VIRTUAL TABLE other USING cuckoo_filter(seed = 2);"
      "CREATE VIRTUAL TABLE old USING bloom_filter(key TEXT, hash = murmur2, growth = off);"
      "CREATE VIRTUAL TABLE bare USING cuckoo_filter(seed = 1);"
      "INSERT INTO bare(bare, key) VALUES ('import', filter_export('f'));"
      "CREATE TABLE ordinary(a)");
  const std::string overlap = "SELECT filter_overlap('f', ";
  db.refuses(overlap + "'fixed')",
             {"filter_overlap: fixed keeps no hashes, as growth is off; make it with growth = on"});
  db.refuses(overlap + "'other')", {"filter_overlap: f and other have different seeds", "seed_of"});
  db.refuses(overlap + "'old')", {"filter_overlap: old has hash = murmur2"});
  db.refuses(overlap + "filter_export('old', 'legacy'))", {"filter_overlap: the image", "murmur2"});
  db.refuses(overlap + "'bare')", {"filter_overlap: bare's contents came without hashes"});
  db.refuses(overlap + "filter_export('f'))",
             {"filter_overlap: the image has no hashes; export or build it with 'hashes'"});
  db.refuses(overlap + "filter_changes('f', filter_mark('f')))", {"filter_overlap: "});
  db.refuses(overlap + "'none')", {"none"});
  db.refuses(overlap + "'ordinary')", {"ordinary"});
  db.refuses(overlap + "5)", {"filter_overlap: each argument is a filter's name or image"});
  db.refuses(overlap + "x'00')", {"filter_overlap: "});
  db.gives(
      "SELECT filter_overlap('f', cuckoo_build(column1, 0.01, NULL, 1, 'hashes')) FROM (VALUES "
      "(1))",
      1);
}

// An image with any byte changed is refused.
TEST(OverlapErrors, name_a_damaged_image_and_a_damaged_table) {
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(seed = 1); INSERT INTO f {};"
      "CREATE TABLE i(b); INSERT INTO i VALUES (filter_export('f', 'hashes'))",
      numbers(1, 100));
  const int64_t length = db.number("SELECT length(b) FROM i");
  for (int64_t at = 1; at <= length; at += 1 + length / 200) {
    const std::string byte = std::to_string(at);
    const Outcome found = db.attempt("SELECT filter_overlap('f', CAST(substr(b, 1, " + byte +
                                     " - 1) || CASE substr(b, " + byte +
                                     ", 1) WHEN x'00' THEN x'01' ELSE x'00' END || substr(b, " +
                                     byte + " + 1) AS BLOB)) FROM i");
    EXPECT_EQ(found.code, SQLITE_ERROR) << at;
  }
  db.run("INSERT INTO f(f) VALUES ('rebuild')");  // now the hashes are in a run
  db.gives("SELECT filter_overlap('f', b) FROM i", 100);
  db.run("UPDATE f_data SET block = zeroblob(length(block)) WHERE id BETWEEN 1 << 24 AND 1 << 54");
  db.refuses("SELECT filter_overlap('f', b) FROM i", SQLITE_CORRUPT,
             {"filter_overlap: corrupt: f: run block 0 of segment "});
}

TEST(OverlapModel, random_scripts_give_what_sets_share) {
  for_each_seed(40, [](uint64_t seed) {
    Script script(seed);
    Database db;
    std::multiset<uint64_t> keys[2];
    for (size_t i = 0; i < 2; ++i) {
      db.run(
          "CREATE VIRTUAL TABLE f{} USING {}, capacity = {}, fpr = {})", i,
          script.pick({"cuckoo_filter(key, seed = 1", "bloom_filter(key, counting = on, seed = 1"}),
          1 + script.random(400), script.pick({"0.1", "1e-3", "1e-7"}));
    }
    for (int step = 0; step < 30; ++step) {
      const size_t i = script.random(2);
      const uint64_t first = script.random(2000);
      const uint64_t count = script.one_in(4) ? 1 + script.random(600) : 1 + script.random(5);
      if (script.one_in(3)) {
        for (uint64_t key = first; key < first + std::min<uint64_t>(count, 50); ++key) {
          if (const auto found = keys[i].find(key); found != keys[i].end()) {
            db.run("DELETE FROM f{} WHERE key = {}", i, key);
            keys[i].erase(found);
          }
        }
      } else {
        db.run("INSERT INTO f{} {}", i,
               numbers(static_cast<int64_t>(first), static_cast<int64_t>(first + count - 1)));
        for (uint64_t key = first; key < first + count; ++key) {
          keys[i].insert(key);
        }
      }
      std::set<uint64_t> shared;
      for (const uint64_t key : keys[0]) {
        if (keys[1].contains(key)) {
          shared.insert(key);
        }
      }
      const std::string one = script.one_in(3) ? "filter_export('f0', 'hashes')" : "'f0'";
      db.gives("SELECT filter_overlap(" + one + ", 'f1')", shared.size());
    }
  });
}

}  // namespace
}  // namespace filter_overlap_test
}  // namespace cuckoo::test
