#include "core/pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace cuckoo {
namespace {

constexpr uint32_t kPageBytes = 128;

TEST(PageSet, a_new_set_has_no_page) {
  const PageSet pages(2000, kPageBytes);
  EXPECT_EQ(pages.page_count(), 2000u);
  EXPECT_EQ(pages.page_bytes(), kPageBytes);
  EXPECT_EQ(pages.loaded_count(), 0u);
  for (uint64_t i = 0; i < pages.page_count(); ++i) {
    ASSERT_EQ(pages.find(i), nullptr);
  }
}

TEST(PageSet, I1_I2_an_added_page_is_found_and_zero_with_its_slack) {
  PageSet pages(2000, kPageBytes);
  for (const uint64_t index : {uint64_t{0}, uint64_t{511}, uint64_t{512}, uint64_t{1999}}) {
    std::byte* page = pages.add(index, false);
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(pages.find(index), page);
    EXPECT_EQ(std::as_const(pages).find(index), page);
    EXPECT_TRUE(std::all_of(page, page + kPageBytes + PageSet::kSlackBytes,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    std::fill_n(page, kPageBytes, std::byte{0xFF});  // must not reach a neighbour
  }
  EXPECT_EQ(pages.loaded_count(), 4u);
  EXPECT_EQ(pages.find(1), nullptr);
  EXPECT_EQ(pages.find(513), nullptr);
}

TEST(PageSet, an_added_page_does_not_show_in_another_set) {
  PageSet one(600, kPageBytes);
  const PageSet other(600, kPageBytes);
  one.add(5, true);
  EXPECT_EQ(other.find(5), nullptr);
  EXPECT_EQ(one.find(517), nullptr);
}

TEST(PageSet, I3_a_dirty_page_stands_in_dirty_once_until_cleared) {
  PageSet pages(1200, kPageBytes);
  pages.add(3, false);
  pages.add(67, true);
  pages.add(1100, true);
  EXPECT_TRUE(pages.dirty().empty());
  pages.mark_dirty(1100);
  pages.mark_dirty(3);
  pages.mark_dirty(1100);
  EXPECT_EQ(pages.dirty(), (std::vector<uint64_t>{1100, 3}));
  EXPECT_FALSE(pages.stored(3));
  EXPECT_TRUE(pages.stored(67));
  EXPECT_TRUE(pages.stored(1100));

  pages.clear_dirty();
  EXPECT_TRUE(pages.dirty().empty());
  EXPECT_TRUE(pages.stored(3));
  pages.mark_dirty(3);
  EXPECT_EQ(pages.dirty(), std::vector<uint64_t>{3});
}

TEST(PageSet, a_moved_set_keeps_pages_and_marks) {
  PageSet pages(600, kPageBytes);
  std::byte* page = pages.add(599, false);
  page[0] = std::byte{7};
  pages.mark_dirty(599);
  PageSet moved(std::move(pages));
  EXPECT_EQ(moved.find(599), page);
  EXPECT_EQ(moved.find(599)[0], std::byte{7});
  EXPECT_EQ(moved.dirty(), std::vector<uint64_t>{599});
  PageSet assigned(1, kPageBytes);
  assigned.add(0, false);
  assigned = std::move(moved);
  EXPECT_EQ(assigned.page_count(), 600u);
  EXPECT_EQ(assigned.find(599), page);
  EXPECT_EQ(assigned.loaded_count(), 1u);
}

TEST(PageSet, memory_counts_every_page) {
  PageSet pages(10000, kPageBytes);
  const size_t empty = pages.memory_bytes();
  EXPECT_LT(empty, 1000u);  // O(page_count / 512)
  for (uint64_t i = 0; i < 100; ++i) {
    pages.add(i, false);
  }
  EXPECT_GE(pages.memory_bytes(), empty + 100 * (kPageBytes + PageSet::kSlackBytes));
}

}  // namespace
}  // namespace cuckoo
