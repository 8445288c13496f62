// What an import lets in can be read: for each number in the header of an image or a legacy file,
// and each value at the border of its range or beyond, either the import is refused or another
// connection reads the table, checks it and changes it.
#include <cmath>
#include <limits>

#include "core/base/bytes.hpp"

#include "tests/core/segments/image_samples.hpp"
#include "tests/support/blobs.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_import_readable_test {
namespace {

// Puts the checksums right. If the header is not one of an image, nobody looks at them.
Bytes seal(Bytes image) {
  (void)put_crcs_right(image);
  return image;
}

class Import : public ::testing::Test {
 protected:
  // A table of that kind with a few keys.
  void make(const std::string& module) {
    db_.run(
        "DROP TABLE IF EXISTS f; CREATE VIRTUAL TABLE f USING {};"
        " INSERT INTO f VALUES ('a'), ('b'), ('c')",
        module);
  }
  Bytes exported(const std::string& format = "") {
    return blob_of(db_, "filter_export('f'" + format + ")");
  }

  int import(const Bytes& image) {
    return attempt_with(db_, "INSERT INTO f(f, key) VALUES ('import', ?)", image).code;
  }
  // True if the import was accepted. Then another connection reads the table, checks it and changes
  // it.
  bool accepts(const Bytes& image) {
    const int code = import(image);
    if (code != SQLITE_OK) {
      EXPECT_EQ(code, SQLITE_ERROR) << sqlite3_errmsg(db_.handle());
      return false;
    }
    const std::string path = folder_.file("copy.db");
    std::filesystem::remove(path);
    db_.run("VACUUM INTO '{}'", path);
    QuickDatabase copy(path);
    copy.gives("SELECT cuckoo_check('f')", "ok");
    EXPECT_EQ(copy.rows("SELECT * FROM filter_info").size(), 1U);
    EXPECT_EQ(copy.text("SELECT filter_contains('f', 'a')").size(), 1U);
    const Outcome insert = copy.attempt("INSERT INTO f VALUES ('new')");
    if (insert.code == SQLITE_OK) {
      copy.gives("SELECT filter_contains('f', 'new')", "1");
    } else {
      EXPECT_EQ(insert.message.substr(0, 5), "full:") << insert.message;
    }
    return true;
  }

  TemporaryFolder folder_;
  QuickDatabase db_{":memory:"};
};

const uint64_t kWords[] = {
    0,
    1,
    2,
    63,
    uint64_t{1} << 32,
    uint64_t{1} << 40,
    (uint64_t{1} << 40) + 1,
    uint64_t{1} << 62,
    ~uint64_t{0},
    bits_of(std::numeric_limits<double>::denorm_min()),
    bits_of(1e-320),
    bits_of(std::numeric_limits<double>::min()),
    bits_of(1e-100),
    bits_of(0x1p-37),
    bits_of(0x1p-36),
    bits_of(0x1p-33),
    bits_of(0x1p-30),
    bits_of(0.25),
    bits_of(0.26),
    bits_of(std::nextafter(1.0, 0.0)),
    bits_of(1.0),
    bits_of(128.0),
    bits_of(128.5),
    bits_of(-0.0),
    bits_of(std::numeric_limits<double>::quiet_NaN()),
};

TEST_F(Import, of_any_image_leaves_a_table_that_can_be_read) {
  for (const std::string module :
       {"cuckoo_filter(seed = 1)", "cuckoo_filter(seed = 1, fingerprint_bits = 9, growth = off)",
        "bloom_filter(seed = 1)", "bloom_filter(seed = 1, bits_per_key = 9, growth = off)",
        "bloom_filter(seed = 1, counting = on)", "bloom_filter(seed = 1, hash = murmur2)"}) {
    make(module);
    const Bytes original = exported();
    int accepted = 0;
    constexpr size_t kPieceAt = 136;
    const auto is_byte = [](size_t at) { return at < 24 || (at >= kPieceAt && at < kPieceAt + 8); };
    for (size_t at = 16; at < kPieceAt + 56; at += is_byte(at) ? 1 : 8) {
      for (const uint64_t word : kWords) {
        Bytes image = original;
        if (is_byte(at)) {
          image[at] = static_cast<std::byte>(word);
        } else {
          store_le(&image[at], word);
        }
        accepted += accepts(seal(std::move(image))) ? 1 : 0;
        ASSERT_FALSE(HasFailure()) << module << " at " << at << ": " << word;
      }
    }
    EXPECT_GT(accepted, 10) << module;
  }
}

TEST_F(Import, of_any_legacy_file_leaves_a_table_that_can_be_read) {
  make("bloom_filter(seed = 1, hash = murmur2)");
  const Bytes original = exported(", 'legacy'");
  int accepted = 0;
  for (size_t at = 4; at < 64; at += 4) {
    for (const uint64_t word : kWords) {
      Bytes file = original;
      if (at == 16) {
        store_le(&file[at], word);  // the rate
      } else {
        store_le(&file[at], static_cast<uint32_t>(word));
      }
      accepted += accepts(file) ? 1 : 0;
      ASSERT_FALSE(HasFailure()) << at << ": " << word;
    }
  }
  EXPECT_GT(accepted, 100);
}

// --- items ---------------------------------------------------------------------------------------

TEST_F(Import, of_an_image_claims_no_more_items_than_its_bits_allow) {
  for (const std::string module :
       {"bloom_filter(seed = 1)", "bloom_filter(seed = 1, counting = on)",
        "bloom_filter(seed = 1, hash = murmur2)", "bloom_filter(seed = 1, layout = blocked)"}) {
    make(module);
    Bytes image = exported();
    store_le(&image[56], uint64_t{1} << 40);
    store_le(&image[136 + 16], uint64_t{1} << 40);
    EXPECT_FALSE(accepts(seal(std::move(image)))) << module;
  }
}

// The program that writes those files counts a key as often as it is added.
TEST_F(Import, of_a_legacy_file_counts_no_more_items_than_its_bits_allow) {
  make("bloom_filter(seed = 1, hash = murmur2)");
  Bytes file = exported(", 'legacy'");
  store_le(&file[8], ~uint32_t{0});
  EXPECT_TRUE(accepts(file));
  EXPECT_LT(db_.number("SELECT items FROM filter_info"), static_cast<int64_t>(8 * file.size()));
  db_.gives("SELECT filter_contains('f', 'a')", "1");
}

// Copies of one key are a number in an image; nothing bounds them but its range.
TEST_F(Import, of_very_many_copies_is_not_counted_one_by_one) {
  make("cuckoo_filter(seed = 1, capacity = 20)");
  for (int i = 0; i < 10; ++i) {
    db_.run("INSERT INTO f VALUES ('a')");
  }
  Bytes image = exported();
  const uint64_t copies = load_le<uint64_t>(&image[image.size() - 16]);  // of the overflow entry
  ASSERT_GT(copies, 0U);
  ASSERT_LT(copies, 10U);
  for (const size_t at : {size_t{16}, size_t{184 + 16}, image.size() - 16}) {  // items, too
    store_le(&image[at], load_le<uint64_t>(&image[at]) + (uint64_t{1} << 40));
  }
  ASSERT_EQ(import(seal(std::move(image))), SQLITE_OK) << sqlite3_errmsg(db_.handle());
  const std::string items = std::to_string((int64_t{1} << 40) + 13);
  db_.gives("SELECT items FROM filter_info", items);
  for (const char* sql : {"SELECT count(*) FROM f", "SELECT count(*) FROM f, (SELECT 1)",
                          "SELECT sum(1) FROM f", "DELETE FROM f"}) {
    db_.refuses(sql, {"f: it holds " + items + " items", "filter_info('f')"});
  }
  // One row is soon found.
  db_.gives("SELECT EXISTS (SELECT 1 FROM f)", "1");
  db_.gives("SELECT 'some' FROM f LIMIT 1", "some");
  db_.gives("SELECT count FROM f WHERE key = 'a'", (int64_t{1} << 40) + 11);
  db_.gives("INSERT INTO f(f) VALUES ('clear'); SELECT count(*) FROM f", "0");
}

}  // namespace
}  // namespace cuckoo::test::filter_import_readable_test
