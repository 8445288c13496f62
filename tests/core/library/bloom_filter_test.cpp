#include <cuckoo/bloom_filter.hpp>

#include <gtest/gtest.h>

#include <cuckoo/cuckoo_filter.hpp>

#include <string>
#include <utility>
#include <vector>

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
    const auto read = BloomFilter::from_bytes(filter.to_bytes().value());
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read.value().layout(), layout);
    EXPECT_TRUE(read.value().contains("apple"));
  }
}

TEST(LibraryBloomFilter, merges_no_other_layout) {
  BloomFilter filter = made(BloomLayout::kStandard);
  const cuckoo::Status status = filter.merge(made(BloomLayout::kBlocked));
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_NE(status.error().message.find("layout"), std::string::npos) << status.error().message;
}

TEST(LibraryBloomFilter, takes_no_image_of_another_filter) {
  const auto from_cuckoo = BloomFilter::from_bytes(CuckooFilter::make().value().to_bytes().value());
  EXPECT_EQ(from_cuckoo.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(from_cuckoo.error().message, "an image of a cuckoo filter, expected a Bloom filter");
  const auto from_bloom = CuckooFilter::from_bytes(made(BloomLayout::kStandard).to_bytes().value());
  EXPECT_EQ(from_bloom.error().message, "an image of a Bloom filter, expected a cuckoo filter");
}

}  // namespace
