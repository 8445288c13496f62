// A real connection with the extension loaded, as an application has it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

  Outcome attempt(const std::string& sql) {
    Outcome outcome;
    char* error = nullptr;
    if (sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &error) != SQLITE_OK) {
      outcome.code = sqlite3_extended_errcode(db_);
      outcome.message = error != nullptr ? error : "";  // there may be no memory for it
      sqlite3_free(error);
    }
    return outcome;
  }

  void run(const std::string& sql) {
    const Outcome outcome = attempt(sql);
    EXPECT_EQ(outcome.code, SQLITE_OK) << sql << "\n" << outcome.message;
  }

  // Fails with that code (primary or extended) and a text that holds each part.
  void refuses(const std::string& sql, int code, const std::vector<std::string>& parts) {
    const Outcome outcome = attempt(sql);
    EXPECT_TRUE(outcome.code == code || (outcome.code & 0xFF) == code)
        << sql << "\ncode " << outcome.code << ", expected " << code << ": " << outcome.message;
    for (const std::string& part : parts) {
      EXPECT_NE(outcome.message.find(part), std::string::npos)
          << sql << "\nsays: " << outcome.message << "\nwithout: " << part;
    }
  }

  // The rows as text; NULL as "NULL". A failure is a test failure.
  std::vector<Row> rows(const std::string& sql) {
    std::vector<Row> result;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sql << "\n"
        << sqlite3_errmsg(db_);
    int code = SQLITE_OK;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      Row row;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        row.push_back(text == nullptr ? "NULL" : text);
      }
      result.push_back(std::move(row));
    }
    EXPECT_EQ(code, SQLITE_DONE) << sql << "\n" << sqlite3_errmsg(db_);
    sqlite3_finalize(statement);
    return result;
  }

  // The first column of the first row; "none" without a row.
  std::string text(const std::string& sql) {
    const std::vector<Row> result = rows(sql);
    return result.empty() ? "none" : result[0][0];
  }
  // Rows of the first column, joined by commas.
  std::string list(const std::string& sql) {
    std::string joined;
    for (const Row& row : rows(sql)) {
      joined += (joined.empty() ? "" : ",") + row[0];
    }
    return joined;
  }
  int64_t number(const std::string& sql) {
    const std::string value = text(sql);
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

// A prepared statement that the test steps itself.
class Query {
 public:
  Query(Database& db, const std::string& sql) : db_(db.handle()) {
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr), SQLITE_OK)
        << sql << "\n"
        << sqlite3_errmsg(db_);
  }
  ~Query() { sqlite3_finalize(statement_); }
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  sqlite3_stmt* handle() const noexcept { return statement_; }
  int step() { return sqlite3_step(statement_); }
  void reset() { sqlite3_reset(statement_); }
  int64_t integer(int column = 0) const { return sqlite3_column_int64(statement_, column); }
  // Runs it once more from the start; the first column of the first row.
  int64_t once() {
    sqlite3_reset(statement_);
    const int code = sqlite3_step(statement_);
    EXPECT_EQ(code, SQLITE_ROW) << sqlite3_errmsg(db_);
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
    "((id >> 24 & 4294967295) BETWEEN 1 AND 1073741823 AND (id & 16777215) >= 12582912)";
inline constexpr char kLogRows[] = "(id > 0 AND (id >> 55 & 1) = 1)";
inline int64_t rows_of(Database& db, const std::string& table, const std::string& which) {
  return db.number("SELECT count(*) FROM " + table + "_data WHERE " + which);
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
