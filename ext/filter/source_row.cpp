#include "ext/filter/source_row.hpp"

#include <algorithm>
#include <span>

#include "ext/filter/trigger_tables.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

SourceRow::SourceRow(const ModuleArguments& arguments)
    : name_(arguments.table()),
      columns_(arguments.texts + std::min(3, arguments.count), arguments.texts + arguments.count) {}

void SourceRow::make(sqlite3* db, const std::string& schema, const std::string& filter,
                     const SourceSpec& source) {
  std::string columns;
  const std::vector<ColumnInfo> all = columns_of(db, schema, source.table);
  for (const SourceSpec::Column& column : source.columns) {
    const auto info = std::find_if(all.begin(), all.end(), [&column](const ColumnInfo& one) {
      return equal_names(one.name, column.now);
    });
    const char* collation = nullptr;
    const int code =
        sqlite3_table_column_metadata(db, schema.c_str(), source.table.c_str(), column.now.c_str(),
                                      nullptr, &collation, nullptr, nullptr, nullptr);
    if (info == all.end() || code != SQLITE_OK) {
      throw SqlError(SQLITE_ERROR, filter + ": source " + shown(schema, source) +
                                       ": no such column " + printable(column.now));
    }
    append_item(columns, ", ",
                sql_text(R"("%w" %s COLLATE "%w")", column.name.c_str(), plain_type(info->type),
                         collation));
  }
  execute(db, sql_text(R"(CREATE VIRTUAL TABLE "%w"."%w" USING %s(%s))", schema.c_str(),
                       name_for(filter).c_str(), kModule, columns.c_str()));
}

void SourceRow::remove(sqlite3* db, const std::string& schema, const std::string& filter) {
  drop_virtual_table(db, schema, name_for(filter), kModule);
}

void SourceRow::rename(const std::string&) const {
  throw SqlError(SQLITE_ERROR, name_ + ": the filter's triggers need it under this name");
}

std::string SourceRow::declaration() const {
  std::string columns;
  for (const std::string& column : columns_) {
    append_item(columns, ", ", column);
  }
  for (size_t i = 1; i <= columns_.size(); ++i) {
    append_item(columns, ", ", "\"value " + std::to_string(i) + "\" HIDDEN");
  }
  return "CREATE TABLE x(" + columns + ")";
}

bool SourceRow::best_index(sqlite3_index_info* info) const {
  info->estimatedCost = 1;
  info->estimatedRows = 1;
  return take_arguments(info, static_cast<int>(columns_.size()));
}

void SourceRow::Cursor::filter(int given, const char*, int count, sqlite3_value** values) {
  const std::span all(values, static_cast<size_t>(count));
  size_t next = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i].reset();
    if ((static_cast<unsigned>(given) >> i & 1U) != 0 && next < all.size()) {
      values_[i].reset(sqlite3_value_dup(all[next++]));
      if (values_[i] == nullptr) {
        throw std::bad_alloc();
      }
    }
  }
  done_ = false;
}

void SourceRow::Cursor::column(sqlite3_context* context, int column) const {
  const auto index = static_cast<size_t>(column) % std::max<size_t>(values_.size(), 1);
  if (index < values_.size() && values_[index] != nullptr) {
    sqlite3_result_value(context, values_[index].get());
  }
}

}  // namespace cuckoo
