#include "ext/table/connection.hpp"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/schema_rows.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/shadow_tables.hpp"

namespace cuckoo {
namespace {

// All connections of the process, of any thread. Neither variable has a destructor that runs at
// exit, because connections may be closed after it.
std::mutex all_mutex;
Connection* all_connections = nullptr;

}  // namespace

Connection::Connection(sqlite3* db, std::span<const ModuleOptions> modules)
    : db_(db), modules_(modules) {
  const std::lock_guard lock(all_mutex);
  next_ = std::exchange(all_connections, this);
}

Connection::~Connection() {
  const std::lock_guard lock(all_mutex);
  Connection** link = &all_connections;
  while (*link != this) {
    link = &(*link)->next_;
  }
  *link = next_;
}

std::shared_ptr<Connection> Connection::of(sqlite3* db) {
  const std::lock_guard lock(all_mutex);
  Connection* each = all_connections;
  while (each != nullptr && each->db_ != db) {
    each = each->next_;
  }
  return each == nullptr ? nullptr : each->weak_from_this().lock();
}

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
  ++names_version_;
  for (auto entry = tables_.begin(); entry != tables_.end(); ++entry) {
    if (entry->second.lock().get() == &live) {
      tables_.erase(entry);
      return;
    }
  }
}

// Returns the table that SQLite opens for that name, or null if it is none of ours. A prepared
// statement keeps a table's instance, even after DETACH. So if a table of another kind has the name
// now, known_table() returns a table that this name no longer means.
std::shared_ptr<LiveTable> Connection::open(const std::string& schema, const std::string& table) {
  planned_ = nullptr;
  // A statement on the name makes SQLite read the current schema, connect the table, plan, and ask
  // the authorizer.
  execute(db_, sql_text(R"(SELECT 1 FROM "%w"."%w" LIMIT 0)", schema.c_str(), table.c_str()));
  std::shared_ptr<LiveTable> known = known_table(schema, table);
  return known.get() == planned_ ? known : nullptr;
}

// Finds 'table' in temp, main or an attached schema, or 'schema.table'. Both may contain dots. Does
// not search a long text, passed by mistake, at each of its dots.
std::optional<std::pair<std::string, std::string>> Connection::look_up(
    const std::string& name, const std::vector<std::string>& schemas) const {
  for (const std::string& schema : schemas) {
    if (table_exists(db_, schema, name)) {
      return std::pair(schema, name);
    }
  }
  size_t longest = std::string_view("main").size();
  for (const std::string& schema : schemas) {
    longest = std::max(longest, schema.size());
  }
  for (size_t dot = name.find('.'); dot <= longest; dot = name.find('.', dot + 1)) {
    if (table_exists(db_, name.substr(0, dot), name.substr(dot + 1))) {
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

std::pair<std::string, std::string> Connection::look_up_twice(const std::string& name,
                                                              const char* kind,
                                                              const char* hint) const {
  const bool is_name = !name.empty() && name.find('\0') == std::string::npos;
  const std::vector<std::string> names = schemas();
  auto place = is_name ? look_up(name, names) : std::nullopt;
  if (is_name && !place) {
    for (const std::string& schema : names) {  // another connection may have made it just now
      execute(db_, sql_text("SELECT 1 FROM \"%w\".sqlite_schema LIMIT 1", schema.c_str()));
    }
    place = look_up(name, names);
  }
  if (!place) {
    throw SqlError(SQLITE_ERROR, std::string("no such ") + kind + ": " + printable(name) + hint);
  }
  return *place;
}

Connection::Place Connection::locate(const std::string& name, const char* kind,
                                     const char* hint) const {
  auto [schema, table] = look_up_twice(name, kind, hint);
  while (true) {
    ReadTransaction transaction(db_, schema);
    // Before the transaction began, another connection may have dropped the table, or made one of
    // that name in a schema that is searched first.
    std::pair<std::string, std::string> again = look_up_twice(name, kind, hint);
    if (again.first == schema) {
      return {std::move(again.first), std::move(again.second), std::move(transaction)};
    }
    std::tie(schema, table) = std::move(again);
  }
}

void Connection::remember(const std::string& name, const std::shared_ptr<LiveTable>& live) {
  constexpr size_t kLongest = 256;
  if (name.size() <= kLongest && std::count(name.begin(), name.end(), '.') <= 1) {  // still_means()
    remembered_[next_remembered_] = {name, names_version_, live};
    next_remembered_ = (next_remembered_ + 1) % remembered_.size();
  }
}

// kept_transaction() steps the table's statement, so SQLite learns the current schema. That may
// disconnect the table.
std::shared_ptr<LiveTable> Connection::find_again(const std::string& name,
                                                  ReadTransaction& transaction) {
  for (const Remembered& entry : remembered_) {
    if (entry.names_version != names_version_ || entry.name != name) {
      continue;
    }
    std::shared_ptr<LiveTable> live = entry.live.lock();
    if (live == nullptr) {
      continue;
    }
    const uint64_t names_version = names_version_;
    transaction = live->kept_transaction();
    if (transaction && names_version == names_version_ && still_means(name, *live)) {
      return live;
    }
    transaction = {};
    return nullptr;
  }
  return nullptr;
}

bool Connection::has_temp_tables() const noexcept {
  uint32_t version = 0;  // a database that was never opened has none
  return sqlite3_file_control(db_, "temp", SQLITE_FCNTL_DATA_VERSION, &version) == SQLITE_OK;
}

// Returns whether look_up() would find this table, for names with one dot at most.
bool Connection::still_means(const std::string& name, const LiveTable& live) const {
  const bool qualified = sqlite3_stricmp(name.c_str(), live.table().c_str()) != 0;
  for (int i = 0;; ++i) {
    const char* const schema = sqlite3_db_name(db_, i < 2 ? 1 - i : i);
    if (schema == nullptr) {
      return qualified;
    }
    if (!qualified && sqlite3_stricmp(schema, live.schema().c_str()) == 0) {
      return true;
    }
    if ((i > 0 || has_temp_tables()) && table_exists(db_, schema, name)) {
      return false;
    }
  }
}

void Connection::refuse_kind(const std::string& name, const char* kinds) {
  throw SqlError(SQLITE_ERROR, printable(name) + " is not " + kinds);
}

std::vector<std::string> Connection::tables_of(std::span<const char* const> modules,
                                               const std::string& schema) const {
  std::vector<std::string> names;
  SchemaRows tables(db_, schema, "type = 'table' AND rootpage = 0");
  while (tables.next()) {
    const std::string sql = lower(tables.sql());
    if (std::any_of(modules.begin(), modules.end(),
                    [&sql](const char* module) { return sql.find(module) != std::string::npos; })) {
      names.push_back(tables.name());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns whether the table's statement names one of the modules. If a table of another program
// can't be opened, it is no damaged table of ours.
bool Connection::made_as(std::span<const char* const> modules, const Place& place) const {
  const std::vector<std::string> names = tables_of(modules, place.schema);
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return equal_names(name, place.table); });
}

}  // namespace cuckoo
