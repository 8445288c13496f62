// CREATE VIRTUAL TABLE … USING cuckoo_filter(…): options, columns, names, and what a CREATE that
// fails leaves.
#include <ctime>

#include "tests/support/sql_samples.hpp"

namespace cuckoo::test::filter_create_test {
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

}  // namespace
}  // namespace cuckoo::test::filter_create_test
