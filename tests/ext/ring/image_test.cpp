// hash_ring_mark, hash_ring_export and the command 'import': a ring handed to another machine.
#include <string>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace ring_image_test {
namespace {

const char* const kOptions[] = {"vnodes = 50, seed = 7", "algorithm = slots", "algorithm = ketama",
                                "algorithm = ketama, dialect = consistent, key_hash = fnv1a_64",
                                "algorithm = ketama, dialect = libmemcached, key_hash = crc32a"};

std::string ring_mark_of(Database& db, const std::string& table = "ring") {
  return db.text("SELECT hash_ring_mark('{}')", table);
}

std::string image_of(Database& db, const std::string& table = "ring") {
  return db.text("SELECT quote(hash_ring_export('{}'))", table);
}

void import(Database& db, const std::string& image, const std::string& table = "ring") {
  db.run("INSERT INTO {}({}, node) VALUES ('import', {})", table, table, image);
}

// Keys of all types.
constexpr char kKeys[] =
    "CREATE TABLE keys AS WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
    " SELECT CASE i % 4 WHEN 0 THEN i WHEN 1 THEN i / 8.0 WHEN 2 THEN 'key:' || i"
    " ELSE CAST('blob ' || i AS BLOB) END AS k FROM n";

// A digest of the owners of 100,000 keys.
std::string owners_of(Database& db) {
  if (db.text("SELECT count(*) FROM sqlite_schema WHERE name = 'keys'") == "0") {
    db.run(kKeys);
  }
  return db.text(
      "SELECT cuckoo_sha1(group_concat(node)) FROM (SELECT node FROM keys LEFT JOIN ring"
      " ON ring.key = k ORDER BY keys.rowid)");
}

class RingCopy : public ::testing::TestWithParam<const char*> {
 protected:
  RingCopy() { create(db_); }
  static void create(Database& db) {
    db.run("CREATE VIRTUAL TABLE ring USING hash_ring({})", GetParam());
    db.run("INSERT INTO ring(node, weight) VALUES ('a:11211', 1), ('b:11211', 2), ('ü', 1.5)");
  }
  bool is_slots() const { return std::string(GetParam()).find("slots") != std::string::npos; }

  Database db_;
};

INSTANTIATE_TEST_SUITE_P(Options, RingCopy, ::testing::ValuesIn(kOptions), kParameterName);

TEST_P(RingCopy, is_the_ring) {
  db_.run("DELETE FROM ring WHERE node = 'a:11211'; INSERT INTO ring(node) VALUES ('c'), ('d')");
  const std::string image = image_of(db_);
  for (const char* given : {"", GetParam()}) {
    const std::string options = given;
    Database other;
    other.run("CREATE VIRTUAL TABLE ring USING hash_ring({})", options);
    other.run("INSERT INTO ring(node) VALUES ('d'), ('old')");
    import(other, image);
    check(other, "ring");
    EXPECT_EQ(other.rows("SELECT node, weight FROM ring ORDER BY node"),
              db_.rows("SELECT node, weight FROM ring ORDER BY node"));
    EXPECT_EQ(ring_mark_of(other), ring_mark_of(db_));
    EXPECT_EQ(image_of(other), image);
    EXPECT_EQ(owners_of(other), owners_of(db_));
    EXPECT_EQ(other.rows("SELECT key, value FROM ring_config WHERE key <> 'record'"),
              db_.rows("SELECT key, value FROM ring_config WHERE key <> 'record'"));
    // The same change gives the copy and another copy the same owners.
    const std::string change = "UPDATE ring SET weight = 3 WHERE node = 'c'";
    other.run(change);
    Database third;
    create(third);
    import(third, image);
    third.run(change);
    EXPECT_EQ(owners_of(other), owners_of(third));
    check(other, "ring");
  }
}

// Two machines make the same changes in another order. The order matters only for slots.
TEST_P(RingCopy, has_an_equal_mark_exactly_where_100000_keys_have_the_same_owners) {
  Database other;
  other.run("CREATE VIRTUAL TABLE ring USING hash_ring({})", GetParam());
  other.run("INSERT INTO ring(node) VALUES ('late'), ('ü'), ('b:11211')");
  db_.run("INSERT INTO ring(node) VALUES ('late'), ('gone')");
  other.run("DELETE FROM ring WHERE node = 'late'");
  other.run("INSERT INTO ring(node) VALUES ('a:11211'), ('late')");
  other.run("UPDATE ring SET weight = 1.5 WHERE node = 'ü'");
  EXPECT_NE(ring_mark_of(db_), ring_mark_of(other));
  EXPECT_NE(owners_of(db_), owners_of(other));
  db_.run("DELETE FROM ring WHERE node = 'gone'");
  other.run("UPDATE ring SET weight = 2 WHERE node = 'b:11211'");
  EXPECT_EQ(ring_mark_of(db_) == ring_mark_of(other), !is_slots());
  EXPECT_EQ(owners_of(db_) == owners_of(other), !is_slots());
  import(other, image_of(db_));
  EXPECT_EQ(ring_mark_of(db_), ring_mark_of(other));
  EXPECT_EQ(owners_of(db_), owners_of(other));
  // The mark does not depend on the table's name.
  db_.run("ALTER TABLE ring RENAME TO other_name");
  EXPECT_EQ(ring_mark_of(db_, "other_name"), ring_mark_of(other));
}

TEST_P(RingCopy, is_undone_by_a_rollback) {
  const TemporaryFolder folder;
  QuickDatabase db(folder.file("db"));
  QuickDatabase reader(folder.file("db"));
  db.run("CREATE VIRTUAL TABLE ring USING hash_ring; INSERT INTO ring(node) VALUES ('x'), ('y')");
  const std::vector<Row> rows = shadow_rows(db, "ring");
  const std::string mark = ring_mark_of(db);
  EXPECT_EQ(ring_mark_of(reader), mark);
  const std::string copied = ring_mark_of(db_);
  for (const char* end : {"ROLLBACK", "ROLLBACK TO s; RELEASE s", "COMMIT"}) {
    db.run(std::string(end).find("TO") != std::string::npos ? "SAVEPOINT s" : "BEGIN");
    import(db, image_of(db_));
    EXPECT_EQ(ring_mark_of(db), copied);
    EXPECT_EQ(ring_mark_of(reader), mark);
    db.run("INSERT INTO ring(node) VALUES ('z'); DELETE FROM ring WHERE node = 'z'");
    import(db, image_of(db_));
    db.run(end);
    const bool kept = std::string(end) == "COMMIT";
    EXPECT_EQ(ring_mark_of(db), kept ? copied : mark);
    EXPECT_EQ(ring_mark_of(reader), kept ? copied : mark);
    EXPECT_EQ(shadow_rows(db, "ring") == rows, !kept);
    check(reader, "ring");
  }
  QuickDatabase reopened(folder.file("db"));
  EXPECT_EQ(ring_mark_of(reopened), copied);
  check(reopened, "ring");
}

TEST_P(RingCopy, damaged_anywhere_changes_nothing) {
  const std::string image = image_of(db_);  // x'…'
  Database other;
  other.run("CREATE VIRTUAL TABLE ring USING hash_ring; INSERT INTO ring(node) VALUES ('x')");
  const std::vector<Row> rows = shadow_rows(other, "ring");
  const size_t digits = image.size() - 3;
  size_t refused = 0;
  for (size_t at = 0; at < digits; at += at < 400 || at + 200 > digits || !is_slots() ? 1 : 9973) {
    std::string damaged = image;
    damaged[2 + at] = damaged[2 + at] == '0' ? '1' : '0';
    other.refuses(sql("INSERT INTO ring(ring, node) VALUES ('import', {})", damaged),
                  {"ring: import: ", "image"});
    ++refused;
  }
  for (size_t length = 0; length < digits; length += is_slots() ? 2 * 4999 : 2) {
    other.refuses(
        sql("INSERT INTO ring(ring, node) VALUES ('import', {}')", image.substr(0, 2 + length)),
        {"ring: import: ", "image"});
    ++refused;
  }
  EXPECT_GT(refused, 200U);
  EXPECT_EQ(shadow_rows(other, "ring"), rows);
  other.gives("SELECT node FROM ring WHERE key = 1", "x");
  check(other, "ring");
}

// A statement that is open while another ring takes the place of the one it reads.
TEST_P(RingCopy, may_come_while_a_statement_reads) {
  const std::string image = image_of(db_);
  Database other;
  other.run("CREATE VIRTUAL TABLE ring USING hash_ring");
  other.run(with_numbers(500) + "INSERT INTO ring(node) SELECT 'n' || i FROM n");
  for (const char* sql : {"SELECT node, weight, share FROM ring",
                          "SELECT node FROM ring JOIN"
                          " (VALUES (1), (2), (3), (4)) ON ring.key = column1",
                          "SELECT node, share FROM ring WHERE key = 5 AND replicas = 9"}) {
    Query query(other, sql);
    ASSERT_EQ(query.step(), SQLITE_ROW);
    import(other, image);
    int code = SQLITE_ROW;
    while ((code = query.step()) == SQLITE_ROW) {
    }
    EXPECT_EQ(code, SQLITE_DONE);
    query.reset();
    other.gives("SELECT count(*) FROM ring", "3");
    other.run("DELETE FROM ring; INSERT INTO ring(node) VALUES ('n1'), ('n2'), ('n3'), ('n4')");
  }
}

// --- what is refused -----------------------------------------------------------------------------

using RingImport = WithDatabase;

TEST_F(RingImport, keeps_the_options_that_create_named) {
  db.run("CREATE VIRTUAL TABLE slots USING hash_ring(algorithm = slots, seed = 3)");
  db.run("CREATE VIRTUAL TABLE points USING hash_ring(vnodes = 10)");
  db.run("CREATE VIRTUAL TABLE client USING hash_ring(algorithm = ketama, dialect = spy)");
  const auto refused = [this](const std::string& options, const std::string& from,
                              const std::string& option, const std::string& expected) {
    db.run("CREATE VIRTUAL TABLE t USING hash_ring({})", options);
    db.refuses(
        sql("INSERT INTO t(t, node) VALUES ('import', hash_ring_export('{}'))", from),
        {"t: import: the image is of a " + expected, "this table's option " + option + " forbids"});
    db.run("DROP TABLE t");
  };
  const std::string slots = "hash_ring(algorithm = slots, seed = 3)";
  refused("algorithm = ring", "slots", "algorithm", slots);
  refused("vnodes = 1000", "slots", "vnodes", slots);
  refused("seed = 4", "slots", "seed", slots);
  refused("vnodes = 11", "points", "vnodes", "hash_ring(algorithm = ring, vnodes = 10, seed = 0)");
  const std::string client = "hash_ring(algorithm = ketama, dialect = spy, key_hash = md5)";
  refused("seed = random", "client", "seed", client);
  refused("algorithm = ketama, dialect = libmemcached", "client", "dialect", client);
  refused("algorithm = ketama, dialect = spy, key_hash = fnv1_32", "client", "key_hash", client);
  refused("algorithm = ketama", "points", "algorithm", "hash_ring(algorithm = ring");
  for (const std::string options : {"", "seed = random", "seed = 3", "algorithm = slots"}) {
    db.run("CREATE VIRTUAL TABLE t USING hash_ring({})", options);
    db.run("INSERT INTO t(t, node) VALUES ('import', hash_ring_export('slots'))");
    db.gives(
        "SELECT group_concat(value) FROM (SELECT value FROM t_config"
        " WHERE key <> 'record' ORDER BY key)",
        "slots,2,3");
    db.run("DROP TABLE t");
  }
}

TEST_F(RingImport, needs_a_key_that_is_hashed_alike) {
  const char* const types[] = {"", "key TEXT", "key INTEGER", "key REAL"};
  for (const std::string from : types) {
    db.run("CREATE VIRTUAL TABLE origin USING hash_ring({})", from);
    db.run("INSERT INTO origin(node) VALUES ('a'), ('b')");
    for (const std::string to : types) {
      db.run("CREATE VIRTUAL TABLE t USING hash_ring({})", to);
      db.run("INSERT INTO t(node) VALUES ('a'), ('b')");
      const std::string import =
          "INSERT INTO t(t, node) VALUES ('import', hash_ring_export('origin'))";
      EXPECT_EQ(ring_mark_of(db, "t") == ring_mark_of(db, "origin"), from == to);
      if (from == to) {
        db.run(import);
      } else {
        db.refuses(import,
                   {"t: import: the image is of a hash_ring", "hashes some keys otherwise",
                    from.empty() ? "with a key without a type" : "hash_ring(" + from + ")"});
      }
      db.run("DROP TABLE t");
    }
    db.run("DROP TABLE origin");
  }
  db.run("CREATE VIRTUAL TABLE a USING hash_ring(key BIGINT)");
  db.run("CREATE VIRTUAL TABLE b USING hash_ring(key DECIMAL)");
  db.run("INSERT INTO a(a, node) VALUES ('import', hash_ring_export('b'))");
}

TEST(RingFunctions, know_tables_in_any_schema_and_without_nodes) {
  Database db;
  db.run("ATTACH ':memory:' AS \"x.y\"; CREATE VIRTUAL TABLE \"x.y\".r USING hash_ring");
  db.run("CREATE VIRTUAL TABLE r USING hash_ring(algorithm = slots)");
  EXPECT_EQ(ring_mark_of(db, "x.y.r"), ring_mark_of(db, "main.r"));  // no key has an owner
  EXPECT_EQ(ring_mark_of(db, "r").size(), 16U);
  db.run("INSERT INTO \"x.y\".r(node) VALUES ('a')");
  EXPECT_NE(ring_mark_of(db, "x.y.r"), ring_mark_of(db, "main.r"));
  db.run("CREATE VIRTUAL TABLE copy USING hash_ring");
  db.run("INSERT INTO copy(copy, node) VALUES ('import', hash_ring_export('x.y.r'))");
  db.gives("SELECT node FROM copy WHERE key = 1", "a");
}

TEST(RingExport, longer_than_a_blob_is_refused) {
  Database db;
  db.run("CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = slots)");
  db.run("INSERT INTO ring(node) VALUES ('a')");
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 100000);
  db.refuses("SELECT hash_ring_export('ring')", SQLITE_TOOBIG,
             {"ring: its image has 131137 bytes, and a BLOB at most 100000"});
}

}  // namespace
}  // namespace ring_image_test
}  // namespace cuckoo::test
