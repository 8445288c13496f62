#include "core/segments/segment_header.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <iterator>
#include <string>

#include "core/base/bytes.hpp"
#include "core/filter/sizing.hpp"
#include "core/segments/blocks.hpp"
#include "core/stored/rice.hpp"

namespace cuckoo::segments {
namespace {

constexpr uint64_t SegmentHeader::*kWords[] = {
    &SegmentHeader::prefix,         &SegmentHeader::number,          &SegmentHeader::capacity,
    &SegmentHeader::size,           &SegmentHeader::folded_to,       &SegmentHeader::base_id,
    &SegmentHeader::digest,         &SegmentHeader::occupied,        &SegmentHeader::items,
    &SegmentHeader::overflow_items, &SegmentHeader::overflow_digest, &SegmentHeader::sums_hash,
    &SegmentHeader::made_at};
constexpr uint32_t SegmentHeader::*kHalfWords[] = {
    &SegmentHeader::shape,      &SegmentHeader::detail,
    &SegmentHeader::pages,      &SegmentHeader::overflow_blocks,
    &SegmentHeader::run_blocks, &SegmentHeader::run_entries,
    &SegmentHeader::dead};
constexpr size_t kHalfWordsAt = std::size(kWords) * 8;
constexpr size_t kSegmentDepthAt = kHalfWordsAt + std::size(kHalfWords) * 4;
static_assert(kSegmentDepthAt + 4 == kSegmentHeaderBytes);

}  // namespace

void encode_segment_header(const SegmentHeader& header, std::span<std::byte> to) noexcept {
  std::byte* at = to.data();
  for (const auto word : kWords) {
    store_le(at, header.*word);
    at += 8;
  }
  for (const auto half : kHalfWords) {
    store_le(at, header.*half);
    at += 4;
  }
  store_le(at, uint32_t{header.depth});
}

uint64_t hash_of(const SegmentHeader& header, uint64_t seed) noexcept {
  std::array<std::byte, kSegmentHeaderBytes> bytes;
  encode_segment_header(header, bytes);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Result<SegmentHeader> decode_segment_header(std::span<const std::byte> from) {
  SegmentHeader header;
  const std::byte* at = from.data();
  for (const auto word : kWords) {
    header.*word = load_le<uint64_t>(at);
    at += 8;
  }
  for (const auto half : kHalfWords) {
    header.*half = load_le<uint32_t>(at);
    at += 4;
  }
  const auto depth = load_le<uint32_t>(at);
  if (depth > kMaxDepth || (header.prefix & (~uint64_t{0} >> depth)) != 0) {
    return corrupt("segment header with a prefix of " + std::to_string(depth) +
                   " bits that has others set");
  }
  header.depth = static_cast<uint8_t>(depth);
  if (header.number == 0 || header.number > kMaxSegmentNumber || header.capacity == 0 ||
      header.capacity > kMaxCapacity || header.items > kMaxHashCount ||
      header.pages > kFirstRunPart || header.run_blocks > kFirstOverflowPart - kFirstRunPart ||
      header.overflow_blocks > kFirstSumsPart - kFirstOverflowPart ||
      header.dead > header.run_entries || header.made_at > header.folded_to) {
    return corrupt("segment header with a number out of range");
  }
  return header;
}

}  // namespace cuckoo::segments
