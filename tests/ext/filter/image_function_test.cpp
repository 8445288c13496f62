// Functions over images: filter_contains(image, key), filter_info(image), the aggregates that build
// and unite them, and BLOBs that are no images.
#include <algorithm>
#include <chrono>
#include <ctime>
#include <random>

#include "tests/support/blobs.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_image_function_test {
namespace {

// --- filter_contains ---------------------------------------------------------------------------

class ContainsImage : public testing::Test {
 protected:
  ContainsImage() {
    db.run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(fingerprint_bits = 28, seed = 1);"
        "CREATE VIRTUAL TABLE g USING bloom_filter(fpr = 1e-7, seed = 2);"
        "INSERT INTO f VALUES ('a'), (1); INSERT INTO g VALUES ('b'), (2);"
        "CREATE TABLE i(id INTEGER PRIMARY KEY, b);"
        "INSERT INTO i VALUES (1, filter_export('f')), (2, filter_export('g'));"
        "CREATE TABLE t(k); INSERT INTO t VALUES ('a'), ('b'), (1.0), (2), (NULL), ('1')");
  }
  Database db;
};

TEST_F(ContainsImage, takes_an_image_of_any_origin) {
  const std::string f = db.text("SELECT quote(b) FROM i WHERE id = 1");
  const std::string expected = "1,0,1,0,NULL,0";
  db.gives(sql("SELECT filter_contains({}, k) FROM t", f), expected);
  db.gives("SELECT filter_contains((SELECT b FROM i WHERE id = 1), k) FROM t", expected);
  db.gives("SELECT filter_contains(b, k) FROM i, t WHERE id = 1", expected);
  db.gives("SELECT filter_contains(filter_export('f'), k) FROM t", expected);
  db.gives("SELECT filter_contains(x.b, k) FROM t, (SELECT b FROM i LIMIT 1) AS x", expected);
  db.gives("SELECT k FROM t WHERE filter_contains((SELECT b FROM i WHERE id = 2), k)", "b,2");
  db.run(
      "CREATE VIEW v AS SELECT k FROM t WHERE filter_contains((SELECT b FROM i WHERE id = 2), k)");
  db.gives("SELECT k FROM v", "b,2");
}

TEST_F(ContainsImage, takes_a_bound_parameter_and_its_next_value) {
  Query query(db, "SELECT group_concat(filter_contains(?1, k), '') FROM t WHERE k IS NOT NULL");
  const auto f = blob_of(db, "(SELECT b FROM i WHERE id = 1)");
  auto g = blob_of(db, "(SELECT b FROM i WHERE id = 2)");
  for (int round = 0; round < 3; ++round) {
    for (const auto& [bytes, expected] :
         {std::pair(&f, "10100"), std::pair(static_cast<const Bytes*>(&g), "01010")}) {
      query.reset();
      sqlite3_bind_blob64(query.handle(), 1, bytes->data(), bytes->size(), SQLITE_STATIC);
      ASSERT_EQ(query.step(), SQLITE_ROW);
      EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(query.handle(), 0)), expected);
    }
    query.reset();
    sqlite3_bind_text(query.handle(), 1, "f", -1, SQLITE_STATIC);
    ASSERT_EQ(query.step(), SQLITE_ROW);
    EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(query.handle(), 0)), "10100");
  }
}

// With NULL for the filter the answer is NULL, as of a comparison. NULL comes from a LEFT JOIN that
// finds no image, and from an aggregate over no rows.
TEST_F(ContainsImage, of_null_is_null) {
  db.gives("SELECT filter_contains(NULL, k) FROM t", "NULL,NULL,NULL,NULL,NULL,NULL");
  db.gives("SELECT filter_contains((SELECT b FROM i WHERE id = 3), k) FROM t",
           "NULL,NULL,NULL,NULL,NULL,NULL");
  db.gives("SELECT filter_contains((SELECT cuckoo_build(k) FROM t WHERE 0), 'a')", "NULL");
  db.gives("SELECT filter_contains((SELECT filter_union(b) FROM i WHERE 0), 'a')", "NULL");
  db.gives(
      "SELECT filter_contains(i.b, 'a') FROM (VALUES (1), (3), (2), (4)) AS v"
      " LEFT JOIN i ON i.id = v.column1 ORDER BY v.column1",
      "1,0,NULL,NULL");
  db.gives("SELECT k FROM t WHERE filter_contains(NULL, k)", "none");
  db.gives("SELECT k FROM t WHERE NOT filter_contains(NULL, k)", "none");
  // A parameter that is bound anew.
  Query query(db, "SELECT group_concat(ifnull(filter_contains(?1, k), '-'), '') FROM t");
  for (const auto& [filter, expected] : {std::pair("f", "1010-0"), std::pair("", "------"),
                                         std::pair("g", "0101-0"), std::pair("", "------")}) {
    query.reset();
    if (*filter == 0) {
      sqlite3_bind_null(query.handle(), 1);
    } else {
      sqlite3_bind_text(query.handle(), 1, filter, -1, SQLITE_STATIC);
    }
    ASSERT_EQ(query.step(), SQLITE_ROW);
    EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(query.handle(), 0)), expected);
  }
}

// A row after the good one that differs in its middle alone must not be answered from memory.
TEST_F(ContainsImage, that_was_damaged_in_its_middle_is_an_error) {
  db.run("CREATE TABLE big AS SELECT bloom_build(i, 0.001, 5000) AS b FROM ({})", numbers(1, 5000));
  auto bytes = blob_of(db, "(SELECT b FROM big)");
  bytes[bytes.size() / 2] ^= std::byte{1};
  EXPECT_EQ(attempt_with(db, "INSERT INTO big VALUES (?)", bytes).code, SQLITE_OK);
  db.refuses("SELECT filter_contains(b, 1) FROM big", {"filter_contains", "image"});
  Query query(db, "SELECT filter_contains(?1, 1)");
  auto buffer = blob_of(db, "(SELECT b FROM big LIMIT 1)");
  for (const bool damaged : {false, true, false, true}) {
    query.reset();
    sqlite3_bind_blob64(query.handle(), 1, buffer.data(), buffer.size(), SQLITE_STATIC);
    EXPECT_EQ(query.step(), damaged ? SQLITE_ERROR : SQLITE_ROW);
    buffer[buffer.size() / 2] ^= std::byte{1};
  }
}

double seconds(Database& db, const std::string& sql) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_GE(db.number(sql), 1000);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// filter_info() decodes its image each time. So in the same run it measures what one decoding
// takes.
TEST_F(ContainsImage, is_not_decoded_anew_each_row) {
  constexpr int kRows = 20000;
  db.run("CREATE TABLE p AS " + numbers(1, kRows));
  db.run("CREATE TABLE big AS SELECT bloom_build(i, 0.001, 2e6) AS b FROM ({})", numbers(1, 1000));
  ASSERT_GT(db.number("SELECT length(b) FROM big"), 3'000'000);
  double decoding = seconds(db, "SELECT items FROM big, filter_info(b)");
  for (int i = 0; i < 5; ++i) {
    decoding = std::min(decoding, seconds(db, "SELECT items FROM big, filter_info(b)"));
  }
  // The image is a constant. SQLite itself copies a value that is not constant, such as a column's,
  // for each row.
  const std::string image = db.text("SELECT quote(b) FROM big");
  EXPECT_LT(seconds(db, "SELECT sum(filter_contains(" + image + ", i)) FROM p"),
            kRows * decoding / 2);
}

TEST_F(ContainsImage, info_has_its_figures) {
  db.run("INSERT INTO f " + numbers(10, 500));
  db.run("UPDATE i SET b = filter_export('f', 'hashes') WHERE id = 1");
  db.gives(
      "SELECT x.schema, x.name, kind, items, capacity, hashes,"
      " generations, generation_items, log_entries, probes, positives, disk_bytes ="
      " length(b) FROM i, filter_info(b) AS x WHERE id = 1",
      "NULL|NULL|cuckoo_filter|493|1000|2|1|493|493|NULL|NULL|1");
  db.gives("SELECT kind || ' ' || items || ' ' || fpr FROM i, filter_info(b) ORDER BY id",
           "cuckoo_filter 493 " + db.text("SELECT fpr FROM filter_info('f')") +
               ",bloom_filter 2 1.0e-07");
  EXPECT_GT(db.number("SELECT 1000 * load_factor FROM i, filter_info(b) WHERE id = 1"), 400);
}

// --- aggregates --------------------------------------------------------------------------------

using Build = WithDatabase;

TEST_F(Build, has_the_rate_asked_and_its_size) {
  db.run("CREATE TABLE t AS " + numbers(1, 30000));
  for (const std::string build : {"cuckoo_build", "bloom_build"}) {
    for (const char* rate : {"0.03", "0.01", "0.001"}) {
      db.run("DROP TABLE IF EXISTS b; CREATE TABLE b AS SELECT {}(i, {}) AS b FROM t", build, rate);
      db.gives("SELECT sum(filter_contains(b, i)) FROM b, t", 30000);
      const double found = static_cast<double>(db.number(
          "SELECT sum(filter_contains(b, i)) FROM b, ({})", numbers(1'000'001, 1'100'000)));
      EXPECT_LE(found, std::stod(rate) * 1e5 * 1.06 + 40) << build << rate;
      const double bits = static_cast<double>(db.number("SELECT 8 * length(b) FROM b")) / 30000;
      EXPECT_LE(bits, 1.5 * -std::log2(std::stod(rate)) + 3) << build << rate;
    }
  }
}

TEST_F(Build, of_a_giant_capacity_is_an_error_not_a_crash) {
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 1'000'000);
  for (const std::string build : {"cuckoo_build", "bloom_build"}) {
    const Outcome outcome = db.attempt("SELECT {}(1, 0.001, 3e6)", build);
    EXPECT_NE(outcome.code, SQLITE_OK);
    EXPECT_FALSE(outcome.message.empty());
  }
}

// Both counts are known before anything is united, so too many are refused at once. To look for
// room for each entry would take long.
TEST(Union, of_too_many_items_is_refused_at_once) {
  Database db;
  db.run(
      "CREATE TABLE t AS SELECT i, i % 4 AS g FROM ({});"
      " CREATE TABLE i AS SELECT cuckoo_build(i, 0.001, 120000) AS b FROM t GROUP BY g",
      numbers(1, 200000));
  const std::clock_t start = std::clock();
  db.refuses("SELECT filter_union(b) FROM i",
             {"full: filter_union: 150000 items, more than the images' capacity of 120000"});
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 3.0);
  db.gives(
      "SELECT items FROM filter_info((SELECT filter_union(b) FROM i WHERE rowid <="
      " 2))",
      100000);
}

// The handler says stop only while one row is worked on or the result is made, not for steps of the
// statement itself.
TEST(Aggregate, that_is_long_obeys_the_progress_handler) {
  Database db;
  db.run(
      "CREATE TABLE t AS SELECT i, i % 2 AS g FROM ({});"
      " CREATE TABLE c AS SELECT cuckoo_build(i, 0.001, 600000) AS b FROM t GROUP BY g;"
      "CREATE TABLE h AS SELECT bloom_build(i, 0.001, 600000, 0, 'hashes') AS b FROM t GROUP BY g",
      numbers(1, 600000));
  static int rows_left;
  sqlite3_create_function(
      db.handle(), "seen", 1, SQLITE_UTF8, nullptr,
      [](sqlite3_context* context, int, sqlite3_value** values) {
        --rows_left;
        sqlite3_result_value(context, values[0]);
      },
      nullptr, nullptr);
  // Steps of the statement itself don't count: the handler stops only after several calls without a
  // new row.
  static int calls_since_row;
  static int rows_left_before;
  sqlite3_progress_handler(
      db.handle(), 100,
      [](void*) {
        calls_since_row = rows_left == rows_left_before ? calls_since_row + 1 : 0;
        rows_left_before = rows_left;
        return rows_left == 0 && calls_since_row > 3 ? 1 : 0;
      },
      nullptr);
  const std::pair<std::string, int> statements[] = {
      {"SELECT length(filter_union(seen(b))) FROM c", 2},
      {"SELECT length(filter_union(seen(b))) FROM h", 2},
      {"SELECT length(cuckoo_build(seen(i))) FROM t", 600000},
      {"SELECT length(bloom_build(seen(i), 1e-9)) FROM t", 600000},
  };
  for (const auto& [sql, rows] : statements) {
    // The module asks the handler every 10 ms. A quick machine may be done before, but not each
    // time.
    int code = SQLITE_OK;
    for (int attempt = 0; attempt < 10 && code == SQLITE_OK; ++attempt) {
      rows_left = rows_left_before = rows;
      calls_since_row = 0;
      code = db.attempt(sql).code & 0xFF;
    }
    EXPECT_EQ(code, SQLITE_INTERRUPT) << sql;
    EXPECT_EQ(rows_left, 0) << sql;
  }
}

// How many keys the images have together is an estimate. The estimate must not make a union "full"
// that is not.
TEST(Union, of_overlapping_images_at_capacity_is_not_full) {
  for (int seed = 1; seed <= 25; ++seed) {
    for (const char* layout : {"standard", "blocked"}) {
      Database db;
      const std::string options =
          sql("capacity = 1000, fpr = 0.01, layout = {}, seed = {})", layout, seed);
      db.run(
          "CREATE VIRTUAL TABLE f USING bloom_filter({};"
          "CREATE VIRTUAL TABLE part USING bloom_filter({};"
          "CREATE VIRTUAL TABLE whole USING bloom_filter(growth = off, {}",
          options, options, options);
      db.run("INSERT INTO f {}; INSERT INTO part {}; INSERT INTO whole {}", numbers(1, 1000),
             numbers(1, 600), numbers(501, 1000));
      EXPECT_EQ(
          db.number(
              "SELECT sum(filter_contains(u, i)) FROM (SELECT filter_union(b) AS u FROM (SELECT"
              " filter_export('f') AS b UNION ALL SELECT filter_export('part') UNION ALL SELECT"
              " filter_export('f'))), ({})",
              numbers(1, 1000)),
          1000)
          << layout << " " << seed;
      db.run("INSERT INTO whole(whole, key) VALUES ('merge', filter_export('part'))");
      EXPECT_LE(db.number("SELECT count(*) FROM whole"), 1000);
      db.run("INSERT INTO whole(whole) VALUES ('check')");
    }
  }
}

// If a union held more keys than INSERT takes, its rate would be worse than what was asked for. By
// chance a few keys too many can't be told.
TEST(Union, of_more_keys_than_the_capacity_is_full) {
  for (const auto& [keys, least] : {std::pair(55, 25), {60, 40}, {90, 40}}) {
    int full = 0;
    for (int seed = 1; seed <= 40; ++seed) {
      Database db;
      const std::string options = sql("capacity = 100, growth = off, fpr = 0.01, seed = {})", seed);
      db.run(
          "CREATE VIRTUAL TABLE a USING bloom_filter({}; CREATE VIRTUAL TABLE b USING "
          "bloom_filter({}",
          options, options);
      db.run("INSERT INTO a {}; INSERT INTO b {}", numbers(1, keys), numbers(1001, 1000 + keys));
      const int64_t items = db.number("SELECT count(*) FROM a");
      const Outcome outcome = db.attempt("INSERT INTO a(a, key) VALUES ('merge', 'b')");
      full += outcome.code != SQLITE_OK ? 1 : 0;
      if (outcome.code != SQLITE_OK) {
        EXPECT_NE(outcome.message.find("would exceed its capacity of 100"), std::string::npos);
        db.gives("SELECT items FROM filter_info('a')", items);
      }
      db.run("INSERT INTO a(a, key) VALUES ('merge', filter_export('a'))");
    }
    EXPECT_GE(full, least) << keys;
  }
}

// --- BLOBs that are no images ------------------------------------------------------------------

class Hostile : public testing::TestWithParam<const char*> {
 protected:
  Hostile() {
    db.run(std::string("CREATE VIRTUAL TABLE f USING ") + GetParam());
    db.run("INSERT INTO f {}; INSERT INTO f SELECT 1 FROM ({})", numbers(1, 60), numbers(1, 20));
    original = blob_of(db, "filter_export('f', 'hashes')");
    db.run("CREATE TABLE before_it AS SELECT count(*) AS n FROM f");
  }
  static constexpr const char* kUses[] = {
      "SELECT filter_contains(?1, 7)", "SELECT sum(items) FROM filter_info(?1)",
      "SELECT length(filter_union(?1))", "INSERT INTO f(f, key) VALUES ('import', ?1)",
      "INSERT INTO f(f, key) VALUES ('merge', ?1)"};

  // Every use fails with SQLITE_ERROR or works. What it makes passes every check.
  void expect_harmless(const Bytes& bytes, const std::string& what, bool must_fail) {
    for (const char* use : kUses) {
      db.run("SAVEPOINT s");
      const Outcome answer = attempt_with(db, use, bytes);
      if (must_fail || answer.code != SQLITE_OK) {
        ASSERT_EQ(answer.code & 0xFF, SQLITE_ERROR) << what << ": " << use << answer.message;
        ASSERT_FALSE(answer.message.empty()) << what;
      } else if (std::string(use).starts_with("INSERT")) {
        // A capacity that the cells don't bear out would make a rebuild eat all memory.
        ASSERT_GE(std::stod(db.text("SELECT bits_per_key FROM filter_info('f')")), 0.5) << what;
        db.run("INSERT INTO f(f) VALUES ('check')");
        db.attempt("INSERT INTO f " + numbers(5001, 5010));
        db.run("SELECT sum(count) FROM f JOIN ({}) ON key = i", numbers(1, 50));
        db.attempt("INSERT INTO f(f) VALUES ('rebuild')");
        db.run("INSERT INTO f(f) VALUES ('check')");
      }
      db.run("ROLLBACK TO s; RELEASE s");
      ASSERT_FALSE(HasFailure()) << what << ": " << use;
    }
    ASSERT_EQ(
        db.number("SELECT count(*) FROM f, before_it WHERE n = (SELECT count(*) FROM f) LIMIT 1"),
        db.number("SELECT count(*) FROM f"))
        << what;
  }
  Database db;
  Bytes original;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Hostile,
                         testing::Values("cuckoo_filter(seed = 1, capacity = 100)",
                                         "bloom_filter(seed = 1, capacity = 100)",
                                         "bloom_filter(seed = 1, capacity = 100, layout = blocked)",
                                         "bloom_filter(seed = 1, capacity = 100, counting = on)"),
                         kParameterName);

// Somebody who knows the format can seal anything.
TEST_P(Hostile, sealed_images_are_errors_or_filters) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 1200; ++round) {
    Bytes bytes = original;
    for (uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
      const bool header = random() % 2 == 0;
      const size_t at = random() % (header ? 128 : bytes.size());
      constexpr std::byte kValues[] = {std::byte{0}, std::byte{1}, std::byte{0x7F}, std::byte{0x80},
                                       std::byte{0xFF}};
      bytes[at] = random() % 2 == 0 ? static_cast<std::byte>(random())
                                    : kValues[random() % std::size(kValues)];
      if (random() % 6 == 0) {
        for (size_t i = at; i < std::min(at + 8, bytes.size()); ++i) {
          bytes[i] = std::byte{0xFF};
        }
      }
    }
    bytes = with_crc(bytes);
    expect_harmless(bytes, "round " + std::to_string(round), false);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_image_function_test
