// What tests of tables share: numbers as SQL, what a filter says about them, less memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/page_size.hpp"
#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test {

// A table n of the whole numbers i = first … last, for the statement behind it.
inline std::string with_numbers(int64_t first, int64_t last) {
  return "WITH RECURSIVE n(i) AS (VALUES (" + std::to_string(first) +
         ") UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(last) + ") ";
}
inline std::string with_numbers(int64_t count) { return with_numbers(1, count); }

// These numbers as a query: one column, i.
inline std::string numbers(int64_t first, int64_t last) {
  return with_numbers(first, last) + "SELECT i FROM n";
}

// How many rows of a query with a column i the filter says are there.
inline int64_t present(Database& db, const std::string& keys, const std::string& table = "f") {
  return db.number("SELECT count(*) FROM (" + keys + ") JOIN " + table + " AS x ON x.key = i");
}
inline int64_t present(Database& db, int64_t first, int64_t last, const std::string& table = "f") {
  return present(db, numbers(first, last), table);
}

inline void check(Database& db, const std::string& table = "f") {
  db.run("INSERT INTO " + table + "(" + table + ") VALUES ('check')");
}

// A CREATE fails with a text that holds each part, and leaves nothing.
inline void expect_create_refused(const std::string& create,
                                  const std::vector<std::string>& parts) {
  Database db;
  db.refuses(create, SQLITE_ERROR, parts);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema"), 0) << create;
}

// In its lifetime SQLite gives no more than that above what is in use. Where the module has its own
// operator new (builds without sanitizers) its memory counts, too.
class MemoryLimiter {
 public:
  explicit MemoryLimiter(int64_t above) {
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + above);
  }
  ~MemoryLimiter() { sqlite3_hard_heap_limit64(0); }
  MemoryLimiter(const MemoryLimiter&) = delete;
  MemoryLimiter& operator=(const MemoryLimiter&) = delete;
};

}  // namespace cuckoo::test
