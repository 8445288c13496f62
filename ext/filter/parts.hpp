// filter_parts(filter, mark, bytes [, 'hashes']): a table-valued function with one row for each
// part of the message that filter_changes(filter, mark [, 'hashes']) gives at once. No part is
// longer than `bytes`. Memory holds one part and one segment of the filter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/segments/message_part.hpp"
#include "core/segments/message_stream.hpp"
#include "ext/filter/live_filter.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/sqlite/value.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

class FilterParts {
 public:
  class Cursor;

  explicit FilterParts(const ModuleArguments& arguments) : connection_(arguments.connection) {}

  std::string declaration() const;
  bool best_index(sqlite3_index_info* info);
  Connection& connection() noexcept { return connection_; }

 private:
  Connection& connection_;
};

class FilterParts::Cursor {
 public:
  explicit Cursor(FilterParts& table) : connection_(table.connection()) {}

  void filter(int plan, const char* text, int count, sqlite3_value** values);
  void next();
  bool eof() const noexcept { return piece_.empty(); }
  void column(sqlite3_context* context, int column);
  sqlite3_int64 rowid() const noexcept { return static_cast<sqlite3_int64>(index_) + 1; }

 private:
  uint64_t part_bytes(sqlite3_value* value) const;
  void end() noexcept;
  void make();

  Connection& connection_;
  KeyCopy name_argument_, mark_argument_, bytes_argument_, hashes_argument_;  // as given
  Connection::Named<LiveFilter> filter_;
  std::pair<uint64_t, uint64_t> filters_made_;  // of the filter, when the stream was made
  segments::MessageStream stream_;
  segments::MessageCut cut_;
  uint64_t index_ = 0;  // of the part
  std::vector<std::byte> piece_;
};

}  // namespace cuckoo
