// Images that keep their hashes: cuckoo_build() and bloom_build() with 'hashes', and filter_union()
// of images of any capacities and rates, in any order.
#include <algorithm>
#include <chrono>

#include "core/base/bytes.hpp"
#include "core/base/checksum.hpp"
#include "core/segments/hash_collection.hpp"
#include "core/segments/image.hpp"
#include "tests/support/blobs.hpp"
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test::filter_image_union_test {
namespace {

constexpr const char* kBuilds[] = {"cuckoo_build", "bloom_build"};

std::string module_of(const std::string& build) {
  return build == "cuckoo_build" ? "cuckoo_filter" : "bloom_filter";
}

// An image of the whole numbers first … last; options stand after the key.
std::string built(const std::string& build, int64_t first, int64_t last,
                  const std::string& options) {
  return "(SELECT " + build + "(i, " + options + ") FROM (" + numbers(first, last) + "))";
}

// A table i(b) of images, rowids 1, 2 …
class UnionOf : public testing::Test {
 protected:
  void have(const std::vector<std::string>& images) {
    db.run("DROP TABLE IF EXISTS i; CREATE TABLE i(b)");
    for (const std::string& image : images) {
      db.run("INSERT INTO i VALUES ({})", image);
    }
    count = images.size();
  }
  // The union of them in that order, as a query.
  static std::string united(const std::vector<int>& order) {
    std::string rows;
    for (const int row : order) {
      rows += (rows.empty() ? "(" : ", (") + std::to_string(row) + ")";
    }
    return "SELECT filter_union(b) FROM (SELECT b FROM (VALUES " + rows +
           ") JOIN i ON i.rowid = column1)";
  }
  std::vector<std::vector<int>> orders() const {
    std::vector<int> order;
    for (size_t i = 1; i <= count; ++i) {
      order.push_back(static_cast<int>(i));
    }
    std::vector<std::vector<int>> all;
    do {
      all.push_back(order);
    } while (std::next_permutation(order.begin(), order.end()));
    return all;
  }
  // The one image that all orders give, in the table u.
  void unite_in_all_orders() {
    db.run("DROP TABLE IF EXISTS u; CREATE TABLE u AS SELECT filter_union(b) AS b FROM i");
    for (const std::vector<int>& order : orders()) {
      ASSERT_EQ(db.number("SELECT ({}) = b FROM u", united(order)), 1) << united(order);
    }
  }
  void all_orders_are_refused(const std::vector<std::string>& parts) {
    for (const std::vector<int>& order : orders()) {
      db.refuses(united(order), parts);
    }
  }
  int64_t found(int64_t first, int64_t last) {
    return db.number("SELECT sum(filter_contains(b, i)) FROM u, ({})", numbers(first, last));
  }
  std::string info(const std::string& column) {
    return db.text("SELECT x.{} FROM u, filter_info(u.b) AS x", column);
  }
  Database db;
  size_t count = 0;
};

// --- building ------------------------------------------------------------------------------------

TEST(BuildWithHashes, that_is_too_long_is_refused_before_it_is_made) {
  Database db;
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 200'000);
  for (const std::string build : kBuilds) {
    db.refuses("SELECT " + built(build, 1, 50000, "0.01, NULL, 0, 'hashes'"),
               {build, "at most 200,000 are possible", "without its hashes it has"});
    db.run("SELECT " + built(build, 1, 50000, "0.01"));
  }
}

// --- uniting -------------------------------------------------------------------------------------

TEST_F(UnionOf, any_capacities_and_rates_is_one_image_whatever_the_order) {
  for (const std::string build : kBuilds) {
    have({built(build, 1, 500, "0.01, 2000, 3, 'hashes'"),
          built(build, 401, 900, "0.002, NULL, 3, 'hashes'"),
          built(build, 901, 910, "0.05, 100, 3, 'hashes'"),
          built(build, 1, 40, "0.01, 50, 3, 'hashes'")});
    unite_in_all_orders();
    EXPECT_EQ(found(1, 910), 910);
    EXPECT_LE(found(100001, 200000), 250);
    EXPECT_EQ(info("fpr"), "0.002");
    EXPECT_EQ(info("capacity"), "2000");
    EXPECT_EQ(info("items"), build == "cuckoo_build" ? "1050" : "910");
    EXPECT_EQ(info("log_entries"), "910");
    db.gives("SELECT filter_union(b) = b FROM u", 1);
    EXPECT_EQ(db.number("SELECT filter_union(x) = b FROM u, (SELECT filter_union(b) AS x FROM i"
                        " GROUP BY rowid % 2)"),
              1)
        << "unions of unions";
    db.run(
        "CREATE VIRTUAL TABLE f USING {}(key); INSERT INTO f(f, key) SELECT 'import', b FROM u;"
        " INSERT INTO f {}",
        module_of(build), numbers(1001, 20000));
    check(db);
    EXPECT_EQ(present(db, 1, 910) + present(db, 1001, 20000), 19910);
    db.run("DROP TABLE f");
  }
}

// The union is the image that one build of all keys gives.
TEST_F(UnionOf, parts_of_one_capacity_and_rate_is_the_image_of_the_whole) {
  for (const std::string build : kBuilds) {
    for (const char* options : {"0.001, 3000, 0, 'hashes'", "1e-6, NULL, 5, 'hashes'"}) {
      have({built(build, 1, 1000, options), built(build, 1001, 1500, options),
            built(build, 1501, 3000, options)});
      unite_in_all_orders();
      db.gives(sql("SELECT b = {} FROM u", built(build, 1, 3000, options)), 1);
    }
    have({built(build, 1, 99, "0.001, 100, 0, 'hashes'"),
          built(build, 100, 130, "0.001, 100, 0, 'hashes'")});
    unite_in_all_orders();
    EXPECT_EQ(info("capacity"), "130") << "it grows to what it holds";
  }
}

TEST_F(UnionOf, tables_of_any_kind_adds_counts_and_takes_a_sets_hashes_once) {
  for (const std::string kind : kFilterKinds) {
    const bool counts = counts_copies(kind);
    db.run(
        "CREATE VIRTUAL TABLE a USING {}capacity = 50, fpr = 0.01, seed = 4);"
        "CREATE VIRTUAL TABLE b USING {}capacity = 900, fpr = 0.001, seed = 4);"
        "CREATE VIRTUAL TABLE c USING {}capacity = 10, fpr = 0.2, seed = 4); INSERT INTO a {};"
        " INSERT INTO b {}; INSERT INTO b SELECT 7 FROM ({}); INSERT INTO a SELECT 7 FROM ({});"
        " INSERT INTO c {}",
        kind, kind, kind, numbers(1, 300), numbers(201, 600), numbers(1, 40), numbers(1, 5),
        numbers(1, 200));
    have({"filter_export('a', 'hashes')", "filter_export('b', 'hashes')",
          "filter_export('c', 'hashes')"});
    unite_in_all_orders();
    EXPECT_EQ(found(1, 600), 600);
    EXPECT_EQ(info("log_entries"), "600");
    EXPECT_EQ(info("items"), counts ? std::to_string(300 + 5 + 400 + 40 + 200) : "600") << kind;
    EXPECT_EQ(info("fpr"), "0.001");
    db.run("INSERT INTO c(c, key) SELECT 'import', b FROM u");
    check(db, "c");
    if (counts) {
      db.gives("SELECT count FROM c WHERE key = 7", 1 + 5 + 40 + 1);
      for (int i = 0; i < 47; ++i) {
        db.run("DELETE FROM c WHERE key = 7");
      }
      EXPECT_EQ(present(db, 7, 7, "c"), 0);
      check(db, "c");
    }
    db.run("DROP TABLE a; DROP TABLE b; DROP TABLE c");
  }
}

TEST_F(UnionOf, images_of_one_bits_option_stays_so_and_of_two_is_refused) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"cuckoo_filter(", {"fingerprint_bits = 12", "fingerprint_bits = 14", "fpr = 0.01"}},
      {"bloom_filter(", {"bits_per_key = 10, hashes = 3", "bits_per_key = 10", "fpr = 0.01"}},
  };
  for (const auto& each : cases) {
    const std::vector<std::string>& options = each.second;
    const auto create = [&](const char* name, const std::string& option, int capacity) {
      db.run(
          "DROP TABLE IF EXISTS {}; CREATE VIRTUAL TABLE {} USING {}{}, seed = 1, capacity = {});"
          " INSERT INTO {} {}",
          name, name, each.first, option, capacity, name, numbers(capacity, capacity + 50));
    };
    for (size_t i = 0; i < options.size(); ++i) {
      create("a", options[i], 100);
      create("b", options[i], 1000);
      have({"filter_export('a', 'hashes')", "filter_export('b', 'hashes')"});
      unite_in_all_orders();
      EXPECT_EQ(found(100, 150) + found(1000, 1050), 102);
      EXPECT_EQ(info("capacity"), "1000");
      create("c", options[(i + 1) % options.size()], 1000);
      have({"filter_export('a', 'hashes')", "filter_export('c', 'hashes')",
            "filter_export('b', 'hashes')"});
      all_orders_are_refused({"filter_union: the images differ in their size (", " 1",
                              "build all with the same options"});
    }
  }
}

// --- bits of hashes ------------------------------------------------------------------------------

TEST_F(UnionOf, wide_and_narrow_hashes_is_narrow_where_that_is_enough) {
  have({built("cuckoo_build", 1, 100, "0.01, NULL, 0, 'hashes'"),
        built("cuckoo_build", 51, 200, "1e-6, NULL, 0, 'hashes'"),
        built("cuckoo_build", 151, 300, "0.1, NULL, 0, 'hashes'"),
        built("cuckoo_build", 1, 300, "1e-5, NULL, 0, 'hashes'")});
  unite_in_all_orders();
  EXPECT_EQ(found(1, 300), 300);
  EXPECT_EQ(info("items"), "700");
  EXPECT_EQ(info("log_entries"), "300") << "the same key has one hash";
  db.gives("SELECT hex(substr(b, 65, 1)) FROM u", "2F");
  db.run("DELETE FROM i WHERE rowid IN (1, 3)");
  db.gives("SELECT hex(substr(filter_union(b), 65, 1)) FROM i", "3F");
}

TEST_F(UnionOf, narrow_hashes_is_refused_where_wide_ones_are_needed) {
  have({built("cuckoo_build", 1, 100, "0.01, 80000, 0, 'hashes'"),
        built("cuckoo_build", 51, 200, "1e-9, NULL, 0, 'hashes'")});
  all_orders_are_refused({"filter_union: an image has hashes of 47 bits", "fpr 1e-09",
                          "capacity of 80000", "needs 63", "build all"});
  // Only together do the images have too many keys.
  have({built("bloom_build", 1, 50000, "0.01, NULL, 0, 'hashes'"),
        built("bloom_build", 50001, 90000, "0.01, NULL, 0, 'hashes'"),
        built("bloom_build", 1, 10, "1e-9, NULL, 0, 'hashes'")});
  all_orders_are_refused({"47 bits", "fpr 1e-09", "capacity of 90000", "needs 63"});
  db.run("UPDATE i SET b = {} WHERE rowid = 1; UPDATE i SET b = {} WHERE rowid = 2",
         built("bloom_build", 1, 50000, "1e-9, NULL, 0, 'hashes'"),
         built("bloom_build", 50001, 90000, "1e-9, NULL, 0, 'hashes'"));
  unite_in_all_orders();
  EXPECT_EQ(info("capacity"), "90000");
}

// --- some without hashes -------------------------------------------------------------------------

TEST_F(UnionOf, some_without_hashes_has_none_and_needs_one_geometry) {
  for (const std::string build : kBuilds) {
    have({built(build, 1, 300, "0.01, 2000, 3, 'hashes'"), built(build, 301, 500, "0.01, 2000, 3"),
          built(build, 401, 900, "0.01, 2000, 3, 'hashes'"),
          built(build, 1, 40, "0.01, 2000, 3, 'hashes'")});
    for (const std::vector<int>& order : orders()) {
      db.run("DROP TABLE IF EXISTS u; CREATE TABLE u AS {} AS b", united(order));
      db.run("ALTER TABLE u RENAME COLUMN \"{}\" TO b",
             db.text("SELECT name FROM pragma_table_info('u')"));
      ASSERT_EQ(found(1, 900), 900);
      ASSERT_EQ(info("log_entries"), "0");
      ASSERT_NEAR(std::stod(info("items")), build == "cuckoo_build" ? 1040 : 900, 20);
      ASSERT_LE(found(100001, 110000), 130);
    }
    if (build == "bloom_build") {
      db.gives(sql("SELECT substr(b, 225, length(b) - 232) = substr(x, 225, length(b) - 232) FROM"
                   " u, (SELECT {} AS x)",
                   built(build, 1, 900, "0.01, 2000, 3")),
               1);
    }
    // The images differ in capacity or rate. With hashes in all of them the union would work.
    have({built(build, 1, 300, "0.01, 2000, 3, 'hashes'"),
          built(build, 1, 300, "0.02, 2000, 3, 'hashes'"), built(build, 1, 300, "0.01, 2000, 3")});
    all_orders_are_refused({"filter_union: the images differ in fpr (", "or keep the hashes"});
    have({built(build, 1, 300, "0.01, 2000, 3, 'hashes'"),
          built(build, 1, 300, "0.01, 4000, 3, 'hashes'"), built(build, 1, 300, "0.01, 2000, 3")});
    all_orders_are_refused({"geometry, made for capacities (", "000", "or keep the hashes"});
    // Three images together have more keys than their capacity.
    have({built(build, 1, 1200, "0.01, 2000, 3, 'hashes'"),
          built(build, 1201, 2000, "0.01, 2000, 3, 'hashes'"),
          built(build, 2001, 2900, "0.01, 2000, 3")});
    all_orders_are_refused({"full: filter_union: 2", "capacity of 2000"});
  }
}

TEST_F(UnionOf, images_of_one_capacity_in_other_segments_is_refused) {
  db.run(
      "CREATE VIRTUAL TABLE t USING cuckoo_filter(fpr = 0.01, seed = 1, capacity = 150000);"
      " INSERT INTO t VALUES (1)");
  have({"filter_export('t')", built("cuckoo_build", 1, 9, "0.01, 150000, 1")});
  all_orders_are_refused({"the images differ in the number of their segments (",
                          "make both by an aggregate or in tables with growth = off",
                          "or keep the hashes"});
  db.run(
      "CREATE VIRTUAL TABLE off USING cuckoo_filter(fpr = 0.01, seed = 1, capacity = 150000,"
      " growth = off); INSERT INTO off VALUES (100)");
  have({"filter_export('off')", built("cuckoo_build", 1, 9, "0.01, 150000, 1")});
  unite_in_all_orders();
  EXPECT_EQ(found(1, 9) + found(100, 100), 10);
}

TEST_F(UnionOf, images_of_different_kinds_seeds_or_keys_is_refused_by_hashes_too) {
  have({built("cuckoo_build", 1, 9, "0.01, 10, 1, 'hashes'"),
        built("bloom_build", 1, 9, "0.01, 10, 1, 'hashes'")});
  all_orders_are_refused({"kind", "cuckoo_filter", "bloom_filter"});
  have({built("cuckoo_build", 1, 9, "0.01, 10, 1, 'hashes'"),
        built("cuckoo_build", 1, 9, "0.01, 10, 2, 'hashes'")});
  all_orders_are_refused({"seed"});
  db.run(
      "CREATE VIRTUAL TABLE n USING cuckoo_filter(key INTEGER, seed = 0);"
      "CREATE VIRTUAL TABLE t USING cuckoo_filter(key TEXT, seed = 0);"
      "CREATE VIRTUAL TABLE z USING cuckoo_filter(key TEXT COLLATE NOCASE, seed = 0);"
      "INSERT INTO n VALUES (1); INSERT INTO t VALUES ('x'); INSERT INTO z VALUES ('X')");
  have({"filter_export('n', 'hashes')", "filter_export('t', 'hashes')"});
  all_orders_are_refused({"filter_union: an image holds", "one type"});
  // A third image may take the keys of both. If several images could, always the same one does.
  have({"filter_export('n', 'hashes')", "filter_export('t', 'hashes')",
        "(SELECT cuckoo_build('y', 0.01, 10, 0, 'hashes'))",
        "(SELECT cuckoo_build(5, 0.01, 10, 0, 'hashes'))"});
  unite_in_all_orders();
  db.gives(
      "SELECT filter_contains(b, column1) FROM u, (VALUES (1), ('x'), ('y'), (5),"
      " ('1'))",
      "1,1,1,1,0");
  EXPECT_EQ(info("key_types"), "INTEGER TEXT");
  have({"filter_export('t', 'hashes')", "filter_export('z', 'hashes')",
        "(SELECT cuckoo_build('y', 0.01, 10, 0, 'hashes'))"});
  unite_in_all_orders();
  EXPECT_EQ(info("collation"), "NOCASE");
  db.gives("SELECT filter_contains(b, column1) FROM u, (VALUES ('x'), ('X'), ('Y'))", "1,1,1");
}

// --- as an aggregate -----------------------------------------------------------------------------

TEST_F(UnionOf, groups_is_one_a_group_and_no_window_function) {
  db.run(
      "CREATE TABLE p AS SELECT i % 3 AS g, cuckoo_build(i, 0.01, NULL, 0, 'hashes') AS b FROM"
      " ({}) GROUP BY i % 9",
      numbers(1, 900));
  db.gives(
      "SELECT items || ' ' || capacity FROM (SELECT filter_union(b) AS u FROM p"
      " GROUP BY g), filter_info(u)",
      "300 300,300 300,300 300");
  db.gives(
      sql("SELECT (SELECT sum(filter_contains(u, i)) FROM ({}) WHERE i % 3 = g) FROM (SELECT g,"
          " filter_union(b) AS u FROM p GROUP BY g)",
          numbers(1, 900)),
      "300,300,300");
  db.gives(
      "SELECT length(filter_union(b) FILTER (WHERE g = 1)) ="
      " length(filter_union(b) FILTER (WHERE g = 2)) FROM p",
      1);
  db.refuses("SELECT filter_union(b) OVER () FROM p", {"window"});
  db.refuses("SELECT cuckoo_build(g, 0.01, 9, 0, 'hashes') OVER () FROM p", {"window"});
}

// --- hostile and too much ------------------------------------------------------------------------

// An image of the ten integers from `first` on, each `copies` times, with the hashes of the ten
// integers from `others` on.
std::string image_of(FilterKind kind, uint64_t copies, int64_t first, int64_t others) {
  constexpr uint64_t kSeed = 1;
  FilterSpec spec;
  spec.kind = kind;
  const auto piece_of = [&](int64_t from) {
    segments::HashCollection keys(HashWidth::k47Bits);
    for (int64_t i = 0; i < 10; ++i) {
      keys.add(hash_integer(from + i, kSeed), copies);
    }
    const Result<segments::Contents> contents =
        keys.build(spec, 100, segments::HashCollection::Growth::kOn, segments::kImagePageBytes);
    segments::Piece only;
    EXPECT_TRUE(contents.value()
                    .pieces([&only](segments::Piece&& piece) -> Status {
                      only = std::move(piece);
                      return {};
                    })
                    .ok());
    return only;
  };
  segments::Piece piece = piece_of(first);
  piece.hashes = piece_of(others).hashes;
  segments::MessageHeader header;
  header.spec = spec;
  header.seed = kSeed;
  header.capacity = 100;
  header.items = piece.items;
  header.with_hashes = true;
  header.key_types = 1;
  segments::MessageWriter writer(header, UINT64_MAX);
  EXPECT_TRUE(writer.add(piece).ok());
  return literal_of(writer.finish());
}

TEST_F(UnionOf, hashes_that_are_not_those_of_the_cells_is_refused) {
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kBloom, FilterKind::kBlockedBloom,
                                FilterKind::kCountingBloom}) {
    have({image_of(kind, 1, 1, 1), image_of(kind, 1, 11, 21)});
    all_orders_are_refused({"filter_union: hashes that are not those of the filter beside them"});
    have({image_of(kind, 1, 1, 1), image_of(kind, 1, 11, 11)});
    unite_in_all_orders();
    EXPECT_EQ(found(1, 20), 20);
  }
}

// Counts are numbers: neither time nor memory grows with them.
TEST_F(UnionOf, hashes_with_giant_counts_is_quick) {
  constexpr uint64_t kMany = uint64_t{1} << 54;
  for (const FilterKind kind : {FilterKind::kCuckoo, FilterKind::kCountingBloom}) {
    have({image_of(kind, kMany, 1, 1), image_of(kind, kMany, 6, 6)});
    const auto start = std::chrono::steady_clock::now();
    unite_in_all_orders();
    EXPECT_EQ(info("items"), std::to_string(20 * kMany));
    EXPECT_EQ(found(1, 15), 15);
    db.run("CREATE VIRTUAL TABLE f USING {}seed = 1)",
           (kind == FilterKind::kCuckoo ? "cuckoo_filter(" : "bloom_filter(counting = on, "));
    db.refuses("INSERT INTO f(f, key) SELECT 'merge', b FROM u",
               {"full: f holds 0 items, and", "would exceed the", "hashes of 47 bits"});
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
    db.run("DROP TABLE f");
  }
  have(std::vector<std::string>(30, image_of(FilterKind::kCuckoo, uint64_t{1} << 58, 1, 1)));
  db.refuses("SELECT filter_union(b) FROM i",
             {"filter_union: the images have more than 2^62 items together"});
}

TEST_F(UnionOf, too_long_a_result_is_refused_before_it_is_made) {
  have({built("bloom_build", 1, 30000, "0.01, 30000, 0, 'hashes'"),
        built("bloom_build", 30001, 60000, "0.01, 30000, 0, 'hashes'"),
        built("bloom_build", 1, 10, "1e-6, 10, 0, 'hashes'")});
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 300'000);
  all_orders_are_refused({"filter_union: image of ", "at most 300,000 are possible"});
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 100'000'000);
  unite_in_all_orders();
}

}  // namespace
}  // namespace cuckoo::test::filter_image_union_test
