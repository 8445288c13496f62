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

FlashIndexEntries entries(uint32_t count, uint32_t odd_one = 0) {
  FlashIndexEntries entries;
  for (uint32_t i = 1; i <= count; ++i) {
    entries.emplace_back(10 * i, i == odd_one ? 0xFFFFFFFF : i % 400);
  }
  return entries;
}

std::shared_ptr<const LoadedIndex> of(const FlashIndexEntries& entries,
                                      const SlotCacheOptions& options = kOptions) {
  return LoadedIndex::of(options, entries);
}

TEST(LoadedIndex, I1_what_is_equal_is_one) {
  const auto first = of(entries(1000));
  EXPECT_EQ(first->slots().size(), 1000U);
  EXPECT_TRUE(first->slots().contains_all(entries(1000)));
  EXPECT_TRUE(first->slots().check().ok());
  EXPECT_EQ(of(entries(1000)), first);
  EXPECT_NE(of(entries(1000, 500)), first);
  EXPECT_NE(of(entries(999)), first);
  EXPECT_NE(of(entries(1000), {.seed = 8}), first);
  EXPECT_NE(of(entries(1000), {.hashes = 3, .seed = 9}), first);
  EXPECT_NE(of(entries(1000), {.ways = 8, .seed = 9}), first);
}

TEST(LoadedIndex, I1_I2_goes_with_its_last_holder_and_comes_anew) {
  auto first = of(entries(1000));
  auto second = of(entries(10));
  auto third = of(entries(20));
  const std::weak_ptr<const LoadedIndex> gone = second;
  second.reset();  // from the middle of what is shared
  EXPECT_TRUE(gone.expired());
  second = of(entries(10));
  EXPECT_EQ(of(entries(1000)), first);
  EXPECT_EQ(of(entries(20)), third);
  first.reset();
  third.reset();
  EXPECT_EQ(of(entries(10)), second);
}

TEST(LoadedIndex, nothing_is_shared_when_there_is_no_memory) {
  const FlashIndexEntries all = entries(600);
  unsigned failures = 0;
  for (; runs_out_of_memory(failures, [&] { of(all); }); ++failures) {
  }
  EXPECT_GT(failures, 1U);
  EXPECT_TRUE(of(all)->slots().contains_all(all));
}

TEST(LoadedIndex, is_shared_searched_and_let_go_by_threads_at_once) {
  std::atomic<int> wrong = 0;
  test::in_threads(4, [&](int) {
    for (int round = 0; round < 200; ++round) {
      const FlashIndexEntries all = entries(200 + round % 3);
      wrong += of(all)->slots().contains_all(all) ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace flash_loaded_index_test
}  // namespace cuckoo
