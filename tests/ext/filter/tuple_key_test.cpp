// cuckoo_key(): a key of several columns as one BLOB, as filters of several columns hash it.
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_tuple_key_test {
namespace {

std::string hex_of(Database& db, const std::string& values) {
  return db.text("SELECT hex(cuckoo_key({}))", values);
}

using TupleKey = WithDatabase;

TEST_F(TupleKey, has_kind_length_and_bytes_of_each_column) {
  EXPECT_EQ(hex_of(db, "1, 'ab'"),
            "434B5402"
            "00080000000100000000000000"
            "02020000006162");
  EXPECT_EQ(hex_of(db, "-1, x'00ff'"),
            "434B5402"
            "0008000000FFFFFFFFFFFFFFFF"
            "030200000000FF");
  EXPECT_EQ(hex_of(db, "1.5, ''"),
            "434B5402"
            "0108000000000000000000F83F"
            "0200000000");
  EXPECT_EQ(hex_of(db, "zeroblob(0), zeroblob(1), 'c'"),
            "434B5403"
            "0300000000"
            "030100000000"
            "020100000063");
}

TEST_F(TupleKey, a_whole_real_is_its_integer) {
  for (const char* pair : {"1 1.0", "0 -0.0", "-9223372036854775807-1 -9223372036854775808.0",
                           "4503599627370496 4503599627370496.0"}) {
    const std::string text = pair;
    const size_t space = text.find(' ');
    EXPECT_EQ(hex_of(db, "'x', " + text.substr(0, space)),
              hex_of(db, "'x', " + text.substr(space + 1)))
        << pair;
  }
  EXPECT_EQ(hex_of(db, "'x', 9223372036854775808.0").substr(20, 2), "01");
  EXPECT_EQ(hex_of(db, "'x', 1e999").substr(20, 2), "01");
}

TEST_F(TupleKey, is_null_when_a_column_is) {
  db.gives("SELECT cuckoo_key(NULL, 1)", "NULL");
  db.gives("SELECT cuckoo_key(1, NULL)", "NULL");
  db.gives("SELECT typeof(cuckoo_key(1, 2, 3, 4, 5, 6, 7, 8))", "blob");
  for (const char* values : {"", "1", "1, 2, 3, 4, 5, 6, 7, 8, 9"}) {
    db.refuses(sql("SELECT cuckoo_key({})", values),
               {"wrong number of arguments to function cuckoo_key()"});
  }
}

TEST_F(TupleKey, is_the_same_in_every_encoding_of_a_database) {
  Database utf8;
  Database utf16;
  utf16.run("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(x)");
  const std::string values = "'Ärger€', 'b', 5";
  EXPECT_EQ(hex_of(utf8, values), hex_of(utf16, values));
}

TEST_F(TupleKey, can_be_in_an_index_and_a_view) {
  db.run(
      "PRAGMA trusted_schema = OFF; CREATE TABLE t(a, b); CREATE INDEX i ON t(cuckoo_key(a, b));"
      "CREATE VIEW v AS SELECT cuckoo_key(a, b) AS k FROM t; INSERT INTO t VALUES (1, 'x')");
  db.gives("SELECT count(*) FROM v WHERE k = cuckoo_key(1.0, 'x')", 1);
}

// One text is split in different ways into columns. Keys that are joined by hand would be equal.
TEST_F(TupleKey, I1_different_splits_of_one_text_are_different_keys) {
  db.gives("SELECT cuckoo_key('a', 'bc') = cuckoo_key('ab', 'c')", 0);
  db.gives("SELECT cuckoo_key('', 'abc') = cuckoo_key('abc', '')", 0);
  db.gives("SELECT cuckoo_key('a', 'b') = cuckoo_key('a', 'b', '')", 0);
  db.gives("SELECT cuckoo_key('1', 1) = cuckoo_key(1, '1')", 0);
  db.gives("SELECT cuckoo_key('1', 1) = cuckoo_key(x'31', 1)", 0);
}

// A value as SQL, often one that looks like a part of an encoding.
std::string random_value(std::mt19937_64& random) {
  const std::vector<std::string> kValues = split(
      "0, 1, -1, 256, 1.0, 0.5, 1e300, 9007199254740993, 9007199254740992.0, '', 'a', 'ab', 'b',"
      " '1', x'', x'61', x'00', x'0000', x'0002000000', x'0302000000', 'a' || char(0), 'a' ||"
      " char(2,1,0,0,0) || 'b'");
  if (random() % 3 != 0) {
    return kValues[random() % std::size(kValues)];
  }
  std::string blob = "x'";
  for (uint64_t left = random() % 8; left > 0; --left) {
    constexpr const char* kBytes[] = {"00", "01", "02", "03", "08", "61"};
    blob += kBytes[random() % std::size(kBytes)];
  }
  return blob + "'";
}

// SQLite says which values are equal; the keys must be equal exactly then.
TEST_F(TupleKey, I1_random_keys_are_equal_when_their_columns_are) {
  std::mt19937_64 random(11);
  uint64_t equal = 0;
  db.run("CREATE TABLE k(id INTEGER PRIMARY KEY, n, a, b, c, key)");
  for (int i = 0; i < 700; ++i) {
    const std::string a = random_value(random);
    const std::string b = random_value(random);
    if (random() % 2 == 0) {
      db.run("INSERT INTO k VALUES (NULL, 2, {}, {}, NULL, cuckoo_key({}, {}))", a, b, a, b);
    } else {
      const std::string c = random_value(random);
      db.run("INSERT INTO k VALUES (NULL, 3, {}, {}, {}, cuckoo_key({}, {}, {}))", a, b, c, a, b,
             c);
    }
  }
  const std::string pairs = " FROM k x JOIN k y ON x.id < y.id WHERE ";
  const std::string same = "(x.n = y.n AND x.a IS y.a AND x.b IS y.b AND x.c IS y.c)";
  db.gives(sql("SELECT x.id || ' ' || y.id{}{} <> (x.key = y.key)", pairs, same), "none");
  equal = static_cast<uint64_t>(db.number("SELECT count(*){}{}", pairs, same));
  EXPECT_GT(equal, 30U) << "pairs that are equal must come";
}

// An aggregate sees columns in a key exactly if cuckoo_key() made the key.
TEST_F(TupleKey, I2_only_whole_keys_have_columns) {
  const std::string key = hex_of(db, "7, 'abc', 1.5");
  const auto types_of = [this](const std::string& hex) {
    return db.text("SELECT key_types FROM filter_info((SELECT cuckoo_build(x'{}')))", hex);
  };
  EXPECT_EQ(types_of(key), "INTEGER, TEXT, REAL");
  for (size_t cut = 0; cut < key.size(); cut += 2) {
    EXPECT_EQ(types_of(key.substr(0, cut)), "BLOB") << cut;
  }
  EXPECT_EQ(types_of(key + "00"), "BLOB");
  const auto changed = [&](size_t at, const std::string& byte) {
    std::string other = key;
    return types_of(other.replace(2 * at, 2, byte));
  };
  EXPECT_EQ(changed(0, "44"), "BLOB") << "magic";
  EXPECT_EQ(changed(3, "02"), "BLOB") << "fewer columns";
  EXPECT_EQ(changed(3, "04"), "BLOB") << "more columns";
  EXPECT_EQ(changed(4, "04"), "BLOB") << "kind";
  EXPECT_EQ(changed(4, "01"), "REAL, TEXT, REAL") << "a real below 2^-1000 is one";
  EXPECT_EQ(changed(5, "07"), "BLOB") << "the length of an integer";
  EXPECT_EQ(changed(20, "FF"), "BLOB") << "the length of a text";
  EXPECT_EQ(types_of("434B5401"
                     "020100000061"),
            "BLOB")
      << "one column";
  EXPECT_EQ(
      types_of("434B5409" + std::string("0200000000020000000002000000000200000000"
                                        "02000000000200000000020000000002000000000200000000")),
      "BLOB")
      << "nine columns";
  EXPECT_EQ(types_of("434B5402"
                     "0108000000000000000000F03F"
                     "0200000000"),
            "BLOB")
      << "1.0, which is an integer";
  EXPECT_EQ(types_of("434B5402"
                     "0108000000000000000000F87F"
                     "0200000000"),
            "BLOB")
      << "NaN";
}

TEST_F(TupleKey, keys_that_differ_in_their_columns_make_an_image_of_blobs) {
  const auto types_of = [this](const std::string& values) {
    return db.text(
        "WITH k(x) AS (VALUES {}) SELECT key_types FROM filter_info((SELECT bloom_build(x) FROM"
        " k))",
        values);
  };
  EXPECT_EQ(types_of("(cuckoo_key(1, 'a')), (cuckoo_key('b', 'c'))"), "INTEGER TEXT, TEXT");
  EXPECT_EQ(types_of("(cuckoo_key(1, 'a')), (NULL)"), "INTEGER, TEXT");
  EXPECT_EQ(types_of("(cuckoo_key(1, 2)), (cuckoo_key(1, 2, 3))"), "BLOB");
  EXPECT_EQ(types_of("(cuckoo_key(1, 2)), (cuckoo_key(1, 2, 3)), (cuckoo_key(1, 2))"), "BLOB");
  EXPECT_EQ(types_of("(cuckoo_key(1, 2)), (1)"), "INTEGER BLOB");
  EXPECT_EQ(types_of("(1), (cuckoo_key(1, 2))"), "INTEGER BLOB");
  EXPECT_EQ(types_of("('x'), (cuckoo_key(1, 2))"), "TEXT BLOB");
  EXPECT_EQ(types_of("(x'01'), (cuckoo_key(1, 2))"), "BLOB");
}

// This holds from the second look-up on, for keys as long as the first one.
TEST_F(TupleKey, I3_a_look_up_takes_no_memory) {
  if (is_sanitized()) {
    GTEST_SKIP() << "SQLite's limit is not the module's";
  }
  db.run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(a INTEGER, b TEXT COLLATE NOCASE, seed = 1);"
      "INSERT INTO f VALUES (1, 'a text beyond any short buffer')");
  const Query look_up(db,
                      "SELECT filter_contains('f', 1, 'A text beyond any SHORT buffer') FROM"
                      " (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)");
  for (int row = 0; row < 3; ++row) {
    ASSERT_EQ(sqlite3_step(look_up.handle()), SQLITE_ROW) << sqlite3_errmsg(db.handle());
    EXPECT_EQ(look_up.integer(), 1);
    sqlite3_hard_heap_limit64(sqlite3_memory_used());
  }
  sqlite3_hard_heap_limit64(0);
}

}  // namespace
}  // namespace filter_tuple_key_test
}  // namespace cuckoo::test
