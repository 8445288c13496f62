// Look-ups while memory runs out: a tail that is being indexed loses no key.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_probe_memory_test {
namespace {

std::string keys_to(int last) {
  return with_numbers(last) + "INSERT INTO f SELECT 'k' || i FROM n";
}

TEST(ProbeMemory, I5_of_the_tail_a_look_up_without_memory_loses_no_key) {
  for (const char* module : {"cuckoo_filter(k", "bloom_filter(k, counting = on"}) {
    for (const int keys : {31, 32, 33, 64, 256}) {  // the index grows at powers of two
      int failed = 0;
      for (int64_t above = 0; above < 16000; above += 173) {
        SCOPED_TRACE(std::string(module) + ", " + std::to_string(keys) + " keys, " +
                     std::to_string(above) + " bytes");
        QuickDatabase db(":memory:");
        db.run("CREATE VIRTUAL TABLE f USING {}, capacity = 100000, seed = 1)", module);
        db.run(keys_to(keys));
        const Query look_up(db, "SELECT filter_contains('f', 'k1')");
        const auto step_within = [&](int64_t bytes) {
          const MemoryLimiter limited(bytes);
          return sqlite3_step(look_up.handle());
        };
        const int code = step_within(above);
        sqlite3_reset(look_up.handle());
        failed += code == SQLITE_ROW ? 0 : 1;
        ASSERT_EQ(db.number("SELECT count(*) FROM f"), keys);
        for (int key = 1; key <= keys; ++key) {
          ASSERT_EQ(db.number("SELECT filter_contains('f', 'k{}')", key), 1) << key;
        }
        db.run("INSERT INTO f(f) VALUES ('check')");
        if (code == SQLITE_ROW) {
          break;
        }
      }
      if (!is_sanitized()) {  // there, SQLite's limit is not the module's
        EXPECT_GT(failed, 0);
      }
    }
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_probe_memory_test
