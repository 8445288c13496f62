// While it lives, the connection's limits are high enough for the extension's own statements.
//
// An application may lower them (sqlite3_limit) against hostile SQL. Its own statements obey them.
// Statements of the extension must not, because otherwise a sound table would look like a broken
// one. Construct it only while SQLite holds the connection's mutex, as in each of our callbacks.
// Then no other thread prepares a statement meanwhile.
#pragma once

#include <array>
#include <cstddef>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

class OwnLimits {
 public:
  explicit OwnLimits(sqlite3* db) noexcept : db_(db) {
    for (size_t i = 0; i < kLeast.size(); ++i) {
      before_[i] = sqlite3_limit(db_, kLeast[i].id, -1);
      if (before_[i] < kLeast[i].value) {
        sqlite3_limit(db_, kLeast[i].id, kLeast[i].value);
        raised_ = true;
      }
    }
  }
  ~OwnLimits() {
    for (size_t i = 0; raised_ && i < kLeast.size(); ++i) {
      sqlite3_limit(db_, kLeast[i].id, before_[i]);
    }
  }
  OwnLimits(const OwnLimits&) = delete;
  OwnLimits& operator=(const OwnLimits&) = delete;

  // Returns whether a limit was too low.
  bool raised() const noexcept { return raised_; }

 private:
  struct Limit {
    int id;
    int value;
  };
  // Our largest expression is a handful of terms, and a statement has three parameters at most. The
  // values are far above that, because it is not worth counting.
  static constexpr std::array<Limit, 3> kLeast = {{{SQLITE_LIMIT_EXPR_DEPTH, 50},
                                                   {SQLITE_LIMIT_COMPOUND_SELECT, 10},
                                                   {SQLITE_LIMIT_VARIABLE_NUMBER, 10}}};

  sqlite3* db_;
  std::array<int, kLeast.size()> before_{};
  bool raised_ = false;
};

}  // namespace cuckoo
