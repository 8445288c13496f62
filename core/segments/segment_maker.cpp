#include "core/segments/segment_maker.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/segments/decide.hpp"

namespace cuckoo::segments {

Status SegmentMaker::expect_numbers(uint64_t count) const {
  return number + count - 1 <= kMaxSegmentNumber
             ? Status()
             : Error{ErrorCode::kFull, "it had " + std::to_string(kMaxSegmentNumber) +
                                           " segments since it was made, as many as there are"
                                           " numbers for; a new table begins anew"};
}

Result<std::vector<std::unique_ptr<Segment>>> SegmentMaker::make(const Range& range,
                                                                 std::span<const NetHash> entries) {
  const bool slots = traits_of(options->spec.kind).slot_per_item;
  const uint64_t needed = needed_for(entries, slots);
  const bool grows = keeps_hashes && (needed > range.capacity || range.too_full);
  const unsigned bits = grows ? std::min(bits_to_split(needed, limits.keys), range.most_bits) : 0;
  const unsigned depth = range.depth + bits;
  CUCKOO_TRY(expect_numbers(uint64_t{1} << bits));
  std::vector<std::unique_ptr<Segment>> made;
  for (uint64_t i = 0; i < uint64_t{1} << bits; ++i) {
    CUCKOO_TRY(check_interrupt(poll));
    const uint64_t first = depth == 0 ? 0 : range.prefix | i << (64 - depth);
    const uint64_t last = first | ~uint64_t{0} >> depth;
    const auto end =
        std::partition_point(entries.begin(), entries.end(),
                             [last](const NetHash& entry) { return entry.hash <= last; });
    const auto part = entries.first(static_cast<size_t>(end - entries.begin()));
    entries = entries.subspan(part.size());
    const uint64_t capacity =
        grows ? remade_capacity(needed_for(part, slots), limits.keys) : range.capacity;
    CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> segment,
                            Segment::make(*options, first, depth, number++, capacity));
    segment->become(part, position, id, items_of(part, options->multiset()), keeps_hashes);
    made.push_back(std::move(segment));
  }
  return made;
}

Result<std::unique_ptr<Segment>> SegmentMaker::make_share(uint64_t prefix, unsigned depth) {
  CUCKOO_TRY(expect_numbers(1));
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<Segment> made,
                          Segment::make_share(*options, limits, prefix, depth, number++));
  made->become({}, position, id, 0, keeps_hashes);
  return made;
}

Result<std::unique_ptr<Segment>> SegmentMaker::adopt(Piece&& piece) {
  CUCKOO_TRY(expect_numbers(1));
  return Segment::adopt(*options, std::move(piece), number++, position, keeps_hashes);
}

}  // namespace cuckoo::segments
