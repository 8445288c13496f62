// What the extension knows of one database connection: its live filters by name.
//
// SQLite may have two instances of one virtual table in one transaction (after DDL); both share the
// LiveFilter found here, so that there is one memory image of a table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ext/image_filter.hpp"
#include "ext/sqlite_api.hpp"

namespace cuckoo {

class LiveFilter;

class Connection {
 public:
  explicit Connection(sqlite3* db) noexcept : db_(db) {}

  sqlite3* db() const noexcept { return db_; }

  // The live filter of that table, made when there is none; `fresh` (CREATE): always a new one.
  std::shared_ptr<LiveFilter> attach(const std::string& schema, const std::string& table,
                                     bool fresh);
  // Its last instance is gone.
  void forget(const LiveFilter& filter) noexcept;
  void rename(const std::shared_ptr<LiveFilter>& filter, const std::string& old_table);

  // 'table' (temp, main, attached) or 'schema.table'; connects it if need be and asks the
  // authorizer. Throws SqlError when there is no such table or it is no filter.
  std::shared_ptr<LiveFilter> find(const std::string& name);
  // Schema and name of the table of that name, virtual or not; `kind` is for the error text.
  std::pair<std::string, std::string> locate_table(const std::string& name, const char* kind) const;
  // Every filter table of every schema.
  std::vector<std::shared_ptr<LiveFilter>> all();

  ImageCache& images() noexcept { return images_; }

  // Changes whenever a name may mean another table.
  uint64_t generation() const noexcept { return generation_; }

 private:
  static std::string key_of(std::string_view schema, std::string_view table);
  std::vector<std::string> schemas() const;
  std::optional<std::pair<std::string, std::string>> locate(
      const std::string& name, const std::vector<std::string>& schemas) const;
  std::shared_ptr<LiveFilter> open(const std::string& schema, const std::string& table);
  bool exists(const std::string& schema, const std::string& table) const;

  sqlite3* db_;
  uint64_t generation_ = 1;
  std::map<std::string, std::weak_ptr<LiveFilter>> filters_;
  ImageCache images_;
};

}  // namespace cuckoo
