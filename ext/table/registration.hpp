// The registrations of this library on one connection. A load that fails half-way does no harm,
// although SQLite closes the library then and keeps what was registered.
//
// Invariants
//   I1  the library is never unmapped once it began to register (CMakeLists.txt: -z nodelete).
//   I2  Connection::registered() lists what is registered.
//   I3  each entry holds the Connection, so it lives until SQLite has released the last entry. A
//       second load finds it (Connection::of), and registers only what is missing.
//   I4  a load that fails takes back what it registered. But while a statement runs, as in SELECT
//       load_extension(), SQLite releases no function, so functions stay.
#pragma once

#include <memory>
#include <optional>

#include "ext/sqlite/function.hpp"
#include "ext/sqlite/module.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

class Registration {
 public:
  using Call = void (*)(sqlite3_context*, int, sqlite3_value**);
  using Final = void (*)(sqlite3_context*);

  explicit Registration(std::shared_ptr<Connection> connection) noexcept
      : connection_(std::move(connection)), first_(connection_->registered().size()) {}
  ~Registration();  // I4, unless keep() was called
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  // Each does nothing if it is registered already, and throws SqlError if it can't be.
  template <class Table>
  void module(const char* name) {
    add({name, Registered::kModule}, [&](void* client) {
      return Adapter<Table>::register_module(db(), name, client, release_connection);
    });
  }
  void function(const char* name, int arguments, int flags, Call call);
  void aggregate(const char* name, int arguments, int flags, Call step, Final final);

  bool has(const char* name, int arguments) const noexcept;
  // Keeps all entries, because everything is registered.
  void keep() noexcept { kept_ = true; }

  sqlite3* db() const noexcept { return connection_->db(); }

 private:
  template <class Register>
  void add(const Registered& entry, Register&& register_it) {
    if (has(entry.name, entry.arguments)) {
      return;
    }
    prepare();
    // SQLite releases the pointer also when the registration fails.
    const int code = register_it(new std::shared_ptr<Connection>(connection_));
    if (code != SQLITE_OK) {
      throw SqlError(code, sqlite3_errmsg(db()));
    }
    connection_->registered().push_back(entry);  // there is room for it
  }
  void prepare();

  std::shared_ptr<Connection> connection_;
  size_t first_;  // of this load's entries
  bool kept_ = false;
};

// Tells whether a statement could call a function. `call` gives it as many arguments as matter:
// "f(NULL)". Reads nothing from the file: the load must not fail where the schema can't be read
// (no key given yet, a malformed schema), and SQLite protects the shadow tables of modules that it
// knows when it reads the schema. So a statement is prepared, and not run, of a kind that needs no
// schema in any version: a SELECT reads it from 3.49 on, VACUUM INTO never does.
//
// No value: SQLite can't tell, because another connection of a shared cache has locked the schema,
// a limit of the connection forbids the statement, or SQLite was built without VACUUM. Throws
// SqlError when memory runs out. Leaves no error on the connection.
std::optional<bool> can_call(sqlite3* db, const char* call);

// Makes SQLite read the schema again when it next needs it; reads nothing itself. SQLite marks a
// module's shadow tables, which defensive mode protects, when it reads the schema. If it was read
// before the module is there (by the application, or by SELECT load_extension() from 3.49 on),
// none is marked until its table is first used. Preparing the PRAGMA is enough, and running it
// would show in a trace.
//
// Does nothing while a transaction writes: a module's table may hold rows back until COMMIT, and a
// second instance of that table would not know them. Throws std::bad_alloc.
void forget_schema(sqlite3* db);

}  // namespace cuckoo
