// SQLITE_LIMIT_LENGTH below what a shadow row takes: whatever SQLite then refuses to bind must be
// an error of the statement, and never a NULL in its place.
#include "tests/support/names.hpp"
#include "tests/support/share.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_length_limit_test {
namespace {

constexpr const char* kTables[] = {
    "cuckoo_filter(seed = 1)",
    "cuckoo_filter(growth = off, seed = 1)",
    "cuckoo_filter(generations = 3, seed = 1)",
    "bloom_filter(seed = 1)",
    "bloom_filter(layout = blocked, seed = 1)",
    "bloom_filter(counting = on, seed = 1)",
    "bloom_filter(hash = murmur2, seed = 1)",
    "flash_kv(key, value, size = '1MB', seed = 1)",
    "hash_ring(seed = 1)",
    "hash_ring(algorithm = slots, seed = 1)",
};

std::string column_of(const std::string& table) {
  return table.starts_with("hash_ring") ? "node" : "key";
}

class LengthLimit : public testing::TestWithParam<const char*> {
 protected:
  void fill(Database& db, int from, int to) {
    db.run("BEGIN");
    for (int i = from; i < to; ++i) {
      db.run("INSERT INTO f({}) VALUES ('k{}')", column_of(GetParam()), i);
    }
    db.run("COMMIT");
  }
  // Expects the first `count` of the keys 'k0', 'k1' and so on.
  void expect_all(Database& db, int count) {
    const std::string column = column_of(GetParam());
    db.gives(sql("{}SELECT count(*) FROM n JOIN f ON f.{} = 'k' || i", with_numbers(0, count - 1),
                 column),
             count);
  }
  TemporaryFolder folder_;
  const std::string file_ = folder_.file("l.db");
};

INSTANTIATE_TEST_SUITE_P(Tables, LengthLimit, testing::ValuesIn(kTables), kParameterName);

// Statements may fail, but what succeeded is there.
TEST_P(LengthLimit, never_makes_a_null_of_a_row) {
  for (const int limit : {100, 260, 500, 1000, 3999, 4035, 4040, 4100}) {
    SCOPED_TRACE(limit);
    std::filesystem::remove(file_);
    int last = 20;
    {
      QuickDatabase db(file_);
      db.run(std::string("CREATE VIRTUAL TABLE f USING ") + GetParam());
      fill(db, 0, last);
      const int before = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limit);
      for (; last < 40; ++last) {
        const std::string key = "'k" + std::to_string(last) + "'";
        const Outcome added =
            db.attempt("INSERT INTO f({}) VALUES ({})", column_of(GetParam()), key);
        if (added.code != SQLITE_OK) {
          EXPECT_FALSE(added.message.empty());
          break;
        }
      }
      (void)db.attempt("INSERT INTO f(f) VALUES ('rebuild')");
      (void)db.attempt("INSERT INTO f(f) VALUES ('check')");
      sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, before);
    }
    QuickDatabase db(file_);
    db.run("INSERT INTO f(f) VALUES ('check')");
    expect_all(db, last);
    fill(db, 40, 60);
    db.run("INSERT INTO f(f) VALUES ('check')");
  }
}

// If the limit is lowered inside a transaction, COMMIT fails or everything is there.
TEST_P(LengthLimit, lowered_before_commit_fails_it_or_loses_nothing) {
  for (const int limit : share_of(std::vector<int>{150, 1000, 4035})) {
    SCOPED_TRACE(limit);
    std::filesystem::remove(file_);
    QuickDatabase db(file_);
    db.run(std::string("CREATE VIRTUAL TABLE f USING ") + GetParam());
    fill(db, 0, 20);
    db.run("BEGIN");
    for (int i = 20; i < 800; ++i) {
      db.run("INSERT INTO f({}) VALUES ('k{}')", column_of(GetParam()), i);
    }
    const int before = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limit);
    const Outcome committed = db.attempt("COMMIT");
    sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, before);
    if (committed.code != SQLITE_OK && sqlite3_get_autocommit(db.handle()) == 0) {
      db.run("ROLLBACK");
    }
    QuickDatabase later(file_);
    later.run("INSERT INTO f(f) VALUES ('check')");
    expect_all(later, committed.code == SQLITE_OK ? 800 : 20);
  }
}

// An error only at COMMIT would undo the whole transaction.
TEST_P(LengthLimit, is_told_by_the_first_change) {
  QuickDatabase db(file_);
  db.run("CREATE VIRTUAL TABLE f USING {}; CREATE TABLE other(x)", GetParam());
  const std::string insert = "INSERT INTO f(" + column_of(GetParam()) + ") VALUES ('k')";
  const int before = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 600);
  db.run("BEGIN; INSERT INTO other VALUES (1)");
  db.refuses(insert, SQLITE_TOOBIG, {"f: its rows take up to", "SQLITE_LIMIT_LENGTH is 600"});
  db.run("INSERT INTO other VALUES (2); COMMIT");
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, before);
  db.gives("SELECT count(*) FROM other", 2);
  db.run(insert + "; INSERT INTO f(f) VALUES ('check')");
}

}  // namespace
}  // namespace cuckoo::test::table_length_limit_test
