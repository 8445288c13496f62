// Images go from SQL to programs in C++ and back: <cuckoo/cuckoo_filter.hpp>,
// <cuckoo/bloom_filter.hpp>.
#include <cuckoo/bloom_filter.hpp>
#include <cuckoo/cuckoo_filter.hpp>

#include "tests/support/blobs.hpp"

namespace cuckoo::test::filter_library_test {
namespace {

template <class Filter>
void finds_all(const Filter& filter) {
  for (int i = 1; i <= 3000; ++i) {
    ASSERT_TRUE(filter.contains(i)) << i;
    ASSERT_TRUE(filter.contains("u" + std::to_string(i))) << i;
  }
  EXPECT_TRUE(filter.contains(0.5));
  EXPECT_TRUE(filter.contains(std::as_bytes(std::span("\x07", 1))));
  EXPECT_FALSE(filter.contains("u3001"));
  EXPECT_FALSE(filter.contains("1"));
}

constexpr char kKeys[] =
    "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
    " SELECT i FROM n UNION ALL SELECT 'u' || i FROM n UNION ALL SELECT 0.5"
    " UNION ALL SELECT x'07'";

TEST(Library, reads_what_sql_exports) {
  for (const std::string growth : {"on", "off"}) {
    Database db;
    db.run(
        "CREATE VIRTUAL TABLE c USING cuckoo_filter(k, capacity = 8000, fpr = 1e-9, growth = {});"
        " INSERT INTO c(k) {}",
        growth, kKeys);
    db.run(
        "CREATE VIRTUAL TABLE b USING bloom_filter(k, capacity = 8000, fpr = 1e-9, growth = {},"
        " layout = blocked); INSERT INTO b(k) {}",
        growth, kKeys);
    const std::string hashes = growth == "on" ? ", 'hashes'" : "";
    auto cuckoo = CuckooFilter::from_bytes(blob_of(db, "filter_export('c'" + hashes + ")"));
    ASSERT_TRUE(cuckoo.ok()) << cuckoo.error().message;
    finds_all(cuckoo.value());
    EXPECT_EQ(cuckoo.value().size(), 6002U);
    EXPECT_EQ(cuckoo.value().grows(), growth == "on");
    EXPECT_EQ(cuckoo.value().rate(), 1e-9);
    EXPECT_TRUE(cuckoo.value().remove("u7").value());
    auto bloom = BloomFilter::from_bytes(blob_of(db, "filter_export('b'" + hashes + ")"));
    ASSERT_TRUE(bloom.ok()) << bloom.error().message;
    finds_all(bloom.value());
    EXPECT_EQ(bloom.value().layout(), BloomLayout::kBlocked);
    EXPECT_EQ(BloomFilter::from_bytes(blob_of(db, "filter_export('c')")).error().code,
              ErrorCode::kInvalid);
  }
}

TEST(Library, writes_what_sql_imports) {
  for (const bool grows : {true, false}) {
    CuckooFilter cuckoo =
        CuckooFilter::make({.expected_keys = 500, .rate = 1e-9, .grows = grows}).value();
    for (int i = 1; i <= 400; ++i) {
      ASSERT_TRUE(cuckoo.add(i).ok());
    }
    ASSERT_TRUE(cuckoo.add("u1", 3).ok());
    ASSERT_TRUE(cuckoo.add("Ann ").ok());
    const std::string image = literal_of(cuckoo.to_bytes().value());
    Database db;
    db.gives(sql("SELECT filter_contains({}, 'u1')", image), "1");
    db.run(
        "CREATE VIRTUAL TABLE c USING cuckoo_filter(k); INSERT INTO c(c, k) VALUES ('import', {})",
        image);
    db.gives(
        "SELECT count(*) FROM c WHERE k IN (WITH n(i) AS (SELECT 1 UNION ALL"
        " SELECT i + 1 FROM n WHERE i < 400) SELECT i FROM n)",
        400);
    db.gives("SELECT count FROM c WHERE k = 'u1'", "3");
    db.gives("SELECT items FROM filter_info('c')", "404");
    db.gives("PRAGMA integrity_check", "ok");
    db.gives("SELECT cuckoo_check('c')", "ok");
    // The image tells which keys it has, so a table that would hash them in another way refuses it.
    db.run(
        "CREATE VIRTUAL TABLE t USING cuckoo_filter(k TEXT);"
        "CREATE VIRTUAL TABLE n USING cuckoo_filter(k COLLATE NOCASE)");
    db.refuses(sql("INSERT INTO t(t, k) VALUES ('import', {})", image), {"INTEGER"});
    db.refuses(sql("INSERT INTO n(n, k) VALUES ('import', {})", image), {"NOCASE"});
    const auto again = CuckooFilter::from_bytes(
        blob_of(db, std::string("filter_export('c'") + (grows ? ", 'hashes')" : ")")));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again.value().to_bytes().value(), cuckoo.to_bytes().value());
  }
}

TEST(Library, bloom_filters_go_to_sql_too) {
  BloomFilter bloom = BloomFilter::make({.rate = 1e-6}).value();
  ASSERT_TRUE(bloom.add_all(std::vector<std::string>{"apple", "pear"}).ok());
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE b USING bloom_filter(k TEXT);"
      " INSERT INTO b(b, k) VALUES ('import', {}); INSERT INTO b(k) VALUES ('plum')",
      literal_of(bloom.to_bytes().value()));
  db.gives(
      "SELECT filter_contains('b', value) FROM json_each('[\"apple\", \"pear\","
      " \"plum\", \"fig\"]')",
      "1,1,1,0");
}

// A program can't know what a table did to its keys before it hashed them.
TEST(Library, refuses_images_of_other_keys_and_of_windows) {
  Database db;
  const auto why = [&](const std::string& definition) {
    db.run("DROP TABLE IF EXISTS f; CREATE VIRTUAL TABLE f USING " + definition);
    return CuckooFilter::from_bytes(blob_of(db, "filter_export('f')")).error().message;
  };
  EXPECT_NE(why("cuckoo_filter(a, b)").find("2 columns"), std::string::npos);
  EXPECT_NE(why("cuckoo_filter(k COLLATE NOCASE)").find("collation"), std::string::npos);
  EXPECT_NE(why("cuckoo_filter(k, generations = 3)").find("sliding window"), std::string::npos);
  EXPECT_NE(why("bloom_filter(k, counting = on)").find("counting Bloom filter"), std::string::npos);
}

}  // namespace
}  // namespace cuckoo::test::filter_library_test
