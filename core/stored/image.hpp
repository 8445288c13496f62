// One filter as one BLOB: for filter_export() and import, for aggregates, for probes without a
// table. Independent of the machine's byte order and of the page size of the table it came from.
//
// Layout (little-endian; FORMAT.md, "Images")
//   image    = header cells overflow hashes CRC       CRC-32C of all before it
//   header   = 200 bytes: the parameters, the counters, how long each section is, what the keys
//              were, and a mark; in version 2 136 bytes, without the mark; in version 1 128 bytes,
//              without the keys either
//   cells    = the content of the filter's pages, as if it had pages of kPageBytes
//   overflow = (cell, count) …                        16 bytes each, ascending cells
//   hashes   = (length, compacted row) …              only if they were asked for
//
// Invariants
//   I1  one filter, one image: of equal headers, cells and hashes the image has equal bytes,
//       whatever the page size, and decode then encode gives the bytes back.
//   I2  nothing is believed: magic, version, length and every number are checked before use, pages,
//       overflow entries and counters before a filter is handed out.
//   I3  no allocation is larger than what the length of the BLOB justifies: a small factor of it.
//   I4  a decoded filter is like one just built: all pages in memory, those with anything in them
//       dirty, all others the zero page, its overflow entries changed. It answers probes at once.
//
// Errors: kInvalid for what can't be encoded (nothing was changed), kCorrupt for bytes that are no
// image; the text says what was wrong and what was expected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/base/key_hash.hpp"
#include "core/base/page_size.hpp"
#include "core/base/result.hpp"
#include "core/filter/factory.hpp"
#include "core/filter/filter.hpp"
#include "core/stored/log.hpp"
#include "core/stored/mark.hpp"

namespace cuckoo {

// The versions this code reads and writes.
inline constexpr uint32_t kOldestImageVersion = 1;
inline constexpr uint32_t kMarkedImageVersion = 3;  // the one that has a mark
inline constexpr uint32_t kImageVersion = 3;
constexpr size_t image_header_bytes(uint32_t version) noexcept {
  return version == 1 ? 128 : version == 2 ? 136 : 200;
}
// Cells are stored, and filters decoded, as if in pages of that size; rows of hashes fit them.
inline constexpr uint32_t kImagePageBytes = kPageBytes;
inline constexpr size_t kImageRowBytes = kPageRowBytes;
// Counts of items and of copies of one hash.
inline constexpr uint64_t kMaxImageItems = uint64_t{1} << 62;
inline constexpr uint8_t kMaxKeyAffinity = 4;
inline constexpr uint8_t kMaxKeyCollation = 2;

struct ImageHeader {
  uint32_t version = kMarkedImageVersion - 1;
  FilterSpec spec;  // as asked for; the rate is 0 when another number stands in for it
  HashWidth width = HashWidth::k47Bits;
  uint8_t key_affinity = 0;  // 0 … 4, of the key column the filter came from; core doesn't use it
  uint64_t seed = 0;
  uint64_t capacity = 0;
  GeometryWords geometry;
  uint64_t items = 0;
  uint64_t occupied = 0;
  bool with_hashes = false;
  uint64_t hash_count = 0;  // entries: distinct hashes
  // What was hashed; core doesn't use them. Version 1 knows neither: both are 0.
  uint8_t collation = 0;  // 0 … 2
  uint8_t key_types = 0;  // as in a FilterRecord
  // Of the filter that it is an image of. In version 3 always, before it never.
  std::optional<FilterMark> mark;
};

struct Image {
  ImageHeader header;
  std::unique_ptr<Filter> filter;  // in pages of kImagePageBytes
};

// The length of an image without hashes and overflow entries of a filter of that geometry, in the
// shortest version.
uint64_t bare_image_bytes(const Filter& filter);
// … of the image that a table of such a filter exports now, without hashes.
uint64_t table_image_bytes(FilterKind kind, const GeometryWords& words);
// No list of so many hashes is shorter.
uint64_t least_hash_bytes(HashWidth width, uint64_t count) noexcept;
// kInvalid when not even these fit the limit: to be asked before the filter is filled or copied.
Status check_image_bytes(const Filter& filter, uint64_t limit, uint64_t hash_bytes = 0);

// The filter's pages are in memory, or all zero. Geometry and occupied are taken from the filter,
// with_hashes from `hashes`, which may be null, and is read once: ascending, header.hash_count of
// them, of a multiset header.items in all. kInvalid when the image would be longer than `limit`.
Result<std::vector<std::byte>> encode_image(const ImageHeader& header, const Filter& filter,
                                            const HashSource* hashes, uint64_t limit);

// Does it start like one? Of any version.
bool looks_like_image(std::span<const std::byte> bytes) noexcept;
// Everything that can be said without reading beyond the header: O(1), no checksum.
Result<ImageHeader> decode_image_header(std::span<const std::byte> bytes);
Result<Image> decode_image(std::span<const std::byte> bytes);
// kInvalid when the image has no hashes. The checksum is verified first, each hash before it is
// handed over, the totals at the end: only then is the list known to be complete.
Status read_image_hashes(std::span<const std::byte> bytes, const CountedHashSink& sink);

}  // namespace cuckoo
