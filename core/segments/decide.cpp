#include "core/segments/decide.hpp"

#include <algorithm>
#include <cmath>

namespace cuckoo::segments {

bool mostly_dead(uint64_t run_entries, uint64_t dead) noexcept {
  constexpr uint64_t kFewestEntries = 4096;  // with fewer no block is saved
  return run_entries >= kFewestEntries && dead > run_entries / 2;
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
