// A connection without the extension, on which it can be loaded in each way.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <string>

#include "tests/support/extension_path.hpp"

namespace cuckoo::test {

class BareDatabase {
 public:
  explicit BareDatabase(const std::string& path = ":memory:") {
    code_ = sqlite3_open(path.c_str(), &db_);
    if (db_ != nullptr) {
      // Without lookaside, each allocation of the connection goes to the allocator.
      sqlite3_db_config(db_, SQLITE_DBCONFIG_LOOKASIDE, nullptr, 0, 0);
      sqlite3_enable_load_extension(db_, 1);
    }
  }
  ~BareDatabase() { EXPECT_EQ(sqlite3_close(db_), SQLITE_OK); }
  BareDatabase(const BareDatabase&) = delete;
  BareDatabase& operator=(const BareDatabase&) = delete;

  sqlite3* handle() const noexcept { return db_; }
  int open_code() const noexcept { return code_; }

  int load(const char* path = extension_path()) {
    return sqlite3_load_extension(db_, path, nullptr, nullptr);
  }
  int load_by_statement() {
    return run(std::string("SELECT load_extension('") + extension_path() + "')");
  }
  int run(const std::string& sql) {
    return sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  std::string message() const { return sqlite3_errmsg(db_); }

  std::set<std::string> names(const std::string& sql) {
    std::set<std::string> found;
    const auto take = [](void* names, int, char** row, char**) {
      static_cast<std::set<std::string>*>(names)->insert(row[0] == nullptr ? "NULL" : row[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), take, &found, nullptr), SQLITE_OK) << message();
    return found;
  }
  std::string text(const std::string& sql) {
    const std::set<std::string> found = names(sql);
    return found.empty() ? "none" : *found.begin();
  }
  std::set<std::string> catalogue() {
    return names(
        "SELECT name || '/' || narg FROM pragma_function_list"
        " UNION SELECT name FROM pragma_module_list WHERE name NOT LIKE 'pragma%'");
  }

  void function(const char* name, int arguments) {
    EXPECT_EQ(sqlite3_create_function(db_, name, arguments, SQLITE_UTF8, nullptr, answer, nullptr,
                                      nullptr),
              SQLITE_OK);
  }

 private:
  static void answer(sqlite3_context* context, int, sqlite3_value**) {
    sqlite3_result_text(context, "the application's", -1, SQLITE_STATIC);
  }

  sqlite3* db_ = nullptr;
  int code_ = SQLITE_OK;
};

}  // namespace cuckoo::test
