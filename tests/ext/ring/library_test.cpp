// <cuckoo/hash_ring.hpp>: images go from SQL to programs in C++ and back, and both name the same
// owners.
#include "core/base/digest.hpp"
#include "core/ring/real_text.hpp"

#include <cuckoo/hash_ring.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "tests/support/blobs.hpp"
#include "tests/support/names.hpp"

namespace cuckoo::test {
namespace ring_library_test {
namespace {

bool md5(std::span<const std::byte> bytes, std::span<std::byte, 16> digest) {
  Digester digester;
  const auto computed = digester.compute(DigestKind::kMd5, bytes);
  std::copy(computed.begin(), computed.end(), digest.begin());
  return !computed.empty();
}

struct Case {
  const char* table;
  HashRingOptions options;
};
std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.table; }

const Case kCases[] = {
    {"vnodes = 50, seed = 7", {.vnodes = 50, .seed = 7}},
    {"seed = -1", {.seed = UINT64_MAX}},
    {"algorithm = slots", {.algorithm = RingAlgorithm::kSlots}},
    {"algorithm = ketama", {.algorithm = RingAlgorithm::kKetama, .md5 = md5}},
    {"algorithm = ketama, dialect = consistent, key_hash = fnv1a_64",
     {.algorithm = RingAlgorithm::kKetama,
      .dialect = KetamaDialect::kConsistent,
      .key_hash = KetamaKeyHash::kFnv1a64,
      .md5 = md5}},
    {"algorithm = ketama, dialect = libmemcached, key_hash = crc32a",
     {.algorithm = RingAlgorithm::kKetama,
      .dialect = KetamaDialect::kLibmemcached,
      .key_hash = KetamaKeyHash::kCrc32a,
      .md5 = md5}},
    {"key TEXT", {.text_keys = true}},
    {"key TEXT, algorithm = ketama",
     {.algorithm = RingAlgorithm::kKetama, .text_keys = true, .md5 = md5}},
};

// The i-th key in SQL and in C++; the keys have all types. A TEXT column turns a real into a text
// of up to 15 or 17 digits, depending on SQLite's version. Multiples of 1/1024 have fewer.
constexpr char kKeys[] =
    "CREATE TABLE keys AS WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
    " SELECT i, CASE i % 5 WHEN 0 THEN i * 1000000007 WHEN 1 THEN i / 8.0 WHEN 2 THEN 'key:' || i"
    " WHEN 3 THEN CAST('blob ' || i AS BLOB) ELSE -i / ";

double divisor_of(const HashRing& ring) { return ring.options().text_keys ? 1024 : 1e7; }

template <class Use>
auto with_key(const HashRing& ring, int64_t i, Use&& use) {
  const std::string text = (i % 5 == 2 ? "key:" : "blob ") + std::to_string(i);
  switch (i % 5) {
    case 0:
      return use(Key(i * 1000000007));
    case 1:
      return use(Key(static_cast<double>(i) / 8.0));
    case 2:
      return use(Key(text));
    case 3:
      return use(Key(std::as_bytes(std::span(text))));
    default:
      return use(Key(static_cast<double>(-i) / divisor_of(ring)));
  }
}

void expect_same_owners(Database& db, const HashRing& ring) {
  if (db.text("SELECT count(*) FROM sqlite_schema WHERE name = 'keys'") == "0") {
    db.run("{}{} END AS k FROM n", kKeys, divisor_of(ring));
  }
  size_t wrong = 0;
  int64_t i = 0;
  for (const Row& row :
       db.rows("SELECT node FROM keys LEFT JOIN ring ON ring.key = k ORDER BY i")) {
    ++i;
    wrong += with_key(ring, i, [&](const Key& key) { return ring.owner(key) == row[0]; }) ? 0 : 1;
  }
  EXPECT_EQ(i, 10000);
  EXPECT_EQ(wrong, 0U);
  for (i = 1; i <= 100; ++i) {
    std::string names;
    for (const std::string_view name :
         with_key(ring, i, [&](const Key& key) { return ring.replicas(key, 3); })) {
      names += (names.empty() ? "" : ",") + std::string(name);
    }
    EXPECT_EQ(
        names,
        db.list(
            "SELECT node FROM ring WHERE key = (SELECT k FROM keys WHERE i = {}) AND replicas = 3",
            i));
  }
  EXPECT_EQ(ring.mark_text(), db.text("SELECT hash_ring_mark('ring')"));
}

class RingLibrary : public ::testing::TestWithParam<Case> {
 protected:
  RingLibrary() { db_.run("CREATE VIRTUAL TABLE ring USING hash_ring({})", GetParam().table); }

  Database db_;
};

INSTANTIATE_TEST_SUITE_P(Options, RingLibrary, ::testing::ValuesIn(kCases), kParameterName);

TEST_P(RingLibrary, reads_what_sql_exports) {
  db_.run(
      "INSERT INTO ring(node, weight) VALUES ('a:11211', 1), ('b:11211', 2), ('ü', 1.5), ('c', 1);"
      "DELETE FROM ring WHERE node = 'a:11211'; INSERT INTO ring(node) VALUES ('d'), ('e')");
  auto ring = HashRing::from_bytes(blob_of(db_, "hash_ring_export('ring')"), md5);
  ASSERT_TRUE(ring.ok()) << ring.error().message;
  expect_same_owners(db_, ring.value());
  EXPECT_EQ(ring.value().to_bytes().value(), blob_of(db_, "hash_ring_export('ring')"));
  for (const RingNode& node : ring.value().nodes()) {
    const std::string where = " FROM ring WHERE node = '" + node.name + "'";
    EXPECT_EQ(std::to_string(node.weight), db_.text("SELECT printf('%.6f', weight)" + where));
    EXPECT_EQ(std::to_string(ring.value().share(node.name)),
              db_.text("SELECT printf('%.6f', share)" + where));
  }
  // The same changes give both the same owners again.
  db_.run("UPDATE ring SET weight = 0.5 WHERE node = 'c'; INSERT INTO ring(node) VALUES ('f')");
  ASSERT_TRUE(ring.value().set_weight("c", 0.5).ok());
  ASSERT_TRUE(ring.value().add("f").ok());
  expect_same_owners(db_, ring.value());
}

TEST_P(RingLibrary, writes_what_sql_imports) {
  HashRing ring = HashRing::make(GetParam().options).value();
  ASSERT_TRUE(ring.add_all({{"a:11211"}, {"b:11211", 2}, {"ü", 1.5}, {"c"}}).ok());
  ASSERT_TRUE(ring.remove("a:11211").value());
  ASSERT_TRUE(ring.add("d").ok());
  db_.run("INSERT INTO ring(ring, node) VALUES ('import', {})",
          literal_of(ring.to_bytes().value()));
  expect_same_owners(db_, ring);
  db_.gives("PRAGMA integrity_check", "ok");
  EXPECT_EQ(blob_of(db_, "hash_ring_export('ring')"), ring.to_bytes().value());
}

// The same changes give the same ring, without an image.
TEST_P(RingLibrary, is_the_ring_of_the_same_statements) {
  HashRing ring = HashRing::make(GetParam().options).value();
  db_.run(
      "INSERT INTO ring(node) VALUES ('a'), ('b'), ('c'), ('d'); DELETE FROM ring WHERE node ="
      " 'b'; UPDATE ring SET node = 'e' WHERE node = 'c'");
  ASSERT_TRUE(ring.add_all({{"a"}, {"b"}, {"c"}, {"d"}}).ok());
  ASSERT_TRUE(ring.remove("b").value());
  ASSERT_TRUE(ring.rename("c", "e").ok());
  expect_same_owners(db_, ring);
}

TEST(RingLibrary, refuses_images_of_keys_that_become_numbers) {
  for (const std::string type : {"INTEGER", "NUMERIC", "REAL"}) {
    Database db;
    db.run("CREATE VIRTUAL TABLE ring USING hash_ring(key {})", type);
    const auto ring = HashRing::from_bytes(blob_of(db, "hash_ring_export('ring')"));
    EXPECT_EQ(ring.error().code, ErrorCode::kInvalid);
    EXPECT_NE(ring.error().message.find("makes numbers of texts"), std::string::npos);
  }
}

// Reals whose digits after the 15th are almost exactly a half. SQLite 3.40 writes another last
// digit for the first four, SQLite 3.54 for the last four.
TEST(RingLibrary, an_owner_of_a_real_depends_on_no_version_of_sqlite) {
  constexpr std::pair<double, const char*> kTexts[] = {
      {0x1.085bff649268cp+800, "6.88575025856656e+240"},
      {-0x1.846ff6fa4752cp+679, "-3.80581862310719e+204"},
      {0x1.669466a299118p+903, "9.47178448890734e+271"},
      {-0x1.caacc387c520bp+337, "-5.01618458408607e+101"},
      {-0x1.802b9c867e57cp+473, "-3.65992204427634e+142"},
      {0x1.dec85e6bc5a71p-848, "9.96465237915169e-256"},
      {-0x1.e963e62d3722fp-713, "-4.43637676581246e-215"},
      {-0x1.c51d7fbb62116p+153, "-2.02096145923237e+46"},
  };
  Database db;
  db.run(
      "CREATE VIRTUAL TABLE ring USING hash_ring(algorithm = ketama);"
      "INSERT INTO ring(node) WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n"
      " WHERE i < 200) SELECT 'node ' || i FROM n");
  const HashRing ring = HashRing::from_bytes(blob_of(db, "hash_ring_export('ring')"), md5).value();
  for (const auto& [real, text] : kTexts) {
    const std::string owner(ring.owner(text));
    EXPECT_EQ(ring.owner(real), owner) << text;
    Query look_up(db, "SELECT node = ?2 FROM ring WHERE key = ?1");
    sqlite3_bind_double(look_up.handle(), 1, real);
    sqlite3_bind_text(look_up.handle(), 2, owner.c_str(), -1, SQLITE_TRANSIENT);
    EXPECT_EQ(look_up.step(), SQLITE_ROW);
    EXPECT_EQ(look_up.integer(), 1) << text;
  }
}

// core/ring/real_text.hpp says for which reals the two texts may differ.
TEST(RingLibrary, writes_reals_as_this_sqlite_does) {
  std::mt19937_64 random(1);
  const auto differs = [](double real) {
    char text[64];
    sqlite3_snprintf(sizeof text, text, "%!.15g", real);
    core::RealText room;
    return core::real_text(real, room) != text;
  };
  for (int64_t i = -20'000; i < 20'000; ++i) {  // as people write them
    for (const double real : {static_cast<double>(i) / 1000, static_cast<double>(i) * 1e-9,
                              static_cast<double>(i) * 1e12, static_cast<double>(i) / 64}) {
      ASSERT_FALSE(differs(real)) << real;
    }
  }
  size_t wrong = 0;
  for (int i = 0; i < 200'000; ++i) {
    wrong += differs(std::ldexp(static_cast<double>(random() >> 11),
                                static_cast<int>(random() % 60) - 83) /
                     3)
                 ? 1
                 : 0;
  }
  EXPECT_LE(wrong, sqlite3_libversion_number() >= 3043000 ? 2U : 40U);
}

}  // namespace
}  // namespace ring_library_test
}  // namespace cuckoo::test
