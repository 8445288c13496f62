// core has classes of the same names, so its headers come before <cuckoo/...>.
#include "core/library/key_code.hpp"
#include "core/library/memory_filter.hpp"

#include <string>
#include <utility>

#include "core/stored/log_entry.hpp"

#include <cuckoo/cuckoo_filter.hpp>

namespace cuckoo {
inline namespace v1 {

Result<CuckooFilter> CuckooFilter::make(const CuckooFilterOptions& options) {
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<MemoryFilter> made,
                          MemoryFilter::make_for(FilterKind::kCuckoo, options.expected_keys,
                                                 options.rate, options.seed, options.grows));
  return CuckooFilter(std::move(made));
}

Result<CuckooFilter> CuckooFilter::from_bytes(std::span<const std::byte> image) {
  constexpr FilterKind kKinds[] = {FilterKind::kCuckoo};
  CUCKOO_ASSIGN_OR_RETURN(std::unique_ptr<MemoryFilter> made,
                          MemoryFilter::of_image(image, kKinds));
  return CuckooFilter(std::move(made));
}

uint64_t CuckooFilter::count(const Key& key) const {
  return filter_ != nullptr ? filter_->count(KeyCode::hash(key, seed())) : 0;
}

Status CuckooFilter::add(const Key& key, uint64_t copies) {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  if (copies < 1 || copies > kMostCopies) {
    return invalid(std::to_string(copies) + " copies of a key, expected 1 to 2^31");
  }
  CUCKOO_TRY(filter->insert(KeyCode::hash(key, seed()), copies));
  filter->note_key_types(key.types());
  return {};
}

Result<bool> CuckooFilter::remove(const Key& key) {
  CUCKOO_ASSIGN_OR_RETURN(MemoryFilter* const filter, held());
  return filter->remove(KeyCode::hash(key, seed()));
}

}  // namespace v1
}  // namespace cuckoo
