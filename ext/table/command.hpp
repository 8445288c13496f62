// Commands of a table: INSERT INTO t(t, argument) VALUES ('name', …). The hidden column that takes
// them is called like the table.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/function.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/tokens.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

template <class Target>
struct Command {
  const char* name;
  enum class Argument { kNone, kTaken, kOptional } argument;
  void (Target::*run)(sqlite3_value* argument);
};

// Returns the statement of a command without an argument.
inline std::string command_text(const std::string& table, const char* command) {
  const std::string name = sql_name(table);
  return "INSERT INTO " + name + "(" + name + ") VALUES ('" + command + "')";
}

// Throws SqlError that begins with target.name().
template <class Target>
void run_command(Target& target, std::span<const Command<Target>> commands, sqlite3_value* command,
                 sqlite3_value* argument) {
  const std::string word = lower(text_argument(command));
  const auto known = std::find_if(commands.begin(), commands.end(),
                                  [&word](const Command<Target>& one) { return word == one.name; });
  if (known == commands.end()) {
    std::string all;
    for (const Command<Target>& one : commands) {
      all += (all.empty() ? "" : ", ") + std::string(one.name);
    }
    throw SqlError(SQLITE_ERROR, target.name() + ": unknown command \"" +
                                     printable(text_argument(command)) + "\"; the commands are " +
                                     all);
  }
  if (known->argument == Command<Target>::Argument::kNone && !is_null(argument)) {
    throw SqlError(SQLITE_ERROR, target.name() + ": " + word + " takes no argument");
  }
  (target.*known->run)(argument);
}

// Throws SqlError if a column has the table's name. `what` names the kind: "a filter".
template <class Names>
void refuse_own_column(const char* what, const std::string& table, const Names& columns) {
  for (const std::string_view column : columns) {
    if (equal_names(table, column)) {
      throw SqlError(SQLITE_ERROR,
                     std::string(what) + " may not be called like one of its columns: " + table);
    }
  }
}

}  // namespace cuckoo
