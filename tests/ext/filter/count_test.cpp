// The column count of INSERT and of the command 'delete': many occurrences at once.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_count_test {
namespace {

constexpr const char* kMultisets[] = {"cuckoo_filter(key, seed = 1",
                                      "bloom_filter(key, counting = on, seed = 1"};

int64_t count_of(Database& db, const std::string& key, const std::string& table = "f") {
  const int64_t found = db.number("SELECT count FROM {} WHERE key = {}", table, key);
  return found < 0 ? 0 : found;
}

int64_t items_of(Database& db, const std::string& table = "f") {
  return db.number("SELECT items FROM filter_info('{}')", table);
}

class Counts : public testing::TestWithParam<const char*> {
 protected:
  void create(Database& db, const std::string& name, const std::string& more = "") {
    db.run("CREATE VIRTUAL TABLE {} USING {}{})", name, GetParam(), more);
  }
  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Counts, testing::ValuesIn(kMultisets),
                         [](const auto& info) { return info.index == 0 ? "cuckoo" : "counting"; });

TEST(CountsOfSets, are_refused_but_for_one) {
  for (const std::string options :
       {"cuckoo_filter(key, unique = on)", "bloom_filter(key, counting = on, unique = on)",
        "bloom_filter(key)", "bloom_filter(key, layout = blocked)",
        "bloom_filter(key TEXT, hash = murmur2)", "bloom_filter(key, generations = 3)"}) {
    Database db;
    db.run("CREATE VIRTUAL TABLE f USING " + options);
    db.refuses("INSERT OR IGNORE INTO f(key, count) VALUES ('a', 2)",
               {"f: count is 2, and ", options.find("unique") != std::string::npos
                                           ? "unique = on holds each key once"
                                           : "make it with counting = on"});
    EXPECT_EQ(items_of(db), 0);
    db.run("INSERT INTO f(key, count) VALUES ('a', 1), ('b', NULL)");
    EXPECT_EQ(items_of(db), 2) << options;
    const bool removes = options.find("unique") != std::string::npos;
    db.refuses("INSERT INTO f(f, key, count) VALUES ('delete', 'a', 2)",
               {removes ? "f: count is 2, and 'delete' finds each key once" : "f: a "});
    EXPECT_EQ(items_of(db), 2) << options;
    if (removes) {
      db.run("INSERT INTO f(f, key, count) VALUES ('delete', 'a', 1), ('delete', 'b', NULL)");
      EXPECT_EQ(items_of(db), 0) << options;
    }
  }
}

// No sum overflows: the filter refuses a count that is too large before it changes anything.
TEST_P(Counts, add_up_to_a_limit_that_is_told) {
  create(db, "f");
  int64_t added = 0;
  while (added < 1000) {
    if (db.attempt("INSERT INTO f(key, count) VALUES ('a', 2147483648)").code != SQLITE_OK) {
      break;
    }
    ++added;
  }
  EXPECT_GT(added, 30);
  EXPECT_LT(added, 1000);
  db.refuses("INSERT INTO f(key, count) VALUES ('a', 2147483648)",
             {"full: f holds ", "and 2147483648 more do not fit"});
  EXPECT_EQ(count_of(db, "'a'"), added << 31);
  check(db);
  for (int64_t i = 0; i < added; ++i) {
    db.run("INSERT INTO f(f, key, count) VALUES ('delete', 'a', 2147483648)");
  }
  EXPECT_EQ(items_of(db), 0);
  check(db);
}

TEST_P(Counts, go_to_copies_images_and_merges) {
  create(db, "f", ", capacity = 2000");
  db.run("INSERT INTO f(key, count) {}SELECT i, i * i FROM n", with_numbers(500));
  create(db, "copy", ", capacity = 2000");
  create(db, "bare", ", capacity = 2000");
  create(db, "sum", ", capacity = 10");
  db.run("INSERT INTO copy(copy, key) VALUES ('import', filter_export('f', 'hashes'))");
  db.run("INSERT INTO bare(bare, key) VALUES ('import', filter_export('f'))");
  db.gives("SELECT filter_behind('f', filter_mark('copy'))", 0);
  db.run("INSERT INTO f(key, count) VALUES (3, 2000000000), ('new', 77)");
  db.run("INSERT INTO f(f, key, count) VALUES ('delete', 400, 159990)");
  db.gives("SELECT filter_behind('f', filter_mark('copy'))", 2000000000 + 77 + 159990);
  EXPECT_LT(db.number("SELECT length(filter_changes('f', filter_mark('copy')))"), 260);
  for (const std::string to : {"copy", "bare"}) {
    db.run("INSERT INTO {}({}, key) VALUES ('apply', filter_changes('f', filter_mark('{}')))", to,
           to, to);
    db.gives(sql("SELECT filter_mark('f') = filter_mark('{}')", to), 1);
    EXPECT_EQ(items_of(db, to), items_of(db));
  }
  db.run(
      "INSERT INTO sum(sum, key) VALUES ('merge', 'f'), ('merge', filter_export('f', 'hashes'))");
  EXPECT_EQ(items_of(db, "sum"), 2 * items_of(db));
  for (const char* const key : {"3", "'new'", "400", "500", "1"}) {
    EXPECT_EQ(count_of(db, key, "copy"), count_of(db, key)) << key;
    EXPECT_EQ(count_of(db, key, "bare"), count_of(db, key)) << key;
    EXPECT_GE(count_of(db, key, "sum"), 2 * count_of(db, key)) << key;
  }
  for (const char* const table : {"f", "copy", "bare", "sum"}) {
    check(db, table);
  }
}

// Occurrences that wait for their fold do not count as keys. Otherwise the image would claim more
// keys than its cells are for.
TEST_P(Counts, of_few_keys_leave_a_small_filter_in_images) {
  for (const std::string more : {"", ", fingerprint_bits = 11"}) {
    if (!more.empty() && std::string(GetParam()).starts_with("bloom")) {
      continue;
    }
    Database one;
    create(one, "f", ", capacity = 10" + more);
    create(one, "copy", ", capacity = 10" + more);
    one.run("INSERT INTO f(key) {}SELECT 'one' FROM n", with_numbers(500));
    one.run("INSERT INTO f(key, count) VALUES ('two', 70000)");
    for (const char* const with : {"", ", 'hashes'"}) {
      one.run("INSERT INTO copy(copy, key) VALUES ('import', filter_export('f'{}))", with);
      EXPECT_EQ(count_of(one, "'one'", "copy"), 500) << more << with;
      EXPECT_EQ(items_of(one, "copy"), 70500) << more << with;
      EXPECT_EQ(one.number("SELECT capacity FROM filter_info('copy')"), 10) << more << with;
      check(one, "copy");
    }
  }
}

// However large a count is, it takes 12 bytes of the log, as two entries would.
TEST_P(Counts, take_the_log_of_two_entries) {
  create(db, "f");
  db.run("INSERT INTO f(key, count) {}SELECT i, 1000000 FROM n", with_numbers(400));
  EXPECT_LE(db.number("SELECT log_entries FROM filter_info('f')"), 801);
  EXPECT_EQ(items_of(db), 400000000);
}

}  // namespace
}  // namespace cuckoo::test::filter_count_test
