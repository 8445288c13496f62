// Says which pages and run blocks a segment has, and what is in each: the checksum of its content.
// The segment's header has a hash of all of them, the root has a hash of the headers, and the
// newest row of the log has one of the root. So a block is never taken for another: not for one of
// another filter, nor for one that had its id before.
//
// Stored (little-endian) as one list, cut into blocks of at most page_bytes:
//   sum{pages of the geometry} sum{run blocks}       4 bytes each; 0: this page has no block
// A segment without pages and runs has no such block.
//
// Invariants
//   I1  a sum is that of the block in storage. What is not written yet has none here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/segments/blocks.hpp"

namespace cuckoo::segments {

class BlockSums {
 public:
  using Sum = uint32_t;

  // Returns the CRC-32C of a block's content, and 1 instead of 0.
  static Sum of(std::span<const std::byte> content) noexcept;

  BlockSums() noexcept = default;
  // `pages`: of the geometry. None has a block yet.
  explicit BlockSums(uint64_t pages) : pages_(pages) {}

  // Reads the sums of a segment that has so many run blocks. kCorrupt: they do not have that hash.
  Status read(const Blocks& blocks, uint64_t number, uint64_t runs, uint64_t hash);
  // Writes what differs from the sums that are stored, `before`.
  Status write(const Blocks& blocks, uint64_t number, size_t page_bytes,
               const BlockSums& before) const;
  uint64_t hash() const;  // XXH3 of them; 0: there are none

  bool has_page(uint64_t index) const noexcept { return pages_[index] != 0; }
  uint64_t pages() const noexcept { return page_count_; }  // that have a block
  uint64_t runs() const noexcept { return runs_.size(); }
  // kCorrupt unless the block has its sum.
  Status expect_page(uint64_t index, std::span<const std::byte> content) const;
  Status expect_run(uint64_t index, std::span<const std::byte> content) const;

  void set_page(uint64_t index, std::span<const std::byte> content);
  // Leaves out all run blocks behind so many.
  void keep_runs(uint64_t count) { runs_.resize(count); }
  void add_run(std::span<const std::byte> content) { runs_.push_back(of(content)); }

  uint64_t stored_bytes() const noexcept {
    return page_count_ + runs_.size() > 0 ? (pages_.size() + runs_.size()) * sizeof(Sum) : 0;
  }
  size_t memory_bytes() const noexcept {
    return (pages_.capacity() + runs_.capacity()) * sizeof(Sum);
  }

 private:
  std::vector<std::byte> encoded() const;

  std::vector<Sum> pages_;  // by their index
  std::vector<Sum> runs_;
  uint64_t page_count_ = 0;
};

}  // namespace cuckoo::segments
