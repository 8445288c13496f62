// filter_parts(), and 'apply' of what it gives, through a real connection. A low limit of lengths
// (SQLITE_LIMIT_LENGTH) makes short parts of short messages.
#include <string>
#include <vector>

#include "tests/support/names.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_parts_test {
namespace {

constexpr int kPartBytes = 6000;

// An origin o, an older copy c, and the table parts(message, part, piece).
class Parts : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    db.run("CREATE VIRTUAL TABLE o USING {}(key, seed = 7)", kind());
    db.run("INSERT INTO o " + numbers(1, 30000));
    db.run("CREATE TABLE parts(message, part, piece)");
    make("c");
    apply_whole("c");
    before = mark_of(db, "c");
    db.run("INSERT INTO parts SELECT 'old', 1, filter_changes('o', NULL)");
    db.run("INSERT INTO o " + numbers(30001, 31000));
    after = mark_of(db, "o");
    ASSERT_NE(before, after);
    cut("changes", "filter_mark('c')");
    cut("image", "NULL");
    db.run("INSERT INTO o VALUES (31001)");
    cut("later", "NULL");
  }
  virtual const char* kind() const { return "cuckoo_filter"; }

  void make(const std::string& name) {
    db.run("CREATE VIRTUAL TABLE {} USING {}(key, seed = 8)", name, kind());
  }
  void apply_whole(const std::string& name) {
    db.run("INSERT INTO {}({}, key) SELECT 'apply', filter_changes('o', NULL)", name, name);
  }
  void cut(const std::string& message, const std::string& mark) {
    const int limit = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, kPartBytes);
    db.run("INSERT INTO parts SELECT '{}', part, piece FROM filter_parts('o', {}, '1MB')", message,
           mark);
    sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limit);
  }
  int64_t parts(const std::string& message) {
    return db.number("SELECT count(*) FROM parts WHERE message = '{}'", message);
  }
  static std::string apply(const std::string& message, const std::string& which) {
    return "INSERT INTO c(c, key) SELECT 'apply', piece FROM parts WHERE message = '" + message +
           "' AND part " + which;
  }
  void expect(const std::string& its_mark, int64_t keys) {
    EXPECT_EQ(mark_of(db, "c"), its_mark);
    db.gives("SELECT cuckoo_check('c')", "ok");
    EXPECT_EQ(present(db, 1, keys, "c"), keys);
  }

  Database db;
  std::string before, after;
};

class PartsOfKinds : public Parts {
  const char* kind() const override { return GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Each, PartsOfKinds, testing::Values("cuckoo_filter", "bloom_filter"),
                         kParameterName);

TEST_P(PartsOfKinds, bring_a_copy_up_to_date) {
  for (const std::string message : {"changes", "image"}) {
    db.run("BEGIN");
    for (int64_t part = 1; part <= parts(message); ++part) {
      EXPECT_EQ(mark_of(db, "c"), before);
      db.run(apply(message, "= " + std::to_string(part)));
    }
    expect(after, 31000);
    db.run("ROLLBACK");
    expect(before, 30000);
  }
  db.run(apply("changes", "> 0 ORDER BY part"));
  expect(after, 31000);
  db.run(apply("changes", "> 0 ORDER BY part"));
  expect(after, 31000);
  db.gives("SELECT count(*) FROM c_data WHERE id < 0", 0);
}

TEST_F(Parts, out_of_order_twice_mixed_or_left_out_are_refused_and_the_series_goes_on) {
  const int64_t count = parts("image");
  ASSERT_GE(count, 5);
  db.refuses(apply("image", "= 2"), {"c: apply: part 2 of ", "expected part 1"});
  db.run("BEGIN; " + apply("image", "= 1"));
  const auto refused = [&] {
    db.refuses(apply("image", "= 1"), {"c: apply: part 1 of", "expected part 2"});
    db.refuses(apply("image", "= 3"), {"c: apply: part 3 of", "expected part 2"});
    db.refuses(apply("later", "= 2"), {"c: apply: a part of another message"});
    db.refuses(apply("later", "= 1"), {"another message", "part 2 of"});
    db.refuses(apply("changes", "= 1"), {"another message"});
  };
  refused();
  const std::string missing = std::to_string(count - 1) + " of " + std::to_string(count) + " parts";
  for (const std::string other :
       {"INSERT INTO c VALUES (5)", "INSERT INTO c VALUES ('x')", "DELETE FROM c WHERE key = 5",
        "UPDATE c SET key = 6 WHERE key = 5", "INSERT INTO c(c) VALUES ('clear')",
        "INSERT INTO c(c) VALUES ('rebuild')", "INSERT INTO c(c, key) VALUES ('merge', 'o')",
        "INSERT INTO c(c, key) SELECT 'import', filter_export('o')",
        "INSERT INTO c(c, key) SELECT 'apply', filter_changes('o', NULL)",
        "INSERT OR IGNORE INTO c VALUES (99999)", "ALTER TABLE c RENAME TO d"}) {
    db.refuses(other, {"c: apply: " + missing + " are missing", "in their order"});
  }
  db.gives("SELECT cuckoo_check('c')", "ok");
  check(db, "c");
  EXPECT_EQ(mark_of(db, "c"), before);
  EXPECT_EQ(present(db, 1, 30000, "c"), 30000);
  refused();
  db.run(apply("image", "> 1 ORDER BY part") + "; INSERT INTO c VALUES (77777)");
  db.run("COMMIT");
  EXPECT_EQ(present(db, 77777, 77777, "c"), 1);
  db.gives("SELECT cuckoo_check('c')", "ok");
}

TEST_F(Parts, a_commit_in_between_fails_says_how_many_are_missing_and_rolls_back) {
  const std::string count = std::to_string(parts("image"));
  db.refuses(apply("image", "= 1"), {sql("c: apply: {} of {} parts", parts("image") - 1, count)});
  for (const char* begin : {"BEGIN", "SAVEPOINT s"}) {
    db.run("{}; INSERT INTO parts(message) VALUES ('lost'); {}", begin,
           apply("image", "< " + count));
    db.refuses(std::string(begin) == "BEGIN" ? "COMMIT" : "RELEASE s",
               {"c: apply: 1 of " + count + " parts is missing"});
    db.attempt("ROLLBACK");
    EXPECT_EQ(parts("lost"), 0) << begin;
    expect(before, 30000);
  }
  db.run("INSERT INTO c VALUES (5)");
}

// If a statement fails half-way, the copy keeps none of its parts.
TEST_F(Parts, of_a_statement_that_fails_are_taken_back) {
  db.run("BEGIN; " + apply("image", "= 1"));
  db.refuses(
      "INSERT INTO c(c, key) SELECT 'apply', piece FROM parts WHERE message = 'image'"
      " AND part IN (2, 3, 5) ORDER BY part",
      {"part 5 of", "expected part 4"});
  db.refuses(apply("image", "= 3"), {"expected part 2"});
  db.run(apply("image", "> 1 ORDER BY part") + "; COMMIT");
  expect(after, 31000);
}

TEST_F(Parts, are_dropped_with_the_table_and_by_a_rollback) {
  db.run("BEGIN; {}; ROLLBACK; INSERT INTO c VALUES (40000)", apply("image", "= 1"));
  db.gives("SELECT cuckoo_check('c')", "ok");
  db.run("BEGIN; {}; DROP TABLE c; COMMIT", apply("image", "= 1"));
  db.gives("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'c%'", 0);
}

// A change of the schema connects a table anew, even a table that this transaction made.
TEST_F(Parts, survive_a_change_of_the_schema_in_between) {
  for (const bool made_now : {false, true}) {
    db.run(
        std::string("BEGIN; ") +
        (made_now ? "DROP TABLE c; CREATE VIRTUAL TABLE c USING cuckoo_filter(seed = 8); " : "") +
        apply("image", "= 1"));
    db.run("CREATE TABLE other(x); SELECT count(*) FROM other");
    db.run(apply("image", "= 2"));
    db.run("SAVEPOINT s; CREATE TABLE another(x); ROLLBACK TO s");
    db.run(apply("image", "= 3"));
    db.refuses("COMMIT", {"c: apply: ", "missing"});
    db.attempt("ROLLBACK");
    expect(before, 30000);
    db.run(
        std::string("BEGIN; ") +
        (made_now ? "DROP TABLE c; CREATE VIRTUAL TABLE c USING cuckoo_filter(seed = 8); " : "") +
        apply("image", "< 3 ORDER BY part"));
    db.run("CREATE TABLE other(x)");
    db.run(apply("image", "> 2 ORDER BY part") + "; COMMIT; DROP TABLE other");
    expect(after, 31000);
    db.run("DROP TABLE c");
    make("c");
    db.run("INSERT INTO c(c, key) SELECT 'apply', piece FROM parts WHERE message = 'old'");
    expect(before, 30000);
  }
}

TEST_F(Parts, of_changes_from_another_mark_are_refused_with_the_first) {
  ASSERT_GE(parts("changes"), 1);
  db.run("INSERT INTO o " + numbers(40000, 43000));
  apply_whole("c");
  const std::string old = mark_of(db, "c");
  db.run("INSERT INTO o " + numbers(60000, 61400));
  cut("far", "filter_mark('c')");
  ASSERT_GE(parts("far"), 2);
  ASSERT_EQ(db.text("SELECT hex(substr(piece, 41, 6)) FROM parts"
                    " WHERE message = 'far' AND part = 1"),
            "434B4D53040A");
  db.run("INSERT INTO c VALUES (5)");
  db.refuses("BEGIN; " + apply("far", "= 1"), {"c: apply: the changes lead from"});
  db.run("ROLLBACK");
}

TEST_F(Parts, that_are_damaged_are_found_by_a_check) {
  const auto finds = [this](const std::string& damage, const std::string& what) {
    db.run("BEGIN; " + apply("image", "= 1") + "; " + damage);
    const std::string found = db.text("SELECT cuckoo_check('c')");
    EXPECT_NE(found.find(what), std::string::npos) << damage << ": " << found;
    db.run("ROLLBACK");
  };
  finds("UPDATE c_data SET block = x'00112233445566778899' WHERE id = -72057594037927935",
        "checksum");
  finds("UPDATE c_data SET block = x'00112233445566778899' WHERE id = -2", "checksum");
  finds("INSERT INTO c_data VALUES (-1, x'00')", "does not belong here");
  finds("INSERT INTO c_data VALUES (-72057594037927937, x'00')", "does not belong here");
  expect(before, 30000);
}

// The copy refuses each message at its first part, for the reason that would refuse the last one.
TEST_F(Parts, of_another_kind_are_refused_with_the_first) {
  const auto refuses_first = [this](const std::string& table, const std::string& from,
                                    const std::string& mark,
                                    const std::vector<std::string>& parts) {
    const int limit = sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, kPartBytes);
    db.run(
        "DROP TABLE IF EXISTS sent;"
        " CREATE TABLE sent AS SELECT * FROM filter_parts('{}', {}, '1MB')",
        from, mark);
    sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, limit);
    ASSERT_GE(db.number("SELECT count(*) FROM sent"), 2);
    db.refuses(
        sql("INSERT INTO {}({}, key) SELECT 'apply', piece FROM sent WHERE part = 1", table, table),
        parts);
  };
  db.run("CREATE VIRTUAL TABLE w USING cuckoo_filter(generations = 3)");
  db.run("CREATE VIRTUAL TABLE v USING cuckoo_filter(generations = 2)");
  db.run("CREATE VIRTUAL TABLE bloom USING bloom_filter()");
  db.run("CREATE VIRTUAL TABLE bloom_window USING bloom_filter(generations = 3)");
  db.run("CREATE VIRTUAL TABLE once USING cuckoo_filter(unique = on)");
  db.run("CREATE VIRTUAL TABLE texts USING cuckoo_filter(key TEXT)");
  db.run("INSERT INTO w " + numbers(1, 20000));
  refuses_first("bloom", "o", "NULL", {"bloom: apply: the image is of a cuckoo_filter"});
  refuses_first("once", "o", "NULL", {"once: apply: unique = on follows", "'import'"});
  refuses_first("texts", "o", "NULL", {"texts: apply: ", "TEXT"});
  refuses_first("v", "o", "NULL", {"v: apply: the BLOB is of a single filter"});
  refuses_first("c", "w", "NULL", {"c: apply: ", "generations = 3"});
  refuses_first("bloom_window", "w", "NULL", {"bloom_window: apply: ", "a cuckoo_filter"});
  db.run("INSERT INTO v(v, key) SELECT 'apply', filter_changes('w', NULL)");
  db.run("INSERT INTO w " + numbers(30001, 31000));
  db.run("INSERT INTO v VALUES (5); CREATE TABLE old AS SELECT filter_mark('w') AS mark");
  db.run("INSERT INTO w " + numbers(40001, 41300));
  refuses_first("v", "w", "(SELECT mark FROM old)", {"v: apply: the changes lead from mark"});
}

// Part 1 describes the whole message. Other parts say only which part they are, of how many.
TEST_F(Parts, are_described_by_filter_info) {
  const std::string count = std::to_string(parts("image"));
  const auto row = [this](const std::string& columns, const std::string& where) {
    return db.list("SELECT {} FROM parts p, filter_info(p.piece) i WHERE p.message{}", columns,
                   where);
  };
  EXPECT_EQ(row("i.message || ' ' || i.part || ' ' || i.parts || ' ' || i.kind || ' ' || i.items"
                " || ' ' || (i.disk_bytes = length(p.piece))",
                " = 'image' AND p.part = 1"),
            "part 1 " + count + " cuckoo_filter 31000 1");
  EXPECT_EQ(row("i.message || ' ' || i.part || ' ' || i.parts || coalesce(i.kind, i.items,"
                " i.mark, i.mark_from, i.segments, i.adds, '')",
                " = 'image' AND p.part = 2"),
            "part 2 " + count);
  EXPECT_EQ(row("upper(i.mark_from) || upper(i.mark)", " = 'changes' AND p.part = 1"),
            before + after);
  EXPECT_EQ(row("upper(i.mark)", " = 'image' AND p.part = 1"), after);
}

TEST_F(Parts, of_a_sliding_window_lead_there) {
  db.run("CREATE VIRTUAL TABLE w USING cuckoo_filter(generations = 3, capacity = 900000)");
  db.run("CREATE VIRTUAL TABLE v USING cuckoo_filter(generations = 2)");
  sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, 1'100'000);  // the message is longer
  db.run("INSERT INTO w " + numbers(1, 500'000));
  db.run("INSERT INTO w(w) VALUES ('rotate')");
  db.run("INSERT INTO w " + numbers(500'001, 600'000));
  const auto follow = [this](int64_t least_parts) {
    db.run("DROP TABLE IF EXISTS sent");
    db.run("CREATE TABLE sent AS SELECT * FROM filter_parts('w', filter_mark('v'), '1MB')");
    EXPECT_GE(db.number("SELECT count(*) FROM sent"), least_parts);
    db.gives(
        "SELECT count(*) FROM sent AS s, filter_info(s.piece) AS i"
        " WHERE i.message = 'part' AND i.part = s.part AND i.parts = s.parts",
        db.number("SELECT count(*) FROM sent"));
    db.gives(
        "SELECT i.kind || ' ' || (i.mark = lower(hex(filter_mark('w')))) || ' ' ||"
        " (i.mark_from IS NULL OR i.mark_from = lower(hex(filter_mark('v'))))"
        " FROM sent AS s, filter_info(s.piece) AS i WHERE s.part = 1",
        "cuckoo_filter 1 1");
    db.run("INSERT INTO v(v, key) SELECT 'apply', piece FROM sent ORDER BY part");
    db.gives("SELECT filter_mark('v') = filter_mark('w')", 1);
    db.gives("SELECT cuckoo_check('v')", "ok");
  };
  follow(2);
  db.run("INSERT INTO w(w) VALUES ('rotate'); INSERT INTO w " + numbers(600'001, 1'500'000));
  db.refuses(
      "BEGIN; INSERT INTO v(v, key) SELECT 'apply', piece FROM"
      " filter_parts('w', filter_mark('v'), '1MB') WHERE part = 2",
      {"v: apply: part 2 of ", "expected part 1"});
  db.run("ROLLBACK");
  follow(2);
  db.run("INSERT INTO w VALUES (-1)");
  follow(1);
  EXPECT_EQ(present(db, 1, 1'500'000, "v"), 1'500'000);
}

}  // namespace
}  // namespace cuckoo::test::filter_parts_test
