#include "core/base/shared_buffer.hpp"

#include <cstring>
#include <set>

#include "tests/support/allocations.hpp"
#include "tests/support/core_samples.hpp"
#include "tests/support/threads.hpp"

namespace cuckoo::base_shared_buffer_test {
namespace {

// Makes a buffer that nobody shares yet, and fills it with words computed from `number`.
std::byte* filled(size_t bytes, uint64_t number) {
  std::byte* const own = make_buffer(bytes);
  for (size_t at = 0; at < bytes; ++at) {
    own[at] = static_cast<std::byte>(nth_word(number, at));
  }
  return own;
}

void expect_figures(size_t buffers, uint64_t holders) {
  EXPECT_EQ(shared_buffers().buffers, buffers);
  EXPECT_EQ(shared_buffers().holders, holders);
}

TEST(SharedBuffer, is_zero_and_at_a_cache_line_when_it_is_made) {
  for (const size_t bytes : {size_t{1}, size_t{31}, size_t{64}, size_t{4064}, size_t{100000}}) {
    std::byte* const own = make_buffer(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(own) % 64, 0u);
    EXPECT_TRUE(std::all_of(own, own + bytes, [](std::byte byte) { return byte == std::byte{0}; }));
    std::memset(own, 0xFF, bytes);
    free_buffer(own);
  }
  free_buffer(nullptr);
  expect_figures(0, 0);
}

TEST(SharedBuffer, I1_equal_ones_are_one_and_others_are_not) {
  const std::byte* const one = share_buffer(filled(100, 1));
  EXPECT_EQ(share_buffer(filled(100, 1)), one);
  const std::byte* const other = share_buffer(filled(100, 2));
  const std::byte* const shorter = share_buffer(filled(99, 1));
  std::byte* last_differs = filled(100, 1);
  last_differs[99] ^= std::byte{1};
  const std::byte* const close = share_buffer(last_differs);
  const std::set<const std::byte*> different = {one, other, shorter, close};
  EXPECT_EQ(different.size(), 4u);
  expect_figures(4, 5);
  for (const std::byte* each : {one, one, other, shorter, close}) {
    release_buffer(each);
  }
  expect_figures(0, 0);
}

TEST(SharedBuffer, I2_one_that_others_hold_is_copied_to_be_changed) {
  const std::byte* const one = share_buffer(filled(100, 1));
  ASSERT_EQ(share_buffer(filled(100, 1)), one);
  std::byte* const copy = own_buffer(one);
  EXPECT_NE(copy, one);
  EXPECT_EQ(std::memcmp(copy, one, 100), 0);
  copy[0] ^= std::byte{1};
  expect_figures(1, 1);
  std::byte* const same = own_buffer(one);  // nobody else has it: no copy
  EXPECT_EQ(same, one);
  expect_figures(0, 0);
  free_buffer(copy);
  free_buffer(same);
}

TEST(SharedBuffer, I2_a_changed_one_is_shared_by_its_new_content) {
  const std::byte* const one = share_buffer(filled(100, 1));
  const std::byte* const two = share_buffer(filled(100, 2));
  std::byte* const own = own_buffer(one);
  std::memcpy(own, two, 100);
  EXPECT_EQ(share_buffer(own), two);
  expect_figures(1, 2);
  release_buffer(two);
  release_buffer(two);
  expect_figures(0, 0);
}

// A call that gets no memory leaves all buffers and their holders as they were.
TEST(SharedBuffer, I4_without_memory_for_a_copy_nothing_changes) {
  const std::byte* const one = share_buffer(filled(100, 1));
  const std::byte* const again = share_buffer(filled(100, 1));
  allocations_left = 0;
  EXPECT_THROW(make_buffer(100), std::bad_alloc);
  EXPECT_THROW(own_buffer(again), std::bad_alloc);
  allocations_left = -1;
  expect_figures(1, 2);
  release_buffer(again);
  allocations_left = 0;
  std::byte* const own = own_buffer(one);  // nobody else has it: no copy
  allocations_left = -1;
  EXPECT_EQ(own, one);
  expect_figures(0, 0);
  free_buffer(own);
}

TEST(SharedBuffer, I1_I3_follows_a_model) {
  std::mt19937_64 random(5);
  std::vector<std::pair<const std::byte*, uint64_t>> held;
  std::map<uint64_t, uint64_t> holders;
  for (int step = 0; step < 60000; ++step) {
    const bool fill = step % 20000 < 12000;
    if (held.empty() || random() % 100 < (fill ? 70 : 30)) {
      const uint64_t number = random() % 3000;
      held.emplace_back(share_buffer(filled(16, number)), number);
      ++holders[number];
      continue;
    }
    std::swap(held[random() % held.size()], held.back());
    const auto [buffer, number] = held.back();
    held.pop_back();
    if (random() % 2 == 0) {
      release_buffer(buffer);
    } else {
      std::byte* const own = own_buffer(buffer);
      ASSERT_EQ(own == buffer, holders[number] == 1);
      free_buffer(own);
    }
    if (--holders[number] == 0) {
      holders.erase(number);
    }
    if (step % 100 == 0) {
      expect_figures(holders.size(), held.size());
    }
  }
  for (const auto& [buffer, number] : held) {
    std::byte* const expected = filled(16, number);
    ASSERT_EQ(std::memcmp(buffer, expected, 16), 0);
    free_buffer(expected);
    release_buffer(buffer);
  }
  expect_figures(0, 0);
}

// Each of several threads writes only to buffers of its own, and sees the content that it put in.
TEST(SharedBuffer, threads_share_change_and_release) {
  test::in_threads(4, [](int thread) {
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    std::vector<std::pair<const std::byte*, uint64_t>> held;
    for (int step = 0; step < 20000; ++step) {
      const uint64_t number = random() % 50;
      held.emplace_back(share_buffer(filled(64, number)), number);
      std::swap(held[random() % held.size()], held.back());
      const auto [buffer, expected] = held.back();
      std::byte* const same = filled(64, expected);
      ASSERT_EQ(std::memcmp(buffer, same, 64), 0);
      free_buffer(same);
      if (held.size() > 30) {
        held.pop_back();
        std::byte* const own = own_buffer(buffer);
        std::memset(own, thread, 64);
        free_buffer(own);
      } else if (random() % 3 == 0) {
        held.pop_back();
        release_buffer(buffer);
      }
    }
    for (const auto& [buffer, number] : held) {
      release_buffer(buffer);
    }
  });
  expect_figures(0, 0);
}

}  // namespace
}  // namespace cuckoo::base_shared_buffer_test
