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

TEST_P(HashRing, takes_a_row_of_values_without_column_names) {
  db_.run("INSERT INTO ring VALUES ('d', 3)");
  db_.gives("SELECT node, weight FROM ring WHERE node = 'd'", "d|3");
  db_.gives("SELECT * FROM ring WHERE node = 'd'", "d|3");
  db_.gives("SELECT share > 0 FROM ring WHERE node = 'd'", "1");
}

TEST_P(HashRing, lists_its_nodes) {
  db_.gives("SELECT node, weight FROM ring", "a|1,b|2,c|0.5");
  db_.gives("SELECT count(*) FROM ring", "3");
  db_.gives("SELECT abs(sum(share) - 1) < 1e-12 AND min(share) > 0 FROM ring", "1");
  db_.gives("SELECT rowid FROM ring", "1,2,3");
  db_.gives("SELECT node FROM ring WHERE rowid = 2", "b");
  db_.gives("SELECT node FROM ring WHERE node = 'b'", "b");
  db_.gives("SELECT weight FROM ring WHERE node IN ('a', 'c', 'x')", "1,0.5");
  db_.gives("SELECT node FROM ring WHERE node = NULL", "none");
}

TEST_P(HashRing, key_has_one_owner) {
  db_.run(kUsers);
  db_.gives("SELECT count(*) FROM ring WHERE key = 'user:42'", "1");
  db_.gives("SELECT count(*) FROM users u JOIN ring r ON r.key = u.id", "10000");
  db_.gives("SELECT count(*) FROM ring r JOIN users u ON r.key = u.id", "10000");
  db_.gives(
      "SELECT count(*) FROM users u LEFT JOIN ring r ON r.key = u.name"
      " WHERE r.node IS NULL",
      "0");
  // Each node has as many keys as its share says, within 5 standard deviations.
  db_.gives(
      "SELECT max((n - 10000 * share) * (n - 10000 * share) / (10000 * share)) < 25"
      " FROM ring JOIN (SELECT r.node, count(*) AS n FROM users u"
      " JOIN ring r ON r.key = u.name GROUP BY 1) USING (node)",
      "1");
  // Each way to ask names the same node.
  db_.gives(
      "SELECT count(*) FROM users u JOIN ring r ON r.key = u.name"
      " WHERE (SELECT node FROM ring WHERE key IS u.name) <> r.node"
      " OR NOT EXISTS (SELECT 1 FROM ring WHERE key = u.name AND node = r.node)",
      "0");
}

TEST_P(HashRing, replicas_are_different_nodes) {
  db_.gives("SELECT replica FROM ring WHERE key = 'k' AND replicas = 3", "0,1,2");
  db_.gives("SELECT count(DISTINCT node) FROM ring WHERE key = 'k' AND replicas = 3", "3");
  db_.gives_each("SELECT count(*) FROM ring WHERE key = 'k' AND replicas = {}",
                 {"2 => 2", "1000 => 3", "9e18 => 3", "'2' => 2", "NULL => 0"});
  db_.gives(
      "SELECT (SELECT node FROM ring WHERE key = 'k') ="
      " (SELECT node FROM ring WHERE key = 'k' AND replicas = 3 AND replica = 0)",
      "1");
  for (const char* wrong : {"0", "-1", "1.5", "'x'", "x'01'"}) {
    db_.refuses(std::string("SELECT node FROM ring WHERE key = 'k' AND replicas = ") + wrong,
                {"ring: ", "a whole number from 1"});
  }
  db_.run("CREATE TABLE asked(k, n); INSERT INTO asked VALUES ('x', 1), ('y', 2), ('z', 3)");
  db_.gives("SELECT count(*) FROM asked JOIN ring r ON r.key = k AND r.replicas = n", "6");
}

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

TEST_P(HashRing, number_and_text_are_two_keys) {
  db_.gives("SELECT typeof(key) FROM ring WHERE key IN (1, '1', x'31') ORDER BY 1",
            "blob,integer,text");
  db_.run("CREATE TABLE t(k); INSERT INTO t VALUES (1), ('1'), (x'31')");
  db_.gives("SELECT count(*) FROM t JOIN ring ON key = k WHERE typeof(key) = typeof(k)", "3");
}

TEST_P(HashRing, null_key_finds_nothing) {
  db_.gives("SELECT node FROM ring WHERE key = NULL", "none");
  db_.gives("SELECT node FROM ring WHERE key = NULL AND replicas = 2", "none");
  db_.run("CREATE TABLE t(k)");
  db_.gives("INSERT INTO t VALUES (NULL), (1); SELECT count(*) FROM t JOIN ring ON key = k", "1");
  db_.gives("SELECT count(*) FROM t LEFT JOIN ring ON key IS k", "2");
}

TEST_P(HashRing, empty_ring_gives_no_row) {
  db_.gives("DELETE FROM ring; SELECT changes()", "3");
  db_.gives("SELECT node FROM ring WHERE key = 1", "none");
  db_.gives("SELECT node FROM ring WHERE key = 1 AND replicas = 2", "none");
  db_.gives("SELECT count(*) FROM ring", "0");
  db_.gives("INSERT INTO ring(node) VALUES ('only'); SELECT node || share FROM ring", "only1.0");
  db_.gives("SELECT node FROM ring WHERE key = 1", "only");
}

// Without a key the answer is an error, and never just no rows.
TEST_P(HashRing, question_that_needs_a_key_says_so) {
  db_.run(kUsers);
  for (const char* where :
       {"key LIKE 'a%'", "key > 1", "key <> 1", "key IS NULL", "key IS NOT NULL", "key || '' = 'x'",
        "replicas = 3", "replicas > 1", "replica = 0", "replica + 0 = 1"}) {
    db_.refuses(std::string("SELECT node FROM ring WHERE ") + where, {"ring: ", "need a key"});
  }
  db_.refuses("SELECT key FROM ring", {"need a key"});
  db_.refuses("SELECT count(*) FROM users u RIGHT JOIN ring r ON r.key = u.id", {"need a key"});
  db_.refuses("SELECT count(*) FROM ring r LEFT JOIN users u ON r.key = u.id", {"need a key"});
  db_.refuses("SELECT 1 FROM ring WHERE key = 'a' AND replicas > 1", {"replicas = n"});
  db_.refuses("SELECT 1 FROM ring WHERE key = 'a' AND replica = 1", {"give replicas = n, too"});
  db_.refuses("SELECT 1 FROM ring WHERE key = 'a' COLLATE NOCASE", {"BINARY"});
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

TEST_P(HashRing, weight_can_be_changed_and_nodes_renamed) {
  db_.gives("UPDATE ring SET weight = weight * 2 WHERE node <> 'b'; SELECT changes()", "2");
  db_.gives("SELECT weight FROM ring", "2,2,1");
  db_.run("UPDATE ring SET node = 'd', weight = '3.5' WHERE node = 'a'");
  db_.gives("SELECT node, weight FROM ring WHERE rowid = 1", "d|3.5");
  db_.run("CREATE TABLE w(n, w); INSERT INTO w VALUES ('b', 7), ('c', 8)");
  db_.run("UPDATE ring SET weight = w.w FROM w WHERE w.n = ring.node");
  db_.gives("SELECT weight FROM ring", "3.5,7,8");
  db_.run("UPDATE ring SET weight = 1; INSERT INTO ring(ring) VALUES ('check')");
  db_.gives("DELETE FROM ring WHERE node = 'nobody'; SELECT changes()", "0");
  db_.gives("DELETE FROM ring WHERE weight = 1 AND node < 'c'; SELECT node FROM ring", "d,c");
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

TEST_P(HashRing, same_node_twice_is_a_constraint) {
  db_.refuses("INSERT INTO ring(node) VALUES ('x'), ('a')", SQLITE_CONSTRAINT_UNIQUE,
              {"UNIQUE constraint failed: ring.node"});
  db_.gives("SELECT count(*) FROM ring", "3");
  db_.run("INSERT OR IGNORE INTO ring(node, weight) VALUES ('a', 9), ('x', 1), ('x', 2)");
  db_.gives("SELECT changes()", "1");
  db_.gives("SELECT weight FROM ring", "1,2,0.5,1");
  db_.run("INSERT OR REPLACE INTO ring(node, weight) VALUES ('a', 9)");
  db_.gives("SELECT weight FROM ring", "9,2,0.5,1");
  db_.refuses("UPDATE ring SET node = 'a' WHERE node = 'b'", SQLITE_CONSTRAINT_UNIQUE,
              {"UNIQUE constraint failed"});
  db_.run("UPDATE OR IGNORE ring SET node = 'a' WHERE node = 'b'");
  db_.run("UPDATE OR REPLACE ring SET node = 'a' WHERE node = 'b'");
  db_.gives("SELECT rowid, node, weight FROM ring", "2|a|2,3|c|0.5,4|x|1");
  db_.run("INSERT INTO ring(ring) VALUES ('check')");
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

TEST_P(HashRing, commands_check_and_clear) {
  db_.run("INSERT INTO ring(ring) VALUES ('check')");
  db_.refuses("INSERT INTO ring(ring) VALUES ('rebuild')",
              {"unknown command \"rebuild\"", "check, clear"});
  db_.refuses("INSERT INTO ring(ring, node) VALUES ('clear', 'a')", {"clear takes no argument"});
  db_.refuses("UPDATE ring SET ring = 'clear'", {"by INSERT"});
  db_.gives("INSERT INTO ring(ring) VALUES ('clear'); SELECT count(*) FROM ring", "0");
  db_.gives("SELECT count(*) FROM ring_items", "0");
  db_.gives("SELECT count(*) FROM ring_pages", "0");
  db_.gives("SELECT ring FROM ring", "none");
}

TEST_P(HashRing, application_sees_its_own_rowids_and_changes) {
  db_.run("CREATE TABLE log(id INTEGER PRIMARY KEY); INSERT INTO log VALUES (77)");
  db_.gives("UPDATE ring SET weight = 3 WHERE node = 'a'; SELECT changes()", "1");
  db_.gives("SELECT last_insert_rowid()", "77");
  db_.gives("DELETE FROM ring WHERE node = 'b'; SELECT last_insert_rowid()", "77");
  db_.run("INSERT INTO ring(node) VALUES ('new')");
  db_.gives("SELECT node FROM ring WHERE rowid = last_insert_rowid()", "new");
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

TEST(HashRingOptions, limits_are_said) {
  Database db;
  db.run("CREATE VIRTUAL TABLE r USING hash_ring(vnodes = 100000)");
  db.refuses("INSERT INTO r(node, weight) VALUES ('a', 11)",
             {"r: weight times vnodes (100000) may be 2^20 at most: a weight is at most 10.48 here",
              "not from their ratios", "other owners"});
  db.run("INSERT INTO r(node, weight) VALUES ('a', 10.48); DELETE FROM r; BEGIN");
  db.run(with_numbers(16) + "INSERT INTO r(node, weight) SELECT 'n' || i, 10.48576 FROM n");
  db.refuses("INSERT INTO r(node) VALUES ('one more')", {"full: r holds", "2^24"});
  db.gives("COMMIT; SELECT count(*) FROM r", "16");
}

TEST(HashRingLimits, long_build_can_be_interrupted) {
  Database db;
  db.run("CREATE VIRTUAL TABLE r USING hash_ring(vnodes = 100000, seed = 1)");
  db.run(with_numbers(50) + "INSERT INTO r(node) SELECT 'n' || i FROM n");
  EXPECT_EQ(stopped(db, "SELECT node FROM r WHERE key = 1", 500, 3).code, SQLITE_INTERRUPT);
  db.gives("SELECT count(*) FROM r WHERE key = 1", "1");
  db.run("INSERT INTO r(r) VALUES ('check')");
}

// Clients of memcached in other languages hash a key as text.
TEST(HashRingKetama, keys_are_cast_to_text) {
  Database db;
  db.run("CREATE VIRTUAL TABLE k USING hash_ring(algorithm = ketama)");
  db.run(with_numbers(20) +
         "INSERT INTO k(node, weight) SELECT printf('10.0.1.%d:11211', i), 100 * i FROM n");
  db.gives(
      "WITH v(x) AS (VALUES (42), (-7), (1.5), (-0.5), (1e300), (0.1), (9.5e-10),"
      " (1e-9), (9223372036854775807), ('t'), (''), (x'74'), (x'00ff'))"
      " SELECT count(*) FROM v JOIN k ON k.key = v.x"
      " JOIN k AS t ON t.key = CAST(v.x AS TEXT) AND t.node = k.node",
      "13");
}

TEST(HashRingKetama, sql_gives_what_the_client_gives) {
  Database db;
  db.run("CREATE VIRTUAL TABLE k USING hash_ring(algorithm = ketama, dialect = libmemcached)");
  db.run(
      "INSERT INTO k(node, weight) VALUES ('10.0.1.1:11211', 600), ('10.0.1.2:11211', 300),"
      " ('10.0.1.3:11211', 200), ('10.0.1.4:11211', 350), ('10.0.1.5:11211', 1000),"
      " ('10.0.1.6:11211', 800), ('10.0.1.7:11211', 950), ('10.0.1.8:11211', 100)");
  // From test/fixtures/ketama.hpp of libmemcached.
  db.gives("SELECT node FROM k WHERE key = 'SVa_]_V41)'", "10.0.1.7:11211");
  db.gives("SELECT node FROM k WHERE key = 'P1[Ma3=K1/'", "10.0.1.8:11211");
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

TEST(HashRingViews, work_in_views_and_triggers) {
  Database db;
  db.run("PRAGMA trusted_schema = OFF");
  db.run("CREATE VIRTUAL TABLE r USING hash_ring; INSERT INTO r(node) VALUES ('a'), ('b')");
  db.run(kUsers);
  db.run("CREATE VIEW placed AS SELECT u.id, r.node FROM users u JOIN r ON r.key = u.id");
  db.gives("SELECT count(*) FROM placed", "10000");
  db.run("CREATE TABLE outbox(id, node)");
  db.run(
      "CREATE TRIGGER t AFTER INSERT ON users BEGIN"
      " INSERT INTO outbox SELECT new.id, node FROM r WHERE key = new.id AND replicas = 2; END");
  db.gives("INSERT INTO users VALUES (20000, 'x'); SELECT count(DISTINCT node) FROM outbox", "2");
}

}  // namespace
}  // namespace ring_table_test
}  // namespace cuckoo::test
