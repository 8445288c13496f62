// A set of 64-bit hashes (counting: a multiset) that answers "definitely not in it" or "probably in
// it". Never a false negative; false positives at the rate its geometry was sized for.
//
// Cells: bits, or counters of 4 bits when counting. Cell c is in page c / cells_per_page, in order,
// from the lowest bits of a byte upwards.
//
// The cells of a hash h, with G = kGoldenStep and mix64():
//   standard,   a_j = mix64(h + (j + 1)·G), j = 0, 1, …
//   counting    cell 2j = high(a_j·m), cell 2j + 1 = high(rotl(a_j, 32)·m), k of them. A cell that
//               comes twice counts once.
//   blocked     d_-1 = h, d_i = mix64(h + (i + 1)·G), i = 0, 1, … b - 1
//               The filter is b equal ranges of blocks (bloom_sizing.hpp). The key's i-th block is
//               one of the s blocks of range i, which begins with block f: f + high(d_(i-1)·s). In
//               that block, d_i says which 8 bits belong to the key (bloom_block.hpp). So d_i sets
//               bits in block i, and chooses block i + 1. Keys that meet in one block need not meet
//               in the next. Because of the ranges, the blocks of a key are distinct, and a small
//               filter has the rate that the formula says. Hashes in ascending order walk through
//               range 0 in order.
//   legacy      (h1 + i·h2 mod 2^64) mod m, i = 0 … k - 1, of a pair of hashes. No function that
//               takes a single hash is called for it.
//
// Counting. A counter 0 … 14 is the number of copies; 15 means 14 + the cell's count in the
// overflow table, which is at least 1. So nothing saturates, and pages and overflow table depend on
// the multiset alone.
//
// Invariants
//   I1  a hash that is there has no empty cell.
//   I2  occupied() is the number of cells that are not 0.
//   I3  bits after the last cell are zero.
//   I4  a counter is 15 exactly when its cell is in the overflow table.
//
// When memory runs out (std::bad_alloc) insert() and remove() have changed nothing; insert_batch()
// has inserted some of the hashes and unite() some of the cells: I2 … I4 hold all the same.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/bytes.hpp"
#include "core/base/mix.hpp"
#include "core/filter/bloom_sizing.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::core {

// The two hashes of a legacy filter's key (core/filter/legacy_bloom.hpp).
struct HashPair {
  uint64_t h1 = 0;
  uint64_t h2 = 0;
};

class BloomFilter final : public Filter {
 public:
  explicit BloomFilter(const BloomGeometry& geometry);  // a valid one; all pages absent

  const BloomGeometry& geometry() const noexcept { return geometry_; }
  GeometryWords words() const noexcept override { return geometry_.words(); }
  uint64_t bits() const noexcept override { return geometry_.bits(); }
  uint32_t content_bytes(uint64_t index) const noexcept override {
    return geometry_.content_bytes(index);
  }
  Status validate_page(uint64_t index, std::span<const std::byte> content) const override;

  uint64_t page_of(uint64_t cell) const noexcept;  // cell < 2^47
  size_t pages_of(uint64_t hash, uint64_t* pages) const noexcept override;
  size_t cells_of(uint64_t hash, uint64_t* cells) const noexcept override;

  // The hot path. Stops at the first pair of cells that has an empty one (blocked: looks at all
  // blocks at once).
  Answer probe(uint64_t hash) const noexcept override;
  // Fetches all or most of the memory that probe() will read. Its pages are in memory.
  void prefetch(uint64_t hash) const noexcept;
  uint64_t count(uint64_t hash) const noexcept override;
  uint64_t copies(uint64_t cell) const noexcept override;

  bool insert(uint64_t hash);  // true: it was present; its pages are in memory
  void insert_more(uint64_t hash, uint64_t count) override { insert_copies(hash, count); }
  bool remove(uint64_t hash) override { return remove_copies(hash, 1); }
  bool remove_copies(uint64_t hash, uint64_t removed) override;
  std::unique_ptr<FilterBuilder> builder(uint64_t expected, Digest digest) override;

  // The same for a legacy filter.
  size_t pages_of_pair(const HashPair& pair, uint64_t* pages) const noexcept;
  Answer probe_pair(const HashPair& pair) const noexcept;
  bool insert_pair(const HashPair& pair);

  double rate(double keys) const noexcept override { return bloom_rate(geometry_, keys).mean; }
  double rate_with(double more) const noexcept override;
  double load_factor() const noexcept override;
  uint32_t places_per_key() const noexcept override { return geometry_.cells_per_key(); }
  double fingerprint_bits() const noexcept override { return 0; }
  bool full(uint64_t items, uint64_t capacity) const noexcept override {
    return holds(items, occupied_, capacity, kDoubt);
  }
  bool overfull(uint64_t sum, uint64_t capacity) const noexcept override {
    const double deviations = geometry_.counting() ? kDoubt : 3;
    return sum > capacity && cells_reach(geometry_, occupied_, capacity, deviations);
  }
  bool outgrown(uint64_t items, uint64_t capacity) const noexcept override {
    return items > 0 && holds(items - 1, occupied_, capacity, 0);
  }
  bool may_outgrow(uint64_t items, uint64_t adds, uint64_t capacity) const noexcept override {
    return items + adds > 0 &&
           holds(items + adds - 1, occupied_ + adds * geometry_.cells_per_key(), capacity, 0);
  }
  uint64_t most_items() const noexcept override;
  uint64_t united_items(uint64_t a, uint64_t b, uint64_t capacity) const noexcept override;

  uint64_t digest_of(uint64_t) const noexcept override { return 0; }
  uint64_t digest() const noexcept override { return 0; }
  Status check() const override;

  // Tests and benchmarks: blocks without AVX2.
  void use_portable_blocks() noexcept {
    avx2_ = false;
    block_probe_ = choose_block_probe();
  }

 private:
  Status do_unite(const Filter& other, const Poll& poll) override;
  uint64_t do_insert_batch(std::span<const uint64_t> hashes, uint64_t& digest) override;

  // Returns true if it would hold at least `capacity` keys with so many cells in use.
  bool holds(uint64_t items, uint64_t occupied, uint64_t capacity, double doubt) const noexcept {
    const auto reach = [&](double deviations) {
      return cells_reach(geometry_, occupied, capacity, deviations);
    };
    return (items >= capacity && (!geometry_.counting() || reach(doubt))) || reach(kCertain);
  }

  class Builder;
  static constexpr double kDoubt = 2;         // items of a counting filter are copies, not all keys
  static constexpr size_t kBatch = 32;        // hashes whose memory is fetched at one time
  static constexpr size_t kBatchCells = 512;  // cells, of the same
  static constexpr unsigned kFullCounter = 15;

  struct BlockPlace {
    uint64_t block;
    uint64_t mask;
  };
  // A hash's way from block to block; starts as {hash, hash}.
  struct BlockWalk {
    uint64_t draw;
    uint64_t step;
  };
  BlockPlace next_block(uint32_t i, BlockWalk& walk) const noexcept;  // i = 0, 1, …
  // Returns null if the block's page is not in memory. It has no other branch.
  const std::byte* find_block(uint64_t block) const noexcept;
  // There is a function for AVX2 and one for any processor, for each number of blocks per key.
  using BlockProbe = Answer (*)(const BloomFilter& filter, uint64_t hash) noexcept;
  BlockProbe choose_block_probe() const noexcept;
  template <class Block, uint32_t kBlocks>
  Answer probe_blocks_as(uint64_t hash) const noexcept;
  template <class Block>
  uint64_t insert_blocks_as(std::span<const uint64_t> hashes);
  template <uint32_t kBlocks>
  static Answer probe_blocks_avx2(const BloomFilter& filter, uint64_t hash) noexcept;
  template <uint32_t kBlocks>
  static Answer probe_blocks(const BloomFilter& filter, uint64_t hash) noexcept;
  uint64_t insert_blocks_avx2(std::span<const uint64_t> hashes);
  uint64_t insert_blocks(std::span<const uint64_t> hashes);

  // A bit or counter in memory. Pages hold whole bytes of cells, so its place in its byte follows
  // from its number alone.
  template <bool kCounters, class Byte>
  struct CellAt {
    Byte* byte;
    unsigned shift;

    CellAt() noexcept = default;
    CellAt(Byte* page, uint64_t cell_in_page) noexcept
        : byte(page + (cell_in_page >> (kCounters ? 1 : 3))),
          shift(static_cast<unsigned>(kCounters ? 4 * (cell_in_page & 1) : cell_in_page & 7)) {}
    unsigned value() const noexcept {
      return (static_cast<unsigned>(*byte) >> shift) & (kCounters ? 15 : 1);
    }
    unsigned used() const noexcept {  // 0 or 1, without a branch
      return kCounters ? (value() + 15) >> 4 : value();
    }
    void set(unsigned value) const noexcept {
      const unsigned others = static_cast<unsigned>(*byte) & ~((kCounters ? 15U : 1U) << shift);
      *byte = static_cast<std::byte>(others | (value << shift));
    }
  };
  using Bit = CellAt<false, std::byte>;
  using Counter = CellAt<true, std::byte>;
  template <bool kCounters>
  CellAt<kCounters, const std::byte> at(uint64_t cell) const noexcept {
    const uint64_t page = page_of(cell);
    return {pages_.find(page), cell - page * cells_per_page_};
  }
  // As at(), for a cell that is to be changed. touch() came before.
  template <bool kCounters>
  CellAt<kCounters, std::byte> touched(uint64_t cell) noexcept {
    const uint64_t page = page_of(cell);
    return {pages_.owned(page), cell - page * cells_per_page_};
  }
  void touch(uint64_t cell) { pages_.mark_dirty(page_of(cell)); }  // may throw: before any change

  // Give the cells of a hash with repetitions; not for blocks. next_cells() gives the last `left`
  // cells of a single hash. `step` is the hash, and one kGoldenStep more for each pair before.
  size_t next_cells(uint64_t step, uint32_t left, uint64_t* cells) const noexcept;
  size_t pair_cells(const HashPair& pair, uint64_t* cells) const noexcept;
  template <bool kCounters>
  Answer probe_cells(uint64_t step, uint32_t left) const noexcept;
  // Looks at the cells one by one, because an absent page matters only if all cells before it are
  // in use.
  Answer probe_slowly(const uint64_t* cells, size_t count) const noexcept;

  bool insert_bits(const uint64_t* cells, size_t count);
  bool insert_copies(uint64_t hash, uint64_t added);
  void overflow_copies(const uint64_t* cells, size_t count, uint64_t added);
  uint64_t insert_batch_bits(std::span<const uint64_t> hashes);
  uint64_t insert_batch_copies(std::span<const uint64_t> hashes);

  void unite_bits(uint64_t index, const BloomFilter& other);
  void unite_counters(uint64_t index, const BloomFilter& other);
  Status check_page(uint64_t index, uint64_t& used, uint64_t& full_counters) const;
  Status check_overflow(uint64_t full_counters) const;

  BloomGeometry geometry_;
  // Derived from the geometry, for the hot path.
  uint64_t cells_ = 0;
  uint64_t cells_per_page_ = 0;
  uint64_t page_reciprocal_ = 0;
  uint64_t segments_[kMaxBlocksPerKey + 1] = {};  // their first blocks, and the end of the last
  bool avx2_ = false;
  BlockProbe block_probe_ = nullptr;
};

// cell / C by R = ceil(2^64 / C). R·C = 2^64 + e with e < C, so cell·R / 2^64 = cell/C +
// cell·e / (C·2^64). The quotient is right as long as the error stays below 1/C, that is
// cell·e < 2^64; cell < 2^47 and e < C <= 8·kMaxPageBytes = 2^16 keep it below 2^63.
inline uint64_t BloomFilter::page_of(uint64_t cell) const noexcept {
  return multiply_high(cell, page_reciprocal_);
}

inline BloomFilter::BlockPlace BloomFilter::next_block(uint32_t i, BlockWalk& walk) const noexcept {
  const uint64_t first = i == 0 ? 0 : segments_[i];
  const uint64_t block = first + multiply_high(walk.draw, segments_[i + 1] - first);
  walk.draw = mix64(walk.step += kGoldenStep);
  return {block, walk.draw};
}

inline const std::byte* BloomFilter::find_block(uint64_t block) const noexcept {
  const uint64_t page = page_of(block * kBlockBits);
  const std::byte* const bytes = pages_.find(page);
  return bytes == nullptr ? nullptr : bytes + (block * kBlockBytes - page * pages_.page_bytes());
}

// Looks at two cells at a time, with one mix and one branch for both. For an absent key that branch
// ends the loop at the first pair three times out of four.
template <bool kCounters>
inline BloomFilter::Answer BloomFilter::probe_cells(uint64_t step, uint32_t left) const noexcept {
  using Cell = CellAt<kCounters, const std::byte>;
  for (;; left -= 2) {
    const uint64_t draw = mix64(step += kGoldenStep);
    const uint64_t cell1 = multiply_high(draw, cells_);
    const uint64_t cell2 = left == 1 ? cell1 : multiply_high(std::rotl(draw, 32), cells_);
    const uint64_t page1 = page_of(cell1);
    const uint64_t page2 = page_of(cell2);
    const std::byte* const bytes1 = pages_.find(page1);
    const std::byte* const bytes2 = pages_.find(page2);
    if (bytes1 == nullptr || bytes2 == nullptr) [[unlikely]] {
      const uint64_t cells[] = {cell1, cell2};
      if (const Answer answer = probe_slowly(cells, 2); answer != Answer::kPresent) {
        return answer;
      }
    } else {
      const Cell first(bytes1, cell1 - page1 * cells_per_page_);
      const Cell second(bytes2, cell2 - page2 * cells_per_page_);
      if ((first.used() & second.used()) == 0) {  // not &&: one branch
        return Answer::kAbsent;
      }
    }
    if (left <= 2) {
      return Answer::kPresent;
    }
  }
}

inline BloomFilter::Answer BloomFilter::probe(uint64_t hash) const noexcept {
  assert(!traits().pairs);
  if (geometry_.blocked()) {
    return block_probe_(*this, hash);
  }
  return geometry_.counting() ? probe_cells<true>(hash, geometry_.hashes)
                              : probe_cells<false>(hash, geometry_.hashes);
}

}  // namespace cuckoo::core
