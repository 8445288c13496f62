// filter_mark(), filter_changes() and the command 'apply', through real connections.
#include <cctype>
#include <string>

#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_changes_test {
namespace {

std::string image_of(Database& db, const std::string& table, const std::string& what = "") {
  return "x'" + db.text("SELECT hex(filter_export('{}'{}))", table, what) + "'";
}

std::string changes_of(Database& db, const std::string& table, const std::string& mark) {
  return "x'" + db.text("SELECT hex(filter_changes('{}', x'{}'))", table, mark) + "'";
}

// Images from SQL, as the text of a BLOB.
class Changes : public testing::Test {
 protected:
  void SetUp() override {
    db.run("CREATE VIRTUAL TABLE o USING cuckoo_filter(capacity = 5000)");
    db.run("INSERT INTO o " + numbers(1, 3000));
  }
  void make_copy(const std::string& name, const std::string& options, const std::string& what) {
    db.run("CREATE VIRTUAL TABLE {} USING cuckoo_filter({})", name, options);
    db.run(command(name, "import", image_of(db, "o", what)));
  }

  Database db;
};

TEST_F(Changes, arguments_that_are_none_are_refused) {
  const std::string mark = mark_of(db, "o");
  db.refuses("SELECT filter_changes('o', 'abc')", {"filter_changes", "mark", "BLOB"});
  db.refuses("SELECT filter_behind('o', 'abc')", {"filter_behind", "mark", "BLOB"});
  db.refuses("SELECT filter_behind('o', x'00')", {"filter_behind", "no mark", "36"});
  db.refuses("SELECT filter_changes('o', x'00')", {"no mark", "36"});
  db.refuses("SELECT filter_changes('o', zeroblob(60))", {"no mark", "CKMK"});
  make_copy("c", "", "");
  db.refuses(command("c", "apply", "'abc'"), {"c: apply takes what filter_changes() gave", "BLOB"});
  db.refuses(command("c", "apply", "NULL"), {"the origin gave nothing"});
  for (const char* none : {"x'00'", "x''", "zeroblob(300)"}) {
    db.refuses(command("c", "apply", none), {"c: apply: ", "expected CKMS"});
  }
  db.refuses(command("c", "apply", "x'434B494D' || x'00'"), {"BLOB"});
  db.refuses(command("c", "apply", "x'434B494D00'"), {"before the first release"});
  db.run("INSERT INTO o VALUES (5000)");
  std::string changes = changes_of(db, "o", mark);
  changes[changes.size() - 4] = changes[changes.size() - 4] == '0' ? '1' : '0';
  db.refuses(command("c", "apply", changes), {"c: apply: ", "checksum"});
  EXPECT_EQ(mark_of(db, "c"), mark);
}

// If the answer to a request with 'hashes' is an image, it has the hashes that the origin has.
TEST_F(Changes, answer_with_hashes_where_they_are_asked_for) {
  make_copy("c", "", ", 'hashes'");
  const auto rebuilds = [this] {
    db.run("INSERT INTO o(o) VALUES ('clear'); INSERT INTO o " + numbers(1, 100));
    db.run("INSERT INTO c(c, key) SELECT 'apply', filter_changes('o', filter_mark('c'), 'hashes')");
    db.run("INSERT INTO c(c) VALUES ('rebuild')");
    EXPECT_EQ(present(db, 1, 100, "c"), 100);
    EXPECT_EQ(mark_of(db, "c"), mark_of(db, "o"));
  };
  rebuilds();
  rebuilds();
  db.run(
      "INSERT INTO c(c, key) SELECT 'apply', piece FROM filter_parts('o', NULL, '1MB', 'hashes')");
  db.run("INSERT INTO c(c) VALUES ('rebuild')");
  db.run("CREATE VIRTUAL TABLE plain USING cuckoo_filter(growth = off, seed = 3)");
  db.gives("SELECT filter_changes('plain', NULL, 'hashes') = filter_changes('plain', NULL)", 1);
  db.refuses("SELECT filter_changes('o', NULL, 'legacy')",
             {"filter_changes: the third argument is \"legacy\"", "'hashes'"});
}

TEST_F(Changes, say_in_every_error_that_apply_was_the_command) {
  make_copy("c", "", "");
  db.run("CREATE VIRTUAL TABLE once USING cuckoo_filter(unique = on, seed = 3)");
  db.run("CREATE VIRTUAL TABLE b USING bloom_filter(seed = 3)");
  db.run("CREATE VIRTUAL TABLE w USING cuckoo_filter(generations = 2)");
  db.refuses("INSERT INTO once(once, key) SELECT 'apply', filter_changes('o', NULL)",
             {"once: apply: unique = on"});
  db.refuses("INSERT INTO b(b, key) SELECT 'apply', filter_changes('o', NULL)",
             {"b: apply: the image is of"});
  db.refuses("INSERT INTO w(w, key) SELECT 'apply', filter_changes('o', NULL)", {"w: apply: "});
  const std::string mark = mark_of(db, "o");
  db.run("INSERT INTO o VALUES (10001)");
  const std::string image = image_of(db, "o");
  std::string damaged = image;
  damaged[1000] = damaged[1000] == '0' ? '1' : '0';
  for (const std::string name : {"apply", "import", "merge"}) {
    db.refuses(command("c", name, damaged), {"c: " + name + ": ", "checksum"});
    db.refuses(command("c", name, image.substr(0, 400) + "'"),
               {"c: " + name + ": image or changes cut off"});
  }
  const std::string changes = changes_of(db, "o", mark);
  db.run("INSERT INTO c VALUES (5)");
  db.refuses(command("c", "apply", changes), {"c: apply: the changes lead from"});
  db.refuses(command("once", "apply", changes), {"once: apply: the changes lead"});
}

TEST_F(Changes, are_described_by_filter_info) {
  make_copy("c", "", "");
  const std::string before = mark_of(db, "o");
  db.run("INSERT INTO o VALUES (10001), (10001), (10002); DELETE FROM o WHERE key IN (1, 2)");
  EXPECT_EQ(db.rows("SELECT message, kind, items, disk_bytes = length(m), upper(mark_from),"
                    " upper(mark), adds, removes, segments, collation, key_types, capacity, part"
                    " FROM (SELECT filter_changes('o', filter_mark('c')) AS m), filter_info(m)"),
            (std::vector<Row>{{"changes", "cuckoo_filter", "3001", "1", before, mark_of(db, "o"),
                               "3", "2", "0", "BINARY", "INTEGER", "NULL", "NULL"}}));
  EXPECT_EQ(db.rows("SELECT message, items, segments, adds, mark_from, upper(mark)"
                    " FROM filter_info(filter_export('o'))"),
            (std::vector<Row>{{"image", "3001", "1", "NULL", "NULL", mark_of(db, "o")}}));
  db.gives("SELECT message, segments FROM filter_info('o')", "NULL|1");
  std::string damaged = changes_of(db, "o", before);
  damaged[damaged.size() - 30] = damaged[damaged.size() - 30] == '0' ? '1' : '0';
  db.refuses(sql("SELECT * FROM filter_info({})", damaged),
             {"filter_info: changes with a wrong checksum"});
}

TEST_F(Changes, in_wrong_order_is_an_error_that_names_both) {
  make_copy("c", "", "");
  const std::string first = mark_of(db, "o");
  db.run("INSERT INTO o VALUES (10001)");
  const std::string second = mark_of(db, "o");
  db.run("INSERT INTO o VALUES (10002)");
  const std::string late = changes_of(db, "o", second);
  const auto lower_case = [](std::string text) {
    for (char& c : text) {
      c = static_cast<char>(std::tolower(c));
    }
    return text;
  };
  db.refuses(command("c", "apply", late),
             {"c: ", lower_case(second), lower_case(mark_of(db, "o")), lower_case(first),
              "ask for the changes since its own mark"});
  EXPECT_EQ(mark_of(db, "c"), first);
  db.run(command("c", "apply", changes_of(db, "o", first)));
  EXPECT_EQ(mark_of(db, "c"), mark_of(db, "o"));
  db.run("INSERT INTO o VALUES (10003)");
  db.run(command("c", "apply", changes_of(db, "o", mark_of(db, "c"))));
  db.refuses(command("c", "apply", late), {"lead from mark"});
}

TEST_F(Changes, of_keys_that_could_mean_others_are_refused) {
  db.run("CREATE VIRTUAL TABLE t USING cuckoo_filter(key TEXT, capacity = 100)");
  db.run("CREATE VIRTUAL TABLE u USING cuckoo_filter(capacity = 100); INSERT INTO u VALUES ('a')");
  db.run(command("t", "import", image_of(db, "u")));
  const std::string before = mark_of(db, "u");
  db.run("INSERT INTO u VALUES ('b')");
  db.run(command("t", "apply", changes_of(db, "u", before)));
  EXPECT_EQ(present(db, "SELECT 'b' AS i", "t"), 1);
  const std::string middle = mark_of(db, "u");
  db.run("INSERT INTO u VALUES (5)");
  db.refuses(command("t", "apply", changes_of(db, "u", middle)),
             {"t: apply: the changes", "INTEGER"});
  EXPECT_EQ(mark_of(db, "t"), middle);
}

TEST_F(Changes, another_connection_and_a_reopened_one_see_the_mark) {
  TemporaryFolder folder;
  const std::string path = folder.file("a.db");
  const std::string image = image_of(db, "o");
  const std::string before = mark_of(db, "o");
  db.run("INSERT INTO o VALUES (10001)");
  const std::string after = mark_of(db, "o");
  const std::string changes = changes_of(db, "o", before);
  {
    QuickDatabase one(path);
    QuickDatabase other(path);
    one.run("CREATE VIRTUAL TABLE c USING cuckoo_filter()");
    one.run(command("c", "import", image));
    EXPECT_EQ(mark_of(other, "c"), before);
    other.run(command("c", "apply", changes));
    EXPECT_EQ(mark_of(one, "c"), after);
    EXPECT_EQ(present(one, 10001, 10001, "c"), 1);
    one.run("ALTER TABLE c RENAME TO d; VACUUM");
    EXPECT_EQ(mark_of(other, "d"), after);
  }
  QuickDatabase again(path);
  EXPECT_EQ(mark_of(again, "d"), after);
  again.run("INSERT INTO d VALUES (1)");
  EXPECT_NE(mark_of(again, "d"), after) << "from here on it has marks of its own";
  again.run(command("d", "apply", changes_of(again, "d", after)));
}

TEST_F(Changes, unique_follows_unique_alone) {
  db.run("CREATE VIRTUAL TABLE u USING cuckoo_filter(unique = on)");
  db.run(command("u", "import", image_of(db, "o", ", 'hashes'")));
  EXPECT_NE(mark_of(db, "u"), mark_of(db, "o")) << "it counts once what the other may count twice";
  db.run("CREATE VIRTUAL TABLE once USING cuckoo_filter(unique = on, capacity = 100)");
  db.run("INSERT INTO once VALUES (1), (2)");
  db.run("CREATE VIRTUAL TABLE v USING cuckoo_filter(unique = on)");
  db.run(command("v", "import", image_of(db, "once", ", 'hashes'")));
  db.run("INSERT INTO once VALUES (3); DELETE FROM once WHERE key = 1");
  db.run(command("v", "apply", changes_of(db, "once", mark_of(db, "v"))));
  EXPECT_EQ(mark_of(db, "v"), mark_of(db, "once"));
  db.gives("SELECT count(*) FROM v", 2);
  EXPECT_EQ(present(db, 2, 3, "v"), 2);
  check(db, "v");
}

// Cells don't tell copies apart. The image's mark says that there are no copies.
TEST_F(Changes, lead_from_unique_to_unique_without_hashes) {
  for (const std::string kind : {"cuckoo_filter(", "bloom_filter(counting = on, "}) {
    for (const std::string growth : {"off", "on"}) {
      const std::string what = kind + growth;
      db.run("DROP TABLE IF EXISTS a; DROP TABLE IF EXISTS b");
      db.run(
          "CREATE VIRTUAL TABLE a USING {}unique = on, capacity = 3000, seed = 6, fpr = 1e-6,"
          " growth = {})",
          kind, growth);
      db.run("INSERT INTO a " + numbers(1, 1000));
      db.run("CREATE VIRTUAL TABLE b USING {}unique = on, growth = off)", kind);
      db.run(command("b", "import", image_of(db, "a")));
      EXPECT_EQ(mark_of(db, "b"), mark_of(db, "a")) << what;
      for (const std::string& change :
           {"INSERT INTO a " + numbers(1001, 1400), std::string("DELETE FROM a WHERE key = 7"),
            std::string("INSERT INTO a(a) VALUES ('clear'); INSERT INTO a ") + numbers(1, 2500)}) {
        db.run(change);
        db.run("INSERT INTO b(b, key) SELECT 'apply', filter_changes('a', filter_mark('b'))");
        EXPECT_EQ(mark_of(db, "b"), mark_of(db, "a")) << what << change;
        db.gives("SELECT count(*) FROM b", db.number("SELECT count(*) FROM a"));
        check(db, "b");
      }
      EXPECT_EQ(present(db, 1, 2500, "b"), 2500) << what;
      db.run("INSERT OR IGNORE INTO b VALUES (5)");
      EXPECT_EQ(db.number("SELECT changes()"), 0) << what;
      db.run("DELETE FROM b WHERE key = 5; INSERT INTO b VALUES (5)");
      EXPECT_EQ(db.number("SELECT count(*) FROM b"), 2500) << what;
    }
  }
  db.run("CREATE VIRTUAL TABLE u USING cuckoo_filter(unique = on)");
  for (const char* image :
       {"filter_export('o')", "(SELECT cuckoo_build(value) FROM json_each('[1, 2]'))"}) {
    db.refuses(sql("INSERT INTO u(u, key) VALUES ('import', {})", image),
               {"import", "export it with 'hashes'"});
    db.refuses(sql("INSERT INTO u(u, key) VALUES ('apply', {})", image),
               {"apply", "follows only what is unique, too"});
  }
}

TEST_F(Changes, of_what_is_not_unique_are_refused_by_what_is) {
  db.run("CREATE VIRTUAL TABLE u USING cuckoo_filter(unique = on, capacity = 100)");
  db.run("INSERT INTO u VALUES ('a'), ('b'); CREATE VIRTUAL TABLE c USING cuckoo_filter()");
  db.run(command("c", "import", image_of(db, "u", ", 'hashes'")));
  const std::string mark = mark_of(db, "u");
  EXPECT_EQ(mark_of(db, "c"), mark);
  db.run("INSERT INTO c VALUES ('a'), ('a'), ('x')");
  db.refuses(command("u", "apply", changes_of(db, "c", mark)), {"u: ", "unique"});
  EXPECT_EQ(mark_of(db, "u"), mark);
  db.gives("SELECT count(*) FROM u", 2);
}

// A copy that holds something follows its own origin. 'import' takes any image.
TEST_F(Changes, of_another_seed_are_refused_unless_the_copy_is_empty) {
  make_copy("c", "", "");
  const std::string seed = db.text("SELECT seed FROM filter_info('o')");
  db.gives("SELECT seed FROM filter_info('c')", seed);
  db.run("CREATE VIRTUAL TABLE p USING cuckoo_filter(seed = -5); INSERT INTO p VALUES (1), (2)");
  db.gives("SELECT seed FROM filter_info('p')", "-5");
  db.gives("SELECT seed FROM filter_info(filter_export('p'))", "-5");
  db.gives("SELECT seed FROM filter_info(filter_changes('p', filter_mark('p')))", "-5");
  const std::vector<Row> before = shadow_rows(db, "c");
  const std::string mark = mark_of(db, "c");
  const std::initializer_list<std::string> why = {"c: apply: ", "with seed -5", "seed " + seed,
                                                  "holds",      "'import'",     "'clear'"};
  db.refuses(command("c", "apply", changes_of(db, "p", mark)), why);
  db.refuses(command("c", "apply", "filter_export('p')"), why);
  db.refuses(command("c", "apply", "(SELECT piece FROM filter_parts('p', NULL, '1MB'))"), why);
  EXPECT_EQ(shadow_rows(db, "c"), before);
  db.run(command("c", "import", "filter_export('p')"));
  db.gives("SELECT seed FROM filter_info('c')", "-5");
  EXPECT_EQ(mark_of(db, "c"), mark_of(db, "p"));
  db.refuses(command("c", "apply", changes_of(db, "o", mark)), {"c: apply: "});
  db.run("INSERT INTO c(c) VALUES ('clear')");
  db.run(command("c", "apply", "filter_changes('o', filter_mark('c'))"));
  EXPECT_EQ(mark_of(db, "c"), mark_of(db, "o"));
  check(db, "c");
}

// A message whose mark the copy has changes nothing, but it is not believed to be sound.
TEST_F(Changes, that_a_copy_has_already_are_verified) {
  make_copy("c", "", "");
  const std::string image = db.text("SELECT hex(filter_export('o'))");
  const std::vector<Row> before = shadow_rows(db, "c");
  db.run(command("c", "apply", "x'" + image + "'"));
  std::string flipped = image;
  char& digit = flipped[flipped.size() / 2];
  digit = digit == '0' ? '1' : '0';
  db.refuses(command("c", "apply", "x'" + flipped + "'"), {"c: apply: ", "checksum"});
  EXPECT_EQ(shadow_rows(db, "c"), before);
}

TEST_F(Changes, filter_behind_counts_what_came_since) {
  make_copy("c", "", "");
  const std::string mark = mark_of(db, "o");
  const std::string behind = "SELECT filter_behind('o', x'" + mark + "')";
  db.gives(behind, 0);
  db.run("INSERT INTO o " + numbers(3001, 3020));
  db.run("DELETE FROM o WHERE key IN ({})", numbers(1, 5));
  db.gives(behind, 25);
  db.gives("SELECT filter_behind('o', NULL)", "NULL");
  db.run(command("c", "apply", changes_of(db, "o", mark)));
  db.gives(sql("SELECT filter_behind('c', x'{}')", mark), 25);
  db.run("INSERT INTO o(o) VALUES ('clear')");
  db.gives(behind, "NULL");
  db.run("CREATE VIRTUAL TABLE none USING bloom_filter(hash = 'murmur2')");
  db.gives(sql("SELECT filter_behind('none', x'{}')", mark), "NULL");
}

}  // namespace
}  // namespace cuckoo::test::filter_changes_test
