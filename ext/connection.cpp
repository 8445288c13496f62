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
  std::shared_ptr<LiveFilter> filter = slot.lock();
  if (filter != nullptr && (fresh || filter->may_be_undone())) {
    filter->orphan();
    filter.reset();
  }
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
  std::weak_ptr<LiveFilter>& slot = filters_[key_of(filter->schema(), filter->table())];
  if (const std::shared_ptr<LiveFilter> other = slot.lock(); other != nullptr && other != filter) {
    other->orphan();
  }
  slot = filter;
  filters_.erase(key_of(filter->schema(), old_table));
}

bool Connection::exists(const std::string& schema, const std::string& table) const {
  return sqlite3_table_column_metadata(db_, schema.c_str(), table.c_str(), nullptr, nullptr,
                                       nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::shared_ptr<LiveFilter> Connection::open(const std::string& schema, const std::string& table) {
  // A statement on it makes SQLite look at the schema as it is now, connect the table and ask the
  // authorizer.
  execute(db_, sql_text(R"(SELECT 1 FROM "%w"."%w" LIMIT 0)", schema.c_str(), table.c_str()));
  const auto found = filters_.find(key_of(schema, table));
  return found == filters_.end() ? nullptr : found->second.lock();
}

// 'table' in temp, main or an attached schema, or 'schema.table'; both may contain dots.
std::optional<std::pair<std::string, std::string>> Connection::locate(
    const std::string& name, const std::vector<std::string>& schemas) const {
  for (const std::string& schema : schemas) {
    if (exists(schema, name)) {
      return std::pair(schema, name);
    }
  }
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    if (exists(name.substr(0, dot), name.substr(dot + 1))) {
      return std::pair(name.substr(0, dot), name.substr(dot + 1));
    }
  }
  return std::nullopt;
}

std::vector<std::string> Connection::schemas() const {
  std::vector<std::string> names;
  for (int i = 0; const char* name = sqlite3_db_name(db_, i); ++i) {
    names.emplace_back(name);
  }
  std::swap(names[0], names[1]);  // 0 is main, 1 is temp; temp is looked at first
  return names;
}

std::pair<std::string, std::string> Connection::locate_table(const std::string& name,
                                                             const char* kind) const {
  const bool is_name = !name.empty() && name.find('\0') == std::string::npos;
  const std::vector<std::string> names = schemas();
  auto place = is_name ? locate(name, names) : std::nullopt;
  if (is_name && !place) {
    for (const std::string& schema : names) {  // another connection may have made it just now
      execute(db_, sql_text("SELECT 1 FROM \"%w\".sqlite_schema LIMIT 1", schema.c_str()));
    }
    place = locate(name, names);
  }
  if (!place) {
    throw SqlError(SQLITE_ERROR, std::string("no such ") + kind + ": " + printable(name));
  }
  return *place;
}

std::shared_ptr<LiveFilter> Connection::find(const std::string& name) {
  const auto [schema, table] = locate_table(name, "filter");
  std::shared_ptr<LiveFilter> filter = open(schema, table);
  if (filter == nullptr) {
    throw SqlError(SQLITE_ERROR, name + " is not a cuckoo_filter or bloom_filter");
  }
  return filter;
}

std::vector<std::shared_ptr<LiveFilter>> Connection::all() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& schema : schemas()) {
    Statement select(db_, sql_text("SELECT name FROM \"%w\".sqlite_schema WHERE type = 'table'"
                                   " AND (sql LIKE 'CREATE VIRTUAL TABLE%%cuckoo_filter%%'"
                                   " OR sql LIKE 'CREATE VIRTUAL TABLE%%bloom_filter%%')"
                                   " ORDER BY name",
                                   schema.c_str()));
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
