// The rows of filter_info and flash_kv_info: tables of one kind, one a row. A table that can't be
// read keeps its row, with its error, and hides no other table.
#pragma once

#include <cstddef>
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
  void take_all(Connection& connection) {
    tables_ = connection.all<Live>();
    row_ = 0;
    look();
  }
  void take(Connection& connection, const std::string& name) {
    tables_ = connection.find_or_error<Live>(name);
    row_ = 0;
    look();
  }
  void clear() noexcept {
    tables_ = {};
    row_ = 0;
  }
  void next() {
    ++row_;
    look();
  }
  // Calls `body` with the row's table, if it could be read so far. A failure becomes the row's
  // error.
  template <class Body>
  void attempt(Body&& body) {
    if (done() || tables_.found[row_].live == nullptr || !tables_.found[row_].error.empty()) {
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
  bool done() const noexcept { return row_ >= tables_.found.size(); }
  size_t number() const noexcept { return row_; }
  const Found& row() const noexcept { return tables_.found[row_]; }

 private:
  void look() {
    attempt([](Live& live) { live.follow(); });
  }

  Connection::Tables<Live> tables_;
  size_t row_ = 0;
};

}  // namespace cuckoo
