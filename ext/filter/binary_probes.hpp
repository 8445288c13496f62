// The running statements that write and have looked for a key by BINARY, where the key has another
// collation.
//
// A "no" is right by either collation, and a "yes" only means maybe. But a DELETE of 'ADA' by
// BINARY where the key is NOCASE must not delete 'Ada', of which the filter knows no more than
// 'ada'. A cursor does not know what it is opened for, and may be closed before the rows are
// changed. So the statements are remembered, and only those are refused that come to a change.
//
// Invariants
//   I1  a statement that wrote when note() was called is remembered until it ends.
//   I2  a statement that ended is forgotten before another one with its address changes a row: that
//       one is planned first (forget_ended()).
#pragma once

#include <vector>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

class KeyColumns;

class BinaryProbes {
 public:
  explicit BinaryProbes(sqlite3* db) noexcept : db_(db) {}

  void note();  // a key was looked for by BINARY now
  void forget_ended() {
    if (!executions_.empty()) [[unlikely]] {
      keep_running();
    }
  }
  // Before a DELETE or an UPDATE: throws SqlError if one of them runs.
  void refuse_change(const KeyColumns& key) {
    if (!executions_.empty()) [[unlikely]] {
      refuse_change_by(key);
    }
  }

 private:
  struct Execution {
    sqlite3_stmt* statement;  // may be gone: only compared
    int number;
    friend bool operator==(const Execution&, const Execution&) = default;
  };
  static Execution execution_of(sqlite3_stmt* statement) noexcept;
  bool runs(const Execution& execution) const noexcept;
  void keep_running() noexcept;
  void refuse_change_by(const KeyColumns& key);

  sqlite3* db_;
  std::vector<Execution> executions_;
};

}  // namespace cuckoo
