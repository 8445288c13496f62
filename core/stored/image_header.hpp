// The header of an image (core/stored/image.hpp): its fields, and what they say about the sections
// behind it. Nothing is believed: every number is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "core/filter/cell_layout.hpp"
#include "core/stored/image.hpp"

namespace cuckoo {

inline constexpr size_t kImageCrcBytes = 4;
inline constexpr size_t kOverflowEntryBytes = 16;

constexpr size_t least_image_bytes(uint32_t version) noexcept {
  return image_header_bytes(version) + kImageCrcBytes;
}

// The header and what it says about the sections behind it.
struct ImageSections {
  ImageHeader header;
  CellLayout layout;
  uint64_t length = 0;
  uint64_t cell_bytes = 0;
  uint64_t overflow_count = 0;
  uint64_t hash_bytes = 0;

  size_t header_bytes() const noexcept { return image_header_bytes(header.version); }
};

std::string grouped(uint64_t number);  // 4512 -> "4,512"

// All that can be said without the bytes behind the header. The layout is that of its geometry.
Status check_image_header(const ImageHeader& header, const CellLayout& layout);
// Of an image of that length: header, and sections as long as its numbers ask for.
Result<ImageSections> parse_image_header(std::span<const std::byte> bytes);
// `to` has room for a header of that version; bytes without a meaning are zero already.
void put_image_header(const ImageSections& sections, std::byte* to);

}  // namespace cuckoo
