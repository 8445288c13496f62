#include "core/base/page_size.hpp"

#include <gtest/gtest.h>

namespace cuckoo::base_page_size_test {
namespace {

TEST(PageSize, row_fills_its_database_page_to_the_next_64_bytes) {
  struct Case {
    int64_t usable;
    uint32_t content;
  };
  for (const Case& one :
       {Case{480, 384}, {512, 448}, {1024, 960}, {2048, 1984}, {4064, 3968}, {4096, 4032}}) {
    EXPECT_EQ(page_bytes_in(one.usable), one.content);
    EXPECT_TRUE(is_page_size(one.content));
    EXPECT_LE(one.content + kPageCrcBytes + kDatabasePageOverhead, one.usable);
    EXPECT_GT(one.content + kPageStepBytes + kPageCrcBytes + kDatabasePageOverhead, one.usable);
  }
}

TEST(PageSize, is_that_of_4096_bytes_in_larger_database_pages) {
  for (const int64_t usable : {4097, 8192, 65536}) {
    EXPECT_EQ(page_bytes_in(usable), kPageBytes);
  }
}

TEST(PageSize, is_never_less_than_a_step) {
  for (const int64_t usable : {-100, 0, 63, 107}) {
    EXPECT_EQ(page_bytes_in(usable), kPageStepBytes);
  }
  for (const uint32_t bytes : {0u, 32u, 65u, 8256u}) {
    EXPECT_FALSE(is_page_size(bytes)) << bytes;
  }
}

TEST(PageSize, as_many_rows_share_a_database_page_as_fit) {
  EXPECT_EQ(rows_per_database_page(kPageRowBytes, 4096), 1u);
  EXPECT_EQ(rows_per_database_page(kPageRowBytes, 8192), 2u);
  EXPECT_EQ(rows_per_database_page(kPageRowBytes, 65536), 16u);
  for (const int64_t database_page : {512, 1024, 2048, 4096}) {
    EXPECT_EQ(rows_per_database_page(page_bytes_in(database_page) + kPageCrcBytes,
                                     static_cast<uint64_t>(database_page)),
              1u);
  }
}

}  // namespace
}  // namespace cuckoo::base_page_size_test
