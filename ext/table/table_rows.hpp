// The rows of filter_info and flash_kv_info: tables of one kind, one a row. A table that can't be
// read keeps its row, with its error, and hides no other table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ext/sqlite/error.hpp"
#include "ext/table/connection.hpp"

namespace cuckoo {

template <class Live>
class TableRows {
 public:
  using Found = Connection::Found<Live>;

  // All throw SqlError for a failure that may pass.
  void take_all(Connection& connection) { tables_ = connection.all<Live>(); }
  void take(Connection& connection, const std::string& name) {
    tables_ = connection.find_or_error<Live>(name);
  }
  void clear() noexcept { tables_ = {}; }
  // Goes to the row of that number. Returns false if there is none.
  bool find(uint64_t number) {
    row_ = number;
    attempt([](Live& live) { live.follow(); });
    return row_ < tables_.found.size();
  }
  // Calls `body` with the row's table, if it could be read so far. A failure becomes the row's
  // error.
  template <class Body>
  void attempt(Body&& body) {
    if (row_ >= tables_.found.size() || row().live == nullptr || !row().error.empty()) {
      return;
    }
    try {
      body(*tables_.found[row_].live);
    } catch (const SqlError& error) {
      if (may_pass(error.code())) {
        throw;
      }
      tables_.found[row_].error = error.message();
    }
  }
  const Found& row() const noexcept { return tables_.found[row_]; }
  // Returns the row's table, which has no error, up to date. Throws SqlError.
  Live& followed() const {
    row().live->follow();
    return *row().live;
  }

 private:
  Connection::Tables<Live> tables_;
  size_t row_ = 0;
};

}  // namespace cuckoo
