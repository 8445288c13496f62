// One database connection as the extension sees it: its live tables by name.
//
// SQLite may have two instances of one virtual table in one transaction, after DDL. Both share the
// LiveTable found here, so that uncommitted changes are in memory once. A table that no transaction
// writes is not shared. A prepared statement keeps an old instance alive, and SQLite may undo,
// without telling us, the DDL from which that instance has its names and contents.
//
// Each kind of LiveTable describes itself: kWhat ("filter"), kKinds ("a cuckoo_filter or …"),
// kModules, and hint(name), which the error adds if there is no table of that name.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ext/sqlite/api.hpp"
#include "ext/sqlite/options.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/live_table.hpp"

namespace cuckoo {

// A module or function that this library registered with SQLite.
struct Registered {
  static constexpr int kModule = -2;  // instead of a number of arguments
  const char* name;
  int arguments;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(sqlite3* db, std::span<const ModuleOptions> modules);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns the one that an earlier load made for that connection, or null.
  static std::shared_ptr<Connection> of(sqlite3* db);

  sqlite3* db() const noexcept { return db_; }
  std::vector<Registered>& registered() noexcept { return registered_; }
  std::span<const ModuleOptions> modules() const noexcept { return modules_; }

  // Returns the live table of that name if a transaction writes it, otherwise a new one. If `fresh`
  // (CREATE), always returns a new one.
  template <class Live>
  std::shared_ptr<Live> attach(const std::string& schema, const std::string& table, bool fresh) {
    std::shared_ptr<LiveTable> known = known_table(schema, table);
    auto live = std::dynamic_pointer_cast<Live>(known);
    if (known != nullptr && (fresh || live == nullptr)) {
      known->orphan();
      known->retire();
      live.reset();
    }
    if (live == nullptr || !live->is_written()) {
      if (live != nullptr) {
        live->retire();
      }
      live = std::make_shared<Live>(*this, schema, table);
      enter(live);
    }
    ++names_version_;
    return live;
  }
  // Returns the table that has that name now, or null if none is known.
  std::shared_ptr<LiveTable> known_table(const std::string& schema, const std::string& table) const;
  // Forgets a table that lost its last instance or its name.
  void forget(const LiveTable& live) noexcept;
  // Only SQLite can resolve a name. So we let it plan a statement, and see which table it opens.
  void note_planned(const LiveTable& live) noexcept { planned_ = &live; }

  // A table that a function was given by name, virtual or not, and a transaction to read it in,
  // because other connections may rename or drop it meanwhile.
  struct Place {
    std::string schema, table;
    ReadTransaction transaction;
  };
  // Finds 'table' (temp, main, attached) or 'schema.table'. Throws SqlError if there is none, with
  // `kind` and `hint` in its text.
  Place locate(const std::string& name, const char* kind, const char* hint = "") const;

  // A table and a transaction to read it in. Afterwards the table keeps the transaction's statement
  // for the next one.
  template <class Live>
  class Named {
   public:
    Named() noexcept = default;
    Named(std::shared_ptr<Live> live, ReadTransaction transaction) noexcept
        : live_(std::move(live)), transaction_(std::move(transaction)) {}
    Named(Named&& other) noexcept
        : live_(std::move(other.live_)), transaction_(std::move(other.transaction_)) {}
    Named& operator=(Named&& other) noexcept {
      std::swap(live_, other.live_);
      std::swap(transaction_, other.transaction_);
      return *this;
    }
    Named(const Named&) = delete;
    Named& operator=(const Named&) = delete;
    ~Named() {
      if (live_ != nullptr) {
        live_->keep_transaction(std::move(transaction_));
      }
    }
    explicit operator bool() const noexcept { return live_ != nullptr; }
    Live& operator*() const noexcept { return *live_; }
    Live* operator->() const noexcept { return live_.get(); }
    const std::shared_ptr<Live>& shared() const noexcept { return live_; }

   private:
    std::shared_ptr<Live> live_;
    ReadTransaction transaction_;
  };
  // Finds the table, connects it if need be, asks the authorizer and brings it up to date. Throws
  // SqlError if there is no such table or it is of another kind.
  template <class Live>
  Named<Live> find(const std::string& name) {
    ReadTransaction transaction;
    if (auto known = std::dynamic_pointer_cast<Live>(find_again(name, transaction))) {
      known->follow();
      return {std::move(known), std::move(transaction)};
    }
    Place place = locate(name, Live::kWhat, Live::hint(name));
    auto live = std::dynamic_pointer_cast<Live>(open(place.schema, place.table));
    if (live == nullptr) {
      refuse_kind(name, Live::kKinds);
    }
    live->follow();
    remember(name, live);
    return {std::move(live), std::move(place.transaction)};
  }
  // Does the same for the table of that name in that schema only.
  template <class Live>
  Named<Live> find_in(const std::string& schema, const std::string& table) {
    if (auto known = std::dynamic_pointer_cast<Live>(known_table(schema, table))) {
      const uint64_t names_version = names_version_;
      ReadTransaction transaction = known->kept_transaction();
      if (transaction && names_version == names_version_) {
        known->follow();
        return {std::move(known), std::move(transaction)};
      }
    }
    ReadTransaction transaction(db_, schema);
    auto live = std::dynamic_pointer_cast<Live>(open(schema, table));
    if (live == nullptr) {
      refuse_kind(table, Live::kKinds);
    }
    live->follow();
    return {std::move(live), std::move(transaction)};
  }
  // A table, or the error that keeps it from being opened.
  template <class Live>
  struct Found {
    std::string schema, table;
    std::shared_ptr<Live> live;
    std::string error;  // not empty: live is null
    int code = SQLITE_OK;
  };
  template <class Live>
  struct Tables {
    std::vector<Found<Live>> found;
    std::vector<ReadTransaction> transactions;  // to read them in
  };
  // find_or_error() finds the table of that name. all() finds every table of that kind in every
  // schema. Neither brings a table up to date. Both throw SqlError for a failure that may pass.
  template <class Live>
  Tables<Live> find_or_error(const std::string& name) {
    Place place = locate(name, Live::kWhat, Live::hint(name));
    Tables<Live> tables;
    tables.found.push_back(open_as<Live>(place.schema, place.table));
    const Found<Live>& found = tables.found[0];
    if (found.live == nullptr && (found.error.empty() || !made_as(Live::kModules, place))) {
      refuse_kind(name, Live::kKinds);
    }
    tables.transactions.push_back(std::move(place.transaction));
    return tables;
  }
  template <class Live>
  Tables<Live> all() {
    Tables<Live> tables;
    for (const std::string& schema : schemas()) {
      tables.transactions.emplace_back(db_, schema);
      for (const std::string& table : tables_of(Live::kModules, schema)) {
        Found<Live> found = open_as<Live>(schema, table);
        if (found.live != nullptr || !found.error.empty()) {
          tables.found.push_back(std::move(found));
        }
      }
    }
    return tables;
  }

  // Returns an object that lives as long as the connection: one of each type, made at first use.
  template <class Kept>
  Kept& kept() {
    static char type;  // its address identifies the type
    for (const auto& [of, one] : kept_) {
      if (of == &type) {
        return *static_cast<Kept*>(one.get());
      }
    }
    auto made = std::make_shared<Kept>();
    kept_.emplace_back(&type, made);
    return *made;
  }

  // Changes whenever a name may mean another table.
  uint64_t names_version() const noexcept { return names_version_; }

 private:
  // A name that find() was given, and the table that it meant.
  struct Remembered {
    std::string name;
    uint64_t names_version = 0;
    std::weak_ptr<LiveTable> live;
  };
  void remember(const std::string& name, const std::shared_ptr<LiveTable>& live);
  // Returns the table that the name still means, and a transaction in which it does; else null.
  std::shared_ptr<LiveTable> find_again(const std::string& name, ReadTransaction& transaction);
  bool has_temp_tables() const noexcept;
  bool still_means(const std::string& name, const LiveTable& live) const;

  static std::string key_of(std::string_view schema, std::string_view table);
  std::vector<std::string> schemas() const;
  std::optional<std::pair<std::string, std::string>> look_up(
      const std::string& name, const std::vector<std::string>& schemas) const;
  std::pair<std::string, std::string> look_up_twice(const std::string& name, const char* kind,
                                                    const char* hint) const;
  void enter(const std::shared_ptr<LiveTable>& live);
  std::shared_ptr<LiveTable> open(const std::string& schema, const std::string& table);
  // Returns the names of all tables that could be of these modules, by their statement.
  std::vector<std::string> tables_of(std::span<const char* const> modules,
                                     const std::string& schema) const;
  bool made_as(std::span<const char* const> modules, const Place& place) const;
  template <class Live>
  Found<Live> open_as(const std::string& schema, const std::string& table) {
    Found<Live> found{schema, table, nullptr, {}, SQLITE_OK};
    try {
      found.live = std::dynamic_pointer_cast<Live>(open(schema, table));
      if (found.live != nullptr) {
        found.live->note_place();
      }
    } catch (const SqlError& error) {
      if (may_pass(error.code())) {
        throw;
      }
      found.error = error.message();
      found.code = error.code();
    }
    return found;
  }
  [[noreturn]] static void refuse_kind(const std::string& name, const char* kinds);

  sqlite3* db_;
  Connection* next_;  // in the list of all that this library knows
  std::vector<Registered> registered_;
  std::span<const ModuleOptions> modules_;  // all that take options
  uint64_t names_version_ = 1;
  const LiveTable* planned_ = nullptr;  // the last one; only its address is used
  std::map<std::string, std::weak_ptr<LiveTable>> tables_;
  std::array<Remembered, 8> remembered_;
  size_t next_remembered_ = 0;
  std::vector<std::pair<const void*, std::shared_ptr<void>>> kept_;
};

// Returns the connection with which a function was registered. Each function and module has a
// reference of its own to it.
inline Connection& connection_of(sqlite3_context* context) noexcept {
  return **static_cast<std::shared_ptr<Connection>*>(sqlite3_user_data(context));
}
inline void release_connection(void* pointer) {
  delete static_cast<std::shared_ptr<Connection>*>(pointer);
}

}  // namespace cuckoo
