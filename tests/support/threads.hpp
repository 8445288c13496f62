// Several threads that do the same work at once.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <thread>
#include <vector>

namespace cuckoo::test {

// Calls work(0), work(1) … each in a thread of its own, and returns when all are done. An exception
// ends its thread, and is a failure of the test.
template <class Work>
void in_threads(int count, Work work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&work, i] {
      try {
        work(i);
      } catch (const ::testing::AssertionException&) {
        // must() has told what failed
      } catch (const std::exception& error) {
        ADD_FAILURE() << "thread " << i << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace cuckoo::test
