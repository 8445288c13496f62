// A real connection with the extension loaded, as an application has it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/caller.hpp"
#include "tests/support/extension_path.hpp"

namespace cuckoo::test {

// A folder of its own for one test, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    do {
      path_ = std::filesystem::temp_directory_path() / ("cuckoo-" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));  // there is one already
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int code = SQLITE_OK;  // extended
  std::string message;
};

using Row = std::vector<std::string>;

inline std::string as_text(const std::string& value) { return value; }
inline std::string as_text(std::integral auto value) { return std::to_string(value); }
inline std::string as_text(double value) { return std::to_string(value); }

// Puts the values into the places of the text's "{}".
inline std::string filled(const std::string& text, const std::vector<std::string>& values) {
  std::string result;
  size_t at = 0;
  for (const std::string& value : values) {
    const size_t hole = text.find("{}", at);
    if (hole == std::string::npos) {
      ADD_FAILURE() << "more values than {}: " << text;
      break;
    }
    result += text.substr(at, hole - at) + value;
    at = hole + 2;
  }
  if (!values.empty() && text.find("{}", at) != std::string::npos) {
    ADD_FAILURE() << "fewer values than {}: " << text;
  }
  return result + text.substr(at);
}

// The same with values that are texts or numbers.
template <class... Values>
std::string sql(const std::string& text, const Values&... values) {
  return filled(text, {as_text(values)...});
}

// A statement or several, and where the test has them: failures are reported there.
struct Sql {
  template <class Text>
  requires std::convertible_to<const Text&, std::string> Sql(const Text& statements,
                                                             Caller caller = Caller::here())
      : text(statements), from(caller) {}

  std::string text;
  Caller from;
};

// Functions that take values put them into the text as sql() does.
class Database {
 public:
  explicit Database(const std::string& path = ":memory:",
                    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI) {
    fix_randomness();
    if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) {
      ADD_FAILURE() << "open " << path << ": " << sqlite3_errmsg(db_);
    }
    sqlite3_extended_result_codes(db_, 1);
    sqlite3_db_config(db_, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, nullptr);
    char* error = nullptr;
    if (sqlite3_load_extension(db_, extension_path(), nullptr, &error) != SQLITE_OK) {
      ADD_FAILURE() << "load: " << (error != nullptr ? error : "?");
      sqlite3_free(error);
    }
  }
  // SQLITE_BUSY would mean that the extension kept a statement.
  ~Database() { EXPECT_EQ(sqlite3_close(db_), SQLITE_OK); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  sqlite3* handle() const noexcept { return db_; }

  template <class... Values>
  Outcome attempt(const std::string& text, const Values&... values) {
    Outcome outcome;
    char* error = nullptr;
    if (sqlite3_exec(db_, sql(text, values...).c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
      outcome.code = sqlite3_extended_errcode(db_);
      outcome.message = error != nullptr ? error : "";  // there may be no memory for it
      sqlite3_free(error);
    }
    return outcome;
  }

  template <class... Values>
  void run(const Sql& statements, const Values&... values) {
    const std::string text = sql(statements.text, values...);
    const Outcome outcome = attempt(text);
    if (outcome.code != SQLITE_OK) {
      ADD_FAILURE_AT(statements.from.file, statements.from.line)
          << text << "\ncode " << outcome.code << ": " << outcome.message;
    }
  }

  // Expects that it fails with that code (primary or extended) and a text that holds each part.
  void refuses(const Sql& statements, int code, const std::vector<std::string>& parts = {}) {
    const auto& [text, from] = statements;
    const Outcome outcome = attempt(text);
    if (outcome.code != code && (outcome.code & 0xFF) != code) {
      ADD_FAILURE_AT(from.file, from.line)
          << text << "\ncode " << outcome.code << ", expected " << code << ": " << outcome.message;
    }
    for (const std::string& part : parts) {
      if (outcome.message.find(part) == std::string::npos) {
        ADD_FAILURE_AT(from.file, from.line)
            << text << "\nsays: " << outcome.message << "\nwithout: " << part;
      }
    }
  }
  // The same with SQLITE_ERROR, the code of nearly all refusals.
  void refuses(const Sql& statements, const std::vector<std::string>& parts) {
    refuses(statements, SQLITE_ERROR, parts);
  }

  // Expects these rows: columns are joined by "|", rows by ","; "none" without a row.
  void gives(const Sql& statements, const std::string& expected) {
    const testing::ScopedTrace here(statements.from.file, statements.from.line, statements.text);
    std::string given;
    const char* between = "";
    for (const Row& row : rows(statements)) {
      for (const std::string& value : row) {
        given += between + value;
        between = "|";
      }
      between = ",";
    }
    EXPECT_EQ(*between == 0 ? "none" : given, expected);
  }
  void gives(const Sql& statements, std::integral auto expected) {
    gives(statements, std::to_string(expected));
  }

  // Expects of each case, "text => rows", that the statement with the text for its "{}" gives them.
  void gives_each(const Sql& statement, const std::vector<std::string>& cases) {
    for (const std::string& each : cases) {
      const size_t arrow = each.find(" => ");
      ASSERT_NE(arrow, std::string::npos) << each;
      gives({filled(statement.text, {each.substr(0, arrow)}), statement.from},
            each.substr(arrow + 4));
    }
  }

  // The rows as text, of all statements; NULL as "NULL". A failure is a test failure.
  template <class... Values>
  std::vector<Row> rows(const Sql& statements, const Values&... values) {
    const std::string text = sql(statements.text, values...);
    std::vector<Row> result;
    for (const char* rest = text.c_str(); *rest != 0;) {
      sqlite3_stmt* statement = nullptr;
      int code = sqlite3_prepare_v2(db_, rest, -1, &statement, &rest);
      if (code == SQLITE_OK && statement == nullptr) {
        break;  // a comment
      }
      while ((code == SQLITE_OK || code == SQLITE_ROW) &&
             (code = sqlite3_step(statement)) == SQLITE_ROW) {
        Row row;
        for (int i = 0; i < sqlite3_column_count(statement); ++i) {
          const auto* value = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
          row.push_back(value == nullptr ? "NULL" : value);
        }
        result.push_back(std::move(row));
      }
      if (code != SQLITE_DONE) {
        ADD_FAILURE_AT(statements.from.file, statements.from.line)
            << text << "\ncode " << code << ": " << sqlite3_errmsg(db_);
      }
      sqlite3_finalize(statement);
      if (code != SQLITE_DONE) {
        break;
      }
    }
    return result;
  }

  // The first column of the first row; "none" without a row.
  template <class... Values>
  std::string text(const Sql& statements, const Values&... values) {
    const std::vector<Row> result = rows(statements, values...);
    return result.empty() ? "none" : result[0][0];
  }
  // Rows of the first column, joined by commas.
  template <class... Values>
  std::string list(const Sql& statements, const Values&... values) {
    std::string joined;
    for (const Row& row : rows(statements, values...)) {
      joined += (joined.empty() ? "" : ",") + row[0];
    }
    return joined;
  }
  template <class... Values>
  int64_t number(const Sql& statements, const Values&... values) {
    const std::string value = text(statements, values...);
    return value == "none" || value == "NULL" ? -1 : std::stoll(value);
  }

 private:
  // Seeds that are not given are random: the same ones at every run of a test, or one of thousands
  // of keys that should be absent would be there once in hundreds of runs.
  static void fix_randomness() {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    if (test != nullptr) {
      const std::string name = std::string(test->test_suite_name()) + "." + test->name();
      const auto seed = static_cast<int>(std::hash<std::string>{}(name) | 1);
      sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, seed, static_cast<sqlite3*>(nullptr));
    }
  }

  sqlite3* db_ = nullptr;
};

// Without fsync(): for tests that open and close many files.
class QuickDatabase : public Database {
 public:
  explicit QuickDatabase(const std::string& path) : Database(path) {
    run("PRAGMA synchronous = OFF");
  }
};

// For tests of one database in memory: `using Subject = WithDatabase;`.
class WithDatabase : public testing::Test {
 protected:
  Database db;
};

// Copies one database over another by SQLite's backup.
inline void back_up(const Database& from, Database& to) {
  sqlite3_backup* backup = sqlite3_backup_init(to.handle(), "main", from.handle(), "main");
  ASSERT_NE(backup, nullptr);
  EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
  EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
}

// A prepared statement that the test steps itself.
class Query {
 public:
  template <class... Values>
  Query(Database& db, const Sql& statement, const Values&... values) : db_(db.handle()) {
    const std::string text = sql(statement.text, values...);
    if (sqlite3_prepare_v2(db_, text.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
      ADD_FAILURE_AT(statement.from.file, statement.from.line) << text << "\n"
                                                               << sqlite3_errmsg(db_);
    }
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  sqlite3_stmt* handle() const noexcept { return statement_; }
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  int64_t integer(int column = 0) const { return sqlite3_column_int64(statement_, column); }
  // Runs it once more from the start; the first column of the first row.
  int64_t once(Caller from = Caller::here()) {
    sqlite3_reset(statement_);
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW) {
      ADD_FAILURE_AT(from.file, from.line) << "code " << code << ": " << sqlite3_errmsg(db_);
    }
    const int64_t value = code == SQLITE_ROW ? integer() : -1;
    sqlite3_reset(statement_);
    return value;
  }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

// Which rows of a filter's "_data" are what, by their ids (core/segments/blocks.hpp).
inline constexpr char kRootRows[] = "(id & 72057594037927935) = 0";
inline constexpr char kDirectoryRows[] = "(id & 72057594037927935) BETWEEN 1 AND 16777214";
inline constexpr char kPageRows[] =
    "((id >> 24 & 4294967295) BETWEEN 1 AND 1073741823 AND (id & 16777215) < 8388608)";
inline constexpr char kRunRows[] =
    "((id >> 24 & 4294967295) BETWEEN 1 AND 1073741823 AND"
    " (id & 16777215) BETWEEN 8388608 AND 12582911)";
inline constexpr char kOverflowRows[] =
    "((id >> 24 & 4294967295) BETWEEN 1 AND 1073741823"
    " AND (id & 16777215) BETWEEN 12582912 AND 14680063)";
inline constexpr char kLogRows[] = "(id > 0 AND (id >> 55 & 1) = 1)";
inline int64_t rows_of(Database& db, const std::string& table, const std::string& which,
                       Caller from = Caller::here()) {
  return db.number({"SELECT count(*) FROM " + table + "_data WHERE " + which, from});
}

// Tables whose contents, all rows of all columns, make the filter: for comparing two of them.
inline std::vector<Row> shadow_rows(Database& db, const std::string& table,
                                    const std::string& schema = "main") {
  std::vector<Row> all;
  for (const char* columns :
       {"_config|key, value", "_data|id, block", "_pages|id, page", "_items|key, value"}) {
    const std::string spec = columns;
    const size_t bar = spec.find('|');
    const std::string name = "\"" + schema + "\".\"" + table + spec.substr(0, bar) + "\"";
    if (sqlite3_table_column_metadata(db.handle(), schema.c_str(),
                                      (table + spec.substr(0, bar)).c_str(), nullptr, nullptr,
                                      nullptr, nullptr, nullptr, nullptr) != SQLITE_OK) {
      continue;  // not every module has each of them
    }
    const size_t comma = spec.find(',');
    const std::string first = spec.substr(bar + 1, comma - bar - 1);
    const std::string second = spec.substr(comma + 2);
    for (Row& row : db.rows("SELECT '" + spec.substr(0, bar) + "', quote(" + first + "), quote(" +
                            second + ") FROM " + name + " ORDER BY 2")) {
      all.push_back(std::move(row));
    }
  }
  return all;
}

}  // namespace cuckoo::test
