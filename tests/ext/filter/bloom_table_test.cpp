// bloom_filter: its options and what they make. The tests of core/segments and model_test.cpp have
// growth, capacities and rates; bloom_removal_test.cpp has removals.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_bloom_table_test {
namespace {

std::string create(const std::string& options, const std::string& table = "f") {
  return "CREATE VIRTUAL TABLE " + table + " USING bloom_filter(" + options + ")";
}

std::string info(Database& db, const std::string& column) {
  return db.text("SELECT {} FROM filter_info('f')", column);
}
double figure(Database& db, const std::string& column) { return std::stod(info(db, column)); }

// --- options ---------------------------------------------------------------------------------

// The rate that filter_info() shows follows from these options, and the filter keeps it.
TEST(BloomOption, bits_per_key_gives_the_rate_shown) {
  for (const char* options :
       {"bits_per_key = 5", "bits_per_key = 8, hashes = 2", "hashes = 4",
        "layout = blocked, bits_per_key = 9", "counting = on, bits_per_key = 6"}) {
    Database db;
    db.run(create(std::string(options) + ", capacity = 20000, seed = 1"));
    db.run("INSERT INTO f " + numbers(1, 20000));
    const double rate = figure(db, "fpr");
    const double found = static_cast<double>(present(db, 1'000'001, 1'100'000)) / 1e5;
    EXPECT_LT(found, rate * 1.1 + 0.002) << options;
    EXPECT_GT(found, rate * 0.9 - 0.002) << options;
  }
}

TEST(BloomOption, out_of_range_says_the_range) {
  expect_values_refused(
      "bloom_filter",
      {{"bits_per_key", {"0.9", "0", "-1", "128.5", "1e3", "nan", "many"}, "1 to 128"},
       {"hashes", {"0", "65", "1.5", "-1", "x"}, "1 to 64"},
       {"layout",
        {"'standart'", "''", "'block'", "'standard blocked'", "'on'"},
        "standard or blocked"},
       {"counting", {"maybe", "2", "''"}, "on or off"},
       {"hash", {"'md5'", "'murmur'", "'xxh3 murmur2'"}, "xxh3 or murmur2"},
       {"generations", {"0", "65", "1.5", "-2"}, "1 to 64"},
       {"fpr", {"0", "0.26", "1e-10"}, "2^-30 to 0.25"},
       {"capacity", {"0", "1099511627777", "1.5"}, "1 to 2^40"}});
}

TEST(BloomOption, that_contradicts_another_or_is_unknown_says_so) {
  expect_arguments_refused(
      "bloom_filter",
      {{"fingerprint_bits = 8",
        {"fingerprint_bits", "capacity", "fpr", "bits_per_key", "hashes", "layout", "counting",
         "hash,", "growth", "seed", "seed_of", "source", "triggers", "generations"}},
       {"layout = blocked, layout = standard", {"layout", "twice"}},
       {"fpr = 0.01, bits_per_key = 8", {"fpr", "bits_per_key"}},
       {"hashes = 3, fpr = 0.01", {"fpr", "hashes"}},
       {"counting = on, layout = blocked", {"counting", "layout = standard"}},
       {"layout = blocked, hashes = 8", {"hashes", "layout = standard"}},
       {"layout = blocked, bits_per_key = 10, hashes = 8", {"hashes"}},
       {"triggers = on", {"triggers", "source"}},
       {"generations = 2, triggers = on", {"triggers"}},
       {"hash = murmur2, growth = on", {"murmur2", "growth = off"}},
       {"hash = murmur2, counting = on", {"murmur2", "growth = off"}},
       {"hash = murmur2, layout = blocked", {"murmur2", "growth = off"}},
       {"hash = murmur2, generations = 2", {"murmur2", "growth = off"}},
       {"hash = murmur2, seed = -1", {"murmur2", "2^32"}},
       {"hash = murmur2, seed = 4294967296", {"murmur2", "2^32"}},
       {"hash = murmur2, seed = 9223372036854775807", {"murmur2", "2^32"}}});
  expect_arguments_refused(
      "cuckoo_filter",
      {{"layout = blocked",
        {"layout is an option of bloom_filter", "fingerprint_bits", "source", "triggers"}},
       {"layers = blocked", {"unknown option \"layers\"", "fingerprint_bits", "generations"}}});
  Database db;
  db.run("CREATE TABLE t(a)");
  db.refuses(create("source = 't(a)', generations = 2"), {"generations", "source"});
  db.refuses(create("source = 't(a)'"), {"triggers = on", "load the extension", "triggers = off",
                                         "denies rows that come later until 'rebuild'"});
  db.run(create("layout = standard, counting = off, hash = xxh3, generations = 1, growth = on"));
  db.run(create("hash = murmur2, layout = standard, counting = off, generations = 1, growth = off",
                "g"));
  db.refuses(create("seed = 1, seed_of = g", "h"), {"seed", "seed_of"});
  db.run(create("layout = BLOCKED, counting = OFF, hash = 'XXH3'", "h"));
  db.run(create("hash = murmur2, seed = 4294967295", "i"));
  db.gives("INSERT INTO i VALUES ('x'); SELECT count(*) FROM i WHERE key = 'x'", 1);
}

TEST(BloomOption, capacity_over_fpr_is_at_most_two_to_the_sixty) {
  Database db;
  db.run(create("capacity = 1073741824, fpr = 9.313225746154785e-10"));
  db.gives("INSERT INTO f VALUES (1); SELECT count(*) FROM f WHERE key = 1", 1);
  const std::string more = "capacity = 1073741825, fpr = 9.313225746154785e-10";
  expect_arguments_refused("bloom_filter", {{more, {"capacity", "fpr"}},
                                            {more + ", layout = blocked", {"capacity", "fpr"}},
                                            {more + ", counting = on", {"capacity", "fpr"}}});
}

TEST(BloomOption, capacity_of_billions_is_instant_and_small) {
  for (const char* layout : {"standard", "blocked"}) {
    TemporaryFolder folder;
    Database db(folder.file("large.db"));
    db.run(create(std::string("capacity = 1e10, layout = ") + layout));  // m > 2^32 bits
    db.run("INSERT INTO f " + numbers(1, 40));
    EXPECT_EQ(present(db, 1, 40), 40);
    EXPECT_EQ(present(db, 41, 1040), 0);
    EXPECT_LE(db.number("PRAGMA page_count"), 12) << layout;
    EXPECT_LT(figure(db, "memory_bytes"), 1e8) << layout;
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_bloom_table_test
