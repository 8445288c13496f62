// CREATE VIRTUAL TABLE … USING cuckoo_filter(…): options, columns, names, and what a CREATE that
// fails leaves.
#include <ctime>

#include "tests/support/sql_samples.hpp"

namespace cuckoo::test {
namespace filter_create_test {
namespace {

std::string create(const std::string& arguments, const std::string& name = "f") {
  return "CREATE VIRTUAL TABLE " + name + " USING cuckoo_filter(" + arguments + ")";
}

// What the option became, read from the config.
std::string option_of(const std::string& arguments, const std::string& option) {
  Database db;
  db.run(create(arguments));
  return db.text("SELECT value FROM f_config WHERE key = '{}'", option);
}

TEST(CreateOption, not_given_has_its_default) {
  Database db;
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter");
  db.gives("SELECT value FROM f_config WHERE key = 'capacity'", "1000");
  db.gives("SELECT value FROM f_config WHERE key = 'fpr'", "0.001");
  db.gives("SELECT value FROM f_config WHERE key = 'growth'", "on");
  db.gives("SELECT capacity, fpr, generations FROM filter_info('f')", "1000|0.001|1");
  db.gives("SELECT name FROM pragma_table_xinfo('f')", "key,count,f");
}

TEST(CreateOption, seed_not_given_differs_from_table_to_table) {
  Database db;
  db.run(create("", "f") + ";" + create("", "g"));
  db.gives(
      "SELECT count(DISTINCT value) FROM (SELECT * FROM f_config UNION ALL"
      " SELECT * FROM g_config) WHERE key = 'seed'",
      2);
}

TEST(CreateOption, number_takes_every_way_to_write_it) {
  for (const char* text : {"1000000", "1e6", "'1_000_000'", "1E6", "+1000000", "'1000000'",
                           "\"1e6\"", "[1_000_000]", "`1e6`", "1000000.0", "  1e6  "}) {
    EXPECT_EQ(option_of(std::string("capacity = ") + text, "capacity"), "1000000") << text;
  }
  for (const char* text : {"0.01", ".01", "1e-2", "'0.01'", "'0.0_1'"}) {
    EXPECT_EQ(option_of(std::string("fpr=") + text, "fpr"), "0.01") << text;
  }
  if (sqlite3_libversion_number() >= 3046000) {  // before it, SQLite's tokenizer refuses 1_000
    EXPECT_EQ(option_of("capacity = 1_000_000", "capacity"), "1000000");
  }
}

TEST(CreateOption, boundary_is_taken) {
  EXPECT_EQ(option_of("capacity = 1", "capacity"), "1");
  EXPECT_EQ(option_of("capacity = 1099511627776", "capacity"), "1099511627776");
  EXPECT_EQ(option_of("fpr = 0.25", "fpr"), "0.25");
  EXPECT_DOUBLE_EQ(std::stod(option_of("fpr = 9.313225746154785e-10", "fpr")), 0x1p-30);
  EXPECT_EQ(option_of("fingerprint_bits = 4", "fingerprint_bits"), "4");
  EXPECT_EQ(option_of("fingerprint_bits = 32", "fingerprint_bits"), "32");
  EXPECT_EQ(option_of("growth = OFF", "growth"), "off");
  EXPECT_EQ(option_of("growth = 'On'", "growth"), "on");
  for (const char* word : {"yes", "TRUE", "1", "'1'"}) {
    EXPECT_EQ(option_of(std::string("growth = ") + word, "growth"), "on") << word;
  }
  for (const char* word : {"no", "False", "0"}) {
    EXPECT_EQ(option_of(std::string("growth = ") + word, "growth"), "off") << word;
  }
  EXPECT_EQ(option_of("seed = -9223372036854775808", "seed"), "-9223372036854775808");
  EXPECT_EQ(option_of("seed = 9223372036854775807", "seed"), "9223372036854775807");
  EXPECT_EQ(option_of("seed = 0", "seed"), "0");
  EXPECT_EQ(option_of("seed = '-5'", "seed"), "-5");
}

TEST(CreateOption, out_of_range_says_the_range) {
  expect_values_refused(
      "cuckoo_filter",
      {{"capacity",
        {"0", "-1", "1099511627777", "1e13", "1.5", "1e400", "nan", "inf"},
        "1 to 2^40"},
       {"fpr", {"0", "0.26", "1", "-0.1", "9e-10", "1e-400", "nan"}, "2^-30 to 0.25"},
       {"fingerprint_bits", {"3", "33", "8.5", "0", "-8"}, "4 to 32"},
       {"growth", {"y", "2", "t", "''", "onoff"}, "on or off"},
       {"seed", {"9223372036854775808", "1.5", "abc", "1e3", "''"}, "64-bit"}});
}

TEST(CreateOption, with_trailing_text_or_no_value_is_refused) {
  for (const char* text :
       {"capacity = 1000 keys", "capacity = 1000x", "capacity = 1e", "fpr = 1%",
        "capacity = '1000' 5", "capacity = ", "capacity = 1 000", "capacity = 1000 -- c",
        "capacity = 1__000", "capacity = _1", "capacity = 1_", "capacity = 64KB", "growth = on on",
        "seed = 5 6", "fpr = 0.01 0.02", "capacity == 5", "capacity = (5)"}) {
    Database db;
    const Outcome outcome = db.attempt(create(text));
    EXPECT_EQ(outcome.code, SQLITE_ERROR) << text;
    EXPECT_FALSE(outcome.message.empty()) << text;
  }
}

TEST(CreateOption, that_is_unknown_doubled_or_contradicts_another_says_so) {
  expect_arguments_refused(
      "cuckoo_filter",
      {{"my capacity = 5", {"option"}},
       {" = 5", {"option"}},
       {"capactiy = 5",
        {"capactiy", "capacity", "fpr", "fingerprint_bits", "growth", "seed", "seed_of"}},
       {"counting = on", {"counting", "capacity"}},
       {"capacity = 5, capacity = 6", {"capacity", "twice"}},
       {"capacity = 5, fpr = 0.1, CAPACITY = 5", {"capacity", "twice"}},
       {"fpr = 0.01, fingerprint_bits = 8", {"fpr", "fingerprint_bits"}},
       {"capacity = 1073741825, fpr = 9.313225746154785e-10", {"capacity", "fpr"}},
       {"capacity = 1e12, fpr = 1e-9", {"capacity", "fpr"}},
       {"capacity = 1099511627776, fingerprint_bits = 32", {"capacity"}}});
  Database db;
  db.run(create("", "other"));
  db.refuses(create("seed = 1, seed_of = other"), {"seed", "seed_of"});
}

TEST(CreateOption, is_case_insensitive_and_in_any_order) {
  Database db;
  db.run(create("Email text, GROWTH = Off, \"Fpr\" = 0.1, [SEED] = 7, CaPaCiTy = 50"));
  db.gives(
      "SELECT value FROM f_config WHERE key IN"
      " ('capacity', 'fpr', 'growth', 'seed') ORDER BY key",
      "50,0.1,off,7");
}

TEST(CreateOption, seed_of_copies_the_seed) {
  Database db;
  db.run("ATTACH ':memory:' AS aux");
  db.run(create("seed = -77", "other"));
  db.run(create("seed = 78", "aux.far"));
  db.run(create("seed_of = other, capacity = 5", "a"));
  db.run(create("seed_of = 'aux.far'", "b"));
  db.run(create("SEED_OF = \"main.other\"", "c"));
  db.gives("SELECT value FROM a_config WHERE key = 'seed'", "-77");
  db.gives("SELECT value FROM b_config WHERE key = 'seed'", "78");
  db.gives("SELECT value FROM c_config WHERE key = 'seed'", "-77");
  db.run("CREATE TABLE plain(x)");
  db.refuses(create("seed_of = nothing", "d"), {"nothing"});
  db.refuses(create("seed_of = plain", "d"), {"plain"});
  db.refuses(create("seed_of = d", "d"), {"d"});
  db.gives("SELECT count(*) FROM sqlite_schema WHERE name GLOB 'd*'", 0);
}

TEST(CreateOption, capacity_over_fpr_is_at_most_two_to_the_sixty) {
  Database db;
  db.run(create("capacity = 1073741824, fpr = 9.313225746154785e-10"));  // 2^30 · 2^30
  db.gives("INSERT INTO f VALUES (1); SELECT count(*) FROM f WHERE key = 1", 1);
}

TEST(CreateLarge, capacity_is_instant_and_small) {
  TemporaryFolder folder;
  Database db(folder.file("large.db"));
  const std::clock_t start = std::clock();  // processor time: other programs don't count
  db.run(create("capacity = 1e9"));
  db.gives("INSERT INTO f VALUES ('a'), ('b'); SELECT count(*) FROM f WHERE key = 'a'", 1);
  db.gives("SELECT count(*) FROM f WHERE key = 'c'", 0);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 1);
  EXPECT_LE(db.number("PRAGMA page_count"), 12);
  EXPECT_EQ(rows_of(db, "f", kPageRows), 0);
  EXPECT_LT(db.number("SELECT memory_bytes FROM filter_info('f')"), 50'000'000);
}

TEST(CreateColumn, called_like_an_option_has_a_type_or_double_quotes) {
  for (const char* column : {"capacity TEXT", "\"capacity\"", "[capacity]", "\"a=b\""}) {
    Database db;
    db.run(create(std::string(column) + ", capacity = 5"));
    const std::string name = db.text("SELECT name FROM pragma_table_info('f')");
    db.gives("INSERT INTO f(\"" + name + "\") VALUES ('x'); SELECT count(*) FROM f WHERE \"" +
                 name + "\" = 'x'",
             1);
  }
  expect_arguments_refused(
      "cuckoo_filter",
      {{"email TEXT, unique", {"unique is an option: write unique = on"}},
       {"email TEXT, 'growth'", {"growth is an option: write growth = on"}},
       {"email TEXT, capacity = 9, unique", {"write unique = on"}},
       {"email TEXT, counting", {"counting is an option"}},
       {"Capacity", {"capacity is an option: write capacity = "}},
       {"email, 'capacity=100'", {"write capacity=100, without"}},
       {"email, capacity = 1,000,000", {"a number has no commas", "1,000; write 1000000"}},
       {"email, fpr = 0,01, growth = off", {"found fpr = 0,01; write 1000000"}},
       {"email, capacity = '1,000,000'", {"a number has no commas; found capacity = '1,000,000'"}},
       {"email, fpr = '0,01'", {"found fpr = '0,01'; write 1000000"}},
       {"email, capacity = '1000, or so'", {"a whole number from 1 to 2^40"}},
       {"email, source = '1,000'", {"expected table(column)"}},
       {"email, growth = off, TEXT", {"column \"TEXT\" follows an option"}}});
  expect_arguments_refused("bloom_filter", {{"email, counting", {"write counting = on"}}});
  expect_arguments_refused("flash_kv", {{"k, v, size", {"size is an option"}}});
  expect_arguments_refused("hash_ring", {{"vnodes", {"vnodes is an option"}}});
}

TEST(CreateOption, of_another_module_is_named_as_such) {
  const std::string here = "; the options here are ";
  expect_arguments_refused(
      "cuckoo_filter",
      {{"k, size = '1MB'", {"f: size is an option of flash_kv" + here + "capacity, fpr, "}},
       {"k, Stale = allowed", {"stale is an option of filter_guard" + here}},
       {"k, hashes = 3", {"hashes is an option of bloom_filter, flash_kv" + here}},
       {"k, weight = 3", {"unknown option \"weight\"; the options are capacity"}}});
  expect_arguments_refused(
      "BLOOM_filter",
      {{"k, fingerprint_bits = 8", {"fingerprint_bits is an option of cuckoo_filter" + here}}});
  expect_arguments_refused(
      "flash_kv",
      {{"k, v, capacity = 100", {"capacity is an option of cuckoo_filter, bloom_filter" + here}}});
  expect_arguments_refused(
      "filter_guard",
      {{"f, fpr = 0.1",
        {"fpr is an option of cuckoo_filter, bloom_filter" + here + "source, stale"}},
       {"f, vnodes = 1", {"vnodes is an option of hash_ring" + here}}});
  expect_arguments_refused(
      "hash_ring", {{"digest = sha1", {"digest is an option of flash_kv" + here + "vnodes, "}},
                    {"weight = 3", {"unknown option \"weight\"; the options are vnodes, "}}});
  Database db;  // a bare word that only other kinds of tables have as an option is a column
  db.run("CREATE VIRTUAL TABLE f USING cuckoo_filter(digest, size)");
  db.gives("SELECT name FROM pragma_table_info('f') LIMIT 2", "digest,size");
}

TEST(CreateColumn, name_may_need_quotes) {
  for (const char* name : {"\"my key\"", "[a]", "`b`", "'c'", "\"d\"\"e\"", "\"a=b\"", "\"select\"",
                           "\"ключ\"", "_x", "\"(\""}) {
    Database db;
    db.run(create(std::string(name) + " TEXT, capacity = 5"));
    EXPECT_EQ(db.number("SELECT count(*) FROM pragma_table_info('f')"), 1) << name;
    db.run("INSERT INTO f VALUES ('x')");
    const std::string column = db.text("SELECT name FROM pragma_table_info('f')");
    EXPECT_NE(column, "key") << name;
  }
  Database db;
  db.run(create("\"my \"\"key\" TEXT"));
  db.run("INSERT INTO f VALUES ('x')");
  db.gives("SELECT \"my \"\"key\" FROM f WHERE \"my \"\"key\" = 'x'", "x");
}

TEST(CreateColumn, that_can_not_be_is_refused) {
  expect_arguments_refused("cuckoo_filter",
                           {{"a, b, c, d, e, f1, g, h, i", {"1 to 8 columns", "i"}},
                            {"capacity = 5, a", {"a"}},
                            {"a COLLATE german", {"a", "BINARY, NOCASE or RTRIM"}},
                            {"a TEXT COLLATE UINT", {"a", "BINARY, NOCASE or RTRIM"}},
                            {"a TEXT COLLATE \"NO CASE\"", {"a", "BINARY, NOCASE or RTRIM"}}});
  for (const char* column :
       {"a PRIMARY KEY", "a TEXT NOT NULL", "a UNIQUE", "a DEFAULT 5", "a CHECK (a > 1)",
        "a REFERENCES t(x)", "a TEXT CONSTRAINT c UNIQUE", "a HIDDEN",
        "a INTEGER GENERATED ALWAYS AS (1)", "a TEXT COLLATE", "a COLLATE NOCASE TEXT",
        "a TEXT COLLATE NOCASE NOT NULL", "a COLLATE NOCASE COLLATE RTRIM"}) {
    expect_create_refused(create(column), {"a"});
  }
}

TEST(CreateArgument, that_is_empty_is_refused) {
  for (const char* text : {",", "a,", ",a", "a, , capacity = 5", "a, capacity = 5,", " , ",
                           "a /* , */ ,", "a, -- no\n", "[a,b],", "\"a(,\" TEXT,"}) {
    expect_create_refused(create(text), {"empty argument"});
  }
  for (const char* text : {"", " ", "/* , */", "a /* , */", "[a,b]", "\"a,(\" TEXT",
                           "a DECIMAL(10, 2), capacity = 5", "a -- ,\n, capacity = 5"}) {
    Database db;
    db.run(create(text));
  }
}

TEST(CreateColumn, declared_type_is_shown_and_stays) {
  TemporaryFolder folder;
  for (const char* type : {"INTEGER", "REAL", "TEXT", "BLOB", "NUMERIC", "VARCHAR(20)",
                           "DECIMAL(10, 2)", "DOUBLE PRECISION", "UNSIGNED BIG INT"}) {
    const std::string file = folder.file(std::string("t") + type[0] + type[1] + ".db");
    {
      Database db(file);
      db.run("DROP TABLE IF EXISTS f");
      db.run(create(std::string("k ") + type));
      db.gives("SELECT type FROM pragma_table_info('f')", type);
    }
    Database db(file);
    db.gives("SELECT type FROM pragma_table_info('f')", type);
    db.gives("INSERT INTO f VALUES (1); SELECT count(*) FROM f WHERE k = 1", 1);
  }
}

TEST(CreateName, of_table_like_a_column_is_refused) {
  Database db;
  db.refuses(create("f TEXT"), {"f", "column"});
  db.refuses(create("F TEXT"), {"f", "column"});
  db.refuses(create("", "key"), {"key", "column"});
  db.refuses(create("a", "count"), {"count", "column"});
  db.refuses(create("a", "\"COUNT\""), {"COUNT", "column"});
  db.refuses(create("count"), {"count"});
  db.refuses(create("Count TEXT"), {"count"});
  db.refuses(create("\"count\" INTEGER"), {"count"});
  db.gives("SELECT count(*) FROM sqlite_schema", 0);
}

TEST(CreateName, by_rename_like_a_column_is_refused) {
  Database db;
  db.run(create("email TEXT"));
  db.run("INSERT INTO f VALUES ('x')");
  db.refuses("ALTER TABLE f RENAME TO email", {"email", "column"});
  db.refuses("ALTER TABLE f RENAME TO Count", {"Count", "column"});
  db.run("BEGIN; INSERT INTO f VALUES ('y')");
  db.refuses("ALTER TABLE f RENAME TO EMAIL", {"EMAIL", "column"});
  db.gives("COMMIT; SELECT count(*) FROM f WHERE email IN ('x', 'y')", 2);
  db.run("ALTER TABLE f RENAME TO g; INSERT INTO g(g) VALUES ('check')");
  db.gives("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1", "g,g_config,g_data");
}

TEST(CreateName, may_need_quotes) {
  for (const char* name : {"\"my filter\"", "\"a.b\"", "\"a\"\"b\"", "\"it's\"", "\"select\"",
                           "\"100%\"", "\"журнал\"", "\"%w\""}) {
    Database db;
    db.run(create("key TEXT", name));
    const std::string table = name;
    db.run("INSERT INTO {} VALUES ('x')", table);
    db.run("INSERT INTO {}({}) VALUES ('check')", table, table);
    EXPECT_EQ(db.number("SELECT count(*) FROM {} WHERE key = 'x'", table), 1) << name;
    db.run("ALTER TABLE {} RENAME TO \"o\"\"d'd\"", table);
    EXPECT_EQ(db.number("SELECT count(*) FROM \"o\"\"d'd\" WHERE key = 'x'"), 1) << name;
    db.run("DROP TABLE \"o\"\"d'd\"");
    EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema"), 0) << name;
  }
}

TEST(CreateFailed, by_a_clash_of_names_leaves_nothing) {
  for (const char* suffix : {"config", "data"}) {
    for (const bool in_transaction : {false, true}) {
      Database db;
      db.run("CREATE TABLE f_{}(mine); INSERT INTO f_{} VALUES ('kept')", suffix, suffix);
      if (in_transaction) {
        db.run("BEGIN; CREATE TABLE before_it(x)");
      }
      db.refuses(create(""), {std::string("f_") + suffix, "already exists"});
      if (in_transaction) {
        db.gives("COMMIT; SELECT count(*) FROM before_it", 0);
        db.run("DROP TABLE before_it");
      }
      db.gives("SELECT name FROM sqlite_schema", std::string("f_") + suffix);
      db.gives(std::string("SELECT mine FROM f_") + suffix, "kept");
      db.run(std::string("DROP TABLE f_") + suffix);
      db.run(create(""));
      db.gives("INSERT INTO f VALUES (1); SELECT count(*) FROM f", 1);
    }
  }
}

TEST(CreateFailed, by_an_option_leaves_nothing) {
  Database db;
  for (const char* options : {"capacity = 0", "capacity = 1e12, fpr = 1e-9", "seed_of = x", "a, a",
                              "fpr = 0.1, fingerprint_bits = 5"}) {
    db.run("BEGIN; CREATE TABLE IF NOT EXISTS before_it(x)");
    EXPECT_EQ(db.attempt(create(options)).code, SQLITE_ERROR);
    db.run("COMMIT");
    EXPECT_EQ(db.list("SELECT name FROM sqlite_schema"), "before_it") << options;
  }
  db.run(create("capacity = 5"));
  db.run("INSERT INTO f VALUES (1); INSERT INTO f(f) VALUES ('check')");
}

TEST(CreateAgain, is_refused_and_if_not_exists_changes_nothing) {
  Database db;
  db.run(create("capacity = 5, seed = 1"));
  db.run("INSERT INTO f VALUES ('x')");
  const std::vector<Row> before = shadow_rows(db, "f");
  db.refuses(create("capacity = 5"), {"already exists"});
  db.run("CREATE VIRTUAL TABLE IF NOT EXISTS f USING cuckoo_filter(capacity = 7, seed = 2)");
  EXPECT_EQ(shadow_rows(db, "f"), before);
  db.gives("SELECT count(*) FROM f WHERE key = 'x'", 1);
  db.run("DROP TABLE f; DROP TABLE IF EXISTS f");
  db.run(create("capacity = 7, seed = 2"));
  db.gives("SELECT count(*) FROM f WHERE key = 'x'", 0);
}

TEST(CreateInTransaction, is_rolled_back_with_it) {
  Database db;
  db.run("BEGIN");
  db.run(create(""));
  db.gives("INSERT INTO f VALUES ('x'); ROLLBACK; SELECT count(*) FROM sqlite_schema", 0);
  db.run(create(""));
  db.gives("SELECT count(*) FROM f WHERE key = 'x'", 0);
  db.run("DROP TABLE f; BEGIN; SAVEPOINT s");
  db.run(create(""));
  db.run("INSERT INTO f VALUES ('x'); ROLLBACK TO s");
  db.run(create("capacity = 5"));
  db.run("INSERT INTO f VALUES ('y'); COMMIT; INSERT INTO f(f) VALUES ('check')");
  db.gives("SELECT key FROM f WHERE key IN ('x', 'y')", "y");
  db.gives("SELECT capacity FROM filter_info('f')", "5");
}

}  // namespace
}  // namespace filter_create_test
}  // namespace cuckoo::test
