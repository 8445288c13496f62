#include "ext/filter/source_seal.hpp"

#include "ext/filter/trigger_tables.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// A fact that a connection keeps: whether make() runs.
struct Making {
  bool seal = false;
};

}  // namespace

bool SourceSeal::is_made_by(const std::string& sql) { return is_virtual_table_of(sql, kModule); }

void SourceSeal::make(sqlite3* db, const std::string& schema, const std::string& filter) {
  const std::shared_ptr<Connection> connection = Connection::of(db);
  if (connection == nullptr) {
    throw SqlError(SQLITE_INTERNAL, filter + ": a table of a connection that is closed");
  }
  struct Permit {
    bool& permitted;
    explicit Permit(bool& flag) noexcept : permitted(flag) { permitted = true; }
    ~Permit() { permitted = false; }
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
  } permit(connection->kept<Making>().seal);
  // It needs no argument. But some tools expect one in every CREATE VIRTUAL TABLE.
  execute(db, sql_text(R"(CREATE VIRTUAL TABLE "%w"."%w" USING %s("%w"))", schema.c_str(),
                       name_for(filter).c_str(), kModule, filter.c_str()));
}

void SourceSeal::create() const {
  if (!connection_.kept<Making>().seal) {
    throw SqlError(SQLITE_ERROR, name_ + ": " + kModule +
                                     " is the seal of a filter's triggers, and only the filter"
                                     " makes it");
  }
}

void SourceSeal::remove(sqlite3* db, const std::string& schema, const std::string& filter) {
  drop_virtual_table(db, schema, name_for(filter), kModule);
}

void SourceSeal::rename(const std::string&) const {
  throw SqlError(SQLITE_ERROR,
                 name_ + ": the seal of a filter's triggers has its name from the filter");
}

}  // namespace cuckoo
