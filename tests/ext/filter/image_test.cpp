// Images through SQL: filter_export(), import, merge, filter_contains(image, key),
// filter_info(image), cuckoo_build(), bloom_build(), filter_union().
#include <chrono>
#include <ctime>
#include <thread>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_image_test {
namespace {

std::string create(const std::string& module, const std::string& options,
                   const std::string& table = "f") {
  return "CREATE VIRTUAL TABLE " + table + " USING " + module +
         (module.find('(') == std::string::npos ? "(" : ", ") + options + ")";
}

int64_t count(Database& db, const std::string& table = "f") {
  return db.number("SELECT count(*) FROM " + table);
}
std::string image_of(Database& db, const std::string& arguments = "'f'") {
  return db.text("SELECT quote(filter_export({}))", arguments);
}
void import(Database& db, const std::string& image, const std::string& table = "f") {
  db.run("INSERT INTO {}({}, key) VALUES ('import', {})", table, table, image);
}
const char* const kKinds[] = {"cuckoo_filter", "bloom_filter", "bloom_filter(layout = blocked",
                              "bloom_filter(counting = on"};

bool is_set(const std::string& kind) {
  return kind == "bloom_filter" || kind.find("blocked") != std::string::npos;
}

// --- there and back ----------------------------------------------------------------------------

class Image : public testing::TestWithParam<const char*> {
 protected:
  std::string kind() const { return GetParam(); }
  Database db;
};
INSTANTIATE_TEST_SUITE_P(Kinds, Image, testing::ValuesIn(kKinds), kParameterName);

TEST_P(Image, with_hashes_can_grow) {
  db.run(create(kind(), "seed = 1, capacity = 100, fpr = 0.001"));
  db.run("INSERT INTO f " + numbers(1, 100));
  const std::string image = image_of(db, "'f', 'hashes'");
  Database other;
  other.run(create(kind(), "capacity = 5, seed = 2"));
  import(other, image);
  other.run("INSERT INTO f " + numbers(101, 20000));
  EXPECT_EQ(present(other, 1, 20000), 20000);
  EXPECT_LE(present(other, 1'000'001, 1'050'000), 90);
  other.run("INSERT INTO f(f) VALUES ('rebuild'); INSERT INTO f(f, key) VALUES ('resize', 50000)");
  EXPECT_EQ(present(other, 1, 20000), 20000);
  check(other);
  const std::string again = image_of(other, "'f', 'hashes'");
  import(db, again);
  EXPECT_EQ(present(db, 1, 20000), 20000);
  check(db);
}

TEST_P(Image, without_hashes_says_why_it_can_not_grow) {
  db.run(create(kind(), "seed = 1, capacity = 100, fpr = 0.001"));
  db.run("INSERT INTO f " + numbers(1, 90));
  Database other;
  other.run(create(kind(), "capacity = 5, seed = 2"));
  import(other, image_of(db));
  EXPECT_EQ(present(other, 1, 90), 90);
  other.run("INSERT INTO f " + numbers(91, 100));
  EXPECT_EQ(present(other, 1, 100), 100);
  for (const char* sql :
       {"INSERT INTO f(f) VALUES ('rebuild')", "INSERT INTO f(f, key) VALUES ('resize', 5000)",
        "SELECT filter_export('f', 'hashes')"}) {
    other.refuses(sql, {"f: ", "without hashes"});
  }
  other.run("BEGIN");
  other.refuses("INSERT INTO f " + numbers(101, 3000), {"full: f", "100", "without hashes"});
  other.run("COMMIT");
  EXPECT_EQ(present(other, 1, 100), 100);
  check(other);
  other.run("INSERT INTO f(f) VALUES ('clear'); INSERT INTO f " + numbers(1, 3000));
  EXPECT_EQ(present(other, 1, 3000), 3000);
  check(other);
}

TEST_P(Image, of_an_empty_filter_is_empty) {
  db.run(create(kind(), "seed = 1, capacity = 100"));
  for (const char* with : {"'f'", "'f', 'hashes'"}) {
    Database other;
    other.run(create(kind(), "seed = 2"));
    other.run("INSERT INTO f VALUES (1), (2)");
    import(other, image_of(db, with));
    EXPECT_EQ(count(other), 0);
    EXPECT_EQ(present(other, 1, 100), 0);
    other.run("INSERT INTO f " + numbers(1, 3000));  // nothing is in it that could not be rebuilt
    EXPECT_EQ(present(other, 1, 3000), 3000);
    check(other);
    other.gives(sql("SELECT filter_contains({}, 1)", image_of(db, with)), 0);
  }
}

// A tiny filter has pending keys for which it is to grow. If a key was removed that the filter
// never had, the image keeps the filter's cells.
TEST_P(Image, of_a_filter_that_has_not_grown_yet_is_imported) {
  for (int seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    db.run(create(kind(), sql("seed = {}, capacity = 1, fpr = 0.25", seed)));
    db.run("INSERT INTO f VALUES (1), (2), (3); INSERT INTO f(f, key) VALUES ('resize', 1)");
    db.run("BEGIN");
    if (!is_set(kind())) {
      db.run("DELETE FROM f WHERE key = 10");
    }
    db.run("INSERT INTO f(key) VALUES (10); INSERT INTO f(key) " + numbers(100, 199));
    for (const char* then : {"SELECT 1", "COMMIT"}) {
      for (const bool with_hashes : {false, true}) {
        const std::string image = image_of(db, with_hashes ? "'f', 'hashes'" : "'f'");
        db.gives(sql("SELECT filter_contains({}, 10)", image), 1);
        db.gives(sql("SELECT capacity >= 1 FROM filter_info({})", image), 1);
        Database other;
        other.run(create(kind(), "seed = 2"));
        import(other, image);
        EXPECT_EQ(present(other, 100, 199), 100);
        if (!with_hashes) {
          EXPECT_EQ(count(other), count(db));
        } else if (!is_set(kind())) {
          EXPECT_EQ(count(other), 104);  // the hashes know it
        }
        check(other);
      }
      db.run(then);
    }
    db.run("DROP TABLE f");
  }
}

// The filter grows for its pending keys, and so does the image.
TEST_P(Image, promises_as_many_keys_as_its_filter) {
  for (const char* fpr : {"0.25", "0.001"}) {
    db.run(create(kind(), sql("seed = 3, capacity = 1, fpr = {}", fpr)));
    db.run("INSERT INTO f " + numbers(1, 100));
    const std::string capacity = db.text("SELECT capacity FROM filter_info('f')");
    db.gives(sql("SELECT capacity FROM filter_info({})", image_of(db)), capacity);
    Database other;
    other.run(create(kind(), "seed = 2"));
    import(other, image_of(db));
    other.gives("SELECT capacity >= " + capacity + " FROM filter_info('f')", 1);
    db.run("DROP TABLE f");
  }
}

// --- merging -----------------------------------------------------------------------------------

TEST_P(Image, merge_into_an_empty_filter_that_grows_takes_an_image_without_hashes) {
  db.run(create(kind(), "seed = 1, capacity = 100") + ";" +
         create(kind(), "seed = 1, capacity = 100, growth = off", "g"));
  db.run("INSERT INTO g " + numbers(1, 90));
  db.run("INSERT INTO f(f, key) VALUES ('merge', 'g')");
  EXPECT_EQ(present(db, 1, 90), 90);
  db.refuses("INSERT INTO f " + numbers(1001, 3000), {"full: f", "without hashes"});
  check(db);
  db.run("INSERT INTO f(f) VALUES ('clear'); INSERT INTO f VALUES (1)");
  db.refuses("INSERT INTO f(f, key) VALUES ('merge', 'g')", {"f: ", "hashes", "growth = off"});
  EXPECT_EQ(count(db), 1);
  check(db);
}

// Both counts are known before the merge. To look for a place for an entry that is one too many
// would take long.
TEST(ImageFull, merge_of_too_many_items_is_refused_at_once) {
  Database db;
  const std::string options = "seed = 0, capacity = 60000, growth = off";
  db.run(
      "{};{}; INSERT INTO f {}; INSERT INTO g {}; CREATE TABLE i AS SELECT filter_export('g') AS b",
      create("cuckoo_filter", options), create("cuckoo_filter", options, "g"), numbers(1, 50000),
      numbers(50001, 100000));
  for (const std::string source : {"SELECT 'merge', 'g'", "SELECT 'merge', b FROM i"}) {
    const std::clock_t start = std::clock();
    db.refuses("INSERT INTO f(f, key) " + source,
               {"full: f holds 50000 items, and 50000 more would exceed its capacity of 60000"});
    EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 2.0);
    EXPECT_EQ(count(db), 50000);
  }
  // The filter is full. It still takes an empty filter, but not one key more.
  db.run("INSERT INTO f {}; {}; INSERT INTO f(f, key) VALUES ('merge', 'e')",
         numbers(200001, 210000), create("cuckoo_filter", options, "e"));
  db.run("INSERT INTO e VALUES ('x')");
  db.refuses("INSERT INTO f(f, key) VALUES ('merge', 'e')", {"full: f holds 60000"});
  EXPECT_EQ(count(db), 60000);
  EXPECT_EQ(present(db, 1, 50000), 50000);
  check(db);
}

// If a merge does not fit, neither filter loses a key.
TEST_P(Image, merge_that_is_full_changes_nothing) {
  db.run(create(kind(), "seed = 1, capacity = 300, growth = off") + ";" +
         create(kind(), "seed = 1, capacity = 300", "g"));
  db.run("INSERT INTO f {}; INSERT INTO g {}; BEGIN", numbers(1, 250), numbers(1001, 1900));
  int64_t last = 250;
  for (const char* other : {"'g'", "filter_export('g', 'hashes')"}) {
    const int64_t before = count(db);
    // Nothing makes the filter write these keys before the merge.
    db.run("INSERT INTO f VALUES ({}); INSERT INTO f VALUES ({})", last + 1, last + 2);
    last += 2;
    db.refuses(sql("INSERT INTO f(f, key) VALUES ('merge', {})", other), {"full: f"});
    EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
    EXPECT_EQ(present(db, 1, last), last);
    EXPECT_LE(present(db, 1001, 1900), 10);
    EXPECT_EQ(count(db), before + 2);
  }
  db.run("INSERT INTO f {}; COMMIT", numbers(last + 1, 300));
  EXPECT_EQ(present(db, 1, 300), 300);
  check(db);
}

// --- long commands
// ---------------------------------------------------------------------------------

// A command that is interrupted soon returns and leaves what was there.
TEST(ImageLong, commands_obey_interrupt) {
  for (const char* kind : kKinds) {
    Database db;
    db.run(create(kind, "seed = 1, capacity = 400000, fpr = 1e-6") + ";" +
           create(kind, "seed = 1, capacity = 400000, fpr = 1e-5", "g"));
    db.run(
        "INSERT INTO f {}; INSERT INTO g {};"
        " CREATE TABLE i AS SELECT filter_export('g', 'hashes') AS b; CREATE TABLE t AS {}",
        numbers(1, 1000), numbers(1001, 400000), numbers(1, 400000));
    const std::string commands[] = {
        "INSERT INTO f(f, key) VALUES ('merge', 'g')",
        "INSERT INTO f(f, key) SELECT 'merge', b FROM i",
        "INSERT INTO f(f, key) SELECT 'import', b FROM i",
        "INSERT INTO g(g) VALUES ('rebuild')",
        "INSERT INTO g(g) VALUES ('check')",
        "SELECT length(filter_export('g', 'hashes'))",
        "SELECT length(bloom_build(i)) FROM t",
        create(kind, "source = t(i), triggers = off", "h"),
    };
    for (const std::string& sql : commands) {
      for (const int wait_ms : {1, 8}) {
        std::clock_t interrupted = 0;  // processor time: other programs don't count
        std::thread other([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
          interrupted = std::clock();
          sqlite3_interrupt(db.handle());
        });
        const Outcome outcome = db.attempt(sql);
        const std::clock_t end = std::clock();
        other.join();
        EXPECT_TRUE(outcome.code == SQLITE_OK || (outcome.code & 0xFF) == SQLITE_INTERRUPT)
            << kind << " " << sql << ": " << outcome.message;
        if (outcome.code != SQLITE_OK) {
          EXPECT_LT(static_cast<double>(end - interrupted) / CLOCKS_PER_SEC, 1) << kind << sql;
          EXPECT_EQ(present(db, 1, 1000), 1000) << kind << " " << sql;
          EXPECT_EQ(count(db), 1000) << kind << " " << sql;
        }
        db.run(sql.starts_with("CREATE") ? "DROP TABLE IF EXISTS h" : "SELECT 1");
        if (outcome.code == SQLITE_OK && sql.find("INTO f") != std::string::npos) {
          db.run("INSERT INTO f(f) VALUES ('clear'); INSERT INTO f " + numbers(1, 1000));
        }
      }
    }
    check(db);
    check(db, "g");
    EXPECT_EQ(present(db, 1001, 400000, "g"), 399000);
  }
}

// Cells go from one filter into the other in memory; a merge that is stopped leaves nothing there.
TEST(ImageLong, merge_without_hashes_obeys_the_progress_handler) {
  for (const std::string kind : {"cuckoo_filter", "bloom_filter(counting = on"}) {
    Database db;
    const std::string options = "seed = 1, capacity = 400000, growth = off";
    db.run("{}; {}; INSERT INTO f {}; INSERT INTO g {}", create(kind, options),
           create(kind, options, "g"), numbers(1, 1000), numbers(1001, 300000));
    int interrupted = 0;
    for (int calls = 0;; calls = calls * 5 / 4 + 1) {
      db.run("BEGIN; INSERT INTO f VALUES ('a')");
      const Outcome outcome =
          stopped(db, "INSERT INTO f(f, key) VALUES ('merge', 'g')", 100, calls);
      if (outcome.code == SQLITE_OK) {
        break;
      }
      ++interrupted;
      ASSERT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << outcome.message;
      db.attempt("ROLLBACK");  // SQLite did so
      EXPECT_EQ(count(db), 1000) << kind << calls;
      EXPECT_EQ(present(db, 1, 1000), 1000) << kind << calls;
      check(db);
    }
    EXPECT_GT(interrupted, 3);
    db.run("COMMIT");
    EXPECT_EQ(present(db, 1, 300000), 300000);
    check(db);
  }
}

// An import says so wherever the interrupt hits it, even after the last page.
TEST(ImageLong, an_import_says_that_it_was_interrupted) {
  for (const char* kind : kKinds) {
    Database db;
    db.run(create(kind, "seed = 1, capacity = 1000") + ";" +
           create(kind, "seed = 1, capacity = 2000, fpr = 0.01", "g") + "; INSERT INTO f " +
           numbers(1, 100) + "; INSERT INTO g " + numbers(101, 1000) +
           "; CREATE TABLE i AS SELECT filter_export('g', 'hashes') AS b");
    static int calls_left;
    calls_left = -1;
    sqlite3_progress_handler(
        db.handle(), 1, [](void*) { return calls_left >= 0 && calls_left-- == 0 ? 1 : 0; },
        nullptr);
    int stopped = 0;
    for (int calls = 0;; ++calls) {
      db.run("BEGIN");  // the commit's own writing says "I/O error" of an interrupt
      calls_left = calls;
      const Outcome outcome = db.attempt("INSERT INTO f(f, key) SELECT 'import', b FROM i");
      calls_left = -1;
      if (outcome.code == SQLITE_OK) {
        break;
      }
      ++stopped;
      ASSERT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << kind << calls << outcome.message;
      db.attempt("ROLLBACK");  // SQLite did so
      ASSERT_EQ(count(db), 100) << kind << calls;
    }
    EXPECT_GT(stopped, 100) << kind;
    db.run("COMMIT");
    check(db);
    EXPECT_EQ(present(db, 101, 1000), 900) << kind;
  }
}

// It is refused by the geometry, before memory is taken.
TEST(ImageOfLargeFilter, that_holds_little_is_refused_at_once) {
  for (const char* kind : {"cuckoo_filter(capacity = 1e12, growth = off)",
                           "bloom_filter(capacity = 1e12, growth = off, generations = 2)"}) {
    Database db;
    db.run("CREATE VIRTUAL TABLE f USING {}", kind);
    db.gives("SELECT length(filter_export('f')) < 5e6", 1);
    db.run("INSERT INTO f {}", numbers(1, 300));
    const int64_t before = sqlite3_memory_used();
    sqlite3_memory_highwater(1);
    db.refuses("SELECT filter_export('f')", {"image of at least ", "are possible"});
    EXPECT_LT(sqlite3_memory_highwater(0) - before, 100'000'000) << kind;
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_image_test
