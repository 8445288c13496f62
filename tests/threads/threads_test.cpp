// Threads that have a connection each: on one file, on files of their own, loading and closing,
// handing images to each other. Meant for ThreadSanitizer, which sees what the connections of one
// process share in the library: its tables of constants, its modules, SQLite's routines.
//
// Whatever a thread does, its virtual tables equal an ordinary table that every transaction writes
// beside them.
#include <atomic>
#include <mutex>

#include "tests/support/extension_path.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/threads/crew.hpp"

namespace cuckoo::test {
namespace {

struct Table {
  const char* name;
  const char* definition;
  bool removes;
};

constexpr Table kFilters[] = {
    {"cuckoo", "cuckoo_filter(k, fingerprint_bits = 32, capacity = 300, seed = 1)", true},
    {"bloom", "bloom_filter(k, fpr = 1e-8, capacity = 300, seed = 1)", false},
    {"blocked", "bloom_filter(k, fpr = 1e-8, capacity = 300, layout = blocked, seed = 1)", false},
    {"counting", "bloom_filter(k, fpr = 1e-8, capacity = 300, counting = on, seed = 1)", true},
    {"recent", "cuckoo_filter(k, fingerprint_bits = 32, generations = 3, seed = 1)", false},
    {"legacy", "bloom_filter(k TEXT, fpr = 1e-8, capacity = 20000, hash = murmur2)", false},
};
constexpr const char* kRings[] = {"hash_ring(vnodes = 40, seed = 1)",
                                  "hash_ring(algorithm = ketama)",
                                  "hash_ring(algorithm = slots, seed = 1)"};

std::string number(int64_t value) { return std::to_string(value); }

void make_all(Database& db) {
  db.run(
      "CREATE TABLE mirror(k); CREATE TABLE store(k PRIMARY KEY, v); CREATE TABLE nodes(node);"
      "CREATE TABLE users(mail TEXT);"
      "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '256KB', seed = 1);"
      "CREATE VIRTUAL TABLE followed USING cuckoo_filter(k, source = users(mail),"
      " triggers = on, fingerprint_bits = 32, seed = 1)");
  for (const Table& filter : kFilters) {
    db.run(std::string("CREATE VIRTUAL TABLE ") + filter.name + " USING " + filter.definition);
  }
  for (int i = 0; i < 3; ++i) {
    db.run("CREATE VIRTUAL TABLE ring" + number(i) + " USING " + kRings[i]);
  }
}

// One transaction on every table; all keys are of `number` and `round` alone.
std::string transaction(int thread, int round) {
  const int64_t first = (thread * 1000 + round) * int64_t{100};
  std::string sql = "BEGIN IMMEDIATE; INSERT INTO mirror " + numbers(first, first + 60) + ";";
  for (const Table& filter : kFilters) {
    sql += std::string("INSERT INTO ") + filter.name + " " + numbers(first, first + 60) + ";";
  }
  sql += "SAVEPOINT s;";
  for (const Table& filter : kFilters) {
    if (filter.removes) {
      sql += std::string("DELETE FROM ") + filter.name + " WHERE k = " + number(first) + ";";
    }
  }
  sql += "ROLLBACK TO s; RELEASE s;";
  for (const char* table : {"kv", "store"}) {
    sql += std::string("INSERT OR REPLACE INTO ") + table + " SELECT i % 50, 'value ' || i FROM (" +
           numbers(first, first + 20) + ");";
  }
  sql += "INSERT INTO users SELECT 'user' || i FROM (" + numbers(first, first + 9) +
         "); UPDATE users SET mail = mail || 'x' WHERE mail = 'user" + number(first) + "';";
  const std::string node = "'node" + number(thread) + "-" + number(round % 4) + "'";
  sql += "DELETE FROM nodes WHERE node = " + node + "; INSERT INTO nodes VALUES (" + node + ");";
  for (int i = 0; i < 3; ++i) {
    sql += "INSERT OR REPLACE INTO ring" + number(i) + "(node) VALUES (" + node + ");";
  }
  return sql + "COMMIT";
}

// In one read transaction: everything equals what is beside it.
void expect_equal(Database& db) {
  db.run("BEGIN");
  for (const Table& filter : kFilters) {
    const std::string name = filter.name;
    EXPECT_EQ(db.number("SELECT count(*) FROM mirror WHERE NOT EXISTS (SELECT 1 FROM " + name +
                        " AS f WHERE f.k = mirror.k)"),
              0)
        << name;
    EXPECT_EQ(db.number("SELECT count(*) FROM mirror WHERE filter_contains('" + name + "', k)"),
              db.number("SELECT count(*) FROM mirror"))
        << name;
    EXPECT_EQ(db.number("SELECT count(*) FROM " + name), db.number("SELECT count(*) FROM mirror"))
        << name;
    EXPECT_EQ(db.number("SELECT count(*) FROM " + name + " WHERE k IN (-1, -2, -3)"), 0) << name;
  }
  EXPECT_EQ(db.list("SELECT k || v FROM kv ORDER BY k"),
            db.list("SELECT k || v FROM store ORDER BY k"));
  EXPECT_EQ(db.number("SELECT count(*) FROM followed"), db.number("SELECT count(*) FROM users"));
  EXPECT_EQ(db.number("SELECT count(*) FROM users WHERE NOT EXISTS (SELECT 1 FROM followed"
                      " WHERE k = mail)"),
            0);
  for (int i = 0; i < 3; ++i) {
    const std::string ring = "ring" + number(i);
    EXPECT_EQ(db.list("SELECT node FROM " + ring + " ORDER BY node"),
              db.list("SELECT node FROM nodes ORDER BY node"));
    EXPECT_EQ(db.number("SELECT count(*) FROM nodes WHERE node = (SELECT node FROM " + ring +
                        " WHERE key = 'a key')"),
              db.number("SELECT count(*) > 0 FROM nodes"));
  }
  db.run("COMMIT");
}

// Each answers from what is in the connection's memory or makes something of it.
void ask_everything(Database& db) {
  for (const char* sql : {
           "SELECT count(*), sum(items), sum(memory_bytes) FROM filter_info",
           "SELECT length(filter_export('cuckoo', 'hashes')), length(filter_export('bloom'))",
           "SELECT length(filter_export('legacy', 'legacy'))",
           "SELECT length(cuckoo_build(k)), length(bloom_build(k, 0.01, 100000)) FROM mirror",
           "SELECT length(filter_union(f)) FROM (SELECT cuckoo_build(k, 0.01, 100000) AS f"
           " FROM mirror GROUP BY k % 3)",
           "SELECT count(*) FROM mirror WHERE filter_contains((SELECT filter_export('blocked')), "
           "k)",
           "SELECT entries, erases FROM flash_kv_info('kv')",
           "SELECT count(*) FROM flash_kv_sectors('kv')",
           "SELECT length(flash_kv_map('kv'))",
           "SELECT count(sha1(v)) FROM kv",
           "SELECT digest FROM kv WHERE k = 1",
           "SELECT count(share) FROM ring0",
           "SELECT count(*) FROM hash_ring_moves('ring1', 'add', 'another')",
           "SELECT node FROM ring2 WHERE key = 5 AND replicas = 2",
           "SELECT cuckoo_version()",
       }) {
    db.rows(sql);
  }
}

void command_everything(Database& db) {
  db.run(
      "INSERT INTO cuckoo(cuckoo) VALUES ('rebuild');"
      "INSERT INTO bloom(bloom, k) VALUES ('resize', 50000);"
      "INSERT INTO followed(followed) VALUES ('rebuild');"
      "INSERT INTO kv(kv) VALUES ('collect')");
  for (const char* name : {"cuckoo", "bloom", "blocked", "counting", "recent", "legacy", "kv",
                           "followed", "ring0", "ring1", "ring2"}) {
    db.run(std::string("INSERT INTO ") + name + "(" + name + ") VALUES ('check')");
  }
}

// A connection that waits for the others, from its first statement on.
std::unique_ptr<Database> open(const std::string& path) {
  auto db = std::make_unique<Database>(path);
  sqlite3_busy_timeout(db->handle(), 60000);
  db->run("PRAGMA synchronous = OFF");
  return db;
}

TEST(Threads, on_one_file_write_in_turn_and_read_beside_it) {
  const TemporaryFolder folder;
  const std::string path = folder.file("shared.db");
  // Open to the end: the last one that closes takes the log away, and who opens then recovers.
  const auto first = open(path);
  first->run("PRAGMA journal_mode = WAL");
  make_all(*first);
  constexpr int kWriters = 2;
  std::atomic<int> writing = kWriters;
  run_crew(2 * kWriters, [&](int thread) {
    const auto db = open(path);
    if (thread < kWriters) {
      for (int round = 0; round < rounds(24); ++round) {
        db->run(transaction(thread, round));
        if (round % 6 == 5) {
          db->run("INSERT INTO cuckoo(cuckoo) VALUES ('rebuild')");
        }
      }
      --writing;
      return;
    }
    do {
      expect_equal(*db);
      ask_everything(*db);
    } while (writing > 0);
  });
  expect_equal(*first);
  command_everything(*first);
}

TEST(Threads, on_files_of_their_own_share_nothing) {
  const TemporaryFolder folder;
  run_crew(4, [&](int thread) {
    const auto db = open(thread == 0 ? ":memory:" : folder.file("file" + number(thread) + ".db"));
    make_all(*db);
    for (int round = 0; round < rounds(10); ++round) {
      db->run(transaction(thread, round));
      expect_equal(*db);
      ask_everything(*db);
    }
    command_everything(*db);
    expect_equal(*db);
  });
}

// A name may mean another table, or none, in the next statement.
TEST(Threads, create_rename_and_drop_what_others_use) {
  const TemporaryFolder folder;
  const std::string path = folder.file("schema.db");
  const auto first = open(path);
  first->run("PRAGMA journal_mode = WAL; CREATE TABLE t(x)");
  const std::vector<std::string> definitions = {
      "cuckoo_filter(k, seed = 1)", "bloom_filter(k, seed = 1)",
      "flash_kv(k, v, size = '64KB', seed = 1)", "hash_ring(seed = 1)"};
  std::atomic<int> making = 2;
  run_crew(4, [&](int thread) {
    const auto db = open(path);
    if (thread < 2) {
      for (int round = 0; round < rounds(12); ++round) {
        const std::string name = "t" + number(thread);
        db->run("CREATE VIRTUAL TABLE " + name + " USING " + definitions[round % 4]);
        db->run(round % 4 == 3 ? "INSERT INTO " + name + "(node) VALUES ('a'), ('b')"
                               : "INSERT INTO " + name + "(k) VALUES (1), (2)");
        db->run("ALTER TABLE " + name + " RENAME TO renamed" + number(thread));
        db->run("DROP TABLE renamed" + number(thread));
      }
      --making;
      return;
    }
    do {
      for (const char* sql :
           {"SELECT filter_contains('t0', 1), filter_contains('renamed1', 1)",
            "SELECT count(*) FROM t0", "SELECT * FROM renamed1 WHERE k = 1",
            "SELECT name, items FROM filter_info", "SELECT name, entries FROM flash_kv_info",
            "SELECT node FROM t1 WHERE key = 5"}) {
        const Outcome outcome = db->attempt(sql);
        const int code = outcome.code & 0xFF;
        EXPECT_TRUE(code == SQLITE_OK || code == SQLITE_ERROR || code == SQLITE_LOCKED ||
                    code == SQLITE_SCHEMA)
            << sql << ": " << outcome.code << " " << outcome.message;
      }
    } while (making > 0);
  });
}

// All pages and the whole index are in memory once. Some threads change theirs, others load them
// anew or let them go.
TEST(Threads, share_what_is_equal_while_some_change_it) {
  const TemporaryFolder folder;
  const std::string path = folder.file("equal.db");
  static constexpr int64_t keys = 20000;
  const auto first = open(path);
  first->run(
      "PRAGMA journal_mode = WAL; CREATE TABLE keys(k); INSERT INTO keys " + numbers(1, keys) +
      "; CREATE VIRTUAL TABLE f USING cuckoo_filter(k, capacity = 20000, seed = 1);"
      "CREATE VIRTUAL TABLE b USING bloom_filter(k, layout = blocked, capacity = 20000, seed = 1);"
      "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '1MB', seed = 1);"
      "INSERT INTO f SELECT k FROM keys; INSERT INTO b SELECT k FROM keys;"
      "INSERT INTO kv SELECT k, k + 1 FROM keys WHERE k <= 3000");
  const auto expect_all = [](Database& db) {
    EXPECT_EQ(db.number("SELECT count(*) FROM keys CROSS JOIN f USING (k)"), keys);
    EXPECT_EQ(db.number("SELECT count(*) FROM keys CROSS JOIN b USING (k)"), keys);
    EXPECT_EQ(db.number("SELECT count(*) FROM keys CROSS JOIN kv USING (k) WHERE v = k + 1"), 3000);
  };
  std::atomic<int> changing = 2;
  run_crew(4, [&](int thread) {
    auto db = open(path);
    expect_all(*db);
    if (thread < 2) {
      for (int round = 0; round < rounds(6); ++round) {
        const int64_t more = 100000 + (thread * 100 + round) * int64_t{1000};
        db->run("BEGIN IMMEDIATE; INSERT INTO f " + numbers(more, more + 999) + "; INSERT INTO b " +
                numbers(more, more + 999) +
                "; UPDATE kv SET v = -1 WHERE k % 7 = " + number(round) + ";" +
                (round % 2 == 0 ? "ROLLBACK" : "UPDATE kv SET v = k + 1 WHERE v = -1; COMMIT"));
        expect_all(*db);
      }
      --changing;
      return;
    }
    do {
      db = open(path);
      expect_all(*db);
    } while (changing > 0);
  });
  expect_all(*first);
  for (const char* name : {"f", "b", "kv"}) {
    first->run(std::string("INSERT INTO ") + name + "(" + name + ") VALUES ('check')");
  }
}

TEST(Threads, load_and_close) {
  run_crew(4, [](int thread) {
    for (int round = 0; round < rounds(40); ++round) {
      Database db;
      sqlite3_enable_load_extension(db.handle(), 1);
      EXPECT_EQ(sqlite3_load_extension(db.handle(), extension_path(), nullptr, nullptr), SQLITE_OK);
      db.run("SELECT load_extension('" + std::string(extension_path()) + "')");
      db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(k); INSERT INTO f VALUES (" +
             number(thread) + ")");
      EXPECT_EQ(db.number("SELECT filter_contains('f', " + number(thread) + ")"), 1);
    }
  });
}

// Images are bytes: made in one thread, asked, merged and united in another.
TEST(Threads, hand_images_to_each_other) {
  std::mutex mutex;
  std::vector<std::string> literals;  // x'…'
  std::atomic<int> building = 2;
  run_crew(4, [&](int thread) {
    Database db;
    if (thread < 2) {
      for (int round = 0; round < rounds(25); ++round) {
        const int64_t first = thread * 10000 + round * 100;
        const std::string image = db.text("SELECT quote(cuckoo_build(i, 0.0001, 5000)) FROM (" +
                                          numbers(first, first + 99) + ")");
        const std::lock_guard lock(mutex);
        literals.push_back(image);
      }
      --building;
      return;
    }
    db.run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(k, fpr = 0.0001, capacity = 5000,"
        " growth = off, seed = 0)");
    size_t taken = 0;
    while (true) {
      const bool last = building == 0;
      std::vector<std::string> fresh;
      {
        const std::lock_guard lock(mutex);
        fresh.assign(literals.begin() + static_cast<std::ptrdiff_t>(taken), literals.end());
      }
      for (const std::string& image : fresh) {
        db.run("INSERT INTO f(f, k) VALUES ('merge', " + image + ")");
        EXPECT_EQ(db.number("SELECT sum(filter_contains(" + image + ", i)) >= 0 FROM (" +
                            numbers(1, 50) + ")"),
                  1);
        db.rows("SELECT length(filter_union(x)) FROM (SELECT " + image + " AS x UNION ALL SELECT " +
                image + ")");
      }
      taken += fresh.size();
      if (last && fresh.empty()) {
        break;
      }
    }
    EXPECT_EQ(db.number("SELECT count(*) FROM f"), static_cast<int64_t>(taken) * 100);
    EXPECT_EQ(db.number("SELECT sum(filter_contains('f', i)) FROM (" + numbers(0, 99) + ")"), 100);
    db.run("INSERT INTO f(f) VALUES ('check')");
  });
}

}  // namespace
}  // namespace cuckoo::test
