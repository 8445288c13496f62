#include "core/filter/cell_layout.hpp"

#include <string>

#include "core/base/bytes.hpp"
#include "core/filter/bloom_sizing.hpp"
#include "core/filter/bucket.hpp"
#include "core/filter/factory.hpp"

namespace cuckoo::core {
namespace {

// No capacity (up to 2^40) with its bits per key (up to 128) needs more units. So many units of 512
// bits have fewer than 2^64 bits.
constexpr uint64_t kMaxUnits = uint64_t{1} << 48;
constexpr uint32_t kCounterBits = 4;

// Copies bits by wide loads and stores, which is safe because kSlackBytes follow both contents. The
// target's bits must be zero. 56 bits and a shift of at most 7 fit one word on both sides.
void copy_bits(const std::byte* from, uint64_t from_bit, std::byte* to, uint64_t to_bit,
               uint64_t count) noexcept {
  while (count > 0) {
    const uint64_t part = std::min<uint64_t>(count, 56);
    const uint64_t bits =
        (load_le<uint64_t>(from + from_bit / 8) >> (from_bit % 8)) & ((uint64_t{1} << part) - 1);
    std::byte* const at = to + to_bit / 8;
    store_le(at, load_le<uint64_t>(at) | bits << (to_bit % 8));
    from_bit += part;
    to_bit += part;
    count -= part;
  }
}

}  // namespace

const char* unit_name(FilterKind kind) noexcept {
  switch (kind) {
    case FilterKind::kCuckoo:
      return "buckets";
    case FilterKind::kBlockedBloom:
      return "blocks";
    case FilterKind::kCountingBloom:
      return "counters";
    case FilterKind::kBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  return "bits";
}

Result<CellLayout> cell_layout(FilterKind kind, const GeometryWords& words) {
  if (words.size == 0 || words.size > kMaxUnits) {
    return corrupt("filter of " + std::to_string(words.size) + " " + unit_name(kind) +
                   ", expected 1 to 2^48");
  }
  switch (kind) {
    case FilterKind::kCuckoo: {
      BucketShape shape;
      if (words.shape > UINT32_MAX || words.detail > kMaxLowBits ||
          !make_bucket_shape(static_cast<uint32_t>(words.shape),
                             static_cast<uint32_t>(words.detail), shape)) {
        return corrupt("filter with buckets of radix " + std::to_string(words.shape) + " and " +
                       std::to_string(words.detail) +
                       " low bits, expected 16, 19, 23 or 28 and at most 128 bits in all");
      }
      return CellLayout{words.size, shape.bits()};
    }
    case FilterKind::kBlockedBloom:
      return CellLayout{words.size, kBlockBits};
    case FilterKind::kCountingBloom:
      return CellLayout{words.size, kCounterBits};
    case FilterKind::kBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  return CellLayout{words.size, 1};
}

Result<CellLayout> cell_layout(const Filter& filter) {
  CUCKOO_ASSIGN_OR_RETURN(CellLayout layout, cell_layout(filter.kind(), filter.words()));
  const CellLayout& cells = layout;
  const uint32_t page_bytes = filter.pages().page_bytes();
  const uint64_t pages = cells.page_count(page_bytes);
  if (filter.bits() != cells.units * cells.unit_bits || filter.pages().page_count() != pages ||
      filter.content_bytes(0) != cells.content_bytes(0, page_bytes) ||
      filter.content_bytes(pages - 1) != cells.content_bytes(pages - 1, page_bytes)) {
    return corrupt("filter of " + std::to_string(filter.bits()) + " bits in " +
                   std::to_string(filter.pages().page_count()) + " pages, expected " +
                   std::to_string(cells.units * cells.unit_bits) + " in " + std::to_string(pages));
  }
  return layout;
}

uint64_t cell_slots(FilterKind kind, const CellLayout& layout) noexcept {
  switch (kind) {
    case FilterKind::kCuckoo:
      return kBucketSlots * layout.units;
    case FilterKind::kBlockedBloom:
      return kBlockBits * layout.units;
    case FilterKind::kBloom:
    case FilterKind::kCountingBloom:
    case FilterKind::kLegacyBloom:
      break;
  }
  return layout.units;
}

void gather_page(const Filter& from, const CellLayout& layout, uint64_t index, uint32_t page_bytes,
                 std::byte* to) noexcept {
  if (from.pages().page_bytes() == page_bytes) {
    if (const std::byte* const page = from.pages().find(index); page != nullptr) {
      std::copy_n(page, layout.content_bytes(index, page_bytes), to);
    }
    return;
  }
  const uint64_t from_per_page = layout.units_per_page(from.pages().page_bytes());
  const uint64_t first = index * layout.units_per_page(page_bytes);
  const uint64_t end = first + layout.units_in_page(index, page_bytes);
  for (uint64_t unit = first; unit < end;) {
    const uint64_t page = unit / from_per_page;
    const uint64_t count = std::min(end, (page + 1) * from_per_page) - unit;
    if (const std::byte* const source = from.pages().find(page); source != nullptr) {
      copy_bits(source, (unit - page * from_per_page) * layout.unit_bits, to,
                (unit - first) * layout.unit_bits, count * layout.unit_bits);
    }
    unit += count;
  }
}

Status copy_cells(const Filter& from, Filter& to, const Poll& poll) {
  if (from.kind() != to.kind() || from.words() != to.words()) {
    return invalid("cells of a filter of another kind or geometry");
  }
  CUCKOO_ASSIGN_OR_RETURN(const CellLayout cells, cell_layout(from));
  const uint32_t from_bytes = from.pages().page_bytes();
  const uint32_t to_bytes = to.pages().page_bytes();
  const PageSet& sources = from.pages();
  uint64_t next = 0;  // page of `to`: those before it are made
  for (uint64_t source = sources.next_backed(0); source < sources.page_count();
       source = sources.next_backed(source + 1)) {
    CUCKOO_TRY(check_interrupt(poll));
    const uint64_t first = source * cells.units_per_page(from_bytes);
    const uint64_t last = first + cells.units_in_page(source, from_bytes) - 1;
    next = std::max(next, first / cells.units_per_page(to_bytes));
    for (; next <= last / cells.units_per_page(to_bytes); ++next) {
      std::byte* const page = to.pages().writable(next);
      gather_page(from, cells, next, to_bytes, page);
      const size_t content = cells.content_bytes(next, to_bytes);
      if (!all_zero({page, content})) {
        to.pages().mark_dirty(next);
      }
    }
  }
  to.overflow().make_room(from.overflow().cells());
  from.overflow().for_each(
      [&to](uint64_t cell, uint64_t count) { to.overflow().add(cell, count); });
  to.set_occupied(from.occupied());
  return {};
}

Result<std::unique_ptr<Filter>> in_pages_of(uint32_t page_bytes, std::unique_ptr<Filter> filter) {
  if (filter->pages().page_bytes() == page_bytes) {
    return filter;
  }
  Result<std::unique_ptr<Filter>> paged = make_filter(filter->kind(), filter->words(), page_bytes);
  if (paged.ok()) {
    CUCKOO_TRY(copy_cells(*filter, *paged.value()));
  }
  return paged;
}

}  // namespace cuckoo::core
