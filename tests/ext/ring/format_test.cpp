// hash_ring tables of format 1, made by the first release: they name the same owners, and changes
// leave the same bytes. Also what format 2 reads in another way.
#include <fstream>
#include <sstream>
#include <string>

#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test {
namespace ring_format_test {
namespace {

constexpr char kMake[] =
    "CREATE VIRTUAL TABLE points USING hash_ring(vnodes = 3, seed = -7);"
    "CREATE VIRTUAL TABLE clients USING hash_ring(algorithm = ketama);"
    "CREATE VIRTUAL TABLE typed USING hash_ring(key REAL, algorithm = ketama, dialect = spy);"
    "CREATE VIRTUAL TABLE slotted USING hash_ring(algorithm = slots, seed = 9);"
    "INSERT INTO points(node, weight) VALUES ('a', 1), ('b', 2.5), ('ü', 1);"
    "INSERT INTO clients(node) VALUES ('10.0.1.1:11211'), ('10.0.1.2:11211'), ('10.0.1.3:11211'),"
    " ('10.0.1.4:11211'), ('10.0.1.5:11211');"
    "INSERT INTO typed(node) SELECT node FROM clients;"
    "INSERT INTO slotted(node, weight) VALUES ('a', 1), ('b', 2.5), ('ü', 1);";
constexpr char kChange[] =
    "DELETE FROM points WHERE node = 'a';"
    "INSERT INTO points(node) VALUES ('c');"
    "UPDATE points SET weight = 4 WHERE node = 'b';"
    "DELETE FROM clients WHERE node = '10.0.1.2:11211';"
    "INSERT INTO clients(node, weight) VALUES ('10.0.1.6:11211', 1);"
    "DELETE FROM slotted WHERE node = 'a';"
    "INSERT INTO slotted(node) VALUES ('c');"
    "UPDATE slotted SET weight = 4 WHERE node = 'b';";
constexpr const char* kTables[] = {"points", "clients", "typed", "slotted"};

// All stored rows, except the pages of `slotted`.
std::vector<Row> stored(Database& db, const std::string& table) {
  std::vector<Row> rows = shadow_rows(db, table);
  std::erase_if(rows, [&](const Row& row) { return table == "slotted" && row[0] == "_pages"; });
  return rows;
}

class RingFormat1 : public ::testing::Test {
 protected:
  RingFormat1() {
    restore("hash_ring-1.sql", path_);
    Database now;  // its slots are the same, but for the format in its options
    now.run(kMake);
    QuickDatabase db(path_);
    for (const Row& row : now.rows("SELECT id, quote(page) FROM slotted_pages")) {
      db.run("INSERT INTO slotted_pages VALUES ({}, {})", row[0], row[1]);
    }
  }
  static void restore(const std::string& name, const std::string& path) {
    QuickDatabase(path).run(golden(name));
  }

  TemporaryFolder folder_;
  const std::string path_ = folder_.file("db");
};

TEST_F(RingFormat1, names_the_owners_it_named) {
  QuickDatabase db(path_);
  for (const std::string table : kTables) {
    db.gives(sql("SELECT count(*) FROM owners WHERE ring = '{}'", table), "39");
    db.gives(sql("SELECT quote(o.key) FROM owners o JOIN {} r ON r.key = o.key WHERE ring = '{}'"
                 " AND r.node <> o.node",
                 table, table),
             "none");
    db.run("INSERT INTO {}({}) VALUES ('check')", table, table);
  }
  // In format 1 '100.0' … '119.0' are other keys than '100' … '119'.
  EXPECT_NE(db.text("SELECT count(*) FROM owners o JOIN clients r"
                    " ON r.key = CAST(o.key AS INTEGER) AND r.node <> o.node"
                    " WHERE ring = 'clients' AND o.key BETWEEN 100 AND 119"),
            "0");
}

TEST_F(RingFormat1, is_written_as_it_was) {
  restore("hash_ring_changed-1.sql", folder_.file("changed"));
  QuickDatabase changed(folder_.file("changed"));
  QuickDatabase db(path_);
  db.run(kChange);
  for (const char* table : kTables) {
    EXPECT_EQ(stored(db, table), stored(changed, table)) << table;
    db.run("INSERT INTO {}({}) VALUES ('check')", table, table);
  }
  QuickDatabase again(path_);
  again.run("INSERT INTO slotted(slotted) VALUES ('check')");
  again.gives("SELECT group_concat(value) FROM slotted_config WHERE key = 'format'", "1");
}

TEST_F(RingFormat1, differs_from_format_2_in_options_alone) {
  Database now;
  now.run(kMake);
  QuickDatabase db(path_);
  for (const std::string table : kTables) {
    now.gives(sql("SELECT value FROM {}_config WHERE key = 'format'", table), "2");
    const std::string others = "SELECT quote(key) || quote(value) FROM " + table +
                               "_config WHERE key NOT IN ('format', 'record')"
                               " UNION ALL SELECT quote(key) || quote(value) FROM " +
                               table + "_items ORDER BY 1";
    now.gives(others, db.list(others));
    // A format that is not the record's is damage.
    db.run("UPDATE {}_config SET value = 2 WHERE key = 'format'", table);
    db.refuses("SELECT count(*) FROM " + table, SQLITE_CORRUPT, {table + ": corrupt: options"});
  }
}

// --- seeds ---------------------------------------------------------------------------------------

// All machines replay the same statements, but each has random numbers of its own.
TEST(RingSeed, without_one_all_machines_name_the_same_owners) {
  for (const std::string options : {"algorithm = ring", "algorithm = slots", "key TEXT"}) {
    std::vector<Row> first;
    for (int machine = 0; machine < 3; ++machine) {
      Database db;
      db.rows("SELECT randomblob({})", machine * 7 + 1);
      db.run("CREATE VIRTUAL TABLE ring USING hash_ring({})", options);
      db.run("INSERT INTO ring(node, weight) VALUES ('a', 1), ('b', 2), ('c', 0.5)");
      db.run("UPDATE ring SET weight = 1 WHERE node = 'c'");
      db.gives("SELECT value FROM ring_config WHERE key = 'seed'", "0");
      const std::vector<Row> rows = shadow_rows(db, "ring");
      EXPECT_TRUE(machine == 0 || rows == first) << options;
      first = rows;
    }
  }
}

TEST(RingSeed, random_one_stays_with_its_table) {
  const TemporaryFolder folder;
  std::string seed;
  for (int i = 0; i < 2; ++i) {
    QuickDatabase db(folder.file("db"));
    if (i == 0) {
      db.run("CREATE VIRTUAL TABLE ring USING hash_ring(seed = random)");
      db.run("INSERT INTO ring(node) VALUES ('a'), ('b')");
      seed = db.text("SELECT value FROM ring_config WHERE key = 'seed'");
    }
    db.gives("SELECT value FROM ring_config WHERE key = 'seed'", seed);
    db.run("INSERT INTO ring(ring) VALUES ('check')");
  }
}

}  // namespace
}  // namespace ring_format_test
}  // namespace cuckoo::test
