// Asks SQLite every 5 ms or so whether to go on: a nested statement notices sqlite3_interrupt()
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
  Status operator()() { return Clock::now() - asked_at_ < kInterval ? Status() : ask(); }
  void finalize() noexcept { statement_ = Statement(); }

 private:
  using Clock = std::chrono::steady_clock;
  // Some steps take 5 ms themselves. Asking takes 20 µs.
  static constexpr std::chrono::milliseconds kInterval{5};

  Status ask();

  sqlite3* db_;
  Statement statement_;
  Clock::time_point asked_at_;
};

}  // namespace cuckoo
