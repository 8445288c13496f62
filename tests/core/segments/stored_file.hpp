// A FilterFile on a storage in memory: what the tests of filters in segments share.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "core/segments/filter_file.hpp"
#include "tests/core/filter/kinds.hpp"
#include "tests/core/segments/memory_blocks.hpp"

namespace cuckoo::test {

// Pages of 64 bytes make segments small: a cuckoo filter of some thousand keys has several.
inline FilterOptions small_segments(FilterKind kind, bool growth = true, uint64_t capacity = 100) {
  return options_for({kind, growth}, capacity, 0.01, 64);
}

inline uint64_t nth_key(uint64_t i) { return nth_hash(23, i, HashWidth::k47Bits); }

inline Status commit(segments::FilterFile& file) {
  CUCKOO_TRY(file.finish_load());
  CUCKOO_TRY(file.flush());
  file.committed();
  return {};
}

// A file that was just created and committed.
struct NewFile : segments::FilterFile {
  NewFile(const FilterOptions& options, segments::BlockStorage& storage)
      : FilterFile(options, storage) {
    expect_ok(create());
    expect_ok(test::commit(*this));
  }
};

// Such a file, and its storage.
struct StoredFile {
  explicit StoredFile(const FilterOptions& options) : file(options, storage) {}

  void commit() { expect_ok(test::commit(file)); }
  void commit_and_check() {
    commit();
    expect_ok(file.check());
  }

  MemoryBlocks storage;
  NewFile file;
};

// A file as another connection reads it.
struct OpenedFile : segments::FilterFile {
  OpenedFile(const FilterOptions& options, segments::BlockStorage& storage)
      : FilterFile(options, storage) {
    expect_ok(refresh());
  }
};

inline Status add(segments::FilterFile& file, uint64_t first, uint64_t end) {
  for (uint64_t i = first; i < end; ++i) {
    CUCKOO_TRY(file.insert(nth_key(i)));
  }
  return {};
}

// Adds the keys in one transaction.
inline Status add_and_commit(segments::FilterFile& file, uint64_t first, uint64_t end) {
  CUCKOO_TRY(file.refresh());
  CUCKOO_TRY(add(file, first, end));
  return commit(file);
}

inline void expect_all(segments::FilterFile& file, uint64_t end) {
  for (uint64_t i = 0; i < end; ++i) {
    ASSERT_TRUE(must(file.load_and_probe(nth_key(i)))) << "key " << i;
  }
}

// A new connection must see all keys, and a good filter.
inline void expect_stored(MemoryBlocks& storage, const FilterOptions& options, uint64_t end) {
  OpenedFile file(options, storage);
  if (options.multiset()) {
    EXPECT_EQ(file.items(), end);
  }
  expect_all(file, end);
  expect_ok(file.check());
}

}  // namespace cuckoo::test

namespace cuckoo::segments {

// The tests call them by these names.
using test::add;
using test::add_and_commit;
using test::commit;
using test::expect_all;
using test::expect_stored;
using test::NewFile;
using test::nth_key;
using test::OpenedFile;
using test::small_segments;
using test::StoredFile;

}  // namespace cuckoo::segments
