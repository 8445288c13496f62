// What tests of tables share: numbers as SQL, what a filter says about them, options that are
// refused, plans, interrupts, less memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/page_size.hpp"
#include "tests/support/database.hpp"
#include "tests/support/source_tree.hpp"

namespace cuckoo::test {

// A table n of the whole numbers i = first … last, for the statement after it.
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
inline int64_t present(Database& db, const std::string& keys, const std::string& table = "f",
                       Caller from = Caller::here()) {
  return db.number(
      {"SELECT count(*) FROM (" + keys + ") JOIN " + table + " AS x ON x.key = i", from});
}
inline int64_t present(Database& db, int64_t first, int64_t last, const std::string& table = "f",
                       Caller from = Caller::here()) {
  return present(db, numbers(first, last), table, from);
}

inline void check(Database& db, const std::string& table = "f", Caller from = Caller::here()) {
  db.run({"INSERT INTO " + table + "(" + table + ") VALUES ('check')", from});
}

// Returns the name of a trigger that a filter made ("insert", "update", "delete"), or of the
// virtual table that it made for them ("row").
inline std::string own_name(Database& db, const std::string& filter, const std::string& what) {
  return db.text(sql(
      "SELECT name FROM sqlite_schema WHERE name LIKE '{}\\_source\\_{}\\_________' ESCAPE '\\'",
      filter, what));
}
inline std::string drop_of_own(Database& db, const std::string& filter, const std::string& what) {
  return sql("DROP {} \"{}\"", what == "row" ? "TABLE" : "TRIGGER", own_name(db, filter, what));
}
// Returns the names of all triggers, without their suffixes.
inline std::string triggers_of(Database& db, const std::string& order = "1") {
  return db.list(
      "SELECT iif(name LIKE '%\\_source\\_%\\_________' ESCAPE '\\', substr(name, 1, length(name) "
      "- 9), name)"
      " FROM sqlite_schema WHERE type = 'trigger' ORDER BY " +
      order);
}

// Splits a list at its separators.
inline std::vector<std::string> split(const std::string& list,
                                      const std::string& separator = ", ") {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t to = 0; to != std::string::npos; from = to + separator.size()) {
    to = list.find(separator, from);
    parts.push_back(list.substr(from, to - from));
  }
  return parts;
}

// Returns the statement of a filter's command with an argument.
inline std::string command(const std::string& table, const std::string& word,
                           const std::string& argument, const std::string& column = "key") {
  return sql("INSERT INTO {}({}, {}) VALUES ('{}', {})", table, table, column, word, argument);
}
// Returns the mark of a filter's state in hex digits.
inline std::string mark_of(Database& db, const std::string& table, Caller from = Caller::here()) {
  return db.text({"SELECT hex(filter_mark('{}'))", from}, table);
}

// Returns SQLite's plan of a statement, a line a step.
inline std::string plan_of(Database& db, const std::string& statement) {
  std::string text;
  for (const Row& row : db.rows("EXPLAIN QUERY PLAN " + statement)) {
    text += row[3] + "\n";
  }
  return text;
}

// Runs statements that a progress handler stops: SQLite calls it after each `steps` steps of its
// machine, and it lets them go on so many times.
inline Outcome stopped(Database& db, const std::string& statements, int steps, int times) {
  sqlite3_progress_handler(
      db.handle(), steps, [](void* left) { return (*static_cast<int*>(left))-- <= 0 ? 1 : 0; },
      &times);
  Outcome outcome = db.attempt(statements);
  sqlite3_progress_handler(db.handle(), 0, nullptr, nullptr);
  return outcome;
}

// Expects that a CREATE fails with a text that holds each part, and leaves nothing.
inline void expect_create_refused(const std::string& create, const std::vector<std::string>& parts,
                                  Caller from = Caller::here()) {
  const auto trace = from.trace();
  Database db;
  db.refuses({create, from}, parts);
  EXPECT_EQ(db.number("SELECT count(*) FROM sqlite_schema"), 0) << create;
}

struct RefusedArguments {
  std::string arguments;
  std::vector<std::string> parts;
};
// Expects that no virtual table of this module can be made with these arguments, one at a time.
inline void expect_arguments_refused(const std::string& module,
                                     const std::vector<RefusedArguments>& cases,
                                     Caller from = Caller::here()) {
  for (const auto& [arguments, parts] : cases) {
    expect_create_refused(sql("CREATE VIRTUAL TABLE f USING {}({})", module, arguments), parts,
                          from);
  }
}

struct RefusedValues {
  std::string option;
  std::vector<std::string> values;
  std::string expected;
};
// Expects that each of these values of an option is refused, and that the text names the option and
// what it may be.
inline void expect_values_refused(const std::string& module,
                                  const std::vector<RefusedValues>& options,
                                  Caller from = Caller::here()) {
  for (const auto& [option, values, expected] : options) {
    for (const std::string& value : values) {
      const std::string arguments = option + " = " + value;
      expect_arguments_refused(module, {{arguments, {option, expected}}}, from);
    }
  }
}

// In its lifetime SQLite gives no more than that above what is in use. Where the module has its own
// operator new (builds without sanitizers) its memory counts, too.
class MemoryLimiter {
 public:
  explicit MemoryLimiter(int64_t above) {
    sqlite3_hard_heap_limit64(sqlite3_memory_used() + above);
  }
  ~MemoryLimiter() {
    sqlite3_hard_heap_limit64(0);
    // Only this takes back that memory is nearly used up. Caches would go on spilling, and readers
    // find the file locked.
    sqlite3_soft_heap_limit64(0);
  }
  MemoryLimiter(const MemoryLimiter&) = delete;
  MemoryLimiter& operator=(const MemoryLimiter&) = delete;
};

}  // namespace cuckoo::test
