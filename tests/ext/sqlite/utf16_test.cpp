// Databases in UTF-16: all text that the extension reads of its own comes in UTF-8.
#include <memory>

#include "tests/support/database.hpp"
#include "tests/support/names.hpp"

namespace cuckoo::test::sqlite_utf16_test {
namespace {

class Utf16 : public testing::TestWithParam<const char*> {
 protected:
  Utf16() : file_(folder_.file("f.db")) { reopen(true); }
  void reopen(bool create = false) {
    db.reset();
    db = std::make_unique<QuickDatabase>(file_);
    if (create) {
      db->run("PRAGMA encoding = '{}'", GetParam());
    }
  }
  TemporaryFolder folder_;
  std::string file_;
  std::unique_ptr<QuickDatabase> db;
};
INSTANTIATE_TEST_SUITE_P(Encodings, Utf16, testing::Values("UTF-16le", "UTF-16be", "UTF-8"),
                         kParameterName);

TEST_P(Utf16, images_go_to_another_encoding) {
  db->run(
      "CREATE VIRTUAL TABLE f USING cuckoo_filter(k TEXT); INSERT INTO f VALUES ('ключ'), ('b')");
  reopen();
  Database other;
  other.run("PRAGMA encoding = 'UTF-8'; CREATE VIRTUAL TABLE f USING cuckoo_filter(k TEXT)");
  const std::string image = db->text("SELECT quote(filter_export('f', 'hashes'))");
  other.run("INSERT INTO f(f, k) VALUES ('import', {})", image);
  other.gives("SELECT k FROM f WHERE k IN ('ключ', 'b', 'c')", "b,ключ");
  db->gives(sql("SELECT filter_contains({}, 'ключ')", image), 1);
  db->gives("SELECT quote(bloom_build(column1)) FROM (VALUES ('ключ'), ('я'))",
            other.text("SELECT quote(bloom_build(column1)) FROM (VALUES ('ключ'), ('я'))"));
}

// Texts that SQLite's conversion to UTF-8 would change, and others.
const std::u16string kTexts[] = {
    u"plain",         u"\u043a\u043b\u044e\u0447",
    {0xD834, 0xDD1E}, {0xD800},
    {0xDC00},         {0xDFFF},
    {0xD800, u'A'},   {0xD800, u'B'},
    {u'A', 0xDBFF},   {0xD800, 0xD800, 0xDC00},
    {0xDC00, 0xD800}, {0xFFFD},
    {0xFFFE, u'x'},   {0xFFFF},
    {0xFEFF, u'x'},   {0xFEFF, 0xD800},
    {0xFFFE, 0xD800}, {u'a', 0, 0xD800, u'b'},
    {0xD7FF, 0xE000}, {0xDBFF, 0xDFFF, 0xDBFF},
};

// A flash_kv keeps texts that are not well-formed as an ordinary table of the same database does.
// They have half a surrogate pair in every place, or noncharacters.
TEST_P(Utf16, a_flash_kv_keeps_every_text_that_an_ordinary_table_keeps) {
  db->run(
      "CREATE VIRTUAL TABLE kv USING flash_kv(k TEXT, v, seed = 1);"
      "CREATE TABLE plain(k TEXT PRIMARY KEY, v) WITHOUT ROWID");
  const auto wide = [](sqlite3_stmt* statement, int column) {
    const auto* text = static_cast<const char16_t*>(sqlite3_column_text16(statement, column));
    const int bytes = sqlite3_column_bytes16(statement, column);
    return std::u16string(text, static_cast<size_t>(bytes) / 2);
  };
  const auto bind = [](Query& query, int index, const std::u16string& text) {
    sqlite3_bind_text16(query.handle(), index, text.data(), static_cast<int>(2 * text.size()),
                        SQLITE_TRANSIENT);
  };
  for (const std::u16string& text : kTexts) {
    for (const char* table : {"kv", "plain"}) {
      Query insert(*db, sql("INSERT OR IGNORE INTO {} VALUES (?1, ?1)", table));
      bind(insert, 1, text);
      EXPECT_EQ(insert.step(), SQLITE_DONE);
    }
  }
  for (const bool again : {false, true}) {
    if (again) {
      reopen();
    }
    db->gives("SELECT hex(k) || ' ' || hex(v) FROM kv ORDER BY k",
              db->list("SELECT hex(k) || ' ' || hex(v) FROM plain ORDER BY k"));
    for (const std::u16string& text : kTexts) {
      Query one(*db, "SELECT k, v FROM kv WHERE k = ?1");
      Query two(*db, "SELECT k, v FROM plain WHERE k = ?1");
      for (Query* query : {&one, &two}) {
        bind(*query, 1, text);
        ASSERT_EQ(query->step(), SQLITE_ROW);
      }
      EXPECT_EQ(wide(one.handle(), 0), wide(two.handle(), 0));
      EXPECT_EQ(wide(one.handle(), 1), wide(two.handle(), 1));
    }
  }
  // By its digest, too.
  for (const std::u16string& text : kTexts) {
    Query insert(*db, "INSERT OR IGNORE INTO kv(v) VALUES (?1 || '!')");
    bind(insert, 1, text);
    EXPECT_EQ(insert.step(), SQLITE_DONE) << sqlite3_errmsg(db->handle());
    Query find(*db, "SELECT count(*) FROM kv WHERE k = sha1(?1 || '!') AND digest = k");
    bind(find, 1, text);
    EXPECT_EQ(find.once(), 1);
  }
  db->run("INSERT INTO kv(kv) VALUES ('check')");
}

// Bound, a mark at the front is taken off; a cast keeps it.
TEST_P(Utf16, a_flash_kv_keeps_marks_at_the_front) {
  db->run("CREATE VIRTUAL TABLE kv USING flash_kv(k, v, seed = 1); CREATE TABLE plain(k, v)");
  for (const char* text : {"FEFF0041", "FFFE4100", "FFFEFFFE", "FEFFFEFF", "FEFF", "FFFE"}) {
    db->run("INSERT INTO plain SELECT CAST(x'{}' AS TEXT), CAST(x'{}' AS TEXT)", text, text);
  }
  db->run("INSERT INTO kv(k, v) SELECT k, v FROM plain");
  db->gives("SELECT hex(CAST(k AS BLOB)) || hex(CAST(v AS BLOB)) AS h FROM kv ORDER BY h",
            db->list("SELECT hex(CAST(k AS BLOB)) || hex(CAST(v AS BLOB)) AS h FROM plain"
                     " ORDER BY h"));
  db->gives("SELECT count(*) FROM plain JOIN kv USING (k)",
            db->number("SELECT count(*) FROM plain"));
}

// A filter's key is the text that an ordinary table would hold, and the guard finds its row, in
// every form of query; a statement that reads the key gets it back.
TEST_P(Utf16, filters_and_guards_find_every_text_that_an_ordinary_table_finds) {
  for (const std::string type : {"TEXT", "", "NUMERIC"}) {
    SCOPED_TRACE(type);
    const std::string plain_type = type;
    db->run(
        "CREATE TABLE users(id INTEGER PRIMARY KEY, k {}, n INT, j INT); CREATE INDEX u ON "
        "users(k);"
        "CREATE VIRTUAL TABLE seen USING cuckoo_filter(k, source = users(k), triggers = on,"
        " fpr = 1e-8, seed = 1);"
        "CREATE VIRTUAL TABLE pairs USING cuckoo_filter(k, j, source = users(k, j), triggers = on,"
        " fpr = 1e-8, seed = 1);"
        "CREATE VIRTUAL TABLE guarded USING filter_guard(seen);"
        "CREATE VIRTUAL TABLE guarded_pairs USING filter_guard(pairs);"
        "CREATE TABLE asked(k {})",
        type, plain_type);
    for (const std::u16string& text : kTexts) {
      for (const char* sql : {"INSERT INTO users(k, n, j) SELECT ?1, 1 + count(*), 7 FROM users",
                              "INSERT INTO asked VALUES (?1)"}) {
        Query insert(*db, sql);
        sqlite3_bind_text16(insert.handle(), 1, text.data(), static_cast<int>(2 * text.size()),
                            SQLITE_TRANSIENT);
        EXPECT_EQ(insert.step(), SQLITE_DONE);
      }
    }
    db->run("INSERT INTO seen(seen) VALUES ('check'); INSERT INTO pairs(pairs) VALUES ('check')");
    for (const char* query :
         {"SELECT n FROM %g g JOIN asked USING (k) ORDER BY n",
          "SELECT n FROM asked CROSS JOIN %g g ON g.k IS asked.k ORDER BY n",
          "SELECT hex(k) FROM asked WHERE NOT EXISTS (SELECT 1 FROM %g g WHERE g.k = asked.k)",
          "SELECT n FROM %g WHERE k IN (SELECT k FROM asked) ORDER BY n",
          "SELECT n FROM %g WHERE k = CAST(x'00D8' AS TEXT) ORDER BY n",
          "SELECT n FROM %g WHERE k IN (CAST(x'00D8' AS TEXT), 'plain') ORDER BY n",
          "SELECT hex(asked.k || g.k) FROM asked LEFT JOIN %g g USING (k) ORDER BY 1",
          "SELECT n FROM %g WHERE k = CAST(x'00D8' AS TEXT) AND j = 7 ORDER BY n",
          "SELECT n FROM %g WHERE k IN (SELECT k FROM asked) AND j IN (7, 8) ORDER BY n"}) {
      const auto list = [&](const std::string& table) {
        std::string text = query;
        return db->list(text.replace(text.find("%g"), 2, table));
      };
      EXPECT_EQ(list("guarded"), list("users")) << query;
      EXPECT_EQ(list("guarded_pairs"), list("users")) << query;
    }
    db->gives("SELECT count(*) FROM asked JOIN seen USING (k)", std::size(kTexts));
    db->gives("SELECT hex(seen.k) FROM asked CROSS JOIN seen ON seen.k = asked.k ORDER BY 1",
              db->list("SELECT hex(k) FROM asked ORDER BY 1"));
    db->gives(
        "SELECT hex(pairs.k) FROM asked CROSS JOIN pairs ON pairs.k = asked.k AND j = 7"
        " ORDER BY 1",
        db->list("SELECT hex(k) FROM asked ORDER BY 1"));
    db->gives("SELECT count(*) FROM asked WHERE filter_contains('seen', k)", std::size(kTexts));
    db->gives(
        "SELECT count(*) FROM asked WHERE filter_contains((SELECT cuckoo_build(k) FROM asked),"
        " k)",
        std::size(kTexts));
    db->run("DELETE FROM users");
    db->gives("SELECT count(*) FROM seen", 0);
    db->run(
        "DROP TABLE guarded; DROP TABLE guarded_pairs; DROP TABLE seen; DROP TABLE pairs;"
        "DROP TABLE users; DROP TABLE asked");
  }
}

TEST_P(Utf16, a_ring_refuses_the_name_of_a_node_that_it_would_change) {
  db->run(
      "CREATE VIRTUAL TABLE ring USING hash_ring(seed = 1); INSERT INTO ring(node) VALUES ('a'), "
      "('b')");
  const std::string encoding = GetParam();
  if (encoding != "UTF-8") {
    db->refuses(sql("INSERT INTO ring(node) VALUES (CAST(x'{}' AS TEXT))",
                    encoding == "UTF-16le" ? "00D86100" : "D8000061"),
                {"ring: a node's name is text that the database's encoding"});
  }
  db->gives("SELECT count(*) FROM ring WHERE node = CAST(x'00D8' AS TEXT)", 0);
  db->gives("SELECT count(node) FROM ring WHERE key = CAST(x'00D8' AS TEXT)", 1);
}

}  // namespace
}  // namespace cuckoo::test::sqlite_utf16_test
