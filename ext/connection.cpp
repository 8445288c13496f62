#include "ext/connection.hpp"

#include "ext/live_filter.hpp"
#include "ext/options.hpp"
#include "ext/statement.hpp"

namespace cuckoo {

std::string Connection::key_of(std::string_view schema, std::string_view table) {
  return lower(schema) + '\0' + lower(table);
}

std::shared_ptr<LiveFilter> Connection::attach(const std::string& schema, const std::string& table,
                                               bool fresh) {
  std::weak_ptr<LiveFilter>& slot = filters_[key_of(schema, table)];
  std::shared_ptr<LiveFilter> filter = fresh ? nullptr : slot.lock();
  if (filter == nullptr || filter->closed()) {
    filter = std::make_shared<LiveFilter>(*this, schema, table);
    slot = filter;
  }
  ++generation_;
  return filter;
}

void Connection::forget(const LiveFilter& filter) noexcept {
  ++generation_;
  for (auto entry = filters_.begin(); entry != filters_.end(); ++entry) {
    if (entry->second.lock().get() == &filter) {
      filters_.erase(entry);
      return;
    }
  }
}

void Connection::rename(const std::shared_ptr<LiveFilter>& filter, const std::string& old_table) {
  ++generation_;
  filters_[key_of(filter->schema(), filter->table())] = filter;
  filters_.erase(key_of(filter->schema(), old_table));
}

bool Connection::exists(const std::string& schema, const std::string& table) const {
  return sqlite3_table_column_metadata(db_, schema.c_str(), table.c_str(), nullptr, nullptr,
                                       nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::shared_ptr<LiveFilter> Connection::open(const std::string& schema, const std::string& table) {
  // Preparing a statement makes SQLite connect the table and ask the authorizer.
  sqlite3_stmt* statement = nullptr;
  const std::string sql =
      sql_text("SELECT 1 FROM \"%w\".\"%w\" LIMIT 0", schema.c_str(), table.c_str());
  const int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr);
  sqlite3_finalize(statement);
  if (code != SQLITE_OK) {
    throw SqlError(code, sqlite3_errmsg(db_));
  }
  const auto found = filters_.find(key_of(schema, table));
  return found == filters_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<LiveFilter> Connection::find(const std::string& name) {
  std::string schema;
  std::string table;
  std::vector<std::string> schemas;
  for (int i = 0; const char* text = sqlite3_db_name(db_, i); ++i) {
    schemas.emplace_back(text);
  }
  if (schemas.size() > 1) {
    std::swap(schemas[0], schemas[1]);  // 0 is main, 1 is temp; temp is looked at first
  }
  for (const std::string& one : schemas) {
    if (exists(one, name)) {
      schema = one;
      table = name;
      break;
    }
  }
  if (const size_t dot = name.find('.'); table.empty() && dot != std::string::npos) {
    if (exists(name.substr(0, dot), name.substr(dot + 1))) {
      schema = name.substr(0, dot);
      table = name.substr(dot + 1);
    }
  }
  if (table.empty()) {
    throw SqlError(SQLITE_ERROR, "no such filter: " + name);
  }
  std::shared_ptr<LiveFilter> filter = open(schema, table);
  if (filter == nullptr) {
    throw SqlError(SQLITE_ERROR, name + " is not a cuckoo_filter");
  }
  return filter;
}

std::vector<std::shared_ptr<LiveFilter>> Connection::all() {
  std::vector<std::pair<std::string, std::string>> names;
  for (int i = 0; const char* schema = sqlite3_db_name(db_, i); ++i) {
    Statement select(db_, sql_text("SELECT name FROM \"%w\".sqlite_schema WHERE type = 'table'"
                                   " AND sql LIKE 'CREATE VIRTUAL TABLE%%cuckoo_filter%%'"
                                   " ORDER BY name",
                                   schema));
    while (select.step()) {
      names.emplace_back(schema, select.text(0));
    }
  }
  std::vector<std::shared_ptr<LiveFilter>> filters;
  for (const auto& [schema, table] : names) {
    if (std::shared_ptr<LiveFilter> filter = open(schema, table); filter != nullptr) {
      filters.push_back(std::move(filter));
    }
  }
  return filters;
}

}  // namespace cuckoo
