// Errors repeat what users wrote, but short and on one line, whatever it was. If somebody passes an
// image as TEXT, the error says how to bind it.
#include <clocale>
#include <cwchar>
#include <string>

#include "tests/support/blobs.hpp"
#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::table_error_text_test {
namespace {

class ErrorText : public ::testing::Test {
 protected:
  ErrorText() {
    db.run(
        "CREATE VIRTUAL TABLE f USING cuckoo_filter(k, capacity = 20000);"
        "CREATE VIRTUAL TABLE old USING bloom_filter(k, hash = murmur2, capacity = 20000);"
        "CREATE VIRTUAL TABLE kv USING flash_kv(k, v, size = '64KB');"
        "CREATE VIRTUAL TABLE ring USING hash_ring");
    db.run("INSERT INTO f VALUES ('a'); INSERT INTO old VALUES ('a')");
  }

  // `sql` with ?1 bound as TEXT.
  Outcome attempt(const std::string& sql, const std::string& text) {
    Query query(db, sql);
    sqlite3_bind_text64(query.handle(), 1, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    Outcome outcome;
    do {
      outcome.code = query.step();
    } while (outcome.code == SQLITE_ROW);
    outcome.message = sqlite3_errmsg(db.handle());
    return outcome;
  }

  static bool is_short(const std::string& message) { return message.size() <= 400; }
  static bool is_one_line_of_utf8(const std::string& message) {
    for (const char c : message) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        return false;
      }
    }
#if defined(_WIN32)  // its C library has no locale with UTF-8; the texts are those of elsewhere
    return true;
#else
    const std::string before = std::setlocale(LC_CTYPE, nullptr);
    EXPECT_NE(std::setlocale(LC_CTYPE, "C.UTF-8"), nullptr);
    const char* text = message.c_str();
    std::mbstate_t state{};
    const bool valid = std::mbsrtowcs(nullptr, &text, 0, &state) != static_cast<size_t>(-1);
    std::setlocale(LC_CTYPE, before.c_str());
    return valid;
#endif
  }
  void refused(const std::string& sql, const std::string& text, const std::string& part) {
    const Outcome outcome = attempt(sql, text);
    EXPECT_EQ(outcome.code, SQLITE_ERROR) << sql;
    EXPECT_TRUE(is_short(outcome.message)) << sql << "\n" << outcome.message.size() << " bytes";
    EXPECT_TRUE(is_one_line_of_utf8(outcome.message)) << sql << "\n" << outcome.message;
    EXPECT_NE(outcome.message.find(part), std::string::npos) << sql << "\n" << outcome.message;
  }

  Database db;
};

// PHP's and Perl's drivers bind an image as TEXT, unless told otherwise.
TEST_F(ErrorText, an_image_as_text_is_told_to_be_bound_as_a_blob) {
  for (const char* image : {"filter_export('f')", "filter_export('f', 'hashes')",
                            "filter_export('old', 'legacy')", "filter_export('old')"}) {
    const std::vector<std::byte> bytes = blob_of(db, image);
    ASSERT_GT(bytes.size(), 20000U);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (const char* sql :
         {"SELECT filter_contains(?1, 'a')", "SELECT filter_export(?1)",
          "SELECT * FROM filter_info(?1)", "INSERT INTO f(f, k) VALUES ('merge', ?1)",
          "INSERT INTO f(f, k) VALUES ('import', ?1)",
          "INSERT INTO old(old, k) VALUES ('import', ?1)", "SELECT filter_union(?1)",
          "SELECT count(*) FROM (SELECT 'a' AS x UNION ALL SELECT 'b') WHERE filter_contains(?1, "
          "x)"}) {
      refused(sql, text, "bind an image as a BLOB, not as TEXT");
    }
  }
}

TEST_F(ErrorText, is_short_and_printable_wherever_a_text_is_shown) {
  std::string garbage;
  for (int i = 0; i < 100'000; ++i) {
    garbage += static_cast<char>(i * 7919 >> 3);
  }
  const std::string wide = [] {
    std::string text;
    for (int i = 0; i < 5000; ++i) {
      text += "aß→😀";
    }
    return text;
  }();
  for (const std::string& text : {garbage, wide, std::string(1'000'000, 'x')}) {
    for (const char* sql : {"SELECT filter_contains(?1, 'a')",
                            "SELECT filter_export(?1)",
                            "SELECT filter_export('f', ?1)",
                            "SELECT * FROM filter_info(?1)",
                            "INSERT INTO f(f) VALUES (?1)",
                            "INSERT INTO f(f, k) VALUES ('merge', ?1)",
                            "INSERT INTO f(f, k) VALUES ('import', ?1)",
                            "INSERT INTO f(f, k) VALUES ('resize', ?1)",
                            "INSERT INTO kv(kv) VALUES (?1)",
                            "INSERT INTO kv(kv, k) VALUES ('resize', ?1)",
                            "SELECT * FROM flash_kv_info(?1)",
                            "SELECT * FROM flash_kv_sectors(?1)",
                            "SELECT * FROM flash_kv_plan(?1)",
                            "SELECT * FROM flash_kv_plan('1MB', ?1)",
                            "SELECT flash_kv_map(?1)",
                            "INSERT INTO ring(ring) VALUES (?1)",
                            "SELECT * FROM hash_ring_moves(?1, 'add', 'x')",
                            "SELECT * FROM hash_ring_moves('ring', ?1, 'x')",
                            "SELECT * FROM hash_ring_moves('ring', 'remove', ?1)",
                            "SELECT * FROM hash_ring_moves('ring', 'rename', ?1, 'y')",
                            "SELECT hash_ring_mark(?1)",
                            "SELECT hash_ring_export(?1)",
                            "INSERT INTO ring(ring, node) VALUES ('import', ?1)",
                            "SELECT cuckoo_build(1, ?1)",
                            "SELECT bloom_build(1, 0.01, ?1)",
                            "SELECT cuckoo_build(1, 0.01, 10, ?1)"}) {
      refused(sql, text, "");
    }
  }
  db.run("INSERT INTO ring(node) SELECT group_concat(printf('%1000d', 1)) FROM filter_info");
  const std::string node = db.text("SELECT node FROM ring");
  refused("SELECT * FROM hash_ring_moves('ring', 'add', ?1)", node, "there already");
  db.run("INSERT INTO ring(node) VALUES ('short')");
  refused("SELECT * FROM hash_ring_moves('ring', 'rename', 'short', ?1)", node, "there already");
}

TEST_F(ErrorText, of_the_arguments_of_create_is_short) {
  const std::string x(10'000, 'x');
  for (const std::string module :
       {"cuckoo_filter", "bloom_filter", "filter_guard", "flash_kv", "hash_ring"}) {
    for (const std::string& arguments :
         {x + " = 1", "seed = " + x, "seed = '" + x + "' y", "seed = 1, " + x, x + " " + x + "(",
          "a, b, " + x + " TEXT", "k " + x + " NOT NULL", "a, " + x, x + ", " + x,
          "seed = " + x + ", seed = " + x, "k " + x + " = 1", "seed_of = " + x,
          "source = " + x + "(k)", "source = sqlite_schema(" + x + ")", "source = " + x}) {
      const Outcome outcome = db.attempt("CREATE VIRTUAL TABLE t USING {}({})", module, arguments);
      if (outcome.code == SQLITE_OK) {  // a column may be called so
        db.run("DROP TABLE t");
      }
      EXPECT_TRUE(is_short(outcome.message)) << module << "(" << arguments.substr(0, 20) << "…";
    }
  }
}

TEST_F(ErrorText, shows_a_short_text_as_it_is) {
  refused("SELECT filter_contains(?1, 1)", "grüße", "no such filter: grüße");
  refused("SELECT filter_contains(?1, 1)", std::string("a\0b\n\xFF", 5), "no such filter: a?b??");
  refused("SELECT filter_contains(?1, 1)", std::string(100, 'y'), std::string(100, 'y'));
  refused("SELECT filter_contains(?1, 1)", std::string(101, 'y'),
          std::string(100, 'y').append("…"));
  refused("SELECT filter_contains(?1, 1)", std::string(99, 'y').append("ßß"),
          std::string(99, 'y').append("…"));
  // Halves of a character, an overlong one, a surrogate.
  refused("SELECT filter_contains(?1, 1)", "1\xC3", "1?");
  refused("SELECT filter_contains(?1, 1)", "2\xE2\x86z", "2??z");
  refused("SELECT filter_contains(?1, 1)", "3\xC0\x80z", "3??z");
  refused("SELECT filter_contains(?1, 1)", "4\xED\xA0\x80z", "4???z");
}

// Each dot could end a schema's name; but only the first few are looked at.
TEST_F(ErrorText, of_a_long_text_comes_at_once) {
  refused("SELECT filter_contains(?1, 1)", std::string(2'000'000, '.'), "no such filter");
  db.run("ATTACH ':memory:' AS \"a.b\"; CREATE VIRTUAL TABLE \"a.b\".\"c.d\" USING cuckoo_filter");
  db.gives("SELECT filter_contains('a.b.c.d', 1)", "0");
  db.gives("SELECT filter_contains('c.d', 1)", "0");
}

// The statements in these texts can be pasted.
TEST(SqlInTexts, has_names_in_quotes_where_they_need_them) {
  Database db;
  const std::string lists = "SELECT * FROM \"it's\"";
  db.run("CREATE VIRTUAL TABLE \"it's\" USING cuckoo_filter(\"my \"\"key\", \"select\", _1$)");
  db.run("INSERT INTO \"it's\" VALUES (1, 2, 3)");
  db.refuses(lists, {"filter_contains('it''s', \"my \"\"key\", \"select\", _1$)",
                     R"(), "my ""key" = ? AND "select" = ? AND _1$ = ?, JOIN)",
                     R"(INSERT INTO "it's"("it's") VALUES ('clear'))"});
  db.refuses(lists + " WHERE _1$ = 1", {R"(write "my ""key" = ? AND "select" = ? AND _1$ = ?)"});
  const std::string clear = db.attempt(lists).message;
  db.run(clear.substr(clear.find("INSERT INTO")));
  db.gives("SELECT count(*) FROM \"it's\"", 0);
  db.run("INSERT INTO \"it's\" VALUES (1, 2, 3)");
  db.gives("SELECT count(*) FROM \"it's\" WHERE \"my \"\"key\" = 1 AND \"select\" = 2 AND _1$ = 3",
           1);

  db.run("CREATE VIRTUAL TABLE \"n's\" USING cuckoo_filter(\"a b\" TEXT COLLATE NOCASE)");
  db.refuses("SELECT * FROM \"n's\" WHERE \"a b\" = 'x' COLLATE RTRIM",
             {"write \"a b\" = value COLLATE NOCASE"});
  db.run(
      "INSERT INTO \"n's\"(\"a b\", count) VALUES ('x', 2147483648), ('x', 2147483648), ('x', 1)");
  db.refuses("SELECT count(*) FROM \"n's\"", {"items of filter_info('n''s')"});

  const std::string create = "CREATE VIRTUAL TABLE {} USING cuckoo_filter({})";
  const std::string source = R"(source = "our rows"("a b"), triggers = {})";
  db.run(R"(CREATE TABLE "our rows"("a b" TEXT); INSERT INTO "our rows" VALUES ('x'))");
  db.run(create, "\"order\"", sql(source, "off"));
  db.run(create, "\"1t\"", "\"a b\" TEXT");
  db.refuses("CREATE VIRTUAL TABLE g USING filter_guard(\"1t\")",
             {R"(filter_guard("1t", source = table(column)))"});
  db.refuses("CREATE VIRTUAL TABLE g USING filter_guard(\"order\")",
             {R"(make the filter with source = "our rows"("a b"), triggers = on)"});
  db.run("INSERT INTO \"our rows\" VALUES ('y')");
  db.refuses("INSERT INTO \"order\"(\"order\") VALUES ('check')",
             {R"(INSERT INTO "order"("order") VALUES ('rebuild') mends it)"});
  db.run(create, "\"my t\"", sql(source, "on"));
  db.run(drop_of_own(db, "my t", "insert"));
  const std::string rebuild = "INSERT INTO \"my t\"(\"my t\") VALUES ('rebuild')";
  db.refuses("SELECT filter_contains('my t', 'x')", {"are gone", rebuild + " loads them"});
  db.run(rebuild);
  db.gives("SELECT filter_contains('my t', 'x')", 1);

  db.run("CREATE VIRTUAL TABLE grüße USING cuckoo_filter(Key); INSERT INTO grüße VALUES (1)");
  db.refuses("SELECT * FROM grüße", {"filter_contains('grüße', Key), Key = ?",
                                     "INSERT INTO grüße(grüße) VALUES ('clear')"});
}

struct Countdown {
  sqlite3* db;
  int left;
};

int count_down(void* countdown) {
  auto& [db, left] = *static_cast<Countdown*>(countdown);
  if (--left == 0) {
    sqlite3_interrupt(db);
  }
  return 0;
}

// The code is SQLITE_INTERRUPT even where sqlite3_declare_vtab() itself says SQLITE_ERROR. If a
// flush before a savepoint is interrupted, the code is SQLITE_IOERR.
TEST(Interrupt, of_a_create_has_its_code_at_every_step) {
  for (const char* kind : {"cuckoo_filter(k)", "bloom_filter(k)", "flash_kv(k, v)", "hash_ring"}) {
    int interrupted = 0;
    for (int step = 1;; ++step) {
      Database db;
      Countdown countdown{db.handle(), step};
      sqlite3_progress_handler(db.handle(), 1, count_down, &countdown);
      const Outcome outcome = db.attempt(std::string("CREATE VIRTUAL TABLE t USING ") + kind);
      sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
      if (outcome.code == SQLITE_OK) {
        if (countdown.left > 0) {
          break;
        }
        continue;  // it came too late
      }
      ++interrupted;
      const int code = outcome.code & 0xFF;
      ASSERT_TRUE(code == SQLITE_INTERRUPT || code == SQLITE_IOERR)
          << kind << ", step " << step << ": " << code << ", " << outcome.message;
      ASSERT_EQ(db.number("SELECT count(*) FROM sqlite_schema"), 0) << kind << ", step " << step;
      db.run(std::string("CREATE VIRTUAL TABLE t USING ") + kind);
    }
    EXPECT_GT(interrupted, 20) << kind;
  }
}

// A guard reads the schema, its filter and its table in xBestIndex. An error there would be
// SQLITE_ERROR. The statement can be run again.
TEST(Interrupt, of_a_guard_has_its_code_at_every_step) {
  const TemporaryFolder folder;
  const std::string file = folder.file("guard.db");
  QuickDatabase(file).run(
      "CREATE TABLE users(email TEXT UNIQUE, n INT); INSERT INTO users VALUES ('a', 7);"
      "CREATE VIRTUAL TABLE seen USING cuckoo_filter(email, source = users(email), triggers = on);"
      "CREATE VIRTUAL TABLE guarded USING filter_guard(seen)");
  int prepared = 0;
  bool came = true;
  for (int step = 0; came; step += 17) {
    SCOPED_TRACE(step);
    ASSERT_LT(step, 100'000);
    QuickDatabase db(file);
    int left = step;
    sqlite3_progress_handler(
        db.handle(), 1, [](void* left) { return (*static_cast<int*>(left))-- == 0 ? 1 : 0; },
        &left);
    sqlite3_stmt* statement = nullptr;
    int code = sqlite3_prepare_v2(db.handle(), "SELECT n FROM guarded WHERE email = 'a'", -1,
                                  &statement, nullptr);
    if (code == SQLITE_OK) {
      code = sqlite3_step(statement);
      sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
      sqlite3_reset(statement);
      EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
      EXPECT_EQ(sqlite3_column_int(statement, 0), 7);
      ++prepared;
    }
    sqlite3_finalize(statement);
    came = left < 0;
    EXPECT_EQ(code, came ? SQLITE_INTERRUPT : SQLITE_ROW);
  }
  EXPECT_GT(prepared, 10);
}

// SQLite undoes all of a COMMIT that fails, whatever the code is.
TEST(Interrupt, of_a_commit_has_its_code_at_every_step) {
  const std::pair<const char*, const char*> commits[] = {
      {"BEGIN; INSERT INTO t(k) VALUES (1), (2)", "COMMIT"},
      {"SAVEPOINT s; INSERT INTO t(k) VALUES (1), (2)", "RELEASE s"},
      {"SELECT 1", "INSERT INTO t(k) VALUES (1), (2)"},
  };
  for (const char* kind : {"cuckoo_filter(k)", "bloom_filter(k)", "flash_kv(k, v)"}) {
    for (const auto& [before, commit] : commits) {
      Database db;
      db.run("CREATE VIRTUAL TABLE t USING {}", kind);
      int interrupted = 0;
      for (int step = 1;; ++step) {
        SCOPED_TRACE(sql("{}, {}, step {}", kind, commit, step));
        ASSERT_LT(step, 10'000);
        db.run(before);
        Countdown countdown{db.handle(), step};
        sqlite3_progress_handler(db.handle(), 1, count_down, &countdown);
        const Outcome outcome = db.attempt(commit);
        sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
        if (outcome.code == SQLITE_OK) {
          break;
        }
        ++interrupted;
        ASSERT_EQ(outcome.code & 0xFF, SQLITE_INTERRUPT) << outcome.message;
        db.attempt("ROLLBACK");  // after a RELEASE that failed, SQLite still is in a transaction
        ASSERT_EQ(db.number("SELECT count(*) FROM t"), 0);
      }
      EXPECT_GT(interrupted, 5) << kind << commit;
      db.gives("SELECT count(*) FROM t WHERE k IN (1, 2)", 2);
      db.run("INSERT INTO t(t) VALUES ('check')");
    }
  }
}

TEST(FullDisk, at_a_commit_is_full) {
  for (const char* kind : {"cuckoo_filter(k)", "bloom_filter(k)", "flash_kv(k, v)"}) {
    Database db;
    db.run("CREATE VIRTUAL TABLE t USING {}; INSERT INTO t(k) VALUES (1)", kind);
    db.run("PRAGMA max_page_count = {}", db.number("PRAGMA page_count"));
    db.run("BEGIN; INSERT INTO t(k) {}", numbers(2, 2000));
    EXPECT_EQ(db.attempt("COMMIT").code & 0xFF, SQLITE_FULL) << kind;
    db.gives("SELECT count(*) FROM t", 1);
    db.run("PRAGMA max_page_count = 100000; INSERT INTO t(t) VALUES ('check')");
  }
}

}  // namespace
}  // namespace cuckoo::test::table_error_text_test
