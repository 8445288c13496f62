// Random groups of images beside bags of keys. A union holds every key, as often as the images do
// together, and is the same image in any order. What filter_union() refuses, it refuses in any
// order.
#include "tests/support/sql_samples.hpp"
#include "tests/support/sql_script.hpp"

namespace cuckoo::test {
namespace filter_image_union_model_test {
namespace {

constexpr uint64_t kCopiesInBuckets = 8;

struct Given {
  KeyBag keys;
  std::string options;  // as a table's
  double rate = 0;
  uint64_t capacity = 0;
  bool hashes = false;
};

class UnionScript : public Script {
 public:
  explicit UnionScript(uint64_t seed) : Script(seed), kind_(pick(kFilterKinds)) {
    db_.run("CREATE TABLE i(b)");
  }

  void run() {
    const bool alike = one_in(3);
    const uint64_t without = one_in(4) ? 1 + random(2) : 0;
    const uint64_t images = 1 + random(6);
    for (uint64_t i = 0; i < images; ++i) {
      make(alike, i >= without);
    }
    const bool by_hashes = std::all_of(images_.begin(), images_.end(),
                                       [](const Given& given) { return given.hashes; });
    const Outcome outcome = db_.attempt("CREATE TABLE u AS SELECT filter_union(b) AS b FROM i");
    EXPECT_TRUE(outcome.code == SQLITE_OK || !by_hashes) << outcome.message;
    for (int turn = 0; turn < 4; ++turn) {
      in_another_order(outcome, by_hashes);
    }
    if (outcome.code != SQLITE_OK) {
      const bool known = outcome.message.find("the images differ in") != std::string::npos ||
                         outcome.message.starts_with("full: filter_union: ");
      EXPECT_TRUE(known) << outcome.message;
      return;
    }
    look_at_all(by_hashes);
    if (by_hashes) {
      look_at_parameters();
      go_on_in_tables();
    }
  }

 private:
  bool built() const { return kind_ == "cuckoo_filter(" || kind_ == "bloom_filter("; }

  static std::string text_of(double rate) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", rate);
    return text;
  }

  // Makes an image with an aggregate, or from a table that may have grown.
  void make(bool alike, bool hashes) {
    Given given;
    given.hashes = hashes;
    given.rate = alike ? 0.01 : pick({0.1, 0.01, 0.001, 1e-5});
    given.capacity = alike ? 900 : 1 + random(1000);
    const int64_t first = static_cast<int64_t>(random(800));
    uint64_t items = 0;
    db_.run("DROP TABLE IF EXISTS t; CREATE TABLE t(k)");
    std::string rows;
    for (uint64_t keys = random(given.capacity < 300 ? given.capacity : 300); keys > 0; --keys) {
      const int64_t key = first + static_cast<int64_t>(random(400));
      const uint64_t copies = one_in(20) ? 1 + random(15) : 1;
      for (uint64_t copy = 0; copy < copies && items < given.capacity; ++copy, ++items) {
        ++given.keys[key];
        rows += (rows.empty() ? "(" : ", (") + std::to_string(key) + ")";
      }
    }
    if (!rows.empty()) {
      db_.run("INSERT INTO t VALUES " + rows);
    }
    if (built() && one_in(2)) {
      db_.run("INSERT INTO i SELECT coalesce(" + module() + "_build(k, " + text_of(given.rate) +
              ", " + std::to_string(given.capacity) + ", 5" + (hashes ? ", 'hashes'" : "") +
              "), 0) FROM (SELECT k FROM t UNION ALL SELECT NULL)");
    } else {
      const bool small = !alike && hashes && one_in(3);
      given.capacity = small ? 1 + given.capacity / 10 : given.capacity;
      db_.run("CREATE VIRTUAL TABLE s USING " + kind_ + "seed = 5, fpr = " + text_of(given.rate) +
              ", capacity = " + std::to_string(given.capacity) +
              "); INSERT INTO s SELECT k FROM t; INSERT INTO i SELECT filter_export('s'" +
              (hashes ? ", 'hashes'" : "") + ")");
      given.capacity = static_cast<uint64_t>(db_.number("SELECT capacity FROM filter_info('s')"));
      db_.run("DROP TABLE s");
    }
    images_.push_back(std::move(given));
  }
  std::string module() const { return kind_[0] == 'c' ? "cuckoo" : "bloom"; }

  void in_another_order(const Outcome& expected, bool by_hashes) {
    const std::string query =
        "SELECT filter_union(b) FROM (SELECT b FROM i ORDER BY random() LIMIT 100)";
    if (expected.code != SQLITE_OK) {
      EXPECT_EQ(db_.attempt(query).code, expected.code) << expected.message;
    } else if (by_hashes) {
      EXPECT_EQ(db_.number("SELECT (" + query + ") = b FROM u"), 1);
    } else {
      EXPECT_EQ(db_.text("SELECT log_entries FROM filter_info((" + query + "))"), "0");
    }
  }

  KeyBag all_keys() const {
    KeyBag all;
    for (const Given& given : images_) {
      for (const auto& [key, copies] : given.keys) {
        all[key] += copies;
      }
    }
    return all;
  }
  void look_at_all(bool by_hashes) {
    const KeyBag all = all_keys();
    EXPECT_EQ(
        db_.number("SELECT count(*) FROM u, " + json_of(all) + " WHERE filter_contains(b, value)"),
        static_cast<int64_t>(all.size()));
    const int64_t found = db_.number("SELECT items FROM u, filter_info(b)");
    const auto expected = static_cast<int64_t>(counts_copies(kind_) ? items_of(all) : all.size());
    if (by_hashes || counts_copies(kind_)) {
      EXPECT_EQ(found, expected);
    } else {
      EXPECT_LE(found, expected + expected / 10 + 5);
    }
  }

  // The union has the images' strictest rate, and their largest capacity or room for all keys,
  // whichever is more.
  void look_at_parameters() {
    double rate = 1;
    uint64_t capacity = 1;
    for (const Given& given : images_) {
      rate = std::min(rate, given.rate);
      capacity = std::max(capacity, given.capacity);
    }
    const KeyBag all = all_keys();
    uint64_t needed = all.size();
    if (kind_[0] == 'c') {
      needed = 0;
      for (const auto& [key, copies] : all) {
        needed += copies <= kCopiesInBuckets ? copies : 1;
      }
    }
    EXPECT_EQ(db_.text("SELECT capacity || ' ' || log_entries FROM u, filter_info(b)"),
              std::to_string(std::max(capacity, needed)) + " " + std::to_string(all.size()));
    EXPECT_EQ(
        db_.number("SELECT abs(fpr / " + text_of(rate) + " - 1) < 1e-9 FROM u, filter_info(b)"), 1);
    const double positives =
        static_cast<double>(db_.number("SELECT count(*) FROM u, (" + numbers(100'000, 104'000) +
                                       ") WHERE"
                                       " filter_contains(b, i)"));
    EXPECT_LE(positives, 4000 * rate * 1.3 + 12);
  }

  // Imports the union into one table, and merges it into one with other keys and another geometry.
  // Both tables keep all keys.
  void go_on_in_tables() {
    const KeyBag all = all_keys();
    db_.run("CREATE VIRTUAL TABLE f USING " + kind_ + "capacity = 10);" +
            "CREATE VIRTUAL TABLE g USING " + kind_ +
            "capacity = 70, fpr = 0.05, seed = 5); INSERT INTO g " + numbers(5001, 5100) +
            "; INSERT INTO f(f, key) SELECT 'import', b FROM u; INSERT INTO g(g, key) SELECT"
            " 'merge', b FROM u; INSERT INTO f " +
            numbers(5001, 5100));
    for (const std::string table : {"f", "g"}) {
      check(db_, table);
      EXPECT_EQ(db_.number("SELECT count(*) FROM " + json_of(all) + " JOIN " + table +
                           " AS x ON x.key = value"),
                static_cast<int64_t>(all.size()));
      EXPECT_EQ(present(db_, 5001, 5100, table), 100);
      if (counts_copies(kind_)) {
        EXPECT_EQ(db_.number("SELECT count(*) FROM " + table),
                  static_cast<int64_t>(items_of(all) + 100));
        for (const auto& [key, copies] : all) {
          if (one_in(20)) {
            EXPECT_GE(
                db_.number("SELECT count FROM " + table + " WHERE key = " + std::to_string(key)),
                static_cast<int64_t>(copies));
          }
        }
      }
    }
    db_.run("INSERT INTO f " + numbers(6001, 9000) + "; INSERT INTO f(f) VALUES ('rebuild')");
    check(db_);
    EXPECT_EQ(present(db_, 5001, 5100) + present(db_, 6001, 9000), 3100);
  }

  Database db_;
  const std::string kind_;
  std::vector<Given> images_;
};

TEST(ImageUnionModel, random_groups_lose_no_key_in_any_order) { run_scripts<UnionScript>(150); }

}  // namespace
}  // namespace filter_image_union_model_test
}  // namespace cuckoo::test
