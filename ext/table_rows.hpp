// The rows of filter_info and flash_kv_info: tables of one kind, one a row. One that can't be read
// keeps its row, with what is wrong with it, and hides no other.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ext/connection.hpp"
#include "ext/error.hpp"

namespace cuckoo {

template <class Live>
class TableRows {
 public:
  using Found = Connection::Found<Live>;

  // All throw SqlError where a failure may pass.
  void take_all(Connection& connection) {
    found_ = connection.all<Live>();
    row_ = 0;
    look();
  }
  void take(Connection& connection, const std::string& name) {
    found_.clear();
    found_.push_back(connection.find_or_error<Live>(name));
    row_ = 0;
    look();
  }
  void clear() noexcept {
    found_.clear();
    row_ = 0;
  }
  void next() {
    ++row_;
    look();
  }
  bool done() const noexcept { return row_ >= found_.size(); }
  size_t number() const noexcept { return row_; }
  const Found& row() const noexcept { return found_[row_]; }

 private:
  void look() {
    if (done() || found_[row_].live == nullptr) {
      return;
    }
    try {
      const typename Live::Reading reading(*found_[row_].live);
    } catch (const SqlError& error) {
      if (may_pass(error.code())) {
        throw;
      }
      found_[row_].error = error.message();
    }
  }

  std::vector<Found> found_;
  size_t row_ = 0;
};

}  // namespace cuckoo
