// Several threads that do the same work at once.
#pragma once

#include <thread>
#include <vector>

namespace cuckoo::test {

// Calls work(0), work(1) … each in a thread of its own, and returns when all are done.
template <class Work>
void in_threads(int count, Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&work, i] { work(i); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace cuckoo::test
