// A filter is stored as blocks: bytes with an id. This file says which id each block has, and
// writes and reads blocks with a checksum.
//
// Ids
//   0                       the root
//   1 + i                   page i of the directory, i < 2^24 - 1
//   number·2^24 + part      a block of a segment; the numbers 1 … 2^30 - 1 are each used once
//     part  0 + i             page i,           i < 2^23
//           2^23 + i          block i of runs,  i < 2^22
//           3·2^22 + i        block i of cells that overflowed, i < 2^21
//           7·2^21 + i        block i of the sums of pages and run blocks, i < 2^21
//   2^55 + i                row i of the log, i < 2^55: the highest ids, so that SQLite appends it
//                           to its last leaf
// A sliding window keeps up to 64 filters in one table. Each has a slot of 2^56 ids. Block -1 tells
// which generation is in which slot (core/segments/filter_window.hpp). Below that are the parts of
// a message that came so far, within a transaction (core/segments/staged_message.hpp):
//   -2                      which message it is
//   -2^56 + i               chunk i of it
//
// A block ends with a CRC-32C of its content, its id and a seed of the table's own: FilterOptions::
// block_seed() (core/base/page_row.hpp). So a reader notices a block that was damaged, moved to
// another id or copied from a table of another name. That it is of this filter and of now is told
// by what names it: the newest row of the log has a hash of the root, the root one of the directory
// and of the window's block, a segment's header one of the sums of its blocks
// (core/segments/block_sums.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/page_row.hpp"
#include "core/base/result.hpp"
#include "core/segments/block_storage.hpp"

namespace cuckoo::segments {

inline constexpr int64_t kRootBlock = 0;
inline constexpr int64_t kFirstDirectoryBlock = 1;
inline constexpr unsigned kPartBits = 24;
inline constexpr int64_t kMaxDirectoryPages = (int64_t{1} << kPartBits) - 1;
inline constexpr uint64_t kMaxSegmentNumber = (uint64_t{1} << 30) - 1;
inline constexpr int64_t kFirstRunPart = int64_t{1} << 23;
inline constexpr int64_t kFirstOverflowPart = 3 * (int64_t{1} << 22);
inline constexpr int64_t kFirstSumsPart = 7 * (int64_t{1} << 21);
inline constexpr int64_t kEndPart = int64_t{1} << kPartBits;
inline constexpr int64_t kFirstLogBlock = int64_t{1} << 55;
inline constexpr int64_t kLastLogBlock = 2 * kFirstLogBlock - 1;
static_assert((static_cast<int64_t>(kMaxSegmentNumber) + 1) << kPartBits <= kFirstLogBlock);
inline constexpr unsigned kSlotBits = 56;
static_assert(kLastLogBlock == (int64_t{1} << kSlotBits) - 1);
inline constexpr int64_t kWindowBlock = -1;
inline constexpr int64_t kStagedBlock = -2;
inline constexpr int64_t kFirstStagedBlock = -(int64_t{1} << kSlotBits);

constexpr int64_t segment_block(uint64_t number, int64_t part) noexcept {
  return (static_cast<int64_t>(number) << kPartBits) + part;
}
// Returns where the ids of a window's slot begin.
constexpr int64_t first_block_of(uint64_t slot) noexcept {
  return static_cast<int64_t>(slot) << kSlotBits;
}

// Adds the block's name to a kCorrupt status.
Status in_block(int64_t id, Status status);
// Returns the block's name, such as "page 3 of segment 12" or "row 7 of the log".
std::string block_name(int64_t id);

// Reads and writes blocks with their checksums: contents go in, and verified contents come out. The
// ids count from the beginning of the slot. The checksum is over the id in the table, so that a
// block of another slot is noticed, too.
class Blocks {
 public:
  Blocks(BlockStorage& storage, uint64_t seed, uint64_t slot = 0) noexcept
      : storage_(&storage), seed_(seed), base_(first_block_of(slot)) {}

  // Visits the contents. Each is valid during the visit only. A wrong checksum is kCorrupt.
  Status read(int64_t first, int64_t last, const BlockStorage::Visitor& visitor) const;
  // Visits the content of one block. Returns kCorrupt if the block is missing.
  Status read_one(int64_t id, const BlockStorage::Visitor& visitor) const;
  Status write(int64_t id, std::span<const std::byte> content, bool stored) const {
    return storage_->write(base_ + id, encode_page_row(content, base_ + id, seed_), stored);
  }
  Status erase(int64_t first, int64_t last) const {
    return storage_->erase(base_ + first, base_ + last);
  }
  Status poll() const { return storage_->poll(); }
  // Returns the same blocks over another storage, or with another seed.
  Blocks over(BlockStorage& storage) const noexcept {
    Blocks other = *this;
    other.storage_ = &storage;
    return other;
  }
  Blocks with_seed(uint64_t seed) const noexcept {
    Blocks other = *this;
    other.seed_ = seed;
    return other;
  }

 private:
  BlockStorage::Visitor verified(const BlockStorage::Visitor& visitor) const;

  BlockStorage* storage_;
  uint64_t seed_;
  int64_t base_;
};

}  // namespace cuckoo::segments
