// filter_info([filter]): a table-valued function with one row a filter table, or that one filter.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ext/module.hpp"

namespace cuckoo {

class LiveFilter;

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
  explicit Cursor(FilterInfo& table) : table_(table) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next() noexcept { ++row_; }
  bool eof() const noexcept { return row_ >= filters_.size(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(row_) + 1; }

 private:
  FilterInfo& table_;
  std::vector<std::shared_ptr<LiveFilter>> filters_;
  size_t row_ = 0;
};

}  // namespace cuckoo
