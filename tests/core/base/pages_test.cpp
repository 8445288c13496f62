#include "core/base/pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "core/base/shared_buffer.hpp"

namespace cuckoo::base_pages_test {
namespace {

constexpr uint32_t kBytes = 128;

TEST(PageSet, a_new_set_has_no_page) {
  const PageSet pages(2000, kBytes);
  EXPECT_EQ(pages.page_count(), 2000u);
  EXPECT_EQ(pages.page_bytes(), kBytes);
  EXPECT_EQ(pages.backed_count(), 0u);
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
  EXPECT_EQ(pages.backed_count(), 4u);
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
  EXPECT_EQ(assigned.backed_count(), 1u);
}

// The set has one page of its own. Zero pages are beside it in the same chunk, and in other chunks.
TEST(PageSet, I4_zero_pages_are_shared_until_they_are_changed) {
  PageSet pages(5000, kBytes);
  std::byte* const mine = pages.add(600, true);
  mine[3] = std::byte{3};
  pages.complete();
  const std::byte* const zero = pages.find(601);
  for (uint64_t i = 0; i < pages.page_count(); ++i) {
    ASSERT_EQ(pages.find(i), i == 600 ? mine : zero) << i;
    ASSERT_EQ(pages.stored(i), i == 600) << i;
  }
  EXPECT_TRUE(std::all_of(zero, zero + kBytes + PageSet::kSlackBytes,
                          [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(pages.backed_count(), 1u);
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
  EXPECT_EQ(pages.backed_count(), 3u);
  EXPECT_FALSE(pages.stored(601));
  pages.clear_dirty();
  EXPECT_TRUE(pages.stored(601));
  EXPECT_FALSE(pages.stored(4999));
}

PageSet set_with(uint64_t index, std::byte first) {
  PageSet pages(1000, kBytes);
  pages.add(index, true)[0] = first;
  pages.share(index);
  return pages;
}

TEST(PageSet, I5_equal_pages_of_several_sets_are_one_until_one_is_changed) {
  PageSet one = set_with(3, std::byte{7});
  PageSet two = set_with(700, std::byte{7});
  const PageSet other = set_with(3, std::byte{8});
  const std::byte* const page = one.find(3);
  EXPECT_EQ(two.find(700), page);
  EXPECT_NE(other.find(3), page);
  EXPECT_TRUE(one.shared(3));
  EXPECT_FALSE(one.shared(4));
  EXPECT_EQ(one.backed_count(), 1u);
  EXPECT_EQ(one.next_backed(0), 3u);
  EXPECT_EQ(shared_buffers().holders, 3u);

  one.mark_dirty(3);
  EXPECT_FALSE(one.shared(3));
  ASSERT_NE(one.find(3), page);
  EXPECT_EQ(one.find(3)[0], std::byte{7});
  one.owned(3)[0] = std::byte{9};
  EXPECT_EQ(two.find(700)[0], std::byte{7});
  EXPECT_EQ(one.dirty(), std::vector<uint64_t>{3});
  EXPECT_EQ(one.backed_count(), 1u);
  EXPECT_TRUE(one.stored(3));

  EXPECT_EQ(two.writable(700), page);  // nobody else has it
  EXPECT_FALSE(two.shared(700));
  EXPECT_TRUE(two.dirty().empty());
  EXPECT_EQ(shared_buffers().buffers, 1u);
}

TEST(PageSet, I5_a_page_that_was_changed_is_shared_by_what_it_is_now) {
  PageSet one = set_with(3, std::byte{7});
  const PageSet two = set_with(3, std::byte{8});
  one.mark_dirty(3);
  one.owned(3)[0] = std::byte{8};
  one.clear_dirty();
  one.share(3);
  EXPECT_EQ(one.find(3), two.find(3));
  EXPECT_EQ(shared_buffers().holders, 2u);
}

TEST(PageSet, I4_I5_a_dirty_page_stays_dirty_when_it_is_shared_and_is_opened_for_a_change) {
  PageSet one = set_with(3, std::byte{7});
  PageSet two = set_with(3, std::byte{7});
  for (PageSet* const set : {&one, &two}) {
    set->mark_dirty(3);
    EXPECT_TRUE(set->is_open(3));
    set->owned(3)[0] = std::byte{8};
    set->share(3);
    EXPECT_FALSE(set->is_open(3));
    EXPECT_EQ(set->dirty(), std::vector<uint64_t>{3});
  }
  EXPECT_EQ(one.find(3), two.find(3));
  one.mark_dirty(3);
  EXPECT_TRUE(one.is_open(3));
  EXPECT_EQ(one.dirty(), std::vector<uint64_t>{3}) << "once";
  one.owned(3)[0] = std::byte{9};
  EXPECT_EQ(two.find(3)[0], std::byte{8});
  two.clear_dirty();
  EXPECT_TRUE(two.shared(3) && two.stored(3) && two.dirty().empty());
  EXPECT_EQ(two.find(3)[0], std::byte{8});
}

TEST(PageSet, a_page_that_was_stored_may_be_dirty) {
  PageSet pages(5, kBytes);
  pages.add(2, false);
  pages.mark_dirty(2);
  EXPECT_FALSE(pages.stored(2));
  pages.note_stored(2);
  EXPECT_TRUE(pages.stored(2));
  EXPECT_EQ(pages.dirty(), std::vector<uint64_t>{2});
}

TEST(PageSet, shared_pages_go_with_their_last_set) {
  {
    PageSet one = set_with(3, std::byte{7});
    one.add(4, false);
    PageSet moved = std::move(one);
    const PageSet two = set_with(3, std::byte{7});
    EXPECT_EQ(shared_buffers().holders, 2u);
    moved = PageSet(5, kBytes);
    EXPECT_EQ(shared_buffers().holders, 1u);
    EXPECT_EQ(two.find(3)[0], std::byte{7});
  }
  EXPECT_EQ(shared_buffers().buffers, 0u);
}

TEST(PageSet, next_backed_finds_each_page_of_its_own) {
  for (const bool complete : {false, true}) {
    PageSet pages(3000, kBytes);
    EXPECT_EQ(pages.next_backed(0), 3000u);
    const std::vector<uint64_t> own = {0, 1, 511, 512, 1500, 2047, 2999};
    for (const uint64_t index : own) {
      pages.add(index, false);
    }
    if (complete) {
      pages.complete();
    }
    std::vector<uint64_t> found;
    for (uint64_t i = pages.next_backed(0); i < 3000; i = pages.next_backed(i + 1)) {
      found.push_back(i);
    }
    EXPECT_EQ(found, own);
    EXPECT_EQ(pages.next_backed(3), 511u);
    EXPECT_EQ(pages.next_backed(3000), 3000u);
  }
}

TEST(PageSet, a_completed_set_takes_the_memory_of_its_own_pages) {
  PageSet pages(uint64_t{1} << 30, kPageBytes);
  pages.complete();
  EXPECT_EQ(pages.next_backed(0), pages.page_count());
  pages.mark_dirty(12345678);
  EXPECT_EQ(pages.next_backed(0), 12345678u);
  EXPECT_LT(pages.memory_bytes(), (uint64_t{1} << 30) / 512 * 8 + 20000);
}

TEST(PageSet, I6_the_list_says_what_find_says_whatever_happens) {
  for (const bool early : {true, false}) {  // before there is any page, or after some
    PageSet pages(1500, kBytes);
    EXPECT_EQ(pages.list(), nullptr);
    const auto expect_same = [&] {
      for (uint64_t i = 0; pages.list() != nullptr && i < pages.page_count(); ++i) {
        ASSERT_EQ(pages.list()[i], pages.find(i)) << i;
      }
    };
    if (early) {
      pages.make_list();
    }
    expect_same();
    pages.add(3, true)[0] = std::byte{1};
    pages.add(700, false);
    expect_same();
    pages.share(3);
    expect_same();
    if (!early) {
      pages.make_list();
      expect_same();
    }
    ASSERT_NE(pages.list(), nullptr);
    pages.mark_dirty(3);  // its own again
    expect_same();
    pages.complete();
    pages.mark_dirty(701);  // no longer zero
    expect_same();
    pages.writable(1499)[0] = std::byte{2};
    expect_same();
    PageSet moved = std::move(pages);
    pages = std::move(moved);
    ASSERT_NE(pages.list(), nullptr);
    expect_same();
  }
  PageSet many(PageSet::kMaxListed + 1, kBytes);
  many.make_list();
  EXPECT_EQ(many.list(), nullptr);
}

TEST(PageSet, memory_counts_every_page) {
  PageSet pages(10000, kBytes);
  const size_t empty = pages.memory_bytes();
  EXPECT_LT(empty, 1000u);  // O(page_count / 512)
  for (uint64_t i = 0; i < 100; ++i) {
    pages.add(i, false);
  }
  EXPECT_GE(pages.memory_bytes(), empty + 100 * (kBytes + PageSet::kSlackBytes));
  const size_t before = pages.memory_bytes();
  pages.make_list();
  EXPECT_EQ(pages.memory_bytes(), before + 10000 * sizeof(void*));
  pages.drop_list();
  EXPECT_EQ(pages.memory_bytes(), before);
  EXPECT_EQ(pages.list(), nullptr);
}

}  // namespace
}  // namespace cuckoo::base_pages_test
