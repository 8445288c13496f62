#include <cuckoo/bloom_filter.hpp>

#include <cuckoo/cuckoo_filter.hpp>

#include <vector>

#include "tests/support/status.hpp"

namespace library_bloom_filter_test {
namespace {

using cuckoo::BloomFilter;
using cuckoo::BloomLayout;
using cuckoo::CuckooFilter;
using cuckoo::ErrorCode;

BloomFilter made(BloomLayout layout, bool grows = true) {
  auto filter =
      BloomFilter::make({.expected_keys = 2000, .seed = 1, .grows = grows, .layout = layout});
  EXPECT_TRUE(filter.ok()) << filter.error().message;
  return std::move(filter.value());
}

TEST(LibraryBloomFilter, has_either_layout) {
  for (const BloomLayout layout : {BloomLayout::kStandard, BloomLayout::kBlocked}) {
    BloomFilter filter = made(layout);
    EXPECT_EQ(filter.layout(), layout);
    ASSERT_TRUE(filter.add("apple").ok());
    ASSERT_TRUE(filter.add("apple").ok());
    EXPECT_EQ(filter.size(), 1U);
    const auto read = must(BloomFilter::from_bytes(filter.to_bytes().value()));
    EXPECT_EQ(read.layout(), layout);
    EXPECT_TRUE(read.contains("apple"));
  }
}

TEST(LibraryBloomFilter, merges_no_other_layout) {
  BloomFilter filter = made(BloomLayout::kStandard);
  EXPECT_TRUE(fails(filter.merge(made(BloomLayout::kBlocked)), ErrorCode::kInvalid, "layout"));
}

TEST(LibraryBloomFilter, takes_no_image_of_another_filter) {
  EXPECT_TRUE(fails_saying(BloomFilter::from_bytes(CuckooFilter::make().value().to_bytes().value()),
                           ErrorCode::kInvalid,
                           "an image of a cuckoo filter, expected a Bloom filter"));
  const auto from_bloom = CuckooFilter::from_bytes(made(BloomLayout::kStandard).to_bytes().value());
  EXPECT_EQ(from_bloom.error().message, "an image of a Bloom filter, expected a cuckoo filter");
}

}  // namespace
}  // namespace library_bloom_filter_test
