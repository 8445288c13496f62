// The places of a filter's cells in pages of any size. It copies cells to pages of another size for
// images (core/segments/image.hpp), because all images have one page size.
//
// A page is filled from bit 0 of byte 0 upwards with whole units: a cuckoo filter's buckets, a
// Bloom filter's bits, counters or blocks. Page i starts with unit i·(8·page_bytes div unit_bits).
// Bits after a page's last unit are zero. The last page is cut to its content.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/result.hpp"
#include "core/filter/filter.hpp"

namespace cuckoo::core {

struct CellLayout {
  uint64_t units = 1;      // 1 … 2^48
  uint32_t unit_bits = 1;  // 1 … 512

  uint64_t units_per_page(uint32_t page_bytes) const noexcept {
    return uint64_t{8} * page_bytes / unit_bits;
  }
  uint64_t page_count(uint32_t page_bytes) const noexcept {
    return (units + units_per_page(page_bytes) - 1) / units_per_page(page_bytes);
  }
  uint64_t units_in_page(uint64_t index, uint32_t page_bytes) const noexcept {
    const uint64_t per_page = units_per_page(page_bytes);
    return std::min(per_page, units - index * per_page);
  }
  size_t content_bytes(uint64_t index, uint32_t page_bytes) const noexcept {
    return static_cast<size_t>((units_in_page(index, page_bytes) * unit_bits + 7) / 8);
  }
  // Returns the bytes of all pages together.
  uint64_t total_bytes(uint32_t page_bytes) const noexcept {
    const uint64_t last = page_count(page_bytes) - 1;
    const uint64_t full = (units_per_page(page_bytes) * unit_bits + 7) / 8;
    return last * full + content_bytes(last, page_bytes);
  }

  friend bool operator==(const CellLayout&, const CellLayout&) = default;
};

// "buckets", "bits", "counters" or "blocks"
const char* unit_name(FilterKind kind) noexcept;

// Returns kCorrupt if there is no such geometry. Leaves a Bloom filter's shape to make_filter().
Result<CellLayout> cell_layout(FilterKind kind, const GeometryWords& words);
// Returns kCorrupt if the filter sees its pages in another way, which would be a bug.
Result<CellLayout> cell_layout(const Filter& filter);

// Returns the number of slots, bits or counters, as occupied() counts them.
uint64_t cell_slots(FilterKind kind, const CellLayout& layout) noexcept;

// Writes the content that page `index` would have in pages of `page_bytes`. Absent pages of `from`
// are zero. `to` has room for it and PageSet::kSlackBytes more, and is zero.
void gather_page(const Filter& from, const CellLayout& layout, uint64_t index, uint32_t page_bytes,
                 std::byte* to) noexcept;

// Copies cells, overflow entries and occupied() into an empty filter of the same kind and geometry,
// whatever their page sizes; kInvalid if kind or geometry differ. Absent pages of `from` are zero.
// A page of `to` gets memory of its own if a page that it is made from has that. It is dirty if it
// has anything in it. Polls once a page.
Status copy_cells(const Filter& from, Filter& to, const Poll& poll = nullptr);
// Returns the filter itself if it has pages of that size, otherwise a copy that has.
Result<std::unique_ptr<Filter>> in_pages_of(uint32_t page_bytes, std::unique_ptr<Filter> filter);

}  // namespace cuckoo::core
