// Images through SQL: filter_export(), import, merge, filter_contains(image, key),
// filter_info(image), cuckoo_build(), bloom_build(), filter_union().
#include <chrono>
#include <ctime>
#include <memory>
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

// An image, as SQL shows it, without its mark and checksum: a log's chain value depends on where
// its rows end.
std::string unmarked(const std::string& image) {
  constexpr size_t kMarkAt = 2 + 2 * 152;
  constexpr size_t kMarkDigits = 2 * 16;
  constexpr size_t kCrcDigits = 2 * 4 + 1;
  std::string rest = image;
  return rest.erase(rest.size() - kCrcDigits).erase(kMarkAt, kMarkDigits);
}

// The image is the same whatever the size of the pages.
TEST_P(Image, goes_from_one_page_size_to_another) {
  TemporaryFolder folder;
  for (const char* with : {"'f'", "'f', 'hashes'"}) {
    std::string first_image;
    for (const char* from : {"512", "1024", "4096", "65536"}) {
      QuickDatabase source(folder.file(std::string("from") + from + with[2] + ".db"));
      source.run("PRAGMA page_size = {}; DROP TABLE IF EXISTS f", from);
      source.run(create(kind(), "seed = 77, capacity = 2000, fpr = 0.01"));
      source.run("INSERT INTO f " + numbers(1, 1500));
      source.run("INSERT INTO f SELECT 'x' FROM ({})", numbers(1, 40));
      if (!is_set(kind())) {
        source.run("DELETE FROM f WHERE key IN ('x', 5)");
      }
      if (is_set(kind())) {
        source.run("INSERT INTO f(f) VALUES ('rebuild')");
      }
      const std::string image = image_of(source, with);
      if (kind() != "cuckoo_filter") {  // whose buckets depend on when it was folded
        first_image = first_image.empty() ? unmarked(image) : first_image;
        EXPECT_EQ(unmarked(image), first_image) << from;
      }
      for (const char* to : {"512", "1024", "4096", "65536"}) {
        QuickDatabase target(folder.file(std::string("to") + to + ".db"));
        target.run("PRAGMA page_size = {}; DROP TABLE IF EXISTS f", to);
        target.run(create(kind(), "seed = 5, capacity = 10"));
        target.run("INSERT INTO f " + numbers(100001, 100300));
        import(target, image);
        EXPECT_EQ(count(target), count(source));
        EXPECT_GE(present(target, 6, 1500), 1495);
        target.gives("SELECT count FROM f WHERE key = 'x'", is_set(kind()) ? 1 : 39);
        EXPECT_EQ(image_of(target, with), image) << from << " to " << to;
        EXPECT_LE(present(target, 100001, 120000), 260);
        EXPECT_EQ(target.rows("SELECT kind, items, capacity, fpr, bits_per_key, hashes FROM"
                              " filter_info('f')"),
                  source.rows("SELECT kind, items, capacity, fpr, bits_per_key, hashes FROM"
                              " filter_info('f')"));
        check(target);
      }
    }
  }
}

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

// An import brings the image's seed, capacity and geometry. A roll-back brings back the old ones.
TEST_P(Image, imported_is_undone_by_roll_backs) {
  TemporaryFolder folder;
  Database maker;
  maker.run(create(kind(), "seed = 1, capacity = 3000, fpr = 1e-5"));
  maker.run("INSERT INTO f " + numbers(1, 2500));
  const std::string image = image_of(maker, "'f', 'hashes'");
  QuickDatabase one(folder.file("f.db"));
  one.run(create(kind(), "seed = 9, capacity = 50, fpr = 1e-6"));
  one.run("INSERT INTO f " + numbers(10001, 10040));
  QuickDatabase other(folder.file("f.db"));
  EXPECT_EQ(present(other, 10001, 10040), 40);
  const std::vector<Row> before = shadow_rows(one, "f");
  const std::string old = "SELECT capacity || ' ' || fpr || ' ' || items FROM filter_info('f')";

  one.run("BEGIN; INSERT INTO f VALUES (10041)");
  import(one, image);
  EXPECT_EQ(present(one, 1, 2500), 2500);
  other.gives(old, "50 1.0e-06 40");
  one.run("INSERT INTO f {}; SELECT count(*) FROM f; ROLLBACK", numbers(2501, 2600));
  EXPECT_EQ(shadow_rows(one, "f"), before);
  one.gives(old, "50 1.0e-06 40");
  EXPECT_EQ(present(one, 10001, 10040), 40);
  EXPECT_EQ(present(one, 1, 2500), 0);

  one.run("BEGIN; INSERT INTO f VALUES (10041); SAVEPOINT s");
  import(one, image);
  one.run("INSERT INTO f {}; ROLLBACK TO s; INSERT INTO f VALUES (10042)", numbers(2501, 2600));
  one.gives(old, "50 1.0e-06 42");
  import(one, image);
  one.gives(old, "3000 1.0e-05 2500");
  one.run("SAVEPOINT t; INSERT INTO f(f) VALUES ('clear'); ROLLBACK TO t; COMMIT");
  for (Database* each : {static_cast<Database*>(&one), static_cast<Database*>(&other)}) {
    each->gives(old, "3000 1.0e-05 2500");
    EXPECT_EQ(present(*each, 1, 2500), 2500);
    each->gives("SELECT value FROM f_config WHERE key = 'seed'", "1");
    check(*each);
  }
  other.run("INSERT INTO f " + numbers(2501, 9000));
  EXPECT_EQ(present(one, 1, 9000), 9000);
  one.run("VACUUM; PRAGMA integrity_check");
  QuickDatabase later(folder.file("f.db"));
  EXPECT_EQ(present(later, 1, 9000), 9000);
  check(later);
}

// The other connection has the table open, a prepared statement and a snapshot.
TEST_P(Image, imported_is_seen_by_another_connection_at_its_next_statement) {
  TemporaryFolder folder;
  QuickDatabase one(folder.file("f.db"));
  one.run("PRAGMA journal_mode = WAL");
  one.run(create(kind(), "seed = 9, capacity = 50") + ";" + create(kind(), "seed = 1", "g"));
  one.run("INSERT INTO f VALUES (1); INSERT INTO g VALUES (2), (3)");
  QuickDatabase other(folder.file("f.db"));
  Query probe(other, "SELECT count(*) FROM f WHERE key IN (1, 2, 3)");
  Query function(other, "SELECT filter_contains('f', 2)");
  EXPECT_EQ(probe.once(), 1);
  EXPECT_EQ(function.once(), 0);
  QuickDatabase snapshot(folder.file("f.db"));
  snapshot.run("BEGIN; SELECT count(*) FROM f");
  one.run("INSERT INTO f(f, key) SELECT 'import', filter_export('g')");
  EXPECT_EQ(probe.once(), 2);
  EXPECT_EQ(function.once(), 1);
  snapshot.gives("SELECT key FROM f WHERE key IN (1, 2, 3)", "1");
  snapshot.gives("SELECT capacity FROM filter_info('f')", "50");
  snapshot.gives("COMMIT; SELECT key FROM f WHERE key IN (1, 2, 3)", "2,3");
  other.run("INSERT INTO f VALUES (4)");
  one.gives("SELECT key FROM f WHERE key IN (1, 2, 3, 4)", "2,3,4");
}

// --- merging -----------------------------------------------------------------------------------

TEST_P(Image, merges_filters_of_any_size_by_their_hashes) {
  for (const char* growth : {"on", "off"}) {
    for (const bool as_image : {false, true}) {
      Database one;
      one.run(create(kind(), std::string("seed = 1, capacity = 5000, growth = ") + growth));
      one.run(create(kind(), "seed_of = f, capacity = 10, fpr = 0.01", "g"));
      one.run("INSERT INTO f {}; INSERT INTO g {}", numbers(1, 1000), numbers(900, 2000));
      one.run("INSERT INTO f(f, key) VALUES ('merge', {})",
              (as_image ? "filter_export('g', 'hashes')" : "'g'"));
      EXPECT_EQ(present(one, 1, 2000), 2000) << growth;
      EXPECT_LE(present(one, 2001, 20000), 40);
      EXPECT_LE(count(one), is_set(kind()) ? 2000 : 2101);
      EXPECT_GE(count(one), is_set(kind()) ? 1990 : 2101);
      check(one);
      EXPECT_EQ(present(one, 900, 2000, "g"), 1101);
      check(one, "g");
    }
  }
}

TEST_P(Image, merges_another_kind_of_filter_by_its_hashes) {
  for (const char* from : kKinds) {
    Database one;
    one.run(create(kind(), "seed = 1") + ";" + create(from, "seed = 1, capacity = 50", "g"));
    one.run("INSERT INTO f {}; INSERT INTO g {}; ATTACH ':memory:' AS aux", numbers(1, 100),
            numbers(101, 1500));
    one.run("{}; INSERT INTO h {}", create(from, "seed = 1", "aux.h"), numbers(2001, 2100));
    one.run("INSERT INTO f(f, key) VALUES ('merge', 'g'), ('merge', 'aux.h')");
    EXPECT_EQ(present(one, 1, 1500), 1500) << from;
    EXPECT_EQ(present(one, 2001, 2100), 100) << from;
    check(one);
  }
}

TEST_P(Image, merges_equal_geometries_without_hashes) {
  for (const bool as_image : {false, true}) {
    Database one;
    const std::string options = "seed = 1, capacity = 1000, growth = off";
    one.run(create(kind(), options) + ";" + create(kind(), options, "g"));
    one.run("INSERT INTO f {}; INSERT INTO g {}", numbers(1, 400), numbers(301, 800));
    one.run("BEGIN; INSERT INTO f(f, key) VALUES ('merge', {})",
            (as_image ? "filter_export('g')" : "'g'"));
    EXPECT_EQ(present(one, 1, 800), 800);
    one.run("ROLLBACK");
    EXPECT_EQ(count(one), 400);
    EXPECT_LE(present(one, 401, 800), 5);
    one.run("INSERT INTO f(f, key) VALUES ('merge', {})",
            (as_image ? "filter_export('g')" : "'g'"));
    EXPECT_EQ(present(one, 1, 800), 800);
    if (is_set(kind())) {  // an estimate, from the bits
      EXPECT_NEAR(static_cast<double>(count(one)), 800, 25);
    } else {
      EXPECT_EQ(count(one), 900);
    }
    check(one);
    const std::string many =
        "INSERT INTO f(f, key) SELECT 'merge', 'g' FROM (" + numbers(1, 10) + ")";
    if (kind() == "cuckoo_filter") {
      one.refuses(many, {"full: f"});
      EXPECT_EQ(count(one), 900);
    } else {  // the same cells again
      one.run(many);
    }
    EXPECT_EQ(present(one, 1, 800), 800);
    check(one);
  }
}

// An image has pages of its own size, whatever page size the database has.
TEST_P(Image, merges_plain_images_in_databases_of_any_page_size) {
  const std::string build = kind() == "cuckoo_filter" ? "cuckoo_build" : "bloom_build";
  const bool built = kind() == "cuckoo_filter" || kind() == "bloom_filter";
  for (const char* page_size : {"512", "1024", "2048", "4096", "65536"}) {
    SCOPED_TRACE(page_size);
    Database one;
    one.run(std::string("PRAGMA page_size = ") + page_size + ";" +
            create(kind(), "seed = 0, capacity = 5000, growth = off") + ";" +
            create(kind(), "seed = 0, capacity = 5000, growth = off", "g"));
    one.run(
        "INSERT INTO f {}; INSERT INTO g {};"
        " INSERT INTO f(f, key) VALUES ('merge', filter_export('g'))",
        numbers(1, 1000), numbers(1001, 3000));
    EXPECT_EQ(present(one, 1, 3000), 3000);
    check(one);
    if (built) {
      one.run("INSERT INTO f(f, key) SELECT 'merge', {}(i, 0.001, 5000) FROM ({})", build,
              numbers(3001, 4500));
      EXPECT_EQ(present(one, 1, 4500), 4500);
      EXPECT_NEAR(static_cast<double>(count(one)), 4500, 25);
      check(one);
    }
    EXPECT_LE(present(one, 10001, 20000), 40);
  }
}

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

TEST_P(Image, merge_keeps_the_copies) {
  db.run(create(kind(), "seed = 1, capacity = 100") + ";" + create(kind(), "seed = 1", "g"));
  db.run(
      "INSERT INTO f VALUES ('x'), ('x'); INSERT INTO g SELECT 'x' FROM ({});"
      " INSERT INTO g VALUES ('y')",
      numbers(1, 5000));
  db.run("INSERT INTO f(f, key) VALUES ('merge', 'g')");
  db.gives("SELECT count FROM f WHERE key = 'x'", is_set(kind()) ? 1 : 5002);
  EXPECT_EQ(count(db), is_set(kind()) ? 2 : 5003);
  if (!is_set(kind())) {
    // Copies do not make the filter grow, but copies that are not folded yet may count as keys.
    EXPECT_LE(db.number("SELECT capacity FROM filter_info('f')"), 100 + 504);
    db.run("INSERT INTO f(f, key) SELECT 'delete', 'x' FROM ({})", numbers(1, 5001));
    db.gives("SELECT count FROM f WHERE key = 'x'", 1);
  }
  check(db);
}

TEST(ImageRefused, names_the_difference_and_the_way_out) {
  Database db;
  for (const auto& [name, kind, options] :
       std::vector<std::tuple<const char*, const char*, const char*>>{
           {"f", "cuckoo_filter", "seed = 1"},
           {"g", "cuckoo_filter", "seed = 2"},
           {"small", "cuckoo_filter", "seed = 1, growth = off, capacity = 50"},
           {"other", "cuckoo_filter", "seed = 1, growth = off, capacity = 60"},
           {"w", "cuckoo_filter", "seed = 1, generations = 3"},
           {"ints", "cuckoo_filter", "key INTEGER, seed = 1"},
           {"texts", "cuckoo_filter", "key TEXT, seed = 1"},
           {"wide", "cuckoo_filter", "seed = 1, fpr = 1e-9"},
           {"b", "bloom_filter", "seed = 1, growth = off"},
           {"old", "bloom_filter", "hash = murmur2, seed = 1"}}) {
    db.run(create(kind, options, name));
  }
  db.run(
      "CREATE TABLE t(a); INSERT INTO f VALUES (1); INSERT INTO ints VALUES (1);"
      " INSERT INTO texts VALUES (1); INSERT INTO small VALUES (1); INSERT INTO wide VALUES (1)");
  const auto refuses = [&db](const std::string& table, const std::string& command,
                             const std::string& what, const std::vector<std::string>& parts) {
    const std::vector<Row> before = shadow_rows(db, table);
    db.refuses(sql("INSERT INTO {}({}, key) VALUES ('{}', {})", table, table, command, what),
               parts);
    EXPECT_EQ(shadow_rows(db, table), before) << table << " " << command << " " << what;
  };
  refuses("f", "merge", "'g'", {"f: merge", "g", "seed", "seed_of"});
  refuses("f", "merge", "filter_export('g')", {"f: merge", "image", "seed", "seed_of"});
  refuses("f", "merge", "'f'", {"another filter"});
  refuses("f", "merge", "'w'", {"w", "window"});
  refuses("f", "merge", "'old'", {"old", "murmur2"});
  refuses("old", "merge", "'f'", {"f", "murmur2"});
  refuses("f", "merge", "'small'", {"small", "geometry", "growth = on", "hashes"});
  refuses("small", "merge", "'other'", {"other", "geometry", "capacity"});
  refuses("small", "merge", "'b'", {"b", "bloom_filter", "growth = on"});
  refuses("b", "merge", "filter_export('f')", {"cuckoo_filter", "'hashes'"});
  refuses("wide", "merge", "'f'", {"f", "47", "63", "seed_of"});
  refuses("ints", "merge", "'texts'", {"texts", "TEXT", "INTEGER", "type"});
  refuses("f", "merge", "'nothing'", {"nothing"});
  refuses("f", "merge", "'t'", {"t is not a cuckoo_filter or bloom_filter"});
  refuses("f", "merge", "5", {"merge", "name", "image"});
  refuses("f", "merge", "x'00'", {"f: ", "image"});
  refuses("f", "import", "'g'", {"import", "filter_export"});
  refuses("f", "import", "7", {"import", "filter_export"});
  refuses("f", "import", "x''", {"f: ", "image"});
  refuses("w", "import", "filter_export('f')", {"w: import", "window"});
  refuses("b", "import", "filter_export('f')", {"b: import", "cuckoo_filter", "bloom_filter"});
  refuses("ints", "import", "filter_export('texts')", {"ints: import", "TEXT", "INTEGER"});
  refuses("old", "import", "filter_export('b')", {"old: import", "murmur2"});
  refuses("b", "import", "filter_export('old')", {"b: import", "murmur2"});
  db.refuses("SELECT filter_export('small', 'hashes')", {"small", "growth"});
  refuses("f", "merge", "filter_export('w')", {"f: ", "window", "merged"});
  refuses("f", "import", "filter_export('w')", {"f: import", "window of", "generations = 1"});
  db.refuses("SELECT filter_export('f', 'legacy')", {"f: ", "murmur2"});
  db.refuses("SELECT filter_export('f', 'everything')", {"hashes", "legacy"});
  db.refuses("SELECT filter_export('f', NULL)", {"hashes", "legacy"});
  db.refuses("SELECT filter_export('nothing')", {"nothing"});
  db.refuses("SELECT filter_export(NULL)", {"filter_export", "name"});
  db.refuses("SELECT filter_export(x'00')", {"filter_export", "name"});
  db.run("INSERT INTO f(f, key) VALUES ('merge', 'wide')");  // a wide log narrows
  EXPECT_EQ(count(db), 2);
}

TEST(ImageExport, inside_a_transaction_has_what_is_pending) {
  for (const char* kind : kKinds) {
    Database db;
    db.run(create(kind, "seed = 1, capacity = 200"));
    db.run("INSERT INTO f {}; BEGIN; INSERT INTO f {}", numbers(1, 150), numbers(151, 900));
    if (!is_set(kind)) {
      db.run("INSERT INTO f(f, key) SELECT 'delete', i FROM ({})", numbers(1, 50));
    }
    for (const char* with : {"'f'", "'f', 'hashes'"}) {
      db.run("DROP TABLE IF EXISTS i; CREATE TEMP TABLE i AS SELECT filter_export({}) AS b", with);
      db.gives(sql("SELECT sum(filter_contains(b, i)) FROM i, ({})", numbers(51, 900)), 850);
      db.gives("SELECT items FROM i, filter_info(b)", is_set(kind) ? count(db) : 850);
    }
    db.gives("ROLLBACK; SELECT items FROM filter_info(filter_export('f'))", 150);
    check(db);
  }
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
