// Filters that have room for far more than is in them: memory and time follow what is stored, and
// an image that no BLOB can hold is refused before it is made.
#include <chrono>
#include <ctime>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_sparse_filter_test {
namespace {

constexpr int64_t kEnough = 60'000'000;

double processor_seconds(const std::function<void()>& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

struct Sparse {
  const char* module;  // with its first options
  const char* capacity;
};
std::ostream& operator<<(std::ostream& out, const Sparse& sparse) {
  return out << sparse.module << sparse.capacity;
}

class SparseFilter : public testing::TestWithParam<Sparse> {
 protected:
  static std::string create(const std::string& table, const std::string& options = "") {
    return std::string("CREATE VIRTUAL TABLE ") + table + " USING " + GetParam().module +
           "seed = 1, fpr = 0.01, capacity = " + GetParam().capacity + options + ");";
  }
  static void check(Database& db) {
    for (const char* table : {"f", "fixed"}) {
      db.run("INSERT INTO {}({}) VALUES ('check')", table, table);
    }
    db.gives("PRAGMA integrity_check", "ok");
  }
  static void expect_keys(Database& db) {
    for (const char* table : {"f", "fixed"}) {
      const std::string probe = std::string(") JOIN ") + table + " AS x ON x.key = i";
      EXPECT_EQ(db.number("SELECT count(*) FROM ({}{}", numbers(1, 3), probe), 3) << table;
      // For each absent key the filter looks at a page that nobody ever wrote.
      EXPECT_LE(db.number("SELECT count(*) FROM ({}{}", numbers(1000, 30000), probe), 2) << table;
    }
  }

  TemporaryFolder folder;
};

INSTANTIATE_TEST_SUITE_P(Kinds, SparseFilter,
                         testing::Values(Sparse{"cuckoo_filter(", "1e9"},
                                         Sparse{"cuckoo_filter(", "1e11"},
                                         Sparse{"cuckoo_filter(", "1099511627776"},
                                         Sparse{"bloom_filter(", "1e11"},
                                         Sparse{"bloom_filter(", "1099511627776"},
                                         Sparse{"bloom_filter(layout = blocked, ", "1e11"},
                                         Sparse{"bloom_filter(layout = blocked, ", "1099511627776"},
                                         Sparse{"bloom_filter(counting = on, ", "1e11"},
                                         Sparse{"bloom_filter(counting = on, ", "2e11"}),
                         kParameterName);

TEST_P(SparseFilter, takes_memory_for_what_is_stored) {
  const std::string file = folder.file("sparse.db");
  const MemoryLimiter limit(kEnough);
  {
    QuickDatabase db(file);
    db.run(create("f") + create("fixed", ", growth = off"));
    db.run("INSERT INTO f VALUES (1), (2), (3); INSERT INTO fixed VALUES (1), (2), (3)");
    check(db);
    db.run("INSERT INTO f(f) VALUES ('rebuild')");  // now it has pages
    check(db);
    expect_keys(db);
    // A fold, and a union of cells.
    db.run(create("g", ", growth = off") +
           "INSERT INTO g VALUES (2), (3); INSERT INTO fixed(fixed, key) VALUES ('merge', 'g');"
           "DROP TABLE g");
    check(db);
  }
  {
    QuickDatabase db(file);
    expect_keys(db);
    QuickDatabase other(file);
    other.run("INSERT INTO f VALUES (4)");
    expect_keys(db);
    check(other);
    db.run("INSERT INTO f(f, key) VALUES ('resize', 123456789012)");
    check(db);
    expect_keys(other);
    db.run(create("m") +
           "INSERT INTO m VALUES (3), (4); INSERT INTO f(f, key) VALUES ('merge', 'm')");
    other.run("CREATE TABLE t AS SELECT 7 AS a;" + create("h", ", source = t(a), triggers = off"));
    other.gives("SELECT filter_contains('h', 7)", 1);
    other.run("INSERT INTO h(h) VALUES ('rebuild'); INSERT INTO h(h) VALUES ('check')");
    check(db);
    expect_keys(db);
  }
}

TEST_P(SparseFilter, is_a_window_in_little_memory) {
  const MemoryLimiter limit(3 * kEnough);  // three filters
  Database db;
  db.run(create("f", ", generations = 3"));
  for (int i = 1; i <= 5; ++i) {
    db.run("INSERT INTO f VALUES ({}); INSERT INTO f(f) VALUES ('check')", i);
    if (i < 5) {
      db.run("INSERT INTO f(f) VALUES ('rotate')");
    }
  }
  db.gives(sql("SELECT i FROM ({}) JOIN f ON f.key = i LIMIT 3", numbers(1, 2000)), "3,4,5");
  db.run("INSERT INTO f(f) VALUES ('clear'); INSERT INTO f(f) VALUES ('check')");
}

// A segment that holds nothing takes some bytes of an image. Only one segment holds a key.
TEST_P(SparseFilter, image_is_as_long_as_what_is_in_it) {
  // 65,536 pieces take a kilobyte each, and SQLite has an image of 20 MB several times.
  const MemoryLimiter limit(10 * kEnough);
  Database db;
  db.run(create("f") + "INSERT INTO f VALUES (1); CREATE TABLE images(b)");
  db.run("INSERT INTO images VALUES (filter_export('f'))");
  db.run("INSERT INTO images VALUES (filter_export('f', 'hashes'))");
  db.gives("SELECT count(*) FROM images WHERE length(b) < 60e6", 2);
  db.gives("SELECT filter_contains(b, 1) || filter_contains(b, 2) FROM images", "10,10");
  db.gives("SELECT items FROM filter_info((SELECT max(b) FROM images))", 1);
}

TEST_P(SparseFilter, image_that_no_blob_can_hold_is_refused_at_once) {
  const MemoryLimiter limit(kEnough);
  Database db;
  const std::string build = GetParam().module[0] == 'c' ? "cuckoo_build" : "bloom_build";
  EXPECT_LT(processor_seconds([&] {
              db.refuses(sql("SELECT {}(1, 0.01, {})", build, GetParam().capacity),
                         {"image of ", "are possible"});
            }),
            0.1);
}

// A legacy file is at most 512 MB long, so it may fit a BLOB.
TEST(SparseLegacyFilter, takes_memory_for_what_is_stored) {
  const MemoryLimiter limit(kEnough);
  Database db;
  const std::string options =
      " USING bloom_filter(key TEXT, hash = murmur2, growth = off, seed = 1, fpr = 0.01,"
      " capacity = 4e8)";
  db.run("CREATE VIRTUAL TABLE f{}; CREATE VIRTUAL TABLE g{}", options, options);
  db.run(
      "INSERT INTO f VALUES ('a'); INSERT INTO g VALUES ('b');"
      "INSERT INTO f(f) VALUES ('check'); INSERT INTO f(f, key) VALUES ('merge', 'g');"
      "INSERT INTO f(f) VALUES ('check')");
  db.gives("SELECT column1 FROM (VALUES ('a'), ('b'), ('c')) JOIN f ON f.key = column1", "a,b");
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 400'000'000);
  db.refuses("SELECT filter_export('f', 'legacy')", {"legacy file", "400000000"});
  db.refuses("SELECT filter_export('f')", {"image of ", "400,000,000"});
}

}  // namespace
}  // namespace cuckoo::test::filter_sparse_filter_test
