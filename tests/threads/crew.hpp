// Threads that each run a function with a number of their own, all at once.
#pragma once

#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace cuckoo::test {

// Rounds that each thread makes: CUCKOO_THREAD_ROUNDS, else the test's own.
inline int rounds(int otherwise) {
  const char* given = std::getenv("CUCKOO_THREAD_ROUNDS");
  return given != nullptr ? std::atoi(given) : otherwise;
}

// Returns when all are done.
inline void run_crew(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int number = 0; number < count; ++number) {
    threads.emplace_back(work, number);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace cuckoo::test
