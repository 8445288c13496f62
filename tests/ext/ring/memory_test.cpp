// Out of memory at many points of each statement on a hash_ring: an error, never a crash, and
// afterwards the ring is what it was, or what the statement makes of it.
#include <string>

#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace ring_memory_test {
namespace {

class HashRingMemory : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, HashRingMemory, ::testing::Values("ring", "ketama", "slots"),
                         kParameterName);

TEST_P(HashRingMemory, limit_is_an_error_that_changes_nothing) {
  TemporaryFolder folder;
  const std::string path = folder.file("db");
  const std::string create =
      sql("CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = {})", GetParam());
  const std::string all = "SELECT group_concat(node || ' ' || weight || ' ' || share) FROM ring";
  {
    QuickDatabase db(path);
    db.run(create);
    db.run("INSERT INTO ring(node, weight) VALUES ('a', 1), ('b', 2), ('c', 0.5)");
  }
  for (const char* sql : share_of(std::vector<const char*>{
           "INSERT INTO ring(node) VALUES ('d'), ('e')", "UPDATE ring SET weight = 3",
           "UPDATE ring SET node = 'z' WHERE node = 'a'", "DELETE FROM ring WHERE node = 'b'",
           "INSERT INTO ring(ring) VALUES ('clear')", "INSERT INTO ring(ring) VALUES ('check')",
           "ALTER TABLE ring RENAME TO other",
           "SELECT node FROM ring WHERE key = 'k' AND replicas = 3", "SELECT * FROM ring",
           "SELECT * FROM hash_ring_moves('ring', 'add', 'd')"})) {
    int failures = 0;
    for (int64_t limit = 500; limit < 12'000'000; limit += limit / 4 + 100) {
      QuickDatabase db(path);
      db.run("SELECT count(*) FROM sqlite_schema; BEGIN");
      const std::string before = limit % 2 == 0 ? "" : db.text(all);  // else read under the limit
      Outcome outcome;
      {
        const MemoryLimiter limited(limit);
        outcome = db.attempt(sql);
      }
      failures += outcome.code == SQLITE_OK ? 0 : 1;
      EXPECT_TRUE(outcome.code == SQLITE_OK || (outcome.code & 0xFF) == SQLITE_NOMEM)
          << sql << ", " << limit << ": " << outcome.code << " " << outcome.message;
      if (outcome.code == SQLITE_OK && std::string(sql).starts_with("ALTER")) {
        db.run("ALTER TABLE other RENAME TO ring");
      }
      if (outcome.code != SQLITE_OK && !before.empty()) {
        EXPECT_EQ(db.text(all), before) << sql << ", " << limit;
      }
      db.run("INSERT INTO ring(ring) VALUES ('check')");
      if (sqlite3_get_autocommit(db.handle()) == 0) {
        db.run("ROLLBACK");
      }
      db.run("INSERT INTO ring(ring) VALUES ('check')");
    }
    EXPECT_GT(failures, 2) << sql;
  }
}

}  // namespace
}  // namespace ring_memory_test
}  // namespace cuckoo::test
