// What our virtual tables have in common: the LiveTable, to which they hand on what SQLite tells
// them of transactions, and the hidden column that is called like the table and takes commands.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

// INSERT INTO t(t, argument) VALUES ('name', …).
template <class Table>
struct Command {
  const char* name;
  enum class Argument { kNone, kTaken } argument;
  void (Table::*run)(sqlite3_value* argument);
};

template <class Live>
class StoredTable {
 public:
  StoredTable(const StoredTable&) = delete;
  StoredTable& operator=(const StoredTable&) = delete;

  void begin() noexcept { live_->begin(); }
  void sync() { live_->sync(); }
  void commit() noexcept { live_->commit(); }
  void rollback() noexcept { live_->rollback(); }
  void savepoint(int number) { live_->savepoint(number); }
  void release(int number) noexcept { live_->release(number); }
  void rollback_to(int number) noexcept { live_->rollback_to(number); }

  void destroy() { live_->destroy(); }
  // PRAGMA integrity_check; what is wrong with the table, or nothing.
  std::string integrity() {
    try {
      live_->check_stored();
      return {};
    } catch (const SqlError& error) {
      if ((error.code() & 0xFF) == SQLITE_CORRUPT) {
        return error.message();
      }
      throw;
    }
  }

  void note_planned() noexcept { live_->note_planned(); }
  Live& live() noexcept { return *live_; }
  const std::string& name() const noexcept { return live_->table(); }

 protected:
  StoredTable() = default;
  ~StoredTable() {
    if (live_ != nullptr) {
      live_->drop_instance();
    }
  }

  void attach(const ModuleArguments& arguments) {
    live_ = arguments.connection.attach<Live>(arguments.schema(), arguments.table(),
                                              arguments.creating);
    live_->add_instance();
  }

  // The column that takes commands is called like the table. `what`: "a filter".
  template <class Names>
  static void refuse_own_column(const char* what, const std::string& table, const Names& columns) {
    for (const std::string_view column : columns) {
      if (equal_names(table, column)) {
        throw SqlError(SQLITE_ERROR,
                       std::string(what) + " may not be called like one of its columns: " + table);
      }
    }
  }

  template <class Table>
  static void run_command(Table& table, std::span<const Command<Table>> commands,
                          sqlite3_value* command, sqlite3_value* argument) {
    const std::string word = lower(text_argument(command));
    std::string all;
    for (const Command<Table>& known : commands) {
      if (word == known.name) {
        if (known.argument == Command<Table>::Argument::kNone && !is_null(argument)) {
          throw SqlError(SQLITE_ERROR, table.name() + ": " + word + " takes no argument");
        }
        (table.*known.run)(argument);
        return;
      }
      all += (all.empty() ? "" : ", ") + std::string(known.name);
    }
    throw SqlError(SQLITE_ERROR, table.name() + ": unknown command \"" +
                                     printable(text_argument(command)) + "\"; the commands are " +
                                     all);
  }

  void run_check(sqlite3_value*) { live_->check(); }

  std::shared_ptr<Live> live_;
};

}  // namespace cuckoo
