#include "ext/sqlite/poller.hpp"

#include <new>

namespace cuckoo {

// Ignores failures other than an interrupt and no memory. If an authorizer refuses the statement,
// that is no reason to stop.
Status Poller::ask() {
  // The statement takes about a thousand instructions, so that SQLite calls a progress handler,
  // too. It reads no row. It calls no function, because an application may have replaced the
  // function.
  constexpr char kAsk[] =
      "WITH RECURSIVE c(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM c WHERE x < 60)"
      " SELECT x FROM c WHERE x < 0";
  try {
    if (!statement_) {
      statement_ = Statement(db_, kAsk);
    }
    statement_.run();
  } catch (const SqlError& error) {
    if ((error.code() & 0xFF) == SQLITE_NOMEM) {
      throw std::bad_alloc();
    }
    if ((error.code() & 0xFF) == SQLITE_INTERRUPT) {
      return Error{ErrorCode::kInterrupted, error.message(), error.code()};
    }
  }
  asked_at_ = Clock::now();
  return {};
}

}  // namespace cuckoo
