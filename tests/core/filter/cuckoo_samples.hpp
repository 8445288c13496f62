// Cuckoo filters with all their pages.
#pragma once

#include <string>
#include <vector>

#include "core/filter/cuckoo_filter.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo::core {

inline std::string name_of(const BucketShape& shape) {
  return std::to_string(shape.radix) + " x 2^" + std::to_string(shape.low_bits);
}

}  // namespace cuckoo::core

namespace cuckoo::test {

inline CuckooFilter whole_cuckoo(const CuckooGeometry& geometry) {
  CuckooFilter filter(geometry);
  add_all_pages(filter);
  return filter;
}

inline CuckooFilter cuckoo_for(uint64_t capacity, double rate, uint32_t page_bytes = kPageBytes) {
  return whole_cuckoo(must(size_cuckoo(capacity, rate, page_bytes)));
}

inline BucketShape shape_of(uint32_t radix, uint32_t low_bits) {
  BucketShape shape;
  EXPECT_TRUE(make_bucket_shape(radix, low_bits, shape));
  return shape;
}

inline void insert_each(CuckooFilter& filter, const std::vector<uint64_t>& hashes) {
  for (const uint64_t hash : hashes) {
    filter.insert(hash);
  }
}

inline void expect_each(const CuckooFilter& filter, const std::vector<uint64_t>& hashes) {
  for (const uint64_t hash : hashes) {
    ASSERT_TRUE(filter.contains(hash));
  }
}

}  // namespace cuckoo::test

namespace cuckoo {

// The tests call them by these names.
using test::cuckoo_for;
using test::expect_each;
using test::insert_each;
using test::name_of;
using test::shape_of;
using test::whole_cuckoo;

}  // namespace cuckoo
