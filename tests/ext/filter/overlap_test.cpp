// filter_overlap(): how many keys two filters share.
#include <set>

#include "tests/support/script.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_overlap_test {
namespace {

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
}  // namespace cuckoo::test::filter_overlap_test
