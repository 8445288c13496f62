// Asks SQLite every 10 ms or so whether to go on: a nested statement notices sqlite3_interrupt()
// and calls the progress handler. For long loops, at every few steps (core's Poll).
#pragma once

#include <chrono>

#include "core/base/result.hpp"
#include "ext/sqlite/statement.hpp"

namespace cuckoo {

class Poller {
 public:
  explicit Poller(sqlite3* db) noexcept : db_(db), asked_at_(Clock::now()) {}

  // kInterrupted, or well. Throws std::bad_alloc.
  Status operator()() { return ++calls_ % kCallsPerLook == 0 ? look() : Status(); }
  void finalize() noexcept { statement_ = Statement(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr unsigned kCallsPerLook = 16;

  Status look();

  sqlite3* db_;
  Statement statement_;
  Clock::time_point asked_at_;
  unsigned calls_ = 0;
};

}  // namespace cuckoo
