// COLLATE NOCASE and RTRIM on a filter's key: the keys that SQLite's collation calls equal are one
// key, in every way to ask.
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_collation_test {
namespace {

constexpr const char* kAll[] = {"BINARY", "NOCASE", "RTRIM"};

std::string create(const std::string& column, const std::string& module = "cuckoo_filter",
                   const std::string& more = "") {
  return "CREATE VIRTUAL TABLE f USING " + module + "(" + column + ", seed = 5, fpr = 1e-9" + more +
         ")";
}

// Whatever could make a difference: case, spaces at the end, NULs, letters beyond ASCII, numbers.
const std::vector<std::string> kTexts = split(
    "'Ada'; 'ada'; 'ADA'; 'ada '; 'ada  '; ' ada'; 'ad'; ''; ' '; '  '; 'Ä'; 'ä'; '[@`{';"
    " 'a' || char(0) || 'B'; 'A' || char(0) || 'b'; 'a' || char(0) || 'x'; 'a' || char(0);"
    " 'A' || char(0, 0); 'a' || char(9); 'Z'; 'z'; '1'; '€ '; '€'; 1; 1.5; x'414441'; x'616461';"
    " x'20'",
    "; ");

// SQLite says which of the texts are equal: the test asks an ordinary column of that collation.
TEST(Collation, finds_what_an_ordinary_column_of_it_would) {
  for (const std::string collation : kAll) {
    for (const std::string encoding : {"UTF-8", "UTF-16le"}) {
      Database db;
      db.run("PRAGMA encoding = '{}'", encoding);
      db.run("{}; CREATE TABLE t(v COLLATE {})", create("k COLLATE " + collation), collation);
      for (const std::string& stored : kTexts) {
        db.run("DELETE FROM t; INSERT INTO f(f) VALUES ('clear')");
        db.run("INSERT INTO t VALUES ({}); INSERT INTO f VALUES ({})", stored, stored);
        for (const std::string& asked : kTexts) {
          const int64_t expected = db.number("SELECT count(*) FROM t WHERE v = " + asked);
          const std::string what = collation + ": " + stored + ", " + asked;
          EXPECT_EQ(db.number("SELECT count(*) FROM f WHERE k = " + asked), expected) << what;
          EXPECT_EQ(db.number("SELECT count(*) FROM f WHERE k IN ({}, 'other')", asked), expected)
              << what;
          EXPECT_EQ(db.number("SELECT filter_contains('f', {})", asked), expected) << what;
          EXPECT_EQ(db.number("SELECT filter_contains(filter_export('f'), {})", asked), expected)
              << what;
          EXPECT_EQ(db.text("SELECT quote(k) FROM f WHERE k = " + asked),
                    expected == 0 ? "none" : db.text("SELECT quote({})", asked))
              << what;
        }
      }
      db.run("INSERT INTO f(f) VALUES ('check')");
    }
  }
}

TEST(Collation, decides_alone_what_is_deleted_or_updated) {
  Database db;
  db.run(create("k TEXT COLLATE NOCASE") +
         "; CREATE TABLE t(v TEXT); INSERT INTO t VALUES ('ADA'); INSERT INTO f VALUES ('Ada')");
  const std::string kWheres[] = {"k = 'ADA' COLLATE BINARY", "k COLLATE BINARY = 'ADA'",
                                 "k COLLATE BINARY IN ('ADA', 'x')",
                                 "k COLLATE BINARY IN (SELECT v FROM t)"};
  for (const std::string& where : kWheres) {
    for (const char* change : {"DELETE FROM f WHERE ", "UPDATE f SET k = 'x' WHERE "}) {
      db.refuses(change + where, {"DELETE and UPDATE", "k = value"});
      EXPECT_EQ(db.number("SELECT count(*) FROM f WHERE k = 'ada'"), 1) << where;
    }
    // The filter does not mistake a later statement for the refused one.
    db.run("INSERT INTO f VALUES ('Eve'); SELECT 1 FROM f WHERE k = 'EVE' COLLATE BINARY");
    db.run("DELETE FROM f WHERE k = 'eVE'");
    EXPECT_EQ(db.number("SELECT count(*) FROM f WHERE k = 'eve'"), 0) << where;
  }
  // The filter also allows a DELETE while another statement reads by BINARY.
  db.run("INSERT INTO f VALUES ('Eve')");
  Query reading(db, "SELECT 1 FROM f WHERE k = 'EVE' COLLATE BINARY");
  EXPECT_EQ(reading.step(), SQLITE_ROW);
  db.gives("DELETE FROM f WHERE k = 'eVE'; SELECT count(*) FROM f WHERE k = 'eve'", 0);
}

TEST(Collation, is_stored_and_shown) {
  TemporaryFolder folder;
  for (const std::string collation : kAll) {
    const std::string file = folder.file(collation + ".db");
    {
      QuickDatabase db(file);
      db.run(create("\"my key\" TEXT COLLATE \"" + collation + "\""));
      db.run("INSERT INTO f VALUES ('Ada')");
    }
    QuickDatabase db(file);
    db.gives("SELECT collation FROM filter_info('f')", collation);
    db.gives("SELECT collation FROM filter_info(filter_export('f'))", collation);
    const char* declared = nullptr;
    const char* type = nullptr;
    EXPECT_EQ(sqlite3_table_column_metadata(db.handle(), "main", "f", "my key", &type, &declared,
                                            nullptr, nullptr, nullptr),
              SQLITE_OK);
    EXPECT_EQ(declared, collation);
    EXPECT_STREQ(type, "TEXT");
    db.run("ALTER TABLE f RENAME TO g");
    db.gives("SELECT filter_contains('g', 'ADA')", collation == "NOCASE" ? 1 : 0);
    db.gives("SELECT filter_contains('g', 'Ada  ')", collation == "RTRIM" ? 1 : 0);
  }
}

TEST(Collation, that_was_changed_from_outside_is_found) {
  for (const char* damage : {"UPDATE f_config SET value = 'RTRIM' WHERE key = 'collation'",
                             "UPDATE f_config SET value = 'BINARY' WHERE key = 'collation'",
                             "UPDATE f_config SET value = 'german' WHERE key = 'collation'",
                             "DELETE FROM f_config WHERE key = 'collation'"}) {
    TemporaryFolder folder;
    const std::string file = folder.file("f.db");
    {
      QuickDatabase db(file);
      db.run(create("k TEXT COLLATE NOCASE") + "; INSERT INTO f VALUES ('Ada')");
      db.run(damage);
    }
    QuickDatabase db(file);
    for (const char* sql : {"SELECT 1 FROM f WHERE k = 'ada'", "INSERT INTO f VALUES ('x')",
                            "INSERT INTO f(f) VALUES ('check')"}) {
      db.refuses(sql, SQLITE_CORRUPT_VTAB, {"f: corrupt"});
    }
    db.run("DROP TABLE f");
  }
}

// --- of a source -------------------------------------------------------------------------------

TEST(CollationOfASource, that_no_filter_knows_is_refused_with_the_way_out) {
  Database db;
  const auto compare = [](void*, int a, const void* x, int b, const void* y) {
    return std::string(static_cast<const char*>(x), static_cast<size_t>(a))
        .compare(std::string(static_cast<const char*>(y), static_cast<size_t>(b)));
  };
  sqlite3_create_collation(db.handle(), "german", SQLITE_UTF8, nullptr, compare);
  db.run("CREATE TABLE t(a TEXT COLLATE german); INSERT INTO t VALUES ('x')");
  db.refuses("CREATE VIRTUAL TABLE f USING cuckoo_filter(source = t(a), triggers = off)",
             {"main.t(a)", "german", "BINARY, NOCASE or RTRIM", "generated column"});
  db.gives("SELECT name FROM sqlite_schema", "t");
  db.run(
      "ALTER TABLE t ADD COLUMN b TEXT COLLATE NOCASE AS (a);"
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(source = t(b), triggers = off)");
  db.gives("SELECT filter_contains('f', 'X')", 1);
}

// The filter stores 'Ada', but SQLite would compare the query's own value by BINARY.
TEST(CollationOfAKey, compared_by_another_one_too_deletes_and_updates_nothing) {
  for (const char* sql : {
           "DELETE FROM f WHERE k = 'ADA' AND k = 'ADA' COLLATE BINARY",
           "DELETE FROM f WHERE k = 'ADA' AND 'ADA' = k COLLATE BINARY",
           "DELETE FROM f WHERE k IN ('ADA') AND k = 'ADA' COLLATE BINARY",
           "DELETE FROM f WHERE k = 'ADA' AND k COLLATE BINARY < 'B'",
           "DELETE FROM f WHERE k = 'ADA' AND k <> 'Ada' COLLATE BINARY",
           "UPDATE f SET k = 'x' WHERE k = 'ADA' AND k = 'ADA' COLLATE BINARY",
       }) {
    Database db;
    db.run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(k TEXT COLLATE NOCASE);"
        "INSERT INTO f VALUES ('Ada')");
    db.refuses(sql, {"f: DELETE and UPDATE find keys by the collation"});
    EXPECT_EQ(db.number("SELECT count(*) FROM f WHERE k = 'Ada'"), 1) << sql;
    db.gives("DELETE FROM f WHERE k = 'ADA' AND k < 'b'; SELECT count(*) FROM f", 0);
  }
}

// ICU, and wrappers of .NET and Delphi, put a NOCASE of their own in its place: É equals é.
int folds_all(void*, int size, const void* text, int other_size, const void* other) {
  const auto folded = [](const void* bytes, int count) {
    std::string result(static_cast<const char*>(bytes), static_cast<size_t>(count));
    for (size_t at = 0; (at = result.find("É", at)) != std::string::npos;) {
      result.replace(at, 2, "é");
    }
    for (char& c : result) {
      c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
    return result;
  };
  return folded(text, size).compare(folded(other, other_size));
}
int ignores_digits(void*, int size, const void* text, int other_size, const void* other) {
  const auto shown = [](const void* bytes, int count) {
    const std::string result(static_cast<const char*>(bytes), static_cast<size_t>(count));
    return result.substr(0, result.find_last_not_of(" 0123456789") + 1);
  };
  return shown(text, size).compare(shown(other, other_size));
}

TEST(ReplacedCollation, of_a_key_is_refused_and_of_another_is_not) {
  for (const char* name : {"NOCASE", "RTRIM"}) {
    SCOPED_TRACE(name);
    const auto replace = [name](Database& db) {
      EXPECT_EQ(sqlite3_create_collation(db.handle(), name, SQLITE_UTF8, nullptr,
                                         name[0] == 'N' ? folds_all : ignores_digits),
                SQLITE_OK);
    };
    const TemporaryFolder folder;
    const std::string path = folder.file("c.db");
    QuickDatabase own(path);
    own.run(
        "CREATE TABLE users(id INTEGER PRIMARY KEY, email TEXT COLLATE {}, nick TEXT);"
        "INSERT INTO users(email, nick) VALUES ('A', 'b');"
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(email, source = users(email), triggers = on);"
        "CREATE VIRTUAL TABLE nicks USING cuckoo_filter(n, source = users(nick), triggers = on);"
        "CREATE VIRTUAL TABLE guarded USING filter_guard(f)",
        name);
    const std::vector<std::string> parts = {"its key column email compares by ", name,
                                            "replaced by a collation of its own"};
    const auto expect_refused = [&](Database& db) {
      for (const char* sql :
           {"SELECT 1 FROM f WHERE email = 'x'", "SELECT id FROM guarded WHERE email = 'x'",
            "DELETE FROM f WHERE email = 'x'"}) {
        db.refuses(sql, {"f: ", parts[0], parts[1], parts[2]});
      }
      db.gives("SELECT id FROM users JOIN nicks ON n = nick", "1");
      db.refuses(sql("CREATE VIRTUAL TABLE g USING cuckoo_filter(email COLLATE {})", name),
                 {"g: ", parts[0], parts[1]});
      db.refuses(
          "CREATE VIRTUAL TABLE g USING bloom_filter(email, source = users(email), triggers"
          " = off)",
          {"g: ", parts[0], parts[1]});
      db.gives("SELECT count(*) FROM sqlite_schema WHERE name = 'g'", 0);
    };
    QuickDatabase later(path);
    later.gives("SELECT id FROM guarded WHERE email = 'A'", 1);
    replace(later);
    expect_refused(later);
    QuickDatabase before(path);
    replace(before);
    before.refuses("SELECT filter_contains('f', 'x')", {"f: ", parts[0], parts[1]});
    before.refuses("INSERT INTO users(email) VALUES ('x')", {"f: ", parts[0], parts[1]});
    before.refuses("INSERT INTO f(f) VALUES ('check')", {"f: ", parts[0], parts[1]});
    expect_refused(before);
    own.gives("SELECT id FROM guarded WHERE email = 'A'", 1);
    before.run("BEGIN; DROP TABLE f; ROLLBACK; DROP TABLE guarded");
  }
}

}  // namespace
}  // namespace cuckoo::test::filter_collation_test
