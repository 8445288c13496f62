// The rows of one shadow table (id INTEGER PRIMARY KEY, <column>) whose column has BLOBs: pages, or
// blocks. Its five statements are prepared at their first use.
//
// Nothing read from them is trusted. This class checks types, its callers check contents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

class ShadowStore;

// Returns SQLite's failure as a Status, for core.
template <class Body>
Status storage_status(Body&& body) {
  try {
    return body();
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) == SQLITE_NOMEM) {
      throw std::bad_alloc();
    }
    if ((error.code() & 0xFF) == SQLITE_INTERRUPT) {
      return Error{ErrorCode::kInterrupted, error.message(), error.code()};
    }
    if ((error.code() & 0xFF) == SQLITE_ERROR) {  // no such table, no such column
      return corrupt(error.message());
    }
    return Error{ErrorCode::kStorage, error.message(), error.code()};
  }
}

class ShadowRows {
 public:
  using Visitor = std::function<Status(int64_t id, std::span<const std::byte> row)>;

  // `store` outlives this object. `suffix` is the shadow table's, and errors call its rows `noun`.
  ShadowRows(ShadowStore& store, const char* suffix, const char* column, const char* noun) noexcept
      : store_(store), suffix_(suffix), column_(column), noun_(noun) {}

  // Visits rows with first <= id <= last, ascending. The bytes are valid only during the visit. One
  // that is no BLOB has none.
  Status read(int64_t first, int64_t last, const Visitor& visitor);
  // `stored`: the row was there when it was read, so it must still be there.
  Status write(int64_t id, std::span<const std::byte> row, bool stored);
  Status erase(int64_t first, int64_t last);

  void finalize() noexcept { statements_ = {}; }

 private:
  enum Action : size_t { kSelectOne, kSelect, kInsert, kUpdate, kDelete, kActions };
  Statement& ready(Action action) {
    return statements_[action] ? statements_[action] : prepare(action);
  }
  Statement& prepare(Action action);
  std::string name_of(int64_t id) const {
    return std::string(noun_) + " row " + std::to_string(id);
  }

  ShadowStore& store_;
  const char* suffix_;
  const char* column_;
  const char* noun_;
  std::array<Statement, kActions> statements_;
};

}  // namespace cuckoo
