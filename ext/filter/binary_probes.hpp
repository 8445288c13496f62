// The running statements that write and have looked for a key by BINARY, if the key has another
// collation.
//
// A "no" is right by either collation, and a "yes" only means maybe. But for a key with NOCASE, the
// filter knows 'Ada' only as 'ada'. A DELETE of 'ADA' by BINARY must not delete it. A cursor does
// not know which statement opened it, and may be closed before the rows are changed. So the
// statements are remembered, and only those that change a row are refused.
//
// Invariants
//   I1  a statement that wrote when note() was called is remembered until it ends.
//   I2  a statement that ended is forgotten before another one at its address changes a row,
//       because SQLite plans that one first (forget_ended()).
#pragma once

#include <vector>

#include "ext/sqlite/api.hpp"

namespace cuckoo {

class KeyColumns;

class BinaryProbes {
 public:
  explicit BinaryProbes(sqlite3* db) noexcept : db_(db) {}

  void note();  // called when a key is looked for by BINARY
  void forget_ended() {
    if (!executions_.empty()) [[unlikely]] {
      keep_running();
    }
  }
  // Called before a DELETE or an UPDATE. Throws SqlError if one of these statements runs.
  void refuse_change(const KeyColumns& key) {
    if (!executions_.empty()) [[unlikely]] {
      refuse_change_by(key);
    }
  }

 private:
  struct Execution {
    sqlite3_stmt* statement;  // may be gone, so it is only compared
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
