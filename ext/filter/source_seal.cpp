#include "ext/filter/source_seal.hpp"

#include "ext/sqlite/options.hpp"
#include "ext/sqlite/statement.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {
namespace {

// A part of a connection: make() runs.
struct Making {
  bool seal = false;
};

}  // namespace

bool SourceSeal::is_made_by(const std::string& sql) {
  std::string_view rest = sql;
  for (const char* word : {"CREATE", "VIRTUAL", "TABLE", "", "USING", kModule}) {
    const std::string next = take_name(rest);
    if (*word != '\0' && !equal_names(next, word)) {
      return false;
    }
  }
  return true;
}

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
  } permit(connection->part<Making>().seal);
  execute(db, sql_text(R"(CREATE VIRTUAL TABLE "%w"."%w" USING %s)", schema.c_str(),
                       name_for(filter).c_str(), kModule));
}

void SourceSeal::create() const {
  if (!connection_.part<Making>().seal) {
    throw SqlError(SQLITE_ERROR, name_ + ": " + kModule +
                                     " is the seal of a filter's triggers, and only the filter"
                                     " makes it");
  }
}

// A table of the user's that is called so stays.
void SourceSeal::remove(sqlite3* db, const std::string& schema, const std::string& filter) {
  const std::string name = name_for(filter);
  bool found = false;
  {
    Statement select(db, sql_text("SELECT name, sql FROM \"%w\".sqlite_schema WHERE type = 'table'",
                                  schema.c_str()));
    while (!found && select.step()) {
      found = equal_names(select.text(0), name) && is_made_by(select.text(1));
    }
  }
  if (found) {
    execute(db, sql_text(R"(DROP TABLE "%w"."%w")", schema.c_str(), name.c_str()));
  }
}

void SourceSeal::rename(const std::string&) const {
  throw SqlError(SQLITE_ERROR,
                 name_ + ": the seal of a filter's triggers has its name from the filter");
}

}  // namespace cuckoo
