#include "core/filter/bloom_block.hpp"

#include <array>

#include "tests/core/filter/bloom_samples.hpp"

namespace cuckoo::filter_bloom_block_test {
namespace {

using BlockBytes = std::array<std::byte, 64 + 7>;  // room to begin anywhere

bool bit_at(const std::byte* block, unsigned bit) {
  return ((static_cast<unsigned>(block[bit / 8]) >> (bit % 8)) & 1) != 0;
}

std::array<unsigned, 8> bits_of(uint64_t mask) {
  std::array<unsigned, 8> bits{};
  for (unsigned lane = 0; lane < 8; ++lane) {
    bits[lane] = 64 * lane + static_cast<unsigned>((mask >> (6 * lane)) % 64);
  }
  return bits;
}

template <class Block>
CUCKOO_AVX2 bool holds(const std::byte* block, uint64_t mask) {
  typename Block::Test test;
  test.look(block, mask);
  return test.holds();
}

template <class Block>
CUCKOO_AVX2 void expect_bits_of_the_mask() {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    BlockBytes bytes{};
    std::byte* const block = bytes.data() + round % 8;
    std::vector<bool> model(512);
    for (int i = 0; i < 60; ++i) {
      const uint64_t mask = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : random();
      const auto bits = bits_of(mask);
      const auto set = static_cast<unsigned>(
          std::count_if(bits.begin(), bits.end(), [&](unsigned bit) { return model[bit]; }));
      ASSERT_EQ(holds<Block>(block, mask), set == 8);
      if (random() % 3 == 0) {
        ASSERT_EQ(Block::add(block, mask), 8 - set);
        for (const unsigned bit : bits) {
          model[bit] = true;
        }
        ASSERT_TRUE(holds<Block>(block, mask));
        ASSERT_EQ(Block::add(block, mask), 0u);
      }
      for (unsigned bit = 0; bit < 512; ++bit) {
        ASSERT_EQ(bit_at(block, bit), model[bit]);
      }
    }
    for (const std::byte* byte = bytes.data(); byte != bytes.data() + bytes.size(); ++byte) {
      if (byte < block || byte >= block + 64) {
        ASSERT_EQ(*byte, std::byte{0});
      }
    }
  }
}

TEST(PortableBlock, sets_and_tests_one_bit_in_each_lane) {
  expect_bits_of_the_mask<PortableBlock>();
}

TEST(Avx2Block, sets_and_tests_one_bit_in_each_lane) {
  if (!has_avx2()) {
    GTEST_SKIP() << "no AVX2";
  }
  expect_bits_of_the_mask<Avx2Block>();
}

// A test of one to four blocks must notice one bit that is missing in one of them.
template <class Block>
CUCKOO_AVX2 void expect_all_blocks_count() {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; ++round) {
    const size_t count = 1 + static_cast<size_t>(round) % 4;
    std::array<std::array<std::byte, 64>, 4> blocks{};
    std::array<uint64_t, 4> masks{};
    for (size_t i = 0; i < count; ++i) {
      masks[i] = random();
      Block::add(blocks[i].data(), masks[i]);
      Block::add(blocks[i].data(), random());
    }
    const auto all_hold = [&]() CUCKOO_AVX2 {
      typename Block::Test test;
      for (size_t i = 0; i < count; ++i) {
        test.look(blocks[i].data(), masks[i]);
      }
      return test.holds();
    };
    ASSERT_TRUE(all_hold());
    const size_t damaged = random() % count;
    const unsigned bit = bits_of(masks[damaged])[random() % 8];
    blocks[damaged][bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_FALSE(all_hold());
  }
}

TEST(PortableBlock, a_test_holds_when_every_block_does) {
  expect_all_blocks_count<PortableBlock>();
}

TEST(Avx2Block, a_test_holds_when_every_block_does) {
  if (!has_avx2()) {
    GTEST_SKIP() << "no AVX2";
  }
  expect_all_blocks_count<Avx2Block>();
}

// ---- a filter with them

TEST(BlockedBloom, I2_gives_the_same_answers_and_bytes_without_avx2) {
  for (const double rate : {0.1, 0.01, 1e-4, 1e-6, 1e-10}) {
    for (const uint64_t capacity : {1u, 7u, 100u, 3000u}) {
      const BloomGeometry geometry = sized(FilterKind::kBlockedBloom, capacity, rate, 192);
      const auto chosen = whole_filter(geometry);
      const auto portable = whole_filter(geometry);
      portable->use_portable_blocks();
      const std::vector<uint64_t> keys = hashes_of(1, 2 * capacity);
      EXPECT_EQ(chosen->insert_batch(keys), portable->insert_batch(keys));
      for (uint64_t i = 0; i < capacity; ++i) {
        ASSERT_EQ(chosen->insert(nth_hash(2, i)), portable->insert(nth_hash(2, i)));
      }
      EXPECT_EQ(image(*chosen), image(*portable));
      EXPECT_EQ(chosen->occupied(), portable->occupied());
      expect_good(*portable);
      std::vector<uint64_t> asked = hashes_of(3, 3000);
      asked.insert(asked.end(), keys.begin(), keys.end());
      for (const uint64_t hash : asked) {
        ASSERT_EQ(chosen->probe(hash), portable->probe(hash));
      }
    }
  }
}

TEST(BlockedBloom, blocks_of_a_key_are_distinct_and_blocks_do_not_straddle_pages) {
  for (const uint32_t hashes : {2u, 3u, 4u}) {
    for (const uint64_t blocks : {4u, 5u, 9u, 1000u}) {
      const BloomFilter filter({FilterKind::kBlockedBloom, blocks, hashes, 192});
      for (uint64_t i = 0; i < 500; ++i) {
        uint64_t cells[Filter::kMaxPlaces];
        ASSERT_EQ(filter.cells_of(nth_hash(5, i), cells), 8 * hashes);
        uint64_t before = 0;
        for (uint32_t b = 0; b < hashes; ++b) {
          const uint64_t block = cells[size_t{8} * b] / 512;
          ASSERT_TRUE(b == 0 || block > before);  // segments ascend
          before = block;
          for (uint32_t lane = 0; lane < 8; ++lane) {
            ASSERT_EQ(cells[8 * b + lane] / 64, 8 * block + lane);
            ASSERT_EQ(filter.page_of(cells[8 * b + lane]), block / 3);
          }
        }
      }
    }
  }
}

TEST(BlockedBloom, ascending_hashes_walk_through_the_first_segment_in_order) {
  const BloomFilter filter({FilterKind::kBlockedBloom, 1000, 2, kPageBytes});
  std::vector<uint64_t> hashes = hashes_of(7, 5000);
  std::sort(hashes.begin(), hashes.end());
  uint64_t before = 0;
  for (const uint64_t hash : hashes) {
    uint64_t cells[Filter::kMaxPlaces];
    filter.cells_of(hash, cells);
    ASSERT_GE(cells[0] / 512, before);
    before = cells[0] / 512;
  }
  EXPECT_GT(before, 490u);
}

}  // namespace
}  // namespace cuckoo::filter_bloom_block_test
