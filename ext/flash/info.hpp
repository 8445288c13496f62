// flash_kv_info([table]): a table-valued function with one row for each flash_kv, or only for that
// one. A table that can't be read has its error in its row, and the others are shown, too.
// flash_kv_sectors(table): one row for each sector.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ext/flash/survey.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/table_rows.hpp"

namespace cuckoo {

// Returns the argument of a function that takes a flash_kv's name. Returns nothing for NULL.
std::optional<std::string> flash_name_argument(sqlite3_value* name, const char* function);

class FlashInfo {
 public:
  class Cursor;

  explicit FlashInfo(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  Connection& connection() noexcept { return connection_; }

 private:
  Connection& connection_;
};

class FlashInfo::Cursor {
 public:
  explicit Cursor(FlashInfo& table) : table_(table) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next();
  bool eof() const noexcept { return rows_.done(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(rows_.number()) + 1; }

 private:
  void survey();
  void space_column(sqlite3_context* context, int column) const;
  void table_column(sqlite3_context* context, int column);
  void index_column(sqlite3_context* context, int column) const;
  void counter_column(sqlite3_context* context, int column) const;  // counts over the store's life

  FlashInfo& table_;
  KeyCopy argument_;  // shown as it was given
  TableRows<LiveFlash> rows_;
  bool surveys_ = false;               // a column of this statement needs a survey
  std::optional<FlashSurvey> survey_;  // of the current row
};

class FlashSectors {
 public:
  class Cursor;

  explicit FlashSectors(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  Connection& connection() noexcept { return connection_; }

 private:
  Connection& connection_;
};

class FlashSectors::Cursor {
 public:
  explicit Cursor(FlashSectors& table) : table_(table) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next() noexcept { ++sector_; }
  bool eof() const noexcept { return !survey_ || sector_ >= survey_->sectors(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(sector_); }

 private:
  FlashSectors& table_;
  KeyCopy argument_;
  std::optional<FlashSurvey> survey_;
  uint64_t sector_ = 0;
};

}  // namespace cuckoo
