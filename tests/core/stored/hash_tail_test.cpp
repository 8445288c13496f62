#include "core/stored/hash_tail.hpp"

#include <numeric>

#include "tests/core/base/unmix64.hpp"
#include "tests/support/core_samples.hpp"

namespace cuckoo {
namespace stored_hash_tail_test {
namespace {

constexpr uint64_t kLargest = UINT64_MAX - 1;  // bit 0 is clear in every logged hash

std::map<uint64_t, int64_t> contents(const HashTail& tail) {
  std::map<uint64_t, int64_t> all;
  tail.for_each([&all](uint64_t hash, int64_t net) {
    EXPECT_TRUE(all.emplace(hash, net).second) << "I2: " << hash << " stands twice";
  });
  return all;
}

TEST(HashTail, empty_knows_nothing) {
  const HashTail tail;
  EXPECT_TRUE(tail.empty());
  EXPECT_EQ(tail.size(), 0u);
  EXPECT_EQ(tail.memory_bytes(), 0u);
  for (const uint64_t hash : {uint64_t{0}, uint64_t{2}, kLargest}) {
    EXPECT_EQ(tail.net(hash), 0);
  }
  EXPECT_TRUE(contents(tail).empty());
}

TEST(HashTail, first_and_last_hash_are_hashes_like_others) {
  HashTail tail;
  tail.at(0) = 3;
  tail.at(kLargest) = -4;
  EXPECT_EQ(tail.net(0), 3);
  EXPECT_EQ(tail.net(kLargest), -4);
  EXPECT_EQ(tail.net(2), 0);
  EXPECT_EQ(tail.net(kLargest - 2), 0);
  EXPECT_EQ(contents(tail), (std::map<uint64_t, int64_t>{{0, 3}, {kLargest, -4}}));
}

TEST(HashTail, I3_what_is_there_takes_no_memory) {
  HashTail tail;
  for (uint64_t i = 1; i <= 3000; ++i) {
    tail.at(nth_word(5, i) & ~uint64_t{1}) = 1;
    const size_t memory = tail.memory_bytes();
    ++tail.at(nth_word(5, i) & ~uint64_t{1});
    ++tail.at(nth_word(5, 1) & ~uint64_t{1});
    ASSERT_EQ(tail.memory_bytes(), memory) << i;
  }
}

TEST(HashTail, I4_ascending_and_descending_hashes_do_not_crowd) {
  constexpr uint64_t kHashes = 300000;
  for (const HashWidth width : {HashWidth::k47Bits, HashWidth::k63Bits}) {
    std::vector<uint64_t> hashes;
    for (uint64_t i = 0; i < kHashes; ++i) {
      hashes.push_back(logged_hash(nth_word(8, i), width));
    }
    std::sort(hashes.begin(), hashes.end());
    for (const bool descending : {false, true}) {
      HashTail tail;
      size_t longest = 0;
      for (uint64_t i = 0; i < kHashes && longest < 200; ++i) {
        const uint64_t hash = hashes[descending ? kHashes - 1 - i : i];
        tail.at(hash) = 1;
        longest = std::max(longest, tail.distance(hash));
      }
      EXPECT_LT(longest, 200u) << (descending ? "descending" : "ascending");
      EXPECT_EQ(tail.net(hashes[kHashes / 2]), 1);
    }
  }
}

// These numbers would crowd if the salt were left out.
TEST(HashTail, I4_hashes_that_were_made_to_crowd_do_not) {
  HashTail tail;
  for (uint64_t i = 0; i < 1 << 16; ++i) {
    const uint64_t hash = test::unmix64(i) & ~uint64_t{1};
    tail.at(hash) = 1;
    ASSERT_LT(tail.distance(hash), 200u) << i;
  }
}

// These numbers would crowd if one multiplication made the slot, whatever the salt is.
TEST(HashTail, I4_hashes_of_bits_that_move_a_product_little_do_not_crowd) {
  const auto move = [](uint64_t bit) {
    const uint64_t product = kGoldenStep << bit;
    return std::min(product, ~product + 1);
  };
  std::vector<uint64_t> bits(63);
  std::iota(bits.begin(), bits.end(), 1);
  std::sort(bits.begin(), bits.end(), [&](auto a, auto b) { return move(a) < move(b); });
  HashTail tail;
  for (uint64_t i = 0; i < 1 << 16; ++i) {
    uint64_t hash = 0;
    for (size_t at = 0; at < 16; ++at) {
      hash |= (i >> at & 1) << bits[at];
    }
    tail.at(hash) = 1;
    ASSERT_LT(tail.distance(hash), 200u) << i;
  }
}

TEST(HashTail, a_very_long_tail_gives_its_memory_back) {
  HashTail tail;
  for (uint64_t i = 0; i < 200000; ++i) {
    tail.at(nth_word(6, i) & ~uint64_t{1}) = 1;
  }
  tail.clear();
  EXPECT_EQ(tail.memory_bytes(), 0U);
  EXPECT_EQ(tail.net(nth_word(6, 1) & ~uint64_t{1}), 0);
  EXPECT_EQ(++tail.at(2), 1);
  EXPECT_EQ(tail.net(2), 1);
}

TEST(HashTail, looking_up_adds_nothing_and_at_adds_a_zero) {
  HashTail tail;
  EXPECT_EQ(tail.net(64), 0);
  EXPECT_TRUE(tail.empty());
  EXPECT_EQ(tail.at(64), 0);
  EXPECT_EQ(tail.size(), 1u);
  EXPECT_EQ(tail.at(64), 0);
  EXPECT_EQ(tail.size(), 1u);
}

TEST(HashTail, clear_forgets_all_and_can_be_used_again) {
  HashTail tail;
  for (uint64_t i = 0; i < 1000; ++i) {
    tail.at(nth_word(1, i) & ~uint64_t{1}) = 1;
  }
  tail.clear();
  EXPECT_TRUE(tail.empty());
  EXPECT_TRUE(contents(tail).empty());
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(tail.net(nth_word(1, i) & ~uint64_t{1}), 0);
  }
  tail.at(6) = 7;
  EXPECT_EQ(tail.net(6), 7);
  EXPECT_EQ(contents(tail).size(), 1u);
}

TEST(HashTail, answers_as_a_map_does_while_it_grows) {
  HashTail tail;
  std::map<uint64_t, int64_t> model;
  for (uint64_t i = 0; i < 200000; ++i) {
    const uint64_t hash = nth_word(2, nth_word(3, i) % 30000) & ~uint64_t{1};
    const int64_t change = nth_word(4, i) % 3 == 0 ? -1 : 1;
    ASSERT_EQ(tail.net(hash), model.count(hash) != 0 ? model[hash] : 0) << i;
    tail.at(hash) += change;
    model[hash] += change;
  }
  EXPECT_EQ(tail.size(), model.size());
  EXPECT_EQ(contents(tail), model);
  EXPECT_GE(tail.memory_bytes(), 2 * 12 * tail.size());  // I1
  EXPECT_LE(tail.memory_bytes(), 4 * 12 * tail.size());
}

// Neighbours share their leading bits and so their first slot; the last slots wrap around.
TEST(HashTail, hashes_with_equal_leading_bits_are_told_apart) {
  for (const uint64_t base : {uint64_t{0}, uint64_t{1} << 63, kLargest - 2 * 5000}) {
    HashTail tail;
    for (uint64_t i = 0; i <= 5000; ++i) {
      tail.at(base + 2 * i) = static_cast<int64_t>(i + 1);
    }
    for (uint64_t i = 0; i <= 5000; ++i) {
      ASSERT_EQ(tail.net(base + 2 * i), static_cast<int64_t>(i + 1));
    }
    EXPECT_EQ(tail.size(), 5001u);
  }
}

TEST(HashTail, I2_a_sum_of_zero_stays_until_clear) {
  HashTail tail;
  ++tail.at(8);
  --tail.at(8);
  EXPECT_EQ(tail.net(8), 0);
  EXPECT_EQ(tail.size(), 1u);
  EXPECT_EQ(contents(tail), (std::map<uint64_t, int64_t>{{8, 0}}));
}

}  // namespace
}  // namespace stored_hash_tail_test
}  // namespace cuckoo
