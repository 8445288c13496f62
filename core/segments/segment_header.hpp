// Says what a segment's blocks hold: 136 bytes in a page of the directory.
//
// Bytes (little-endian): the 64-bit fields below in this order, then the 32-bit fields, the depth
// in one byte, and three zero bytes. A segment that was never folded has a header of zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::segments {

inline constexpr size_t kSegmentHeaderBytes = 136;
inline constexpr unsigned kMaxDepth = 30;

struct SegmentHeader {
  uint64_t prefix = 0;     // its hashes begin with the first `depth` bits of it; the others are 0
  uint64_t number = 0;     // of its blocks (core/segments/blocks.hpp)
  uint64_t capacity = 0;   // that the geometry was computed for
  uint64_t size = 0;       // GeometryWords
  uint64_t folded_to = 0;  // F: entries of the log before this position are in pages and runs
  uint64_t base_id = 0;    // a hash of the history of pages and runs: if equal, so are these
  uint64_t digest = 0;     // Filter::digest() of the pages
  uint64_t occupied = 0;   // Filter::occupied()
  uint64_t items = 0;      // that it holds, as of F
  uint64_t overflow_items = 0;
  uint64_t overflow_digest = 0;
  uint64_t sums_hash = 0;  // of the sums of its pages and run blocks (core/segments/block_sums.hpp)
  uint64_t made_at = 0;    // it got its present size at the log's next position

  uint32_t shape = 0;   // GeometryWords
  uint32_t detail = 0;  // GeometryWords
  uint32_t pages = 0;   // that have a block; the others are zero
  uint32_t overflow_blocks = 0;
  uint32_t run_blocks = 0;
  uint32_t run_entries = 0;  // of all runs
  uint32_t dead = 0;         // about how many of these a merge of the runs would drop
  uint8_t depth = 0;

  GeometryWords geometry() const noexcept { return {size, shape, detail}; }
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};

// The header of a leaf as it is stored. If there is none, as in each leaf of an empty filter, it
// reads as a header of zeros, and takes only the memory of a pointer.
class StoredHeader {
 public:
  const SegmentHeader& operator*() const noexcept { return header_ != nullptr ? *header_ : kNone; }
  const SegmentHeader* operator->() const noexcept { return &**this; }
  StoredHeader& operator=(const SegmentHeader& header) {
    if (header.number == 0) {
      header_.reset();
    } else if (header_ != nullptr) {
      *header_ = header;
    } else {
      header_ = std::make_unique<SegmentHeader>(header);
    }
    return *this;
  }
  size_t memory_bytes() const noexcept { return header_ != nullptr ? sizeof *header_ : 0; }

 private:
  static constexpr SegmentHeader kNone{};

  std::unique_ptr<SegmentHeader> header_;
};

// Returns made_at of a segment that is made when the log is at that position. Marks of just that
// position are taken afterwards, so they have it.
constexpr uint64_t made_by(uint64_t position) noexcept { return position > 0 ? position - 1 : 0; }

// `to` must have kSegmentHeaderBytes.
void encode_segment_header(const SegmentHeader& header, std::span<std::byte> to) noexcept;
uint64_t hash_of(const SegmentHeader& header, uint64_t seed) noexcept;  // XXH3 of its bytes
// Returns kCorrupt if a field is out of its range. Does not look at the geometry.
Result<SegmentHeader> decode_segment_header(std::span<const std::byte> from);

}  // namespace cuckoo::segments
