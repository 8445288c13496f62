// What the extension knows of one database connection: its live tables by name.
//
// SQLite may have two instances of one virtual table in one transaction (after DDL); both share the
// LiveTable found here, so that there is one memory image of a table.
//
// A kind of LiveTable says what it is: kWhat ("filter"), kKinds ("a cuckoo_filter or …"), kModules.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ext/digest.hpp"
#include "ext/image_filter.hpp"
#include "ext/live_table.hpp"
#include "ext/sqlite_api.hpp"

namespace cuckoo {

class Connection {
 public:
  explicit Connection(sqlite3* db) noexcept : db_(db) {}

  sqlite3* db() const noexcept { return db_; }

  // The live table of that name, made when there is none; `fresh` (CREATE): always a new one.
  template <class Live>
  std::shared_ptr<Live> attach(const std::string& schema, const std::string& table, bool fresh) {
    std::shared_ptr<LiveTable> known = known_table(schema, table);
    auto live = std::dynamic_pointer_cast<Live>(known);
    if (known != nullptr && (fresh || live == nullptr || known->may_be_undone())) {
      known->orphan();
      live.reset();
    }
    if (live == nullptr || live->closed()) {
      live = std::make_shared<Live>(*this, schema, table);
      enter(live);
    }
    ++generation_;
    return live;
  }
  // Its last instance is gone.
  void forget(const LiveTable& live) noexcept;
  void rename(const std::shared_ptr<LiveTable>& live, const std::string& old_table);

  // 'table' (temp, main, attached) or 'schema.table'; connects it if need be and asks the
  // authorizer. Throws SqlError when there is no such table or it is of another kind.
  template <class Live>
  std::shared_ptr<Live> find(const std::string& name) {
    auto live = std::dynamic_pointer_cast<Live>(find_table(name, Live::kWhat));
    if (live == nullptr) {
      refuse_kind(name, Live::kKinds);
    }
    return live;
  }
  // Every table of that kind in every schema.
  template <class Live>
  std::vector<std::shared_ptr<Live>> all() {
    std::vector<std::shared_ptr<Live>> found;
    for (const auto& table : tables_of(Live::kModules)) {
      if (auto live = std::dynamic_pointer_cast<Live>(table); live != nullptr) {
        found.push_back(std::move(live));
      }
    }
    return found;
  }
  // Schema and name of the table of that name, virtual or not; `kind` is for the error text.
  std::pair<std::string, std::string> locate_table(const std::string& name, const char* kind) const;

  ImageCache& images() noexcept { return images_; }
  Digester& digester() noexcept { return digester_; }

  // Changes whenever a name may mean another table.
  uint64_t generation() const noexcept { return generation_; }

 private:
  static std::string key_of(std::string_view schema, std::string_view table);
  std::vector<std::string> schemas() const;
  std::optional<std::pair<std::string, std::string>> locate(
      const std::string& name, const std::vector<std::string>& schemas) const;
  std::shared_ptr<LiveTable> known_table(const std::string& schema, const std::string& table) const;
  void enter(const std::shared_ptr<LiveTable>& live);
  std::shared_ptr<LiveTable> open(const std::string& schema, const std::string& table);
  std::shared_ptr<LiveTable> find_table(const std::string& name, const char* what);
  std::vector<std::shared_ptr<LiveTable>> tables_of(std::span<const char* const> modules);
  [[noreturn]] static void refuse_kind(const std::string& name, const char* kinds);
  bool exists(const std::string& schema, const std::string& table) const;

  sqlite3* db_;
  uint64_t generation_ = 1;
  std::map<std::string, std::weak_ptr<LiveTable>> tables_;
  ImageCache images_;
  Digester digester_;
};

}  // namespace cuckoo
