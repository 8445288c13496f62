#include "ext/flash/columns.hpp"

#include <iterator>
#include <string_view>

#include "ext/sqlite/statement.hpp"
#include "ext/table/command.hpp"

namespace cuckoo {
namespace {

constexpr const char* kComputedNames[] = {"sector", "seq", "digest"};
constexpr const char* kRowidNames[] = {"_rowid_", "rowid", "oid"};

}  // namespace

FlashColumns::FlashColumns(const std::string& table, const std::vector<ColumnSpec>& given,
                           bool creating)
    : key_(given.empty() ? ColumnSpec{"key", ""} : given[0]),
      value_(given.size() < 2 ? ColumnSpec{"value", ""} : given[1]),
      key_affinity_(affinity_of(key_.type)),
      value_affinity_(affinity_of(value_.type)) {
  if (creating) {
    if (given.size() > 2) {
      throw SqlError(SQLITE_ERROR, table +
                                       ": two columns, key and value, expected; there is also " +
                                       printable(given[2].name));
    }
    expect_names(table);
    refuse_table_name(table);
  }
  for (const char* name : kRowidNames) {
    if (!equal_names(name, key_.name) && !equal_names(name, value_.name) &&
        !equal_names(name, table)) {
      rowids_.push_back(name);
    }
  }
}

void FlashColumns::expect_names(const std::string& table) const {
  if (equal_names(key_.name, value_.name)) {
    throw SqlError(SQLITE_ERROR, table + ": two columns are called " + printable(key_.name));
  }
  for (const char* name : kComputedNames) {
    if (equal_names(key_.name, name) || equal_names(value_.name, name)) {
      throw SqlError(SQLITE_ERROR,
                     table + ": a column may not be called " + name + ", which is a computed one");
    }
  }
}

const char* FlashColumns::computed_name(int column) const noexcept {
  if (column >= kSectorColumn && column <= kDigestColumn) {
    return kComputedNames[column - kSectorColumn];
  }
  return column > kCommandColumn ? rowids_[static_cast<size_t>(column - kCommandColumn - 1)]
                                 : nullptr;
}

void FlashColumns::refuse_table_name(const std::string& table) const {
  std::vector<std::string_view> columns = {key_.name, value_.name};
  columns.insert(columns.end(), std::begin(kComputedNames), std::end(kComputedNames));
  refuse_own_column("a flash_kv", table, columns);
}

std::string FlashColumns::declaration(const std::string& command_column) const {
  std::string rowids;
  for (const char* name : rowids_) {
    rowids += std::string(", ") + name + " INTEGER HIDDEN";
  }
  return sql_text(R"(CREATE TABLE x("%w" %s PRIMARY KEY, "%w" %s, sector INTEGER HIDDEN,)"
                  R"( seq INTEGER HIDDEN, digest TEXT HIDDEN, "%w" HIDDEN%s) WITHOUT ROWID)",
                  key_.name.c_str(), key_.type.c_str(), value_.name.c_str(), value_.type.c_str(),
                  command_column.c_str(), rowids.c_str());
}

}  // namespace cuckoo
