// hash_ring: transactions, savepoints, several connections, schemas, DDL.
#include <string>

#include "tests/support/database.hpp"
#include "tests/support/names.hpp"

namespace cuckoo::test {
namespace ring_transaction_test {
namespace {

const std::string kOwners =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
    " SELECT group_concat(node) FROM (SELECT r.node FROM n LEFT JOIN ring r ON r.key = n.i)";

class HashRingTransactions : public ::testing::TestWithParam<const char*> {
 protected:
  HashRingTransactions() { create(db_); }
  void create(Database& db, const std::string& schema = "main") {
    db.run("CREATE VIRTUAL TABLE {}.ring USING hash_ring(algorithm = {})", schema, GetParam());
    db.run("INSERT INTO {}.ring(node) VALUES ('a'), ('b'), ('c')", schema);
  }
  void expect_nodes(Database& db, const std::string& nodes) {
    db.gives("SELECT node FROM ring", nodes);
    db.gives("SELECT count(*) FROM ring WHERE key = 1 AND replicas = 99",
             db.text("SELECT count(*) FROM ring"));
    db.run("INSERT INTO ring(ring) VALUES ('check')");
  }

  TemporaryFolder folder_;
  QuickDatabase db_{folder_.file("db")};
};

INSTANTIATE_TEST_SUITE_P(Algorithms, HashRingTransactions,
                         ::testing::Values("ring", "ketama", "slots"), kParameterName);

TEST_P(HashRingTransactions, roll_back_undoes_all) {
  const std::string before = db_.text(kOwners);
  const std::vector<Row> rows = shadow_rows(db_, "ring");
  db_.run("BEGIN; INSERT INTO ring(node) VALUES ('d')");
  db_.run("DELETE FROM ring WHERE node = 'a'; UPDATE ring SET weight = 3 WHERE node = 'b'");
  EXPECT_NE(db_.text(kOwners), before);
  expect_nodes(db_, "b,c,d");
  db_.run("ROLLBACK");
  db_.gives(kOwners, before);
  EXPECT_EQ(shadow_rows(db_, "ring"), rows);
  expect_nodes(db_, "a,b,c");
}

TEST_P(HashRingTransactions, savepoints_nest) {
  db_.run("BEGIN; INSERT INTO ring(node) VALUES ('d')");
  const std::string four = db_.text(kOwners);
  db_.run("SAVEPOINT one; DELETE FROM ring WHERE node = 'a'");
  const std::string three = db_.text(kOwners);
  db_.run("SAVEPOINT two; INSERT INTO ring(ring) VALUES ('clear')");
  expect_nodes(db_, "none");
  db_.run("ROLLBACK TO two");
  db_.gives(kOwners, three);
  expect_nodes(db_, "b,c,d");
  db_.run("RELEASE two; ROLLBACK TO one");
  db_.gives(kOwners, four);
  db_.run("COMMIT");
  expect_nodes(db_, "a,b,c,d");
}

TEST_P(HashRingTransactions, another_connection_sees_what_was_committed) {
  QuickDatabase other(folder_.file("db"));
  other.gives(kOwners, db_.text(kOwners));
  db_.run("BEGIN; INSERT INTO ring(node) VALUES ('d')");
  expect_nodes(db_, "a,b,c,d");
  other.gives("SELECT node FROM ring", "a,b,c");
  db_.run("COMMIT");
  other.gives(kOwners, db_.text(kOwners));
  expect_nodes(other, "a,b,c,d");
  other.run("DELETE FROM ring WHERE node = 'b'");
  expect_nodes(db_, "a,c,d");
  other.gives(kOwners, db_.text(kOwners));
  // One connection rolls back a change and the other one commits a change. A number of changes
  // would not tell these apart.
  db_.run("BEGIN; INSERT INTO ring(node) VALUES ('mine')");
  db_.text(kOwners);
  db_.run("ROLLBACK");
  other.run("INSERT INTO ring(node) VALUES ('theirs')");
  expect_nodes(db_, "a,c,d,theirs");
  other.gives(kOwners, db_.text(kOwners));
}

TEST_P(HashRingTransactions, snapshots_hold) {
  db_.run("PRAGMA journal_mode = WAL");
  QuickDatabase reader(folder_.file("db"));
  const std::string before = reader.text(kOwners);
  reader.run("BEGIN");
  reader.gives(kOwners, before);
  db_.run("INSERT INTO ring(node) VALUES ('d')");
  reader.gives(kOwners, before);
  reader.refuses("DELETE FROM ring WHERE node = 'a'", SQLITE_BUSY);
  reader.run("COMMIT");
  reader.gives(kOwners, db_.text(kOwners));
}

TEST_P(HashRingTransactions, dropped_and_made_again_by_another_connection) {
  QuickDatabase other(folder_.file("db"));
  other.gives(kOwners, db_.text(kOwners));
  db_.run("DROP TABLE ring; CREATE VIRTUAL TABLE ring USING hash_ring(vnodes = 3)");
  db_.run("INSERT INTO ring(node) VALUES ('a'), ('b'), ('c')");
  other.gives(kOwners, db_.text(kOwners));
  expect_nodes(other, "a,b,c");
}

TEST_P(HashRingTransactions, statement_reads_on_while_the_ring_changes) {
  Query query(db_,
              "SELECT r.node FROM (VALUES (1), (2), (3), (4)) JOIN ring r"
              " ON r.key = column1 AND r.replicas = 3");
  int rows = 0;
  while (query.step() == SQLITE_ROW) {
    ++rows;
    if (rows == 2) {
      db_.run("DELETE FROM ring WHERE node = 'b'");
    } else if (rows == 5) {
      db_.run("BEGIN; INSERT INTO ring(node) VALUES ('d')");
      db_.run("SAVEPOINT s; INSERT INTO ring(node) VALUES ('e'); ROLLBACK TO s");
    }
  }
  EXPECT_GE(rows, 8);
  query.reset();
  db_.run("COMMIT");
  expect_nodes(db_, "a,c,d");
}

std::string owner_of(const Query& query) {
  return reinterpret_cast<const char*>(sqlite3_column_text(query.handle(), 0));
}

// The next savepoint carries a roll-back out, before the statement reads its next row.
TEST_P(HashRingTransactions, statement_reads_on_after_a_roll_back) {
  const char* const changed = "UPDATE ring SET node = 'new-' || node";
  const char* const roll_backs[][2] = {
      {"SAVEPOINT s", "ROLLBACK TO s; SAVEPOINT t"},
      {"BEGIN", "ROLLBACK; SAVEPOINT t; DELETE FROM ring WHERE false"},
  };
  for (const auto& [begin, roll_back] : roll_backs) {
    Query query(db_,
                "SELECT r.node FROM (VALUES (1), (2), (3)) CROSS JOIN ring r ON r.key = column1");
    ASSERT_EQ(query.step(), SQLITE_ROW);
    db_.run(begin);
    db_.run(changed);
    ASSERT_EQ(query.step(), SQLITE_ROW);
    EXPECT_TRUE(owner_of(query).starts_with("new-")) << owner_of(query);
    db_.run(roll_back);
    ASSERT_EQ(query.step(), SQLITE_ROW) << begin;
    EXPECT_FALSE(owner_of(query).starts_with("new-")) << owner_of(query) << ": " << roll_back;
    query.reset();
    db_.run("ROLLBACK");
    expect_nodes(db_, "a,b,c");
  }
}

TEST_P(HashRingTransactions, survives_reopening_and_vacuum) {
  const std::string before = db_.text(kOwners);
  db_.run("VACUUM");
  db_.gives(kOwners, before);
  db_.run("VACUUM INTO '{}'", folder_.file("copy"));
  for (const char* name : {"db", "copy"}) {
    QuickDatabase again(folder_.file(name));
    again.gives(kOwners, before);
    again.gives("PRAGMA integrity_check", "ok");
    expect_nodes(again, "a,b,c");
  }
}

TEST_P(HashRingTransactions, rename_and_drop_take_the_shadow_tables_along) {
  db_.run("BEGIN; INSERT INTO ring(node) VALUES ('d')");
  const std::string before = db_.text(kOwners);
  db_.run("ALTER TABLE ring RENAME TO moved; UPDATE moved SET weight = 1 WHERE node = 'd'");
  db_.run("COMMIT; INSERT INTO moved(moved) VALUES ('check')");
  db_.gives("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1",
            "moved,moved_config,moved_items,moved_pages");
  db_.refuses("ALTER TABLE moved RENAME TO share", {"one of its columns"});
  db_.run("ALTER TABLE moved RENAME TO ring");
  db_.gives(kOwners, before);
  db_.run("BEGIN; DROP TABLE ring; ROLLBACK");
  db_.gives(kOwners, before);
  db_.gives("DROP TABLE ring; SELECT count(*) FROM sqlite_schema", "0");
}

TEST_P(HashRingTransactions, other_schemas_and_read_only) {
  const std::string before = db_.text(kOwners);
  Database temporary;
  temporary.run("ATTACH '{}' AS aux", folder_.file("db"));
  temporary.gives(kOwners, before);
  create(temporary, "temp");
  temporary.run("INSERT INTO temp.ring(node) VALUES ('t')");
  temporary.gives("SELECT node FROM temp.ring", "a,b,c,t");
  temporary.gives("SELECT node FROM aux.ring", "a,b,c");
  temporary.run("INSERT INTO aux.ring(node) VALUES ('x'); DETACH aux");
  expect_nodes(db_, "a,b,c,x");
  Database read_only(folder_.file("db"), SQLITE_OPEN_READONLY);
  read_only.gives(kOwners, db_.text(kOwners));
  read_only.refuses("INSERT INTO ring(node) VALUES ('y')", SQLITE_READONLY);
}

// Copies the tables with the kind of statements that .dump writes.
TEST_P(HashRingTransactions, shadow_tables_can_be_dumped_and_restored) {
  Database copy;
  copy.run("PRAGMA writable_schema = ON");
  for (const Row& row : db_.rows("SELECT name, sql FROM sqlite_schema WHERE name LIKE 'ring_%'")) {
    copy.run(row[1]);
    for (const Row& values :
         db_.rows("SELECT quote(" +
                  std::string(row[0] == "ring_pages" ? "id) || ',' || quote(page"
                                                     : "key) || ',' || quote(value") +
                  ") FROM " + row[0])) {
      copy.run("INSERT INTO {} VALUES ({})", row[0], values[0]);
    }
  }
  copy.run(
      "INSERT INTO sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES ('table', 'ring',"
      " 'ring', 0, 'CREATE VIRTUAL TABLE ring USING hash_ring')");
  copy.run("VACUUM INTO '{}'", folder_.file("restored"));
  QuickDatabase restored(folder_.file("restored"));
  restored.gives(kOwners, db_.text(kOwners));
  expect_nodes(restored, "a,b,c");
}

TEST_P(HashRingTransactions, defensive_mode_protects_its_shadow_tables_only) {
  db_.run("CREATE TABLE ring_log(x)");
  sqlite3_db_config(db_.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  for (const char* table : {"ring_config", "ring_items", "ring_pages"}) {
    db_.refuses(std::string("DELETE FROM ") + table, {"may not be modified"});
  }
  db_.run("INSERT INTO ring_log VALUES (1); INSERT INTO ring(node) VALUES ('d')");
  expect_nodes(db_, "a,b,c,d");
}

}  // namespace
}  // namespace ring_transaction_test
}  // namespace cuckoo::test
