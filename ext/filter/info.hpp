// filter_info([filter]): a table-valued function with one row for each filter table, or one row for
// that filter, image or message. A table that can't be read has its error in its row, and the
// others are shown, too.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ext/filter/live_filter.hpp"
#include "ext/filter/message_info.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/table_rows.hpp"

namespace cuckoo {

class ImageFilter;

class FilterInfo {
 public:
  class Cursor;

  explicit FilterInfo(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  Connection& connection() noexcept { return connection_; }

 private:
  Connection& connection_;
};

class FilterInfo::Cursor {
 public:
  explicit Cursor(FilterInfo& table);
  ~Cursor();

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next();
  bool eof() const noexcept { return is_value() ? past_value_ : rows_.done(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(rows_.number()) + 1; }

 private:
  bool is_value() const noexcept { return image_ != nullptr || message_; }
  void message_column(sqlite3_context* context, int column) const;
  void image_column(sqlite3_context* context, int column) const;
  void table_column(sqlite3_context* context, int column);

  FilterInfo& table_;
  KeyCopy argument_;                    // shown as it was given
  std::unique_ptr<ImageFilter> image_;  // instead of tables
  std::optional<MessageInfo> message_;  // instead of tables
  bool past_value_ = false;
  TableRows<LiveFilter> rows_;
};

}  // namespace cuckoo
