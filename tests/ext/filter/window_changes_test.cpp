// Sliding windows through SQL: images, marks and changes of all generations together.
#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/names.hpp"
#include "tests/support/source_tree.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_window_changes_test {
namespace {

void rotate(Database& db, const std::string& table) {
  db.run("INSERT INTO {}({}) VALUES ('rotate')", table, table);
}

class WindowCopies : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  // The origin o has three generations, and has forgotten one.
  WindowCopies() {
    create(db, "o", "generations = 3, capacity = 200, fpr = 1e-5, seed = 5");
    for (int day = 0; day < 4; ++day) {
      db.run("INSERT INTO o " + numbers(day * 1000, day * 1000 + 99));
      if (day < 3) {
        rotate(db, "o");
      }
    }
  }
  static void create(Database& to, const std::string& table, const std::string& options) {
    to.run("CREATE VIRTUAL TABLE {} USING {}{}{})", table, std::get<0>(GetParam()),
           std::get<1>(GetParam()), options);
  }
  void make_copy(const std::string& table) {
    create(db, table, "generations = 2");
    db.run(command(table, "import", "filter_export('o')"));
  }
  void follow(const std::string& table) {
    db.run(command(table, "apply", "filter_changes('o', filter_mark('" + table + "'))"));
    expect_same(table);
  }
  void expect_same(const std::string& table) {
    EXPECT_EQ(mark_of(db, table), mark_of(db, "o"));
    const std::string figures =
        "SELECT generations || ':' || generation_items FROM filter_info('" + table + "')";
    db.gives(figures, db.text("SELECT generations || ':' || generation_items"
                              " FROM filter_info('o')"));
    db.gives(
        sql("SELECT count(*) FROM ({}) WHERE filter_contains('o', i) <> filter_contains('{}', i)",
            numbers(0, 9999), table),
        0);
    db.gives(sql("SELECT cuckoo_check('{}')", table), "ok");
  }

  Database db;
};

INSTANTIATE_TEST_SUITE_P(Kinds, WindowCopies,
                         testing::Combine(testing::Values("cuckoo_filter(", "bloom_filter(",
                                                          "bloom_filter(layout = blocked, ",
                                                          "bloom_filter(counting = on, "),
                                          testing::Values("", "growth = off, ")),
                         kParameterName);

TEST_P(WindowCopies, follow_by_two_statements) {
  make_copy("c");
  expect_same("c");
  db.run("INSERT INTO o " + numbers(3100, 3120));
  follow("c");
  rotate(db, "o");
  follow("c");
  db.run("INSERT INTO o " + numbers(4000, 4100));
  rotate(db, "o");
  rotate(db, "o");
  follow("c");
  db.run("INSERT INTO o {}; INSERT INTO o(o) VALUES ('clear')", numbers(5000, 5100));
  follow("c");
  db.run("INSERT INTO o " + numbers(6000, 6100));
  for (int turn = 0; turn < 5; ++turn) {
    rotate(db, "o");
  }
  follow("c");
  db.run("INSERT INTO c VALUES (7); INSERT INTO c(c) VALUES ('rotate')");
  follow("c");
  db.gives("SELECT filter_behind('o', filter_mark('c'))", 0);
}

TEST_P(WindowCopies, marks_are_short_and_stand_in_filter_info) {
  db.gives("SELECT typeof(filter_mark('o')) || length(filter_mark('o'))", "blob64");
  db.gives("SELECT upper(mark) FROM filter_info('o')", mark_of(db, "o"));
  db.gives("SELECT upper(mark) FROM filter_info(filter_export('o'))", mark_of(db, "o"));
}

TEST_P(WindowCopies, images_are_asked_like_the_window) {
  db.run("CREATE TABLE i AS SELECT filter_export('o') AS b");
  db.gives(
      sql("SELECT count(*) FROM i, ({}) WHERE filter_contains('o', i) <> filter_contains(b, i)",
          numbers(0, 9999)),
      0);
  db.gives(sql("SELECT sum(filter_contains(b, i)) FROM i, ({})", numbers(1000, 1099)), 100);
  const std::string columns =
      "SELECT kind || ' ' || items || ' ' || generations || ' ' || generation_items || ' ' ||"
      " round(fpr, 9) || ' ' || capacity || ' ' || key_types FROM filter_info(";
  db.gives(columns + "(SELECT b FROM i))", db.text(columns + "'o')"));
  db.gives(
      "SELECT disk_bytes = length(b) AND memory_bytes > 0 AND fpr_now < 1e-4"
      " FROM i, filter_info(b)",
      1);
}

TEST_P(WindowCopies, answers_to_strange_marks_are_images) {
  create(db, "w", "generations = 3, seed = 5");
  db.run("CREATE VIRTUAL TABLE one USING cuckoo_filter(seed = 5)");
  const std::string image = db.text("SELECT hex(filter_export('o'))");
  for (const char* mark : {"NULL", "filter_mark('w')", "filter_mark('one')"}) {
    db.gives(sql("SELECT hex(filter_changes('o', {}))", mark), image);
    db.gives(sql("SELECT filter_behind('o', {})", mark), "NULL");
  }
  db.gives("SELECT filter_changes('one', filter_mark('o')) = filter_export('one')", 1);
  db.gives("SELECT filter_behind('one', filter_mark('o'))", "NULL");
  for (const char* function : {"filter_changes", "filter_behind"}) {
    const std::string call = sql("SELECT {}('o', ", function);
    db.refuses(call + "x'00')", {function, "no mark", "CKWM"});
    db.refuses(call + "zeroblob(64))", {function, "no mark"});
    db.refuses(call + "'abc')", {function, "BLOB"});
  }
}

TEST_P(WindowCopies, what_does_not_fit_is_refused_and_changes_nothing) {
  create(db, "one", "seed = 5");
  create(db, "w", "generations = 2");
  for (const char* type : {"TEXT", "INTEGER"}) {
    std::string module = std::get<0>(GetParam());
    module.insert(module.find('(') + 1, std::string("key ") + type + ", ");
    db.run("CREATE VIRTUAL TABLE {} USING {}generations = 3)", (type[0] == 'T' ? "t" : "n"),
           module);
  }
  const bool cuckoo = std::string(std::get<0>(GetParam())).starts_with("cuckoo");
  db.run("CREATE VIRTUAL TABLE other USING {}_filter(generations = 3)",
         (cuckoo ? "bloom" : "cuckoo"));
  db.run("INSERT INTO one VALUES (1); INSERT INTO w VALUES (2); INSERT INTO t VALUES ('a')");
  const auto refuses = [this](const std::string& table, const std::string& name,
                              const std::string& what, const std::vector<std::string>& parts) {
    const std::vector<Row> before = shadow_rows(db, table);
    db.run("BEGIN");
    db.refuses(command(table, name, what), parts);
    EXPECT_EQ(sqlite3_get_autocommit(db.handle()), 0);
    db.run("COMMIT");
    EXPECT_EQ(shadow_rows(db, table), before) << what;
  };
  for (const char* name : {"import", "apply"}) {
    refuses("one", name, "filter_export('o')",
            {"one: ", name, "window of 3 generations", "generations = 1"});
    refuses("w", name, "filter_export('one')",
            {"w: ", name, "single filter", "window of 2 generations"});
    refuses("w", name, "x'00'", {"w: ", name, "CKIW"});
    refuses("w", name, "filter_export('other')", {"w: ", "bloom_filter", "cuckoo_filter"});
    refuses("n", name, "filter_export('t')", {"n: ", "TEXT", "INTEGER"});
  }
  refuses("w", "apply", "filter_changes('one', filter_mark('one'))", {"w: apply", "single"});
  refuses("one", "apply", "filter_changes('o', filter_mark('o'))", {"one: apply", "window"});
  refuses("w", "import", "filter_changes('o', filter_mark('o'))", {"w: import", "apply"});
  refuses("w", "apply", "filter_changes('o', filter_mark('o'))", {"w: ", "lead from mark"});
  refuses("one", "merge", "filter_export('o')", {"one: ", "window", "merged"});
  refuses("w", "merge", "filter_export('o')", {"w: ", "window", "merged"});
  refuses("w", "apply", "NULL", {"w: apply", "NULL"});
  db.refuses("SELECT filter_union(b) FROM (SELECT filter_export('o') AS b)",
             {"filter_union", "window", "merged"});
  db.refuses(
      "SELECT filter_union(b) FROM (SELECT filter_export('one') AS b UNION ALL"
      " SELECT filter_export('o'))",
      {"filter_union", "window", "merged"});
  db.refuses("SELECT filter_contains(filter_changes('o', filter_mark('o')), 1)",
             {"filter_contains", "changes", "image"});
  if (std::string(std::get<1>(GetParam())).empty()) {
    create(db, "c", "generations = 3");
    db.run(command("c", "import", "filter_export('o')"));
    db.refuses("SELECT filter_export('c', 'hashes')", {"c: ", "without hashes"});
  } else {
    db.refuses("SELECT filter_export('o', 'hashes')", {"o: ", "growth"});
  }
}

// A message has hashes even if a generation comes as an image, because the image is shorter than
// the keys.
TEST(WindowMessages, have_hashes_if_they_are_asked_for) {
  for (const char* module : {"cuckoo_filter(", "bloom_filter(", "bloom_filter(counting = on, "}) {
    Database db;
    const std::string options = std::string(module) + "generations = 3";
    db.run("CREATE VIRTUAL TABLE o USING {}, capacity = 100)", options);
    db.run("CREATE VIRTUAL TABLE c USING {})", options);
    const std::string follow =
        "INSERT INTO c(c, key) SELECT 'apply', filter_changes('o', filter_mark('c'), 'hashes')";
    db.run(follow);
    db.run("INSERT INTO o(o) VALUES ('rotate'); INSERT INTO o " + numbers(1, 99));
    db.run(follow);
    db.run("INSERT INTO o(o) VALUES ('rotate'); INSERT INTO o " + numbers(100, 199));
    db.run("INSERT INTO o(o) VALUES ('rotate'); INSERT INTO o " + numbers(200, 299));
    db.run(follow);
    EXPECT_EQ(db.number("SELECT filter_mark('o') = filter_mark('c')"), 1) << module;
    db.run("INSERT INTO c {}; INSERT INTO c(c) VALUES ('rebuild')", numbers(300, 900));
    EXPECT_EQ(db.text("SELECT typeof(filter_export('c', 'hashes'))"), "blob") << module;
    EXPECT_EQ(present(db, 1, 900, "c"), 900) << module;
  }
}

// docs/images.md says what copies cost a day that ask once, each hour, and each five minutes. At
// any other rhythm they cost no more than at the last one.
TEST(WindowCost, of_a_copy_is_what_the_page_says) {
  constexpr int64_t kKeysADay = 80'000;
  std::ifstream page(source_path("docs/images.md"));
  std::stringstream read;
  read << page.rdbuf();
  const std::string text = std::regex_replace(read.str(), std::regex("\\s+"), " ");
  std::smatch figures;
  ASSERT_TRUE(std::regex_search(
      text, figures,
      std::regex(
          "asks once a day gets (\\d+) KB a day\\. A copy that asks each hour gets \\d+ KB"
          " each time, (\\d+) KB a day\\. If it asks each five minutes, it gets (\\d+) KB")));
  const auto figure = [&figures](size_t i) { return std::stod(figures[i]); };
  const std::map<int, double> expected = {{1, figure(1)}, {24, figure(2)}, {288, figure(3)}};
  for (const int asks : {1, 2, 3, 4, 7, 12, 24, 288}) {
    SCOPED_TRACE(asks);
    Database db;
    for (const char* table : {"o", "c"}) {
      db.run(
          "CREATE VIRTUAL TABLE {} USING cuckoo_filter(k, capacity = 100000, fpr = 0.001,"
          " generations = 7, seed = 1)",
          table);
    }
    int64_t next = 0;
    int64_t bytes = 0;
    for (int day = 0; day < 4; ++day) {
      db.run("INSERT INTO o(o) VALUES ('rotate')");
      bytes = 0;
      for (int ask = 1; ask <= asks; ++ask) {
        const int64_t end = day * kKeysADay + kKeysADay * ask / asks;
        db.run("INSERT INTO o {}", numbers(next + 1, end));
        next = end;
        db.run("CREATE TABLE m AS SELECT filter_changes('o', filter_mark('c')) AS b");
        db.run("INSERT INTO c(c, k) SELECT 'apply', b FROM m");
        bytes += db.number("SELECT length(b) FROM m");
        db.run("DROP TABLE m");
        ASSERT_EQ(db.number("SELECT filter_mark('o') = filter_mark('c')"), 1);
      }
    }
    EXPECT_LE(static_cast<double>(bytes) / 1000, figure(3) + 15);
    if (expected.contains(asks)) {
      EXPECT_NEAR(static_cast<double>(bytes) / 1000, expected.at(asks), asks == 1 ? 5 : 15);
    }
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_window_changes_test
