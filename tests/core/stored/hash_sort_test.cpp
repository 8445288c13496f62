#include "core/stored/hash_sort.hpp"

#include "tests/support/core_samples.hpp"

namespace cuckoo::stored_hash_sort_test {
namespace {

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

std::vector<uint64_t> sequence_of(const HashParts& parts) {
  std::vector<uint64_t> sequence;
  const Status status = parts.for_each_piece([&](std::span<const uint64_t> piece) -> Status {
    sequence.insert(sequence.end(), piece.begin(), piece.end());
    return {};
  });
  EXPECT_TRUE(status.ok());
  return sequence;
}

std::vector<uint64_t> hashes_of(size_t count, uint64_t distinct, HashWidth width) {
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < count; ++i) {
    hashes.push_back(nth_hash(2, nth_word(3, i) % distinct, width));
  }
  return hashes;
}

// Parts may have any number and size, and may be sorted in between however often.
TEST(HashParts, I1_I2_are_sorted_where_they_stand) {
  constexpr size_t kMost = 3000;
  for (const HashWidth width : kWidths) {
    for (const size_t count :
         {size_t{0}, size_t{1}, size_t{1023}, size_t{4000}, size_t{20000}, size_t{90000}}) {
      for (const uint64_t distinct : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 40}) {
        std::vector<uint64_t> hashes = hashes_of(count, distinct, width);
        HashParts parts;
        size_t at = 0;
        for (size_t turn = 0; at < count; ++turn) {
          const size_t size = std::min(nth_word(7, turn) % (kMost + 1), count - at);
          parts.add(std::span(hashes).subspan(at, size), kMost);
          at += size;
          if (turn % 5 == 2) {
            ASSERT_TRUE(parts.sort(width, nullptr).ok());
          }
        }
        ASSERT_TRUE(parts.sort(width, nullptr).ok());
        std::sort(hashes.begin(), hashes.end());
        EXPECT_EQ(parts.size(), count);
        EXPECT_EQ(sequence_of(parts), hashes) << count << " hashes of " << distinct;
      }
    }
  }
}

TEST(HashParts, I1_I3_a_stopped_sort_loses_none) {
  std::vector<uint64_t> hashes = hashes_of(30000, uint64_t{1} << 40, HashWidth::k63Bits);
  uint64_t polls = 0;
  const Poll poll = [&]() -> Status {
    return ++polls < 500 ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
  };
  HashParts parts;
  for (size_t at = 0; at < hashes.size(); at += 1000) {
    parts.add(std::span(hashes).subspan(at, 1000), 2500);
  }
  EXPECT_FALSE(parts.sort(HashWidth::k63Bits, poll).ok());
  parts.narrow(HashWidth::k47Bits);
  ASSERT_TRUE(parts.sort(HashWidth::k47Bits, nullptr).ok());
  for (uint64_t& hash : hashes) {
    hash = logged_hash(hash, HashWidth::k47Bits);
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(sequence_of(parts), hashes);
}

TEST(HashParts, I3_the_visitor_ends_the_visits) {
  HashParts parts;
  const std::vector<uint64_t> hashes = hashes_of(5000, 5000, HashWidth::k63Bits);
  parts.add(hashes, 5000);
  uint64_t visits = 0;
  const Status status = parts.for_each_piece([&](std::span<const uint64_t> piece) -> Status {
    for (const uint64_t hash : piece) {
      EXPECT_EQ(hash >> (64 - HashParts::kFirstBits), visits) << "the digit";
    }
    return ++visits < 100 ? Status() : Error{ErrorCode::kInterrupted, "stop", 0};
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(visits, 100u);
}

}  // namespace
}  // namespace cuckoo::stored_hash_sort_test
