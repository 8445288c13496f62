// A fact about a schema, which holds until the schema changes. SQLite tells us of a change by
// preparing a statement anew, even one that was kept, as here.
#pragma once

#include <string>
#include <utility>

#include "ext/sqlite/statement.hpp"

namespace cuckoo {

class SchemaFact {
 public:
  // Calls find() in a read transaction if the fact no longer holds, or never did. It holds once
  // find() returns true. Returns false if SQLite can't read the schema and will plan the statement
  // again: another connection changed the schema, or, if the fact was `known`, it is being changed.
  // Throws SqlError for any other failure, and anything that find() throws.
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
      if (!may_be_amid_ddl(error.code()) || (!known && (error.code() & 0xFF) != SQLITE_SCHEMA)) {
        throw;
      }
      return false;
    }
    if (!find()) {
      return false;
    }
    transaction.end();
    found_in_ = std::move(transaction);
    return true;
  }

 private:
  ReadTransaction found_in_;  // ended; its statement was prepared in the schema in which it holds
};

}  // namespace cuckoo
