#include "core/stored/hash_sort.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/stored/log.hpp"
#include "tests/core/stored/memory_storage.hpp"

namespace cuckoo {
namespace {

using test::nth_hash;
using test::nth_word;

constexpr HashWidth kWidths[] = {HashWidth::k47Bits, HashWidth::k63Bits};

std::vector<uint64_t> sorted(const std::vector<uint64_t>& entries, HashWidth width) {
  const LargeVector<uint64_t> result = sorted_by_hash(entries, width);
  return {result.begin(), result.end()};
}

std::vector<uint64_t> entries_of(size_t count, uint64_t distinct, HashWidth width) {
  std::vector<uint64_t> entries;
  for (size_t i = 0; i < count; ++i) {
    entries.push_back(nth_hash(2, nth_word(3, i) % distinct, width) |
                      (nth_word(4, i) & kRemoveBit));
  }
  return entries;
}

std::vector<uint64_t> stable_sorted(std::vector<uint64_t> entries) {
  std::stable_sort(entries.begin(), entries.end(),
                   [](uint64_t a, uint64_t b) { return (a | 1) < (b | 1); });
  return entries;
}

TEST(HashSort, I1_I2_order_is_by_hash_and_equal_hashes_keep_theirs) {
  for (const HashWidth width : kWidths) {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{1023}, size_t{1024},
                               size_t{5000}, size_t{90000}}) {
      for (const uint64_t distinct :
           {uint64_t{1}, uint64_t{7}, uint64_t{1000}, uint64_t{1} << 40}) {
        const std::vector<uint64_t> entries = entries_of(count, distinct, width);
        EXPECT_EQ(sorted(entries, width), stable_sorted(entries))
            << count << " entries of " << distinct;
      }
    }
  }
}

TEST(HashSort, I1_I2_of_several_parts_as_of_one) {
  for (const HashWidth width : kWidths) {
    for (const size_t count : {size_t{0}, size_t{3}, size_t{1000}, size_t{1024}, size_t{30000}}) {
      const std::vector<uint64_t> entries = entries_of(count, count / 3 + 1, width);
      for (const size_t cut : {size_t{0}, count / 7, count / 2, count}) {
        const std::span<const uint64_t> all(entries);
        const std::span<const uint64_t> parts[] = {
            all.first(cut / 2), all.subspan(cut / 2, cut - cut / 2), {}, all.subspan(cut)};
        const LargeVector<uint64_t> result = sorted_by_hash(parts, width);
        EXPECT_EQ(std::vector<uint64_t>(result.begin(), result.end()), stable_sorted(entries))
            << count << " entries, cut at " << cut;
      }
    }
    EXPECT_TRUE(sorted_by_hash(std::span<const std::span<const uint64_t>>(), width).empty());
  }
}

TEST(HashSort, I2_every_bit_of_the_hash_counts) {
  for (const HashWidth width : kWidths) {
    const uint64_t largest = logged_hash(UINT64_MAX, width);
    std::vector<uint64_t> entries;
    for (unsigned bit = 64 - static_cast<unsigned>(width); bit < 64; ++bit) {
      for (unsigned copies = 0; copies < 20; ++copies) {
        entries.push_back(uint64_t{1} << (64 - static_cast<unsigned>(width) + 63 - bit));
        entries.push_back(largest ^ (uint64_t{1} << bit));
      }
    }
    std::vector<uint64_t> expected = entries;
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(sorted(entries, width), expected);
  }
}

}  // namespace
}  // namespace cuckoo
