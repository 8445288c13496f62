// A filter in segments with a random content, and what is in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>

#include "core/segments/filter_file.hpp"
#include "tests/core/segments/memory_blocks.hpp"
#include "tests/core/segments/pieces.hpp"
#include "tests/core/segments/stored_file.hpp"

namespace cuckoo::test {

// A filter with folded and pending entries, and what is in it.
class FilledFile {
 public:
  explicit FilledFile(const FilterOptions& options) : options_(options), file(options, storage) {
    expect_ok(file.create());
    commit();
  }
  FilledFile(const FilterOptions& options, uint64_t first, uint64_t end) : FilledFile(options) {
    fill(first, end);
  }
  // Adds keys, some of them twice, and removes some, in transactions of 200; the last is not
  // committed.
  void fill(uint64_t first, uint64_t end) {
    for (uint64_t i = first; i < end; ++i) {
      add(i);
      if (options_.multiset() && i % 7 == 0 && file.items() + 1 < options_.capacity) {
        add(i);
      }
      if (options_.multiset() && i % 5 == 4) {
        remove(i - 2);
      }
      if (i % 200 == 199) {
        commit();
      }
    }
  }
  void commit() { expect_ok(test::commit(file)); }
  // Commits. Then a new connection sees what is in it, and that it is good.
  void expect_stored();
  // A connection with these options sees the same, as it is stored.
  void expect_stored_as(const FilterOptions& options);
  void add(uint64_t i) {
    expect_ok(file.insert(nth_key(i)));
    counts[nth_key(i)] = options_.multiset() ? counts[nth_key(i)] + 1 : 1;
  }
  void remove(uint64_t i) {
    ASSERT_TRUE(must(file.remove(nth_key(i))));
    if (--counts[nth_key(i)] == 0) {
      counts.erase(nth_key(i));
    }
  }

 private:
  FilterOptions options_;

 public:
  MemoryBlocks storage;
  segments::FilterFile file;
  std::map<uint64_t, uint64_t> counts;
};

inline void expect_counts(segments::FilterFile& file, const std::map<uint64_t, uint64_t>& counts) {
  for (const auto& [hash, count] : counts) {
    ASSERT_GE(must(file.count(hash)), file.multiset() ? count : 1);
  }
}

inline void expect_counts(const HeldPieces& pieces, const std::map<uint64_t, uint64_t>& counts,
                          bool multiset) {
  for (const auto& [hash, count] : counts) {
    ASSERT_GE(pieces.count(hash), multiset ? count : 1);
  }
}

inline uint64_t items_of(const std::map<uint64_t, uint64_t>& counts) {
  uint64_t items = 0;
  for (const auto& [hash, count] : counts) {
    items += count;
  }
  return items;
}

inline void FilledFile::expect_stored() {
  commit();
  expect_stored_as(file.options());
}

inline void FilledFile::expect_stored_as(const FilterOptions& options) {
  OpenedFile opened(options, storage);
  if (file.multiset()) {
    EXPECT_EQ(opened.items(), items_of(counts));
  }
  expect_counts(opened, counts);
  expect_ok(opened.check());
}

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::expect_counts;
using test::FilledFile;
using test::items_of;

}  // namespace cuckoo::segments
