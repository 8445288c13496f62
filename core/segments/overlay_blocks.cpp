#include "core/segments/overlay_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace cuckoo::segments {

bool OverlayBlocks::is_erased(int64_t id) const noexcept {
  const auto behind = erased_.upper_bound(id);
  return behind != erased_.begin() && std::prev(behind)->second >= id;
}

// Merges two ascending sequences; a written block hides the one below.
Status OverlayBlocks::read(int64_t first, int64_t last, const Visitor& visitor) {
  auto next = written_.lower_bound(first);
  CUCKOO_TRY(below_.read(first, last, [&](int64_t id, std::span<const std::byte> block) -> Status {
    for (; next != written_.end() && next->first < id; ++next) {
      CUCKOO_TRY(visitor(next->first, next->second));
    }
    if (next != written_.end() && next->first == id) {
      return visitor(id, (next++)->second);
    }
    return is_erased(id) ? Status() : visitor(id, block);
  }));
  for (; next != written_.end() && next->first <= last; ++next) {
    CUCKOO_TRY(visitor(next->first, next->second));
  }
  return {};
}

Status OverlayBlocks::write(int64_t id, std::span<const std::byte> block, bool) {
  written_[id].assign(block.begin(), block.end());
  return {};
}

// Erased ranges that the new range overlaps become a part of it.
Status OverlayBlocks::erase(int64_t first, int64_t last) {
  written_.erase(written_.lower_bound(first), written_.upper_bound(last));
  auto at = erased_.upper_bound(first);
  if (at != erased_.begin() && std::prev(at)->second >= first) {
    --at;
  }
  while (at != erased_.end() && at->first <= last) {
    first = std::min(first, at->first);
    last = std::max(last, at->second);
    at = erased_.erase(at);
  }
  erased_[first] = last;
  return {};
}

}  // namespace cuckoo::segments
