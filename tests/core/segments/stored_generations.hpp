// A sliding window on a storage in memory, created and flushed: what the tests of windows share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/segments/filter_window.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

inline bool has(segments::FilterWindow& window, uint64_t hash) {
  using Answer = segments::FilterWindow::Answer;
  Answer answer = window.probe(hash);
  if (answer == Answer::kNotLoaded) {
    expect_ok(window.load(hash));
    answer = window.probe(hash);
  }
  EXPECT_NE(answer, Answer::kNotLoaded);
  return answer == Answer::kPresent;
}

// The answers for nth_hash(first … end - 1), and the items of each generation.
inline std::vector<uint64_t> answers_of(segments::FilterWindow& window, uint64_t first,
                                        uint64_t end) {
  std::vector<uint64_t> answers = window.generation_items();
  for (uint64_t i = first; i < end; ++i) {
    const bool present = has(window, nth_hash(i));
    answers.push_back(must(window.count(nth_hash(i))));
    EXPECT_EQ(answers.back() > 0, present) << i;
  }
  return answers;
}

inline FilterOptions generations_of(const FilterCase& filter_case, uint64_t generations,
                                    uint64_t capacity, double rate = 0.02,
                                    uint32_t page_bytes = 128) {
  FilterOptions options = options_for(filter_case, capacity, rate, page_bytes);
  options.generations = generations;
  return options;
}

struct StoredGenerations {
  explicit StoredGenerations(const FilterOptions& chosen)
      : options(chosen), window(options, storage) {
    expect_ok(window.create());
    commit();
  }

  void commit() {
    expect_ok(window.finish_load());
    expect_ok(window.flush());
    window.committed();
  }
  void roll_back(const MemoryBlocks::Rows& snapshot) {
    storage.rows = snapshot;
    window.forget();
    EXPECT_FALSE(window.usable());
    window.committed();
    follow(window);
  }
  static void follow(segments::FilterWindow& other) {
    expect_ok(other.refresh());
    EXPECT_TRUE(other.usable());
  }
  void add(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      ASSERT_STATUS(window.newest().insert(nth_hash(i)));
    }
  }
  void add_and_commit(uint64_t first, uint64_t end) {
    add(first, end);
    commit();
  }
  void rotate() { expect_ok(window.rotate()); }
  void clear() { expect_ok(window.clear()); }
  uint64_t missing(uint64_t first, uint64_t end) {
    uint64_t missing = 0;
    for (uint64_t i = first; i < end; ++i) {
      missing += has(window, nth_hash(i)) ? 0 : 1;
    }
    return missing;
  }
  void expect_good() { expect_ok(window.check()); }

  FilterOptions options;
  MemoryBlocks storage;
  segments::FilterWindow window;
};

// The ids of the blocks that differ.
inline std::vector<int64_t> differing(const MemoryBlocks::Rows& a, const MemoryBlocks::Rows& b) {
  std::vector<int64_t> ids;
  for (const auto& [id, block] : a) {
    if (const auto other = b.find(id); other == b.end() || other->second != block) {
      ids.push_back(id);
    }
  }
  for (const auto& entry : b) {
    if (!a.contains(entry.first)) {
      ids.push_back(entry.first);
    }
  }
  return ids;
}

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::answers_of;
using test::differing;
using test::generations_of;
using test::has;
using test::StoredGenerations;

}  // namespace cuckoo::segments
