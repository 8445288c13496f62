#include "ext/connection.hpp"

#include "ext/options.hpp"
#include "ext/statement.hpp"

namespace cuckoo {

std::string Connection::key_of(std::string_view schema, std::string_view table) {
  return lower(schema) + '\0' + lower(table);
}

std::shared_ptr<LiveTable> Connection::known_table(const std::string& schema,
                                                   const std::string& table) const {
  const auto found = tables_.find(key_of(schema, table));
  return found == tables_.end() ? nullptr : found->second.lock();
}

void Connection::enter(const std::shared_ptr<LiveTable>& live) {
  tables_[key_of(live->schema(), live->table())] = live;
}

void Connection::forget(const LiveTable& live) noexcept {
  ++generation_;
  for (auto entry = tables_.begin(); entry != tables_.end(); ++entry) {
    if (entry->second.lock().get() == &live) {
      tables_.erase(entry);
      return;
    }
  }
}

void Connection::rename(const std::shared_ptr<LiveTable>& live, const std::string& old_table) {
  ++generation_;
  std::weak_ptr<LiveTable>& slot = tables_[key_of(live->schema(), live->table())];
  if (const std::shared_ptr<LiveTable> other = slot.lock(); other != nullptr && other != live) {
    other->orphan();
  }
  slot = live;
  tables_.erase(key_of(live->schema(), old_table));
}

bool Connection::exists(const std::string& schema, const std::string& table) const {
  return sqlite3_table_column_metadata(db_, schema.c_str(), table.c_str(), nullptr, nullptr,
                                       nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::shared_ptr<LiveTable> Connection::open(const std::string& schema, const std::string& table) {
  // A statement on it makes SQLite look at the schema as it is now, connect the table and ask the
  // authorizer.
  execute(db_, sql_text(R"(SELECT 1 FROM "%w"."%w" LIMIT 0)", schema.c_str(), table.c_str()));
  return known_table(schema, table);
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

std::shared_ptr<LiveTable> Connection::find_table(const std::string& name, const char* what) {
  const auto [schema, table] = locate_table(name, what);
  return open(schema, table);
}

void Connection::refuse_kind(const std::string& name, const char* kinds) {
  throw SqlError(SQLITE_ERROR, name + " is not " + kinds);
}

std::vector<std::shared_ptr<LiveTable>> Connection::tables_of(
    std::span<const char* const> modules) {
  std::string condition;
  for (const char* module : modules) {
    condition += sql_text("%s sql LIKE 'CREATE VIRTUAL TABLE%%%s%%'",
                          condition.empty() ? "" : " OR", module);
  }
  std::vector<std::pair<std::string, std::string>> names;
  for (const std::string& schema : schemas()) {
    Statement select(db_, sql_text("SELECT name FROM \"%w\".sqlite_schema WHERE type = 'table'"
                                   " AND (%s) ORDER BY name",
                                   schema.c_str(), condition.c_str()));
    while (select.step()) {
      names.emplace_back(schema, select.text(0));
    }
  }
  std::vector<std::shared_ptr<LiveTable>> tables;
  for (const auto& [schema, table] : names) {
    if (std::shared_ptr<LiveTable> live = open(schema, table); live != nullptr) {
      tables.push_back(std::move(live));
    }
  }
  return tables;
}

}  // namespace cuckoo
