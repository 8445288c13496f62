#include "ext/sqlite/poller.hpp"

#include <new>

namespace cuckoo {

// Whatever else the statement runs into (an authorizer may refuse it) is no reason to stop.
Status Poller::ask() {
  // About a thousand instructions, so that a progress handler is asked too; no row, and no function
  // that an application may have replaced.
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
