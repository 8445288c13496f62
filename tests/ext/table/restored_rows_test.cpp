// A program that saved a table's rows puts them back by SQL, and goes on. Another connection has
// seen what was there in between.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace table_restored_rows_test {
namespace {

class RestoredRows : public testing::TestWithParam<TableKind> {
 protected:
  static constexpr int kKeys = 20;

  // The shadow tables of t, whose rows can be saved.
  static std::vector<std::string> tables(Database& on) {
    return split(
        on.text("SELECT group_concat(name, ', ') FROM sqlite_schema WHERE type = 'table'"
                " AND name GLOB 't_*' AND name NOT GLOB '*_saved_*'"));
  }
  static void save(Database& on, const std::string& as) {
    for (const std::string& table : tables(on)) {
      on.run("CREATE TABLE {}_saved_{} AS SELECT * FROM {}", table, as, table);
    }
  }
  static void put_back(Database& on, const std::string& saved) {
    for (const std::string& table : tables(on)) {
      on.run("DELETE FROM {}; INSERT INTO {} SELECT * FROM {}_saved_{}", table, table, table,
             saved);
    }
  }
  void insert(Database& on, int key) const {
    on.run("INSERT INTO t({}) VALUES ('key {}')", GetParam().key, key);
  }
  std::string found(Database& on) const {
    const std::string key = GetParam().key;
    return on.text("SELECT count(*) FROM (" + numbers(1, kKeys) + ") CROSS JOIN t ON t." + key +
                   " = 'key ' || i");
  }

  TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, RestoredRows,
    testing::Values(TableKind{"cuckoo", "cuckoo_filter(k)", "k"},
                    TableKind{"fixed", "cuckoo_filter(k, growth = off)", "k"},
                    TableKind{"bloom", "bloom_filter(k)", "k"},
                    TableKind{"window", "cuckoo_filter(k, generations = 3)", "k"},
                    TableKind{"flash", "flash_kv(k, v, size = '64KB')", "k"},
                    TableKind{"ring", "hash_ring(vnodes = 10)", "node"},
                    TableKind{"slots", "hash_ring(algorithm = slots)", "node"},
                    TableKind{"ketama", "hash_ring(algorithm = ketama)", "node"}),
    kParameterName);

TEST_P(RestoredRows, are_what_a_change_in_the_same_transaction_goes_on_from) {
  QuickDatabase db(folder.file("db"));
  db.run("CREATE VIRTUAL TABLE t USING {}", GetParam().module);
  insert(db, 0);
  save(db, "few");
  for (int key = 1; key <= kKeys; ++key) {
    insert(db, key);
  }
  save(db, "all");
  db.run("BEGIN");
  put_back(db, "few");
  db.run("COMMIT");
  EXPECT_EQ(found(db), "0");
  db.run("BEGIN");
  put_back(db, "all");
  insert(db, 100);
  EXPECT_EQ(found(db), std::to_string(kKeys));
  db.run("COMMIT");
  QuickDatabase other(folder.file("db"));
  for (Database* const on : {static_cast<Database*>(&db), static_cast<Database*>(&other)}) {
    EXPECT_EQ(found(*on), std::to_string(kKeys));
    check(*on, "t");
  }
}

TEST_P(RestoredRows, are_read_in_the_transaction_that_puts_them_back) {
  QuickDatabase db(folder.file("db"));
  db.run("CREATE VIRTUAL TABLE t USING {}", GetParam().module);
  save(db, "none");
  insert(db, 1);
  EXPECT_EQ(found(db), "1");
  db.run("BEGIN");
  put_back(db, "none");
  EXPECT_EQ(found(db), "0");
  db.run("ROLLBACK");
  EXPECT_EQ(found(db), "1");
  check(db, "t");
}

// Before the rows come back, the transaction runs a statement that leaves the table as it was.
TEST_P(RestoredRows, are_noticed_after_a_statement_that_changed_nothing) {
  const std::string insert_one = sql("INSERT INTO t({}) VALUES ('undone')", GetParam().key);
  const std::string undone = "SAVEPOINT s; " + insert_one + "; ROLLBACK TO s; RELEASE s";
  const std::string statements[] = {
      "INSERT INTO t(t) VALUES ('check')",
      sql("DELETE FROM t WHERE {} = 'none'", GetParam().key),  // an error for bloom_filter
      undone,
      undone + sql("; SELECT count(*) FROM t WHERE {} = 'key 1'", GetParam().key),
  };
  for (const std::string& statement : statements) {
    SCOPED_TRACE(statement);
    const std::string path = folder.file(std::to_string(&statement - statements));
    QuickDatabase db(path);
    db.run("CREATE VIRTUAL TABLE t USING {}", GetParam().module);
    save(db, "none");
    for (int key = 1; key <= kKeys; ++key) {
      insert(db, key);
    }
    save(db, "all");
    put_back(db, "none");
    EXPECT_EQ(found(db), "0");
    db.run("BEGIN");
    (void)db.attempt(statement);
    put_back(db, "all");
    EXPECT_EQ(found(db), std::to_string(kKeys));
    insert(db, 100);
    db.run("COMMIT");
    QuickDatabase other(path);
    EXPECT_EQ(found(other), std::to_string(kKeys));
    check(other, "t");
    check(db, "t");
  }
}

// The other history has as many records of the same keys and sizes, with other values.
TEST(RestoredFlashRows, have_the_values_of_another_history) {
  const TemporaryFolder folder;
  QuickDatabase db(folder.file("db"));
  QuickDatabase other(folder.file("db"));
  db.run("CREATE VIRTUAL TABLE t USING flash_kv(k, v, size = '64KB')");
  db.run("INSERT INTO t VALUES (1, 'zero'); CREATE TABLE pages AS SELECT * FROM t_pages");
  db.run("CREATE TABLE config AS SELECT * FROM t_config; UPDATE t SET v = 'here'");
  other.gives("SELECT v FROM t WHERE k = 1", "here");
  db.run(
      "BEGIN; DELETE FROM t_pages; INSERT INTO t_pages SELECT * FROM pages; DELETE FROM t_config;"
      " INSERT INTO t_config SELECT * FROM config; COMMIT");
  db.run("UPDATE t SET v = 'also'");
  other.gives("SELECT v FROM t WHERE k = 1", "also");
  other.run("INSERT INTO t VALUES (2, 'more')");
  for (Database* const on : {static_cast<Database*>(&db), static_cast<Database*>(&other)}) {
    on->gives("SELECT v FROM t WHERE k = 1", "also");
    check(*on, "t");
  }
}

// The same in one connection. A statement from before a schema reset reads in between.
TEST(RestoredFlashRows, are_not_mixed_up_by_savepoints) {
  QuickDatabase db(":memory:");
  db.run("CREATE VIRTUAL TABLE t USING flash_kv(k INTEGER, v, size = '64KB')");
  db.run("INSERT INTO t VALUES (1, 'zero')");
  Query open(db, "SELECT t.v FROM json_each('[1,1,1]') j CROSS JOIN t ON t.k = j.value");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  db.run("PRAGMA writable_schema = reset; SELECT 1 FROM t LIMIT 0");
  db.run("BEGIN; SAVEPOINT s; UPDATE t SET v = 'here'; SAVEPOINT u");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  db.run("ROLLBACK TO s; UPDATE t SET v = 'also'; SAVEPOINT u");
  ASSERT_EQ(open.step(), SQLITE_ROW);
  EXPECT_EQ(reinterpret_cast<const char*>(sqlite3_column_text(open.handle(), 0)),
            std::string("also"));
  open.reset();
  db.run("COMMIT");
  check(db, "t");
}

}  // namespace
}  // namespace table_restored_rows_test
}  // namespace cuckoo::test
