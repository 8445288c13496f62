// Bloom filters of a rate, with all their pages.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/filter/bloom_filter.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::test {

inline std::unique_ptr<BloomFilter> whole_filter(const BloomGeometry& geometry) {
  auto filter = std::make_unique<BloomFilter>(geometry);
  add_all_pages(*filter);
  return filter;
}

inline BloomGeometry sized(FilterKind kind, uint64_t capacity, double rate,
                           uint32_t page_bytes = kPageBytes) {
  return must(size_bloom(kind, capacity, rate, 0, page_bytes));
}

inline std::unique_ptr<BloomFilter> filter_for(FilterKind kind, uint64_t capacity, double rate,
                                               uint32_t page_bytes = kPageBytes) {
  return whole_filter(sized(kind, capacity, rate, page_bytes));
}

}  // namespace cuckoo::test

namespace cuckoo {

// The tests call them by these names.
using test::filter_for;
using test::sized;
using test::whole_filter;

}  // namespace cuckoo
