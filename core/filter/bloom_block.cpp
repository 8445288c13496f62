// The blocked layout of bloom_filter.hpp. The functions that look into blocks are compiled twice:
// for AVX2 and for any processor.
#include "core/filter/bloom_block.hpp"

#include <algorithm>

#include "core/filter/bloom_filter.hpp"

namespace cuckoo::core {

// Has no branch on a block's bits, so hits and misses in any order cost the same.
template <class Block, uint32_t kBlocks>
[[gnu::always_inline]] inline BloomFilter::Answer BloomFilter::probe_blocks_as(
    uint64_t hash) const noexcept {
  BlockWalk walk{hash, hash};
  typename Block::Test test;
#pragma GCC unroll 4
  for (uint32_t i = 0; i < kBlocks; ++i) {
    const BlockPlace place = next_block(i, walk);
    const std::byte* const block = find_block(place.block);
    if (block == nullptr) [[unlikely]] {
      return test.holds() ? Answer::kNotLoaded : Answer::kAbsent;
    }
    test.look(block, place.mask);
  }
  return static_cast<Answer>(test.holds());
}

template <class Block>
[[gnu::always_inline]] inline uint64_t BloomFilter::insert_blocks_as(
    std::span<const uint64_t> hashes) {
  struct Place {
    std::byte* block;
    uint64_t mask;
  };
  Place places[kBatch * kMaxBlocksPerKey];
  const uint32_t b = geometry_.hashes;
  uint64_t present = 0;
  while (!hashes.empty()) {
    const size_t count = std::min(kBatch, hashes.size());
    Place* end = places;
    for (const uint64_t hash : hashes.first(count)) {
      BlockWalk walk{hash, hash};
      for (uint32_t i = 0; i < b; ++i) {
        const BlockPlace place = next_block(i, walk);
        touch(place.block * kBlockBits);
        *end = {const_cast<std::byte*>(find_block(place.block)), place.mask};
        __builtin_prefetch(end->block, 1);
        __builtin_prefetch(end->block + kBlockBytes - 1, 1);  // a page begins anywhere
        ++end;
      }
    }
    for (const Place* at = places; at != end; at += b) {
      uint32_t added = 0;
      for (uint32_t i = 0; i < b; ++i) {
        added += Block::add(at[i].block, at[i].mask);
      }
      present += added == 0 ? 1 : 0;
      occupied_ += added;
    }
    hashes = hashes.subspan(count);
  }
  return present;
}

template <uint32_t kBlocks>
CUCKOO_AVX2 BloomFilter::Answer BloomFilter::probe_blocks_avx2(const BloomFilter& filter,
                                                               uint64_t hash) noexcept {
  return filter.probe_blocks_as<Avx2Block, kBlocks>(hash);
}
template <uint32_t kBlocks>
BloomFilter::Answer BloomFilter::probe_blocks(const BloomFilter& filter, uint64_t hash) noexcept {
  return filter.probe_blocks_as<PortableBlock, kBlocks>(hash);
}

BloomFilter::BlockProbe BloomFilter::choose_block_probe() const noexcept {
  constexpr BlockProbe kAvx2[] = {probe_blocks_avx2<1>, probe_blocks_avx2<2>, probe_blocks_avx2<3>,
                                  probe_blocks_avx2<4>};
  constexpr BlockProbe kPortable[] = {probe_blocks<1>, probe_blocks<2>, probe_blocks<3>,
                                      probe_blocks<4>};
  if (!geometry_.blocked()) {
    return nullptr;
  }
  return (avx2_ ? kAvx2 : kPortable)[geometry_.hashes - 1];
}

CUCKOO_AVX2 uint64_t BloomFilter::insert_blocks_avx2(std::span<const uint64_t> hashes) {
  return insert_blocks_as<Avx2Block>(hashes);
}
uint64_t BloomFilter::insert_blocks(std::span<const uint64_t> hashes) {
  return insert_blocks_as<PortableBlock>(hashes);
}
}  // namespace cuckoo::core
