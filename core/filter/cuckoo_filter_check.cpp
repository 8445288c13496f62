// CuckooFilter: checks pages that were read from storage, before and after they are in a filter.
#include <algorithm>
#include <string>

#include "core/filter/cuckoo_filter.hpp"

namespace cuckoo::core {
namespace {

// Returns bits [bit, bit + width) of `bytes`, width <= 128, and touches no byte outside of these.
uint128 extract_bits(std::span<const std::byte> bytes, uint64_t bit, uint32_t width) noexcept {
  const uint64_t first = bit / 8;
  const auto shift = static_cast<uint32_t>(bit % 8);
  const uint64_t end = std::min<uint64_t>(bytes.size(), (bit + width + 7) / 8);
  uint128 bits = 0;
  for (uint64_t at = end; at-- > first;) {
    if (at - first == 16) {
      continue;  // the 17th byte is added below
    }
    bits = (bits << 8) | static_cast<uint8_t>(bytes[at]);
  }
  bits >>= shift;
  if (end - first > 16) {  // then shift > 0
    bits |= static_cast<uint128>(static_cast<uint8_t>(bytes[first + 16])) << (128 - shift);
  }
  return bits & low_bits_mask(width);
}

std::string range(uint64_t got, uint64_t limit) {
  return std::to_string(got) + ", expected less than " + std::to_string(limit);
}

}  // namespace

Status CuckooFilter::validate_page(const CuckooGeometry& geometry, uint64_t index,
                                   std::span<const std::byte> content) {
  if (index >= geometry.page_count()) {
    return corrupt("page number is " + range(index, geometry.page_count()));
  }
  const std::string page = "page " + std::to_string(index);
  if (content.size() != geometry.content_bytes(index)) {
    return corrupt(page + " has " + std::to_string(content.size()) + " bytes, expected " +
                   std::to_string(geometry.content_bytes(index)));
  }
  const BucketShape& shape = geometry.shape;
  const uint64_t width = shape.bits();
  const uint64_t first = index * geometry.buckets_per_page();
  const uint64_t buckets =
      std::min<uint64_t>(geometry.buckets_per_page(), geometry.buckets - first);
  const uint32_t mask = (uint32_t{1} << shape.rank_bits) - 1;
  const uint32_t limit = shape.rank_count();
  // A rank and the bits before it in its byte are at most 15 + 7 bits, so one 32-bit load has them.
  // The last ranks would be read beyond the content, so they are taken byte by byte.
  uint64_t bit = width - shape.rank_bits;
  uint64_t bucket = 0;
  uint32_t largest = 0;
  for (; bucket < buckets && bit / 8 + 4 <= content.size(); ++bucket, bit += width) {
    largest = std::max(largest, (load_le<uint32_t>(content.data() + bit / 8) >> (bit % 8)) & mask);
  }
  for (; bucket < buckets; ++bucket, bit += width) {
    largest = std::max(largest, static_cast<uint32_t>(extract_bits(content, bit, shape.rank_bits)));
  }
  if (largest >= limit) {
    return corrupt(page + " holds a bucket with rank " + range(largest, limit));
  }
  const uint64_t used = buckets * width;
  if (extract_bits(content, used, static_cast<uint32_t>(content.size() * 8 - used)) != 0) {
    return corrupt(page + " has bits after its last bucket, expected zeros");
  }
  return {};
}

Status CuckooFilter::check_overflow() const {
  for (const auto& [number, count] : overflow_.counts()) {
    const auto wrong = [cell = number](const std::string& what) {
      return corrupt("overflow cell " + std::to_string(cell) + " is of bucket " + what);
    };
    const uint64_t bucket = number / fingerprints_;
    if (bucket >= geometry_.buckets) {
      return wrong(range(bucket, geometry_.buckets));
    }
    if (const uint64_t other = alternate(bucket, number % fingerprints_ + 1); other < bucket) {
      return wrong(std::to_string(bucket) + ", expected the smaller of its two, " +
                   std::to_string(other));
    }
  }
  return overflow_.check();
}

}  // namespace cuckoo::core
