// flash_kv_salvage(name): a table-valued function with a row for each row of a flash_kv that is
// sound, whatever is damaged. If the store can be read, these are its rows without the damaged
// ones. If not, they are what its blocks tell (core/flash/salvage.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/flash/salvage.hpp"
#include "ext/flash/live_flash.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

class FlashSalvageTable {
 public:
  class Cursor;

  explicit FlashSalvageTable(const ModuleArguments& arguments)
      : connection_(arguments.connection) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  Connection& connection() noexcept { return connection_; }

 private:
  Connection& connection_;
};

class FlashSalvageTable::Cursor {
 public:
  explicit Cursor(FlashSalvageTable& table) : table_(table) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next();
  bool eof() const noexcept { return done_; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return row_; }

 private:
  bool next_of_store();
  bool next_of_device();

  FlashSalvageTable& table_;
  KeyCopy argument_;
  Connection::Tables<LiveFlash> tables_;  // of one
  LiveFlash* live_ = nullptr;
  // One of the two.
  std::optional<FlashScan> scan_;
  std::unique_ptr<FlashSalvage> salvage_;
  uint64_t state_ = 0;  // of the store, while it is scanned

  std::vector<std::byte> key_, value_;
  uint32_t position_ = 0;
  sqlite3_int64 row_ = 0;
  bool done_ = true;
};

}  // namespace cuckoo
