// hash = 'murmur2': tables that read and write the legacy Bloom file, bit for bit. The files here
// were computed by another program (MurmurHash64A, header and bits in Python).
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_legacy_file_test {
namespace {

std::string create(const std::string& options, const std::string& table = "f") {
  return "CREATE VIRTUAL TABLE " + table + " USING bloom_filter(" + options + ", hash = murmur2)";
}
std::string exported(Database& db, const std::string& table = "f") {
  return db.text("SELECT hex(filter_export('{}', 'legacy'))", table);
}
void import(Database& db, const std::string& hex, const std::string& table = "f") {
  db.run("INSERT INTO {}({}, key) VALUES ('import', x'{}')", table, table, hex);
}

struct Sample {
  const char* options;
  const char* rows;  // that are inserted
  const char* info;  // seed, items, capacity, fpr, bits, hashes
  const char* file;
};
constexpr char kRows[] =
    "(''), ('a'), ('hello'), (x'3132333435363738'), ('123456789abcdefg'), ('ключ'), (x'000100'),"
    " ('https://example.com/index.html'), ('1')";
constexpr Sample kSamples[] = {
    {"seed = 305419896, capacity = 100, fpr = 0.01", kRows, "305419896 9 100 0.01 960 7",
     "424C46017856341209000000640000007B14AE47E17A843FC0030000070000000000000000000000"
     "00000000000000000000000000000000000000007800000000400020844000004202800000000081"
     "00020000900000400000200000000000080000002014000200080000400000400010004008000000"
     "20000000240100010800224000000002000010001080000080840800280040000040080104000000"
     "002000104800008000020000000002000008000000000100"},
    {"seed = 0, capacity = 20, fpr = 0.001", kRows, "0 9 20 0.001 320 11",
     "424C4601000000000900000014000000FCA9F1D24D62503F400100000B0000000000000000000000"
     "00000000000000000000000000000000000000002800000011A89C46D4603201080400105B0131C0"
     "143012104004011010510019041810803000981052902634"},
    {"seed = 4294967295, capacity = 50, fpr = 0.05",
     "(''), ('a'), ('hello'), (x'3132333435363738'), ('123456789abcdefg')",
     "4294967295 5 50 0.05 320 4",
     "424C4601FFFFFFFF05000000320000009A9999999999A93F40010000040000000000000000000000"
     "00000000000000000000000000000000000000002800000000010008004000000008008000404000"
     "000408000000000000000040204002480100004008000040"},
};

TEST(LegacyFile, is_written_bit_for_bit) {
  for (const Sample& sample : kSamples) {
    for (const char* page_size : {"512", "4096", "65536"}) {
      Database db;
      db.run(std::string("PRAGMA page_size = ") + page_size);
      db.run("{}; INSERT INTO f VALUES {}", create(sample.options), sample.rows);
      EXPECT_EQ(exported(db), sample.file) << sample.options;
      db.run(std::string("INSERT INTO f VALUES ") + sample.rows);  // again: nothing changes
      EXPECT_EQ(exported(db), sample.file) << sample.options;
      check(db);
    }
  }
}

TEST(LegacyFile, is_read_and_written_again) {
  for (const Sample& sample : kSamples) {
    Database db;
    db.run(create("capacity = 7, seed = 3") + "; INSERT INTO f VALUES ('gone')");
    import(db, sample.file);
    EXPECT_EQ(exported(db), sample.file);
    db.gives(
        "SELECT (SELECT value FROM f_config WHERE key = 'seed') || ' ' || items || ' '"
        " || capacity || ' ' || fpr || ' ' || CAST(bits_per_key * capacity + 0.5 AS"
        " INTEGER) || ' ' || hashes FROM filter_info('f')",
        sample.info);
    db.run(std::string("CREATE TABLE t(k); INSERT INTO t VALUES ") + sample.rows);
    db.gives("SELECT count(*) FROM t WHERE NOT filter_contains('f', k)", 0);
    db.gives("SELECT count(*) FROM t JOIN f ON f.key = t.k", db.number("SELECT count(*) FROM t"));
    db.gives(sql("SELECT count(*) FROM t WHERE NOT filter_contains(x'{}', k)", sample.file), 0);
    db.gives(sql("SELECT kind || ' ' || items || ' ' || capacity || ' ' || hashes FROM"
                 " filter_info(x'{}')",
                 sample.file),
             "bloom_filter " + db.text("SELECT items || ' ' || capacity || ' ' || hashes FROM"
                                       " filter_info('f')"));
    check(db);
    db.gives("INSERT INTO f VALUES ('one more'); SELECT count(*) FROM f WHERE key = 'one more'", 1);
    check(db);
  }
}

// The table takes m and k from the file, even if n and p would give others. It ignores reserved
// bytes and the CRC.
TEST(LegacyFile, of_another_size_is_taken_as_it_is) {
  const std::string head = "424C460107000000030000000A0000007B14AE47E17A843FC000000003000000";
  const std::string noise = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEFBEADDE";
  const std::string zeros = "00000000000000000000000000000000000000000000000000000000";
  const std::string bits = "18000000000000000200000000100000008300004000000400800000";
  for (const std::string& middle : {noise, zeros}) {
    Database db;
    db.run(create("capacity = 1000"));
    import(db, head + middle + bits);
    db.gives("SELECT key FROM f WHERE key IN ('w', 'x', 'y', 'z')", "x,y,z");
    db.gives("SELECT hashes || ' ' || items || ' ' || capacity FROM filter_info('f')", "3 3 10");
    EXPECT_EQ(exported(db), head + zeros + bits);
    check(db);
    db.gives("INSERT INTO f(f) VALUES ('clear'); SELECT count(*) FROM f", 0);
    check(db);
  }
}

// The size of the pages makes no difference: the file has no pages.
class LegacyFilePages : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Sizes, LegacyFilePages, testing::Values(512, 1024, 4096), kParameterName);

TEST_P(LegacyFilePages, is_merged_with_one_of_equal_size_and_seed) {
  Database db;
  db.run("PRAGMA page_size = " + std::to_string(GetParam()));
  db.run(create("seed = 5, capacity = 1000") + ";" + create("seed = 5, capacity = 1000", "g") +
         ";" + create("seed = 5, capacity = 2000", "larger") + ";" +
         create("seed = 6, capacity = 1000", "h"));
  db.run("INSERT INTO f VALUES ('a'); INSERT INTO g VALUES ('b'); INSERT INTO larger VALUES ('c')");
  db.run("INSERT INTO f(f, key) VALUES ('merge', 'g')");
  db.gives("SELECT key FROM f WHERE key IN ('a', 'b', 'c')", "a,b");
  db.run("INSERT INTO g(g, key) VALUES ('merge', filter_export('f', 'legacy'))");
  EXPECT_EQ(exported(db, "g"), exported(db));
  db.refuses("INSERT INTO f(f, key) VALUES ('merge', 'larger')", {"larger", "geometry"});
  db.refuses("INSERT INTO f(f, key) VALUES ('merge', 'h')", {"h", "seed"});
  db.refuses("SELECT filter_export('f', 'hashes')", {"f: "});
  db.run(
      "CREATE TABLE i(b); INSERT INTO i VALUES (filter_export('f', 'legacy')),"
      " (filter_export('g', 'legacy')), (filter_export('f'))");
  db.gives("SELECT filter_contains(b, 'a') || filter_contains(b, 'c') FROM i", "10,10,10");
  db.gives("SELECT filter_contains(filter_union(b), 'b') FROM i", "1");
  db.run("INSERT INTO h(h, key) SELECT 'import', filter_export('f')");  // the other image, too
  EXPECT_EQ(exported(db, "h"), exported(db));
  for (const char* table : {"f", "g", "h"}) {
    check(db, table);
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_legacy_file_test
