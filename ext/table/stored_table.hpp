// The base of our virtual tables. It passes on to the LiveTable what SQLite tells of transactions.
#pragma once

#include <memory>
#include <string>

#include "ext/sqlite/error.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

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
  // Returns the error that PRAGMA integrity_check shows, or nothing.
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
  explicit StoredTable(const ModuleArguments& arguments)
      : live_(arguments.connection.attach<Live>(arguments.schema(), arguments.table(),
                                                arguments.creating)) {
    live_->add_instance();
  }
  ~StoredTable() { live_->drop_instance(); }

  void run_check(sqlite3_value*) { live_->check(); }

  const std::shared_ptr<Live> live_;
};

}  // namespace cuckoo
