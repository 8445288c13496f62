// hash_ring_moves: what a change would move, compared with what it then moves.
#include <string>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace ring_moves_test {
namespace {

constexpr char kKeys[] =
    "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000)";

class HashRingMoves : public ::testing::TestWithParam<const char*> {
 protected:
  HashRingMoves() {
    db_.run("CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = {})", GetParam());
    db_.run("INSERT INTO ring(node, weight) VALUES ('a', 1), ('b', 2), ('c', 1)");
  }

  // Compares the promised moves with those of the change, which it makes and undoes.
  void expect_moves(const std::string& arguments, const std::string& change) {
    const std::vector<Row> rows = shadow_rows(db_, "ring");
    db_.run("CREATE TABLE promised AS SELECT * FROM hash_ring_moves('ring', {})", arguments);
    EXPECT_EQ(shadow_rows(db_, "ring"), rows);  // without making it
    db_.run("CREATE TABLE before AS {} SELECT i, r.node FROM n JOIN ring r ON r.key = i", kKeys);
    db_.run("BEGIN");
    db_.run(change);
    db_.run(
        "CREATE TABLE moved AS SELECT b.node AS from_node, r.node AS to_node, count(*) AS keys"
        " FROM before b JOIN ring r ON r.key = b.i WHERE b.node <> r.node GROUP BY 1, 2");
    db_.gives(
        "SELECT count(*) FROM moved LEFT JOIN promised USING (from_node, to_node)"
        " WHERE share IS NULL",
        "0");
    db_.gives(
        "WITH m AS (SELECT 20000 * share AS e, ifnull(keys, 0) AS k FROM promised"
        " LEFT JOIN moved USING (from_node, to_node))"
        " SELECT count(*) FROM m WHERE abs(k - e) > 1 AND (k - e) * (k - e) > 25 * e",
        "0");
    db_.gives("SELECT count(*) > 0 FROM promised", "1");
    db_.run("ROLLBACK; DROP TABLE promised; DROP TABLE before");
  }

  Database db_;
};

INSTANTIATE_TEST_SUITE_P(Algorithms, HashRingMoves, ::testing::Values("ring", "ketama", "slots"),
                         kParameterName);

TEST_P(HashRingMoves, are_what_the_change_moves) {
  expect_moves("'add', 'd'", "INSERT INTO ring(node) VALUES ('d')");
  expect_moves("'ADD', 'd', 2.5", "INSERT INTO ring(node, weight) VALUES ('d', 2.5)");
  expect_moves("'remove', 'b'", "DELETE FROM ring WHERE node = 'b'");
}

TEST_P(HashRingMoves, of_another_weight_or_name_are_what_the_change_moves) {
  expect_moves("'weight', 'a', 3", "UPDATE ring SET weight = 3 WHERE node = 'a'");
  expect_moves("'Weight', 'b', '0.5'", "UPDATE ring SET weight = 0.5 WHERE node = 'b'");
  expect_moves("'rename', 'b', 'bb'", "UPDATE ring SET node = 'bb' WHERE node = 'b'");
  expect_moves("'RENAME', 'c', 'ç'", "UPDATE ring SET node = 'ç' WHERE node = 'c'");
  db_.gives("SELECT count(*) FROM hash_ring_moves('ring', 'weight', 'b', 2)", "0");
  db_.gives("SELECT count(*) FROM hash_ring_moves('ring', 'rename', 'b', 'b')", "0");
}

// All keys of the old name go to other names, and all keys of the new name come from others. So the
// keys that stay on their machine are listed, too.
TEST_P(HashRingMoves, of_another_name_are_all_of_its_keys) {
  const double share = std::stod(db_.text("SELECT share FROM ring WHERE node = 'b'"));
  EXPECT_NEAR(std::stod(db_.text("SELECT sum(share) FROM hash_ring_moves('ring', 'rename', 'b',"
                                 " 'x') WHERE from_node = 'b'")),
              share, 1e-9);
  db_.gives(
      "SELECT count(*) FROM hash_ring_moves('ring', 'rename', 'b', 'x')"
      " WHERE from_node <> 'b' AND to_node <> 'x'",
      "0");
  if (std::string(GetParam()) == "slots") {
    EXPECT_NEAR(std::stod(db_.text("SELECT share FROM hash_ring_moves('ring', 'rename', 'b', 'x')"
                                   " WHERE from_node = 'b' AND to_node = 'x'")),
                share, 3.0 / 65536);
  }
  db_.run("DELETE FROM ring WHERE node <> 'b'");
  db_.gives("SELECT from_node, to_node, share FROM hash_ring_moves('ring', 'rename', 'b', 'x')",
            "b|x|1.0");
}

TEST_P(HashRingMoves, first_and_last_node) {
  EXPECT_EQ(db_.rows("SELECT from_node, to_node, share FROM hash_ring_moves('ring', 'add', 'a2')"
                     " WHERE to_node <> 'a2'")
                    .size() > 0,
            std::string(GetParam()) == "ketama");  // with unequal weights
  db_.run("DELETE FROM ring WHERE node <> 'a'");
  db_.gives("SELECT from_node, to_node, share FROM hash_ring_moves('ring', 'remove', 'a')",
            "a|NULL|1.0");
  db_.run("DELETE FROM ring");
  db_.gives("SELECT from_node, to_node, share FROM hash_ring_moves('ring', 'add', 'a')",
            "NULL|a|1.0");
}

TEST_P(HashRingMoves, sees_this_transaction_and_any_schema) {
  db_.run("BEGIN; DELETE FROM ring WHERE node <> 'a'");
  db_.gives("SELECT from_node FROM hash_ring_moves('main.ring', 'remove', 'a')", "a");
  db_.run("ROLLBACK");
  db_.run("ATTACH ':memory:' AS \"x.y\"; CREATE VIRTUAL TABLE \"x.y\".other USING hash_ring");
  db_.run("INSERT INTO \"x.y\".other(node) VALUES ('z')");
  db_.gives("SELECT from_node FROM hash_ring_moves('x.y.other', 'remove', 'z')", "z");
  db_.gives("SELECT from_node FROM hash_ring_moves('other', 'remove', 'z')", "z");
  // What would move for each node if that node were removed.
  db_.gives(
      "SELECT n.node FROM ring n JOIN hash_ring_moves('ring', 'remove', n.node) m"
      " GROUP BY n.node HAVING abs(sum(m.share) - n.share) < 1e-9 OR"
      " (SELECT count(*) FROM ring_config WHERE value = 'ketama')",
      "a,b,c");
}

TEST_P(HashRingMoves, wrong_arguments_are_refused) {
  const auto refused = [this](const std::string& arguments, const std::string& part) {
    db_.refuses(sql("SELECT * FROM hash_ring_moves({})", arguments), {part});
  };
  refused("'ring', 'add'", "the arguments are");
  refused("'ring'", "the arguments are");
  refused("'ring', 'drop', 'a'", "the actions are add, remove, weight, rename");
  refused("'ring', 'weight', 'a'", "weight takes a weight after the node");
  refused("'ring', 'weight', 'a', 'heavy'", "above 0");
  refused("'ring', 'weight', 'a', 0", "above 0");
  refused("'ring', 'weight', 'x', 1", "no such node: x");
  refused("'ring', 'rename', 'a'", "rename takes a new name after the node");
  refused("'ring', 'rename', 'x', 'y'", "no such node: x");
  refused("'ring', 'rename', 'a', 'b'", "node is there already: b");
  refused("'ring', 'rename', 'a', x'61'", "new name is a text, not a BLOB");
  refused("'ring', 'add', 'a'", "there already");
  refused("'ring', 'add', 'x', 0", "above 0");
  refused("'ring', 'add', 'x', 'heavy'", "above 0");
  refused("'ring', 'remove', 'x'", "no such node: x");
  refused("'ring', 'remove', 'a', 2", "takes no weight");
  refused("'ring', 'add', x'61'", "not a BLOB");
  refused("'nothing', 'add', 'x'", "no such hash_ring: nothing");
  refused("'ring_config', 'add', 'x'", "is not a hash_ring");
  db_.run("CREATE VIRTUAL TABLE seen USING cuckoo_filter");
  refused("'seen', 'add', 'x'", "is not a hash_ring");
  db_.refuses("SELECT * FROM hash_ring_moves", {"the arguments are"});
  db_.gives("SELECT count(*) FROM hash_ring_moves('ring', NULL, 'x')", "0");
  db_.gives("SELECT count(*) > 0 FROM hash_ring_moves('ring', 'add', 'x', NULL)", "1");
  db_.gives("SELECT count(*) FROM hash_ring_moves('ring', 'weight', 'a', NULL)", "0");
  db_.gives("SELECT count(*) FROM hash_ring_moves('ring', 'rename', 'a', NULL)", "0");
}

TEST_P(HashRingMoves, show_their_arguments) {
  db_.gives(
      "SELECT DISTINCT ring, action, node, weight"
      " FROM hash_ring_moves('ring', 'Add', 'd', 2)",
      "ring|Add|d|2.0");
  db_.gives(
      "SELECT DISTINCT action, node, weight"
      " FROM hash_ring_moves('ring', 'rename', 'a', 'd')",
      "rename|a|d");
  const std::string moves = "SELECT count(*) FROM hash_ring_moves('ring', 'remove', 'a')";
  EXPECT_GT(db_.number(moves), 0);
  db_.gives(moves + " WHERE node = 'a' AND ring = 'ring' AND weight IS NULL", db_.text(moves));
  db_.gives(moves + " WHERE node = 'b'", "0");
}

TEST_P(HashRingMoves, can_be_interrupted) {
  db_.run("CREATE VIRTUAL TABLE large USING hash_ring(algorithm = {})", GetParam());
  db_.run(
      "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO"
      " large(node) SELECT 'n' || i FROM n WHERE i <= CASE '{}' WHEN 'slots' THEN 3 ELSE 3000"
      " END",
      GetParam());
  for (const char* statement :
       {"SELECT count(*) FROM hash_ring_moves('large', 'add', 'q')",
        "INSERT INTO large(large) VALUES ('check')", "SELECT node FROM large WHERE key = 1"}) {
    db_.run("BEGIN; UPDATE large SET weight = 1 WHERE node = 'n1'; COMMIT");  // builds it anew
    const Outcome outcome = stopped(db_, statement, 100, 2);
    if (std::string(GetParam()) != "slots") {  // these are ready at once
      EXPECT_EQ(outcome.code, SQLITE_INTERRUPT) << statement;
    }
  }
}

}  // namespace
}  // namespace ring_moves_test
}  // namespace cuckoo::test
