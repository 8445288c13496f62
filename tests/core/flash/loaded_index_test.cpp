#include "core/flash/loaded_index.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "tests/support/allocations.hpp"
#include "tests/support/threads.hpp"

namespace cuckoo {
namespace flash_loaded_index_test {
namespace {

constexpr SlotCacheOptions kOptions{.seed = 9};

LoadedIndex::Entries entries(uint32_t count, uint32_t odd_one = 0) {
  LoadedIndex::Entries entries;
  for (uint32_t i = 1; i <= count; ++i) {
    entries.emplace_back(10 * i, i == odd_one ? 0xFFFFFFFF : i % 400);
  }
  return entries;
}

std::shared_ptr<LoadedIndex> shared(LoadedIndex::Entries entries,
                                    const SlotCacheOptions& options = kOptions) {
  return LoadedIndex::share(std::make_shared<LoadedIndex>(options, std::move(entries)));
}

TEST(LoadedIndex, I1_I3_becomes_slots_of_the_same_entries) {
  const auto index = shared(entries(5000));
  const LoadedIndex::View before = index->view();
  ASSERT_TRUE(before.list && !before.slots);
  EXPECT_EQ(*before.list, entries(5000));
  const auto slots = index->slots();
  EXPECT_EQ(slots->size(), 5000U);
  EXPECT_TRUE(slots->contains_all(*before.list));
  EXPECT_TRUE(slots->check().ok());
  const LoadedIndex::View after = index->view();
  EXPECT_FALSE(after.list);
  EXPECT_EQ(after.slots, slots);
  EXPECT_EQ(index->slots(), slots);
  EXPECT_EQ(*before.list, entries(5000)) << "I3";
}

TEST(LoadedIndex, I2_what_is_equal_is_one) {
  const auto first = shared(entries(1000));
  EXPECT_EQ(shared(entries(1000)), first) << "a list";
  first->slots();
  EXPECT_EQ(shared(entries(1000)), first) << "slots";
  EXPECT_NE(shared(entries(1000, 500)), first);
  EXPECT_NE(shared(entries(999)), first);
  EXPECT_NE(shared(entries(1000), {.seed = 8}), first);
  EXPECT_NE(shared(entries(1000), {.hashes = 3, .seed = 9}), first);
  EXPECT_NE(shared(entries(1000), {.ways = 8, .seed = 9}), first);
}

TEST(LoadedIndex, I2_goes_with_its_last_holder_and_comes_anew) {
  auto first = shared(entries(1000));
  auto second = shared(entries(10));
  auto third = shared(entries(20));
  const std::weak_ptr<LoadedIndex> gone = second;
  second.reset();  // from the middle of what is shared
  EXPECT_TRUE(gone.expired());
  second = shared(entries(10));
  EXPECT_EQ(shared(entries(1000)), first);
  EXPECT_EQ(shared(entries(20)), third);
  first.reset();
  third.reset();
  EXPECT_EQ(shared(entries(10)), second);
}

TEST(LoadedIndex, stays_a_list_when_there_is_no_memory_for_slots) {
  const auto index = shared(entries(600));
  unsigned failures = 0;
  for (; runs_out_of_memory(failures, [&] { index->slots(); }); ++failures) {
    EXPECT_TRUE(index->view().list && !index->view().slots);
  }
  EXPECT_GT(failures, 1U);
  EXPECT_TRUE(index->slots()->contains_all(entries(600)));
}

TEST(LoadedIndex, is_shared_searched_and_let_go_by_threads_at_once) {
  constexpr int kThreads = 4;
  std::atomic<int> wrong = 0;
  test::in_threads(kThreads, [&](int thread) {
    for (int round = 0; round < 200; ++round) {
      const auto index = shared(entries(200 + round % 3));
      const LoadedIndex::View view = index->view();
      if (round % kThreads == thread) {
        wrong += index->slots()->size() == index->size() ? 0 : 1;
      }
      wrong += (view.list ? view.list->size() : view.slots->size()) == index->size() ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace flash_loaded_index_test
}  // namespace cuckoo
