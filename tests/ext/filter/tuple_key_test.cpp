// cuckoo_key(): a key of several columns as one BLOB, as filters of several columns hash it.
#include <optional>

#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_tuple_key_test {
namespace {

using TupleKey = WithDatabase;

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
  std::optional<MemoryLimiter> limited;
  for (int row = 0; row < 3; ++row) {
    ASSERT_EQ(sqlite3_step(look_up.handle()), SQLITE_ROW) << sqlite3_errmsg(db.handle());
    EXPECT_EQ(look_up.integer(), 1);
    limited.emplace(0);
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_tuple_key_test
