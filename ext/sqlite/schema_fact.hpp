// Something that was found out about a schema, and holds as long as the schema is as it was. SQLite
// tells when it changed: it prepares a statement anew then, also one that a fact has kept.
#pragma once

#include <string>
#include <utility>

#include "ext/sqlite/statement.hpp"

namespace cuckoo {

class SchemaFact {
 public:
  // If it does not hold any more, or never did, calls find() in a read transaction. It holds once
  // find() returns. False: SQLite can't read the schema now, because it is being changed, so it
  // will plan the statement again. `known`: only then; else throws what SQLite said. Also throws
  // SqlError of a failure that undid the transaction, and what find() throws.
  template <class Find>
  bool update(sqlite3* db, const std::string& schema, bool known, Find&& find) {
    ReadTransaction transaction;
    try {
      if (found_in_ && found_in_.begin_again()) {
        found_in_.end();
        return true;
      }
      found_in_ = {};
      transaction = ReadTransaction(db, schema);
    } catch (const SqlError& error) {
      if (undoes_transaction(error.code()) || !known) {
        throw;
      }
      return false;
    }
    find();
    transaction.end();
    found_in_ = std::move(transaction);
    return true;
  }

 private:
  ReadTransaction found_in_;  // ended: its statement is of the schema in which it holds
};

}  // namespace cuckoo
