#include "core/segments/run.hpp"

#include <set>

#include "tests/support/core_samples.hpp"

namespace cuckoo::segments::segments_run_test {
namespace {

struct Place {
  HashWidth width = HashWidth::k47Bits;
  unsigned depth = 0;
  uint64_t prefix = 0;
};

std::vector<Bytes> write(const Place& place, const std::vector<NetHash>& entries,
                         size_t block_bytes) {
  std::vector<Bytes> written;
  const auto take = [&](std::span<const std::byte> block) -> Status {
    EXPECT_LE(block.size(), block_bytes);
    written.emplace_back(block.begin(), block.end());
    return {};
  };
  expect_ok(write_run(entries, place.width, place.depth, place.prefix, block_bytes, take));
  return written;
}

Status read(const Place& place, const std::vector<Bytes>& blocks, std::vector<NetHash>& entries) {
  uint64_t previous = place.prefix;
  for (size_t i = 0; i < blocks.size(); ++i) {
    bool begins = false;
    // The copy has memory of its own size, so that the address sanitizer sees every read behind it.
    const Bytes copy = blocks[i];
    CUCKOO_TRY(
        decode_run_block(copy, place.width, place.depth, place.prefix, previous, entries, begins));
    EXPECT_EQ(begins, i == 0);
  }
  return {};
}

std::vector<NetHash> sample(const Place& place, uint64_t count, uint64_t seed) {
  std::set<uint64_t> hashes;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t word = nth_word(seed, i);
    hashes.insert(place.prefix |
                  logged_hash(place.depth == 0 ? word : word >> place.depth, place.width));
  }
  constexpr int64_t kNets[] = {1, 1, 1, 1, 2, -1, -2, 3, 1000, -1000000, kMostNet, -kMostNet};
  std::vector<NetHash> entries;
  for (const uint64_t hash : hashes) {
    entries.push_back({hash, kNets[nth_word(seed + 1, entries.size()) % std::size(kNets)]});
  }
  return entries;
}

std::vector<Place> places() {
  return {{HashWidth::k47Bits, 0, 0},
          {HashWidth::k63Bits, 0, 0},
          {HashWidth::k47Bits, 4, uint64_t{0b1111} << 60},
          {HashWidth::k63Bits, 9, uint64_t{0b101} << 55},
          {HashWidth::k63Bits, 30, uint64_t{0x3FFFFFFF} << 34}};
}

TEST(SegmentRuns, decode_to_what_was_encoded) {
  for (const Place& place : places()) {
    for (const uint64_t count : {1, 2, 50, 3000}) {
      for (const size_t block_bytes : {64u, 112u, 4032u}) {
        const std::vector<NetHash> entries = sample(place, count, count + block_bytes);
        std::vector<NetHash> decoded;
        ASSERT_STATUS(read(place, write(place, entries, block_bytes), decoded));
        EXPECT_TRUE(decoded == entries);
      }
    }
  }
}

TEST(SegmentRuns, I2_a_hash_stands_twice_where_it_was_removed_and_then_added) {
  for (const Place& place : places()) {
    for (const size_t block_bytes : {64u, 112u}) {
      std::vector<NetHash> entries;
      for (const NetHash& entry : sample(place, 500, 7)) {
        entries.push_back(entry);
        if (entry.net < 0) {
          entries.push_back({entry.hash, 1 - entry.net / 2});
        }
      }
      std::vector<NetHash> decoded;
      ASSERT_STATUS(read(place, write(place, entries, block_bytes), decoded));
      EXPECT_TRUE(decoded == entries) << "a block may begin between the two";
    }
    const uint64_t hash = sample(place, 1, 8)[0].hash;
    for (const std::vector<int64_t>& nets :
         std::vector<std::vector<int64_t>>{{1, 2}, {1, -1}, {-1, -1}, {-1, 1, 1}, {-1, 1, -1}}) {
      std::vector<NetHash> entries;
      for (const int64_t net : nets) {
        entries.push_back({hash, net});
      }
      std::vector<NetHash> decoded;
      EXPECT_TRUE(fails(read(place, write(place, entries, 112), decoded), ErrorCode::kCorrupt,
                        "a hash out of range"));
    }
  }
}

TEST(SegmentRuns, the_first_and_the_last_hash_of_a_prefix_fit) {
  for (const Place& place : places()) {
    const unsigned low = 64 - static_cast<unsigned>(place.width);
    const uint64_t rest = place.depth == 0 ? ~uint64_t{0} : ~uint64_t{0} >> place.depth;
    const uint64_t last = (place.prefix | rest) >> low << low;
    const std::vector<NetHash> entries = {{place.prefix, 1}, {last, -1}};
    std::vector<NetHash> decoded;
    ASSERT_STATUS(read(place, write(place, entries, 64), decoded));
    EXPECT_TRUE(decoded == entries);
  }
}

TEST(SegmentRuns, are_sorted_by_hash_and_equal_hashes_keep_their_order) {
  for (const size_t count : {0, 1, 2, 255, 256, 5000, 300000}) {
    for (const uint64_t different : {uint64_t{3}, uint64_t{1000}, ~uint64_t{0}}) {
      constexpr unsigned kBits = 5;
      std::vector<NetHash> entries;
      for (size_t i = 0; i < count; ++i) {
        const uint64_t word = test::nth_word(3, i) % different;
        entries.push_back({uint64_t{9} << (64 - kBits) | test::nth_word(4, word) >> kBits,
                           static_cast<int64_t>(i + 1)});
      }
      std::vector<NetHash> expected = entries;
      std::stable_sort(expected.begin(), expected.end(),
                       [](const NetHash& a, const NetHash& b) { return a.hash < b.hash; });
      sort_by_hash(entries, kBits);
      EXPECT_TRUE(entries == expected) << count << " of " << different;
    }
  }
}

TEST(SegmentRuns, without_entries_have_no_block) { EXPECT_TRUE(write({}, {}, 4032).empty()); }

TEST(SegmentRuns, take_about_four_bytes_a_key_of_a_segment) {
  const Place place{HashWidth::k47Bits, 8, uint64_t{7} << 56};
  std::vector<NetHash> entries = sample(place, 50000, 1);
  for (NetHash& entry : entries) {
    entry.net = 1;
  }
  size_t bytes = 0;
  for (const Bytes& block : write(place, entries, 4032)) {
    bytes += block.size();
  }
  EXPECT_LT(static_cast<double>(bytes) / static_cast<double>(entries.size()), 3.36);
}

TEST(SegmentRuns, of_counts_of_one_take_no_bit_for_them) {
  const Place place{HashWidth::k47Bits, 8, uint64_t{7} << 56};
  std::vector<NetHash> entries = sample(place, 8000, 1);
  for (NetHash& entry : entries) {
    entry.net = 1;
  }
  const auto bits_of = [&] {
    const std::vector<Bytes> blocks = write(place, entries, 65000);
    EXPECT_EQ(blocks.size(), 1u);
    std::vector<NetHash> decoded;
    EXPECT_TRUE(read(place, blocks, decoded).ok());
    EXPECT_TRUE(decoded == entries);
    return 8 * blocks.front().size();
  };
  const size_t plain = bits_of();
  entries[5].net = 2;  // a group of 8 bits
  EXPECT_NEAR(static_cast<double>(bits_of()), static_cast<double>(plain + entries.size() + 8), 8);
}

TEST(SegmentRuns, are_joined_to_one_with_the_sums_of_their_counts) {
  const std::vector<NetHash> older = {{1, 1}, {2, 2}, {3, 1}, {5, -1}, {7, 4}};
  const std::vector<NetHash> newer = {{0, 1}, {2, -1}, {3, -1}, {4, 1}, {5, 2}, {9, -3}};
  const std::vector<NetHash> both = {{0, 1},  {1, 1}, {2, 1}, {4, 1},
                                     {5, -1}, {5, 2}, {7, 4}, {9, -3}};
  EXPECT_TRUE(joined_runs(older, newer, true).value() == both);
  EXPECT_TRUE(joined_runs(older, {}, true).value() == older);
  EXPECT_TRUE(joined_runs({}, newer, true).value() == newer);
  const std::vector<NetHash> twice = {{1, -1}, {1, 1}, {2, -2}, {2, 3}, {4, -1}, {4, 1}};
  const std::vector<NetHash> base = {{0, 1}, {1, 1}, {2, 1}, {3, 1}};
  const std::vector<NetHash> after = {{0, 1}, {1, 1}, {2, -1}, {2, 3}, {3, 1}, {4, -1}, {4, 1}};
  EXPECT_TRUE(joined_runs(base, twice, true).value() == after);
  EXPECT_TRUE(joined_runs(twice, twice, true).value() ==
              (std::vector<NetHash>{{1, -1}, {1, 1}, {2, -2}, {2, 4}, {4, -1}, {4, 1}}));
  const std::vector<NetHash> once = {{1, 1}, {2, 1}};
  EXPECT_TRUE(joined_runs(once, once, false).value() == once) << "a hash of a set counts once";
  for (const int64_t net : {kMostNet, -kMostNet}) {
    const NetHash most{1, net};
    EXPECT_TRUE(
        fails(joined_runs(std::span(&most, 1), std::span(&most, 1), true), ErrorCode::kCorrupt));
  }
}

TEST(SegmentRuns, a_failing_sink_ends_the_run) {
  const NetHash entry{uint64_t{1} << 40, 1};
  EXPECT_FALSE(write_run(std::span(&entry, 1), HashWidth::k47Bits, 0, 0, 64,
                         [](std::span<const std::byte>) -> Status {
                           return Error{ErrorCode::kStorage, "full", 0};
                         })
                   .ok());
}

// tests/fuzz/run_block_fuzz.cpp has any bytes.
TEST(SegmentRuns, each_broken_field_is_corrupt) {
  const Place place{HashWidth::k47Bits, 4, uint64_t{5} << 60};
  const std::vector<NetHash> entries = sample(place, 200, 3);
  const std::vector<Bytes> blocks = write(place, entries, 112);
  ASSERT_GT(blocks.size(), 2u);
  const auto refused = [&](const std::vector<Bytes>& changed) {
    std::vector<NetHash> decoded;
    uint64_t previous = place.prefix;
    for (const Bytes& block : changed) {
      bool begins = false;
      if (!decode_run_block(block, place.width, place.depth, place.prefix, previous, decoded,
                            begins)
               .ok()) {
        return true;
      }
    }
    return false;
  };
  EXPECT_FALSE(refused(blocks));
  const auto with = [&](size_t block, size_t at, unsigned value) {
    std::vector<Bytes> changed = blocks;
    changed[block][at] = static_cast<std::byte>(value);
    return changed;
  };
  EXPECT_TRUE(refused(with(1, 0, 1))) << "the hash before the first one";
  EXPECT_TRUE(refused(with(0, 8, 0))) << "no entries";
  EXPECT_TRUE(refused(with(0, 9, 1))) << "more entries than there are bits";
  EXPECT_TRUE(refused(with(0, 10, 64))) << "Rice parameter";
  EXPECT_TRUE(refused(with(0, 11, 5))) << "flags";
  EXPECT_TRUE(refused(with(0, 11, 3))) << "counts where there should be none";
  EXPECT_TRUE(refused(with(1, 11, 1))) << "a run that begins in the middle";
  EXPECT_TRUE(refused({blocks[0], blocks[2]})) << "a block is missing";
  EXPECT_TRUE(refused({blocks[0], blocks[1], blocks[1]})) << "a block comes twice";
}

}  // namespace
}  // namespace cuckoo::segments::segments_run_test
