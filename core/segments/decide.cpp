#include "core/segments/decide.hpp"

#include <algorithm>
#include <cmath>

namespace cuckoo::segments {

// When more than half of the entries are dead, the merged run is half as long. Below some thousand
// entries a merge saves no block.
SegmentWork decide(const SegmentFigures& figures) noexcept {
  constexpr uint64_t kFewestEntries = 4096;
  if (figures.keeps_hashes && (figures.outgrows || (figures.run_entries >= kFewestEntries &&
                                                    figures.dead > figures.run_entries / 2))) {
    return SegmentWork::kRemake;
  }
  return figures.pending > 0 ? SegmentWork::kFold : SegmentWork::kNothing;
}

uint64_t with_deviations(uint64_t share) noexcept {
  return share + static_cast<uint64_t>(std::ceil(4 * std::sqrt(static_cast<double>(share))));
}

uint64_t remade_capacity(uint64_t keys, uint64_t limit) noexcept {
  const uint64_t roomy = with_deviations(keys + keys / 2);
  return keys > limit ? roomy : std::max({keys, std::min(roomy, limit), uint64_t{1}});
}

unsigned bits_to_split(uint64_t keys, uint64_t limit) noexcept {
  unsigned bits = 0;
  while (with_deviations(keys >> bits) > limit && keys >> bits > 1) {
    ++bits;
  }
  return bits;
}

}  // namespace cuckoo::segments
