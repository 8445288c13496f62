// flash_kv_plan(size [, sector_size, erase_block]): a table-valued function with one row, which
// says how much of a device of that size rows can use. It makes nothing.
#pragma once

#include <array>
#include <string>

#include "core/flash/device.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"

namespace cuckoo {

class FlashPlan {
 public:
  class Cursor;

  explicit FlashPlan(const ModuleArguments&) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
};

class FlashPlan::Cursor {
 public:
  explicit Cursor(FlashPlan&) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next() noexcept { done_ = true; }
  bool eof() const noexcept { return done_; }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return 1; }

 private:
  std::array<KeyCopy, 3> arguments_;  // shown as they were given
  FlashGeometry geometry_;
  bool done_ = true;
};

}  // namespace cuckoo
