// What the tests of core/bloom_*.cpp share: rows of unrelated hashes, filters with all their pages.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/mix.hpp"
#include "core/filter/bloom_filter.hpp"

namespace cuckoo::test {

inline constexpr uint32_t kPageBytes = 4032;

// The i-th of an endless row of unrelated logged hashes; every seed is another row.
inline uint64_t nth_hash(uint64_t seed, uint64_t i) {
  return mix64(seed * 0xD1342543DE82EF95 + i * 0x9E3779B97F4A7C15) & ~uint64_t{1};
}

inline std::vector<uint64_t> hashes_of(uint64_t seed, uint64_t count) {
  std::vector<uint64_t> hashes(count);
  for (uint64_t i = 0; i < count; ++i) {
    hashes[i] = nth_hash(seed, i);
  }
  return hashes;
}

inline void add_all_pages(Filter& filter) {
  for (uint64_t i = 0; i < filter.pages().page_count(); ++i) {
    if (filter.pages().find(i) == nullptr) {
      filter.pages().add(i, false);
    }
  }
}

inline std::unique_ptr<BloomFilter> whole_filter(const BloomGeometry& geometry) {
  auto filter = std::make_unique<BloomFilter>(geometry);
  add_all_pages(*filter);
  return filter;
}

inline BloomGeometry sized(FilterKind kind, uint64_t capacity, double rate,
                           uint32_t page_bytes = kPageBytes) {
  Result<BloomGeometry> geometry = size_bloom(kind, capacity, rate, 0, page_bytes);
  EXPECT_TRUE(geometry.ok()) << (geometry.ok() ? "" : geometry.error().message);
  return geometry.value();
}

inline std::unique_ptr<BloomFilter> filter_for(FilterKind kind, uint64_t capacity, double rate,
                                               uint32_t page_bytes = kPageBytes) {
  return whole_filter(sized(kind, capacity, rate, page_bytes));
}

// Content of all pages; absent pages are zero.
inline std::vector<std::byte> image(const Filter& filter) {
  std::vector<std::byte> bytes;
  for (uint64_t i = 0; i < filter.pages().page_count(); ++i) {
    const std::byte* const page = filter.pages().find(i);
    if (page == nullptr) {
      bytes.resize(bytes.size() + filter.content_bytes(i));
    } else {
      bytes.insert(bytes.end(), page, page + filter.content_bytes(i));
    }
  }
  return bytes;
}

inline void expect_good(const Filter& filter, const std::string& what = "") {
  const Status status = filter.check();
  EXPECT_TRUE(status.ok()) << what << ": " << (status.ok() ? "" : status.error().message);
}

inline std::string error_of(const Status& status) {
  return status.ok() ? "no error" : status.error().message;
}

}  // namespace cuckoo::test
