// A program that saved a table's rows puts them back by SQL, and goes on. Another connection has
// seen what was there in between.
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::table_restored_rows_test {
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

// --- another file in the place of the one that is open -------------------------------------------

// A copy of the database with other rows, of the same schema and the same data version.
class OtherFile : public testing::Test {
 protected:
  static void make(Database& db, const std::string& key) {
    db.run(
        "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT UNIQUE);"
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(k, seed = 1);"
        "CREATE VIRTUAL TABLE seen USING bloom_filter(email, source = users(email), triggers = on);"
        "CREATE VIRTUAL TABLE guarded USING filter_guard(seen);"
        "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB', seed = 1);"
        "CREATE VIRTUAL TABLE ring USING hash_ring(seed = 1);"
        "INSERT INTO users(email) VALUES ('{}'); INSERT INTO f VALUES ('{}');"
        "INSERT INTO kv VALUES ('{}', 1); INSERT INTO ring(node) VALUES ('{}')",
        key, key, key, key);
  }
  // Statements that were prepared before, each with its only result: the key, if the table has it.
  struct Asked {
    explicit Asked(Database& db) {
      for (const char* sql :
           {"SELECT count(*) FROM %sf WHERE k = ?1",
            "SELECT count(*) FROM %sguarded WHERE email = ?1",
            "SELECT count(*) FROM %sseen WHERE email = ?1",
            "SELECT count(*) FROM %skv WHERE k = ?1", "SELECT node = ?1 FROM %sring WHERE key = 5",
            "SELECT filter_contains('%sf', ?1)"}) {
        statements.push_back(std::make_unique<Query>(db, replaced(sql, "%s", "")));
      }
    }
    void expect(const std::string& key, int count) {
      for (const auto& statement : statements) {
        sqlite3_bind_text(statement->handle(), 1, key.c_str(), -1, SQLITE_TRANSIENT);
        EXPECT_EQ(statement->once(), count) << sqlite3_sql(statement->handle()) << ": " << key;
      }
    }
    std::vector<std::unique_ptr<Query>> statements;
  };
  // The bytes of the database; from SQLite's allocator.
  static std::pair<unsigned char*, sqlite3_int64> bytes_of(Database& db) {
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(db.handle(), "main", &size, 0);
    return {bytes, size};
  }
};

TEST_F(OtherFile, by_deserialize_is_noticed_by_statements_prepared_before) {
  Database a;
  Database b;
  make(a, "a");
  make(b, "b");
  Database db;
  make(db, "c");
  Asked asked(db);
  asked.expect("c", 1);
  for (const bool own : {true, false, true, true, false}) {
    const auto [bytes, size] = bytes_of(own ? a : b);
    ASSERT_EQ(sqlite3_deserialize(db.handle(), "main", bytes, size, size,
                                  SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE),
              SQLITE_OK);
    asked.expect(own ? "a" : "b", 1);
    asked.expect(own ? "b" : "a", 0);
    check(db, "f");
  }
  db.run("INSERT INTO f VALUES ('z'); INSERT INTO kv VALUES ('z', 1)");
  db.gives("SELECT filter_contains('f', 'z') + filter_contains('f', 'b')", 2);
}

TEST_F(OtherFile, by_backup_or_attach_is_noticed_by_statements_prepared_before) {
  const TemporaryFolder folder;
  QuickDatabase a(folder.file("a.db"));
  QuickDatabase b(folder.file("b.db"));
  make(a, "a");
  make(b, "b");
  {
    Database db;
    make(db, "c");
    Asked asked(db);
    for (const bool own : {true, false, true}) {
      back_up(own ? a : b, db);
      asked.expect(own ? "a" : "b", 1);
      asked.expect(own ? "b" : "a", 0);
    }
  }
  b.run("VACUUM INTO '{}'", folder.file("copy.db"));
  Database db;
  std::unique_ptr<Asked> asked;
  for (const char* file : {"a.db", "b.db", "a.db", "copy.db", "a.db"}) {
    db.run("ATTACH '{}' AS other", folder.file(file));
    if (asked == nullptr) {
      asked = std::make_unique<Asked>(db);
    }
    const std::string key = file[0] == 'a' ? "a" : "b";
    asked->expect(key, 1);
    asked->expect(key == "a" ? "b" : "a", 0);
    db.run("DETACH other");
  }
}

}  // namespace
}  // namespace cuckoo::test::table_restored_rows_test
