#include "ext/filter/source_row.hpp"

#include <algorithm>
#include <span>

#include "ext/filter/source.hpp"
#include "ext/sqlite/error.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// A fact that a connection keeps: whether make() runs.
struct Making {
  bool source_row = false;
};

}  // namespace

SourceRow::SourceRow(const ModuleArguments& arguments)
    : connection_(arguments.connection),
      db_(arguments.db),
      schema_(arguments.schema()),
      name_(arguments.table()),
      columns_(arguments.texts + std::min(3, arguments.count), arguments.texts + arguments.count) {}

bool SourceRow::is_made_by(const std::string& sql) {
  std::string_view rest = sql;
  for (const char* word : {"CREATE", "VIRTUAL", "TABLE", "", "USING", kModule}) {
    const std::string next = take_name(rest);
    if (*word != '\0' && !equal_names(next, word)) {
      return false;
    }
  }
  return true;
}

void SourceRow::make(sqlite3* db, const std::string& schema, const std::string& name,
                     const SourceSpec& source) {
  const std::shared_ptr<Connection> connection = Connection::of(db);
  if (connection == nullptr) {
    throw SqlError(SQLITE_INTERNAL, name + ": a table of a connection that is closed");
  }
  struct Permit {
    bool& permitted;
    explicit Permit(bool& flag) noexcept : permitted(flag) { permitted = true; }
    ~Permit() { permitted = false; }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
  } permit(connection->kept<Making>().source_row);
  std::string columns;
  const std::vector<ColumnInfo> all = columns_of(db, schema, source.table);
  for (const SourceSpec::Column& column : source.used_columns()) {
    const ColumnInfo* const info = find_column(all, column.now);
    const char* collation = nullptr;
    const int code =
        sqlite3_table_column_metadata(db, schema.c_str(), source.table.c_str(), column.now.c_str(),
                                      nullptr, &collation, nullptr, nullptr, nullptr);
    if (info == nullptr || code != SQLITE_OK) {
      throw SqlError(SQLITE_ERROR, name + ": source " + shown(schema, source) +
                                       ": no such column " + printable(column.now));
    }
    append_item(columns, ", ",
                sql_text(R"("%w" %s COLLATE "%w")", column.name.c_str(), plain_type(info->type),
                         collation));
  }
  execute(db, sql_text(R"(CREATE VIRTUAL TABLE "%w"."%w" USING %s(%s))", schema.c_str(),
                       name.c_str(), kModule, columns.c_str()));
}

void SourceRow::create() const {
  const std::optional<SourceName> name = SourceName::parse(name_);
  const bool of_replay = name && name->what == "row" && !name->is_used(db_, schema_);
  if (!connection_.kept<Making>().source_row && !of_replay) {
    throw SqlError(SQLITE_ERROR, name_ + ": a filter's triggers need this table of " + kModule +
                                     ", and only the filter makes it");
  }
}

void SourceRow::rename(const std::string&) const {
  throw SqlError(SQLITE_ERROR, name_ + ": the filter's triggers need it under this name");
}

std::string SourceRow::declaration() const {
  if (columns_.empty()) {  // not made by make(), and create() says so
    return "CREATE TABLE x(unused)";
  }
  std::string columns;
  for (const std::string& column : columns_) {
    append_item(columns, ", ", column);
  }
  for (size_t i = 1; i <= columns_.size(); ++i) {
    append_item(columns, ", ", "\"cuckoo_value " + std::to_string(i) + "\" HIDDEN");
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
