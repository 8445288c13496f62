#include "core/base/pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace cuckoo {
namespace {

constexpr uint32_t kBytes = 128;

TEST(PageSet, a_new_set_has_no_page) {
  const PageSet pages(2000, kBytes);
  EXPECT_EQ(pages.page_count(), 2000u);
  EXPECT_EQ(pages.page_bytes(), kBytes);
  EXPECT_EQ(pages.owned_count(), 0u);
  for (uint64_t i = 0; i < pages.page_count(); ++i) {
    ASSERT_EQ(pages.find(i), nullptr);
  }
}

TEST(PageSet, I1_I2_an_added_page_is_found_and_zero_with_its_slack) {
  PageSet pages(2000, kBytes);
  for (const uint64_t index : {uint64_t{0}, uint64_t{511}, uint64_t{512}, uint64_t{1999}}) {
    std::byte* page = pages.add(index, false);
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(pages.find(index), page);
    EXPECT_EQ(std::as_const(pages).find(index), page);
    EXPECT_TRUE(std::all_of(page, page + kBytes + PageSet::kSlackBytes,
                            [](std::byte byte) { return byte == std::byte{0}; }));
    std::fill_n(page, kBytes, std::byte{0xFF});  // must not reach a neighbour
  }
  EXPECT_EQ(pages.owned_count(), 4u);
  EXPECT_EQ(pages.find(1), nullptr);
  EXPECT_EQ(pages.find(513), nullptr);
}

TEST(PageSet, an_added_page_does_not_show_in_another_set) {
  PageSet one(600, kBytes);
  const PageSet other(600, kBytes);
  one.add(5, true);
  EXPECT_EQ(other.find(5), nullptr);
  EXPECT_EQ(one.find(517), nullptr);
}

TEST(PageSet, I3_a_dirty_page_stands_in_dirty_once_until_cleared) {
  PageSet pages(1200, kBytes);
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
  PageSet pages(600, kBytes);
  std::byte* page = pages.add(599, false);
  page[0] = std::byte{7};
  pages.mark_dirty(599);
  PageSet moved(std::move(pages));
  EXPECT_EQ(moved.find(599), page);
  EXPECT_EQ(moved.find(599)[0], std::byte{7});
  EXPECT_EQ(moved.dirty(), std::vector<uint64_t>{599});
  PageSet assigned(1, kBytes);
  assigned.add(0, false);
  assigned = std::move(moved);
  EXPECT_EQ(assigned.page_count(), 600u);
  EXPECT_EQ(assigned.find(599), page);
  EXPECT_EQ(assigned.owned_count(), 1u);
}

// Of a set with pages of its own and zero pages beside them, in one chunk and in others.
TEST(PageSet, I4_zero_pages_are_shared_until_they_are_changed) {
  PageSet pages(5000, kBytes);
  std::byte* const mine = pages.add(600, true);
  mine[3] = std::byte{3};
  pages.add_zero(601);
  pages.complete();
  const std::byte* const zero = pages.find(601);
  for (uint64_t i = 0; i < pages.page_count(); ++i) {
    ASSERT_EQ(pages.find(i), i == 600 ? mine : zero) << i;
    ASSERT_EQ(pages.stored(i), i == 600) << i;
  }
  EXPECT_TRUE(std::all_of(zero, zero + kBytes + PageSet::kSlackBytes,
                          [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(pages.owned_count(), 1u);
  EXPECT_EQ(pages.writable(600), mine);

  pages.mark_dirty(601);                            // beside it
  pages.writable(4999)[kBytes - 1] = std::byte{9};  // in another chunk; not marked by that
  EXPECT_EQ(pages.dirty(), std::vector<uint64_t>{601});
  pages.owned(601)[0] = std::byte{1};
  EXPECT_EQ(pages.find(601)[0], std::byte{1});
  EXPECT_EQ(pages.find(4999)[kBytes - 1], std::byte{9});
  EXPECT_EQ(pages.find(4998), zero);
  EXPECT_EQ(pages.find(602), zero);
  EXPECT_EQ(zero[0], std::byte{0});
  EXPECT_EQ(pages.owned_count(), 3u);
  EXPECT_FALSE(pages.stored(601));
  pages.clear_dirty();
  EXPECT_TRUE(pages.stored(601));
  EXPECT_FALSE(pages.stored(4999));
}

TEST(PageSet, next_owned_finds_each_page_of_its_own) {
  for (const bool complete : {false, true}) {
    PageSet pages(3000, kBytes);
    EXPECT_EQ(pages.next_owned(0), 3000u);
    const std::vector<uint64_t> own = {0, 1, 511, 512, 1500, 2047, 2999};
    for (const uint64_t index : own) {
      pages.add(index, false);
    }
    pages.add_zero(2);
    if (complete) {
      pages.complete();
    }
    std::vector<uint64_t> found;
    for (uint64_t i = pages.next_owned(0); i < 3000; i = pages.next_owned(i + 1)) {
      found.push_back(i);
    }
    EXPECT_EQ(found, own);
    EXPECT_EQ(pages.next_owned(3), 511u);
    EXPECT_EQ(pages.next_owned(3000), 3000u);
  }
}

TEST(PageSet, a_completed_set_takes_the_memory_of_its_own_pages) {
  PageSet pages(uint64_t{1} << 30, kPageBytes);
  pages.complete();
  EXPECT_EQ(pages.next_owned(0), pages.page_count());
  pages.mark_dirty(12345678);
  EXPECT_EQ(pages.next_owned(0), 12345678u);
  EXPECT_LT(pages.memory_bytes(), (uint64_t{1} << 30) / 512 * 8 + 20000);
}

TEST(PageSet, memory_counts_every_page) {
  PageSet pages(10000, kBytes);
  const size_t empty = pages.memory_bytes();
  EXPECT_LT(empty, 1000u);  // O(page_count / 512)
  for (uint64_t i = 0; i < 100; ++i) {
    pages.add(i, false);
  }
  EXPECT_GE(pages.memory_bytes(), empty + 100 * (kBytes + PageSet::kSlackBytes));
}

}  // namespace
}  // namespace cuckoo
