// hash = 'murmur2': tables that read and write the legacy Bloom file, bit for bit. The files here
// were computed by another program (MurmurHash64A, header and bits in Python).
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_legacy_file_test {
namespace {

std::string texts(int64_t first, int64_t last) {
  return with_numbers(first, last) + "SELECT CAST(i AS TEXT) AS i FROM n";
}
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

TEST(LegacyFile, follows_transactions_and_connections) {
  for (const char* journal : {"DELETE", "WAL"}) {
    TemporaryFolder folder;
    QuickDatabase one(folder.file("f.db"));
    one.run(std::string("PRAGMA page_size = 512; PRAGMA journal_mode = ") + journal);
    one.run(create("key TEXT, capacity = 5000, fpr = 0.001, seed = 1"));
    QuickDatabase other(folder.file("f.db"));
    one.run("INSERT INTO f " + texts(1, 1000));
    EXPECT_EQ(present(other, 1, 1000), 1000);
    one.run("BEGIN; INSERT INTO f {}; SAVEPOINT s; INSERT INTO f {}", texts(1001, 2000),
            texts(2001, 3000));
    EXPECT_EQ(present(one, 1, 3000), 3000);
    one.run("ROLLBACK TO s");
    EXPECT_EQ(present(one, 1, 2000), 2000);
    EXPECT_LE(present(one, 2001, 3000), 5);
    one.run("INSERT INTO f VALUES ('x'); INSERT INTO f(f) VALUES ('clear'); ROLLBACK");
    EXPECT_EQ(present(one, 1, 1000), 1000);
    EXPECT_LE(present(one, 1001, 3000), 5);
    check(one);
    other.run("INSERT INTO f " + texts(3001, 4000));
    EXPECT_EQ(present(one, 3001, 4000), 1000);
    one.gives("SELECT count(*) FROM f", other.number("SELECT count(*) FROM f"));
    one.refuses("INSERT INTO f VALUES ('kept'), (x'00'), (NULL), ('no')", SQLITE_CONSTRAINT,
                {"NULL"});
    one.gives("SELECT count(*) FROM f WHERE key = 'kept'", 0);
    one.run("VACUUM; ALTER TABLE f RENAME TO g; ALTER TABLE g RENAME TO f");
    const std::string file = exported(one);
    EXPECT_EQ(exported(other), file);
    QuickDatabase later(folder.file("f.db"));
    EXPECT_EQ(exported(later), file);
    EXPECT_EQ(present(later, 1, 1000) + present(later, 3001, 4000), 2000);
    check(later);
    check(other);
    later.gives("PRAGMA integrity_check", "ok");
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

TEST(LegacyFile, that_is_damaged_is_an_error) {
  const std::string file = kSamples[1].file;
  Database db;
  db.run(create("capacity = 100") + "; INSERT INTO f VALUES ('kept')");
  const auto refused = [&db](const std::string& hex, const std::string& what) {
    const Outcome outcome = db.attempt("INSERT INTO f(f, key) VALUES ('import', x'{}')", hex);
    EXPECT_EQ(outcome.code, SQLITE_ERROR) << what << ": " << outcome.message;
    EXPECT_EQ(db.attempt("SELECT filter_contains(x'{}', 'a')", hex).code, SQLITE_ERROR) << what;
    EXPECT_EQ(db.attempt("SELECT * FROM filter_info(x'{}')", hex).code, SQLITE_ERROR) << what;
  };
  for (size_t bytes = 1; bytes < file.size() / 2; ++bytes) {
    refused(file.substr(0, 2 * bytes), "cut to " + std::to_string(bytes));
  }
  refused(file + "00", "longer");
  const auto with = [&file](size_t at, const std::string& hex) {
    return file.substr(0, 2 * at) + hex + file.substr(2 * at + hex.size());
  };
  refused(with(12, "00000000"), "n = 0");
  refused(with(16, "0000000000000000"), "p = 0");
  refused(with(16, "000000000000F03F"), "p = 1");
  refused(with(16, "000000000000F87F"), "p is no number");
  refused(with(16, "000000000000F0BF"), "p = -1");
  refused(with(24, "00000000"), "m = 0");
  refused(with(24, "41010000"), "m = 321");
  refused(with(24, "80010000"), "m = 384");
  refused(with(24, "FFFFFFFF"), "m = 2^32 - 1");
  refused(with(28, "00000000"), "k = 0");
  refused(with(28, "41000000"), "k = 65");
  refused(with(60, "29000000"), "another size");
  db.gives("SELECT key FROM f WHERE key IN ('kept', 'a')", "kept");
  check(db);
}

// Nothing guards the bits: a file with any bits is a filter.
TEST(LegacyFile, of_any_bits_is_a_filter) {
  const std::string head(kSamples[1].file, 128);
  for (const char* bits : {"00", "FF", "5A"}) {
    std::string all;
    for (int i = 0; i < 40; ++i) {
      all += bits;
    }
    Database db;
    db.run(create("capacity = 100"));
    import(db, head + all);
    EXPECT_EQ(exported(db), head + all);
    db.gives("SELECT count(*) FROM f WHERE key = 'a'", std::string(bits) == "FF" ? 1 : 0);
    db.attempt("INSERT INTO f VALUES ('b')");
    check(db);
    db.run("SELECT * FROM filter_info('f')");
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_legacy_file_test
