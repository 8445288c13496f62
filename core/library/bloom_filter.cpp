// core has classes of the same names, so its headers come before <cuckoo/...>.
#include "core/library/memory_filter.hpp"

#include <utility>

#include <cuckoo/bloom_filter.hpp>

namespace cuckoo {
inline namespace v1 {

Result<BloomFilter> BloomFilter::make(const BloomFilterOptions& options) {
  const FilterKind kind =
      options.layout == BloomLayout::kBlocked ? FilterKind::kBlockedBloom : FilterKind::kBloom;
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<MemoryFilter> made,
                          MemoryFilter::make_for(kind, options.expected_keys, options.rate,
                                                 options.seed, options.grows));
  return BloomFilter(std::move(made));
}

Result<BloomFilter> BloomFilter::from_bytes(std::span<const std::byte> image) {
  constexpr FilterKind kKinds[] = {FilterKind::kBloom, FilterKind::kBlockedBloom};
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<MemoryFilter> made,
                          MemoryFilter::of_image(image, kKinds));
  return BloomFilter(std::move(made));
}

BloomLayout BloomFilter::layout() const noexcept {
  return filter_ != nullptr && filter_->options().spec.kind == FilterKind::kBlockedBloom
             ? BloomLayout::kBlocked
             : BloomLayout::kStandard;
}

}  // namespace v1
}  // namespace cuckoo
