// Blocks of another table of the same seed: they are never taken for the table's own.
#include <ostream>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_stranger_test {
namespace {

struct Stranger {
  const char* module;
  const char* keys = "3000";  // in each table; few of them are in the log alone
  friend std::ostream& operator<<(std::ostream& out, const Stranger& stranger) {
    return out << stranger.module << stranger.keys;
  }
};

class BlocksOfAStranger : public testing::TestWithParam<Stranger> {
 protected:
  // Both tables have blocks of the same ids.
  BlocksOfAStranger() {
    QuickDatabase db(path);
    for (const char* table : {"f", "g"}) {
      const std::string module = GetParam().module;
      db.run("CREATE VIRTUAL TABLE {} USING {}seed = 1)", table, module);
    }
    const int keys = std::stoi(GetParam().keys);
    db.run("INSERT INTO f {}; INSERT INTO g {}", numbers(1, keys), numbers(10001, 10000 + keys));
  }

  // A "no" for a key that is there must be an error, whatever is asked, in a new connection.
  void expect_noticed(const std::string& what) {
    SCOPED_TRACE(what);
    const int64_t keys = std::stoi(GetParam().keys);
    for (const std::string& sql :
         {"SELECT count(*) FROM (" + numbers(1, keys) + ") JOIN f ON f.key = i",
          "SELECT sum(filter_contains('f', i)) FROM (" + numbers(1, keys) + ")"}) {
      QuickDatabase db(path);
      if (const Outcome found = db.attempt(sql); found.code == SQLITE_OK) {
        db.gives(sql, keys);
      } else {
        EXPECT_EQ(found.code & 0xFF, SQLITE_CORRUPT) << found.message;
      }
    }
    QuickDatabase db(path);
    db.refuses("INSERT INTO f(f) VALUES ('check')", SQLITE_CORRUPT, {"f: "});
  }

  TemporaryFolder folder;
  const std::string path = folder.file("strangers.db");
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, BlocksOfAStranger,
    testing::Values(Stranger{"cuckoo_filter(capacity = 1000, ", "5"},
                    Stranger{"cuckoo_filter(capacity = 1000, "},
                    Stranger{"cuckoo_filter(capacity = 4000, growth = off, "},
                    Stranger{"bloom_filter(capacity = 1000, "},
                    Stranger{"bloom_filter(counting = on, ", "5"},
                    Stranger{"bloom_filter(layout = blocked, growth = off, capacity = 4000, "},
                    Stranger{"cuckoo_filter(generations = 3, capacity = 1000, "},
                    Stranger{
                        "bloom_filter(key TEXT, hash = murmur2, growth = off, capacity = 4000, "}),
    kParameterName);

TEST_P(BlocksOfAStranger, are_an_error_one_by_one_and_all_together) {
  std::vector<Row> ids;
  {
    Database db(path);
    db.run("CREATE TABLE own AS SELECT * FROM f_data");
    ids =
        db.rows("SELECT id FROM f_data JOIN g_data USING (id) WHERE f_data.block <> g_data.block");
    ASSERT_FALSE(ids.empty());
    db.run("INSERT OR REPLACE INTO f_data SELECT * FROM g_data");
  }
  expect_noticed("all");
  for (const Row& id : ids) {
    {
      QuickDatabase db(path);
      db.run(
          "DELETE FROM f_data; INSERT INTO f_data SELECT * FROM own;"
          "UPDATE f_data SET block = (SELECT block FROM g_data g WHERE g.id = f_data.id) WHERE id "
          "= {}",
          id[0]);
    }
    expect_noticed("block " + id[0]);
  }
}

// Two tables have had one name, have one seed, and so the same checksums. The newest row of the log
// is left out: it tells of all others, and nothing tells of it.
class BlocksOfANamesake : public BlocksOfAStranger {
 protected:
  BlocksOfANamesake() {
    QuickDatabase db(path);
    const std::string create = sql("CREATE VIRTUAL TABLE f USING {}seed = 1)", GetParam().module);
    db.run("DROP TABLE f; DROP TABLE g; {}; INSERT INTO f {}; ALTER TABLE f RENAME TO g", create,
           numbers(10001, 13000));
    db.run("{}; INSERT INTO f {}; CREATE TABLE own AS SELECT * FROM f_data", create,
           numbers(1, 3000));
  }
  void take(const std::string& which) {
    QuickDatabase db(path);
    db.run(
        "DELETE FROM f_data; INSERT INTO f_data SELECT * FROM own;"
        "UPDATE f_data SET block = (SELECT block FROM g_data g WHERE g.id = f_data.id) WHERE {}"
        " AND EXISTS (SELECT 1 FROM g_data g WHERE g.id = f_data.id)",
        which);
  }
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, BlocksOfANamesake,
    testing::Values(Stranger{"cuckoo_filter(capacity = 1000, "},
                    Stranger{"cuckoo_filter(capacity = 4000, growth = off, "},
                    Stranger{"bloom_filter(capacity = 1000, "},
                    Stranger{"bloom_filter(layout = blocked, growth = off, capacity = 4000, "},
                    Stranger{"cuckoo_filter(generations = 3, capacity = 1000, "}),
    kParameterName);

TEST_P(BlocksOfANamesake, are_an_error_one_by_one) {
  for (const Row& id : QuickDatabase(path).rows(
           "SELECT id FROM f_data JOIN g_data USING (id) WHERE f_data.block <> g_data.block"
           " AND id < (SELECT max(id) FROM f_data)")) {
    take("id = " + id[0]);
    expect_noticed("block " + id[0]);
  }
}

// What is made anew of another filter's hashes would lack the own ones for good.
TEST_P(BlocksOfANamesake, do_not_become_those_of_a_filter_that_is_made_anew) {
  if (QuickDatabase(path).number(sql("SELECT count(*) FROM own WHERE {}", kRunRows)) == 0) {
    return;
  }
  for (const std::string& grows : {std::string("INSERT INTO f(f) VALUES ('rebuild')"),
                                   "INSERT INTO f " + numbers(20001, 30000)}) {
    take(kRunRows);
    QuickDatabase db(path);
    db.refuses(grows, SQLITE_CORRUPT, {"f: corrupt: ", "of another time, or of another filter"});
  }
}

}  // namespace
}  // namespace cuckoo::test::table_stranger_test
