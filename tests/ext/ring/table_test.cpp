// hash_ring through SQL: columns, options, keys, plans, changes.
#include <set>
#include <string>

#include "core/base/key_hash.hpp"
#include "core/ring/hash_ring.hpp"
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace ring_table_test {
namespace {

constexpr char kThree[] = "INSERT INTO ring(node, weight) VALUES ('a', 1), ('b', 2), ('c', 0.5)";
// 10,000 keys.
constexpr char kUsers[] =
    "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT);"
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
    " INSERT INTO users SELECT i, 'user:' || i FROM n";

class HashRing : public ::testing::TestWithParam<const char*> {
 protected:
  HashRing() {
    db_.run("CREATE VIRTUAL TABLE ring USING hash_ring({})", options());
    db_.run(kThree);
  }
  std::string options() const { return std::string("algorithm = ") + GetParam(); }
  bool is_ketama() const { return std::string(GetParam()) == "ketama"; }

  Database db_;
};

INSTANTIATE_TEST_SUITE_P(Algorithms, HashRing, ::testing::Values("ring", "ketama", "slots"),
                         kParameterName);

TEST_P(HashRing, or_and_in_lose_no_rows) {
  db_.run(kUsers);
  std::set<std::string> owners;
  for (int i = 0; i < 20; ++i) {
    const std::string a = "'user:" + std::to_string(i) + "'";
    const std::string b = "'user:" + std::to_string(i + 1) + "'";
    db_.gives(sql("SELECT count(*) FROM ring WHERE key = {} OR key = {}", a, b), "2");
    db_.gives(sql("SELECT count(*) FROM ring WHERE key IN ({}, {})", a, b), "2");
    db_.gives(sql("SELECT count(*) FROM ring WHERE (key = {} AND replicas = 2) OR (key = {} AND"
                  " replicas = 3)",
                  a, b),
              "5");
    db_.gives(
        "SELECT count(*) FROM users u JOIN ring r ON r.key = u.id OR r.key = u.name"
        " WHERE u.id = " +
            std::to_string(i + 1),
        "2");
  }
  db_.gives("SELECT count(*) FROM ring WHERE key IN ('x', 'y') AND replicas IN (1, 3)", "8");
  // Rowids are below 2^53 and have the node's id in their low 17 bits.
  db_.gives(
      "SELECT count(*) FROM users u JOIN ring r ON r.key = u.id AND r.replicas = 3"
      " JOIN ring n ON n.node = r.node"
      " WHERE r.rowid & 131071 <> n.rowid OR r.rowid >= 1 << 53",
      "0");
}

TEST_P(HashRing, equal_keys_have_one_owner) {
  if (is_ketama()) {
    return;  // casts keys to text, as its clients do
  }
  for (const char* equal : {"1.0", "+1", "1e0"}) {
    db_.gives(sql("SELECT (SELECT rowid FROM ring WHERE key = 1) = (SELECT rowid FROM ring WHERE"
                  " key = {})",
                  equal),
              "1");
  }
  db_.gives(
      "SELECT (SELECT rowid FROM ring WHERE key = 0) ="
      " (SELECT rowid FROM ring WHERE key = -0.0)",
      "1");
}

TEST_P(HashRing, type_of_the_key_is_its_affinity) {
  db_.run("CREATE VIRTUAL TABLE typed USING hash_ring(key INTEGER, {})", options());
  db_.run("INSERT INTO typed(node) VALUES ('a'), ('b'), ('c')");
  for (int i = 0; i < 20; ++i) {
    const std::string n = std::to_string(i);
    db_.gives(
        sql("SELECT (SELECT rowid FROM typed WHERE key = {}) = (SELECT rowid FROM typed WHERE key ="
            " '0{}')",
            n, n),
        "1");
  }
  db_.gives("SELECT typeof(key) || key FROM typed WHERE key = '07'", "integer7");
  db_.gives("SELECT typeof(key) || key FROM ring WHERE key = '07'", "text07");
}

TEST_P(HashRing, scan_passes_over_nodes_removed_since) {
  db_.run("INSERT INTO ring(node) VALUES ('x1'), ('x2'), ('x3')");
  Query scan(db_, "SELECT node FROM ring");
  ASSERT_EQ(scan.step(), SQLITE_ROW);
  db_.run("DELETE FROM ring WHERE node LIKE 'x%'");
  while (scan.step() == SQLITE_ROW) {
    EXPECT_EQ(sqlite3_column_type(scan.handle(), 0), SQLITE_TEXT);
  }
}

TEST_P(HashRing, wrong_input_is_refused) {
  const std::vector<Row> before = shadow_rows(db_, "ring");
  for (const char* weight : {"0", "-1", "9e999", "-9e999", "1e16", "1e-16"}) {
    db_.refuses(sql("INSERT INTO ring(node, weight) VALUES ('x', {})", weight),
                {"ring: a weight is a number above 0"});
    db_.refuses(std::string("UPDATE ring SET weight = ") + weight, {"a weight is"});
  }
  for (const char* weight : {"'many'", "x'31'"}) {
    db_.refuses(sql("INSERT INTO ring(node, weight) VALUES ('x', {})", weight), SQLITE_MISMATCH,
                {"ring: a weight is a number above 0"});
  }
  db_.refuses("UPDATE ring SET weight = NULL", SQLITE_MISMATCH, {"a weight is"});
  db_.refuses("INSERT INTO ring(node) VALUES (NULL)", SQLITE_CONSTRAINT_NOTNULL, {"ring.node"});
  db_.refuses("UPDATE ring SET node = NULL", SQLITE_CONSTRAINT_NOTNULL, {"ring.node"});
  db_.refuses("INSERT INTO ring(node) VALUES (x'61')", SQLITE_MISMATCH, {"not a BLOB"});
  db_.refuses("INSERT INTO ring(node) VALUES (char(97, 0))", {"no NUL"});
  db_.refuses("INSERT INTO ring(node, share) VALUES ('x', 0.5)", {"column share is computed"});
  db_.refuses("UPDATE ring SET share = 0.123", {"column share is computed"});
  db_.refuses("INSERT INTO ring(node, key) VALUES ('x', 1)", {"column key is computed"});
  db_.refuses("INSERT INTO ring(rowid, node) VALUES (9, 'x')", {"the rowid is given"});
  db_.refuses("UPDATE ring SET rowid = 9 WHERE node = 'a'", {"the rowid is given"});
  db_.refuses("DELETE FROM ring WHERE key = 1", {"name the node"});
  db_.refuses("UPDATE ring SET weight = 2 WHERE key = 1", {"name the node"});
  db_.refuses("UPDATE ring SET weight = 2 WHERE key LIKE 'x'", {"need a key"});
  EXPECT_EQ(shadow_rows(db_, "ring"), before);
  db_.gives("SELECT node FROM ring", "a,b,c");
}

TEST_P(HashRing, same_statements_leave_the_same_bytes) {
  if (is_ketama()) {
    return;  // has no seed
  }
  Database other;
  db_.run("DROP TABLE ring");
  for (Database* db : {&db_, &other}) {
    db->run("CREATE VIRTUAL TABLE ring USING hash_ring(seed = 5, {})", options());
    db->run(kThree);
    db->run("DELETE FROM ring WHERE node = 'b'; INSERT INTO ring(node) VALUES ('d'), ('e')");
  }
  EXPECT_EQ(shadow_rows(db_, "ring"), shadow_rows(other, "ring"));
}

TEST(HashRingOptions, wrong_ones_are_refused) {
  expect_values_refused("hash_ring", {{"vnodes", {"0", "1e6", "1.5"}, "1 to 100000"},
                                      {"algorithm", {"maglev"}, "ring, ketama or slots"},
                                      {"seed", {"x"}, "a 64-bit integer"}});
  expect_arguments_refused(
      "hash_ring",
      {{"vnodes = 1, vnodes = 2", {"given twice"}},
       {"algorithm = ketama, dialect = php", {"libketama, libmemcached, spy or consistent"}},
       {"algorithm = ketama, vnodes = 10", {"vnodes goes with algorithm = ring"}},
       {"algorithm = slots, vnodes = 10", {"vnodes goes with algorithm = ring"}},
       {"algorithm = ketama, seed = 1", {"seed goes with algorithm = ring or slots"}},
       {"dialect = spy", {"dialect goes with algorithm = ketama"}},
       {"key_hash = md5", {"key_hash goes with algorithm = ketama"}},
       {"algorithm = ketama, dialect = spy, key_hash = crc32",
        {"md5, fnv1a_64, fnv1_64, fnv1a_32, fnv1_32, crc32a or one_at_a_time"}},
       {"algorithm = ketama, key_hash = fnv1_64",
        {"key_hash = fnv1_64 with dialect = libketama", "libmemcached, spy or consistent"}},
       {"algorithm = ketama, dialect = consistent, key_hash = crc32a",
        {"key_hash = crc32a with dialect = consistent; expected dialect = libmemcached"}},
       {"nodes = 3", {"unknown option \"nodes\"", "vnodes, algorithm, seed, dialect"}},
       {"node TEXT", {"columns are fixed"}},
       {"key, node", {"columns are fixed"}},
       {"key TEXT NOT NULL", {"takes a name and a type only"}}});
  Database db;
  for (const char* name : {"node", "Weight", "share", "key", "replicas", "replica"}) {
    db.refuses(sql("CREATE VIRTUAL TABLE \"{}\" USING hash_ring", name),
               {"may not be called like one of its columns"});
  }
  db.gives("SELECT count(*) FROM sqlite_schema", 0);
  db.run("CREATE VIRTUAL TABLE \"an odd \"\"name\" USING hash_ring('vnodes' = '1_000')");
  db.run("INSERT INTO \"an odd \"\"name\"(node) VALUES ('a')");
  db.gives("SELECT node FROM \"an odd \"\"name\" WHERE key = 1", "a");
}

TEST(HashRingLimits, long_build_can_be_interrupted) {
  Database db;
  db.run("CREATE VIRTUAL TABLE r USING hash_ring(vnodes = 100000, seed = 1)");
  db.run(with_numbers(50) + "INSERT INTO r(node) SELECT 'n' || i FROM n");
  EXPECT_EQ(stopped(db, "SELECT node FROM r WHERE key = 1", 500, 3).code, SQLITE_INTERRUPT);
  db.gives("SELECT count(*) FROM r WHERE key = 1", "1");
  db.run("INSERT INTO r(r) VALUES ('check')");
}

// Another program must compute the same hash to find the same owner (FORMAT.md).
TEST(HashRingKeys, are_hashed_as_those_of_filters) {
  Database db;
  db.run("CREATE VIRTUAL TABLE s USING hash_ring(algorithm = slots, seed = 5)");
  db.run("INSERT INTO s(node) VALUES ('a'), ('b'), ('c')");
  RingOptions options;
  options.algorithm = RingAlgorithm::kSlots;
  options.seed = 5;
  const std::shared_ptr<cuckoo::HashRing> ring = cuckoo::HashRing::make(options).value();
  for (const char* name : {"a", "b", "c"}) {
    ASSERT_TRUE(ring->insert(name, 1).ok());
  }
  ring->build();
  for (int i = 0; i < 50; ++i) {
    const std::string text = "k" + std::to_string(i);
    const uint32_t of_text =
        ring->owner(hash_bytes(KeyKind::kText, std::as_bytes(std::span(text)), 5));
    db.gives(sql("SELECT node FROM s WHERE key = '{}'", text), ring->find(of_text)->name);
    db.gives("SELECT node FROM s WHERE key = " + std::to_string(i),
             ring->find(ring->owner(hash_integer(i, 5)))->name);
  }
}

TEST(HashRingKeys, of_a_utf16_database_are_utf8) {
  Database utf16;
  utf16.run("PRAGMA encoding = 'UTF-16le'");
  Database utf8;
  for (Database* db : {&utf16, &utf8}) {
    db->run("CREATE VIRTUAL TABLE r USING hash_ring(seed = 5)");
    db->run("INSERT INTO r(node) VALUES ('ä'), ('b'), ('Ω'), ('😀')");
    db->run("INSERT INTO r(r) VALUES ('check')");
    db->run(kUsers);
    db->run("UPDATE users SET name = 'ü' || name");
  }
  const std::string owners =
      "SELECT group_concat(node) FROM (SELECT r.node FROM users u JOIN r ON r.key = u.name"
      " ORDER BY u.id LIMIT 500)";
  utf16.gives(owners, utf8.text(owners));
}

}  // namespace
}  // namespace ring_table_test
}  // namespace cuckoo::test
