// A storage in memory with a sliding window on it, created and flushed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/stored/window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo::test {

inline FilterOptions window_options(const FilterCase& filter_case, uint64_t generations,
                                    uint64_t capacity, double rate = 0.01,
                                    uint32_t page_bytes = 128) {
  FilterOptions options = options_for(filter_case, capacity, rate, page_bytes);
  options.generations = generations;
  return options;
}

inline bool window_has(FilterWindow& window, uint64_t hash) {
  FilterWindow::Answer answer = window.probe(hash);
  if (answer == FilterWindow::Answer::kNotLoaded) {
    const Status status = window.load(hash);
    EXPECT_TRUE(status.ok()) << message_of(status);
    answer = window.probe(hash);
  }
  EXPECT_NE(answer, FilterWindow::Answer::kNotLoaded);
  return answer == FilterWindow::Answer::kPresent;
}

// The answers for nth_hash(first … end - 1), and the items of each generation.
inline std::vector<uint64_t> answers_of(FilterWindow& window, uint64_t first, uint64_t end) {
  std::vector<uint64_t> answers = window.generation_items();
  for (uint64_t i = first; i < end; ++i) {
    const bool has = window_has(window, nth_hash(i));
    EXPECT_TRUE(window.load(nth_hash(i)).ok());
    answers.push_back(window.count(nth_hash(i)));
    EXPECT_EQ(answers.back() > 0, has) << i;
  }
  return answers;
}

struct StoredWindow {
  explicit StoredWindow(const FilterOptions& options) : window(options, storage) {
    EXPECT_TRUE(window.create().ok());
    commit();
  }

  void commit() {
    Status status = window.fold_rest();
    EXPECT_TRUE(status.ok()) << message_of(status);
    status = window.flush();
    EXPECT_TRUE(status.ok()) << message_of(status);
    window.committed();
  }
  void roll_back(const StoredRows& snapshot) {
    storage.restore(snapshot);
    window.rolled_back();
    EXPECT_FALSE(window.usable());
    follow(window);
  }
  void follow(FilterWindow& other) {
    const Status status = other.refresh(storage.rows.record);
    EXPECT_TRUE(status.ok()) << message_of(status);
    EXPECT_TRUE(other.usable());
  }
  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      const Status status = window.newest().insert(nth_hash(i));
      ASSERT_TRUE(status.ok()) << message_of(status);
    }
  }
  void rotate() {
    const Status status = window.rotate();
    ASSERT_TRUE(status.ok()) << message_of(status);
  }
  uint64_t missing(uint64_t first, uint64_t end) {
    uint64_t missing = 0;
    for (uint64_t i = first; i < end; ++i) {
      missing += window_has(window, nth_hash(i)) ? 0 : 1;
    }
    return missing;
  }
  void expect_good() {
    const Status status = window.check();
    EXPECT_TRUE(status.ok()) << message_of(status);
    EXPECT_EQ(window.stored_rows(), storage.rows.pages.size() + storage.rows.log.size());
  }

  MemoryStorage storage;
  FilterWindow window;
};

}  // namespace cuckoo::test
