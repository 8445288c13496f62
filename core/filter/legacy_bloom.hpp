// The legacy Bloom filter file of other programs, and the hash with which they fill it.
//
// Image: 64 bytes of header, packed, little-endian; then the bits, bit j in byte j/8 at 1 << (j %
// 8).
//
//   offset  bytes
//        0      4   magic 0x01464C42
//        4      4   seed
//        8      4   count: keys added; a key that was added twice may count twice
//       12      4   n: keys that it is made for, at least 1
//       16      8   p: the rate asked for, IEEE 754, 2^-1022 <= p < 1
//       24      4   m: bits, a multiple of 64
//       28      4   k: hashes, 1 … 64
//       32     24   reserved: written 0, ignored
//       56      4   CRC: written 0, ignored, as the writer of those files does
//       60      4   m/8: bytes that follow
//
// A key's bytes have two hashes, h1 = MurmurHash64A(bytes, seed) and h2 = MurmurHash64A(bytes,
// (h1 >> 32 ^ h1) mod 2^32); its bits are (h1 + i·h2 mod 2^64) mod m, i = 0 … k - 1. m and k are
// taken as they are stored, whatever n and p are.
//
// Reference: Austin Appleby, MurmurHash2, 64-bit version for 64-bit platforms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/result.hpp"
#include "core/filter/bloom_filter.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::core {

uint64_t murmur_hash_64a(std::span<const std::byte> bytes, uint64_t seed) noexcept;
HashPair legacy_hash(std::span<const std::byte> bytes, uint32_t seed) noexcept;

// Return the filter as the class that takes pairs, for a filter whose kind has pairs.
BloomFilter& pairs_of(Filter& filter) noexcept;
const BloomFilter& pairs_of(const Filter& filter) noexcept;

// Returns whether a file may have this rate. It must not be subnormal, nor NaN.
bool is_legacy_rate(double rate) noexcept;

struct LegacyFile {
  uint32_t seed = 0;
  uint64_t items = 0;              // count; decoded: no more than the filter's most_items()
  uint64_t capacity = 1;           // n
  double rate = 0;                 // p
  std::unique_ptr<Filter> filter;  // FilterKind::kLegacyBloom, all pages in memory when decoded
};

bool looks_like_legacy_file(std::span<const std::byte> bytes) noexcept;  // it begins with the magic
// Returns kCorrupt if the bytes are not exactly such a file.
Result<LegacyFile> decode_legacy_file(std::span<const std::byte> bytes, uint32_t page_bytes);
// Returns kInvalid if the file of a filter of that geometry would be longer than `limit`.
Status check_legacy_file_bytes(const GeometryWords& words, uint64_t limit);
// Takes absent pages for zero. Returns kInvalid if a number does not fit its field.
Result<std::vector<std::byte>> encode_legacy_file(const LegacyFile& file);

}  // namespace cuckoo::core
