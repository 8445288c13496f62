// CuckooFilter: both ways to look a hash up give the same answers.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/filter/cuckoo_filter.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo {
namespace {

using test::add_all_pages;
using test::all_bucket_shapes;
using test::nth_hash;
using Answer = Filter::Answer;

// One filter, asked both ways.
void expect_same_answers(CuckooFilter& filter, uint64_t seed, uint64_t hashes,
                         const std::string& what) {
  std::vector<Answer> answers;
  for (uint64_t i = 0; i < hashes; ++i) {
    answers.push_back(filter.probe(nth_hash(seed, i)));
  }
  filter.use_portable_code();
  for (uint64_t i = 0; i < hashes; ++i) {
    ASSERT_EQ(filter.probe(nth_hash(seed, i)), answers[i]) << what << ", hash " << i;
  }
}

std::string name_of(const BucketShape& shape) {
  return std::to_string(shape.radix) + " x 2^" + std::to_string(shape.low_bits);
}

TEST(CuckooProbe, both_ways_agree_on_every_shape) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    for (const uint32_t page_bytes : {64u, 192u}) {
      CuckooFilter filter({60, shape, page_bytes});
      add_all_pages(filter);
      for (uint64_t i = 0; i < 230; ++i) {
        filter.insert(nth_hash(1, i));
        ASSERT_TRUE(filter.contains(nth_hash(1, i)));
      }
      expect_same_answers(filter, 1, 2000, name_of(shape));
    }
  }
}

TEST(CuckooProbe, both_ways_agree_on_pages_that_are_absent_or_zero) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    CuckooFilter filter({200, shape, 64});
    for (uint64_t page = 0; page < filter.pages().page_count(); page += 3) {
      filter.pages().add(page, false);
    }
    for (uint64_t page = 1; page < filter.pages().page_count(); page += 3) {
      filter.pages().add_zero(page);
    }
    for (uint64_t i = 0; i < 300; ++i) {
      if (filter.probe(nth_hash(2, i)) != Answer::kNotLoaded) {
        filter.insert(nth_hash(2, i));
      }
    }
    expect_same_answers(filter, 2, 600, name_of(shape));
  }
}

TEST(CuckooProbe, both_ways_look_into_the_overflow_table) {
  for (const BucketShape& shape : all_bucket_shapes()) {
    CuckooFilter filter({3, shape, 192});
    add_all_pages(filter);
    for (uint64_t i = 0; i < 40; ++i) {
      filter.insert(nth_hash(3, i));
    }
    ASSERT_FALSE(filter.overflow().empty());
    for (uint64_t i = 0; i < 40; ++i) {
      ASSERT_TRUE(filter.contains(nth_hash(3, i)));
    }
    expect_same_answers(filter, 3, 1000, name_of(shape));
  }
}

// Too many pages for a list of them.
TEST(CuckooProbe, both_ways_agree_on_a_filter_of_many_pages) {
  BucketShape shape;
  ASSERT_TRUE(make_bucket_shape(16, 9, shape));
  for (const uint64_t pages : {PageSet::kMaxListed, PageSet::kMaxListed + 1}) {
    CuckooGeometry geometry{1, shape, 64};
    geometry.buckets = pages * geometry.buckets_per_page();
    CuckooFilter filter(geometry);
    EXPECT_EQ(filter.pages().page_count(), pages);
    filter.pages().complete();
    for (uint64_t i = 0; i < 2000; ++i) {
      filter.insert(nth_hash(4, i));
      ASSERT_TRUE(filter.contains(nth_hash(4, i)));
    }
    expect_same_answers(filter, 4, 20'000, std::to_string(pages) + " pages");
  }
}

TEST(CuckooProbe, a_moved_filter_answers_as_before) {
  BucketShape shape;
  ASSERT_TRUE(make_bucket_shape(19, 7, shape));
  CuckooFilter first({500, shape, 192});
  add_all_pages(first);
  for (uint64_t i = 0; i < 1000; ++i) {
    first.insert(nth_hash(5, i));
  }
  CuckooFilter filter = std::move(first);
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_TRUE(filter.contains(nth_hash(5, i)));
  }
  expect_same_answers(filter, 5, 3000, "moved");
}

}  // namespace
}  // namespace cuckoo
