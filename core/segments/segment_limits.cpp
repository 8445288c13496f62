#include "core/segments/segment_limits.hpp"

#include <algorithm>
#include <memory>

#include "core/filter/factory.hpp"
#include "core/segments/decide.hpp"
#include "core/segments/log.hpp"

namespace cuckoo::segments {
namespace {

// A segment that can be split holds 2^16 keys and takes 64 pages at most, because its longest work,
// a split, reads its runs, builds two segments and writes both. One that can't be split holds twice
// as many keys. A filter for more keys is cut into equal shares at once. There are 2^16 shares at
// most, so that a filter for 2^40 keys takes little memory before it has any.
//
// A filter of pairs is one segment, whatever its size: it has no hash to cut it by.
Result<SegmentLimits> limits_of(const FilterOptions& options) {
  constexpr uint64_t kMostKeys = uint64_t{1} << 16;
  constexpr uint64_t kMostPages = 64;
  if (traits_of(options.spec.kind).pairs) {
    SegmentLimits one;
    one.keys = one.share = options.capacity;
    one.pages = 1;
    return one;
  }
  const FilterSpec spec = options.generation_spec();
  // The hashes must tell the keys of all segments apart, not only those of one segment.
  CUCKOO_TRY(filter_size(spec, options.capacity, options.page_bytes).take_status());
  CUCKOO_ASSIGN_OR_RETURN(const FilterSize size, filter_size(spec, kMostKeys, options.page_bytes));
  SegmentLimits limits;
  limits.items = options.most_items_by_hashes();
  limits.keys = size.page_count <= kMostPages
                    ? kMostKeys
                    : std::max<uint64_t>(kMostKeys * kMostPages / size.page_count, 256);
  limits.pages = std::min(size.page_count, kMostPages);
  const uint64_t whole = options.growth ? limits.keys : 2 * kMostKeys;
  limits.share = options.capacity;
  while (limits.share > whole && limits.depth < kMostFirstDepth) {
    ++limits.depth;
    limits.share = with_deviations((options.capacity >> limits.depth) + 1);
  }
  return limits;
}

}  // namespace

Result<SegmentLimits> segment_limits(const FilterOptions& options) {
  CUCKOO_ASSIGN_OR_RETURN(SegmentLimits limits, limits_of(options));
  CUCKOO_ASSIGN_OR_RETURN(const std::unique_ptr<Filter> filter,
                          options.make_filter_for(limits.share));
  limits.words = filter->words();
  limits.rate = filter->rate(static_cast<double>(limits.share));
  return limits;
}

// T is 32 entries for each page of a segment, and fewer where there are many segments.
uint64_t turn_entries_of(const SegmentLimits& limits, uint64_t segments,
                         uint64_t capacity) noexcept {
  constexpr uint64_t kFewest = 504;         // of a filter of one segment
  constexpr uint64_t kEntriesPerPage = 32;  // a fold touches each page for so many entries
  if (segments == 1) {
    const uint64_t pages =
        (limits.pages * std::min(capacity, limits.keys) + limits.keys - 1) / limits.keys;
    return std::max(kFewest, kEntriesPerPage * pages);
  }
  return std::clamp<uint64_t>(kPendingEntries / segments, 1,
                              std::max(kFewest, kEntriesPerPage * limits.pages));
}

// A copy may ask a few times while a generation of a window, or a young filter, fills. If less than
// a quarter were kept, the answers would be images. If more were kept, an image would be shorter
// than the changes. In a large filter that takes too much room.
uint64_t kept_entries_of(uint64_t segments, uint64_t turn_entries, uint64_t keys,
                         bool of_window) noexcept {
  constexpr uint64_t kFewItems = 1 << 18;
  constexpr uint64_t kMost = uint64_t{1} << 28;
  static_assert(kMost < Log::kMostEntries);
  const uint64_t quarter = (of_window ? keys : std::min(keys, kFewItems)) / 4;
  return std::min(std::max({segments * turn_entries, keys / 16, quarter}), kMost);
}

}  // namespace cuckoo::segments
